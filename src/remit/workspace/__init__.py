"""The only code that reads a checkout. No path leads out of its root."""
