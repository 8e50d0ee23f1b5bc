"""Statements that the record of their sessions contradicts: the JSON shape, and the reports for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape
from itertools import groupby
from typing import Any, Literal

import msgspec

from remit.reports.layout import Line, Piece, escape_control, format_count, schema_of, wrap_text

AuditKind = Literal["run", "change", "name", "place", "delegation"]
AuditOutcome = Literal["contradicted", "unseen", "verified", "unchecked"]
#: The outcomes in the order of the list.
ALL_OUTCOMES: tuple[AuditOutcome, ...] = ("contradicted", "unseen", "unchecked", "verified")
#: The reasons of the contradictions that come first: a program printed the opposite.
_FIRST = ("run-failed", "commit-failed", "push-failed")
#: What the statements of an outcome have in common, above those that no record contradicts.
_HEADINGS: dict[AuditOutcome, str] = {
    "unseen": "Not seen: no call of the record shows it, but the record may be partial",
    "unchecked": "Unchecked: the record does not decide",
    "verified": "Verified: the record shows it",
}
_MARGIN = 4
#: What an audit without a contradiction can and cannot show.
LIMITS = (
    "Compared: what is stated about tests, builds, analyses, edits, commits, pushes, files that were read and "
    "delegations, with the calls of the same session and what they printed. Not compared: whether the code is right, "
    "and what the record does not have."
)


class AuditSession(msgspec.Struct):
    """A session, and how many of its statements are contradicted."""

    id: str
    client: str
    project: str
    model: str
    started: str
    statements: int = 0
    contradicted: int = 0
    unseen: int = 0
    verified: int = 0
    #: The file with its transcript.
    path: str = ""


class AuditStatement(msgspec.Struct):
    """A sentence in which an assistant states what was done."""

    session: str
    #: `main`, or the subagent.
    agent: str
    #: When it was stated.
    at: str
    text: str
    kind: AuditKind
    outcome: AuditOutcome
    #: Why it has its outcome, as a sentence; empty if it is verified.
    proof: str
    #: The command that shows it, and the line of its output.
    command: str
    line: str
    #: A stable word for the proof.
    reason: str = ""
    #: The lines with the sentence and with the call that shows it, from 1; 0: unknown.
    stated_at: int = 0
    called_at: int = 0
    #: The files of these lines: the transcript of a subagent may be another one than that of its session.
    path: str = ""
    called_in: str = ""

    @property
    def rank(self) -> int:
        """Its place in the list: the contradictions are first, and among them those that a program printed."""
        return 2 * ALL_OUTCOMES.index(self.outcome) + (self.reason not in _FIRST)


class AuditSkipped(msgspec.Struct):
    """A file that was not read, or not all of it, and why."""

    path: str
    why: str
    #: The number of its lines that cannot be read; 0: nothing was read.
    lines: int = 0


class AuditGroup(msgspec.Struct):
    """The sessions of one project with one model."""

    project: str
    model: str
    sessions: int
    statements: int
    contradicted: int
    unseen: int = 0


class AuditSummary(msgspec.Struct):
    """The numbers of all sessions."""

    files: int
    sessions: int
    statements: int
    contradicted: int
    groups: list[AuditGroup]
    unseen: int = 0
    verified: int = 0
    #: The numbers of files that were not read, and of lines in the others that cannot be read.
    skipped_files: int = 0
    skipped_lines: int = 0


class AuditScope(msgspec.Struct):
    """Where transcripts were searched, and what the options left out, to explain that nothing is listed."""

    #: The files and folders, and the folder among them that is a project and not one of transcripts.
    places: list[str] = []
    project_place: str = ""
    #: The options that leave out sessions, such as `--client codex`, and the number of those sessions.
    filters: list[str] = []
    left_out: int = 0
    #: The value of `--since`, and the number of transcripts that were last written before.
    since: str = ""
    older: int = 0


class AuditReport(msgspec.Struct):
    """What was read, and what is contradicted, the worst first."""

    sessions: list[AuditSession]
    statements: list[AuditStatement]
    skipped: list[AuditSkipped]
    files: int
    scope: AuditScope = msgspec.field(default_factory=AuditScope)

    @property
    def summary(self) -> AuditSummary:
        """The numbers of all sessions, and of each project and model."""
        groups: dict[tuple[str, str], AuditGroup] = {}
        for session in self.sessions:
            key = session.project, session.model
            group = groups.setdefault(key, AuditGroup(*key, 0, 0, 0))
            group.sessions += 1
            group.statements += session.statements
            group.contradicted += session.contradicted
            group.unseen += session.unseen
        ordered = sorted(groups.values(), key=lambda group: (-group.contradicted, -group.statements, group.project))
        return AuditSummary(
            self.files,
            len(self.sessions),
            sum(session.statements for session in self.sessions),
            sum(session.contradicted for session in self.sessions),
            ordered,
            sum(session.unseen for session in self.sessions),
            sum(session.verified for session in self.sessions),
            sum(not entry.lines for entry in self.skipped),
            sum(entry.lines for entry in self.skipped),
        )


class AuditShape(msgspec.Struct):
    """The output of `remit audit --format json`."""

    schema: Literal["remit.audit/1"]
    sessions: list[AuditSession]
    statements: list[AuditStatement]
    skipped: list[AuditSkipped]
    summary: AuditSummary


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of the output."""
    return schema_of(AuditShape)


