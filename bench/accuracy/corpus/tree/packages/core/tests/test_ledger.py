from datetime import date

import pytest

from src.ledger import Entry, Ledger, LedgerError
from src.money import Money


def test_balance():
    ledger = Ledger()
    ledger.book(Entry(date(2026, 1, 2), "dues", "bank", Money(500)))
    assert ledger.balance("bank") == Money(500)


def test_closed_day():
    ledger = Ledger()
    ledger.close(date(2026, 1, 31))
    with pytest.raises(LedgerError):
        ledger.book(Entry(date(2026, 1, 31), "dues", "bank", Money(500)))
