"""Split a fence into its parts: each comment that is a location starts a quote.

Comments also tell code that is to be written: a fence that shows the code before and after a change is a proposal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from remit.evidence.file_names import Exists, has_known_ending, looks_like_file
from remit.evidence.grammar import references_in
from remit.evidence.line_numbers import MAX_COMMENT, line_in_comment
from remit.evidence.proposal_words import AFTER_WORDS, BEFORE_WORDS, CORRECTED, CORRECTED_WORDS
from remit.evidence.quote_text import orders_change
from remit.evidence.written import WrittenReference, cursor_reference
from remit.lazy import either, lazy_pattern
from remit.workspace.files import SourceFile, Workspace

#: An emoji or another sign before the words of a comment: `// 📄 src/app.ts:12`.
_EMOJI = either(r"\u25a0-\u2793\u2b1b-\u2b5f", r"\ufe0f\u200d", r"\U0001f300-\U0001faff")
_MARK = rf"(?:(?-i:{_EMOJI}{{1,4}})\s*+)?+"
#: An emoji and a location in place of a comment, as the first line: `📄 docs/setup.md (lines 26-29):`.
_EMOJI_LINE = lazy_pattern(r"\s*+[\U0001f300-\U0001faff]\ufe0f?\s++([^\n]++)$")
_SIGNS = r"\s*+(?://+|#(?![!#\d])|--+|;+|%+|/\*+|\{/\*|\(\*|\{-|\{#|<%#|<!--|\"\"\"|'''|'|\"|REM\b)\s*+"
_LOCATED = r"(?:(?:file|from|in|at|source|path|location|excerpt from|code from)(?:\s?:\s*+|\s++))?(.*)$"
_COMMENT = lazy_pattern(_SIGNS + _MARK + _LOCATED, re.IGNORECASE)
_ASCII_COMMENT = lazy_pattern(_SIGNS + _LOCATED, re.IGNORECASE)
_COMMENT_ENDS = ("*/", "*/}", "-->", "*)", "-}", "#}", "%>", '"""', "'''")
#: What may follow a path without a line in a location comment.
_REMARK = lazy_pattern(r"\s*(?:$|[-–—:(|,])")
_LATER_REMARK = lazy_pattern(r"[`*]{0,3}\s*(?:$|[-–—:|]+\s|[(（]|:$)")
_NOTHING = lazy_pattern(r"[\s`*:]*$")
#: What may come between words and a location at the end of a comment: `In login() - a/b.py:12`, `login (a/b.py:12)`.
_LOCATION_FOLLOWS = lazy_pattern(r"(?:\s[-–—]+\s|[:：]\s|[(（]\s?)[`*]{0,3}$")
_PROPOSED_REMARK = lazy_pattern(
    r"(?:[(\[（–—:,-]\s*(?:refactored|proposed|new|after(?=\s*[)\]:）]|$)|fixed|updated|modified|suggested|"
    r"simplified|improved|planned|hypothetical|illustrative|conceptual|sketch|pseudo-?code|examples?|"
    r"to (?:add|create|change)|add|create|insert|change|replace|agregar|añadir|adicionar|ajouter)\b|"
    r"\b(?:after|before) line \d)",
    re.IGNORECASE,
    (
        *("refactored", "proposed", "new", "after", "fixed", "updated", "modified", "suggested", "simplified"),
        *("improved", "planned", "hypothetical", "illustrative", "conceptual", "sketch", "pseudo", "example"),
        *("add", "create", "insert", "change", "replace", "before", "agregar", "añadir", "adicionar", "ajouter"),
    ),
)
#: The same in other languages.
_CORRECTED_REMARK = lazy_pattern(rf"[(\[（–—:,-]\s*(?:{CORRECTED})(?!\w)", re.IGNORECASE, CORRECTED_WORDS)
#: The same after a path without a line: `// routes.js - all routes follow this pattern`.
_PATTERN_REMARK = lazy_pattern(
    r"\b(?:patterns?|schematic(?:ally)?|for illustration)\b", re.IGNORECASE, ("pattern", "schematic", "illustration")
)
_OLD_REMARK = lazy_pattern(r"\W{1,12}(?:old|previously|was)\b[^\w\n]", re.IGNORECASE, ("old", "previously", "was"))
#: A comment above code that is gone: `# Removed:`.
_OLD_COMMENT = lazy_pattern(
    r"\s*+(?://+|#+|--+|/\*+|;+)\s*+(?:removed|deleted|old|old code)\s*+[:：]?\s*+(?:\*/)?$",
    re.IGNORECASE,
    ("removed", "deleted", "old"),
)
_INSIDE_REMARK = lazy_pattern(r"\W{1,12}(?:in|inside|into)\s", re.IGNORECASE)
#: What precedes a location at the start of a comment.
_DIRECT = lazy_pattern(
    r"\W*+(?:(?:file|from|in|at|source|path|location|excerpt from|code from)(?:\s?:\s*|\s+))?\W?$", re.I
)
_WORD_LABEL = lazy_pattern(r"[^\W\d_]{2,20}\s?[:：]\s?")
_DIFF_HEAD = lazy_pattern(r"(?:---|\+\+\+) [ab]/")
#: Fences in these languages show a text or a change as a whole; comments inside are part of it.
_SAMPLES = frozenset({"markdown", "md", "mdx", "diff", "patch"})
_LANGUAGE = lazy_pattern(r"[\w+#.\-]+$")
#: The first characters of the comments that are searched for here, except those that are not ASCII.
_COMMENT_STARTS = frozenset("/#-;%{(<\"'Rr")
_ATTRIBUTE = lazy_pattern(r"\b(?:title|file|filename|path|name|src|location|source)=", re.IGNORECASE)
#: Code and a comment after it.
_TRAILING = lazy_pattern(r"(\s*+[^\s/#][^\n]*?\S)\s++(?://+|#|--+)\s++([^\s][^\n]*+)$")
#: A comment on many files, whose code is not that of the location above it: `-- all views/*.lua files`.
_MANY_FILES = lazy_pattern(r"\s*+(?://++|#++|--++|;++|%++|/\*++)[^\n*]{0,80}+\*++[\w./*]{0,80}\.\w{1,8}\b")
#: A remark in a fence on what is new: `// NEW: send it`, `x = 1  # <- add`.
_NEW_REMARK = lazy_pattern(
    r"(?<![/#-])(?://++|#++|--++|/\*++|<!--)\s*+(?:(?:[←⬅]|<-+)\s*)?"
    r"(?:NEW|ADD(?:ED)?(?: THIS)?|REMOVED?(?: THIS)?|CHANGED?)(?:\s*(?:[:：!(–—-]|\*/|-->|$))|"
    r"(?<![/#-])(?://++|#++|--++)\s*+(?:[←⬅]|<-+)\s*(?i:new|add(?:ed)?|removed?|changed?)\b|"
    r"(?<![/#-])(?://++|#++|--++|/\*++)\s*+(?:[←⬅]\s*)?(?:新增|新規|追加|추가|변경|添加[这此]一?行|原\s?\S{1,20}\s?(?:→|->)|"
    r"(?i:same (?:pattern|change|fix)\b))",
    words=("new", "add", "remove", "change", "same ", "新增", "新規", "追加", "추가", "변경", "添加", "原"),
)
#: A comment that asks for a change, alone in its line: `# Add this line`, `// Change:`.
_ASKS_REMARK = lazy_pattern(
    r"\s*+(?://++|#++|--++|/\*++)\s*+(?:add (?:this line|these lines|the following|imports?\b)|"
    r"(?:change|replace|add)(?:\sto)?\s?[:：]\s*$|extend existing\b)",
    re.IGNORECASE,
    ("add", "change", "replace", "extend existing"),
)
_SIGN = r"\s*+(?://+|#+|--+|;+|%+|/\*+|\{/\*|\(\*|\{#+|<!--)\s*+(?:[✅❌✓✗→👍👎🚫⚠️]+\s*)?"
_END = r"(?:\s*(?:[:：(（\-–—✅❌✓✗]|code\b|version\b|\*/|-->|#\}|$))"
_BEFORE = lazy_pattern(
    rf"{_SIGN}(?:before|old|bad|wrong|current(?:ly)?|was|vulnerable|original|slow|{BEFORE_WORDS}){_END}",
    re.IGNORECASE,
)
_AFTER = lazy_pattern(
    rf"{_SIGN}(?:(?:after|new|good|correct|fixed|proposed|suggested|recommended|better|improved|secure|becomes|instead|"
    rf"fix|solution|replace with|optimi[sz]ed|refactored|{AFTER_WORDS}){_END}|"
    rf"(?:should|could|would) be(?:come)?\b|(?:\w{{1,12}}\s)?something like\s?[:：]|"
    rf"应该|应改为|建议|改为|推荐|推奨|修正案|改善案)",
    re.IGNORECASE,
    (
        *("after", "new", "good", "right", "correct", "fix", "proposed", "suggested", "recommended", "better"),
        *("improved", "something like", "secure", "becomes", "instead", "solution", "replace with"),
        *("optimi", "refactored", " be", "nachher", "neu", "après", "nouveau", "después", "depois", "nuevo"),
        *("novo", "dopo", "nuovo", "nieuw", "daarna", "potem", "nowy", "после", "стало", "після", "sonra"),
        *("yeni", "sau", "mới", "sesudah", "setelah", "baru", "修改", "修正", "修复", "变更", "変更", "优化"),
        *("改善", "改进", "重构", "改后", "之后", "新", "이후", "수정", "변경", "개선", "应该", "改为", "建议"),
        *("推荐", "推奨"),
    ),
)
_ALSO = lazy_pattern(rf"{_SIGN}(?:should|could|would) also\b", re.IGNORECASE, (" also",))
#: Old code and then new code, each with a word for what it is: `// OLD QUERY:`, `// NEW QUERY:`.
_OLD_PART = lazy_pattern(
    rf"{_SIGN}(?:old|before|previous)\s[\w ]{{1,30}}(?:[:：(（]|$)", re.IGNORECASE, ("old", "before", "previous")
)
_NEW_PART = lazy_pattern(
    rf"{_SIGN}(?:new|after|now)\s[\w ]{{1,30}}(?:[:：(（]|$)", re.IGNORECASE, ("new", "after", "now")
)
_WRONG, _RIGHT = (lazy_pattern(rf"{_SIGN}{word}\b", words=(word.lower(),)) for word in ("WRONG", "RIGHT"))
_WAS, _NOW = (lazy_pattern(rf"{_SIGN}{word}[:：]", words=(word.lower(),)) for word in ("WAS", "NOW"))
#: Marks of old and new code: `// ❌ allocates`, `// ✅ reuses it`.
_CROSS = lazy_pattern(r"\s*+(?://+|#+|--+|;+|%+|/\*+|\{/\*|<!--)\s*+(?:❌|✗|🚫)", words=tuple("❌✗🚫"))
_TICK = lazy_pattern(r"\s*+(?://+|#+|--+|;+|%+|/\*+|\{/\*|<!--)\s*+(?:✅|✓)", words=tuple("✅✓"))
#: A short comment that is a title of the code below it, in a fence of at most this many lines.
_WHOLE_COMMENT = lazy_pattern(r"\s*+(?://+|#+(?=\s)|--+|;+|/\*+|<!--)\s*+\S")
_MAX_TITLE, _MAX_VERSIONS = 30, 80
_ANY_WORD = lazy_pattern(r"\w+")
#: What may come between the locations of one comment: `a.py:12 and b.py:30`.
_JOINED = lazy_pattern(r"[`*]{0,3}\s?(?:,|;|/|&|\+|and|or|und|y|et|と|和)\s?(?:and\s|in\s)?[`*]{0,3}$")
#: At most this many files of the same name are searched for a comment.
_MAX_FILES = 8


