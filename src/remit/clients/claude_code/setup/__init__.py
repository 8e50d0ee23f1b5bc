"""Install the hooks into Claude Code, verify that they run, and remove them completely."""
