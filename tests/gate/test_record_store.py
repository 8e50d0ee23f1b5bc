"""The gate's store: no update is lost, a killed process leaves the old or the new records, and changes are noticed."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.errors import EnvironmentBroken
from remit.gate import record_store
from remit.gate.record_store import RecordStore, digest_of, find_store, open_store, remove_store, store_path

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return str(tmp_path / "project/.remit/gate")


def change(folder: str, statement: str) -> None:
    """Change the store as something else would."""
    other = sqlite3.connect(store_path(folder))
    other.execute(statement)
    other.commit()
    other.close()


def test_records_are_outside_the_project_and_found_again(folder: str) -> None:
    assert find_store(folder) is None
    store = open_store(folder)
    for name, data in (("a", b"1"), ("b", b"2"), ("a", b"3")):
        store.put("one", name, data)
    assert (store.trusted("one", "a"), store.size("one", "b"), store.trusted("two", "a")) == (b"3", 1, None)
    assert store.names("one") == ["a", "b"]
    assert store.names("one", since=1e12) == []
    assert find_store(folder) is store
    assert not Path(store_path(folder)).is_relative_to(Path(folder).parents[1])
    assert os.listdir(folder) == ["seal"]  # noqa: PTH208 - only names
    store.remove("one", "a")
    assert store.names("one") == ["b"]
    store.remove("one")
    assert store.names("one") == []


def test_contents_are_kept_by_their_digest(folder: str) -> None:
    store = open_store(folder)
    assert [store.keep_content(data) for data in (b"x", b"x", b"y")] == [digest_of(b"x")] * 2 + [digest_of(b"y")]
    assert store.content(digest_of(b"x")) == b"x"
    change(folder, f"UPDATE content SET data = x'00' WHERE digest = '{digest_of(b'x')}'")
    assert store.content(digest_of(b"x")) is None
    assert store.remove_old(("one",), days=-1) == 0
    assert store.content(digest_of(b"y")) is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE record SET data = x'00' WHERE name = 'a'",
        "DELETE FROM record WHERE name = 'b'",
        "UPDATE record SET data = x'00', digest = '{}' WHERE name = 'a'".format(digest_of(b"\0")),
    ],
)
def test_a_change_by_something_else_is_noticed(folder: str, statement: str) -> None:
    store = open_store(folder)
    for name in ("a", "b", "c", "d"):
        store.put("one", name, name.encode())
    change(folder, statement)
    store.verify()
    assert store.trusted("one", "a") is None
    store.put("one", "a", b"new")
    store.verify()
    assert store.trusted("one", "a") == b"new"


def test_a_change_that_was_noticed_is_noticed_again(folder: str) -> None:
    made = "INSERT OR REPLACE INTO record VALUES ('one', 'a', 0, '{}', x'00')".format(digest_of(b"\0"))
    store = open_store(folder)
    store.put("one", "a", b"1")
    for _ in range(2):
        change(folder, made)
        store.verify()
        assert store.trusted("one", "a") is None
        change(folder, "DELETE FROM record WHERE kind = 'lost'")


def test_an_earlier_copy_of_the_store_is_noticed(folder: str, tmp_path: Path) -> None:
    open_store(folder).put("one", "a", b"old")
    place = Path(store_path(folder)).parent
    shutil.copytree(place, tmp_path / "copy")
    for data in (b"new", b"newer"):
        open_store(folder).put("one", "a", data)
    shutil.rmtree(place)
    shutil.copytree(tmp_path / "copy", place)
    store = open_store(folder)
    store.verify()
    assert store.trusted("one", "a") is None
    assert store.is_lost


def test_a_removed_store_is_noticed(folder: str) -> None:
    assert not open_store(folder).is_lost
    shutil.rmtree(Path(store_path(folder)).parent)
    store = open_store(folder)
    assert store.is_lost
    store.forget_loss()
    assert not store.is_lost


def test_a_removed_seal_is_noticed(folder: str) -> None:
    open_store(folder).put("one", "a", b"1")
    shutil.rmtree(folder)
    store = open_store(folder)
    store.verify()
    record = store.get("one", "a")
    assert record is not None
    assert (record.data, record.is_trusted, store.is_lost) == (b"1", False, False)


def test_a_project_that_was_moved_starts_with_an_empty_store(folder: str, tmp_path: Path) -> None:
    open_store(folder).put("one", "a", b"1")
    (tmp_path / "project").rename(tmp_path / "moved")
    store = open_store(str(tmp_path / "moved/.remit/gate"))
    store.verify()
    assert (store.names("one"), store.is_lost) == ([], False)


def test_an_error_in_a_block_leaves_the_earlier_records(folder: str) -> None:
    store = open_store(folder)
    store.put("one", "a", b"1")

    def fail() -> None:
        with store.changing():
            store.put("one", "a", b"2")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    store.verify()
    assert store.trusted("one", "a") == b"1"


def _die(folder: str, statement: int) -> None:
    """Change two records in one transaction, and die after a number of statements."""
    count = 0
    execute = RecordStore._execute

    def counted(store: RecordStore, text: str, *values: object) -> sqlite3.Cursor:
        nonlocal count
        found = execute(store, text, *values)
        count += 1
        if count == statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    store = open_store(folder)
    RecordStore._execute = counted  # type: ignore[method-assign]
    with store.changing():
        store.put("one", "a", b"new")
        store.put("one", "b", b"new")
    os._exit(0)


@pytest.mark.process
def test_a_process_that_is_killed_after_any_statement_leaves_the_old_or_the_new_records(folder: str) -> None:
    ends = []
    for statement in range(1, 12):
        store = open_store(folder)
        with store.changing():
            store.put("one", "a", b"old")
            store.put("one", "b", b"old")
        process = FORK.Process(target=_die, args=(folder, statement))
        process.start()
        process.join(60)
        ends.append(process.exitcode)
        store = open_store(folder)
        store.verify()
        assert store.trusted("one", "a") == store.trusted("one", "b"), statement
        assert store.trusted("one", "a") in (b"old", b"new"), "it is trusted"
        store.put("one", "c", b"later")
    assert ends[0] == -signal.SIGKILL
    assert ends[-1] == 0, "the last number is above that of all statements"


def _count(folder: str, times: int) -> None:
    for _ in range(times):
        store = open_store(folder)
        with store.changing(30):
            store.put("one", "a", str(int(store.trusted("one", "a") or b"0") + 1).encode())
    os._exit(0)


@pytest.mark.process
def test_processes_that_create_and_change_a_store_at_once_lose_no_update(folder: str) -> None:
    running = [FORK.Process(target=_count, args=(folder, 20)) for _ in range(8)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0] * 8
    store = open_store(folder)
    store.verify()
    assert store.trusted("one", "a") == b"160"


def test_a_full_disk_is_an_error_and_leaves_the_earlier_records(folder: str) -> None:
    store = open_store(folder)
    store.put("one", "a", b"1")
    store._execute("PRAGMA max_page_count = 1")
    with pytest.raises(EnvironmentBroken, match=r"gate\.sqlite: database or disk is full"):
        store.put("one", "a", b"2" * 1_000_000)
    store._execute("PRAGMA max_page_count = 1000000")
    assert store.trusted("one", "a") == b"1"


def test_a_file_that_is_not_a_database_is_renamed_and_reported(folder: str) -> None:
    open_store(folder).put("one", "a", b"1")
    place = Path(store_path(folder))
    for file in place.parent.iterdir():
        file.unlink()
    place.write_bytes(b"no database" * 1000)
    with pytest.raises(EnvironmentBroken, match=r"was corrupt \(file is not a database\); it was renamed to"):
        open_store(folder)
    store = open_store(folder)
    assert store.is_lost
    assert [file.read_bytes()[:11] for file in place.parent.glob("*.broken-*")] == [b"no database"]


def test_a_database_with_broken_pages_is_renamed_and_reported(folder: str) -> None:
    store = open_store(folder)
    for number in range(200):
        store.put("one", str(number), os.urandom(3000))
    store._execute("PRAGMA wal_checkpoint(TRUNCATE)")
    record_store._connections.stores.clear()
    store.close()
    place = Path(store_path(folder))
    data = place.read_bytes()
    place.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    with pytest.raises(EnvironmentBroken, match=r"was corrupt \(database disk image is malformed\); it was renamed to"):
        open_store(folder).put("one", "a", b"1")
    open_store(folder).put("one", "a", b"1")
    assert open_store(folder).trusted("one", "a") == b"1"


def test_a_store_that_was_put_aside_does_not_rename_the_new_one(folder: str) -> None:
    earlier = open_store(folder)
    change(folder, "CREATE TABLE other (kind TEXT)")
    with pytest.raises(EnvironmentBroken, match="was corrupt"):
        earlier.verify()
    open_store(folder).put("one", "a", b"1")
    for use in (lambda: earlier.put("one", "a", b"2"), lambda: earlier.names("one")):
        with pytest.raises(EnvironmentBroken, match="was closed after an error"):
            use()
    assert open_store(folder).trusted("one", "a") == b"1"


def test_an_error_at_the_start_of_a_transaction_leaves_none_open(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(folder)
    with monkeypatch.context() as patched:
        patched.setattr(store, "_check_schema", lambda: store._execute("no statement"))
        change(folder, "UPDATE record SET at = 0")
        with pytest.raises(EnvironmentBroken, match="syntax error"):
            store.put("one", "a", b"1")
    assert not store.is_changing
    store.put("one", "a", b"1")
    record_store._connections.stores.clear()
    assert open_store(folder).trusted("one", "a") == b"1"


@pytest.mark.parametrize("is_open", [True, False], ids=["an open store", "a new process"])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t BEFORE INSERT ON record WHEN NEW.kind = 'two' BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record WHERE kind = 'two'; END",
        "CREATE VIEW other AS SELECT * FROM record",
        "CREATE TABLE other (kind TEXT)",
        "DROP INDEX digests",
    ],
)
def test_a_store_that_does_other_things_than_the_gate_states_is_renamed_and_reported(
    folder: str, statement: str, is_open: bool
) -> None:
    store = open_store(folder)
    store.put("one", "a", b"1")
    change(folder, statement)
    if not is_open:
        record_store._connections.stores.clear()
    with pytest.raises(EnvironmentBroken, match=r"was corrupt \(it does not have the tables of the gate only\)"):
        open_store(folder).put("two", "b", b"2")
    assert open_store(folder).is_lost
    open_store(folder).put("two", "b", b"2")
    assert open_store(folder).trusted("two", "b") == b"2"


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("/etc/passwd")], ids=["folder", "link"])
def test_what_is_not_a_file_is_refused(folder: str, make: Callable[[Path], None]) -> None:
    place = Path(store_path(folder))
    place.parent.mkdir(parents=True, mode=0o700)
    make(place)
    with pytest.raises(EnvironmentBroken, match="is a link or belongs to another user"):
        open_store(folder)


def test_a_place_that_cannot_be_written_is_an_error(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentBroken, match="cannot use the gate's state"):
        open_store(folder)


def test_few_connections_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_store, "_MAX_CONNECTIONS", 2)
    record_store._connections.stores.clear()
    for name in ("a", "b", "c"):
        open_store(str(tmp_path / name / ".remit/gate")).put("one", name, b"1")
    assert len(record_store._connections.stores) <= 2
    assert open_store(str(tmp_path / "a/.remit/gate")).names("one") == ["a"]


@pytest.mark.parametrize("is_named", [True, False])
def test_a_removed_store_leaves_no_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_named: bool
) -> None:
    home, folder = tmp_path / "home", str(tmp_path / "project/.remit/gate")
    (home / ".local/state").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if is_named:
        monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
    open_store(folder).put("one", "a", b"1")
    remove_store(folder)
    assert list(home.rglob("*")) == ([home / ".local", home / ".local/state"] if is_named else [])
    remove_store(folder)  # nothing is left
    for name in ("one", "other"):
        open_store(str(tmp_path / name / ".remit/gate"))
    remove_store(str(tmp_path / "one/.remit/gate"))
    assert find_store(str(tmp_path / "other/.remit/gate")) is not None


def test_the_files_of_an_earlier_version_are_imported_once(folder: str) -> None:
    gate = Path(folder)
    for name in ("calls", "before", "results/s1"):
        (gate / name).mkdir(parents=True)
    state = {"schema": "remit.gate/1", "session": "s1", "saved": 5, "writers": [{"id": "t1"}]}
    lines = [json.dumps({**state, "saved": 1}), json.dumps(state), '{"schema": "remit.ga']
    files = {
        "s1.json": "\n".join(lines),
        "s1.lock": "",
        "s1.rules": "x",
        "tree": "x",
        "before/0a": "x",
        "calls/t1": "x",
        "compiled.json": "{}",
        "installed.json": "{}",
        "trusted.json": "{}",
        "torn.json": '{"sch',
        "results/s1/1.a.json": "{}",
    }
    for name, text in files.items():
        (gate / name).write_text(text)
    (gate / "pipe.json").symlink_to("/dev/zero")
    store = find_store(folder)
    assert store is not None
    assert store.names("session") == ["s1"]
    stored = json.loads(store.trusted("session", "s1") or b"")
    assert (stored["saved"], stored["writers"]) == (5, []), "the last whole line, without running calls"
    assert (store.trusted("settings"), store.is_lost) == (b"{}", False)
    left = sorted(str(file.relative_to(gate)) for file in gate.rglob("*") if file.is_file())
    assert left == ["installed.json", "results/s1/1.a.json", "seal", "trusted.json"]
    (gate / "s2.json").write_text(json.dumps({**state, "session": "s2"}))
    assert open_store(folder).names("session") == ["s1"], "a file that is there later is not imported"


def test_the_digest_is_that_of_the_file_after_every_kind_of_change(folder: str) -> None:
    store = open_store(folder)
    for name in ("a", "b", "c"):
        store.put("one", name, name.encode())
        store.put("two", name, name.encode())
    changes: list[Callable[[], object]] = [
        lambda: store.put("one", "a", b"new"),
        lambda: store.remove("one", "b"),
        lambda: store.remove("one", "none"),
        lambda: store.put("names", "", b"c"),
        lambda: store.remove_unnamed("one", "names"),
        lambda: store.remove("one"),
        lambda: store.keep_content(b"x"),
        lambda: store.remove_old(("two",), days=-1),
    ]
    for number, make in enumerate(changes):
        make()
        again = RecordStore(folder, store.path)
        assert store.digest_of_all() == again.digest_of_all(), number
        again.verify()
        assert not again.is_lost
        again.close()


def test_a_change_by_another_connection_is_noticed_at_the_start_of_a_transaction(folder: str) -> None:
    store = open_store(folder)
    store.put("one", "a", b"1")
    with store.changing():
        assert store.trusted("one", "a") == b"1"
    other = RecordStore(folder, store.path)
    other.put("one", "a", b"2")
    with store.changing():
        assert store.trusted("one", "a") == b"2", "another process has changed it"
    change(folder, "UPDATE record SET data = x'00', digest = '{}' WHERE name = 'a'".format(digest_of(b"\0")))
    with store.changing():
        assert store.trusted("one", "a") is None, "something else has changed it"
    store.verify()
    change(folder, "CREATE TRIGGER t AFTER INSERT ON record BEGIN SELECT 1; END")
    with pytest.raises(EnvironmentBroken, match="does not have the tables of the gate only"), store.changing():
        pass


def test_a_known_record_is_used_only_while_the_stored_one_has_its_digest(folder: str) -> None:
    store = open_store(folder)
    store.put("one", "a", b"1")
    known = store.get("one", "a")
    with store.changing():
        assert store.get("one", "a", known) is known
        store.put("one", "a", b"2")
        record = store.get("one", "a", known)
        assert record is not None
        assert record.data == b"2"
        store.remove("one", "a")
        assert store.get("one", "a", known) is None
    store.put("one", "a", b"1")
    change(folder, "UPDATE record SET data = x'00' WHERE name = 'a'")
    record = store.get("one", "a", known)
    assert record is not None
    assert not record.is_trusted, "outside of a transaction, it is read"


def test_a_record_with_another_digest_than_the_sealed_one_is_not_trusted(folder: str) -> None:
    store = open_store(folder)
    store.put("one", "a", b"1")
    store.put("one", "b", b"1")

    def read() -> tuple[bytes | None, bytes | None]:
        with store.changing():
            # As if a page of the file had changed, which SQLite does not notice.
            store._execute("UPDATE record SET data = x'00', digest = ? WHERE name = 'a'", digest_of(b"\0"))
            store._execute("INSERT INTO record VALUES ('one', 'c', 0, ?, x'00')", digest_of(b"\0"))
            found = store.trusted("one", "a"), store.trusted("one", "c")
            store.roll_back()
            store.begin()
        return found

    assert read() == (None, None)
    assert (store.trusted("one", "a"), store.trusted("one", "c")) == (b"1", None)


def test_a_journal_that_is_left_to_other_threads_is_used_again_after_they_have_copied_it(folder: str) -> None:
    store = open_store(folder)
    store.leave_checkpoints()
    for number in range(100):
        store.put("one", "a", str(number).encode() * 4_000)
    journal = Path(f"{store.path}-wal")
    size = journal.stat().st_size
    assert size > 64 * 4096
    assert store.transactions >= 100
    other = RecordStore(folder, store.path)
    other.checkpoint()
    store.put("one", "a", b"last")
    assert journal.stat().st_size == size
    assert other.trusted("one", "a") == b"last"
    for number in range(2_000):
        store.put("one", "a", str(number).encode() * 4_000)
    assert journal.stat().st_size < 1_200 * 4200, "a long one is copied anyway"
