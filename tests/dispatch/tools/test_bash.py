"""Bash: environment, limits, and the end of all its processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.waiting import PATIENCE, until
from toolboxes import SECRET, Bench, alive, ask

from remit.evidence.receipts import ReceiptIndex

pytestmark = pytest.mark.usefixtures("each_confinement")


def test_a_command_runs_in_the_workspace_and_is_recorded(bench: Bench) -> None:
    got = ask(bench.box(), "Bash", command="pwd; echo more >&2; echo x > new.txt", description="try it")
    assert got.text == f"{bench.root}\nmore"
    assert (got.failed, got.receipt.exit, got.receipt.command) == (False, 0, "pwd; echo more >&2; echo x > new.txt")
    assert (bench.root / "new.txt").read_text() == "x\n"
    ledger = ReceiptIndex([got.receipt], str(bench.root))
    assert ledger.executed
    assert ledger.edited == {"new.txt"}


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("kill -9 $$", 137), ("no-such-program", 127)])
def test_a_failing_command_is_reported(bench: Bench, command: str, status: int) -> None:
    got = ask(bench.box(), "Bash", command=command)
    assert got.text.startswith(f"Exit code {status}")
    assert (got.failed, got.receipt.failed, got.receipt.exit) == (True, True, status)
    assert not ReceiptIndex([got.receipt], str(bench.root)).executed


def test_output_keeps_its_order_and_there_is_no_input(bench: Bench) -> None:
    got = ask(bench.box(), "Bash", command="cat; for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    assert got.text == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3"


def test_success_without_output_is_reported(bench: Bench) -> None:
    assert ask(bench.box(), "Bash", command="true").text == "[The command printed nothing; exit code 0.]"


def test_no_secret_of_the_worker_is_in_its_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD_X", "BASH_ENV", "PYTHONPATH", "LC_OK"):
        monkeypatch.setenv(name, f"sk-{name}")
    got = ask(bench.box(), "Bash", command="env | sort")
    names = {line.partition("=")[0] for line in got.text.split("\n")}
    assert "sk-LC_OK" in got.text
    assert got.text.count("sk-") == 1
    assert names - {"LANG", "LANGUAGE", "TZ", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "RUSTUP_HOME"} - {
        n for n in names if n[:3] == "LC_"
    } == {
        *("HOME", "TMPDIR", "TERM", "PAGER", "GIT_PAGER", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "NO_COLOR"),
        "REMIT_CALL",
    }


def test_its_home_is_private_empty_and_gone_afterwards(bench: Bench, each_confinement: str) -> None:
    got = ask(bench.box(), "Bash", command='ls -A "$HOME" | wc -l; touch "$HOME/x" "$TMPDIR/y" && echo "$HOME"')
    count, home = got.text.split()
    assert (count, got.failed) == ("0", False)
    assert home != os.environ.get("HOME")
    assert not Path(home).exists()


_STAY = {
    "a child": "sleep {mark} & wait",
    "a grandchild": "(sleep {mark} & wait) & wait",
    "a child that ignores SIGTERM": "trap '' TERM; sleep {mark}",
    "a child in a session of its own": "setsid sleep {mark} & wait",
    "a daemon": "(setsid sh -c 'trap \"\" TERM; sleep {mark} & wait' >/dev/null 2>&1 &) ; sleep {mark}",
}


def _mark() -> str:
    _mark.number += 1  # type: ignore[attr-defined]
    return f"3{os.getpid()}{_mark.number:03}"  # type: ignore[attr-defined]


_mark.number = 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("what", _STAY)
def test_a_timeout_ends_all_processes(bench: Bench, what: str) -> None:
    mark = _mark()
    began = time.monotonic()
    got = ask(bench.box(shell_seconds=0.7), "Bash", command="echo begun; " + _STAY[what].format(mark=mark))
    assert time.monotonic() - began < PATIENCE
    assert (got.failed, got.receipt.exit) == (True, 124)
    assert got.text.startswith("The command took longer than 0.7 seconds and was stopped with all its processes.")
    assert got.text.endswith("begun")
    assert alive(f"sleep {mark}") == []


@pytest.mark.parametrize("what", _STAY)
def test_cancellation_ends_all_processes_and_is_raised(bench: Bench, what: str) -> None:
    mark = _mark()

    async def cancelled() -> float:
        running = asyncio.ensure_future(bench.box().call("Bash", {"command": _STAY[what].format(mark=mark)}))
        await asyncio.to_thread(until, lambda: bool(alive(f"sleep {mark}")))
        assert alive(f"sleep {mark}")
        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return time.monotonic() - began

    assert asyncio.run(cancelled()) < PATIENCE
    assert alive(f"sleep {mark}") == []


def test_background_processes_end_with_their_command(bench: Bench) -> None:
    mark = _mark()
    began = time.monotonic()
    got = ask(bench.box(), "Bash", command=f"setsid sleep {mark} & disown; echo done")
    assert got.text == "done"
    assert time.monotonic() - began < PATIENCE
    assert alive(f"sleep {mark}") == []


def test_processes_end_with_a_killed_worker(bench: Bench, each_confinement: str) -> None:
    mark = _mark()
    bare = "sandbox.sandbox_problem = lambda: 'none'\n" if each_confinement == "unconfined" else ""
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom remit.dispatch.tools import sandbox\n"
        f"from remit.dispatch.tools.toolbox import Toolbox\n{bare}"
        f"box = Toolbox(Path({str(bench.root)!r}), ['Bash'], spill=Path({str(bench.spill)!r}))\n"
        f"asyncio.run(box.call('Bash', {{'command': 'setsid sleep {mark} & wait'}}))\n"
    )
    worker = subprocess.Popen([sys.executable, str(bench.write("worker.py", script))])
    try:
        until(lambda: bool(alive(f"sleep {mark}")))
    finally:
        worker.kill()
        worker.wait()
    until(lambda: not alive(f"sleep {mark}"))


def test_a_command_cannot_survive_by_stopping_its_supervisor(bench: Bench, each_confinement: str) -> None:
    if each_confinement != "unconfined":
        pytest.skip("in a sandbox the supervisor cannot be seen")
    mark = _mark()
    got = ask(bench.box(shell_seconds=0.7), "Bash", command=f"kill -STOP $PPID; setsid sleep {mark} & wait")
    assert got.receipt.exit == 124
    assert alive(f"sleep {mark}") == []


def test_huge_output_is_bounded(bench: Bench) -> None:
    box = bench.box(kept_bytes=100_000, characters=5_000)
    got = ask(box, "Bash", command="head -c 50000000 /dev/zero | tr '\\0' 'x'", key="k")
    assert len(got.text) <= 5_000
    kept = (bench.spill / "k.txt").read_text()
    assert len(kept) < 101_000
    assert kept.endswith("[49,900,000 more bytes were printed and dropped. Print less, or redirect to a file.]")
    assert (got.failed, got.receipt.exit) == (False, 0)


def test_output_that_is_not_text_can_be_stored(bench: Bench) -> None:
    assert ask(bench.box(), "Bash", command=r"printf 'a\0\377b'").text == "a\ufffd\ufffdb"


def test_resource_limits_are_effective(bench: Bench) -> None:
    box = bench.box(written_bytes=1024**2, memory_bytes=256 * 1024**2)
    got = ask(box, "Bash", command="ulimit -c; head -c 3000000 /dev/zero > big; ls -l big | cut -d' ' -f5")
    assert got.text.split("\n")[0] == "0"
    assert (bench.root / "big").stat().st_size == 1024**2
    # `tail` must keep the long line in memory.
    hungry = "set -o pipefail; head -c 1000000000 /dev/zero | tail -n 1 > /dev/null && echo had it"
    assert "memory exhausted" in ask(box, "Bash", command=hungry).text


@pytest.mark.parametrize(("wish", "most", "said"), [(800, 600, "0.8"), (1, 0.5, "0.5"), (900_000, 0.5, "0.5")])
def test_a_requested_timeout_is_in_milliseconds_and_bounded(bench: Bench, wish: int, most: float, said: str) -> None:
    got = ask(bench.box(max_shell_seconds=most), "Bash", command="sleep 30", timeout=wish)
    assert got.text.startswith(f"The command took longer than {said} seconds")


def test_signals_reach_programs(bench: Bench) -> None:
    assert ask(bench.box(shell_seconds=20), "Bash", command="yes | head -2; echo ${PIPESTATUS[0]}").text == "y\ny\n141"


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800", ""])
def test_a_command_with_nul_is_refused(bench: Bench, command: str) -> None:
    got = ask(bench.box(), "Bash", command=command)
    assert got.failed
    assert got.receipt.exit in (126, None)


def test_two_calls_do_not_block_the_loop(bench: Bench) -> None:
    async def both() -> int:
        box, ticks = bench.box(), 0
        running = asyncio.ensure_future(box.call("Bash", {"command": "sleep 0.5"}))
        while not running.done():
            await asyncio.wait([running], timeout=0.01)
            ticks += 1
        return ticks

    assert asyncio.run(both()) > 10


def test_a_shell_without_patterns_may_chain(bench: Bench) -> None:
    (bench.root / "a").write_text("1\n2\n")
    assert ask(bench.box("Bash"), "Bash", command="cat a | wc -l && echo $((1+1)) > b; cat b").text == "2\n2"


def test_a_command_cannot_signal_the_worker(bench: Bench) -> None:
    """A command that kills its process group does not reach the worker or the supervisor."""
    got = ask(bench.box(), "Bash", command="kill -TERM 0; sleep 30")
    assert got.receipt.exit == 128 + signal.SIGTERM
    assert SECRET not in got.text