class FencePart(msgspec.Struct, frozen=True):
    """Lines of a fence below a comment that is a location, or from its beginning."""

    written: WrittenReference | None
    written_at: int
    first: int
    lines: list[str]
    #: Whether the comment calls the code proposed: `# src/app.py (refactored)`.
    is_proposed: bool = False
    #: Whether the comment calls it old: `# OLD (broken) - src/app.py:12`.
    is_old: bool = False
    #: Whether the comment only states where the code belongs: `# In src/app.py`.
    is_inside: bool = False
    #: Whether the location is next to a single line, as in a list of calls; that may describe the code, not quote it.
    is_beside: bool = False
    #: The further locations of the comment: `# src/app.py:12 and src/cli.py:30`.
    others: tuple[WrittenReference, ...] = ()


class FenceText(msgspec.Struct, frozen=True):
    """The text of a fence: its info string, the lines of the document at which it and its code begin, and the code."""

    info: str
    at: int
    first: int
    lines: list[str]
    #: The file that the line above it cites, or that the text above it is about.
    above: str = ""


def fence_parts(fence: FenceText, workspace: Workspace | None) -> Iterator[FencePart]:
    """Yield the parts of a fence: one for its beginning, and one for each comment that is a location."""
    exists: Exists = workspace.exists if workspace is not None else looks_like_file

    def is_known(path: str) -> bool:
        return exists(path) or (workspace is not None and bool(workspace.index.ending_with(path)))

    is_old = bool(fence.lines and _OLD_COMMENT.match(fence.lines[0]))
    part = FencePart(_in_info(fence.info, exists), fence.at, fence.first, [], is_old=is_old)
    if fence.info.split(" ")[0].lower() in _SAMPLES:
        yield replace(part, lines=fence.lines)
        return
    if parts := _located_lines(fence, exists):
        yield from parts
        return
    follows_words = False
    for at, line in enumerate(fence.lines):
        if not _may_be_comment(line):
            part.lines.append(line)
            continue
        is_first = not any(map(str.strip, fence.lines[:at])) if at < 3 else False
        path = part.written.path if part.written is not None else fence.above
        found = _in_comment(line, exists, is_known, is_first=is_first, may_follow=is_first or follows_words)
        if found and at and _is_inside_comment(fence.lines[at - 1], line, found[0]):
            found = []
        found = found or _line_of_same_file(line, path, workspace)
        is_apart = not found and not part.is_proposed and bool(path) and len(line) < MAX_COMMENT
        is_apart = is_apart and "*" in line and bool(_MANY_FILES.match(line))
        if not (found or is_apart) or (at and _is_own_comment(line, path, workspace)):
            part.lines.append(line)
            continue
        if any(map(str.strip, part.lines)):
            yield part
        elif part.written is not None:
            yield replace(part, is_proposed=False, is_old=False, is_inside=False)
        if is_apart:
            part = FencePart(None, fence.first + at, fence.first + at + 1, [], is_proposed=True)
            continue
        written, *others = found
        end = line.find(written.text) + len(written.text)
        follows_words = not _DIRECT.match(line, 0, end - len(written.text))
        part = FencePart(
            written,
            fence.first + at,
            fence.first + at + 1,
            [],
            is_proposed=bool(
                _PROPOSED_REMARK.search(line, end)
                or _CORRECTED_REMARK.search(line, end)
                or (written.line is None and _PATTERN_REMARK.search(line, end))
                or (written.line is None and _orders_change(fence.lines, at + 1, written.path, workspace))
            ),
            is_old=bool(_OLD_REMARK.match(line)),
            is_inside=bool(_INSIDE_REMARK.match(line)),
            others=tuple(others),
        )
    yield part


