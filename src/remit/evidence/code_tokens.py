"""Split code of any language into tokens, without its comments.

One lexer for all languages: identifiers, numbers, single marks, and the words inside strings. Only the comment signs
depend on the file's ending. The lexer keeps no state between lines except for block comments, so an excerpt gives the
same tokens as the file it comes from. Every pattern is linear.
"""

from __future__ import annotations

import re
from functools import cache

from remit.evidence.quote_text import INVISIBLE, TYPOGRAPHY
from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile

#: A token that stands for omitted code: three dots inside a line, if they are not followed by a name (`...args`).
ELLIPSIS = "…"
#: The same token where it may also be code, such as Python's `...` or a spread.
SPREAD = "..."

_SLASHES = r"(?<![:\\/])//[^\n]*+"
#: Not in a path: `src/**/*.ts`.
_BLOCK = r"\{/\*(?>(?:[^*]++|\*(?!/))*)\*/\}|(?<![\w*/.])/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z)"
_HASH = r"(?<![^\s])\#(?!\[)[^\n]*+"
_DASHES = r"--(?!\[\[)[^\n]*+"
_LONG_LUA = r"--\[\[(?>(?:[^\]]++|\](?!\]))*)(?:\]\]|\Z)"
_SEMICOLON = r"(?<![^\s]);[^\n]*+"
_PERCENT = r"(?<!\\)%[^\n]*+"
_MARKUP = r"<!--(?>(?:[^-]++|-(?!->))*)(?:-->|\Z)"
_HASKELL = r"\{-(?>(?:[^-]++|-(?!\}))*)(?:-\}|\Z)"
_POWERSHELL = r"<\#(?>(?:[^#]++|\#(?!>))*)(?:\#>|\Z)"
_LINE_START = r"(?m:^[ \t]*+(?:\#(?![\[!])|//|;|--(?!-))[^\n]*+)"
#: The comments that may have several lines, and how they start and stop.
_BLOCKS = {
    _BLOCK: ("/*", "*/"),
    _LONG_LUA: ("--[[", "]]"),
    _MARKUP: ("<!--", "-->"),
    _HASKELL: ("{-", "-}"),
    _POWERSHELL: ("<#", "#>"),
}


def _endings(words: str, *patterns: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), "|".join(patterns))


