"""What the title and the file of a text state about it: a plan, a specification, a guide, research, a report of a fix.

A result and a review describe existing code. The code of the other texts may be code that is to be written, or code
that was replaced.
"""

from __future__ import annotations

import re

import msgspec

from remit.evidence.heading_words import PLAN, REVIEW
from remit.evidence.proposal_words import LEAD
from remit.lazy import lazy_pattern

#: The file of a form that is to be filled in: `review-template.md`.
_TEMPLATE_FILE = lazy_pattern(r"(?:^|[-_./])template\.(?:md|mdx|txt)$", re.IGNORECASE, ("template",))
#: The file of a plan: `docs/plans/login.md`, `login-plan.md`.
_PLAN_FILE = lazy_pattern(
    r"(?:^|/)(?:plans?|proposals?|rfcs?|specs?)/|(?:^|[-_./])(?:plan|plano|piano|proposal|rfc|spec)(?=[-_.])",
    re.IGNORECASE,
    ("plan", "piano", "proposal", "rfc", "spec"),
)
#: A title or a file that announces work.
_PLANS_WORK = lazy_pattern(
    r"\b(?:plan|plano|piano|proposals?|rfc|roadmap|(?-i:[Пп]лан))\b|計画|提案|计划|方案|계획|제안|"
    r"(?:^|/)(?:plans?|proposals?|rfcs?)/|(?:^|[-_./])(?:plan|plano|piano|proposal|rfc)(?=[-_.])",
    re.IGNORECASE,
    ("plan", "piano", "proposal", "rfc", "roadmap", "план", "計画", "提案", "计划", "方案", "계획", "제안"),
)
#: The title of a text on how something is to be built: a specification, a design, a guide.
_DESCRIBES_WORK = lazy_pattern(
    r"\b(?:designs?|specs?|specifications?|guides?|"
    r"tutorial|how[- ]to|blueprint|cookbook|playbook|diseño|guía|guia|"
    r"conception|entwurf|anleitung|leitfaden|(?-i:[Рр]уководство|РУКОВОДСТВО|[Пп]роектирование))\b|"
    r"設計|设计|指南|ガイド|教程|설계|가이드",
    re.IGNORECASE,
    (
        *("design", "spec", "guide", "tutorial", "how"),
        *("blueprint", "cookbook", "playbook", "diseño", "guía", "guia"),
        *("conception", "entwurf", "anleitung", "leitfaden", "уководство", "роектирование", "设计", "設計", "指南"),
        *("ガイド", "教程", "설계", "가이드"),
    ),
)
#: The folder or the name of its file.
_WORK_FILE = lazy_pattern(
    r"(?:^|/)(?:designs?|specs?|guides?)/[^/]*$|(?:^|[-_./])(?:design|spec|guide)(?=[-_.])[^/]*$",
    re.IGNORECASE,
    ("design", "spec", "guide"),
)
#: A title or a name of a file on existing code, also if it names a design: `Design flaws of the cart`.
_DESCRIBES_CODE = lazy_pattern(
    r"(?:\b|_)(?:audit|review|finding|flaw|bug|issue|problem|vulnerab|violation|complian|inconsisten|deviation|assess|"
    r"evaluat|inspect(?!or)|verif|investigat|root.cause|anti-?pattern|fail|flak[ey]|check|prüf|bericht|architecture|"
    r"developer|weak|smell|critique|gap|debt|drift|wrong|bad|insecure|threat|race|codebase|owasp|examen|"
    r"(?-i:[Рр]евью|[Пп]роверк|[Оо]бзор))|\bvs\b|\?|審計|審查|報告|檢查|检查|评审|评估|缺陷|问题|問題|レポート|보고서|검토",
    re.IGNORECASE,
)
#: A title that states that the work is done: the text describes the existing code.
_DONE = lazy_pattern(
    r"\b(?:completed?|summary|status|done|finished|implemented|report)\b|✅|完成|总结|完了|완료", re.IGNORECASE
)
_RESEARCH = lazy_pattern(r"\b(?:research|(?:code\s)?examples)\b|研究|調査|调研|示例|조사|연구|예시|예제", re.IGNORECASE)
#: The title or the file of a text that reports one fix: `Login Bug Fix`, `docs/LOGIN_FIX.md`.
_FIX = lazy_pattern(
    r"\bfix\s*$|^\W*bug\s?fix\b|^\W*(?-i:[Ии]справление|ИСПРАВЛЕНИЕ)\b|(?:[-_](?:bug)?fix|^bugfix)\.(?:md|mdx|txt)$",
    re.IGNORECASE,
    ("fix", "справление"),
)
#: The title of a text that reports several fixes.
_FIX_REPORT = lazy_pattern(
    r"^\W*bug\s?fix\s?[:：–—-]|\bfix(?:e(?-i:[sdSD]))?\b[^\n]{0,80}\b(?:completed?|done|report|summary)\b|\breport\b[^\n]{0,80}\bfix(?:e(?-i:[sdSD]))?\b|"
    r"(?:修复|修正)(?:完成|報告|报告|总结)|(?-i:[Оо]тч[её]т|ОТЧ[ЁЕ]Т)[^\n]{0,80}(?-i:справлени|далени|странени)",
    re.IGNORECASE,
    ("fix", "修复", "修正", "тч"),
)
_NO_FIX_REPORT = lazy_pattern(
    r"\b(?:plan|review|audit|research|analysis|to fix|pending|missing|open|needed|required)\b", re.IGNORECASE
)
#: The same for a title or a file that ends with `fix`.
_NO_FIX = lazy_pattern(
    r"\b(?:propos|suggest|candidate|backlog|queue|priorit|verif|finding|issue|quick|guide|incomplete|broken|wrong|"
    r"ineffective|bypass|regress|vulnerab|await|request|(?:must|should|needs?|needed|no|without|not|won'?t|can|to|list|how|"
    r"bugs|will|would|worth|after|we)\b)",
    re.IGNORECASE,
)
#: The title of a text about a plan, which is not the plan.
_ABOUT_PLAN = lazy_pattern(
    r"\b(?:assess|feedback|verif|validat|critique|finding|implementation of|analy)", re.IGNORECASE
)

