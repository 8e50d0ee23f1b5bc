"""A plan as data: phases of delegations. What `remit plan` reads, and what Python builds."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

MAX_PHASES = 100
MAX_DELEGATIONS = 2_000
#: Delegations of a phase that run at a time.
PARALLEL = 5
#: What a person may answer to a question.
ANSWERS = ("retry", "skip", "cancel", "text")


class DelegationSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Work for one subagent."""

    agent: str
    task: str
    #: Its name in the plan; default: the agent's.
    name: str = ""
    #: A failure of a critical one is retried once, then a person is asked.
    #: Without an answer the phase's counts.
    critical: bool | None = None
    #: It loads context, so up to three files may be read in its place if it fails.
    loads_context: bool = False
    #: Files and folders it is about; a retry takes the first half of them.
    scope: tuple[str, ...] = ()
    #: Files it may change; no two delegations of a phase name the same.
    writes: tuple[str, ...] = ()
    model: str | None = None
    max_turns: int | None = None
    allowed_tools: tuple[str, ...] | None = None
    timeout: float | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    kind: str | None = None
    runner: str | None = None
    command: str | None = None
    isolation: str | None = None
    input_vars: dict[str, Any] = {}


class PhaseSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Delegations that run side by side, then a merge, then a decision."""

    name: str
    delegations: tuple[DelegationSpec, ...]
    #: Earlier phases whose results its tasks are given.
    inputs: tuple[str, ...] = ()
    threshold: float = 80
    policy: Literal["mean", "max", "floor"] = "mean"
    #: Whether its delegations are critical that do not say so themselves.
    critical: bool = False
    #: Seconds for each of its delegations that does not say so itself.
    timeout: float | None = None
    parallel: int = PARALLEL
    #: Whether the results it was given are merged with its own: for a phase that judges them.
    merges_inputs: bool = False
    #: What a merge that says `review` does: go on, or ask a person.
    on_review: Literal["continue", "ask"] = "continue"


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Phases, one after the other."""

    name: str
    phases: tuple[PhaseSpec, ...]
    #: What results are held to; without it the definitions' own, and v2 for the merges.
    profile: str | None = None
    #: What all its delegations may use together, tries and retries included.
    max_tokens: int | None = None
    max_cost: float | None = None


def with_phase_defaults(phase: PhaseSpec) -> tuple[DelegationSpec, ...]:
    """The delegations of a phase, with the phase's word where they say nothing themselves."""
    return tuple(
        msgspec.structs.replace(
            one,
            critical=phase.critical if one.critical is None else one.critical,
            timeout=phase.timeout if one.timeout is None else one.timeout,
        )
        for one in phase.delegations
    )


def delegation_names(phase: PhaseSpec) -> list[str]:
    """The names of a phase's delegations: as given, else the agent's with a number from the second on."""
    names: dict[str, None] = {}
    taken: dict[str, int] = {}
    for one in phase.delegations:
        name = wanted = one.name or one.agent
        while name in names:
            taken[wanted] = taken.get(wanted, 1) + 1
            name = f"{wanted}-{taken[wanted]}"
        names[name] = None
    return list(names)
