"""How fast transcripts are audited, and how the time grows with their size."""

from __future__ import annotations

import json
import tempfile
from functools import cache, partial
from pathlib import Path

import msgspec
from measure import Bench, medians, ratio

from remit.clients.transcripts.auditing import audit_file
from remit.clients.transcripts.reading import read_transcript

_OUTPUT = "src/cart.py:12: the cart of a session, its lines, its discount code and what it costs\n" * 60
#: A megabyte of public transcripts has 22 texts with 6,000 characters, 60 sentences in lines that may state something,
#: and three statements. Here it has 29 texts, 90 such sentences and seven statements.
_TEXT = "The total has no discount, so the next step is to look at the cart. " * 2 + "I looked at the prices. "
_STATES = 8


@cache
def transcript(turns: int) -> Path:
    """A session with a number of turns: three calls with outputs of 5 KB, and a text that may have statements."""
    path = Path(tempfile.mkdtemp(prefix="remit-bench-")) / "session.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(turns):
            for line in _turn(number):
                file.write(json.dumps({"sessionId": "s", "uuid": f"{number}", "cwd": "/shop", **line}) + "\n")
    return path


def _turn(number: int) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = [{"type": "user", "message": {"content": "Go on."}}]
    for step, command in enumerate(("grep -rn cart src", "python -m pytest -q", "git diff")):
        name = f"{number}-{step}"
        call = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
        output = {"type": "tool_result", "tool_use_id": name, "content": f"{_OUTPUT}\n48 passed in 0.9s"}
        lines += [
            {"type": "assistant", "message": {"content": [call]}},
            {"type": "user", "message": {"content": [output]}, "toolUseResult": {"stdout": _OUTPUT}},
        ]
    text = _TEXT if number % _STATES else f"{_TEXT}All {number % 50} tests pass, and I updated `src/cart.py`."
    return [*lines, {"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}]


def read_lines(path: Path) -> None:
    """Read the same bytes as JSON lines."""
    for line in path.read_bytes().splitlines():
        msgspec.json.decode(line)


def seconds_of_gigabyte(path: Path) -> float:
    """How long a gigabyte takes on one core. Two cores take half of it, because each file has its own process."""
    (seconds,) = medians([partial(audit_file, path)], repeats=3)
    return seconds * 1e9 / path.stat().st_size


def _explained() -> list[str]:
    """State where the time goes."""
    path = transcript(500)
    audited, read, lines = medians(
        [partial(audit_file, path), partial(read_transcript, path), partial(read_lines, path)], 3
    )
    return [
        f"an audit takes {1000 * audited:.0f} ms: reading the calls {1000 * read:.0f}, {1000 * lines:.0f} of it JSON",
        "the rest: the texts, which are read first, and the outcome of each run, which is read from its output",
    ]


def growth() -> float:
    """The cost of a turn in a session of 1,000 turns, against one of 100."""
    small, large = medians([partial(audit_file, transcript(turns)) for turns in (100, 1_000)], repeats=3)
    return large / small / 10


def benches() -> list[Bench]:
    """Auditing."""
    path = transcript(500)
    return [
        Bench(
            f"audit of a transcript of {path.stat().st_size / 1e6:.0f} MB",
            "reading it as JSON lines",
            "x",
            3.0,
            lambda: ratio(lambda: audit_file(path), lambda: read_lines(path), repeats=3),
            _explained,
        ),
        Bench("1 GB of such transcripts on one core", "one minute", "s", 60.0, lambda: seconds_of_gigabyte(path)),
        Bench("cost of a turn among 1,000", "cost of a turn among 100", "x", 1.5, growth),
    ]
