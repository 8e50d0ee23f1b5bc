"""The team and the plan of `remit review`: several reviewers over a checkout, verified and merged.

With a model, the team has subagents and analysers. Without one it has analysers only; their findings go through the
same jobs, checks and merge.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.configuration import Configuration
from remit.dispatch.analyser_table import TIMEOUT
from remit.dispatch.analysers import NO_FILES, Availability, find_analysers
from remit.dispatch.models import KEYS, provider_of
from remit.dispatch.tools.sandbox import sandbox_problem
from remit.errors import UsageError, did_you_mean
from remit.merging.content import Note
from remit.merging.merge_data import Merge
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan
from remit.registry.model_names import full_name

#: The subagents of a review, and their tasks.
REVIEWERS = {
    "code-explorer": "Trace the entry points and the execution flow of the code in scope, so that a reviewer knows "
    "where untrusted input enters and where decisions on money, data or permissions are made.",
    "qa-engineer": "Review the code in scope for defects that affect a user: wrong results, unhandled cases, races, "
    "resources that are not released, tests that cannot fail. Do not change anything.",
    "security-auditor": "Audit the code in scope for weaknesses that an attacker could exploit.",
}


class ReviewTeam(NamedTuple):
    """The reviewers of a review, why it has no subagents, and every analyser with why it does not take part."""

    subagents: tuple[str, ...]
    analysers: tuple[str, ...]
    model: str
    why_no_model: str = ""
    available: tuple[Availability, ...] = ()


def find_team(configured: Configuration, root: Path, scope: Sequence[str], names: Sequence[str] = ()) -> ReviewTeam:
    """Return the reviewers that can review the files in scope: those in `names`, or all of them.

    Without a model, a team may be empty: no analyser reads these files.
    """
    model = full_name(configured["model"], configured["models"])
    provider = provider_of(model)
    keys = KEYS.get(provider, ())
    has_model = any(os.environ.get(key) for key in keys) or (not keys and bool(provider))
    available = tuple(find_analysers(root, scope, has_sandbox=not sandbox_problem()))
    own_names = [name for name, line in configured["commands"].items() if "sarif" in line]
    analysers = [
        candidate.analyser.name
        for candidate in available
        if not candidate.why_not and candidate.analyser.name not in own_names
    ] + own_names
    why = "" if has_model else f"no key for {provider} is set ({' or '.join(keys)})"
    if not names:
        return ReviewTeam(tuple(REVIEWERS) if has_model else (), tuple(analysers), model, why, available)
    every = {*REVIEWERS, *own_names, *(candidate.analyser.name for candidate in available)}
    reasons = {
        candidate.analyser.name: candidate.why_not
        for candidate in available
        if candidate.analyser.name not in own_names
    }
    for name in names:
        if name not in every:
            raise UsageError(
                f"there is no reviewer {name!r}{did_you_mean(name, every)}; available: {', '.join(sorted(every))}"
            )
        if reasons.get(name):
            raise UsageError(f"{name} cannot review here: {reasons[name]}")
    subagents = tuple(agent for agent in REVIEWERS if agent in names)
    if subagents and not has_model:
        raise UsageError(f"{', '.join(subagents)} cannot review here: {why}")
    return ReviewTeam(
        subagents,
        tuple(name for name in analysers if name in names),
        model,
        available=available,
    )


#: Why a reviewer that applies does not take part.
NOT_NAMED = "not named with --agents"


#: All subagents, if there is no model for them.
SUBAGENTS = "subagents"


class Reviewer(NamedTuple):
    """A reviewer that takes part, with what it reviews; or one that does not, with the reason."""

    name: str
    is_used: bool
    about: str
    #: Whether it would review or search files in scope.
    has_files: bool = True


def reviewers_of(team: ReviewTeam) -> list[Reviewer]:
    """Return every known reviewer: those of the team, and those that do not take part."""
    listed = [Reviewer(name, is_used=True, about="subagent") for name in team.subagents]
    if team.why_no_model:
        listed.append(Reviewer(SUBAGENTS, is_used=False, about=team.why_no_model))
    for candidate in team.available:
        name, is_used = candidate.analyser.name, candidate.analyser.name in team.analysers
        count = "1 file" if len(candidate.files) == 1 else f"{len(candidate.files):,} files"
        about = f"{count}: {candidate.analyser.about}" if is_used else candidate.why_not or NOT_NAMED
        listed.append(Reviewer(name, is_used, about, has_files=candidate.why_not != NO_FILES))
    known = {reviewer.name for reviewer in listed}
    return listed + [Reviewer(name, is_used=True, about="configured") for name in team.analysers if name not in known]


def unused_reviewers(team: ReviewTeam) -> list[Reviewer]:
    """Return the reviewers that do not take part although they have files here, unless others were named."""
    return [
        reviewer
        for reviewer in reviewers_of(team)
        if not reviewer.is_used and reviewer.has_files and reviewer.about != NOT_NAMED
    ]


def with_unused(merge: Merge, team: ReviewTeam) -> Merge:
    """Add a note on the reviewers that do not take part, each with the reason."""
    unused = unused_reviewers(team)
    if not unused:
        return merge
    text = "\n".join(f"- {reviewer.name}: {reviewer.about}" for reviewer in unused)
    notes = (*merge.sections.notes, Note("remit", "Reviewers that were not used", text))
    return msgspec.structs.replace(merge, sections=msgspec.structs.replace(merge.sections, notes=notes))


_REVIEW_OF = "review of "
_VERIFY = (
    "Judge what a program cannot: does the evidence of each finding below support its claim? Open the cited lines "
    "yourself. List each finding with its location as a claim: VERIFIED, PARTIAL or UNVERIFIED."
)


def review_plan(
    team: ReviewTeam,
    scope: Sequence[str],
    *,
    threshold: float = 80,
    profile: str = "v2",
    verifier: str | None = None,
) -> Plan:
    """Return the plan of a review: all reviewers in parallel, then one report.

    `verifier` is the model of a second phase, in which an agent that wrote none of the findings verifies them.
    """
    subagents = [
        DelegationSpec(agent=name, task=REVIEWERS[name], scope=tuple(scope), loads_context=name == "code-explorer")
        for name in team.subagents
    ]
    analysers = [
        DelegationSpec(
            agent=name,
            task=f"Analyse {'the checkout' if '.' in scope else ', '.join(scope)}",
            runner="sarif",
            command=name,
            kind="review",
            scope=tuple(scope),
            timeout=TIMEOUT,
        )
        for name in team.analysers
    ]
    every = (*subagents, *analysers)
    phases = [PhaseSpec(name="review", delegations=every, threshold=threshold, on_review="continue")]
    if verifier is not None and team.subagents:
        judge = DelegationSpec(agent="verification-specialist", task=_VERIFY, scope=tuple(scope), model=verifier)
        phases.append(
            PhaseSpec(
                name="verification",
                delegations=(judge,),
                inputs=("review",),
                merges_inputs=True,
                threshold=threshold,
                on_review="continue",
            )
        )
    return Plan(name=f"{_REVIEW_OF}{', '.join(scope)}", phases=tuple(phases), profile=profile)


def reviewed_scope(plan: Plan) -> tuple[str, ...] | None:
    """Return the scope of a plan that `review_plan` has made, and None for any other plan."""
    delegations = plan.phases[0].delegations if plan.phases else ()
    scopes = {delegation.scope for delegation in delegations}
    if len(scopes) != 1 or plan.name != f"{_REVIEW_OF}{', '.join(*scopes)}":
        return None
    tasks = all(
        delegation.task == REVIEWERS.get(delegation.agent) or delegation.runner == "sarif" for delegation in delegations
    )
    return scopes.pop() if tasks else None
