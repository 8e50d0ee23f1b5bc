"""How pages show a result and code: Markdown with every claim marked in place, and code in the colours of its language.

Both write their HTML from a closed set of tags and escape every text, so that markup of an agent is never markup here.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyromark
from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Token
from pygments.util import ClassNotFound

from remit.surfaces.server.page_formats import one_line, plain, tone

_READER = pyromark.Markdown(options=pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_TASKLISTS)
#: Longer results are shown as lines only.
MAX_DOCUMENT = 60_000
#: Longer code keeps one colour: the expressions of a lexer can take long on hostile code.
_MAX_CODE, _MAX_CODE_LINE = 8_000, 300
_BLOCKS = {
    "Paragraph": "p",
    "BlockQuote": "blockquote",
    "Item": "li",
    "Table": "table",
    "TableHead": "tr",
    "TableRow": "tr",
    "Emphasis": "em",
    "Strong": "strong",
}
#: A result begins with a heading of level 2 below the heading of the page and of the section.
_HEADINGS = {f"H{level}": f"h{min(level + 1, 6)}" for level in range(1, 7)}
#: Where claims and violations of a line are written that no text of the line has.
_ENDS = ("</p>", "</li>", "</td></tr>", *(f"</{tag}>" for tag in _HEADINGS.values()))
_COLOURS: tuple[tuple[Any, str], ...] = (
    (Token.Comment, "comment"),
    (Token.Literal.String, "string"),
    (Token.Literal.Number, "number"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Name.Function, "name"),
    (Token.Name.Class, "name"),
    (Token.Name.Decorator, "name"),
)


class _Writer:
    """Writes the events of a Markdown text as HTML."""

    def __init__(self, text: str, claims: Iterable[Mapping[str, Any]], violations: Iterable[Mapping[str, Any]]) -> None:
        data = text.encode()
        self._starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)]
        self._waiting: dict[int, list[Mapping[str, Any]]] = {}
        for claim in claims:
            self._waiting.setdefault(int(claim["at"]), []).append(claim)
        self._notes: dict[int, list[Mapping[str, Any]]] = {}
        for violation in violations:
            self._notes.setdefault(int(violation["line"]), []).append(violation)
        self._pieces: list[Markup] = []
        self._closing: list[Markup] = []
        self._cell = "td"
        #: The info string of the code block that is open.
        self._fence: str | None = None

    def line_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def write(self, text: str) -> Markup:
        for event, place in _READER.events_with_range(text):
            first, last = self.line_of(place["start"]), self.line_of(max(place["start"], place["end"] - 1))
            if isinstance(event, str):
                self._break(event)
            else:
                ((kind, value),) = event.items()
                self._event(kind, value, first, last)
        return Markup("").join(self._pieces)

    def _break(self, kind: str) -> None:
        self._pieces.append(
            {"SoftBreak": Markup("\n"), "HardBreak": Markup("<br>"), "Rule": Markup("<hr>")}.get(kind, Markup(""))
        )

    def _event(self, kind: str, value: Any, first: int, last: int) -> None:
        if kind == "Start":
            self._start(value)
        elif kind == "End":
            self._end(first, last)
        elif kind == "TaskListMarker":
            self._pieces.append(Markup("☑ ") if value else Markup("☐ "))
        elif kind == "Text" and self._fence is not None:
            self._code_block(str(value), first)
        elif kind == "Code":
            self._pieces.append(Markup("<code>{}</code>").format(self._marked(str(value), first, last)))
        else:  # text, and markup, which is shown as text
            self._pieces.append(self._marked(str(value), first, last))

    def _start(self, value: Any) -> None:
        kind: str
        details: Any
        kind, details = (value, None) if isinstance(value, str) else next(iter(value.items()))
        opening, closing = Markup(""), Markup("")
        if kind == "Heading":
            tag = _HEADINGS[details["level"]]
            opening, closing = Markup("<{}>").format(tag), Markup("</{}>").format(tag)
        elif kind == "CodeBlock":
            self._fence = str(details.get("Fenced", "")) if isinstance(details, dict) else ""
        elif kind == "List":
            tag = "ul" if details is None else "ol"
            opening = (
                Markup('<ol start="{}">').format(int(details))
                if details not in (None, 1)
                else Markup("<{}>").format(tag)
            )
            closing = Markup("</{}>").format(tag)
        elif kind == "TableCell":
            opening, closing = Markup("<{}>").format(self._cell), Markup("</{}>").format(self._cell)
        elif kind in _BLOCKS:
            self._cell = "th" if kind == "TableHead" else "td"
            opening = (
                Markup('<div class="table"><table class="rows">')
                if kind == "Table"
                else Markup("<{}>").format(_BLOCKS[kind])
            )
            closing = Markup("</table></div>") if kind == "Table" else Markup("</{}>").format(_BLOCKS[kind])
        self._pieces.append(opening)
        self._closing.append(closing)

    def _end(self, first: int, last: int) -> None:
        self._fence = None
        closing = self._closing.pop()
        if closing == "</tr>":  # what no cell has is written into the last one
            closing = self._pieces.pop() + closing
        if closing.endswith(_ENDS):  # a claim in words that no single text has
            for line in range(first, last + 1):
                self._pieces.extend(_mark(claim) for claim in self._waiting.pop(line, ()))
                self._pieces.extend(map(_note, self._notes.pop(line, ())))
        self._pieces.append(closing)

    def _code_block(self, code: str, first: int) -> None:
        name = (self._fence or "").split()[0:1]
        lines = []
        for number, line in enumerate(coloured_lines(code.rstrip("\n"), language=name[0] if name else ""), first):
            marks = [_mark(claim) for claim in self._waiting.pop(number, ())]
            lines.append(line + Markup("").join([*marks, *map(_note, self._notes.pop(number, ()))]))
        self._pieces.append(Markup('<pre class="block"><code>{}</code></pre>').format(Markup("\n").join(lines)))

    def _marked(self, text: str, first: int, last: int) -> Markup:
        """Return a text with the claims of its lines that it contains as links."""
        for line in range(first, last + 1):
            for claim in self._waiting.get(line, ()):
                before, words, after = text.partition(claim["text"]) if claim["text"] else (text, "", "")
                if words:
                    self._waiting[line].remove(claim)
                    return escape(plain(before)) + _mark(claim, plain(words)) + self._marked(after, first, last)
        return escape(plain(text))


def _mark(claim: Mapping[str, Any], words: str = "") -> Markup:
    """Return a claim as a link to its details; without its words, its outcome."""
    shown = (
        Markup("{}<small>{}</small>").format(words, one_line(claim["outcome"])) if words else one_line(claim["outcome"])
    )
    return Markup('<a class="claim {}" href="#claim-{}" title="{}">{}</a>').format(
        tone(claim["outcome"]), claim["number"], one_line(claim.get("why") or claim["outcome"]), shown
    )


def _note(violation: Mapping[str, Any]) -> Markup:
    """Return a violation as a note below its line."""
    return Markup('<span class="note {}">{} {}: {}</span>').format(
        tone(violation["level"]),
        one_line(violation["level"]),
        one_line(violation["rule"]),
        one_line(violation["message"]),
    )


def rendered(
    document: str, claims: Iterable[Mapping[str, Any]], violations: Iterable[Mapping[str, Any]] = ()
) -> Markup | None:
    """Return a result as HTML with its claims and violations in place, or None if it is too long."""
    if not document.strip() or len(document) > MAX_DOCUMENT:
        return None
    numbered = [{**claim, "number": number} for number, claim in enumerate(claims, 1)]
    return _Writer(document, filter(_has_line("at"), numbered), filter(_has_line("line"), violations)).write(document)


def _has_line(field: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return whether an entry has a line: what is stored may be of another version."""
    return lambda entry: isinstance(entry.get(field), int)


