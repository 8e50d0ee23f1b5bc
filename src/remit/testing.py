"""Tools to test your own definitions, rules and orchestrators in memory, without files.

from remit import check, resolve, testing

team = testing.registry("---\\nname: scout\\ntools: Read\\n---\\nLook around.")
assert resolve({"prompt": "go", "subagent_def": "scout"}, registry=team).tools == ("Read",)
assert check(testing.result("review"), repo=testing.project()).verdict == "accept"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from remit.contract.kinds import KINDS
from remit.errors import UsageError, did_you_mean
from remit.evidence.receipts import Receipt
from remit.registry.definition import Definition, Plugin
from remit.registry.fields import DefinitionFile, read_definition
from remit.registry.frontmatter import MalformedYaml
from remit.registry.lookup import Registry
from remit.registry.plugins import built_in_team
from remit.registry.tools import OFFERED, AllowList
from remit.rules.base import Example
from remit.rules.examples import TREE, example_text, sample_text

__all__ = ["definition", "project", "receipts", "registry", "result"]

PLUGIN = "testing"


def definition(
    source: str | Mapping[str, Any], *, plugin: str = PLUGIN, allow_tools: Iterable[str] = OFFERED
) -> Definition:
    """Read a definition from the text of its file, or from its fields and `body`. Raise UsageError if it is invalid."""
    text = source if isinstance(source, str) else _as_text(source)
    file = DefinitionFile(plugin, f"{plugin}.md", plugin)
    try:
        read = read_definition(text.encode(), file, AllowList(allow_tools))
    except MalformedYaml as error:
        raise UsageError(f"not a definition: {error}") from error
    if read is None:
        raise UsageError("not a definition: it has no frontmatter; begin it with a line ---")
    return read


def _as_text(fields: Mapping[str, Any]) -> str:
    head = "\n".join(f"{name}: {json.dumps(value)}" for name, value in fields.items() if name != "body")
    return f"---\n{head}\n---\n{fields.get('body', '')}"


def registry(
    *definitions: str | Mapping[str, Any] | Definition, with_team: bool = False, allow_tools: Iterable[str] = OFFERED
) -> Registry:
    """Return a registry of these definitions; `with_team` adds the built-in ones after them."""
    tools = tuple(allow_tools)
    read = tuple(each if isinstance(each, Definition) else definition(each, allow_tools=tools) for each in definitions)
    plugin = Plugin(name=PLUGIN, version=None, path="", definitions=read)
    return Registry([plugin, *([built_in_team()] if with_team else [])])


def result(kind: str = "generic", *edits: tuple[str, str]) -> str:
    """Return a result of a kind that violates no rule when it is checked against `project()`.

    Each edit is a pair of texts: the first is replaced by the second.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}{did_you_mean(kind, KINDS)}; choose from {', '.join(KINDS)}")
    return example_text(Example(kind=kind, edits=edits)) if edits else sample_text(kind)


def project() -> Path:
    """Return the folder of the project that the results of `result` refer to."""
    return TREE


def receipts(
    *, read: Iterable[str] = (), edited: Iterable[str] = (), ran: Mapping[str, int] | None = None
) -> tuple[Receipt, ...]:
    """Return the receipts of an agent: files that it read, files that it edited, commands with their exit status."""
    return (
        *(Receipt(tool="Read", path=path) for path in read),
        *(Receipt(tool="Edit", path=path) for path in edited),
        *(
            Receipt(tool="Bash", arguments={"command": command}, exit=status, failed=status != 0)
            for command, status in (ran or {}).items()
        ),
    )
