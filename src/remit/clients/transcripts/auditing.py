"""Compare the statements of assistants in the sessions of this machine with the record of those sessions.

The files are read by several processes if there is much to read. Nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, starmap
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.clients.transcripts.find import TranscriptFile, UnreadableFile, subagent_files
from remit.clients.transcripts.whole_sessions import CallPlace, Said, Session, read_sessions, with_subagents
from remit.deciding_files import CLIENTS
from remit.evidence.commands import only_reads
from remit.evidence.judge_statements import StatementJudge
from remit.evidence.meant_tests import is_of_numbers, is_plain
from remit.evidence.model import CheckedStatement
from remit.evidence.receipts import Receipt, SessionRecord
from remit.reports.audit_report import (
    AuditKind,
    AuditOutcome,
    AuditReport,
    AuditScope,
    AuditSession,
    AuditSkipped,
    AuditStatement,
)
from remit.reports.layout import format_count
from remit.secrets.scan import redact

#: With fewer bytes than this, starting processes takes longer than reading.
_MIN_PARALLEL = 8_000_000
_MAX_PROCESSES = 8
_MAX_SENTENCE = 600
_MAX_PROOF = 300


def audit(
    files: Iterable[TranscriptFile | UnreadableFile],
    progress: Callable[[str], None] = lambda _: None,
    *,
    outcomes: Container[AuditOutcome] = ("contradicted",),
    clients: Iterable[str] = CLIENTS,
    project: str = "",
) -> AuditReport:
    """Compare the statements of each session with its record, and list those that have one of these outcomes.

    With `project`, only sessions in this folder or below it count.
    """
    entries, clients = list(files), frozenset(clients)
    readable = [entry for entry in entries if isinstance(entry, TranscriptFile)]
    skipped = [AuditSkipped(str(entry.path), entry.why) for entry in entries if isinstance(entry, UnreadableFile)]
    sessions: dict[str, AuditSession] = {}
    statements: list[AuditStatement] = []
    earlier: set[tuple[str, ...]] = set()
    left_out: set[str] = set()
    folders = {os.path.abspath(project), os.path.realpath(project)} if project else set()
    done = 0
    for file, read in zip(readable, _read_all(readable), strict=True):
        done += 1
        progress(f"reading transcript {done:,} of {len(readable):,}")
        if isinstance(read, str):
            skipped.append(AuditSkipped(str(file.path), read))
            continue
        if file.is_named and not read.sessions:
            skipped.append(AuditSkipped(str(file.path), "no text of a known assistant is in it"))
        if read.skipped:
            why = f"{format_count(read.skipped, 'line')} cannot be read"
            skipped.append(AuditSkipped(str(file.path), why, read.skipped))
        for session, stated in read.sessions:
            if session.client not in clients or (folders and not _is_in(session.project, folders)):
                left_out.add(session.id)
                continue
            new = _unrepeated(stated, earlier)
            _count(sessions.setdefault(session.id, session), new)
            statements += (statement for statement in new if statement.outcome in outcomes)
    statements.sort(key=lambda statement: (statement.rank, _reversed(statement.at)))
    scope = AuditScope(left_out=len(left_out))
    return AuditReport(list(sessions.values()), statements, skipped, len(readable), scope)


def _is_in(project: str, folders: Iterable[str]) -> bool:
    """Return whether a session's project is one of the folders, or below it. Nothing of the path is opened."""
    path = os.path.normcase(os.path.normpath(project)) if project else ""
    normal = [os.path.normcase(folder).rstrip(os.sep) for folder in folders]
    return any(path == folder or path.startswith(folder + os.sep) for folder in normal)


def _unrepeated(stated: list[tuple[str, AuditStatement]], earlier: set[tuple[str, ...]]) -> list[AuditStatement]:
    """Return the statements that no session before had: a forked session repeats the first part of another one."""
    marks = [(key, statement.at, statement.text) for key, statement in stated]
    new = [statement for mark, (_, statement) in zip(marks, stated, strict=True) if mark not in earlier]
    earlier.update(mark for mark in marks if mark[0])
    return new


def _count(session: AuditSession, stated: list[AuditStatement]) -> None:
    session.statements += len(stated)
    session.contradicted += sum(statement.outcome == "contradicted" for statement in stated)
    session.unseen += sum(statement.outcome == "unseen" for statement in stated)
    session.verified += sum(statement.outcome == "verified" for statement in stated)


def _reversed(time: str) -> tuple[int, ...]:
    """Return a key by which later times come first."""
    return tuple(-ord(character) for character in time)


class FileAudit(NamedTuple):
    """The sessions of a file, each with its statements, and the number of lines that cannot be read."""

    sessions: list[tuple[AuditSession, list[tuple[str, AuditStatement]]]]
    skipped: int = 0


