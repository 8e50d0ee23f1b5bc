"""Rule `reference-missing-file`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain, suggestion
from remit.rules.base import Case, Example, Fault, Rule


class ReferenceMissingFile(Rule):
    """A reference names a file that does not exist.

    An invented path shows that the agent did not look up its statement. One such path is enough to send the result
    back.
    """

    name = "reference-missing-file"
    code = "EVD001"
    needs = "repository"
    level = "L1"
    help = "Search for the file before you cite it, and write the path exactly as it is in the repository."
    prompt = "Cite only files and lines that you have opened: each path, line and name is looked up, and each quote is compared."
    bad = (
        Example(
            "generic", edits=(("where a user comes in", "see `app/logon.py:7`"),), expect=("reference-missing-file",)
        ),
        Example(
            "generic", edits=(("where a user comes in", "see `App/login.py:7`"),), expect=("reference-missing-file",)
        ),
        Example(
            "generic", edits=(("`app/login.py:7` | where", "`app/:7` | where"),), expect=("reference-missing-file",)
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for reference in case.evidence.references:
            if reference.outcome == "missing-file" and reference.fails:
                yield Fault(
                    line=reference.at,
                    message=f"{reference.display_text}: {explain(reference)}{suggestion(reference)}",
                    mark=reference.text,
                )
