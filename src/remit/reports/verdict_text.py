"""Print verdicts for people: the line of the document with a mark under the violation, and what to do.

A line is a list of styled pieces, so that one layout serves a terminal (coloured by rich) and a pipe (plain).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from remit.checking import Decision, Verdict
from remit.contract.profiles import Level
from remit.evidence.claims import ClaimEntry, claims_of, count_outcomes
from remit.evidence.model import Location, Outcome
from remit.reports.accusations import cited_text, found_text, why_text
from remit.reports.layout import Line, Piece, display_width, escape_control, shorten_text, wrap_text
from remit.rules.base import Violation
from remit.workspace.files import SourceFile, Workspace

STYLES: dict[Decision, str] = {"accept": "bold green", "revise": "bold yellow", "reject": "bold red"}
LEVEL_STYLES: dict[Level, str] = {"L1": "bold red", "L2": "yellow", "L3": "cyan"}
OUTCOME_STYLES: dict[Outcome, str] = {
    "verified": "green",
    "exists": "green",
    "planned": "cyan",
    "unchecked": "dim",
    "unseen": "yellow",
    "relocated": "yellow",
    "outdated": "yellow",
    "missing-file": "bold red",
    "out-of-range": "bold red",
    "mismatch": "bold red",
    "contradicted": "bold red",
}
#: Lines of one repeated violation that are listed.
_MAX_LINES = 5
#: Lines of source before and after a suggestion.
_AROUND = 2


def check_text_lines(
    verdicts: Sequence[Verdict],
    columns: int = 80,
    workspace: Workspace | None = None,
) -> Iterator[Line]:
    """Yield the lines of the report."""
    for verdict in verdicts:
        yield from _verdict(verdict, columns)
        yield from claim_lines(verdict, workspace, columns)
        if verdict.violations:
            yield []
    yield from _totals(verdicts)
    yield from _not_run(verdicts, columns)


def _verdict(verdict: Verdict, columns: int) -> Iterator[Line]:
    yield from _head(verdict, columns)
    if verdict.document.has_content and (outside := verdict.document.lines_outside):
        lines = "1 line of the file is" if outside == 1 else f"{outside:,} lines of the file are"
        yield [Piece(f"  {lines} not part of the result; only the claims there are checked", "dim")]
    reasons = {override.rule: override.reason for override in verdict.overrides}
    printed: set[str] = set()
    for violation, numbers in _hardest_first(verdict.violations):
        yield from _violation(verdict, violation, numbers, columns)
        excused = violation.rule in reasons and violation.level != "L1"
        advice = f"overridden: {reasons[violation.rule]}" if excused else f"→ {violation.help}"
        if advice not in printed:
            yield from ([Piece(row, "green")] for row in wrap_text(escape_control(advice), columns, 5))
        printed.add(advice)


def _head(verdict: Verdict, columns: int) -> Iterator[Line]:
    """Yield the verdict, the file and what the result states; on two lines if one is too short."""
    head = [
        Piece(f"{verdict.verdict.upper():<7}", STYLES[verdict.verdict]),
        Piece(f" {escape_control(verdict.path)}", "bold"),
    ]
    about = [Piece(f"  {escape_control(verdict.agent) or 'no agent'} · {verdict.kind} · {verdict.profile}", "dim")]
    score = verdict.confidence.claimed
    if score is not None:
        supported = verdict.confidence.supported
        support = f" (supported {supported:g})" if supported is not None else ""
        about.append(Piece(f" · confidence {score:g}{support}", "dim"))
    if verdict.document.has_text and not claims_of(verdict.evidence):
        about.append(Piece(" · no claims found", "yellow"))
    if sum(display_width(piece.text) for piece in (*head, *about)) <= columns:
        yield [*head, *about]
    else:
        yield head
        yield [Piece(" " * 6), *about]


def _hardest_first(violations: Sequence[Violation]) -> list[tuple[Violation, list[int]]]:
    """Return the violations with their lines, hard rules first. Those with one message are folded into the first."""
    folded: dict[tuple[str, str], tuple[Violation, list[int]]] = {}
    for violation in violations:
        folded.setdefault((violation.rule, violation.message), (violation, []))[1].append(violation.line)
    return sorted(folded.values(), key=lambda entry: entry[0].level)


def _violation(verdict: Verdict, violation: Violation, lines: Sequence[int], columns: int) -> Iterator[Line]:
    shown = ", ".join(map(str, lines[:_MAX_LINES])) + (
        f" and {len(lines) - _MAX_LINES} more" * (len(lines) > _MAX_LINES)
    )
    yield [
        Piece(f"  {violation.level} ", LEVEL_STYLES[violation.level]),
        Piece(violation.rule, "bold"),
        Piece(f"  {'line' if len(lines) == 1 else 'lines'} {shown}", "dim"),
    ]
    for row in wrap_text(escape_control(violation.message), columns, 5, keeps_paths=True):
        yield [Piece(row)]
    yield from _source(verdict, violation, columns)


def _source(verdict: Verdict, violation: Violation, columns: int) -> Iterator[Line]:
    """Yield the line of the document with a mark under the violation."""
    text = verdict.document.line_text(violation.line)
    if not text.strip():
        return
    room = max(columns, 40) - 14
    start = text.find(violation.mark) if violation.mark else -1
    marked = text[start : start + len(violation.mark)] if start >= 0 else ""
    skipped = _skipped(text, start, marked, room)
    yield [Piece(f"     {violation.line:>5} │ ", "dim"), Piece(shorten_text(escape_control(text[skipped:]), room))]
    if marked:
        before = display_width(escape_control(text[skipped:start]))
        length = min(max(1, display_width(escape_control(marked))), max(1, room - before))
        yield [Piece("           │ ", "dim"), Piece(" " * before + "^" * length, LEVEL_STYLES[violation.level])]


def _skipped(text: str, start: int, marked: str, room: int) -> int:
    """Return how many characters of a long line to skip, so that the mark is visible."""
    if not marked or display_width(escape_control(text[: start + len(marked)])) <= room:
        return 0
    skipped = max(0, start - room // 2)
    while skipped < start and display_width(escape_control(text[skipped:start])) > room // 2:
        skipped += 1
    return skipped


def _totals(verdicts: Sequence[Verdict]) -> Iterator[Line]:
    decisions = Counter(verdict.verdict for verdict in verdicts)
    levels = Counter(violation.level for verdict in verdicts for violation in verdict.violations)
    line = [Piece(f"{len(verdicts)} result{'s' if len(verdicts) != 1 else ''}: ", "bold")]
    for decision, style in STYLES.items():
        line.append(Piece(f"{decisions[decision]} {decision}", style if decisions[decision] else "dim"))
        line.append(Piece(", " if decision != "reject" else ""))
    level_counts = ", ".join(f"{levels[level]} {level}" for level in LEVEL_STYLES if levels[level])
    yield [*line, Piece(f" · violations: {level_counts or 'none'}", "dim")]


def _not_run(verdicts: Sequence[Verdict], columns: int) -> Iterator[Line]:
    """Yield what could not be checked, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        for skipped in verdict.not_run:
            rules = reasons.setdefault(skipped.why.split(";", 1)[0], [])
            if skipped.rule not in rules:
                rules.append(skipped.rule)
    for why, rules in reasons.items():
        for row in wrap_text(f"not checked, because {why}: {', '.join(rules)}", columns):
            yield [Piece(row, "dim")]


