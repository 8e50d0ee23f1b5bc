"""The process that a client starts for each hook event."""
