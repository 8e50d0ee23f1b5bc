"""The words for code that a text proposes, for code as it is, and for code before a change, in several languages."""

from __future__ import annotations

import re

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
PROPOSED_LABEL = lazy_pattern(
    rf"{_LEAD}(?:正しい|正确的?|具体的な?|推奨される|推荐的|建议的)?{_KINDS}[\s*_]{{0,4}}(?:[(（].{{0,120}}?[)）][\s*_]{{0,4}})?(?:[:：]|$)",
    re.IGNORECASE,
)
#: A word ends, and it is not the beginning of a file's name: `update.go`, `create-user.sh`.
_WORD_ENDS = r"\b(?![./_-]\w)"
#: A bold label with `fix` or `changes` in it, or an alternative: `**Root-cause fix:**`, `**Option A:**`.
FIX_LABEL = lazy_pattern(
    r"[\s>\-+\d.)]*+\*\*(?:[^*\n]{0,40}\b(?:fix|fixes)\b(?!ed)[^*\n]{0,30}|(?:option|alternative|approach)\s\w{1,3}\b"
    r"[^*\n]{0,40}|[^*\n]{0,40}\b(?:changes|modifications)[:：]?|"
    r"(?:step|task|phase|paso|passo|schritt)\s\d{1,2}[a-z]?\s?[:：.–—-]\s*(?:implement|add|create|update|replace|fix|wire|"
    r"extract|modify|remove|write|corregir|agregar|añadir|implementar|crear)\b[^*\n]{0,80})\*\*",
    re.IGNORECASE,
)
#: An instruction that introduces code: `Then add this to src/app.py:`, `After line 12, insert:`
_LINE_END = r"[:：][\s*_]{0,4}$"
INSTRUCTION = lazy_pattern(
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
INTRODUCTION = lazy_pattern(
    rf"{_LEAD}(?:(?:the|a|an)\s)?(?:proposed|suggested|recommended|planned|possible|corrected|improved|new version|"
    r"(?:(?:expected|actual|sample|example|test|console|terminal|command|program)\s)?(?:output|stdout|stderr|traceback|"
    rf"stack ?trace)|出力(?:例|結果)?|输出){_WORD_ENDS}[^\n]{{0,200}}[:：][\s*_]{{0,4}}$|"
    r"[^\n]{0,200}\b(?:prints|outputs|logs)[:：][\s*_]{0,4}$|"
    r"[^\n]{0,120}[(（](?:to be (?:added|created|written|implemented)|proposed|planned|hypothetical|suggested|"
    r"recommended|not yet implemented|illustrative|conceptual|pseudo-?code|sketch)[)）][\s*_]{0,4}[:：][\s*_]{0,4}$|"
    r"[^\n]{0,200}(?:示例|例如|样例|参考实现|サンプル|記述例|使用例|예시|复制[^\n]{0,60}到[^\n]{0,60})[\s*_]{0,4}[:：][\s*_]{0,4}$",
    re.IGNORECASE,
)
_CLEAR_CHANGE = r"(?:add|insert|append|prepend|replace|extend|pass|remove|delete|rename|move|emit)"
#: A clause that asks for a change, and words for code that is not an excerpt: `the loop (line 9), pass `x` to ...:`.
ASKS_FOR_CHANGE = lazy_pattern(
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
INTRODUCES_EXISTING = lazy_pattern(
    r"[^\n]{0,200}\b(?:current(?:ly)?|(?<!near the )(?<!after the )(?<!before the )(?<!with the )(?<!to the )"
    r"(?<!like the )(?<!in the )existing|today|as[- ]is|now (?:says|reads|has|is|looks)|original(?:ly)?|"
    r"at present)\b[^\n]{0,120}[:：][\s*_]{0,4}$|[^\n]{0,120}(?:現在|現状|目前|当前|现有)[^\n]{0,120}[:：][\s*_]{0,4}$",
    re.IGNORECASE,
)
#: Words for code as it is, in a label or heading: `**Current state:**`.
CURRENT = lazy_pattern(
    r"\b(?:(?:current|existing|today|as[- ]is)\b|actual|actuel|aktuell|attual|atual|(?-i:[Тт]екущ))|"
    r"現在|現状|当前|目前|现有|현재|기존",
    re.IGNORECASE,
)
#: Labels that state a location and nothing else; the heading above them decides.
LOCATION_LABEL = lazy_pattern(
    rf"{_LEAD}(?:file|files|location|path|where|at|line|lines|ファイル|文件)\b", re.IGNORECASE
)
PROPOSED_HEADING = lazy_pattern(
    rf"[^\n]{{0,80}}[(（](?:to (?:be )?(?:added?|written|created?|implemented?)|proposed|planned|"
    r"not yet implemented)[)）]|"
    rf"{_LEAD}(?:alternatives?\b[^\n]{{0,40}}$|(?:proposed|suggested|recommended(?!\sarchitecture)|planned){_WORD_ENDS}|(?:{_NOUNS}|examples?)\s*(?:#?\d{{1,3}}\s*(?:[—–-]\s)?)?(?:[:：]|$|(?<=[—–-]\s))|"
    r"(?:code\s)?examples?\s(?:for|of)\s[^\n]{0,40}\bfix(?:es)?\b|"
    r"(?:code )?changes (?:required|needed|to make)\b|implementation (?:plan|steps|details|guide)\b|how to fix\b|"
    r"new\s\w{1,20}(?:\s\w{1,20})?\s(?:required|needed)\b)",
    re.IGNORECASE,
)
#: A heading that asks for a change: `Phase 1: Add the menu`.
CHANGE_HEADING = lazy_pattern(
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
EXAMPLES = lazy_pattern(rf"{_LEAD}(?:(?:code|usage)\s)?examples?\b[^\n]{{0,30}}$", re.IGNORECASE)
#: A heading that is an instruction: `1.4 Fix the login`. Code below it without a line is to be written.
TASK_HEADING = lazy_pattern(
    rf"{_LEAD}(?:fix|add|create|implement|introduce|replace|extract|refactor|migrate){_WORD_ENDS}\s\S", re.IGNORECASE
)
PLAN = lazy_pattern(
    r"\b(?:plan|proposals?|rfc|roadmap|strategy|specification|(?-i:[Пп]лан|[Сс]пецификация))\b|計画|提案|计划|方案|계획|제안",
    re.IGNORECASE,
)
FILES_TO_CREATE = lazy_pattern(
    rf"{_LEAD}(?:new\sfiles\b[^\n]{{0,40}}\bcreates?\b|(?:planned|proposed|missing)\s(?:\w{{1,20}}\s)?files?\b|(?:\w{{1,20}}\s)?files?\sto\s(?:be\s)?(?:creat|add)|"
    r"recommended additions?\b|要?(?:新建|新增|创建)的?文件|新規作成(?:する)?ファイル)",
    re.IGNORECASE,
)
NEW_FILES = lazy_pattern(
    rf"{_LEAD}(?:new\s(?:\w{{1,20}}\s)?files?\b|archivos nuevos|nuevos archivos|neue dateien|nouveaux fichiers|"
    r"novos arquivos|(?-i:[Нн]овые файлы)|新規ファイル|新文件)",
    re.IGNORECASE,
)
#: The file of a plan: `docs/plans/login.md`, `login-plan.md`.
PLAN_FILE = lazy_pattern(
    r"(?:^|/)(?:plans?|proposals?|rfcs?|specs?)/|(?:^|[-_./])(?:plan|proposal|rfc|spec)(?=[-_.])", re.IGNORECASE
)
#: A heading of a plan below which code is to be written.
PLANNED_HEADING = lazy_pattern(
    rf"{_LEAD}(?:(?:code )?changes (?:required|needed|to make)\b|implementation steps\b)",
    re.IGNORECASE,
)
EXISTING = lazy_pattern(
    r"\b(?:current|existing|analysis|background|research|findings?|evidence|discoveries|root cause|problem|before|"
    r"issue|vulnerab\w{1,10}|actual|original|old|bug)\b|"
    r"現状|现状|현재|기존",
    re.IGNORECASE,
)
#: A text that reports a change that was made: the code before it is not in the files any more.
PAST_LABEL = lazy_pattern(
    r"[^\n]{0,200}\b(?:before (?:the |this )?(?:fix|change|commit|refactor\w{0,5})|previously|used to be)\b",
    re.IGNORECASE,
)
#: A text that reports a fix, and its sections on the code before it.
FIX_REPORT = lazy_pattern(
    r"\bfix(?:e(?-i:[sdSD]))?\b[^\n]{0,80}\b(?:completed?|done|report|summary)\b|\breport\b[^\n]{0,80}\bfix(?:e(?-i:[sdSD]))?\b|"
    r"(?:修复|修正)(?:完成|報告|报告|总结)",
    re.IGNORECASE,
)
NO_FIX_REPORT = lazy_pattern(r"\b(?:plan|review|audit|research|analysis|to fix)\b", re.IGNORECASE)
PROBLEM = lazy_pattern(
    rf"{_LEAD}(?:the\s)?(?:\w{{1,20}}\s)?(?:problems?|issues?|bugs?|root causes?|cause|symptoms?|what was wrong|before|"
    r"cause racine|causa(?: raíz)?|problema|problème|原因|根因|根本原因|问题|問題)\b(?!\s?fix)",
    re.IGNORECASE,
)
BEFORE_LABEL = lazy_pattern(rf"{_LEAD}(?:before|old|previous|変更前|修正前|修改前|修复前)\b", re.IGNORECASE)
#: A proposal that was carried out: `建议 1: ... — 已实现`, `Fix 2: ... (implemented)`.
IS_DONE = lazy_pattern(
    r"已(?:实现|完成|实施|修复)|(?:実装|対応|完了)済み?|\b(?:implemented|completed|applied)\b", re.IGNORECASE
)
CHANGED_HEADING = lazy_pattern(
    rf"{_LEAD}(?:removed|deleted|replaced|refactored|fixed|moved|renamed|simplified|changed|updated|migrated)\b",
    re.IGNORECASE,
)
