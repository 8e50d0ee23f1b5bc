"""Definitions of subagents: read from plugins, looked up by name, resolved into the brief a job runs with."""
