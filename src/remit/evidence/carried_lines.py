"""Lines that are cited without a file: `line 12`, `(lines 12-18)`, `L12`, `:12`, and a second number after a reference.

They belong to the last file that is named before them in the same sentence, list entry (or an entry above it), table
row or heading above, or to the file of the sentence that introduces their list or table. A label such as
`**File:** a.py` names the file of the lines below it, up to the next label or heading; such a reference is *loose*: a
line that the file lacks is not reported. A file in another paragraph or entry, or after the line, is not its file.

A line that its file lacks may belong to another file that is named around it, so these files are collected, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, takewhile

from msgspec.structs import replace

from remit.evidence.file_names import PORTS
from remit.evidence.file_scopes import (
    MAX_OTHERS,
    EntryScope,
    HeadingScope,
    Labels,
    NamedFiles,
    Scope,
    is_about_all,
    is_key_line,
    is_modified_file,
    masked,
    may_be_label,
)
from remit.evidence.line_mentions import Mention, has_hint, mentions_in
from remit.evidence.line_owners import (
    CALLED,
    HUMPS,
    LOOK_BACK,
    MAX_JOIN,
    MAX_LEAD,
    NAME_BEFORE,
    SECTION,
    CarriedLine,
    file_in_segment,
    is_after_code,
    is_code,
    is_label,
    is_next_to,
    is_of_other_source,
    is_of_other_text,
    is_tag,
    names_about,
    place_of,
    second_ranges,
)
from remit.evidence.segments import Segment
from remit.evidence.written import WrittenReference

#: At most this many cells of a row are searched for a file.
_MAX_CELLS = 40
#: A colon and the number of a port: `compose.yml` exposes `:5432`.
_PORTS = frozenset((port, None) for port in PORTS if port > 1_000)


class LineCarrier:
    """Finds the file of each line that is cited without one. Segments are added in the order of the text."""

    def __init__(self, named_files: NamedFiles) -> None:
        self._named_files = named_files
        self._group = 0
        self._paragraph = Scope()
        #: The paragraph directly above a list or table.
        self._lead = Scope()
        #: The list directly above a paragraph.
        self._step = Scope()
        #: The whole list or paragraph.
        self._siblings = Scope()
        self._entries: list[EntryScope] = []
        self._headings = [HeadingScope(0, Scope(), Scope(), Labels(), Scope())]
        #: The text up to the current line.
        self._document = Scope()
        #: The labels with the file that the whole text is about, and whether they may still follow.
        self._subject = Labels()
        self._is_head = self._has_heading = False
        self._last_line = 0
        #: The file of the last line without one, if a heading or label names it.
        self._titled = ""
        #: Whether that file was looked for in the paragraph above a list.
        self._is_introduced = False
        #: The lines that the section is about, and whether code is shown below them: `**Location:** lines 52-148`.
        self._located: tuple[int, int] | None = None
        self._is_below_code = False
        #: Whether the text numbers things with `L12`: `- L12 [lessons.ts:3308](...)`.
        self._has_tags = False
        #: The files of the lines that the same paragraph or entry of a list cites with their file.
        self._cited: dict[tuple[int, int | None], set[str]] = {}

    def add(self, segment: Segment) -> None:
        """Take the next segment into account. Call it before `carried` for the same segment."""
        if segment.group != self._group:
            is_apart = segment.group != self._group + 1
            self._lead = Scope() if is_apart else self._paragraph
            self._step = Scope() if is_apart else self._siblings
            self._paragraph, self._entries, self._group = Scope(), [], segment.group
            self._siblings, self._cited = Scope(), {}
            self._is_below_code |= self._located is not None and is_apart
        if segment.kind == "heading":
            self._add_heading(segment)
        elif segment.kind == "item":
            self._add_item(segment)
        elif segment.kind == "text":
            if may_be_label(segment.text, is_alone=not self._paragraph):
                self._headings[-1].labels.add(segment)
            self._paragraph.add(segment)
            self._headings[-1].texts.add(segment)
        self._headings[-1].whole.add(segment)
        self._document.add(segment)
        if self._is_head and segment.kind in ("text", "item") and is_key_line(segment.text):
            self._subject.add(segment)
        self._last_line = segment.line

    def _add_heading(self, segment: Segment) -> None:
        while self._headings[-1].level >= segment.depth > 0:
            self._headings.pop()
        self._headings.append(HeadingScope(segment.depth, Scope(), Scope(), Labels(), Scope()))
        self._headings[-1].heading.add(segment)
        is_first, self._has_heading = not self._has_heading, True
        is_title = is_first and segment.depth == 1
        self._is_head = is_title or ((is_first or self._is_head) and is_about_all(segment.text))
        self._located, self._is_below_code = None, False

    def _add_item(self, segment: Segment) -> None:
        if segment.starts_item and not segment.depth:
            self._cited = {}
        # A line below a blank line belongs to the entry that it is indented for.
        closes = segment.starts_item or segment.line > self._last_line + 1
        least = 0 if segment.starts_item else 1
        while closes and len(self._entries) > least and self._entries[-1].depth >= segment.depth:
            self._entries.pop()
        if segment.starts_item and (is_key_line(segment.text) or is_modified_file(segment.text)):
            (self._entries[-1] if self._entries else self._headings[-1]).labels.add(segment)
        if segment.starts_item or not self._entries:
            self._entries.append(EntryScope(segment.depth, Scope(), Labels()))
        self._entries[-1].lines.add(segment)
        self._siblings.add(segment)

    def cite(self, own: Iterable[WrittenReference]) -> None:
        """Take references with their own file into account."""
        for one in own:
            if one.line is not None:
                self._cited.setdefault((one.line, one.end_line), set()).add(one.path)

    def carried(self, segment: Segment, own: list[WrittenReference], row: Iterable[Segment]) -> Iterator[CarriedLine]:
        """Yield the references of a segment whose file is named elsewhere; `own` are its other references."""
        self.cite(own)
        if segment.states_lines or not has_hint(segment.text):
            return
        yield from second_ranges(segment.text, own)
        found = list(mentions_in(masked(segment.text, own), has_ids=segment.kind in ("cell", "heading")))
        if not found:
            return
        named = self._named_files(segment)
        elsewhere: tuple[WrittenReference | None, bool] | None = None
        others: tuple[list[str], list[str]] | None = None
        is_shared = False
        for mention in found:
            file, is_far = file_in_segment(mention, segment.text, named), False
            is_cited = file is not None and (file.line is not None or segment.text.startswith("::", file.end))
            may_be_port = mention.is_colon and not is_cited and mention.ranges[0] in _PORTS
            if may_be_port or (mention.is_loose and (not is_cited or mention.ranges[0][0] in PORTS)):
                continue
            if SECTION.search(segment.text, max(0, mention.start - LOOK_BACK), mention.start):
                continue  # of a text with numbered sections
            self._has_tags |= mention.is_letter and is_tag(mention, own)
            if mention.is_letter and self._is_no_line(mention, segment, row, file):
                continue
            is_here, is_guess = file is not None, False
            if file is None and not is_of_other_text(segment.text, mention):
                elsewhere = elsewhere or self._file_elsewhere(segment, row)
                file, is_far = elsewhere
                file = self._settled(segment, mention, file, is_far=is_far) if file is not None else None
                if elsewhere[0] is None and not is_of_other_source(segment.text, mention):
                    (file, is_guess), is_far = self._file_of_section(segment), True
            if file is not None:
                if others is None:
                    others, is_shared = self._others(segment, row, named), self._has_several(segment, row, named)
                place, is_doubtful = place_of(mention, segment, file, named if is_here else [])
                place = "loose" if mention.is_loose or is_guess else "far" if is_far else place
                around, further = (tuple(path for path in paths if path != file.path) for paths in others)
                is_titled = not is_here and self._titled == file.path
                # `**Location:** a.py:12` is one place; a line below another label may be in another file.
                is_doubtful |= not is_here and self._is_introduced and file.line is not None
                line = CarriedLine(file, place, around, further, is_doubtful, is_shared=is_shared)
                if is_titled:
                    line = replace(line, is_titled=True)
                yield from _each_line(mention, segment.text, line, is_here=is_here)

    def file_above(self, fence: Segment) -> str:
        """Return the file that the sentence, the entry or the heading above a fence names."""
        is_next = fence.group <= self._group + 1
        segment = replace(fence, kind="item" if is_next and self._entries else "text", text="")
        file, _ = self._file_elsewhere(segment, ()) if is_next else self._from_headings(segment)
        if file is None:
            file, is_guess = self._file_of_section(segment)
            file = None if is_guess else file
        return file.path if file is not None else ""

    def _has_several(self, segment: Segment, row: Iterable[Segment], named: list[WrittenReference]) -> bool:
        """Return whether the segment of a line, or its row, names several files."""
        cells = islice(row, _MAX_CELLS) if segment.kind == "cell" else ()
        return len({one.path for one in (*named, *(one for cell in cells for one in self._named_files(cell)))}) > 1

    def _settled(
        self, segment: Segment, mention: Mention, file: WrittenReference, *, is_far: bool
    ) -> WrittenReference | None:
        """Return the file that a line belongs to if the text names `file` elsewhere; None if it has no file."""
        if is_far and self._is_of_snippet(segment, mention):
            return None
        return self._cited_before(mention, file) if mention.is_colon else file

    def _is_of_snippet(self, segment: Segment, mention: Mention) -> bool:
        """Return whether a line counts from the code above: it is not one of those that the section is about."""
        first, last = mention.ranges[0]
        if is_key_line(segment.text):
            self._located = (first, last) if last is not None else None
            return False
        if self._located is None or not self._is_below_code:
            return False
        return not self._located[0] <= first <= self._located[1]

    def _cited_before(self, mention: Mention, file: WrittenReference) -> WrittenReference:
        """Return the only file whose same line is cited nearby: `:12` after `a.py:12` is about a.py again."""
        cited = self._cited.get(mention.ranges[0], set()) if len(mention.ranges) == 1 else set()
        if len(cited) != 1 or file.path in cited:
            return file
        return replace(file, path=next(iter(cited)), line=mention.ranges[0][0])

    def _others(
        self, segment: Segment, row: Iterable[Segment], named: list[WrittenReference]
    ) -> tuple[list[str], list[str]]:
        """Return the files that are named around a segment, the nearest first, and those in the entries above it."""
        paths = [one.path for one in named[-MAX_OTHERS:]]
        if segment.kind == "cell":
            paths += [one.path for one in self._column_files(segment)]
            paths += [one.path for cell in islice(row, _MAX_CELLS) for one in self._named_files(cell)[-MAX_OTHERS:]]
        scopes = [entry.lines for entry in self._entries[: -MAX_OTHERS - 1 : -1]]
        scopes += [self._paragraph, self._lead]
        scopes += [above.heading for above in self._headings[: -MAX_OTHERS - 1 : -1]]
        paths += [path for scope in scopes for path in scope.paths(self._named_files, segment)]
        near = list(islice(dict.fromkeys(paths), MAX_OTHERS))
        above = (self._siblings, self._headings[-1].texts)
        further = [path for scope in above for path in scope.paths(self._named_files, segment)]
        return near, further

    def _file_elsewhere(self, segment: Segment, row: Iterable[Segment]) -> tuple[WrittenReference | None, bool]:
        """Return the file of the lines in a segment that names none before them, and whether only a label names it."""
        self._titled, self._is_introduced = "", False
        if segment.kind == "cell":
            near = self._row_file(segment, row)
        elif segment.kind == "item":
            for entry in reversed(self._entries):
                if (near := entry.lines.last_file(self._named_files, segment)) is not None:
                    self._titled = self._label_of(near, segment)
                    return near, False
                if (near := entry.labels.file(self._named_files, segment)) is not None:
                    self._titled = near.path
                    return near, True
            near = None
        else:
            near = self._paragraph.last_file(self._named_files, segment)
        if near is None and segment.kind != "text":
            near = self._lead.introduced(self._named_files)
            self._is_introduced = near is not None and not self._lead.ends_with(near, self._named_files)
        if near is not None:
            self._titled = self._label_of(near, segment)
            return near, False
        file, is_far = self._from_headings(segment)
        if file is not None and is_far and segment.kind == "text" and len(self._step) == 1:
            # `- [ ] Step 4: change b.py`, and a paragraph below it: not the file of a label further above.
            step = self._step.last_file(self._named_files, segment)
            file = file if step is None or step.path == file.path else None
        return file, is_far

    def _label_of(self, near: WrittenReference, segment: Segment) -> str:
        """Return the path of a file if it is that of the last label of the section: `**File:** a/b.py` above a list."""
        labels = self._headings[-1].labels
        label = labels.file(self._named_files, segment) if near.line is None else None
        return near.path if label is not None and labels.is_key and label.path == near.path else ""

    def _file_of_section(self, segment: Segment) -> tuple[WrittenReference | None, bool]:
        """Return the only file that the section, or the nearest section above it with a file, names before a line.

        Else, return the file that the whole text is about: `**File path**: a/b.py` at its beginning.

        Else, return the files that the text names, as a guess: one of them may have the name that the line is about.
        """
        for above in reversed(self._headings):
            named = above.whole.paths(self._named_files, segment)
            texts = above.whole if segment.kind == "text" else above.texts
            file = texts.last_file(self._named_files, segment)
            if len(named) == 1 and file is not None and is_code(file.path):
                return replace(file, line=None), False
            if named:
                break
        if (subject := self._subject.file(self._named_files, segment)) is not None:
            return replace(subject, line=None), False
        last = self._document.last_file(self._named_files, segment)
        paths = [path for path in self._document.paths(self._named_files, segment) if is_code(path)]
        if last is None or not paths:
            return None, False
        return replace(last, path=paths[0], line=None, listed_with=tuple(paths)), True

    def _is_no_line(
        self, mention: Mention, segment: Segment, row: Iterable[Segment], file: WrittenReference | None
    ) -> bool:
        """Return whether `L12` is a label, and not a line of the file that the segment names before it."""
        if is_label(segment.text, mention, file):
            return True
        return file is None and (self._has_tags or self._is_id(mention, segment, row))

    def _is_id(self, mention: Mention, segment: Segment, row: Iterable[Segment]) -> bool:
        """Return whether a mention is all that a cell has, and no cell before it names a file: the ID of its row."""
        if segment.kind != "cell" or segment.text.strip("`* ") != segment.text[mention.start : mention.end]:
            return False
        before = takewhile(lambda cell: cell is not segment, islice(row, _MAX_CELLS))
        return not any(self._named_files(cell) for cell in before)

    def _column_files(self, segment: Segment) -> list[WrittenReference]:
        """Return the files that the head of a cell's column names."""
        return self._named_files(replace(segment, text=segment.column)) if segment.column else []

    def _row_file(self, segment: Segment, row: Iterable[Segment]) -> WrittenReference | None:
        """Return the file of a cell: that of its column, of a location, of the first cell, else the only one before."""
        if len(heads := self._column_files(segment)) == 1:
            return heads[0]
        cells = list(islice(row, _MAX_CELLS))
        for cell in cells:
            if cell.is_location and cell is not segment and (files := self._named_files(cell)):
                return files[-1]
        before = list(takewhile(lambda cell: cell is not segment, cells))
        for searched in (before[:1], before):
            named = {one.path: one for cell in searched for one in self._named_files(cell)}
            if len(named) == 1:
                return next(iter(named.values()))
        return None

    def _from_headings(self, segment: Segment) -> tuple[WrittenReference | None, bool]:
        """Return the file of a label below a heading above, else the one that the heading names.

        The labels below the title of the document are too far from the lines below its other headings.
        """
        is_nearest, between = True, set[str]()
        for above in reversed(self._headings):
            in_heading = above.heading.last_file(self._named_files, segment)
            label = above.labels.file(self._named_files, segment) if is_nearest or above.level > 1 else None
            if label is not None and (in_heading is None or label.path != in_heading.path):
                self._titled = label.path
                return label, True
            if (texts := above.texts.last_file(self._named_files, segment)) is not None:
                between.add(texts.path)
            if in_heading is not None:
                is_about = is_nearest or (segment.kind == "heading" and above.heading.is_about_file(self._named_files))
                self._titled = in_heading.path
                return in_heading, not is_about or bool(between - {in_heading.path})
            is_nearest = False
        return None, True


def _each_line(mention: Mention, text: str, line: CarriedLine, *, is_here: bool) -> Iterator[CarriedLine]:
    """Yield a line of a file for each range of a mention; `line` has the file. `is_here`: the same text names it."""
    file = line.written
    name = NAME_BEFORE.search(text, max(0, mention.start - MAX_JOIN), mention.start)
    about = names_about(text, mention, file if is_here else None)
    is_next = is_here and is_next_to(text, mention, file)
    called = CALLED.search(text[max(0, mention.start - MAX_JOIN) : mention.start])
    line = replace(
        line,
        called=called[1] if called and not is_next else "",
        name=name[1] if name else about[-1] if about and line.place == "loose" and file.listed_with else "",
        listed=() if is_here else file.listed_with,
        about=about,
        words=tuple(HUMPS.findall(text[max(0, mention.start - MAX_LEAD) : mention.start]))[-MAX_OTHERS:],
        is_next=is_next,
        is_shared=line.is_shared or (not is_next and is_after_code(text, mention)),
    )
    words = text[mention.start : mention.end]
    for first, last in mention.ranges:
        yield replace(line, written=WrittenReference(mention.start, mention.end, words, file.path, first, last))
