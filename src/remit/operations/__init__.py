"""The operations: each is one struct, whose fields are its options on every surface, and one function."""
