"""The confinement by bubblewrap; skipped on hosts without it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest
from toolboxes import SECRET, Bench, ask, working_sandbox

from remit.dispatch.tools import sandbox
from remit.dispatch.tools.tool_types import ToolLimits
from remit.dispatch.tools.toolbox import Toolbox

pytestmark = pytest.mark.process

confined = pytest.mark.skipif(not working_sandbox(), reason=f"no sandbox on this host: {sandbox.sandbox_problem()}")


@confined
def test_the_description_states_the_effective_confinement(bench: Bench) -> None:
    assert bench.box().sandbox.startswith("bubblewrap (")
    assert "no network" in bench.box().sandbox
    assert "network allowed" in bench.box(network=True).sandbox


@pytest.mark.usefixtures("unconfined")
def test_the_description_states_that_there_is_no_sandbox(bench: Bench) -> None:
    line = bench.box().sandbox
    assert line.startswith("none: bubblewrap (bwrap) is not installed; commands run with this user's rights")
    assert "\n" not in line


def test_a_bubblewrap_that_does_not_work_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bwrap"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for script, why in {
        "echo 'No permissions to create new namespace' >&2; exit 1": "No permissions to create new namespace",
        "exit 0": "no reason given",  # it exits with 0 but runs nothing
    }.items():
        broken.write_text(f"#!/bin/sh\n{script}\n")
        broken.chmod(0o755)
        sandbox.probe_sandbox.cache_clear()
        assert sandbox.sandbox_problem() == f"bubblewrap does not work here ({why})"
    sandbox.probe_sandbox.cache_clear()


@confined
def test_only_the_workspace_and_its_own_temporary_folder_can_be_written(bench: Bench) -> None:
    before = bench.listing()
    places = [f"{bench.outside}/x", f"{bench.outside}/secret.txt", "/etc/x", "/usr/x", "/var/x", "/x"]
    tried = "; ".join(f"(echo changed > {place}) 2>/dev/null && echo wrote {place}" for place in places)
    got = ask(bench.box(), "Bash", command=f"echo y > mine; echo t > /tmp/t; {tried}; mount -o remount,rw / 2>&1; true")
    assert "wrote /" not in got.text.replace(f"wrote {bench.outside}/x", "")  # a private /tmp can be mounted there
    assert bench.listing() == before
    assert not any(Path(place).exists() for place in places if not place.endswith("secret.txt"))
    assert (bench.root / "mine").read_text() == "y\n"
    assert not Path("/tmp/t").exists()


@confined
def test_homes_and_other_temporary_files_are_invisible(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "secret.txt"
    other.write_text(SECRET)
    home = Path("~").expanduser()
    got = ask(bench.box(), "Bash", command=f"cat {other}; ls -A {home}; ls -A /run")
    assert SECRET not in got.text
    shown = set(got.text.split())
    if os.access(home, os.R_OK):
        hidden = {entry.name for entry in home.iterdir()} - {".pyenv", ".cargo", ".local", ".rustup", ".nvm"}
        hidden -= set(bench.root.parts)  # a workspace in the home folder is visible
        assert not hidden & shown


@confined
def test_other_processes_and_their_environment_are_invisible(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    got = ask(bench.box(), "Bash", command="cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]* | wc -l")
    assert "PYTEST_CURRENT_TEST" not in got.text
    assert int(got.text.split("\n")[-1]) < 10
    assert ask(bench.box(), "Bash", command=f"kill -0 {os.getpid()}").failed or os.getpid() < 10


@confined
@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_available_only_if_allowed(bench: Bench, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        got = ask(bench.box(network=network), "Bash", command=f"(: < /dev/tcp/127.0.0.1/{port}) && echo reached")
    assert ("reached" in got.text) == network


@confined
def test_no_git_hook_can_be_created(bench: Bench) -> None:
    bench.write("a", "a")
    bench.commit()
    got = ask(
        bench.box(),
        "Bash",
        command="git log --oneline && echo x > .git/hooks/post-checkout; git config core.fsmonitor x",
    )
    assert "a change" in got.text
    assert "Read-only file system" in got.text
    assert not (bench.root / ".git/hooks/post-checkout").exists()
    assert "fsmonitor" not in (bench.root / ".git/config").read_text()


@confined
def test_hidden_folders_are_covered_inside_the_workspace_too(bench: Bench) -> None:
    bench.write("data/socket", SECRET)
    bench.write("key", SECRET)
    box = bench.box(hidden=(f"{bench.root}/data", f"{bench.root}/key", f"{bench.root}/none"))
    got = ask(box, "Bash", command="ls -A data; cat data/socket key; echo end")
    assert SECRET not in got.text
    assert got.text.endswith("end")


@confined
def test_a_git_link_does_not_uncover_what_is_hidden(bench: Bench) -> None:
    (bench.root / ".git").symlink_to(bench.outside)
    got = ask(bench.box(), "Bash", command="echo begun; cat .git/secret.txt")
    assert got.text.startswith("Exit code 1\nbegun\n")
    assert SECRET not in got.text


@confined
def test_all_capabilities_are_dropped(bench: Bench) -> None:
    assert ask(bench.box(), "Bash", command="grep CapEff /proc/self/status").text.split()[-1].strip("0") == ""


@confined
def test_only_programs_and_the_workspace_are_visible(bench: Bench, tmp_path: Path) -> None:
    bench.write("mine.txt", "my own text")
    got = ask(bench.box(), "Bash", command=f"cat mine.txt; cat {bench.outside}/secret.txt; ls -A / {tmp_path}")
    assert "my own text" in got.text
    assert SECRET not in got.text
    assert "outside" not in got.text.split(f"{tmp_path}:")[-1]
    allowed = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "gnu", "proc", "run", "sbin", "sys"}
    seen = set(got.text.split("/:\n")[1].split("\n\n")[0].split("\n"))
    ways = {Path(place).parts[1] for place in [bench.root, *os.environ["PATH"].split(":"), Path("~").expanduser()]}
    ways |= {Path(sys.prefix).parts[1], Path(sys.base_prefix).parts[1]}
    assert not seen - allowed - ways - {"tmp", "usr", "var"}


@confined
def test_private_files_of_etc_are_invisible(bench: Bench) -> None:
    got = ask(bench.box(), "Bash", command="ls /etc/shadow /etc/gshadow /etc/sudoers /etc/ssl/private /etc/ssh; true")
    assert got.text.count("No such file") == 5


@confined
def test_sockets_of_the_host_cannot_be_reached(bench: Bench, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        place = tmp_path / "s"
        server.bind(str(place))
        server.listen()
        script = f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r}); print('reached')"
        assert "reached" not in ask(bench.box(), "Bash", command=f'python3 -c "{script}"').text


@confined
@pytest.mark.parametrize("command", ["python3 -c 'import ssl, json; print(40 + 2)'", "git --version && echo 42"])
def test_programs_of_the_host_work(bench: Bench, command: str) -> None:
    got = ask(bench.box(), "Bash", command=command)
    assert got.text.endswith("42"), got.text


@confined
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler on this host")
def test_a_compiler_works(bench: Bench) -> None:
    bench.write("a.c", '#include <stdio.h>\nint main(void) { puts("42"); return 0; }\n')
    assert ask(bench.box(), "Bash", command="cc a.c -o a && ./a").text == "42"


@confined
def test_a_toolchain_on_the_path_is_visible_with_its_installation(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, project = tmp_path / "tool", tmp_path / "project"
    for place, more in ((tool, "lib"), (project, ".git")):
        (place / "bin").mkdir(parents=True)
        (place / more).mkdir()
        (place / "lib").mkdir(exist_ok=True)
        (place / "lib" / "text").write_text(f"from {place.name}")
        script = place / "bin" / f"say-{place.name}"
        script.write_text(f"#!/bin/sh\necho said by {place.name}; cat {place}/lib/text\n")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(place / "bin"), prepend=os.pathsep)
    got = ask(bench.box(), "Bash", command="say-tool; say-project")
    assert "said by tool\nfrom toolsaid by project\n" in got.text
    assert "from project" not in got.text  # files of other projects are not needed


@confined
def test_a_worktree_sees_no_other_worktrees(bench: Bench, tmp_path: Path) -> None:
    bench.write("a", "a")
    bench.commit()
    data = bench.root / ".remit"
    bench.git("worktree", "add", "--quiet", "--detach", str(data / "worktrees" / "job-1"))
    (data / "spill" / "job-2").mkdir(parents=True)
    (data / "spill" / "job-2" / "o.txt").write_text(SECRET)
    box = Toolbox(
        data / "worktrees" / "job-1", ["Bash", "Read"], spill=bench.spill, limits=ToolLimits(hidden=(str(data),))
    )
    got = ask(box, "Bash", command="cat a; git log --oneline; cat ../../spill/job-2/o.txt; ls ../.. ../../../a")
    assert "a change" in got.text
    assert SECRET not in got.text
    assert "spill" not in got.text.replace("../../spill/job-2/o.txt", "")
    assert ask(box, "Read", file_path="a").text.endswith("a")


@confined
@pytest.mark.parametrize("how", ["link", "file"])
def test_a_git_folder_elsewhere_in_the_workspace_cannot_be_written(bench: Bench, how: str) -> None:
    bench.git("init", "--quiet", "--separate-git-dir", str(bench.root / "meta"))
    if how == "link":
        (bench.root / ".git").unlink()
        (bench.root / ".git").symlink_to("meta")
    got = ask(bench.box(), "Bash", command="echo x > meta/hooks/post-checkout; echo x >> meta/config; mv meta other")
    assert got.failed
    assert not (bench.root / "meta/hooks/post-checkout").exists()
    assert "x" not in (bench.root / "meta/config").read_text().split("\n")


@confined
def test_the_history_of_a_checkout_around_the_workspace_can_be_read(bench: Bench) -> None:
    bench.write("part/a", "a")
    bench.write("b", SECRET)
    bench.commit()
    box = Toolbox(bench.root / "part", ["Bash"], spill=bench.spill)
    got = ask(box, "Bash", command="git log --oneline; cat ../b; echo x > ../.git/hooks/post-checkout")
    assert "a change" in got.text
    assert SECRET not in got.text
    assert not (bench.root / ".git/hooks/post-checkout").exists()


def test_the_description_states_what_is_not_confined(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "sandbox_problem", lambda: "")
    assert "memory is limited per process" in bench.box().sandbox
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "as root the number of processes is not limited" in bench.box().sandbox
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "as root" not in bench.box().sandbox
