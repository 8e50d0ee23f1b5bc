"""Which files the subagents of a review have read, by their receipts: per language, and which of them none has read."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from remit.evidence.receipts import ReceiptIndex
from remit.merging.merge_data import LanguageCoverage
from remit.store.database import Database
from remit.store.plans import Delegation
from remit.store.transcript import receipts_of
from remit.workspace.file_index import project_files
from remit.workspace.files import WorkTree
from remit.workspace.languages import NOT_CODE, languages_of

#: States of a delegation that has ended with a report.
_REPORTED = ("accepted", "rejected")


async def review_coverage(
    database: Database, delegations: Iterable[Delegation], root: Path, scope: Sequence[str]
) -> tuple[LanguageCoverage, ...]:
    """Return what the delegations of a review have read."""
    files = await asyncio.to_thread(_scoped_files, root, scope)
    readers: dict[str, Collection[str]] = {}
    for delegation in delegations:
        if delegation.state in _REPORTED and delegation.job is not None:
            seen = ReceiptIndex(await receipts_of(database, delegation.job), str(root))
            readers[delegation.agent] = [path for path in files if path in seen.read]
    return _by_language(await asyncio.to_thread(languages_of, root, files), readers)


def _scoped_files(root: Path, scope: Sequence[str]) -> list[str]:
    """Return the files of the project in scope, without ignored ones, dependencies and Remit's own."""
    files = [path for path in project_files(root) or WorkTree(root).paths if not path.startswith(".remit/")]
    if any(path in ("", ".") for path in scope) or not scope:
        return sorted(files)
    prefixes = tuple(f"{path.rstrip('/')}/" for path in scope)
    return sorted(path for path in files if path in scope or path.startswith(prefixes))


def _by_language(languages: Mapping[str, str], readers: Mapping[str, Collection[str]]) -> tuple[LanguageCoverage, ...]:
    """Return, for each language, the number of its files, how many each reviewer read, and how many none of them."""
    total = Counter(languages.values())
    read_by: dict[str, dict[str, int]] = {language: {} for language in total}
    for reader, paths in readers.items():
        for language, count in Counter(languages[path] for path in paths if path in languages).items():
            read_by[language][reader] = count
    read = {path for paths in readers.values() for path in paths if path in languages}
    unread = total - Counter(languages[path] for path in read)
    order = sorted(total, key=lambda language: (language in NOT_CODE, -total[language], language))
    return tuple(LanguageCoverage(name, total[name], read_by[name], unread[name]) for name in order)
