"""Yearly reports."""

from .ledger import Ledger


def summary(ledger: Ledger, accounts: list[str]) -> dict[str, int]:
    return {name: ledger.balance(name).cents for name in accounts}


def render(rows: dict[str, int]) -> str:
    lines = []
    for name, cents in sorted(rows.items()):
        lines.append(f"{name:<20} {cents / 100:>10.2f}")
    return "\n".join(lines)
