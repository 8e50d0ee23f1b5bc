"""Read SARIF 2.1.0 as reports: one per run, with every result checked against the checkout.

Nothing in the file is trusted. It is decoded level by level, so that a broken result affects only itself and a large
file does not fill the memory. A value that is missing or has the wrong type counts as absent.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.evidence.find_code import CodeFinder, Quoted
from remit.evidence.model import Outcome
from remit.merging.adjust import distinct_code, fingerprint, is_verified, penalty
from remit.merging.content import AgentError, Sections
from remit.merging.merge_data import Opinion, Report, ReportedFinding
from remit.merging.sarif.locations import (
    ArtifactPaths,
    Offset,
    OffsetLines,
    failure_reason,
    is_never_a_file,
    offset_of,
    region_of,
    region_outcome,
    snippet_of,
)
from remit.merging.sarif.tool_rules import CategoryMap, SarifTool, result_score, result_severity, result_title
from remit.merging.sarif.values import (
    MAX_DETAILS,
    MAX_HEAD,
    MAX_NAME,
    Fields,
    as_dict,
    as_list,
    as_text,
    as_utf8,
    item_at,
    parse_object,
)
from remit.workspace import git
from remit.workspace.commit import Commit
from remit.workspace.files import Absent, SourceFile, Workspace

MAX_BYTES = 64 * 1024 * 1024
MAX_RUNS = 1_000
#: The most results of one file that are read; a run with more is PARTIAL.
MAX_RESULTS = 100_000
#: The most characters of rule texts: each result repeats them, so they could outgrow the file by far.
_MAX_WORDS = 64 * 1024 * 1024
#: The most characters that are searched to make fingerprints.
_MAX_COUNTED = 1024 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def read_sarif(data: bytes, name: str, workspace: Workspace | None, categories: Mapping[str, str]) -> list[Report]:
    """Return one report per run of a SARIF file."""
    return open_sarif(data, name, workspace, categories)[0]


def open_sarif(
    data: bytes, name: str, workspace: Workspace | None, categories: Mapping[str, str]
) -> tuple[list[Report], Counter[str]]:
    """Return one report per run, and the number of skipped results by reason.

    A key of `categories` is a rule, `tool/rule`, a family of rules (their first letters) or a pattern.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"{name}: {len(data) >> 20} MiB of SARIF; the limit is {MAX_BYTES >> 20} MiB, so split the file"
        )
    log = parse_object(as_utf8(data), Fields)
    runs = parse_object(log.get("runs"), list[msgspec.Raw]) if log is not None else None
    if log is None or runs is None:
        raise UsageError(f"{name}: not SARIF: expected a JSON object with a list of runs")
    version = parse_object(log.get("version"), str)
    if version and not version.startswith("2.1."):
        raise UsageError(f"{name}: SARIF {version[:20]!r} is not supported, only 2.1.0")
    if len(runs) > MAX_RUNS:
        raise UsageError(f"{name}: {len(runs)} runs; the limit is {MAX_RUNS}, so split the file")
    stem = slug(PurePath(name).stem[:MAX_NAME]) or "unknown"
    reader = _Reader(workspace, categories, stem)
    reports = [reader.report(parse_object(run, Fields) or {}) for run in runs]
    return reports or [Report(agent=stem, status="FAILED", verdict=None)], reader.skipped


class _Claim(NamedTuple):
    """A result as the tool states it, before it is checked against the checkout."""

    stated: ReportedFinding
    snippet: str
    is_broken: bool
    #: Whether its location is an image or a package.
    is_package: bool
    #: Where it is, if the tool gives no line.
    offset: Offset | None = None


