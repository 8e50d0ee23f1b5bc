"""Find references in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import groupby, islice, takewhile
from operator import attrgetter, itemgetter

from msgspec.structs import replace

from remit.evidence.carried_lines import LineCarrier
from remit.evidence.file_names import (
    Exists,
    has_known_ending,
    has_odd_name,
    is_placeholder,
    is_usual_name,
    looks_like_route,
)
from remit.evidence.file_scopes import with_lists
from remit.evidence.grammar import never_exists, references_in
from remit.evidence.line_numbers import lines_alone
from remit.evidence.line_owners import CarriedLine, is_passing
from remit.evidence.line_ranges import is_in_string
from remit.evidence.model import Location, Reference, format_location
from remit.evidence.path_resolution import is_system_path
from remit.evidence.planned import (
    asks_for_file,
    creates_file,
    creates_thing,
    deletes_file,
    follows_new_label,
    is_called_absent,
    is_new,
    makes_file,
    may_call_absent,
    may_make_files,
    moved_to,
)
from remit.evidence.removals import gone_places, may_state_gone, quoted_places, states_gone
from remit.evidence.segments import Segment, is_proposal
from remit.evidence.symbols import (
    calls_with_location,
    is_plain_word,
    is_unmarked,
    may_be_remark,
    occurs_near,
    symbol_after,
    symbols_called,
)
from remit.evidence.written import WrittenReference, canonical_reference
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.paths import is_absolute, normalize_path

#: A text without one of these names no file: a dot before a letter, a slash, `Makefile`.
_NAMES_FILE = lazy_pattern(r"\.\w|[/\\]|file\b", re.IGNORECASE)
_ARROW = lazy_pattern(r"(?:→|⇒|->|=>)[\s`*_]{0,5}$")
#: Blocks whose files must exist.
_DONE = ("files_created", "files_modified", "files")
_MAX_CELLS = 40
#: A cell with more words than this, without its code, is a sentence.
_MAX_WORDS = 8
_CODE_SPAN = lazy_pattern(r"`[^`]*+`")
_OPENS = lazy_pattern("[(（]")
#: A name in code marks, and not a word: `open_store`, `openStore()`.
_CODE_NAME = lazy_pattern(r"`[^`\n]{0,100}(?:[(_.:]|[a-z][A-Z])[^`\n]{0,100}`")
_STARTS_WITH_CALL = lazy_pattern(r"[\s*_]*+`[^`\n]{1,200}\(\)`")
_GLOBS = ("`*", "/*")  # of `*_test.go`, src/*-view.ts
_IMPORT = lazy_pattern(r"\b(?:from|import|require|include|use)\s?\(?\s?['\"]$")
#: The characters around a reference that can make it an example.
_AROUND = 30


class DocumentFiles:
    """The files that the paths of one document name, and what its words can state about them.

    Each path is looked up once. The words of the whole document are searched once, so that no reference is tested for
    what none of them can state.
    """

    def __init__(self, workspace: Workspace | None, folded: str) -> None:
        """`folded` is the whole text of the document in lower case."""
        self.workspace = workspace
        # Without a checkout no file is looked up, so that none can be missing.
        self.may_be_made = workspace is not None and may_make_files(folded)
        self.may_be_gone = workspace is not None and may_state_gone(folded)
        self.exists: Exists = _known_files(workspace)
        self.shown: Callable[[str], str] = cache(lambda path: display_path(path, workspace))


def find_references(
    segment: Segment, files: DocumentFiles, carrier: LineCarrier, row: list[Segment]
) -> list[Reference]:
    """Return the references in one segment, not yet looked up; `row` are the segments of its table row."""
    if not segment.lines and (canonical := canonical_reference(segment.text)) is not None:
        carrier.cite((canonical,))
        return [_as_reference(canonical, segment, files, row)]
    written = _written_in(segment, files)
    carried: dict[WrittenReference, CarriedLine] = {}
    if lines := list(carrier.carried(segment, written, row)):
        carried = {one.written: one for one in lines}
        written = sorted([*written, *carried], key=attrgetter("start"))
    if not written:
        return []
    workspace = files.workspace
    creates = any(one.line is None for one in written) and _may_be_absent(segment, row)
    may_be_missing = may_call_absent(segment.text)
    is_quoted = quoted_places(segment.text)
    cells = [cell.text for cell in row[:_MAX_CELLS]]
    is_gone = gone_places(segment.text, cells) if files.may_be_gone else lambda start, end: False
    creates_in_plan = segment.is_location and not segment.block and any(map(creates_thing, cells))
    found = [
        Reference(
            text=one.text,
            path=files.shown(one.path),
            line=one.line,
            end_line=one.end_line,
            at=segment.line,
            row=segment.row,
            section=segment.section,
            block=segment.block,
            carried="bare" if one not in carried and is_passing(segment.text, one, written) else "",
            is_planned_in_plan=creates_in_plan,
            is_placeholder=is_placeholder(one.path, *_around(segment.text, one)) or is_quoted(one.start, one.end),
            is_planned=(one.line is None and (creates or _is_new(segment, one, workspace)))
            or (files.may_be_made and one.line is not None and makes_file(segment.text, one.start, one.end, cells))
            or (may_be_missing and is_called_absent(segment.text, one.start, one.end, has_line=one.line is not None)),
            is_past=is_gone(one.start, one.end) or (one.line is not None and _is_moved(segment.text, one, workspace)),
        )
        for one in written
    ]
    if carried:
        for own, reference in zip(written, found, strict=True):
            if (line := carried.get(own)) is not None:
                _set_carried(reference, line, files)
    spans = [(one.start, one.end) for one in written]
    for (start, end), group in groupby(zip(spans, found, strict=True), key=itemgetter(0)):
        listed = [reference for _, reference in group]
        _label_list(listed, is_in_column=bool(segment.lines))
        source = _source(listed[-1].path, workspace) if _OPENS.search(segment.text, end, end + 6) else None
        if symbol := symbol_after(segment.text, end, source, has_line=listed[-1].line is not None):
            _assign_symbols([symbol], listed[::-1], workspace)
            for one in listed:
                one.is_plain = is_plain_word(segment.text, end)
                one.is_unmarked = is_unmarked(segment.text, end)
                one.is_word = may_be_remark(segment.text, start, end, one.path)
    return found


def _written_in(segment: Segment, files: DocumentFiles) -> list[WrittenReference]:
    """Return the references of a segment that name their file."""
    workspace, exists = files.workspace, files.exists
    written = references_in(segment.text, exists, bare=segment.is_location)
    if not written:
        return []
    if segment.may_be_route:
        written = [one for one in written if not looks_like_route(one.path) or exists(one.path.lstrip("/"))]
    if segment.lines and len(written) == 1 and written[0].line is None:
        own = written[0]
        written = [replace(own, line=line, end_line=last) for line, last in lines_alone(segment.lines)] or written
    cited = min((one.end for one in written if one.line is not None), default=len(segment.text))
    # An absolute path after a line is a value: `config.yaml:11` has `/home/me/data`.
    written = [one for one in written if one.line is not None or one.start < cited or not is_absolute(one.path)]
    return [one for one in written if _names_file(segment, one, workspace, exists)]


def _source(path: str, workspace: Workspace | None) -> SourceFile | None:
    file = workspace.read(path) if workspace is not None else None
    return file if isinstance(file, SourceFile) else None


def _set_carried(reference: Reference, line: CarriedLine, files: DocumentFiles) -> None:
    """Set what is known about the file of a line that is named elsewhere."""
    reference.carried, reference.is_doubtful = line.place, line.is_doubtful
    reference.is_next, reference.is_shared = line.is_next, line.is_shared
    reference.is_titled = line.is_titled
    reference.others = tuple(map(files.shown, line.others))
    reference.further = tuple(map(files.shown, line.further))
    reference.listed = tuple(map(files.shown, line.listed))
    reference.words, reference.about, reference.named = line.words, line.about, line.name
    reference.called = line.called


def _as_reference(one: WrittenReference, segment: Segment, files: DocumentFiles, row: list[Segment]) -> Reference:
    """Return the reference of a segment that has nothing else, in the canonical form, which is also the shown path."""
    may_differ = files.may_be_made or files.may_be_gone
    cells = [cell.text for cell in row[:_MAX_CELLS]] if may_differ else []
    return Reference(
        text=one.text,
        path=one.path,
        line=one.line,
        end_line=one.end_line,
        at=segment.line,
        row=segment.row,
        section=segment.section,
        block=segment.block,
        label=one.text,
        is_placeholder=is_placeholder(one.path),
        is_planned=files.may_be_made and makes_file(segment.text, one.start, one.end, cells),
        # Behind a code mark, no word of the reference itself can state that something was removed.
        is_past=files.may_be_gone
        and (states_gone(cells) or (not one.start and gone_places(segment.text)(one.start, one.end))),
    )


def _may_be_absent(segment: Segment, row: Iterable[Segment]) -> bool:
    """Return whether the row of a file states that it is to be created or deleted, or is not there."""
    cells = islice(row, _MAX_CELLS) if segment.is_location else ()
    if segment.block in _DONE:
        return any(asks_for_file(cell.text) for cell in cells)
    return any(creates_file(one.text) or (segment.block is None and deletes_file(one.text)) for one in cells)


def _label_list(references: list[Reference], *, is_in_column: bool) -> None:
    """Set how the references with the same words are shown: `a.py:1,3` is `a.py:1` and `a.py:3`."""
    for number, one in enumerate(references):
        one.is_listed = number > 0
        if len(references) > 1 or (is_in_column and one.line is not None):
            one.label = format_location(Location(one.path, one.line), one.end_line)
        else:
            one.label = one.text.replace("`", "")


def _names_file(segment: Segment, one: WrittenReference, workspace: Workspace | None, exists: Exists) -> bool:
    """Return whether a path names a file. With a line, one without an ending does if its first folder exists.

    `svc/shop:80`, `origin/main:12` and `/api/v1/users:12` do not.
    """
    is_end = one.line is None or one.path.startswith(("-", "_", "."))
    if is_end and one.start > 1 and segment.text.startswith(_GLOBS, one.start - 2):
        return False
    if one.line is None:
        return _is_path(segment, one, workspace, exists)
    path = one.path.replace("\\", "/")
    if workspace is None or "/" not in path or "." in path.rpartition("/")[2] or exists(one.path):
        return True
    if path.startswith("/"):
        inside = workspace.normal(path)
        return is_system_path(path) or inside is not None or _is_folder(path.strip("/").partition("/")[0], workspace)
    is_place = is_absolute(path) or path.startswith((".", "…"))
    return is_place or _is_folder(path.partition("/")[0], workspace) or bool(workspace.index.ending_with(path))


def _is_folder(name: str, workspace: Workspace) -> bool:
    found = workspace.read(name)
    return isinstance(found, Absent) and found.why != "missing"


def _is_path(segment: Segment, one: WrittenReference, workspace: Workspace | None, exists: Exists) -> bool:
    """Return whether a path without a line names a file; `RFC-053/097` and the new name of a moved file do not."""
    if exists(one.path):
        return True
    if _is_new_name(segment, one):
        return False
    if workspace is None or has_known_ending(one.path) or one.path.startswith("."):
        return True
    path = one.path.replace("\\", "/")
    if is_absolute(one.path):
        # `/users/list` is an address; `/etc/passwd` is a file of the machine.
        return not path.startswith("/") or is_system_path(path)
    if segment.text[one.start - 1 : one.start] != "`" and len(segment.text.split()) > 1:
        return bool(workspace.index.ending_with(path.strip("/")))  # `the docs/scripts` are two words
    return _is_folder(path.partition("/")[0], workspace) or bool(workspace.index.ending_with(path.strip("/")))


def _is_new(segment: Segment, one: WrittenReference, workspace: Workspace | None) -> bool:
    """Return whether the text calls a file new, or states where it was moved to: `a/b.py` → `c/d.py`, which exists."""
    is_labelled = segment.section is None and follows_new_label(segment.text, one.start)
    return is_labelled or is_new(segment.text, one.start, one.end) or _is_moved(segment.text, one, workspace)


def _is_moved(text: str, one: WrittenReference, workspace: Workspace | None) -> bool:
    """Return whether the text states which existing file a path is now: `a/b.py:12` (moved to `c/d.py`)."""
    path = moved_to(text, one.end, has_line=one.line is not None) if workspace is not None else ""
    if not path or workspace is None or workspace.exists(one.path):
        return False
    return bool(workspace.index.ending_with(path))


def _is_new_name(segment: Segment, written: WrittenReference) -> bool:
    """Return whether a path is what another one is to become: `a/b.py` → `c/d.py`."""
    return bool(_ARROW.search(segment.text, max(0, written.start - 12), written.start))


def _around(text: str, one: WrittenReference) -> tuple[str, str]:
    """Return some characters before and after a reference."""
    return text[max(0, one.start - _AROUND) : one.start], text[one.end : one.end + _AROUND]


def _known_files(workspace: Workspace | None) -> Exists:
    """Return a function that looks files up; one that only its name can show to be a file may be in any folder."""
    if workspace is None:
        return never_exists
    return cache(
        lambda path: (
            workspace.exists(path)
            or ((is_usual_name(path) or has_odd_name(path)) and bool(workspace.index.ending_with(path)))
        )
    )


def named_files(segment: Segment, files: DocumentFiles) -> list[WrittenReference]:
    """Return the files that a segment names, with or without a line."""
    if not _NAMES_FILE.search(segment.text):
        return []
    workspace, exists = files.workspace, files.exists
    written = references_in(segment.text, exists, bare=True)
    named = (
        one
        for one in written
        if (exists(one.path) or (_has_file_name(one.path) and not _is_in_code(segment.text, one, workspace)))
        and not is_in_string(segment.text, one.start, one.end)
    )
    return with_lists(segment.text, list(named))


def _is_in_code(text: str, one: WrittenReference, workspace: Workspace | None) -> bool:
    """Return whether a path is part of code: `import x from './y.js'`, or a member such as `point.h`."""
    if one.line is None and _IMPORT.search(text, max(0, one.start - _AROUND), one.start):
        return True
    is_member = one.line is None and "/" not in one.path and one.path[-2:-1] == "."
    return is_member and workspace is not None and not workspace.index.ending_with(one.path)


def _has_file_name(path: str) -> bool:
    """Return whether a path names a file; `.txt/.md` names only endings."""
    return has_known_ending(path) and not path.rpartition("/")[2].startswith(".")


def display_path(written: str, workspace: Workspace | None) -> str:
    """Return a path as the output shows it: relative, with slashes; a path outside the checkout stays as written."""
    inside = workspace.normal(written) if workspace is not None else normalize_path(written, "/")
    return inside if inside is not None else written.replace("\\", "/")


def attach_symbols(references: list[Reference], row: list[Segment], workspace: Workspace | None) -> None:
    """Assign the symbols that a row contains as `name()` to its references, in order, at most one to each.

    A cell that proposes something names symbols that are to be written, and a sentence may name any symbol.
    """
    calling = [cell for cell in islice(row, _MAX_CELLS) if "(" in cell.text]
    if not any("()" in cell.text for cell in calling):
        return
    cells = [cell for cell in calling if cell.is_location or not (is_proposal(cell) or _is_prose(cell.text))]
    cells = [cell for cell in cells if cell.is_location or not _states_use(cell, row, references)]
    # `Foo()` | `open(path)` in src/app.py:12: the call next to the location is the one that is there.
    own = [name for one in calling if references[0].text in one.text for name in calls_with_location(one.text)]
    called = own or [symbol for cell in cells for symbol in symbols_called(cell.text)]
    if called and not any(reference.symbol for reference in references):
        _assign_symbols(called[: len(references)], references, workspace)
        for reference in references:
            reference.is_loose_symbol = reference.line is None and not reference.block


def _states_use(cell: Segment, row: list[Segment], references: list[Reference]) -> bool:
    """Return whether a cell after the location may name what else uses it: `called by `open()``.

    It does if a cell before the location has the name of something, or if it has another location.
    """
    first = references[0].text
    before = list(takewhile(lambda other: first not in other.text, islice(row, _MAX_CELLS)))
    if cell in before or first in cell.text or _STARTS_WITH_CALL.match(cell.text):
        return False
    is_named = any(map(_CODE_NAME.search, (other.text for other in before)))
    others = islice(references, 1, _MAX_CELLS)
    return is_named or any(one.line is not None and one.text in cell.text for one in others)


def _is_prose(cell: str) -> bool:
    """Return whether a cell has a sentence besides its code."""
    return len(_CODE_SPAN.sub("", cell).split()) > _MAX_WORDS if len(cell) > 2 * _MAX_WORDS else False


def _assign_symbols(symbols: list[str], references: list[Reference], workspace: Workspace | None) -> None:
    """Assign each symbol to a reference at which it occurs, and each remaining symbol to the next free reference.

    If a name has several locations, the text does not state which of them it belongs to: one match is enough.
    """
    free = list(references)
    unmatched = []
    for symbol in symbols:
        match = next((one for one in free if _occurs_at(symbol, one, workspace)), None) if len(references) > 1 else None
        if match is None:
            unmatched.append(symbol)
        else:
            match.symbol = symbol
            free.remove(match)
    for symbol, reference in zip(unmatched, free, strict=False):
        reference.symbol = symbol


def _occurs_at(symbol: str, reference: Reference, workspace: Workspace | None) -> bool:
    file = workspace.read(reference.path) if workspace is not None else None
    return isinstance(file, SourceFile) and occurs_near(file, symbol, reference.line, reference.end_line)
