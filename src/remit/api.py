"""The Python functions `remit.check`, `remit.check_all`, `remit.verify` and `remit.merge`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from remit.checking import Options, Verdict, check_text, looks_like_path, read_source
from remit.clients.transcripts.reading import read_transcripts
from remit.errors import UsageError
from remit.evidence.receipts import Receipt
from remit.evidence.sources import Sources, open_sources
from remit.merging import merge as merging
from remit.merging.inputs import Mergeable
from remit.merging.merge_data import Merge, MergeSettings, Policy
from remit.verifying import OPTIONS
from remit.workspace.safe_git import root_above

#: A transcript (`.jsonl`), a file of receipts (`.json`), or receipts as objects or plain dictionaries.
Receipts = str | Path | Iterable[Receipt | Mapping[str, object]] | None


def check(  # noqa: PLR0913 - the options of a check, all by name
    text_or_path: str | bytes | Path,
    *,
    repo: str | Path | None = None,
    rev: str | None = None,
    profile: str = "v2",
    kind: str | None = None,
    agent: str | None = None,
    attempt: int = 1,
    overrides: Iterable[tuple[str, str]] = (),
    receipts: Receipts = None,
) -> Verdict:
    """Return the verdict for the only result in a text or file; raise UsageError if there are several.

    Claims are checked against the checkout `repo` (default: that of the file, else of the current folder), or its
    commit `rev`, and against `receipts`: a transcript (`.jsonl`), a file of receipts, or the receipts themselves.
    `agent` is the agent that was asked, if you know it.
    """
    verdicts = check_all(
        text_or_path,
        repo=repo,
        rev=rev,
        profile=profile,
        kind=kind,
        agent=agent,
        attempt=attempt,
        overrides=overrides,
        receipts=receipts,
    )
    if len(verdicts) > 1:
        raise UsageError(f"the text contains {len(verdicts)} results; `remit.check_all` returns a verdict for each")
    return verdicts[0]


def check_all(  # noqa: PLR0913 - the options of a check, all by name
    text_or_path: str | bytes | Path,
    *,
    repo: str | Path | None = None,
    rev: str | None = None,
    profile: str = "v2",
    kind: str | None = None,
    agent: str | None = None,
    attempt: int = 1,
    overrides: Iterable[tuple[str, str]] = (),
    receipts: Receipts = None,
) -> list[Verdict]:
    """Return a verdict for each result in a text, or in the file of a `Path` (deprecated: a string with a suffix)."""
    options = Options(profile=profile, kind=kind, agent=agent, attempt=attempt, overrides=tuple(overrides))
    if isinstance(text_or_path, str) and looks_like_path(text_or_path):
        text_or_path = Path(text_or_path)
    return _checked(text_or_path, options, repo, rev, receipts)


def verify(
    text_or_path: str | bytes | Path,
    *,
    repo: str | Path | None = None,
    rev: str | None = None,
    receipts: Receipts = None,
) -> Verdict:
    """Return whether the claims of any text hold: a check with the profile `claims`. A string is the text itself.

    Claims are checked against the commit `rev` of the checkout `repo` (default: as in `check`), else the files on disk.
    A commit that the text states is only its date.
    """
    verdicts = _checked(text_or_path, OPTIONS, repo, rev, receipts)
    if len(verdicts) > 1:
        raise UsageError(f"the text contains {len(verdicts)} results in JSON; `remit.check_all` checks each of them")
    return verdicts[0]


def _checked(
    text: str | bytes | Path, options: Options, repo: str | Path | None, rev: str | None, receipts: Receipts
) -> list[Verdict]:
    content, name = (read_source(text), str(text)) if isinstance(text, Path) else (text, "-")
    with _sources_for(Path(repo) if repo is not None else _checkout(text), rev, receipts) as sources:
        return check_text(content, name, options, sources)


def _checkout(text: str | bytes | Path) -> Path:
    """Return the checkout that contains the file, else that of the current folder, as the command line does."""
    here = Path.cwd()
    return (root_above(text) if isinstance(text, Path) else None) or root_above(here) or here


def _sources_for(repo: Path, rev: str | None, receipts: Receipts) -> Sources:
    """Open a checkout or one of its commits, and the receipts in any of their forms."""
    if isinstance(receipts, str | Path):
        path = Path(receipts)
        if path.suffix == ".jsonl":
            return open_sources(repo, rev=rev, transcripts=read_transcripts([path]))
        return open_sources(repo, rev=rev, receipts=[path])
    if receipts is None:
        return open_sources(repo, rev=rev)
    try:
        records = [msgspec.convert(receipt, Receipt) for receipt in receipts]
    except msgspec.ValidationError as error:
        raise UsageError(f"the receipts do not follow remit.receipts/1: {error}") from error
    return open_sources(repo, rev=rev, records=records)


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
    """Merge results into one report: texts, files, verdicts, and earlier merges.

    Results are checked against the checkout `repo`, else that of the current directory. `weights` is expertise by
    agent or `agent/category`. The default threshold is 75, or that of an earlier merge that is the only input.
    """
    settings = MergeSettings(threshold=threshold, policy=policy, weights=dict(weights or {}), expect=tuple(expect))
    root = Path(repo) if repo is not None else root_above(Path.cwd()) or Path.cwd()
    with open_sources(root) as sources:
        return merging.merge(results, settings, options=Options(profile=profile), sources=sources)
