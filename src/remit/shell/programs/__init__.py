"""What well-known programs do to the files that they are given."""
