"""Read the text of a quote: line numbers, the sides of a diff, ellipses and typography."""

from __future__ import annotations

import re
from itertools import pairwise

from remit.lazy import lazy_pattern

_COMMENT = r"(?://+|#+|--+|;+|%+|/\*+|\{/\*|\(\*|<!--|\*|')"
_DOTS = r"(?:\.{3,}|…|⋮|···)"
#: A line that stands for omitted lines; `...state,` is code, `... the rest` and `// ...the rest` are not.
_ELLIPSIS = lazy_pattern(
    rf"\s*+(?:{_COMMENT}\s*+{_DOTS}.{{0,120}}|[(\[{{<]\s*+(?:{_DOTS}(?![\w$])|{_DOTS}?(?:snip|omitted|truncated)\b).{{0,120}}[)\]}}>]\s*+|"
    rf"{_DOTS}(?:[)\]}}>*/]*+|\s.{{0,120}}))$"
)
#: Every such line contains one of these.
_SIGNS_OF_ELLIPSIS = ("...", "…", "⋮", "···", "snip", "omitted", "truncated")
#: A line that is a comment, and one that ends with a colon: `// Better:`, `<!-- Soll: -->`.
_COMMENT_LINE = lazy_pattern(r"\s*+(?://+|#+(?=\s)|--+|;+|%+|/\*+|\{/\*|\(\*|<!--)\s*+(?=\S)")
_LABEL_COMMENT = lazy_pattern(r"[^\n]{3,100}[:：]\s*+(?:\*/\}?|-->|\*\))?\s*$")
#: The separators between a line number and the line; a quote uses one of them throughout.
_NUMBERED = tuple(
    lazy_pattern(rf"\s*+(?:[>*]\s*+)?[Ll]?(\d{{1,7}})(?:[-–][Ll]?\d{{1,7}}(?=:))?(?:{mark})(.*)$")
    for mark in (r"\s*+[|│┃▏→]\s?", r"[:\])-]\s?", r"\.(?:\s|$)", r"\s++|$")
)
_DIFF_HEAD = lazy_pattern(r"(?:diff --git |index [0-9a-f]{4,}\.|--- \S|\+\+\+ \S|\\ No newline)")
_HUNK = lazy_pattern(r"@@ .*")
#: What editors and chat programs turn quotes and spaces into.
TYPOGRAPHY = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‚": "'", "\u200b": None, "\u2060": None, "\ufeff": None}
)
#: A note that an author adds at the end of a quoted line: `limit = 5  ← too low`, `- a rule  // ← hardcoded`.
_NOTE = lazy_pattern(
    r"(?m)\s++(?:(?://+|#|--+|;|%|/\*+|<!--)\s*+[←⬅👈⚠❌✅✓✗🔴🟡🟢▲◀]|(?<=\s\s)(?:[←⬅👈◀]|<--+|<==+)(?=[\ufe0f\s]))[^\n]*+$"
)
_SIGNS_OF_NOTE = ("←", "⬅", "👈", "⚠", "❌", "✅", "✓", "✗", "🔴", "🟡", "🟢", "▲", "◀", "<--", "<==")
#: Escapes that Markdown and HTML force on code outside a fence.
_ESCAPES = lazy_pattern(r"\\([_*|<>`#\[\](){}~!&$])|&(lt|gt|amp|quot|apos|nbsp|#39|#x27);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": " ", "#39": "'", "#x27": "'"}

