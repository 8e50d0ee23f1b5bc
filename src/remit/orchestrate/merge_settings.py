"""The settings of a project's merges: the same for `remit merge`, plans, reviews and sessions of a client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from remit.configuration import Configuration, load
from remit.contract.kinds import slug
from remit.merging.merge_data import MergeSettings, Policy
from remit.merging.merge_documents import checked_settings
from remit.registry.definition import Definition
from remit.registry.resolution import current_registry


def merge_settings(
    configured: Configuration,
    definitions: Callable[[], Iterable[Definition]],
    *,
    threshold: float | None = None,
    policy: Policy | None = None,
    expect: tuple[str, ...] = (),
) -> MergeSettings:
    """Return the configured settings; `threshold` and `policy` replace them.

    The definitions are read only if a weight is set for their expertise.
    """
    weight = float(configured["merge.expertise"])
    experts = {} if weight == 1 else _expert_weights(definitions(), weight)
    return checked_settings(
        MergeSettings(
            threshold=float(configured["merge.threshold"] if threshold is None else threshold),
            keeps_threshold=threshold is None,
            policy=policy or configured["merge.policy"],
            weights=experts | configured["merge.weights"],
            window=int(configured["merge.window"]),
            expect=expect,
        )
    )


def workspace_settings(workspace: Path) -> MergeSettings:
    """Return the settings of the project in a folder, with the definitions of this process."""
    return merge_settings(load(workspace), current_registry)


def _expert_weights(definitions: Iterable[Definition], weight: float) -> dict[str, float]:
    """Return the weight of each agent in the categories that its definition names as its expertise."""
    return {
        f"{slug(definition.name)}/{category.lower()}": weight
        for definition in definitions
        for category in definition.expertise
    }
