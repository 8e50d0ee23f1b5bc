"""What a subagent is asked to do: the task, its scope, what earlier phases brought, and why it is asked again."""

from __future__ import annotations

from collections.abc import Iterable

from remit.orchestrate.model import DelegationSpec
from remit.store.plans import Delegation


def task_text(spec: DelegationSpec, delegation: Delegation, brought: Iterable[str], words: str) -> str:
    """The whole prompt of a delegation. `brought` are paragraphs on the results it is given, `words` a person's."""
    parts = [spec.task.strip()]
    if spec.scope and not delegation.scope:
        parts.append(f"Scope: {', '.join(spec.scope)}")
    if delegation.scope:
        parts.append(f"An earlier attempt failed ({delegation.error}). This time: {delegation.scope}.")
    if words:
        parts.append(f"A person adds: {words}")
    return "\n\n".join([*parts, *brought])
