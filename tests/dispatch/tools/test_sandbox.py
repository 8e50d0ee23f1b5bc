"""What bubblewrap keeps from a command. Skipped where the host has none that works."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from toolboxes import SECRET, Bench, ask, working_sandbox

from remit.dispatch.tools import sandbox

confined = pytest.mark.skipif(not working_sandbox(), reason=f"no sandbox on this host: {sandbox.obstacle()}")


@confined
def test_the_line_says_what_is_in_force(bench: Bench) -> None:
    assert bench.box().sandbox.startswith("bubblewrap (")
    assert "no network" in bench.box().sandbox
    assert "network allowed" in bench.box(network=True).sandbox


@pytest.mark.usefixtures("unconfined")
def test_without_a_sandbox_the_line_says_so_plainly(bench: Bench) -> None:
    line = bench.box().sandbox
    assert line.startswith("none: bubblewrap (bwrap) is not installed; commands run with this user's rights")
    assert "\n" not in line


def test_a_bubblewrap_that_does_not_work_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bwrap"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for script, why in {
        "echo 'No permissions to create new namespace' >&2; exit 1": "No permissions to create new namespace",
        "exit 0": "no reason given",  # it claims to work but ran nothing
    }.items():
        broken.write_text(f"#!/bin/sh\n{script}\n")
        broken.chmod(0o755)
        sandbox.obstacle.cache_clear()
        assert sandbox.obstacle() == f"bubblewrap does not work here ({why})"
    sandbox.obstacle.cache_clear()


@confined
def test_only_the_workspace_and_its_own_temporary_folder_can_be_written(bench: Bench) -> None:
    before = bench.listing()
    places = [f"{bench.outside}/x", f"{bench.outside}/secret.txt", "/etc/x", "/usr/x", "/var/x", "/x"]
    tried = "; ".join(f"(echo changed > {place}) 2>/dev/null && echo wrote {place}" for place in places)
    got = ask(bench.box(), "Bash", command=f"echo y > mine; echo t > /tmp/t; {tried}; mount -o remount,rw / 2>&1; true")
    assert "wrote /" not in got.text.replace(f"wrote {bench.outside}/x", "")  # a private /tmp may stand in its place
    assert bench.listing() == before
    assert not any(Path(place).exists() for place in places if not place.endswith("secret.txt"))
    assert (bench.root / "mine").read_text() == "y\n"
    assert not Path("/tmp/t").exists()


@confined
def test_homes_and_others_temporary_files_are_not_seen(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "secret.txt"
    other.write_text(SECRET)
    home = Path("~").expanduser()
    got = ask(bench.box(), "Bash", command=f"cat {other}; ls -A {home}; ls -A /run")
    assert SECRET not in got.text
    shown = set(got.text.split())
    if os.access(home, os.R_OK):
        hidden = {entry.name for entry in home.iterdir()} - {".pyenv", ".cargo", ".local", ".rustup", ".nvm"}
        hidden -= set(bench.root.parts)  # a workspace in the home folder is seen, of course
        assert not hidden & shown


@confined
def test_other_processes_and_their_environment_are_not_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    got = ask(bench.box(), "Bash", command="cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]* | wc -l")
    assert "PYTEST_CURRENT_TEST" not in got.text
    assert int(got.text.split("\n")[-1]) < 10
    assert ask(bench.box(), "Bash", command=f"kill -0 {os.getpid()}").failed or os.getpid() < 10


@confined
@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_there_only_if_allowed(bench: Bench, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        got = ask(bench.box(network=network), "Bash", command=f"(: < /dev/tcp/127.0.0.1/{port}) && echo reached")
    assert ("reached" in got.text) == network


@confined
def test_no_hook_can_be_planted(bench: Bench) -> None:
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
def test_no_capabilities_are_left(bench: Bench) -> None:
    assert ask(bench.box(), "Bash", command="grep CapEff /proc/self/status").text.split()[-1].strip("0") == ""
