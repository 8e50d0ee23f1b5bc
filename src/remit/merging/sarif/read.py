"""Read SARIF 2.1.0 as reports: one per run, with every result checked against the checkout.

Nothing in the file is trusted. It is decoded level by level, so that a broken result affects only itself and a large
file does not fill the memory. A value that is missing or has the wrong type counts as absent.
"""

from __future__ import annotations

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
from remit.merging.content import Sections
from remit.merging.model import Opinion, Report, ReportedFinding
from remit.merging.sarif.details import RunParts, dropped_reason, line_hash, more_details, result_flags, run_problems
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
from remit.merging.sarif.rules import CategoryMap, SarifTool, result_score, result_severity, result_title
from remit.merging.sarif.values import (
    MAX_DETAILS,
    MAX_HEAD,
    MAX_NAME,
    Fields,
    as_dict,
    as_list,
    as_text,
    as_utf8,
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
            kind="tool",
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
        physical = next((found for found in locations if found), {})
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
                flags=tuple(result_flags(result, unscored=unscored)),
                rule=name,
            ),
            path=path,
            end_line=end_line,
            category=self._categories.of(tool.name, name, result, rule),
            verified=None,
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
        confidence = max(0.0, stated_opinion.confidence - penalty([outcome]))
        moved, lowered = line != stated_opinion.line, confidence != stated_opinion.confidence
        opinion = msgspec.structs.replace(
            stated_opinion,
            line=line,
            confidence=confidence,
            claimed_line=stated_opinion.line if moved else None,
            claimed_confidence=stated_opinion.confidence
            if lowered and "unscored" not in stated_opinion.flags
            else None,
            evidence=failure_reason(outcome, file, is_broken=claim.is_broken),
            flags=tuple(sorted({*stated_opinion.flags, "relocated"}))
            if outcome == "relocated"
            else stated_opinion.flags,
        )
        return msgspec.structs.replace(
            stated,
            opinion=opinion,
            end_line=end_line,
            verified=is_verified([outcome]),
            fingerprint=stated.fingerprint or self._code_mark(quote, file, outcome),
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
