"""Verify documents that are open in an editor.

The checkout stays open between checks. After an edit, the paragraphs around it are checked, and all other claims move
with their lines; the whole document is checked when the user pauses. The history is asked about saved documents only,
because the lines of an unsaved text are not those of a commit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from remit.checking import Options, Verdict, check_text
from remit.configuration import load
from remit.contract.parse import MAX_BYTES
from remit.errors import RemitError
from remit.evidence.model import Checked, format_location
from remit.evidence.sources import Sources
from remit.globs import Pattern
from remit.lazy import lazy_pattern
from remit.verifying import OPTIONS, fix_checked
from remit.workspace.files import LiveTree, SourceFile
from remit.workspace.safe_git import root_above

#: The options of a check without the history.
UNDATED: Options = replace(OPTIONS, with_history=False)
#: A part has at least this many lines before and after an edit, unless a heading or the end of the document is nearer.
_MARGIN = 40
#: A longer part is not faster than the whole document.
_MAX_PART = 500
_FENCE = lazy_pattern(r"[ \t>]*(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING = lazy_pattern(r"#{1,6}[ \t]")
#: Lines that claims elsewhere depend on: headings, targets of links, anchors.
_CONTEXT = lazy_pattern(r"#{1,6}[ \t]| {0,3}\[[^\]\n]{1,200}\]:|.*?\b(?:id|name)\s*=")
#: What opens or closes a part of which all later lines depend.
_MARKS = ("<!--", "-->", "```", "~~~")
#: The kind, the words and the places of a claim.
_Key = tuple[str, str, str, int | None, int | None, str, str]


class DocumentText(NamedTuple):
    """The text of a document at one moment."""

    path: str
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines without their line ends."""
        return self.text.replace("\r\n", "\n").replace("\r", " ").split("\n")


class CheckedText(NamedTuple):
    """The claims of a text, in document order."""

    lines: list[str]
    checked: list[Checked]
    #: Whether it is the result of an agent: no word excuses a claim.
    is_strict: bool = False
    #: Why the text was not checked; empty: it was.
    problem: str = ""


class LineCorrection(NamedTuple):
    """A line of a document and what it should be."""

    line: int
    old: str
    new: str
    #: The places that the new line cites.
    targets: tuple[str, ...]


class Excerpt(NamedTuple):
    """Some lines of a file. `first` is the number of the first one."""

    path: str
    first: int
    lines: list[str]


