"""The facts of the sessions of assistants: the JSON shape, and the lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec

from remit.reports.layout import Line, Piece, escape_control, format_count, schema_of, wrap_text

_MARGIN = 4
#: What an audit without a fact can and cannot show.
LIMITS = (
    'Compared: sentences such as "all tests pass", "the build succeeds" and "committed" with what the last run of the '
    "same session printed, and reports of subagents with their calls. Not compared: everything else."
)


class AuditProof(msgspec.Struct):
    """The line that shows a fact: in a transcript, from 1 (0: unknown), and what it shows."""

    path: str
    line: int
    text: str


class AuditFact(msgspec.Struct):
    """A sentence that its own session contradicts, or a subagent that reported without a call."""

    kind: str
    text: str
    #: `main`, or the subagent.
    agent: str
    at: str
    path: str
    line: int
    proof: AuditProof


class AuditSession(msgspec.Struct):
    """A session with its facts."""

    id: str
    client: str
    project: str
    model: str
    started: str
    ended: str
    path: str
    facts: list[AuditFact] = []


class AuditSkipped(msgspec.Struct):
    """A file that was not read, or not all of it, and why."""

    path: str
    why: str


class AuditSummary(msgspec.Struct):
    """The numbers of all sessions."""

    files: int
    sessions: int
    contradicted: int
    without_call: int
    skipped: int


class AuditReport(msgspec.Struct):
    """What was read, and the facts of each session, the last one first."""

    sessions: list[AuditSession]
    skipped: list[AuditSkipped]
    files: int
    #: The number of sessions that the options left out, and where was searched.
    left_out: int = 0
    searched: str = ""

    @property
    def facts(self) -> list[tuple[AuditSession, AuditFact]]:
        """The facts of all sessions."""
        return [(session, fact) for session in self.sessions for fact in session.facts]

    @property
    def summary(self) -> AuditSummary:
        """The numbers of all sessions."""
        kinds = [fact.kind for _, fact in self.facts]
        counts = kinds.count("contradicted"), kinds.count("subagent-without-call")
        return AuditSummary(self.files, len(self.sessions), *counts, len(self.skipped))


class AuditShape(msgspec.Struct):
    """The output of `remit audit --format json`."""

    schema: Literal["remit.audit/2"]
    sessions: list[AuditSession]
    skipped: list[AuditSkipped]
    summary: AuditSummary


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of the output."""
    return schema_of(AuditShape)


def audit_json(audit: AuditReport) -> str:
    """Return the audit as JSON."""
    shape = AuditShape("remit.audit/2", audit.sessions, audit.skipped, audit.summary)
    return msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()


def audit_lines(audit: AuditReport, columns: int | None = None, *, lists_all: bool = False) -> Iterator[Line]:
    """Yield the lines of the report. Without `columns`, for a pipe, each fact is one line.

    `lists_all`: sessions without a fact have a line, too.
    """
    for session in audit.sessions if lists_all else ():
        if not session.facts:
            yield [Piece(f"{_day(session.started)}  {_name(session)}  {session.client}  no fact", "dim")]
    for session, fact in audit.facts:
        where = f"{_day(fact.at or session.started)}  {_name(session)}  {escape_control(fact.agent)}"
        text, proof = f"“{escape_control(fact.text)}”", escape_control(fact.proof.text)
        places = [f"{fact.path}:{fact.line}", f"{fact.proof.path}:{fact.proof.line}"] if fact.line else [fact.path]
        place = escape_control(", ".join(dict.fromkeys(places)))
        if columns is None:
            yield [Piece("  ".join((where, fact.kind, text, proof, place)))]
            continue
        yield [Piece(where, "dim"), Piece(f"  {fact.kind}", "bold red")]
        yield from ([Piece(row)] for row in wrap_text(text, columns, 2))
        yield from ([Piece(row, "yellow")] for row in wrap_text(proof, columns, _MARGIN))
        yield from ([Piece(row, "dim")] for row in wrap_text(place, columns, _MARGIN, keeps_paths=True))
    for skipped in audit.skipped:
        yield [Piece(f"skipped {escape_control(skipped.path)}: {escape_control(skipped.why)}", "yellow")]
    ending = [(summary_text(audit), "bold")]
    ending += [(LIMITS, "dim")] if audit.sessions and not audit.facts else []
    for text, style in ending:
        yield from ([Piece(row, style)] for row in ([text] if columns is None else wrap_text(text, columns)))


def summary_text(audit: AuditReport) -> str:
    """Return the numbers as one sentence without a full stop."""
    summary = audit.summary
    if not summary.files:
        searched = escape_control(audit.searched)
        return f"no transcripts found in {searched}; name files or folders, or see `remit audit --help`"
    left_out = f" ({format_count(audit.left_out, 'session')} left out by the options)" if audit.left_out else ""
    statements = format_count(summary.contradicted, "statement")
    agents = format_count(summary.without_call, "subagent")
    facts = f"{statements} contradicted by their own record, {agents} that reported without a call"
    return f"{format_count(summary.sessions, 'session')}{left_out}: {facts}"


def _name(session: AuditSession) -> str:
    return escape_control(session.project.replace("\\", "/").rstrip("/").rpartition("/")[2]) or "no project"


def _day(moment: str) -> str:
    """Return the local day and time of a moment, which a transcript states in UTC."""
    try:
        time = datetime.fromisoformat(moment)
        return f"{time.astimezone() if time.tzinfo is not None else time:%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return escape_control(moment[:16].replace("T", " ")) or "no date"
