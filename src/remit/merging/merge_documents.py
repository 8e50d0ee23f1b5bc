"""The Python function `remit.merge`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

import msgspec

from remit.checking import Options, Verdict, looks_like_path
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.inputs import Input, from_verdict, read_input
from remit.merging.merge import merge_reports
from remit.merging.merge_data import Merge, MergeSettings, Policy, Report
from remit.merging.previous import reports_of

#: The findings of more rows are not read into memory: one takes about 2 KB.
MAX_IN_MEMORY = 100_000
#: A result as text or bytes, a file, a verdict, or an earlier merge.
Mergeable = str | bytes | Path | Verdict | Merge


def merge(
    results: Iterable[Mergeable],
    *,
    repo: str | Path | None = None,
    profile: str = "v2",
    threshold: float | None = None,
    policy: Policy = "mean",
    weights: Mapping[str, float] | None = None,
    expect: Sequence[str] = (),
) -> Merge:
    """Merge results into one report; `weights` is expertise by agent or `agent/category`.

    The default threshold is 80, or that of an earlier merge that is the only input.
    """
    settings = MergeSettings(policy=policy, weights=dict(weights or {}), expect=tuple(expect), keeps_threshold=True)
    if threshold is not None:
        settings = msgspec.structs.replace(settings, threshold=threshold, keeps_threshold=False)
    settings = checked_settings(settings)
    options = Options(profile=profile).validated()
    sources = open_sources(Path(repo) if repo is not None else None)
    inputs = [_input(result, options, sources) for result in results]
    return merge_inputs(inputs, settings)


def merge_inputs(inputs: Iterable[Input], settings: MergeSettings) -> Merge:
    """Merge inputs."""
    return merge_stream(inputs, settings, in_memory=None)


def merge_stream(inputs: Iterable[Input], settings: MergeSettings, in_memory: int | None = MAX_IN_MEMORY) -> Merge:
    """Merge inputs while they are read. The merge is the same as that of `merge_inputs`.

    The findings of more than `in_memory` rows are `StoredFindings`: use each such merge once, with `revise` and the
    writers of `reports.merge`.
    """
    earlier: list[Merge] = []

    def reports() -> Iterator[Report]:
        for source in inputs:
            earlier.extend([source.earlier] if source.earlier is not None else [])
            yield from source.reports

    return merge_reports(reports(), settings, earlier, in_memory)


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
