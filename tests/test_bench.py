"""The figures of `dev.py bench`: goals, and the comparison with an earlier run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import measure  # type: ignore[import-not-found]  # noqa: E402 (the path must be known first)
import run  # type: ignore[import-not-found]  # noqa: E402 (the path must be known first)


def row(figure: float, goal: float | None = None) -> dict[str, Any]:
    return {"name": "a job", "against": "nothing", "figure": figure, "unit": "x", "goal": goal, "is_met": None}


@pytest.mark.parametrize(("figure", "goal", "met"), [(2, 2, True), (2.1, 2, False), (5, -4, True), (3, -4, False)])
def test_a_goal_is_a_maximum_and_a_negative_one_a_minimum(figure: float, goal: float, met: bool) -> None:
    assert run.is_met(figure, goal) is met


def test_without_a_goal_a_figure_is_neither_met_nor_missed() -> None:
    assert run.is_met(1, None) is None


@pytest.mark.parametrize(("now", "then", "goal", "expected"), [(3, 2, None, 1.5), (2, 4, None, 0.5), (2, 4, -1, 2)])
def test_a_change_above_one_is_always_for_the_worse(
    now: float, then: float, goal: float | None, expected: float
) -> None:
    before = {("a job", "nothing"): row(then)}

    assert run.change(row(now, goal), before) == expected


def test_a_figure_that_was_not_measured_before_has_no_change() -> None:
    assert run.change(row(1), {}) is None


@pytest.mark.parametrize(("changed", "is_marked"), [(1.09, False), (1.11, True), (0.5, False)])
def test_a_figure_that_got_worse_by_more_than_a_tenth_is_marked(changed: float, is_marked: bool) -> None:
    assert ("REGRESSION" in run.as_line({**row(1), "change": changed})) is is_marked


def test_figures_are_read_back_by_name_and_baseline(tmp_path: Path) -> None:
    file = tmp_path / "last.json"
    file.write_text(json.dumps({"figures": [row(1), {**row(2), "against": "something"}]}), encoding="utf-8")

    assert [found["figure"] for found in run.figures_of(file).values()] == [1, 2]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"figures": [1]}'])
def test_a_file_without_figures_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    file = tmp_path / "last.json"
    file.write_text(content, encoding="utf-8")

    with pytest.raises(SystemExit, match=r"last\.json has no figures"):
        run.figures_of(file)


def test_a_figure_that_cannot_be_measured_here_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> float:
        raise run.NotMeasured("there is no browser")

    benches = [run.Bench("a page", "nothing", "s", 2, refuse), run.Bench("a job", "nothing", "s", 2, lambda: 1.0)]
    monkeypatch.setattr(run, "registry", lambda: {"pages": benches})

    rows: list[dict[str, Any]] = []
    run.measure("", {}, rows, with_long=False, is_quiet=True)

    assert [row["name"] for row in rows] == ["a job"]
    assert "a page: not measured: there is no browser" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [TimeoutError, SystemExit])
def test_a_part_that_fails_is_reported_and_the_others_are_measured(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail() -> float:
        raise kind("the worker does not answer")

    benches = [run.Bench("a page", "nothing", "s", 2, fail), run.Bench("a job", "nothing", "s", 2, lambda: 1.0)]
    monkeypatch.setattr(run, "registry", lambda: {"pages": benches})
    monkeypatch.setattr(run, "LAST", tmp_path / "last.json")
    monkeypatch.setattr(run.platform, "platform", lambda: "Linux")  # it starts a program
    monkeypatch.setattr(sys, "argv", ["run.py"])

    assert run.main() == 1
    printed = capsys.readouterr()
    assert f"a page: FAILED: {kind.__name__}: the worker does not answer" in printed.err
    assert [line.split()[-1] for line in printed.out.splitlines()[1:3]] == ["FAILED", "met"]
    assert "measured in 0 s" in printed.out


def test_a_run_that_is_stopped_prints_what_it_measured_and_keeps_the_last_whole_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def stop() -> float:
        raise KeyboardInterrupt

    benches = [run.Bench("a job", "nothing", "s", 2, lambda: 1.0), run.Bench("a page", "nothing", "s", 2, stop)]
    monkeypatch.setattr(run, "registry", lambda: {"pages": benches})
    monkeypatch.setattr(run, "LAST", tmp_path / "last.json")
    monkeypatch.setattr(run.platform, "platform", lambda: "Linux")  # it starts a program
    monkeypatch.setattr(sys, "argv", ["run.py", "--format", "json"])

    assert run.main() == 130
    printed = capsys.readouterr()
    assert "stopped: the rest was not measured" in printed.err
    assert [row["name"] for row in json.loads(printed.out)["figures"]] == ["a job"]
    assert not (tmp_path / "last.json").exists()


def test_figures_of_a_machine_whose_time_went_to_others_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ticks = iter([(10.0, 100.0), (60.0, 200.0)])
    monkeypatch.setattr(run, "stolen_time", lambda: next(ticks))
    monkeypatch.setattr(run, "registry", lambda: {"jobs": [run.Bench("a job", "nothing", "s", 2, lambda: 1.0)]})
    monkeypatch.setattr(run, "LAST", tmp_path / "last.json")
    monkeypatch.setattr(run.platform, "platform", lambda: "Linux")  # it starts a program
    monkeypatch.setattr(sys, "argv", ["run.py"])

    assert run.main() == 0
    assert "the host gave 50% of the processor time to other machines" in capsys.readouterr().out


def test_the_time_of_each_part_is_the_sum_of_its_rows() -> None:
    rows = [{"part": "pages", "seconds": 1.0}, {"part": "jobs", "seconds": 5.0}, {"part": "pages", "seconds": 1.5}]

    assert run.times_of_parts(rows) == [
        "measured in 8 s, each part by its file (seconds)",
        "     5.0  jobs",
        "     2.5  pages",
    ]


@pytest.mark.parametrize(("value", "size"), [("", 10), ("1", 100)])
def test_the_full_size_of_a_part_is_measured_with_long(monkeypatch: pytest.MonkeyPatch, value: str, size: int) -> None:
    monkeypatch.setenv(measure.LONG, value)

    assert measure.sized(100, 10) == size


@pytest.mark.process
def test_a_name_of_no_bench_is_an_error_that_lists_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(BENCH)  # folders of tests that were imported since have modules of the same name
    monkeypatch.setattr(sys, "argv", ["run.py", "no such bench"])
    with pytest.raises(SystemExit) as end:
        run.main()
    assert end.value.code == 2
    found = capsys.readouterr().err
    assert "no bench has 'no such bench'" in found
    assert "serving slowest page" in found
