"""What a job can reach: programs, settings, results of other plans, processes after its end."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import stat
import sys
import time
from pathlib import Path

import pytest
from support.running import Play, tools

from remit.configuration import load
from remit.digests import sha256_of
from remit.dispatch.health import HealthFact, _sandbox
from remit.dispatch.submit import Queueing
from remit.dispatch.tools import sandbox, toolbox
from remit.dispatch.tools.deciding import deciding_entries
from remit.dispatch.tools.tool_types import ToolLimits, ToolOutput
from remit.dispatch.tools.toolbox import Toolbox
from remit.dispatch.worker_settings import load_settings
from remit.errors import UsageError
from remit.registry.tools import OFFERED
from remit.testing import registry

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.process

confined = pytest.mark.skipif(bool(sandbox.sandbox_problem()), reason=f"no sandbox: {sandbox.sandbox_problem()}")


def test_where_a_sandbox_is_required_its_tests_are_not_skipped() -> None:
    if os.environ.get("SANDBOX_TESTS") == "required":
        assert sandbox.sandbox_problem() == ""
    workflow = (Path(__file__).parents[2] / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert "bubblewrap" in workflow
    assert "SANDBOX_TESTS=required" in workflow


#: Prints the files that could be opened for writing.
OPEN_ALL = """
import os
for top in ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs"):
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                os.close(os.open(folder + "/" + name, os.O_WRONLY))
                print(folder + "/" + name)
            except OSError:
                pass
try:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    print("/proc/sysrq-trigger")
except OSError:
    pass
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def box(work: Path, **limits: object) -> Toolbox:
    return Toolbox(work, OFFERED, spill=work.parent / "spill", limits=ToolLimits(**limits))  # type: ignore[arg-type]


def ask(tools: Toolbox, name: str, **arguments: object) -> ToolOutput:
    return asyncio.run(tools.call(name, arguments))


# The sandbox.


@confined
def test_no_setting_of_the_kernel_can_be_opened_for_writing(work: Path) -> None:
    (work / "probe.py").write_text(OPEN_ALL)
    assert ask(box(work), "Bash", command="python3 probe.py").text == "[The command printed nothing; exit code 0.]"


@confined
def test_without_the_mounts_root_could_write_settings_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without its mounts, the probe finds what root can do."""
    monkeypatch.setattr(sandbox, "_KERNEL", ())
    sandbox.probe_sandbox.cache_clear()
    try:
        assert bool(sandbox.root_problem()) is (os.geteuid() == 0)
    finally:
        sandbox.probe_sandbox.cache_clear()


#: Tries every way to make a file with the rights of its owner.
SET_USER = r"""
import contextlib, ctypes, os, stat, struct
call = ctypes.CDLL(None).syscall
open("a", "w").close()
here, file = os.open(".", os.O_RDONLY), os.open("a", os.O_RDWR)
for mode in (0o4755, 0o2755, 0o6755):
    for attempt in (
        lambda: os.chmod("a", mode),
        lambda: os.fchmod(file, mode),
        lambda: os.chmod("a", mode, dir_fd=here),
        lambda: os.open(f"b{mode}", os.O_CREAT | os.O_WRONLY, mode),
        lambda: os.link(f"/proc/self/fd/{os.open('.', os.O_TMPFILE | os.O_RDWR, mode)}", f"c{mode}"),
        lambda: os.mknod(f"d{mode}", mode | stat.S_IFREG),
        lambda: call(452, -100, b"a", mode, 0),
        lambda: call(437, -100, b"e%o" % mode, struct.pack("QQQ", 0o101, mode, 0), 24),
    ):
        with contextlib.suppress(OSError):
            attempt()
