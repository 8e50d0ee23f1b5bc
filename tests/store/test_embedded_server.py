"""The embedded PostgreSQL: shared, private, started on demand, stopped by its last user, repaired after crashes."""

from __future__ import annotations

import asyncio
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
from support.fleet import Fleet, opened
from support.waiting import until

from remit.store import server as servers
from remit.store.database import open_database
from remit.store.server import EmbeddedServer
from remit.surfaces.cli.with_database import scratch_folder


@pytest.fixture
def embedded_fleet(source: ForkServer, tmp_path: Path) -> Iterator[Fleet]:
    """Commands that use the embedded database."""
    with opened(source, tmp_path, None) as team:
        yield team
    stop_server(tmp_path / "data" / "postgres")


def stop_server(folder: Path) -> None:
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
    """Kill a process that is not a child of this one and wait for its end."""
    gone = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert select.select([gone], [], [], 30)[0]
    os.close(gone)


def test_concurrent_commands_share_the_server_and_the_last_stops_it(embedded_fleet: Fleet) -> None:
    folder = embedded_fleet.folder / "data" / "postgres"
    commands = [embedded_fleet.start("jobs", "list") for _ in range(6)]

    assert [command.wait() for command in commands] == [0] * 6, [command.output for command in commands]
    assert (folder / "made").exists()
    assert not server_of(embedded_fleet).is_listening()
    assert not (folder / "data" / "postmaster.pid").exists(), "it was shut down"


def test_the_server_runs_as_long_as_a_process_uses_it(embedded_fleet: Fleet) -> None:
    mine = server_of(embedded_fleet)
    mine.open()
    pid = postmaster(embedded_fleet.folder / "data" / "postgres")
    assert embedded_fleet.run("jobs", "list")[0] == 0
    assert mine.is_listening()
    assert postmaster(embedded_fleet.folder / "data" / "postgres") == pid

    mine.close()

    assert not mine.is_listening()
    mine.close()  # a second call does nothing


def test_only_its_owner_can_connect(embedded_fleet: Fleet) -> None:
    server = server_of(embedded_fleet)
    server.open()
    try:
        folder = embedded_fleet.folder / "data" / "postgres"
        for path in (folder, folder / "data", server.socket_folder):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
        socket = server.socket_folder / ".s.PGSQL.5432"
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
        with psycopg.connect(server.address) as connection:
            row = connection.execute("SHOW listen_addresses").fetchone()
        assert row == ("",), "it does not listen on the network"
        assert (embedded_fleet.folder / "data").exists()
    finally:
        server.close()


def test_a_command_works_after_the_server_was_killed(embedded_fleet: Fleet) -> None:
    server = server_of(embedded_fleet)
    server.open()
    server._unlock()  # as if the process that uses it had died
    kill(postmaster(embedded_fleet.folder / "data" / "postgres"))

    code, said = embedded_fleet.run("jobs", "list")

    assert code == 0, said
    assert not server.is_listening()


def test_the_next_command_uses_and_stops_the_server_of_a_killed_command(embedded_fleet: Fleet) -> None:
    worker = embedded_fleet.worker()
    pid = postmaster(embedded_fleet.folder / "data" / "postgres")
    worker.kill()
    assert server_of(embedded_fleet).is_listening()
    next_one = embedded_fleet.worker()
    assert postmaster(embedded_fleet.folder / "data" / "postgres") == pid
    next_one.send_signal(signal.SIGTERM)
    assert next_one.wait() == 0
    assert not server_of(embedded_fleet).is_listening()


@pytest.mark.parametrize("dies", ["initdb", "the command"])
def test_an_interrupted_first_start_is_repaired(dies: str, embedded_fleet: Fleet) -> None:
    folder = embedded_fleet.folder / "data" / "postgres"
    first = embedded_fleet.start("jobs", "list")
    pid = until(lambda: _child(first, "initdb", folder))
    if dies == "initdb":
        kill(pid)
        assert first.wait() == 3
        assert first.output.startswith(f"remit: the embedded database in {folder} does not start (initdb: ")
    else:
        first.kill()  # initdb continues without it
    assert not (folder / "made").exists()

    code, said = embedded_fleet.run("jobs", "list")

    assert code == 0, said
    assert (folder / "made").exists()


def _child(process: Process, name: str, folder: Path) -> int | None:
    """Return the process with this name that creates the database of a folder, once it writes."""
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


def test_killing_a_command_while_the_server_starts_does_no_harm(embedded_fleet: Fleet) -> None:
    assert embedded_fleet.run("jobs", "list")[0] == 0
    folder = embedded_fleet.folder / "data" / "postgres"
    first = embedded_fleet.start("jobs", "list")
    # On a busy machine the start can be complete before the kill; then there is nothing to test.
    until(lambda: (folder / "data" / "postmaster.pid").exists() or not first.is_alive)
    if first.is_alive:
        first.kill()

    code, said = embedded_fleet.run("jobs", "list")

    assert code == 0, said


