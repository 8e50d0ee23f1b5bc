"""Find the transcripts that the clients have kept on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.deciding_files import CLIENTS

#: The names of files with transcripts.
_SUFFIXES = (".jsonl", ".db")
_DATABASE = "opencode.db"
#: The names of the rollouts of Codex begin so, and end with the id of the thread.
_ROLLOUT = "rollout-"
_UUID = 36
_MAX_FIRST = 1_000_000


class TranscriptFile(NamedTuple):
    """A file with one transcript, or with those of several sessions (the database of opencode)."""

    path: Path
    #: When it was last written, in seconds since 1970.
    written: float
    size: int
    #: Whether a person named this file, and not a folder above it.
    is_named: bool = False


class UnreadableFile(NamedTuple):
    """A file or folder that cannot be read, and why."""

    path: Path
    why: str


def find_transcripts(
    paths: Iterable[Path] = (), clients: Iterable[str] = CLIENTS, since: float = 0.0
) -> Iterator[TranscriptFile | UnreadableFile]:
    """Yield the files below the paths, or below the clients' default folders, that were written after a time.

    Links to other folders are not followed.
    """
    starts = list(paths)
    if not starts:
        starts = [folder for client in clients for folder in default_folders(client) if folder.is_dir()]
    seen: set[Path] = set()
    for start in starts:
        for path in _files_below(start):
            if isinstance(path, UnreadableFile):
                yield path
                continue
            if path in seen:
                continue
            seen.add(path)
            try:
                status = path.stat()
            except OSError as error:
                yield UnreadableFile(path, error.strerror or str(error))
                continue
            if not stat.S_ISREG(status.st_mode):
                yield UnreadableFile(path, "it is not a file")
            elif status.st_mtime >= since:
                yield TranscriptFile(path, status.st_mtime, status.st_size, is_named=path == start)


def default_folders(client: str) -> list[Path]:
    """Return the folders in which a client keeps its transcripts."""
    home = Path.home()
    environment = os.environ
    match client:
        case "claude-code":
            named_folder = environment.get("CLAUDE_CONFIG_DIR")
            roots = [Path(named_folder)] if named_folder else [home / ".claude", home / ".config/claude"]
            return [root / "projects" for root in roots]
        case "codex":
            root = Path(environment.get("CODEX_HOME") or home / ".codex")
            return [root / "sessions", root / "archived_sessions"]
        case "copilot":
            return [Path(environment.get("COPILOT_HOME") or home / ".copilot") / "session-state"]
        case _:
            return [Path(environment.get("XDG_DATA_HOME") or home / ".local/share") / "opencode"]


def subagent_files(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """Return the files of subagents among the files, by the file of the session that asked them."""
    known = dict.fromkeys(paths)
    by_thread = {path.stem[-_UUID:]: path for path in known if path.name.startswith(_ROLLOUT)}
    by_session: dict[Path, list[Path]] = {}
    for path in known:
        main: Path | None = None
        if path.name.startswith("agent-"):
            folder = path.parent
            is_below = folder.name == "subagents"
            name = folder.parent.name if is_below else _first_of(path).sessionId
            main = (folder.parent.parent if is_below else folder) / f"{name}.jsonl"
        elif path.name.startswith(_ROLLOUT):
            payload = _first_of(path).payload
            main = by_thread.get(payload.parent_thread_id) if payload is not None else None
        if main is not None and main in known and main != path:
            by_session.setdefault(main, []).append(path)
    return by_session


class _Meta(msgspec.Struct):
    parent_thread_id: str = ""


class _First(msgspec.Struct):
    """What the first line of a transcript states about the session that it belongs to."""

    sessionId: str = ""  # noqa: N815 - the client's name
    payload: _Meta | None = None


_first = msgspec.json.Decoder(_First)


def _first_of(path: Path) -> _First:
    try:
        with path.open("rb") as file:
            return _first.decode(file.readline(_MAX_FIRST))
    except (OSError, msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
        return _First()


def _files_below(start: Path) -> Iterator[Path | UnreadableFile]:
    if not start.is_dir():
        yield start if start.exists() else UnreadableFile(start, "there is no such file or folder")
        return
    problems: list[OSError] = []
    for folder, names, files in os.walk(start, onerror=problems.append):
        names[:] = sorted(name for name in names if name != "node_modules")
        for name in sorted(files):
            if name.endswith(_SUFFIXES) and (not name.endswith(".db") or name == _DATABASE):
                yield Path(folder, name)
    for problem in problems:
        yield UnreadableFile(Path(problem.filename or start), problem.strerror or str(problem))


#: Files that are searched for the subagents of a session, and how much of each.
_MAX_SIBLINGS = 300
_MAX_SUBAGENTS = 100
_HEAD_BYTES = 1_000


def subagents_of(transcript: str) -> list[str]:
    """Return the transcripts of the subagents of a session that is running."""
    path = Path(transcript)
    try:
        if not path.name.startswith(_ROLLOUT):
            return [
                str(file) for file in sorted((path.with_suffix("") / "subagents").glob("*.jsonl"))[-_MAX_SUBAGENTS:]
            ]
        siblings = sorted(path.parent.glob(f"{_ROLLOUT}*"), reverse=True)[:_MAX_SIBLINGS]
        mark = f'"session_id":"{path.stem[-_UUID:]}"'.encode()
        return [str(file) for file in siblings if file != path and mark in _head_of(file)][:_MAX_SUBAGENTS]
    except OSError:
        return []


def _head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES).replace(b": ", b":")
