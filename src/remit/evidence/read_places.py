"""Read the places and paths of a text: each reference to a file becomes a claim, with the name next to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, groupby, islice
from operator import attrgetter

from msgspec.structs import replace

from remit.contract.feedback import INVISIBLE
from remit.contract.lines import is_none_text
from remit.evidence.document import Segment, is_label
from remit.evidence.file_names import (
    Exists,
    has_known_ending,
    has_odd_name,
    is_placeholder,
    is_source,
    is_usual_name,
    looks_like_route,
)
from remit.evidence.grammar import (
    WrittenReference,
    canonical_reference,
    may_cite,
    never_exists,
    references_in,
)
from remit.evidence.line_ranges import is_in_string, lines_alone
from remit.evidence.model import Claim, Location, Note, Place, format_location
from remit.evidence.read_lines import CarriedLine, LineReader
from remit.evidence.read_names import ATTACHED, NameMention, name_beside, name_of_row
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, Workspace
from remit.workspace.paths import is_absolute, normalize_path

#: A text without one of these names no file: a dot before a letter, a slash, `Makefile`.
_NAMES_FILE = lazy_pattern(r"\.\w|[/\\]|file\b")
#: A path in code marks that is a claim without a line: it has a slash and an ending, or a slash at its end.
_CODE_SPAN = lazy_pattern(r"(?<!`)(`{1,2})(?!`)([^`\n]{3,300})\1(?!`)")
_LINK = "]("
#: The globs before a path: `*_test.go`, src/*-view.ts.
_GLOBS = ("`*", "/*")
_IMPORT = lazy_pattern(r"\b(?:from|import|require|include|use)\s?\(?\s?['\"]$")
#: A file that a generator of sites includes: `--8<-- "a/b.py:part"`.
_INCLUDE = lazy_pattern(
    r"-{1,8}8<-{1,8}[ \t]{1,8}[\"']((?:[\w.\-]{1,100}/){1,20}[\w.\-]{1,100})(?::[\w\-]{0,60}){0,2}[\"']"
)
#: A file that an assistant reads, too: `@docs/guide.md`.
_AT_SIGN = lazy_pattern(r"(?<![\w`@./:+\-])@((?:[\w.\-]{1,100}/){0,20}[\w\-]{1,100}\.\w{1,10})(?![\w@/:])")
#: A word of a command line with a folder.
_WORD = lazy_pattern(r"(?<![\w./@:$~{}*\-])((?:[\w.\-]{1,100}/){1,20}[\w.\-]{0,99}[\w/])(?![\w.@:$~{}*\-])")
_ABOUT = lazy_pattern(r"[~≈]\s?L?\d|\b(?:around|near|about|approx)", re.IGNORECASE)
_ESTIMATE = lazy_pattern(r"(?:[~≈]|\b(?:around|near|about|approx\.?|approximately)\s(?:lines?\s)?)$")
#: A new name of a file: `a/b.py` → `c/d.py`.
_ARROW = lazy_pattern(r"(?:→|⇒|->|=>)[\s`*_]{0,5}$")
_INVISIBLE = lazy_pattern(INVISIBLE)
#: The characters around a reference that can make it an example.
_AROUND = 30
_MAX_CELLS = 40
#: Claims of one text. Each costs up to 0.3 ms, so that a hostile text takes a few seconds.
MAX_CLAIMS = 10_000
#: A longer cell states more than that there is nothing.
_MAX_NONE = 40


class TooManyClaims(Exception):
    """A text has more claims than are checked."""

    def __init__(self) -> None:
        super().__init__(f"it has more than {MAX_CLAIMS:,} claims")


def _has_hidden(text: str) -> bool:
    """Return whether a location has invisible characters inside or next to it. They make a reader see another one."""
    return not text.isascii() and _INVISIBLE.search(text) is not None


def display_path(written: str, workspace: Workspace | None) -> str:
    """Return a path as the output shows it: relative, with slashes; a path outside the checkout stays as written."""
    inside = workspace.normal(written) if workspace is not None else normalize_path(written, "/")
    return inside if inside is not None else written.replace("\\", "/")


def table_rows(pieces: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Yield the segments of each table row, list and paragraph, without cells that say nothing. Code is alone."""
    row: list[Segment] = []
    key = (0, 0)
    for piece in pieces:
        row_key = (piece.row, 0) if piece.row else (0, piece.group)
        if (row_key != key or piece.kind == "code") and row:
            yield row
            row = []
        key = row_key
        if piece.kind == "code":
            yield [piece]
        elif not _is_empty(piece.text):
            row.append(piece)
    if row:
        yield row


