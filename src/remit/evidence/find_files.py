"""Find the file of the checkout that a written path means, and the facts about a missing one.

The steps, in order: the path from the root of the checkout; from the document's own folder; without a root of another
machine; the only file whose path ends with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Literal

from remit.evidence.file_names import has_known_ending
from remit.evidence.model import Claim, Facts, Location, Resolved
from remit.evidence.read_places import SYSTEM_FOLDERS
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.paths import folded_name, is_absolute, normalize_path

#: At most this many candidates of an ambiguous path are shown.
MAX_SHOWN = 5
_MAX_DEPTH = 30
#: How many folders of other machines are tried for each path.
_MAX_ROOTS = 20
#: The paths that must share a folder which does not exist.
_MIN_ROOTED = 3
#: At most this many candidates of one path, and of all paths of a document, are read to see if a line is in range.
_MAX_READ = 20
_MAX_READ_IN_ALL = 2_000
#: Names that build tools give to a folder: `@/app/page.ts`, `$lib/button.ts`, `~/store.ts`.
_ALIAS = lazy_pattern(r"(?:\$[A-Za-z_]{1,40}|[@~#])/(?=[^/]+/)")
#: A sign that some editors write before a path: `@src/page.ts`, `@/home/me/app/src/page.ts`.
_MENTION = lazy_pattern(r"@(?=\w|/(?:Users|home)/)")
#: Folders that are left out: `.../app.ts` at the start, `src/.../app.ts` in the middle.
_ELLIPSIS = lazy_pattern(r"(?:\.{3,}|…)/+(?=.)")
_OMITTED = lazy_pattern(r"(.+)/(?:\.{3}|…)/(.+)")
_SUBMODULE = lazy_pattern(r"(?m)^\s*path\s*=\s*(\S.*?)/?\s*$")
_PATH = lazy_pattern(r"[\w.@+\-$~()\[\]]++(?>(?:/[\w.@+\-$~()\[\]]++)+)")


class FileFinder:
    """Finds the files that the paths of one document mean. Each path is resolved once."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        folder: str = "",
        roots: Sequence[str] = (),
        opened: Collection[str] = (),
        text: str = "",
        suggests: bool = True,
    ) -> None:
        self._workspace = workspace
        #: The document's own folder in the checkout; empty if it is the root or unknown.
        self._folder = folder
        #: Folders of other machines that stand for the root of the checkout.
        self._roots = tuple(roots)
        #: The files that the agent opened.
        self._opened = opened
        self._text = text
        self._suggestions = SuggestionFinder(workspace) if suggests else None
        self._resolved: dict[tuple[str, bool], tuple[Resolved, tuple[str, ...]]] = {}
        self._named_in_text: set[str] | None = None
        #: The names of all paths of the document; empty when the index knows them.
        self._names: set[str] = set()
        self._reads_left = _MAX_READ_IN_ALL
        #: The folders of submodules that are not checked out; None: not looked up.
        self._submodules: tuple[str, ...] | None = None

    def prepare(self, paths: Collection[str]) -> None:
        """Take all paths of the document into account: they show the roots of other machines."""
        self._names = {path.rpartition("/")[2] for path in paths}
        self._roots += _shared_roots((path for path in paths if is_absolute(path)), self._workspace)

    def look(self, claim: Claim) -> Facts:
        """Return the facts about the file and the line of a claim."""
        facts = self.look_up(claim.path, claim.line, claim.end_line, is_link="link" in claim.notes)
        if facts.state == "missing" and claim.line is None and claim.text.rstrip("`").endswith("/"):
            part = f"/{claim.path.strip('/')}/"
            inside = (f"/{path}" for path in self._workspace.index.paths if part in f"/{path}")
            folders = dict.fromkeys(path[1 : path.index(part) + len(part) - 1] for path in inside)
            if folders:
                several = tuple(folders)[:MAX_SHOWN] if len(folders) > 1 else ()
                return Facts(state="folder", path=next(iter(folders)), how="end", candidates=several)
            return facts
        for other in claim.others if "carried" in claim.notes else ():
            # A line without a file may belong to another file around it; a file that is missing has no lines.
            if facts.state in ("missing", "outside") or facts.how == "several" or _is_in_range(facts, claim):
                break
            candidate = self.look_up(other.path, claim.line, claim.end_line)
            if candidate.state == "file" and candidate.how != "several" and _is_in_range(candidate, claim):
                return candidate
        return facts

    def look_up(self, path: str, line: int | None, last: int | None = None, *, is_link: bool = False) -> Facts:
        """Return the facts about a path, and which of several files it means for a line."""
        how, paths = self._resolve_once(path, is_link=is_link)
        if how in ("written", "relative") and line is not None and "/" not in path and how == "written":
            paths = self._preferred(paths, line, last)
            how = how if paths[0] == path else "end" if len(paths) == 1 else "several"
        if len(paths) > 1:
            return self._of_several(paths, line, last)
        file = self._workspace.read(paths[0])
        if isinstance(file, SourceFile):
            return Facts(state="file", path=file.path, how=how, line_count=file.line_count)
        if file.why not in ("missing", "folder") or (file.why == "folder" and line is None):
            return Facts(state=file.why, path=file.path if file.why != "outside" else paths[0], how=how)
        if self._is_in_submodule(paths[0]):
            return Facts(state="submodule", path=paths[0], how=how)
        suggested = self._suggestions.suggest(paths[0]) if self._suggestions is not None else None
        suggestion = Location(suggested, self._line_in(suggested, line)) if suggested is not None else None
        return Facts(state=file.why, path=paths[0], how=how, folders=self._folders(paths[0]), suggestion=suggestion)

    def _is_in_submodule(self, path: str) -> bool:
        """Return whether a path is in a submodule that is not checked out."""
        if self._submodules is None:
            listed = self._workspace.read(".gitmodules")
            folders = _SUBMODULE.findall(listed.text) if isinstance(listed, SourceFile) else []
            self._submodules = tuple(f"{folder}/" for folder in folders if self._workspace.is_empty_folder(folder))
        return path.startswith(self._submodules)

    def _line_in(self, path: str, line: int | None) -> int | None:
        file = self._workspace.read(path) if line is not None else None
        return line if isinstance(file, SourceFile) and line is not None and 1 <= line <= file.line_count else None

    def _folders(self, path: str) -> Literal["all", "some", "none"]:
        """Return which folders of a missing path are here: its own, a part of them, or none."""
        parts = path.strip("/").split("/")[:-1][:_MAX_DEPTH]
        here = 0
        for depth in range(1, len(parts) + 1):
            folder = self._workspace.read("/".join(parts[:depth]))
            if not (isinstance(folder, Absent) and folder.why == "folder"):
                break
            here = depth
        if parts and here == len(parts):
            return "all"
        if here:
            return "some"
        # A path from a package: its folders are those of some file.
        is_known = bool(parts) and parts[-1] in self._workspace.index.folder_names and len(parts) > 1
        return "some" if is_known and parts[0] in self._workspace.index.folder_names else "none"

    def _of_several(self, paths: tuple[str, ...], line: int | None, last: int | None) -> Facts:
        """Return the facts about the file that the document or the receipts name; of several, one with the line."""
        chosen = self._only_known(paths)
        having = [path for path in paths[:_MAX_READ] if self._has_line(path, line, last)]
        if chosen is None and len(paths) <= _MAX_READ and not having:
            chosen = paths[0]  # none of them has the line
        if chosen is not None and (chosen in having or not having):
            file = self._workspace.read(chosen)
            count = file.line_count if isinstance(file, SourceFile) else None
            state = "file" if isinstance(file, SourceFile) else file.why
            candidates = () if chosen in having else paths[:MAX_SHOWN]
            return Facts(state=state, path=chosen, how="end", candidates=candidates, line_count=count)
        shown = tuple(dict.fromkeys((*having, *paths)))[:MAX_SHOWN]
        return Facts(state="file", path="", how="several", candidates=shown)

    def _only_known(self, candidates: tuple[str, ...]) -> str | None:
        """Return the only candidate that the document names in full elsewhere, else the only one that was opened."""
        if self._named_in_text is None:
            self._named_in_text = {path.removeprefix("./").rstrip(".") for path in _PATH.findall(self._text)}
        for names in (self._named_in_text, self._opened):
            known = [path for path in candidates if path in names]
            if known:
                return known[0] if len(known) == 1 else None
        return None

    def _preferred(self, paths: tuple[str, ...], line: int, last: int | None) -> tuple[str, ...]:
        """Of a name that a file in the root and others have, return those that have the line if that file does not."""
        (path,) = paths
        if not self._workspace.exists(path) or self._has_line(path, line, last):
            return paths
        others = [other for other in self._ending_with(path)[: _MAX_READ + 1] if other != path]
        return tuple(other for other in others if self._has_line(other, line, last)) or paths

    def _has_line(self, path: str, line: int | None, last: int | None) -> bool:
        if line is None:
            return True
        self._reads_left -= 1
        if self._reads_left < 0:
            return True
        file = self._workspace.read(path)
        if isinstance(file, Absent):
            return file.why not in ("missing", "folder", "outside")
        return 1 <= line <= (last or line) <= file.line_count

    def _resolve_once(self, path: str, *, is_link: bool) -> tuple[Resolved, tuple[str, ...]]:
        key = path, is_link
        resolved = self._resolved.get(key)
        if resolved is None:
            resolved = self._resolved[key] = self._resolve(path, is_link=is_link)
        return resolved

    def _resolve(self, path: str, *, is_link: bool) -> tuple[Resolved, tuple[str, ...]]:
        below = self._workspace.normal(f"{self._folder}/{path}") if self._folder and not is_absolute(path) else None
        if is_link and below and self._is_there(below):
            return "relative", (below,)
        if self._is_there(path):
            return "written", (path,)
        if below and (self._is_there(below) or path.startswith("../")):
            return "relative", (below,)
        if is_link and below and (page := self._page(below)):
            return "relative", (page,)
        if _MENTION.match(path) and self._is_there(path[1:]):
            return "written", (path[1:],)
        alias = _ALIAS.match(path)
        matches = self._ending_with(path[alias.end() :]) if alias else []
        rest = self._without_root(path) if not matches else path
        if not matches and rest is not None and rest != path and self._is_there(rest):
            return "rooted", (rest,)
        matches = matches or (self._ending_with(rest.strip("/")) if rest is not None else [])
        if not matches:
            return "written", (path if rest is None else rest,)
        return ("end", (matches[0],)) if len(matches) == 1 else ("several", tuple(matches))

    def _page(self, path: str) -> str:
        """Return the Markdown file that a link without an ending leads to on the site of the documents."""
        return next((page for ending in (".md", ".mdx") if self._is_there(page := f"{path}{ending}")), "")

    def _ending_with(self, end: str) -> list[str]:
        """Return the files whose path ends with another one; `src/.../app.ts` omits folders in the middle."""
        index = self._workspace.index
        if self._names:
            index.prepare(self._names)
            self._names = set()
        if omitted := _OMITTED.fullmatch(end):
            start, tail = omitted.groups()
            return [path for path in index.ending_with(tail) if f"/{start}/" in f"/{path}"]
        return index.ending_with(end)

    def _is_there(self, path: str) -> bool:
        file = self._workspace.read(path)
        return isinstance(file, SourceFile) or file.why not in ("missing", "outside")

    def _without_root(self, path: str) -> str | None:
        """Return a path without the root of another machine; None if it leads outside."""
        if _ELLIPSIS.match(path):
            path = _ELLIPSIS.sub("", path, count=1)
        if _MENTION.match(path) and not self._ending_with(path):
            path = path[1:]
        if not is_absolute(path):
            return self._workspace.normal(path)
        for root in self._roots:
            is_home = path.startswith("~") and path.startswith(f"{root}/")
            rest = self._workspace.normal(path[len(root) + 1 :]) if is_home else normalize_path(path, root)
            if rest:
                return rest
        rest = path.lstrip("/")
        is_own = path.startswith("/") and bool(rest) and self._starts_in_checkout(rest)
        return self._workspace.normal(rest) if is_own else None

    def _starts_in_checkout(self, rest: str) -> bool:
        """Return whether the first part of a path is a folder of the checkout, or the only part is one of its files.

        A path like `/etc/passwd` is one of the machine unless the checkout has exactly this file. Another path may also
        be the end of a file's path.
        """
        first, slash, _ = rest.partition("/")
        if first in SYSTEM_FOLDERS:
            return self._workspace.exists(rest)
        if (slash or has_known_ending(rest)) and self._ending_with(rest):
            return True
        folder = self._workspace.read(first)
        return isinstance(folder, Absent) and folder.why == "folder" if slash else self._workspace.exists(first)


