"""The scripts of the models: tool calls, and reports that keep or violate the contract."""

from __future__ import annotations

from typing import Any

from support.shop_reports import BAD, DESIGN, DESIGN_WORDS, GOOD, GOOD_WORDS, INVENTED, cited

__all__ = ["BAD", "DESIGN", "DESIGN_WORDS", "GOOD", "GOOD_WORDS", "INVENTED", "cited"]

Turn = dict[str, Any]


def call(key: str, tool: str, **given: object) -> Turn:
    """Return a tool call; tests find its result by `key`."""
    return {"name": tool, "id": f"toolu_{key}", "input": given}


def delegate(key: str, agent: str, prompt: str, **given: object) -> Turn:
    return call(key, "Agent", description=prompt, prompt=f"{prompt}: please.", subagent_type=agent, **given)


def edit(key: str, path: str, old: str, new: str) -> Turn:
    return call(key, "Edit", file_path=path, old_string=old, new_string=new)


def does(*calls: Turn) -> Turn:
    """Return a turn of the model that calls tools."""
    return {"tools": list(calls)}


def says(text: str) -> Turn:
    """Return the last turn of a model."""
    return {"text": text}


def reads(prefix: str, report: str) -> Turn:
    """Return a turn that opens every cited file: more than an orchestrator may."""
    return does(*(call(f"{prefix}_{at}", "Read", file_path=path) for at, path in enumerate(cited(report))))
