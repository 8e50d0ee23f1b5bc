"""Rule `confidence-justification`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.render import format_number
from remit.evidence.judge import HOLDING
from remit.rules.base import Case, Example, Fault, Rule

THRESHOLD = 85


class ConfidenceJustification(Rule):
    """A confidence of 85 or more has no complete justification.

    A high score is used without further review, so the result must state its basis and its possible gaps.
    """

    name = "confidence-justification"
    code = "CNF006"
    level = "L2"
    in_short_form = False
    levels = {"v1": None}
    requires = ("confidence-range",)
    help = "Add `### Confidence Justification` with Score (the same number), Evidence Count (a number), Verification Method and Potential Blind Spots."
    good = (
        Example(
            "generic",
            edits=(
                (
                    "### Confidence Justification\n**Score**: 90\n**Evidence Count**: 2\n**Verification Method**: read the files and compared each quoted line\n**Potential Blind Spots**: code that is loaded by configuration\n\n",
                    "",
                ),
                ("90 - every", "84 - every"),
                ("verified_confidence: 95", "verified_confidence: 84"),
                ("inferred_confidence: 85", "inferred_confidence: 84"),
                ("combined_confidence: 90", "combined_confidence: 84"),
            ),
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(
                (
                    "### Key References\n| Item | Location | Relevance |\n| --- | --- | --- |\n| login | `app/login.py:7` | where a user comes in |\n| open_session | `app/session.py:8` | where the token is made |\n\n",
                    "",
                ),
                ("**Evidence Count**: 2", "**Evidence Count**: 3"),
            ),
            expect=("references-missing",),
        ),
        Example(
            "generic",
            edits=(
                ("where a user comes in", "see `app/logon.py:7`"),
                ("**Evidence Count**: 2", "**Evidence Count**: 3"),
            ),
            expect=("reference-missing-file", "confidence-justification"),
        ),
        Example(
            "generic", edits=(("**Evidence Count**: 2", "**Evidence Count**: 3"),), expect=("confidence-justification",)
        ),
        Example(
            "generic",
            edits=(
                (
                    "### Confidence Justification\n**Score**: 90\n**Evidence Count**: 2\n**Verification Method**: read the files and compared each quoted line\n**Potential Blind Spots**: code that is loaded by configuration\n\n",
                    "",
                ),
                ("90 - every", "85 - every"),
                ("verified_confidence: 95", "verified_confidence: 85"),
                ("combined_confidence: 90", "combined_confidence: 85"),
            ),
            expect=("confidence-justification",),
        ),
        Example("generic", edits=(("**Score**: 90", "**Score**: 91"),), expect=("confidence-justification",)),
        Example(
            "generic",
            edits=(("**Evidence Count**: 2", "**Evidence Count**: many"),),
            expect=("confidence-justification",),
        ),
        Example(
            "generic",
            edits=(("**Potential Blind Spots**: code that is loaded by configuration\n", ""),),
            expect=("confidence-justification",),
        ),
        Example(
            "generic",
            edits=(("**Verification Method**: read the files and compared each quoted line\n", ""),),
            expect=("confidence-justification",),
        ),
        Example("generic", edits=(("**Score**: 90\n", ""),), expect=("confidence-justification",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        confidence = case.result.confidence
        if confidence is None or isinstance(confidence.score, str) or confidence.score < THRESHOLD:
            return
        justification = case.result.justification
        if justification is None:
            message = f"a confidence of {format_number(confidence.score)} needs a Confidence Justification"
            yield Fault(line=confidence.line, message=message)
            return
        missing = [
            name
            for name, value in (
                ("Score", justification.score),
                (
                    "Evidence Count",
                    justification.evidence_count if isinstance(justification.evidence_count, float) else None,
                ),
                ("Verification Method", justification.method or None),
                ("Potential Blind Spots", justification.blind_spots or None),
            )
            if value is None
        ]
        if missing:
            yield Fault(line=justification.line, message=f"the Confidence Justification has no {', '.join(missing)}")
        elif justification.score != confidence.score:
            yield Fault(
                line=justification.line,
                message=f"the justified Score is {format_number(justification.score)}, the confidence is {format_number(confidence.score)}",
            )
        elif (
            case.evidence.has_repository and case.result.references and isinstance(justification.evidence_count, float)
        ):
            held = {(r.file, r.line) for r in case.evidence.references if r.outcome in HOLDING}
            if justification.evidence_count > len(held):
                yield Fault(
                    line=justification.line,
                    message=f"Evidence Count is {format_number(justification.evidence_count)}, but {len(held)} locations hold",
                    mark=format_number(justification.evidence_count),
                )
