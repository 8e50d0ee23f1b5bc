"""Which files a review has read: per language, by which reviewer, and which of them no reviewer read.

An analyser has read the files that it was started with, if its run succeeded, without those that it ignores by its
settings or could not parse. A subagent has read the files of its receipts. A search of all files for secrets is listed
apart: a file that was only searched is not reviewed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from remit.dispatch.analyser_table import ANALYSERS
from remit.dispatch.analysers import files_of, reads_any_file, scoped_files
from remit.dispatch.runners import UNREAD
from remit.evidence.receipts import ReceiptIndex
from remit.merging.merge_data import LanguageCoverage
from remit.store.database import Database
from remit.store.plans import Delegation
from remit.store.transcript import receipts_of
from remit.workspace.languages import NOT_CODE, languages_of

#: States of a delegation that has ended with a report.
_REPORTED = ("accepted", "rejected")


async def review_coverage(
    database: Database, delegations: Iterable[Delegation], root: Path, scope: Sequence[str]
) -> tuple[LanguageCoverage, ...]:
    """Return what the delegations of a review have read."""
    files = await asyncio.to_thread(scoped_files, root, scope)
    languages = await asyncio.to_thread(languages_of, root, files)
    readers: dict[str, Collection[str]] = {}
    searched: set[str] = set()
    for delegation in delegations:
        if delegation.state not in _REPORTED or delegation.job is None:
            continue
        if delegation.agent in ANALYSERS:
            analyser = ANALYSERS[delegation.agent]
            receipts = await receipts_of(database, delegation.job)
            unread = {path for receipt in receipts for path in receipt.arguments.get(UNREAD, ())}
            readers[delegation.agent] = [path for path in files_of(analyser, files, languages) if path not in unread]
            if reads_any_file(analyser):
                searched.add(delegation.agent)
        else:
            seen = ReceiptIndex(await receipts_of(database, delegation.job), str(root))
            readers[delegation.agent] = [path for path in files if path in seen.read]
    return language_coverage(languages, readers, searched)


def language_coverage(
    languages: Mapping[str, str], readers: Mapping[str, Collection[str]], searched: Collection[str] = ()
) -> tuple[LanguageCoverage, ...]:
    """Return, for each language, the number of its files, how many each reviewer read, and how many none of them.

    `languages` has the language of each file. Readers in `searched` are not reviewers: they only search for secrets.
    """
    total = Counter(languages.values())
    read_by: dict[str, dict[str, int]] = {language: {} for language in total}
    searched_by: dict[str, dict[str, int]] = {language: {} for language in total}
    unread = dict(total)
    read: set[str] = set()
    for reader, paths in readers.items():
        known = [path for path in paths if path in languages]
        for language, count in Counter(languages[path] for path in known).items():
            (searched_by if reader in searched else read_by)[language][reader] = count
        if reader not in searched:
            read.update(known)
    for path in read:
        unread[languages[path]] -= 1
    order = sorted(total, key=lambda language: (language in NOT_CODE, -total[language], language))
    return tuple(LanguageCoverage(name, total[name], read_by[name], unread[name], searched_by[name]) for name in order)