#: The comments of a file, by its ending. Unknown endings have only comments that take whole lines.
_COMMENTS: dict[str, str] = {
    **_endings(
        "c h cc cpp cxx hh hpp hxx cs java js jsx mjs cjs ts tsx mts cts go rs swift kt kts scala dart groovy gradle "
        "proto sol zig v vhdl m mm cu json json5 jsonc less scss sass styl prisma graphql thrift glsl astro "
        "qml hlsl wgsl metal ino pde vala cue bicep fbs move cairo mq4 mq5 mqh ets tsp hx gs",
        _BLOCK,
        _SLASHES,
    ),
    **_endings("css", _BLOCK),
    **_endings("php tf tfvars hcl", _BLOCK, _SLASHES, _HASH),
    **_endings(
        "py pyi pyx rb sh bash zsh fish yaml yml toml pl pm r jl ex exs nim nix conf cfg env properties mk make cmake "
        "dockerfile makefile gemspec rake tcl bzl bazel rego gd coffee cr po gitignore dockerignore editorconfig",
        _HASH,
    ),
    **_endings("ps1 psm1", _POWERSHELL, _HASH),
    **_endings("sql", _BLOCK, _DASHES),
    **_endings("lua", _LONG_LUA, _DASHES),
    **_endings("hs elm purs adb ads", _HASKELL, _DASHES),
    **_endings("clj cljs el lisp scm rkt asm s ini", _SEMICOLON),
    **_endings("erl hrl tex", _PERCENT),
    **_endings("html htm xhtml vue svelte", _MARKUP, _BLOCK, _SLASHES),
    **_endings("xml xaml svg plist xsd csproj md markdown mdx", _MARKUP),
}
_STRING = r"\"(?>(?:[^\"\\\n]++|\\.)*)\"|`(?>(?:[^`\\\n]++|\\.)*)`"
_SINGLE = r"'(?>(?:[^'\\\n]++|\\.)*)'"
#: In Rust an apostrophe also begins a lifetime.
_CHARACTER = r"'(?:[^'\\\n]|\\[^\n]{1,10}?)'"
#: A backslash at the end of a line only continues the line.
_LEXEME = r"\\[^\r\n]|[^\W\d][\w$]*+|\$[\w$]++|\d[\w]*+(?>(?:\.\d\w*+)*)|(?!\\\r?\n)[^\s]"
#: Tokens that cannot start anything else, and line ends.
_PLAIN = r"[^\W\d][\w$]*+|[()\[\],=:\n]"
#: A longer file is not searched for the beginning of a comment.
_MAX_TOKENIZED = 1_000_000
_DOTS = r"\.{3,}+|…"
_WORD = lazy_pattern(rf"{_DOTS}|{_LEXEME}")
_NAME_FOLLOWS = r"(?=[\w$\[({\"'`*&])"
#: In a string, `*` and `&` after dots are text, and not the start of a name: `*Error...*`.
_NAME_IN_STRING = lazy_pattern(r"[\w$\[({\"'`]")
#: A string of three quotation marks that starts a statement, after a colon, or at the beginning of an excerpt.
_DOCSTRING = lazy_pattern(
    r"(?P<start>(?:\A|(?<=[\w)\]]):[ \t]*+(?:\#[^\n]*+)?\n)\s*+)(?P<mark>\"{3}|'{3})"
    r"(?P<body>(?>(?:(?!(?P=mark))[^\\]|\\.)*))(?P=mark)(?=[ \t]*+(?:\n|\Z))",
    re.DOTALL,
)
_DOCUMENTED = frozenset(("py", "pyi", "pyx"))
_CLOSING = frozenset(")]}")
#: Languages in which a line break takes the place of a semicolon.
_OPTIONAL_SEMICOLONS = frozenset(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte", "qml"))
#: Languages in which a string may have either quotation mark.
_TWO_MARKS = _DOCUMENTED | _OPTIONAL_SEMICOLONS
#: A string without other quotation marks, and without parts that are code.
_PLAIN_STRING = lazy_pattern(r"'[\w ./:@+-]*+'$")
_ORPHAN_END = lazy_pattern(r"\*/")
#: Dots in a comment at the end or inside a line of a quote: `{ /* ... */ }`.
_DOTS_COMMENT = lazy_pattern(r"(?m)/\*\s*(?:\.{3,}|…)\s*\*/|(?<=[\s{(;,])(?://|#)\s*(?:\.{3,}|…)\s*$")


class CodeTokens:
    """The tokens of some lines: `words` in order, and for each word the index of its line in `lines`."""

    def __init__(self, text: str, path: str, *, relaxed: bool = False) -> None:
        """Split a text.

        If `relaxed`, leave out commas before a closing bracket and semicolons that the language does not need, shorten
        docstrings to a line, and take both quotation marks for one where the language does.
        """
        self.words: list[str] = []
        self.lines: list[int] = []
        #: The comments in order: the index of the line, and the text without white space.
        self.comments: list[tuple[int, str]] = []
        if not text.isascii():
            text = text.translate(TYPOGRAPHY)
        if relaxed:
            text = _with_short_docstrings(text, path)
        self._split(text, path, one_mark=relaxed and has_two_quotation_marks(path))
        if relaxed:
            self._leave_out_marks(omits_semicolons=may_omit_semicolons(path))

    def _split(self, text: str, path: str, *, one_mark: bool) -> None:
        """Split a text. With `one_mark`, a plain string has double quotation marks."""
        words, lines, comments, line = self.words, self.lines, self.comments, 0
        if end := _orphan(text, path):
            comments.append((0, "".join(text[:end].split())))
            line = text.count("\n", 0, end)
        for word, comment, string, spread, other in _pattern(language_of(path)).findall(text, end):
            if word == "\n":
                line += 1
            elif word:
                words.append(word)
                lines.append(line)
            elif comment:
                comments.append((line, "".join(comment.split())))
                line += comment.count("\n")
            elif string:
                inner = _words_of_string(string, one_mark=one_mark)
                words += inner
                lines += [line] * len(inner)
                line += string.count("\n")
            else:
                words.append(other or (SPREAD if spread else ELLIPSIS))
                lines.append(line)

    def _leave_out_marks(self, *, omits_semicolons: bool) -> None:
        """Leave out commas before a closing bracket, and semicolons at the ends of statements."""
        words, lines = self.words, self.lines
        self.words, self.lines = [], []
        for word, line in zip(words, lines, strict=True):
            if word in _CLOSING and self._ends_with_comma(word, line):
                self.words.pop()
                self.lines.pop()
            if not (omits_semicolons and word == ";"):
                self.words.append(word)
                self.lines.append(line)

    def __len__(self) -> int:
        return len(self.words)

    def _ends_with_comma(self, closing: str, line: int) -> bool:
        """Return whether the last token is a comma that a closing bracket makes superfluous; `(x,)` is a tuple."""
        return bool(self.words) and self.words[-1] == "," and (closing != ")" or self.lines[-1] != line)

    def starts_line(self, position: int) -> bool:
        """Return whether a token is the first one of its line."""
        return position == 0 or self.lines[position - 1] != self.lines[position]

    def of_line(self, position: int) -> list[str]:
        """Return the tokens of the line that contains a token."""
        first = last = position
        while first and self.lines[first - 1] == self.lines[position]:
            first -= 1
        while last + 1 < len(self.words) and self.lines[last + 1] == self.lines[position]:
            last += 1
        return self.words[first : last + 1]


class QuoteTokens:
    """The tokens of a quote. `gaps` has the positions before which the quote marks an omission."""

    def __init__(self, pieces: list[str], path: str, *, relaxed: bool = False) -> None:
        self.words: list[str] = []
        self.starts: set[int] = set()
        self.gaps: set[int] = set()
        self.comments: list[str] = []
        self.has_dots = False
        for number, piece in enumerate(pieces):
            tokens = CodeTokens(_DOTS_COMMENT.sub("...", piece), path, relaxed=relaxed)
            if relaxed and tokens.words[-1:] == [","] and tokens.words[-2:-1] in ([")"], ["]"], ["}"]):
                del tokens.words[-1], tokens.lines[-1]  # the bracket that follows it is not part of the excerpt
            if number:
                self.gaps.add(len(self.words))
            self.starts.update(len(self.words) + index for index in range(len(tokens)) if tokens.starts_line(index))
            self.words += tokens.words
            self.comments += [comment for _, comment in tokens.comments]
        self.has_dots = ELLIPSIS in self.words

    def line_from(self, position: int) -> list[str]:
        """Return the tokens of the quoted line that starts at a position."""
        end = position + 1
        while end < len(self.words) and end not in self.starts:
            end += 1
        return self.words[position:end]

    def ends_block(self, position: int) -> bool:
        """Return whether a line starts at a position, and the line before it has no names."""
        return position in self.starts and not any(map(is_name, self.line_before(position)))

    def line_before(self, position: int) -> list[str]:
        """Return the tokens of the quoted line that ends before a position."""
        start = position - 1
        while start > 0 and start not in self.starts:
            start -= 1
        return self.words[start:position]


def is_name(word: str) -> bool:
    """Return whether a token is a name or a word."""
    return word[0].isalpha() or word[0] == "_"


def may_omit_semicolons(path: str) -> bool:
    """Return whether a line break takes the place of a semicolon in the language of a file."""
    return language_of(path) in _OPTIONAL_SEMICOLONS


def has_two_quotation_marks(path: str) -> bool:
    """Return whether a string in single quotation marks is the same as in double ones in the language of a file."""
    return language_of(path) in _TWO_MARKS


def has_docstring(text: str, path: str) -> bool:
    """Return whether a text has a docstring: a string of three quotation marks that is a whole statement."""
    return language_of(path) in _DOCUMENTED and bool(_DOCSTRING.search(text))


def _with_short_docstrings(text: str, path: str) -> str:
    """Return a text in which the lines of a docstring below its first one are comments."""
    return _DOCSTRING.sub(_shortened, text) if language_of(path) in _DOCUMENTED else text


def _shortened(docstring: re.Match[str]) -> str:
    start, mark, body = docstring.group("start", "mark", "body")
    first, _, rest = body.strip().partition("\n")
    # The number of lines stays the same, so that the tokens below keep their lines.
    removed = body.count("\n")
    return f"{start}{mark}{first.rstrip()}{mark}" + "\n# " * removed + " ".join(rest.split()) * bool(removed)


def _words_of_string(string: str, *, one_mark: bool) -> list[str]:
    """Return the words of a string between its marks. With `one_mark`, a plain string has double quotation marks."""
    mark = '"' if one_mark and _PLAIN_STRING.match(string) else string[0]
    end = len(string) - 1
    if "..." in string or "…" in string:
        words = [_dots_in_string(word, string, end) for word in _WORD.finditer(string, 1, end)]
    else:
        words = _WORD.findall(string, 1, end)
    if not words and end > 1 and "\n" not in string:
        words = [" "]  # a string of blanks is another value than an empty one
    return [mark, *words, mark]


def _dots_in_string(word: re.Match[str], string: str, end: int) -> str:
    """Return a word of a string. Dots stand for omitted code at its start, and if no name follows them."""
    if not word[0].startswith(("...", "…")):
        return word[0]
    return SPREAD if _NAME_IN_STRING.match(string, word.end(), end) and word.start() != 1 else ELLIPSIS


def _orphan(text: str, path: str) -> int:
    """Return the end of a block comment that began above an excerpt, or 0."""
    if _BLOCK not in _comments(language_of(path)):
        return 0
    end = _ORPHAN_END.search(text)
    if end is None or "/*" in text[: end.start() + 1]:
        return 0
    # Each line of such a comment begins with a star; otherwise the end is part of a string or pattern.
    lines = text[: end.start()].split("\n")
    return end.end() if all(not line.strip() or line.lstrip().startswith("*") for line in lines) else 0


def begins_in_comment(file: SourceFile, line: int) -> bool:
    """Return whether a line of a file may be inside of a comment that began above it."""
    comments = _comments(language_of(file.path))
    end = sum(map(len, file.lines[: line - 1])) + line - 1
    return any(
        pattern in comments and file.text.rfind(start, 0, end) > file.text.rfind(stop, 0, end)
        for pattern, (start, stop) in _BLOCKS.items()
    )


def has_in_code(file: SourceFile, line: int, name: str) -> bool:
    """Return whether a line of a file has a name outside of comments. Of an unknown language, it has no comments."""
    ending = language_of(file.path)
    if ending not in _COMMENTS:
        return True
    # A block comment that begins above the line is only known from the whole text.
    first = 1 if begins_in_comment(file, line) and len(file.text) <= _MAX_TOKENIZED else line
    text = "\n".join(file.lines[first - 1 : line])
    code = _pattern(ending).sub(lambda token: "\n" * token[0].count("\n") if token[2] else token[0], text)
    return name in code[code.rfind("\n") + 1 :]


def has_names(text: str, quote: QuoteTokens) -> bool:
    """Return whether a text has the names and numbers of a quote in their order. Without them, it has not the quote."""
    position = 0
    for word in quote.words:
        if not (word[0].isalnum() or word[0] == "_"):
            continue
        position = text.find(word, position)
        if position < 0:  # a name with an invisible character is found as a token
            return any(mark in text for mark in INVISIBLE)
        position += len(word)
    return True


def language_of(path: str) -> str:
    """Return the ending of a path, which decides what a comment is."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if name == "cmakelists.txt":
        return "cmake"
    first = name.partition(".")[0]
    return first if first in ("dockerfile", "makefile") else name.rsplit(".", 1)[-1]


def _comments(ending: str) -> str:
    return _COMMENTS.get(ending, _LINE_START)


@cache
def _pattern(ending: str) -> re.Pattern[str]:
    """Return the pattern of one token: a word or a line end, a comment, a string, dots before a name, or another mark.

    Dots that stand for omitted code match without a group.
    """
    strings = f"{_STRING}|{_CHARACTER if ending == 'rs' else _SINGLE}"
    return re.compile(
        rf"({_PLAIN})|({_comments(ending)})|({strings})|((?:{_DOTS}){_NAME_FOLLOWS})|{_DOTS}|({_LEXEME})", re.DOTALL
    )
