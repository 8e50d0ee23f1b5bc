"""Claude Code under contract: what its hooks are answered, and how they are put in place and taken away."""
