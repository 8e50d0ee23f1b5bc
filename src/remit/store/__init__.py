"""The store: PostgreSQL, embedded by default. A laptop and a fleet of hosts use the same code."""
