"""Rule `block-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.headings import block_key
from remit.rules.base import Case, Example, Fault, Rule


class BlockMissing(Rule):
    """A block that this kind of result requires is missing.

    Each kind of result has a fixed form, so that a program can read and merge many results.
    """

    name = "block-missing"
    code = "KND001"
    level = "L1"
    levels = {"v1": "L2"}
    requires = ("findings-missing",)
    help = "Add the missing block under `### Findings`, with the heading and the columns of your kind of result."
    good = (
        Example(
            "implementation",
            edits=(
                (
                    "#### Files Created\n| File | Purpose | Lines |\n| --- | --- | --- |\n| `tests/test_login.py` | tests of the login | 12 |\n\n",
                    "",
                ),
            ),
        ),
        Example(
            "implementation",
            edits=(
                (
                    "#### Files Modified\n| File | Change | Lines Changed |\n| --- | --- | --- |\n| `app/session.py:15` | added close_session | +5 |\n\n",
                    "",
                ),
            ),
        ),
        Example(
            "exploration",
            edits=(("#### Architecture Patterns\n- Functions over a module-level table: `app/session.py:5`\n\n", ""),),
        ),
    )
    bad = (
        Example("verification", edits=(("#### Claims\n", ""),), expect=("block-missing",)),
        Example(
            "exploration",
            edits=(
                (
                    "1. Look the user up → `app/store.py:14` (find_user)\n2. Compare the password → `app/login.py:17` (check_password)\n3. Make a token → `app/session.py:8` (open_session)\n",
                    "",
                ),
            ),
            expect=("block-missing",),
        ),
        Example(
            "implementation",
            edits=(
                (
                    "#### Files Created\n| File | Purpose | Lines |\n| --- | --- | --- |\n| `tests/test_login.py` | tests of the login | 12 |\n\n",
                    "",
                ),
                (
                    "#### Files Modified\n| File | Change | Lines Changed |\n| --- | --- | --- |\n| `app/session.py:15` | added close_session | +5 |\n\n",
                    "",
                ),
            ),
            expect=("block-missing",),
        ),
        Example(
            "exploration",
            edits=(("#### Entry Points", "#### Doors"), ("#### Execution Flow", "#### Steps")),
            expect=("block-missing", "block-missing"),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        blocks = {block_key(block.heading): block for block in case.result.findings}
        for group in case.kind.required_groups():
            present = [blocks[spec.key] for spec in group if spec.key in blocks]
            names = " or ".join(spec.name for spec in group)
            if not present:
                yield Fault(
                    line=case.document.line_of("findings"),
                    message=f"a result of kind {case.kind.name} needs the block {names}",
                )
            elif not any(block.content for block in present) and group[0].form != "table":
                yield Fault(line=present[0].line, message=f"the block {names} is empty", mark=present[0].heading)
