from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from remit.errors import EnvironmentBroken
from remit.gate import session_store
from remit.gate.decide import decide
from remit.gate.delegation import Delegation
from remit.gate.record_store import Record, open_store, store_path
from remit.gate.session import MAX_ENTRIES, SessionState
from remit.gate.session_entries import Declaration, Grant
from remit.gate.session_store import (
    KeptStates,
    list_sessions,
    open_session,
    read_session,
    remove_old_sessions,
    remove_session,
)
from remit.gate.settings import GateSettings
from remit.gate.tool_use import ToolUse
from remit.lean_json import dumps, loads

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
    with open_session(str(tmp_path), SESSION, wait=0.1) as state:
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
            state.locks[str(number)] = "a"
            state.pending[str(number)] = Grant()
            state.delegations[str(number)] = Delegation("a", state="failed" if number else "open")
            state.record_exception("lookup", ("a",), 0)
            state.warn(f"{number}")
            decide(ToolUse("Write", {"file_path": "/p/a.py"}), state, GateSettings(), "/p")
    assert open_store(str(tmp_path)).size("session", SESSION) < 400_000
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
        with open_session(folder, SESSION, wait=30) as state:
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
    with open_session(str(tmp_path), SESSION, wait=1) as state:
        assert (state.saved, state.changes) == (1, [])


def test_another_thread_waits_for_the_state_until_a_timeout(tmp_path: Path) -> None:
    def open_again() -> float:
        started = time.monotonic()
        with pytest.raises(EnvironmentBroken, match="another process"), open_session(str(tmp_path), SESSION, wait=0.2):
            pass
        return time.monotonic() - started

    with ThreadPoolExecutor(1) as thread, open_session(str(tmp_path), SESSION) as state:
        assert 0.2 <= thread.submit(open_again).result() < 30
        state.saved = 1
    found = read_session(str(tmp_path), SESSION)
    assert found is not None
    assert found.saved == 1


def test_a_session_that_was_begun_can_be_used_or_given_up(tmp_path: Path) -> None:
    session = open_session(str(tmp_path), SESSION, wait=0)
    session.begin()
    with session as state:
        state.saved = 1
    session.roll_back()
    other = open_session(str(tmp_path), SESSION)
    other.begin()
    other.roll_back()
    with open_session(str(tmp_path), SESSION) as state:
        assert state.saved == 1


def _use(kept: KeptStates, folder: Path) -> SessionState:
    """Open and save the state in an event, and return it."""
    with kept, open_session(str(folder), SESSION) as state:
        state.saved += 1
    return state


def test_a_kept_state_is_used_while_the_stored_bytes_are_the_saved_ones(tmp_path: Path) -> None:
    kept = KeptStates(lambda state: dumps(state, vars))
    first = _use(kept, tmp_path)
    assert _use(kept, tmp_path) is first
    assert first.saved == 2
    with open_session(str(tmp_path), SESSION) as other:  # as another process does
        other.saved = 7
    second = _use(kept, tmp_path)
    assert (second is first, second.saved) == (False, 8)
    assert read_session(str(tmp_path), SESSION) == second
    remove_session(str(tmp_path), SESSION)
    assert _use(kept, tmp_path).saved == 1


def test_a_kept_state_does_not_hide_that_something_else_has_changed_the_stored_one(tmp_path: Path) -> None:
    kept = KeptStates(lambda state: dumps(state, vars))
    _use(kept, tmp_path)
    store = open_store(str(tmp_path))
    store._execute("UPDATE record SET data = CAST(replace(CAST(data AS TEXT), '\"saved\":1', '\"saved\":9') AS BLOB)")
    changed = _use(kept, tmp_path)
    assert changed.saved == 10
    assert [entry.untold for entry in changed.changes] == [True]


