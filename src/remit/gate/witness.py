"""Digests of the gate's own files, kept outside the project: a change by anything else is noticed.

A command of an agent runs as the same user and can write both places, so this does not prove anything. It notices
commands that rewrite, restore or remove what is in the project.
"""

from __future__ import annotations

import os
import time

from remit.gate.spare_files import remove_file, write_file
from remit.workspace.atomic_write import replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mark = tuple[int, int, int]

_FOLDER = "remit/gate"
#: A digest in hexadecimal digits, and how many of them are kept: that of now, and that of before.
_LENGTH = 32
_KEPT = 2
#: The folder of the state, a folder of a gate, its device and its inode -> where its digests are.
_places: dict[tuple[str, str, int, int], str] = {}
_MAX_PLACES = 100
#: Path -> inode, change time and size of a file with digests that this process has written in place, and the digests.
_written: dict[str, tuple[Mark, list[str]]] = {}
_MAX_WRITTEN = 200


def digest_of(data: bytes) -> str:
    """Return a digest by which changed content is recognised."""
    try:
        from _blake2 import blake2b  # hashlib takes longer to load than the whole gate
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=_LENGTH // 2).hexdigest()


def note_content(folder: str, name: str, data: bytes, *, is_locked: bool = False) -> bool:
    """Note the content that a file of the gate's folder is about to get. Return False without a place for that.

    `is_locked` states that every process that compares this file holds its lock. The note is then written in place,
    which takes a tenth of the time.
    """
    path, digest = _path(folder, name), digest_of(data)
    earlier = _read_again(path) if is_locked else _read(path)
    if earlier[:1] == [digest]:
        return True
    # A process that ends before it has written the file leaves the earlier content.
    digests = [digest, *earlier][:_KEPT]
    text = "\n".join(digests)
    if is_locked and len(earlier) == _KEPT and (mark := _overwrite(path, text.encode())) is not None:
        if len(_written) >= _MAX_WRITTEN:
            _written.clear()
        _written[path] = (mark, digests)
        return True
    try:
        try:
            replace_file(path, text.encode(), mode=0o600, sync=False)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            replace_file(path, text.encode(), mode=0o600, sync=False)
    except OSError:
        return False
    return True


def note_call(folder: str, name: str, data: bytes) -> bool:
    """Note the content that a file of one call is about to get. Return False without a place for that."""
    path = _path(folder, name)
    try:
        write_file(path, f"{digest_of(data)}\n".encode())
    except OSError:
        return note_content(folder, name, data)  # the folder may be missing
    return True


def forget_call(folder: str, name: str) -> None:
    """Forget a file of one call that the gate removes."""
    remove_file(_path(folder, name))


def is_noted(folder: str, name: str) -> bool:
    """Return whether the content of a file has been noted."""
    return bool(_read(_path(folder, name)))


def has_other_content(folder: str, name: str, data: bytes) -> bool:
    """Return whether a file's content is not the noted one. A file that was never noted may have any content."""
    noted = _read(_path(folder, name))
    return bool(noted) and digest_of(data) not in noted


def forget_content(folder: str, name: str) -> None:
    """Forget a file that the gate removes."""
    try:
        os.unlink(_path(folder, name))
    except OSError:
        return


def forget_old(folder: str, days: float) -> None:
    """Forget the files that were not written for this number of days, except the settings."""
    place, oldest = os.path.dirname(_path(folder, "x")), time.time() - days * 86_400
    try:
        with os.scandir(place) as entries:
            old = [
                entry.name
                for entry in entries
                if entry.name != "compiled.json" and entry.stat(follow_symlinks=False).st_mtime < oldest
            ]
    except OSError:
        return
    for name in old:
        forget_content(folder, name)


def forget_folder(folder: str) -> None:
    """Forget all files of a folder of the gate, and remove the folders for the digests that are empty then."""
    place = os.path.dirname(_path(folder, "x"))
    try:
        names = os.listdir(place)
    except OSError:
        return
    for name in names:
        forget_content(folder, name)
    own = os.path.dirname(os.path.dirname(place))
    above = [] if os.environ.get("XDG_STATE_HOME") else [os.path.dirname(own), os.path.dirname(os.path.dirname(own))]
    for one in (place, os.path.dirname(place), own, *above):
        try:
            os.rmdir(one)
        except OSError:
            return  # it contains other files


def _read_again(path: str) -> list[str]:
    """Return the digests of a file, which is not read if it is as this process has written it."""
    known = _written.get(path)
    if known is not None:
        try:
            if known[0] == _mark_of(os.lstat(path)):
                return known[1]
        except OSError:
            return []
    return _read(path)


def _mark_of(about: os.stat_result) -> Mark:
    return about.st_ino, about.st_ctime_ns, about.st_size


def _overwrite(path: str, data: bytes) -> Mark | None:
    """Write into a file that has as many bytes, and return its mark; None if that is not possible."""
    try:
        descriptor = os.open(
            path,
            os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0),
        )
    except OSError:
        return None
    try:
        is_written = os.fstat(descriptor).st_size == len(data) == os.write(descriptor, data)
        return _mark_of(os.fstat(descriptor)) if is_written else None
    finally:
        os.close(descriptor)


def _path(folder: str, name: str) -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    try:
        about = os.stat(folder)
        key = (base, folder, about.st_dev, about.st_ino)
    except OSError:
        key = (base, folder, 0, 0)
    place = _places.get(key)
    if place is None:
        place = os.path.join(base, _FOLDER, digest_of(os.fsencode(os.path.realpath(folder))))
        if len(_places) >= _MAX_PLACES:
            _places.clear()
        if key[3]:
            _places[key] = place
    return os.path.join(place, name)


def _read(path: str) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return []
    try:
        text = os.read(descriptor, _KEPT * (_LENGTH + 1))
    except OSError:  # a folder
        return []
    finally:
        os.close(descriptor)
    return text.decode("ascii", "replace").split()
