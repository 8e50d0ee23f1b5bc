"""What command lines read, write and search, as labelled in a table."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from shell_table import TABLE

from remit.shell.interpret import read_command
from remit.shell.programs import editors, interpreters, lists, viewers


def effects_of(command: str, cwd: str) -> list[str]:
    effects = read_command(command, cwd)
    found = [f"r={path}" + ("" if lines is None else f":{lines}") for path, lines, _ in effects.reads]
    found += [f"w={path}" for path in effects.writes]
    found += [f"s={root}" for root, *_ in effects.searches]
    return found + ["?"] * effects.unknown


def names(text: str) -> list[str]:
    """`r=a b.py w=c` as two names: a new one begins at a sign and an equals sign."""
    found: list[str] = []
    for word in text.split(" "):
        if word == "?" or word[:2] in ("r=", "w=", "s="):
            found.append(word)
        elif word:
            found[-1] += " " + word
    return found


def test_the_table_has_at_least_200_lines_of_all_kinds() -> None:
    lines = [line for line, _ in TABLE]
    assert len(lines) == len(set(lines)) >= 200
    for sign in ("r=", "w=", "s=", "?"):
        assert sum(sign in expected for _, expected in TABLE) >= 20, sign
    assert sum(expected == "" for _, expected in TABLE) >= 40


@pytest.mark.parametrize(("line", "expected"), TABLE, ids=[line[:60] for line, _ in TABLE])
def test_a_command_line_is_read_as_labelled(line: str, expected: str, tmp_path) -> None:
    assert sorted(effects_of(line, str(tmp_path))) == sorted(names(expected))


def test_a_name_that_is_a_file_is_restored_by_checkout_and_a_branch_is_not(tmp_path) -> None:
    (tmp_path / "a.py").write_text("x")
    assert effects_of("git checkout a.py", str(tmp_path)) == ["w=a.py"]
    assert effects_of("git checkout main", str(tmp_path)) == []


def test_a_copy_into_a_folder_writes_in_the_folder(tmp_path) -> None:
    (tmp_path / "src").mkdir()
    assert effects_of("cp a.py src", str(tmp_path)) == ["w=src/a.py"]
    assert effects_of("mv a.py src", str(tmp_path)) == ["w=src/a.py", "w=a.py"]


@pytest.mark.parametrize(
    "line",
    [
        "a" * 5_000_000,
        "(" * 50_000,
        "$(" * 20_000,
        '"' + "$(" * 2_000,
        "echo " + "`" * 30_001,
        "a;" * 40_000,
        "{a," * 9000,
    ],
    ids=["long", "brackets", "substitutions", "quoted", "backticks", "commands", "braces"],
)
def test_a_hostile_line_is_not_understood_and_ends_quickly(line: str) -> None:
    started = time.process_time()
    assert read_command(line, "/").unknown
    assert time.process_time() - started < 5


@given(st.text(alphabet="ab/ \t\n'\"\\$`(){}[]<>|&;*?#-=.~!0", max_size=60))
def test_reading_a_line_never_raises(line: str) -> None:
    found = read_command(line, "/nowhere")
    assert isinstance(found.unknown, bool)


@given(st.sampled_from([line for line, _ in TABLE]), st.sampled_from([line for line, _ in TABLE]))
def test_two_lines_have_the_effects_of_both(one: str, other: str) -> None:
    assume(all(one.count(quote) % 2 == 0 for quote in "'\""))  # else the next line belongs to this one
    alone = [effect for effect in effects_of(one, "/x") if effect[0] in "w?"]
    both = effects_of(f"{one}\n{other}", "/x")
    assert all(effect in both for effect in alone) or "?" in both


def test_every_program_is_in_the_list_of_its_module() -> None:
    assert set(viewers.HANDLERS) == lists.VIEWERS
    assert set(editors.HANDLERS) == lists.EDITORS
    assert set(interpreters.HANDLERS) == lists.INTERPRETERS
