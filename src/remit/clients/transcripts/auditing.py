"""Compare the sentences of assistants in the sessions of this machine with the record of those sessions.

The files are read by several processes if there is much to read. Nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, starmap
from multiprocessing import get_context
from pathlib import Path

from remit.clients.transcripts.find import TranscriptFile, UnreadableFile, subagent_files
from remit.clients.transcripts.sessions import CallPlace, Said, Session, read_sessions, with_subagents
from remit.deciding_files import CLIENTS
from remit.evidence.judge_work import WorkJudge
from remit.evidence.model import CheckedStatement
from remit.evidence.receipts import SessionRecord
from remit.evidence.sentences import read_sentences
from remit.lazy import lazy_pattern
from remit.reports.audit_report import AuditFact, AuditProof, AuditReport, AuditSession, AuditSkipped
from remit.reports.layout import format_count
from remit.secrets.scan import redact

#: With fewer bytes than this, starting processes takes longer than reading.
_MIN_PARALLEL = 8_000_000
_MAX_PROCESSES = 8
_MAX_WORDS = 200_000
_MAX_TEXT = 300
#: A report about code: it names a file.
_CITES = lazy_pattern(r"[\w.-]+/[\w./-]*\.[A-Za-z]\w{0,9}\b|\b[\w-]+\.[A-Za-z]\w{0,9}:\d+")

#: Sessions with the key of the text of each fact, and the number of lines that cannot be read.
FileAudit = tuple[list[tuple[AuditSession, list[str]]], int]


def audit(
    files: Iterable[TranscriptFile | UnreadableFile],
    progress: Callable[[str], None] = lambda _: None,
    *,
    clients: Iterable[str] = CLIENTS,
    project: str = "",
) -> AuditReport:
    """Return the facts of each session. With `project`, only sessions in this folder or below it count."""
    entries, clients = list(files), frozenset(clients)
    readable = [entry for entry in entries if isinstance(entry, TranscriptFile)]
    skipped = [AuditSkipped(str(entry.path), entry.why) for entry in entries if isinstance(entry, UnreadableFile)]
    report = AuditReport([], skipped, len(readable))
    earlier: set[tuple[str, str]] = set()
    folders = {os.path.abspath(project), os.path.realpath(project)} if project else set()
    for done, (file, read) in enumerate(zip(readable, _read_all(readable), strict=True), 1):
        progress(f"reading transcript {done:,} of {len(readable):,}")
        if isinstance(read, str):
            skipped.append(AuditSkipped(str(file.path), read))
            continue
        sessions, unread = read
        if file.is_named and not sessions:
            skipped.append(AuditSkipped(str(file.path), "no text of a known assistant is in it"))
        if unread:
            skipped.append(AuditSkipped(str(file.path), f"{format_count(unread, 'line')} cannot be read"))
        for session, keys in sessions:
            if session.client not in clients or (folders and not _is_in(session.project, folders)):
                report.left_out += 1
                continue
            # A forked session repeats the first part of another one.
            marks = [(key, fact.text) for key, fact in zip(keys, session.facts, strict=True)]
            session.facts = [fact for mark, fact in zip(marks, session.facts, strict=True) if mark not in earlier]
            earlier.update(mark for mark in marks if mark[0])
            report.sessions.append(session)
    report.sessions.sort(key=lambda session: session.started, reverse=True)
    return report


def _is_in(project: str, folders: Iterable[str]) -> bool:
    """Return whether a session's project is one of the folders, or below it. Nothing of the path is opened."""
    path = os.path.normcase(os.path.normpath(project)) if project else ""
    normal = [os.path.normcase(folder).rstrip(os.sep) for folder in folders]
    return any(path == folder or path.startswith(folder + os.sep) for folder in normal)


def _read_all(files: list[TranscriptFile]) -> Iterator[FileAudit | str]:
    """Yield what each file has, in order, or why it cannot be read."""
    processes = min(os.cpu_count() or 1, _MAX_PROCESSES, len(files))
    subagents = subagent_files([file.path for file in files])
    jobs = [(file.path, tuple(subagents.get(file.path, ()))) for file in files]
    if processes < 2 or sum(file.size for file in files) < _MIN_PARALLEL:
        yield from starmap(audit_file, jobs)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver" if os.name != "nt" else "spawn")) as pool:
        yield from pool.map(audit_file, *zip(*jobs, strict=True))


def audit_file(path: Path, subagents: tuple[Path, ...] = ()) -> FileAudit | str:
    """Return the sessions of a file with their facts, or why the file cannot be read.

    What the subagents did, whose transcripts are in other files, counts for the session.
    """
    try:
        read = [with_subagents(session, subagents) for session in read_sessions(path)]
    except OSError as error:
        return error.strerror or str(error)
    return [_described(session, str(path)) for session in read], sum(session.skipped for session in read)


def _described(session: Session, path: str) -> tuple[AuditSession, list[str]]:
    facts = [*_contradictions(session, path), *_reports_without_call(session, path)]
    described = AuditSession(
        id=session.id,
        client=session.client,
        project=session.project,
        model=session.model,
        started=session.started,
        ended=session.said[-1].time,
        path=path,
        facts=[fact for _, fact in facts],
    )
    return described, [key for key, _ in facts]


def _contradictions(session: Session, path: str) -> Iterator[tuple[str, AuditFact]]:
    """Yield the sentences that the record contradicts, each with the key of its text."""
    record = SessionRecord()
    judge = WorkJudge(record, has_subagents=session.has_subagents)

    def advance(end: int) -> None:
        for receipt in session.receipts[len(record.calls) : end]:
            record.add(receipt)

    for turn, texts in groupby(session.said, key=lambda said: said.turn):
        waiting: list[tuple[Said, CheckedStatement]] = []
        for said in texts:
            advance(said.calls)
            judged = map(judge.judge, read_sentences(said.words[:_MAX_WORDS]))
            waiting += ((said, checked) for checked in judged if checked.outcome == "contradicted")
        # A sentence may announce what the next call of the same turn does.
        advance(session.turn_ends[turn])
        for said, checked in waiting:
            if judge.judge(checked.statement).outcome == "contradicted":
                place = session.call_places[checked.call - 1] if checked.call else CallPlace(path)
                proof = AuditProof(place.path, place.line, _safe(checked.why))
                yield said.key, _fact("contradicted", said, checked.statement.text, path, proof)


def _reports_without_call(session: Session, path: str) -> Iterator[tuple[str, AuditFact]]:
    """Yield the subagents that reported about code and made no call."""
    for said in session.without_call:
        if cited := _CITES.search(said.words):
            proof = AuditProof(path, said.line, f"it cites {_safe(cited[0])} and made no call")
            yield said.key, _fact("subagent-without-call", said, said.words, path, proof)


def _fact(kind: str, said: Said, text: str, path: str, proof: AuditProof) -> AuditFact:
    return AuditFact(kind, _safe(text), said.agent, said.time, path, said.line, proof)


def _safe(text: str) -> str:
    return redact(" ".join(text.split())[: 2 * _MAX_TEXT])[:_MAX_TEXT]
