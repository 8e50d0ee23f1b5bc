"""The limit on the work for one command line: a number of steps, which does not depend on the clock."""

from __future__ import annotations

import pytest

from remit.shell import reading_time
from remit.shell.interpret import read_command
from remit.shell.reading_time import MAX_COMMANDS, MAX_PARTS, READING, NotShell, ReadingBudget

#: Lines that took more than 100 ms.
LARGE = {
    "words": "env " * 25_000,
    "pieces": "echo " + "'a'b" * 25_000,
    "escapes": "echo " + "\\a" * 50_000,
    "variables in quotes": 'echo "' + "$x" * 50_000 + '"',
    "commands": ";".join(["echo a"] * 14_000),
    "pipes": "|".join(["cat"] * 25_000),
    "folders": "cd a;" * 20_000,
    "assignments": " ".join(f"a{number}=b" for number in range(12_000)),
    "doubled": ";".join(f"a{number}=$a{number - 1}$a{number - 1}" for number in range(1, 2_000)),
    "here-documents": "\n".join(f"cat <<E{number}\nx\nE{number}" for number in range(5_000)),
    "open loops": "while :; do " * 8_000,
    "substitutions": "echo " + "$(echo " * 2_000,
}


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_time.time, "thread_time", lambda: 0.0)


@pytest.mark.usefixtures("stopped_clock")
@pytest.mark.parametrize("name", LARGE)
def test_a_large_line_is_not_understood_after_a_number_of_steps(name: str) -> None:
    effects = read_command(LARGE[name][:100_000])
    assert effects.unknown
    assert len(effects.programs) <= 3 * MAX_COMMANDS


@pytest.mark.usefixtures("stopped_clock")
def test_what_was_found_before_the_limit_is_kept() -> None:
    effects = read_command("echo x > src/app.py; " + "true; " * 2 * MAX_COMMANDS)
    assert effects.writes == ["src/app.py"]
    assert effects.unknown
    assert read_command("true; echo x > src/app.py; " + "a " * MAX_PARTS).writes == ["src/app.py"]


@pytest.mark.usefixtures("stopped_clock")
def test_ordinary_long_lines_are_understood() -> None:
    names = " ".join(f"src/module_{number}.py" for number in range(1_000))
    assert not read_command(f"git add {names}").unknown
    assert not read_command("cat <<'EOF' > docs/a.md\n" + "a line with words and $signs\n" * 3_000 + "EOF").unknown
    assert not read_command("; ".join(f"echo {number}" for number in range(200))).unknown


def test_a_slow_machine_stops_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr(reading_time.time, "thread_time", lambda: next(ticks))
    assert read_command("echo on a slow machine").unknown


def test_without_a_line_nothing_is_limited() -> None:
    for _ in range(2 * MAX_PARTS):
        READING.spend_part()
        READING.spend_command()


def test_the_budget_ends() -> None:
    budget = ReadingBudget()
    budget.start()
    for _ in range(MAX_COMMANDS):
        budget.spend_command()
    with pytest.raises(NotShell):
        budget.spend_command()
