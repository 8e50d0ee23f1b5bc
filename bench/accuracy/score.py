"""Score a tool on the labelled corpus: how many claims it reads, and how often its answers are right.

    python bench/accuracy/score.py ANSWERS.json [--set adversarial] [--wrong] [--format json]

ANSWERS is a JSON list. Each member is the answer for one document: `{"document": "a01.md", "references": [{"line": 3,
"cited": [12, 18], "outcome": "verified"}], "quotes": [{"line": 7, "outcome": "mismatch"}]}`. `line` is the line of the
document, for a quote its first code line; `cited` is the first and the last cited line (null without one). Reports of
`remit verify --format json` (`remit.check/1`) are accepted as well. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
HOLDING = frozenset({"verified", "exists", "planned"})
ACCUSING = frozenset({"missing-file", "out-of-range", "mismatch"})
#: A claim may be reported this many lines away from its label.
_NEAR = 2
_Z = 1.959964  # 95 %


class Label(NamedTuple):
    """What is true of one claim, or a text that is not a claim (`kind` is "decoy")."""

    document: str
    set: str
    line: int
    kind: str
    cited: tuple[int, int] | None
    outcomes: frozenset[str]
    text: str = ""


class Answer(NamedTuple):
    """What a tool states about one claim."""

    document: str
    line: int
    kind: str
    cited: tuple[int, int] | None
    outcome: str

    @property
    def accuses(self) -> bool:
        """Whether the tool states that the claim is wrong."""
        return self.outcome in ACCUSING


class Pair(NamedTuple):
    """A label and the answer to it; None: the claim was not read, or the answer is not about a claim."""

    label: Label | None
    answer: Answer | None


class Figure(NamedTuple):
    """A measured share with its confidence interval (Wilson, 95 %)."""

    name: str
    meaning: str
    hits: int
    total: int
    #: At least (positive) or at most (negative) this share is the goal.
    goal: float

    @property
    def share(self) -> float | None:
        """The share, or None without a case."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval in which the true share is, with a probability of 95 %."""
        return wilson(self.hits, self.total)


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return Wilson's score interval of a share, for 95 %."""
    if not total:
        return 0.0, 1.0
    share, weight = hits / total, _Z * _Z / total
    middle = (share + weight / 2) / (1 + weight)
    spread = _Z / (1 + weight) * sqrt(share * (1 - share) / total + weight / (4 * total))
    return max(0.0, middle - spread), min(1.0, middle + spread)


def read_labels(path: Path = CORPUS / "labels.json", only: str = "") -> list[Label]:
    """Return the labels of the corpus, or of one of its sets."""
    return [
        Label(
            entry["document"],
            entry["set"],
            claim["line"],
            claim["kind"],
            _span(claim.get("cited")),
            frozenset(claim.get("outcome", ())),
            claim.get("text", ""),
        )
        for entry in json.loads(path.read_text(encoding="utf-8"))
        if only in ("", entry["set"])
        for claim in entry["claims"]
    ]


def read_answers(data: Any) -> list[Answer]:
    """Return the answers of a tool in the format of this benchmark, or from reports of Remit."""
    found: list[Answer] = []
    for entry in data if isinstance(data, list) else [data]:
        for document in entry["results"] if entry.get("schema") == "remit.check/1" else [entry]:
            name = Path(document.get("document") or document["path"]).name
            for one in document.get("references", ()):
                cited = one["cited"] if "cited" in one else [one["line"], one["end_line"]]
                line = one["at"] if "at" in one else one["line"]
                found.append(Answer(name, line, "reference", _span(cited), one["outcome"]))
            found += (
                Answer(
                    name,
                    one["at"] if "at" in one else one["line"],
                    "quote",
                    None,
                    one["outcome"],
                )
                for one in document.get("quotes", ())
            )
    return found


def _span(cited: Sequence[int | None] | None) -> tuple[int, int] | None:
    if cited is None or cited[0] is None:
        return None
    return cited[0], cited[1] if len(cited) > 1 and cited[1] is not None else cited[0]


def pair(labels: Iterable[Label], answers: Iterable[Answer]) -> list[Pair]:
    """Assign each answer to the label it is about. Of several candidates, one with a right outcome is preferred."""
    labels = list(labels)
    documents = {label.document for label in labels}
    rest = [answer for answer in answers if answer.document in documents]
    pairs: list[Pair] = []
    for label in labels:
        fitting = [answer for answer in rest if label.kind != "decoy" and _fits(label, answer)]
        best = min(
            fitting, key=lambda one: (abs(one.line - label.line), one.outcome not in label.outcomes), default=None
        )
        if best is not None:
            rest.remove(best)
        if label.kind != "decoy":
            pairs.append(Pair(label, best))
    return pairs + [Pair(None, answer) for answer in rest if not _is_repeated(answer, labels)]


def _fits(label: Label, answer: Answer) -> bool:
    return (
        (label.document, label.kind) == (answer.document, answer.kind)
        and abs(label.line - answer.line) <= _NEAR
        and (label.kind == "quote" or label.cited == answer.cited)
    )


def _is_repeated(answer: Answer, labels: list[Label]) -> bool:
    """Return whether an answer repeats a labelled claim without contradicting it, as the other file of `a.{h,mm}`."""
    return any(
        _fits(label, answer) and not (label.outcomes <= HOLDING and answer.outcome in ACCUSING) for label in labels
    )


