"""The tools that a subagent can call, all confined to the folder of its job."""
