"""Print what `remit verify` found: what fails, what is worth a look, and one line that counts the claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from remit.checking import Verdict
from remit.contract.profiles import Level
from remit.evidence.claims import ACCUSING, HOLDING, ClaimEntry, claims_of, claims_text, summary_parts
from remit.evidence.similarity import common_start
from remit.lazy import lazy_pattern
from remit.reports.accusations import (
    cited_text,
    found_text,
    unchecked_lines,
    why_text,
)
from remit.reports.formats import NO_CLAIMS, format_json
from remit.reports.layout import Line, Piece, display_width, escape_control, format_count, shorten_text, wrap_text
from remit.reports.shapes import FixShape
from remit.reports.verdict_text import OUTCOME_STYLES
from remit.rules.base import Violation
from remit.rules.catalog import find

_SARIF_LEVELS: dict[Level, str] = {"L1": "error", "L2": "warning", "L3": "note"}
_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: Rules whose violations are not the outcome of one claim.
_OTHER_RULES = frozenset({"unreadable", "self-conflict", "no-tool-calls"})
_SUMMARY_STYLES: dict[str, str] = {
    **{outcome: style for outcome, style in OUTCOME_STYLES.items()},  # noqa: C416 (the keys become plain strings)
    "wrong": "bold red",
    "not failing": "yellow",
}
_MARGIN = 4
#: On a terminal, at most this many entries of a group are listed, unless all claims are.
_MAX_SHOWN = 50
#: A reason is cut after this many columns; it may contain long lines of code.
_MAX_WHY = 400
#: From this many claims on, a common cause is stated.
_MANY = 5
_PLAIN = lazy_pattern(r"[\w ,.;:()/%+\-]*")
EXAMPLES = (
    "a claim is, for example, `src/app.py:12`, `run()` in `src/app.py:12`, a fenced quote below its location, "
    "a link to a file, `make test`, or `tests/test_app.py::test_run`"
)


class Entry(NamedTuple):
    """One line of the report: the document and its line, the outcome, the words of the document, the reason."""

    path: str
    line: int
    label: str
    style: str
    what: str
    why: str = ""
    found: str = ""
    #: A line of the text and the line of the code that it should be.
    difference: tuple[str, str] | None = None

    @property
    def truth(self) -> str:
        """The reason and what was found instead."""
        return " ".join(filter(None, (self.why, f"→ {self.found}" if self.found else "")))

    @property
    def short_truth(self) -> str:
        """The same without the lines that differ, which are shown below it."""
        return self._replace(why=self.why.partition("; the quote has")[0]).truth if self.difference else self.truth


class Group(NamedTuple):
    """Entries below one heading."""

    heading: str
    entries: list[Entry]


def groups_of(verdicts: Sequence[Verdict], *, every: bool = False) -> list[Group]:
    """Return what the report lists: what fails, and with `every`, also what does not."""
    listed = [(verdict, entry) for verdict in verdicts for entry in claims_of(verdict.evidence)]
    violations = [
        _of_violation(verdict, violation)
        for verdict in verdicts
        for violation in verdict.violations
        if violation.rule in _OTHER_RULES
    ]
    failing = [_of_claim(*pair) for pair in listed if pair[1].fails]
    others = [_of_claim(*pair) for pair in listed if every and not pair[1].fails]
    groups = [Group("wrong", [*violations, *failing]), Group("other claims", others)]
    return [group for group in groups if group.entries]


def _of_claim(verdict: Verdict, entry: ClaimEntry) -> Entry:
    listed = Entry(
        verdict.path,
        entry.at,
        entry.outcome,
        OUTCOME_STYLES[entry.outcome],
        cited_text(entry),
        why_text(entry),
        found_text(entry),
    )
    differs = entry.difference
    if differs is None or not differs.actual or entry.outcome != "mismatch":
        return listed
    return listed._replace(difference=(differs.quoted.strip(), differs.actual.strip()))


def _of_violation(verdict: Verdict, violation: Violation) -> Entry:
    style = "bold red" if violation.level == "L1" else "yellow"
    return Entry(verdict.path, violation.line, violation.rule, style, violation.message)


def verify_lines(
    verdicts: Sequence[Verdict],
    columns: int | None = None,
    *,
    root: str = "",
    every: bool = False,
    fixes: Sequence[FixShape] = (),
) -> Iterator[Line]:
    """Yield the lines of the report. Without `columns`, for a pipe, each entry is one line of any length.

    `root` is the checkout. `every` lists all claims.
    """
    for fix in fixes:
        yield from _entry(Entry(fix.path, fix.line, "fixed", "green", fix.old, found=fix.new), columns)
    for group in groups_of(verdicts, every=every):
        if columns is not None or group.heading != "wrong":
            yield [Piece(f"{group.heading} ({len(group.entries):,})", "bold")]
        shown = group.entries if every or columns is None else group.entries[:_MAX_SHOWN]
        for entry in shown:
            yield from _entry(entry, columns)
        if len(shown) < len(group.entries):
            yield [Piece(f"{len(group.entries) - len(shown):,} more; `--all` shows them", "yellow")]
    yield from (_dim(row) for text in _shared_causes(verdicts) for row in _wrapped(text, columns))
    yield from _without_claims(verdicts)
    claims = [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]
    if not all(verdict.document.refusal for verdict in verdicts):
        yield from _summary(claims, columns)
        weak = 0 if every else sum(entry.outcome in ACCUSING and not entry.fails for entry in claims)
        if weak:
            text = f"`--all` lists what does not hold and does not fail: {format_count(weak, 'claim')}"
            yield from (_dim(row) for row in _wrapped(text, columns))
    notes = _notes(verdicts)
    if root:
        where = ", ".join(dict.fromkeys(map(revision_text, verdicts)))
        notes.append(f"checked against {escape_control(root)}, {where}")
    yield from (_dim(row) for text in notes for row in _wrapped(text, columns))


def _shared_causes(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield each commit that made many claims outdated."""
    entries = [entry for verdict in verdicts for entry in claims_of(verdict.evidence) if entry.fails]
    commits = Counter(entry.then.changed_in for entry in entries if entry.then is not None and entry.then.changed_in)
    for commit, number in commits.most_common():
        if number >= _MANY:
            yield escape_control(f"{number:,} of these claims have one cause: commit {commit[:9]}")


