"""Recognise file names, and find them in a run of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from urllib.parse import unquote

from remit.lazy import lazy_pattern

#: Endings that mark a name without a slash as a file name.
EXTENSIONS = frozenset(
    """
    astro bash bat bazel bzl c cc cfg clj cljs cmake conf cpp cs csproj css csv cu cxx dart diff ejs el elm env erb
    erl ex exs fish fs fsx gd gemspec go gql gradle graphql groovy h haml handlebars hbs hcl hh hpp hrl hs htm html
    hxx ini ipynb java jl js json json5 jsonc jsonl jsx kt kts less lisp lock log lua m make mako md mdx mjs cjs ml
    mli mm mod nim nix org pas php pl plist pm po prisma properties proto ps1 pug purs py pyi pyx r rake rb rego rkt
    rs rst s sass scala scm scss sh sln sol sql styl svelte svg sum swift tcl template tex tf tfvars thrift tmpl toml
    ts tsv tsx twig txt v vb vhd vim vue xaml xhtml xml xsd yaml yml zig zsh
    asm bicep cppm cshtml cts cuh dts dtsi f90 frag gdshader glsl heex hlsl inl ino jsonnet liquid metal mts njk psd1
    psm1 qml razor sbt sv svh tpp tres tscn vert vhdl wgsl
    abap adoc arb avsc cairo capnp cls cob cypher dpr drawio eex f95 fbs g4 j2 jinja jinja2 kql luau mdc mermaid mmd
    odin pbxproj phtml plantuml prefab psql puml resx rmd slint smithy storyboard tpl uproject vy xib xsl xslt
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
#: The endings of code by language; languages that are often used together are one.
LANGUAGES = tuple(
    frozenset(endings.split())
    for endings in (
        "js jsx mjs cjs ts tsx mts cts vue svelte coffee",
        "c h cc cpp cxx hh hpp hxx cu m mm swift",
        "java kt kts scala sc groovy clj",
        "cs fs vb xaml razor cshtml",
        "glsl vert frag comp geom hlsl wgsl metal",
        *("py pyi pyx ipynb", "rb erb", "php", "go", "rs", "hs", "sol", "dart", "lua", "ex exs erl", "jl", "pl pm"),
    )
)
#: Products, code and plain words that look like file names.
_NOT_FILES = frozenset(
    """
    node.js next.js vue.js nuxt.js react.js express.js three.js d3.js ember.js backbone.js chart.js
    console.log math.log process.env import.meta.env
    n/a and/or i/o a/b w/h read/write input/output client/server request/response true/false yes/no km/h tcp/ip
    """.split()  # noqa: SIM905 (as above)
)
#: Files that are known by their whole name, in any folder.
_USUAL_NAMES = frozenset(
    """
    dockerfile containerfile makefile gnumakefile rakefile gemfile podfile procfile jenkinsfile vagrantfile brewfile
    justfile caddyfile fastfile appfile tiltfile pipfile build workspace license readme codeowners
    """.split()  # noqa: SIM905 (as above)
)
#: Endings of files that are also top-level domains, labels that hosts start with, and ports that they listen on.
_COUNTRIES = frozenset({"sh", "rs", "py", "md", "pl", "cc", "ml", "pm", "cs", "gd", "st", "mm", "mk", "ps", "nim"})
_HOST_LABELS = frozenset({"api", "app", "www", "auth", "db", "mail", "cdn", "git", "staging", "dev", "prod", "proxy"})
PORTS = frozenset({22, 25, 53, 80, 443, 3000, 3306, 5000, 5432, 6379, 8000, 8080, 8443, 8888, 9000, 9090, 27017})
#: Longer runs of path characters are not paths.
MAX_PATH = 1024
#: The number of endings of a Japanese or Chinese run that are tried as names.
_MAX_TRIES = 12
#: A text often names the same files again: the answers for this many names are kept.
_MEMORY = 2_048

CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f"
_HOST_NAME = lazy_pattern(r"(?:[a-z0-9][a-z0-9\-]*\.)+[a-z]{2,}$")
_HIDDEN = lazy_pattern(r"\.[a-z][a-z\-_]{2,30}$")
_LETTER = lazy_pattern(r"[^\W\d_]")
_EXTENSION = lazy_pattern(r"\.([A-Za-z0-9]{1,12})$")
_MOMENT = lazy_pattern(r"\d+/\d+/\d+T\d+$")
_HOST = lazy_pattern(r"(?>(?:[A-Za-z0-9\-]++\.)+)(?:com|org|net|io|dev|edu|gov)$")
_IMAGE = lazy_pattern(r"(?:\b(?:docker|podman|images?|containers?|registry)\b[^\n]*|\bFROM\s+)[`\"']?$", re.IGNORECASE)
_IMAGE_TAG = lazy_pattern(r":[\w.\-]{1,20}[`\"']?\s(?:docker\s|container\s|base\s)?(?:images?|containers?|tags?)\b")
_ABBREVIATIONS = lazy_pattern(r"[A-Z]{2,5}/[A-Z0-9.]{1,5}$")
_BRACKET = lazy_pattern(r"[()\[\]{}]")
#: A path that stands for any file, or is below a folder of the environment (`$HOME/x.py`); and a name that stands
#: for any after `e.g.` or before `format`.
_PLACEHOLDER = lazy_pattern(
    r"(?:^|/)(?:(?:path|absolute/path|full/path|relative/path)/to/|some/(?:path|file|dir|folder)\b|path/file\.\w+$|"
    r"(?:your|some)[-_]?(?:file|module|project|repo|repository|app|path|code|component|package|script|folder|dir|"
    r"directory|service|test|config|feature|class|name|page|plugin)s?(?:[-_./]|$)|xxx\.\w{1,5}$)|(?-i:YYYY[-_]?MM[-_]?DD|^\$(?:[A-Z][A-Z0-9_]+|\{[A-Z][A-Z0-9_]+\})/)",
    re.IGNORECASE,
)
_ANY_FOLDERS = frozenset(
    ("src", "lib", "app", "test", "tests", "foo", "bar", "baz", "path", "dir", "folder", "a", "b", "x")
)
_ANY_NAMES = frozenset(
    (
        *("foo", "bar", "baz", "qux", "foobar", "example", "sample", "file", "filename", "module", "my_file", "myfile"),
        *("x", "y", "a", "b"),
    )
)
_ANY_ENDING = lazy_pattern(r"(?:[-_]?\d)?\.\w{1,5}")
_EXAMPLE_BEFORE = lazy_pattern(
    r"(?:\be\.g\.|\bi\.e\.|\b(?:for (?:example|instance)|such as|like|formats?|form|notation|syntax|style|written as))"
    r"[\s,:(`\"'*]{1,6}$",
    re.IGNORECASE,
)
_EXAMPLE_LABEL = lazy_pattern(r"(?:^|[\s*_])examples?[*_]{0,2}\s?[:：][*_]{0,2}\s?[`*_\"']{0,3}$", re.IGNORECASE)
_EXAMPLE_AFTER = lazy_pattern(r"[`\"'*)]{0,3}[\s-](?:format|form|style|notation|syntax|pattern)\b", re.IGNORECASE)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_UNUSUAL = lazy_pattern(r"[=\\%]")
_KEY = lazy_pattern(r"[\w.\-]++=(?=.)")
_ESCAPE = lazy_pattern(r"\\([_\[\](){}.+\-~$@&])")
_GLUED = lazy_pattern(rf"\.([A-Za-z0-9]{{1,12}})(?=[{CJK}])")
_WORDS = lazy_pattern(rf"[{CJK}]*")
_LEAD = lazy_pattern(rf"[^/\\]*[{CJK}](?=[A-Za-z0-9_@.$~+(\[])")
#: A character that ends most paths, and an ending that is not one of `EXTENSIONS`.
_ODD = lazy_pattern(r"[:,'!;#^ ]")
_ODD_ENDING = lazy_pattern(r"[\w.-]*\w\.[a-z][a-z0-9]{1,9}$")

Exists = Callable[[str], bool]


@lru_cache(_MEMORY)
def is_source(path: str) -> bool:
    """Return whether the ending of a path is that of a programming language."""
    ending = path.rpartition(".")[2].lower()
    return any(ending in endings for endings in LANGUAGES)


@lru_cache(_MEMORY)
def looks_like_file(path: str) -> bool:
    """Return whether a name has a slash or a known ending; other names count only if such a file exists."""
    if not has_letter(path) or path.lower() in _NOT_FILES:
        return False
    if "/" in path or "\\" in path:
        return not _MOMENT.match(path) and not _ABBREVIATIONS.match(path)
    return has_known_ending(path)


