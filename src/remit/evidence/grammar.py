"""The grammar of references: every form in which people write "this file, this line".

    a/b.py:12  a/b.py:12-18  a/b.py:12:5  a/b.py#L12-L18  a/b.py:L12  a/b.py(12)  a/b.py:12,18
    line 12 of a/b.py   a/b.py, line 12   "a/b.py" (lines 12-18)   a/b.py の12行目   a/b.py 第12行

Runs of path characters are found with a possessive pattern that cannot start inside a run, so the cost is
linear whatever the text. `docs/evidence.md` lists the forms with examples; the tests run them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

#: Endings that make a name a file's name although it has no slash.
EXTENSIONS = frozenset(
    """
    astro bash bat bazel bzl c cc cfg clj cljs cmake conf cpp cs csproj css csv cu cxx dart diff ejs el elm env erb
    erl ex exs fish fs fsx gd gemspec go gql gradle graphql groovy h haml handlebars hbs hcl hh hpp hrl hs htm html
    hxx ini ipynb java jl js json json5 jsonc jsonl jsx kt kts less lisp lock log lua m make mako md mdx mjs cjs ml
    mli mm mod nim nix org pas php pl plist pm po prisma properties proto ps1 pug purs py pyi pyx r rake rb rego rkt
    rs rst s sass scala scm scss sh sln sol sql styl svelte svg sum swift tcl template tex tf tfvars thrift tmpl toml
    ts tsv tsx twig txt v vb vhd vim vue xaml xhtml xml xsd yaml yml zig zsh
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
#: Names of products that look like files.
_PRODUCTS = frozenset(
    "node.js next.js vue.js nuxt.js react.js express.js three.js d3.js ember.js backbone.js chart.js".split()  # noqa: SIM905
)

#: Longer runs of path characters are not paths.
MAX_PATH = 1024

_PATH_CHARACTERS = r"\w./\\@+\-$~\[\](){}%&="
_RUN = re.compile(rf"(?<![{_PATH_CHARACTERS}])(?:[A-Za-z]:(?=[\\/]))?[{_PATH_CHARACTERS}]++")
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.\-]{0,20}://[^\s<>`\"')\]]*+")
_NUMBERS = r"L?(\d{1,9})(?:\s?[-–—]\s?L?(\d{1,9})(?![A-Za-z0-9_])|:(\d{1,9})(?:-\d{1,9})?)?"
_COLON_TAIL = re.compile(rf":{_NUMBERS}((?:,\d{{1,9}}(?:[-–]\d{{1,9}})?)*+)(?![A-Za-z0-9_]|\.\d|:\d|-[A-Za-z0-9_])")
_HASH_TAIL = re.compile(r"#L(\d{1,9})(?:C\d+)?(?:-L?(\d{1,9})(?:C\d+)?)?(?![A-Za-z0-9_])")
_PAREN_TAIL = re.compile(r"\((\d{1,9})(?:,\s?\d{1,9})?\)$")
_WORD_TAIL = re.compile(
    r"[`\"'*]{0,3}(?:,?\s{1,2}\(?|\s?\()(?:(?:at|on|around|near)\s)?(?:lines?|ln\.?|L)\s?#?(\d{1,9})"
    r"(?:\s?(?:-|–|—|to|through|and)\s?(\d{1,9}))?(?![A-Za-z0-9_])\)?",
    re.IGNORECASE,
)
_CJK_TAIL = re.compile(r"[`\"'*]{0,3}\s?(?:の|的|:|：)?\s?第?(\d{1,9})(?:\s?[-–~～〜至]\s?(\d{1,9}))?\s?行")
_LINE_OF = re.compile(
    r"\b(?:lines?|L)\s?(\d{1,9})(?:\s?(?:-|–|—|to|through)\s?(\d{1,9}))?\s(?:of|in|from)\s(?:the\sfile\s)?[`\"'*]{0,3}$",
    re.IGNORECASE,
)
_LINE_WORD = re.compile(r"\bl(?:ines?|n)?\.?\s?#?\d|\d\s?行", re.IGNORECASE)
_CURSOR = re.compile(r"^(\d{1,9}):(\d{1,9}):([^\s:]+)$")
_SPACED = re.compile(rf"^([^`:\n]{{1,300}}?)(?::{_NUMBERS}|#L(\d{{1,9}})(?:-L?(\d{{1,9}}))?)$")
_LIST = re.compile(r",(\d{1,9})(?:[-–](\d{1,9}))?")
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff01-\uff60"
_CJK_LEAD = re.compile(rf"^[{_CJK}]+(?=[A-Za-z0-9_@])")
_LETTER = re.compile(r"[^\W\d_]")
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,12})$")


class Written(NamedTuple):
    """A reference as written: where in the text, and what it names. `line` None: the file as a whole."""

    start: int
    end: int
    text: str
    path: str
    line: int | None
    end_line: int | None


Exists = Callable[[str], bool]


def nowhere(_: str) -> bool:
    """The `exists` of a text that is read without a repository."""
    return False


