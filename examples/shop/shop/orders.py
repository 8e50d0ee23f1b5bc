"""Orders: placing one, finding it again, and what becomes of it."""

import sqlite3
from dataclasses import dataclass

from shop import prices
from shop.cart import Cart, Line

STATUSES = ("new", "paid", "refunded")


class OrderError(Exception):
    """The order cannot be placed; the message is for the customer."""


@dataclass(frozen=True)
class Order:
    id: int
    user_id: int
    total: int
    address: str
    status: str
    created: str


def place(db: sqlite3.Connection, user_id: int, cart: Cart, address: str) -> int:
    """Turn a cart into an order and take its goods from the stock; return the order's number."""
    if not cart.lines:
        raise OrderError("Your cart is empty.")
    if not address.strip():
        raise OrderError("Where shall we send it?")
    total = prices.discounted(cart.goods, cart.code) + cart.shipping
    with db:
        order_id = db.execute(
            "INSERT INTO orders (user_id, total, address) VALUES (?, ?, ?)",
            (user_id, total, address.strip()),
        ).lastrowid
        for line in cart.lines:
            _take_from_stock(db, line)
            db.execute(
                "INSERT INTO order_lines (order_id, name, price, quantity) VALUES (?, ?, ?, ?)",
                (order_id, line.name, line.price, line.quantity),
            )
    return order_id


def _take_from_stock(db: sqlite3.Connection, line: Line) -> None:
    # The condition sits in the UPDATE so that two checkouts cannot both take the last one.
    taken = db.execute(
        "UPDATE products SET stock = stock - ? WHERE id = ? AND stock >= ?",
        (line.quantity, line.product_id, line.quantity),
    )
    if taken.rowcount == 0:
        raise OrderError(f"{line.name} has just sold out.")


def find(db: sqlite3.Connection, order_id: int) -> Order | None:
    row = db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
    return Order(**row) if row else None


def of_user(db: sqlite3.Connection, user_id: int) -> list[Order]:
    rows = db.execute("SELECT * FROM orders WHERE user_id = ? ORDER BY id DESC", (user_id,))
    return [Order(**row) for row in rows]


def lines(db: sqlite3.Connection, order_id: int) -> list[sqlite3.Row]:
    return db.execute(
        "SELECT name, price, quantity FROM order_lines WHERE order_id = ? ORDER BY name",
        (order_id,),
    ).fetchall()


def mark(db: sqlite3.Connection, order_id: int, status: str) -> None:
    if status not in STATUSES:
        raise ValueError(f"unknown order status {status!r}")
    with db:
        db.execute("UPDATE orders SET status = ? WHERE id = ?", (status, order_id))