@lru_cache(_MEMORY)
def is_usual_name(path: str) -> bool:
    """Return whether a path without an ending is the usual name of a file: `Dockerfile`, `.eslintrc`."""
    name = path.rpartition("/")[2].lower()
    return name in _USUAL_NAMES or name.endswith(".org") or bool(_HIDDEN.match(name))


@lru_cache(_MEMORY)
def has_odd_name(path: str) -> bool:
    """Return whether a name is that of a file only if there is such a file: `a:b/c.ts`, `My page.md`, `api.tsp`."""
    if odd := _ODD.search(path):
        return not has_known_ending(path[: odd.start()]) and _EXTENSION.search(path) is not None
    return _ODD_ENDING.match(path) is not None and not has_known_ending(path)


#: A path may have a character that ends most paths: `handlers/account:member/list.ts`, `docs/My page.md`. A run of path
#: characters ends there, so a few longer texts are looked up in the checkout: at most this many parts are joined.
_MAX_PARTS = 4
_PATH_CHARACTERS = r"\w./\\@+\-$~\[\](){}%&="
_NEXT = lazy_pattern(rf"[:,'!;#^](?![\d:])[{_PATH_CHARACTERS}]++")
_WORDS_BEFORE = lazy_pattern(rf"(?:[{_PATH_CHARACTERS}]{{1,30}}\s){{1,{_MAX_PARTS}}}$")
_LOOK_BACK = 100
SIGNS = frozenset(":,'!;#^")


def is_host(name: str, port: int) -> bool:
    """Return whether a name with the ending of a file is a host: `example.org`, `api.example.rs:8443`."""
    if not _HOST_NAME.match(name):
        return False
    labels = name.split(".")
    if labels[-1] == "org":
        return True
    is_address = port in PORTS or labels[0] in _HOST_LABELS
    return labels[-1] in _COUNTRIES and len(labels) >= 3 and is_address


def is_placeholder(path: str, before: str = "", after: str = "") -> bool:
    """Return whether a path stands for any file: `path/to/file.py`, or `foo.py` after `e.g.` or before `format`."""
    is_any, may_be_any = _placeholder_kind(path)
    return (
        is_any
        or bool(_EXAMPLE_LABEL.search(before))
        or (may_be_any and bool(_EXAMPLE_BEFORE.search(before) or _EXAMPLE_AFTER.match(after)))
    )


@lru_cache(_MEMORY)
def _placeholder_kind(path: str) -> tuple[bool, bool]:
    """Return whether a path stands for any file, and whether it does so as an example."""
    *folders, name = path.lower().split("/")
    stem = name.partition(".")[0].rstrip("0123456789").rstrip("-_")
    is_any = stem in _ANY_NAMES and _ANY_FOLDERS.issuperset(folders) and _ANY_ENDING.fullmatch(name, len(stem))
    return bool(_PLACEHOLDER.search(path)), bool(is_any)


def looks_like_route(path: str) -> bool:
    """Return whether a path in a column of addresses is one: it starts with a slash, or has no ending of a file."""
    return path.startswith("/") or not has_known_ending(path)


def has_letter(name: str) -> bool:
    """Return whether a name has a letter; numbers and marks alone are not a file name."""
    return bool(_LETTER.search(name))


@lru_cache(_MEMORY)
def has_known_ending(path: str) -> bool:
    """Return whether a name has the ending of a source file; `.env` is a name without one, and `group.Go` a symbol."""
    ending = _EXTENSION.search(path)
    if ending is None or ending.start() == 0:
        return False
    word = ending.group(1)
    return word.lower() in EXTENSIONS and (word.islower() or word.isupper() or not word.isalpha())


def is_url_or_host(text: str, start: int, path: str) -> bool:
    """Return whether a missing path is an address without `https://`, or the name of a container image."""
    if "/" not in path:
        return False
    host = path.split("/", 1)[0]
    return ("." in host and bool(_HOST.match(host))) or (
        not has_known_ending(path)
        and bool(_IMAGE.search(text, max(0, start - 60), start) or _IMAGE_TAG.match(text, start + len(path)))
    )