def _without_claims(verdicts: Sequence[Verdict]) -> Iterator[Line]:
    """Yield the name of each text without claims, if there are several texts."""
    for verdict in verdicts if len(verdicts) > 1 else ():
        if not claims_of(verdict.evidence) and not verdict.document.refusal:
            yield [Piece(escape_control(verdict.path), "bold"), Piece("  no claims found", "yellow")]


def _summary(claims: Sequence[ClaimEntry], columns: int | None) -> Iterator[Line]:
    text = claims_text(claims)
    if not claims:
        yield [Piece(text, "bold yellow")]
        yield from (_dim(row) for row in _wrapped(EXAMPLES, columns))
        return
    if columns is not None and display_width(text) > columns:
        yield from ([Piece(row, "bold")] for row in wrap_text(text, columns))
        return
    head, _, _ = text.partition(":")
    line = [Piece(f"{head}: ", "bold")]
    for index, (part, word) in enumerate(summary_parts(claims)):
        line.append(Piece((", " if index else "") + part, _SUMMARY_STYLES.get(word, "")))
    yield line


def _entry(entry: Entry, columns: int | None) -> Iterator[Line]:
    """Yield an entry. The document, its line, the outcome and the claim are always on one line."""
    place, what = escape_control(f"{entry.path}:{entry.line}"), escape_control(entry.what)
    truth = escape_control(shorten_text(entry.truth if columns is None else entry.short_truth, _MAX_WHY))
    head = [Piece(place, "bold"), Piece("  "), Piece(entry.label, entry.style)]
    head.append(Piece(f"  {what}"))
    if columns is None:
        yield [*head, Piece(f"  {truth}" if truth else "")]
        return
    used = sum(display_width(piece.text) for piece in head)
    if truth and used + 2 + display_width(truth) > columns:
        yield head
        yield from (_dim(row) for row in wrap_text(truth, columns, _MARGIN))
    else:
        yield [*head, Piece(f"  {truth}" if truth else "", "dim")]
    if entry.difference is not None:
        quoted, actual = map(escape_control, entry.difference)
        yield from _changed_lines(quoted, actual, columns)