def _is_empty(text: str) -> bool:
    """Return whether a text only states that there is nothing, without a remark in brackets."""
    return len(text) < _MAX_NONE and is_none_text(text) and "(" not in text and "（" not in text


class PlaceReader:
    """Reads the references of one document. Each path is looked up once, only to see whether it names a file."""

    def __init__(
        self, workspace: Workspace | None, *, before: Workspace | None = None, is_strict: bool = False
    ) -> None:
        self._workspace = workspace
        #: The files before the change that is asked about.
        self._before = before
        self._is_strict = is_strict
        self.exists: Exists = _known_files(workspace)
        self._shown: Callable[[str], str] = cache(lambda path: display_path(path, workspace))
        self.lines = LineReader(self._named_files)

    def read(self, segment: Segment, row: list[Segment]) -> list[Claim]:
        """Return the references of one segment; `row` are the segments of its table row."""
        if not segment.lines and (canonical := canonical_reference(segment.text)) is not None:
            return self._claims(segment, [canonical], {}, row) if self._is_claim(segment, canonical) else []
        cites = may_cite(segment.text)
        written = self._written_in(segment, cites=cites)
        carried = {line.written: line for line in self.lines.read(segment, written, row)} if cites else {}
        if carried:
            written = sorted([*written, *carried], key=attrgetter("start"))
        return self._claims(segment, written, carried, row) if written else []

    def read_known(self, segment: Segment, claimed: Iterable[Claim], *, is_shell: bool) -> Iterator[Claim]:
        """Yield the paths of a segment that a directive includes or that files show to be paths.

        `--8<-- "a/b.py"` includes a file. `@a/b.md` names one if it is there. A word of a shell fence or of code marks
        does so if it was there before the change that is asked about. What `claimed` has is left out.
        """
        text, is_code = segment.text, segment.kind == "code"
        found = list(_INCLUDE.finditer(text)) if "8<" in text else []
        if "@" in text and not is_code:
            mentions = islice(_AT_SIGN.finditer(text), MAX_CLAIMS)
            found += [mention for mention in mentions if self._was_there(mention[1])]
        if self._before is not None and "/" in text and (is_shell or "`" in text):
            parts = [(0, len(text))] if is_code else [span.span(2) for span in _CODE_SPAN.finditer(text)]
            words = chain.from_iterable(_WORD.finditer(text, *part) for part in parts if is_shell or not is_code)
            found += [word for word in islice(words, MAX_CLAIMS) if self._was_there(word[1])]
        known = {(claim.at, path) for claim in claimed for path in (claim.path, claim.name) if path}
        for match in found:
            line = segment.line + is_code + text.count("\n", 0, match.start()) if is_code else segment.line
            path = self._shown(match[1])
            if (line, path) not in known and (line, match[1]) not in known:
                known.add((line, path))
                yield Claim(
                    kind="path",
                    text=match[1],
                    at=line,
                    segment=segment,
                    path=path,
                    notes=frozenset({"marked"}),
                    start=match.start(1),
                    end=match.end(1),
                )

    def _was_there(self, path: str) -> bool:
        """Return whether a file is there, or was there before the change."""
        here = self._workspace is not None and self._workspace.exists(path)
        return here or (self._before is not None and self._before.exists(path))

    def _claims(
        self,
        segment: Segment,
        written: list[WrittenReference],
        carried: dict[WrittenReference, CarriedLine],
        row: list[Segment],
    ) -> list[Claim]:
        claims: list[Claim] = []
        in_row = name_of_row(row[:_MAX_CELLS], segment) if segment.row and segment.is_location else None
        last = 0
        for (start, end), group in groupby(written, key=attrgetter("start", "end")):
            listed = list(group)
            name = name_beside(segment.text, start, end, listed[0].path, last) or (
                in_row if len(written) == 1 else None
            )
            last = end
            if name is not None and not _is_at(name, listed):
                name = None
            notes = _notes(segment, listed[0])  # once: a list of lines may be long
            for number, reference in enumerate(listed):
                claim = self._claim(segment, reference, carried.get(reference), notes)
                if number:
                    claim = replace(claim, notes=claim.notes | {"listed"})
                is_named = name is not None and number == len(listed) - 1
                if len(listed) > 1 or (segment.lines and claim.line is not None):  # its words are not its location
                    claim = replace(claim, label=format_location(Location(claim.path, claim.line), claim.end_line))
                claims.append(_with_name(claim, name) if is_named and name else claim)
        return claims

    def _claim(
        self, segment: Segment, reference: WrittenReference, carried: CarriedLine | None, notes: frozenset[Note]
    ) -> Claim:
        if "/" not in reference.path:
            notes |= {"bare"}
        others: tuple[Place, ...] = ()
        if carried is not None:
            notes |= {"carried", "far"} if carried.is_far else {"carried"}
            others = tuple(Place(self._shown(path), reference.line, reference.end_line) for path in carried.others)
        return Claim(
            kind="path" if reference.line is None else "place",
            text=reference.text,
            at=segment.line,
            segment=segment,
            path=self._shown(reference.path),
            line=reference.line,
            end_line=reference.end_line,
            notes=notes,
            others=others,
            label=reference.text.replace("`", ""),
            start=reference.start,
            end=reference.end,
        )

    def _written_in(self, segment: Segment, *, cites: bool) -> list[WrittenReference]:
        """Return the references of a segment that name their file. `cites`: it may have one with a line."""
        text = segment.text
        may_name_path = segment.is_location or "`" in text or _LINK in text
        if not may_name_path and not cites:
            return []
        written = references_in(text, self.exists, bare=may_name_path, is_sentence=not segment.is_location)
        if segment.may_be_route:
            written = [
                reference
                for reference in written
                if not looks_like_route(reference.path) or self.exists(reference.path.lstrip("/"))
            ]
        if segment.lines and len(written) == 1 and written[0].line is None:
            stated = lines_alone(segment.lines)
            written = [replace(written[0], line=line, end_line=last) for line, last in stated] or written
        spans = None
        kept: list[WrittenReference] = []
        if len(written) > MAX_CLAIMS:
            raise TooManyClaims
        for reference in written:
            if reference.line is None and not segment.is_location and not reference.is_link:
                spans = spans if spans is not None else _path_spans(text)
                if (reference.start, reference.end) not in spans:
                    continue
            if self._is_claim(segment, reference):
                kept.append(reference)
        return kept

    def _is_claim(self, segment: Segment, reference: WrittenReference) -> bool:
        """Return whether a path names a file. A placeholder, a glob and a route do so only if there is such a file."""
        text = segment.text
        if self.exists(reference.path):
            return True
        before, after = (
            text[max(0, reference.start - _AROUND) : reference.start],
            text[reference.end : reference.end + _AROUND],
        )
        # In a result, a folder of the environment excuses no line.
        is_of_variable = self._is_strict and reference.line is not None and reference.path.startswith("$")
        if not is_of_variable and is_placeholder(reference.path, before, after):
            return False
        is_end = reference.line is None or reference.path.startswith(("-", "_", "."))
        if is_end and reference.start > 1 and text.startswith(_GLOBS, reference.start - 2):
            return False
        if reference.line is None:
            return self._is_path(segment, reference)
        path = reference.path.replace("\\", "/")
        if self._workspace is None or "/" not in path or "." in path.rpartition("/")[2]:
            return True
        # `svc/shop:80`, `origin/main:12` and `/api/v1/users:12` are not files.
        if is_absolute(path) or path.startswith((".", "…")):
            return (
                not path.startswith("/") or _is_on_machine(path) or self._is_folder(path.strip("/").partition("/")[0])
            )
        return self._is_folder(path.partition("/")[0]) or bool(self._workspace.index.ending_with(path))

    def _is_path(self, segment: Segment, reference: WrittenReference) -> bool:
        """Return whether a path without a line names a file; `RFC-053/097` and the new name of a moved file do not."""
        if self._workspace is None:
            return segment.is_location  # nothing can be looked up, but the row names a file
        if _ARROW.search(segment.text, max(0, reference.start - 12), reference.start):
            return False
        path = reference.path.replace("\\", "/")
        if not segment.is_location and path.startswith(("~", "/")) and _is_on_machine(f"/{path.strip('~/')}"):
            return False  # a path of a machine
        if reference.is_link:
            return not path.startswith(("#", "{", "<")) and "?" not in path
        if has_known_ending(path) or path.startswith("."):
            return True
        if is_absolute(path):
            return segment.is_location and _is_on_machine(path)  # elsewhere, it is a path of a machine
        return self._is_folder(path.partition("/")[0]) or bool(self._workspace.index.ending_with(path.strip("/")))

    def _is_folder(self, name: str) -> bool:
        file = self._workspace.read(name) if self._workspace is not None else None
        return isinstance(file, Absent) and file.why != "missing"

    def _named_files(self, segment: Segment) -> list[WrittenReference]:
        """Return the files that a segment names, with or without a line."""
        if not _NAMES_FILE.search(segment.text):
            return []
        written = references_in(segment.text, self.exists, bare=True, is_sentence=not segment.is_location)
        return [reference for reference in written if self._is_named(segment.text, reference)]

    def _is_named(self, text: str, reference: WrittenReference) -> bool:
        if is_in_string(text, reference.start, reference.end):
            return False
        if self.exists(reference.path):
            return True
        if reference.line is None and _IMPORT.search(text, max(0, reference.start - _AROUND), reference.start):
            return False
        is_member = reference.line is None and "/" not in reference.path and reference.path[-2:-1] == "."  # `point.h`
        name = reference.path.rpartition("/")[2]
        return has_known_ending(reference.path) and not name.startswith(".") and not is_member