@lru_cache(_MEMORY)
def unwrap(path: str) -> tuple[int, int]:
    """Return the start and end of the path inside surrounding brackets."""
    first, end = 0, len(path)
    if not _BRACKET.search(path):
        return first, end
    partner = _partners(path)
    while first < end:
        if path[first] in "([{" and (first not in partner or partner[first] == end - 1):
            end -= first in partner
            first += 1
        elif path[end - 1] in ")]}" and end - 1 not in partner:
            end -= 1
        else:
            break
    for position in range(first, end):
        if path[position] in "([{" and position not in partner:  # `a/b.py(line`, `at com.acme.Shop.open(Shop.java`
            return (first, position) if has_known_ending(path[first:position]) else (position + 1, end)
    return first, end


def _partners(path: str) -> dict[int, int]:
    """Map the position of each matched bracket to the position of its partner."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for bracket in _BRACKET.finditer(path):
        position, mark = bracket.start(), bracket.group()
        if mark in "([{":
            opened.append(position)
        elif opened and path[opened[-1]] == _PAIRS[mark]:
            partner[position] = opened.pop()
            partner[partner[position]] = position
    return partner


def path_parts(run: str, exists: Exists) -> Iterator[tuple[int, int]]:
    """Yield the possible spans of paths in a run; Japanese and Chinese text has no space after a path."""
    cuts = [ending.end() for ending in _GLUED.finditer(run) if ending.group(1).lower() in EXTENSIONS]
    if cuts and not (len(run) <= MAX_PATH and exists(run[slice(*unwrap(run))])):
        yield from zip([0, *cuts], [*cuts, len(run)], strict=True)
    else:
        yield 0, len(run)


def resolve_written(path: str, exists: Exists) -> tuple[str, int]:
    """Return the path inside a run, and the number of characters before it."""
    if path.isascii() and not _UNUSUAL.search(path):
        return path, 0
    if exists(path):
        return path, 0
    if key := _KEY.match(path):  # `file=a/b.py`
        return path[key.end() :], key.end()
    if "\\" in path and exists(plain := _ESCAPE.sub(r"\1", path)):  # Markdown's backslashes
        return plain, 0
    if "%" in path and exists(plain := _unquoted(path)):  # the target of a link
        return plain, 0
    if path.isascii():
        return path, 0
    return _without_lead(path, exists)


def unquoted_target(path: str, exists: Exists) -> str:
    """Return the path that the target of a link names: `%20` is a space, unless a file has these three characters."""
    if "%" not in path or exists(path):
        return path
    plain = _unquoted(path)
    return plain if plain.isprintable() else path


def _unquoted(path: str) -> str:
    return unquote(path)


def _without_lead(path: str, exists: Exists) -> tuple[str, int]:
    """Remove Japanese or Chinese words directly before a path; return the path and the number of removed characters."""
    lead = _LEAD.match(path)
    if lead and (path[lead.end()] != "." or "/" in path[lead.end() :] or exists(path[lead.end() :])):
        return path[lead.end() :], lead.end()
    words = _WORDS.match(path)
    for cut in range(1, min(words.end() if words else 0, _MAX_TRIES)):
        if exists(path[cut:]):
            return path[cut:], cut
    return path, 0


def joined_end(text: str, start: int, end: int, exists: Exists) -> int:
    """Return the end of the path that a run from `start` to `end` begins, if there is such a file; else `end`."""
    ends: list[int] = []
    following = _NEXT.match(text, end)
    while following is not None and len(ends) < _MAX_PARTS and following.end() - start <= MAX_PATH:
        ends.append(following.end())
        following = _NEXT.match(text, following.end())
    for last in reversed(ends):
        first, cut = unwrap(text[start:last])
        path = text[start + first : start + cut].rstrip(".")
        if ("/" in path or has_known_ending(path)) and exists(path):
            return last
    return end


def spaced_start(text: str, start: int, end: int, exists: Exists) -> int:
    """Return the start of the path that ends with the name from `start` to `end`, if words before it belong to it."""
    if text[start - 1 : start] != " ":
        return start
    words = _WORDS_BEFORE.search(text, max(0, start - _LOOK_BACK), start)
    first = words.start() if words else start
    while first < start:
        if not text[first : first + 1].isdigit() and exists(text[first:end].lstrip("(")):
            return first + len(text[first:end]) - len(text[first:end].lstrip("("))
        first = text.index(" ", first, start) + 1
    return start
