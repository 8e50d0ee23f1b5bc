"""Write a merge as SARIF 2.1.0: one run, a rule per category, a result per finding.

It is for code scanning: fingerprints that stay the same if the line moves, and a location for every result.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from remit.merging.findings import titles_beside
from remit.merging.merge_data import DISMISSED, Conflict, FailedRow, LanguageCoverage, Merge, MergedFinding, Opinion
from remit.reports.formats import format_json
from remit.reports.layout import escape_control
from remit.reports.merge.decision import Failure, failures_of
from remit.reports.merge.groups import NOTHING_TO_REVIEW, coverage_text
from remit.reports.merge.parts import has_secret
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.git import public_address

Object = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The root of the checkout.
ROOT = "%SRCROOT%"
FINGERPRINT = "remit/v1"
MAX_SNIPPET_LINES = 20
#: A longer snippet is omitted: a part of a line is not the content of the region.
MAX_SNIPPET = 4_000
_MAX_NAME = 200
_MAX_WORDS = 1_000

_LEVELS = {"critical": "error", "important": "warning", "minor": "note", None: "warning"}
_NOTIFICATIONS = {
    "conflict": "Agents disagree; a person must decide.",
    "finding-without-place": "A finding that names no file cannot be a result in code scanning.",
    "agent-failed": "An agent failed, or a part of its report could not be read.",
    "not-read": "How many files of a language were reviewed, and how many were not.",
    "did-not-hold": "A row whose location, name or quote is not there; it is no finding.",
}
_EXPLANATION = "Reported by agents; the message names them and their combined confidence."
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")


def merge_sarif(
    merge: Merge,
    *,
    workspace: Workspace | None = None,
    commit: str | None = None,
    repository: str | None = None,
    version: str,
) -> str:
    """Return the report. The same merge over the same files gives the same bytes."""
    findings = [finding for finding in (*merge.findings, *merge.dropped) if _is_result(finding)]
    rules = sorted(set(map(_category, findings)))
    notes = _notes(findings, workspace)
    run: Object = {
        "tool": _tool(merge, rules, version),
        "invocations": [
            {"executionSuccessful": merge.status != "FAILED", "toolExecutionNotifications": [*_notifications(merge)]}
        ],
        "automationDetails": {"id": "remit/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the checkout."}}},
        "results": [_result(finding, note, rules) for finding, note in zip(findings, notes, strict=True)],
        "properties": _about(merge, commit),
    }
    uri = public_address(repository) if repository else None
    if uri is not None:
        source = {"repositoryUri": uri, "mappedTo": {"uriBaseId": ROOT}}
        run["versionControlProvenance"] = [source | ({"revisionId": _safe(commit)} if commit else {})]
    return format_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _notifications(merge: Merge) -> Iterator[Object]:
    yield from map(_conflict, merge.conflicts)
    yield from map(_failed, merge.failed)
    yield from (_notification(finding) for finding in merge.findings if not finding.path)
    yield from map(_failure, failures_of(merge))
    yield from map(_unread, merge.coverage)


def _is_result(finding: MergedFinding) -> bool:
    return bool(finding.path) and (finding.reason is msgspec.UNSET or DISMISSED in finding.flags)


def _notes(findings: Sequence[MergedFinding], workspace: Workspace | None) -> list[tuple[str, str]]:
    """Return the lines that each finding cites, and its fingerprint: of its path, its category and the text of the
    first line, not its number.
    """
    notes = [("", "")] * len(findings)
    seen: Counter[str] = Counter()
    # By file, so that each is read once.
    for index in sorted(range(len(findings)), key=lambda row: (findings[row].path or "", findings[row].line or 0, row)):
        finding = findings[index]
        cited = _cited(finding, workspace)
        words = " ".join(cited.partition("\n")[0].split()) or " ".join(finding.title.lower().split())
        whole = "\0".join((finding.path or "", finding.category, words))
        mark = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:32]
        seen[mark] += 1
        notes[index] = cited, f"{mark}:{seen[mark]}"  # equal ones are numbered
    return notes


def _safe(text: str, limit: int = _MAX_NAME) -> str:
    """Return untrusted text on one line, bounded, with control characters escaped."""
    return escape_control(text if len(text) <= limit else text[: limit - 1] + "…")


def _category(finding: MergedFinding) -> str:
    return _safe(finding.category) or "general"


def _tool(merge: Merge, rules: list[str], version: str) -> Object:
    driver: Object = {"name": "remit", "version": version}
    if _SEMANTIC.fullmatch(version):
        driver["semanticVersion"] = version
    driver["rules"] = [
        _descriptor(rule, f"A finding of the category {rule}.", _EXPLANATION) | {"properties": {"tags": [rule]}}
        for rule in rules
    ]
    driver["notifications"] = [_descriptor(name, meaning, meaning) for name, meaning in _NOTIFICATIONS.items()]
    agents = sorted({_safe(report.agent) or "unknown" for report in merge.agents})
    return {"driver": driver, "extensions": [{"name": agent} for agent in agents]}


def _descriptor(name: str, short: str, long: str) -> Object:
    return {"id": name, "shortDescription": {"text": short}, "fullDescription": {"text": long}, "help": {"text": long}}


def _about(merge: Merge, commit: str | None) -> Object:
    """Return what SARIF has no fields for."""
    agents: list[Object] = [
        {"agent": _safe(report.agent), "status": _safe(report.status), "verdict": report.verdict}
        for report in merge.agents
    ]
    about: Object = {
        "status": merge.status,
        "decision": merge.decision,
        "counts": msgspec.to_builtins(merge.counts),
        "agents": agents,
        "conflicts": [_dispute(conflict) for conflict in merge.conflicts],
    }
    if commit:
        about["commit"] = _safe(commit)
    return {"remit": about}


def _dispute(conflict: Conflict) -> Object:
    return {
        "kind": conflict.kind,
        "finding": _safe(conflict.finding),
        "agents": [_safe(agent) for agent in conflict.agents],
        "why": _safe(conflict.why, _MAX_WORDS),
    }


def _conflict(conflict: Conflict) -> Object:
    dispute = _dispute(conflict)
    text = f"Conflict ({dispute['kind']}) on {dispute['finding']}: {dispute['why']}"
    return {"descriptor": {"id": "conflict"}, "level": "warning", "message": {"text": _unlinked(text)}}


def _unread(coverage: LanguageCoverage) -> Object:
    """Return a notification on files that were not reviewed; a note if all of them were."""
    text = coverage_text(coverage) if coverage.files else NOTHING_TO_REVIEW
    level = "warning" if coverage.unread or not coverage.files else "note"
    return {"descriptor": {"id": "not-read"}, "level": level, "message": {"text": _unlinked(_safe(text, _MAX_WORDS))}}


def _failure(failure: Failure) -> Object:
    text = _unlinked(f"{_safe(failure.agent)}: {_safe(failure.text, _MAX_WORDS)}")
    level = "error" if failure.has_failed else "warning"
    return {"descriptor": {"id": "agent-failed"}, "level": level, "message": {"text": text}}


def _failed(row: FailedRow) -> Object:
    named = " ".join(filter(None, [row.id, row.title]))
    where = f" (at {row.location})" if row.location else ""
    text = f"Did not hold: {_safe(named, _MAX_WORDS)}. {_safe(row.agent)}: {_safe(row.why + where, _MAX_WORDS)}"
    return {"descriptor": {"id": "did-not-hold"}, "level": "warning", "message": {"text": _unlinked(text)}}


def _notification(finding: MergedFinding) -> Object:
    return {
        "descriptor": {"id": "finding-without-place"},
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "properties": _properties(finding),
    }


def _result(finding: MergedFinding, note: tuple[str, str], rules: list[str]) -> Object:
    cited, mark = note
    rule = _category(finding)
    result: Object = {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [_location(finding, finding.line, finding.end_line, cited)],
        "rank": finding.confidence,
        "properties": _properties(finding),
        "partialFingerprints": {FINGERPRINT: mark},
    }
    if isinstance(finding.reason, str):  # only dismissed findings of those that were dropped are results
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": _safe(finding.reason, _MAX_WORDS)}
        ]
    others = [opinion for opinion in finding.opinions if opinion.line not in (None, finding.line)]
    if others:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(finding, opinion.line, None, ""),
                "message": {"text": _unlinked(f"{_safe(opinion.agent)}: {_safe(opinion.title, _MAX_WORDS)}")},
            }
            for number, opinion in enumerate(others, 1)
        ]
    return result


def _message(finding: MergedFinding) -> str:
    """Return the title, which comes first because viewers cut the message, and the agents."""
    agents = [_safe(agent) for agent in finding.agents]
    names = f"{', '.join(agents[:-1])} and {agents[-1]}" if len(agents) > 1 else "".join(agents)
    title = _safe(finding.title, _MAX_WORDS).rstrip(" .") or "A finding without a title"
    also = "".join(f" Also stated there: {_safe(each, _MAX_WORDS)}." for each in titles_beside(finding))
    return _unlinked(f"{title}.{also} Found by {names}, confidence {finding.confidence:g}.")


def _unlinked(text: str) -> str:
    """Break links: in a SARIF message `[text](target)` is a link, and untrusted text must not create one."""
    return text.replace("](", "] (")


def _properties(finding: MergedFinding) -> Object:
    return {
        "id": _safe(finding.id),
        "severity": finding.severity,
        "verified": finding.verified,
        "agreement": finding.agreement,
        "max": finding.max,
        "mean": finding.mean,
        "agents": [_safe(agent) for agent in finding.agents],
        "flags": [_safe(flag) for flag in finding.flags],
        "opinions": [_opinion(opinion) for opinion in finding.opinions],
    }


def _opinion(opinion: Opinion) -> Object:
    return {
        "agent": _safe(opinion.agent),
        "id": _safe(opinion.id),
        "severity": opinion.severity,
        "confidence": opinion.confidence,
        "line": opinion.line,
        "title": _safe(opinion.title, _MAX_WORDS),
        "claimed": opinion.claimed,
    }


def _location(finding: MergedFinding, line: int | None, last: int | None, cited: str) -> Object:
    location: Object = {"artifactLocation": _artifact(finding.path or "")}
    if line is not None and line > 0:
        location["region"] = {"startLine": line, "endLine": max(line, last or line)}
        if cited and not has_secret(finding, cited):
            location["region"]["snippet"] = {"text": cited}
    else:
        location["region"] = {"startLine": 1}  # code scanning refuses a location without a line
    return {"physicalLocation": location}


def _artifact(path: str) -> Object:
    """Return a path as a URI, relative to the checkout unless it is outside."""
    if _SCHEME.match(path):
        return {"uri": quote(path, safe="/:?#[]@!$&'()*+,;=%~", errors="replace")}
    uri = quote(path, safe="/", errors="replace")
    if path.startswith("/"):
        return {"uri": f"file://{uri}"}
    return {"uri": uri} if path.split("/", 1)[0] == ".." else {"uri": uri, "uriBaseId": ROOT}


def _cited(finding: MergedFinding, workspace: Workspace | None) -> str:
    """Return the lines that a finding cites, or an empty text."""
    if workspace is None or not finding.path or finding.line is None or finding.line < 1:
        return ""
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return ""
    last = min(max(finding.line, finding.end_line or 0), finding.line + MAX_SNIPPET_LINES - 1)
    text = "\n".join(file.lines[finding.line - 1 : last])
    return text if len(text) <= MAX_SNIPPET else ""
