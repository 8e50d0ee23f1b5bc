"""What happens when a delegation fails. The plans, the gate and the notices to an orchestrator all use this module.

A result that breaks the contract is sent back once for correction. A delegation fails if its result is still not
accepted, if its job did not complete, or if its result has the status FAILED. Its output is kept, the verified part of
it is handed on as partial, and these steps follow, in this order, each if it applies:

1. `retry`: a delegation that is critical or loads context is repeated once, with a reduced scope, unless it reported
   that the failure is not recoverable.
2. `fall-back`: if it was loading context, the first lines of a few files are read in its place and shown to those that
   need them.
3. `gap`: if it is not critical, or was loading context, the work continues and the gap is recorded. A failed context
   loader never blocks the user.
4. `escalate`: if it is critical, a person is asked.

The module uses the standard library only, because the gate runs before every tool call.
"""

from __future__ import annotations

MAX_CORRECTIONS = 1
MAX_RETRIES = 1
#: Files that may be read in place of a failed delegation, and lines of each.
FALLBACK_FILES = 3
FALLBACK_LINES = 200
#: The steps in their order.
STEPS: tuple[str, ...] = ("retry", "fall-back", "gap", "escalate")
#: Why a report has to be reviewed: what its agent could not get past.
BLOCKER = "it reports a blocker"
#: What an orchestrator has to do before it reads files in place of a failed delegation.
RETRY_FIRST = "retry the failed delegation once with a reduced scope"

#: Step -> why it follows, for the record of a plan.
_REASONS: dict[str, str] = {
    "retry": "it is retried once with a reduced scope",
    "fall-back": "it was loading context, so a few lines are read in its place",
    "gap": "it is not critical, so the work goes on without it",
    "escalate": "it is critical and has failed {failures}",
}
_LOADER_GAP = "it was loading context, so the work goes on without it"
#: Step -> what an orchestrator that is a model has to do.
_INSTRUCTIONS: dict[str, str] = {
    "retry": "Send {agent} the task again, once, with a reduced scope. If that fails too: ",
    "fall-back": "if it was to load context, read what you need within the limits of a fallback; ",
    "gap": "if the result is not critical, continue and state in your answer what is missing; ",
    "escalate": "if it is critical, ask the user.",
}


def can_correct(submissions: int) -> bool:
    """Return whether a result that breaks the contract may be sent back after this number of submissions."""
    return submissions <= MAX_CORRECTIONS


def can_retry(retries: int) -> bool:
    """Return whether a failed delegation may be repeated after this number of retries."""
    return retries < MAX_RETRIES


def next_step(
    *, critical: bool, loads_context: bool, retries: int, has_fallback: bool = False, is_recoverable: bool = True
) -> str:
    """Return the step that follows a failure. The same values always give the same step."""
    if (critical or loads_context) and is_recoverable and not has_fallback and can_retry(retries):
        return "retry"
    if loads_context and not has_fallback:
        return "fall-back"
    return "escalate" if critical and not loads_context else "gap"


def explain_step(step: str, failure: str, retries: int, *, loads_context: bool = False) -> str:
    """Return the reason for a step: the failure, and why this step follows it."""
    failures = f"{retries + 1} time{'s' * (retries > 0)}"
    reason = _LOADER_GAP if step == "gap" and loads_context else _REASONS[step]
    return f"{failure}; {reason.format(failures=failures)}"


def instructions(agent: str, retries: int, *, is_recoverable: bool = True) -> str:
    """Return what an orchestrator should do after a failure, from the next step to the last."""
    steps = STEPS if can_retry(retries) and is_recoverable else STEPS[1:]
    return "".join(_INSTRUCTIONS[step] for step in steps).format(agent=agent)


def failure_warning(agent: str) -> str:
    """Return the warning that each failure adds to the progress file and to the session."""
    return f"Agent {agent} failed, results may be incomplete"


def resolved_warning(agent: str) -> str:
    """Return the warning for a failure that a retry has resolved."""
    return f"Agent {agent} failed, resolved by a retry"


def failure_note(agent: str, where: str, details: str, *, is_resolved: bool = False) -> str:
    """Return the warning for the progress file: agent, place (which identifies it), cause and action taken."""
    warning = resolved_warning(agent) if is_resolved else failure_warning(agent)
    return f"{warning} ({where}): {details}"


def reduce_scope(scope: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return a smaller scope for a retry, and a description of it for the record and for the agent."""
    if len(scope) > 1:
        half = scope[: (len(scope) + 1) // 2]
        left_out = ", ".join(scope[len(half) :])
        return half, f"only {', '.join(half)}; not {left_out}"
    only = f" in {scope[0]}" if scope else ""
    return scope, f"only the most important part{only}: at most three files, and state what was left out"
