"""Rule `finding-without-reference`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from sys import maxsize

from remit.contract.findings import Finding
from remit.contract.headings import block_key
from remit.contract.lines import is_none_text, lines_of
from remit.contract.nothing_found import is_none_row
from remit.contract.result_data import Block
from remit.evidence.claims import explain
from remit.evidence.document import located_tables
from remit.evidence.model import Checked
from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule

_PATH = lazy_pattern(r"[\w-]/[\w.-]*\.\w")
#: What may be between a path, or its line, and a number that a reader takes for the line, and what ends such a number.
_MARKS = lazy_pattern(r"[^\w#\[→×]{1,12}")
_MARKS_OF_LINES = lazy_pattern(r"[`\s]{0,3}+(?>(?:\\?[+;|,:>&/]{1,2}[`\s]{0,3})?)")
_ALONE = lazy_pattern(r"\w*+(?!\s?[^\W\d_]|%|-\d)")
#: The blocks of which at least one entry names a location.
_CITING = ("execution_flow", "pattern_analysis")


def _unchecked(references: Iterable[Checked], case: Case) -> Iterator[Fault]:
    """Yield the references that the checkout cannot show. Without a checkout, none can be checked."""
    for reference in references if case.evidence.has_repository else ():
        if reference.outcome == "unchecked" and reference.reason != "several-files":
            text = f"{reference.display_text} cannot be checked: {explain(reference)}"
            yield Fault(line=reference.at, message=text)


def _unread_numbers(references: list[Checked]) -> Iterator[Fault]:
    """Yield the numbers directly after a place in a column of locations that no reference contains."""
    last: dict[str, Checked] = {}
    for reference in references:
        claim = reference.claim
        if claim.segment.is_location and claim.segment.text[claim.start : claim.end] == claim.text:
            known = last.setdefault(claim.segment.text, reference)
            last[claim.segment.text] = max(known, reference, key=lambda found: found.claim.end)
    for text, reference in last.items():
        marks = (_MARKS if reference.claim.line is None else _MARKS_OF_LINES).match(text, reference.claim.end)
        number = _ALONE.match(text, marks.end()) if marks and marks[0] else None
        if marks and number and number[0][:1].isnumeric():
            words = f"{reference.claim.text}{marks[0]}{number[0]}".strip()
            yield Fault(line=reference.at, message=f"the last number of {words!r} is not read as a line: write path:12")


class FindingWithoutReference(Rule):
    """A row of a table with locations, an issue, a flow, patterns or prose have no location.

    A statement without a location cannot be checked. The same is true of a location in another repository, or in a
    file that is too large or not text; each location of a finding has to be one that can be checked. One location is
    enough for a flow, for patterns, and for the Findings of a generic result.
    """

    name = "finding-without-reference"
    code = "EVD008"
    level = "L2"
    levels = {"v1": "L1"}
    requires = ("wrong-column",)
    help = "Add a `path/to/file.py:12` to the row, issue or block, or remove it."
    prompt = (
        "Each row with a location column, each issue, and the steps, patterns or prose of Findings name a location."
    )
    good = (Example("generic", edits=(("where the token is made |\n", "where the token is made |\n| - | - | - |\n"),)),)
    bad = (
        Example(
            "generic",
            edits=(("### Next Steps", "### Issues\n- Slow start: loads twice | Severity: minor\n\n### Next Steps"),),
            expect=("finding-without-reference",),
        ),
        Example(
            "verification",
            edits=(
                (
                    "| Unknown users get nothing | `app/login.py:10` | VERIFIED |",
                    "| Unknown users get nothing | the login module | VERIFIED |",
                ),
            ),
            expect=("finding-without-reference",),
        ),
        Example(
            "exploration",
            edits=(("| login | `app/login.py:7` | function |", "| login |  | function |"),),
            expect=("finding-without-reference",),
        ),
        Example(
            "generic",
            edits=(
                ("| login | `app/login.py:7` | where a user comes in |", "| login | N/A | where a user comes in |"),
            ),
            expect=("finding-without-reference",),
            profile="v1",
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        cited: dict[int, list[Checked]] = {}
        for reference in case.evidence.references:
            cited.setdefault(reference.at, []).append(reference)
        for table, section in located_tables(case.document):
            for row in table.rows:
                references = cited.get(row.line, [])
                if not references and not is_none_row(row) and not case.found_nothing:
                    yield Fault(line=row.line, message=f"a row of {section} does not name a file")
                yield from _unchecked(references, case)
                yield from _unread_numbers(references)
        for issue, references in issue_references(case):
            if not references:
                yield Fault(line=issue.line, message=f"the issue {issue.title[:60]!r} does not name a file")
            yield from _unchecked(references, case)
        for block in _vague_blocks(case):
            message = f"the block {block.heading} does not name a file"
            yield Fault(line=block.line, message=message, mark=block.heading, level="L2")
        if case.kind.name == "generic" and _is_vague(case):
            yield Fault(line=case.document.line_of("findings"), message="the Findings do not name a file", level="L2")


def _vague_blocks(case: Case) -> Iterator[Block]:
    """Yield each block of steps or patterns in which no claim can be checked."""
    if case.failed or case.found_nothing:
        return
    claims = sorted(claim.at for claim in case.evidence.checked)
    lines = [block.line for block in case.result.findings] + [part.line for part in case.document.outline.sections]
    heads = [*sorted(lines), maxsize]
    for block in case.result.findings:
        end = heads[bisect_right(heads, block.line)]
        is_vague = bisect_left(claims, block.line) == bisect_left(claims, end)
        if is_vague and block_key(block.heading) in _CITING and _names_no_file([block]):
            yield block


def _is_vague(case: Case) -> bool:
    """Return whether the Findings have words, but no claim that can be checked."""
    if case.failed or case.found_nothing or any(claim.section == "findings" for claim in case.evidence.checked):
        return False
    return _names_no_file(case.result.findings)


def _names_no_file(blocks: Iterable[Block]) -> bool:
    """Return whether blocks have words, but no path, not even one that is not a claim."""
    words = [line.text for block in blocks for line in lines_of(block.content) if not is_none_text(line.text)]
    return bool(words) and not any(_PATH.search(text) for text in words)


def issue_references(case: Case) -> Iterator[tuple[Finding, list[Checked]]]:
    """Yield each bullet of Issues with the references in it."""
    issues = [finding for finding in case.findings if finding.source == "bullet"]
    lines = [issue.line for issue in issues]
    references: list[list[Checked]] = [[] for _ in issues]
    for reference in case.evidence.references:
        if reference.section == "issues" and (index := bisect_right(lines, reference.at)):
            references[index - 1].append(reference)
    yield from zip(issues, references, strict=True)
