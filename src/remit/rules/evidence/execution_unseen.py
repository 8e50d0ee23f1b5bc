"""Rule `execution-unseen`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.rules.base import Case, Example, Fault, Rule

THRESHOLD = 95


class ExecutionUnseen(Rule):
    """A confidence of 95 or more, but no command was executed.

    The highest band means "verified by execution".
    """

    name = "execution-unseen"
    code = "EVD016"
    needs = "receipts"
    level = "L2"
    requires = ("no-tool-calls", "confidence-range")
    help = "Run a command that proves the statement, or lower the confidence below 95."
    good = (
        Example(
            "generic",
            edits=(
                ("90 - every", "94 - every"),
                ("verified_confidence: 95", "verified_confidence: 94"),
                ("inferred_confidence: 85", "inferred_confidence: 94"),
                ("combined_confidence: 90", "combined_confidence: 94"),
                ("**Score**: 90", "**Score**: 94"),
            ),
            receipts="only-read",
        ),
        Example(
            "generic",
            edits=(
                ("90 - every", "95 - every"),
                ("verified_confidence: 95", "verified_confidence: 95"),
                ("inferred_confidence: 85", "inferred_confidence: 95"),
                ("combined_confidence: 90", "combined_confidence: 95"),
                ("**Score**: 90", "**Score**: 95"),
            ),
            receipts="everything",
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(
                ("90 - every", "95 - every"),
                ("inferred_confidence: 85", "inferred_confidence: 95"),
                ("combined_confidence: 90", "combined_confidence: 95"),
                ("**Score**: 90", "**Score**: 95"),
            ),
            expect=("no-tool-calls",),
            receipts="nothing",
        ),
        Example(
            "generic",
            edits=(
                ("90 - every", "95 - every"),
                ("verified_confidence: 95", "verified_confidence: 95"),
                ("inferred_confidence: 85", "inferred_confidence: 95"),
                ("combined_confidence: 90", "combined_confidence: 95"),
                ("**Score**: 90", "**Score**: 95"),
            ),
            expect=("execution-unseen",),
            receipts="only-read",
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        if (
            confidence is not None
            and isinstance(confidence.score, float)
            and confidence.score >= THRESHOLD
            and not case.evidence.executed
        ):
            yield Fault(
                line=confidence.line,
                message=f"a confidence of {format_number(confidence.score)} needs a successful command, but no command succeeded",
                mark=format_number(confidence.score),
            )
