"""The compiled file made anew from inside a hook: by one process, while the others wait for it."""

# ruff: noqa: PTH112, PTH118
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os

from remit.clients.claude_code import desk
from remit.clients.claude_code.libraries import make_reachable
from remit.errors import EnvironmentBroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def recompile(project: str, *, force: bool = False) -> dict[str, Any]:
    """Compile, unless somebody else did it meanwhile; the new values."""
    from remit.gate.state import locked, make_private

    if not os.path.isdir(project):
        raise EnvironmentBroken(f"there is no folder {project}")
    folder = desk.folder_of(project)
    make_private(folder)
    lock = locked(os.path.join(folder, desk.FILE + ".lock"), desk.COMPILE_SECONDS)
    try:
        values = None if force else desk.compiled(project)
        if values is not None and desk.is_fresh(values):
            return values
        make_reachable()
        from pathlib import Path

        from remit.clients.claude_code.compiling import compile_project

        compile_project(Path(project))
    finally:
        os.close(lock)
    values = desk.compiled(project)
    if values is None:
        raise EnvironmentBroken(f"the settings of {project} were compiled, and cannot be read")
    return values
