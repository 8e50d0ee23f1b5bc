"""Read the calls in a script of Codex: `const r = await tools.exec_command({"cmd": "pytest -q"}); text(r.output);`.

No JavaScript is run. A call is read if its argument is a literal, or the name of a constant that is one. A script in
which a call is in a branch, in a loop or in a function, or has another argument, is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from remit.lazy import lazy_pattern

_MAX_TOKENS = 20_000
_MAX_DEPTH = 20
_TOKEN = lazy_pattern(
    r"\"(?:[^\"\\\n]|\\[\s\S])*\"|'(?:[^'\\\n]|\\[\s\S])*'|`(?:[^`\\]|\\[\s\S])*`|//[^\n]*|/\*[\s\S]*?\*/"
    r"|[A-Za-z_$][\w$]*|\d[\w.]*|=>|&&|\|\||\?\?|\S"
)
_TOOLS = lazy_pattern(r"\btools\b")
#: What makes a call one that may not be made, or that may be made several times.
_CONDITIONAL = frozenset(
    {
        *("if", "for", "while", "do", "switch", "catch", "function", "return", "throw", "break", "continue"),
        *("=>", "?", "&&", "||", "??"),
    }
)
#: A part of a string or of an expression that the tokens above cannot read.
_UNREADABLE = frozenset({"/", '"', "'", "`"})
_TO_JSON = ["JSON", ".", "stringify", "("]
_OF_CALL = ["=", "await", "tools"]
#: What a script prints besides the output: `SESSION_ID=${r.session_id}`.
_LABEL = lazy_pattern(r"[\"'`](?:session[_ ]?id|exit[_ ]?(?:code|status))\W{1,4}(?:\{[\w.]{1,80}\})?\W?", re.IGNORECASE)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}
_ESCAPE = lazy_pattern(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_LAST_CHARACTER = 0x10FFFF


class ScriptCall(NamedTuple):
    """A call of a tool."""

    tool: str
    #: The argument: an object, or the text of a patch.
    argument: Any
    #: Whether the script prints its result as it is.
    is_shown: bool


class _NotLiteralError(Exception):
    """The tokens are not a literal."""


class _Token(NamedTuple):
    text: str
    start: int
    #: Whether it is the first of its line.
    is_first: bool


def script_calls(source: str) -> list[ScriptCall] | None:
    """Return the calls that a script makes, in order; None if it is not understood."""
    tokens = _tokens(source)
    uses = [place for place, token in enumerate(tokens) if token.text == "tools"]
    if any(token.text[0] == "`" and "${" in token.text and _TOOLS.search(token.text) for token in tokens):
        return None  # a call in a part of a string
    unreadable = next((token.start for token in tokens if token.text in _UNREADABLE), len(source))
    if len(tokens) >= _MAX_TOKENS or _TOOLS.search(source, unreadable):
        return None
    last = uses[-1] if uses else 0
    if any(token.text in _CONDITIONAL for token in tokens[:last]):
        return None
    if any(token.text == ")" and after.text == "{" for token, after in pairwise(tokens[:last])):
        return None  # the body of a method
    constants, printed = dict(_constants(tokens)), _printed(tokens)
    calls: list[ScriptCall] = []
    for place in uses:
        call = _call(tokens, place, constants, printed)
        if call is None:
            return None
        calls.append(call)
    return calls


def _tokens(source: str) -> list[_Token]:
    tokens: list[_Token] = []
    end = 0
    for match in _TOKEN.finditer(source):
        if not match[0].startswith(("//", "/*")):
            tokens.append(_Token(match[0], match.start(), "\n" in source[end : match.start()]))
        end = match.end()
        # Behind a quote without an end, each other one would be searched for its end, too.
        if len(tokens) >= _MAX_TOKENS or match[0] in _UNREADABLE:
            break
    return tokens


def _constants(tokens: list[_Token]) -> Iterator[tuple[str, Any]]:
    """Yield the constants that are literals, and that nothing changes."""
    used = {token.text for token, after in pairwise(tokens) if after.text in (".", "[")}
    for place in range(len(tokens) - 3):
        if tokens[place].text != "const" or tokens[place + 2].text != "=":
            continue
        name = tokens[place + 1].text
        try:
            value, end = _literal(tokens, place + 3, {}, 0)
        except _NotLiteralError:
            continue
        is_whole = end == len(tokens) or tokens[end].text == ";" or tokens[end].is_first
        if is_whole and (isinstance(value, str) or name not in used):
            yield name, value


def _call(tokens: list[_Token], place: int, constants: dict[str, Any], printed: set[str | int]) -> ScriptCall | None:
    """Return the call at `tools`: `tools.exec_command({…})`."""
    texts = [token.text for token in tokens[max(0, place - 3) : place + 4]]
    before, after = texts[: min(3, place)], texts[min(3, place) + 1 :]
    if len(after) < 3 or after[0] != "." or after[2] != "(":
        return None
    try:
        value, end = (None, place + 4) if _is_end(tokens, place + 4) else _literal(tokens, place + 4, constants, 0)
    except _NotLiteralError:
        return None
    if not _is_end(tokens, end):
        return None
    is_named = before[1:] == ["=", "await"] and before[0] in printed
    return ScriptCall(after[1], value, is_named or (place in printed and _ends_print(tokens, end + 1)))


def _printed(tokens: list[_Token]) -> set[str | int]:
    """Return what the script prints as it is: the names of results, and the places of calls.

    Nothing is, if it also prints something else, which could not be distinguished from the output of a command.
    """
    printed: set[str | int] = set()
    texts = [token.text for token in tokens]
    results = {texts[place] for place in range(len(texts) - 3) if texts[place + 1 : place + 4] == _OF_CALL}
    for place in range(len(texts) - 2):
        if texts[place : place + 2] != ["text", "("] or texts[max(0, place - 1)] == ".":
            continue
        start = place + 2
        while start < len(texts) and (texts[start] == "(" or texts[start : start + 4] == _TO_JSON):
            start += 1 if texts[start] == "(" else 4
        if texts[start : start + 2] == ["await", "tools"]:
            printed.add(start + 1)
        elif start < len(texts) and texts[start] in results and _ends_print(tokens, start + 1):
            printed.add(texts[start])
        elif start < len(texts) and not _LABEL.fullmatch(texts[start]):
            return set()
    return printed


def _ends_print(tokens: list[_Token], place: int) -> bool:
    """Return whether nothing but the output of a result is selected before a call of `text` ends."""
    while _is_end(tokens, place) and place + 1 < len(tokens) and tokens[place + 1].text in (")", "."):
        place += 1
    if [token.text for token in tokens[place : place + 2]] == [".", "output"]:
        place += 2
    return _is_end(tokens, place)


def _is_end(tokens: list[_Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].text == ")"


def _literal(tokens: list[_Token], place: int, constants: dict[str, Any], depth: int) -> tuple[Any, int]:
    """Return the value at a place, and the place behind it."""
    if place >= len(tokens) or depth > _MAX_DEPTH:
        raise _NotLiteralError
    text = tokens[place].text
    if text == "{":
        return _object(tokens, place + 1, constants, depth)
    if text == "[":
        return _list(tokens, place + 1, constants, depth)
    if text[0] in "\"'`":
        return _string(text), place + 1
    if text[0].isdigit():
        return _number(text), place + 1
    if text in _WORDS:
        return _WORDS[text], place + 1
    if text in constants:
        return constants[text], place + 1
    raise _NotLiteralError


def _object(tokens: list[_Token], place: int, constants: dict[str, Any], depth: int) -> tuple[Any, int]:
    value: dict[str, Any] = {}
    while place + 1 < len(tokens):
        key = tokens[place].text
        if key == "}":
            return value, place + 1
        if tokens[place + 1].text != ":":
            break
        name = _string(key) if key[0] in "\"'" else key
        value[name], place = _literal(tokens, place + 2, constants, depth + 1)
        place = _behind_comma(tokens, place, "}")
    if place < len(tokens) and tokens[place].text == "}":
        return value, place + 1
    raise _NotLiteralError


def _list(tokens: list[_Token], place: int, constants: dict[str, Any], depth: int) -> tuple[Any, int]:
    values: list[Any] = []
    while place < len(tokens):
        if tokens[place].text == "]":
            return values, place + 1
        value, place = _literal(tokens, place, constants, depth + 1)
        values.append(value)
        place = _behind_comma(tokens, place, "]")
    raise _NotLiteralError


def _behind_comma(tokens: list[_Token], place: int, end: str) -> int:
    if place < len(tokens) and tokens[place].text == ",":
        return place + 1
    if place < len(tokens) and tokens[place].text == end:
        return place
    raise _NotLiteralError


def _number(text: str) -> float:
    try:
        return int(text.replace("_", ""), 0) if "." not in text else float(text)
    except ValueError as error:
        raise _NotLiteralError from error


def _string(text: str) -> str:
    """Return the value of a string. A template with an expression is not a literal."""
    if text[0] == "`" and "${" in text:
        raise _NotLiteralError
    return _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code:
        return chr(int(code, 16)) if int(code, 16) <= _LAST_CHARACTER else "\N{REPLACEMENT CHARACTER}"
    return _ESCAPED.get(escape[4], escape[4])