def _notes(segment: Segment, reference: WrittenReference) -> frozenset[Note]:
    """Return what the text around a reference and its words say about it."""
    notes: set[Note] = set()
    if reference.is_link:
        notes.add("link")
    if segment.is_location:
        notes.add("column")
    if segment.kind in ("text", "item") and is_label(segment.text):
        notes.add("label")
    before = segment.text[max(0, reference.start - _AROUND) : reference.start]
    if before.endswith("`") or reference.text.startswith("`"):
        notes.add("marked")
    if _ABOUT.search(reference.text) or _ESTIMATE.search(before):
        notes.add("estimate")
    if _has_hidden(segment.text[max(0, reference.start - 1) : reference.end + 1]):
        notes.add("hidden")
    return frozenset(notes)


def _is_at(name: NameMention, listed: list[WrittenReference]) -> bool:
    """Return whether a name is stated for one place: of several lines, the text does not say which one has it.

    Next to a path without a line, only a name that is written as code is one, and only of a file with code.
    """
    if len(listed) > 1:
        return False
    return listed[0].line is not None or (name.is_code and is_source(listed[0].path))


def _with_name(claim: Claim, name: NameMention) -> Claim:
    """Return a claim about a name at a place."""
    notes = set(claim.notes)
    notes |= {"code"} if name.is_code else {"plain"} if name.is_plain else set()
    notes |= {"defined"} if name.is_defined else set()
    return replace(claim, kind="name", name=name.name, notes=frozenset(notes))


