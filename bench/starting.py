"""How fast the command starts."""

from __future__ import annotations

import json
import marshal
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

from measure import Bench, medians, ratio, seconds

from remit.checking import check_text

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "examples/results/review-security.md"
#: The libraries that a check cannot do without.
PARTS = "import click, msgspec, pathlib, pyromark"
#: The libraries of the command line; a report on a terminal needs rich.
LIBRARIES = "import click, msgspec, rich.console"
COMMAND = "import sys; sys.argv[0] = 'remit'; from remit.surfaces.cli import main; main()"
RUNS = 11
#: How many of the slowest imports are named.
NAMED = 15
#: The bytes before the code in a compiled file.
PYC_HEAD = 16

_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \| ( *)(\S+)")


def python(*arguments: str) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Something that starts Python and waits for its end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": ""}

    def start() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=True, text=True)

    return start


def spent() -> float:
    """The processor time of all children so far: unlike the clock on the wall, other programs do not change it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


#: What is started, by the names that the benches use.
STARTS: dict[str, tuple[str, ...]] = {
    "pass": ("-c", "pass"),
    "libraries": ("-c", LIBRARIES),
    "floor": ("-c", PARTS),
    "check": ("-c", COMMAND, "check", str(RESULT)),
    "verify": ("-c", COMMAND, "verify", str(RESULT)),
    "help": ("-c", COMMAND, "--help"),
    "import": ("-c", "import remit"),
    "import check": ("-c", "import remit; remit.check"),
}


@cache
def processor_times() -> dict[str, float]:
    """The median processor time of each process, all of them started in turns."""
    return dict(zip(STARTS, medians([python(*words) for words in STARTS.values()], RUNS, spent), strict=True))


def start_up(name: str, baseline: str = "pass") -> float:
    """How many times as long as a bare Python, or another process, it takes."""
    return processor_times()[name] / processor_times()[baseline]


def floor_with_the_check() -> float:
    """What a start would cost if the code of Remit were loaded already: the libraries, and a warm check."""
    text = RESULT.read_text(encoding="utf-8")
    return start_up("floor") + seconds(lambda: check_text(text)) / processor_times()["pass"]


def decoding(loaded: str) -> float:
    """How many seconds decoding the modules of Remit takes that a process loaded, by its `-X importtime`."""
    names = [name for _, _, _, name in _IMPORT.findall(loaded) if name.split(".")[0] == "remit"]
    paths = [ROOT / "src" / name.replace(".", "/") for name in names]
    files = [path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py") for path in paths]
    code = [Path(cache_from_source(str(file))).read_bytes()[PYC_HEAD:] for file in files]
    return seconds(lambda: [marshal.loads(one) for one in code])


def floor_with_its_code() -> float:
    """The same, and decoding the modules that the command needs, without running them."""
    return floor_with_the_check() + decoding(imported()) / processor_times()["pass"]


@cache
def imported() -> str:
    """The imports of a check, as Python reports them."""
    return python("-X", "importtime", *STARTS["check"])().stderr


def imports() -> list[str]:
    """What the imports of a check cost, the slowest first."""
    rows = [(int(own), int(whole), len(indent), name) for own, whole, indent, name in _IMPORT.findall(imported())]
    outer = sum(whole for _, whole, indent, _ in rows if indent == 0)
    slow = sorted(rows, key=lambda row: -row[1])[:NAMED]
    lines = [f"imports of `remit check FILE`, {outer / 1000:.0f} ms in all (with what they bring; own time)"]
    return lines + [f"  {whole / 1000:6.1f} ms  {own / 1000:5.1f} ms  {name}" for own, whole, _, name in slow]


def answer_to_a_client() -> None:
    """Start `remit mcp`, ask one request and wait for its answer."""
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}) + "\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", COMMAND, "mcp"]
    done = subprocess.run(command, env=environment, input=asked, capture_output=True, check=True, text=True)
    assert json.loads(done.stdout)["id"] == 1


HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def benches() -> list[Bench]:
    """Starting."""
    return [
        Bench(
            "remit mcp, from start to the answer to initialize",
            "python -c 'import mcp.server.mcpserver'",
            "x",
            1.6,
            lambda: ratio(answer_to_a_client, python("-c", "import mcp.server.mcpserver"), RUNS, spent),
        ),
        Bench(
            "remit check FILE, from start to end",
            "python -c pass",
            "x",
            6.0,
            lambda: start_up("check"),
            imports,
        ),
        Bench(
            "remit check FILE, from start to end",
            LIBRARIES,
            "x",
            1.3,
            lambda: start_up("check", "libraries"),
        ),
        Bench("remit check FILE, its floor: " + PARTS, "python -c pass", "x", None, lambda: start_up("floor")),
        Bench("the same and the check itself, without loading it", "python -c pass", "x", None, floor_with_the_check),
        Bench(
            "the same and decoding its modules, without running them", "python -c pass", "x", None, floor_with_its_code
        ),
        Bench(
            "remit verify FILE, from start to end",
            "python -c pass",
            "x",
            6.0,
            lambda: start_up("verify"),
        ),
        Bench("remit --help", "python -c pass", "x", None, lambda: start_up("help")),
        Bench("import remit", "python -c pass", "x", 1.2, lambda: start_up("import")),
        Bench(
            "import remit; remit.check",
            "python -c pass",
            "x",
            None,
            lambda: start_up("import check"),
        ),
    ]
