"""Count the judged answers of Remit: `judged.jsonl` has one line for each claim that a reader has judged.

    python bench/accuracy/judged.py                      the counts
    python bench/accuracy/judged.py --answers FILE.jsonl the same, with the outcomes of another version of Remit
    python bench/accuracy/judged.py --answers FILE.jsonl --write
    python bench/accuracy/judged.py --add ROWS.jsonl     append new rows and drop repeated ones

No row has text of a document: only words of fixed lists and hashes. `letter` is whether the checkout contradicts what
the document states, by the specification; `reader` is whether a person who relies on the document wants to know it.
Both are about the claim and not about the answer: an accusation is right if `letter` is true, a verification if it is
not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import compare
import score

HERE = Path(__file__).resolve().parent
ROWS = HERE / "judged.jsonl"
#: `real`: documents of the project's shared corpus; `planted`: lies that were put into true texts; the others are
#: documents of public repositories. A blind set is not read before it is measured; the commands are accusations of
#: commands only, of which the second set is one of repositories that were not read; the guides are files for assistants
#: (`AGENTS.md`, `CLAUDE.md`, `GEMINI.md`).
SETS = (
    "own",
    "real",
    "dev",
    "blind1",
    "blind2",
    "blind3",
    "blind4",
    "blind5",
    "blind6",
    "blind7",
    "guides1",
    "guides2",
    "guides3",
    "guides4",
    "commands1",
    "commands2",
    "planted",
)
KINDS = ("place", "path", "quote", "name", "command", "test", "commit", "change", "run")
ACCUSING = (
    "relocated",
    "outdated",
    "missing-file",
    "out-of-range",
    "outside",
    "mismatch",
    "contradicted",
    "unseen",
)
OUTCOMES = (
    *ACCUSING,
    "verified",
    "exists",
    "abbreviated",
    "ambiguous",
    "planned",
    "unchecked",
    "not-read",
)
RELIABILITIES = ("certain", "likely", "look")
#: `sketch`: existing code, shortened in a way that a comparison cannot accept; `tree`: written for another tree.
READERS = ("true", "false", "sketch", "tree")
_HASH_LENGTH = 12


class Row(NamedTuple):
    """A judged answer. `repo` and `claim` are hashes; `reliability` is None in rows that are older than it."""

    set: str
    repo: str
    claim: str
    kind: str
    outcome: str
    reliability: str | None
    reason: str
    signals: tuple[str, ...]
    letter: bool
    reader: str

    @property
    def is_accusation(self) -> bool:
        """Whether the answer accuses the text."""
        return self.outcome in ACCUSING


def read_rows(path: Path = ROWS) -> list[Row]:
    """Return the judged rows. Raise ValueError, with the number of the line, for one that is not valid."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        data = json.loads(line)
        if problem := problem_of(data):
            raise ValueError(f"{path.name}:{number}: {problem}")
        rows.append(Row(**{**data, "signals": tuple(data["signals"])}))
    return rows


def problem_of(data: dict[str, Any]) -> str:
    """Return what is wrong with a row, or an empty string. A value that could be text of a document is wrong."""
    if tuple(data) != Row._fields:
        return f"the members are {', '.join(data)}, not {', '.join(Row._fields)}"
    is_valid: dict[str, Callable[[Any], bool]] = {
        "set": SETS.__contains__,
        "repo": _is_hash,
        "claim": _is_hash,
        "kind": KINDS.__contains__,
        "outcome": OUTCOMES.__contains__,
        "reliability": (None, *RELIABILITIES).__contains__,
        "reason": lambda value: value == "" or _is_word(value),
        "signals": lambda value: isinstance(value, list) and all(map(_is_word, value)),
        "letter": lambda value: isinstance(value, bool),
        "reader": READERS.__contains__,
    }
    return ", ".join(name for name, test in is_valid.items() if not test(data[name]))


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == _HASH_LENGTH and set(value) <= set("0123456789abcdef")


def _is_word(value: object) -> bool:
    """Return whether a value has the form of a reason or signal. The tests compare it with those that exist."""
    return isinstance(value, str) and 0 < len(value) <= 32 and value.replace("-", "").isalpha() and value.islower()


def write_rows(rows: Iterable[Row], path: Path = ROWS) -> None:
    """Write the rows, one on a line."""
    path.write_text("".join(json.dumps(row._asdict()) + "\n" for row in rows), encoding="utf-8")


