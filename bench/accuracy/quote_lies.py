"""Quotes of real code: faithful ones, and ones in which one thing was changed, in the layouts of real reviews."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import NamedTuple

from cases import Plant, language
from checkout_facts import Checkout, Excerpt, Source, collapse

LENGTHS = (1, 1, 2, 3, 4, 6, 8, 12, 18, 25)
_ATTEMPTS = 60
_SWAPS = {"===": "!==", "!==": "===", "==": "!=", "!=": "==", "<=": "<", ">=": ">", "+=": "-=", "-=": "+="}
_SWAPS |= {"True": "False", "False": "True", "true": "false", "false": "true"}
_AND_OR = {"&&": "||", "||": "&&", "and": "or", "or": "and"}
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_IDENTIFIER = re.compile(r"(?<![\w.\"'#@])[A-Za-z_]\w{2,}\b")
_WORDS_OF_A_LANGUAGE = frozenset(
    re.findall(
        r"\w+",
        "and or not for while return import from def class if else elif try except finally with async await "
        "function const let var new public private protected static final void int long bool boolean string struct "
        "enum func type package switch case break continue default match impl pub use mod self this super null nil "
        "None True False true false interface extends implements export throw throws catch raise yield lambda pass "
        "del global assert where",
    )
)
_REMARKS = ("checked above", "runs once", "the caller holds the lock", "see below", "1", "was 5 before")


class QuoteLayout(NamedTuple):
    """How a quote and its location are written; `{place}`, `{mark}` (of a comment) and `{language}` are filled in."""

    before: tuple[str, ...]
    #: The first line inside the fence; empty: none.
    inside: str = ""
    indent: str = ""


_FENCE = "```{language}"
LAYOUTS = {
    "above": QuoteLayout(("`{place}`", _FENCE)),
    "above, blank line": QuoteLayout(("`{place}`", "", _FENCE)),
    "above, bold": QuoteLayout(("**`{place}`**", _FENCE)),
    "sentence above": QuoteLayout(("The loop in `{place}` never ends early:", "", _FENCE)),
    "info string": QuoteLayout(("```{language} {place}",)),
    "first comment": QuoteLayout((_FENCE,), "{mark} {place}"),
    "first comment with words": QuoteLayout(("The call is made twice.", "", _FENCE), "{mark} {place} - twice"),
    "labels": QuoteLayout(
        ("### 3. Unchecked result", "", "**File:** `{place}`", "**Severity:** High", "**Problem:** Lost.", "", _FENCE)
    ),
    "labels, blank lines": QuoteLayout(
        ("### Unchecked", "", "**Location:** `{place}`", "", "**Severity:** Low", "", "**Current code:**", "", _FENCE)
    ),
    "labels in a list": QuoteLayout(
        ("#### H-2: Unchecked", "- **File**: `{place}`", "- **Severity**: High", "- **Impact**: Lost data", "", _FENCE)
    ),
    "labels in Chinese": QuoteLayout(
        ("### 2. 未检查返回值", "", "**位置**：`{place}`", "**严重程度**：高", "**当前代码**：", "", _FENCE)
    ),
    "heading": QuoteLayout(("### 1. `{place}` — Unchecked result", "", _FENCE)),
    "heading, labels": QuoteLayout(
        ("### {place} - Unchecked result", "", "**Severity:** High", "**Problem:** The result is lost.", "", _FENCE)
    ),
    "finding with the same ID": QuoteLayout(
        (
            "| ID | Issue | File:Line |",
            "|---|---|---|",
            "| SEC-001 | Lost | `{place}` |",
            "",
            "**SEC-001: Lost**",
            _FENCE,
        )
    ),
    "in a numbered list": QuoteLayout(("1. Unchecked result (`{place}`):", "", "   ```{language}"), indent="   "),
}


def write_quote(layout: QuoteLayout, place: str, path: str, mark: str, code: list[str]) -> tuple[str, ...]:
    """Return the lines of a quote in a layout."""
    values = {"place": place, "language": language(path), "mark": mark}
    lines = [line.format(**values) for line in layout.before]
    inner = [layout.inside.format(**values), *code] if layout.inside else code
    return (*lines, *(layout.indent + line for line in inner), layout.indent + "```")


def quote_plant(checkout: Checkout, chance: random.Random, kind: str) -> Plant | None:
    """Return a quote, exact and with one change of this kind, in a random layout; None: no place allows the change."""
    for _ in range(_ATTEMPTS):
        excerpt = checkout.excerpt(chance, chance.choice(LENGTHS))
        changed = ALTERATIONS[kind](checkout, excerpt, chance)
        if changed is None:
            continue
        name = chance.choice(list(LAYOUTS))
        is_long = len(excerpt.lines) > 1 and chance.random() < 0.7
        place = f"{excerpt.path}:{excerpt.first}" + (f"-{excerpt.last}" if is_long else "")
        mark = checkout.sources[excerpt.path].mark
        true, lie = (
            write_quote(LAYOUTS[name], place, excerpt.path, mark, code) for code in (list(excerpt.lines), changed)
        )
        return Plant("quote", name, true, lie, is_strong=True)
    return None


def relocated_plant(checkout: Checkout, chance: random.Random) -> Plant | None:
    """Return a quote with its own line, and with a line of the same file that is far away."""
    for _ in range(_ATTEMPTS):
        excerpt = checkout.excerpt(chance, chance.choice(LENGTHS[:6]))
        source = checkout.sources[excerpt.path]
        total, length = len(source.lines), len(excerpt.lines)
        rare = [line for line in excerpt.lines if len("".join(line.split())) >= 12]
        is_only = any(source.collapsed.count(collapse(line)) == 1 for line in rare)
        far = [line for line in range(1, total - length) if abs(line - excerpt.first) > length + 14]
        if not is_only or not far or source.collapsed.count(collapse("\n".join(excerpt.lines))) != 1:
            continue
        other = chance.choice(far)
        name = chance.choice(list(LAYOUTS))
        true, lie = (
            write_quote(
                LAYOUTS[name],
                f"{excerpt.path}:{first}" + (f"-{first + length - 1}" if length > 1 else ""),
                excerpt.path,
                source.mark,
                [*excerpt.lines],
            )
            for first in (excerpt.first, other)
        )
        return Plant("quote", name, true, lie, is_strong=True)
    return None


def unlined_plant(checkout: Checkout, chance: random.Random) -> Plant | None:
    """Return a quote with a path and no line, exact and with one other identifier."""
    for _ in range(_ATTEMPTS):
        excerpt = checkout.excerpt(chance, chance.choice(LENGTHS[:6]))
        changed = _change_identifier(checkout, excerpt, chance)
        if changed is not None:
            name = chance.choice(("above", "labels", "labels, blank lines", "first comment"))
            mark = checkout.sources[excerpt.path].mark
            true, lie = (
                write_quote(LAYOUTS[name], excerpt.path, excerpt.path, mark, code)
                for code in (list(excerpt.lines), changed)
            )
            return Plant("quote", name, true, lie)
    return None


def faithful_quote(checkout: Checkout, chance: random.Random, kind: str) -> Plant | None:
    """Return a quote that is faithful in the sense of this kind; both versions of the plant are true."""
    for _ in range(_ATTEMPTS):
        excerpt = checkout.excerpt(chance, chance.choice(LENGTHS))
        source = checkout.sources[excerpt.path]
        code = FAITHFUL[kind](source, excerpt, chance)
        if code is None:
            continue
        name = chance.choice(list(LAYOUTS))
        # Only the whole range covers what is left out.
        is_whole = kind not in ("exact", "white space") or chance.random() < 0.6
        place = f"{excerpt.path}:{excerpt.first}" + (f"-{excerpt.last}" if is_whole and len(excerpt.lines) > 1 else "")
        statement = write_quote(LAYOUTS[name], place, excerpt.path, source.mark, code)
        return Plant("quote", name, statement, statement)
    return None


# Alterations: each returns the lines of the quote with one change, or None if the excerpt does not allow it.

Alteration = Callable[[Checkout, Excerpt, random.Random], list[str] | None]


def _replace_token(
    source: Source, excerpt: Excerpt, chance: random.Random, pattern: re.Pattern[str], other: Callable[[str], str]
) -> list[str] | None:
    """Replace one token of the code that matches; the changed line must not be anywhere in the file."""
    places = [
        (at, token)
        for at in range(len(excerpt.lines))
        if source.is_clear[excerpt.first - 1 + at]
        for token in pattern.finditer(source.code[excerpt.first - 1 + at])
    ]
    chance.shuffle(places)
    for at, token in places[:8]:
        line = excerpt.lines[at]
        changed = line[: token.start()] + other(token[0]) + line[token.end() :]
        if changed != line and collapse(changed) and not source.has(changed):
            return [*excerpt.lines[:at], changed, *excerpt.lines[at + 1 :]]
    return None


def _swap_operator(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    pattern = re.compile(r"===|!==|==|!=|(?<![<-])<=|(?<![=>-])>=|\+=|-=|\b(?:True|False|true|false)\b")
    return _replace_token(checkout.sources[excerpt.path], excerpt, chance, pattern, _SWAPS.__getitem__)


def _swap_and_or(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    pattern = re.compile(r"&&|\|\||(?<=\s)(?:and|or)(?=\s)")
    return _replace_token(checkout.sources[excerpt.path], excerpt, chance, pattern, _AND_OR.__getitem__)


def _drop_negation(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    pattern = re.compile(r"(?<![\w!)])!(?=[\w(])|\bnot (?!in\b)")
    return _replace_token(checkout.sources[excerpt.path], excerpt, chance, pattern, lambda _: "")


def _change_number(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    source = checkout.sources[excerpt.path]
    return _replace_token(source, excerpt, chance, _NUMBER, lambda token: token + "0" if int(token) else "7")


def _change_identifier(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    source = checkout.sources[excerpt.path]

    def other(token: str) -> str:
        changed = token + chance.choice(("s", "2", "_id", "Id")) if chance.random() < 0.5 else token[:-1] + "q"
        return token if token in _WORDS_OF_A_LANGUAGE else changed

    return _replace_token(source, excerpt, chance, _IDENTIFIER, other)


def _swap_identifier(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    """Replace an identifier by another one of the same file."""
    source = checkout.sources[excerpt.path]
    known = sorted({word for line in source.code for word in _IDENTIFIER.findall(line)} - _WORDS_OF_A_LANGUAGE)
    if len(known) < 3:
        return None

    def other(token: str) -> str:
        return token if token in _WORDS_OF_A_LANGUAGE else chance.choice(known)

    return _replace_token(source, excerpt, chance, _IDENTIFIER, other)


def _change_string(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    """Change a word of a string that follows code."""
    source = checkout.sources[excerpt.path]
    places = []
    for at, line in enumerate(excerpt.lines):
        code = source.code[excerpt.first - 1 + at]
        if source.is_clear[excerpt.first - 1 + at] and '"""' not in line:
            places += [
                (at, word)
                for string in re.finditer(r"\"([^\"\\]{3,80})\"", line)
                if code[: string.start()].strip() and not code[string.start() : string.end()].strip()
                for word in re.finditer(r"[A-Za-z]{4,}", line[: string.end()])
                if word.start() > string.start()
            ]
    chance.shuffle(places)
    for at, word in places[:8]:
        line = excerpt.lines[at]
        is_comment = line[: word.start()].count(source.mark) > 0
        changed = line[: word.start()] + word[0][::-1] + line[word.end() :]
        if changed != line and not is_comment and not source.has(changed):
            return [*excerpt.lines[:at], changed, *excerpt.lines[at + 1 :]]
    return None


