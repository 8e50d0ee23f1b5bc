"""Verdicts for people: the document's own line with a mark under the fault, and what to do.

The lines are pieces of text with a style each, so that one layout serves a terminal (coloured by rich)
and a pipe (plain).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit.checking import Verdict
from remit.reports.claims import claim_lines
from remit.reports.layout import Line, Piece
from remit.reports.shapes import summary
from remit.reports.visible import cut, visible, width, wrapped
from remit.rules.base import Violation
from remit.workspace.files import Workspace

STYLES = {"accept": "bold green", "revise": "bold yellow", "reject": "bold red"}
LEVEL_STYLES = {"L1": "bold red", "L2": "yellow", "L3": "cyan"}


def check_text_lines(
    verdicts: Sequence[Verdict], columns: int = 80, workspace: Workspace | None = None, *, every_claim: bool = False
) -> Iterator[Line]:
    """The whole report."""
    for verdict in verdicts:
        yield from _verdict(verdict, columns)
        yield from claim_lines(verdict, workspace, columns, every=every_claim)
        if verdict.violations:
            yield []
    yield from _totals(verdicts)
    yield from _not_run(verdicts, columns)


def _verdict(verdict: Verdict, columns: int) -> Iterator[Line]:
    head = [
        Piece(f"{verdict.verdict.upper():<7}", STYLES[verdict.verdict]),
        Piece(f" {visible(verdict.path)}", "bold"),
        Piece(f"  {visible(verdict.agent) or 'no agent'} · {verdict.kind} · {verdict.profile}", "dim"),
    ]
    score = verdict.confidence.claimed
    if score is not None:
        supported = verdict.confidence.supported
        support = f" (supported {supported:g})" if supported is not None else ""
        head.append(Piece(f" · confidence {score:g}{support}", "dim"))
    yield head
    reasons = {override.rule: override.reason for override in verdict.overrides}
    told: set[str] = set()
    for violation in verdict.violations:
        yield from _violation(verdict, violation, columns)
        excused = violation.rule in reasons and violation.level != "L1"
        advice = f"overridden: {reasons[violation.rule]}" if excused else f"→ {violation.help}"
        if advice not in told:
            yield from ([Piece(row, "green")] for row in wrapped(visible(advice), columns, 5))
        told.add(advice)


def _violation(verdict: Verdict, violation: Violation, columns: int) -> Iterator[Line]:
    yield [
        Piece(f"  {violation.level} ", LEVEL_STYLES[violation.level]),
        Piece(violation.rule, "bold"),
        Piece(f"  line {violation.line}", "dim"),
    ]
    for row in wrapped(visible(violation.message), columns, 5):
        yield [Piece(row)]
    yield from _source(verdict, violation, columns)


def _source(verdict: Verdict, violation: Violation, columns: int) -> Iterator[Line]:
    """The line of the document, and a mark under the words at fault."""
    document = verdict.document
    lines = document.lines
    at = violation.line - document.first_line
    if not 0 <= at < len(lines) or not lines[at].strip():
        return
    room = max(columns, 40) - 14
    text = lines[at]
    start = text.find(violation.mark) if violation.mark else -1
    marked = text[start : start + len(violation.mark)] if start >= 0 else ""
    skipped = _skipped(text, start, marked, room)
    yield [Piece(f"     {violation.line:>5} │ ", "dim"), Piece(cut(visible(text[skipped:]), room))]
    if marked:
        before = width(visible(text[skipped:start]))
        length = min(max(1, width(visible(marked))), max(1, room - before))
        yield [Piece("           │ ", "dim"), Piece(" " * before + "^" * length, LEVEL_STYLES[violation.level])]


def _skipped(text: str, start: int, marked: str, room: int) -> int:
    """How much of a long line is left out on the left, so that the mark is seen."""
    if not marked or width(visible(text[: start + len(marked)])) <= room:
        return 0
    skipped = max(0, start - room // 2)
    while skipped < start and width(visible(text[skipped:start])) > room // 2:
        skipped += 1
    return skipped


def _totals(verdicts: Sequence[Verdict]) -> Iterator[Line]:
    counts = summary(verdicts)
    line = [Piece(f"{counts.results} result{'s' if counts.results != 1 else ''}: ", "bold")]
    for decision, number in (("accept", counts.accept), ("revise", counts.revise), ("reject", counts.reject)):
        line.append(Piece(f"{number} {decision}", STYLES[decision] if number else "dim"))
        line.append(Piece(", " if decision != "reject" else ""))
    found = ", ".join(f"{number} {level}" for level, number in counts.violations.items() if number)
    yield [*line, Piece(f" · violations: {found or 'none'}", "dim")]


def _not_run(verdicts: Sequence[Verdict], columns: int) -> Iterator[Line]:
    """What could not be checked, once for all results, by reason."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        for skipped in verdict.not_run:
            rules = reasons.setdefault(skipped.why.split(";", 1)[0], [])
            if skipped.rule not in rules:
                rules.append(skipped.rule)
    for why, rules in reasons.items():
        for row in wrapped(f"not checked, because {why}: {', '.join(rules)}", columns):
            yield [Piece(row, "dim")]
