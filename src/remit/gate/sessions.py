"""A session as people name it: the last one, its id, or how its id begins."""

# ruff: noqa: PTH118
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os

from remit.errors import UsageError
from remit.gate.state import peek, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.memory import State

LAST = "last"
#: What an installation writes down beside the sessions.
INSTALLED = "installed.json"
#: How many are named in a message.
_NAMED = 5


class Found:
    """A session on disk: the folder, its name there, and its state as it was last written."""

    __slots__ = ("folder", "name", "state")

    def __init__(self, folder: str, name: str, state: State) -> None:
        self.folder = folder
        self.name = name
        self.state = state


def recorded(folders: Iterable[str]) -> list[Found]:
    """All sessions of some folders, the latest first. Other files of a folder are none."""
    read = [(folder, name, peek(folder, name)) for folder in folders for name in sessions(folder)]
    found = [Found(folder, name, state) for folder, name, state in read if state is not None]
    return sorted(found, key=lambda one: one.state.updated, reverse=True)


def find(folders: Iterable[str], wanted: str = LAST) -> Found:
    """One session; an error that says what to do if there is none, or more than one."""
    folders = list(folders)
    known = recorded(folders)
    if damaged := _damaged(folders, wanted, known):
        raise UsageError(f"the record of this session is damaged: {damaged} is to be deleted, or mended by hand")
    if not known:
        raise UsageError(f"no session has been recorded in {folders[0]} yet; {_how_to(folders[0])}")
    if wanted in ("", LAST):
        return known[0]
    exact = [one for one in known if wanted in (one.name, one.state.session)]
    fitting = exact or [one for one in known if one.name.startswith(wanted) or one.state.session.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(f"{wanted!r} begins the ids of {len(fitting)} sessions: {_named(fitting)}; name more of it")
    raise UsageError(f"there is no session {wanted!r}; the latest are {_named(known)}")


def _damaged(folders: list[str], wanted: str, known: list[Found]) -> str:
    """The file of the session that is asked for, if it is there and cannot be read."""
    readable = {(one.folder, one.name) for one in known}
    for folder in folders:
        for name in sessions(folder):
            is_meant = not known if wanted in ("", LAST) else name == wanted
            if is_meant and (folder, name) not in readable:
                return os.path.join(folder, f"{name}.json")
    return ""


def _how_to(folder: str) -> str:
    if os.path.lexists(os.path.join(folder, INSTALLED)):
        return "the hooks are installed: start a new session of Claude Code"
    return (
        "`remit install claude-code` puts the hooks into Claude Code that record one, and `remit orchestrate` records "
        "its own"
    )


def _named(found: list[Found]) -> str:
    names = [one.state.session or one.name for one in found[:_NAMED]]
    return ", ".join(names) + (" ..." if len(found) > _NAMED else "")
