"""Output of bounded size: what does not fit is kept in a file that the agent can read."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import NamedTuple

from remit.dispatch.tools.openat import store_file
from remit.store.storable import to_storable

#: Room for the sentence about the rest.
_NOTE = 600
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_KEY = 80


class CappedText(NamedTuple):
    """Text that fits, and how many lines of the whole are complete in it."""

    text: str
    lines: int


def one_line(name: str) -> str:
    """A file's name as it can be shown in one line."""
    return re.sub(r"[\r\n]", "\ufffd", to_storable(name))


def spill_name(key: str) -> str:
    """A file's name for a call's key: the same for the same key, different for different keys."""
    if not key:
        return f"{secrets.token_hex(8)}.txt"
    safe = _UNSAFE.sub("_", key)[:_MAX_KEY]
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}.txt" if safe == key else f"{safe}-{mark}.txt"


def cap_text(text: str, most: int, spill: Path, key: str) -> CappedText:
    """Text cut at a limit, at the end of a line where one is near; the whole goes to a file in `spill`."""
    if len(text) <= most:
        return CappedText(text, text.count("\n") + 1)
    room = max(most - _NOTE, most // 2)
    cut = text.rfind("\n", room // 2, room)
    shown = text[: cut if cut >= 0 else room]
    lines = shown.count("\n") + (cut >= 0)
    left, total = len(text) - len(shown), text.count("\n") + 1
    try:
        path = _spilled(text, spill, key)
    except OSError as error:
        note = f"[{left:,} more characters are not shown and could not be kept ({error.strerror}). Ask for less.]"
        return CappedText(f"{shown}\n{note}", lines)
    note = (
        f"[{left:,} more characters are not shown; {lines:,} of {total:,} lines are. For the rest ask for less, "
        f'or Read the whole output with offset={lines + 1} and file_path="{path}"]'
    )
    return CappedText(f"{shown}\n{note}", lines)


def _spilled(text: str, spill: Path, key: str) -> Path:
    spill.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(spill, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(folder, 0o700)
        name = spill_name(key)
        store_file(folder, name, text.encode("utf-8", "replace"), 0o600, None)
    finally:
        os.close(folder)
    return spill / name
