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
from typing import NamedTuple

from remit.acceptance import judge_report
from remit.checking import Options
from remit.clients.hooks.judging import is_readable
from remit.clients.hooks.project import ProjectContext
from remit.clients.transcripts.reading import read_transcripts
from remit.contract.feedback import agent_title, neutralize
from remit.errors import UsageError
from remit.evidence.claims import statement_message
from remit.evidence.judge_statements import StatementJudge
from remit.evidence.read_statements import read_statements
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.sources import open_workspace
from remit.evidence.statement_words import CLIENTS_AGENTS
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
_MAX_STATEMENT = 600
#: An answer with one of these words may state a claim.
_WORDS = (
    *(
        "test",
        "passed",
        "```",
        "#l",
        "line ",
        "`plan`",
        "plan agent",
        "commit",
        "push",
        "creat",
        "added",
        "updat",
        "fixed",
    ),
    *("implement", "chang", "edited", "delet", "remov", "build", "lint", "clean", "compil", "verif", "wrote", "ran "),
    *("refactor", "modif", "renam", "replac", "check", "read ", "review", "mypy", "ruff", "tsc", "moved", "delegat"),
    *("テスト", "ビルド", "コミット", "プッシュ", "修正", "追加", "変更", "更新", "作成", "削除", "実装", "チェック"),
    *("测试", "构建", "编译", "提交", "推送", "修", "添加", "新增", "更", "创建", "删", "移除", "实现", "检查", "重构"),
)
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


class Contradiction(NamedTuple):
    """A statement of an answer that is not so: its whole sentence, why not, and both for the model that stated it."""

    sentence: str
    why: str
    message: str


def contradictions(answer: str, transcript: str, state: SessionState, context: ProjectContext) -> list[Contradiction]:
    """Return the statements of an answer that the checkout or the record of the session contradicts."""
    receipts = _session_receipts(transcript)
    found = {one.message: one for one in (*_code(answer, receipts, context), *_work(answer, receipts, state, context))}
    return [Contradiction(*map(_one_line, one)) for one in found.values()][:_MAX_LISTED]


def _one_line(text: str) -> str:
    return neutralize(" ".join(text.split()))[:_MAX_STATEMENT]


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


def _code(answer: str, receipts: list[Receipt] | None, context: ProjectContext) -> Iterator[Contradiction]:
    """Yield the cited locations that do not exist, and quotes of files that the session did not change."""
    judged = judge_report(answer, Options(profile="claims", strict=True), context.project, path="answer.md")
    broken: dict[int, list[str]] = {}
    for violation in judged.violations:
        if violation["rule"] in _ABSENT_RULES:
            broken.setdefault(violation["line"], []).append(str(violation["message"]))
    lines = answer.split("\n")
    changed = {os.path.basename(one.path) for one in receipts or () if one.action == "edit" and one.path}
    for verdict in judged.verdicts:
        for reference in verdict.evidence.references:
            line = lines[reference.at - 1] if 0 < reference.at <= len(lines) else ""
            is_absent = reference.outcome in _ABSENT and reference.at in broken
            sentence = _sentence_with(line, reference.text)
            if is_absent and not _DENIED.search(sentence):
                reason = _reason_for(reference.display_text, broken[reference.at])
                yield Contradiction(sentence, reason, reason)
        for quote in verdict.evidence.quotes:
            if quote.outcome == "mismatch" and receipts is not None and os.path.basename(quote.path) not in changed:
                reason = f"the quoted code is not in {quote.path}"
                line = lines[quote.at - 1] if 0 < quote.at <= len(lines) else ""
                yield Contradiction(line or quote.path, reason, reason)


def _reason_for(cited: str, messages: list[str]) -> str:
    """Return the message about a location; a line of the answer may have several locations, each with its message."""
    own = next((message for message in messages if message.startswith(f"{cited}: ")), messages[0])
    return f"{cited}: {own.partition(': ')[2] or own}"


def _work(
    answer: str, receipts: list[Receipt] | None, state: SessionState, context: ProjectContext
) -> Iterator[Contradiction]:
    """Yield the statements about runs, changes and delegations that the record of the session contradicts."""
    if receipts is None:
        return
    agents = sorted({name.rpartition(":")[2] for name in (*context.contract, *CLIENTS_AGENTS)})
    statements = read_statements(answer, agents)
    if not statements:
        return
    record = ReceiptIndex(receipts, context.project)
    asked = [entry.agent.rpartition(":")[2] for entry in state.delegations.values()]
    workspace = open_workspace(context.project, None)
    try:
        judge = StatementJudge(record, workspace, has_subagents=True, asked=asked)
        for statement in statements:
            checked = judge.judge(statement)
            # An answer that admits failures need not show them.
            if checked.fails and (statement.kind != "run" or statement.passed is not False):
                message = checked.why if statement.kind == "delegation" else statement_message(checked)
                yield Contradiction(statement.text, checked.why, message)
    finally:
        workspace.close()


def _sentence_with(line: str, part: str) -> str:
    """Return the sentence of a line that contains a part of it, or the whole line."""
    at = line.find(part)
    for match in _SENTENCE.finditer(line):
        if match.start() <= at < max(match.end(), match.start() + 1):
            return match.group()
    return line
