"""Print what `remit verify` found: what fails, what is worth a look, and one line that counts the claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from remit.checking import Verdict
from remit.contract.profiles import Level
from remit.evidence.claims import ACCUSING, HOLDING, ClaimEntry, claims_of, claims_text, summary_parts
from remit.evidence.model import Reliability
from remit.evidence.similarity import common_start
from remit.lazy import lazy_pattern
from remit.reports.accusations import (
    cited_text,
    found_text,
    is_shown,
    message_of,
    rule_of,
    unchecked_lines,
    why_text,
    worth_a_look,
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
#: Outcomes that neither hold nor accuse the text, and that the text can avoid.
_UNDECIDED = frozenset({"ambiguous", "unseen"})
_SUMMARY_STYLES: dict[str, str] = {
    **{outcome: style for outcome, style in OUTCOME_STYLES.items()},  # noqa: C416 (the keys become plain strings)
    "wrong": "bold red",
    "worth a look": "yellow",
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
    is_dim: bool = False

    @property
    def truth(self) -> str:
        """The reason and what was found instead."""
        return " ".join(filter(None, (self.why, f"→ {self.found}" if self.found else "")))

    @property
    def short_truth(self) -> str:
        """The same without the lines that differ, which are shown below it."""
        return self._replace(why=self.why.partition("; the quote has")[0]).truth if self.difference else self.truth


#: The heading of the first group on a terminal.
_CERTAIN = "wrong"
#: The heading with `--strict`: what is worth a look fails, too.
_STRICT = "worth a look, failing"


class Group(NamedTuple):
    """Entries of the same reliability. The first group has no heading."""

    heading: str
    entries: list[Entry]


def groups_of(verdicts: Sequence[Verdict], only: Reliability = "look", *, every: bool = False) -> list[Group]:
    """Return what the report lists: certain and likely accusations, and what is worth a look.

    `only` leaves out accusations that are less reliable. With `every`, what is not decided and the other claims follow.
    """
    listed = [(verdict, entry) for verdict in verdicts for entry in claims_of(verdict.evidence)]
    accused = {
        reliability: [_of_claim(verdict, entry) for verdict, entry in listed if entry.reliability == reliability]
        for reliability in ("certain", "likely", "look")
    }
    undecided = [_of_claim(*pair) for pair in listed if every and _is_undecided(pair[1])]
    others = [_of_claim(*pair) for pair in listed if every and not _is_accused_or_undecided(pair[1])]
    violations = [
        _of_violation(verdict, violation)
        for verdict in verdicts
        for violation in verdict.violations
        if violation.rule in _OTHER_RULES
    ]
    groups = [
        Group("", [*violations, *accused["certain"]]),
        Group("likely wrong", accused["likely"] if only != "certain" else []),
        Group(
            "worth a look" if not any(entry.fails for _, entry in listed if entry.reliability == "look") else _STRICT,
            [entry._replace(style="yellow", is_dim=True) for entry in accused["look"]] if only == "look" else [],
        ),
        Group("not decided", undecided),
        Group("other claims", others),
    ]
    return [group for group in groups if group.entries]


def _is_undecided(entry: ClaimEntry) -> bool:
    return entry.reliability is None and entry.outcome in _UNDECIDED


def _is_accused_or_undecided(entry: ClaimEntry) -> bool:
    return entry.reliability is not None or entry.outcome in _UNDECIDED


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
    only: Reliability = "look",
    fixes: Sequence[FixShape] = (),
) -> Iterator[Line]:
    """Yield the lines of the report. Without `columns`, for a pipe, each entry is one line of any length.

    `root` is the checkout. `every` lists all claims, and `only` leaves out accusations that are less reliable.
    """
    for fix in fixes:
        yield from _entry(Entry(fix.path, fix.line, "fixed", "green", fix.old, found=fix.new), columns)
    for number, group in enumerate(groups_of(verdicts, only, every=every)):
        heading = group.heading or (_CERTAIN if columns is not None else "")
        if heading and (number or heading != "other claims"):
            yield [Piece(f"{heading} ({len(group.entries):,})", "bold")]
        shown = group.entries if every or columns is None else group.entries[:_MAX_SHOWN]
        for entry in shown:
            yield from _entry(entry, columns)
        if len(shown) < len(group.entries):
            yield [Piece(f"{len(group.entries) - len(shown):,} more; `--claims` shows all", "yellow")]
    yield from (_dim(row) for text in _shared_causes(verdicts, only) for row in _wrapped(text, columns))
    yield from _without_claims(verdicts)
    claims = [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]
    if not all(verdict.document.refusal for verdict in verdicts):
        yield from _summary(claims, columns)
        yield from _hidden(claims, only)
        undecided = 0 if every else sum(map(_is_undecided, claims))
        if undecided:
            yield _dim(f"`--claims` lists the {format_count(undecided, 'claim')} that several files fit")
    notes = _notes(verdicts)
    if root:
        where = ", ".join(dict.fromkeys(map(revision_text, verdicts)))
        notes.append(f"checked against {escape_control(root)}, {where}")
    yield from (_dim(row) for text in notes for row in _wrapped(text, columns))


def _shared_causes(verdicts: Sequence[Verdict], only: Reliability) -> Iterator[str]:
    """Yield each commit that made many claims outdated, with the folder into which it moved their files."""
    by_commit: dict[str, list[ClaimEntry]] = {}
    for verdict in verdicts:
        for entry in claims_of(verdict.evidence):
            if entry.then is not None and entry.then.changed_in and is_shown(entry, only):
                by_commit.setdefault(entry.then.changed_in, []).append(entry)
    for commit, entries in sorted(by_commit.items(), key=lambda group: -len(group[1])):
        if len(entries) < _MANY:
            continue
        folders = Counter(folder for entry in entries if (folder := _new_folder(entry)))
        folder, number = max(folders.items(), key=lambda pair: pair[1], default=("", 0))
        moved = f"; {number:,} of their paths are now below {folder}" if number >= _MANY else ""
        yield escape_control(f"{len(entries):,} of these claims have one cause: commit {commit[:9]}{moved}")


def _new_folder(entry: ClaimEntry) -> str:
    """Return the folder that the path of a claim has before it today; empty if the path changed in another way."""
    path = entry.path.strip("/")
    today = entry.found.path if entry.found is not None else ""
    return today.removesuffix(path) if path and today.endswith(f"/{path}") else ""


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


def _hidden(claims: Sequence[ClaimEntry], only: Reliability) -> Iterator[Line]:
    number = sum(entry.reliability is not None and not is_shown(entry, only) for entry in claims)
    if number:
        yield _dim(f"--only {only} hides {format_count(number, 'less reliable accusation')}")


def _entry(entry: Entry, columns: int | None) -> Iterator[Line]:
    """Yield an entry. The document, its line, the outcome and the claim are always on one line."""
    place, what = escape_control(f"{entry.path}:{entry.line}"), escape_control(entry.what)
    truth = escape_control(shorten_text(entry.truth if columns is None else entry.short_truth, _MAX_WHY))
    head = [Piece(place, "dim" if entry.is_dim else "bold"), Piece("  "), Piece(entry.label, entry.style)]
    head.append(Piece(f"  {what}", "dim" if entry.is_dim else ""))
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
    only: Reliability = "look",
) -> str:
    """Return the report as Markdown, for example for a comment on a pull request. Untrusted text is code.

    `change` states what a change made false, if only that is reported.
    """
    claims = [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]
    lines = [f"**{_icon(verdicts, claims)} {change or claims_text(claims)}**", ""]
    for heading, group in _tables(groups_of(verdicts, only, every=every)):
        lines += [f"**{heading} ({len(group):,})**", ""] if heading else []
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


def _tables(groups: Iterable[Group]) -> Iterator[tuple[str, list[Entry]]]:
    """Yield the tables: what fails without a heading, then what is worth a look, then what `--claims` adds."""
    groups = list(groups)
    failing = [entry for group in groups if group.heading in ("", "likely wrong") for entry in group.entries]
    if failing:
        yield "", failing
    for group in groups:
        if group.heading not in ("", "likely wrong"):
            yield group.heading.capitalize(), group.entries


def _icon(verdicts: Sequence[Verdict], claims: Sequence[ClaimEntry]) -> str:
    """Return the sign of the report. A check mark needs a claim that was looked up, and that all claims hold."""
    if any(entry.fails for entry in claims) or not all(verdict.accepted for verdict in verdicts):
        return "❌"
    if any(entry.outcome in ACCUSING or entry.outcome in _UNDECIDED for entry in claims):
        return "⚠️"
    is_confirmed = any(entry.outcome in ("verified", "exists", "abbreviated") for entry in claims)
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
    only: Reliability = "look",
) -> str:
    """Return the report as SARIF 2.1.0: a result for each violation, and a note for what is worth a look.

    `change` states what a change made false, if only that is reported.
    `require_claims`: a notification for each text without claims, which is why the command fails.
    """
    claims = [claims_of(verdict.evidence) for verdict in verdicts]
    results = [_sarif_violation(verdict, violation) for verdict in verdicts for violation in verdict.violations]
    for verdict, entries in zip(verdicts, claims, strict=True):
        results += [_sarif_note(verdict, entry) for entry in worth_a_look(entries, only)]
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


def _sarif_note(verdict: Verdict, entry: ClaimEntry) -> dict[str, Any]:
    result = _sarif_result(verdict, entry.at, rule_of(entry), "note", f"worth a look: {message_of(entry)}")
    return {**result, "properties": {"reliability": entry.reliability, "reason": entry.reason}}


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
