"""Write a merge as SARIF 2.1.0: one run, a rule per category, a result per finding.

There are two profiles. `github` is for code scanning: fingerprints that stay the same if the line moves, and a location
for every result. `ai` follows the draft for generated findings: their generators, the confidence as rank, the message
as Markdown as well, and no fingerprints, because text that a model chose does not identify a finding.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from remit.merging.drafts import StoredFindings
from remit.merging.merge_data import Conflict, LanguageCoverage, Merge, MergedFinding, Opinion
from remit.reports.formats import json_parts
from remit.reports.layout import escape_control
from remit.reports.merge.decision import Failure, failures_of
from remit.reports.merge.groups import NOTHING_TO_REVIEW, coverage_text
from remit.reports.merge.parts import evidence_state, has_secret, location_of, opinions_by_score
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.git import public_address

Profile = Literal["github", "ai"]
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
    "evidence-failed": "The cited location does not exist, so the finding cannot be a result in code scanning.",
}
_EXPLANATION = "Reported by agents; the message names them and their combined confidence."
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!<>|~&])")


def merge_sarif(
    merge: Merge,
    *,
    profile: Profile = "github",
    workspace: Workspace | None = None,
    commit: str | None = None,
    repository: str | None = None,
    version: str,
) -> str:
    """Return the report. The same merge over the same files gives the same bytes."""
    about = {"commit": commit, "repository": repository}
    return "".join(sarif_parts(merge, profile=profile, workspace=workspace, **about, version=version))


def sarif_parts(
    merge: Merge,
    *,
    profile: Profile = "github",
    workspace: Workspace | None = None,
    commit: str | None = None,
    repository: str | None = None,
    version: str,
) -> Iterator[str]:
    """Yield the parts of the report."""
    cited = CitedFindings(merge, profile, workspace)
    rules = sorted(cited.categories)
    run: Object = {
        "tool": _tool(merge, rules, version),
        "invocations": [{"executionSuccessful": merge.status != "FAILED", "toolExecutionNotifications": []}],
        "automationDetails": {"id": "remit/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the checkout."}}},
        "results": [],
        "properties": _about(merge, profile, commit),
    }
    uri = public_address(repository) if repository else None
    if uri is not None:
        source = {"repositoryUri": uri, "mappedTo": {"uriBaseId": ROOT}}
        run["versionControlProvenance"] = [source | ({"revisionId": _safe(commit)} if commit else {})]
    lists = {
        "toolExecutionNotifications": _notifications(merge, profile),
        "results": (_result(*row, rules, profile) for row in cited.all()),
    }
    yield from json_parts({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, lists)


def _notifications(merge: Merge, profile: Profile) -> Iterator[Object]:
    yield from map(_conflict, merge.conflicts)
    if profile == "github":
        yield from (_notification(finding) for finding in merge.findings if not _has_location(finding))
    yield from map(_failure, failures_of(merge))
    yield from map(_unread, merge.coverage)


class CitedFindings:
    """The findings that are results, each with the lines that it cites and its fingerprint. Each file is read once."""

    def __init__(self, merge: Merge, profile: Profile, workspace: Workspace | None) -> None:
        self.categories: set[str] = set()
        self._merge = merge
        self._profile = profile
        self._workspace = workspace
        #: The fingerprints of one file; those of two files differ.
        self._seen: Counter[str] = Counter()
        self._path: str | None = ""
        self._found: list[tuple[MergedFinding, tuple[str, str]]] = []
        if isinstance(merge.findings, StoredFindings):
            merge.findings.drafts.annotate(self._noted)
            return
        wanted = [finding for finding in (*merge.findings, *merge.dropped) if self._is_result(finding)]
        notes = {}
        for index in sorted(range(len(wanted)), key=lambda row: (wanted[row].path or "", wanted[row].line or 0, row)):
            notes[index] = self._note(wanted[index])
        self._found = [(finding, notes[index]) for index, finding in enumerate(wanted)]

    def all(self) -> Iterator[tuple[MergedFinding, tuple[str, str]]]:
        """Yield each finding with its text and its fingerprint, in the order of the report."""
        if not isinstance(self._merge.findings, StoredFindings):
            yield from self._found
            return
        yield from self._merge.findings.drafts.annotated()

    def _noted(self, finding: MergedFinding) -> tuple[str, str] | None:
        return self._note(finding) if self._is_result(finding) else None

    def _is_result(self, finding: MergedFinding) -> bool:
        is_listed = finding.reason is msgspec.UNSET or "dismissed" in finding.flags
        return is_listed and (_has_location(finding) or self._profile == "ai")

    def _note(self, finding: MergedFinding) -> tuple[str, str]:
        """Return the cited lines, and a fingerprint of path, category and the text of the first one, not its number."""
        self.categories.add(_category(finding))
        if finding.path != self._path:
            self._path, self._seen = finding.path, Counter()
        cited = _cited(finding, self._workspace)
        words = " ".join(cited.partition("\n")[0].split()) or " ".join(finding.title.lower().split())
        whole = "\0".join((finding.path or "", finding.category, words))
        mark = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:32]
        self._seen[mark] += 1
        return cited, f"{mark}:{self._seen[mark]}"  # equal ones are numbered


def _has_location(finding: MergedFinding) -> bool:
    """Return whether a finding has a verified location: a viewer would show a failed one at unrelated code."""
    return bool(finding.path) and finding.verified is not False


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


def _about(merge: Merge, profile: Profile, commit: str | None) -> Object:
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
    if profile == "github":
        return {"remit": about}
    # Tools have no verdict: their findings were computed, not generated.
    generators = sorted({entry["agent"] for entry in agents if entry["verdict"] is not None})
    origin = "generated" if len(agents) == 1 else "synthesized"
    return {"ai/origin": origin, "ai": {"generators": [{"name": name} for name in generators]}, "remit": about}


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


def _notification(finding: MergedFinding) -> Object:
    return {
        "descriptor": {"id": "evidence-failed" if finding.path else "finding-without-place"},
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "properties": _properties(finding),
    }


def _result(finding: MergedFinding, note: tuple[str, str], rules: list[str], profile: Profile) -> Object:
    cited, mark = note
    rule, has_location = _category(finding), _has_location(finding)
    message = {"text": _message(finding)}
    properties = _properties(finding)
    if profile == "ai":
        message["markdown"] = _markdown(finding)
        properties["ai"] = {"generators": properties["agents"]}
    result: Object = {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": _LEVELS[finding.severity],
        "message": message,
        "locations": [_location(finding, finding.line, finding.end_line, cited, profile)] if has_location else [],
        "rank": finding.confidence,
        "properties": properties,
    }
    if isinstance(finding.reason, str):  # only dismissed findings of those that were dropped are results
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": _safe(finding.reason, _MAX_WORDS)}
        ]
    others = [opinion for opinion in finding.opinions if has_location and opinion.line not in (None, finding.line)]
    if others:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(finding, opinion.line, None, "", profile),
                "message": {"text": _unlinked(f"{_safe(opinion.agent)}: {_safe(opinion.title, _MAX_WORDS)}")},
            }
            for number, opinion in enumerate(others, 1)
        ]
    if profile == "github":
        result["partialFingerprints"] = {FINGERPRINT: mark}
    return result


def _message(finding: MergedFinding) -> str:
    """Return the title, which comes first because viewers cut the message, and the agents."""
    agents = [_safe(agent) for agent in finding.agents]
    names = f"{', '.join(agents[:-1])} and {agents[-1]}" if len(agents) > 1 else "".join(agents)
    title = _safe(finding.title, _MAX_WORDS).rstrip(" .") or "A finding without a title"
    failed = f" Its {evidence_state(finding)} (at {location_of(finding)})." if finding.verified is False else ""
    return _unlinked(f"{title}. Found by {names}, confidence {finding.confidence:g}.{_safe(failed, _MAX_WORDS)}")


def _unlinked(text: str) -> str:
    """Break links: in a SARIF message `[text](target)` is a link, and untrusted text must not create one."""
    return text.replace("](", "] (")


def _markdown(finding: MergedFinding) -> str:
    def plain(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", _safe(text, _MAX_WORDS))

    opinions = [
        f"- {plain(opinion.agent)}: {plain(opinion.title)} "
        f"({opinion.severity or 'no severity'}, confidence {opinion.confidence:g})"
        for opinion in opinions_by_score(finding)
    ]
    return "\n".join([f"**{plain(finding.title) or 'A finding without a title'}**", "", *opinions])


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
        "claimed_path": _safe(opinion.claimed_path) if opinion.claimed_path is not None else None,
        "claimed_line": opinion.claimed_line,
        "claimed_confidence": opinion.claimed_confidence,
        "evidence": _safe(opinion.evidence),
        "flags": [_safe(flag) for flag in opinion.flags],
    }


def _location(finding: MergedFinding, line: int | None, last: int | None, cited: str, profile: Profile) -> Object:
    location: Object = {"artifactLocation": _artifact(finding.path or "")}
    if line is not None and line > 0:
        location["region"] = {"startLine": line, "endLine": max(line, last or line)}
        if cited and not has_secret(finding, cited):
            location["region"]["snippet"] = {"text": cited}
    elif profile == "github":
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
