from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolboxes import Bench, ask

from remit.dispatch.tools import file_tools
from remit.dispatch.tools.tool_types import ToolOutput
from remit.dispatch.tools.toolbox import TOOLS
from remit.registry.tools import OFFERED


def test_every_tool_of_the_registry_exists() -> None:
    assert list(TOOLS) == list(OFFERED)


def test_only_granted_tools_exist_in_the_order_granted(bench: Bench) -> None:
    box = bench.box("Grep", "Bash(ls)", "view", "Bash(pwd)", "mcp__x__y", "Read", "Nonsense", "Write(src/**)")
    assert [spec.name for spec in box.specs] == ["Grep", "Bash", "Read"]
    assert box.withheld == ["mcp__x__y", "Nonsense", "Write(src/**)"]
    got = ask(box, "Write", file_path="a", content="")
    assert got.text == "You do not have the tool 'Write'. Your tools: Grep, Bash, Read. Use one of them."
    assert (got.failed, got.receipt.tool, got.receipt.failed) == (True, "Write", True)
    assert not list(bench.root.iterdir())


def test_tools_state_whether_they_can_be_repeated() -> None:
    unsafe = {name for name, tool in TOOLS.items() if not tool.spec.is_repeatable}
    changing = {name for name, tool in TOOLS.items() if not tool.spec.is_read_only}
    assert (unsafe, changing) == ({"Edit", "Bash"}, {"Edit", "Write", "Bash"})


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_are_valid_and_closed(name: str) -> None:
    schema = TOOLS[name].spec.schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert "$ref" not in msgspec.json.encode(schema).decode()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_NAMES = st.sampled_from(
    [field.encode_name for tool in TOOLS.values() for field in msgspec.structs.fields(tool.arguments)]
) | st.text(max_size=5)


@given(
    st.sampled_from(sorted(set(TOOLS) - {"Bash"})) | st.text(max_size=9), st.dictionaries(_NAMES, _VALUES, max_size=5)
)
def test_no_arguments_raise_and_every_call_can_be_stored(name: str, arguments: dict[str, Any]) -> None:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        got = asyncio.run(bench.box().call(name, arguments))
    stored = msgspec.json.encode(got)
    assert msgspec.json.decode(stored, type=ToolOutput).text == got.text
    assert not any("\0" in text for text in _texts(msgspec.to_builtins(got)))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for text in _texts(list(pair))]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def test_a_number_too_large_to_store_is_kept_as_text(bench: Bench) -> None:
    got = ask(bench.box(), "Read", file_path="a", offset=10**30)
    assert got.failed
    assert msgspec.json.encode(got.receipt)


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_arguments_that_are_not_an_object_are_refused(bench: Bench, arguments: Any) -> None:
    got = asyncio.run(bench.box().call("Read", arguments))
    assert got.failed
    assert "Wrong arguments" in got.text


def test_long_arguments_are_cut_in_the_receipt(bench: Bench) -> None:
    got = ask(bench.box(), "Write", file_path="a", content="x" * 100_000)
    assert len(got.receipt.arguments["content"]) < 20_100
    assert (bench.root / "a").stat().st_size == 100_000


def test_blocking_work_does_not_block_the_loop_and_has_a_timeout(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a", "x")
    release = threading.Event()

    def stuck(data: bytes) -> str:
        release.wait(20)
        return "x"

    monkeypatch.setattr(file_tools, "digest_of", stuck)

    async def timed() -> float:
        began = time.monotonic()
        got = await bench.box(seconds=0.3).call("Read", {"file_path": "a"})
        took = time.monotonic() - began
        release.set()
        assert "took longer than 0.3 seconds" in got.text
        assert got.failed
        return took

    assert asyncio.run(timed()) < 5


def test_a_cancelled_write_has_ended_when_the_caller_continues(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from remit.dispatch.tools import file_tools

    stored, reached, release = file_tools.store_file, threading.Event(), threading.Event()

    def slow(*given: Any) -> None:
        reached.set()
        release.wait(20)
        stored(*given)

    monkeypatch.setattr(file_tools, "store_file", slow)

    async def cancelled() -> bool:
        running = asyncio.ensure_future(bench.box().call("Write", {"file_path": "a", "content": "x"}))
        await asyncio.to_thread(reached.wait, 20)
        running.cancel()
        asyncio.get_running_loop().call_later(0.1, release.set)
        with pytest.raises(asyncio.CancelledError):
            await running
        return (bench.root / "a").exists()

    assert asyncio.run(cancelled())


def test_reads_run_in_parallel(bench: Bench) -> None:
    for number in range(20):
        bench.write(f"{number}.txt", f"{number}\n")

    async def all_of_them() -> list[str]:
        box = bench.box()
        got = await asyncio.gather(*(box.call("Read", {"file_path": f"{number}.txt"}) for number in range(20)))
        return [one.text for one in got]

    assert asyncio.run(all_of_them()) == [f"     1\t{number}" for number in range(20)]


def test_the_time_of_the_call_is_on_the_receipt(bench: Bench) -> None:
    from datetime import UTC, datetime, timedelta

    when = datetime.fromisoformat(ask(bench.box(), "LS").receipt.time or "")
    assert abs(datetime.now(UTC) - when) < timedelta(minutes=1)
