"""The goods: reading them in, listing them by page, finding them."""

import csv
import sqlite3
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Product:
    id: int
    name: str
    description: str
    price: int
    stock: int


@dataclass(frozen=True)
class Page:
    products: list[Product]
    number: int
    count: int


def import_goods(db: sqlite3.Connection, path: Path) -> int:
    """Read goods from a CSV file whose prices are in pounds; return how many."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with db:
        for row in rows:
            pence = int(float(row["price"]) * 100)
            db.execute(
                "INSERT INTO products (name, description, price, stock) VALUES (?, ?, ?, ?)",
                (row["name"], row["description"], pence, int(row["stock"])),
            )
    return len(rows)


def is_empty(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM products LIMIT 1").fetchone() is None


def find(db: sqlite3.Connection, product_id: int) -> Product | None:
    row = db.execute("SELECT * FROM products WHERE id = ?", (product_id,)).fetchone()
    return Product(**row) if row else None


def page(db: sqlite3.Connection, number: int, size: int) -> Page:
    """One page of the catalogue by name; pages are counted from 1."""
    (total,) = db.execute("SELECT COUNT(*) FROM products").fetchone()
    count = total // size + 1
    number = min(max(number, 1), count)
    rows = db.execute(
        "SELECT * FROM products ORDER BY name LIMIT ? OFFSET ?",
        (size, (number - 1) * size),
    )
    return Page([Product(**row) for row in rows], number, count)


def search(db: sqlite3.Connection, text: str) -> list[Product]:
    """Goods whose name or description holds the text, in any case."""
    rows = db.execute(
        f"SELECT * FROM products WHERE name LIKE '%{text}%'"
        f" OR description LIKE '%{text}%' ORDER BY name"
    )
    return [Product(**row) for row in rows]