def test_a_state_is_kept_only_if_it_was_saved_and_for_the_next_event(tmp_path: Path) -> None:
    kept = KeptStates(lambda state: dumps(state, vars))
    first = _use(kept, tmp_path)

    def fail() -> None:
        with kept, open_session(str(tmp_path), SESSION) as state:
            state.saved = 9
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    second = _use(kept, tmp_path)
    assert (second is first, second.saved) == (False, 2)
    with kept:
        with open_session(str(tmp_path), SESSION) as state:
            state.saved = 5
        with open_session(str(tmp_path), SESSION) as again:
            assert again is not state, "the event may still use the other one"
            assert again.saved == 5
    assert _use(kept, tmp_path) is again


def test_a_long_state_is_not_kept(tmp_path: Path) -> None:
    kept = KeptStates(lambda state: dumps(state, vars) + b" " * 200_000)
    assert _use(kept, tmp_path) is not _use(kept, tmp_path)


def test_old_states_are_removed_and_used_ones_are_kept(tmp_path: Path) -> None:
    for session in ("old", "new"):
        with open_session(str(tmp_path), session):
            pass
    store = open_store(str(tmp_path))
    with store.changing():
        store._execute("UPDATE record SET at = 1 WHERE name = 'old'")
    assert remove_old_sessions(str(tmp_path), days=1) == 1
    assert list_sessions(str(tmp_path)) == ["new"]
    remove_session(str(tmp_path), "new")
    assert list_sessions(str(tmp_path)) == []
    assert remove_old_sessions(str(tmp_path / "none")) == 0


def test_a_state_that_something_else_changed_has_no_permissions(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        state.declarations.append(Declaration(kind="edit", paths=["."]))
    with sqlite3.connect(store_path(str(tmp_path))) as other:
        other.execute("UPDATE record SET data = CAST(replace(data, 'edit', 'verify') AS BLOB)")
    other.close()
    with open_session(str(tmp_path), SESSION) as state:
        assert state.declarations == []
        assert state.changes[-1].paths == [store_path(str(tmp_path))]
    with open_session(str(tmp_path), SESSION) as state:
        assert len(state.changes) == 1, "it is noted once"


def test_a_state_survives_json() -> None:
    state = SessionState("s", now=1.0)
    state.window.add("a", 3)
    state.window.closed = "slow"
    state.declarations.append(Declaration(kind="edit", paths=["a"], why="b", at=1.0))
    assert SessionState.from_dict(loads(dumps(state, vars))) == state


def test_a_delegation_keeps_its_stored_form() -> None:
    found = Delegation("code-explorer", 5.0, state="failed", retry_of="toolu_1")
    found.fallback, found.contract_sent = {"a.py": 3}, True
    again = Delegation.from_dict(loads(dumps(vars(found))))
    assert again == found
    assert (again.contract_sent, again.has_failed, again.allows_fallback, again.may_be_retried) == (
        True,
        True,
        True,
        False,
    )


@pytest.mark.parametrize("stored", [{}, {"agent": 5, "state": None, "at": "x", "fallback": [1], "mark": 3}, 7])
def test_a_delegation_that_another_program_wrote_is_read(stored: object) -> None:
    found = Delegation.from_dict(stored)
    assert (found.agent, found.state, found.at, found.fallback, found.mark) == ("", "", 0.0, {}, "")
    assert not found.is_open
    assert not found.allows_fallback


def test_an_entry_has_no_other_fields() -> None:
    with pytest.raises(TypeError, match="Grant has no field path"):
        Grant(path="a.py")


def test_events_at_once_keep_no_more_than_the_latest_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_store, "_MAX_KEPT", 5)
    kept = KeptStates(lambda state: dumps(state, vars))
    failed: list[Exception] = []

    def answer(thread: int) -> None:
        try:
            for number in range(4_000):
                with kept:
                    key = "store", f"{thread}-{number}"
                    session_store._event.saved[key] = Record(b"{}", ""), SessionState()
        except RuntimeError as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=answer, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (failed, len(kept._kept)) == ([], 5)
