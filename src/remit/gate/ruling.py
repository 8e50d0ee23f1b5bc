"""What a rule decides about one tool call."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.gate.session import SessionState


class Ruling:
    """What a rule says of a call: level 1 to 3 if it is broken, 0 if all is well.

    `apply` counts the call, once it is let through; `observed` is what is kept of a call that `observe` lets through
    although it would be denied.
    """

    __slots__ = (
        "apply",
        "asks",
        "delegate_to",
        "detail",
        "exception",
        "level",
        "lines",
        "observed",
        "paths",
        "reason",
        "rule",
    )

    def __init__(
        self,
        level: int = 0,
        rule: str | None = None,
        reason: str = "",
        *,
        delegate_to: str | None = None,
        exception: str | None = None,
        paths: tuple[str, ...] = (),
        lines: int = 0,
        apply: Callable[[SessionState], None] | None = None,
    ) -> None:
        self.level = level
        self.rule = rule
        self.reason = reason
        self.delegate_to = delegate_to
        self.exception = exception
        self.paths = paths
        self.lines = lines
        self.apply = apply
        self.observed: Callable[[SessionState], None] | None = None
        #: Whatever the mode, a person is asked.
        self.asks = False
        #: Added to the reason for the caller; as it may be content of the call, it is never kept.
        self.detail = ""


def worst(rulings: list[Ruling]) -> Ruling | None:
    """The ruling that decides: the first of the hardest level, one that asks a person before others; without
    any, the first with something to say."""
    broken = [ruling for ruling in rulings if ruling.level]
    if broken:
        return min(broken, key=lambda ruling: (ruling.level, not ruling.asks))
    return next((ruling for ruling in rulings if ruling.reason or ruling.exception), rulings[0] if rulings else None)
