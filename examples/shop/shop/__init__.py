"""A small tea shop on the web, built on the standard library."""