#: Lines and arrows of a diagram, and text without the signs of code.
_DRAWN = lazy_pattern(r"[├└┌┐┘┤┬┴┼╔╗╚╝║▼▲↓↑]|(?:^|\s)[→⇒⟶]\s|^\s*(?:\|--|\+--|`--)")
_STEP = lazy_pattern(
    r"\s*(?:\d{1,3}[.)]|(?i:step|paso|schritt|étape|passo|шаг)\s\d{1,3}\s?[.:)–—-]?)\s+[^;{}()=<>\[\]_$@|\\]+$"
)
_NUMBERED_STEP = lazy_pattern(r"\s*+(\d{1,2})[.)]\s")
_SENTENCE = lazy_pattern(r"\s*(?:[-*•]\s+)?[^\W\d_a-zа-я][^;{}()=<>\[\]_$@|\\]*$")
_SMALL_WORD = lazy_pattern(r"(?<![\w.])[^\W\d_A-Z]{2,}(?![\w.]\w)")
_MIN_SMALL_WORDS = 3
#: A line of the output of a program or of its tests: `Expected: 502`, `TypeError: x is null`.
_RESULT = lazy_pattern(
    r"\s*+(?:[A-Z]\w{0,40}(?:Error|Exception)|Error|Expected|Received|Actual|FAIL(?:ED)?|PASS(?:ED)?|panicked at)\s?:\s"
)
#: `- Remove the check (line 59)`, `Keep these parts:`. `- name: x` is YAML.
_ENTRY = lazy_pattern(r"\s*+(?:[-*•]\s+[A-Z][a-z]+\s[^:;{}=<>]*$|[A-Z][a-z]+\s[^:;{}()=<>]*:\s*$)")
#: A comment above code as it was before a fix that was made.
_BEFORE_FIX = lazy_pattern(
    rf"\s*+{_COMMENT}\s*+(?:(?:code\s)?before\s(?:the\s)?(?:fix|change|refactoring|migration)|before\s[(（](?:broken|buggy)[)）]|"
    r"(?-i:до|До|ДО)\s(?:исправления|изменений|изменения|рефакторинга)|(?:修复|修改|修正|变更|変更)前)\s*+(?:$|[:：(（–—-])|"
    rf"\s*+{_COMMENT}[^\n()（）]{{1,40}}[(（](?:before\s(?:the\s)?fix|(?:修复|修改|修正|变更|変更)前)[)）]",
    re.IGNORECASE,
    ("before", "до", "前"),
)

#: A comment below a path that orders a change of that file: `// Replace the button with:`, `// 在 open 函数中添加：`.
_ORDERS_CHANGE = lazy_pattern(
    r"\s*+(?://++|#++|--++|/\*++|<!--)\s*+(?:replace\s[^\n]{1,100}\swith|(?:insert|add)\s(?:this|these|the\sfollowing)\b[^\n]{0,120}|"
    r"(?:change|update)\s[^\n]{1,100}\sto|在[^\n]{1,60}(?:添加|加入|插入|增加|修改|替换)[^\n]{0,20})[:：]\s*+(?:\*/|-->)?\s*+$",
    re.IGNORECASE,
    ("replace", "insert", "add", "update", "change", "添加", "加入", "插入", "增加", "修改", "替换"),
)
#: A field of a finding that is written as a record: `Severity: P0`.
_RECORD = lazy_pattern(
    r"(?:ID|Area|Severity|Title|Status|Priority|Category|File|Location|Type|Confidence)\s*+:\s++[^\s\"'][^\n]*(?<![,;])$"
)
#: A branch of a drawing: `  ├─ open()`.
_BRANCH = lazy_pattern(r"\s*+[│ ]*+[├└]─", words=("─",))
_LISTED_CALL = lazy_pattern(r"\s*+[-*•]\s++[`*]*+[\w.]{1,80}\([^()\n]{0,80}\)[`*]*+\s++[-–—:]\s")
#: A line of a list, and one with a label: `Rule: js/incomplete-escaping`.
_LISTED = lazy_pattern(
    r"\s*+[-•]\s(?=\S)(?!(?:return|raise|throw|if|for|while|import|from|await|yield)\b)(?!.*(?:\w\(|=|[;{:]\s*$))"
)
_PLACE = lazy_pattern(r"\s*+[\w./@+\[\]-]++:\d++(?:-\d++)?\s*+$")
_LABELLED = lazy_pattern(r"[A-Z][A-Za-z ]{1,24}:\s++\S(?!.*[,;{(\[]\s*$)")
#: A line after which code belongs: `src/app.py` after line 12.
_AFTER_LINE = lazy_pattern(
    r"(?:^[\s*_>-]*+(?:location|where|position|file)\b|\b(?:add|insert|append|put|place|paste)\b)[^\n]{0,120}"
    r"\b(?:after|before)\s(?:the\s)?lines?\s~?\d+[\s)*_:：]*$",
    re.IGNORECASE,
    ("after", "before"),
)
_CODE_END = lazy_pattern(r"[;{}]\s*$|^\s*(?://|#|--|/\*|\*|<)")
_MAX_LINES = 200


