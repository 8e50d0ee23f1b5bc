"""The Python function `remit.merge`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import msgspec

from remit.checking import Options, Verdict, looks_like_path
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.drafts import StoredDrafts
from remit.merging.grouping import merge_of_row
from remit.merging.inputs import Input, from_verdict, read_input
from remit.merging.merge import merge_reports, merge_rows
from remit.merging.model import Merge, MergeSettings, Policy, Report
from remit.merging.previous import reports_of

#: More rows are merged in a temporary file: a row with its finding takes about 2 KB of memory.
MAX_IN_MEMORY = 100_000
#: A result as text or bytes, a file, a verdict, or an earlier merge.
Mergeable = str | bytes | Path | Verdict | Merge


def merge(
    results: Iterable[Mergeable],
    *,
    repo: str | Path | None = None,
    profile: str = "v2",
    threshold: float = 80,
    policy: Policy = "mean",
    weights: Mapping[str, float] | None = None,
    expect: Sequence[str] = (),
) -> Merge:
    """Merge results into one report; `weights` is expertise by agent or `agent/category`."""
    settings = checked_settings(
        MergeSettings(threshold=threshold, policy=policy, weights=dict(weights or {}), expect=tuple(expect))
    )
    options = Options(profile=profile).validated()
    sources = open_sources(Path(repo) if repo is not None else None)
    inputs = [_input(result, options, sources) for result in results]
    return merge_inputs(inputs, settings)


def merge_inputs(inputs: Sequence[Input], settings: MergeSettings) -> Merge:
    """Merge inputs that have been read."""
    reports = [report for one in inputs for report in one.reports]
    return merge_reports(reports, settings, [one.earlier for one in inputs if one.earlier is not None])


def merge_stream(inputs: Iterable[Input], settings: MergeSettings, in_memory: int = MAX_IN_MEMORY) -> Merge:
    """Merge inputs while they are read. The merge is the same as that of `merge_inputs`.

    More than `in_memory` rows are kept in a temporary file, and the findings of the merge are `StoredFindings`: use
    each such merge once, with `revise` and the writers of `reports.merge`.
    """
    reports: list[Report] = []
    earlier: list[Merge] = []
    marks: set[str] = set()
    stored: StoredDrafts | None = None
    count = 0
    for one in inputs:
        earlier += [one.earlier] if one.earlier is not None else []
        count += sum(len(report.rows) for report in one.reports)
        new = list(one.reports)
        if count > in_memory:
            new = reports + new if stored is None else new
            reports = [] if stored is None else reports
            stored = stored or StoredDrafts()
            for at, report in enumerate(new):
                marks.update(map(merge_of_row, report.rows))
                stored.add_rows(report.rows)
                new[at] = msgspec.structs.replace(report, rows=())
        reports += new
    if stored is None:
        return merge_reports(reports, settings, earlier)
    is_one_merge = "" not in marks and len(marks) == 1
    return merge_rows(reports, stored.row_batches(), stored, settings, earlier, is_one_merge=is_one_merge)


def checked_settings(settings: MergeSettings) -> MergeSettings:
    """Return the settings; raise UsageError if a value is invalid."""
    if settings.policy not in get_args(Policy):
        raise UsageError(f"unknown policy {settings.policy!r}; choose from {', '.join(get_args(Policy))}")
    if not 0 <= settings.threshold <= 100:
        raise UsageError(f"the threshold must be from 0 to 100, not {settings.threshold:g}")
    wrong = [name for name, weight in settings.weights.items() if not 0 <= weight < 1e6]
    if wrong:
        raise UsageError(f"the weight of {wrong[0]} must be at least 0, not {settings.weights[wrong[0]]:g}")
    return settings


def _input(result: Mergeable, options: Options, sources: Sources) -> Input:
    if isinstance(result, Merge):
        return Input(reports_of(result), result)
    if isinstance(result, Verdict):
        return from_verdict(result, sources)
    if isinstance(result, str) and not looks_like_path(result):
        return read_input(result.encode("utf-8", "replace"), "-", options, sources)
    if isinstance(result, bytes):
        return read_input(result, "-", options, sources)
    try:
        data = Path(result).read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"{result}: {getattr(error, 'strerror', None) or error}") from error
    return read_input(data, str(result), options, sources)
