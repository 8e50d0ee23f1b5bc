"""Print what `remit verify` found: the claims that fail, each with the nearest truth, and one line that counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.checking import Verdict
from remit.contract.profiles import Level
from remit.evidence.claims import FAILING, HOLDING, Claim, claims_of, claims_text, count_outcomes
from remit.evidence.model import format_location
from remit.lazy import lazy_pattern
from remit.reports.layout import Line, Piece, display_width, escape_control, shorten_text, wrap_text
from remit.reports.text import OUTCOME_STYLES
from remit.rules.base import Violation

if TYPE_CHECKING:
    from remit.reports.shapes import FixShape

_SARIF_LEVELS: dict[Level, str] = {"L1": "error", "L2": "warning", "L3": "note"}
_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: Rules whose violations are not the outcome of one claim.
_OTHER_RULES = frozenset({"unreadable", "self-conflict", "no-tool-calls", "change-unseen"})
_MARGIN = 4
#: At most this many problems of a document are listed, unless all claims are.
_MAX_SHOWN = 50
_PLAIN = lazy_pattern(r"[\w ,.;:()/%+\-]*")


class Entry(NamedTuple):
    """One problem: the document and its line, what is wrong, the words of the document, the reason and the truth."""

    path: str
    line: int
    label: str
    style: str
    what: str
    note: str = ""
    found: str = ""
    #: A line of the text and the line of the code that it should be.
    difference: tuple[str, str] | None = None

    @property
    def truth(self) -> str:
        """The reason and the nearest truth in one line."""
        return " ".join(filter(None, (self.note, f"→ {self.found}" if self.found else "")))


def entries_of(verdict: Verdict, *, every: bool = False) -> Iterator[Entry]:
    """Yield what does not hold in a document and what could not be decided, in document order; with `every`, all."""
    found = [_of_violation(verdict, one) for one in verdict.violations if one.rule in _OTHER_RULES]
    found += (_of_claim(verdict, one) for one in claims_of(verdict.evidence) if every or _is_reported(one))
    yield from sorted(found, key=lambda entry: entry.line)


def _is_reported(claim: Claim) -> bool:
    holds = claim.outcome in HOLDING or claim.outcome == "abbreviated"
    return not (holds or claim.has_failed_quote or claim.is_silent)


def _of_claim(verdict: Verdict, claim: Claim) -> Entry:
    is_shown = claim.found is not None and claim.outcome != "verified"
    location = format_location(claim.found, claim.found_end) if claim.found is not None and is_shown else ""
    entry = Entry(
        verdict.path, claim.at, claim.outcome, OUTCOME_STYLES[claim.outcome], claim.what, claim.note, location
    )
    differs = claim.difference
    if differs is None or not differs.actual or claim.outcome != "mismatch":
        return entry
    note, _, _ = claim.note.partition("; the quote has")
    return entry._replace(note=note, difference=(differs.quoted.strip(), differs.actual.strip()))


def _of_violation(verdict: Verdict, violation: Violation) -> Entry:
    style = "bold red" if violation.level == "L1" else "yellow"
    return Entry(verdict.path, violation.line, violation.rule, style, violation.message)


def verify_lines(
    verdicts: Sequence[Verdict], columns: int, *, every: bool = False, fixes: Sequence[FixShape] = ()
) -> Iterator[Line]:
    """Yield the lines of the report."""
    for fix in fixes:
        yield from _entry(Entry(fix.path, fix.line, "fixed", "green", fix.old, found=fix.new), columns)
    for verdict in verdicts:
        entries = list(entries_of(verdict, every=every))
        shown = entries if every else entries[:_MAX_SHOWN]
        for entry in shown:
            yield from _entry(entry, columns)
        if len(shown) < len(entries):
            yield [Piece(f"{len(entries) - len(shown):,} more; `--claims` shows all", "yellow")]
        if len(verdicts) > 1 and not claims_of(verdict.evidence) and not verdict.document.refusal:
            yield [Piece(escape_control(verdict.path), "bold"), Piece("  no claims found", "yellow")]
    claims = [claim for verdict in verdicts for claim in claims_of(verdict.evidence)]
    if not all(verdict.document.refusal for verdict in verdicts):
        yield from _summary(claims, columns)
    yield from _not_checked(verdicts, columns)


def _summary(claims: Sequence[Claim], columns: int) -> Iterator[Line]:
    text = claims_text(claims)
    if display_width(text) > columns or not claims:
        yield from ([Piece(row, "bold" if claims else "bold yellow")] for row in wrap_text(text, columns))
        return
    head, _, _ = text.partition(":")
    line = [Piece(f"{head}: ", "bold")]
    for index, (outcome, number) in enumerate(count_outcomes(claims).items()):
        line.append(Piece((", " if index else "") + f"{number} {outcome}", OUTCOME_STYLES[outcome]))
    yield line


def _entry(entry: Entry, columns: int) -> Iterator[Line]:
    place, what = f"{escape_control(entry.path)}:{entry.line}", escape_control(entry.what)
    head = [Piece(place, "bold"), Piece("  "), Piece(entry.label, entry.style)]
    used = display_width(place) + 2 + len(entry.label)
    if used + 2 + display_width(what) <= columns:
        yield [*head, Piece(f"  {what}")]
    else:
        yield head if used <= columns else [Piece(shorten_text(place, columns), "bold")]
        yield from ([Piece(row)] for row in wrap_text(what, columns, _MARGIN))
    truth = escape_control(entry.truth)
    parts = (
        [truth] if display_width(truth) + _MARGIN <= columns else [entry.note, f"→ {entry.found}" * bool(entry.found)]
    )
    for part in filter(None, parts):
        yield from ([Piece(row, "dim")] for row in wrap_text(escape_control(part), columns, _MARGIN))
    if entry.difference is not None:
        quoted, actual = map(escape_control, entry.difference)
        yield from _changed_lines(quoted, actual, columns)


def _changed_lines(quoted: str, actual: str, columns: int) -> Iterator[Line]:
    """Yield a line of a quote and the line of the code; of long lines, the part that differs."""
    room = columns - _MARGIN - 2
    start = 0
    if max(display_width(quoted), display_width(actual)) > room:
        from remit.evidence.similarity import common_start  # late import: slow to load

        same = common_start(quoted, actual)
        start = max(0, same - room // 2) if display_width(quoted[:same]) > room * 3 // 4 else 0
    for sign, line, style in (("-", quoted, "red"), ("+", actual, "green")):
        part = ("…" if start else "") + line[start:]
        yield [Piece(f"{' ' * _MARGIN}{sign} {shorten_text(part, room)}", style)]


def _not_checked(verdicts: Sequence[Verdict], columns: int) -> Iterator[Line]:
    """Yield what could not be checked although its source was given, each reason once."""
    reasons = {skipped.why for verdict in verdicts for skipped in verdict.not_run}
    for why in sorted(reason for reason in reasons if not reason.startswith("no receipts were given")):
        yield from ([Piece(row, "dim")] for row in wrap_text(f"not checked: {escape_control(why)}", columns))


def revision_text(verdict: Verdict) -> str:
    """Return which files a document was checked against: `commit 1a2b3c4d5e6f (frontmatter)`, or the files on disk."""
    revision = verdict.revision
    if revision.commit is not None:
        return f"commit {revision.commit[:12]} ({revision.source})"
    absent = f"; the repository has no commit {escape_control(revision.absent[:12])}" if revision.absent else ""
    return f"the files on disk{absent}"


def verify_markdown(verdicts: Sequence[Verdict], root: str, fixes: Sequence[FixShape] = ()) -> str:
    """Return the report as Markdown, for example for a comment on a pull request. Untrusted text is code."""
    claims = [claim for verdict in verdicts for claim in claims_of(verdict.evidence)]
    fails = any(claim.outcome in FAILING for claim in claims) or not all(verdict.accepted for verdict in verdicts)
    icon = "❌" if fails else "✅" if claims else "⚪"
    lines = [f"**{icon} {claims_text(claims)}**", ""]
    rows = [entry for verdict in verdicts for entry in entries_of(verdict)]
    if rows:
        lines += ["| document | outcome | claim | truth |", "|---|---|---|---|"]
        lines += [
            f"| {_code(f'{row.path}:{row.line}')} | {row.label} | {_code(row.what)} | {_truth(row)} |" for row in rows
        ]
        lines.append("")
    lines += [f"- fixed {_code(f'{fix.path}:{fix.line}')}: {_code(fix.old)} → {_code(fix.new)}" for fix in fixes]
    lines += [""] if fixes else []
    where = ", ".join(dict.fromkeys(revision_text(verdict) for verdict in verdicts))
    lines.append(f"Checked against {_code(root)}, {where}.")
    return "\n".join(lines)


def _code(text: str) -> str:
    """Return text as inline code of a table cell; nothing in it is rendered."""
    return f"`{escape_control(text).replace('`', chr(39)).replace('|', chr(92) + '|').strip() or ' '}`"


def _truth(entry: Entry) -> str:
    changed = f": {_code(entry.difference[0])} is {_code(entry.difference[1])}" if entry.difference else ""
    return _plain(entry.truth) + changed


def _plain(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.isascii() else _code(text) if text else ""


def verify_sarif(verdicts: Sequence[Verdict], version: str, *, require_claims: bool = False) -> str:
    """Return the report as SARIF 2.1.0: a result for each violation, located in the document.

    `require_claims`: a notification for each text without claims, which is why the command fails.
    """
    violations = [(verdict, violation) for verdict in verdicts for violation in verdict.violations]
    rules = sorted({violation.rule for _, violation in violations})
    from remit.rules.catalog import find  # late: only this format needs it

    driver = {
        "name": "remit",
        "version": version,
        "rules": [{"id": rule, "shortDescription": {"text": find(rule).rule.summary()}} for rule in rules],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "remit-verify/"},
        "results": [_sarif_result(verdict, violation, rules) for verdict, violation in violations],
        "properties": {"claims": claims_text([c for verdict in verdicts for c in claims_of(verdict.evidence)])},
    }
    from remit.reports.formats import NO_CLAIMS, format_json  # late: only this format needs it

    if empty := [verdict for verdict in verdicts if require_claims and not claims_of(verdict.evidence)]:
        notes = [{"level": "error", "message": {"text": NO_CLAIMS}, "locations": [_location(one, 1)]} for one in empty]
        run["invocations"] = [{"executionSuccessful": True, "exitCode": 1, "toolExecutionNotifications": notes}]
    return format_json({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _sarif_result(verdict: Verdict, violation: Violation, rules: list[str]) -> dict[str, Any]:
    return {
        "ruleId": violation.rule,
        "ruleIndex": rules.index(violation.rule),
        "level": _SARIF_LEVELS[violation.level],
        "message": {"text": escape_control(violation.message).replace("](", "] (")},
        "locations": [_location(verdict, violation.line)],
    }


def _location(verdict: Verdict, line: int) -> dict[str, Any]:
    from urllib.parse import quote  # late: it is slow to load, and only this format needs it

    uri = quote(escape_control(verdict.path).replace("\\", "/"), safe="/", errors="replace")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri},
            "region": {"startLine": max(1, line)},
        }
    }