def is_code(text: str, *, is_indented: bool = False, has_lists: bool = False) -> bool:
    """Return whether a text may be code: no diagram and no output, and it does not mostly have sentences or steps.

    `is_indented`: it has no fence, so it may be the rest of a sentence, or a list. `has_lists`: its file has lists.
    """
    lines = [line for line in text.split("\n")[:_MAX_LINES] if line.strip()]
    if any(_DRAWN.search(line[:_MAX_LINES]) or _RESULT.match(line) for line in lines):
        return False
    steps = [number for line in lines if (number := _step_number(line))]
    if len(steps) > 1 and steps == list(range(1, len(steps) + 1)):
        return False
    return 2 * sum(
        _is_sentence(line) or (is_indented and _is_prose(line, has_lists=has_lists)) for line in lines
    ) <= len(lines)


def is_before_fix(lines: list[str]) -> bool:
    """Return whether the first line of some code states that it was there before a fix: `# Before the fix`."""
    return _BEFORE_FIX.match(next(filter(str.strip, lines), "")) is not None


def lists_calls(text: str) -> bool:
    """Return whether a text is a list of names with remarks, and not code: `- open() - not yet written`."""
    if text.lstrip()[:1] not in ("-", "*", "•"):
        return False
    return all(_LISTED_CALL.match(line) for line in text.split("\n")[:_MAX_LINES] if line.strip())


def is_listing(lines: list[str]) -> bool:
    """Return whether lines in place of code are a list, a drawing, or labels with their values, besides locations."""
    shown = [line for line in lines[:_MAX_LINES] if line.strip() and not _PLACE.match(line)]
    if not shown:
        return False
    branches = sum(1 for line in shown if _BRANCH.match(line))
    if branches > 1 and 2 * branches >= len(shown):
        return True
    if len(shown) > 3 and all(map(_RECORD.match, shown[:3])) and shown[0].startswith("ID"):
        return True
    return all(map(_LISTED.match, shown)) or (len(shown) > 1 and all(map(_LABELLED.match, shown)))


def orders_change(line: str) -> bool:
    """Return whether a line is a comment that orders a change: `// Insert this above the list:`."""
    return _ORDERS_CHANGE.match(line) is not None


def is_insert_point(line: str) -> bool:
    """Return whether the line above some code ends with the place at which the code is to be inserted."""
    return _AFTER_LINE.search(line) is not None


def _step_number(line: str) -> int:
    """Return the number of a step of a list, `1. SELECT count`, or 0."""
    found = _NUMBERED_STEP.match(line)
    return int(found[1]) if found else 0


def _is_sentence(line: str) -> bool:
    line = line[:_MAX_LINES]
    if _STEP.match(line):
        return True
    return bool(_SENTENCE.match(line)) and len(_SMALL_WORD.findall(line)) >= _MIN_SMALL_WORDS


def _is_prose(line: str, *, has_lists: bool) -> bool:
    """Return whether a line mostly consists of words in lower case, or is an entry of a list of words."""
    if not has_lists and _ENTRY.match(line):
        return True
    words = len(_SMALL_WORD.findall(line[:_MAX_LINES]))
    return words >= 2 * _MIN_SMALL_WORDS and 2 * words >= len(line[:_MAX_LINES].split()) and not _CODE_END.search(line)