os.chmod("a", 0o1755)
"""


@confined
def test_no_command_makes_a_file_that_runs_with_the_rights_of_its_owner(work: Path) -> None:
    (work / "probe.py").write_text(SET_USER)
    line = "umask 0; python3 probe.py; cp -p /usr/bin/su su; install -m 4755 a i; chmod ug+s probe.py; echo done"
    assert "done" in ask(box(work), "Bash", command=line).text
    modes = {file.name: file.lstat().st_mode for file in work.iterdir()}
    assert modes["a"] & 0o7777 == 0o1755, "an ordinary change of the mode works"
    # Folders of a workspace that users share need the bit of the group, so only root is refused it.
    refused = stat.S_ISUID | (stat.S_ISGID if os.geteuid() == 0 else 0)
    assert {name: oct(mode) for name, mode in modes.items() if mode & refused} == {}


@confined
def test_without_the_filter_the_probe_finds_that_root_could_make_such_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "filter_words", lambda: ([], []))
    sandbox.probe_sandbox.cache_clear()
    try:
        assert sandbox.probe_sandbox().can_set_user
        assert ("set-user-ID" in sandbox.root_problem()) is (os.geteuid() == 0)
    finally:
        sandbox.probe_sandbox.cache_clear()


def fact(monkeypatch: pytest.MonkeyPatch, allow_tools: str, problem: str) -> HealthFact:
    monkeypatch.setenv("REMIT_ALLOW_TOOLS", allow_tools)
    monkeypatch.setattr("remit.dispatch.health.root_problem", lambda: problem)
    return _sandbox(load_settings(load(Path("/"))))


def test_doctor_finds_a_root_worker_with_bash_wrong_that_cannot_protect_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = "this is root, and commands can change settings of the kernel (/proc/sys)"
    found = fact(monkeypatch, "Read,Bash", problem)
    assert found.level == "bad"
    assert found.words.startswith(f"{problem}; run the worker as another user, or set allow_tools without Bash.")
    assert fact(monkeypatch, "*", problem).level == "bad"
    assert fact(monkeypatch, "", problem).level == "bad", "by default every tool is allowed"
    assert fact(monkeypatch, "Read,Bash(git log *)", problem).level == "bad"
    assert fact(monkeypatch, "Read", problem).level == "odd"
    assert fact(monkeypatch, "Read,Bash", "").level != "bad"


@confined
def test_only_programs_and_libraries_of_a_path_folder_are_visible(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "tool"
    for name in ("bin", "lib", "private"):
        (home / name).mkdir(parents=True)
        (home / name / "file").write_text(f"from {name}")
    (home / "notes.txt").write_text("from the parent")
    monkeypatch.setenv("PATH", str(home / "bin"), prepend=os.pathsep)
    got = ask(
        box(work), "Bash", command=f"cat {home}/bin/file {home}/lib/file; cat {home}/private/file {home}/notes.txt"
    )
    assert "from binfrom lib" in got.text
    assert "from private" not in got.text
    assert "from the parent" not in got.text


# Files that decide what runs next.

DECIDING = [
    *("remit.toml", "sub/remit.toml", "REMIT.toml", ".claude/settings.json", ".claude/settings.local.json"),
    *(
        ".claude/agents/new.md",
        ".claude/hooks/run.sh",
        "sub/.claude/settings.json",
        ".mcp.json",
        ".Claude/settings.json",
    ),
    *(".codex/config.toml", ".gemini/settings.json", ".cursor/hooks.json", ".remit-dismissals.toml"),
]


@pytest.mark.parametrize("path", DECIDING)
def test_a_file_tool_does_not_write_what_decides_what_runs_next(work: Path, path: str) -> None:
    got = ask(box(work), "Write", file_path=path, content="x")
    assert got.failed
    assert "only a person changes it" in got.text
    assert not (work / path).exists()


def test_a_link_to_a_deciding_file_is_not_written(work: Path) -> None:
    (work / "remit.toml").write_text("")
    (work / "other").symlink_to("remit.toml")
    (work / ".claude").mkdir()
    (work / "folder").symlink_to(".claude")
    assert ask(box(work), "Write", file_path="other", content="x").failed
    assert ask(box(work), "Write", file_path="folder/settings.json", content="x").failed
    assert (work / "remit.toml").read_text() == ""


@pytest.mark.parametrize("path", ["settings.json", "docs/remit.toml.md", "src/claude.py", "pyproject.toml"])
def test_other_files_are_written(work: Path, path: str) -> None:
    assert not ask(box(work), "Write", file_path=path, content="[project]\nname = 'a'\n").failed


def test_only_the_own_table_of_the_project_file_is_protected(work: Path) -> None:
    file = work / "pyproject.toml"
    file.write_text('[project]\nname = "remit-user"\n[tool.remit]\nallow_tools = ["Read"]\n')
    edit = {"file_path": "pyproject.toml", "old_string": '["Read"]', "new_string": '["Bash"]'}
    assert "only a person changes it" in ask(box(work), "Edit", **edit).text
    assert "only a person changes it" in ask(box(work), "Write", file_path="pyproject.toml", content="").text
    assert not ask(box(work), "Edit", file_path="pyproject.toml", old_string="remit-user", new_string="shop").failed
    assert file.read_text().startswith('[project]\nname = "shop"')


@confined
def test_a_command_changes_no_deciding_file_and_a_new_one_is_set_aside(work: Path) -> None:
    (work / "remit.toml").write_text("")
    (work / ".claude").mkdir()
    got = ask(
        box(work), "Bash", command="echo x > remit.toml; echo x > .claude/settings.json; echo x > .mcp.json; ls -A"
    )
    assert (work / "remit.toml").read_text() == ""
    assert not list((work / ".claude").iterdir())
    assert not (work / ".mcp.json").exists()
    assert [path.name for path in work.glob(".mcp.json.proposed-*")]
    assert ".mcp.json decides what runs next" in got.text


@confined
@pytest.mark.parametrize(
    "command",
    [
        "echo x > sub/remit.toml",
        "echo x > sub/.claude/settings.json",
        "rm -r sub/.claude",
        "mv sub/.claude sub/c",
        "mv sub away; mkdir -p sub/.claude; echo x > sub/.claude/settings.json; echo x > sub/remit.toml",
        "mkdir -p deep/er; mv sub deep/er/",
        "mkdir -p new/.claude; echo x > new/.claude/settings.json; ln -s /etc new/.codex; echo x > new/.envrc",
    ],
)
def test_a_command_changes_no_deciding_file_below_and_new_ones_are_set_aside(work: Path, command: str) -> None:
    (work / "sub" / ".claude").mkdir(parents=True)
    (work / "sub" / ".claude" / "settings.json").write_text("{}")
    (work / "sub" / "remit.toml").write_text("")
    ask(box(work), "Bash", command=command)
    for path in deciding_entries(work):
        entry = work / path
        content = (entry / "settings.json").read_text() if entry.name == ".claude" else entry.read_text()
        assert content in ("", "{}"), f"{path} was written by the command"


# Programs.


@pytest.mark.anyio
@pytest.mark.parametrize("policy", ["open", "strict"])
@pytest.mark.parametrize("preset", ["claude", "codex", "gemini"])
async def test_a_preset_that_is_not_listed_does_not_run_for_a_definition(
    play: Play, preset: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_POLICY", policy)
    async with play({"text": "never"}) as fleet:
        fleet.registry = registry(f"---\nname: other\nrunner: command\ncommand: {preset}\n---\nx\n")
        with pytest.raises(UsageError, match=rf'if you list it: {preset} = "preset"'):
            await fleet.submit(subagent_def="other")


# Results of other plans.


def test_a_job_reads_the_results_of_its_own_plan_only(work: Path, tmp_path: Path) -> None:
    results = tmp_path / "data" / "results"
    for plan in (1, 2):
        (results / f"plan-{plan}").mkdir(parents=True)
        (results / f"plan-{plan}" / "7.md").write_text(f"result of plan {plan}")
    tools = box(work, results=(str(results / "plan-1"),), hidden=(str(tmp_path / "data"),))
    assert "result of plan 1" in ask(tools, "Read", file_path=str(results / "plan-1/7.md")).text
    for path in ("plan-2/7.md", "plan-1/../plan-2/7.md", "plan-1/x.md", "plan-11/7.md"):
        assert ask(tools, "Read", file_path=str(results / path)).failed


@pytest.mark.anyio
async def test_a_job_with_a_key_like_that_of_a_plan_reads_no_results(play: Play, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "work" / sha256_of(b"tests")[:32] / "results" / "plan-1"
    folder.mkdir(parents=True)
    (folder / "1.md").write_text("the result of another plan")
    async with play(tools(("Read", {"file_path": str(folder / "1.md")})), {"text": "done"}) as fleet:
        assert fleet.settings.work == folder.parents[1]
        number = await fleet.submit(allowed_tools=["Read"], queueing=Queueing(key="plan-1-own"))
        await fleet.work()
        (text,) = await fleet.outputs(number)
        assert "is outside the workspace" in text


# Processes.


def test_at_most_four_searches_of_a_job_run_at_once(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "a.txt").write_text("x")
    running = most = 0
    inner = toolbox.TOOLS["Grep"].run

    async def counted(*arguments: object) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await inner(*arguments)  # type: ignore[arg-type]
        finally:
            running -= 1

    tools = box(work)
    monkeypatch.setitem(tools._tools, "Grep", toolbox.TOOLS["Grep"]._replace(run=counted))

    async def many() -> list[ToolOutput]:
        return await asyncio.gather(*(tools.call("Grep", {"pattern": "x"}) for _ in range(12)))

    assert all("a.txt" in got.text for got in asyncio.run(many()))
    assert most == 4


KILLER = """
import os, signal, subprocess, sys, time
subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", sys.argv[1]])
    os._exit(0)
parent = os.getppid()
while True:
    with open(f"/proc/{parent}/cmdline", "rb") as file:
        if b"supervisor" in file.read():
            break
    with open(f"/proc/{parent}/stat") as file:
        parent = int(file.read().rpartition(")")[2].split()[1])
os.kill(parent, signal.SIGKILL)
time.sleep(60)
"""


def test_killing_the_supervisor_leaves_no_daemon_and_is_reported(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "sandbox_problem", lambda: "bubblewrap (bwrap) is not installed")
    (work / "killer.py").write_text(KILLER)
    mark = str(900_000 + os.getpid())
    got = ask(box(work, shell_seconds=30), "Bash", command=f"exec {shlex.quote(sys.executable)} killer.py {mark}")
    assert got.failed
    assert got.text.startswith("The process that supervises the command was killed.")
    assert "some may still run" in got.text
    deadline = time.monotonic() + 5
    while (left := alive(f"sleep {mark}")) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert left == []


def alive(mark: str) -> list[int]:
    """Return the live processes with this command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if line.strip() == mark and state not in (b"Z", b"X"):
            found.append(int(process.name))
    return found
