"""Recognise a trivial edit: at most two changed lines, and no change of meaning."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable

#: Words that express how strong a requirement is. A contraction with "n't" counts as "not".
STRENGTH = frozenset({"should", "must", "may", "shall", "not", "optional", "cannot"})
#: Keys of metadata lines.
_METADATA_KEYS_TEXT = """
    version, document version, doc version, spec version, specification version, revision, date, created, created on,
    created at, updated, updated on, updated at, last updated, last update, last modified, modified, last revised,
    revised, last reviewed, reviewed, published, release date, effective date
"""
METADATA_KEYS = frozenset(" ".join(_METADATA_KEYS_TEXT.split()).split(", "))
_VERSION = r"v?(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}(?:-[0-9A-Za-z.-]{1,40})?(?:\+[0-9A-Za-z.-]{1,40})?"
_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
#: `Version: 1.0.0`, `- **Version**: 1.0.0`, `| Version | 1.0.0 |`, `version = "1.0.0"`: a key, and the value alone.
_METADATA = re.compile(
    rf"(?P<head>\s*(?:[-*+>]\s+|<!--\s*|\|\s*)?(?P<key>[*_]{{0,2}}[A-Za-z][A-Za-z _-]{{0,30}}?[*_]{{0,2}})\s*[:=|]"
    rf"[*_]{{0,2}}\s*[\"'`]?)(?:(?P<version>{_VERSION})|(?P<date>{_DATE}))(?P<tail>[\"'`]?\s*\|?(?:\s*-->)?\s*)"
)
_PIECES = re.compile(r"[A-Za-z]+(?:['\u2019][A-Za-z]+)*|\s+|.")
#: Next to a word, these make it part of a name, a path, an option or code.
_JOINTS = "_/\\@#$=<>&%~^|{}[]"
_MAX_LINE = 5_000
#: More changed lines are not compared.
_MAX_COMPARED = 400
_REASONS = {
    "formatting": "only white space or Markdown marks change",
    "typo": "one misspelt word is corrected",
    "metadata": "a version or a date changes on a metadata line",
}
_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])(?:\s+|$)")
_BULLET = re.compile(r"[-*+](?:\s+|$)")
_HEADING = re.compile(r"#{1,6}(?:\s+|(?=[A-Za-z]))")
_CLOSING = re.compile(r"\s+#+\s*$")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_LEADING = re.compile(r"^([(\[{\"']*)(\*{1,3}|_{1,3}|`{1,3})(?=[^\W_]|[(\[{\"'*_`])")
_TRAILING = re.compile(r"(?<=[^\W_])(\*{1,3}|_{1,3}|`{1,3})([)\]}\"'.,;:!?]*)$")
_TRAILING_LATE = re.compile(r"(?<=[)\]}\"'.,;:!?%])(\*{1,3}|_{1,3}|`{1,3})$")
#: Returns how often each of some words stands in the project.
CountWords = Callable[..., list[int]]


class EditJudgement:
    """The kind of an edit: `formatting`, `typo`, `metadata`, or None if it is not trivial. `changed` counts lines."""

    def __init__(self, kind: str | None, reason: str, changed: int = 0) -> None:
        self.kind = kind
        self.reason = reason
        self.changed = changed


def judge_trivial_edit(
    before: str, after: str, count_words: CountWords, *, path: str = "", max_lines: int = 2
) -> EditJudgement:
    """Return whether the change between two texts is trivial, and of which kind. `before` is in the project."""
    old, new = _lines(before), _lines(after)
    if old == new:
        return EditJudgement("formatting", "only line endings change" if before != after else "nothing changes")
    hunks = _hunks(old, new)
    if hunks is None:
        return EditJudgement(None, f"more than {max_lines} lines change")
    changed = sum(max(len(removed), len(other)) for _, removed, other in hunks)
    if changed > max_lines:
        return EditJudgement(None, f"{changed} lines change (limit: {max_lines})", changed)
    kinds: list[str] = []
    for start, removed, other in hunks:
        judgement = _judge_hunk(old, start, removed, other, path, count_words)
        if judgement.kind is None:
            return EditJudgement(None, judgement.reason, changed)
        kinds += judgement.kind.split("+")
    if kinds.count("typo") > 1:
        return EditJudgement(None, "more than one word changes", changed)
    kind = next((name for name in ("typo", "metadata") if name in kinds), "formatting")
    return EditJudgement(kind, _REASONS[kind], changed)


def changed_lines(before: str, after: str) -> int | None:
    """Return how many lines differ, or None if there are too many to compare."""
    hunks = _hunks(_lines(before), _lines(after))
    return None if hunks is None else sum(max(len(removed), len(other)) for _, removed, other in hunks)


def digest(text: str) -> str:
    """Return the digest of a text. Line endings do not matter."""
    return hashlib.sha256("\n".join(_lines(text)).encode("utf-8", "surrogatepass")).hexdigest()


def _lines(text: str) -> list[str]:
    """Return the lines of a text, with or without a line break at the end."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _hunks(old: list[str], new: list[str]) -> list[tuple[int, list[str], list[str]]] | None:
    """Return runs of lines that differ (position, before, after), or None if there are too many to compare."""
    if len(old) == len(new):
        differing = [index for index, (line, other) in enumerate(zip(old, new, strict=True)) if line != other]
        if len(differing) <= 2:
            return [(index, [old[index]], [new[index]]) for index in differing]
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    removed, other = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(removed), len(other)) > _MAX_COMPARED:
        return None
    steps = difflib.SequenceMatcher(None, removed, other, autojunk=False).get_opcodes()
    return [(first + a, removed[a:b], other[c:d]) for tag, a, b, c, d in steps if tag != "equal"]


