"""What a written path means inside a checkout."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def normal(written: str, root: str) -> str | None:
    """A written path relative to the root, with `/` and without `.` or `..`; None if it leads outside.

    Backslashes separate like slashes. Only the text is looked at: links are the workspace's business.
    """
    path = written.strip().replace("\\", "/") if "\\" in written else written.strip()
    if _DRIVE.match(written) or path.startswith(("/", "~")):
        inside = root.rstrip("/") + "/"
        if not path.startswith(inside):
            return None
        path = path[len(inside) :]
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if any(part.lower() == ".git" for part in parts):
        return None  # git's own files are not project content, a submodule's neither
    return "/".join(parts)


def ending(path: str) -> str:
    """The last part of a path, in lower case: what people remember of it."""
    return PurePosixPath(path).name.lower()
