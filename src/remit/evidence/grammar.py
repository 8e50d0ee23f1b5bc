"""The grammar of references: every form in which people write "this file, this line".

    a/b.py:12  a/b.py:12-18  a/b.py:12:5  a/b.py#L12-L18  a/b.py:L12  a/b.py(12)  a/b.py:12,18
    line 12 of a/b.py   a/b.py, line 12   "a/b.py" (lines 12-18)   a/b.py の12行目   a/b.py 第12行

Runs of path characters are found with a possessive pattern that cannot start inside a run, and what stands
beside a path is looked at once, so the cost is linear whatever the text. `grammar_examples` lists the forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.evidence.file_names import (
    MAX_PATH,
    Exists,
    has_known_ending,
    has_letter,
    is_url_or_host,
    looks_like_file,
    path_parts,
    resolve_written,
    unwrap,
)
from remit.evidence.line_ranges import (
    LineMention,
    Range,
    lines_after,
    lines_alone,
    lines_at_end,
    lines_before,
    lines_in_brackets,
    next_path,
)
from remit.lazy import lazy_pattern

__all__ = ["Exists", "WrittenReference", "cursor_place", "looks_like_file", "never_exists", "references_in"]

#: Accents and vowel signs that are characters of their own.
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0e7f\u1ab0-\u1aff\u20d0-\u20ff\u3099\u309a"
_PATH_CHARACTERS = rf"\w./\\@+\-$~\[\](){{}}%&={_MARKS}"
_RUN = lazy_pattern(rf"(?<![{_PATH_CHARACTERS}])(?:[A-Za-z]:(?=[\\/]))?[{_PATH_CHARACTERS}]++")
_PLAIN_SPAN = lazy_pattern(rf"[{_PATH_CHARACTERS}:]*+$")
_URL = lazy_pattern(r"\b[A-Za-z][A-Za-z0-9+.\-]{0,20}://[^\s<>`\"')\]]*+")
_LINK = lazy_pattern(
    r"\[((?:[^\[\]\n]++|\[[^\[\]\n]*+\])++)\]"
    r"\(([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+){0,8}+)(?:\s++\"[^\"\n]*+\")?\)"
)
_BRACES = lazy_pattern(
    r"(?<![\w./\\@+\-$~{])([\w./\\@+\-$~]*+)\{([\w./@+\-]++(?:,\s?[\w./@+\-]++){1,19}+)\}([\w./\\@+\-$~]*+)"
)
_SPAN_PATH = lazy_pattern(r"(.{1,300}?)(?=\s?[:：][~≈]?L?\d|#L\d|$)", re.IGNORECASE)
_PATH_LIKE = lazy_pattern(r"[./\\(\[@]")
_TOLD = lazy_pattern(r"[`*]{0,3}[:：#]")
_BRACKET_TAIL = lazy_pattern(r"(?:[(\[]L?\d[\dL\-]*|@L?\d+)[)\]]*$", re.IGNORECASE)
_BRACKET_ENDS = frozenset(")]0123456789")
#: `<project-root>/a/b.py`, `…/b.py`
_STANDS_FOR_ROOT = lazy_pattern(
    r"(?:<[\w\-]{0,20}(?:root|repo|project|workspace|checkout)[\w\-]{0,20}>|…)$", re.IGNORECASE
)
_LINE_WORD = lazy_pattern(r"\b(?:lines?|ln|ll?)\b|\bL\d|行", re.IGNORECASE)
#: Without one of these no line is told.
_MARK = lazy_pattern(r"[:：#(（@\[]|line|\bl(?:n\.?)?\s?\d|行|row|\+", re.IGNORECASE)
_DIGIT = lazy_pattern(r"\d")
_GLOB = lazy_pattern(r"\*{1,2}[\w./]")
_CURSOR = lazy_pattern(r"^(\d{1,9}):(\d{1,9}):([^\s:]+)$")
#: Documents have headings that are numbers; in other files `#12` can only be a line.
_MARKUP = (".md", ".mdx", ".rst", ".html", ".htm", ".org", ".tex")


class WrittenReference(NamedTuple):
    """A reference as written: where in the text, and what it names. `line` None: the file as a whole."""

    start: int
    end: int
    text: str
    path: str
    line: int | None
    end_line: int | None


def never_exists(_: str) -> bool:
    """The `exists` of a text that is read without a repository."""
    return False


def references_in(text: str, exists: Exists = never_exists, *, bare: bool = False) -> list[WrittenReference]:
    """Every reference in one line of text, in order; with `bare`, paths without a line too."""
    if not bare and not (_DIGIT.search(text) and _MARK.search(text)):
        return []
    found: list[WrittenReference] = []
    if "](" in text:
        text = _take(text, _links(text, exists, bare=bare), found)
    if "://" in text:
        text = _URL.sub(lambda url: " " * len(url[0]), text)
    if "`" in text:
        text = _take(text, _odd_spans(text, exists, bare=bare), found)
    if "{" in text and "," in text:
        text = _take(text, _braces(text, exists, bare=bare), found)
    whole = found
    found = [written for run in _runs(text, exists, bare=bare) for written in _from_run(text, *run, exists, bare=bare)]
    return sorted([*whole, *found], key=lambda written: written.start) if whole else found


def cursor_place(info: str) -> WrittenReference | None:
    """`12:18:a/b.py`, as some editors write after an opening fence."""
    found = _CURSOR.match(info)
    if not found:
        return None
    return WrittenReference(0, len(info), info, found.group(3), int(found.group(1)), int(found.group(2)))


def _take(text: str, spans: Iterator[tuple[int, int, list[WrittenReference]]], found: list[WrittenReference]) -> str:
    """Keep what stands in some spans, and give the text back with blanks in their place."""
    pieces: list[str] = []
    done = 0
    for start, end, written in spans:
        found.extend(written)
        start = max(start, done)  # noqa: PLW2901 (lines told before a path may stand in the span before it)
        pieces += (text[done:start], " " * (end - start))
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _written(text: str, start: int, end: int, path: str, ranges: tuple[Range, ...]) -> list[WrittenReference]:
    """An entry for each line or range; the first has the words as they stand."""
    first, *others = ranges
    return [
        WrittenReference(start, end, text[start:end], path, *first),
        *(
            WrittenReference(start, end, f"{path}:{line}" + (f"-{last}" if last else ""), path, line, last)
            for line, last in others
        ),
    ]


def _runs(text: str, exists: Exists, *, bare: bool) -> Iterator[tuple[int, int]]:
    """Where paths may stand."""
    in_words = bare or bool(_LINE_WORD.search(text))
    for run in _RUN.finditer(text):
        name, end = run.group(), run.end()
        if not (in_words or _PATH_LIKE.search(name) or _TOLD.match(text, end)) or not has_letter(name):
            continue
        start = run.start()
        if name.isascii():
            yield start, end
        else:
            yield from ((start + first, start + last) for first, last in path_parts(name, exists))


def _from_run(text: str, start: int, end: int, exists: Exists, *, bare: bool) -> Iterator[WrittenReference]:
    if end - start > MAX_PATH:
        return
    begun, told = start, None
    if text[end - 1] in _BRACKET_ENDS:
        told, end = _in_brackets(text, start, end, exists)
    start, end = _trimmed(text, start, end)
    path, skipped = resolve_written(text[start:end], exists)
    start += skipped
    if _is_decoy(text, begun, end, path) or not _is_file(text, begun, path, exists):
        return
    told = told or lines_after(text, end, in_column=bare, is_source=_is_source(path))
    if told is not None and has_known_ending(next_path(text, told)):
        told = None
    told = told or lines_before(text, start, end)
    if _is_globbed(text, begun, told.end if told else end, path):
        return
    if told is not None:
        if path[0] == "_" and text[told.end : told.end + 1] == "_" and not exists(path):
            path, start = path[1:], start + 1  # emphasis
        yield from _written(text, min(start, told.start), told.end, path, told.ranges)
    elif bare:
        yield WrittenReference(start, end, text[start:end], path, None, None)


def _in_brackets(text: str, start: int, end: int, exists: Exists) -> tuple[LineMention | None, int]:
    """The lines in brackets at the end of a run, and where the path before them ends."""
    tail = _BRACKET_TAIL.search(text, start, end)
    stem = text[start : tail.start()] if tail else ""
    if tail is None or not (has_known_ending(stem) or (stem and exists(stem.lstrip("([")))):
        return None, end
    return lines_in_brackets(text, tail.start()), tail.start()


def _is_file(text: str, begun: int, path: str, exists: Exists) -> bool:
    if not looks_like_file(path):
        return bool(path) and exists(path)
    return not is_url_or_host(text, begun, path) or exists(path)


def _is_source(path: str) -> bool:
    return has_known_ending(path) and not path.lower().endswith(_MARKUP)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A run without what only stands around it: the text of a link, brackets, the end of a sentence."""
    if (link := text.rfind("](", start, end)) >= 0:
        start = link + 2
    first, last = unwrap(text[start:end])
    start, end = start + first, start + last
    if text.startswith("/", start, end) and _STANDS_FOR_ROOT.search(text, max(0, start - 40), start):
        start += 1
    return start, start + len(text[start:end].rstrip("."))


