"""The grammar of references: every written form of "this file, this line"; `tools/reference_forms.py` lists them.

Runs of path characters are found with a possessive pattern that cannot start inside a run, and the text around a
path is examined once, so the cost is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from remit.contract.feedback import INVISIBLE
from remit.evidence.file_names import (
    MAX_PATH,
    SIGNS,
    Exists,
    has_known_ending,
    has_letter,
    is_host,
    is_url_or_host,
    joined_end,
    looks_like_file,
    path_parts,
    resolve_written,
    spaced_start,
    unquoted_target,
    unwrap,
)
from remit.evidence.line_ranges import (
    LINE_SIGN,
    LINE_WORD,
    LineMention,
    Range,
    is_in_string,
    lines_after,
    lines_alone,
    lines_at_end,
    lines_before,
    lines_in_brackets,
    next_path,
)
from remit.lazy import lazy_pattern

_DIGIT = lazy_pattern(r"\d")
#: An ASCII text in lower case without one of these names no line. Each branch starts with one letter or sign,
#: so that the search skips all other characters: it takes a tenth of the time of the expressions that it stands for.
_SIGN = lazy_pattern(r":|\#|\(|@|\[|\+|`|line|row|ln?\.?\s?\d")
#: The form that results are asked to use, alone in its text: a/b.py:12, a/b.py:12-18. Only the name has dots.
_CANONICAL = lazy_pattern(
    r"(`?)((?>(?:[A-Za-z0-9_-]++/)*)[A-Za-z0-9_-]++(?>(?:\.[A-Za-z0-9_-]++)+)):([0-9]{1,9})(?:-([0-9]{1,9}))?\1"
)
#: An address, or a built-in module of Node.js: `node:internal/errors:496`.
_URL = lazy_pattern(r"\b[A-Za-z][A-Za-z0-9+.\-]{0,20}://[^\s<>`\"')\]]*+|\bnode:(?=[a-z_])[\w./]++(?::\d++){0,2}")
#: The query of an address: `?view=file&path=a.py#L10`.
_QUERY = lazy_pattern(r"(?<![\w/])\?[\w.\-]{1,40}=[^\s<>`\"')\]]*+")
#: A path with a part that stands for many: `migrations/<timestamp>_users.sql`; not `a.py:12<br>b.py:3`.
_NO_TEMPLATE = (
    r"(?!/?(?:a|b|br|code|dd|del|details|div|dl|dt|em|hr|i|img|ins|kbd|li|ol|p|pre|s|small|span|strong|sub|summary|sup|"
    r"table|td|th|tr|tt|u|ul|wbr)\b|[\w\-]{0,20}(?:root|repo|project|workspace|checkout))"
)
_TEMPLATE_PATH = lazy_pattern(
    rf"(?<![\w./@+\-])[\w./@+\-]*+(?:(?<=[\w/.\-])<{_NO_TEMPLATE}[\w \-]{{1,40}}>|"
    rf"<{_NO_TEMPLATE}[\w \-]{{1,40}}>(?=[_./\-]))"
    r"[\w./@+<>\-]*+"
)
_CURSOR = lazy_pattern(r"^(?:[\w+#.\-]{1,20}:)?(\d{1,9})[:-](\d{1,9}):([^\s:]+)$")
#: A line with more references is refused: it has more claims than are checked.
MAX_REFERENCES = 20_000
#: Combining accents and vowel signs, the first and the last of each range.
MARKS = (
    *(("\u0300", "\u036f"), ("\u0591", "\u05c7"), ("\u0610", "\u061a"), ("\u064b", "\u065f"), ("\u0900", "\u0e7f")),
    *(("\u1ab0", "\u1aff"), ("\u20d0", "\u20ff"), ("\u3099", "\u309a")),
)
_PATH_CHARACTERS = r"\w./\\@+\-$~\[\](){}%&=" + "".join(map("-".join, MARKS))
_RUN = lazy_pattern(rf"(?<![{_PATH_CHARACTERS}])(?:[A-Za-z]:(?=[\\/]))?[{_PATH_CHARACTERS}]++")
_PLAIN_SPAN = lazy_pattern(rf"[{_PATH_CHARACTERS}:]*+$")
#: The slash before a drive: `file:///C:/a/b.py`.
_DRIVE = lazy_pattern(r"/(?=[A-Za-z]:/)")
_LINK = lazy_pattern(
    r"\[((?>(?:[^\[\]\n]++|\[[^\[\]\n]*+\])+))\]"
    r"\((?:<([^<>\n]++)>|([^()\s]*+(?>(?:\([^()\s]*+\)[^()\s]*+){0,8}))|(/[^()<>\"\n#:]{1,400}+(?:#L|:)\d[\d:L-]{0,20}))"
    r"(?:\s++\"[^\"\n]*+\")?\)"
)
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+\-]{1,20}:(?!//|\d|L\d)")
#: A file of another machine below a folder with a space: `/Users/me/New project/app.js`.
_SPACED = lazy_pattern(
    r"(?:[A-Za-z]:)?(?:/(?:[^/\s`]{1,80}|(?=[^/\n]{0,80} )[^/\n`\"'<>|:.]{1,80})){2,20}/[^/\s`]{1,100}\.\w{1,8}"
)
_BRACES = lazy_pattern(
    r"(?<![\w./\\@+\-$~{])([\w./\\@+\-$~]*+)\{([\w./@+\-]++(?>(?:,\s?[\w./@+\-]++){1,19}))\}([\w./\\@+\-$~]*+)"
)
#: What a reader does not see in a path: a character without a shape, and tags that only change how letters look.
_UNSEEN = rf"(?:{INVISIBLE}|</?(?:b|em|font|i|kbd|mark|s|small|span|strong|sub|sup|tt|u|wbr)(?:\s[^<>]{{0,80}})?/?>)"
#: Signs that look like those of a path.
_LOOKALIKES = str.maketrans({"\u2024": ".", "\uff0e": ".", "\uff0f": "/", "\u2236": ":", "\ua789": ":"})
#: A path with these, or with a sign that is written as an entity of HTML: `a&#46;py:12`.
_DISGUISED = lazy_pattern(
    rf"(?<![\w./\\:#\[\]-])(?>(?:(?!{INVISIBLE})[\w./\\:#\[\]-])+)"
    rf"(?:{_UNSEEN}|[{''.join(map(chr, _LOOKALIKES))}]|&(?:#\d{{1,7}}|#x[0-9a-f]{{1,6}}|\w{{2,20}});)"
    rf"(?>(?:[\w./\\:：#\[\];&{''.join(map(chr, _LOOKALIKES))}-]|{_UNSEEN})*)",
    re.IGNORECASE,
)
_UNSEEN_PARTS = lazy_pattern(_UNSEEN, re.IGNORECASE)
_SPAN_PATH = lazy_pattern(r"(.{1,300}?)(?=\s?[:：][~≈]?L?\d|#L\d|$)", re.IGNORECASE)
_PATH_SIGN = lazy_pattern(r"[./\\]")
_PATH_LIKE = lazy_pattern(r"[./\\(\[@]")
_LINE_SIGNS = (":", "：", "#")
_BRACKET_TAIL = lazy_pattern(r"(?:[(\[]L?\d[\dL\-]*|@L?\d+)[)\]]*$", re.IGNORECASE)
_BRACKET_ENDS = frozenset(")]0123456789")
#: `<project-root>/a/b.py`, `…/b.py`
_STANDS_FOR_ROOT = lazy_pattern(
    r"(?:<[\w\-]{0,20}(?:root|repo|project|workspace|checkout)[\w\-]{0,20}>|…)$", re.IGNORECASE
)
#: A member of a file before its line: `a/b.py::Login::open:12`.
_MEMBER = lazy_pattern(r"(?>(?:::\w++(?:\(\))?){1,6})(?=:\d)")
_METHOD = lazy_pattern(r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)[`*_\s:|]{1,6}$")
#: A part of a path that stands for a value: `users/{id}.json`.
_TEMPLATE = lazy_pattern(r"\{[\w-]{1,40}\}")
_GLOB = lazy_pattern(r"\*{1,2}[\w./]")
#: Documents have headings that are numbers; in other files `#12` can only be a line.
_MARKUP = (".md", ".mdx", ".rst", ".html", ".htm", ".org", ".tex")


class WrittenReference(msgspec.Struct, frozen=True, gc=False):
    """A reference as written: its position in the text and its target. `line` is None for a whole file."""

    start: int
    end: int
    text: str
    path: str
    line: int | None
    end_line: int | None
    #: Whether it is the target of a Markdown link.
    is_link: bool = False


def never_exists(_: str) -> bool:
    """Return False: the `exists` function for a text without a repository."""
    return False


def references_in(
    text: str, exists: Exists = never_exists, *, bare: bool = False, is_sentence: bool = False
) -> list[WrittenReference]:
    """Return every reference in one line of text, in order; with `bare`, also paths without a line.

    In a sentence, a number after a colon and a space is not a line: `a/b.py`: 12 tests.
    """
    has_sign = ":" in text or "&" in text  # most have a colon, which may be written as `&colon;`
    if not bare and not (may_cite(text) and (has_sign or LINE_SIGN.search(text))):
        return []
    if (canonical := canonical_reference(text)) is not None:
        return [canonical]
    if exists is never_exists and not _PATH_SIGN.search(text):
        return []  # only a file that exists has a name without a slash or an ending
    references: list[WrittenReference] = []
    if "](" in text:
        text = _extract(text, _links(text, exists, bare=bare), references)
    text = without_addresses(text)
    if "&" in text or "<" in text or not text.isascii():
        text = _extract(text, _disguised(text, exists, bare=bare), references)
    if "`" in text:
        text = _extract(text, _odd_spans(text, exists, bare=bare, is_sentence=is_sentence), references)
    if "{" in text and "," in text:
        text = _extract(text, _braces(text, exists, bare=bare, is_sentence=is_sentence), references)
    in_runs: list[WrittenReference] = []
    for run in _runs(text, exists, bare=bare):
        in_runs.extend(_from_run(text, *run, exists, bare=bare, is_sentence=is_sentence))
        if len(in_runs) > MAX_REFERENCES:
            return in_runs
    in_runs = _without_covered(in_runs)
    return sorted([*references, *in_runs], key=lambda written: written.start) if references else in_runs


def _extract(
    text: str, spans: Iterator[tuple[int, int, list[WrittenReference]]], references: list[WrittenReference]
) -> str:
    """Append the references of the spans to `references`, and return the text with the spans blanked out."""
    pieces: list[str] = []
    done = 0
    for start, end, written in spans:
        references.extend(written)
        start = max(start, done)  # noqa: PLW2901 (the lines before a path may be inside the previous span)
        pieces += (text[done:start], " " * (end - start))
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _written(text: str, start: int, end: int, path: str, ranges: tuple[Range, ...]) -> list[WrittenReference]:
    """Return an entry for each line or range; all of them have the same words."""
    words = text[start:end]  # one object, however long the list is
    return [WrittenReference(start, end, words, path, line, last) for line, last in ranges]


def _without_covered(references: list[WrittenReference]) -> list[WrittenReference]:
    """Return references without those that are the start of a later one, a name with spaces."""
    kept: list[WrittenReference] = []
    for reference in references:
        while kept and reference.start <= kept[-1].start and kept[-1].end < reference.end and "/" in kept[-1].path:
            kept.pop()
        kept.append(reference)
    return kept


def _runs(text: str, exists: Exists, *, bare: bool) -> Iterator[tuple[int, int]]:
    """Yield the spans that may contain a path."""
    in_words = bare or bool(LINE_WORD.search(text))
    done = 0
    for run in _RUN.finditer(text):
        name, end = run.group(), run.end()
        if run.start() < done:
            continue
        if text[end : end + 1] in SIGNS and exists is not never_exists:
            done = end = joined_end(text, run.start(), end, exists)
            name = text[run.start() : end]
        if name.isascii() and name.isidentifier() and not exists(name):
            continue  # a word
        if not (in_words or _PATH_LIKE.search(name) or _is_before_sign(text, end)) or not has_letter(name):
            continue
        start = run.start()
        if name.isascii():
            yield start, end
        else:
            yield from ((start + first, start + last) for first, last in path_parts(name, exists))


def _is_before_sign(text: str, end: int) -> bool:
    """Return whether the sign of a line follows, with at most three marks before it: `Makefile`:12."""
    return text[end : end + 4].lstrip("`*").startswith(_LINE_SIGNS)


def _from_run(
    text: str, start: int, end: int, exists: Exists, *, bare: bool, is_sentence: bool
) -> Iterator[WrittenReference]:
    if end - start > MAX_PATH:
        return
    run_start, mention = start, None
    if text[end - 1] in _BRACKET_ENDS:
        mention, end = _in_brackets(text, start, end, exists)
    start, end = _trimmed(text, start, end)
    path, skipped = resolve_written(text[start:end], exists)
    start += skipped
    if _is_decoy(text, run_start, end, path) or not _is_file(text, run_start, path, exists):
        return
    member = _MEMBER.match(text, end) if text.startswith("::", end) and has_known_ending(path) else None
    after = member.end() if member else end
    if mention is None and not is_in_string(text, start, end):
        mention = lines_after(text, after, in_column=bare and not is_sentence, is_source=_is_source(path))
    if mention is not None and has_known_ending(next_path(text, mention)):
        mention = None
    before = lines_before(text, start, end) if mention is None else None
    is_route = mention is not None and _is_route(text, end, path) and not exists(path.lstrip("/"))
    mention = mention or before
    if is_route or _is_globbed(text, run_start, mention.end if mention else end, path):
        return
    if mention is not None and is_host(path, mention.ranges[0][0]) and not exists(path):
        return
    yield from _with_lines(text, start, end, path, mention, exists, bare=bare)


def _with_lines(
    text: str, start: int, end: int, path: str, mention: LineMention | None, exists: Exists, *, bare: bool
) -> Iterator[WrittenReference]:
    if (mention is not None or bare) and exists is not never_exists and not exists(path):
        first = spaced_start(text, start, end, exists)
        path, start = text[first:end] if first < start else path, first
    if mention is not None:
        if path[0] == "_" and text[mention.end : mention.end + 1] == "_" and not exists(path):
            path, start = path[1:], start + 1  # emphasis
        yield from _written(text, min(start, mention.start), mention.end, path, mention.ranges)
    elif bare:
        yield WrittenReference(start, end, text[start:end], path, None, None)


def _in_brackets(text: str, start: int, end: int, exists: Exists) -> tuple[LineMention | None, int]:
    """Return the lines in brackets at the end of a run, and the end of the path before them."""
    tail = _BRACKET_TAIL.search(text, start, end)
    stem = text[start : tail.start()] if tail else ""
    if tail is None or not (has_known_ending(stem) or (stem and exists(stem.lstrip("([")))):
        return None, end
    if "/" not in stem and exists is not never_exists and not exists(stem.lstrip("([")):
        return None, start  # a call: `history.go(0)`
    return lines_in_brackets(text, tail.start()), tail.start()


def _is_file(text: str, start: int, path: str, exists: Exists) -> bool:
    if not looks_like_file(path) or _TEMPLATE.search(path):
        return bool(path) and exists(path)
    return not is_url_or_host(text, start, path) or exists(path)


def _is_source(path: str) -> bool:
    return has_known_ending(path) and not path.lower().endswith(_MARKUP)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a run without the text of a link, marks and brackets around it and the end of a sentence."""
    if (link := text.rfind("](", start, end)) >= 0:
        start = link + 2
    if text.startswith("~~", start, end):
        start += 2  # struck through
    end -= 2 * text.endswith("~~", start, end)
    end -= text.endswith((").", "]."), start, end)
    first, last = unwrap(text[start:end])
    start, end = start + first, start + last
    if text.startswith("~", start, end) and text[start + 1 : start + 2] not in ("/", "\\"):
        start += 1  # `~a/b.py:12` is about line 12
    if text.startswith(("/", "\\"), start, end) and _STANDS_FOR_ROOT.search(text, max(0, start - 40), start):
        start += 1
    return start, start + len(text[start:end].rstrip("."))


