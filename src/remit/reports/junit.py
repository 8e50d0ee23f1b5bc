"""Verdicts as JUnit XML: a test case for each result, a failure if it is not accepted."""

from __future__ import annotations

from collections.abc import Sequence

from remit.checking import Verdict
from remit.reports.visible import visible


def check_junit(verdicts: Sequence[Verdict]) -> str:
    """The report as one `testsuites` document."""
    from xml.etree import ElementTree  # late: slow to load and seldom needed

    failed = sum(not verdict.accepted for verdict in verdicts)
    counts = {"tests": str(len(verdicts)), "failures": str(failed)}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "remit check", "errors": "0", **counts})
    for verdict in verdicts:
        name = f"{verdict.agent or 'unknown agent'} at line {verdict.document.title_line}"
        case = ElementTree.SubElement(suite, "testcase", {"classname": visible(verdict.path), "name": visible(name)})
        text = "\n".join(
            visible(f"{v.level} {v.rule}, line {v.line}: {v.message}. {v.help}") for v in verdict.violations
        )
        if not verdict.accepted:
            failure = ElementTree.SubElement(case, "failure", {"type": verdict.verdict, "message": _message(verdict)})
            failure.text = text
        elif text:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _message(verdict: Verdict) -> str:
    rules = ", ".join(dict.fromkeys(violation.rule for violation in verdict.violations))
    return visible(f"{verdict.verdict}: {rules}" if rules else verdict.verdict)
