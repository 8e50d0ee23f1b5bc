"""The cart of a session: its lines, its discount code and what it costs."""

import sqlite3
from dataclasses import dataclass

from shop import catalog, prices

MOST_OF_ONE = 20


class CartError(Exception):
    """The cart cannot be changed like that; the message is for the customer."""


@dataclass(frozen=True)
class Line:
    product_id: int
    name: str
    price: int
    quantity: int

    @property
    def total(self) -> int:
        return self.price * self.quantity


@dataclass(frozen=True)
class Cart:
    lines: tuple[Line, ...]
    code: str = ""

    @property
    def subtotal(self) -> int:
        return sum(line.total for line in self.lines)

    @property
    def goods(self) -> int:
        """The goods after the discount."""
        return prices.discounted(self.subtotal, self.code)

    @property
    def shipping(self) -> int:
        return prices.shipping(self.goods)

    @property
    def total(self) -> int:
        return self.goods + self.shipping


def load(db: sqlite3.Connection, token: str) -> Cart:
    rows = db.execute(
        "SELECT product_id, name, price, quantity FROM cart_lines"
        " JOIN products ON products.id = product_id WHERE token = ? ORDER BY name",
        (token,),
    )
    lines = tuple(Line(**row) for row in rows)
    session = db.execute("SELECT code FROM sessions WHERE token = ?", (token,)).fetchone()
    return Cart(lines, session["code"] if session else "")


def add(db: sqlite3.Connection, token: str, product_id: int, quantity: int) -> None:
    """Put goods in the cart, on top of what is there of the same kind."""
    product = catalog.find(db, product_id)
    if product is None:
        raise CartError("We do not sell that.")
    present = sum(line.quantity for line in load(db, token).lines if line.product_id == product_id)
    wanted = present + quantity
    if quantity < 1 or wanted > MOST_OF_ONE:
        raise CartError(f"You can order 1 to {MOST_OF_ONE} of one kind.")
    if wanted > product.stock:
        raise CartError(f"We have only {product.stock} of {product.name}.")
    with db:
        db.execute(
            "INSERT INTO cart_lines (token, product_id, quantity) VALUES (?, ?, ?)"
            " ON CONFLICT (token, product_id) DO UPDATE SET quantity = excluded.quantity",
            (token, product_id, wanted),
        )


def remove(db: sqlite3.Connection, token: str, product_id: int) -> None:
    with db:
        db.execute("DELETE FROM cart_lines WHERE token = ? AND product_id = ?", (token, product_id))


def use_code(db: sqlite3.Connection, token: str, code: str) -> None:
    if not prices.is_code(code):
        raise CartError("We do not know that discount code.")
    with db:
        db.execute("UPDATE sessions SET code = ? WHERE token = ?", (code.upper(), token))


def clear(db: sqlite3.Connection, token: str) -> None:
    with db:
        db.execute("DELETE FROM cart_lines WHERE token = ?", (token,))
        db.execute("UPDATE sessions SET code = '' WHERE token = ?", (token,))
