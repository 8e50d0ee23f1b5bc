"""Results, scripts and plans for tests of orchestration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.commands import ANTHROPIC
from support.running import Fleet
from support.waiting import PATIENCE

from remit.dispatch.submit import Resolving
from remit.orchestrate import delegating
from remit.orchestrate.delegating import PlanResult
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan
from remit.registry.lookup import Registry
from remit.store.plans import Delegation
from remit.testing import registry

READ = {"tools": [{"name": "Read", "input": {"file_path": path}} for path in ("a.py", "b.py")]}
#: Turns that end without success, with a partial answer.
CUT = {"text": "The first half of what I found", "stop": "max_tokens"}
CHAT = {"text": "It all looks fine to me."}
_CHECKLIST = """### Verification Completed
- [x] **File References Valid**: every `file:line` was opened
- [x] **Code Snippets Accurate**: quotes were copied from the files
- [x] **No Hallucinated Paths**: no path was guessed
- [x] **Evidence Documented**: each statement names its place
"""


def result(
    agent: str, *, status: str = "SUCCESS", found: str = "Nothing was found.", reason: str = " - read it"
) -> str:
    """Return a result that is accepted from an agent that read the project; without a reason it violates an L2 rule."""
    return f"""## {agent} Result

### Status
{status}

### Summary
The code was read. What matters is listed below.

### Findings

{found}

### Key References
| Item | Location | Relevance |
| --- | --- | --- |
| leak | `a.py:1` | the fault |
| use | `b.py:1` | who is hurt |

### Confidence
70{reason}

{_CHECKLIST}
### Next Steps
1. Nothing
"""


def review(agent: str, issue: str, *, severity: str = "Critical", score: int = 90, line: int = 2) -> str:
    """Return a review with one finding in `a.py`."""
    text = "def leak():" if line == 1 else "    return 1"
    found = f"""#### Issues Detected
| ID | Issue | File:Line | Severity | Confidence |
| --- | --- | --- | --- | --- |
| SEC-001 | {issue} | `a.py:{line}` | {severity} | {score} |

#### Issue Details

**SEC-001: {issue}**
```python
# a.py:{line}
{text}
```
**Risk**: it leaks
**Fix**: mend it

#### Compliance Check
| Standard | Status | Notes |
| --- | --- | --- |
| No leaks | FAIL | SEC-001 |"""
    counts = "\n".join(f"- {one}: {int(one == severity)}" for one in ("Critical", "Important", "Minor"))
    return result(agent, found=found).replace("### Next Steps", f"### Severity Summary\n{counts}\n\n### Next Steps")


def says(*texts: str) -> list[dict[str, Any]]:
    """Return a conversation that reads the project and then answers with each text in turn."""
    return [READ, *({"text": text} for text in texts)]


def agent(name: str, *, tools: str = "Read") -> str:
    return f"---\nname: {name}\ntools: {tools}\ncontract: v2\n---\nYou are <{name}>.\n"


def agents(*names: str) -> Registry:
    return registry(*(agent(name) for name in names))


def one(name: str, task: str = "", **more: Any) -> DelegationSpec:
    return DelegationSpec(agent=name, task=task or f"task of {name}", model=ANTHROPIC, **more)


def phase(name: str, *delegations: DelegationSpec, **more: Any) -> PhaseSpec:
    return PhaseSpec(name=name, delegations=delegations, **more)


def plan(*phases: PhaseSpec, name: str = "a plan") -> Plan:
    return Plan(name=name, phases=phases)


class Run:
    """A plan in the fleet of a test."""

    def __init__(self, fleet: Fleet, spec: Plan, number: int, team: Registry) -> None:
        self.fleet = fleet
        self.spec = spec
        self.number = number
        self._resolving = Resolving(registry=team)

    async def drive(self, **options: Any) -> PlanResult:
        """Drive the plan until it ends or waits."""
        import asyncio

        fleet = self.fleet
        async with asyncio.timeout(PATIENCE):
            await delegating.drive_plan(
                fleet.database, fleet.settings, self.number, resolving=self._resolving, **options
            )
        return await self.result()

    async def result(self) -> PlanResult:
        return await delegating.plan_result(self.fleet.database, self.number)

    async def steps(self, delegation: Delegation | None = None) -> list[tuple[str, str]]:
        """Return the steps and their reasons."""
        rows = await self.fleet.database.rows("plans.steps", plan=self.number, after=0)
        number = delegation.id if delegation is not None else None
        return [(row["step"], row["reason"]) for row in rows if row["delegation"] == number]

    async def told(self, task: str) -> list[str]:
        """Return the first messages of the conversations whose task contains a text."""
        return [text for text in map(first_message, self.fleet.requests) if task in text]


@asynccontextmanager
async def begun(fleet: Fleet, spec: Plan, *names: str, concurrency: int = 5) -> AsyncIterator[Run]:
    """Store a plan and run a worker for its jobs."""
    team = agents(*(names or {each.agent for part in spec.phases for each in part.delegations}))
    number = await delegating.begin_plan(fleet.database, spec, fleet.project, is_new=True)
    async with fleet.working(concurrency):
        yield Run(fleet, spec, number, team)


def first_message(request: Any) -> str:
    """Return the task of a request."""
    content = request.body["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def states(found: PlanResult) -> list[tuple[str, str]]:
    return [(each.name, each.state) for each in found.delegations]


def progress_file(fleet: Fleet) -> Path:
    return fleet.settings.texts / "progress.json"


def toml(spec: Sequence[tuple[str, Sequence[dict[str, Any]], dict[str, Any]]], name: str = "a plan") -> str:
    """Return a plan as TOML: phases by name, with delegations and more fields."""
    import json

    lines = [f"name = {json.dumps(name)}"]
    for title, delegations, more in spec:
        lines += ["", "[[phase]]", f"name = {json.dumps(title)}"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in more.items()]
        for each in delegations:
            lines += ["[[phase.delegation]]", *(f"{key} = {json.dumps(value)}" for key, value in each.items())]
    return "\n".join(lines) + "\n"