class Checkout:
    """A checkout that stays open between checks. One thread uses it."""

    def __init__(self, root: Path) -> None:
        self._tree = LiveTree(root)
        self._sources = Sources(workspace=self._tree)

    def check(self, snapshot: DocumentText, options: Options = UNDATED) -> CheckedText:
        """Check a whole text."""
        problem = self._problem(snapshot)
        if problem:
            return CheckedText(snapshot.lines, [], problem=problem)
        evidence = self._verdict(snapshot, snapshot.text, options).evidence
        return CheckedText(snapshot.lines, evidence.checked, evidence.is_strict)

    def check_saved(self, snapshot: DocumentText) -> CheckedText | None:
        """Check a text as it is on disk, with the history; None if it differs from the file."""
        self._refresh(lists_files=True)
        file = self._tree.read(snapshot.path)
        if not isinstance(file, SourceFile) or file.text != snapshot.text.replace("\r\n", "\n"):
            return None
        return self.check(snapshot, OPTIONS)

    def check_edited(self, snapshot: DocumentText, before: CheckedText) -> CheckedText:
        """Check the part around an edit; `before` has the claims of the text before it."""
        lines = snapshot.lines
        part = _changed_part(before.lines, lines)
        if before.problem or part is None or self._problem(snapshot):
            return self.check(snapshot)
        # A link to a heading of the document may be anywhere in it.
        has_anchors = any(one.symbol.startswith("#") for one in before.checked)
        if has_anchors and _anchor_lines(before.lines) != _anchor_lines(lines):
            return self.check(snapshot)
        shift = len(lines) - len(before.lines)
        kept = [one for one in before.checked if one.at <= part.first or one.at > part.last - shift]
        moved = [_moved(one, shift) if one.at > part.first else one for one in kept]
        text = _part_of(lines, part)
        evidence = self._verdict(snapshot, text, UNDATED).evidence
        if evidence.is_strict != before.is_strict:
            return self.check(snapshot)
        inside = [one for one in evidence.checked if part.first < one.at <= part.last]
        return CheckedText(lines, sorted([*moved, *inside], key=lambda one: one.at), before.is_strict)

    def corrections(self, snapshot: DocumentText, first: int, last: int, dates: Dates) -> list[LineCorrection]:
        """Return the corrections of the lines from `first` to `last`, counted from 1."""
        lines = snapshot.lines
        # After a lone carriage return, an editor counts another line.
        if self._problem(snapshot) or not 1 <= first <= last or "\r" in snapshot.text.replace("\r\n", ""):
            return []
        part = _widened(lines, first - 1, min(last, len(lines)))
        text = _part_of(lines, part)
        verdict = self._verdict(snapshot, text, UNDATED)
        dated = replace(verdict, evidence=replace(verdict.evidence, checked=dates.applied(verdict.evidence.checked)))
        fixed = fix_checked(text, snapshot.path, [dated], UNDATED, self._sources)
        self._sources.end_processes()  # the server runs on
        corrected = fixed.text.split("\n")
        targets: dict[int, list[str]] = {}
        for fix in fixed.fixes:
            targets.setdefault(fix.line, []).append(format_location(fix.target))
        return [
            LineCorrection(number, lines[number - 1], corrected[number - 1], tuple(dict.fromkeys(names)))
            for number, names in sorted(targets.items())
            if first <= number <= last
        ]

    def excerpt(self, checked: Checked, *, before: int = 0, limit: int = 8) -> Excerpt | None:
        """Return the lines that a claim cites, or where they were found; None if nothing can be shown."""
        self._refresh()
        path, line, last = ("", None, None) if checked.is_elsewhere else cited_place(checked)
        workspace = self._sources.at(checked.commit) if checked.commit is not None else self._tree
        file = workspace.read(path) if workspace is not None and path else None
        if not isinstance(file, SourceFile) or not 1 <= (line or 1) <= len(file.lines):
            return None
        first = max(1, (line or 1) - before)
        end = min(len(file.lines), max(line or 1, last or 0) + before, first + limit - 1)
        return Excerpt(file.path, first, file.lines[first - 1 : end])

    def place(self, checked: Checked) -> tuple[Path, int] | None:
        """Return the file of a claim on disk and its line, counted from 1; None if it is not a file of the checkout."""
        self._refresh()
        path, line, _ = cited_place(checked)
        file = self._tree.read(path) if path and not checked.is_elsewhere else None
        return (self._tree.root / file.path, line or 1) if isinstance(file, SourceFile) else None

    def close(self) -> None:
        """End the git processes."""
        self._sources.close()

    def _verdict(self, snapshot: DocumentText, text: str, options: Options) -> Verdict:
        self._refresh()
        verdict = check_text(text, snapshot.path, options, self._sources)[0]
        self._sources.end_processes()  # the server runs on
        return verdict

    def _refresh(self, *, lists_files: bool = False) -> None:
        if self._tree.refresh(lists_files=lists_files):
            self._sources.end_processes()
            self._sources = Sources(workspace=self._tree)

    @staticmethod
    def _problem(snapshot: DocumentText) -> str:
        size = len(snapshot.text.encode("utf-8", "replace"))
        return f"not verified: the text is larger than {MAX_BYTES >> 20} MiB" if size > MAX_BYTES else ""


class Dates:
    """What the history showed about the claims of a document when it was saved."""

    def __init__(self, checked: Iterable[Checked] = ()) -> None:
        self._outdated = {_key(one): one for one in checked if one.then is not None}

    def applied(self, checked: Iterable[Checked]) -> list[Checked]:
        """Return claims with what the history showed of those that are accused."""
        return [self._dated(one) for one in checked]

    def _dated(self, checked: Checked) -> Checked:
        is_open = checked.reliability is not None or checked.outcome == "abbreviated"
        dated = self._outdated.get(_key(checked)) if is_open else None
        if dated is None:
            return checked
        return replace(checked, facts=dated.facts, judgement=dated.judgement)


