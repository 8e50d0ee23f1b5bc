"""Leave out references that say nothing about the checkout: another code base, alternatives of a path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from remit.contract.parse import Document
from remit.evidence.file_names import LANGUAGES
from remit.evidence.heading_tree import HeadingTree
from remit.evidence.model import Reference
from remit.evidence.path_resolution import MIN_ROOTED, is_there
from remit.lazy import lazy_pattern
from remit.workspace.files import Workspace
from remit.workspace.manifests import plain_name, project_names
from remit.workspace.paths import is_absolute

#: Fewer references than this are reported one by one.
MIN_OTHER_CODE = 5
#: The references that must be lost if nearly all of them are.
MIN_ALL_LOST = 10
#: The outcomes of references that have no file here.
NOT_HERE = frozenset({"missing-file", "outside", "unchecked", "planned"})
#: A text often names the same files again: the answers for this many paths are kept.
_MEMORY = 2_048
#: At most this many folders of a path outside are compared.
_MAX_PARTS = 30
#: A text with this many files in another language may be about another code base.
_MIN_STRANGERS = 2
DESCRIBED = "a table of this plan states what it is for, and nothing states that it exists: taken for a new file"
OTHER_TYPE = "the checkout has no file of this type; it may be a file of another code base"
_NO_TRACE = "nothing in the checkout has this name or these folders; it may be a file of another code base"
_NO_LINE = "the text cites no line of this file, and it is not here; it may be one that is to be written"
#: Folders of a machine in which a checkout is not expected, and settings in a home folder.
_MACHINE = lazy_pattern(r"/(?:etc|proc|sys|dev|run|boot|tmp|var/log)/|~/\.[\w-]+/")
_DOTS = lazy_pattern(r"/\.{2,}/")
_OF_MACHINE = "it is a path of a machine, outside the checkout"
_CODE = frozenset().union(*LANGUAGES)
#: Folders of installed packages.
_INSTALLED = frozenset(("node_modules", "site-packages", "dist-packages"))


def without_alternatives(references: list[Reference]) -> list[Reference]:
    """Leave out the files of `a.{h,mm}:12` that do not have the line, if another one of them has it."""
    holding = {_written_at(one) for one in references if one.outcome in ("verified", "abbreviated")}
    return [
        one
        for one in references
        if one.outcome not in ("out-of-range", "missing-file") or "{" not in one.text or _written_at(one) not in holding
    ]


def _written_at(reference: Reference) -> tuple[int, str, int | None, int | None]:
    return reference.at, reference.text, reference.line, reference.end_line


def excuse_unknown_files(references: list[Reference], workspace: Workspace) -> None:
    """Leave missing files unchecked of which the checkout has no trace: they may be files of another code base.

    Each of them is reported once. A name without a folder that is similar to one here is a wrong name.
    """
    missing = {one.path for one in references if one.outcome == "missing-file"}
    if not missing:
        return
    project = project_names(workspace)
    unknown = {path for path in missing if not has_trace(path, workspace, project)}
    # A name of a file in another language: `types.rs` in a text on `engine.rs` and `store.rs`, if `types.go` is here.
    foreign = {one.path for one in references if one.why == OTHER_TYPE}
    strangers = Counter(path.rpartition(".")[2] for path in unknown | foreign)
    foreign_names = {
        path
        for path in missing
        if "/" not in path and strangers[ending := path.rpartition(".")[2]] >= _MIN_STRANGERS
        if is_other_language(ending, workspace)
    }
    reported: set[str] = set()
    for one in references:
        is_unknown = one.path in foreign_names or (one.path in unknown and ("/" in one.path or one.found is None))
        if one.outcome == "missing-file" and is_unknown:
            _leave_unchecked(one, _NO_TRACE, reported)


def excuse_unlined_files(references: list[Reference], document: Document) -> None:
    """Leave missing files without a line unchecked in a plan, and elsewhere if no similar file is here.

    Such a file may be one that is to be written, or an output. Each of them is reported once.
    """
    missing = [one for one in references if one.outcome == "missing-file" and one.line is None]
    if not missing:
        return
    kind = HeadingTree(document).kind
    is_plan = kind.is_plan or kind.plans_work or kind.describes_work
    reported: set[str] = set()
    for one in missing:
        if is_plan or one.found is None:
            _leave_unchecked(one, _NO_LINE, reported)


def _leave_unchecked(reference: Reference, why: str, reported: set[str]) -> None:
    """Leave a missing file unchecked; `reported` are the files that were reported before."""
    reference.outcome, reference.found, reference.why = "unchecked", None, why
    reference.is_silent = reference.path in reported
    reported.add(reference.path)


def is_other_language(ending: str, workspace: Workspace) -> bool:
    """Return whether an ending is one of code, and the checkout has none in this language, nor in a related one."""
    endings = workspace.index.endings
    return bool(endings) and any(ending.lower() in one and one.isdisjoint(endings) for one in LANGUAGES)


def excuse_machine_paths(references: list[Reference], workspace: Workspace) -> None:
    """Leave paths of a machine unchecked, such as `/etc/nginx/nginx.conf:12`; not those that may be of a checkout."""
    if not any(one.outcome == "outside" for one in references):
        return
    own = workspace.folder.replace("\\", "/").rpartition("/")[2]
    known = {plain_name(name) for name in (own, *workspace.index.folder_names)} | project_names(workspace)
    for one in references:
        if one.outcome == "outside" and _MACHINE.match(one.path) and not _DOTS.search(one.path):
            *folders, name = one.path.rstrip("/").split("/")[1:]
            ending = name.rpartition(".")[2].lower()
            is_own = not known.isdisjoint(map(plain_name, folders)) or bool(workspace.index.ending_with(name))
            if not is_own and not any(ending in group for group in LANGUAGES):
                one.outcome, one.why = "unchecked", _OF_MACHINE


def has_trace(path: str, workspace: Workspace, project: frozenset[str]) -> bool:
    """Return whether the checkout has the first folder of a path, all of them by name, or a file with its name.

    The name of the project before a path also is a trace.
    """
    *folders, name = path.split("/")
    if folders and folders[0] in ("@", "~", "#", "$lib"):
        folders = folders[1:]
    if folders and plain_name(folders[0]) in project:
        return True
    if folders and (is_there(folders[0], workspace) or workspace.index.folder_names.issuperset(folders)):
        return True
    return (name.rpartition(".")[0] or name) in workspace.index.stems


def excuse_named_outside(references: list[Reference], *, is_result: bool = False) -> None:
    """Leave paths unchecked that the text also cites in full as files outside, or in an installed package.

    A result has to write paths in installed packages in full.
    """
    outside = dict.fromkeys(one.path for one in references if one.outcome == "outside" and one.line is not None)
    lost = [] if is_result else [one.path for one in references if one.outcome in NOT_HERE]
    installed = dict.fromkeys(filter(_is_installed, lost))
    ends = {path[at:]: path for path in (*outside, *installed) for at in list(part_starts(path))[-_MAX_PARTS:]}
    for one in references if ends else ():
        full = ends.get(one.path, "")
        is_code = not is_result and one.path.rpartition(".")[2].lower() in _CODE
        is_told = bool(full) and full != one.path and ("/" in one.path or full in installed or is_code)
        if one.outcome == "missing-file" and is_told:
            one.outcome, one.found = "unchecked", None
            place = "in an installed package" if full in installed else "outside the checkout"
            one.why = f"the text cites it in full as {full}, which is {place}"


def _is_installed(path: str) -> bool:
    return not _INSTALLED.isdisjoint(path.split("/"))


def part_starts(path: str) -> Iterator[int]:
    """Yield the positions in a path at which one of its parts begins."""
    yield 0
    yield from (at + 1 for at, character in enumerate(path) if character == "/")


def join_other_code(references: list[Reference], workspace: Workspace, *, is_result: bool = False) -> None:
    """Report references to another code base once: most of them do not exist and share a folder that is not here.

    The references of a result must share a folder: an agent may invent any number of names. Of another text, fewer are
    enough if none of its references has a file here, and its files may have no folder.
    """
    lost = [one for one in references if one.outcome in ("missing-file", "outside")]
    is_none_here = not is_result and all(one.outcome in NOT_HERE for one in references)
    has_names = len({one.path for one in lost}) >= MIN_OTHER_CODE and not any(one.found for one in lost)
    if len(lost) < MIN_OTHER_CODE or 2 * len(lost) <= len(references):
        return
    counted = Counter(_first_folder(one.path) for one in lost).most_common()
    root, count = next((one for one in counted if one[0] and not is_there(one[0], workspace)), ("", 0))
    # A name without a folder may be short for a path below the same root.
    same = [one for one in lost if (_first_folder(one.path) or (root if count >= MIN_ROOTED else "")) == root != ""]
    why = f"there is no {root}/ here"
    if len(same) < MIN_OTHER_CODE or 2 * len(same) <= len(references):
        same, why = _without_folder(lost, workspace), "almost none of these files exists here"
        # If none of them names a folder, the files may have been renamed or invented: more of them must be lost.
        has_folder = any("/" in one.path for one in same)
        least, parts = (MIN_ALL_LOST, (4, 5)) if has_folder else (2 * MIN_ALL_LOST, (9, 10))
        if is_none_here and (has_folder or has_names):
            least, why = MIN_OTHER_CODE, "none of these files exists here"
        is_invented = is_result and not has_folder
        if is_invented or len(same) < least or parts[1] * len(same) < parts[0] * len(references):
            return
    first, *others = same
    first.why, first.found = f"these {len(same)} references point to another code base: {why}", None
    for one in others:
        one.outcome, one.found, one.is_silent = "unchecked", None, True
        one.why = f"it points to another code base, as the reference in line {first.at} does"
    if not is_result:
        _join_names(references, same, workspace)


def _join_names(references: list[Reference], same: list[Reference], workspace: Workspace) -> None:
    """Leave names unchecked that do not hold and are short for paths of the other code base.

    The name of a file in the root is a whole path. A text that cites other paths of the checkout is about both.
    """
    if sum("/" in one.path and one.outcome not in NOT_HERE for one in references) >= MIN_ROOTED:
        return
    cited = {one.path for one in references if one.outcome not in NOT_HERE}
    names = {one.path.rpartition("/")[2] for one in same if "/" in one.path}
    for one in references:
        is_cited = workspace.exists(one.path) or one.target in cited
        if one.outcome == "out-of-range" and one.path in names and not is_cited:
            one.outcome, one.found, one.found_end, one.is_silent = "unchecked", None, None, True
            one.why = f"it may be a file of the other code base that line {same[0].at} names"


def _without_folder(lost: list[Reference], workspace: Workspace) -> list[Reference]:
    """Return the references that name a folder that is not in the checkout, or no folder."""
    folders = {one.path: one.path.rpartition("/")[0] for one in lost}
    return [one for one in lost if not folders[one.path] or not is_there(folders[one.path], workspace)]


@lru_cache(_MEMORY)
def _first_folder(path: str) -> str:
    """Return the folder that a path starts with; of an absolute path, the first three folders."""
    parts = path.split("/")
    return "/".join(parts[: min(4 if is_absolute(path) else 1, len(parts) - 1)])
