"""The clients whose orchestrator and subagents are put under the contract."""
