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
from remit.gate.model import ToolUse
from remit.gate.session import MAX_ENTRIES, SessionState
from remit.gate.session_store import list_sessions, open_session, read_session, remove_old_sessions
from remit.gate.settings import GateSettings

SESSION = "9f3279c5-453e-45ba-9d76-6896353ab6a1"


def kept(folder: Path) -> Path:
    return folder / f"{SESSION}.json"


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
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


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


def test_a_state_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentBroken, match="cannot write the gate's state"), open_session(str(tmp_path), SESSION):
        kept(tmp_path).mkdir()


def test_a_state_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    folder = tmp_path / "gate"
    folder.mkdir()
    kept(folder).symlink_to(other)
    with open_session(str(folder), SESSION) as state:
        assert "was renamed to" in state.warnings[0]
    assert other.read_text() == "mine"
    assert not kept(folder).is_symlink()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"schema":"remit.gate/1","wind',
        b"\xff\xfe",
        b"[]",
        b'{"schema":"else/1"}',
        b"[" * 100_000,
        b" " * 5_000_000,
    ],
    ids=["empty", "torn", "bytes", "list", "foreign", "deep", "large"],
)
def test_a_corrupt_file_is_renamed(tmp_path: Path, content: bytes) -> None:
    kept(tmp_path).write_bytes(content)
    with open_session(str(tmp_path), SESSION) as state:
        assert state.window.files == {}
        assert "was renamed to" in state.warnings[0]
    aside = [file for file in tmp_path.iterdir() if ".broken-" in file.name]
    assert [file.read_bytes() for file in aside] == [content]
    with open_session(str(tmp_path), SESSION) as state:
        assert len(state.warnings) == 1


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


def test_waiting_for_the_state_ends_after_a_timeout(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION):
        started = time.monotonic()
        with pytest.raises(EnvironmentBroken, match="another process"), open_session(str(tmp_path), SESSION, wait=0.2):
            pass
        assert 0.2 <= time.monotonic() - started < 30


def test_old_states_are_removed_and_used_ones_are_kept(tmp_path: Path) -> None:
    for session in ("old", "new"):
        with open_session(str(tmp_path), session):
            pass
    (tmp_path / "old.json.broken-1").write_text("x")
    for file in tmp_path.glob("old*"):
        os.utime(file, (1, 1))
    assert remove_old_sessions(str(tmp_path), days=1) == 3
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.json", "new.lock"]
    assert remove_old_sessions(str(tmp_path / "none")) == 0


def test_reserved_files_are_not_sessions_and_are_kept(tmp_path: Path) -> None:
    ours = ["compiled.json", "compiled.json.lock", "installed.json"]
    for name in ours:
        (tmp_path / name).write_text("{}")
    with open_session(str(tmp_path), "compiled") as state:
        state.saved = 3
    for file in tmp_path.iterdir():
        os.utime(file, (1, 1))
    assert (tmp_path / "compiled.json").read_text() == "{}"
    assert len(list_sessions(str(tmp_path))) == 1
    assert remove_old_sessions(str(tmp_path), days=1) == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ours