#: A head that states that the text describes a former state: `**Status:** Historical design record`, `（已归档）`.
_STATUS_LINE = r"(?m:^[\s>*_-]*+(?:status|estado|statut|状态|状態|상태|(?-i:[Сс]татус))[\s*_]*+[:：])"
_HISTORICAL = lazy_pattern(
    rf"{_STATUS_LINE}[^\w\n]{{0,8}}(?:historical|archived|superseded|obsolete|outdated|(?:fully\s(?:resolved|fixed)|"
    r"all\s(?:\w{1,12}\s)?(?:issues|findings|items|bugs|problems|points|vulnerabilities)\s(?:resolved|fixed))\b"
    r"(?![^\n]*\b(?:except|but|open|remain|pending|partial|unresolved)))\b|"
    r"(?m:^#\s[^\n]{0,200}?[(（\[](?:archived|historical|superseded|obsolete|已归档|已过时|历史)[)）\]])|"
    r"(?m:^[ \t]*+>(?:(?!\b(?:replaces|supersedes|see|compare[ds]?|follows|updates|extends|since)\b)[^\n]){0,40}?"
    r"(?:\b(?:historical|archived|superseded|outdated)\s(?:design\s)?"
    r"(?:record|document|snapshot|version|report|plan|audit)\b|\bthis\s\w{1,12}\sis\s(?:historical|archived|superseded|obsolete|outdated)\b|"
    r"历史版本|已归档|已过时|历史文档))",
    re.IGNORECASE,
    (
        *("historical", "archived", "superseded", "obsolete", "outdated", "resolved", "fixed"),
        *("历史", "已归档", "已过时"),
    ),
)

#: A head that states that the work is done: `**Status:** ✅ Implemented`; not `Status: not yet implemented`.
_CARRIED_OUT = lazy_pattern(
    r"(?m:^[\s>*_|-]*+(?:status|state|estado|statut|状态|状態|상태|(?-i:[Сс]татус))[\s*_]*+[:：|])"
    r"(?![^\n]{0,60}\b(?:not|partial|progress|pending|until|when|if|to be|remain|open|planned)\b)[^\n]{0,60}?"
    r"(?:\b(?:completed?|implemented|done|shipped|merged|finished|executed|released|deployed|closed|live|production)\b|已?完成|已?实现|"
    r"完了|완료|abgeschlossen|erledigt|completad[oa]|terminad[oa]|conclu[íi]d[oa]|terminée?|(?-i:[Зз]аверш|[Вв]ыполнен|[Рр]еализован))",
    re.IGNORECASE,
)

