"""Code bases besides the checkout that a text names: submodules that are not checked out, and other projects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from remit.contract.fences import read_fences
from remit.contract.parse import Document
from remit.evidence.heading_tree import HEADING
from remit.evidence.model import Reference
from remit.evidence.other_code import NOT_HERE, part_starts
from remit.evidence.path_resolution import MIN_ROOTED, is_there
from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.manifests import PLAIN_NAMES, plain_name, project_names
from remit.workspace.paths import is_absolute

#: A shorter part of the name of a submodule is often a common word.
_MIN_NAME = 6
#: A name in a text, not the folder of a path with a file: `lib/mesh/`, `mesh`.
_NAME = lazy_pattern(r"(?<![\w.-])([A-Za-z][\w-]{3,80})/?(?![\w./-])")
#: At most this many lines above a reference are searched for the name of its submodule.
_NEAR = 12
_MAX_LINE = 2_000
_SUBMODULE = lazy_pattern(r"(?m)^\s*path\s*=\s*(\S.{0,400}?)\s*$")
#: A folder outside the checkout, and the folders below it: `/home/ann/code/mesh-api`, `../mesh-api/docs`.
_ROOT = lazy_pattern(
    r"(?<![\w/\\.~-])(?:~|/(?:home|Users)/[\w.-]{1,40}|[A-Za-z]:|\.\.)[/\\]((?:[\w@+.-]{1,60}[/\\]){0,12}[\w@+-]{1,60})(?![\w.]*\w)"
)
#: A line that states the folder of this checkout: `**Repository:** /home/ann/code/shop`, `Run cd ~/shop`.
_OWN_FOLDER = lazy_pattern(
    r"[\s>*_|-]*+(?:\w{1,20}\s)?(?:repo(?:sitory)?|projects?|root|paths?|directory|folder|location|workspace|code\s?base|"
    r"checkout|cwd|branch|仓库|项目|路径|目录|リポジトリ|저장소|経路)\b[^:：\n]{0,30}[:：|]|[^\n]{0,200}\bcd\s",
    re.IGNORECASE,
)
#: A name that is not a common word: `mesh-api`, `mesh2api`, `MeshApi`.
_DISTINCT = lazy_pattern(r"[a-zA-Z][\w-]*(?:[-_\d]|[a-z][A-Z])[\w-]*")
#: A package with its version: `mesh_io-2.0.1`.
_RELEASED = lazy_pattern(r"(?<![\w/.-])(([A-Za-z][\w-]{2,60})-\d{1,4}\.\d{1,6}\.\d{1,6})(?![\w.-]*\w)")
#: Words after the name of a project that call the file one of this checkout; `in our pub cache` does not.
_OURS = lazy_pattern(r"\b(?:our(?!\s(?:\w{1,20}\s)?cache)|ours|own|we)\b", re.IGNORECASE, ("our", "own", "we"))
_SENTENCE_ENDS = lazy_pattern(r"[.!?;]\s|[。！？；|]")
_STARTS = lazy_pattern(r"\s*(?:[-*+]\s|\d{1,3}[.)]\s|\||>)")
_MAX_NAMES = 50
#: At most this many characters before a path are searched for a name, and this many lines above an entry of a list.
_CLAUSE = 120
_MAX_LIST = 60


def excuse_submodules(
    references: list[Reference], workspace: Workspace, line_text: Callable[[int], str], *, is_result: bool
) -> None:
    """Leave references into submodules that are not checked out unchecked, and short forms of the same paths.

    That includes lines past the end of a name that ends such a path. In a text that is not a result, a submodule may be
    called without the prefix of its name, and a path that nothing here has may be one of a submodule that the lines
    above name.
    """
    lost = [one for one in references if one.outcome in ("missing-file", "outside", "out-of-range")]
    listed = workspace.read(".gitmodules") if lost else None
    if not isinstance(listed, SourceFile):
        return
    paths = dict.fromkeys(path.strip("/") for path in _SUBMODULE.findall(listed.text))
    modules = _Submodules(list(filter(workspace.is_empty_folder, paths)), workspace, line_text, is_result=is_result)
    inside = {one.path: folder for one in lost if (folder := modules.folder_of(one.path))}
    ends = {path[at:]: folder for path, folder in inside.items() for at in part_starts(path)}
    endings = _endings_of(inside)
    cited = {one.path for one in references if one.outcome not in NOT_HERE}
    named: set[str] = set()
    for one in lost:
        folder, guessed = ends.get(one.path, ""), ""
        is_whole = "/" in one.path or workspace.exists(one.path) or one.target in cited
        if one.outcome == "out-of-range" and (is_whole or is_result):
            continue
        if one.outcome == "missing-file" and not folder:
            first, slash, _ = one.path.partition("/")
            guessed = "" if slash else endings.get(one.path.rpartition(".")[2], "")
            if not guessed and not (slash and is_there(first, workspace)):
                guessed = modules.named_above(one.at)
        if folder or guessed:
            one.outcome, one.found, one.found_end, one.is_silent = "unchecked", None, None, folder in named
            named.add(folder)
            verb = "is" if folder else "may be"
            one.why = f"it {verb} in the submodule {folder or guessed}, which is not checked out"


class _Submodules:
    """The submodules that are not checked out."""

    def __init__(
        self, folders: list[str], workspace: Workspace, line_text: Callable[[int], str], *, is_result: bool
    ) -> None:
        self._folders = frozenset(folders)
        self._line_text = line_text
        plain = PLAIN_NAMES | workspace.index.folder_names
        last = {} if is_result else {folder.rpartition("/")[2]: folder for folder in folders}
        #: The folders by their last name, if it is not a common one or that of a folder here; not in a result.
        self._names = {name: folder for name, folder in last.items() if name not in plain}
        short = {name.partition("-")[2]: folder for name, folder in self._names.items()}
        #: The same by the part of the name after a prefix: `decision` for `shop-decision`; not by a common name.
        self._short = {name: folder for name, folder in short.items() if len(name) >= _MIN_NAME and name not in plain}
        #: The submodule that each line names.
        self._named: dict[int, str] = {}

    def folder_of(self, path: str) -> str:
        """Return the submodule that a path leads into, or nothing."""
        if ".." in path:
            return ""
        above = [path[: at - 1] for at in part_starts(path) if at]
        if whole := next(filter(self._folders.__contains__, above), ""):
            return whole
        if is_absolute(path):
            return next((folder for folder in self._folders if f"/{folder}/" in path), "") if self._names else ""
        first = path.partition("/")[0] if "/" in path else ""
        return self._names.get(first, "") or self._short.get(first, "")

    def named_above(self, line: int) -> str:
        """Return a submodule that a line or one of those above it names as a word, and not only in a path."""
        return next(filter(None, map(self._named_in, range(line, max(0, line - _NEAR), -1))), "")

    def _named_in(self, line: int) -> str:
        if line not in self._named:
            text = self._line_text(line)[:_MAX_LINE]
            words = frozenset(_NAME.findall(text))
            named = (name for name in self._names if name in words and ("-" in name or f"`{name}" in text))
            self._named[line] = self._names.get(next(named, ""), "")
        return self._named[line]


def _endings_of(inside: dict[str, str]) -> dict[str, str]:
    """Map the endings of files that the text often names in a submodule to its folder: a name alone may be one."""
    counts = Counter((folder, path.rpartition(".")[2]) for path, folder in inside.items())
    return {ending: folder for (folder, ending), count in counts.items() if count >= MIN_ROOTED}


def excuse_named_projects(references: list[Reference], workspace: Workspace, document: Document) -> None:
    """Leave missing files unchecked that a document of the checkout calls files of another project.

    The clause before a path names the project, whose folder outside the checkout the text states, or a package with
    its version; or the line above the list names the folder.
    """
    lost = [one for one in references if one.outcome == "missing-file"]
    if not lost:
        return
    projects = _Projects(references, workspace, document)
    for one in lost:
        if name := projects.owner(one):
            one.outcome, one.found, one.found_end = "unchecked", None, None
            one.why = f"the text calls it a file of {name}, which is another code base"


def _prose(document: Document) -> Iterator[str]:
    """Yield the lines outside fences; a command or its output may name the folder of this checkout."""
    for _, lines in document.line_runs:
        end = 0
        for fence in read_fences(lines):
            yield from lines[end : fence.start]
            end = fence.end
        yield from lines[end:]


class _Projects:
    """The projects besides that of the checkout which a text names."""

    def __init__(self, references: list[Reference], workspace: Workspace, document: Document) -> None:
        self._line_text = document.line_text
        text = "\n".join(_prose(document))
        folder = workspace.folder.replace("\\", "/").rpartition("/")[2]
        folders = (*workspace.index.folder_names, folder)
        own = project_names(workspace) | {plain_name(name) for name in folders}
        self._common = own | PLAIN_NAMES
        roots = [root for line in text.split("\n") if not _OWN_FOLDER.match(line) for root in _ROOT.findall(line)]
        outside = [part for root in roots for part in re.split(r"[/\\]", root)]
        released = [package for package, name in _RELEASED.findall(text) if plain_name(name) not in own]
        found = dict.fromkeys((*released, *filter(self._may_be_other, outside)))
        self._names = list(found)[:_MAX_NAMES]
        self._pattern = self._pattern_of(self._names)
        # A project of which at least as many files are here as missing is this one.
        found_here = [one for one in references if one.outcome not in NOT_HERE] if self._names else []
        lost = [one for one in references if one.outcome == "missing-file"] if self._names else []
        here, gone = (Counter(map(self.owner, some)) for some in (found_here, lost))
        written = "\n".join(one.text for one in found_here)
        self._names = [name for name in self._names if here[name] < gone[name] and name not in written]
        self._pattern = self._pattern_of(self._names)

    @staticmethod
    def _pattern_of(names: list[str]) -> re.Pattern[str]:
        """Return a pattern for some names; a common word must be marked as a name where it is used."""
        escaped = ((one, re.escape(one)) for one in names)
        forms = (form if _DISTINCT.fullmatch(one) else rf"(?<=[`*]){form}(?=[`*])" for one, form in escaped)
        either = "|".join(forms) or r"(?!)"
        return re.compile(rf"(?<![\w/.-])(?:{either})(?![\w-]|[./]\w)")

    def _may_be_other(self, name: str) -> bool:
        """Return whether a folder outside may be that of another project."""
        if len(name) < _MIN_NAME or "." in name or plain_name(name) in self._common:
            return False
        return name.islower() or _DISTINCT.fullmatch(name) is not None

    def owner(self, reference: Reference) -> str:
        """Return the other project that the text calls the one of a file, or nothing."""
        clause = self._clause(reference)
        found = self._pattern.search(clause)
        if found and not _OURS.search(clause, found.end()):
            return found[0]
        return self._root_of_list(reference.at)

    def _clause(self, reference: Reference) -> str:
        """Return the words before a path in its sentence."""
        line = self._line_text(reference.at)[:_MAX_LINE]
        before = line[: max(0, line.find(reference.text))]
        above = self._line_text(reference.at - 1)[-_MAX_LINE:]
        if not _STARTS.match(line) and not HEADING.match(above):
            before = f"{above} {before}"
        ends = [found.end() for found in _SENTENCE_ENDS.finditer(before)]
        return before[ends[-1] if ends else 0 :][-_CLAUSE:]

    def _root_of_list(self, line: int) -> str:
        """Return the project whose folder the line above the list of a reference names, if it introduces the list."""
        for number in range(line - 1, max(0, line - _MAX_LIST), -1):
            text = self._line_text(number)[:_MAX_LINE]
            if text.strip() and not text[0].isspace() and not _STARTS.match(text):
                root = _ROOT.search(text) if text.rstrip(" *_").endswith((":", "：")) else None
                name = re.split(r"[/\\]", root[1])[-1] if root else ""
                return name if name in self._names else ""
        return ""
