"""How fast the gate decides: as a process of its own, which is how a hook runs it."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import Bench, ratio
from starting import spent

ROOT = Path(__file__).resolve().parent.parent
RUNS = 40
BASELINE = "import json"
#: What a hook does: a payload on its input, the session's state on disk, an answer on its output.
HOOK = """
import sys
sys.path.insert(0, sys.argv[1])
import json
from remit.gate.model import Call
from remit.gate.policy import decide
from remit.gate.settings import GateSettings
from remit.gate.state import open_state
call = Call.from_payload(json.loads(sys.stdin.buffer.read()))
with open_state(sys.argv[2], call.session) as state:
    decision = decide(call, state, GateSettings(), sys.argv[3])
print(json.dumps(decision.as_dict()))
"""
#: A hook that reads its payload and answers nothing.
IDLE = "import sys, json; json.loads(sys.stdin.buffer.read())"

CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "Read": ("Read", {"file_path": "README.md"}),
    "Bash": ("Bash", {"command": "cd src && git status | head -5; cat remit/py.typed > /dev/null"}),
    "Edit of a specification": ("Edit", {"file_path": "docs/specs/a.md", "old_string": "teh", "new_string": "the"}),
    "Glob": ("Glob", {"pattern": "src/**/*.py"}),
}


class Hook:
    """A call decided in a process, in a project and with a state of its own."""

    def __init__(self, name: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="remit-bench-")
        project = Path(self.folder.name) / "project"
        (project / "docs/specs").mkdir(parents=True)
        (project / "src").mkdir()
        (project / "docs/specs/a.md").write_text("# A\n\nteh end\n" + "text\n" * 300)
        (project / "README.md").write_text("text\n" * 20)
        tool, tool_input = CALLS[name]
        payload = {"session_id": "bench", "cwd": str(project), "tool_name": tool, "tool_input": tool_input}
        self.payload = json.dumps(payload).encode()
        self.arguments = [str(ROOT / "src"), str(Path(self.folder.name) / "state"), str(project)]

    def python(self, code: str) -> Callable[[], object]:
        """Something that starts an isolated Python with the payload and waits for its end."""
        command = [sys.executable, "-I", "-S", "-c", code, *self.arguments]
        return lambda: subprocess.run(command, input=self.payload, capture_output=True, check=True)


def decided(name: str, code: str = HOOK) -> float:
    """How many times as long as an isolated Python that only loads json a decision takes."""
    hook = Hook(name)
    with hook.folder:
        return ratio(hook.python(code), hook.python(BASELINE), RUNS, spent)


def spread() -> list[str]:
    """Medians and 95th percentiles on the wall clock, interleaved."""
    hook = Hook("Read")
    works = {"a decision": HOOK, "an idle hook": IDLE, BASELINE: BASELINE, "pass": "pass"}
    taken: dict[str, list[float]] = {name: [] for name in works}
    with hook.folder:
        for _ in range(RUNS):
            for name, code in works.items():
                started = time.perf_counter()
                hook.python(code)()
                taken[name].append(1000 * (time.perf_counter() - started))
    lines = ["a process of python -I -S, on the wall clock (median, 95th percentile)"]
    return lines + [
        f"  {statistics.median(times):6.1f} ms  {statistics.quantiles(times, n=20)[-1]:6.1f} ms  {name}"
        for name, times in taken.items()
    ]


def benches() -> list[Bench]:
    """The gate."""
    against = "python -I -S -c 'import json'"
    found = [
        Bench(f"a decision as a process: {name}", against, "x", goal, lambda name=name: decided(name))  # type: ignore[misc]
        for name, goal in (("Read", 1.5), ("Bash", 1.5), ("Glob", 1.5), ("Edit of a specification", None))
    ]
    found[0] = found[0]._replace(explain=spread)
    return [*found, Bench("a hook that does nothing", against, "x", None, lambda: decided("Read", IDLE))]