def _is_decoy(text: str, start: int, end: int, path: str) -> bool:
    """Return whether a run is part of something else: `host:80/a:3`, `ns::name`, `src/*.py`, `page#part`, `GET /a`."""
    before = text[start - 1] if start else ""
    if path[:1] == "/" and _METHOD.search(text, max(0, start - 12), start):
        return True
    if before == ":":
        return path[:1].isdigit() or text[start - 2 : start] == "::"
    if before == "#" or (before == "…" and path[:1] in "/\\" and text[start - 2 : start - 1] in ("/", "\\")):
        return True
    if text[end : end + 1] != "*" or before == "*":
        return False
    return path.endswith(("/", "-", "_")) or bool(_GLOB.match(text, end))


def _is_route(text: str, end: int, path: str) -> bool:
    """Return whether a path is more likely a route, a command or two words: `/delete` (line 12), on/off (line 12)."""
    return "/" in path and not has_known_ending(path) and text[end : end + 1] not in (":", "#")


def _is_globbed(text: str, start: int, end: int, path: str) -> bool:
    """Return whether a star before a run is part of a glob, as in `*.py:12`, and not an emphasis mark."""
    if text[start - 1 : start] != "*" or text[end : end + 1] == "*":
        return False
    return path[:1] in "./" or text[start - 2 : start - 1] == "/"


