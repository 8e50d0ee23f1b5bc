"""Where a text names the file of the lines below: paragraphs, entries of lists, headings and labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

import msgspec
from msgspec.structs import replace

from remit.evidence.line_mentions import has_hint
from remit.evidence.segments import Segment, may_start_key
from remit.evidence.written import WrittenReference
from remit.lazy import lazy_pattern

#: The files that a segment names, with or without a line, in order.
NamedFiles = Callable[[Segment], list[WrittenReference]]

#: A line that states the file of what is below it: `**File:** a/b.py`, `<files>a/b.py</files>`.
_KEY = lazy_pattern(
    r"[\s*_>\-+]*+(?:<(?:files?|path)>|(?:(?:primary|main|affected|target|source)\s)?"
    r"(?:files?(?:\s(?:path|name|location|reviewed|under review|analy[sz]ed))?|paths?|locations?|"
    r"ファイル|場所|文件|位置|檔案|파일|archivo|datei|fichier|arquivo)(?:\([s]\))?[*_]{0,2}\s?[:：])",
    re.IGNORECASE,
    (
        *(
            "file",
            "path",
            "location",
            "ファイル",
            "場所",
            "文件",
            "位置",
            "檔案",
            "파일",
            "archivo",
            "datei",
            "fichier",
        ),
        "arquivo",
    ),
)
#: An entry of a plan's list of files: `- Modify: a/b.py`.
_MODIFIED = lazy_pattern(
    r"[\s*_>\-+]*+(?:modify|edit|update|change)[*_]{0,2}\s?[:：]",
    re.IGNORECASE,
    ("modify", "edit", "update", "change"),
)
#: The heading of a part that describes what the whole text is about: `## 0) Metadata`.
_ABOUT_ALL = lazy_pattern(
    r"[\W\d_]*+(?:metadata|meta data|overview|general|file (?:info(?:rmation)?|details|metadata|overview)|"
    r"about(?: the file)?|scope|概要|概述|概览|元数据|基本信息|基本情報|개요|resumen|resumo|"
    r"übersicht|aperçu|обзор)\W*+$",
    re.IGNORECASE,
    (
        *("meta", "overview", "general", "file", "about", "scope", "概要", "概述", "概览", "元数据", "基本", "개요"),
        *("resumen", "resumo", "übersicht", "aperçu", "бз"),
    ),
)
_WORD = lazy_pattern(r"\w++(?:[-'’]\w++)*+")
SENTENCE_ENDS = lazy_pattern(r"[.!?][)*_`]{0,3}\s+(?=\S)|[。！？]")
#: A label has at most this many words besides its file.
_MAX_LABEL_WORDS = 8
_MAX_LABEL = 300
#: The title of a text about one file has at most this many words besides its name.
_MAX_TITLE_WORDS = 2
#: What comes between two files of a list: marks, and at most one short word that is not a preposition.
_LISTED = lazy_pattern(
    r"[`*_)\]\"'\s]*+(?:[,;/&+、，]|(?:[,、，]?\s?(?!(?:in|of|to|by|as|is|via|from|for|vs)\b)[^\W\d_]{1,4}))[\s`*_(\[\"']*+$",
    re.IGNORECASE,
)
_MAX_GAP = 20
#: The sentence above a list may start this many lines above it.
_MAX_LEAD_LINES = 4
#: At most this many files around a line are tried.
MAX_OTHERS = 8


class Scope:
    """Segments that may name the file of a line below them. Each one is searched once, and only if a line needs it."""

    _searched = 0
    _last: WrittenReference | None = None
    _introduced: tuple[WrittenReference | None] | None = None

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        #: Adds the next segment of the text.
        self.add = self._segments.append
        self._paths: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._segments)

    def introduced(self, named_files: NamedFiles) -> WrittenReference | None:
        """Return the only file that the last sentence names if it introduces what follows: `In a/b.py:`, a label."""
        if self._introduced is None:
            files = list(self._introducing(named_files)) if self._segments else []
            self._introduced = (files[-1] if len({file.path for file in files}) == 1 else None,)
        return self._introduced[0]

    def ends_with(self, file: WrittenReference, named_files: NamedFiles) -> bool:
        """Return whether the last line names a file."""
        return any(one.path == file.path for one in named_files(self._segments[-1]))

    def _introducing(self, named_files: NamedFiles) -> Iterator[WrittenReference]:
        """Yield the files of the last sentence if it introduces what follows."""
        last = self._segments[-1]
        if is_key_line(last.text) or not _ends_with_colon(last.text):
            files = named_files(last) if len(last.text) <= _MAX_LABEL else []
            yield from files if is_key_line(last.text) or not _WORD.search(masked(last.text, files)) else ()
            return
        for segment in self._segments[: -_MAX_LEAD_LINES - 1 : -1]:
            start = max((found.end() for found in SENTENCE_ENDS.finditer(segment.text)), default=0)
            yield from (file for file in named_files(segment) if file.end > start)
            if start:
                return

    def last_file(self, named_files: NamedFiles, current: Segment) -> WrittenReference | None:
        """Return the last file that is named before the current segment."""
        end = len(self._segments) - bool(self._segments and self._segments[-1] is current)
        for at in range(self._searched, end):
            if files := named_files(self._segments[at]):
                self._last = files[-1]
                for file in files[-MAX_OTHERS:]:
                    self._paths.pop(file.path, None)
                    self._paths[file.path] = None
        self._searched = max(self._searched, end)
        return self._last

    def is_about_file(self, named_files: NamedFiles) -> bool:
        """Return whether the text is hardly more than the name of a file: `# src/app.py`, `# Review: src/app.py`."""
        texts = [masked(segment.text, named_files(segment)) for segment in self._segments]
        return sum(len(_WORD.findall(text)) for text in texts) <= _MAX_TITLE_WORDS

    def paths(self, named_files: NamedFiles, current: Segment) -> list[str]:
        """Return the last files that are named before the current segment, the nearest first."""
        self.last_file(named_files, current)
        return list(islice(reversed(self._paths), MAX_OTHERS))


class Labels:
    """Lines that may state the file of the lines below them. Each one is searched once, and only if a line needs it."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._file: WrittenReference | None = None
        #: Whether the last label is a key with its file: `**File:** a/b.py`.
        self.is_key = False
        #: The list that names the file of the last label as modified.
        self._modified_in = 0

    def add(self, segment: Segment) -> None:
        """Add a line that `may_be_label`."""
        self._segments.append(segment)

    def file(self, named_files: NamedFiles, current: Segment) -> WrittenReference | None:
        """Return the file of the last label above the current segment; None if that label has several."""
        for segment in self._segments:
            if segment is not current and (files := named_files(segment)):
                is_one = len({file.path for file in files}) == 1
                self.is_key = is_key_line(segment.text)
                if is_modified_file(segment.text):
                    is_only = is_one and self._modified_in != segment.group
                    self._file, self._modified_in = files[0] if is_only else None, segment.group
                elif self.is_key:
                    self._file = files[0] if is_one else None
                elif is_one and _is_short(segment.text, files):
                    self._file = files[0]
        self._segments = [segment for segment in self._segments if segment is current]
        return self._file


