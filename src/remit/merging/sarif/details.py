"""One SARIF result besides its message: why it is dropped, its flags, and its further parts as text."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from remit.merging.content import AgentError
from remit.merging.sarif.locations import ArtifactPaths, offset_of, region_of
from remit.merging.sarif.rules import SarifTool
from remit.merging.sarif.values import MAX_HEAD, MAX_NAME, as_dict, as_list, as_text, item_at

_MAX_TAXA = 10
_MAX_RELATED = 10
_MAX_OTHERS = 200
_MAX_FLOWS = 3
_MAX_STEPS = 20
_MAX_FIXES = 3
_MAX_WORDS = 300
_MAX_CALLS = 20


class RunParts(NamedTuple):
    """What the results of a run refer to by index: artifacts, logical locations and steps of code flows."""

    paths: ArtifactPaths
    logical: list[Any]
    steps: list[Any]

    def name(self, location: dict[str, Any]) -> str:
        """Return the name of a location that is not a file: a function, a package, a setting."""
        named = as_dict(next(iter(as_list(location.get("logicalLocations"))), None))
        shared = as_dict(item_at(self.logical, named.get("index")))
        texts = (each.get(key) for each in (named, shared) for key in ("fullyQualifiedName", "name"))
        return next((text for each in texts if (text := as_text(each, MAX_NAME))), "")

    def place(self, location: dict[str, Any]) -> str:
        """Return a location as text, with its message."""
        physical = as_dict(location.get("physicalLocation"))
        path = self.paths.path(as_dict(physical.get("artifactLocation"))) or ""
        line, offset = region_of(physical)[0], offset_of(physical)
        at = f" at {'byte' if offset.in_bytes else 'character'} {offset.start}" if offset else ""
        at = f":{line}" if line else at
        words = " ".join(as_text(as_dict(location.get("message")).get("text"), _MAX_WORDS).split())
        place = f"{path}{at}" if path else self.name(location)
        return f"{place} ({words})" if place and words else place or words

    def step(self, step: dict[str, Any]) -> str:
        """Return one step of a code flow as text; a step may be described once for all results."""
        shared = as_dict(item_at(self.steps, step.get("index")))
        place = self.place(as_dict(step.get("location"))) or self.place(as_dict(shared.get("location")))
        return place or (f"step {step['index']}, which the file does not describe" if "index" in step else "")


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


def more_details(result: dict[str, Any], rule: dict[str, Any], tool: SarifTool, parts: RunParts) -> str:
    """Return the further parts of a result, each as a labelled paragraph."""
    flows = as_list(result.get("codeFlows"))
    message = as_dict(result.get("message"))
    has_words = "text" in message or not message.get("id") or tool.message(result, rule, MAX_NAME)
    texts = [
        "" if has_words else _labelled("Message", iter([as_text(message["id"], MAX_NAME)])),
        _labelled("In", _logical_names(result, parts)),
        _labelled("Also at", _places(_other_locations(result), parts, _MAX_OTHERS)),
        _labelled("Taxa", _taxa(result, rule, tool)),
        _labelled("Related", _places(as_list(result.get("relatedLocations")), parts, _MAX_RELATED)),
        *(_labelled("Flow", steps, " -> ") for steps in _flows(flows, parts)),
        _more(len(flows) - _MAX_FLOWS, "flow"),
        _labelled("Fix", _fixes(result)),
    ]
    return "\n\n".join(filter(None, texts))


def _labelled(label: str, texts: Iterator[str], separator: str = "; ") -> str:
    found = list(dict.fromkeys(text for text in texts if text))
    return f"{label}: {separator.join(found)}" if found else ""


def _more(count: int, word: str) -> str:
    """State that something was left out; empty if nothing was."""
    return f"and {count:,} more {word}{'' if count == 1 else 's'}" if count > 0 else ""


def _taxa(result: dict[str, Any], rule: dict[str, Any], tool: SarifTool) -> Iterator[str]:
    """Yield the classes of a result, such as CWE-89, its own and those of its rule."""
    named = [as_dict(taxon) for taxon in as_list(result.get("taxa"))[:_MAX_TAXA]]
    named += [as_dict(as_dict(each).get("target")) for each in as_list(rule.get("relationships"))[:_MAX_TAXA]]
    for taxon in named:
        family = as_text(as_dict(taxon.get("toolComponent")).get("name"), MAX_NAME)
        name = as_text(taxon.get("id"), MAX_NAME) or tool.taxon_at(taxon)
        if not name and type(taxon.get("index")) is int:
            name = f"number {taxon['index']}, which the file does not describe"
        title = tool.taxon_title(family, name)
        label = name if not family or name.upper().startswith(family.upper()) else f"{family}-{name}"
        yield f"{label} ({title})" if title and name else label


def _logical_names(result: dict[str, Any], parts: RunParts) -> Iterator[str]:
    """Yield the names of what a result is about, if it names no file: a function, a package, a setting."""
    first = as_dict(next(iter(as_list(result.get("locations"))), None))
    if not first.get("physicalLocation"):
        yield parts.name(first)


def _other_locations(result: dict[str, Any]) -> list[Any]:
    """Return the locations after the first with a file: each of them must be changed to fix the result."""
    every = as_list(result.get("locations"))
    first = next((at for at, one in enumerate(every) if as_dict(as_dict(one).get("physicalLocation"))), 0)
    return [one for at, one in enumerate(every) if at != first]


def _places(locations: list[Any], parts: RunParts, limit: int) -> Iterator[str]:
    for location in locations[:limit]:
        yield parts.place(as_dict(location))
    yield _more(len(locations) - limit, "place")


def _flows(flows: list[Any], parts: RunParts) -> Iterator[Iterator[str]]:
    """Yield the threads of the first code flows, step by step."""
    for flow in flows[:_MAX_FLOWS]:
        for thread in as_list(as_dict(flow).get("threadFlows"))[:_MAX_FLOWS]:
            yield _steps(as_list(as_dict(thread).get("locations")), parts)


def _steps(steps: list[Any], parts: RunParts) -> Iterator[str]:
    for step in steps[:_MAX_STEPS]:
        yield parts.step(as_dict(step))
    yield _more(len(steps) - _MAX_STEPS, "place")


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
