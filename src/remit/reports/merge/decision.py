"""Why a merge decided as it did, and what a person can do if nothing could be merged or reviewed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from remit.merging.adjust import NO_STATUS
from remit.merging.merge import CLARIFY_BELOW, is_unsure
from remit.merging.merge_data import NOT_COUNTED, OBSERVED, SKIPPED, AgentReport, Merge
from remit.reports.layout import format_count
from remit.reports.merge.parts import counts_of, join_words, truncate_text
from remit.workspace.languages import NOT_CODE

#: The most agents that are named; more are counted.
_MAX_NAMED = 3
#: The most characters of the cause of a failure.
_MAX_CAUSE = 240
#: What a person can do if a review has no files, or no reviewer for them.
NOTHING_THERE = (
    "NOT REVIEWED: there is no file to review here, or git ignores all of them; name a folder with code: "
    "remit review PATH"
)
#: What a person can do if the reviewers failed.
FIX_REVIEWERS = "remove the causes under Errors, and run the review again"
ADD_REVIEWERS = "`remit review --list` shows which reviewers apply and how to add others"


def headline(merge: Merge) -> str:
    """Return the first line of every report for people: the decision, and how much does not count as a finding."""
    failed = f"{len(merge.failed):,} failed{f' ({counts_of(merge.failed)})' if merge.failed else ''}"
    dropped, dismissed = merge.counts.dropped, merge.counts.dismissed
    return " · ".join(
        (
            f"decision {merge.decision}",
            f"run {merge.status}",
            failed,
            f"{dropped - dismissed:,} dropped",
            f"{dismissed:,} dismissed",
        )
    )


def decision_text(merge: Merge) -> str:
    """Return the reason for the decision. Names of agents in it are not escaped."""
    parts = (_main(merge), _unread_text(merge), broken_text(merge), _same_names(merge))
    return "; ".join(filter(None, (*parts, *_outside_contract(merge.agents))))


def _same_names(merge: Merge) -> str:
    """Return which inputs have one name: they count as one agent."""
    number = Counter(agent.agent for agent in merge.agents)
    several = [name for name, count in number.items() if count > 1]
    return f"several inputs are of {_join_names(several)} and count as one agent" if several else ""


def _outside_contract(agents: Sequence[AgentReport]) -> list[str]:
    """Return which agents do not count, and why: they were not asked for a report, or a person skipped them."""
    named: dict[str, list[str]] = {}
    for agent in agents:
        if agent.status in NOT_COUNTED:
            kind = "only claims were checked" if agent.verdict else "not checked, only observed"
            kind = "skipped by a person" if agent.status == SKIPPED else kind
            named.setdefault(kind, []).append(agent.agent)
    return [f"{kind}: {_join_names(names)}" for kind, names in named.items()]


def _unread_text(merge: Merge) -> str:
    """Return the files of a review that no reviewer read; prose and data are not listed."""
    if merge.is_unread:
        return ""
    unread = [
        f"{coverage.unread:,} {coverage.language}"
        for coverage in merge.coverage
        if coverage.unread and coverage.language not in NOT_CODE
    ]
    rest = len(unread) - _MAX_NAMED
    more = f" and {format_count(rest, 'more language')}" if rest > 0 else ""
    return f"files not reviewed: {', '.join(unread[:_MAX_NAMED])}{more}" if unread else ""


def contract_status(report: AgentReport) -> str:
    """Return the verdict of a report; `tool` for a tool, and words for an agent that sent nothing or was observed."""
    return report.verdict or {"FAILED": "no result", SKIPPED: "no result", OBSERVED: "not checked"}.get(
        report.status, "tool"
    )


def _main(merge: Merge) -> str:
    if merge.is_empty:
        return NOTHING_THERE
    if merge.is_unread and merge.decision == "review":
        return f"NOT REVIEWED: no reviewer could read a file; {ADD_REVIEWERS}"
    if merge.decision == "continue":
        others = {agent.status for agent in merge.agents} & {*NOT_COUNTED}
        checked = "all other agents" if SKIPPED in others else "all checked agents" if others else "all agents"
        return f"{checked} finished and there are no conflicts"
    if merge.decision == "retry":
        if merge.is_unread:
            failed = f"NOT REVIEWED: {_named(merge, 'FAILED')} failed, and no other reviewer could read a file"
            return "; ".join(filter(None, (failed, _cause(merge), FIX_REVIEWERS)))
        if not merge.agents:
            return "there is nothing to merge"
        failed = _named(merge, "FAILED")
        rest = "run it again before you rely on this report"
        return "; ".join(filter(None, (f"{failed or 'an agent'} failed", _cause(merge), rest)))
    is_open = sum(conflict.answer is None for conflict in merge.conflicts)
    conflicts = format_count(is_open, "conflict") if is_open else ""
    failed = f"{format_count(len(merge.failed), 'claim')} did not hold" if merge.failed else ""
    stated = [error for error in merge.sections.errors if error.type == NO_STATUS]
    nameless = {error.agent for error in stated}
    ended = {status: _named(merge, status, nameless) for status in ("FAILED", "PARTIAL")}
    problems = [f"{truncate_text(error.agent, 80)}: {error.message}" for error in stated]
    more = [f"{format_count(len(stated) - _MAX_NAMED, 'more agent')} without a valid status"]
    problems = [*problems[:_MAX_NAMED], *(more if len(stated) > _MAX_NAMED else [])]
    unsure = [summary.agent for summary in merge.sections.summaries if is_unsure(summary.confidence)]
    reasons = [
        conflicts,
        failed,
        f"{ended['FAILED']} failed and cannot be run again" if ended["FAILED"] else "",
        f"{ended['PARTIAL']} did not finish" if ended["PARTIAL"] else "",
        *problems,
        "most of the code was not reviewed" if merge.is_mostly_unread else "",
        f"the confidence of {_join_names(unsure)} is below {CLARIFY_BELOW:g}" if unsure else "",
    ]
    return "; ".join(filter(None, reasons))


def _cause(merge: Merge) -> str:
    """Return why the first agent that failed in a review has failed; empty if this is not known."""
    failed = {agent.agent for agent in merge.agents if agent.status == "FAILED"}
    causes = (error.message for error in merge.sections.errors if error.agent in failed and error.message)
    return truncate_text(" ".join(next(causes, "").split()), _MAX_CAUSE) if merge.coverage else ""


def _named(merge: Merge, status: str, without: Collection[str] = ()) -> str:
    return _join_names(a.agent for a in merge.agents if a.status == status and a.agent not in without)


def _join_names(agents: Iterable[str]) -> str:
    names = list(dict.fromkeys(truncate_text(agent, 80) for agent in agents))
    return join_words(names) if len(names) <= _MAX_NAMED else format_count(len(names), "agent")


def broken_text(merge: Merge) -> str:
    """Return how many results break the contract; empty if none does."""
    judged = [report.verdict for report in merge.agents if report.verdict and report.status not in NOT_COUNTED]
    broken = sum(verdict != "accept" for verdict in judged)
    verb = "breaks" if broken == 1 else "break"
    return f"{broken:,} of {format_count(len(judged), 'result')} {verb} the contract" if broken else ""


class Failure(NamedTuple):
    """Why an agent failed, or what could not be read of its report, and what to do."""

    agent: str
    text: str
    has_failed: bool


def failures_of(merge: Merge) -> list[Failure]:
    """Return the failures of all agents, for formats without sections. Their texts are not escaped."""
    failed = dict.fromkeys(agent.agent for agent in merge.agents if agent.status == "FAILED")
    known = []
    for error in merge.sections.errors:
        reason = ": ".join(filter(None, [error.type, error.message])) or "it failed"
        text = ". ".join([reason, *error.recovery_options])
        known.append(Failure(error.agent, text, error.agent in failed))
    stated = {failure.agent for failure in known}
    silent = [Failure(agent, "it sent no result. Run it again", has_failed=True) for agent in failed]
    return [*known, *(failure for failure in silent if failure.agent not in stated)]