def _is_in_range(facts: Facts, claim: Claim) -> bool:
    if claim.line is None or facts.line_count is None:
        return True
    return 1 <= claim.line <= (claim.end_line or claim.line) <= facts.line_count


def other_code_base(claims: Sequence[tuple[Claim, Facts]], workspace: Workspace) -> str:
    """Return the first folder of most references if it is not in the checkout: they are about another code base."""
    missing = [claim for claim, facts in claims if facts.state == "missing" and "/" in claim.path.strip("/")]
    roots = Counter(claim.path.strip("/").partition("/")[0] for claim in missing)
    if not roots:
        return ""
    root, count = max(roots.items(), key=lambda entry: (entry[1], entry[0]))
    is_most = count > len(claims) // 2 and count >= 2 * _MIN_ROOTED
    return root if is_most and root not in workspace.index.folder_names else ""


def _shared_roots(paths: Iterable[str], workspace: Workspace) -> tuple[str, ...]:
    """Return the folders of other machines under which the rest of a path exists, the most frequent first."""
    votes: Counter[str] = Counter()
    # The checkout may have another layout: then the rest of several paths is the end of one file's path.
    ends: Counter[str] = Counter()
    for path in dict.fromkeys(paths):
        if workspace.normal(path) is None:
            votes.update(_root_of(path, workspace))
            ends.update(_root_by_end(path, workspace))
    if not votes:
        votes.update({folder: count for folder, count in ends.items() if count >= _MIN_ROOTED})
    return tuple(sorted(votes, key=lambda root: -votes[root])[:_MAX_ROOTS])


