"""Answer the hooks of any client: events, tool calls, reports of subagents, sessions."""
