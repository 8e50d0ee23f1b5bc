"""Claude Code: the answers to its hooks, and the installation of the hooks."""
