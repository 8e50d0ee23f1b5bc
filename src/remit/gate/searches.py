"""Searches: one that can touch more than a few files is an explorer's, one for secrets an auditor's."""

# ruff: noqa: PTH113, PTH118
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os

from remit.gate.model import Ruling
from remit.gate.paths import classify, is_glob, locate, matches
from remit.gate.reads import Read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.model import Call
    from remit.gate.settings import GateSettings

#: What people look for who look for secrets.
_SECRETS = ("passw", "secret", "api_key", "apikey", "api-key", "api[_", "token", "credential", "private key", "akia")
_SURE = ("akia", "private key", "ghp_", "xox[", "aws_secret", "sk_live")
_LONGEST_PATTERN = 10_000


class Search:
    """Files under a root that a glob matches (an empty one: all), looked into for a pattern or, without one, listed."""

    __slots__ = ("glob", "lines", "pattern", "root")

    def __init__(self, root: str, glob: str = "", pattern: str | None = None, lines: int | None = None) -> None:
        self.root = root
        self.glob = glob
        self.pattern = pattern
        self.lines = lines


def of_grep_tool(call: Call) -> Search:
    """What the client's Grep looks through."""
    glob = call.text("glob")
    if glob and "/" not in glob:
        glob = "**/" + glob  # as ripgrep takes it
    shown = call.text("output_mode") == "content"
    lines = call.number("head_limit") or None
    return Search(call.text("path") or ".", glob, call.text("pattern"), lines if shown else 1)


def of_glob_tool(call: Call) -> Search:
    """What the client's Glob lists: the fixed beginning of its pattern is a folder."""
    parts = call.text("pattern").split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not is_glob(parts[fixed]):
        fixed += 1
    folder = "/".join(parts[:fixed]) or ("/" if fixed else "")
    return Search(
        os.path.join(call.text("path") or ".", folder) if folder else call.text("path") or ".", "/".join(parts[fixed:])
    )


def judge_search(search: Search, call: Call, settings: GateSettings, project: str) -> tuple[list[Ruling], list[Read]]:
    """What rules say of a search, and, if it may be, the files that it reads."""
    place = locate(search.root, call.cwd, project)
    single = os.path.isfile(place.real)
    rulings = [ruling for ruling in [judge_pattern(search.pattern, settings, single=single)] if ruling]
    if any(ruling.level == 1 for ruling in rulings):
        return rulings, []
    if single:
        return rulings, [Read(place.real, search.lines)] if search.pattern is not None else []
    place.name += "/_"  # something in the folder
    if classify(place, settings) == "state":
        return [Ruling(exception="state", paths=(search.root[:200],))], []
    most = settings.limits["search_files"]
    found = matches(place.real, search.glob, most + 1) if place.real else []
    if found is None or len(found) > most:
        explorer = settings.agent("explore")
        many = "more files than can be looked through" if found is None else f"more than {most} files"
        reason = f"this search can touch {many}. Delegate it to {explorer}, or name a file"
        return [Ruling(1, "bulk-search", reason, delegate_to=explorer, paths=(place.name[:-2],))], []
    if search.pattern is None:
        return rulings, []
    return rulings, [Read(path, search.lines) for path in found]


def judge_pattern(pattern: str | None, settings: GateSettings, *, single: bool) -> Ruling | None:
    """A search for secrets is the auditor's; one such word in one file may be a lookup and is noted."""
    text = (pattern or "")[:_LONGEST_PATTERN].lower()
    hits = sum(word in text for word in _SECRETS)
    if not hits and not any(word in text for word in _SURE):
        return None
    auditor = settings.agent("security")
    if hits > 1 or not single or any(word in text for word in _SURE):
        reason = f"this is a search for secrets: security analysis is the work of {auditor}"
        return Ruling(1, "security-alone", reason, delegate_to=auditor)
    return Ruling(
        3, "security-alone", f"if this is security analysis, it is the work of {auditor}", delegate_to=auditor
    )