def _orders_change(lines: list[str], at: int, path: str, workspace: Workspace | None) -> bool:
    """Return whether a line is a comment that orders a change, and not one of the file."""
    return at < len(lines) and orders_change(lines[at]) and not _is_own_comment(lines[at], path, workspace)


def _may_be_comment(line: str) -> bool:
    """Return whether a line begins like a comment. Most lines of code do not, and need no further test."""
    first = line.lstrip()[:1]
    return first in _COMMENT_STARTS or first > "\x7f"


def _comment(line: str) -> re.Match[str] | None:
    return (_ASCII_COMMENT if line.isascii() else _COMMENT).match(line)


def _located_lines(fence: FenceText, exists: Exists) -> list[FencePart]:
    """Return a part for each line if every line ends with a comment that is its location: `exit(1)  # a/b.py:12`."""
    parts: list[FencePart] = []
    for at, line in enumerate(fence.lines):
        comment = _TRAILING.match(line) if len(line) < MAX_COMMENT else None
        words = comment[2].strip() if comment else ""
        found = references_in(words, exists) if words else []
        if comment and len(found) == 1 and found[0].start <= 1 and not words[found[0].end :].strip(" `)"):
            parts.append(FencePart(found[0], fence.first + at, fence.first + at, [comment[1]], is_beside=True))
        elif line.strip():
            return []
    return parts


