"""What a subagent is asked to do: the task, its scope, what earlier phases found, and why it is asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from remit.orchestrate.framing import framed
from remit.orchestrate.ladder import warning
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
    return "\n\n".join([*parts, *_brought(list(inputs), kept)])


def _brought(inputs: Sequence[Delegation], kept: Path) -> Iterator[str]:
    """What earlier phases brought, and what is missing from it."""
    useful = [one for one in inputs if one.state == "accepted" and one.result]
    if useful:
        yield "What earlier phases brought:"
    for one in useful[:MAX_INPUTS]:
        yield framed(one.agent, one.verdict, one.result or "", kept / f"{one.id}.md")
    if len(useful) > MAX_INPUTS:
        more = ", ".join(str(kept / f"{one.id}.md") for one in useful[MAX_INPUTS:])
        yield f"{len(useful) - MAX_INPUTS} more results are in {more}"
    for one in inputs:
        if one.state in ("rejected", "failed", "skipped"):
            yield f"{warning(one.agent)}." if one.state != "skipped" else f"Agent {one.agent} was skipped by a person."
        if one.fallback is not None and one.state != "accepted":
            yield from (
                framed(f"{file['path']} read in place of {one.agent}", None, file["text"])
                for file in one.fallback["files"]
            )