def _path_spans(text: str) -> set[tuple[int, int]]:
    """Return the spans of the paths that are all of a code span: with a slash and an ending, or a slash at the end."""
    spans: set[tuple[int, int]] = set()
    for span in _CODE_SPAN.finditer(text):
        written = span[2].strip()
        path, _, rest = written.partition(":" if ":" in written else "#")
        if rest and ATTACHED.fullmatch(written, len(path)) is None:
            path = written
        if "/" in path and " " not in path and (has_known_ending(path) or path.endswith("/")):
            start = span.start(2) + span[2].index(path)
            spans.add((start, start + len(path)))
    return spans


def _is_on_machine(path: str) -> bool:
    """Return whether an absolute path starts with a folder that machines have: `/etc/passwd`."""
    return path.split("/")[1:2] != [] and path.split("/")[1] in SYSTEM_FOLDERS


#: Folders of a machine that absolute paths start with, and that a checkout may have, too.
SYSTEM_FOLDERS = frozenset(
    ("etc", "usr", "var", "proc", "sys", "dev", "root", "home", "Users", "boot", "run", "tmp", "mnt", "opt")
)


def _known_files(workspace: Workspace | None) -> Exists:
    """Return a function that looks files up; one that only its name can show to be a file may be in any folder."""
    if workspace is None:
        return never_exists

    @cache
    def exists(path: str) -> bool:
        if workspace.exists(path):
            return True
        return (is_usual_name(path) or has_odd_name(path)) and bool(workspace.index.ending_with(path))

    return exists
