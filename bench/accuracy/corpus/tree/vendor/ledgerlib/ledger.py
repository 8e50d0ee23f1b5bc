"""A copy of another library."""

VERSION = "1.0"
