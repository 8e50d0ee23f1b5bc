"""Find the file of lines that the text cites without one: of several files, the one that has the line and its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from remit.evidence.line_owners import SOURCES
from remit.evidence.model import Reference
from remit.evidence.path_resolution import MAX_SHOWN, PathResolver
from remit.evidence.reference_lookup import DOUBTFUL, UNNAMED, look_up
from remit.evidence.suggestions import SuggestionFinder
from remit.evidence.symbols import SymbolFinder, defines, occurs_near
from remit.workspace.files import SourceFile, Workspace

#: Lines that their file lacks are looked up in other files at most this often.
MAX_OTHER_FILES = 20_000
#: Entries of a list that are at most this many lines apart are about the same file.
NEAR_GUESS = 6


def settle_carried(
    references: list[Reference], workspace: Workspace, resolver: PathResolver, symbols: SymbolFinder
) -> None:
    """Look up lines that their file does not have in the other files that the text names around them."""
    suggestions = SuggestionFinder(workspace)

    left = iter(range(MAX_OTHER_FILES))

    def in_file(reference: Reference, path: str) -> Reference | None:
        if next(left, None) is None:
            return None
        found = resolver.resolve(path)
        one = replace(reference, path=found.path, target=found.target, candidates=(), found=None, why="")
        file = workspace.read(one.file)
        if not isinstance(file, SourceFile) or not _is_about(reference, file):
            return None
        look_up(one, workspace, suggestions, symbols, frozenset())
        return one if one.outcome in ("verified", "abbreviated") and not found.candidates else None

    _settle_guesses([one for one in references if one.carried == "loose" and one.listed], in_file)
    for reference in references:
        if reference.listed and (reference.carried == "loose" or _settle_listed(reference, in_file)):
            continue
        for has_name, settle in (
            (reference.carried and reference.named, _settle_named),
            (reference.called, _settle_called),
            (reference.about, _settle_about),
        ):
            if has_name and reference.outcome in ("verified", "abbreviated"):
                settle(reference, workspace, in_file)
        if not reference.carried or reference.outcome not in ("out-of-range", "mismatch", "outside", "missing-file"):
            continue
        if other := next(filter(None, (in_file(reference, path) for path in reference.others)), None):
            _take(reference, other)
        elif reference.outcome == "missing-file" and not any(in_file(reference, path) for path in reference.further):
            continue  # a file that does not exist has no line, unless the text names another file around it
        elif (
            reference.is_doubtful
            or reference.outcome in ("outside", "missing-file")
            or len(reference.candidates) > 1  # none of them has the line
            or _is_about_other_file(reference, workspace)
            or any(_may_be_in(reference, paths, workspace) for paths in _files_called(reference.words, workspace))
            or (reference.carried == "bare" and reference.outcome == "mismatch")
            or any(in_file(reference, path) for path in reference.further)
            or any(_may_be_in(reference, resolver.resolve(path).candidates, workspace) for path in reference.others)
        ):
            reference.outcome, reference.found, reference.why = "unchecked", None, DOUBTFUL


def _settle_listed(reference: Reference, in_file: Callable[[Reference, str], Reference | None]) -> bool:
    """Find the file of a line below a list of files: the only one that has it. Return False if none has it."""
    paths = dict.fromkeys((reference.path, *reference.listed))
    found = [one for path in paths if (one := in_file(reference, path)) is not None]
    if len(found) == 1:
        _take(reference, found[0])
    elif found and reference.is_far:
        reference.outcome, reference.found, reference.why = "unchecked", None, UNNAMED
    elif found:
        reference.candidates, reference.target = tuple(one.file for one in found)[:MAX_SHOWN], ""
        reference.outcome, reference.found = "ambiguous", None
        reference.why = f"the text names several files for this line: {', '.join(reference.candidates)}"
    return bool(found)


def _settle_guesses(guesses: list[Reference], in_file: Callable[[Reference, str], Reference | None]) -> None:
    """Find the files of lines that no section has a file for: the only one that has the name which the line is about.

    A line about no name belongs to the file of the lines next to it.
    """
    settled: dict[int, str] = {}
    for one in sorted(guesses, key=lambda one: not one.named):
        near = {settled[at] for at in range(one.at - NEAR_GUESS, one.at + NEAR_GUESS + 1) if at in settled}
        paths = one.listed if one.named else near if len(near) == 1 else ()
        found = [other for path in paths if (other := in_file(one, path)) is not None]
        if len(found) == 1:
            _take(one, found[0])
            settled[one.at] = one.file
        else:
            one.outcome, one.found, one.why = "unchecked", None, UNNAMED


def _take(reference: Reference, other: Reference) -> None:
    """Let a line belong to another file."""
    reference.path, reference.target, reference.candidates = other.path, other.target, ()
    reference.outcome, reference.found, reference.why = other.outcome, other.found, ""


def _settle_named(
    reference: Reference, workspace: Workspace, in_file: Callable[[Reference, str], Reference | None]
) -> None:
    """Take the other named file that has the name which a line is about near the line, if its own file does not."""
    file = workspace.read(reference.file)
    if not isinstance(file, SourceFile) or _is_about(reference, file):
        return
    if other := next(filter(None, (in_file(reference, path) for path in reference.others)), None):
        _take(reference, other)
    elif reference.is_far and reference.named not in file.text:
        reference.outcome, reference.found, reference.why = "unchecked", None, UNNAMED


def _settle_called(
    reference: Reference, workspace: Workspace, in_file: Callable[[Reference, str], Reference | None]
) -> None:
    """Take the only other file with the name directly before a line, if its own file does not have it near the line."""
    file = workspace.read(reference.file)
    if not isinstance(file, SourceFile):
        return
    # A range shows what has the name: a file that another sentence names may only use it.
    is_beside = reference.carried in ("near", "start") or reference.end_line is None or defines(file, reference.called)
    if is_beside and _is_about(replace(reference, named=reference.called), file):
        return
    paths = [path for found in _files_called((reference.called,), workspace) for path in found]
    if len(paths) == 1 and paths[0] != reference.file:
        if other := in_file(replace(reference, named="", about=()), paths[0]):
            _take(reference, other)
        else:
            reference.outcome, reference.found, reference.why = "unchecked", None, DOUBTFUL


def _settle_about(
    reference: Reference, workspace: Workspace, in_file: Callable[[Reference, str], Reference | None]
) -> None:
    """Leave a line unchecked if the words before it are about names that its file lacks, and no file around it has."""
    file = workspace.read(reference.file)
    if not isinstance(file, SourceFile) or any(name in file.text for name in reference.about):
        return
    line = replace(reference, named="")
    for other in filter(None, (in_file(line, path) for path in reference.others)):
        text = workspace.read(other.file)
        if isinstance(text, SourceFile) and any(name in text.text for name in reference.about):
            _take(reference, other)
            return
    reference.outcome, reference.found, reference.why = "unchecked", None, DOUBTFUL


def _files_called(words: tuple[str, ...], workspace: Workspace) -> Iterator[tuple[str, ...]]:
    """Yield the files with these names, without the ending: `ReadingList calls it (line 304)`."""
    for word in words:
        for ending in (*SOURCES, ".js", ".mjs", ".go"):
            if paths := workspace.index.ending_with(word + ending):
                yield tuple(paths)


def _may_be_in(reference: Reference, candidates: tuple[str, ...], workspace: Workspace) -> bool:
    """Return whether one of several files that end with a path has the line of a reference."""
    files = (workspace.read(path) for path in candidates[:MAX_SHOWN])
    last = reference.end_line or reference.line or 0
    return any(isinstance(file, SourceFile) and last <= file.line_count for file in files)


def _is_about(reference: Reference, file: SourceFile) -> bool:
    """Return whether a file has the name that a line is about near the line."""
    return not reference.named or occurs_near(file, reference.named, reference.line, reference.end_line)


def _is_about_other_file(reference: Reference, workspace: Workspace) -> bool:
    """Return whether a line is about a name that its file does not contain."""
    file = workspace.read(reference.file)
    return bool(reference.named) and isinstance(file, SourceFile) and reference.named not in file.text
