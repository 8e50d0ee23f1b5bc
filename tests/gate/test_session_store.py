from __future__ import annotations

import json
import multiprocessing
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remit.errors import EnvironmentBroken
from remit.gate import session_store
from remit.gate.decide import decide
from remit.gate.delegation import Delegation
from remit.gate.record_store import open_store, store_path
from remit.gate.session import MAX_ENTRIES, SessionState
from remit.gate.session_entries import Declaration, Grant
from remit.gate.session_store import (
    list_sessions,
    open_session,
    read_session,
    remove_old_sessions,
)
from remit.gate.settings import GateSettings
from remit.gate.tool_use import ToolUse

SESSION = "9f3279c5-453e-45ba-9d76-6896353ab6a1"


def test_a_state_is_saved_and_loaded(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        state.analysed["a.py"] = "code-explorer"
        state.window.add("b.py", 7)
    with open_session(str(tmp_path), SESSION) as state:
        assert (state.analysed, state.window.files) == ({"a.py": "code-explorer"}, {"b.py": 7})
    found = read_session(str(tmp_path), SESSION)
    assert found is not None
    assert found.session == SESSION
    assert read_session(str(tmp_path), "other") is None
    assert list_sessions(str(tmp_path)) == [SESSION]
    assert list_sessions(str(tmp_path / "none")) == []


def test_the_state_is_private_to_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "gate"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with open_session(str(folder), SESSION):
        pass
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    store = Path(store_path(str(folder)))
    assert stat.S_IMODE(store.parent.stat().st_mode) == 0o700
    files = [*folder.iterdir(), *store.parent.iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(EnvironmentBroken, match="link"), open_session(str(tmp_path / "link"), SESSION):
        pass


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(EnvironmentBroken, match="cannot store the gate's state"),
        open_session(str(tmp_path / "file" / "gate"), SESSION),
    ):
        pass


def test_an_error_in_the_block_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        state.saved = 5

    def fail() -> None:
        with open_session(str(tmp_path), SESSION) as state:
            state.saved = 9
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with open_session(str(tmp_path), SESSION) as state:
        assert state.saved == 5


@pytest.mark.parametrize("session", ["../../etc/passwd", "", "a/b", "x" * 10_000, "\ud800", ".", "a\0b"])
def test_a_hostile_session_name_stays_in_the_folder(tmp_path: Path, session: str) -> None:
    with open_session(str(tmp_path / "gate"), session) as state:
        state.saved = 1
    with open_session(str(tmp_path / "gate"), session) as state:
        assert state.saved == 1
    assert [file.name for file in tmp_path.iterdir()] == ["gate"]


@pytest.mark.slow
def test_a_state_stays_small(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        for number in range(3000):
            state.analysed[f"{number}{'x' * 40}"] = "a"
            state.pending[str(number)] = Grant()
            state.delegations[str(number)] = Delegation("a", state="failed" if number else "open")
            state.record_exception("lookup", ("a",), 0)
            state.warn(f"{number}")
            decide(ToolUse("Write", {"file_path": "/p/a.py"}), state, GateSettings(), "/p")
    assert len(open_store(str(tmp_path)).get("session", SESSION) or b"") < 400_000
    found = read_session(str(tmp_path), SESSION)
    assert found is not None
    for name, most in MAX_ENTRIES.items():
        assert len(getattr(found, name)) <= most
    assert found.delegations["0"].is_open
    assert found.used == {"lookup": 3000}


def count_up(folder: str, number: int, times: int, taken: object) -> None:
    slowest = 0.0
    for turn in range(times):
        started = time.monotonic()
        with open_session(folder, SESSION) as state:
            slowest = max(slowest, time.monotonic() - started)
            state.used["count"] = state.used.get("count", 0) + 1
            state.analysed[f"{number}-{turn}"] = "a"
    taken.put(slowest)  # type: ignore[attr-defined]


@pytest.mark.process
def test_fifty_concurrent_processes_lose_no_update(tmp_path: Path) -> None:
    processes, times = 50, 10
    context = multiprocessing.get_context("fork")
    taken = context.Queue()
    running = [
        context.Process(target=count_up, args=(str(tmp_path), number, times, taken)) for number in range(processes)
    ]
    for process in running:
        process.start()
    slowest = max(taken.get(timeout=60) for _ in running)
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0] * processes
    found = read_session(str(tmp_path), SESSION)
    assert found is not None
    assert (found.used["count"], len(found.analysed)) == (processes * times, processes * times)
    assert slowest < 15


def hold_and_die(folder: str, ready: object) -> None:
    with open_session(folder, SESSION) as state:
        state.saved = 99
        ready.set()  # type: ignore[attr-defined]
        os._exit(9)


@pytest.mark.process
def test_a_process_that_dies_with_the_lock_leaves_the_old_state_and_no_lock(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        state.saved = 1
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=hold_and_die, args=(str(tmp_path), ready))
    process.start()
    process.join(30)
    assert process.exitcode == 9
    with open_session(str(tmp_path), SESSION) as state:
        assert (state.saved, state.changes) == (1, [])


def test_another_thread_waits_for_the_state_until_a_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_store, "WAIT_SECONDS", 0.2)

    def open_again() -> float:
        started = time.monotonic()
        with pytest.raises(EnvironmentBroken, match="locked"), open_session(str(tmp_path), SESSION):
            pass
        return time.monotonic() - started

    with ThreadPoolExecutor(1) as thread, open_session(str(tmp_path), SESSION) as state:
        assert 0.2 <= thread.submit(open_again).result() < 30
        state.saved = 1
    found = read_session(str(tmp_path), SESSION)
    assert found is not None
    assert found.saved == 1


def test_old_states_are_removed_and_used_ones_are_kept(tmp_path: Path) -> None:
    for session in ("old", "new"):
        with open_session(str(tmp_path), session):
            pass
    store = open_store(str(tmp_path))
    with store.changing():
        store._execute("UPDATE record SET at = 1 WHERE name = 'old'")
    assert remove_old_sessions(str(tmp_path), days=1) == 1
    assert list_sessions(str(tmp_path)) == ["new"]
    assert remove_old_sessions(str(tmp_path / "none")) == 0


def test_a_state_survives_json() -> None:
    state = SessionState("s", now=1.0)
    state.window.add("a", 3)
    state.window.closed = "slow"
    state.declarations.append(Declaration(kind="edit", paths=["a"], why="b", at=1.0))
    assert SessionState.from_dict(json.loads(json.dumps(state, default=vars))) == state


def test_a_delegation_keeps_its_stored_form() -> None:
    found = Delegation("code-explorer", 5.0, state="failed", retry_of="toolu_1")
    found.fallback, found.contract_sent = {"a.py": 3}, True
    again = Delegation.from_dict(json.loads(json.dumps(vars(found))))
    assert again == found
    assert (again.contract_sent, again.has_failed, again.allows_fallback, again.may_be_retried) == (
        True,
        True,
        True,
        False,
    )


@pytest.mark.parametrize("stored", [{}, {"agent": 5, "state": None, "at": "x", "fallback": [1]}, 7])
def test_a_delegation_that_another_program_wrote_is_read(stored: object) -> None:
    found = Delegation.from_dict(stored)
    assert (found.agent, found.state, found.at, found.fallback) == ("", "", 0.0, {})
    assert not found.is_open
    assert not found.allows_fallback


def test_an_entry_has_no_other_fields() -> None:
    with pytest.raises(TypeError, match="Grant has no field path"):
        Grant(path="a.py")