def _links(text: str, exists: Exists, *, bare: bool) -> Iterator[tuple[int, int, list[WrittenReference]]]:
    """Yield the references of `[label](target)`. A link is one reference, its target; the label may have the line."""
    for link in _LINK.finditer(text):
        spaced = link[2] or link[4]
        label, target = link[1], spaced.replace(" ", "%20") if spaced else link[3]
        if len(label) > MAX_PATH or len(target) > MAX_PATH:
            continue
        if target.startswith("file://"):
            target = _DRIVE.sub("", target.removeprefix("file://"))
        if _SCHEME.match(target):
            yield (*link.span(), [])  # an address without a server: `mailto:ann@shop.org`
            continue
        if "://" in target:
            yield (*link.span(), [])
            continue
        targets = references_in(target, exists, bare=True)
        targets = [replace(one, path=unquoted_target(one.path, exists)) for one in targets]
        if len(targets) == 1:
            yield _link_references(text, link, references_in(label, exists), targets[0], bare=bare)


def _link_references(
    text: str, link: re.Match[str], inside: list[WrittenReference], target: WrittenReference, *, bare: bool
) -> tuple[int, int, list[WrittenReference]]:
    """Return the references of a link to a file; `inside` are those of its label.

    A label that names another file, or another line, is a separate reference: a reader sees only the label.
    """
    (start, end), path = link.span(), target.path
    same = [label for label in inside if _name(label.path) == _name(path)]
    others = [replace(label, start=start, end=end) for label in inside if label not in same]
    if target.line is not None:
        others += [replace(label, start=start, end=end) for label in same if label.line not in (None, target.line)]
        last = next((label.end_line for label in same if label.line == target.line), None)
        cited = WrittenReference(start, end, target.text, path, target.line, target.end_line or last, is_link=True)
        return start, end, [cited, *others]
    lined = [label for label in same if label.line is not None]
    if lined:
        own_lines = [
            WrittenReference(start, end, label.text, path, label.line, label.end_line, is_link=True) for label in lined
        ]
        return start, end, [*own_lines, *others]
    mention: LineMention | None = None
    ranges = lines_at_end(link[1]) or (lines_alone(link[1]) if LINE_WORD.search(link[1]) else ())
    if not ranges and (mention := lines_after(text, link.end()) or lines_before(text, start, end)):
        start, end, ranges = min(start, mention.start), max(end, mention.end), mention.ranges
    if ranges:
        written = [replace(reference, is_link=True) for reference in _written(text, start, end, path, ranges)]
        return start, end, [*written, *others]
    whole = [WrittenReference(start, end, path, path, None, None, is_link=True)] if bare else []
    return start, end, [*whole, *others]


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _odd_spans(
    text: str, exists: Exists, *, bare: bool, is_sentence: bool
) -> Iterator[tuple[int, int, list[WrittenReference]]]:
    """Yield the names with spaces or other unusual characters inside backticks, if such a file exists."""
    position = 0
    for number, span in enumerate(text.split("`")):
        start, position = position, position + len(span) + 1
        if number % 2 == 0 or _PLAIN_SPAN.match(span):
            continue
        inside = span.strip()
        name = _SPAN_PATH.match(inside) if len(inside) <= MAX_PATH else None
        if name is None or not (exists(name[1]) or _SPACED.fullmatch(name[1].replace("\\", "/"))):
            continue
        first = start + len(span) - len(span.lstrip())
        end = first + len(name[1])
        mention = lines_after(text, end, in_column=bare and not is_sentence) or lines_before(text, first, end)
        if mention is not None:
            last = max(end, mention.end)
            yield first, last, _written(text, first, last, name[1], mention.ranges)
        elif bare:
            yield first, end, [WrittenReference(first, end, name[1], name[1], None, None)]