def test_a_lock_file_that_was_removed_is_created_again(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        (tmp_path / f"{SESSION}.lock").unlink()
        state.saved = 1
    with open_session(str(tmp_path), SESSION) as state:
        assert state.saved == 1


@pytest.mark.slow
def test_a_state_stays_small(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        for number in range(3000):
            state.analysed[f"{number}{'x' * 40}"] = "a"
            state.locks[str(number)] = "a"
            state.pending[str(number)] = {}
            state.delegations[str(number)] = Delegation("a", state="failed" if number else "open")
            state.record_exception("lookup", ("a",), 0)
            state.warn(f"{number}")
            decide(ToolUse("Write", {"file_path": "/p/a.py"}), state, GateSettings(), "/p")
    assert kept(tmp_path).stat().st_size < 400_000
    found = read_session(str(tmp_path), SESSION)
    assert found is not None
    for name, most in MAX_ENTRIES.items():
        assert len(getattr(found, name)) <= most
    assert found.delegations["0"].is_open
    assert found.used == {"lookup": 3000}


def test_an_invalid_part_of_a_state_does_not_affect_the_rest(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        state.saved = 7
    values = json.loads(kept(tmp_path).read_text())
    values |= {"window": 5, "delegations": [], "locks": {"a": 5, "b": "c"}, "warnings": [1, "two"], "more": {}}
    kept(tmp_path).write_text(json.dumps(values))
    with open_session(str(tmp_path), SESSION) as state:
        assert (state.saved, state.locks, state.warnings, state.delegations) == (7, {"b": "c"}, ["two"], {})


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
    assert not list(tmp_path.glob("*.broken*"))


def hold_and_die(folder: str, ready: object) -> None:
    with open_session(folder, SESSION) as state:
        state.saved = 99
        ready.set()  # type: ignore[attr-defined]
        os._exit(9)


@pytest.mark.process
def test_a_process_that_dies_with_the_lock_leaves_the_old_state_and_no_lock(tmp_path: Path) -> None:
    with open_session(str(tmp_path), SESSION) as state:
        state.saved = 1
    kept(tmp_path).with_suffix(".json.new").write_text("half a sta")
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=hold_and_die, args=(str(tmp_path), ready))
    process.start()
    process.join(30)
    assert process.exitcode == 9
    with open_session(str(tmp_path), SESSION, wait=1) as state:
        assert state.saved == 1


def test_a_state_survives_json() -> None:
    state = SessionState("s", now=1.0)
    state.window.add("a", 3)
    state.window.closed = "slow"
    state.declarations.append({"kind": "edit", "paths": ["a"], "why": "b", "at": 1.0})
    assert SessionState.from_dict(json.loads(json.dumps(state.as_dict()))).as_dict() == state.as_dict()


def test_a_delegation_keeps_its_stored_form() -> None:
    stored = {
        "agent": "code-explorer",
        "agent_id": "a1",
        "state": "failed",
        "retry_of": "toolu_1",
        "retried": False,
        "fallback": {"a.py": 3},
        "at": 5.0,
        "mark": "0a",
        "told": True,
    }
    found = Delegation.from_dict(stored)
    assert found.as_dict() == stored
    assert (found.contract_sent, found.has_failed, found.allows_fallback, found.may_be_retried) == (
        True,
        True,
        True,
        False,
    )
    fresh = Delegation("code-explorer", 5.0).as_dict()
    assert list(fresh) == ["agent", "agent_id", "state", "retry_of", "retried", "fallback", "at"]


@pytest.mark.parametrize("stored", [{}, {"agent": 5, "state": None, "at": "x", "fallback": [1], "mark": 3}])
def test_a_delegation_that_another_program_wrote_is_read(stored: dict[str, object]) -> None:
    found = Delegation.from_dict(stored)
    assert (found.agent, found.state, found.at, found.fallback, found.mark) == ("", "", 0.0, None, "")
    assert not found.is_open
    assert not found.allows_fallback


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer many events in this thread, as the server does."""
    monkeypatch.setattr(session_store._keeping, "is_on", True)
    session_store._saved.clear()


@pytest.mark.usefixtures("keeping")
def test_a_kept_state_is_used_until_its_file_changes(tmp_path: Path) -> None:
    gate = str(tmp_path)
    for number in range(3):
        with open_session(gate, "one") as state:
            assert len(state.warnings) == number
            state.warn(f"warning {number}")
    path = tmp_path / "one.json"
    saved = path.read_bytes()
    session_store._saved[str(path)] = ((0, 0, 0), SessionState())  # another process has saved it since
    with open_session(gate, "one") as state:
        assert len(state.warnings) == 3
    path.write_bytes(saved.replace(b"warning 0", b"something longer"))
    with open_session(gate, "one") as state:
        assert state.changes, "a change by something else is still noticed"
    path.unlink()
    with open_session(gate, "one") as state:
        assert state.warnings == []


@pytest.mark.usefixtures("keeping")
def test_few_states_are_kept_and_no_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_store, "_MAX_SAVED", 2)
    for name in ("a", "b", "c"):
        with open_session(str(tmp_path), name):
            pass
    assert [Path(path).name for path in session_store._saved] == ["b.json", "c.json"]
    monkeypatch.setattr(session_store, "_MAX_SAVED_SIZE", 10)
    with open_session(str(tmp_path), "b"):
        pass
    assert [Path(path).name for path in session_store._saved] == ["c.json"]


@pytest.mark.usefixtures("keeping")
def test_a_kept_state_is_what_was_saved(tmp_path: Path) -> None:
    with open_session(str(tmp_path), "one") as state:
        state.conflicts = [str(number) for number in range(MAX_ENTRIES["conflicts"] + 5)]
        state.delegations["t"] = Delegation("code-explorer", 5.0)
    (_, kept_state, _), *_ = session_store._saved.values()
    found = read_session(str(tmp_path), "one")
    assert found is not None
    assert kept_state.as_dict() == found.as_dict()
    assert len(kept_state.conflicts) == MAX_ENTRIES["conflicts"]


@pytest.mark.usefixtures("keeping")
def test_a_kept_state_is_dropped_if_the_block_fails(tmp_path: Path) -> None:
    with open_session(str(tmp_path), "one") as state:
        state.warn("first")

    def fail() -> None:
        with open_session(str(tmp_path), "one") as state:
            state.warn("second")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with open_session(str(tmp_path), "one") as state:
        assert state.warnings == ["first"]


def test_a_state_that_is_locked_is_not_locked_again(tmp_path: Path) -> None:
    gate = str(tmp_path / "gate")
    lock = session_store.try_lock(gate, "one")
    assert lock is not None
    assert session_store.try_lock(gate, "one") is None
    with open_session(gate, "one", lock=lock) as state:
        state.warn("seen")
    again = session_store.try_lock(gate, "one")
    assert again is not None
    os.close(again)
    (tmp_path / "link").symlink_to(tmp_path)
    assert session_store.try_lock(str(tmp_path / "link"), "one") is None, "it is not a folder of the gate"


def test_states_are_kept_in_the_thread_that_wants_it(tmp_path: Path) -> None:
    def work() -> bool:
        session_store.keep_saved_states()
        with open_session(str(tmp_path), "one"):
            pass
        return str(tmp_path / "one.json") in session_store._saved

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(work).result()
    with open_session(str(tmp_path), "two"):
        pass
    assert str(tmp_path / "two.json") not in session_store._saved
