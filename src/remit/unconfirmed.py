"""Settings that changed while a job could write, and that no person has confirmed: they are not obeyed.

A job works in the folder whose `remit.toml` decides what later jobs may do. The lists are in the user's state folder,
where commands in the sandbox cannot write. The digests before a job are stored when it starts, so that a change is
noticed even if its worker is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

_FOLDER = "remit"
#: Files whose settings changed during a job: path -> digest and job.
_CHANGED = "unconfirmed.json"
#: The digests before the jobs that have not ended yet: path -> job -> digest.
_WATCHED = "watched.json"
_LOCK = "lock"
_MAX_BYTES = 1_000_000


def _when(job: int, *, has_ended: bool) -> str:
    """Return when settings changed. If the job `has_ended`, it was running at the time for certain."""
    return (
        f"while job {job} ran" if has_ended else f"after job {job} started, which still runs or whose worker was killed"
    )


def state_folder() -> Path:
    """Return the folder with the lists."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 (there may be no home)
    return Path(base) / _FOLDER


def state_files() -> list[Path]:
    """Return the files of the lists that are there; they are of all projects."""
    return [path for name in (_CHANGED, _WATCHED, _LOCK) if (path := state_folder() / name).is_file()]


def watch(before: Mapping[str, str], job: int) -> None:
    """Store the digests of the settings before a job. Those of an earlier attempt at the same job stay."""
    with _locked():
        watched = _read(_WATCHED)
        for path, digest in before.items():
            watched.setdefault(path, {}).setdefault(str(job), digest)
        _write(_WATCHED, watched)


def settle(before: Mapping[str, str], after: Mapping[str, str], job: int) -> list[str]:
    """End the watch of a job; return the files whose settings changed. An empty digest means: no settings."""
    with _locked():
        watched, listed = _read(_WATCHED), _read(_CHANGED)
        known = dict.fromkeys(after, "") | dict(before)
        known |= {path: jobs[str(job)] for path, jobs in watched.items() if str(job) in jobs}
        changed = [path for path, digest in known.items() if digest != after.get(path, "")]
        if changed:
            _write(_CHANGED, listed | {path: {"digest": after.get(path, ""), "job": job} for path in changed})
        kept = {
            path: {name: digest for name, digest in jobs.items() if name != str(job)} for path, jobs in watched.items()
        }
        _write(_WATCHED, {path: jobs for path, jobs in kept.items() if jobs})
    return changed


def unconfirmed_since(path: str, digest_now: Callable[[], str]) -> str | None:
    """Return when a file got the settings that it has now, if that was during a job and no person confirmed them."""
    entry, watched = _read(_CHANGED).get(path, {}), _read(_WATCHED).get(path, {})
    if not entry and not watched:
        return None
    digest = digest_now()
    if isinstance(entry.get("job"), int) and entry.get("digest") == digest:
        return _when(entry["job"], has_ended=True)
    for job, before in watched.items():
        if before != digest and job.isdigit():
            return _when(int(job), has_ended=False)
    return None


def removed_settings(start: Path) -> Iterator[tuple[str, str]]:
    """Yield the files with the settings for a folder before a job that may have removed them, and when it ran."""
    folders = _above(start)
    for path, entry in _read(_CHANGED).items():
        if not entry.get("digest") and isinstance(entry.get("job"), int) and os.path.dirname(path) in folders:  # noqa: PTH120 (plain names)
            yield path, _when(entry["job"], has_ended=True)
    for path, jobs in _read(_WATCHED).items():
        job = next((job for job, before in jobs.items() if before and job.isdigit()), None)
        if job is not None and os.path.dirname(path) in folders:  # noqa: PTH120 (plain names)
            yield path, _when(int(job), has_ended=False)


def confirm(start: Path, current: Mapping[str, str]) -> list[str]:
    """Confirm the settings for a folder, which have these digests now; return the files that were listed."""
    folders = _above(start)
    if not _read(_CHANGED) and not _read(_WATCHED):
        return []
    with _locked():
        listed, watched = _read(_CHANGED), _read(_WATCHED)
        confirmed = {path for path in listed if os.path.dirname(path) in folders}  # noqa: PTH120 (plain names)
        for path, jobs in watched.items():
            digest = current.get(path, "")
            if os.path.dirname(path) in folders and any(before != digest for before in jobs.values()):  # noqa: PTH120 (as above)
                confirmed.add(path)
                watched[path] = dict.fromkeys(jobs, digest)
        if confirmed:
            _write(_CHANGED, {path: entry for path, entry in listed.items() if path not in confirmed})
            _write(_WATCHED, watched)
    return sorted(confirmed)


def _above(start: Path) -> set[str]:
    return {str(folder) for folder in (start.absolute(), *start.absolute().parents)}


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Hold the lock of the lists: several workers write them."""
    import fcntl  # late: Windows has no such module

    folder = state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / _LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(name: str) -> dict[str, dict[str, Any]]:
    try:
        with (state_folder() / name).open("rb") as opened:
            listed = json.loads(opened.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    rows = listed.items() if isinstance(listed, dict) else ()
    return {path: entry for path, entry in rows if isinstance(entry, dict)}


def _write(name: str, listed: Mapping[str, Mapping[str, Any]]) -> None:
    file = state_folder() / name
    draft = file.with_name(f"{name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(listed, indent=1), encoding="utf-8")
        draft.replace(file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
