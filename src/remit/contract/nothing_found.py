"""Whether a text says that nothing was found: a few forms of its first sentence, and the place that was searched."""

from __future__ import annotations

import re
from collections.abc import Iterable

from remit.contract.lines import is_none_text, lines_of
from remit.contract.result_data import Block, Code, Row, Table

#: What was not found: up to nine words that begin no clause of their own.
_THING = r"(?:(?!(?:that|which|who|whose|because|doubt|way|need)\b)[\w`'./*()-]+ ){0,8}?(?!doubt\b)[\w`'./*()-]+"
#: Where it was searched.
_WHERE = r"(?: (?:in|under|below|within|across|at|for|by|from|of|anywhere|outside) .+)?"
_FOUND = r"(?:found|detected|identified|reported|present)"
#: The whole first sentence has one of these forms, in lower case and without its full stop.
_FORMS = (
    rf"no {_THING} (?:was|were|is|are|has been|have been) {_FOUND}{_WHERE}",
    rf"no {_THING} (?:found|exists?){_WHERE}",
    rf"there (?:is|are|was|were) no {_THING}{_WHERE}",
    rf"(?:nothing|none)(?: (?:was|were|is|are))? {_FOUND}{_WHERE}",
    rf"(?:i|we|the (?:search|review|audit)) (?:found (?:nothing|no {_THING})|could not find (?:any )?{_THING}){_WHERE}",
    rf"(?:the |a |an )?{_THING} (?:was not found|does not exist){_WHERE}",
    rf"(?:the |a )?search{_WHERE} (?:gave|found|had) no (?:match(?:es)?|results?)",
    r".{0,200}(?:没有|未)(?:发现|找到|检测到).{0,200}|.{0,200}不存在",
    r".{0,200}(?:見つかりません|検出されません)(?:でした)?|.{0,200}(?:ありません|存在しません)(?:でした)?",
)
_NOTHING = re.compile("|".join(f"(?:{form})" for form in _FORMS))
#: A sentence with one of these says more than that nothing was found.
_CONTRAST = re.compile(r"\b(?:but|however|except|although|though|apart from|other than)\b|但|除了|しかし|ものの|以外")
#: A line of a Severity Summary that counts nothing.
_ZERO = re.compile(r"[\s*_-]*\w+[\s*_]*[:：][\s*_]*0")
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s|$)|[。！？]|$)", re.DOTALL)
#: A path, a folder or a glob.
_PLACE = re.compile(r"`[^`\n]*[/.*][^`\n]*`|(?:[\w.@*-]+/)+(?=[\s.,;)]|$)|[\w.@*-]+/[\w./@*-]*\.\w+|\*\.\w+")


def says_nothing_found(text: str) -> bool:
    """Return whether the first sentence of a text says that nothing was found."""
    first = _SENTENCE.match(text.strip())
    sentence = " ".join(first[0].split()).rstrip(".!?。！？").lower() if first else ""
    return bool(_NOTHING.fullmatch(sentence)) and not _CONTRAST.search(sentence)


def names_a_place(text: str) -> bool:
    """Return whether a text names a path, a folder or a glob."""
    return bool(_PLACE.search(text))


def is_none_row(row: Row) -> bool:
    """Return whether a row only states that there is nothing to report."""
    return all(_is_none(cell) for cell in row.cells)


def has_content(blocks: Iterable[Block]) -> bool:
    """Return whether blocks have anything but empty tables and words for "none"."""
    for block in blocks:
        for part in block.content:
            if isinstance(part, Table):
                is_empty = all(is_none_row(row) for row in part.rows)
            else:
                is_empty = not isinstance(part, Code) and all(_is_none(line.text) for line in lines_of((part,)))
            if not is_empty:
                return True
    return False


def _is_none(text: str) -> bool:
    return is_none_text(text) or says_nothing_found(text) or bool(_ZERO.fullmatch(text))