def before_label(text: str) -> str:
    """Return the code before a comment that introduces other code, `// Better:`; empty if there is no such comment.

    Comments at the start of a quote introduce the code itself.
    """
    lines = text.split("\n")
    has_code = False
    for at, line in enumerate(lines):
        if _COMMENT_LINE.match(line):
            if has_code and _LABEL_COMMENT.match(line) and any(map(_is_code_line, lines[at + 1 :])):
                return "\n".join(lines[:at])
        else:
            has_code |= bool(line.strip())
    return ""


def _is_code_line(line: str) -> bool:
    return bool(line.strip()) and not _COMMENT_LINE.match(line)


def quote_readings(text: str) -> list[list[str]]:
    """Return every reading of a quote: the pieces between its ellipses, with white space collapsed by line."""
    lines = text.split("\n")
    styles = _NUMBERED if any(_may_be_numbered(line) for line in lines) else ()
    bases = [lines, *(plain for style in styles if (plain := _without_numbers(lines, style)) is not None)]
    sides = [*bases, *(side for base in bases for side in _sides(base))]
    straight = undo_typography(text)
    sides += [straight.split("\n")] if straight != text else []
    found = [pieces for side in sides if (pieces := _pieces(side))]
    return [pieces for at, pieces in enumerate(found) if pieces not in found[:at]]


def undo_typography(text: str) -> str:
    """Return a text with straight quotes, without invisible characters and without escapes of Markdown and HTML."""
    straight = text if text.isascii() else text.translate(TYPOGRAPHY)
    if "\\" not in straight and "&" not in straight:
        return straight
    return _ESCAPES.sub(lambda found: found[1] or _ENTITIES[found[2]], straight)


def without_notes(text: str, source: str) -> str:
    """Return a quote without the notes of its author at the ends of lines: marks that its source does not have."""
    signs = [sign for sign in _SIGNS_OF_NOTE if sign in text]
    if not signs or any(sign in source for sign in signs):
        return text
    return _NOTE.sub("", text)


def is_ellipsis(line: str) -> bool:
    """Return whether a line stands for omitted lines."""
    return any(sign in line for sign in _SIGNS_OF_ELLIPSIS) and bool(_ELLIPSIS.match(line))


def _may_be_numbered(line: str) -> bool:
    return line.lstrip().lstrip(">*").lstrip().lstrip("Ll")[:1].isdecimal()


def _without_numbers(lines: list[str], style: re.Pattern[str]) -> list[str] | None:
    """Return the lines without their numbers, if all of them are numbered and the numbers ascend."""
    plain: list[str] = []
    numbers: list[int] = []
    for line in lines:
        found = style.match(line)
        if found:
            numbers.append(int(found[1]))
            plain.append(found[2])
        elif line.strip() and not is_ellipsis(line):
            return None
        else:
            plain.append(line)
    return plain if numbers and all(one < other for one, other in pairwise(numbers)) else None


def _sides(lines: list[str]) -> list[list[str]]:
    """Return the old side of a diff, and the new side if lines were added; no side if it is not a diff."""
    added = any(line.startswith("+") and not _DIFF_HEAD.match(line) for line in lines)
    removed = any(line.startswith("-") and not _DIFF_HEAD.match(line) for line in lines)
    if not (added or removed) or not all(_in_diff(line) for line in lines):
        return []
    body = ["..." if _HUNK.match(line) else line for line in lines if not _DIFF_HEAD.match(line)]
    old = [line if line == "..." else line[1:] for line in body if not line.startswith("+")]
    new = [line if line == "..." else line[1:] for line in body if not line.startswith("-")]
    return [old, new] if added else [old]


def _in_diff(line: str) -> bool:
    return (
        not line.strip() or line[0] in "+- " or bool(_HUNK.match(line) or _DIFF_HEAD.match(line)) or is_ellipsis(line)
    )


def _pieces(lines: list[str]) -> list[str]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if is_ellipsis(line):
            pieces.append([])
        elif bare := " ".join(line.split()):
            pieces[-1].append(bare)
    return ["\n".join(piece) for piece in pieces if piece]
