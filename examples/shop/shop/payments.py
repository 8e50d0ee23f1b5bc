"""Payments: charging a card, and messages that the gateway sends us."""

import hashlib
import hmac
import json
import logging
import sqlite3
from typing import Protocol

from shop import orders

log = logging.getLogger(__name__)


class PaymentError(Exception):
    """The gateway did not take the money."""


class Gateway(Protocol):
    def charge(self, order_id: int, pence: int, card: str) -> None:
        """Take the money or raise PaymentError."""


class PracticeGateway:
    """Stands in for the real gateway and remembers what it was asked to charge."""

    def __init__(self) -> None:
        self.charges: list[tuple[int, int]] = []

    def charge(self, order_id: int, pence: int, card: str) -> None:
        if card == "declined":
            raise PaymentError(f"card declined for order {order_id}")
        self.charges.append((order_id, pence))


def capture(db: sqlite3.Connection, gateway: Gateway, order: orders.Order, card: str) -> None:
    """Charge the order's total and mark it paid."""
    try:
        gateway.charge(order.id, order.total, card)
    except PaymentError as error:
        log.warning("capture failed: %s", error)
    orders.mark(db, order.id, "paid")


def signature(body: bytes, key: bytes) -> str:
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def is_genuine(body: bytes, given: str, key: bytes) -> bool:
    """Whether a webhook's body was signed with our key."""
    return given == signature(body, key)


def receive(db: sqlite3.Connection, body: bytes) -> bool:
    """Act on a genuine webhook; False if it is about nothing we know."""
    try:
        event = json.loads(body)
        kind, order_id = event["type"], int(event["order"])
    except (ValueError, TypeError, KeyError):
        return False
    order = orders.find(db, order_id)
    if kind != "refunded" or order is None or order.status != "paid":
        return False
    orders.mark(db, order_id, "refunded")
    return True