def _line_of_same_file(line: str, path: str, workspace: Workspace | None) -> list[WrittenReference]:
    """Return the line of a file that a comment names without it, if the file has the line: `// Line 15: the field`."""
    found = line_in_comment(line) if path and workspace is not None else None
    if found is None or workspace is None:
        return []
    first, last = int(found[1]), int(found[2]) if found[2] else None
    has_line = any(first <= (last or first) <= len(file.lines) for file in _files(path, workspace))
    text = found[0].strip()
    return [WrittenReference(0, len(text), text, path, first, last)] if has_line and first else []


def _is_inside_comment(above: str, line: str, location: WrittenReference) -> bool:
    """Return whether a comment continues the one above and goes on after the location: it only mentions it."""
    rest = line[line.find(location.text) + len(location.text) :]
    return any(map(str.isalpha, rest)) and bool(_comment(above))


def _is_own_comment(line: str, path: str, workspace: Workspace | None) -> bool:
    """Return whether a comment is part of the quoted file."""
    return (
        bool(path) and workspace is not None and any(line.strip() in one.bare_lines for one in _files(path, workspace))
    )


def _files(path: str, workspace: Workspace) -> Iterator[SourceFile]:
    """Yield the files that a path may mean."""
    paths = [path] if workspace.exists(path) else workspace.index.ending_with(path.strip("/"))
    files = (workspace.read(path) for path in paths[:_MAX_FILES])
    yield from (file for file in files if isinstance(file, SourceFile))


