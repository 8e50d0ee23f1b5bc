"""Check the claims of a result against the workspace and against the agent's tool calls."""
