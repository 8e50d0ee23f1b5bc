"""Why a merge decided as it did, and what a person can do if nothing could be merged or reviewed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from remit.contract.result_data import ErrorDetails
from remit.merging.merge_data import NOT_COUNTED, OBSERVED, SKIPPED, AgentReport, Merge
from remit.reports.layout import format_count
from remit.reports.merge.groups import no_findings_text
from remit.reports.merge.parts import join_words, truncate_text
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


def decision_text(merge: Merge) -> str:
    """Return the reason for the decision. Names of agents in it are not escaped."""
    return "; ".join(
        filter(None, [_main(merge), _unread_text(merge), broken_text(merge), *_outside_contract(merge.agents)])
    )


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
    conflicts = format_count(len(merge.conflicts), "conflict") if merge.conflicts else ""
    partial = _join_names(agent.agent for agent in merge.agents if agent.status == "PARTIAL" and not agent.problem)
    stated = [f"{truncate_text(agent.agent, 80)}: {agent.problem}" for agent in merge.agents if agent.problem]
    more = [f"{format_count(len(stated) - _MAX_NAMED, 'more agent')} without a valid status"]
    stated = [*stated[:_MAX_NAMED], *(more if len(stated) > _MAX_NAMED else [])]
    most = "most of the code was not reviewed" if merge.is_mostly_unread else ""
    reasons = [conflicts, f"{partial} did not finish" if partial else "", *stated, most]
    return "; ".join(filter(None, reasons)) or "the confidence of a result is below 60"


def _cause(merge: Merge) -> str:
    """Return why the first agent that failed in a review has failed; empty if this is not known."""
    failed = {agent.agent for agent in merge.agents if agent.status == "FAILED"}
    causes = (error.message for error in merge.sections.errors if error.agent in failed and error.message)
    return truncate_text(" ".join(next(causes, "").split()), _MAX_CAUSE) if merge.coverage else ""


def _named(merge: Merge, status: str) -> str:
    return _join_names(report.agent for report in merge.agents if report.status == status)


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


def root_cause(merge: Merge) -> str:
    """Return why a failed merge has no findings."""
    return no_findings_text(merge) if merge.is_unread else "Every agent's result is FAILED, empty or missing."


def recovery_text(merge: Merge) -> str:
    """Return what helps after a failed merge."""
    if merge.is_empty:
        return "Name a folder with code, whose files git does not ignore"
    if merge.is_unread and merge.decision != "retry":
        return "Add a reviewer for these languages, or set a model"
    if merge.is_unread:
        return FIX_REVIEWERS[:1].upper() + FIX_REVIEWERS[1:]
    return "Run the agents again, one by one, and merge their results"


def error_details(merge: Merge) -> ErrorDetails:
    """Return the error of a failed merge."""
    if merge.is_unread:
        kind, message = "NotReviewed", no_findings_text(merge)
    else:
        kind = "AllAgentsFailed" if merge.agents else "NothingToMerge"
        message = f"none of {format_count(len(merge.agents), 'result')} is usable"
    return ErrorDetails(
        type=kind,
        message=message,
        occurred_at="the merge of the results",
        recoverable="true",
    )
