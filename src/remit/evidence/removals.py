"""Recognise what the text calls removed or settled, and what it quotes: it does not state that it is there."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

from remit.evidence.proposal_words import LEAD
from remit.lazy import has_word, lazy_pattern

_LEAD = r"[\s*_>#\-+\d.)✅❌🔧💡]*+"
#: A whole heading of something that is gone: `What was removed`, `Parameter removed (line 43)`. Another word makes it a
#: statement about the code: `A session is not deleted`.
_OTHER_WORD = r"(?:not|never|no|is|are|be|been|was|were|gets?|got|when|after|if|until|should|must|can|could)\b"
_REMOVED = (
    rf"(?i:[\s\d.)*_#]*+(?:what was\s|(?:(?!{_OTHER_WORD})[\w`]{{1,40}}\s){{1,3}})(?:removed|deleted)"
    r"\s*+(?:[(（]\s?lines?\s[^()（）\n]{1,20}[)）]\s*+)?[:：]?\s*+$)"
)
#: A heading of something that is settled.
DONE_HEADING = lazy_pattern(
    rf"{_REMOVED}|.{{0,200}}(?:\b(?:FIXED|RESOLVED|REMOVED|DELETED)\b|(?:✅|☑|\[x\])\s{{0,3}}"
    r"(?i:fixed|resolved|done|removed|deleted|completed?|implemented)\b|(?:修复|修正|対応)(?:済み?|完了|完成)|已(?:修复|解决|修正|删除|移除))",
    words=(
        *("fixed", "resolved", "removed", "deleted", "done", "complete", "implemented"),
        *("修复", "修正", "対応", "已"),
    ),
)
_FILES = r"(?:files?|modules?|scripts?|folders?|directories|components?|tests?|assets?|migrations?|pages?)"
_REMOVED_FILES = (
    rf"(?i:(?:deleted|removed|obsolete)\s(?:[\w-]{{1,20}}\s){{0,2}}{_FILES}|{_FILES}\s(?:that\swere\s|already\s)?(?:deleted|removed)|"
    r"(?:archivos|ficheros|arquivos|file)\s(?:eliminados|borrados|removidos|excluídos|deletados|eliminati|rimossi)|"
    r"fichiers\ssupprimés|(?:gelöschte|entfernte)\sdateien|verwijderde\sbestanden|usunięte\spliki|silinen\sdosyalar|"
    r"(?-i:[Уу]дал[её]нн?ые\s(?:\w{1,20}\s)?файлы|[Вв]идалені\sфайли)|"
    r"削除(?:済み?の?|した|された)?ファイル|(?:已)?(?:删除|移除|刪除)的?(?:文件|檔案)|삭제(?:된|한)\s?파일)"
)
#: Texts without these words do not compile the two expressions below.
_GONE_FILES_WORDS = (
    *("deleted", "removed", "obsolete", "eliminados", "borrados", "removidos", "excluídos", "deletados", "eliminati"),
    *("rimossi", "supprimés", "dateien", "bestanden", "usunięte", "silinen", "удал", "видалені"),
    *("削除", "删除", "移除", "刪除", "삭제"),
)
#: A heading of something that is gone.
GONE_HEADING = lazy_pattern(
    r".{0,200}(?:\b(?:REMOVED|DELETED)\b|(?:✅|☑|\[x\])\s{0,3}(?i:removed|deleted)\b|削除済み?|已(?:删除|移除))|"
    rf"{_LEAD}{_REMOVED_FILES}[\s*_]*+(?:$|[:：(（\[—–]|-\s|\d)",
    words=_GONE_FILES_WORDS,
)
#: The same as a label above a list or a table: `**Deleted files:**`.
_GONE_LABEL = lazy_pattern(
    rf"{_LEAD}{_REMOVED_FILES}[\s*_]*+(?:[(（][^)）\n]{{0,40}}[)）])?[\s*_]*+(?:[:：][\s*_]*+|(?<=\*\*)\s*+)$",
    words=_GONE_FILES_WORDS,
)
_LISTS = ("|", "-", "*", "+", " ", "\t", ">")
_GONE_WORDS = r"(?:removed|deleted|dropped|eliminated)"
_AFTER_GONE = r"in|from|by|since|on|at|as|with|during|after|and|or|because|due|entirely|completely|already"
#: What follows a verb, in `Removed the check`; `deleted users can log in` is about users.
_OBJECT = (
    rf"(?=[`*_~]*+(?:\s*(?:$|[.,;!?)）\]—–→✅`*])|\s(?:{_AFTER_GONE}|the|an?|all|its|both|old|unused|dead|this|that)\s|"
    r"\s[\w@.-]+[/.]\w))"
)
#: A cell that states that its row is about something that is gone; `Removed validation` is about a part of it.
_GONE_CELL_WORDS = (
    *("removed", "deleted", "dropped", "eliminat", "gone", "longer", "eliminad", "gelöscht", "entfernt"),
    *("supprim", "removid", "удал", "削除", "已", "삭제"),
)
_GONE_CELL = lazy_pattern(
    rf"[\s*_`~✅☑✓🗑️-]*+(?!.{{0,200}}\bstill\b)"
    rf"(?:(?:(?:was|were)\s|(?:fixed|done|resolved|completed?)\s?[—–:]\s?)?{_GONE_WORDS}|"
    r"gone|no longer (?:exists?|there|present|used)|削除(?:済み?)?|已(?:删除|移除)|"
    r"eliminad[oa]s?|gelöscht|entfernt|supprimée?s?|removid[oa]s?|(?-i:[Уу]дал[её]н\w{0,2})|삭제(?:됨|완료)?)"
    rf"(?:[\s*_`~]*$|[\s*_`~]*(?:[,;:：(（\[。—–→✅]|\.(?!\w)|-\s)|\s(?:{_AFTER_GONE})\s)",
    re.IGNORECASE,
    _GONE_CELL_WORDS,
)
#: The same in a sentence: `was removed`, `(deleted)`, `Removed src/app.py:12`.
_GONE_TEXT_WORDS = ("removed", "deleted", "dropped", "eliminat", "longer", "削除", "已")
_GONE = lazy_pattern(
    rf"\b(?:was|were|been|is now|are now)\s(?:\w{{1,12}}\s)?{_GONE_WORDS}\b(?!\()|"
    rf"(?:^{_LEAD}|\b(?:already|since)\s|[—–:✅]\s*){_GONE_WORDS}\b{_OBJECT}|"
    rf"[(（\[]\s?{_GONE_WORDS}(?:\s?[)）\],;:]|\s(?:in|since|from|on|as|with|during)\s)|"
    rf"\bno longer (?:exists?|there|present)\b|[(（]\s?(?:削除|已删除|已移除)",
    re.IGNORECASE,
    _GONE_TEXT_WORDS,
)
#: Matches in an ASCII text in lower case wherever `_GONE` and `_GONE_CELL` do, in a tenth of the time.
_GONE_HINT = lazy_pattern(
    r"removed|deleted|dropped|eliminated|no longer|gone|eliminad|entfernt|supprime|removid",
    words=("removed", "deleted", "dropped", "elimina", "no longer", "gone", "entfernt", "supprim", "removid"),
)
_BOUND = lazy_pattern(r"[.;!?]\s|[。；]")
#: Before a path or a line at which something was: `(was src/app.py lines 12-40)`, `Extracted from: a.py:3`.
_WAS_HERE = lazy_pattern(
    r"(?:[(（\[]\s?(?:was|formerly|previously|originally|vormals|ehemals|früher|anciennement|antes|(?:moved|extracted)\sfrom)"
    rf"|^{_LEAD}(?:moved|extracted)\sfrom[*_]{{0,2}}\s?[:：][*_]{{0,2}}|\b(?:formerly|vormals|ehemals|anciennement))"
    r"\s(?:(?:at|in)\s)?[`*_]{0,3}$",
    re.IGNORECASE,
)
_WAS_WORDS = (
    *("(was ", "（was ", "[was ", "formerly", "previously", "originally", "vormals", "ehemals", "früher"),
    *("anciennement", "(antes", "moved from", "extracted from"),
)
#: A path before the bracket: the place where it is now.
_PLACE = lazy_pattern(r"[\w/]\.[a-zA-Z]{1,5}\b")
_CLOSES = lazy_pattern(r"[^()（）\[\]?\n]{0,40}[)）\]]")
_STILL = lazy_pattern(r"\b(?:still|again|remains?)\b|[?？]", re.IGNORECASE)
_MAX_WAS = 60
_STRUCK = lazy_pattern(r"~~(?:[^~\n]|~(?!~)){1,400}~~")
_MAX_AROUND = 300
_QUOTED_PHRASE = r"(?<![\w=`])\"[^\"`\n]{8,400}\"(?![\w`])|(?<![\w`])`[^`\n]{8,300}`(?!`)"
_PHRASE = lazy_pattern(_QUOTED_PHRASE)
_ANY_PHRASE = lazy_pattern(rf"{_QUOTED_PHRASE}|“[^“”`\n]{{8,400}}”")
_MAX_TEXT = 20_000
#: A phrase has this many words besides the reference.
_MIN_WORDS = 3
#: A text that reports a change that was made: the code before it is not in the files any more.
PAST_LABEL = lazy_pattern(
    r"[^\n]{0,200}\b(?:before (?:the |this )?(?:fix|change|commit|refactor\w{0,5})|previously|used to be)\b|"
    r"[^\n]{0,200}[(（]pr[eé]-fix[)）][\s*_]*[:：]\s*$",
    re.IGNORECASE,
    ("before", "previously", "used to be", "-fix"),
)
#: The sections of a report of a fix on the code before it.
PROBLEM = lazy_pattern(
    rf"{LEAD}(?:the\s)?(?:\w{{1,20}}\s)?(?:problems?|issues?|bugs?|root causes?|cause|symptoms?|what was wrong|before|"
    r"cause racine|causa(?: raíz)?|problema|problème|原因|根因|根本原因|问题|問題|"
    r"(?-i:[Пп]роблема|[Пп]ричина|[Сс]имптом))\b(?!\s?fix)",
    re.IGNORECASE,
)
#: A label of code that a reviewer found: it is code as it is.
AS_FOUND = lazy_pattern(
    r"\b(?:vulnerab|insecure|evidence|affected|offending|actual|observed)",
    re.IGNORECASE,
    ("vulnerab", "insecure", "evidence", "affected", "offending", "actual", "observed"),
)
BEFORE_LABEL = lazy_pattern(
    rf"{LEAD}(?:code\s)?(?:before|old|previous|antes|avant|vorher|変更前|修正前|修改前|修复前|이전)\b",
    re.IGNORECASE,
    ("before", "old", "previous", "antes", "avant", "vorher", "変更前", "修正前", "修改前", "修复前", "이전"),
)
#: The status of a section, and one that states that its problem is fixed: `**Status:** ✅ FIXED`, `Status: fixed in 2`.
_STATUS = rf"{LEAD}(?:status|estado|statut|stato|状态|状態|상태|(?-i:[Сс]татус|СТАТУС))[\s*_]*+[:：][\s*_]*+"
_ANY_STATUS = lazy_pattern(_STATUS, re.IGNORECASE, ("stat", "estado", "状态", "状態", "상태", "татус", "статус"))
_IS_FIXED = lazy_pattern(
    rf"{_STATUS}(?:[✅☑✓]\ufe0f?[\s*_]*+)?"
    r"(?:fixed|resolved|corrigido|resuelto|corregido|corrigé|behoben|risolto|已修复|已解决|修正済み?|수정\s?완료|"
    r"(?-i:[Ии]справлено|ИСПРАВЛЕНО))"
    r"(?=[*_]*+(?:\s(?:in|by|on|since)\s|\s?[(（](?:in\s)?)?(?:v?\d[\w.-]{0,20}|`?[0-9a-f]{7,40}`?|(?:PR\s)?#\d+)?[\s*_.)）]{0,9}$)",
    re.IGNORECASE,
    (
        *("fixed", "resolved", "corrigido", "resuelto", "corregido", "corrigé", "behoben", "risolto", "已"),
        *("修正済", "완료", "справлено"),
    ),
)
#: A sentence on the code after a change, also in a report of a fix: `src/app.py:12 now has the check:`
STATES_NOW = lazy_pattern(
    r"\b(?:now|changed|still|fixed|new|updated|implemented|verified|remains?|current(?:ly)?|add(?:ed|s)|replaced|modified|"
    r"introduc\w+|after|appl\w+|contains?|uses|proof|solution|buggy|wrong|already|has|have|defines|excerpt|quoted|"
    r"from|code (?:at|of))\b|现在|現在|目前|修改",
    re.IGNORECASE,
)
#: A proposal that was carried out: `建议 1: ... — 已实现`, `Fix 2: ... (implemented)`.
IS_DONE = lazy_pattern(
    r"已(?:实现|完成|实施|修复)|(?:実装|対応|完了)済み?|\b(?:implemented|completed|applied)\b", re.IGNORECASE
)
CHANGED_HEADING = lazy_pattern(
    rf"{LEAD}(?:removed|deleted|replaced|refactored|fixed|moved|renamed|simplified|changed|updated|migrated|"
    r"files?\s(?:modified|changed|updated))\b",
    re.IGNORECASE,
)


def states_fixed(lines: Iterable[str]) -> bool:
    """Return whether each status in the lines of a section states that its problem is fixed."""
    is_code, found = False, list[bool]()
    for line in lines:
        is_code ^= line.lstrip(" \t>").startswith(("```", "~~~"))
        if not is_code and _ANY_STATUS.match(line):
            found.append(_IS_FIXED.match(line) is not None and not line.lstrip().startswith(">"))
    return bool(found) and all(found)


_ANY_GONE_WORDS = tuple({*_GONE_CELL_WORDS, *_GONE_TEXT_WORDS, *_WAS_WORDS})


def may_state_gone(folded: str) -> bool:
    """Return whether a document, in lower case, may call something removed, or strike it out."""
    return "~~" in folded or has_word(folded, _ANY_GONE_WORDS)


def may_list_removed_files(folded: str) -> bool:
    """Return whether `lists_of_removed_files` may find something in the lines of a text in lower case."""
    return has_word(folded, _GONE_FILES_WORDS)


def states_gone(row: Iterable[str]) -> bool:
    """Return whether a cell states that its row is about something that is gone."""
    cells = list(row)
    return _may_state_it("\n".join(cells)) and any(map(_GONE_CELL.match, cells))


def lists_of_removed_files(lines: Iterable[str], first: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each list or table below a label such as `**Deleted files:**`."""
    return lists_below(lines, first, lambda line: _GONE_LABEL.match(line) is not None)


