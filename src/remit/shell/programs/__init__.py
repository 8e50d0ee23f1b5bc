"""What well-known programs do to files."""