def _invented_line(checkout: Checkout, path: str, chance: random.Random) -> str:
    suffix = checkout.sources[path].suffix
    name, other = checkout.invented_word(chance, suffix), checkout.invented_word(chance, suffix)
    end = "" if suffix in (".py", ".go", ".rb", ".kt", ".swift") else ";"
    return chance.choice((f"{name}({other}){end}", f"{other} = {name}(1, {other}){end}", f"{name}.{other}(){end}"))


def _insert_line(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    source = checkout.sources[excerpt.path]
    inner = [at for at in range(1, len(excerpt.lines)) if source.is_clear[excerpt.first - 1 + at]]
    inner = [at for at in inner if source.is_clear[excerpt.first - 2 + at] and excerpt.lines[at].strip()]
    if not inner:
        return None
    at = chance.choice(inner)
    indent = excerpt.lines[at][: len(excerpt.lines[at]) - len(excerpt.lines[at].lstrip())]
    return [*excerpt.lines[:at], indent + _invented_line(checkout, excerpt.path, chance), *excerpt.lines[at:]]


def _invent(checkout: Checkout, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    return [_invented_line(checkout, excerpt.path, chance) for _ in range(chance.choice((1, 2, 3, 5)))]


ALTERATIONS: dict[str, Alteration] = {
    "operator": _swap_operator,
    "and/or": _swap_and_or,
    "negation dropped": _drop_negation,
    "number": _change_number,
    "identifier": _change_identifier,
    "other identifier": _swap_identifier,
    "word of a string": _change_string,
    "invented line": _insert_line,
    "wholly invented": _invent,
}


# Faithful forms: each returns the lines of the quote, or None if the excerpt does not allow the form.

Faithful = Callable[[Source, Excerpt, random.Random], list[str] | None]


def _exact(_source: Source, excerpt: Excerpt, _chance: random.Random) -> list[str] | None:
    return list(excerpt.lines)


def _other_white_space(source: Source, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    if not _is_clear(source, excerpt):
        return None
    style = chance.choice(("none", "deeper", "tabs"))
    if style == "none":
        return [line.strip() for line in excerpt.lines]
    return [line.replace("\t", "    ") if style == "tabs" else f"    {line}  " for line in excerpt.lines]


def _add_comment(source: Source, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    fitting = _lines_of_code(source, excerpt)
    if not fitting or not _is_clear(source, excerpt) or (source.has_markup and "<" in "".join(excerpt.lines)):
        return None
    at, remark = chance.choice(fitting), f"{source.mark} {chance.choice(_REMARKS)}"
    if chance.random() < 0.5:
        return [*excerpt.lines[:at], f"{excerpt.lines[at]}  {remark}", *excerpt.lines[at + 1 :]]
    indent = excerpt.lines[at][: len(excerpt.lines[at]) - len(excerpt.lines[at].lstrip())]
    return [*excerpt.lines[:at], indent + remark, *excerpt.lines[at:]]


def _drop_comments(source: Source, excerpt: Excerpt, _chance: random.Random) -> list[str] | None:
    if not _is_clear(source, excerpt):
        return None
    kept = [source.without_comment(excerpt.first - 1 + at) for at in range(len(excerpt.lines))]
    code = [new for new, old in zip(kept, excerpt.lines, strict=True) if new.strip() or not old.strip()]
    return code if code != list(excerpt.lines) and len("".join(code).split()) > 1 else None


def _omit_lines(source: Source, excerpt: Excerpt, chance: random.Random, sign: str) -> list[str] | None:
    length = len(excerpt.lines)
    if length < 4 or not _is_clear(source, excerpt):
        return None
    start = chance.randrange(1, length - 2)
    end = chance.randrange(start + 1, length - 1)
    indent = excerpt.lines[start][: len(excerpt.lines[start]) - len(excerpt.lines[start].lstrip())]
    return [*excerpt.lines[:start], *([indent + sign] if sign else []), *excerpt.lines[end:]]


def _omit_marked(source: Source, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    return _omit_lines(source, excerpt, chance, chance.choice(("...", "…", f"{source.mark} ...")))


def _omit_unmarked(source: Source, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    return _omit_lines(source, excerpt, chance, "")


def _dots_in_line(source: Source, excerpt: Excerpt, chance: random.Random) -> list[str] | None:
    if not _is_clear(source, excerpt):
        return None
    for at in chance.sample(range(len(excerpt.lines)), len(excerpt.lines)):
        line, code = excerpt.lines[at], source.code[excerpt.first - 1 + at]
        call = re.search(r"(?<=\w)\(([^()\[\]{}]{6,})\)", code)
        if call is not None and "..." not in line:
            return [*excerpt.lines[:at], line[: call.start(1)] + "..." + line[call.end(1) :], *excerpt.lines[at + 1 :]]
    return None


def _is_clear(source: Source, excerpt: Excerpt) -> bool:
    return all(source.is_clear[excerpt.first - 1 : excerpt.last])


def _lines_of_code(source: Source, excerpt: Excerpt) -> list[int]:
    ends = ("\\", "/", "<", ">")
    return [
        at
        for at, line in enumerate(excerpt.lines)
        if source.code[excerpt.first - 1 + at].strip() and not line.rstrip().endswith(ends) and "#" not in line
    ]


FAITHFUL: dict[str, Faithful] = {
    "exact": _exact,
    "white space": _other_white_space,
    "comment added": _add_comment,
    "comments dropped": _drop_comments,
    "lines omitted, marked": _omit_marked,
    "lines omitted, unmarked": _omit_unmarked,
    "dots in a line": _dots_in_line,
}
