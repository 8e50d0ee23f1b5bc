"""The judgement of a rule about one tool call."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.gate.session import SessionState
    from remit.gate.session_entries import UntrueStatement


class Ruling:
    """The judgement of a rule: level 1 to 3 if the rule is broken, else 0.

    `apply` counts the call if it is allowed.
    """

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
        #: Whether a person is asked.
        self.asks_person = False
        #: Added to the reason for the caller. It may be content of the call and is not stored.
        self.detail = ""
        #: The statements of a final answer that are not so, for the record.
        self.statements: list[UntrueStatement] = []
        #: Whether a person reads the reason of an allowed call, too, not only the model.
        self.tells_person = False
        #: The name and the class of the file that an edit changes, if they are known.
        self.written: tuple[str, str] | None = None


def strictest(rulings: list[Ruling]) -> Ruling | None:
    """Return the ruling that decides: the first of the lowest level, preferably one that asks a person. If no rule is
    broken, return the first one with a reason or an exception."""
    broken = [ruling for ruling in rulings if ruling.level]
    if broken:
        return min(broken, key=lambda ruling: (ruling.level, not ruling.asks_person, ruling.rule != "guarded-state"))
    return next((ruling for ruling in rulings if ruling.reason or ruling.exception), rulings[0] if rulings else None)
