"""What a subagent is asked to do: the task, its scope, what earlier phases found, and why it is asked again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from remit.orchestrate.framing import framed
from remit.orchestrate.model import DelegationSpec
from remit.store.plans import Delegation

MAX_INPUTS = 20


def task_text(
    spec: DelegationSpec, delegation: Delegation, inputs: Iterable[Delegation], words: str, kept: Path
) -> str:
    """The whole prompt of a delegation. `kept` is the folder with the results that were too long to show."""
    parts = [spec.task.strip()]
    if spec.scope and not delegation.scope:
        parts.append(f"Scope: {', '.join(spec.scope)}")
    if delegation.scope:
        parts.append(f"An earlier attempt failed ({delegation.error}). This time: {delegation.scope}.")
    if words:
        parts.append(f"A person adds: {words}")
    shown = [one for one in inputs if one.result][:MAX_INPUTS]
    if shown:
        parts.append("What earlier phases brought:")
        parts += [framed(one.agent, one.verdict, one.result or "", kept / f"{one.id}.md") for one in shown]
    return "\n\n".join(parts)
