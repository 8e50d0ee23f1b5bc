"""Receipts: their shape, and the files that tool calls and command lines read and write."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import UsageError
from remit.evidence.commands import only_reads, shell_reads, shell_writes, simple_commands
from remit.evidence.model import WHOLE
from remit.evidence.receipts import Receipt, ReceiptFile, ReceiptIndex, read_receipts
from remit.workspace.snapshot import Snapshot

ROOT = "/home/dev/shop"
ALL = (1, WHOLE)


def bash(command: str, status: int | None = 0, **more: Any) -> Receipt:
    return Receipt(tool="Bash", arguments={"command": command}, exit=status, **more)


def index_of(*receipts: Receipt, other_roots: tuple[str, ...] = ()) -> ReceiptIndex:
    return ReceiptIndex(receipts, ROOT, other_roots=other_roots)


# The shape


def test_receipts_round_trip_through_json() -> None:
    original = ReceiptFile(
        receipts=(
            Receipt(
                tool="Read",
                arguments={"file_path": "a.py", "limit": 3},
                path="a.py",
                ranges=((1, 3), (9, 9)),
                digest="9f86",
                time="2026-01-31T10:00:00Z",
                cwd="/home/dev/shop",
            ),
            Receipt(tool="Grep", hits={"a.py": (3, 5), "b.py": ()}),
            bash("false", 1, failed=True),
        ),
        snapshot=Snapshot({"a.py": "9f86"}),
        root="/home/dev/shop",
    )
    assert read_receipts(msgspec.json.encode(original), "r.json") == original


def test_omitted_fields_of_a_receipt_have_defaults() -> None:
    file = read_receipts(b'{"receipts": [{"tool": "Read", "later": [1]}], "more": {}}', "r.json")
    assert file.receipts == (Receipt(tool="Read"),)
    assert msgspec.json.encode(file.receipts[0]) == b'{"tool":"Read"}'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"not json", "malformed"),
        (b"\xff\xfe", "malformed"),
        (b'{"receipts": [{"tool": "\xff"}]}', "utf-8"),
        (b"[]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`, got `null`"),
        (b"{}", "missing required field `receipts`"),
        (b'{"receipts": {}}', "$.receipts"),
        (b'{"receipts": [7]}', "$.receipts[0]"),
        (b'{"receipts": [{}]}', "missing required field `tool`"),
        (b'{"receipts": [{"tool": 7}]}', "$.receipts[0].tool"),
        (b'{"receipts": [{"tool": "Read", "ranges": [[1]]}]}', "$.receipts[0].ranges[0]"),
        (b'{"receipts": [{"tool": "Read", "ranges": [["1", 2]]}]}', "$.receipts[0].ranges[0][0]"),
        (b'{"receipts": [{"tool": "Bash", "exit": "0"}]}', "$.receipts[0].exit"),
        (b'{"receipts": [{"tool": "Grep", "hits": {"a.py": [null]}}]}', "$.receipts[0].hits"),
        (b'{"receipts": [], "schema": "remit.receipts/2"}', "$.schema"),
        (b'{"receipts": [], "schema": "a\\nb"}', "$.schema"),
        (b'{"receipts": [], "snapshot": {"files": [1]}}', "$.snapshot.files"),
        (b'{"receipts": [{"tool": "x", "arguments": ' + b'{"a":' * 100_000, "recursion"),
    ],
)
def test_another_shape_is_a_usage_error(data: bytes, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_receipts(data, "r.json")
    message = str(raised.value)
    assert message.startswith("r.json: not a receipts file (remit.receipts/1): ")
    assert words in message
    assert "\n" not in message


# The index


def test_lines_in_a_range_that_was_read_are_seen_and_others_only_their_file() -> None:
    how_seen = index_of(Receipt(tool="Read", path="a.py", ranges=((10, 20), (40, 40)))).how_seen
    assert [how_seen("a.py", line) for line in (9, 10, 20, 21, 40, 41)] == [
        "file",
        "line",
        "line",
        "file",
        "line",
        "file",
    ]
    assert how_seen("a.py", None) == "file"
    assert how_seen("b.py", 10) == "no"


def test_a_read_without_a_range_showed_the_whole_file() -> None:
    assert index_of(Receipt(tool="Read", path="a.py")).how_seen("a.py", 100_000) == "line"


def test_a_search_shows_the_lines_it_names_and_touches_the_files() -> None:
    index = index_of(Receipt(tool="Grep", hits={"a.py": (7,), "b.py": ()}))
    assert [index.how_seen("a.py", 7), index.how_seen("a.py", 8), index.how_seen("b.py", 1)] == [
        "line",
        "file",
        "file",
    ]
    assert index.read.keys() == {"a.py"}


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit", "NotebookEdit"])
def test_an_edit_touches_its_file_and_is_kept(tool: str) -> None:
    index = index_of(Receipt(tool=tool, path="a.py"))
    assert index.edited == {"a.py"}
    assert index.how_seen("a.py", 1) == "file"


def test_a_failed_call_shows_nothing_but_is_counted() -> None:
    index = index_of(
        Receipt(tool="Read", path="a.py", failed=True),
        Receipt(tool="Edit", path="b.py", failed=True),
        Receipt(tool="Grep", hits={"c.py": (1,)}, failed=True),
        bash("cat d.py", 1, failed=True),
        bash("cat e.py", 1),
        bash("echo x > f.py", 1),
    )
    assert index.count == 6
    assert (index.touched, index.read, index.edited) == (set(), {}, set())
    assert [run.command for run in index.runs] == ["cat d.py", "cat e.py", "echo x > f.py"]


def test_other_tools_are_only_counted() -> None:
    index = index_of(Receipt(tool="Agent", arguments={"prompt": "cat a.py"}), Receipt(tool="WebFetch"))
    assert (index.count, index.touched, index.runs, index.executed) == (2, set(), [], False)


@pytest.mark.parametrize("command", [7, None, ["cat", "a.py"], {"a": 1}])
def test_a_command_that_is_not_text_is_ignored(command: object) -> None:
    index = index_of(Receipt(tool="Bash", arguments={"command": command}, exit=0))
    assert (index.runs[0].command, index.touched, index.executed) == ("", set(), False)


@pytest.mark.parametrize(
    ("written", "cwd", "expected"),
    [
        ("a.py", None, "a.py"),
        ("./app/../a.py", None, "a.py"),
        ("/home/dev/shop/a.py", None, "a.py"),
        ("a.py", "/home/dev/shop", "a.py"),
        ("cart.py", "/home/dev/shop/app", "app/cart.py"),
        ("../a.py", "/home/dev/shop/app", "a.py"),
        ("shop/a.py", "/home/dev", "a.py"),
        ("cart.py", "app", "app/cart.py"),
        ("/home/dev/shop/a.py", "/somewhere", "a.py"),
        ("/other/copy/a.py", None, "a.py"),
        ("app/cart.py", "/other/copy", "app/cart.py"),
        ("cart.py", "/other/copy/app", "app/cart.py"),
    ],
)
def test_paths_are_relative_to_the_repository(written: str, cwd: str | None, expected: str) -> None:
    index = index_of(Receipt(tool="Read", path=written, cwd=cwd), other_roots=("/other/copy",))
    assert index.touched == {expected}


@pytest.mark.parametrize(
    ("written", "cwd"), [("/etc/a.py", None), ("a.py", "/tmp"), ("../../a.py", "/home/dev/shop/app"), ("~/a.py", None)]
)
def test_files_outside_the_repository_are_ignored(written: str, cwd: str | None) -> None:
    assert index_of(Receipt(tool="Read", path=written, cwd=cwd)).touched == set()


def test_commands_are_read_in_the_folder_they_ran_in() -> None:
    index = index_of(bash("cat cart.py", cwd="/home/dev/shop/app"), bash("cd tests && cat a.py", cwd="/home/dev/shop"))
    assert index.read == {"app/cart.py": [ALL], "tests/a.py": [ALL]}


def test_a_file_written_by_the_shell_is_edited() -> None:
    index = index_of(bash("cat > app/new.py <<'EOF'\nimport os\nEOF"))
    assert index.edited == {"app/new.py"}
    assert index.how_seen("app/new.py", 1) == "file"


# Command lines


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py", [("a.py", ALL)]),
        ("cat -n a.py b.py", [("a.py", ALL), ("b.py", ALL)]),
        ("/bin/cat a.py", [("a.py", ALL)]),
        ("cat Makefile", [("Makefile", ALL)]),
        ("cat 'two words.py' \"b c.py\" d\\ e.py", [("two words.py", ALL), ("b c.py", ALL), ("d e.py", ALL)]),
        ("cat < a.py", [("a.py", ALL)]),
        ("nl -ba a.py", [("a.py", ALL)]),
        ("less a.py", [("a.py", ALL)]),
        ("head a.py", [("a.py", (1, 10))]),
        ("head -n 25 a.py", [("a.py", (1, 25))]),
        ("head -n25 a.py", [("a.py", (1, 25))]),
        ("head -25 a.py b.py", [("a.py", (1, 25)), ("b.py", (1, 25))]),
        ("head --lines=25 a.py", [("a.py", (1, 25))]),
        ("head -n -5 a.py", [("a.py", None)]),
        ("head -c 100 a.py", [("a.py", None)]),
        ("tail a.py", [("a.py", None)]),
        ("tail -n 5 a.py", [("a.py", None)]),
        ("tail -n +40 a.py", [("a.py", (40, WHOLE))]),
        ("sed -n '10,40p' a.py", [("a.py", (10, 40))]),
        ("sed -n 7p a.py", [("a.py", (7, 7))]),
        ('sed -n "10,40p;" a.py', [("a.py", (10, 40))]),
        ("sed -n '/def/p' a.py", [("a.py", None)]),
        ("sed -n '1,5p;9,12p' a.py", [("a.py", None)]),
        ("sed 's/a/b/' a.py", [("a.py", None)]),
        ("grep -n foo a.py", [("a.py", None)]),
        ("grep -n 'a|b' a.py", [("a.py", None)]),
        ("grep -e foo a.py", [("foo", None), ("a.py", None)]),
        ("rg 'x > 1' a.py", [("a.py", None)]),
        ("awk 'NR>3' a.py", [("a.py", None)]),
        ("wc -l a.py", [("a.py", None)]),
        ("python app/main.py", [("app/main.py", None)]),
        ("git diff app/main.py", [("app/main.py", None)]),
    ],
)
def test_a_reader_shows_its_files(command: str, expected: list[tuple[str, object]]) -> None:
    assert shell_reads(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py | head -20", [("a.py", (1, 20))]),
        ("cat a.py | head", [("a.py", (1, 10))]),
        ("cat -n a.py | sed -n '10,20p'", [("a.py", (10, 20))]),
        ("nl -ba a.py | sed -n '10,20p' | cat", [("a.py", (10, 20))]),
        ("cat a.py | less", [("a.py", ALL)]),
        ("cat a.py | grep foo", [("a.py", None)]),
        ("cat a.py | head -20 | grep foo", [("a.py", None)]),
        ("sed -n '1,50p' a.py | head -5", [("a.py", None)]),
        ("cat a.py |& wc -l", [("a.py", None)]),
        ("cat a.py > b.txt", [("a.py", None)]),
        ("cat a.py; cat b.py", [("a.py", ALL), ("b.py", ALL)]),
        ("cat a.py && head b.py || cat c.py", [("a.py", ALL), ("b.py", (1, 10)), ("c.py", ALL)]),
        ("cat a.py\ncat b.py", [("a.py", ALL), ("b.py", ALL)]),
        ("cat a.py 2>/dev/null", [("a.py", ALL)]),
        ("cat a.py 2>&1 | head -3", [("a.py", (1, 3))]),
        ("cat a.py # not b.py, it's other", [("a.py", ALL)]),
        ("cat \\\n  a.py", [("a.py", ALL)]),
    ],
)
def test_behind_a_pipe_only_the_remaining_lines_are_shown(command: str, expected: list[tuple[str, object]]) -> None:
    assert shell_reads(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd app && cat a.py", ["app/a.py"]),
        ("cd app; cd sub; cat ../a.py", ["app/sub/../a.py"]),
        ("cd /abs && cat a.py", ["/abs/a.py"]),
        ("cd app && cat /abs/a.py", ["/abs/a.py"]),
        ("cd 'two words' && cat a.py", ["two words/a.py"]),
        ("(cd app && cat a.py); cat b.py", ["app/a.py", "b.py"]),
        ("pushd app && cat a.py", ["app/a.py"]),
        ("cd - && cat a.py", []),
        ("cd && cat a.py", []),
        ("cd $DIR && cat a.py", []),
        ("cd ~/x && cat a.py && cat /abs/b.py", ["/abs/b.py"]),
        ("bash -lc 'cd app && cat a.py'", ["app/a.py"]),
        ("cd app && sh -c 'cat a.py'", ["app/a.py"]),
        ("time env X=1 timeout 5 cat a.py", ["a.py"]),
        ("X=1 cat a.py", ["a.py"]),
        ("if true; then cat a.py; fi", ["a.py"]),
        ("for f in x.py; do cat a.py; done", ["a.py"]),
    ],
)
def test_a_change_of_folder_is_followed_where_possible(command: str, expected: list[str]) -> None:
    assert [name for name, _ in shell_reads(command)] == expected


@pytest.mark.parametrize(
    "command",
    [
        "ls a.py",
        "echo a.py",
        "echo 'cat a.py'",
        "test -f a.py",
        "[ -f a.py ]",
        "find . -name a.py",
        "stat a.py",
        "rm a.py",
        "touch a.py",
        "cat <<EOF\ncat a.py\nEOF",
        "cat <<-'EOF'\n\tcat a.py\n\tEOF",
        "grep a.py",
        "",
    ],
)
def test_naming_a_file_is_not_opening_it(command: str) -> None:
    assert shell_reads(command) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo x > a.py", ["a.py"]),
        ("echo x >> a.py", ["a.py"]),
        ("cd app && cat > a.py <<EOF\nb > c.py\nEOF\necho y > d.py", ["app/a.py", "app/d.py"]),
        ("sed -i 's/a/b/' a.py b.py", ["a.py", "b.py"]),
        ("sed -i.bak -e 's/a/b/' a.py", ["s/a/b/", "a.py"]),
        ("echo x | tee a.py", ["a.py"]),
        ("make 2>&1 > log.txt", ["log.txt"]),
        ("make &> log.txt", ["log.txt"]),
        ("make > /dev/null 2>&1", []),
        ("echo 'a > b.py'", []),
        ("sed 's/a/b/' a.py", []),
    ],
)
def test_a_redirection_and_an_edit_in_place_write_files(command: str, expected: list[str]) -> None:
    assert shell_writes(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls -la",
        "cat a.py",
        "cat a.py | grep x | sort | uniq -c",
        "grep -rn foo . 2>/dev/null",
        "grep -E 'a|b;c&&d' a.py",
        'grep -n "a > b" a.py',
        "awk '$3 > 5 { print }' a.py",
        "find . -name '*.py' -exec grep -l x {} +",
        "find . -type f | xargs -0 -n 1 grep x",
        "cd app && pwd && ls",
        "sed -n '1,5p' a.py",
        "git status && git log --oneline | head -3",
        "git -C app --no-pager diff HEAD",
        "git --version",
        "python --version",
        "go version",
        "which python; command -v node; type cd",
        'echo "run pytest"; exit 0',
        "true",
        "FOO=1",
        "env",
        "for f in a b; do cat $f; done",
        "if [ -f a.py ]; then cat a.py; fi",
        "bash -c 'ls'",
        "cat <<EOF\npytest\nEOF",
        "/usr/bin/ls",
        "bat a.py",
        "sleep 1",
    ],
)
def test_reading_is_not_execution(command: str) -> None:
    assert only_reads(command)
    assert not index_of(bash(command)).executed


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "python -m pytest -q",
        "python -c 'print(1)'",
        "cd app && npm test",
        "ls; make",
        "cat a.py | python",
        "env X=1 pytest",
        "X=1 timeout 60 ./run.sh",
        "bash -lc 'pytest -q'",
        "bash run.sh",
        "pytest -v",
        "sed -i 's/a/b/' a.py",
        "sed -Ei s/a/b/ a.py",
        "echo x > a.py",
        "find . -name '*.pyc' -delete",
        "find . -exec rm {} ;",
        "git commit -m x",
        "tee a.py",
        "for f in a b; do python $f; done",
        "ls | xargs rm",
        "ls\npytest",
        "echo $(pytest)",
    ],
)
def test_a_successful_command_that_does_more_than_read_is_execution(command: str) -> None:
    assert not only_reads(command)
    assert index_of(bash(command, 0)).executed
    assert not index_of(bash(command, 1)).executed
    assert not index_of(bash(command, None)).executed


def test_a_comparison_of_quotes_and_operators_is_not_mistaken() -> None:
    commands = simple_commands("grep '&&' a.py && echo \"it's; \\\"fine\\\"\" | tr ';' ','")
    assert [(simple.joined, simple.words) for simple in commands] == [
        ("", ["grep", "&&", "a.py"]),
        ("&&", ["echo", 'it\'s; "fine"']),
        ("|", ["tr", ";", ","]),
    ]


@pytest.mark.parametrize(
    "command",
    [
        "cat 'a.py",
        'cat "a.py',
        "cat a.py '",
        "echo \"it's",
        "cat a.py \\",
        "'",
        '"',
        "(",
        ")",
        "<",
        ">",
        "<<",
        "|",
        "&&",
        "$(",
        "`",
        "bash -c",
        "cd",
        "cat <<EOF",
        "sed -n",
        "head -n",
    ],
)
def test_an_invalid_command_line_is_read_as_far_as_possible(command: str) -> None:
    only_reads(command)
    shell_writes(command)
    shell_reads(command)


def test_behind_an_open_quote_words_are_still_split() -> None:
    assert ("a.py", ALL) in shell_reads("cat a.py 'oops b.py")


WORDS = """
cat head tail sed grep git find env timeout xargs bash cd tee for do done if then fi pytest -n -c -i -e -lc 5 +5 -5
10,20p a.py app/b.py - -- ; | || && & ( ) < > >> 2>&1 <<EOF EOF ' " $( ` X=1 -exec -delete status
""".split()  # noqa: SIM905 (a column of words reads better than a list of strings)


@given(st.lists(st.sampled_from([*WORDS, "\n"]), max_size=12))
def test_no_order_of_words_raises(words: list[str]) -> None:
    command = " ".join(words)
    only_reads(command)
    shell_reads(command)
    shell_writes(command)


@given(st.text(st.sampled_from("ac ./'\"\\;|&()<>\n#$-=0")))
def test_no_command_line_raises(command: str) -> None:
    only_reads(command)
    shell_reads(command)
    shell_writes(command)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["'", '"', "\\", "<<a\n", "a|", "cat|", "cat a|", "(", "$(", "! ", "env ", "a=b ", "bash -c ", "# ", "\f"]
)
def test_a_hostile_command_line_is_read_to_its_limit_and_no_further(piece: str) -> None:
    for command in (piece * 20_000, "cat a.py; " + piece * 20_000):
        only_reads(command)
        shell_writes(command)
    assert shell_reads("cat a.py; " + piece * 20_000)[:1] == [("a.py", ALL)]
    assert ("late.py", ALL) not in shell_reads(piece * 20_000 + "; cat late.py")
