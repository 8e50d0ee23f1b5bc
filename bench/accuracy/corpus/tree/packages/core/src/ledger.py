"""Accounts and entries. An entry moves an amount from one account to another."""

from dataclasses import dataclass, field
from datetime import date

from .money import Money

MAX_TEXT = 200


class LedgerError(Exception):
    """The entry cannot be booked."""


@dataclass(frozen=True)
class Entry:
    day: date
    source: str
    target: str
    amount: Money
    text: str = ""


@dataclass
class Ledger:
    entries: list[Entry] = field(default_factory=list)
    closed_until: date | None = None

    def book(self, entry: Entry) -> None:
        """Add an entry, unless its day is closed."""
        if self.closed_until is not None and entry.day <= self.closed_until:
            raise LedgerError(f"{entry.day} is closed")
        if entry.amount.cents <= 0:
            raise LedgerError("the amount must be positive")
        if len(entry.text) > MAX_TEXT:
            raise LedgerError("the text is too long")
        self.entries.append(entry)

    def balance(self, account: str) -> Money:
        """Return what an account holds."""
        total = 0
        for entry in self.entries:
            if entry.target == account:
                total += entry.amount.cents
            if entry.source == account:
                total -= entry.amount.cents
        return Money(total)

    def close(self, until: date) -> None:
        """Close all days up to and including one."""
        if self.closed_until is not None and until < self.closed_until:
            raise LedgerError("a closed day cannot be opened again")
        self.closed_until = until
