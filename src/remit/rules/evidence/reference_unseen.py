"""Rule `reference-unseen`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule

_FILE_EXISTS = ("exists", "verified", "relocated", "out-of-range", "mismatch")


class ReferenceUnseen(Rule):
    """A cited file was never read, searched or edited.

    The reference may be correct by chance or from memory, but the agent did not check it.
    """

    name = "reference-unseen"
    code = "EVD015"
    needs = "receipts"
    level = "L2"
    requires = ("no-tool-calls",)
    help = "Open the file before you cite it."
    good = (Example("exploration", receipts="everything"),)
    bad = (
        Example(
            "exploration",
            edits=(
                ("`app/store.py:14` (find_user)", "`app/store.py:8` (find_user)"),
                ("90 - every", "74 - every"),
                ("verified_confidence: 95", "verified_confidence: 74"),
                ("inferred_confidence: 85", "inferred_confidence: 74"),
                ("combined_confidence: 90", "combined_confidence: 74"),
            ),
            expect=("reference-relocated", "reference-unseen"),
            receipts="no-store",
        ),
        Example(
            "exploration",
            edits=(
                ("`app/store.py:14` (find_user)", "`app/store.py:99`"),
                ("90 - every", "74 - every"),
                ("verified_confidence: 95", "verified_confidence: 74"),
                ("inferred_confidence: 85", "inferred_confidence: 74"),
                ("combined_confidence: 90", "combined_confidence: 74"),
            ),
            expect=("reference-out-of-range", "reference-unseen"),
            receipts="no-store",
        ),
        Example(
            "exploration",
            edits=(
                ("(find_user)", "(load_user)"),
                ("90 - every", "74 - every"),
                ("verified_confidence: 95", "verified_confidence: 74"),
                ("inferred_confidence: 85", "inferred_confidence: 74"),
                ("combined_confidence: 90", "combined_confidence: 74"),
            ),
            expect=("symbol-missing", "reference-unseen"),
            receipts="no-store",
        ),
        Example(
            "exploration",
            edits=(("`app/store.py:14` (find_user)", "`app/stores.py:14`"),),
            expect=("reference-missing-file",),
            receipts="everything",
        ),
        Example(
            "exploration",
            edits=(
                ("90 - every", "84 - every"),
                ("verified_confidence: 95", "verified_confidence: 84"),
                ("inferred_confidence: 85", "inferred_confidence: 84"),
                ("combined_confidence: 90", "combined_confidence: 84"),
            ),
            expect=("reference-unseen",),
            receipts="no-store",
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        reported: set[str] = set()
        for reference in case.evidence.references:
            if reference.opened == "no" and reference.outcome in _FILE_EXISTS and reference.file not in reported:
                reported.add(reference.file)
                yield Fault(
                    line=reference.at, message=f"{reference.file} is cited but was never opened", mark=reference.text
                )
