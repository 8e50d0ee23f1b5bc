"""The cost of removing secrets from tool output."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from measure import Bench, ratio

from remit.secrets.scan import all_rules, redact

_SOURCE = Path(__file__).resolve().parents[1] / "src/remit"
_SIZE = 500_000


@cache
def _code() -> str:
    """Return source code, as tools print it."""
    files = sorted(_SOURCE.rglob("*.py"))
    return "\n".join(file.read_text("utf-8") for file in files if file.parent.name != "secrets")[:_SIZE]


@cache
def _hostile() -> str:
    """Return a text that has the keywords of every rule, again and again."""
    unit = " = ".join(keyword for rule in all_rules() for keyword in rule.keywords)
    return (unit * (_SIZE // len(unit) + 1))[:_SIZE]


def _words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def benches() -> list[Bench]:
    """What is measured here."""
    return [
        Bench(
            "removing secrets from 500 KB of source code",
            "finding its words",
            "x",
            20,
            lambda: ratio(lambda: redact(_code()), lambda: _words(_code()), repeats=5),
        ),
        Bench(
            "removing secrets from 500 KB full of keywords",
            "removing them from half of it",
            "x",
            3,
            lambda: ratio(lambda: redact(_hostile()), lambda: redact(_hostile()[: _SIZE // 2]), repeats=3),
        ),
    ]
