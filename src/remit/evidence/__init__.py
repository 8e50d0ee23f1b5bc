"""Do the claims of a result hold? Looked up in the workspace and in what the agent really did."""
