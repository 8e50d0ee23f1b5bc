"""The hooks of a client, as processes."""
