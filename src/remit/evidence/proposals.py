"""Recognise code that the text proposes: it is to be written, so it is not a quote.

The nearest label above a fence decides (`**Fix:**`, `**Current code:**`), else the headings above it.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from remit.contract.fences import FenceSpan, read_fences
from remit.contract.parse import Document
from remit.evidence.removals import DONE_HEADING, GONE_HEADING
from remit.lazy import lazy_pattern

_LEAD = r"[\s*_>#\-–—+\d.)§✅❌🔧💡]*+"
#: The same labels in Spanish, Portuguese, French, German and Russian: `Solución propuesta`, `Vorgeschlagene Lösung`.
_FOREIGN = (
    r"(?:(?:vorgeschlagener?|empfohlener?|mögliche|posible|possível|(?-i:[Пп]редлагаем|[Рр]екомендуем|[Вв]озможн)\w{2})\s)?"
    r"(?:soluci[óo]n(?:es)?|alternativas?|propuestas?|correcci[óo]n(?:es)?|recomendaci[óo]n(?:es)?|sugerencias?|después|"
    r"solu[çc](?:[ãa]o|[õo]es)|corre[çc](?:[ãa]o|[õo]es)|propostas?|recomenda[çc](?:[ãa]o|[õo]es)|sugest[ãa]o|depois|"
    r"corrections?|correctifs?|propositions?|recommandations?|après|lösung(?:en|svorschlag)?|vorschl(?:ag|äge)|"
    r"alternativen?|empfehlung(?:en)?|korrektur|nachher|(?-i:[Рр]ешени[ея]|[Ии]справлени[ея]|[Пп]редложени[ея]|"
    r"[Рр]екомендаци[ия]|[Аа]льтернатив[аы]|[Пп]осле))(?:\s(?!src|lib)\w{1,20}){0,2}"
)
_NOUNS = (
    rf"(?:{_FOREIGN}|c[óo]digo\s(?:propuesto|sugerido|corregido|proposto|corrigido)|"
    r"(?:code|solution)\s(?:proposée?|corrigée?|suggérée?)|(?-i:[Пп]редлагаемый\sкод)|"
    r"fix(?:ed|es)?|solutions?|recommendations?|remediations?|mitigations?|suggestions?|proposals?|after|"
    r"(?:修正|変更|改善)(?:案|後|例|方法|コード)|修正|改善|対策|推奨|提案|解决方案|"
    r"(?:建议|修复|改进|优化)(?:方案|建议|代码|修改|修复|做法|方法|后)?|修改(?:方案|建议|后)|"
    r"대안(?:\s?\d)?|제안|(?:수정|개선)(?:안|\s?후)?|변경\s?후|권장)"
)
_KINDS = (
    r"(?:(?:suggested|recommended|proposed|possible|secure|safer?|correct(?:ed)?|better|improved|fixed|new|expected|"
    r"desired|target|alternative|planned)\s\w{1,20}(?:\s\w{1,20})?|patch|replacement|corrected|exploit|attack|payload|"
    r"poc|proof of concept|request|response|output|suggested|recommended|proposed|should be|instead|"
    r"changes?(?: required| needed)?|modifications?|implementation|refactor(?:ed|ing)?|improvements?|alternatives?|"
    r"(?:usage\s)?examples?(?:\s(?:usage|fix|implementation|solution|code))?|usage|template|sketch|pseudo-?code|"
    rf"例|示例|ejemplos?|exemplos?|exemples?|esempi[oi]?|beispiele?|{_NOUNS})"
)
#: The label of proposed code, or of the input or output of a program: `**Suggested fix** (...):`.
_PROPOSED_LABEL = lazy_pattern(
    rf"{_LEAD}(?:正しい|正确的?|具体的な?|推奨される|推荐的|建议的)?{_KINDS}[\s*_]{{0,4}}(?:[(（].{{0,120}}?[)）][\s*_]{{0,4}})?(?:[:：]|$)",
    re.IGNORECASE,
)
#: A word ends, and it is not the beginning of a file's name: `update.go`, `create-user.sh`.
_WORD_ENDS = r"\b(?![./_-]\w)"
#: A bold label with `fix` or `changes` in it, or an alternative: `**Root-cause fix:**`, `**Option A:**`.
_FIX_LABEL = lazy_pattern(
    r"[\s>\-+\d.)]*+\*\*(?:[^*\n]{0,40}\b(?:fix|fixes)\b(?!ed)[^*\n]{0,30}|(?:option|alternative|approach)\s\w{1,3}\b"
    r"[^*\n]{0,40}|[^*\n]{0,40}\b(?:changes|modifications)[:：]?|"
    r"(?:step|task|phase|paso|passo|schritt)\s\d{1,2}[a-z]?\s?[:：.–—-]\s*(?:implement|add|create|update|replace|fix|wire|"
    r"extract|modify|remove|write|corregir|agregar|añadir|implementar|crear)\b[^*\n]{0,80})\*\*",
    re.IGNORECASE,
)
#: An instruction that introduces code: `Then add this to src/app.py:`, `After line 12, insert:`
_LINE_END = r"[:：][\s*_]{0,4}$"
_INSTRUCTION = lazy_pattern(
    rf"{_LEAD}(?:\*\*)?(?:(?:then|now|next|first|second|third|finally|also|please|and|instead|step \d{{1,2}}|you|we|i|"
    r"can|could|should|must|would|will|to|let's|let us)[,:]?\s){0,4}"
    r"(?:add|create|implement|introduce|replace|change|update|use|write|insert|modify|extract|rename|"
    rf"wrap|define|append|prepend|consider|switch|convert|refactor|rewrite|configure|enable|register|adjust|"
    rf"añadir|agregar|reemplazar|cambiar|usar|ajouter|remplacer|utiliser|adicionar|substituir|alterar|ersetzen|ändern|"
    rf"(?-i:[Дд]обавить|[Зз]аменить|[Ии]зменить)){_WORD_ENDS}[^\n]{{0,200}}{_LINE_END}|"
    rf"[^\n]{{0,200}}[,.;]\s(?:then\s)?(?:add|insert|replace|append|prepend|handle|extend)\b[^\n]{{0,200}}{_LINE_END}|"
    rf"[^\n]{{0,200}}[.;]\s(?:use|create|define|configure|introduce|implement)\s[^\n]{{0,100}}{_LINE_END}|"
    r"[^\n]{0,200}\b(?:would|should|could|might|must) (?:then )?(?:be|become|look like|read)(?: this)?"
    rf"{_LINE_END}",
    re.IGNORECASE,
)
#: The beginning of a line that introduces proposed code, or the output of a program.
_INTRODUCTION = lazy_pattern(
    rf"{_LEAD}(?:(?:the|a|an)\s)?(?:proposed|suggested|recommended|planned|possible|corrected|improved|new version|"
    r"(?:(?:expected|actual|sample|example|test|console|terminal|command|program)\s)?(?:output|stdout|stderr|traceback|"
    rf"stack ?trace)|出力(?:例|結果)?|输出){_WORD_ENDS}[^\n]{{0,200}}[:：][\s*_]{{0,4}}$|"
    r"[^\n]{0,200}\b(?:prints|outputs|logs)[:：][\s*_]{0,4}$|"
    r"[^\n]{0,120}[(（](?:to be (?:added|created|written|implemented)|proposed|planned|hypothetical|suggested|"
    r"recommended|not yet implemented|illustrative|conceptual|pseudo-?code|sketch)[)）][\s*_]{0,4}[:：][\s*_]{0,4}$|"
    r"[^\n]{0,200}(?:示例|例如|样例|参考实现|サンプル|記述例|使用例|예시|复制[^\n]{0,60}到[^\n]{0,60})[\s*_]{0,4}[:：][\s*_]{0,4}$",
    re.IGNORECASE,
)
_CODE_SPAN = lazy_pattern(r"`[^`\n]*+`")
_CLEAR_CHANGE = r"(?:add|insert|append|prepend|replace|extend|pass|remove|delete|rename|move|emit)"
#: A clause that asks for a change, and words for code that is not an excerpt: `the loop (line 9), pass `x` to ...:`.
_ASKS_FOR_CHANGE = lazy_pattern(
    rf"(?:(?:^{_LEAD}|[:：]\**\s|\s[—–-]\s|[.;]\s|\*\*\s)(?:(?:then|now|and|also)\s)?"
    rf"(?:{_CLEAR_CHANGE}|empty|simplify|drop|inline|swap|merge|split|change|update|wrap|extract|introduce|create|define|"
    rf"modify)|,\s(?:(?:then|and|also)\s)?{_CLEAR_CHANGE})\s(?:`|(?:the|an?|this|these|all|its?|new|any|each|every|both|"
    rf"to|from|into|in|after|before)\b)|^{_LEAD}implementation\s(?:pattern|approach)\b|`x`\s(?:pattern|style)\b|"
    rf"\b(?:sketch|skeleton|replacing|migrated|becomes|conceptual|parallels)\b|\bnew version of\b|"
    rf"^[-*+]\s\[[xX]\]\s|^{_LEAD}(?:updated|revised|rewritten)\b|\bmatching (?:its|the)\b|\bpattern\*{{0,2}}\s?[(（]|"
    rf"^{_LEAD}(?:at|in)\s`x`[^\n]{{0,20}},\s(?:before|after|right|just|directly)\b|"
    rf"^{_LEAD}(?:edit|modify|editar|modificar|modifier|bearbeiten|ändern)[\s*_]{{0,4}}[:：]|"
    r"(?:^|[:：]\**\s|[.;]\s|\*\*\s)(?-i:Add|Insert|Append|Prepend|Replace|Wrap)\s\S|"
    r"\b(?:after|before|near|next to) the (?:existing|last|first|\w{1,20} block)\b|"
    r"(?:新增|增加|添加|追加|增一个|改为|改成|替换为|扩展为|引入|加上|补上)[^\n]{0,60}[:：]\s*$",
    re.IGNORECASE,
)
#: A line that introduces code as it is: `src/app.py:8 currently says:`
_INTRODUCES_EXISTING = lazy_pattern(
    r"[^\n]{0,200}\b(?:current(?:ly)?|(?<!near the )(?<!after the )(?<!before the )(?<!with the )(?<!to the )"
    r"(?<!like the )(?<!in the )existing|today|as[- ]is|now (?:says|reads|has|is|looks)|original(?:ly)?|"
    r"at present)\b[^\n]{0,120}[:：][\s*_]{0,4}$|[^\n]{0,120}(?:現在|現状|目前|当前|现有)[^\n]{0,120}[:：][\s*_]{0,4}$",
    re.IGNORECASE,
)
#: Words for code as it is, in a label or heading: `**Current state:**`.
_CURRENT = lazy_pattern(
    r"\b(?:(?:current|existing|today|as[- ]is)\b|actual|actuel|aktuell|attual|atual|(?-i:[Тт]екущ))|"
    r"現在|現状|当前|目前|现有|현재|기존",
    re.IGNORECASE,
)
#: Labels that state a location and nothing else; the heading above them decides.
_LOCATION_LABEL = lazy_pattern(
    rf"{_LEAD}(?:file|files|location|path|where|at|line|lines|ファイル|文件)\b", re.IGNORECASE
)
_LABEL = lazy_pattern(r"[\s>\-+\d.)]*+(?:\*\*[^*\n]{1,60}\*\*|__[^_\n]{1,60}__|[A-Z][\w ]{0,30}[:：]\s*$)")
_HEADING = lazy_pattern(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*$")
_PROPOSED_HEADING = lazy_pattern(
    rf"[^\n]{{0,80}}[(（](?:to (?:be )?(?:added?|written|created?|implemented?)|proposed|planned|"
    r"not yet implemented)[)）]|"
    rf"{_LEAD}(?:alternatives?\b[^\n]{{0,40}}$|(?:proposed|suggested|recommended(?!\sarchitecture)|planned){_WORD_ENDS}|(?:{_NOUNS}|examples?)\s*(?:#?\d{{1,3}}\s*(?:[—–-]\s)?)?(?:[:：]|$|(?<=[—–-]\s))|"
    r"(?:code\s)?examples?\s(?:for|of)\s[^\n]{0,40}\bfix(?:es)?\b|"
    r"(?:code )?changes (?:required|needed|to make)\b|implementation (?:plan|steps|details|guide)\b|how to fix\b|"
    r"new\s\w{1,20}(?:\s\w{1,20})?\s(?:required|needed)\b)",
    re.IGNORECASE,
)
#: A heading that asks for a change: `Phase 1: Add the menu`.
_CHANGE_HEADING = lazy_pattern(
    rf"{_LEAD}(?:(?:phase|step|task|part|stage|paso|passo)\s\d{{1,2}}[a-z]?\s?[:：.–—-]\s*(?:corregir|agregar|añadir|implementar|"
    r"crear|corrigir|adicionar|add|create|implement|introduce|update|"
    r"replace|extract|refactor|migrate|move|write|build|rename|remove|use)\b|(?:提取|抽取|抽出|重构|添加|增加|新增|创建|引入|"
    r"替换|统一|优化|实现|改为|追加|導入|統一)|(?:plan|plano|план|计划|方案|計画|계획)\s*(?:[:：]|$)|"
    r"(?:option|alternative|approach)\s\w{1,3}\s*(?:[:：.–—-]|$)|"
    r"[^\n]{0,40}(?:例|例子|예시|サンプル)\s*(?:[:：]|$)|"
    r"[^\n]{0,60}\b(?:patch(?:es)?|recommendations|remediations?|(?:suggested|proposed|recommended)\s(?:fix|change)e?s?)\b)",
    re.IGNORECASE,
)
#: A heading above code that shows how something is used.
_EXAMPLES = lazy_pattern(rf"{_LEAD}(?:(?:code|usage)\s)?examples?\b[^\n]{{0,30}}$", re.IGNORECASE)
#: A heading that is an instruction: `1.4 Fix the login`. Code below it without a line is to be written.
_TASK_HEADING = lazy_pattern(
    rf"{_LEAD}(?:fix|add|create|implement|introduce|replace|extract|refactor|migrate){_WORD_ENDS}\s\S", re.IGNORECASE
)
_PLAN = lazy_pattern(
    r"\b(?:plan|proposals?|rfc|roadmap|strategy|specification|(?-i:[Пп]лан|[Сс]пецификация))\b|計画|提案|计划|方案|계획|제안",
    re.IGNORECASE,
)
_FILES_TO_CREATE = lazy_pattern(
    rf"{_LEAD}(?:new\sfiles\b[^\n]{{0,40}}\bcreates?\b|(?:planned|proposed|missing)\s(?:\w{{1,20}}\s)?files?\b|(?:\w{{1,20}}\s)?files?\sto\s(?:be\s)?(?:creat|add)|"
    r"recommended additions?\b|要?(?:新建|新增|创建)的?文件|新規作成(?:する)?ファイル)",
    re.IGNORECASE,
)
_NEW_FILES = lazy_pattern(
    rf"{_LEAD}(?:new\s(?:\w{{1,20}}\s)?files?\b|archivos nuevos|nuevos archivos|neue dateien|nouveaux fichiers|"
    r"novos arquivos|(?-i:[Нн]овые файлы)|新規ファイル|新文件)",
    re.IGNORECASE,
)
#: The file of a plan: `docs/plans/login.md`, `login-plan.md`.
_PLAN_FILE = lazy_pattern(
    r"(?:^|/)(?:plans?|proposals?|rfcs?|specs?)/|(?:^|[-_./])(?:plan|proposal|rfc|spec)(?=[-_.])", re.IGNORECASE
)
#: A heading of a plan below which code is to be written.
_PLANNED_HEADING = lazy_pattern(
    rf"{_LEAD}(?:(?:code )?changes (?:required|needed|to make)\b|implementation steps\b)",
    re.IGNORECASE,
)
_EXISTING = lazy_pattern(
    r"\b(?:current|existing|analysis|background|research|findings?|evidence|discoveries|root cause|problem|before|"
    r"issue|vulnerab\w{1,10}|actual|original|old|bug)\b|"
    r"現状|现状|현재|기존",
    re.IGNORECASE,
)
#: A text that reports a change that was made: the code before it is not in the files any more.
_PAST_LABEL = lazy_pattern(
    r"[^\n]{0,200}\b(?:before (?:the |this )?(?:fix|change|commit|refactor\w{0,5})|previously|used to be)\b",
    re.IGNORECASE,
)
#: A text that reports a fix, and its sections on the code before it.
_FIX_REPORT = lazy_pattern(
    r"\bfix(?:e(?-i:[sdSD]))?\b[^\n]{0,80}\b(?:completed?|done|report|summary)\b|\breport\b[^\n]{0,80}\bfix(?:e(?-i:[sdSD]))?\b|"
    r"(?:修复|修正)(?:完成|報告|报告|总结)",
    re.IGNORECASE,
)
_NO_FIX_REPORT = lazy_pattern(r"\b(?:plan|review|audit|research|analysis|to fix)\b", re.IGNORECASE)
_PROBLEM = lazy_pattern(
    rf"{_LEAD}(?:the\s)?(?:\w{{1,20}}\s)?(?:problems?|issues?|bugs?|root causes?|cause|symptoms?|what was wrong|before|"
    r"cause racine|causa(?: raíz)?|problema|problème|原因|根因|根本原因|问题|問題)\b(?!\s?fix)",
    re.IGNORECASE,
)
_BEFORE_LABEL = lazy_pattern(rf"{_LEAD}(?:before|old|previous|変更前|修正前|修改前|修复前)\b", re.IGNORECASE)
#: A proposal that was carried out: `建议 1: ... — 已实现`, `Fix 2: ... (implemented)`.
_IS_DONE = lazy_pattern(
    r"已(?:实现|完成|实施|修复)|(?:実装|対応|完了)済み?|\b(?:implemented|completed|applied)\b", re.IGNORECASE
)
_CHANGED_HEADING = lazy_pattern(
    rf"{_LEAD}(?:removed|deleted|replaced|refactored|fixed|moved|renamed|simplified|changed|updated|migrated)\b",
    re.IGNORECASE,
)
_FENCE = lazy_pattern(r"\s*(?:>\s?)*(?:[-*+\d.)]+\s+)?(`{3,}|~{3,})")
#: A step of a plan that is still to be done.
_STEP = lazy_pattern(r"\s*[-*+]\s\[ \]\s")
#: At most this many lines above a fence are searched for its label.
_REACH = 12
_MAX_LINE = 2_000
#: A sentence above a fence has at most this many lines; at most this many fences follow each other below one label.
_MAX_WRAPPED = 3
_MAX_JOINED = 3
_MAX_FENCE = 80
_SENTENCE_ENDS = lazy_pattern(r"[.!?:]\s|[。！？：]")
_STARTS_ENTRY = lazy_pattern(r"\s*(?:[-*+]\s|\d{1,9}[.)]\s)")
#: A line that does not continue the one above it.
_STARTS = lazy_pattern(r"\s*(?:[-*+]\s|\d{1,9}[.)]\s|\*\*|>|\|)")


class Proposals:
    """The labels and headings of one document."""

    def __init__(self, document: Document, path: str = "") -> None:
        """Read the headings of a document; `path` is its file, whose name may call it a plan."""
        self._document = document
        self._headings: list[tuple[int, int, str]] = []
        #: For each heading the index of the heading above it; -1 at the top.
        self._parents: list[int] = []
        stack = [(-1, 0)]
        for first, lines in document.line_runs:
            fences = read_fences(lines)
            spans, end = iter([*fences, FenceSpan(len(lines), len(lines))]), 0
            span = next(spans)
            for at, line in enumerate(lines):
                if at == span.start:
                    end, span = span.end, next(spans, span)
                if at >= end and line.lstrip().startswith("#") and (found := _HEADING.match(line)):
                    number = first + at
                    while stack[-1][1] >= len(found[1]):
                        stack.pop()
                    self._parents.append(stack[-1][0])
                    stack.append((len(self._headings), len(found[1])))
                    self._headings.append((number, len(found[1]), found[2]))
        title = next((text for _, level, text in self._headings if level == 1), "")
        self._is_fix = bool(_FIX_REPORT.search(title)) and not _NO_FIX_REPORT.search(title)
        #: Whether its title or its file calls it a plan.
        self.is_plan = bool(_PLAN.search(title) or _PLAN_FILE.search(path))

    def is_proposed(self, line: int, *, has_line: bool) -> bool:
        """Return whether the code of the fence at a line is proposed. `has_line`: its location has a line."""
        line = self._first_of_fences(line)
        for number in range(line - 1, max(0, line - _REACH), -1):
            text = self._document.line_text(number)
            if not text.strip(" \t>"):
                continue
            if _FENCE.match(text) or _HEADING.match(text):
                break
            if _PROPOSED_LABEL.match(text) or _INSTRUCTION.match(text) or _INTRODUCTION.match(text):
                return True
            if _INTRODUCES_EXISTING.match(text):
                return False
            if _STEP.match(text):
                return True
            if _LABEL.match(text):
                if _EXISTING.search(text) and not _LOCATION_LABEL.match(text):
                    return False
                if has_line or not _STARTS_ENTRY.match(text):
                    break  # the label of an entry does not end the search: one of the whole list may be above it
        return self._under_proposal(line, has_line=has_line)

    def _first_of_fences(self, line: int) -> int:
        """Return the line of the first of several fences with nothing between them: one label is above them all."""
        for _ in range(_MAX_JOINED):
            end = next((at for at in (line - 1, line - 2) if self._document.line_text(at).strip(" \t>")), 0)
            if end < 1 or not _FENCE.match(self._document.line_text(end)):
                break
            rows = range(end - 1, max(0, end - _MAX_FENCE), -1)
            start = next((at for at in rows if _FENCE.match(self._document.line_text(at))), None)
            if start is None:
                break
            line = start
        return line

    def _sentence_above(self, line: int) -> str:
        """Return the line above a fence, with the lines before it that it continues."""
        at = next((at for at in (line - 1, line - 2) if self._document.line_text(at).strip()), 0)
        parts = [self._document.line_text(at)] if at > 0 else []
        while parts and len(parts) < _MAX_WRAPPED and not _STARTS.match(parts[-1]):
            before = self._document.line_text(at - len(parts))
            if not before.strip() or _FENCE.match(before) or _HEADING.match(before):
                break
            parts.append(before)
        before = " ".join(part[:_MAX_LINE].strip() for part in reversed(parts[1:])) + " "
        ends = [found.end() for found in _SENTENCE_ENDS.finditer(before)]
        return (before[ends[-1] if ends else 0 :] + (parts[0][:_MAX_LINE] if parts else "")).lstrip()

    def may_be_proposed(self, line: int) -> bool:
        """Return whether the text above a fence may ask for a change: then code that is not there is new."""
        above = self._sentence_above(line)
        if _INTRODUCES_EXISTING.match(above):
            return False
        if _ASKS_FOR_CHANGE.search(_CODE_SPAN.sub("`x`", above)):
            return True
        at = bisect_left(self._headings, (line, 0, "")) - 1
        shows_existing = _LABEL.match(above) and _EXISTING.search(above) and not _LOCATION_LABEL.match(above)
        if at >= 0 and not shows_existing and _CHANGE_HEADING.match(self._headings[at][2]):
            return True
        if self._has_above(at, _EXAMPLES):
            return True
        texts = (self._document.line_text(number) for number in range(line - 1, max(0, line - _REACH), -1))
        label = next((text for text in texts if any(one.match(text) for one in (_FENCE, _HEADING, _LABEL))), "")
        return bool(_FIX_LABEL.match(label))

    def shows_existing(self, line: int) -> bool:
        """Return whether the sentence, the label or the heading above a fence calls its code the current one."""
        if _INTRODUCES_EXISTING.match(self._sentence_above(line)):
            return True
        texts = (self._document.line_text(number) for number in range(line - 1, max(0, line - _REACH), -1))
        label = next((text for text in texts if any(one.match(text) for one in (_FENCE, _HEADING, _LABEL))), "")
        return bool(_CURRENT.search(label)) and not _FENCE.match(label)

    def _follows_sentence(self, line: int) -> bool:
        """Return whether a blank line and the end of a sentence are above a fence: nothing introduces the code."""
        sentence, above, gap = (self._document.line_text(line - back).strip(" \t>") for back in (2, 3, 1))
        return not gap and sentence.endswith((".", "。")) and bool(" " in sentence or above)

    def is_past(self, line: int) -> bool:
        """Return whether the fence at a line shows code as it was before a change that the text reports as made."""
        above = next(filter(str.strip, (self._document.line_text(line - back) for back in (1, 2))), "")
        if _PAST_LABEL.match(above):
            return True
        at = bisect_left(self._headings, (line, 0, "")) - 1
        if at >= 0 and _BEFORE_LABEL.match(above) and _CHANGED_HEADING.match(self._headings[at][2]):
            return True
        return self._has_above(at, DONE_HEADING) or (self._is_fix and self._has_above(at, _PROBLEM))

    def lists_new_files(self, line: int) -> bool:
        """Return whether the heading above a line announces files that are to be created."""
        at = bisect_left(self._headings, (line, 0, "")) - 1
        text = self._headings[at][2] if at >= 0 else ""
        return bool(_FILES_TO_CREATE.match(text) or (self.is_plan and _NEW_FILES.match(text)))

    def is_gone(self, line: int) -> bool:
        """Return whether a heading above a line states that what is below it was removed."""
        return self._has_above(bisect_left(self._headings, (line, 0, "")) - 1, GONE_HEADING)

    def _has_above(self, at: int, pattern: re.Pattern[str]) -> bool:
        """Return whether a pattern matches a heading or one that is above it."""
        while at >= 0:
            if pattern.match(self._headings[at][2]):
                return True
            at = self._parents[at]
        return False

    def _under_proposal(self, line: int, *, has_line: bool) -> bool:
        """Return whether a heading above a line proposes code: the nearest if a line is cited, else all.

        In a plan, `Changes required` further above does, too, and so does code that no sentence introduces.
        """
        nearest = at = bisect_left(self._headings, (line, 0, "")) - 1
        if at >= 0 and not has_line and _TASK_HEADING.match(self._headings[at][2]):
            return True
        while at >= 0:
            text = self._headings[at][2]
            if _EXISTING.search(text) or _IS_DONE.search(text):
                return False
            decides = _PROPOSED_HEADING if at == nearest or not has_line else _PLANNED_HEADING
            if decides.match(text):
                return True
            if has_line and not self.is_plan:
                return False
            at = self._parents[at]
        return self.is_plan and (not has_line or self._follows_sentence(line))
