"""Transcripts of clients as receipts. Several agents may write one transcript: a path can select the lines of one."""

from __future__ import annotations

_MARK = "#agent="


def of_agent(path: str, agent: str) -> str:
    """Return the path of a transcript, limited to one agent."""
    return f"{path}{_MARK}{agent}"


def split_agent(path: str) -> tuple[str, str]:
    """Return the file and the agent of such a path; "" for all agents."""
    file, mark, agent = path.rpartition(_MARK)
    return (file, agent) if mark and "/" not in agent else (path, "")