def _is_decoy(text: str, start: int, end: int, path: str) -> bool:
    """Whether a run is a piece of something else: `host:80/a:3`, `ns::name`, `src/*.py`, `page#part`."""
    before = text[start - 1] if start else ""
    if before == ":":
        return path[:1].isdigit() or text[start - 2 : start] == "::"
    if before == "#":
        return True
    if text[end : end + 1] != "*" or before == "*":
        return False
    return path.endswith("/") or bool(_GLOB.match(text, end))


def _is_globbed(text: str, start: int, end: int, path: str) -> bool:
    """Whether a star before a run belongs to it, as in `*.py:12`, and is not the emphasis that ends after it."""
    return path[:1] in "./" and text[start - 1 : start] == "*" and text[end : end + 1] != "*"


def _links(text: str, exists: Exists, *, bare: bool) -> Iterator[tuple[int, int, list[WrittenReference]]]:
    """`[label](target)`: one reference, whichever of the two tells the file and the line."""
    for link in _LINK.finditer(text):
        label, target = link.groups()
        if len(label) > MAX_PATH or len(target) > MAX_PATH:
            continue
        inside = references_in(label, exists) if _DIGIT.search(label) else []
        if "://" in target:
            found = [(_under(written.path, target, exists), written) for written in inside]
            yield (
                *link.span(),
                [WrittenReference(*link.span(), w.text, path, w.line, w.end_line) for path, w in found],
            )
            continue
        targets = references_in(target, exists, bare=True)
        if len(targets) == 1:
            yield _of_link(text, link, inside, targets[0], bare=bare)


