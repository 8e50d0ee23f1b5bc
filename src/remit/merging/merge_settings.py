"""The settings of a project's merges: the same for `remit merge`, plans, reviews and sessions of a client."""

from __future__ import annotations

from typing import get_args

from remit.configuration import Configuration
from remit.errors import UsageError
from remit.merging.merge_data import MergeSettings, Policy


def merge_settings(
    configured: Configuration,
    *,
    threshold: float | None = None,
    policy: Policy | None = None,
    expect: tuple[str, ...] = (),
) -> MergeSettings:
    """Return the configured settings; `threshold` and `policy` replace them."""
    return checked_settings(
        MergeSettings(
            threshold=threshold,
            usual_threshold=float(configured["merge.threshold"]),
            policy=policy or configured["merge.policy"],
            weights=configured["merge.weights"],
            expect=expect,
            categories=configured["merge.categories"],
        )
    )


def checked_settings(settings: MergeSettings) -> MergeSettings:
    """Return the settings; raise UsageError if a value is invalid."""
    if settings.policy not in get_args(Policy):
        raise UsageError(f"unknown policy {settings.policy!r}; choose from {', '.join(get_args(Policy))}")
    if not 0 <= settings.least <= 100:
        raise UsageError(f"the threshold must be from 0 to 100, not {settings.least:g}")
    wrong = [name for name, weight in settings.weights.items() if not 0 <= weight < 1e6]
    if wrong:
        raise UsageError(f"the weight of {wrong[0]} must be at least 0, not {settings.weights[wrong[0]]:g}")
    return settings
