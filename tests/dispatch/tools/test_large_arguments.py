"""Large arguments do not exhaust the memory of a worker."""

from __future__ import annotations

import tracemalloc

import pytest
from toolboxes import Bench, ask

from remit.dispatch.tools import file_tools
from remit.globs import MAX_CHOICES, Pattern

_MB = 1024**2


def test_the_size_of_an_edit_is_checked_before_it_is_made(bench: Bench) -> None:
    bench.write("big.txt", "a" * 1_000_000)
    tracemalloc.start()
    try:
        got = ask(bench.box(), "Edit", file_path="big.txt", old_string="a", new_string="b" * 2_000, replace_all=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert got.text == "The file would be larger than 10 MB. Write less."
    assert peak < 50 * _MB
    assert (bench.root / "big.txt").stat().st_size == 1_000_000


def test_an_edit_up_to_the_limit_is_made(bench: Bench) -> None:
    bench.write("a.txt", "aab")
    box = bench.box(file_bytes=9)
    assert not ask(box, "Edit", file_path="a.txt", old_string="a", new_string="cccc", replace_all=True).failed
    assert ask(box, "Edit", file_path="a.txt", old_string="b", new_string="dd").failed
    assert (bench.root / "a.txt").read_text() == "ccccccccb"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Grep", {"pattern": "x", "glob": "{" + "," * 20_000 + "}" + "x" * 40_000}),
        ("Grep", {"pattern": "x", "glob": "{" + "," * 2_000 + "}" + "x" * 2_000}),
        ("Glob", {"pattern": "{" + "," * 2_000 + "}" + "x" * 2_000}),
        ("LS", {"ignore": ["{" + "," * 20_000 + "}" + "x" * 60_000]}),
        ("LS", {"ignore": ["{" + "," * 199 + "}"]}),
    ],
)
def test_patterns_are_bounded(bench: Bench, tool: str, given: dict[str, object]) -> None:
    bench.write("a.txt", "x")
    tracemalloc.start()
    try:
        got = ask(bench.box(), tool, **given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert got.failed
    assert peak < 20 * _MB


def test_the_allowed_number_of_choices_is_accepted() -> None:
    most = "{" + ",".join(map(str, range(MAX_CHOICES))) + "}"
    assert Pattern(most).matches(str(MAX_CHOICES - 1))
    with pytest.raises(ValueError, match="alternatives"):
        Pattern(most.replace("{", "{more,"))


@pytest.mark.parametrize("fault", [MemoryError(), RecursionError("too deep"), RuntimeError("a circle of links")])
def test_a_tool_that_runs_out_of_something_is_a_failed_call(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr(file_tools, "_encoded", fails)
    got = ask(bench.box(), "Write", file_path="a", content="x")
    assert (got.failed, got.receipt.failed) == (True, True)
    assert got.text.startswith("Write failed: ")
