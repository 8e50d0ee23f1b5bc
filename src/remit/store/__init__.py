"""The store: PostgreSQL, embedded by default. One code path from a laptop to many hosts."""