def audit_json(audit: AuditReport) -> str:
    """Return the audit as JSON."""
    shape = AuditShape("remit.audit/1", audit.sessions, audit.statements, audit.skipped, audit.summary)
    return msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()


def audit_lines(audit: AuditReport, columns: int | None = None, limit: int | None = None) -> Iterator[Line]:
    """Yield the lines of the report. Without `columns`, for a pipe, each sentence is one line."""
    sessions = {session.id: session for session in audit.sessions}
    sentences = list(joined(audit.statements))
    shown = sentences if limit is None else sentences[:limit]
    outcome: AuditOutcome = "contradicted"
    for statement in shown:
        if statement.outcome != outcome:
            outcome = statement.outcome
            yield [Piece(heading_of(outcome, audit), "bold")]
        yield from _statement_lines(statement, sessions.get(statement.session), columns)
    if len(shown) < len(sentences):
        yield [Piece(f"{len(sentences) - len(shown):,} more; `--limit 0` shows all", "yellow")]
    if audit.statements and columns is not None:
        yield []
    summary = audit.summary
    for group in summary.groups:
        if group.statements:
            yield [Piece(_group_text(group), "" if group.contradicted else "dim")]
    for skipped in audit.skipped:
        yield [Piece(f"skipped {escape_control(skipped.path)}: {escape_control(skipped.why)}", "yellow")]
    is_listed = any(statement.outcome == "unseen" for statement in audit.statements)
    hint = " (`--unseen` lists them)" if summary.unseen and not is_listed else ""
    yield from ([Piece(row, "bold")] for row in _rows(summary_text(audit) + hint, columns))
    if summary.sessions and not summary.contradicted:
        yield from ([Piece(row, "dim")] for row in _rows(LIMITS, columns))


def _rows(text: str, columns: int | None) -> list[str]:
    return [text] if columns is None else wrap_text(text, columns)


def joined(statements: Iterable[AuditStatement]) -> Iterator[AuditStatement]:
    """Yield the sentences: what one states several times, with the same outcome, is one entry with all proofs."""
    same = groupby(statements, key=lambda entry: (entry.session, entry.agent, entry.at, entry.text, entry.outcome))
    for _, entries in same:
        first, *others = entries
        proofs = dict.fromkeys(proof for entry in (first, *others) if (proof := proof_of(entry)))
        yield msgspec.structs.replace(first, proof="; ".join(proofs), line="") if others else first


def _statement_lines(statement: AuditStatement, session: AuditSession | None, columns: int | None) -> Iterator[Line]:
    project = session.project if session is not None else ""
    where = f"{day_of(statement.at)}  {_name(project)}  {escape_control(statement.agent)}"
    said, proof = f"“{escape_control(statement.text)}”", escape_control(proof_of(statement))
    place = place_of(statement)
    style = {"contradicted": "bold red", "unseen": "yellow", "verified": "green"}.get(statement.outcome, "dim")
    if columns is None:
        parts = (where, statement.outcome, said, proof, place)
        yield [Piece("  ".join(part for part in parts if part))]
        return
    yield [Piece(where, "dim"), Piece(f"  {statement.outcome}", style)]
    yield from ([Piece(row)] for row in wrap_text(said, columns, 2))
    if proof:
        yield from ([Piece(row, "yellow")] for row in wrap_text(proof, columns, _MARGIN))
    if place:
        yield from ([Piece(row, "dim")] for row in wrap_text(place, columns, _MARGIN, keeps_paths=True))


