"""A plan as data: phases of delegations. `remit plan run` reads it from a file, and Python code can build it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

MAX_PHASES = 100
MAX_DELEGATIONS = 2_000
#: Delegations of a phase that run at the same time.
PARALLEL = 5


class DelegationSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task for one subagent."""

    agent: str
    task: str
    #: Its name in the plan; default: the name of the agent.
    name: str = ""
    #: Whether a failure is retried once and then escalated to a person.
    #: If it is not set, the value of the phase applies.
    critical: bool | None = None
    #: Whether it loads context, so that up to three files may be read in its place if it fails.
    loads_context: bool = False
    #: The files and folders it is about. A retry gets the first half of them.
    scope: tuple[str, ...] = ()
    #: The files it may change. Two delegations of a phase must not name the same file.
    writes: tuple[str, ...] = ()
    #: A system prompt instead of the definition's.
    system: str | None = None
    model: str | None = None
    max_turns: int | None = None
    allowed_tools: tuple[str, ...] | None = None
    timeout: float | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    kind: str | None = None
    #: The profile that its result is checked with; default: the plan's, else the definition's.
    profile: str | None = None
    #: `none`: its answer is not a report, so it gets no instructions, and only its claims are checked.
    contract: Literal["none"] | None = None
    runner: str | None = None
    command: str | None = None
    isolation: str | None = None
    input_vars: dict[str, Any] = {}


class PhaseSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Delegations that run in parallel, then a merge, then a decision."""

    name: str
    delegations: tuple[DelegationSpec, ...]
    #: Earlier phases whose results are added to its tasks.
    inputs: tuple[str, ...] = ()
    #: What its merge keeps, and how scores are combined; default: the project's settings.
    threshold: float | None = None
    policy: Literal["mean", "max", "floor"] | None = None
    #: Whether its delegations are critical, unless they set it themselves.
    critical: bool = False
    #: Seconds for each of its delegations, unless they set it themselves.
    timeout: float | None = None
    parallel: int = PARALLEL
    #: Whether its inputs are merged with its own results: for a phase that verifies them.
    merges_inputs: bool = False
    #: What follows if the merge decides `review`, after a PARTIAL result, a conflict or a score under 60: ask a person,
    #: or continue. If it is not set: ask before the next phase if a person is there, else continue and report it.
    on_review: Literal["continue", "ask"] | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Phases that run one after the other."""

    name: str
    phases: tuple[PhaseSpec, ...]
    #: The profile that results are checked with; default: that of each definition, and v2 for the merges.
    profile: str | None = None
    #: The budget of all its delegations together, including retries.
    max_tokens: int | None = None
    max_cost: float | None = None


def with_phase_defaults(phase: PhaseSpec) -> tuple[DelegationSpec, ...]:
    """Return the delegations of a phase with the phase's values where they set none."""
    return tuple(
        msgspec.structs.replace(
            delegation,
            critical=phase.critical if delegation.critical is None else delegation.critical,
            timeout=phase.timeout if delegation.timeout is None else delegation.timeout,
        )
        for delegation in phase.delegations
    )


def delegation_names(phase: PhaseSpec) -> list[str]:
    """Return the unique names of a phase's delegations: a name that occurs again gets a number."""
    names: dict[str, None] = {}
    counts: dict[str, int] = {}
    for delegation in phase.delegations:
        name = base = delegation.name or delegation.agent
        while name in names:
            counts[base] = counts.get(base, 1) + 1
            name = f"{base}-{counts[base]}"
        names[name] = None
    return list(names)
