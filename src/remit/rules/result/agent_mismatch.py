"""Rule `agent-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.feedback import agent_title
from remit.contract.kinds import slug
from remit.rules.base import Case, Example, Fault, Rule


class AgentMismatch(Rule):
    """The title names another agent than the one that was asked.

    Results are merged by agent: agreement of two agents raises a score. A result under another name would count as the
    other agent's opinion. The rule runs only if the caller knows who was asked: for a job, a delegation, or with
    `remit check --agent NAME`.
    """

    name = "agent-mismatch"
    code = "RES021"
    level = "L1"
    requires = ("title-missing",)
    help = "Sign the result with your own name."
    good = (
        Example("review", agent="security-auditor"),
        Example("review", agent="some-plugin:Security_Auditor"),
        Example("review", edits=(("## Security Auditor Result", "## QA Engineer Result"),)),
    )
    bad = (
        Example("review", agent="qa-engineer", expect=("agent-mismatch",)),
        Example("error", agent="qa-engineer", profile="v1", expect=("agent-mismatch",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        signed = case.result.agent
        if case.agent and _bare(signed) != _bare(case.agent):
            yield Fault(
                line=case.document.title_line,
                message=f"the result is signed by {slug(signed)}, but {slug(case.agent)} was asked",
                mark=signed,
                help=f"Begin with `## {agent_title(case.agent)} Result`: sign the result with your own name.",
            )


def _bare(agent: str) -> str:
    """Return a name without its plugin and without what writers vary: case, blanks, `_` and `-`."""
    return slug(agent).rpartition(":")[2].replace("-", "")
