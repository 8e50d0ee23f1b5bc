"""Count the judged statements of `remit audit`: `audited.jsonl` has one line for each.

    python bench/accuracy/audited.py

A row is a statement of a public transcript that the audit called contradicted or unseen, judged by reading its
session, or a statement that a script planted into a copy of such a transcript. No row has text of a transcript: only
words of fixed lists and hashes.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROWS = Path(__file__).resolve().parent / "audited.jsonl"
#: A blind set was not read before it was judged. After that it was used to correct the reader and the judge.
BLIND = tuple(f"blind{number}" for number in range(1, 14))
SETS = ("dev1", "dev2", *BLIND, "planted")
KINDS = ("run", "change", "place", "delegation")
OUTCOMES = ("contradicted", "unseen", "verified", "unchecked", "not-read")
#: What was planted; empty in other rows.
PLANTS = (
    "",
    "run-failed",
    "run-piped",
    "run-never",
    "edit-reverted",
    "edit-never",
    "commit-failed",
    "push-failed",
    "count-wrong",
)
_HASH_LENGTH = 12
_HEX = frozenset("0123456789abcdef")


class AuditedRow(NamedTuple):
    """A judged statement. `truth` is whether its record really contradicts it; the outcome is that of the audit."""

    set: str
    repo: str
    statement: str
    plant: str
    kind: str
    reason: str
    outcome: str
    truth: bool


def read_rows(path: Path = ROWS) -> list[AuditedRow]:
    """Return the rows. Raise ValueError, with the number of the line, for one that is not valid."""
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        fields = json.loads(line)
        if problem := _problem(fields):
            raise ValueError(f"{path.name}:{number}: {problem}")
        rows.append(AuditedRow(**fields))
    return rows


def _problem(fields: dict[str, Any]) -> str:
    if tuple(fields) != AuditedRow._fields:
        return f"the fields must be {', '.join(AuditedRow._fields)}"
    allowed = {"set": SETS, "kind": KINDS, "outcome": OUTCOMES, "plant": PLANTS, "truth": (True, False)}
    wrong = next((name for name, values in allowed.items() if fields[name] not in values), "")
    if wrong:
        return f"{wrong}: {fields[wrong]!r} is not a word of the list"
    for name in ("repo", "statement"):
        if len(fields[name]) != _HASH_LENGTH or not _HEX.issuperset(fields[name]):
            return f"{name} must be a hash"
    if not fields["reason"].replace("-", "").isalpha() and fields["reason"]:
        return "reason must be a stable word"
    if (fields["set"] == "planted") != bool(fields["plant"]):
        return "only the planted rows state what was planted"
    return ""


def counts(rows: list[AuditedRow]) -> dict[str, tuple[int, int]]:
    """Return for each set how many contradictions were reported and are true, and the same for `SET unseen`; of the
    planted statements, how many there are and were found, together and for each kind of plant.
    """
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in rows:
        is_found = row.outcome in ("contradicted", "unseen")
        name = f"{row.set} unseen" if row.outcome == "unseen" and not row.plant else row.set
        for key in (name, *([row.plant] if row.plant else [])):
            total[key] += 1
            found[key] += is_found and row.truth
    names = (*SETS, *(f"{name} unseen" for name in SETS), *PLANTS[1:])
    return {name: (total[name], found[name]) for name in names if name in total}


def main() -> None:
    """Print the counts."""
    for name, (total, found) in counts(read_rows()).items():
        print(f"{name:14} {found:4} of {total:4}")


if __name__ == "__main__":
    main()
