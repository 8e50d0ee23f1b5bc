"""Rule `block-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import blocks
from remit.contract.headings import block_key
from remit.contract.lines import lines_of, plain_text
from remit.contract.result_data import Block, Heading
from remit.rules.base import Case, Example, Fault, Rule


class BlockMissing(Rule):
    """A block that this kind of result requires is missing.

    Each kind of result has a fixed form, so that a program can read and merge many results.
    """

    name = "block-missing"
    code = "KND001"
    level = "L1"
    in_short_form = False
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
            "design",
            edits=(("**Rationale**: it follows `app/session.py:8` and needs no new storage\n", ""),),
            expect=("block-missing",),
        ),
        Example(
            "exploration",
            edits=(("#### Entry Points", "#### Doors"), ("#### Execution Flow", "#### Steps")),
            expect=("block-missing", "block-missing"),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.found_nothing:
            return
        by_key = {block_key(block.heading): block for block in case.result.findings}
        for group in case.kind.required_groups():
            present = [by_key[spec.key] for spec in group if spec.key in by_key]
            names = " or ".join(spec.name for spec in group)
            if not present:
                yield Fault(
                    line=case.document.line_of("findings"),
                    message=f"a result of kind {case.kind.name} needs the block {names}",
                )
            elif not any(block.content for block in present) and group[0].form != "table":
                yield Fault(line=present[0].line, message=f"the block {names} is empty", mark=present[0].heading)
        for spec in case.kind.blocks:
            filled = [block for block in blocks(case.result, spec.key) if block.content]
            missing = [label[0] for label, _ in spec.labels if filled and not any(_has_label(b, label) for b in filled)]
            for name in missing:
                yield Fault(
                    line=filled[0].line,
                    message=f"the block {spec.name} has no {name}",
                    level="L2",
                    help=f"Add `**{name}**: ...` to the block {spec.name}.",
                )


def _has_label(block: Block, names: tuple[str, ...]) -> bool:
    """Return whether a block has a line that begins with a label, or a heading with its name."""
    texts = [part.text for part in block.content if isinstance(part, Heading)]
    texts += [line.text for line in lines_of(list(block.content))]
    return any(plain_text(text).lstrip("-•# ").lower().startswith(tuple(map(str.lower, names))) for text in texts)