def merged(rows: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Return the rows with new ones; of the rows on the same claim the new one counts."""
    return list({(row.set, row.repo, row.claim): row for row in (*rows, *new)}.values())


def updated(rows: Sequence[Row], answers: Iterable[dict[str, Any]]) -> list[Row]:
    """Return the rows with the answers of another version; a claim that it does not read has the outcome `not-read`.

    Rows of sets that have no answers stay as they are: the answers are those on all documents of their sets.
    """
    pairs = _with_answers(answers)
    measured = {row.get("set", "") for row, _ in pairs}
    found = {compare.claim_hash(answer): row for row, answer in pairs}
    return [_updated(row, found.get(row.claim)) if row.set in measured else row for row in rows]


def _with_answers(rows: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], compare.Answer]]:
    rows = [row for row in rows if "error" not in row]
    return list(zip(rows, compare.read_answers(rows), strict=True))


def _updated(row: Row, answer: dict[str, Any] | None) -> Row:
    if answer is None:
        return row._replace(outcome="not-read", reliability=None, reason="", signals=())
    kind = answer["kind"] if answer["kind"] in KINDS else row.kind
    return row._replace(
        kind=kind,
        outcome=answer["outcome"],
        reliability=answer["reliability"],
        reason=answer["reason"],
        signals=tuple(answer.get("signals", ())),
    )


def counts_table(rows: Sequence[Row]) -> str:
    """Return the judgements on the claims by kind, outcome and reliability."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.kind, row.outcome, row.reliability or ""), []).append(row)
    lines = ["| kind | outcome | reliability | judged | letter | " + " | ".join(READERS) + " |", "|---" * 9 + "|"]
    for key, group in sorted(groups.items()):
        readers = Counter(row.reader for row in group)
        numbers = [len(group), sum(row.letter for row in group), *(readers[name] for name in READERS)]
        lines.append(f"| {' | '.join(key)} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def shares_table(rows: Sequence[Row]) -> str:
    """Return the share of the answers that are right, by reliability, and the wrong claims that are not accused."""
    lines = ["| answers | set | judged | repositories | right by the letter | right for a reader |", "|---" * 6 + "|"]
    groups = {name: [row for row in rows if row.is_accusation and row.reliability == name] for name in RELIABILITIES}
    groups["without a reliability"] = [row for row in rows if row.is_accusation and not row.reliability]
    groups["verified"] = [row for row in rows if row.outcome == "verified"]
    groups["not accused"] = [row for row in rows if not row.is_accusation and row.outcome != "verified"]
    for name, group in groups.items():
        for set_name in ("", *SETS):
            part = [row for row in group if set_name in ("", row.set)]
            if part:
                lines.append(_shares_row(name, set_name or "all", part))
    return "\n".join(lines)


def _shares_row(name: str, set_name: str, rows: Sequence[Row]) -> str:
    letter = _share(sum(row.letter == row.is_accusation for row in rows), len(rows))
    reader = _share(sum((row.reader == "true") == row.is_accusation for row in rows), len(rows))
    return f"| {name} | {set_name} | {len(rows)} | {len({row.repo for row in rows})} | {letter} | {reader} |"


def _share(hits: int, total: int) -> str:
    low, high = score.wilson(hits, total)
    return f"{hits} of {total}: {hits / total:.1%} ({low:.1%} to {high:.1%})"


def words_table(rows: Sequence[Row]) -> str:
    """Return the judged accusations behind each signal and each reason."""
    lines = ["| word | accusations | right by the letter | right for a reader |", "|---" * 4 + "|"]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        for word in (*(f"signal {signal}" for signal in row.signals), f"reason {row.reason or '(none)'}"):
            if row.is_accusation:
                groups.setdefault(word, []).append(row)
    for word, group in sorted(groups.items()):
        right, agreed = sum(row.letter for row in group), sum(row.reader == "true" for row in group)
        lines.append(f"| {word} | {len(group)} | {right} | {agreed} |")
    return "\n".join(lines)


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--answers", type=Path, help="the answers of a version, written by compare.py")
    parser.add_argument("--write", action="store_true", help="write the rows with these answers")
    parser.add_argument("--add", type=Path, help="rows to add")
    arguments = parser.parse_args()
    rows = read_rows()
    if arguments.add:
        rows = merged(rows, read_rows(arguments.add))
    if arguments.answers:
        rows = updated(rows, compare.read_rows(arguments.answers))
    if arguments.add or arguments.write:
        write_rows(rows)
    accusations = sum(row.is_accusation for row in rows)
    print(f"{len(rows)} judged answers of {len({row.repo for row in rows})} repositories, {accusations} accusations")
    print("", counts_table(rows), "", shares_table(rows), "", words_table(rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