#: A head that states that the work is still to be done: `**Status:** Proposed`.
_TO_BE_DONE = lazy_pattern(
    r"(?m:^[\s>*_-]*+status[\s*_]*+[:：][\s*_]*+)(?:proposed|(?:draft\W{1,4})?ready\sfor\simplementation)[\s*_.]*$",
    re.IGNORECASE | re.MULTILINE,
    ("proposed", "ready"),
)

#: A step of a plan, which is not about the code as it is: `Task 3: Move the existing tools`.
_STEPS = r"(?:step|task|phase|stage|schritt|paso|passo|étape|단계|작업|步骤|任务|ステップ)\s?\d{1,2}[a-z]?\s?[:：.–—-]"
WORK_STEP = lazy_pattern(
    rf"{LEAD}{_STEPS}(?:\s*(?:add|create|implement|introduce|replace|extract|refactor|migrate|update|modify|change|adjust|"
    r"remove|rename|move|fix|wire|write)\b|"
    r"[^\n]{1,80}(?:수정|이동|업데이트|추가|삭제|변경|구현|修改|更新|移动|添加|删除|重构|変更|追加)[\s*_]*$)",
    re.IGNORECASE,
    ("step", "task", "phase", "stage", "schritt", "paso", "passo", "étape", "단계", "작업", "步骤", "任务", "ステップ"),
)


class DocumentKind(msgspec.Struct, frozen=True):
    """What a text is, as far as its title and its file show."""

    is_result: bool
    #: Whether it is a form that is to be filled in: its locations are examples. A result is never one.
    is_template: bool
    #: Whether its title or its file calls it a plan.
    is_plan: bool
    #: Whether a row of it may name a file that it creates; a text about a plan does not create any.
    creates_files: bool
    #: The same, and nothing states that the plan is carried out.
    is_open_plan: bool
    #: Whether code may be code before a change that was made; a result or a review describes existing code.
    reports_changes: bool
    #: Whether its code may be code to be written.
    plans_work: bool
    #: Whether that is so only for code that is nowhere in its file, and of research only if no line is given.
    describes_work: bool
    is_research: bool
    #: Whether it reports a fix: its code may be code before it.
    reports_fix: bool
    reports_one_fix: bool
    #: Whether its head states that it describes a former state, or that all of its findings are resolved.
    is_historical: bool


def document_kind(title: str, path: str, head: str = "", *, is_result: bool) -> DocumentKind:
    """Return what a text is; `path` is its file, `head` are the lines above its first section."""
    reports_changes = not is_result and not REVIEW.search(title)
    is_to_be_done = reports_changes and _TO_BE_DONE.search(head) is not None
    is_plan = bool(PLAN.search(title) or _PLAN_FILE.search(path))
    is_other = bool(_NO_FIX_REPORT.search(title))
    plans_work = reports_changes and bool(_PLANS_WORK.search(title) or _PLANS_WORK.search(path))
    creates_files = (reports_changes and is_plan and not _ABOUT_PLAN.search(title)) or is_to_be_done
    return DocumentKind(
        is_result=is_result,
        is_template=not is_result and bool(_TEMPLATE_FILE.search(path)),
        is_plan=is_plan,
        creates_files=creates_files,
        is_open_plan=creates_files and plans_work and not _DONE.search(title) and not _CARRIED_OUT.search(head),
        reports_changes=reports_changes,
        plans_work=plans_work,
        describes_work=reports_changes and _describes_work(title, path),
        is_research=not is_result and bool(_RESEARCH.search(title)),
        reports_fix=bool(_FIX_REPORT.search(title)) and not is_other,
        reports_one_fix=reports_changes and not is_other and _reports_one_fix(title, path),
        is_historical=not is_result and _HISTORICAL.search(head) is not None,
    )


def _describes_work(title: str, path: str) -> bool:
    """Return whether a text is a specification, a design or a guide, and not about one that exists."""
    if not (_DESCRIBES_WORK.search(title) or _WORK_FILE.search(path)):
        return False
    name = path.rpartition("/")[2]
    return not (_DONE.search(title) or _DESCRIBES_CODE.search(title) or _DESCRIBES_CODE.search(name))


def _reports_one_fix(title: str, path: str) -> bool:
    name = path.rpartition("/")[2]
    if not (_FIX.search(title) or _FIX.search(name)):
        return False
    words = name.replace("_", " ").replace("-", " ")
    return not (_NO_FIX.search(title) or _NO_FIX.search(words) or _NO_FIX_REPORT.search(words))
