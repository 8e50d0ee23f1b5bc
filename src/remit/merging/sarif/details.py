"""One SARIF result besides its message: why it is dropped, its flags, and its further parts as text."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from remit.merging.content import AgentError
from remit.merging.sarif.locations import ArtifactPaths, region_of
from remit.merging.sarif.rules import SarifTool
from remit.merging.sarif.values import MAX_HEAD, MAX_NAME, as_dict, as_list, as_text

_MAX_TAXA = 10
_MAX_RELATED = 10
_MAX_FLOWS = 3
_MAX_STEPS = 20
_MAX_FIXES = 3
_MAX_WORDS = 300
_MAX_CALLS = 20


def dropped_reason(result: dict[str, Any], tool: str) -> str:
    """Return why a result is dropped before it is compared; empty if it is a finding."""
    kind = result.get("kind")
    if kind in ("pass", "notApplicable"):
        return f"{tool} reports no fault here ({kind})"
    if result.get("baselineState") == "absent":
        return f"{tool} reports that it is fixed (absent since its baseline)"
    suppressions = [each for each in as_list(result.get("suppressions")) if isinstance(each, dict)]
    if not suppressions or not all(each.get("status") in (None, "accepted") for each in suppressions):
        return ""
    why = next((text for each in suppressions if (text := as_text(each.get("justification"), MAX_HEAD))), "")
    where = " in the source" if any(each.get("kind") == "inSource" for each in suppressions) else ""
    return f"suppressed for {tool}{where}{': ' + ' '.join(why.split()) if why else ''}"


def result_flags(result: dict[str, Any], *, unscored: bool) -> Iterator[str]:
    """Yield the flags of a result."""
    if result.get("kind") in ("open", "review"):
        yield "needs-review"
    if result.get("baselineState") in ("new", "unchanged", "updated"):
        yield f"baseline-{result['baselineState']}"
    if unscored:
        yield "unscored"


def line_hash(result: dict[str, Any], tool: str, rule: str) -> str:
    """Return the tool's own fingerprint of the line, which stays the same if the line moves.

    Other fingerprints are ignored: some tools write the commit or a fixed text there.
    """
    value = as_text(as_dict(result.get("partialFingerprints")).get("primaryLocationLineHash"), MAX_NAME)
    return hashlib.sha256(f"{tool}\0{rule}\0{value}".encode("utf-8", "replace")).hexdigest()[:16] if value else ""


def more_details(result: dict[str, Any], rule: dict[str, Any], tool: SarifTool, paths: ArtifactPaths) -> str:
    """Return the further parts of a result, each as a labelled paragraph."""
    parts = [
        _labelled("Taxa", _taxa(result, rule, tool)),
        _labelled("Related", _related(result, paths)),
        *(_labelled("Flow", steps, " -> ") for steps in _flows(result, paths)),
        _labelled("Fix", _fixes(result)),
    ]
    return "\n\n".join(filter(None, parts))


def _labelled(label: str, texts: Iterator[str], separator: str = "; ") -> str:
    found = list(dict.fromkeys(text for text in texts if text))
    return f"{label}: {separator.join(found)}" if found else ""


def _taxa(result: dict[str, Any], rule: dict[str, Any], tool: SarifTool) -> Iterator[str]:
    """Yield the classes of a result, such as CWE-89, its own and those of its rule."""
    named = [as_dict(taxon) for taxon in as_list(result.get("taxa"))[:_MAX_TAXA]]
    named += [as_dict(as_dict(each).get("target")) for each in as_list(rule.get("relationships"))[:_MAX_TAXA]]
    for taxon in named:
        name = as_text(taxon.get("id"), MAX_NAME)
        family = as_text(as_dict(taxon.get("toolComponent")).get("name"), MAX_NAME)
        title = tool.taxon_title(family, name)
        label = name if not family or name.upper().startswith(family.upper()) else f"{family}-{name}"
        yield f"{label} ({title})" if title and name else label


def _related(result: dict[str, Any], paths: ArtifactPaths) -> Iterator[str]:
    for related in as_list(result.get("relatedLocations"))[:_MAX_RELATED]:
        yield _place(as_dict(related), paths)


def _flows(result: dict[str, Any], paths: ArtifactPaths) -> Iterator[Iterator[str]]:
    """Yield the first thread of each code flow, step by step."""
    for flow in as_list(result.get("codeFlows"))[:_MAX_FLOWS]:
        threads = as_list(as_dict(flow).get("threadFlows"))
        steps = as_list(as_dict(threads[0]).get("locations")) if threads else []
        yield (_place(as_dict(as_dict(step).get("location")), paths) for step in steps[:_MAX_STEPS])


def _place(location: dict[str, Any], paths: ArtifactPaths) -> str:
    physical = as_dict(location.get("physicalLocation"))
    path = paths.path(as_dict(physical.get("artifactLocation"))) or ""
    line = region_of(physical)[0]
    words = " ".join(as_text(as_dict(location.get("message")).get("text"), _MAX_WORDS).split())
    place = f"{path}:{line}" if path and line else path
    return f"{place} ({words})" if place and words else place or words


def _fixes(result: dict[str, Any]) -> Iterator[str]:
    for fix in as_list(result.get("fixes"))[:_MAX_FIXES]:
        yield " ".join(as_text(as_dict(as_dict(fix).get("description")).get("text"), _MAX_WORDS).split())


def run_problems(tool: str, skipped: Counter[str], calls: list[dict[str, Any]]) -> Iterator[AgentError]:
    """Yield what could not be read of a run, and why a run failed."""
    unread = {why: number for why, number in skipped.items() if why in ("unreadable", "over the limit") and number}
    for why, number in sorted(unread.items()):
        yield AgentError(agent=tool, type="NotRead", message=f"{number:,} results were not read: {why}")
    for call in calls[:_MAX_CALLS]:
        if call.get("executionSuccessful") is False:
            notes = map(as_dict, as_list(call.get("toolExecutionNotifications"))[:_MAX_CALLS])
            texts = [as_text(as_dict(note.get("message")).get("text"), MAX_HEAD) for note in notes]
            message = "; ".join(filter(None, texts)) or "the tool reports that its run failed"
            yield AgentError(agent=tool, type="RunFailed", message=" ".join(message.split()))
