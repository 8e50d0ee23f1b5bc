"""How the hooks are put into Claude Code, proved to fire, and taken away without a trace."""
