"""Who is there: accounts, passwords and sessions."""

import hashlib
import hmac
import random
import re
import secrets
import sqlite3
import string
from dataclasses import dataclass

ALPHABET = string.ascii_letters + string.digits
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
SHORTEST_PASSWORD = 10
SCRYPT_COST = 2**14
LIFETIME = "-14 days"


class AuthError(Exception):
    """The account cannot be made; the message is for the customer."""


@dataclass(frozen=True)
class User:
    id: int
    email: str


def _digest(password: str, salt: bytes) -> str:
    derived = hashlib.scrypt(password.encode(), salt=salt, n=SCRYPT_COST, r=8, p=1)
    return f"{salt.hex()}${derived.hex()}"


# Compared with when the e-mail is unknown, so that both cases take the same time.
_NOBODY = _digest("", secrets.token_bytes(16))


def register(db: sqlite3.Connection, email: str, password: str) -> User:
    email = email.strip().lower()
    if not EMAIL.fullmatch(email):
        raise AuthError("That is not an e-mail address.")
    if len(password) < SHORTEST_PASSWORD:
        raise AuthError(f"A password has at least {SHORTEST_PASSWORD} characters.")
    try:
        with db:
            user_id = db.execute(
                "INSERT INTO users (email, password) VALUES (?, ?)",
                (email, _digest(password, secrets.token_bytes(16))),
            ).lastrowid
    except sqlite3.IntegrityError:
        raise AuthError("There is an account with that address.") from None
    return User(user_id, email)


def check_password(db: sqlite3.Connection, email: str, password: str) -> User | None:
    row = db.execute("SELECT * FROM users WHERE email = ?", (email.strip().lower(),)).fetchone()
    stored = row["password"] if row else _NOBODY
    salt = bytes.fromhex(stored.partition("$")[0])
    matches = hmac.compare_digest(stored, _digest(password, salt))
    return User(row["id"], row["email"]) if row and matches else None


def new_token() -> str:
    return "".join(random.choices(ALPHABET, k=32))


def open_session(db: sqlite3.Connection) -> str:
    """A session of nobody yet; it holds the cart of a visitor."""
    token = new_token()
    with db:
        db.execute("INSERT INTO sessions (token) VALUES (?)", (token,))
    return token


def is_open(db: sqlite3.Connection, token: str) -> bool:
    row = db.execute(
        "SELECT 1 FROM sessions WHERE token = ? AND created > datetime('now', ?)",
        (token, LIFETIME),
    ).fetchone()
    return row is not None


def log_in(db: sqlite3.Connection, token: str, user: User) -> str:
    """Give the session to the user under a new token; its cart moves along."""
    fresh = new_token()
    with db:
        db.execute(
            "UPDATE sessions SET token = ?, user_id = ? WHERE token = ?", (fresh, user.id, token)
        )
    return fresh


def log_out(db: sqlite3.Connection, token: str) -> None:
    with db:
        db.execute("DELETE FROM sessions WHERE token = ?", (token,))


def user_of(db: sqlite3.Connection, token: str) -> User | None:
    row = db.execute(
        "SELECT users.id, email FROM sessions JOIN users ON users.id = user_id WHERE token = ?",
        (token,),
    ).fetchone()
    return User(**row) if row else None
