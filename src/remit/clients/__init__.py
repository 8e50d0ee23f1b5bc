"""The clients whose orchestrator and subagents Remit puts under contract."""