def coloured_lines(code: str, *, path: str = "", language: str = "") -> list[Markup]:
    """Return the lines of code, each as HTML with the colours of its language."""
    lines = code.split("\n")
    lexer = _lexer(path, language)
    if lexer is None or len(code) > _MAX_CODE or max(map(len, lines)) > _MAX_CODE_LINE:
        return [escape(plain(line)) for line in lines]
    pieces: list[list[Markup]] = [[]]
    for kind, text in lexer.get_tokens(code):
        colour = next((name for parent, name in _COLOURS if kind in parent), "")
        for number, part in enumerate(text.split("\n")):
            if number:
                pieces.append([])
            if part:
                pieces[-1].append(_coloured(part, colour))
    return [Markup("").join(line) for line in pieces[: len(lines)]]


def _coloured(text: str, colour: str) -> Markup:
    return Markup('<span class="hl-{}">{}</span>').format(colour, plain(text)) if colour else escape(plain(text))


def _lexer(path: str, language: str) -> Lexer | None:
    """Return the lexer of a file's name or of a language; it keeps white space, so that lines stay lines."""
    options: Mapping[str, Any] = {"stripnl": False, "ensurenl": False}
    try:
        return get_lexer_by_name(language, **options) if language else get_lexer_for_filename(path, **options)
    except (ClassNotFound, ValueError):
        return None


def excerpt(code: Mapping[str, Any] | None, path: str) -> list[Markup]:
    """Return the lines of stored code in colours."""
    return coloured_lines(str(code["text"]), path=path) if code else []


def difference(before: str, after: str, limit: int = 2_000) -> Sequence[tuple[str, str]]:
    """Return the lines of a correction, each with its sign; nothing if the texts are equal or too long to compare."""
    old, new = before.split("\n"), after.split("\n")
    if before == after or max(len(old), len(new)) > limit:
        return ()
    lines = difflib.unified_diff(old, new, lineterm="", n=2)
    return [
        ("@" if line.startswith("@@") else line[0], "" if line.startswith("@@") else line[1:])
        for line in list(lines)[2:]
        if line
    ]