def checkout_of(path: str, folders: Sequence[str]) -> Path | None:
    """Return the root of the checkout of a document.

    None: it has no checkout, is outside the folders that the editor has open, or is excluded.
    """
    with suppress(OSError, ValueError, RemitError):
        file = Path(path)
        folder = file.parent.resolve()
        root = root_above(folder)
        tops = [Path(top).resolve() for top in folders]
        if root is None or (tops and not any(folder.is_relative_to(top) for top in tops)):
            return None
        inside = (folder / file.name).relative_to(root).as_posix()
        excluded = any(Pattern(glob).matches(inside) for glob in load(root)["verify.exclude"])
        return None if excluded or ".git" in inside.split("/") else root
    return None


def cited_place(checked: Checked) -> tuple[str, int | None, int | None]:
    """Return the path and lines of a claim: the place today if it is accused and that is known."""
    found = checked.found
    if checked.reliability is not None and found is not None:
        return found.path, found.line, checked.found_end
    return checked.file, checked.line, checked.end_line


def _key(checked: Checked) -> _Key:
    claim = checked.claim
    return claim.kind, claim.text, claim.path, claim.line, claim.end_line, claim.name, claim.code


def _moved(checked: Checked, shift: int) -> Checked:
    claim = checked.claim
    located_at = claim.located_at + shift if claim.located_at else 0
    return replace(checked, claim=replace(claim, at=claim.at + shift, located_at=located_at)) if shift else checked


class _Part(NamedTuple):
    """Lines of a document: the index of the first one, and of the one after the last."""

    first: int
    last: int


def _anchor_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that may be headings or have the name of an anchor, and the lines above an underline."""
    return [
        f"{lines[number - 1] if number and line[:1] in ('-', '=') else ''}{line}"
        for number, line in enumerate(lines)
        if line.startswith(("#", " #", "--", "==")) or "id=" in line or "name=" in line or "{#" in line
    ]


def _changed_part(old: list[str], new: list[str]) -> _Part | None:
    """Return the lines to check after an edit; None if that is the whole document."""
    limit = min(len(old), len(new))
    first = next((at for at in range(limit) if old[at] != new[at]), limit)
    rest = limit - first
    same = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    if _marks(old[first : len(old) - same]) != _marks(new[first : len(new) - same]):
        return None
    part = _widened(new, first, max(len(new) - same, first + 1))
    return part if part.last - part.first <= _MAX_PART else None


def _marks(lines: list[str]) -> list[str]:
    """Return the lines that decide how all later lines are read."""
    return [line for line in lines if any(mark in line for mark in _MARKS) or line.rstrip() in ("---", "+++")]


def _widened(lines: list[str], first: int, last: int) -> _Part:
    """Return whole paragraphs, tables and fences around lines: to the next heading, or a margin."""
    fences = list(_fences(lines))
    starts = [start for start, _ in fences]

    def is_edge(at: int) -> bool:
        fence = fences[bisect_right(starts, at) - 1] if starts and starts[0] <= at else (-1, -1)
        return not fence[0] < at <= fence[1] and (not lines[at].strip() or bool(_HEADING.match(lines[at])))

    low = max(0, first - 1)
    while low > 0 and not (is_edge(low) and (first - low >= _MARGIN or _HEADING.match(lines[low]))):
        low -= 1
    high = min(last, len(lines))
    while high < len(lines) and not (is_edge(high) and (high - last >= _MARGIN or _HEADING.match(lines[high]))):
        high += 1
    return _Part(low, high)


def _fences(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each fence."""
    opened, marks = -1, ""
    for at, line in enumerate(lines):
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence is None:
            continue
        if opened < 0:
            opened, marks = at, fence[1]
        elif fence[1].startswith(marks) and not fence[2].strip():
            yield opened, at
            opened = -1
    if opened >= 0:
        yield opened, len(lines) - 1


def _part_of(lines: list[str], part: _Part) -> str:
    """Return a text in which all other lines are empty but those that claims elsewhere depend on."""
    head = lines.index("---", 1) + 1 if lines[:1] == ["---"] and "---" in lines[1:200] else 0
    kept = set(range(head)) | set(range(part.first, part.last))
    kept.update(at for at, line in enumerate(lines) if _CONTEXT.match(line))
    for first, last in _fences(lines):  # what is in code stays in code
        if any(at in kept for at in range(first + 1, last)):
            kept |= {first, last}
    return "\n".join(line if at in kept else "" for at, line in enumerate(lines))
