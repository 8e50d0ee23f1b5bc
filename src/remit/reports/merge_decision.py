"""Why a merge is to be relied on, looked at or run again, in one sentence."""

from __future__ import annotations

from remit.merging.model import AgentReport, Merge
from remit.reports.merge_parts import counted, cut, joined

#: Agents that are named; more are counted.
_MAX_NAMED = 3


def decision_words(merge: Merge) -> str:
    """Why the decision is as it is. Names of agents in it are as they were written."""
    return "; ".join(filter(None, [_main(merge), broken_words(merge)]))


def contract_word(report: AgentReport) -> str:
    """Whether a report keeps the contract: tools are not held to it, and who sent nothing has no result."""
    return report.verdict or ("no result" if report.status == "FAILED" else "tool")


def _main(merge: Merge) -> str:
    if merge.decision == "continue":
        return "every agent finished and none disagrees with another"
    if merge.decision == "retry":
        if not merge.agents:
            return "there was nothing to merge"
        failed = _named(merge, "FAILED")
        return f"{failed or 'an agent'} failed and should run again before anybody relies on this"
    conflicts = counted(len(merge.conflicts), "conflict") if merge.conflicts else ""
    partial = _named(merge, "PARTIAL")
    reasons = [conflicts, f"{partial} did not finish" if partial else ""]
    return "; ".join(filter(None, reasons)) or "an agent is less than 60 sure of its own result"


def _named(merge: Merge, status: str) -> str:
    names = list(dict.fromkeys(cut(report.agent, 80) for report in merge.agents if report.status == status))
    return joined(names) if len(names) <= _MAX_NAMED else counted(len(names), "agent")


def broken_words(merge: Merge) -> str:
    """How many results break the contract; empty: none."""
    judged = [report.verdict for report in merge.agents if report.verdict]
    broken = sum(verdict != "accept" for verdict in judged)
    verb = "breaks" if broken == 1 else "break"
    return f"{broken:,} of {counted(len(judged), 'result')} {verb} the contract" if broken else ""