def _of_link(
    text: str, link: re.Match[str], inside: list[WrittenReference], target: WrittenReference, *, bare: bool
) -> tuple[int, int, list[WrittenReference]]:
    (start, end), path = link.span(), target.path
    own = [
        WrittenReference(
            start, end, written.text, path if _ends_with(path, written.path) else written.path, *written[4:]
        )
        for written in inside
    ]
    if target.line is not None:
        cited = WrittenReference(start, end, target.text, *target[3:])
        return start, end, [*(written for written in own if written[3:] != cited[3:]), cited]
    if own:
        return start, end, own
    told: LineMention | None = None
    ranges = lines_at_end(link[1]) or (lines_alone(link[1]) if _LINE_WORD.search(link[1]) else ())
    if not ranges and (told := lines_after(text, end) or lines_before(text, start, end)):
        start, end, ranges = min(start, told.start), max(end, told.end), told.ranges
    if ranges:
        return start, end, _written(text, start, end, path, ranges)
    return start, end, [WrittenReference(start, end, path, path, None, None)] if bare else []


def _ends_with(path: str, ending: str) -> bool:
    return path == ending or path.endswith("/" + ending.removeprefix("./"))


def _under(path: str, url: str, exists: Exists) -> str:
    """The path in a checkout that a label means whose link leads to the same file on a server."""
    address = url.split("#", 1)[0].split("?", 1)[0]
    if exists(path) or not _ends_with(address, path):
        return path
    folders = address.split("/")
    begins = len(folders) - path.count("/") - 2
    longer = ("/".join(folders[at:]) for at in range(begins, max(begins - 20, 2), -1))
    return next((candidate for candidate in longer if exists(candidate)), path)


def _odd_spans(text: str, exists: Exists, *, bare: bool) -> Iterator[tuple[int, int, list[WrittenReference]]]:
    """Names with spaces or other odd characters count inside backticks, if such a file exists."""
    at = 0
    for place, span in enumerate(text.split("`")):
        start, at = at, at + len(span) + 1
        if place % 2 == 0 or _PLAIN_SPAN.match(span):
            continue
        inside = span.strip()
        name = _SPAN_PATH.match(inside) if len(inside) <= MAX_PATH else None
        if name is None or not exists(name[1]):
            continue
        begun = start + len(span) - len(span.lstrip())
        end = begun + len(name[1])
        told = lines_after(text, end, in_column=bare) or lines_before(text, begun, end)
        if told is not None:
            yield begun, max(end, told.end), _written(text, begun, max(end, told.end), name[1], told.ranges)
        elif bare:
            yield begun, end, [WrittenReference(begun, end, name[1], name[1], None, None)]


def _braces(text: str, exists: Exists, *, bare: bool) -> Iterator[tuple[int, int, list[WrittenReference]]]:
    """`src/{a,b}.py` is two files."""
    for found in _BRACES.finditer(text):
        paths = [found[1] + name.strip() + found[3] for name in found[2].split(",")]
        if not all(len(path) <= MAX_PATH and (looks_like_file(path) or exists(path)) for path in paths):
            continue
        told = lines_after(text, found.end(), in_column=bare) or lines_before(text, *found.span())
        if told is None and not bare:
            continue
        start, end = found.start(), max(found.end(), told.end) if told else found.end()
        ranges: tuple[tuple[int | None, int | None], ...] = told.ranges if told else ((None, None),)
        yield (
            start,
            end,
            [WrittenReference(start, end, text[start:end], path, *lines) for path in paths for lines in ranges],
        )