def lists_below(lines: Iterable[str], first: int, is_label: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each list or table below a label."""
    begun = last = 0
    for number, line in enumerate(lines, first):
        is_listed = not line.strip() or line.startswith(_LISTS) or line[:1].isdigit()
        if begun and (not is_listed or line.startswith("**")):
            yield begun, last
            begun = 0
        if (":" in line or "：" in line or "**" in line) and is_label(line):
            if begun:
                yield begun, last
            begun = number
        last = number
    if begun:
        yield begun, last


def gone_places(text: str, row: Iterable[str] = ()) -> Callable[[int, int], bool]:
    """Return a function: does the text state that what it cites from `start` to `end` was removed, or strike it out?"""
    if states_gone(row):
        return lambda start, end: True
    struck = [found.span() for found in _STRUCK.finditer(text)] if "~~" in text else []
    states_it = _may_state_it(text) and _GONE.search(text) is not None
    states_past = has_word(text.lower(), _WAS_WORDS)

    def is_gone(start: int, end: int) -> bool:
        if states_past and (was := _WAS_HERE.search(text, max(0, start - _MAX_WAS), start)):
            if was[0][0] in "(（[":
                is_closed = text[end - 1] in ")）]" or _CLOSES.match(text, end) is not None
                is_closed &= _PLACE.search(text, max(0, was.start() - _MAX_WAS), was.start()) is not None
            else:
                is_closed = True
            return is_closed and not _STILL.search(text, start, end + _MAX_AROUND)
        at = bisect_right(struck, (start, len(text)))
        if at and end <= struck[at - 1][1]:
            return True
        if not states_it:
            return False
        first, last = max(0, start - _MAX_AROUND), min(len(text), end + _MAX_AROUND)
        before = max((found.end() for found in _BOUND.finditer(text, first, start)), default=first)
        after = _BOUND.search(text, end, last)
        return bool(_GONE.search(text[before : after.start() if after else last]))

    return is_gone


def _may_state_it(text: str) -> bool:
    return not text.isascii() or _GONE_HINT.search(text.lower()) is not None


def quoted_places(text: str) -> Callable[[int, int], bool]:
    """Return a function: is what is cited from `start` to `end` part of a phrase that the text quotes?

    `Write "fix the error in user.ts:42"` gives an example. A path alone in quotation marks is not a phrase.
    """
    phrase = _ANY_PHRASE if "“" in text else _PHRASE if '"' in text or "`" in text else None
    spans = [found.span() for found in phrase.finditer(text)] if phrase and len(text) < _MAX_TEXT else []

    def is_quoted(start: int, end: int) -> bool:
        at = bisect_right(spans, (start, len(text)))
        if not at or end > spans[at - 1][1] or start <= spans[at - 1][0]:
            return False
        first, last = spans[at - 1]
        if text[first] == "`" and not text[first + 1 : start].strip(" [("):
            return False  # a location with its code
        return len(f"{text[first:start]} {text[end:last]}".split()) >= _MIN_WORDS

    return is_quoted


def is_in_lists(lists: list[tuple[int, int]], line: int) -> bool:
    """Return whether a line is in one of several lists, each given by its first and last line."""
    at = bisect_left(lists, (line, 0)) - 1
    return at >= 0 and line <= lists[at][1]
