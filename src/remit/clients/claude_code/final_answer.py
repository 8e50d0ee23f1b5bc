"""Compare the orchestrator's final answer with the record of its session: code, test runs and delegations.

A statement counts as contradicted only if the record is complete enough to show it. Plans, questions, conditions and
statements that something does not exist are not claims.
"""

from __future__ import annotations

import os
import re

from remit.clients.claude_code.judging import is_readable
from remit.clients.claude_code.libraries import make_libraries_importable
from remit.contract.feedback import agent_title, neutralize
from remit.lazy import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from remit.clients.claude_code.project import ProjectContext
    from remit.evidence.receipts import Receipt
    from remit.gate.session import SessionState

#: A longer answer is not checked.
MAX_CHARACTERS = 200_000
#: Transcripts of subagents that are read, and statements that are listed.
_MAX_TRANSCRIPTS = 100
_MAX_LISTED = 10
#: Outcomes of a location that does not exist, and the rules that report it.
_ABSENT = ("missing-file", "out-of-range")
_ABSENT_RULES = ("reference-missing-file", "reference-out-of-range")
_SENTENCE = lazy_pattern(r"[^.!?\n。！？]*(?:[.!?](?=\S)[^.!?\n。！？]*)*[.!?。！？]?")
#: The sentence denies a location, or speaks about the future.
_DENIED = lazy_pattern(
    r"\b(?:no such|there (?:is|are|was) no|not exist|n't exist|non-?existent|(?:is|are) missing|not found|no longer|"
    r"invent\w*|hallucinat\w*|removed?|deleted?|renamed?|moved|rejected|withheld|not accepted|not hold|unverified|will|"
    r"would|should|could|plan|planned|propos\w*|suggest\w*|example)\b",
    re.IGNORECASE,
)
#: The sentence is not a statement about the past.
_UNASSERTED = lazy_pattern(
    r"\b(?:will|would|should|must|shall|may|might|could|can|cannot|if|once|until|unless|before|whether|ensure|"
    r"make sure|expect\w*|want|wants|need|needs|needed|let|let's|please|not|never|no|without|instead|next|plan|planned|"
    r"going to|recommend\w*|suggest\w*|propos\w*|failed to|denied|refused|wait\w*|you)\b|n't\b|\?\s*$",
    re.IGNORECASE,
)
_TASKED = r"(?:delegated|handed|sent|asked|launched|dispatched|ran|used|had|per|according to|via|through|by)"
_REPORTED = (
    r"(?:found|finds|reported|reports|confirmed|confirms|verified|reviewed|checked|audited|approved|implemented|wrote|"
    r"fixed|returned|says|said|agreed|agrees|concluded|analy[sz]ed|explored|traced|tested|ran|signed off|completed|"
    r"identified|flagged|traces|found)"
)


def may_state_claims(answer: str, agents: Iterable[str]) -> bool:
    """Return whether an answer may contain a claim. Most short answers do not."""
    lower = answer.lower()
    if not 0 < len(answer) <= MAX_CHARACTERS:
        return False
    if "test" in lower or "passed" in lower or "```" in lower or "#l" in lower or "line " in lower:
        return True
    if any(before.isalnum() and after.isdigit() for before, after in _around_colons(lower)):
        return True
    plain = lower.replace("-", " ").replace("_", " ")
    return any(agent_title(agent).lower() in plain for agent in agents)


def _around_colons(text: str) -> Iterator[tuple[str, str]]:
    at = text.find(":")
    while at >= 0:
        if 0 < at < len(text) - 1:
            yield text[at - 1], text[at + 1]
        at = text.find(":", at + 1)


def contradictions(answer: str, transcript: str, state: SessionState, context: ProjectContext) -> list[str]:
    """Return the statements of an answer that the checkout or the record of the session contradicts."""
    make_libraries_importable()
    receipts = _session_receipts(transcript)
    found = [
        *_code(answer, receipts, context),
        *_tests(answer, receipts),
        *_delegations(answer, receipts, state, context),
    ]
    return [neutralize(" ".join(one.split()))[:400] for one in dict.fromkeys(found)][:_MAX_LISTED]


