"""How fast a hook answers as the client starts it: a separate process, isolated and without site."""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple

from measure import Bench, seconds
from starting import decoding, spent

from remit.checking import check_text

ROOT = Path(__file__).resolve().parent.parent
ENTRY = ROOT / "src/remit/surfaces/hooks/entry.py"
RESULTS = ROOT / "examples/results"
#: How often each hook is started; the first starts fill caches and do not count.
RUNS = 9
WARM = 1
REPORT_BYTES = 5000
#: Makes each report as long as the others.
FILLING = "- It was looked for in every handler and in the tests\n"
#: What follows the Findings of each example.
NEXT = "\n### Key References"
BASELINE = "import json"
GIT_AUTHOR = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
#: A hook that reads its payload and answers nothing.
IDLE = "import sys, json; json.loads(sys.stdin.buffer.read())"
#: What differs from run to run.
EACH = "EACH-RUN"
#: A placeholder for the path of the session's transcript.
TRANSCRIPT = "THE-TRANSCRIPT"
AGAINST = "python -I -S -c 'import json'"
#: What a check cannot do without: the floor of a hook that judges a report.
FLOOR = "import sys, gc; gc.disable(); sys.path.append({!r}); import json, msgspec, pyromark"

EXACT = """```python
# examples/shop/shop/prices.py:15
    return pence - (pence * percent + 50) // 100
```"""
WRONG = EXACT.replace("pence - (pence * percent + 50) // 100", "round(pence * (1 - percent / 100), 2)")

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "Read": ("Read", {"file_path": "README.md"}),
    "Read, denied": ("Read", {"file_path": "docs/specs/a.md"}),
    "Edit of code, denied": ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}),
    "Bash": ("Bash", {"command": "cd src && git status | head -5; cat a.py > /dev/null"}),
    "Agent": ("Agent", {"prompt": "Look at src", "subagent_type": "code-explorer", "description": "look"}),
    "Grep": ("Grep", {"pattern": "def", "path": "src/a.py"}),
    "Glob": ("Glob", {"pattern": "src/**/*.py"}),
    "Edit of a specification": ("Edit", {"file_path": "docs/specs/b.md", "old_string": "teh", "new_string": "the"}),
}
#: The edit is compared word by word, with a word list: it is rare, and has no goal.
WITHOUT_GOAL = ("Edit of a specification",)


class Report(NamedTuple):
    """What a subagent ends with: who sends it, as which example, and what is added to that."""

    agent: str
    example: str
    more: str = ""
    transcript: str = ""


REPORTS = {
    "an exploration": Report("code-explorer", "exploration"),
    "an invented reference": Report("code-explorer", "exploration", "- Limited in `examples/shop/shop/coupons.py:18`"),
    "a misspelt reference": Report("code-explorer", "exploration", "- Placed in `examples/shop/shop/order.py:26`"),
    "an exact quote": Report("code-explorer", "exploration", EXACT),
    "a misquoted fence": Report("code-explorer", "exploration", WRONG),
    "an implementation": Report("backend-specialist", "implementation"),
    "an implementation and its transcript": Report("backend-specialist", "implementation", transcript=TRANSCRIPT),
    "a review": Report("qa-engineer", "review-quality"),
}
#: The calls behind the example of an implementation: tool, what it was given, what it answered.
DONE: list[tuple[str, dict[str, Any], str]] = [
    ("Read", {"file_path": "examples/shop/shop/storage.py"}, "     1\tdef open() -> None:\n     2\t    ...\n"),
    *(
        ("Write", {"file_path": f"examples/shop/{name}", "content": "text\n" * 50}, "File created successfully")
        for name in ("shop/cart.py", "shop/prices.py", "tests/test_cart.py")
    ),
    ("Bash", {"command": "python -m pytest -q examples/shop/tests/test_cart.py"}, "15 passed in 0.92s"),
]


class Session:
    """A checkout whose settings are compiled, and a session in it."""

    def __init__(self) -> None:
        self.processes = 0
        self.folder = tempfile.TemporaryDirectory(prefix="remit-bench-")
        self.project = Path(self.folder.name) / "project"
        (self.project / "docs/specs").mkdir(parents=True)
        (self.project / "src").mkdir()
        (self.project / "docs/specs/a.md").write_text("text\n" * 300)
        (self.project / "docs/specs/b.md").write_text("# B\n\nteh end\n" + "text\n" * 300)
        (self.project / "README.md").write_text("text\n" * 20)
        (self.project / "src/a.py").write_text("def a(): ...\n" * 20)
        shutil.copytree(ROOT / "examples/shop", self.project / "examples/shop")
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "All of it"]):
            subprocess.run(["git", "-C", str(self.project), *GIT_AUTHOR, *words], check=True)
        self.transcript = Path(self.folder.name) / "agent.jsonl"
        self.transcript.write_text("".join(f"{json.dumps(line)}\n" for line in self._lines_of_transcript()))
        from remit.clients.hooks.compiling import compile_project

        compile_project(self.project)

    def _lines_of_transcript(self) -> Iterator[dict[str, Any]]:
        for number, (tool, given, answer) in enumerate(DONE):
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": answer}
            yield {"type": "assistant", "cwd": str(self.project), "message": {"content": [call]}}
            yield {"type": "user", "cwd": str(self.project), "message": {"content": [result]}}

    def hook(self, event: str, fields: Mapping[str, Any], *options: str) -> Callable[[], CompletedProcess[bytes]]:
        """A hook as the client runs it, with further options of Python."""
        return self._process([*options, str(ENTRY), event], event, fields)

    def python(self, code: str, fields: Mapping[str, Any]) -> Callable[[], CompletedProcess[bytes]]:
        """An isolated Python that is given the same payload."""
        return self._process(["-c", code], "PreToolUse", fields)

    def _process(
        self, arguments: list[str], event: str, fields: Mapping[str, Any]
    ) -> Callable[[], CompletedProcess[bytes]]:
        self.processes += 1  # each has its own session, so that none finds the calls and reports of another
        session = f"bench-{self.processes}"
        payload = {"session_id": session, "cwd": str(self.project), "hook_event_name": event, **fields}
        command = [sys.executable, "-I", "-S", *arguments]
        environment = {"CLAUDE_PROJECT_DIR": str(self.project), "PATH": "/usr/bin:/bin"}
        data = json.dumps(payload).replace(TRANSCRIPT, str(self.transcript))
        numbers = itertools.count()

        def start() -> CompletedProcess[bytes]:
            # Each run is a new call, or a new subagent.
            numbered = data.replace(EACH, f"{next(numbers)}").encode()
            return subprocess.run(command, input=numbered, env=environment, capture_output=True, check=True)

        return start