def figures(labels: list[Label], answers: list[Answer]) -> list[Figure]:
    """Return the figures of a tool."""
    pairs = pair(labels, answers)
    references = _labelled(pairs, "reference")
    quotes = _labelled(pairs, "quote")
    extra = [one.answer for one in pairs if one.label is None and one.answer]
    decoys = [label for label in labels if label.kind == "decoy"]
    # Code that is quoted without a label and found is not wrong: the text does not say where it is.
    verified = [
        (one.label, one.answer)
        for one in pairs
        if one.answer and one.answer.outcome in HOLDING and (one.label or one.answer.kind == "reference")
    ]
    return [
        Figure("read", "location claims that are read", _count(a for _, a in references), len(references), 0.97),
        _true_accusations(pairs),
        *_outcome_figures(references, quotes, extra),
        Figure(
            "decoys",
            "texts that are not references, taken for one",
            min(sum(answer.kind == "reference" for answer in extra), len(decoys)),
            len(decoys),
            -0.02,
        ),
        Figure(
            "verified",
            "claims called verified that are",
            sum(label is not None and bool(label.outcomes & HOLDING) for label, _ in verified),
            len(verified),
            0.995,
        ),
        Figure(
            "exact",
            "claims with exactly the labelled outcome",
            sum(answer is not None and answer.outcome in label.outcomes for label, answer in references + quotes),
            len(references) + len(quotes),
            0.95,
        ),
    ]


def _labelled(pairs: list[Pair], kind: str) -> list[tuple[Label, Answer | None]]:
    return [(one.label, one.answer) for one in pairs if one.label and one.label.kind == kind]


def _true_accusations(pairs: list[Pair]) -> Figure:
    accused = [one.label for one in pairs if one.answer and one.answer.kind == "reference" and one.answer.accuses]
    hits = sum(label is not None and bool(label.outcomes & ACCUSING) for label in accused)
    return Figure("accusations", "accusations that are true", hits, len(accused), 0.95)


def _outcome_figures(
    references: list[tuple[Label, Answer | None]], quotes: list[tuple[Label, Answer | None]], extra: list[Answer]
) -> list[Figure]:
    """Return how many references that hold are recognised, and how quotes are judged."""
    holds = [answer for label, answer in references if label.outcomes <= HOLDING]
    altered = [answer for label, answer in quotes if "mismatch" in label.outcomes]
    faithful = [answer for label, answer in quotes if label.outcomes <= HOLDING]
    accused = [answer for answer in extra if answer.kind == "quote" and answer.accuses]
    return [
        Figure(
            "recognised",
            "references that hold and are recognised as such",
            sum(answer is not None and answer.outcome in HOLDING for answer in holds),
            len(holds),
            0.97,
        ),
        Figure(
            "altered",
            "altered quotes that are accepted",
            sum(answer is not None and answer.outcome in HOLDING for answer in altered),
            len(altered),
            -0.01,
        ),
        Figure(
            "faithful",
            "faithful quotes and proposals that are accused",
            sum(answer is not None and answer.accuses for answer in faithful) + len(accused),
            len(faithful) + len(accused),
            -0.08,
        ),
    ]


def _count(answers: Iterable[Answer | None]) -> int:
    return sum(answer is not None for answer in answers)


def mistakes(labels: list[Label], answers: list[Answer]) -> list[str]:
    """Return a line for each claim whose answer is not the labelled one."""
    found = []
    for label, answer in pair(labels, answers):
        if label is None and answer is not None:
            if answer.kind == "quote" and answer.outcome in HOLDING:
                continue  # code that is where the text suggests
            found.append(f"{answer.document}:{answer.line} {answer.kind} {answer.cited}: {answer.outcome}, not a claim")
        elif label is not None and (answer is None or answer.outcome not in label.outcomes):
            given, right = answer.outcome if answer else "not read", " or ".join(sorted(label.outcomes))
            found.append(f"{label.document}:{label.line} {label.kind} {label.cited}: {given}, right is {right}")
    return sorted(found)


def table(rows: Iterable[Figure]) -> str:
    """Return the figures as a Markdown table."""
    lines = ["| measure | cases | figure | 95 % interval | goal |", "|---|---|---|---|---|"]
    for row in rows:
        low, high = row.interval
        share = f"{row.share:.1%}" if row.share is not None else "–"
        goal = f"≥ {row.goal:.1%}" if row.goal > 0 else f"≤ {-row.goal:.1%}"
        lines.append(f"| {row.meaning} | {row.hits} of {row.total} | {share} | {low:.1%} to {high:.1%} | {goal} |")
    return "\n".join(lines)


def main() -> int:
    """Read the answers of a tool and print its figures."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("answers", type=Path, help="the answers of a tool, as JSON")
    parser.add_argument(
        "--set", default="", choices=["", "classes", "adversarial", "blind"], help="only this part of the corpus"
    )
    parser.add_argument("--wrong", action="store_true", help="list the answers that are not the labelled ones")
    parser.add_argument("--format", default="text", choices=["text", "json"], help="the output format")
    arguments = parser.parse_args()
    labels = read_labels(only=arguments.set)
    answers = read_answers(json.loads(arguments.answers.read_text(encoding="utf-8")))
    rows = figures(labels, answers)
    if arguments.format == "json":
        print(json.dumps({row.name: [row.hits, row.total] for row in rows}, indent=2))
    else:
        print(table(rows))
    if arguments.wrong:
        print(*mistakes(labels, answers), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
