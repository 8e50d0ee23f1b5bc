"""Words in headings and titles: above proposed code, above code as it is, and those of plans and reviews."""

from __future__ import annotations

import re

from remit.evidence.proposal_words import (
    ANY_PROPOSAL,
    CHANGING_WORDS,
    ENGLISH_NOUNS,
    ENGLISH_WORDS,
    ERNA,
    EXAMPLE_WORDS,
    FOREIGN_EXAMPLES,
    LEAD,
    OTHER_NOUNS,
    OTHER_WORDS,
    PROPOSED_BEFORE,
    PROPOSED_ERNA,
    WORD_ENDS,
    WORDS_BEFORE,
)
from remit.lazy import lazy_any, lazy_pattern

_HEADING_END = r"\s*(?:#?\d{1,3}\s*(?:[—–-]\s)?)?(?:[:：]|$|(?<=[—–-]\s))"
_ENGLISH_HEADING = lazy_pattern(
    rf"[^\n]{{0,80}}[(（](?:to (?:be )?(?:added?|written|created?|implemented?)|proposed|planned|"
    r"not yet implemented)[)）]|"
    rf"{LEAD}(?:alternatives?\b[^\n]{{0,40}}$|(?:proposed|suggested|recommended(?!\sarchitecture)|planned){WORD_ENDS}|(?:{ENGLISH_NOUNS}|examples?){_HEADING_END}|"
    r"(?:code\s)?examples?\s(?:for|of)\s[^\n]{0,40}\bfix(?:es)?\b|"
    r"(?:code )?changes (?:required|needed|to make)\b|implementation (?:plan|steps|details|guide)\b|how to fix\b|"
    r"new\s\w{1,20}(?:\s\w{1,20})?\s(?:required|needed)\b)",
    re.IGNORECASE,
    (
        *(*ENGLISH_WORDS, "changes ", "not yet implemented", "to "),
        *("implementation plan", "implementation steps", "implementation details", "implementation guide"),
    ),
)
_OTHER_HEADING = lazy_pattern(rf"{LEAD}{OTHER_NOUNS}{_HEADING_END}", re.IGNORECASE, OTHER_WORDS)
PROPOSED_HEADING = lazy_any(
    *(_ENGLISH_HEADING, _OTHER_HEADING),
    lazy_pattern(rf"{LEAD}{ERNA}{_HEADING_END}", re.IGNORECASE, ("erna",)),
    lazy_pattern(rf"{LEAD}{PROPOSED_ERNA}{_HEADING_END}", re.IGNORECASE, WORDS_BEFORE),
)
#: A heading above findings, also if it names their corrections: `Findings and recommendations`, `Review of fixes`.
REPORTS_FINDINGS = lazy_pattern(
    rf"{LEAD}(?:findings?|review|audit|analysis|issues?|problems?|vulnerabilities)\s(?:and|&|with|of|\+)\s",
    re.IGNORECASE,
    ("and", "&", "with", "of", "+"),
)
#: A heading that asks for a change: `Phase 1: Add the menu`.
CHANGE_HEADING = lazy_pattern(
    rf"{LEAD}(?:(?:phase|step|task|part|stage|paso|passo)\s\d{{1,2}}[a-z]?\s?[:：.–—-]\s*(?:corregir|agregar|añadir|implementar|"
    r"crear|corrigir|adicionar|add|create|implement|introduce|update|"
    r"replace|extract|refactor|migrate|move|write|build|rename|remove|use)\b|"
    r"(?:step|paso|passo)\s\d{1,2}[a-z]?\s?[:：.–—-]\s*(?:register|configure|enable|wire|integrate)\b|(?:提取|抽取|抽出|重构|添加|增加|新增|创建|引入|"
    r"替换|统一|优化|实现|改为|追加|導入|統一)|(?:plan|plano|план|计划|方案|計画|계획)\s*(?:[:：]|$)|"
    r"(?:option|alternative|approach)\s\w{1,3}\s*(?:[:：.–—-]|$)|"
    r"[^\n]{0,40}(?:例|例子|예시|サンプル)\s*(?:[:：]|$)|"
    r"[^\n]{0,60}\b(?:patch(?:es)?|recommendations|remediations?|(?:suggested|proposed|recommended)\s(?:fix|change)e?s?)\b)",
    re.IGNORECASE,
    (
        *("phase", "step", "task", "part", "stage", "paso", "passo", "plan", "план", "option", "alternative"),
        *("approach", "patch", "recommend", "remediation", "suggested", "proposed", "提取", "抽取", "抽出", "重构"),
        *("添加", "增加", "新增", "创建", "引入", "替换", "统一", "优化", "实现", "改为", "追加", "導入", "統一"),
        *("计划", "方案", "計画", "계획", "例", "예시", "サンプル"),
    ),
)
#: Words in a heading, at any place, below which code that is not there is to be written: `Quick fixes, suggested`.
_PROPOSING_IN_ENGLISH = lazy_pattern(
    r"\b(?:recommend(?:ed(?!\sarchitecture)|ations?)|suggest(?:ed|ions?)|propos(?:ed|als?)|remediations?|solutions?|"
    r"to-?dos?|how to fix|fixes|corrected|"
    r"(?:remaining|outstanding|pending) (?:work|tasks|steps|items)|"
    r"refactor(?:ing)?s? (?:needed|required|necesarios?|necess[áa]ri[oa]s?|nécessaires?))\b|"
    r"\bfix\s*(?:[:：(]|$)",
    re.IGNORECASE,
    (
        *("recommend", "suggest", "propos", "remediation", "solution", "do", "fix", "corrected"),
        *("remaining", "outstanding", "pending", "refactor"),
    ),
)
_PROPOSING_IN_OTHERS = lazy_pattern(
    rf"\b(?:{ANY_PROPOSAL}|{PROPOSED_BEFORE}|à faire|por hacer|a fazer|da fare|zu tun|te doen|do zrobienia|"
    r"yapılacaklar|cần làm)\b|(?:修复|修改|改进|优化|解决)(?:方案|办法|步骤)|(?:迁移|实施)(?:计划|步骤)|建议|推荐|待办|"
    r"修正案|改善案|修正方法|対策|推奨|提案|対応方針|수정안|개선안|해결\s?방안|해결책|권장|제안|수정\s?방법|할 일",
    re.IGNORECASE,
    (
        *OTHER_WORDS,
        *WORDS_BEFORE,
        *("à faire", "por hacer", "a fazer", "da fare", "zu tun", "te doen", "do zrobienia"),
        *("lacaklar", "cần làm", "迁移", "实施", "解决", "推荐", "待办", "対応方針", "해결", "할 일"),
    ),
)
PROPOSING_HEADING = lazy_any(_PROPOSING_IN_ENGLISH, _PROPOSING_IN_OTHERS)
#: Words for the code as it is in such headings: a section on the problem below one on recommendations.
STATES_PROBLEM = lazy_pattern(
    r"\b(?:issues|bugs|concerns|problem[ae]?s?|problèmes?|probleme|befunde?|ursachen?|constats?|hallazgos?|causas?|achados?|riscontri|oorzaak|"
    r"przyczyn[ay]|(?-i:[Пп]роблем\w{0,2}|[Пп]ричин\w{0,2})|sorun(?:lar)?|vấn đề|nguyên nhân|masalah)\b|"
    r"问题|原因|問題|문제|원인|现状|現状",
    re.IGNORECASE,
    (
        *("issues", "bugs", "concerns", "problem", "problèm", "befund", "ursache", "constat", "hallazgo", "causa"),
        *("achado", "riscontri", "oorzaak", "przyczyn", "роблем", "ричин", "sorun", "vấn đề", "nguyên nhân"),
        *("masalah", "问题", "原因", "問題", "문제", "원인", "现状", "現状"),
    ),
)
#: A heading above code that shows how something is used.
EXAMPLES = lazy_pattern(
    rf"{LEAD}(?:(?:code|usage)\s)?(?:examples?\b|(?:{FOREIGN_EXAMPLES})(?!\w))[^\n]{{0,30}}$",
    re.IGNORECASE,
    ("example", *EXAMPLE_WORDS),
)
#: A heading that is an instruction: `1.4 Fix the login`. Code below it without a line is to be written.
TASK_HEADING = lazy_pattern(
    rf"{LEAD}(?:fix|add|create|implement|introduce|replace|extract|refactor|migrate){WORD_ENDS}\s\S", re.IGNORECASE
)
#: A heading above code without a line that may be an example of a configuration.
INSTALLATION = lazy_pattern(
    rf"{LEAD}installation(?:\s(?:reference|guide|steps|instructions))?[\s*_]*$", re.IGNORECASE, ("installation",)
)
#: The same for code with a line that is not there: `7. Update the parser`.
CHANGING_HEADING = lazy_pattern(
    rf"{LEAD}(?:[A-Z]{{1,4}}-?\d{{1,3}}(?:\.\d{{1,3}})?[:.)]?\s)?(?:\[[^\]\n]{{1,20}}\]\s)?(?:add|create|implement|"
    r"introduce|replace|extract|refactor|migrate|update|modify|change|adjust|remove|customi[sz]e|increase|decrease|disable|"
    rf"enable|rename|convert|wire|agregar|añadir|modificar|crear|implementar|reemplazar|adicionar|criar|substituir|ajouter|"
    rf"remplacer|ersetzen|hinzufügen|(?-i:[Дд]обавить|[Зз]аменить|[Ии]зменить)){WORD_ENDS}\s\S",
    re.IGNORECASE,
    CHANGING_WORDS,
)
PLAN = lazy_pattern(
    r"\b(?:plan|plano|piano|proposals?|rfc|roadmap|strategy|specification|(?-i:[Пп]лан|[Сс]пецификация))\b|計画|提案|计划|方案|계획|제안",
    re.IGNORECASE,
    (
        *("plan", "piano", "proposal", "rfc", "roadmap", "strategy", "specification", "план", "спецификация"),
        *("計画", "提案", "计划", "方案", "계획", "제안"),
    ),
)
REVIEW = lazy_pattern(
    r"\b(?:reviews?|audit|analysis|research|report|revisi[óo]n|auditor[íi]a|an[áa]lisis|an[áa]lise|revue|analyse|rapport|"
    r"bericht|(?-i:[Аа]нализ|[Оо]тчёт|[Оо]тчет|[Аа]удит))\b|审查|审计|分析|报告|レビュー|監査|검토|감사",
    re.IGNORECASE,
)
#: A heading of a plan below which code is to be written.
PLANNED_HEADING = lazy_pattern(
    rf"{LEAD}(?:(?:code )?changes (?:required|needed|to make)\b|implementation steps\b)", re.IGNORECASE
)
EXISTING = lazy_pattern(
    r"\b(?:current|existing|analysis|background|research|findings?|evidence|discoveries|root cause|problem|before|"
    r"issue|vulnerab\w{1,10}|actual|original|old|bug)\b|現状|现状|현재|기존",
    re.IGNORECASE,
)
#: A heading above code that is to be inserted.
INSERTION = lazy_pattern(
    rf"{LEAD}(?:specific\s)?(?:code\s)?insertion points?[\s*_]*$", re.IGNORECASE, ("insertion point",)
)
