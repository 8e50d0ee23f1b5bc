"""Sessions of Codex, Copilot CLI and opencode. A client that is not installed is skipped with a reason."""