def references_in(text: str, exists: Exists = nowhere, *, bare: bool = False) -> list[Written]:
    """Every reference in one line of text, in order; with `bare`, paths without a line too."""
    text = _URL.sub(lambda url: " " * len(url[0]), text)
    spaced = list(_spaced_spans(text, exists, bare=bare)) if " " in text and "`" in text else []
    for written in spaced:
        text = text[: written.start] + " " * (written.end - written.start) + text[written.end :]
    in_words = bare or bool(_LINE_WORD.search(text))
    found: list[Written] = []
    for run in _RUN.finditer(text):
        following = text[run.end() : run.end() + 1]
        if in_words or following in (":", "#") or text[run.end() - 1] == ")":
            found.extend(_from_run(text, run, exists, bare=bare))
    return sorted([*spaced, *found]) if spaced else found


def looks_like_file(path: str) -> bool:
    """Whether a name has a slash or a known ending; other names count only if such a file exists."""
    if not _LETTER.search(path) or path.lower() in _PRODUCTS:
        return False
    if "/" in path or "\\" in path:
        return True
    ending = _EXTENSION.search(path)
    return ending is not None and ending.group(1).lower() in EXTENSIONS and ending.start() > 0


def cursor_place(info: str) -> Written | None:
    """`12:18:a/b.py`, as some editors write after an opening fence."""
    found = _CURSOR.match(info)
    if not found:
        return None
    return Written(0, len(info), info, found.group(3), int(found.group(1)), int(found.group(2)))


def _from_run(text: str, run: re.Match[str], exists: Exists, *, bare: bool) -> Iterator[Written]:
    path, start = _trimmed(text, run)
    tail = _COLON_TAIL.match(text, run.end()) or _HASH_TAIL.match(text, run.end())
    if tail is None and path.endswith(")") and (paren := _PAREN_TAIL.search(path)):
        path = path[: paren.start()]
        if looks_like_file(path):
            yield Written(start, run.end(), text[start : run.end()], path, int(paren.group(1)), None)
        return
    if tail is None:
        yield from _from_words(text, run, path, start, exists, bare=bare)
        return
    if _is_decoy(text, run.start(), path):
        return
    path, start = _without_cjk_lead(text, path, start, exists)
    if not (looks_like_file(path) or exists(path)):
        return
    line = int(tail.group(1))
    last = tail.group(2)
    yield Written(start, tail.end(), text[start : tail.end()], path, line, int(last) if last else None)
    if tail.re is _COLON_TAIL and tail.group(4):
        for more in _LIST.finditer(tail.group(4)):
            last = more.group(2)
            yield Written(start, tail.end(), f"{path}:{more[0][1:]}", path, int(more[1]), int(last) if last else None)


def _trimmed(text: str, run: re.Match[str]) -> tuple[str, int]:
    """The run without brackets that only stand around it, and without the text of a link before it."""
    path, start = run.group(), run.start()
    if len(path) > MAX_PATH:
        return "", start
    if (link := path.rfind("](")) >= 0:
        path, start = path[link + 2 :], start + link + 2
    for opening, closing in ("()", "[]", "{}"):
        while path.startswith(opening) and path.count(opening) > path.count(closing):
            path, start = path[1:], start + 1
        while path.endswith(closing) and path.count(closing) > path.count(opening):
            path = path[:-1]
    return path, start


def _is_decoy(text: str, start: int, path: str) -> bool:
    """A run that follows a colon (`host:80/a:3`, `ns::name`) or a star (`*.py`) is not a path of its own."""
    before = text[start - 1] if start else ""
    if before == ":":
        return path[:1].isdigit() or text[start - 2 : start] == "::"
    return before == "*" and path[:1] in "./"


def _without_cjk_lead(text: str, path: str, start: int, exists: Exists) -> tuple[str, int]:
    """Japanese and Chinese put no space before a path; words before it are not part of it."""
    lead = _CJK_LEAD.match(path)
    if lead and not exists(path) and text[start - 1 : start] != "`":
        return path[lead.end() :], start + lead.end()
    return path, start


def _from_words(
    text: str, run: re.Match[str], path: str, start: int, exists: Exists, *, bare: bool
) -> Iterator[Written]:
    """A path whose line is told in words, or that has none."""
    stripped = path.rstrip(".,;!?)")
    path = stripped if looks_like_file(stripped) or exists(stripped) else path
    path, start = _without_cjk_lead(text, path, start, exists)
    if _is_decoy(text, run.start(), path) or not (looks_like_file(path) or exists(path)):
        return
    end = start + len(path)
    tail = _WORD_TAIL.match(text, end) or _CJK_TAIL.match(text, end)
    if tail is not None:
        last = tail.group(2)
        yield Written(start, tail.end(), text[start : tail.end()], path, int(tail[1]), int(last) if last else None)
        return
    before = _LINE_OF.search(text[max(0, start - 60) : start])
    if before is not None:
        begun = max(0, start - 60) + before.start()
        last = before.group(2)
        yield Written(begun, end, text[begun:end], path, int(before[1]), int(last) if last else None)
    elif bare:
        yield Written(start, end, path, path, None, None)


def _spaced_spans(text: str, exists: Exists, *, bare: bool) -> Iterator[Written]:
    """Names with spaces count only inside backticks, and only if such a file exists."""
    at = 0
    for place, span in enumerate(text.split("`")):
        if place % 2 and " " in span:
            found = _SPACED.match(span.strip())
            path = found.group(1) if found else span.strip()
            if (found or bare) and exists(path):
                numbers = [int(n) for n in (found.groups()[1:] if found else ()) if n]
                line = numbers[0] if numbers else None
                last = numbers[1] if found and len(numbers) > 1 and not found.group(4) else None
                yield Written(at, at + len(span), span.strip(), path, line, last)
        at += len(span) + 1
