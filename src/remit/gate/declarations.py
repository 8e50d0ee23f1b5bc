"""Declarations that only a person makes: a direct edit, a verification, a presentation."""

# Without pathlib, which takes as long to load as the whole gate.

from __future__ import annotations

import os
import time

from remit.errors import UsageError
from remit.gate.project_paths import classify, locate
from remit.gate.redaction import redacted
from remit.gate.session_entries import Declaration
from remit.gate.tool_use import MAX_NAME_LENGTH

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
    """Record a declaration until the session ends. Return the files by their real names."""
    if kind not in KINDS:
        raise UsageError(f"cannot declare {kind!r}; choose one of {', '.join(KINDS)}")
    names = [locate(path, cwd, project).name[:MAX_NAME_LENGTH] for path in paths]
    if not names:
        raise UsageError(f"a declaration of {kind!r} needs at least one path")
    if not why.strip():
        raise UsageError("state the reason with --why; it is stored with the declaration")
    reason = redacted(why[:MAX_NAME_LENGTH])
    state.declarations.append(Declaration(kind=kind, paths=names, why=reason, at=time.time()))
    return names


def refuse_without_effect(paths: Iterable[str], settings: GateSettings, *, cwd: str, project: str) -> None:
    """Raise UsageError for a declared edit of a file that is not a specification. A folder may contain some."""
    for target in (locate(path, cwd, project) for path in paths):
        kind = classify(target, settings)
        if kind != "spec" and not os.path.isdir(target.real):
            may = "may be edited without it" if kind in ("state", "prose", "scratch") else f"is {kind} and is delegated"
            raise UsageError(f"only edits of specifications are declared; {target.name} {may}")
