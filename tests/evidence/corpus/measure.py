"""Precision and recall of `verified` on a corpus, and the outcomes that differ from the labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus.claims import Claim, Label
from corpus.tree import HEAD, evidence_of

from remit.evidence.model import Checked


class Answer(NamedTuple):
    """The kind of a claim, its label and its actual outcome; None if there is no label or no outcome."""

    of: str
    kind: str
    label: Label | None
    actual: Label | None

    @property
    def is_correct(self) -> bool:
        if self.label is None or self.actual is None:
            return False
        found = self.label.found is ... or self.label.found == self.actual.found
        return self.label[:2] == self.actual[:2] and found


def actual_label(one: Checked) -> Label:
    """Return the actual outcome in the form of a label."""
    found = (one.found.path, one.found.line) if one.found is not None else None
    return Label((one.claim.path, one.line, one.end_line), one.outcome, found)


def check_claims(claims: Sequence[Claim], tree: Path, *, kind: str = "generic") -> list[Answer]:
    """Put claims into one document and compare their outcomes with the labels."""
    answers: list[Answer] = []
    lines = HEAD.count("\n") + 1
    spans: list[tuple[int, int, Claim]] = []
    for claim in claims:
        height = claim.text.count("\n") + 1
        spans.append((lines, lines + height, claim))
        lines += height + 3
    body = "\n\nAnd then\n".join(claim.text for claim in claims)
    evidence = evidence_of(body.replace("\n\nAnd then\n", "\n\n\n\n"), tree, kind=kind)
    references, quotes = _by_line(evidence.references), _by_line(evidence.quotes)
    for first, end, claim in spans:
        for of, labels, checked in (("reference", claim.references, references), ("quote", claim.quotes, quotes)):
            actual = [label for line in range(first, end) for label in checked.pop(line, ())]
            answers.extend(compare(of, claim.kind, labels, actual))
    for labels in (*references.values(), *quotes.values()):
        answers.extend(Answer("reference", "decoy", None, label) for label in labels)
    return answers


def _by_line(checked: Iterable[Checked]) -> dict[int, list[Label]]:
    """Return the outcomes by the line of the document in which the claim is written."""
    labels = defaultdict(list)
    for claim in checked:
        labels[claim.at].append(actual_label(claim))
    return labels


def compare(of: str, kind: str, labels: Sequence[Label], actual: Sequence[Label]) -> Iterable[Answer]:
    """Return an answer for each label, and one for each additional outcome."""
    longest = max(len(labels), len(actual))
    return (
        Answer(of, kind, labels[at] if at < len(labels) else None, actual[at] if at < len(actual) else None)
        for at in range(longest)
    )


def wrong(answers: Iterable[Answer]) -> list[Answer]:
    """Return the answers that differ from their labels."""
    return [answer for answer in answers if not answer.is_correct]


def scores(answers: Iterable[Answer], of: str) -> tuple[float, float, float]:
    """Return precision and recall of `verified`, and the share of correct answers."""
    own = [answer for answer in answers if answer.of == of]
    actual = [answer for answer in own if answer.actual and answer.actual.outcome == "verified"]
    true = [answer for answer in own if answer.label and answer.label.outcome == "verified"]
    both = [answer for answer in actual if answer.label and answer.label[:2] == answer.actual[:2]]  # type: ignore[index]
    right = sum(answer.is_correct for answer in own)
    return len(both) / max(1, len(actual)), len(both) / max(1, len(true)), right / max(1, len(own))


def table(answers: Sequence[Answer]) -> str:
    """Return the counts by kind of claim as Markdown."""
    rows = ["| claim | kind | label | claims | right |", "|---|---|---|---|---|"]
    counts: Counter[tuple[str, str, str]] = Counter()
    right: Counter[tuple[str, str, str]] = Counter()
    for answer in answers:
        key = (answer.of, answer.kind, answer.label.outcome if answer.label else "nothing")
        counts[key] += 1
        right[key] += answer.is_correct
    rows += [
        f"| {of} | {kind} | {label} | {counts[of, kind, label]} | {right[of, kind, label]} |"
        for of, kind, label in sorted(counts)
    ]
    for of in ("reference", "quote"):
        precision, recall, accuracy = scores(answers, of)
        total = sum(answer.of == of for answer in answers)
        rows.append(
            f"\n{total} {of}s: precision of verified {precision:.4f}, recall {recall:.4f}, all outcomes {accuracy:.4f}"
        )
    return "\n".join(rows)
