"""Money in whole cents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Money:
    cents: int

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents)

    def __sub__(self, other: Money) -> Money:
        return Money(self.cents - other.cents)

    def split(self, parts: int) -> list[Money]:
        """Divide without losing a cent: the first parts get one more."""
        if parts < 1:
            raise ValueError("at least one part")
        each, rest = divmod(self.cents, parts)
        return [Money(each + (1 if at < rest else 0)) for at in range(parts)]
