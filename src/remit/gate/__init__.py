"""The gate: what an orchestrator may do itself, and what it must delegate.

Plain functions over data, with the standard library alone: a decision is made in a process of its own, so every
import counts. Parts that few calls need (the shell reader, the edit test, the word list) are loaded when needed.
"""
