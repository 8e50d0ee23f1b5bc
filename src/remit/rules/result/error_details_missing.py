"""Rule `error-details-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class ErrorDetailsMissing(Rule):
    """A FAILED result does not describe the error.

    The type, the message, the location and whether the error is recoverable determine what happens next. Attempted
    Actions, Root Cause Analysis and Recovery Options are advice.
    """

    name = "error-details-missing"
    code = "RES015"
    level = "L1"
    help = (
        "Add `### Error Details` with a table Aspect | Value and the rows Type, Message, Occurred At and Recoverable."
    )
    bad = (
        Example(
            "error",
            edits=(
                (
                    "### Error Details\n| Aspect | Value |\n| --- | --- |\n| Type | MissingDependency |\n| Message | pytest is not installed |\n| Occurred At | `tests/test_login.py:1` |\n| Recoverable | true |\n\n",
                    "",
                ),
            ),
            expect=("error-details-missing",),
        ),
        Example("error", edits=(("| Recoverable | true |\n", ""),), expect=("error-details-missing",)),
        Example(
            "error",
            edits=(("### Root Cause Analysis\nThe environment was set up without the development tools.\n\n", ""),),
            expect=("error-details-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if not case.failed:
            return
        error = case.result.error
        if error is None:
            yield Fault(line=case.document.title_line, message="a FAILED result has no Error Details")
            return
        aspects = {
            "Type": error.type,
            "Message": error.message,
            "Occurred At": error.occurred_at,
            "Recoverable": error.recoverable,
        }
        missing = [name for name, value in aspects.items() if not value]
        if missing:
            yield Fault(line=error.line, message=f"the Error Details have no {' and no '.join(missing)}")
        advised = {
            "Attempted Actions": case.result.attempted_actions,
            "Root Cause Analysis": case.result.root_cause,
            "Recovery Options": case.result.recovery_options,
        }
        absent = [name for name, value in advised.items() if not value]
        if absent:
            yield Fault(
                line=error.line,
                message=f"a FAILED result has no {' and no '.join(absent)}",
                level="L3",
                help=f"Add {', '.join(f'`### {name}`' for name in absent)}, so that another agent can continue.",
            )