def _braces(
    text: str, exists: Exists, *, bare: bool, is_sentence: bool
) -> Iterator[tuple[int, int, list[WrittenReference]]]:
    """Yield the files of brace expressions: `src/{a,b}.py` is two files."""
    for braces in _BRACES.finditer(text):
        names = [name.strip() for name in braces[2].split(",")]
        paths = [braces[1] + name + braces[3] for name in names if name.strip(".")]  # `{a,b,...}` leaves names out
        if not all(len(path) <= MAX_PATH and (looks_like_file(path) or exists(path)) for path in paths):
            continue
        mention = lines_after(text, braces.end(), in_column=bare and not is_sentence) or lines_before(
            text, *braces.span()
        )
        if mention is None and not bare:
            continue
        start, end = braces.start(), max(braces.end(), mention.end) if mention else braces.end()
        ranges: tuple[tuple[int | None, int | None], ...] = mention.ranges if mention else ((None, None),)
        words = text[start:end]
        yield (
            start,
            end,
            [WrittenReference(start, end, words, path, *lines) for path in paths for lines in ranges],
        )


def _disguised(text: str, exists: Exists, *, bare: bool) -> Iterator[tuple[int, int, list[WrittenReference]]]:
    """Yield the references that a reader sees where the text has invisible parts, look-alikes or entities."""
    for run in _DISGUISED.finditer(text):
        seen = _UNSEEN_PARTS.sub("", _unescaped(run[0])).translate(_LOOKALIKES) if len(run[0]) <= MAX_PATH else ""
        # A reader sees `&amp;#46;` as `&#46;`: it is replaced once.
        if seen != run[0] and not _DISGUISED.search(seen) and (written := references_in(seen, exists, bare=bare)):
            yield (
                *run.span(),
                [replace(reference, start=run.start(), end=run.end(), text=run[0]) for reference in written],
            )


