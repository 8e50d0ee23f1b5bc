"""Judge the final answer when the orchestrator stops."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from remit.acceptance import judge_report
from remit.checking import Options, Verdict
from remit.clients.hooks.after_call import compare_background, compare_unfinished
from remit.clients.hooks.judging import commit_of, is_readable
from remit.clients.hooks.payload import flag, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import Answer, block, merge, message
from remit.clients.hooks.session_progress import record_stop
from remit.clients.hooks.teams import untold_notices
from remit.clients.transcripts.reading import read_transcripts
from remit.contract.feedback import agent_title, neutralize
from remit.errors import UsageError
from remit.evidence.claims import statement_message
from remit.evidence.commands import git_verbs
from remit.evidence.judge_statements import StatementJudge
from remit.evidence.model import Checked
from remit.evidence.read_statements import read_statements
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.sources import open_workspace
from remit.evidence.statement_words import CLIENTS_AGENTS
from remit.gate.decide import count_lines, decide_final, decide_stop
from remit.gate.delegations import close_delegation, is_same_agent, open_delegations, release_writes
from remit.gate.session import SessionState
from remit.gate.session_entries import UntrueStatement
from remit.gate.session_store import read_session
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile

#: Agents that a message about an early answer names.
_MAX_NAMED = 5


def main_agent_stopping(payload: object, context: ProjectContext) -> Answer | None:
    """Stop: judge the final answer, and report what background processes changed since the last call."""
    if text(payload, "agent_id"):
        return None
    return merge(_judge_stop(payload, context), _compare_background(payload, context))


def _compare_background(payload: object, context: ProjectContext) -> Answer | None:
    saved = read_session(context.folder, text(payload, "session_id"))
    if saved is None or not (saved.background or any(not entry.end for entry in saved.writers)):
        return None
    with context.session(text(payload, "session_id")) as state:
        return merge(compare_unfinished(state, context), compare_background(state, context, "Stop"))


def _judge_stop(payload: object, context: ProjectContext) -> Answer | None:
    """Block a final answer while a delegation is open, or if the record of the session contradicts it.

    Each of the two blocks an answer once: an orchestrator that stops again may stop. An answer that is too long is
    reported to the user.
    """
    fields: dict[str, Any] = payload if isinstance(payload, dict) else {}
    tasks = fields.get("background_tasks")
    with context.session(text(payload, "session_id")) as state:
        if isinstance(tasks, list):
            _close_interrupted(state, tasks)
        has_notice = any(entry.untold for entry in state.delegations.values())
        lines = count_lines(fields.get("last_assistant_message"))
        waits = not flag(payload, "stop_hook_active")
        decision = decide_stop(state, context.settings, shown_lines=lines, waits=waits)
    notice = untold_notices(text(payload, "session_id"), context) if has_notice else ""
    if notice:
        return block(notice)
    if decision.decision == "deny" and not decision.fault:
        return block(
            f"remit ({decision.rule}): {decision.reason}. If you can only wait, reply that you are waiting and draw no "
            "conclusions."
        )
    early = _early_message(payload, context)
    sent_back = _check_final_answer(payload, context)
    if sent_back is None:
        with context.session(text(payload, "session_id")) as state:
            record_stop(context, state)
    is_long = decision.decision == "warn" and decision.rule == "presentation-size"
    too_long = message(f"remit ({decision.rule}): {decision.reason}") if is_long else None
    return merge(sent_back, early, too_long)


def _early_message(payload: object, context: ProjectContext) -> Answer | None:
    """Tell the person that the answer was given again although a delegation is open. It is not blocked twice."""
    if not context.is_denying or not flag(payload, "stop_hook_active"):
        return None
    with context.session(text(payload, "session_id")) as state:
        waiting = list(dict.fromkeys(open_delegations(state)))
        if not waiting:
            return None
        names = ", ".join(waiting[:_MAX_NAMED]) + (" and others" if len(waiting) > _MAX_NAMED else "")
        notice = f"the answer was given before {names} had reported, so it does not contain that result"
        state.warn(notice[:1].upper() + notice[1:])
    return message(f"remit (synthesize-early): {notice}")


def _check_final_answer(payload: object, context: ProjectContext) -> Answer | None:
    """Send an answer back, once for each prompt, if the record of the session contradicts it.

    If the next answer is contradicted, too, it passes, and the person gets a message.
    """
    answer, session = text(payload, "last_assistant_message"), text(payload, "session_id")
    known = read_session(context.folder, session)
    if known is None or known.final_told or not may_state_claims(answer, context.contract):
        return None
    from remit.clients.hooks.deadline import TooSlow, before_deadline  # late: few answers state what can be checked

    try:
        contradicted = before_deadline(lambda: contradictions(answer, text(payload, "transcript_path"), known, context))
    except TooSlow as reason:
        return None if context.is_observing else message(f"remit: this answer was not verified, because {reason}")
    if not contradicted:
        return None
    with context.session(session) as state:
        is_first = not state.final_returned
        state.final_returned, state.final_told = True, not is_first
        if not context.is_observing:
            state.count_untrue(
                f"prompt {state.prompts}",
                [entry.sentence for entry in contradicted],
                has_passed=not is_first,
            )
        decision = (
            decide_final(
                [entry.message for entry in contradicted],
                [
                    UntrueStatement(text=entry.sentence, proof=entry.why, outcome=entry.outcome)
                    for entry in contradicted
                ],
                state,
                context.settings,
            )
            if is_first
            else None
        )
    if decision is None:
        return None if context.is_observing else message(_repeated(contradicted))
    if decision.decision != "deny" or decision.fault:
        return None
    return block(
        f"remit ({decision.rule}): {decision.reason}\nCorrect or remove these statements, and give the complete answer "
        "again. State openly what was not done. If a statement is right, state how you know."
    )


def _repeated(contradicted: list[Contradiction]) -> str:
    """Return the sentence for the person about an answer that was sent back and still is not true."""
    shown = [
        f"{label}: {'; '.join(quoted)}"
        for label, quoted in (
            ("what is not true", _quoted(entry for entry in contradicted if entry.outcome != "unseen")),
            (
                "what no call of this session shows",
                _quoted(entry for entry in contradicted if entry.outcome == "unseen"),
            ),
        )
        if quoted
    ]
    return f"remit: this answer was sent back once and still states {'; and '.join(shown)}"


def _quoted(contradicted: Iterable[Contradiction]) -> list[str]:
    """Return each sentence with all that is wrong with it."""
    by_sentence: dict[str, list[str]] = {}
    for contradiction in contradicted:
        by_sentence.setdefault(contradiction.sentence, []).append(contradiction.why)
    return [f'"{sentence}" ({"; ".join(reasons)})' for sentence, reasons in by_sentence.items()]


def _close_interrupted(state: SessionState, tasks: list[object]) -> None:
    """Close delegations that the client does not list: nothing runs in the foreground when the orchestrator stops."""
    running = {text(task, "id") for task in tasks}
    agents = [text(task, "agent_type") for task in tasks]
    has_teammates = any(text(task, "type") == "teammate" for task in tasks)  # listed without name and agent
    for key, entry in list(state.delegations.items()):
        if entry.teammate:
            is_running = has_teammates
        elif entry.agent_id:
            is_running = entry.agent_id in running
        else:
            is_running = any(is_same_agent(entry.agent, agent) for agent in agents if agent)
        if entry.is_open and not is_running:
            close_delegation(state, key, "failed")
    for holder in set(state.locks.values()) - running:
        if holder not in state.delegations or not state.delegations[holder].is_open:
            release_writes(state, holder)


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
#: A name and its file have this many marks of code.
_MARKS = 4
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
#: Reasons and outcomes of what does not exist, and the rules that report it.
_ABSENT = ("missing-file", "out-of-range")
_NOWHERE = "name-nowhere"
_ABSENT_RULES = ("reference-missing-file", "reference-out-of-range", "symbol-missing")
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
    if any(word in lower for word in _WORDS) or lower.count("`") >= _MARKS:
        return True
    if any(before.isalnum() and after.isdigit() for before, after in _around_colons(lower)):
        return True
    plain = lower.replace("-", " ").replace("_", " ")
    return "general purpose" in plain or any(agent_title(agent).lower() in plain for agent in agents)


def _around_colons(text: str) -> Iterator[tuple[str, str]]:
    position = text.find(":")
    while position >= 0:
        if 0 < position < len(text) - 1:
            yield text[position - 1], text[position + 1]
        position = text.find(":", position + 1)


class Contradiction(NamedTuple):
    """A statement of an answer that is not so: its whole sentence, why not, and both for the model that stated it.

    The outcome is `unseen` if no call of the session shows it, and otherwise `contradicted`.
    """

    sentence: str
    why: str
    message: str
    outcome: str = "contradicted"


def contradictions(answer: str, transcript: str, state: SessionState, context: ProjectContext) -> list[Contradiction]:
    """Return the statements of an answer that the checkout or the record of the session contradicts."""
    receipts = _session_receipts(transcript)
    by_message = {
        entry.message: entry for entry in (*_code(answer, receipts, context), *_work(answer, receipts, state, context))
    }
    return [Contradiction(*map(_one_line, entry)) for entry in by_message.values()][:_MAX_LISTED]


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
    paths: list[str] = []
    for file_name in sorted(os.listdir(folder), reverse=True)[:_MAX_ROLLOUTS]:
        path = os.path.join(folder, file_name)
        if file_name.startswith(_ROLLOUT) and file_name != name and is_readable(path):
            with open(path, "rb") as file:
                head = file.read(_HEAD_BYTES)
            if f'"session_id":"{session}"'.encode() in head.replace(b": ", b":"):
                paths.append(path)
    return paths


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
    """Yield the cited locations and names that do not exist, and quotes of files that the session did not change."""
    judged = judge_report(answer, Options(profile="claims", strict=True), context.project, path="answer.md")
    broken: dict[int, list[str]] = {}
    for violation in judged.violations:
        if violation["rule"] in _ABSENT_RULES:
            broken.setdefault(violation["line"], []).append(str(violation["message"]))
    lines = answer.split("\n")
    changed = {
        os.path.basename(receipt.path) for receipt in receipts or () if receipt.action == "edit" and receipt.path
    }
    removed = _may_be_removed(judged.verdicts, receipts, context)
    for verdict in judged.verdicts:
        for reference in verdict.evidence.references:
            line = lines[reference.at - 1] if 0 < reference.at <= len(lines) else ""
            is_absent = reference.outcome in _ABSENT or (
                reference.reason == _NOWHERE and (reference.path, reference.symbol) not in removed
            )
            sentence = _sentence_with(line, reference.text)
            if (
                is_absent
                and reference.at in broken
                and not _DENIED.search(_without_places(sentence, verdict.evidence.references))
            ):
                reason = _reason_for(reference.display_text, broken[reference.at])
                yield Contradiction(sentence, reason, reason)
        for quote in verdict.evidence.quotes:
            if quote.outcome == "mismatch" and receipts is not None and os.path.basename(quote.path) not in changed:
                reason = f"the quoted code is not in {quote.path}"
                line = lines[quote.at - 1] if 0 < quote.at <= len(lines) else ""
                yield Contradiction(line or quote.path, reason, reason)


def _may_be_removed(
    verdicts: Iterable[Verdict], receipts: list[Receipt] | None, context: ProjectContext
) -> set[tuple[str, str]]:
    """Return the names that exist nowhere and that the session may have removed: an answer names what it replaced."""
    references = (reference for verdict in verdicts for reference in verdict.evidence.references)
    absent = {(reference.path, reference.symbol) for reference in references if reference.reason == _NOWHERE}
    commands = [receipt.command for receipt in receipts or () if receipt.action == "run"]
    if not absent or any("commit" in git_verbs(command) for command in commands if "git" in command):
        return absent
    # A file that is written once has no earlier content.
    edited = {
        os.path.basename(receipt.path)
        for receipt in receipts or ()
        if receipt.action == "edit" and receipt.tool != "Write" and receipt.path and not receipt.failed
    }
    committed = open_workspace(context.project, "HEAD") if commit_of(context) else None
    try:
        files = {path: committed.read(path) if committed is not None else None for path, _ in absent}
    finally:
        if committed is not None:
            committed.close()
    return {(path, symbol) for path, symbol in absent if _may_have_had(files[path], path, symbol, edited)}


def _may_have_had(file: SourceFile | Absent | None, path: str, symbol: str, edited: Container[str]) -> bool:
    """Return whether a file of the last commit had a name. One that is not in it may have had any before an edit."""
    if isinstance(file, SourceFile):
        return symbol.partition("|")[0].rpartition(".")[2] in file.text
    return os.path.basename(path) in edited


def _without_places(sentence: str, references: Iterable[Checked]) -> str:
    """Return the words around the places of a sentence: the name of a file does not deny that it exists."""
    for reference in references:
        sentence = sentence.replace(reference.text, " ")
    return sentence


def _reason_for(cited: str, messages: list[str]) -> str:
    """Return the message about a location; a line of the answer may have several locations, each with its message."""
    message = next((message for message in messages if message.startswith(f"{cited}: ")), messages[0])
    return f"{cited}: {message.partition(': ')[2] or message}"


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
                yield Contradiction(statement.text, checked.why, message, checked.outcome)
    finally:
        workspace.close()


def _sentence_with(line: str, part: str) -> str:
    """Return the sentence of a line that contains a part of it, or the whole line."""
    position = line.find(part)
    for match in _SENTENCE.finditer(line):
        if match.start() <= position < max(match.end(), match.start() + 1):
            return match.group()
    return line
