"""Glob patterns: `*` and `?` within a name, `**` for any folders, `[…]` for a set, `{a,b}` for alternatives.

The only glob engine: the gate, the file tools and the definitions use it. Standard library only, and it imports nothing
slow, because the gate and the search process load it in a fresh interpreter. Matching never backtracks over `**`, so
no pattern takes long.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    #: The parts of a path in lower case, each with whether it may match several names.
    NameParts = list[tuple[str, bool]]

#: A pattern with more alternatives is a mistake, or is meant to use up memory.
MAX_CHOICES = 128
MAX_PATH_LENGTH = 4096
_MAX_PIECES = 32
_MAX_PARTS = 256
#: Directories that no search of a project enters: version control, installed packages, caches, Remit's own state.
SKIPPED_DIRECTORIES = frozenset(
    {".git", ".hg", ".svn", ".remit", "node_modules", ".venv", ".tox", "__pycache__"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
)
#: The same for searches that do not look for `pyvenv.cfg`: they take every `venv` for an environment.
SKIPPED_WITH_VENV = SKIPPED_DIRECTORIES | {"venv"}
#: The alternatives of the globs that were used last, each as a list of names.
_split: dict[str, list[list[str]]] = {}
_MAX_SPLIT = 500
#: Path and glob -> whether the glob matches: a process that answers many calls asks about the same files.
_matched: dict[tuple[str, str], bool] = {}
_MAX_MATCHED, _MAX_MATCHED_LENGTH = 4_000, 200
#: A search that has looked at this many names without an answer counts as a large one.
MAX_ENTRIES = 20_000


class Pattern:
    """A pattern for paths relative to a folder. With `anywhere`, one without a slash matches the last name only.

    Raises ValueError if the pattern is too long or has too many alternatives.
    """

    def __init__(self, text: str, *, anywhere: bool = False) -> None:
        if len(text) > MAX_PATH_LENGTH:
            raise ValueError(f"more than {MAX_PATH_LENGTH:,} characters")
        alternatives = brace_alternatives(text, MAX_CHOICES + 1)
        if len(alternatives) > MAX_CHOICES:
            raise ValueError(f"more than {MAX_CHOICES} alternatives")
        self._alternatives: list[list[str]] = []
        for alternative in alternatives:
            pieces = [piece for piece in alternative.split("/") if piece not in ("", ".")]
            if anywhere and "/" not in alternative.strip("/"):
                pieces.insert(0, "**")
            if len(pieces) > _MAX_PIECES:
                raise ValueError(f"more than {_MAX_PIECES} names in a path")
            self._alternatives.append(pieces)

    def matches(self, path: str) -> bool:
        """Whether the pattern matches a whole path."""
        parts = path.split("/")
        return any(_matches_parts(parts, pieces) for pieces in self._alternatives)


def matches_glob(path: str, glob: str) -> bool:
    """Whether a glob matches a whole path. Only the first 64 alternatives of a glob count."""
    known = _matched.get((path, glob))
    if known is None:
        known = _matches_glob(path, glob)
        if len(_matched) >= _MAX_MATCHED:
            _matched.clear()
        if len(path) + len(glob) <= _MAX_MATCHED_LENGTH:
            _matched[path, glob] = known
    return known


def _matches_glob(path: str, glob: str) -> bool:
    alternatives = _split.get(glob)
    if alternatives is None:
        alternatives = [alternative.split("/") for alternative in expand_braces(glob)]
        if len(_split) >= _MAX_SPLIT:
            _split.clear()
        _split[glob] = alternatives
    parts = path.split("/")
    return any(_matches_parts(parts, pieces) for pieces in alternatives)


def _matches_parts(parts: list[str], pieces: list[str]) -> bool:
    if not pieces or len(pieces) > _MAX_PIECES or len(parts) > _MAX_PARTS:
        return False
    # Nearly all paths are refused by the first or the last name.
    for end in (-1, 0):
        if pieces[end] != "**" and not part_matches(parts[end], pieces[end]):
            return False
    reached = {0}
    for number, piece in enumerate(pieces):
        if piece == "**":
            # `folder/**` matches what is in the folder, not the folder.
            inside = 0 < number == len(pieces) - 1
            reached = set(range(min(reached) + inside, len(parts) + 1))
        else:
            reached = {index + 1 for index in reached if index < len(parts) and part_matches(parts[index], piece)}
        if not reached:
            return False
    return len(parts) in reached


def part_matches(part: str, piece: str) -> bool:
    """Whether `*`, `?` and `[...]` match one name, in linear time for `*` alone."""
    if "[" in piece:
        import fnmatch  # late: few patterns have a set

        return fnmatch.fnmatchcase(part, piece)
    if "?" in piece:
        return _matches_marks(part, piece)
    first, *others = piece.split("*")
    if not others:
        return part == piece
    last = others.pop()
    if not part.startswith(first) or not part.endswith(last) or len(part) < len(first) + len(last):
        return False
    position, end = len(first), len(part) - len(last)
    for text in others:
        position = part.find(text, position, end)
        if position < 0:
            return False
        position += len(text)
    return True


def _matches_marks(part: str, piece: str) -> bool:
    """Match `*` and `?`; the loop returns to the last star only, so it cannot explode."""
    position = wanted = 0
    star, mark = -1, 0
    while position < len(part):
        if wanted < len(piece) and (piece[wanted] == "?" or (piece[wanted] != "*" and piece[wanted] == part[position])):
            position, wanted = position + 1, wanted + 1
        elif wanted < len(piece) and piece[wanted] == "*":
            star, mark, wanted = wanted, position, wanted + 1
        elif star >= 0:
            mark += 1
            position, wanted = mark, star + 1
        else:
            return False
    return all(letter == "*" for letter in piece[wanted:])


def expand_braces(glob: str) -> list[str]:
    """Return `a.b` and `a.c` for `a.{b,c}`, at most 64 of them. A glob that is too long stays as it is."""
    return list(dict.fromkeys(brace_alternatives(glob, 64)))


def brace_alternatives(glob: str, limit: int) -> list[str]:
    """Return the first `limit` alternatives of a glob with braces, in order, possibly with duplicates."""
    if len(glob) > MAX_PATH_LENGTH:
        return [glob]
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) < limit:
        text = waiting.pop(0)
        start = text.find("{")
        end = text.find("}", start)
        if start < 0 or end < 0 or "," not in text[start:end]:
            done.append(text)
        else:
            middle = text[start + 1 : end]
            inner = middle.rfind("{")
            start, middle = (start + 1 + inner, middle[inner + 1 :]) if inner >= 0 else (start, middle)
            # At the front: one alternative is finished after the other, however many there could be.
            waiting[:0] = [text[:start] + choice + text[end + 1 :] for choice in middle.split(",")[:limit]]
    return done


def is_glob(path: str) -> bool:
    """Return whether a path may match several files."""
    return any(letter in path for letter in "*?[") or ("{" in path and "," in path)


def split_name(name: str) -> NameParts:
    """Return the parts of a path in lower case, each with whether it may match several names."""
    return [(part, is_glob(part)) for part in name.lower().split("/")]


def find_matches(root: str, glob: str, limit: int) -> list[str] | None:
    """Return at most `limit` files under a folder that match a glob ("": all), or None if there are too many files."""
    if os.path.isfile(root):
        return [root]
    matches: list[str] = []
    for seen, (path, relative) in enumerate(_walk(root), 1):
        if relative is not None and (not glob or matches_glob(relative, glob)):
            matches.append(path)
            if len(matches) >= limit:
                return matches
        if seen >= MAX_ENTRIES:
            return None
    return matches


def _walk(root: str) -> Iterator[tuple[str, str | None]]:
    """Yield files with their names below the root, near ones first; a folder has the name None."""
    folders = [(root, "")]
    for folder, prefix in folders:  # grows
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in SKIPPED_WITH_VENV:
                            folders.append((entry.path, prefix + entry.name + "/"))
                        yield entry.path, None
                    else:
                        yield entry.path, prefix + entry.name
        except (OSError, ValueError):  # it cannot be opened, or not read
            continue