def _unescaped(text: str) -> str:
    """Return a text with its HTML entities replaced."""
    import html  # late: it builds tables of all entities, and few documents have one

    return html.unescape(text)


def may_cite(text: str) -> bool:
    """Return whether a text may name a line, with or without its file; most cells of a table do not."""
    if _DIGIT.search(text) is None:
        return False
    is_sure = "`" in text or ":" in text or "&" in text or not text.isascii()  # the usual signs
    return is_sure or _SIGN.search(text.lower()) is not None


def without_addresses(text: str) -> str:
    """Return a text of the same length without addresses, their queries, and paths that stand for many files."""
    if "://" in text or "node:" in text:
        text = _URL.sub(_blank, text)
    if "?" in text and "=" in text:
        text = _QUERY.sub(_blank, text)
    return _TEMPLATE_PATH.sub(_blank, text) if "<" in text else text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def canonical_reference(text: str) -> WrittenReference | None:
    """Return the reference that is all of a text, in the form that results are asked to use: `a/b.py:12-18`.

    Nothing else in the text and no file can change how it is read. A name that may be a host has another form.
    """
    match = _CANONICAL.fullmatch(text) if len(text) < MAX_PATH else None
    if match is None:
        return None
    mark, path, line, last = match.groups()
    if not looks_like_file(path) or not has_known_ending(path):
        return None
    if "/" not in path and (path.count(".") > 1 or path.endswith(".org")):
        return None
    start, end = len(mark), len(text) - len(mark)
    return WrittenReference(start, end, text[start:end], path, int(line), int(last) if last else None)


def cursor_reference(info: str) -> WrittenReference | None:
    """Parse `12:18:a/b.py` or `py:12-18:a/b.py`, which some editors write after an opening fence."""
    match = _CURSOR.match(info)
    if not match:
        return None
    return WrittenReference(0, len(info), info, match.group(3), int(match.group(1)), int(match.group(2)))