def _judge_hunk(
    old: list[str], start: int, removed: list[str], other: list[str], path: str, count_words: CountWords
) -> EditJudgement:
    if any(len(line) > _MAX_LINE for line in removed + other):
        return EditJudgement(None, "a line is too long to be compared")
    block = is_in_code_block(old, start)
    if len(removed) != len(other):
        return _judge_formatting(removed, other, block, path)
    kinds = []
    for before, after in zip(removed, other, strict=True):
        judgement = _judge_line(before, after, block, path, count_words)
        if judgement.kind is None:
            return judgement
        kinds.append(judgement.kind)
    return EditJudgement("+".join(kinds), "")


def _judge_line(before: str, after: str, block: str, path: str, count_words: CountWords) -> EditJudgement:
    formatting = _judge_formatting([before], [after], block, path)
    if formatting.kind is not None:
        return formatting
    if block != "code" and _is_metadata(before, after):
        return EditJudgement("metadata", "")
    return _judge_word(before, after, block, formatting.reason, count_words)


def _judge_formatting(removed: list[str], other: list[str], block: str, path: str) -> EditJudgement:
    """Judge a change of white space and marks. In code and data, only the ends of lines may change."""
    if sum(map(is_list_item, removed)) != sum(map(is_list_item, other)):
        return EditJudgement(None, "a list item is added or removed")
    if block or path.lower().endswith((".yaml", ".yml", ".py", ".toml", ".feature", ".mk")):
        kept = [line.rstrip() for line in removed if line.strip()]
        same = kept == [line.rstrip() for line in other if line.strip()]
        return (
            EditJudgement("formatting", "")
            if same
            else EditJudgement(None, "code or data changes, in which white space matters")
        )
    if len(removed) != len(other) and any(
        line.lstrip().startswith(("#", "```", "~~~", "|")) for line in removed + other
    ):
        return EditJudgement(None, "a heading, a table row or a fence is added or removed")
    if [token for line in removed for token in mark_tokens(line)] == [
        token for line in other for token in mark_tokens(line)
    ]:
        return EditJudgement("formatting", "")
    return EditJudgement(None, "words or signs change")


def _is_metadata(before: str, after: str) -> bool:
    old, other = _METADATA.fullmatch(before), _METADATA.fullmatch(after)
    if old is None or other is None:
        return False
    key = re.sub(r"[_\s-]+", " ", old["key"].strip("*_ ")).lower()
    same = old["head"] == other["head"] and old["tail"] == other["tail"]
    return same and key in METADATA_KEYS and (old["version"] is None) == (other["version"] is None)


def _judge_word(before: str, after: str, block: str, why: str, count_words: CountWords) -> EditJudgement:
    """Judge a change of one misspelt word. The rest of the line must not change."""
    pieces, other = _PIECES.findall(before), _PIECES.findall(after)
    differing = [index for index in range(min(len(pieces), len(other))) if pieces[index] != other[index]]
    if re.findall(r"\d+", before) != re.findall(r"\d+", after):
        return EditJudgement(None, "a number changes")
    strength = sorted({*_strength_words(pieces)} ^ {*_strength_words(other)}) or (
        ["optional"] if _strength_words(pieces) != _strength_words(other) else []
    )
    if strength:
        return EditJudgement(None, f"{strength[0]!r} is added or removed, which changes a requirement")
    if len(pieces) != len(other) or len(differing) != 1:
        return EditJudgement(
            None, why if len(pieces) == len(other) and not differing else "more than one misspelt word changes"
        )
    index = differing[0]
    old, new = pieces[index], other[index]
    if not (old[0].isascii() and old[0].isalpha() and new[0].isascii() and new[0].isalpha()):
        return EditJudgement(None, "a sign changes")
    if block or _is_name(pieces, index, old) or _is_name(other, index, new):
        return EditJudgement(None, "the word is part of a name or of code")
    return _judge_spelling(old, new, count_words)