def _in_info(info: str, exists: Exists) -> WrittenReference | None:
    """Parse a location in the info string: `python a/b.py:12`, `12:18:a/b.py`, `ts title="a/b.ts"`, `py:a/b.py`."""
    first, _, rest = info.partition(" ")
    if _LANGUAGE.match(first) and not exists(first) and not ("/" in first and looks_like_file(first)):
        info = rest
    if not info:
        return None
    for word in info.split():
        if cursor := cursor_reference(word):
            return cursor
    found = references_in(_ATTRIBUTE.sub(" ", info) if "=" in info else info, exists, bare=True)
    return found[0] if found else None


def _in_comment(
    line: str, exists: Exists, is_known: Exists, *, is_first: bool, may_follow: bool
) -> list[WrittenReference]:
    """Parse the locations at the start of a comment; with `may_follow`, also at its end: `In login() - a/b.py:12`.

    Words after the location are ignored. Below the first line, a path without a line may have a remark after a dash,
    a colon or in brackets; a name without a folder that no file has must be the whole comment.
    A sentence inside the quoted code may end with a path, too, so `may_follow` is set if the fence starts like that.
    """
    comment = _comment(line) if len(line) < MAX_COMMENT else None
    is_comment = comment is not None
    if comment is None and is_first and len(line) < MAX_COMMENT:
        comment = _EMOJI_LINE.match(line)
    if comment is None:
        return []
    words = comment[1].rstrip()
    if words.endswith(_COMMENT_ENDS):
        end = max((end for end in _COMMENT_ENDS if words.endswith(end)), key=len)
        words = words.removesuffix(end).rstrip()
    found = references_in(words, exists, bare=True)
    if not found:
        return []
    first, last = found[0], found[-1]
    if not is_comment:
        is_location = first.start <= 1 and first.line is not None and not words[first.end :].strip(" `*:：")
        return [first] if is_location else []
    if first.start <= 1 and first.line is not None:
        return [first, *_joined(words, found)]
    if (
        may_follow
        and last.line is not None
        and _LOCATION_FOLLOWS.search(words, 0, last.start)
        and not words[last.end :].strip(" )）`*.")
    ):
        return [last]
    if first.start > 1:
        return [first] if _is_labelled(words, first, exists, is_first=is_first) else []
    is_name = has_known_ending(first.path) or exists(first.path)
    follows = _REMARK if is_first else _LATER_REMARK if "/" in first.path or is_known(first.path) else _NOTHING
    return [first] if is_name and follows.match(words, first.end) and not _DIFF_HEAD.match(line) else []


