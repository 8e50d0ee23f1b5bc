"""The tools that a subagent may call, all confined to the folder of its job."""
