"""What follows on the end of a job: accepted, corrected, or the steps down the ladder of failure.

Keep what there is; correct once; retry once with less if it is critical; read a little in its place if it was
loading context; go on with the gap written down if it is not critical, ask a person if it is.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from remit.orchestrate.plan import DelegationSpec
from remit.store.jobs import Job
from remit.store.plans import Delegation

StepName = Literal["wait", "submit", "correct", "accept", "retry", "fall-back", "gap", "escalate"]


class Step(NamedTuple):
    """The next thing to do with a delegation, and why."""

    name: StepName
    reason: str


def next_step(spec: DelegationSpec, delegation: Delegation, job: Job | None, submissions: int) -> Step:
    """What is to be done now. Only what is written down decides, so asking again gives the same answer."""
    if delegation.job is None or job is None:
        return Step("submit", "it is dispatched")
    if job.state != "finished":
        return Step("wait", f"job {job.id} is {job.state}")
    if job.outcome == "completed" and job.verdict == "accept":
        return Step("accept", f"job {job.id} was accepted")
    if job.outcome == "completed" and job.verdict == "revise" and submissions < 2:
        return Step("correct", f"job {job.id} breaks the contract; it may correct its result once")
    return _failed(spec, delegation, failure_text(job))


def refused_step(spec: DelegationSpec, delegation: Delegation, why: str) -> Step:
    """What follows if a delegation could not even be dispatched."""
    return _failed(spec, delegation, f"it could not be dispatched: {why}")


def failure_text(job: Job) -> str:
    """Why a job is no success."""
    if job.outcome == "completed":
        return f"its result was not accepted ({job.verdict})"
    return f"it ended with {job.outcome}" + (f": {job.error}" if job.error else "")


def _failed(spec: DelegationSpec, delegation: Delegation, why: str) -> Step:
    if spec.critical and delegation.retries == 0:
        return Step("retry", f"{why}; it is critical and is retried once with a reduced scope")
    if spec.loads_context and delegation.fallback is None:
        return Step("fall-back", f"{why}; it was loading context, so a few lines are read in its place")
    if spec.critical:
        return Step("escalate", f"{why}; it is critical and has failed {delegation.retries + 1} times")
    return Step("gap", f"{why}; it is not critical, so the work goes on without it")


def reduce_scope(spec: DelegationSpec) -> tuple[tuple[str, ...], str]:
    """A smaller scope for the one retry, and how it was reduced, in words for the record and for the agent."""
    if len(spec.scope) > 1:
        half = spec.scope[: (len(spec.scope) + 1) // 2]
        left = ", ".join(spec.scope[len(half) :])
        return half, f"only {', '.join(half)}; not {left}"
    only = f" in {spec.scope[0]}" if spec.scope else ""
    return spec.scope, f"only the most important part{only}: at most three files, and say what was left out"


def failure_warning(agent: str) -> str:
    """What a failure adds to the warnings of the progress file."""
    return f"Agent {agent} failed, results may be incomplete"