def place_of(statement: AuditStatement) -> str:
    """Return where the sentence and the call that shows it are: `a.jsonl:14, call at line 12`."""
    if not statement.path or not statement.stated_at:
        return ""
    call = ""
    if statement.called_at:
        is_same = statement.called_in == statement.path
        line = f"line {statement.called_at}" if is_same else f"{statement.called_in}:{statement.called_at}"
        call = f", call at {line}"
    return escape_control(f"{statement.path}:{statement.stated_at}{call}")


def heading_of(outcome: AuditOutcome, audit: AuditReport) -> str:
    """Return the line above the statements of an outcome, with their number."""
    count = sum(statement.outcome == outcome for statement in audit.statements)
    return f"{_HEADINGS.get(outcome, 'Contradicted by their own record')} ({count:,})"


def proof_of(statement: AuditStatement) -> str:
    """Return the proof, with the line of the output if the sentence does not have it."""
    if statement.line and statement.line not in statement.proof:
        return f"{statement.proof}: `{statement.line}`" if statement.proof else f"`{statement.line}`"
    return statement.proof


def day_of(moment: str) -> str:
    """Return the local day and time of a moment, which a transcript states in UTC."""
    try:
        time = datetime.fromisoformat(moment)
        return f"{time.astimezone() if time.tzinfo is not None else time:%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return escape_control(moment[:16].replace("T", " ")) or "no date"


def _name(project: str) -> str:
    return escape_control(project.replace("\\", "/").rstrip("/").rpartition("/")[2]) or "no project"


def _group_text(group: AuditGroup) -> str:
    counts = ", ".join(
        (
            format_count(group.sessions, "session"),
            format_count(group.statements, "statement"),
            f"{group.contradicted:,} contradicted",
            *([f"{group.unseen:,} not seen"] if group.unseen else []),
        )
    )
    return f"{_name(group.project)}  {escape_control(group.model) or 'no model'}  {counts}"


def _nothing_text(scope: AuditScope) -> str:
    """Return where no transcript was found, and what helps."""
    places = ", ".join(map(escape_control, scope.places))
    if scope.older:
        verb = "was" if scope.older == 1 else "were"
        older = f"{format_count(scope.older, 'transcript')} in {places} {verb} last written before"
        return f"no transcripts since {escape_control(scope.since)}: {older}"
    found = f"no transcripts found in {places}" if places else "no transcripts found"
    if scope.project_place:
        return f"{found}; for the sessions of a project: `remit audit --project {escape_control(scope.project_place)}`"
    return f"{found}; name files or folders, or see `remit audit --help`"


def summary_text(audit: AuditReport) -> str:
    """Return the numbers as one sentence without a full stop."""
    summary, scope = audit.summary, audit.scope
    if not summary.files:
        return _nothing_text(scope)
    if not summary.sessions and scope.left_out:
        left_out = format_count(scope.left_out, "session")
        return f"0 sessions: {escape_control(' and '.join(scope.filters))} left out {left_out}"
    read = format_count(summary.sessions, "session")
    if not summary.statements:
        return f"{read}, no statement about what was done"
    parts = [f"{summary.contradicted:,} contradicted by their own record"]
    parts += [f"{summary.verified:,} shown by it"] if summary.verified else []
    undecided = summary.statements - summary.contradicted - summary.verified - summary.unseen
    parts += [f"{undecided:,} that it does not decide"] if undecided else []
    parts += [f"{summary.unseen:,} not seen in it"] if summary.unseen else []
    return f"{read}, {format_count(summary.statements, 'statement')} about what was done: {', '.join(parts)}"


