"""A worker dies between the effect of an edit and its receipt: the change is unchecked, and the result is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.fixtures import MakeFleet
from support.model_process import RemoteServer

Model = Callable[[dict[str, Any]], RemoteServer]
EDIT = {"name": "Edit", "input": {"file_path": "README.md", "old_string": "a shop", "new_string": "a small shop"}}
RESULT = """## Writer Result

### Status
SUCCESS

### Summary
The README now names the size of the shop. The sentence was there when the work continued, and needs corroboration.

### Findings

#### Files
| File | Change |
| --- | --- |
| `README.md` | modified: one sentence |
{more}
### Key References
| Item | Location | Relevance |
| --- | --- | --- |
| size | `README.md:1` | what it states now |

### Confidence
70 - the file was read, and nothing else

### Verification Completed
- [x] **File References Valid**: the place was opened
- [x] **Code Snippets Accurate**: nothing is quoted
- [x] **No Hallucinated Paths**: the path is the one that was edited
- [x] **Evidence Documented**: the statement names its place

### Next Steps
1. Let somebody read it
"""


def verdict_of(make: MakeFleet, model: Model, more: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the verdict and the L1 and L2 violations of a job whose worker was killed after its edit took effect."""
    look = {"tools": [{"name": "Read", "input": {"file_path": name}} for name in ("README.md", "other.md")]}
    turns = [{"text": "I edit.", "tools": [EDIT]}, look, {"text": RESULT.replace("{more}", more)}]
    team = make(model({"conversations": {"": turns}}))
    for name in ("README.md", "other.md"):
        (team.project / name).write_text("This is a shop.\n", encoding="utf-8")
    team.define("writer", "You write.", tools="Read, Edit", kind="document")
    job = team.submit("Name the size.", agent="writer")
    assert team.start("worker", REMIT_STOP_AT="tool-ran:1").wait() == -9
    assert (team.project / "README.md").read_text(encoding="utf-8") == "This is a small shop.\n"
    team.worker()
    team.until(lambda: team.store.is_finished(job))
    assert next(call["state"] for call in team.store.calls(job)) == "unknown"
    (row,) = team.store.rows("SELECT report FROM remit.results WHERE job = %s", job)
    violations = [one for one in row["report"]["violations"] if one["level"] != "L3"]
    return team.store.job(job)["verdict"], [(one["rule"], one["message"]) for one in violations]


def test_a_change_whose_worker_was_killed_is_not_called_unseen(fleet: MakeFleet, model: Model) -> None:
    assert verdict_of(fleet, model, "") == ("accept", [])


def test_another_file_is_not_excused_by_it(fleet: MakeFleet, model: Model) -> None:
    verdict, violations = verdict_of(fleet, model, "| `other.md` | modified: one sentence |\n")
    assert verdict == "revise"
    assert [rule for rule, _ in violations] == ["change-unseen"]
    assert violations[0][1].startswith("other.md is reported as modified")
