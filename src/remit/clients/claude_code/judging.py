"""A report held against the contract, the project and what the subagent really did. Loaded only when one is judged."""

from __future__ import annotations

import os
import stat
import sys
from types import SimpleNamespace

from remit.clients.claude_code.libraries import make_reachable
from remit.contract.feedback import correction_text, escape_attribute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.checking import Options, Verdict
    from remit.clients.claude_code.project import ProjectContext
    from remit.evidence.sources import Sources

#: A longer transcript is not read, and what only it could prove is said to be unchecked.
LARGEST_TRANSCRIPT = 128 * 1024 * 1024
_ORDER = ("accept", "revise", "reject")


class Judgement:
    """What the check says of a report: its verdict, what is broken, and what follows."""

    __slots__ = ("check", "files", "verdict", "violations")

    def __init__(self, verdict: str, violations: list[dict[str, Any]], files: list[str], check: str) -> None:
        self.verdict = verdict
        self.violations = violations
        #: The files that an accepted report covers.
        self.files = files
        #: JSON in the shape `remit.check/1`.
        self.check = check

    @property
    def accepted(self) -> bool:
        """Whether the contract is kept."""
        return self.verdict == "accept"

    @property
    def correction(self) -> str:
        """What the subagent is told if it is given another try."""
        return escape_attribute(correction_text(self.violations))


def judge(text: str, desk: ProjectContext, agent_type: str, transcript_path: str, attempt: int) -> Judgement:
    """The verdict on a report. `transcript_path` may be empty, or lead nowhere: then there are no receipts."""
    _make_ready()
    from remit.checking import check_text

    sources = _sources(desk.project, transcript_path)
    try:
        verdicts = check_text(text, f"{agent_type[:80]}.md", _options(desk, agent_type, attempt), sources)
    finally:
        if sources.workspace is not None:
            sources.workspace.close()
    return _judged(verdicts, desk.project)


def _make_ready() -> None:
    """The libraries of a check, loaded in the fastest way."""
    make_reachable()
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    _load_uuid()
    # msgspec takes what it needs from typing_extensions, else from typing; the first takes longer to load than all
    # of msgspec, and has nothing more for us. None in its place makes the import fail, for this one moment.
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


def _load_uuid() -> None:
    """msgspec needs it, and it needs from `platform`, which takes longer to load, the system's name alone."""
    if "platform" in sys.modules or not hasattr(os, "uname"):
        return
    sys.modules["platform"] = SimpleNamespace(system=lambda: os.uname().sysname)  # type: ignore[assignment]
    try:
        import uuid  # noqa: F401
    except AttributeError:  # of a Python that asks for more; msgspec will load it with all it needs
        return
    finally:
        del sys.modules["platform"]


def _options(desk: ProjectContext, agent_type: str, attempt: int) -> Options:
    from remit.checking import Options as Made
    from remit.clients.claude_code.compiled import read_compiled

    chosen = (read_compiled(desk.project) or {}).get("check")
    known = chosen if isinstance(chosen, dict) else {}
    return Made(
        profile=desk.profile or "v2",
        kind=desk.kind_of(agent_type) or None,
        attempt=attempt,
        select=tuple(known.get("select", ())),
        ignore=tuple(known.get("ignore", ())),
        overrides=tuple((rule, reason) for rule, reason in known.get("overrides", ())),
    )


def _sources(project: str, transcript_path: str) -> Sources:
    from remit.evidence.sources import open_sources

    return open_sources(project, transcripts=[transcript_path] if _is_readable(transcript_path) else [])


def _is_readable(path: str) -> bool:
    """Whether it is a file that can be read, and that has an end."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_TRANSCRIPT and os.access(path, os.R_OK)


def _judged(verdicts: list[Verdict], project: str) -> Judgement:
    from remit.reports.formats import check_json

    worst = max((verdict.verdict for verdict in verdicts), key=_ORDER.index)
    violations = [
        {"rule": one.rule, "level": one.level, "line": one.line, "message": one.message, "help": one.help}
        for verdict in verdicts
        for one in verdict.violations
    ]
    return Judgement(worst, violations, _covered(verdicts) if worst == "accept" else [], check_json(verdicts, project))


def _covered(verdicts: list[Verdict]) -> list[str]:
    """The files among the Key References that are really there and were opened: what is cited in passing, or was never
    looked at, has not been analysed."""
    references = (one for verdict in verdicts for one in verdict.evidence.references)
    seen = (one for one in references if one.outcome == "verified" and one.seen != "no")
    return sorted({one.path for one in seen if one.section == "references"})
