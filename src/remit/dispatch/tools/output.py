"""Limit the output of tools, and store the whole of a long output in a file that the agent can read."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import NamedTuple

from remit.dispatch.tools.openat import store_file
from remit.store.storable import to_storable

#: Characters reserved for the note about the rest.
_NOTE_CHARACTERS = 600
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_KEY = 80


class CappedText(NamedTuple):
    """Text within the limit, and the number of its complete lines."""

    text: str
    lines: int


def one_line(name: str) -> str:
    """Return a file's name without line breaks."""
    return re.sub(r"[\r\n]", "\ufffd", to_storable(name))


def spill_name(key: str) -> str:
    """Return a file name for the key of a call: the same for equal keys, and different for different keys."""
    if not key:
        return f"{secrets.token_hex(8)}.txt"
    safe = _UNSAFE.sub("_", key)[:_MAX_KEY]
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}.txt" if safe == key else f"{safe}-{mark}.txt"


def cap_text(text: str, limit: int, spill: Path, key: str) -> CappedText:
    """Cut a text at a limit, at the end of a line if possible. The whole text is stored in a file in `spill`."""
    if len(text) <= limit:
        return CappedText(text, text.count("\n") + 1)
    available = max(limit - _NOTE_CHARACTERS, limit // 2)
    cut = text.rfind("\n", available // 2, available)
    shown = text[: cut if cut >= 0 else available]
    lines = shown.count("\n") + (cut >= 0)
    left, total = len(text) - len(shown), text.count("\n") + 1
    try:
        path = _store(text, spill, key)
    except OSError as error:
        note = f"[{left:,} more characters are not shown and could not be stored ({error.strerror}). Ask for less.]"
        return CappedText(f"{shown}\n{note}", lines)
    note = (
        f"[{left:,} more characters are not shown; {lines:,} of {total:,} lines are. For the rest, ask for less, "
        f'or Read the whole output with offset={lines + 1} and file_path="{path}"]'
    )
    return CappedText(f"{shown}\n{note}", lines)


def _store(text: str, spill: Path, key: str) -> Path:
    spill.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(spill, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(folder, 0o700)
        name = spill_name(key)
        store_file(folder, name, text.encode("utf-8", "replace"), 0o600, None)
    finally:
        os.close(folder)
    return spill / name
