"""The only code that reads a checkout. It never leaves the root, whatever a path says."""