def test_a_long_folder_for_temporary_files_is_not_used_for_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path.joinpath(*["a-folder-with-a-rather-long-name"] * 4)
    server = EmbeddedServer(deep / "postgres")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    near = server.socket_folder
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    assert near.name == server.socket_folder.name
    assert len(os.fsencode(server.socket_folder)) < 60


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
def test_a_folder_of_another_user_is_refused(embedded_fleet: Fleet) -> None:
    folder = embedded_fleet.folder / "data" / "postgres"
    folder.mkdir(parents=True)
    os.chown(folder, 54_321, 54_321)

    code, said = embedded_fleet.run("jobs", "list")

    assert code == 3
    assert said == f"remit: {folder} belongs to another user: remove it, or set REMIT_STATE to another folder\n"


@pytest.mark.process
@pytest.mark.skipif(os.getuid() != 0, reason="only root starts it as another user")
def test_without_user_namespaces_root_starts_it_as_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unshare = tmp_path / "unshare"
    unshare.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    unshare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with scratch_folder() as folder:
        server = EmbeddedServer(folder / "postgres")
        try:
            with psycopg.connect(server.open()) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
            assert (folder / "postgres/data/postmaster.pid").stat().st_uid != 0
        finally:
            server.close()
        assert not server.is_listening()


def test_a_folder_that_cannot_be_created_is_reported(embedded_fleet: Fleet) -> None:
    (embedded_fleet.folder / "file").write_text("not a folder", encoding="utf-8")

    code, said = embedded_fleet.run("jobs", "list", REMIT_STATE=str(embedded_fleet.folder / "file" / "below"))

    assert code == 3
    assert said.count("\n") == 1
    assert "file/below cannot be used for the state of Remit: Not a directory; set REMIT_STATE to" in said


def test_a_folder_that_a_copy_has_opened_to_others_is_not_narrowed_but_refused(embedded_fleet: Fleet) -> None:
    assert embedded_fleet.run("jobs", "list")[0] == 0
    folder = embedded_fleet.folder / "data" / "postgres" / "data"
    folder.chmod(0o755)

    code, said = embedded_fleet.run("jobs", "list")

    assert code == 3
    assert "invalid permissions" in said
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_a_failed_start_is_reported_with_the_cause_from_the_log(embedded_fleet: Fleet) -> None:
    assert embedded_fleet.run("jobs", "list")[0] == 0
    (embedded_fleet.folder / "data" / "postgres" / "data" / "PG_VERSION").write_text("9\n", encoding="utf-8")

    code, said = embedded_fleet.run("jobs", "list")

    assert code == 3
    assert said.count("\n") == 1
    assert "FATAL:  database files are incompatible with server" in said
    assert "DETAIL" not in said
    assert "disk space" not in said


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a disk with little free space."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted: this needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_reported_and_commands_work_when_space_is_free_again(embedded_fleet: Fleet, disk: Path) -> None:
    code, said = embedded_fleet.run("jobs", "list", REMIT_STATE=str(disk / "data"))
    assert code == 3
    assert said.count("\n") == 1
    assert "No space left on device" in said
    assert "free disk space, set REMIT_STATE to another folder, or REMIT_DATABASE_URL" in said

    subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)

    code, said = embedded_fleet.run("jobs", "list", REMIT_STATE=str(disk / "data"))
    assert code == 0, said


def test_a_read_only_disk_is_reported(embedded_fleet: Fleet, disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    code, said = embedded_fleet.run("jobs", "list", REMIT_STATE=str(disk / "data"))

    assert code == 3
    assert said.count("\n") == 1
    assert "cannot be used for the state of Remit: Read-only file system" in said


@pytest.mark.process
def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(servers.importlib.util, "find_spec", lambda _: None)

    with pytest.raises(servers.EnvironmentBroken, match=r"needs the extra `run`: .+\. Or set REMIT_DATABASE_URL"):
        EmbeddedServer(tmp_path / "data").open()


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[str]:
    """The address of a server that was made for this test."""
    server = EmbeddedServer(tmp_path / "postgres")
    yield server.open()
    server.close()


@pytest.mark.process
def test_the_role_that_remit_uses_has_no_right_besides_its_tables(limited: str, tmp_path: Path) -> None:
    async def migrated() -> None:
        async with open_database(limited, tmp_path):
            pass

    asyncio.run(migrated())
    with psycopg.connect(limited, autocommit=True) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, "
            "pg_has_role('pg_execute_server_program', 'MEMBER'), pg_has_role('pg_read_server_files', 'MEMBER') "
            "FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert row == (False,) * 7
        for statement in (
            f"COPY (SELECT 1) TO PROGRAM 'touch {tmp_path}/ran'",
            "SELECT pg_read_file('/etc/passwd')",
            "SET ROLE remit",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
    assert not (tmp_path / "ran").exists()
    for role in ("remit", "postgres"):
        with pytest.raises(psycopg.OperationalError, match="rejects connection"):
            psycopg.connect(limited.replace("//remit_owner@", f"//{role}@")).close()
