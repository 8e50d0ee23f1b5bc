"""The gate: what an orchestrator may do itself, and what it must delegate.

Plain functions over data with the standard library only. Each decision is made in a new process, so every import
counts: the parts that few calls need (the shell reader, the edit test, the word list) are loaded when needed.
"""
