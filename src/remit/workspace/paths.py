"""Interpret paths that documents contain, relative to a checkout."""

from __future__ import annotations

from functools import lru_cache

from remit.lazy import lazy_pattern

_DRIVE = lazy_pattern(r"^[A-Za-z]:[\\/]")


def normalize_path(written: str, root: str) -> str | None:
    """Return a path relative to the root, with `/` and without `.` or `..`; None if it leads outside.

    Backslashes are separators, too. Only the text counts: the workspace resolves links.
    """
    path = written.strip().replace("\\", "/") if "\\" in written else written.strip()
    if path.startswith("~"):
        return None
    parts: list[str] = []
    if path.startswith("/") or _DRIVE.match(path):
        top, whole = _root_parts(root), _absolute(path)
        if whole[: len(top)] != top:
            return None
        parts = whole[len(top) :]
    else:
        for part in path.split("/"):
            if part == "..":
                if not parts:
                    return None
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
    if any(part.lower() == ".git" for part in parts):
        return None  # git's own files are not part of the project, and those of a submodule are not either
    return "/".join(parts)


def is_absolute(written: str) -> bool:
    """Whether a path is absolute, on this system or another."""
    return written.startswith(("/", "\\", "~")) or _DRIVE.match(written) is not None


@lru_cache(maxsize=64)
def _root_parts(root: str) -> list[str]:
    return _absolute(root)


def _absolute(path: str) -> list[str]:
    """Return the parts of an absolute path, with `..` resolved; drive letters are in upper case."""
    drive = [path[:2].upper()] if _DRIVE.match(path) else []
    parts: list[str] = []
    for part in path[2 * len(drive) :].replace("\\", "/").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return drive + parts


def folded_name(path: str) -> str:
    """Return the last part of a path in lower case."""
    return next((part.lower() for part in reversed(path.split("/")) if part not in ("", ".")), "")
