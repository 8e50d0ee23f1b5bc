"""Settings that changed while a job could write, and that no person has confirmed: they are not obeyed.

A job works in the folder whose `remit.toml` decides what later jobs may do. The list is in the user's state folder,
where commands in the sandbox cannot write.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_NAME = "remit/unconfirmed.json"
_MAX_BYTES = 1_000_000


def state_file() -> Path:
    """Return the file with the list."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 (there may be no home)
    return Path(base) / _NAME


def mark_unconfirmed(before: Mapping[str, str], after: Mapping[str, str], job: int) -> list[str]:
    """Add the files whose settings changed during a job; return their paths. An empty digest means: no settings."""
    changed = [path for path in {**before, **after} if before.get(path, "") != after.get(path, "")]
    if changed:
        listed = _read()
        listed |= {path: {"digest": after.get(path, ""), "job": job} for path in changed}
        _write(listed)
    return changed


def unconfirmed_job(path: str, digest: str) -> int | None:
    """Return the job during which a file got the settings with this digest, if no person has confirmed them."""
    entry = _read().get(path)
    return entry["job"] if entry is not None and entry["digest"] == digest else None


def removed_settings(start: Path) -> Iterator[tuple[str, int]]:
    """Yield the files that contained the settings for a folder until a job removed them, with the number of the job."""
    folders = {str(folder) for folder in (start.absolute(), *start.absolute().parents)}
    for path, entry in _read().items():
        if not entry["digest"] and os.path.dirname(path) in folders:  # noqa: PTH120 (plain names)
            yield path, entry["job"]


def confirm(start: Path) -> list[str]:
    """Confirm the settings for a folder as they are now; return the files that were listed."""
    folders = {str(folder) for folder in (start.absolute(), *start.absolute().parents)}
    listed = _read()
    found = [path for path in listed if os.path.dirname(path) in folders]  # noqa: PTH120 (plain names)
    if found:
        _write({path: entry for path, entry in listed.items() if path not in found})
    return found


def _read() -> dict[str, dict[str, Any]]:
    file = state_file()
    try:
        with file.open("rb") as opened:
            listed = json.loads(opened.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    rows = listed.items() if isinstance(listed, dict) else ()
    return {path: entry for path, entry in rows if isinstance(entry, dict) and {"digest", "job"} <= set(entry)}


def _write(listed: Mapping[str, Mapping[str, Any]]) -> None:
    file = state_file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(listed, indent=1), encoding="utf-8")
        draft.replace(file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
