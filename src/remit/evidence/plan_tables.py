"""What the tables of a plan state about the files in their rows: that they are there, or what they are for."""

from __future__ import annotations

import re
from collections.abc import Callable

from remit.evidence.model import Reference
from remit.lazy import lazy_pattern

#: A heading or a line above files that a plan changes or reads: `Modified files`, `Current state`, `Key references`.
EXISTING_FILES = lazy_pattern(
    r"\b(?:(?:modifi|chang|edit|updat|touch|affect|impact)ed\b|to\s(?:be\s)?(?:modif|chang|edit|updat|touch)|exist|current|"
    r"relevant|related|referenc|key|critical|important|delet|remov|obsolete|audit|problem|issue|bug|finding|gap|analysis|"
    r"background|context|status|progress|done\b|completed?\b|baseline|already|today|as-is|before|old|legacy|evidence|risk|debt|"
    r"root\scause|investigat|how\sit|to\s(?:read|review)|must-?read|reus|no\schange|stay|prior\sart|pattern|consumer|integration\spoint|"
    r"involved|examined|read\b|uses?\b|consists|lives?\b|calls?\b|rely|relies|ist-|atual|concern|"
    r"code\s?base|overview|architecture|source\sof\struth|entry\spoint|found|compris|works|our\b|"
    r"bestehend|geändert|betroffen|existent|modificad|actual|afectad|alterad|modifi[ée]|"
    r"(?-i:[Ии]змен|[Тт]екущ|[Сс]уществ|[Зз]атраг|[Пп]робл|[Сс]ейчас))|修改|変更|影响|影響|现有|現有|既存|当前|現状|现状|关键|已|审计|审查|相关|参考|问题|問題|기존|변경|수정|현재",
    re.IGNORECASE,
)
#: What a row of a plan does to a file that is there, at the beginning of a cell or a remark, or a word for such a file.
_CHANGES = lazy_pattern(
    r"(?:^|[|(（:：;—–])[\s*_`]*+(?:modif|updat|chang|edit|exten[ds]|fix|refactor|wir(?:e|ing)\b|hook|mount|replac|remov|delet|"
    r"renam|mov(?:e|ing)\b|adjust|keep|add(?:s|ed|ing)?\b|append|insert|regist|expos|migrat|bump|reus|read\b|see\b|touch|"
    r"tweak|patch|clean|switch|convert|split|export|import|ajout|ändern|anpass|alter|atualiz|actualiz|cambi|ampli|agreg|"
    r"añad|adicion|erweiter|(?-i:[Ии]зменить|[Оо]бновить|[Дд]обавить|[Ии]справить))|"
    r"\b(?:exist|already|unchanged|current|today|now\b|has\b|have\b|is\b|are\b|was\b|does\b|do\b|still|where|contains?\b|"
    r"bug|vulnerab|inject|leak|wrong|broken|unsafe|insecure)|"
    r"修改|更新|変更|改修|调整|扩展|重构|追加|删除|移除|保持|复用|已有|現有|现有|既存|수정|변경|기존|추가",
    re.IGNORECASE,
)
#: The same for a file that only a table describes: a mark, a state or a fault.
_STATES_FILE = lazy_pattern(
    r"[✅✓✔☑]|\b(?:done|fixed|completed|implemented|shipped|merged|unused|deprecated|legacy|no\schange|stays?|crash|never|lacks?|"
    r"missing|ignores\serrors|hardcoded|\d+\slines|lines?\s\d|fails?|race|since|null|pattern\sto|template\sfor)\b|"
    r"(?-i:[Гг]отово|[Ии]справлен|[Сс]делано|[Вв]ыполнен)|已完成|已修复|完了|완료|失败|硬编码|没有|漏洞|崩溃|卡顿",
    re.IGNORECASE,
)
_MAX_ROW = 2_000
#: The columns of a table that states what each file is for, and of one on existing files.
_DESCRIBES_FILE = lazy_pattern(
    r"\|[\s*_]*+(?:purpose|contents?|contains|responsibilit(?:y|ies)|role|provides|exports|what\sit\s(?:does|holds)|zweck|inhalt|"
    r"aufgabe|rolle|verantwortung|prop[óo]sito|contenido|conte[úu]do|rol|papel|responsabilidad|responsabilidade|contenu|rôle|"
    r"(?-i:[Рр]оль|[Сс]одержимое|[Сс]одержание|[Нн]азначение)|职责|職責|内容|用途|作用|役割|目的|責務|역할|내용|용도|목적)[\s*_]*+(?=\|)",
    re.IGNORECASE,
)
_DESCRIBES_STATE = lazy_pattern(
    r"\|[\s*_]*+(?:\w{1,20}\s)?(?:(?:lines?+(?!\s?[(（]\s?(?:est|~))|loc|bytes|size|status|state|issues?|problems?|bugs?|findings?|severity|changes?|"
    r"modifications?|current|risk|impact|coverage|owner|estado|zustand)\b|(?-i:[Сс]татус|[Пп]роблема|[Сс]трок)|状态|状態|问题|問題|"
    r"行数|大小|改什么|变更|修改|変更|상태|문제|변경)[^|]{0,20}(?=\|)",
    re.IGNORECASE,
)
_MAX_HEAD = 1_000


class TableHeads:
    """Finds the tables of a plan that may list files which the plan creates, by their columns and the line above."""

    def __init__(self, line_text: Callable[[int], str]) -> None:
        self._line_text = line_text
        self._answers: dict[int, int] = {}

    def mark(self, reference: Reference, *, are_of_plan: bool) -> None:
        """Set whether a file without a line is one that the plan may create."""
        row = self._line_text(reference.at)
        reference.is_planned |= are_of_plan and not _changes_file(row)
        reference.table = self._table_of(reference.row)
        reference.may_be_planned = reference.table > 0 and not _changes_file(row) and not _STATES_FILE.search(row)

    def _table_of(self, row: int) -> int:
        """Return the first line of the table with a row if it may list new files; 0 otherwise.

        Such a table states what each file is for, and nothing states that the files exist.
        """
        if row < 1:
            return 0
        at = row
        while at not in self._answers and at > 1 and self._line_text(at - 1).lstrip().startswith("|"):
            at -= 1
        if at not in self._answers:
            head = self._line_text(at)[:_MAX_HEAD]
            above = next(filter(str.strip, (self._line_text(at - back) for back in (1, 2))), "")[:_MAX_HEAD]
            is_existing = _DESCRIBES_STATE.search(head) or EXISTING_FILES.search(above) or _changes_file(above)
            self._answers[at] = at if _DESCRIBES_FILE.search(head) and not is_existing else 0
        self._answers[row] = self._answers[at]
        return self._answers[row]


def _changes_file(row: str) -> bool:
    """Return whether a row of a plan may be about a change of its file, so that the file is there."""
    return len(row) > _MAX_ROW or _CHANGES.search(row) is not None
