"""Named SQL: one file a subject, each query under a line `-- name: what_it_does`, read once.

`{name}` in a query stands for another piece of its file: a list of columns that several queries share.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)
_SHARED = re.compile(r"\{(\w+)\}")


@cache
def _subject(subject: str) -> dict[str, str]:
    text = (files("remit.store") / "sql" / f"{subject}.sql").read_text(encoding="utf-8")
    pieces = _NAME.split(text)
    named = {name: sql.strip() for name, sql in zip(pieces[1::2], pieces[2::2], strict=True)}
    return {name: _SHARED.sub(lambda shared: named[shared[1]], sql) for name, sql in named.items()}


def query(name: str) -> str:
    """The query `subject.name`. It is our own text: values go in as parameters only."""
    subject, _, own = name.partition(".")
    return _subject(subject)[own]
