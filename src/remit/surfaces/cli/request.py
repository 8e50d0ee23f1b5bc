"""The agent and the task of a command that submits a job."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from remit.configuration import load, split_path
from remit.errors import UsageError
from remit.operations.jobs import Run
from remit.registry import api
from remit.registry.lookup import load_registry, misspelt
from remit.surfaces.cli.files import read_file

T = TypeVar("T", bound=Run)


def with_task(wanted: T) -> T:
    """Return the operation with the agent and the task of its words `[AGENT] TASK`."""
    words = wanted.words
    if len(words) not in (1, 2):
        raise UsageError("pass [AGENT] TASK; quote a task of several words")
    configured = load()
    path = wanted.plugin_path if wanted.plugin_path is not None else configured["plugin_path"]
    entries = split_path(path) if isinstance(path, str) else path
    registry = load_registry(entries, api.allow_list(configured, None))
    if len(words) == 1:
        if registry.get(words[0]) is not None:
            raise UsageError(f"{words[0]!r} is the name of a definition; add the task: {words[0]} TASK")
        return msgspec.structs.replace(wanted, task=task_text(words[0]))
    if not wanted.open and (near := misspelt(words[0], registry)):
        raise UsageError(
            f"there is no definition {words[0]!r}, did you mean {near!r}? With --open, the job gets the default prompt "
            "and every tool that the worker allows"
        )
    return msgspec.structs.replace(wanted, agent=words[0].strip() or None, task=task_text(words[1]))


def task_text(task: str) -> str:
    """Return the task; for `-`, the text of standard input."""
    return task if task != "-" else read_file(None).decode("utf-8", "replace")
