"""Copilot CLI: translate its events, and install its hooks."""