def _read_all(files: list[TranscriptFile]) -> Iterator[FileAudit | str]:
    """Yield what each file has, in order, or why it cannot be read."""
    processes = min(os.cpu_count() or 1, _MAX_PROCESSES, len(files))
    subagents = subagent_files([file.path for file in files])
    jobs = [(file.path, tuple(subagents.get(file.path, ()))) for file in files]
    if processes < 2 or sum(file.size for file in files) < _MIN_PARALLEL:
        yield from starmap(audit_file, jobs)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver" if os.name != "nt" else "spawn")) as pool:
        # The largest files are first, so that no process waits for another at the end.
        order = sorted(range(len(files)), key=lambda number: -files[number].size)
        running = {number: pool.submit(audit_file, *jobs[number]) for number in order}
        for number in range(len(files)):
            yield running.pop(number).result()


def audit_file(path: Path, subagents: tuple[Path, ...] = ()) -> FileAudit | str:
    """Return the sessions of a file with their statements, or why the file cannot be read.

    What the subagents did, whose transcripts are in other files, counts for the session.
    """
    try:
        read = [with_subagents(session, subagents) for session in read_sessions(path)]
    except OSError as error:
        return error.strerror or str(error)
    audited = [(_described(session, path), list(_statements(session, str(path)))) for session in read]
    return FileAudit(audited, sum(session.skipped for session in read))


def _described(session: Session, path: Path) -> AuditSession:
    return AuditSession(
        id=session.id,
        client=session.client,
        project=session.project,
        model=session.model,
        started=session.started,
        path=str(path),
    )


def _statements(session: Session, path: str) -> Iterator[tuple[str, AuditStatement]]:
    """Yield the statements of a session, each with the key of its text. `path` is the file with the texts."""
    record = SessionRecord()
    judge = StatementJudge(record, has_subagents=session.has_subagents)
    calls = iter(session.receipts)
    added = shown = 0

    def advance(count: int) -> None:
        nonlocal added
        while added < count and (receipt := next(calls, None)) is not None:
            record.add(receipt)
            added += 1

    for turn, texts in groupby(session.said, key=lambda entry: entry.turn):
        waiting: list[tuple[Said, CheckedStatement]] = []
        while shown < min(turn, len(session.shown)):
            advance(session.shown[shown].calls)
            judge.add_shown(session.shown[shown].words)
            shown += 1
        begins = session.turn_ends[turn - 1] if turn else 0
        for entry in texts:
            advance(entry.calls)
            waiting += ((entry, judge.judge(statement)) for statement in entry.statements)
        # A sentence may announce what the next call of the same turn does.
        advance(session.turn_ends[turn])
        for entry, checked in waiting:
            final = judge.judge(checked.statement) if checked.fails else checked
            result = checked if final.fails else final
            if result.outcome == "contradicted" and not _is_provable(result, entry, session.receipts, begins):
                result = msgspec.structs.replace(result, outcome="unchecked", reason="run-unclear", why=_other(result))
            yield entry.text.key, _statement(session, path, entry, result)


def _is_provable(checked: CheckedStatement, entry: Said, receipts: Sequence[Receipt], begins: int) -> bool:
    """Return whether two lines of the transcript prove a contradiction: the sentence, and what the run printed.

    `begins` is the number of calls before the turn.
    """
    if checked.statement.kind != "run":
        return True
    if not checked.line or not is_plain(checked.statement):
        return False
    output = receipts[checked.call - 1].output if checked.call else None
    if is_of_numbers(checked.statement, output or checked.line, entry.failures):
        return False
    if checked.call > begins:
        return True
    later = receipts[begins : entry.calls]
    return not any(
        receipt.action == "edit" or (receipt.action == "run" and not only_reads(receipt.command)) for receipt in later
    )


def _other(checked: CheckedStatement) -> str:
    shown = f"printed `{checked.line}`" if checked.line else "failed"
    return f"it may be about another run than `{checked.command}`, which {shown}"


def _statement(session: Session, path: str, entry: Said, checked: CheckedStatement) -> AuditStatement:
    outcome: AuditOutcome = "unchecked"
    if checked.outcome in ("contradicted", "unseen", "verified"):
        outcome = checked.outcome
    why, reason = checked.why, checked.reason
    if reason == "run-passed":  # what failed may be a program that the tests are about
        outcome = "unchecked"
    if outcome == "unseen" and session.is_continued:
        outcome, reason = "unchecked", "record-incomplete"
        why = f"{why}, but it continues another session, whose calls are not in the file"
    called = session.call_places[checked.call - 1] if checked.call else CallPlace("")
    return AuditStatement(
        session=session.id,
        agent=entry.text.agent,
        at=entry.time or session.started,
        text=_safe(" ".join(checked.statement.text.split()), _MAX_SENTENCE),
        kind=_KINDS[checked.statement.kind],
        outcome=outcome,
        proof=_safe(why, _MAX_PROOF) if outcome != "verified" else "",
        command=_safe(checked.command, _MAX_PROOF),
        line=_safe(checked.line, _MAX_PROOF),
        reason=reason,
        stated_at=entry.line,
        called_at=called.line,
        path=path,
        called_in=called.path,
    )


def _safe(text: str, limit: int) -> str:
    return redact(text)[:limit] if text else ""


_KINDS: dict[str, AuditKind] = {"run": "run", "change": "change", "read": "place", "delegation": "delegation"}
