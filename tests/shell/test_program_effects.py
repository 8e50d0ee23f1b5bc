"""Effects of programs that the table of lines does not contain: copies, archives, scripts of sed, awk and others."""

from __future__ import annotations

import pytest

from remit.shell.interpret import read_command


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("cp /elsewhere/a.py", ["a.py"]),
        ("mv a.py", ["a.py"]),
        ("ln -s /elsewhere/a.py", ["/elsewhere/a.py"]),
        ("rsync host:src/a.py", ["a.py"]),
        ("rsync --dry-run a.py b.py", []),
        ("rsync a.py host:b.py", []),
        ("scp a.py host:b.py", []),
        ("tar xf a.tar", ["."]),
        ("tar -x -f a.tar -C out", ["out"]),
        ("tar cf out.tar src", ["out.tar"]),
        ("tar --create --file out.tar src", ["out.tar"]),
        ("tar tf a.tar", []),
        ("unzip a.zip", ["."]),
        ("unzip a.zip -d out", ["out"]),
        ("unzip -l a.zip", []),
        ("zip out.zip a.py b.py", ["out.zip"]),
        ("zip", []),
        ("gzip a.txt b.txt", ["a.txt", "b.txt"]),
        ("gzip --stdout a.txt", []),
        ("patch a.py", ["a.py"]),
        ("patch -o out.py", ["out.py"]),
        ("patch --dry-run a.py", []),
        ("sed -i '' s/a/b/ a.py", ["a.py"]),
        ("awk -i inplace '{print}' a.py", ["a.py"]),
        ("python -m json.tool a.json b.json", ["b.json"]),
    ],
)
def test_the_files_that_a_program_writes_are_listed(line: str, writes: list[str]) -> None:
    effects = read_command(line, "/project")
    assert (effects.writes, effects.unknown) == (writes, False)


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("cp a.py /dev/stdout", ["a.py"]),
        (r"sed -n '\,start,p' a.py", ["a.py"]),
        ("perl -pe s/a/b/ a.py", ["a.py"]),
        ("python -m json.tool a.json", ["a.json"]),
        ("bash -n a.sh", []),
        ("command -v cat a.py", []),
        ("command -p cat a.py", ["a.py"]),
    ],
)
def test_the_files_that_a_program_shows_are_listed(line: str, reads: list[str]) -> None:
    effects = read_command(line, "/project")
    assert ([path for path, *_ in effects.reads], effects.unknown) == (reads, False)


@pytest.mark.parametrize(
    "line",
    [
        'sed "$script" a.py',
        "sed -f script.sed a.py",
        "sed s/a/b a.py",
        "sed s/a/b/e a.py",
        f"sed '{'p;' * 20_001}' a.py",
        'awk "$script" a.py',
        "awk -f script.awk a.py",
        "awk '{print > $1}' a.py",
        'bash -c "$line"',
        "bash -c",
        "python -m unknown_module a.py",
        "ruby script.rb",
        "perl -e 'unlink \"a.py\"'",
    ],
)
def test_a_script_that_cannot_be_read_is_not_understood(line: str) -> None:
    assert read_command(line, "/project").unknown


def test_cd_without_a_folder_moves_to_the_home_folder() -> None:
    assert read_command("cd && rm a.py", "/project").writes == ["~/a.py"]


@pytest.mark.parametrize("line", ["cd - && rm a.py", 'cd "$folder" && rm a.py'])
def test_a_write_after_a_move_to_an_unknown_folder_is_not_understood(line: str) -> None:
    assert read_command(line, "/project").unknown
