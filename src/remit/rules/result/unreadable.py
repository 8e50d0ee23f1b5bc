"""Rule `unreadable`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class Unreadable(Rule):
    """The file cannot be read as a result.

    It is not UTF-8, it exceeds a size limit, or it is JSON that does not follow the schema. The author cannot correct
    single parts of it, so it is rejected immediately.
    """

    name = "unreadable"
    code = "RES000"
    level = "L1"
    help = "Send the result as UTF-8 Markdown, or as JSON that follows `remit prompt --schema`."
    bad = (Example("review", edits=(("## Security Auditor Result\n", "{\n"),), expect=("unreadable",)),)

    def check(self, case: Case) -> Iterator[Fault]:
        if case.document.refusal:
            yield Fault(line=1, message=f"the document cannot be read: {case.document.refusal}")
