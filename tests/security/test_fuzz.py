"""The fuzz targets: inputs that failed once, a few new ones, and proof that a failure is found."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import fuzz

SAVED = [(name, file) for name in fuzz.TARGETS for file in fuzz.saved_inputs(name)]


@pytest.mark.parametrize(("name", "file"), SAVED, ids=[f"{name} {file.stem}" for name, file in SAVED])
def test_an_input_that_failed_once_is_handled(name: str, file: Path) -> None:
    fuzz.run_input(fuzz.TARGETS[name], file.read_bytes())


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_a_few_inputs_of_each_target_are_handled(name: str) -> None:
    done, failing = fuzz.fuzz(name, fuzz.TARGETS[name], 0, 40, 20)
    assert failing is None
    assert done >= 40


def test_every_parser_has_a_target() -> None:
    parsers = {"document", "sarif", "transcript", "definition", "payload", "shell", "plan", "configuration"}
    assert set(fuzz.TARGETS) == parsers
    assert all(target.seeds() for target in fuzz.TARGETS.values())


def broken(data: bytes) -> None:
    if b"|" in data:
        raise KeyError("a bug")


def test_an_error_is_found_and_made_small(capsys: pytest.CaptureFixture[str]) -> None:
    done, failing = fuzz.fuzz("broken", fuzz.Target(broken, lambda: [b"a table: x | y"]), 0, 100, 1)
    assert failing is not None
    assert b"|" in failing
    assert done >= 1
    assert "KeyError" in capsys.readouterr().out


def test_an_input_that_takes_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 9.0, 9.0])
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    with pytest.raises(fuzz.TooSlow, match=r"took 9\.0 s"):
        fuzz.run_input(fuzz.Target(lambda data: None, list), b"x")


@pytest.mark.parametrize("kind", ["delete", "insert", "replace", "repeat", "move"])
def test_an_edit_changes_the_input_within_limits(kind: str) -> None:
    assert fuzz.edited(b"some text of a seed", [(kind, 0.3, 0.2, "NEW")]) != b"some text of a seed"
    assert len(fuzz.edited(b"x" * 10_000, [("repeat", 0.1, 1.0, "")] * 7)) <= 50_000


def test_the_random_generator_finds_an_error_that_comes_after_the_exploration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "_BATCH", 1)

    def rare(data: bytes) -> None:
        if b"[[a]]" in data:
            raise LookupError("a bug")

    done, failing = fuzz.fuzz("rare", fuzz.Target(rare, lambda: [b"one two three"]), 0, 5_000, 3)
    assert failing == b"[[a]]", "it is made as small as possible"
    assert 1 < done < 5_000
    assert "LookupError" in capsys.readouterr().out


def test_the_random_inputs_can_be_repeated_by_their_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "_BATCH", 1)
    seen: list[list[bytes]] = []
    for _ in range(2):
        inputs: list[bytes] = []
        fuzz.fuzz("kept", fuzz.Target(inputs.append, lambda: [b"some text"]), 0, 450, 7)
        seen.append(inputs[1:])
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 300