def claim_lines(verdict: Verdict, workspace: Workspace | None, columns: int) -> Iterator[Line]:
    """Yield the claims that fail, each with what was found instead."""
    claims = claims_of(verdict.evidence)
    if not claims:
        return
    yield from _counted(count_outcomes(claims), columns)
    for entry in claims:
        if entry.fails:
            yield from _row(entry, columns)
            if entry.found is not None and workspace is not None and entry.outcome != "verified":
                yield from _excerpt(entry.found, workspace, columns)


def _counted(counts: dict[Outcome, int], columns: int) -> Iterator[Line]:
    """Yield the number of claims of each outcome, the most frequent first."""
    line, used = [Piece("  claims  ", "bold")], 10
    for outcome, number in sorted(counts.items(), key=lambda entry: -entry[1]):
        text = f"{number} exist" if outcome == "exists" and number > 1 else f"{number} {outcome}"
        if used > 10:
            line.append(Piece(", "))
            used += 2
        if used > 10 and used + len(text) + 1 > columns:
            yield line
            line, used = [Piece(" " * 10)], 10
        line.append(Piece(text, OUTCOME_STYLES[outcome]))
        used += len(text)
    yield line


def _row(entry: ClaimEntry, columns: int) -> Iterator[Line]:
    """Yield a claim, its reason and what was found."""
    head = f"    line {entry.at:<4} "
    margin = " " * (len(head) + 1)
    yield [
        Piece(head, "dim"),
        Piece(f"{entry.outcome:<13} ", OUTCOME_STYLES[entry.outcome]),
        Piece(escape_control(cited_text(entry))),  # whole: it has the path and the line
    ]
    why = why_text(entry)
    for row in wrap_text(escape_control(why), columns, len(margin), keeps_paths=True) if why else ():
        yield [Piece(row, "dim")]
    if suggestion := found_text(entry):
        yield from (
            [Piece(row, "yellow")]
            for row in wrap_text(f"→ {escape_control(suggestion)}", columns, len(margin), keeps_paths=True)
        )


def _excerpt(location: Location, workspace: Workspace, columns: int) -> Iterator[Line]:
    file = workspace.read(location.path)
    if location.line is None or not isinstance(file, SourceFile):
        return
    first = max(1, location.line - _AROUND)
    for number, text in enumerate(file.shown_lines(first, location.line + _AROUND), first):
        mark = ">" if number == location.line else " "
        style = "" if number == location.line else "dim"
        yield [
            Piece(f"           {mark} {number:>5} │ ", "dim"),
            Piece(shorten_text(escape_control(text), max(columns - 21, 20)), style),
        ]
