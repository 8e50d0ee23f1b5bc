"""Write verdicts as JSON, GitHub annotations and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remit.checking import Verdict
from remit.evidence.claims import claims_of, claims_text
from remit.evidence.model import Reliability
from remit.merging.merge_data import Merge, MergedFinding
from remit.reports.accusations import message_of, rule_of, unchecked_lines, worth_a_look
from remit.reports.layout import escape_control
from remit.reports.shapes import FixShape, check_shape
from remit.rules.base import Violation

NO_CLAIMS = "The text states nothing about the code that can be checked, and --require-claims asks for claims."
_COMMAND = {"L1": "error", "L2": "warning", "L3": "notice"}


def check_json(
    verdicts: Sequence[Verdict],
    repository: str | None = None,
    fixes: list[FixShape] | None = None,
    dismissed: Sequence[Sequence[MergedFinding]] = (),
) -> str:
    """Return the report in the shape `remit.check/1`. `dismissed` has the dismissed findings of each verdict."""
    return format_json(check_shape(verdicts, repository, fixes, dismissed))


def format_json(value: Any) -> str:
    """Format JSON with indentation; keys keep their order and non-ASCII text stays as it is."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def json_parts(shell: Any, lists: Mapping[str, Iterable[Any]]) -> Iterator[str]:
    """Yield the parts of the text of `format_json`, so that long lists are never in memory as a whole.

    `lists` has the items of lists that are empty in `shell`, by their keys, which occur once.
    """
    for line in format_json(shell).splitlines(keepends=True):
        key = line.lstrip(" ").partition('": []')[0].removeprefix('"')
        if key not in lists or '": []' not in line:
            yield line
            continue
        margin = " " * (len(line) - len(line.lstrip(" ")))
        before = f'{margin}"{key}": [\n'
        for item in lists[key]:
            text = format_json(item).replace("\n", f"\n{margin}  ")  # a line end in a string is escaped
            yield f"{before}{margin}  {text}"
            before = ",\n"
        yield line if before != ",\n" else f"\n{margin}]{line.partition('[]')[2]}"


def merge_json_parts(merge: Merge) -> Iterator[str]:
    """Yield the parts of a merge as JSON."""
    shell = msgspec.structs.replace(merge, findings=(), dropped=())
    return json_parts(shell, {"findings": merge.findings, "dropped": merge.dropped})


def check_github(verdicts: Sequence[Verdict], *, require_claims: bool = False, only: Reliability = "look") -> str:
    """Return one workflow command per violation, and notices for what is worth a look or not checked; maybe empty.

    `require_claims`: a text without claims fails. `only` leaves out accusations that are less reliable.
    """
    return "\n".join(line for verdict in verdicts for line in _lines(verdict, only, require_claims=require_claims))


def _lines(verdict: Verdict, only: Reliability, *, require_claims: bool) -> Iterator[str]:
    if require_claims and verdict.accepted and _has_no_claims(verdict):
        yield f"::error file={_property(verdict.path)},line=1,title=no claims found::{_data(NO_CLAIMS)}"
    for violation in verdict.violations:
        title = f"{violation.rule} ({violation.level})"
        message = _with_help(violation)
        yield (
            f"::{_COMMAND[violation.level]} file={_property(verdict.path)},line={violation.line},"
            f"title={_property(title)}::{_data(message)}"
        )
    for entry in worth_a_look(claims_of(verdict.evidence), only):
        title = f"worth a look ({rule_of(entry)})"
        yield (
            f"::notice file={_property(verdict.path)},line={entry.at},"
            f"title={_property(title)}::{_data(message_of(entry))}"
        )
    if unchecked := unchecked_lines(claims_of(verdict.evidence)):
        yield f"::notice file={_property(verdict.path)},line=1,title=not checked::{_data('; '.join(unchecked))}"


def _has_no_claims(verdict: Verdict) -> bool:
    return not claims_of(verdict.evidence)


def _data(text: str) -> str:
    return escape_control(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def check_junit(
    verdicts: Sequence[Verdict],
    command: str = "check",
    *,
    change: str = "",
    require_claims: bool = False,
    only: Reliability = "look",
) -> str:
    """Return the report as one `testsuites` document. `require_claims`: a text without claims fails.

    `change` is what is stated if a change made no claim false.
    What is worth a look or was not checked is output of the case. `only` leaves out accusations that are less reliable.
    """
    from xml.etree import ElementTree  # late: each hook and command loads this module, and few write JUnit XML

    failed = sum(not verdict.accepted or (require_claims and _has_no_claims(verdict)) for verdict in verdicts)
    counts = {"tests": str(len(verdicts)), "failures": str(failed)}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": f"remit {command}", "errors": "0", **counts})
    for verdict in verdicts:
        name = f"{verdict.agent or 'unknown agent'} at line {verdict.document.title_line}"
        if command == "verify":
            claims = claims_of(verdict.evidence)
            name = claims_text(claims) if claims or not change else change
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": escape_control(verdict.path), "name": escape_control(name)}
        )
        text = "\n".join(
            escape_control(f"{v.level} {v.rule}, line {v.line}: {_with_help(v)}") for v in verdict.violations
        )
        if verdict.accepted and require_claims and _has_no_claims(verdict):
            ElementTree.SubElement(case, "failure", {"type": "no claims found", "message": NO_CLAIMS})
        if not verdict.accepted:
            failure = ElementTree.SubElement(case, "failure", {"type": verdict.verdict, "message": _message(verdict)})
            failure.text = text
        advice = text if verdict.accepted else ""
        if output := "\n".join(filter(None, (advice, *_look_lines(verdict, only)))):
            ElementTree.SubElement(case, "system-out").text = output
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _look_lines(verdict: Verdict, only: Reliability) -> Iterator[str]:
    for entry in worth_a_look(claims_of(verdict.evidence), only):
        yield escape_control(f"worth a look: {rule_of(entry)}, line {entry.at}: {message_of(entry)}")
    for line in unchecked_lines(claims_of(verdict.evidence)):
        yield escape_control(f"not checked: {line}")


def _with_help(violation: Violation) -> str:
    """Return a violation's message and help as sentences; a question has its own mark."""
    return f"{violation.message}{'' if violation.message.endswith(('?', '.')) else '.'} {violation.help}"


def _message(verdict: Verdict) -> str:
    rules = ", ".join(dict.fromkeys(violation.rule for violation in verdict.violations))
    return escape_control(f"{verdict.verdict}: {rules}" if rules else verdict.verdict)
