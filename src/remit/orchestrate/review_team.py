"""The subagents and the plan of `remit review`: reviewers in parallel over a checkout, each checked, in one report."""

from __future__ import annotations

import os
from collections.abc import Sequence

from remit.configuration import Configuration
from remit.dispatch.models import KEYS, provider_of
from remit.errors import UsageError
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan
from remit.registry.lookup import Registry
from remit.registry.model_names import full_name
from remit.registry.plugins import BUILT_IN, built_in_team
from remit.registry.resolution import current_registry

#: The subagents of a review, and their tasks.
REVIEWERS = {
    "code-explorer": "Trace the entry points and the execution flow of the code in scope, so that a reviewer knows "
    "where untrusted input enters and where decisions on money, data or permissions are made.",
    "qa-engineer": "Review the code in scope for defects that affect a user: wrong results, unhandled cases, races, "
    "resources that are not released, tests that cannot fail. Do not change anything.",
    "security-auditor": "Audit the code in scope for weaknesses that an attacker could exploit.",
}
_OTHER_TASK = "Review the code in scope, as your instructions say. Do not change anything."


def review_registry(*, with_plugins: bool) -> Registry:
    """Return the built-in team, and after it the plugins: none of them replaces a built-in reviewer."""
    plugins = current_registry().plugins if with_plugins else ()
    return Registry([built_in_team(), *(plugin for plugin in plugins if plugin.name != BUILT_IN)])


def chosen_reviewers(names: Sequence[str], registry: Registry) -> tuple[str, ...]:
    """Return the reviewers that a person named, or the built-in ones."""
    for name in names:
        if registry.get(name) is None:
            raise UsageError(f"there is no reviewer {name!r}{registry.why_missing(name)}")
    return tuple(dict.fromkeys(names)) or tuple(REVIEWERS)


def why_no_model(configured: Configuration) -> str:
    """Return why the configured model cannot be asked; empty if it can."""
    provider = provider_of(full_name(configured["model"], configured["models"]))
    keys = KEYS.get(provider, ())
    has_model = any(os.environ.get(key) for key in keys) or (not keys and bool(provider))
    return "" if has_model else f"no key for {provider} is set ({' or '.join(keys)})"


def review_plan(
    reviewers: Sequence[str], scope: Sequence[str], *, threshold: float, profile: str, model: str | None = None
) -> Plan:
    """Return the plan of a review; `model` replaces the models of the definitions."""
    delegations = tuple(
        DelegationSpec(
            agent=name,
            task=REVIEWERS.get(name, _OTHER_TASK),
            scope=tuple(scope),
            model=model,
            loads_context=name == "code-explorer",
        )
        for name in reviewers
    )
    phase = PhaseSpec(name="review", delegations=delegations, threshold=threshold, on_review="continue")
    return Plan(name=f"review of {', '.join(scope)}", phases=(phase,), profile=profile)