def call_fields(name: str) -> dict[str, Any]:
    """A call as a payload has it."""
    tool, tool_input = CALLS[name]
    return {"tool_name": tool, "tool_input": tool_input, "tool_use_id": f"toolu_{EACH}"}


def report_fields(name: str) -> dict[str, Any]:
    """The end of a subagent with such a report."""
    report = REPORTS[name]
    text = (RESULTS / f"{report.example}.md").read_text()
    filling = FILLING * ((REPORT_BYTES - len(text) - len(report.more)) // len(FILLING))
    return {
        "agent_id": f"a{EACH}",
        "agent_type": report.agent,
        "stop_hook_active": False,
        "agent_transcript_path": report.transcript,
        "last_assistant_message": text.replace(NEXT, f"\n{report.more}\n\n{filling}{NEXT}", 1),
    }


@cache
def measured() -> dict[str, tuple[float, float, float]]:
    """Processor time, and on the wall clock the median and the longest of each process, all of them in turns."""
    import msgspec

    session, fields = Session(), call_fields("Read")
    works = {
        AGAINST: session.python(BASELINE, fields),
        "libraries": session.python(FLOOR.format(str(Path(msgspec.__file__).parent.parent)), fields),
        "idle": session.python(IDLE, fields),
        "python -I -S -c pass": session.python("pass", fields),
        **{f"PreToolUse of {name}": session.hook("PreToolUse", call_fields(name)) for name in CALLS},
        **{f"SubagentStop with {name}": session.hook("SubagentStop", report_fields(name)) for name in REPORTS},
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    with session.folder:
        for _ in range(WARM + RUNS):
            for name, work in works.items():
                started, used = time.perf_counter(), spent()
                work()
                taken[name].append((spent() - used, 1000 * (time.perf_counter() - started)))
    return {name: _summary(times[WARM:]) for name, times in taken.items()}


def _summary(times: list[tuple[float, float]]) -> tuple[float, float, float]:
    used, walls = ([one[at] for one in times] for at in (0, 1))
    return statistics.median(used), statistics.median(walls), max(walls)


def answered(name: str) -> float:
    """How many times as long as an isolated Python that only loads json a process takes."""
    return measured()[name][0] / measured()[AGAINST][0]


def floor_with_the_check() -> float:
    """What a hook would cost if the code of Remit were loaded already: the libraries, and a warm check of a report."""
    text = report_fields("an exploration")["last_assistant_message"]
    return answered("libraries") + seconds(lambda: check_text(text)) / measured()[AGAINST][0]


def floor_with_its_code() -> float:
    """The same, and decoding the modules that the hook needs for a report without faults, without running them."""
    session = Session()
    with session.folder:
        hook = session.hook("SubagentStop", report_fields("an exploration"), "-X", "importtime")
        loaded = hook().stderr.decode()
    return floor_with_the_check() + decoding(loaded) / measured()[AGAINST][0]


def spread() -> list[str]:
    """Medians and longest times on the wall clock."""
    lines = ["a hook as a process, on the wall clock (median, longest)"]
    lines += [f"  {median:6.1f} ms  {late:6.1f} ms  {name}" for name, (_, median, late) in measured().items()]
    return [
        *lines,
        "of the end of a subagent, half is imports, and a sixth compiles the expressions that its text needs",
    ]


def benches() -> list[Bench]:
    """Hooks."""
    found = [
        Bench(
            f"PreToolUse of {name}, as a process",
            AGAINST,
            "x",
            None if name in WITHOUT_GOAL else 1.5,
            lambda name=name: answered(f"PreToolUse of {name}"),  # type: ignore[misc]
        )
        for name in CALLS
    ]
    found[0] = found[0]._replace(explain=spread)
    return [
        *found,
        *(
            Bench(
                f"SubagentStop with {name}, 5 KB, as a process",
                AGAINST,
                "x",
                3.0,
                lambda name=name: answered(f"SubagentStop with {name}"),  # type: ignore[misc]
            )
            for name in REPORTS
        ),
        Bench(
            "SubagentStop, its floor: loading msgspec and pyromark", AGAINST, "x", None, lambda: answered("libraries")
        ),
        Bench("the same and the check itself, without loading it", AGAINST, "x", None, floor_with_the_check),
        Bench("the same and decoding its modules, without running them", AGAINST, "x", None, floor_with_its_code),
        Bench("a hook that does nothing", AGAINST, "x", None, lambda: answered("idle")),
    ]