def _root_of(path: str, workspace: Workspace) -> Iterator[str]:
    """Yield the shortest folder under which the rest of a path is a file of the checkout and not in its root."""
    parts = path.split("/")
    # A file in the root of another machine's checkout has the checkout's name before it.
    is_named = len(parts) > 2 and parts[-2] == workspace.folder.replace("\\", "/").rpartition("/")[2]
    for cut in range(1, len(parts) - (not is_named)):
        rest = "/".join(parts[cut:])
        if rest and parts[cut] and workspace.exists(rest):
            if root := "/".join(parts[:cut]):  # a leading slash alone is not the root of another machine's checkout
                yield root
            return


def _root_by_end(path: str, workspace: Workspace) -> Iterator[str]:
    """Yield the shortest folder under which the rest of a path, a folder and a name, is the end of one file's."""
    parts = path.split("/")[: _MAX_DEPTH + 1]
    if any(workspace.exists("/".join(parts[cut:])) for cut in range(1, len(parts) - 1)):
        return
    for cut in range(2, len(parts) - 1):
        if parts[cut] and len(workspace.index.ending_with("/".join(parts[cut:]))) == 1:
            yield "/".join(parts[:cut])
            return


#: Misspelt names are compared with all names of the tree, at most this often; then only equal names are suggested.
MAX_GUESSES = 50
#: Paths with the same name are compared at most this often; then the first one is suggested.
MAX_COMPARISONS = 1_000_000
_NEAR_NAME = 85
#: A shorter name is the end of too many others.
_MIN_END = 6
_FOLDER_FILES = ("__init__.py", "index.ts", "index.tsx", "index.js", "mod.rs", "main.py", "README.md")
#: Names that nearly every folder may have.
_MAIN_NAMES = frozenset(name.partition(".")[0] for name in _FOLDER_FILES)
#: A name is compared with at most this many files of its folder.
_MAX_BESIDE = 2_000


