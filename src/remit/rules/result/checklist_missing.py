"""Rule `checklist-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.headings import BOXES, box_key
from remit.contract.lines import plain_text
from remit.rules.base import Case, Example, Fault, Rule


class ChecklistMissing(Rule):
    """The Verification Completed section or one of its four boxes is missing.

    The boxes make an agent check its work again before it answers. Remit does not rely on them: it recomputes what it
    can.
    """

    name = "checklist-missing"
    code = "RES010"
    level = "L1"
    in_short_form = False
    levels = {"v1": None}
    help = "Add `### Verification Completed` with the four boxes. Tick each box after you have done the check it names."
    prompt = "Do the check of each of the four boxes before you answer."
    good = (
        Example(
            "generic",
            edits=(("- [x] **No Hallucinated Paths**: no path was guessed", "- [x] every path was looked up"),),
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(
                (
                    "- [x] **File References Valid**: every `file:line` was opened\n- [x] **Code Snippets Accurate**: quotes were copied from the files\n- [x] **No Hallucinated Paths**: no path was guessed\n- [x] **Evidence Documented**: each statement names its place\n",
                    "- [x] every file was opened\n- [x] every quote was copied\n- [x] every path was looked up\n",
                ),
            ),
            expect=("checklist-missing",),
        ),
        Example(
            "generic",
            edits=(
                (
                    "### Verification Completed\n- [x] **File References Valid**: every `file:line` was opened\n- [x] **Code Snippets Accurate**: quotes were copied from the files\n- [x] **No Hallucinated Paths**: no path was guessed\n- [x] **Evidence Documented**: each statement names its place\n\n",
                    "",
                ),
            ),
            expect=("checklist-missing",),
        ),
        Example(
            "generic",
            edits=(("- [x] **No Hallucinated Paths**: no path was guessed\n", ""),),
            expect=("checklist-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.failed:
            return
        section = case.document.section("checklist")
        if section is None:
            yield Fault(line=case.document.title_line, message="there is no Verification Completed section")
            return
        ticks = case.result.checklist
        present = {box_key(plain_text(tick.text)) for tick in ticks}
        missing = [names[0] for key, names in BOXES.items() if key not in present]
        if missing and len(ticks) < len(BOXES):
            yield Fault(
                line=section.line, message=f"the checklist has no box {', '.join(missing)}", mark=section.heading
            )
