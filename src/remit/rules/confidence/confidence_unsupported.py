"""Rule `confidence-unsupported`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.evidence.support import band, is_above
from remit.rules.base import Case, Example, Fault, Rule


class ConfidenceUnsupported(Rule):
    """The confidence is in a higher band than the evidence supports.

    The evidence supports up to 60 points for verified references, 25 for verified quotes and 15 for an executed
    command. A reference or quote from a file that the agent did not read counts half.
    """

    name = "confidence-unsupported"
    code = "CNF008"
    needs = "receipts"
    level = "L2"
    in_short_form = False
    requires = ("no-tool-calls", "confidence-range", "execution-unseen")
    help = (
        "Lower the confidence, or add the evidence it needs: correct references, exact quotes, a command that you ran."
    )
    good = (
        Example("error", receipts="everything"),
        Example(
            "error",
            edits=(
                ("`tests/test_login.py:1`", "the set-up step"),
                (
                    "### Blockers",
                    "### Confidence\n80 - the log says so\nverified_confidence: 80\ninferred_confidence: 80\n\n### Blockers",
                ),
            ),
            receipts="everything",
        ),
        Example("generic", receipts="only-read"),
    )
    bad = (
        Example("generic", edits=(("90 - every", "101 - every"),), expect=("confidence-range",), receipts="only-read"),
        Example("generic", edits=(("90 - every", "high - every"),), expect=("confidence-range",), receipts="only-read"),
        Example("generic", expect=("reference-unseen", "confidence-unsupported"), receipts="no-session"),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence, supported = case.result.confidence, case.evidence.supported
        if confidence is None or isinstance(confidence.score, str) or supported is None:
            return
        if is_above(confidence.score, supported):
            yield Fault(
                line=confidence.line,
                message=f"the claimed confidence is {format_number(confidence.score)} ({band(confidence.score)}), the evidence supports {format_number(supported)} ({band(supported)})",
                mark=format_number(confidence.score),
            )