class SuggestionFinder:
    """Suggests a path for one that does not exist. Each path is looked up once, within limits."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._suggestions: dict[str, str | None] = {}
        self._guesses_left = MAX_GUESSES
        self._comparisons_left = MAX_COMPARISONS

    def suggest(self, path: str) -> str | None:
        """Return the most likely path for one that does not exist, or None."""
        if path not in self._suggestions:
            self._suggestions[path] = self._find(path)
        return self._suggestions[path]

    def _find(self, path: str) -> str | None:
        names = self._workspace.index.by_folded_name
        same = names.get(folded_name(path), [])
        named = self._closest(same, path) if same else None
        if named is not None and ("/" not in path or _common_tail(named, path) > 1):
            return named
        return (
            self._beside(path)
            or (named if named is not None and _is_plausible(named, path, is_only=len(same) == 1) else None)
            or self._file_in_folder(path.rstrip("/") + "/")
            or self._similar(path, names)
        )

    def _beside(self, path: str) -> str | None:
        """Return the file in the folder of a path whose name is most similar to its name."""
        folder, slash, name = path.rpartition("/")
        if not slash or self._guesses_left <= 0:
            return None
        self._guesses_left -= 1
        paths = self._workspace.index.paths
        first = bisect_left(paths, f"{folder}/")
        inside = takewhile(lambda other: other.startswith(f"{folder}/"), islice(paths, first, first + _MAX_BESIDE))
        files = {other[len(folder) + 1 :]: other for other in inside if "/" not in other[len(folder) + 1 :]}
        near = _nearest(name, files.keys())
        return files[near] if near is not None else None

    def _closest(self, paths: list[str], path: str) -> str:
        self._comparisons_left -= len(paths)
        if self._comparisons_left < 0:
            return paths[0]
        wanted = path.lower().split("/")
        return max(paths, key=lambda other: (_common_tail(other, path), _in_order(wanted, other), -len(other), other))

    def _file_in_folder(self, folder: str) -> str | None:
        """Return the main file of a folder, else its first file."""
        paths = self._workspace.index.paths
        main = next((folder + name for name in _FOLDER_FILES if _is_in(folder + name, paths)), None)
        first = bisect_left(paths, folder)
        return main or (paths[first] if first < len(paths) and paths[first].startswith(folder) else None)

    def _similar(self, path: str, names: dict[str, list[str]]) -> str | None:
        if self._guesses_left <= 0:
            return None
        self._guesses_left -= 1
        wanted = folded_name(path)
        name = _nearest(wanted, names.keys()) or _ending(names, wanted)
        if not name:
            return None
        folder, slash, _ = path.rpartition("/")
        found = self._closest(names[name], f"{folder}{slash}{name}")
        return found if _is_plausible(found, path, is_only=False) else None


def _nearest(wanted: str, names: Iterable[str]) -> str | None:
    """Return the name that is most similar to another one, if it is similar enough."""
    from rapidfuzz import fuzz, process  # late: most documents name no file that is missing

    near = process.extractOne(wanted, names, scorer=fuzz.ratio, score_cutoff=_NEAR_NAME)
    return near[0] if near is not None else None


def _is_plausible(found: str, path: str, *, is_only: bool) -> bool:
    """Return whether a file can be meant: it shares a folder with the path, or it alone has a telling name."""
    folders = path.lower().strip("/").split("/")[:-1]
    is_shared = not folders or not set(folders).isdisjoint(found.lower().split("/")[:-1])
    return is_shared or (is_only and found.rpartition("/")[2].partition(".")[0] not in _MAIN_NAMES)


def _ending(names: Iterable[str], wanted: str) -> str | None:
    """Return the only name that ends with another one after a mark: `view.py` is the end of `login_view.py`."""
    ends = tuple(f"{mark}{wanted}" for mark in "_-+.")
    matching = [name for name in names if name.endswith(ends)] if len(wanted) >= _MIN_END else []
    return matching[0] if len(matching) == 1 else None


def _is_in(path: str, paths: list[str]) -> bool:
    index = bisect_left(paths, path)
    return index < len(paths) and paths[index] == path


def _common_tail(path: str, other: str) -> int:
    """Return the number of last parts that two paths share, ignoring case."""
    count = 0
    for a, b in zip(reversed(path.lower().split("/")), reversed(other.lower().split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count


def _in_order(wanted: list[str], path: str) -> int:
    """Return how many parts of a path occur in another one, in their order, from the end."""
    count = 0
    for part in reversed(path.lower().split("/")):
        count += count < len(wanted) and part == wanted[-1 - count]
    return count
