"""Compare the orchestrator's final answer with the record of its session: code, test runs and delegations.

A statement counts as contradicted only if the record is complete enough to show it. Plans, questions, conditions and
statements that something does not exist are not claims. Statements about runs and delegations are understood in the
languages of the headings: English, Japanese and Chinese. A denial is understood in more languages, because a location
is a claim in any of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from remit.acceptance import judge_report
from remit.checking import Options
from remit.clients.hooks.judging import is_readable
from remit.clients.hooks.project import ProjectContext
from remit.clients.transcripts.reading import read_transcripts
from remit.contract.feedback import agent_title, neutralize
from remit.errors import UsageError
from remit.evidence.changes import asserted_test_runs, settle_runs
from remit.evidence.receipts import Receipt
from remit.gate.delegations import agent_slug
from remit.gate.session import SessionState
from remit.lazy import lazy_pattern

#: A longer answer is not checked.
MAX_CHARACTERS = 200_000
#: Transcripts of subagents that are read, and statements that are listed.
_MAX_TRANSCRIPTS = 100
#: The name of a transcript of Codex begins with this and ends with the id of its thread.
_ROLLOUT = "rollout-"
_ID_LENGTH = 36
_MAX_ROLLOUTS = 300
_HEAD_BYTES = 1000
_MAX_LISTED = 10
#: An answer with one of these words may state a claim.
_WORDS = ("test", "passed", "テスト", "测试", "```", "#l", "line ", "`plan`", "plan agent")
#: Agents of the client that are not under contract.
_CLIENTS_AGENTS = ("general-purpose", "Plan")
#: Outcomes of a location that does not exist, and the rules that report it.
_ABSENT = ("missing-file", "out-of-range")
_ABSENT_RULES = ("reference-missing-file", "reference-out-of-range")
_SENTENCE = lazy_pattern(r"[^.!?\n。！？]*(?:[.!?](?=\S)[^.!?\n。！？]*)*[.!?。！？]?")
#: The sentence denies a location, or speaks about the future.
_DENIED = lazy_pattern(
    r"\b(?:no such|there (?:is|are|was) no|not exist|n't exist|non-?existent|(?:is|are) missing|not found|no longer|"
    r"invent\w*|hallucinat\w*|removed?|deleted?|renamed?|moved|rejected|withheld|not accepted|not hold|unverified|will|"
    r"would|should|could|plan|planned|propos\w*|suggest\w*|example|"
    r"nicht|kein\w*|fehl(?:t|en)|erfunden|gelöscht|entfernt|umbenannt|verschoben|würden?|sollten?|könnten?|geplant|Beispiel|"
    r"pas|aucune?|inexistant\w*|introuvable|no existe|inexistente|ning[uú]n\w*|não|nenhum\w*|non esiste|inesistente|"
    r"не|нет)\b|ない|ません|なし|削除|移動|改名|変更した|却下|拒否|予定|提案|つもり|でしょう|だろう|べき|かもしれ|例えば|たとえば|"
    r"架空|捏造|誤り|不存在|没有|找不到|未找到|无此|缺失|删除|移除|重命名|移动|移到|拒绝|不成立|未验证|未通过|虚构|捏造|编造|"
    r"将|会(?![话议])|应|可以|建议|计划|例如|示例|不是",
    re.IGNORECASE,
)
#: The sentence is not a statement about the past.
_UNASSERTED = lazy_pattern(
    r"\b(?:will|would|should|must|shall|may|might|could|can|cannot|if|once|until|unless|before|whether|ensure|"
    r"make sure|expect\w*|want|wants|need|needs|needed|let|let's|please|not|never|no|without|instead|next|plan|planned|"
    r"going to|recommend\w*|suggest\w*|propos\w*|failed to|denied|refused|wait\w*|you)\b|n't\b|[?？]\s*$|"
    r"ない|ません|ずに|未実行|でしょう|だろう|べき|予定|つもり|たら|れば|なら|場合|ください|お願い|必要|ますか|ですか|前に|まで|提案|"
    r"推奨|可能|次に|これから|かもしれ|はず|失敗|拒否|待っ|待ち|"
    r"将(?![^。]{0,30}(?:委托|委派|交给))|会(?![话议])|应|可以|可能|如果|若|一旦|直到|除非|之前|是否|需要|请|让我|没|未|不|尚|下一步|"
    r"计划|建议|推荐|打算|失败|拒绝|等待|吗|能否|您|你",
    re.IGNORECASE,
)
#: Part of a statement that everything passed, not a denial.
_NO_FAILURES = lazy_pattern(
    r"\b(?:no|without(?: any)?|zero) (?:failures?|errors?|failing tests?|regressions?|problems?)\b|"
    r"失敗(?:は|が)?(?:なし|なく|ありません|ない)|エラー(?:は|が)?(?:なし|なく|ありません|ない)|(?:没有|无)(?:任何)?(?:失败|错误)",
    re.IGNORECASE,
)
_TASKED = r"(?:delegated|handed|sent|asked|launched|dispatched|ran|used|had|per|according to|via|through|by)"
_REPORTED = (
    r"(?:found|finds|reported|reports|confirmed|confirms|verified|reviewed|checked|audited|approved|implemented|wrote|"
    r"fixed|returned|says|said|agreed|agrees|concluded|analy[sz]ed|explored|traced|tested|ran|signed off|completed|"
    r"identified|flagged|traces|found)"
)
_WORK_JA = r"(?:確認|検証|報告|発見|レビュー|調査|実装|修正|承認|分析|監査|追跡|特定|指摘|テスト|完了)"
#: After the name of an agent: it did something, or was asked to.
_AFTER = (
    rf"\s?(?:エージェント)?(?:は|が|も|によ(?:り|って)|に)[^。\n]{{0,40}}?{_WORK_JA}(?:し(?:ました|た|ており|て)|済み)|"
    r"\s?(?:エージェント)?に[^。\n]{0,30}?(?:依頼|委任|委譲|委託)し(?:ました|た)|"
    r"\s?(?:代理|智能体)?[^。\n]{0,30}?(?:确认|验证|报告|发现|审查|审核|检查|实现|修复|批准|分析|完成|测试|追踪|指出)了|"
    r"\s?(?:代理|智能体)?(?:已经|已)[^。\n]{0,20}?(?:确认|验证|报告|发现|审查|审核|检查|实现|修复|批准|分析|完成|测试)"
)
#: Before the name of an agent: it was asked.
_BEFORE_ZH = r"(?:委托|委派|交)给?了?\s?"


def may_state_claims(answer: str, agents: Iterable[str]) -> bool:
    """Return whether an answer may contain a claim. Most short answers do not."""
    lower = answer.lower()
    if not 0 < len(answer) <= MAX_CHARACTERS:
        return False
    if any(word in lower for word in _WORDS):
        return True
    if any(before.isalnum() and after.isdigit() for before, after in _around_colons(lower)):
        return True
    plain = lower.replace("-", " ").replace("_", " ")
    return "general purpose" in plain or any(agent_title(agent).lower() in plain for agent in agents)


def _around_colons(text: str) -> Iterator[tuple[str, str]]:
    at = text.find(":")
    while at >= 0:
        if 0 < at < len(text) - 1:
            yield text[at - 1], text[at + 1]
        at = text.find(":", at + 1)


def contradictions(answer: str, transcript: str, state: SessionState, context: ProjectContext) -> list[str]:
    """Return the statements of an answer that the checkout or the record of the session contradicts."""
    receipts = _session_receipts(transcript)
    found = [
        *_code(answer, receipts, context),
        *_tests(answer, receipts),
        *_delegations(answer, receipts, state, context),
    ]
    return [neutralize(" ".join(one.split()))[:400] for one in dict.fromkeys(found)][:_MAX_LISTED]


def _session_receipts(transcript: str) -> list[Receipt] | None:
    """Return the tool calls of the session and its subagents; None if there is no record of the session."""
    if not is_readable(transcript):
        return None
    receipts: list[Receipt] = []
    try:
        for read in read_transcripts((transcript, *_subagent_transcripts(transcript))):
            if not read.is_known:
                return None
            receipts += read.receipts
    except UsageError:
        return None
    return receipts


def _rollouts_of(transcript: str) -> list[str]:
    """Return the transcripts of the subagents of a session of Codex, which are next to that of the session."""
    folder, name = os.path.split(transcript)
    session = name.removesuffix(".jsonl")[-_ID_LENGTH:]
    found: list[str] = []
    for one in sorted(os.listdir(folder), reverse=True)[:_MAX_ROLLOUTS]:
        path = os.path.join(folder, one)
        if one.startswith(_ROLLOUT) and one != name and is_readable(path):
            with open(path, "rb") as file:
                head = file.read(_HEAD_BYTES)
            if f'"session_id":"{session}"'.encode() in head.replace(b": ", b":"):
                found.append(path)
    return found


def _subagent_transcripts(transcript: str) -> list[str]:
    if os.path.basename(transcript).startswith(_ROLLOUT):
        return _rollouts_of(transcript)[:_MAX_TRANSCRIPTS]
    folder = os.path.join(transcript.removesuffix(".jsonl"), "subagents")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".jsonl")]
    return [path for path in paths[-_MAX_TRANSCRIPTS:] if is_readable(path)]


def _code(answer: str, receipts: list[Receipt] | None, context: ProjectContext) -> Iterator[str]:
    """Yield the cited locations that do not exist, and quotes of files that the session did not change."""
    judged = judge_report(answer, Options(profile="claims", strict=True), context.project, path="answer.md")
    broken: dict[int, list[str]] = {}
    for one in judged.violations:
        if one["rule"] in _ABSENT_RULES:
            broken.setdefault(one["line"], []).append(str(one["message"]))
    lines = answer.split("\n")
    changed = {os.path.basename(one.path) for one in receipts or () if one.action == "edit" and one.path}
    for verdict in judged.verdicts:
        for reference in verdict.evidence.references:
            line = lines[reference.at - 1] if 0 < reference.at <= len(lines) else ""
            is_absent = reference.outcome in _ABSENT and reference.at in broken
            if is_absent and not _DENIED.search(_sentence_with(line, reference.text)):
                yield _reason_for(reference.display_text, broken[reference.at])
        for quote in verdict.evidence.quotes:
            if quote.outcome == "mismatch" and receipts is not None and os.path.basename(quote.path) not in changed:
                yield f"the quoted code is not in {quote.path}"


def _reason_for(cited: str, messages: list[str]) -> str:
    """Return the message about a location; a line of the answer may have several locations, each with its message."""
    own = next((one for one in messages if one.startswith(f"{cited}: ")), messages[0])
    return f"{cited}: {own.partition(': ')[2] or own}"


def _tests(answer: str, receipts: list[Receipt] | None) -> Iterator[str]:
    """Yield the statement that tests passed if no test ran in this session, or the last run failed."""
    claims = [one for one in asserted_test_runs(answer) if one.passed and _is_asserted(one.text)]
    if receipts is None or not claims or any(one.tool.startswith("mcp__") for one in receipts):
        return  # a tool of another server may have run the tests
    settle_runs(claims, [one for one in receipts if one.action == "run"])
    for claim in claims:
        if claim.denied:
            why = claim.denied.replace("the receipts contain no test command", "no tests ran in this session")
            yield f'"{claim.text[:120]}": {why}'


def _delegations(
    answer: str, receipts: list[Receipt] | None, state: SessionState, context: ProjectContext
) -> Iterator[str]:
    """Yield the agents that the answer states did something, although none of them was asked in this session."""
    if receipts is None:
        return
    asked = {agent_slug(entry.agent.rpartition(":")[2]) for entry in state.delegations.values()}
    for one in receipts:
        if one.tool in ("Agent", "Task"):
            asked.add(agent_slug(str(one.arguments.get("subagent_type") or "general-purpose").rpartition(":")[2]))
    for agent in sorted({name.rpartition(":")[2] for name in (*context.contract, *_CLIENTS_AGENTS)}):
        if agent_slug(agent) not in asked and _states_work_of(answer, agent):
            yield f"{agent} was not asked to do anything in this session"


def _states_work_of(answer: str, agent: str) -> bool:
    words = [re.escape(word) for word in agent_title(agent).split()]
    name = r"[ _-]".join(words)
    if len(words) == 1 or agent in _CLIENTS_AGENTS:  # words of the language, unless they are marked as a name
        name = rf"(?:`{name}`|{name}(?= (?:sub)?agent\b|\s?(?:エージェント|代理|智能体)))"
    pattern = re.compile(
        rf"(?:\b{_TASKED}\b[^.\n]{{0,80}}?{name}|{name}`?(?: (?:sub)?agent)?[^.\n]{{0,20}}? {_REPORTED}\b|"
        rf"{_BEFORE_ZH}`?{name}|{name}`?(?:{_AFTER}))",
        re.IGNORECASE,
    )
    return any(
        _is_asserted(_sentence_with(line, found.group()))
        for line in answer.split("\n")
        for found in pattern.finditer(line)
    )


def _is_asserted(sentence: str) -> bool:
    """Return whether a sentence states that something happened: no plan, question, condition or denial."""
    return not _UNASSERTED.search(_NO_FAILURES.sub("", sentence))


def _sentence_with(line: str, part: str) -> str:
    """Return the sentence of a line that contains a part of it, or the whole line."""
    at = line.find(part)
    for found in _SENTENCE.finditer(line):
        if found.start() <= at < max(found.end(), found.start() + 1):
            return found.group()
    return line