def _judge_spelling(old: str, new: str, count_words: CountWords) -> EditJudgement:
    """Judge a change of a word: a misspelt one stands nowhere else in the project, and the correct one does."""
    if old[0].lower() != new[0].lower() or edit_distance(old.lower(), new.lower()) > 2:
        return EditJudgement(None, "the two words are more than two letters apart, or begin differently")
    before, after = count_words(old, new)
    if before > 1:
        return EditJudgement(None, f"{old!r} also stands elsewhere in the project, so it may be right")
    if not after:
        return EditJudgement(None, f"{new!r} stands nowhere in the project, so it may be wrong")
    return EditJudgement("typo", "")


def _strength_words(pieces: list[str]) -> list[str]:
    """Return the words of a line that express strength, in order."""
    words = (piece.lower().replace("\u2019", "'") for piece in pieces)
    return ["not" if word.endswith("n't") else word for word in words if word in STRENGTH or word.endswith("n't")]


def _is_name(pieces: list[str], index: int, word: str) -> bool:
    """Return whether a word is part of a name, a path, an option or code."""
    left = pieces[index - 1] if index else " "
    right = pieces[index + 1] if index + 1 < len(pieces) else " "
    further = pieces[index + 2] if index + 2 < len(pieces) else " "
    if any(letter.isupper() for letter in word[1:]) and not word.isupper():
        return True
    joined = any(side in _JOINTS or side.isdigit() for side in (left, right) if side.strip())
    option = left == "-" and (index < 2 or not pieces[index - 2][0].isalnum())
    dotted = (right in ".:" and further[0].isalnum()) or (
        left in ".:" and index >= 2 and pieces[index - 2][0].isalnum()
    )
    quoted = pieces[:index].count("`") % 2 == 1
    return joined or option or dotted or quoted or right == "("


def is_list_item(line: str) -> bool:
    """Return whether a line begins a list item. A horizontal rule does not."""
    return _ITEM.match(line) is not None and not re.fullmatch(r"\s*(?:[-*_]\s*){3,}", line)


def mark_tokens(line: str) -> list[str]:
    """Return the words and signs of a line without formatting marks. The bullet of an item is kept as a sign."""
    text = line.strip()
    while text.startswith(">"):
        text = text[1:].lstrip()
    if "-" in text and "|" in text and _RULE.fullmatch(text):
        return ["|-"] * text.strip("|").count("|")
    if re.fullmatch(r"(?:[-*_]\s*){3,}", text):
        return ["---"]
    start = ["\u2022"] if _BULLET.match(text) else []
    text = _BULLET.sub("", text, count=1) if start else text
    if _HEADING.match(text):
        text = _CLOSING.sub("", _HEADING.sub("", text, count=1))
    if text.startswith("|") or " | " in text:
        text = text.strip("|").replace("|", " | ")
    return start + _without_emphasis(text.split())


def _without_emphasis(words: list[str]) -> list[str]:
    """Remove marks at the edges of words. A star or underscore without its partner is kept."""
    leading = [_LEADING.match(word) for word in words]
    trailing = [_TRAILING.search(word) or _TRAILING_LATE.search(word) for word in words]
    opened = [match[2] for match in leading if match]
    closed = [match[1] for match in trailing if match]
    plain = {mark for mark in ("*", "_", "__", "___") if opened.count(mark) != closed.count(mark)}
    done = []
    for word, first, last in zip(words, leading, trailing, strict=True):
        kept = word
        if last and last[1] not in plain:
            kept = kept[: last.start(1)] + kept[last.end(1) :]
        if first and first[2] not in plain:
            kept = kept[: first.start(2)] + kept[first.end(2) :]
        # Dunder names are names, not bold words.
        done.append(word if re.fullmatch(r"__\w+__\W*", word) else kept)
    return done


def is_in_code_block(lines: list[str], index: int) -> str:
    """Return `code` in a fenced block, `front` in the front matter, else an empty text."""
    if lines and lines[0].rstrip() == "---" and index > 0:
        end = next((number for number, line in enumerate(lines[1:200], 1) if line.rstrip() in ("---", "...")), 0)
        if index < end:
            return "front"
    fences = sum(1 for line in lines[:index] if _FENCE.match(line))
    return "code" if fences % 2 else ""


def edit_distance(word: str, other: str, limit: int = 2) -> int:
    """Return Damerau's distance (insert, delete, replace, swap neighbours), at most `limit` + 1."""
    if abs(len(word) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for row_number, letter in enumerate(word, 1):
        older, before, row = before, row, [row_number]
        for to, wanted in enumerate(other, 1):
            best = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            if row_number > 1 and to > 1 and letter == other[to - 2] and word[row_number - 2] == wanted:
                best = min(best, older[to - 2] + 1)
            row.append(best)
    return min(row[-1], limit + 1)