def _session_receipts(transcript: str) -> list[Receipt] | None:
    """Return the tool calls of the session and its subagents; None if there is no record of the session."""
    from remit.errors import UsageError
    from remit.evidence.transcripts import read_transcript

    if not is_readable(transcript):
        return None
    receipts: list[Receipt] = []
    for path in (transcript, *_subagent_transcripts(transcript)):
        try:
            read = read_transcript(path)
        except UsageError:
            return None
        if not read.is_known:
            return None
        receipts += read.receipts
    return receipts


def _subagent_transcripts(transcript: str) -> list[str]:
    folder = os.path.join(transcript.removesuffix(".jsonl"), "subagents")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".jsonl")]
    return [path for path in paths[-_MAX_TRANSCRIPTS:] if is_readable(path)]


def _code(answer: str, receipts: list[Receipt] | None, context: ProjectContext) -> Iterator[str]:
    """Yield the cited locations that do not exist, and quotes of files that the session did not change."""
    from remit.acceptance import judge_report
    from remit.checking import Options

    judged = judge_report(answer, Options(profile="claims"), context.project, path="answer.md")
    broken = {one["line"]: str(one["message"]) for one in judged.violations if one["rule"] in _ABSENT_RULES}
    lines = answer.split("\n")
    changed = {os.path.basename(one.path) for one in receipts or () if one.action == "edit" and one.path}
    for verdict in judged.verdicts:
        for reference in verdict.evidence.references:
            line = lines[reference.at - 1] if 0 < reference.at <= len(lines) else ""
            is_absent = reference.outcome in _ABSENT and reference.at in broken
            if is_absent and not _DENIED.search(_sentence_with(line, reference.text)):
                yield f"{reference.text}: {broken[reference.at].partition(': ')[2] or broken[reference.at]}"
        for quote in verdict.evidence.quotes:
            if quote.outcome == "mismatch" and receipts is not None and os.path.basename(quote.path) not in changed:
                yield f"the quoted code is not in {quote.path}"


def _tests(answer: str, receipts: list[Receipt] | None) -> Iterator[str]:
    """Yield the statement that tests passed if no test ran in this session, or the last run failed."""
    from remit.evidence.changes import asserted_test_runs, settle_runs

    claims = [one for one in asserted_test_runs(answer) if one.passed and not _UNASSERTED.search(one.text)]
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
    from remit.gate.delegations import agent_slug

    if receipts is None:
        return
    asked = {agent_slug(entry.agent.rpartition(":")[2]) for entry in state.delegations.values()}
    for one in receipts:
        if one.tool in ("Agent", "Task"):
            asked.add(agent_slug(str(one.arguments.get("subagent_type") or "general-purpose").rpartition(":")[2]))
    for agent in sorted({name.rpartition(":")[2] for name in context.contract}):
        if agent_slug(agent) not in asked and _states_work_of(answer, agent):
            yield f"{agent} was not asked to do anything in this session"


def _states_work_of(answer: str, agent: str) -> bool:
    words = [re.escape(word) for word in agent_title(agent).split()]
    name = r"[ _-]".join(words)
    if len(words) == 1:  # a word of the language, unless it is marked as a name
        name = rf"(?:`{name}`|{name}(?= (?:sub)?agent\b))"
    pattern = re.compile(
        rf"(?:\b{_TASKED}\b[^.\n]{{0,80}}?{name}|{name}`?(?: (?:sub)?agent)?[^.\n]{{0,20}}? {_REPORTED}\b)",
        re.IGNORECASE,
    )
    return any(
        not _UNASSERTED.search(_sentence_with(line, found.group()))
        for line in answer.split("\n")
        for found in pattern.finditer(line)
    )


def _sentence_with(line: str, part: str) -> str:
    """Return the sentence of a line that contains a part of it, or the whole line."""
    at = line.find(part)
    for found in _SENTENCE.finditer(line):
        if found.start() <= at < max(found.end(), found.start() + 1):
            return found.group()
    return line
