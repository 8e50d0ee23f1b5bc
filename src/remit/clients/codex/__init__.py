"""Codex: translate its events, and install its hooks."""