def _changed_lines(quoted: str, actual: str, columns: int) -> Iterator[Line]:
    """Yield a line of a quote and the line of the code; of long lines, the part that differs."""
    room = columns - _MARGIN - 2
    start = 0
    if max(display_width(quoted), display_width(actual)) > room:
        same = common_start(quoted, actual)
        start = max(0, same - room // 2) if display_width(quoted[:same]) > room * 3 // 4 else 0
    for sign, line, style in (("-", quoted, "red"), ("+", actual, "green")):
        part = ("…" if start else "") + line[start:]
        yield [Piece(f"{' ' * _MARGIN}{sign} {shorten_text(part, room)}", style)]


def _dim(text: str) -> Line:
    return [Piece(text, "dim")]


def _wrapped(text: str, columns: int | None) -> list[str]:
    return wrap_text(text, columns) if columns is not None else [text]


def _notes(verdicts: Sequence[Verdict]) -> list[str]:
    """Return what could not be checked although its source was given, and what the history lacks, each once."""
    reasons = {skipped.why for verdict in verdicts for skipped in verdict.not_run}
    unchecked = sorted(reason for reason in reasons if not reason.startswith("no receipts were given"))
    return [*(f"not checked: {escape_control(why)}" for why in unchecked), *history_problems(verdicts)]


def history_problems(verdicts: Iterable[Verdict]) -> list[str]:
    """Return why the history could not be asked, each reason once."""
    problems = (verdict.evidence.history_problem for verdict in verdicts)
    return [escape_control(problem) for problem in dict.fromkeys(problems) if problem]


def revision_text(verdict: Verdict) -> str:
    """Return which files a document was checked against: the files on disk, or `commit 1a2b3c4d5e6f (--rev)`."""
    return f"commit {verdict.revision[:12]} (--rev)" if verdict.revision is not None else "the files on disk"


def change_text(verdicts: Sequence[Verdict], base: str, *, is_empty: bool = False) -> str:
    """Return how many claims a change since a commit made false. `is_empty`: there is no change."""
    number = sum(entry.fails for verdict in verdicts for entry in claims_of(verdict.evidence))
    made = f"{format_count(number, 'claim')} made false" if number else "no claim was made false"
    if is_empty:
        return f"nothing was compared: {base[:12]} is the checked-out commit"
    documents = len({verdict.path for verdict in verdicts})
    return f"{made} since {base[:12]} ({format_count(documents, 'document')} checked)"


def verify_markdown(
    verdicts: Sequence[Verdict],
    root: str,
    fixes: Sequence[FixShape] = (),
    *,
    change: str = "",
    every: bool = False,
) -> str:
    """Return the report as Markdown, for example for a comment on a pull request. Untrusted text is code.

    `change` states what a change made false, if only that is reported.
    """
    claims = [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]
    lines = [f"**{_icon(verdicts, claims)} {change or claims_text(claims)}**", ""]
    for heading, group in groups_of(verdicts, every=every):
        lines += [f"**{heading.capitalize()} ({len(group):,})**", ""] if heading != "wrong" else []
        lines += ["| document | outcome | claim | reason |", "|---|---|---|---|"]
        lines += [
            f"| {_code(f'{row.path}:{row.line}')} | {row.label} | {_code(row.what)} | {_reason(row)} |" for row in group
        ]
        lines.append("")
    lines += [f"- fixed {_code(f'{fix.path}:{fix.line}')}: {_code(fix.old)} → {_code(fix.new)}" for fix in fixes]
    lines += [""] if fixes else []
    where = ", ".join(dict.fromkeys(revision_text(verdict) for verdict in verdicts))
    lines.append(f"Checked against {_code(root)}, {where}.")
    lines += [f"{_plain(problem)}." for problem in history_problems(verdicts)]
    for verdict in verdicts:
        unchecked = unchecked_lines(claims_of(verdict.evidence))
        lines += [f"- not checked: {_code(f'{verdict.path}, {line}')}" for line in unchecked]
    return "\n".join(lines)


def _icon(verdicts: Sequence[Verdict], claims: Sequence[ClaimEntry]) -> str:
    """Return the sign of the report. A check mark needs a claim that was looked up, and that all claims hold."""
    if any(entry.fails for entry in claims) or not all(verdict.accepted for verdict in verdicts):
        return "❌"
    if any(entry.outcome in ACCUSING or entry.reason == "several-files" for entry in claims):
        return "⚠️"
    is_confirmed = any(entry.outcome in ("verified", "exists") for entry in claims)
    return "✅" if is_confirmed and all(entry.outcome in HOLDING for entry in claims) else "⚪"


def _code(text: str) -> str:
    """Return text as inline code of a table cell; nothing in it is rendered."""
    return f"`{escape_control(text).replace('`', chr(39)).replace('|', chr(92) + '|').strip() or ' '}`"


def _reason(entry: Entry) -> str:
    if entry.difference is None:
        return _plain(entry.truth)
    return f"{_plain(entry.short_truth)}: {_code(entry.difference[0])} is {_code(entry.difference[1])}"


def _plain(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.isascii() else _code(text) if text else ""


def verify_sarif(
    verdicts: Sequence[Verdict],
    version: str,
    *,
    change: str = "",
    require_claims: bool = False,
) -> str:
    """Return the report as SARIF 2.1.0: a result for each violation.

    `change` states what a change made false, if only that is reported.
    `require_claims`: a notification for each text without claims, which is why the command fails.
    """
    claims = [claims_of(verdict.evidence) for verdict in verdicts]
    results = [_sarif_violation(verdict, violation) for verdict in verdicts for violation in verdict.violations]
    rules = sorted({result["ruleId"] for result in results})
    driver = {
        "name": "remit",
        "version": version,
        "rules": [{"id": rule, "shortDescription": {"text": find(rule).summary()}} for rule in rules],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "remit-verify/"},
        "results": [{**result, "ruleIndex": rules.index(result["ruleId"])} for result in results],
        "properties": {"claims": change or claims_text([entry for entries in claims for entry in entries])},
    }
    if problems := history_problems(verdicts):
        run["properties"]["history"] = "; ".join(problems)
    pairs = zip(verdicts, claims, strict=True)
    if unchecked := [f"{verdict.path}, {line}" for verdict, entries in pairs for line in unchecked_lines(entries)]:
        run["properties"]["unchecked"] = list(map(escape_control, unchecked))
    empty = [verdict for verdict, entries in zip(verdicts, claims, strict=True) if require_claims and not entries]
    if empty:
        notes = [
            {"level": "error", "message": {"text": NO_CLAIMS}, "locations": [_location(verdict, 1)]}
            for verdict in empty
        ]
        run["invocations"] = [{"executionSuccessful": True, "exitCode": 1, "toolExecutionNotifications": notes}]
    return format_json({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _sarif_violation(verdict: Verdict, violation: Violation) -> dict[str, Any]:
    level = _SARIF_LEVELS[violation.level]
    return _sarif_result(verdict, violation.line, violation.rule, level, violation.message)


def _sarif_result(verdict: Verdict, line: int, rule: str, level: str, message: str) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": escape_control(message).replace("](", "] (")},
        "locations": [_location(verdict, line)],
    }


def _location(verdict: Verdict, line: int) -> dict[str, Any]:
    uri = quote(escape_control(verdict.path).replace("\\", "/"), safe="/", errors="replace")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri},
            "region": {"startLine": max(1, line)},
        }
    }