def audit_markdown(audit: AuditReport) -> str:
    """Return the audit as Markdown."""
    summary = audit.summary
    lines = ["# Untrue statements of the assistants", "", summary_text(audit) + ".", ""]
    lines += [LIMITS, ""] if summary.sessions and not summary.contradicted else []
    sessions = {session.id: session for session in audit.sessions}
    for outcome, statements in groupby(joined(audit.statements), key=lambda entry: entry.outcome):
        if outcome != "contradicted":
            lines += [f"## {heading_of(outcome, audit)}", ""]
        lines += ["| date | project | agent | statement | proof | where |", "|---|---|---|---|---|---|"]
        lines += (f"| {' | '.join(map(_cell, _fields(entry, sessions.get(entry.session))))} |" for entry in statements)
        lines.append("")
    lines += ["| project | model | sessions | statements | contradicted |", "|---|---|---|---|---|"]
    lines += (
        f"| {_cell(_name(group.project))} | {_cell(group.model)} | {group.sessions} | {group.statements} "
        f"| {group.contradicted} |"
        for group in summary.groups
    )
    if audit.skipped:
        lines += ["", "Skipped:", "", *(f"- {_cell(entry.path)}: {_cell(entry.why)}" for entry in audit.skipped)]
    return "\n".join(lines) + "\n"


def _fields(entry: AuditStatement, session: AuditSession | None) -> tuple[str, ...]:
    project = _name(session.project if session is not None else "")
    proof = proof_of(entry) or entry.outcome
    return day_of(entry.at), project, entry.agent, entry.text, proof, place_of(entry)


def _cell(text: str) -> str:
    """Return a text for a cell: nothing in it is Markdown or HTML."""
    plain = escape_control(" ".join(text.split()))
    for character in "\\`*_[]<>|#~":
        plain = plain.replace(character, f"\\{character}" if character != "<" else "&lt;")
    return plain


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
article{border-left:4px solid #b3261e;padding:.2rem 1rem;margin:1rem 0}
article.unseen{border-color:#b26a00}article.verified{border-color:#2e7d32}article.unchecked{border-color:#999}
blockquote{margin:.3rem 0;font-size:1.05em}small{color:#595959}code,pre{font:13px/1.4 ui-monospace,monospace}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}
td,blockquote,p,small{overflow-wrap:anywhere}
@media(max-width:35rem){td,th{padding:.3rem .15rem;font-size:.75rem}}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181d}small{color:#a8a8a8}td,th{border-color:#333}}
"""


def audit_html(audit: AuditReport) -> str:
    """Return the audit as one page that loads nothing."""
    summary = audit.summary
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>Audit of assistants</title><style>{_STYLE}</style></head><body>",
            "<h1>Untrue statements of the assistants</h1>",
            f"<p>{escape(summary_text(audit))}.</p>",
            f"<p>{escape(LIMITS)}</p>" if summary.sessions and not summary.contradicted else "",
            *_articles(audit),
            "<table><tr><th>Project<th>Model<th>Sessions<th>Statements<th>Contradicted</tr>",
            *(
                f"<tr><td>{escape(_name(group.project))}<td>{escape(escape_control(group.model))}"
                f"<td>{group.sessions}<td>{group.statements}<td>{group.contradicted}</tr>"
                for group in summary.groups
            ),
            "</table>",
            *(
                f"<p>Skipped {escape(escape_control(entry.path))}: {escape(escape_control(entry.why))}</p>"
                for entry in audit.skipped
            ),
            "</body></html>\n",
        )
    )


def _articles(audit: AuditReport) -> Iterator[str]:
    sessions = {session.id: session for session in audit.sessions}
    group: AuditOutcome = "contradicted"
    for entry in joined(audit.statements):
        if entry.outcome != group:
            group = entry.outcome
            yield f"<h2>{escape(heading_of(group, audit))}</h2>"
        day, project, agent, _, _, place = _fields(entry, sessions.get(entry.session))
        where = " · ".join((day, project, escape_control(agent)))
        proof = f"<p>{escape(escape_control(proof_of(entry)))}</p>" if proof_of(entry) else ""
        yield (
            f'<article class="{entry.outcome}"><small>{escape(where)} · {entry.outcome}</small>'
            f"<blockquote>{escape(escape_control(entry.text))}</blockquote>{proof}"
            f"<small>{escape(place)}</small></article>"
        )
