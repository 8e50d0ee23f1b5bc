"""Rule `self-conflict`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from remit.contract.findings import tables
from remit.contract.headings import column_index
from remit.contract.lines import plain_text
from remit.contract.result_data import Result
from remit.evidence.changes import summary_contradicts_tests
from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule

#: What two spellings of a location may differ in.
_NO_PART = lazy_pattern(r"^\./|[\s`]")


def normal_location(location: str) -> str:
    """Return a location without emphasis marks, so that its spellings are equal."""
    plain = plain_text(location)
    if len(plain.split()) == 1 and not plain.startswith("./") and "`" not in plain:  # the usual case
        return plain
    return _NO_PART.sub("", plain)


def rows(result: Result, block: str, subject: str, value: str) -> Iterator[tuple[str, str | None, int]]:
    """Yield the subject, the value and the line of each row in the tables of a block."""
    for table in tables(result, block):
        subject_at, value_at = column_index(table.columns, subject), column_index(table.columns, value)
        if subject_at is not None and value_at is not None:
            for row in table.rows:
                name = " ".join(plain_text(row.cells[subject_at]).lower().split())
                yield name, plain_text(row.cells[value_at]).upper() or None, row.line


def _contradictions(statements: Iterable[tuple[str, str | None, int]], verb: str) -> Iterator[Fault]:
    first: dict[str, tuple[str, int]] = {}
    for subject, value, line in statements:
        if not value or not subject:
            continue
        earlier, earlier_line = first.setdefault(subject, (value, line))
        if earlier != value:
            yield Fault(
                line=line, message=f"line {earlier_line} {verb} {subject} {earlier}, this line {value}", mark=value
            )


class SelfConflict(Rule):
    """The result contradicts itself about one location, standard or claim, or about its tests.

    Two severities for one location and category, PASS and FAIL for one standard, two outcomes for one claim, or a
    Summary that states that all tests pass above Test Results with failures: an orchestrator cannot act on both.
    """

    name = "self-conflict"
    code = "KND004"
    level = "L2"
    in_short_form = False
    help = (
        "Decide which statement is correct and remove the other. If both are correct, merge them into one row. If you "
        "cannot decide, keep both and report the conflict under Overrides: `- self-conflict: why`."
    )
    prompt = "Do not contradict yourself. If you cannot resolve a conflict, keep both statements and report it under Overrides."
    good = (
        Example("review", edits=(("| Standard | Status | Notes |", "| Standard | Verdict | Notes |"),)),
        Example(
            "review",
            edits=(
                (
                    "| Unpredictable tokens | FAIL | SEC-001 |",
                    "| Unpredictable tokens | FAIL | SEC-001 |\n|  | FAIL | SEC-001 |\n|  | PASS | SEC-002 |",
                ),
            ),
        ),
        Example(
            "generic",
            edits=(
                (
                    "### Next Steps",
                    "### Issues\n- Slow start (app/login.py:7) | Severity: minor\n- No limit (app/login.py:7) | Severity: important\n\n### Next Steps",
                ),
            ),
        ),
        Example(
            "review",
            edits=(
                (
                    "| SEC-002 | Passwords compared in variable time | `app/login.py:19` |",
                    "| SEC-002 | Passwords compared in variable time | `app/session.py:11` |",
                ),
                (
                    "# app/login.py:19\n    return user.password == password",
                    "# app/session.py:11\n    SESSIONS[token] = user",
                ),
            ),
        ),
    )
    bad = (
        Example(
            "review",
            edits=(
                (
                    "| Passwords compared in variable time | `app/login.py:19` | Minor |",
                    "| Passwords compared in variable time | `app/session.py:10` |  |",
                ),
                ("- Important: 0\n- Minor: 1", "- Important: 0"),
                (
                    "# app/login.py:19\n    return user.password == password",
                    "# app/session.py:10\n    token = str(random.randint(0, 10**9))",
                ),
            ),
            expect=("severity-missing",),
        ),
        Example(
            "review",
            edits=(
                ("| `app/session.py:10` | Critical", "|  | Critical"),
                ("| `app/login.py:19` | Minor", "|  | Minor"),
            ),
            expect=("finding-without-reference", "finding-without-reference"),
        ),
        Example(
            "review",
            edits=(
                (
                    "| SEC-002 | Passwords compared in variable time | `app/login.py:19` |",
                    "| SEC-002 | Passwords compared in variable time | `./app/session.py:10` |",
                ),
                (
                    "# app/login.py:19\n    return user.password == password",
                    "# app/session.py:10\n    token = str(random.randint(0, 10**9))",
                ),
            ),
            expect=("self-conflict",),
        ),
        Example(
            "review",
            edits=(
                (
                    "| Unpredictable tokens | FAIL | SEC-001 |",
                    "| Unpredictable tokens | FAIL | SEC-001 |\n| unpredictable  tokens | PASS | SEC-002 |",
                ),
            ),
            expect=("self-conflict",),
        ),
        Example(
            "verification",
            edits=(
                (
                    "| Tokens are unpredictable | `app/session.py:10` | UNVERIFIED |",
                    "| Unknown users get nothing | `app/session.py:10` | UNVERIFIED |",
                ),
            ),
            expect=("self-conflict",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        yield from _contradictions(
            (
                (f"{location} ({finding.category})", finding.severity, finding.line)
                for finding in case.findings
                if finding.source == "row" and (location := normal_location(finding.location))
            ),
            "calls",
        )
        yield from _contradictions(rows(case.result, "compliance_check", "standard", "status"), "gives")
        yield from _contradictions(rows(case.result, "claims", "claim", "outcome"), "gives")
        line = summary_contradicts_tests(case.result)
        if line is not None:
            yield Fault(line=line, message="the Summary states that all tests pass, but the Test Results have failures")