class _Reader:
    """Reads the runs of one file, within limits for the whole file."""

    def __init__(self, workspace: Workspace | None, categories: Mapping[str, str], stem: str) -> None:
        self.skipped: Counter[str] = Counter()
        self._workspace = workspace
        self._categories = CategoryMap(categories)
        self._stem = stem
        self._quotes = CodeFinder() if workspace is not None else None
        self._results = MAX_RESULTS
        self._words = _MAX_WORDS
        self._counted = _MAX_COUNTED
        self._is_current = True
        self._head: str | None = None
        self._offsets = OffsetLines()

    def report(self, run: Fields) -> Report:
        """Return the report of one run."""
        taxonomies = parse_object(run.get("taxonomies"), list) or []
        tool = SarifTool(parse_object(run.get("tool"), dict) or {}, self._stem, taxonomies)
        bases, artifacts = parse_object(run.get("originalUriBaseIds"), dict), parse_object(run.get("artifacts"), list)
        paths = ArtifactPaths(bases or {}, artifacts or [], self._workspace)
        logical, steps = (parse_object(run.get(key), list) or [] for key in ("logicalLocations", "threadFlowLocations"))
        parts = RunParts(paths, logical, steps)
        results = parse_object(run.get("results"), list[msgspec.Raw])
        skipped: Counter[str] = Counter()
        self._is_current = self._ran_here(parse_object(run.get("versionControlProvenance"), list) or [])
        claims = list(self._claims(results or [], tool, parts, skipped))
        self.skipped += skipped
        calls = [as_dict(call) for call in parse_object(run.get("invocations"), list) or []]
        failed = any(call.get("executionSuccessful") is False for call in calls)
        whole = results is not None and not skipped["unreadable"] + skipped["over the limit"]
        return Report(
            agent=tool.name,
            status="FAILED" if failed else "SUCCESS" if whole else "PARTIAL",
            verdict=None,
            looked=not failed,
            rows=tuple(self._rows_of(claims)),
            sections=Sections(errors=tuple(run_problems(tool.name, skipped, calls if failed else []))),
        )

    def _ran_here(self, provenance: list[Any]) -> bool:
        """Return whether a run is of this checkout. Only a file that names another commit is not."""
        named = [as_text(as_dict(each).get("revisionId"), MAX_NAME).lower() for each in provenance]
        commits = [commit for commit in named if _COMMIT.fullmatch(commit)]
        if not commits or self._workspace is None:
            return True
        if self._head is None:
            self._head = (
                self._workspace.id if isinstance(self._workspace, Commit) else git.head(self._workspace.root) or ""
            )
        here = self._head
        return not here or any(here.startswith(commit) or commit.startswith(here) for commit in commits)

    def _claims(
        self, results: list[msgspec.Raw], tool: SarifTool, parts: RunParts, skipped: Counter[str]
    ) -> Iterator[_Claim]:
        taken = results[: self._results]
        self._results -= len(taken)
        skipped["over the limit"] += len(results) - len(taken)
        for raw in taken:
            result = parse_object(raw, dict)
            if result is None:
                skipped["unreadable"] += 1
                continue
            why = dropped_reason(result, tool.name)
            if why:
                skipped["not a finding"] += 1
            yield self._claim(result, tool, parts, why)

    def _claim(self, result: dict[str, Any], tool: SarifTool, parts: RunParts, reason: str) -> _Claim:
        name, rule = tool.rule(result)
        message = tool.message(result, rule, MAX_DETAILS if self._words > 0 else MAX_HEAD)
        locations = (as_dict(as_dict(each).get("physicalLocation")) for each in as_list(result.get("locations")))
        physical = next((candidate for candidate in locations if candidate), {})
        line, end_line, is_broken = region_of(physical)
        score, unscored = result_score(result, rule)
        title = result_title(message, rule, name, tool.name) or name or "a result without a message"
        path = parts.paths.path(as_dict(physical.get("artifactLocation")))
        row = ReportedFinding(
            opinion=Opinion(
                agent=tool.name,
                id=name,
                severity=result_severity(result, rule, tool.name, name),
                confidence=score,
                line=line,
                title=title,
                details=self._details(
                    message if message != title else "", rule, more_details(result, rule, tool, parts)
                ),
                claimed=None if unscored else score,
                rule=name,
            ),
            path=path,
            end_line=end_line,
            category=self._categories.of(tool.name, name, result, rule),
            verified=None,
            flags=tuple(result_flags(result, unscored=unscored)),
            fingerprint=line_hash(result, tool.name, name),
            reason=reason,
        )
        is_package = is_never_a_file(path or "", name, result)
        return _Claim(row, snippet_of(physical), is_broken, is_package, offset_of(physical))

    def _details(self, message: str, rule: dict[str, Any], extra: str) -> str:
        if self._words <= 0:
            return ""
        more = (as_text(as_dict(rule.get(key)).get("text")) for key in ("fullDescription", "help"))
        words = [message, next((text for text in more if text and text not in message), ""), extra]
        details = as_text("\n\n".join(filter(None, words)))
        self._words -= len(details)
        return details

    def _rows_of(self, claims: list[_Claim]) -> Iterator[ReportedFinding]:
        """Yield rows sorted by file, so that each file is read once even if not all fit in memory."""
        workspace, quotes = self._workspace, self._quotes
        hashes = Counter((claim.stated.path, claim.stated.fingerprint) for claim in claims)
        for claim in sorted(claims, key=lambda claim: claim.stated.path or ""):
            if hashes[claim.stated.path, claim.stated.fingerprint] > 1:  # it identifies nothing
                claim = claim._replace(stated=msgspec.structs.replace(claim.stated, fingerprint=""))  # noqa: PLW2901
            if workspace is None or quotes is None or claim.stated.path is None:
                yield claim.stated
            else:
                file = workspace.read(claim.stated.path)
                yield self._checked(self._with_line(claim, file), file, quotes)

    def _with_line(self, claim: _Claim, file: SourceFile | Absent) -> _Claim:
        """Return a claim with the line of its offset."""
        if claim.offset is None or not isinstance(file, SourceFile):
            return claim
        line, end_line = self._offsets.lines(claim.offset, file)
        opinion = msgspec.structs.replace(claim.stated.opinion, line=line)
        return claim._replace(stated=msgspec.structs.replace(claim.stated, opinion=opinion, end_line=end_line))

    def _checked(self, claim: _Claim, file: SourceFile | Absent, quotes: CodeFinder) -> ReportedFinding:
        stated, stated_opinion, end_line = claim.stated, claim.stated.opinion, claim.stated.end_line
        quote = Quoted(claim.snippet, stated_opinion.line, end_line)
        outcome = region_outcome(quote, file, quotes, is_broken=claim.is_broken, is_current=self._is_current)
        if claim.is_package and is_verified([outcome]) is False:
            outcome = "unchecked"
        line = stated_opinion.line
        if outcome in ("verified", "exists") and line is not None and isinstance(file, SourceFile):
            line = min(line, max(1, len(file.lines)))
        if outcome in ("verified", "exists") and end_line is not None and isinstance(file, SourceFile):
            end_line = min(end_line, len(file.lines))
            end_line = end_line if line is not None and end_line > line else None
        if outcome == "relocated" and quote.found is not None and quote.found.line is not None:
            end_line = quote.found.line + end_line - line if end_line is not None and line is not None else None
            line = quote.found.line
        is_moved = line != stated_opinion.line
        opinion = msgspec.structs.replace(
            stated_opinion,
            line=line,
            confidence=max(0.0, stated_opinion.confidence - penalty([outcome])),
            details="\n\n".join(
                filter(None, [stated_opinion.details, f"Stated at line {stated_opinion.line}." if is_moved else ""])
            ),
        )
        return msgspec.structs.replace(
            stated,
            opinion=opinion,
            end_line=end_line,
            verified=is_verified([outcome]),
            flags=tuple(sorted({*stated.flags, "relocated"})) if outcome == "relocated" else stated.flags,
            fingerprint=stated.fingerprint or self._code_mark(quote, file, outcome),
            failure=failure_reason(outcome, file, is_broken=claim.is_broken),
        )

    def _code_mark(self, quote: Quoted, file: SourceFile | Absent, outcome: Outcome) -> str:
        """Return the fingerprint of a snippet that was found. The snippet of a current run is not looked up."""
        is_found = outcome in ("verified", "exists", "relocated") and not self._is_current
        return self._fingerprint(quote, file) if is_found else ""

    def _fingerprint(self, quote: Quoted, file: SourceFile | Absent) -> str:
        code = distinct_code(quote.text)
        if not isinstance(file, SourceFile) or not code or self._counted < 0:
            return ""
        self._counted -= len(file.text)
        return fingerprint(code, file)


_MAX_TAXA = 10
_MAX_RELATED = 10
_MAX_OTHERS = 200
_MAX_FLOWS = 3
_MAX_STEPS = 20
_MAX_FIXES = 3
_MAX_DETAILS = 300
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
        position = f" at {'byte' if offset.in_bytes else 'character'} {offset.start}" if offset else ""
        position = f":{line}" if line else position
        words = " ".join(as_text(as_dict(location.get("message")).get("text"), _MAX_DETAILS).split())
        place = f"{path}{position}" if path else self.name(location)
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
    unique = list(dict.fromkeys(text for text in texts if text))
    return f"{label}: {separator.join(unique)}" if unique else ""


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
    first = next(
        (index for index, location in enumerate(every) if as_dict(as_dict(location).get("physicalLocation"))), 0
    )
    return [location for index, location in enumerate(every) if index != first]


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
        yield " ".join(as_text(as_dict(as_dict(fix).get("description")).get("text"), _MAX_DETAILS).split())


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
