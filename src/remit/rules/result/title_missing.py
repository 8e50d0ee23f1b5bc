"""Rule `title-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class TitleMissing(Rule):
    """The result has no title that names its agent.

    The title names the agent. Without it, Remit does not know which agent's rules apply, or whether the text is a
    result.
    """

    name = "title-missing"
    code = "RES001"
    level = "L1"
    requires = ("unreadable",)
    help = "Begin the answer with `## <Your Agent Name> Result`."
    good = (
        Example("review", edits=(("## Security Auditor Result", "# security-auditor result"),)),
        Example("review", edits=(("## Security Auditor Result", "**Security Auditor Result**"),)),
    )
    bad = (
        Example("exploration", edits=(("## Code Explorer Result\n\n", ""),), expect=("title-missing",)),
        Example("generic", edits=(("## Release Helper Result", "## Result"),), expect=("title-missing",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        agent = case.document.outline.agent
        if agent is None:
            yield Fault(line=case.document.title_line, message="there is no title `## <Agent Name> Result`")
        elif not agent:
            yield Fault(line=case.document.title_line, message="the title does not name an agent", mark="Result")
