"""Reports on a merge."""