def _is_labelled(words: str, location: WrittenReference, exists: Exists, *, is_first: bool) -> bool:
    """Return whether a comment is one word, a colon and a location: `Fichier : a/b.py:12`, `Archivo: a/b.py`."""
    label = _WORD_LABEL.match(words)
    if label is None or location.start - label.end() not in (0, 1) or words[location.end :].strip(" )）`*."):
        return False
    return location.line is not None or (is_first and exists(location.path))


def _joined(words: str, found: list[WrittenReference]) -> Iterator[WrittenReference]:
    """Yield the further locations of a comment: `a.py:12 and b.py:30`, `a.py:12, 30`."""
    for before, one in pairwise(found):
        is_next = one.start == before.start or bool(_JOINED.match(words[before.end : one.start]))
        if one.line is None or not is_next:
            return
        yield one


def before_and_after(lines: list[str]) -> int | None:
    """Return the number of lines before the proposed part of a fence: 0 if it also marks the old code, else None."""
    comments = [at for at, line in enumerate(lines) if _may_be_comment(line)]
    after = next((at for at in comments if _AFTER.match(lines[at])), None)
    if after is None and (old_part := next((at for at in comments if _BEFORE.match(lines[at])), None)) is not None:
        after = next((at for at in comments if at > old_part and _ALSO.match(lines[at])), None)
    if after is None:
        for old, new in ((_CROSS, _TICK), (_OLD_PART, _NEW_PART), (_WRONG, _RIGHT), (_WAS, _NOW)):
            first = next((at for at in comments if old.match(lines[at])), None)
            if first is not None and any(new.match(lines[at]) for at in comments if at >= first):
                return 0
        return None
    return 0 if any(_BEFORE.match(lines[at]) for at in comments if at < after) else after


def marks_new_lines(lines: list[str], *, is_result: bool = False) -> bool:
    """Return whether a fence has a remark on what is new, or two versions: it shows code as it is to become."""
    short = [line for line in lines if len(line) < MAX_COMMENT]
    if any(map(_NEW_REMARK.search, short)) or (not is_result and any(map(_ASKS_REMARK.match, short))):
        return True
    return _has_two_versions([line for line in lines[:_MAX_VERSIONS] if line.strip()])


def _has_two_versions(lines: list[str]) -> bool:
    """Return whether two short comments, `// 改前` and `// 改后`, divide a fence in two similar parts.

    Two locations are not titles of versions: `# a.py:12` and `# b.py:30` show the same code in two files.
    """
    comments = [at for at, line in enumerate(lines) if len(line.strip()) <= _MAX_TITLE and _WHOLE_COMMENT.match(line)]
    if len(comments) != 2 or comments[0] != 0 or any(references_in(lines[at], looks_like_file) for at in comments):
        return False
    one, other = (
        Counter(_ANY_WORD.findall("\n".join(part))) for part in (lines[1 : comments[1]], lines[comments[1] + 1 :])
    )
    return 0 < one.total() + other.total() <= 4 * (one & other).total()