class HeadingScope(msgspec.Struct, frozen=True):
    """A heading above the current line, the paragraphs below it, and its labels."""

    level: int
    heading: Scope
    texts: Scope
    labels: Labels
    #: The heading, and everything below it up to the next one.
    whole: Scope


class EntryScope(msgspec.Struct, frozen=True):
    """An entry of a list that contains the current line: how far it is indented, its lines and its labels."""

    depth: int
    lines: Scope
    labels: Labels


def is_key_line(text: str) -> bool:
    """Return whether a line states the file of what is below it: `**File:** a/b.py`."""
    return len(text) <= _MAX_LABEL and may_start_key(text) and _KEY.match(text) is not None


def is_about_all(heading: str) -> bool:
    """Return whether the part below a heading describes what the whole text is about."""
    return len(heading) <= _MAX_LABEL and _ABOUT_ALL.match(heading) is not None


def is_modified_file(text: str) -> bool:
    """Return whether an entry of a list names a file that the steps below it modify: `- Modify: a/b.py`."""
    return len(text) <= _MAX_LABEL and _MODIFIED.match(text) is not None


def may_be_label(text: str, *, is_alone: bool) -> bool:
    """Return whether a line may state the file of the lines below it; `is_alone`: its paragraph starts with it."""
    return is_key_line(text) or (
        is_alone and len(text) <= _MAX_LABEL and (_ends_with_colon(text) or " " not in text.strip())
    )


def _ends_with_colon(text: str) -> bool:
    return text.rstrip("*_` ").endswith((":", "："))


def _is_short(text: str, files: list[WrittenReference]) -> bool:
    """Return whether a line has only a few words besides its file, and mentions no line: `In a/b.py:`."""
    rest = masked(text, files)
    is_label = len(_WORD.findall(rest)) <= _MAX_LABEL_WORDS and not has_hint(rest)
    return is_label and not SENTENCE_ENDS.search(rest)


def with_lists(text: str, files: list[WrittenReference]) -> list[WrittenReference]:
    """Return files without a line that a text lists, `a/b.py and c/d.py`, each with the others of its list."""
    lists: list[list[WrittenReference]] = []
    for file in files:
        last = lists[-1][-1] if lists else None
        gap = text[last.end : file.start] if last is not None else ""
        is_next = last is not None and last.line is None and file.line is None and len(gap) <= _MAX_GAP
        if is_next and _LISTED.match(gap):
            lists[-1].append(file)
        else:
            lists.append([file])
    found = []
    for one in lists:
        paths = dict.fromkeys(file.path for file in one)
        found += [replace(file, listed_with=tuple(path for path in paths if path != file.path)) for file in one]
    return found


def masked(text: str, own: list[WrittenReference]) -> str:
    """Return a text in which references are blank."""
    pieces: list[str] = []
    done = 0
    for written in own:
        start = max(done, written.start)
        if written.end > start:
            pieces += (text[done:start], " " * (written.end - start))
            done = written.end
    return "".join([*pieces, text[done:]])
