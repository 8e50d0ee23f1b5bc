"""What only a person can say, and is never guessed: a direct edit, a verification, a presentation."""

# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os
import time

from remit.errors import UsageError
from remit.gate.model import LONGEST_NAME
from remit.gate.paths import classify, locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings

#: Kind -> what it allows.
KINDS: dict[str, str] = {
    "edit": "trivial edits of these specification files",
    "verify": "reading these files again although an accepted result covers them",
    "presentation": "reading these files to show them to the user",
}


def declare(state: SessionState, kind: str, paths: Iterable[str], why: str, *, cwd: str, project: str) -> list[str]:
    """Remember it until the session ends; the answer is the files by their real names."""
    if kind not in KINDS:
        raise UsageError(f"there is nothing to declare as {kind!r}; known are {', '.join(KINDS)}")
    names = [locate(path, cwd, project).name[:LONGEST_NAME] for path in paths]
    if not names:
        raise UsageError(f"say which files: a declaration of {kind!r} without a path allows nothing")
    if not why.strip():
        raise UsageError("say why with --why: a declaration stands in the session's record")
    state.declarations.append({"kind": kind, "paths": names, "why": why[:LONGEST_NAME], "at": time.time()})
    return names


def refuse_without_effect(paths: Iterable[str], settings: GateSettings, *, cwd: str, project: str) -> None:
    """An edit that is declared is one of a specification: of another file it would allow nothing. A folder may hold
    some."""
    for place in (locate(path, cwd, project) for path in paths):
        found = classify(place, settings)
        if found != "spec" and not os.path.isdir(place.real):
            what = "is written freely" if found in ("state", "prose", "scratch") else f"is {found}, and stays delegated"
            raise UsageError(f"{place.name} is no specification: it {what}. A declared edit is one of a specification")
