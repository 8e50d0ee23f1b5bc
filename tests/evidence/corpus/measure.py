"""How often the checker is right about a corpus: precision and recall of `verified`, and what it said instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from corpus.claims import Claim, Label
from corpus.tree import HEAD, evidence_of

from remit.evidence.model import Quote, Reference


class Answer(NamedTuple):
    """A claim's kind, its label, and what was said of it; None: nothing at all, or nothing was to be said."""

    of: str
    kind: str
    label: Label | None
    said: Label | None

    @property
    def is_right(self) -> bool:
        if self.label is None or self.said is None:
            return False
        found = self.label.found is ... or self.label.found == self.said.found
        return self.label[:2] == self.said[:2] and found


def said_of(one: Reference | Quote) -> Label:
    """What was said, in the form of a label."""
    found = (one.found.path, one.found.line) if one.found is not None else None
    return Label((one.path, one.line, one.end_line), one.outcome, found)


def ask(claims: Sequence[Claim], tree: Path, *, kind: str = "generic") -> list[Answer]:
    """Put claims into one document and compare what is said of each with its labels."""
    answers: list[Answer] = []
    lines = HEAD.count("\n") + 1
    where: list[tuple[int, int, Claim]] = []
    for claim in claims:
        height = claim.text.count("\n") + 1
        where.append((lines, lines + height, claim))
        lines += height + 3
    body = "\n\nAnd then\n".join(claim.text for claim in claims)
    evidence = evidence_of(body.replace("\n\nAnd then\n", "\n\n\n\n"), tree, kind=kind)
    for first, end, claim in where:
        for of, labels, found in (
            ("reference", claim.references, evidence.references),
            ("quote", claim.quotes, evidence.quotes),
        ):
            said = [said_of(one) for one in found if first <= one.at < end]
            answers.extend(compare(of, claim.kind, labels, said))
    stray = [one for one in (*evidence.references, *evidence.quotes) if not any(f <= one.at < e for f, e, _ in where)]
    answers.extend(Answer("reference", "decoy", None, said_of(one)) for one in stray)
    return answers


def compare(of: str, kind: str, labels: Sequence[Label], said: Sequence[Label]) -> Iterable[Answer]:
    """One answer for each label, and one for each thing that was said without being asked."""
    longest = max(len(labels), len(said))
    return (
        Answer(of, kind, labels[at] if at < len(labels) else None, said[at] if at < len(said) else None)
        for at in range(longest)
    )


def wrong(answers: Iterable[Answer]) -> list[Answer]:
    """The answers that are not as their labels say."""
    return [answer for answer in answers if not answer.is_right]


def scores(answers: Iterable[Answer], of: str) -> tuple[float, float, float]:
    """Precision and recall of `verified`, and how many answers are right in all."""
    own = [answer for answer in answers if answer.of == of]
    said = [answer for answer in own if answer.said and answer.said.outcome == "verified"]
    true = [answer for answer in own if answer.label and answer.label.outcome == "verified"]
    both = [answer for answer in said if answer.label and answer.label[:2] == answer.said[:2]]  # type: ignore[index]
    right = sum(answer.is_right for answer in own)
    return len(both) / max(1, len(said)), len(both) / max(1, len(true)), right / max(1, len(own))


def table(answers: Sequence[Answer]) -> str:
    """Counts by kind of claim, as Markdown."""
    rows = ["| claim | kind | label | claims | right |", "|---|---|---|---|---|"]
    counts: Counter[tuple[str, str, str]] = Counter()
    right: Counter[tuple[str, str, str]] = Counter()
    for answer in answers:
        key = (answer.of, answer.kind, answer.label.outcome if answer.label else "nothing")
        counts[key] += 1
        right[key] += answer.is_right
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
