from __future__ import annotations

import os
import time

import pytest
from toolboxes import Bench, ask

from remit.dispatch.tools.supervisor import descendants
from remit.evidence.receipts import ReceiptIndex

pytestmark = pytest.mark.process


def _tree(bench: Bench) -> Bench:
    bench.write("src/a.py", "import os\n\ndef main():\n    return os\n\n\n\nmain()\n")
    bench.write("src/b.ts", "const main = 1\n")
    bench.write("docs/c.md", "Main\n")
    bench.write("data.bin", b"main\0")
    return bench


def test_matching_files_are_listed_in_order(bench: Bench) -> None:
    got = ask(_tree(bench).box(), "Grep", pattern="main")
    assert got.text == "src/a.py\nsrc/b.ts"
    assert got.receipt.hits == {"src/a.py": (), "src/b.ts": ()}
    ledger = ReceiptIndex([got.receipt], str(bench.root))
    assert [ledger.how_seen(path, 3) for path in ("src/a.py", "docs/c.md")] == ["file", "no"]


def test_lines_have_numbers_and_are_recorded_as_seen(bench: Bench) -> None:
    got = ask(_tree(bench).box(), "Grep", pattern="main", output_mode="content", path="src/a.py")
    assert got.text == "src/a.py:3:def main():\nsrc/a.py:8:main()"
    assert got.receipt.hits == {"src/a.py": (3, 8)}
    ledger = ReceiptIndex([got.receipt], str(bench.root))
    assert [ledger.how_seen("src/a.py", line) for line in (2, 3, 8)] == ["file", "line", "line"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"-A": 1}, "a.py:3:def main():\na.py-4-    return os\n--\na.py:8:main()"),
        ({"-B": 1}, "a.py-2-\na.py:3:def main():\n--\na.py-7-\na.py:8:main()"),
        (
            {"-C": 2},
            "a.py-1-import os|a.py-2-|a.py:3:def main():|a.py-4-    return os|a.py-5-|a.py-6-|a.py-7-|a.py:8:main()",
        ),
        ({"-n": False}, "a.py:def main():\na.py:main()"),
        ({"head_limit": 1}, "a.py:3:def main():\n[Only the first 1 are shown. Use a narrower pattern.]"),
        ({"pattern": "MAIN", "-i": True}, "a.py:3:def main():\na.py:8:main()"),
        ({"pattern": r"def.*?return", "multiline": True}, "a.py:3:def main():\na.py:4:    return os"),
        ({"pattern": r"^main\(\)$"}, "a.py:8:main()"),
        ({"output_mode": "count"}, "a.py:2"),
    ],
)
def test_the_options_work_as_in_claude_code(bench: Bench, arguments: dict[str, object], text: str) -> None:
    bench.write("a.py", "import os\n\ndef main():\n    return os\n\n\n\nmain()\n")
    given = {"pattern": "main", "output_mode": "content"} | arguments
    assert ask(bench.box(), "Grep", **given).text == text.replace("|", "\n")


@pytest.mark.parametrize(
    ("glob", "files"),
    [("*.py", ["src/a.py"]), ("src/*", ["src/a.py", "src/b.ts"]), ("**/*.{ts,md}", ["docs/c.md", "src/b.ts"])],
)
def test_a_glob_narrows_the_search(bench: Bench, glob: str, files: list[str]) -> None:
    assert ask(_tree(bench).box(), "Grep", pattern="main", glob=glob, **{"-i": True}).text.split("\n") == files


def test_ignored_files_are_skipped_unless_named(bench: Bench) -> None:
    bench.write(".gitignore", "build/\n*.log\n")
    for name in ("build/x.py", "a.log", "new.py", "kept.py"):
        bench.write(name, "main\n")
    bench.git("init", "--quiet")
    bench.git("add", "kept.py")
    box = bench.box()
    assert ask(box, "Grep", pattern="main").text == "kept.py\nnew.py"
    assert ask(box, "Grep", pattern="main", path="a.log").text == "a.log"
    assert ask(box, "Grep", pattern="main", path="build").text == "build/x.py"


def test_an_endless_pattern_is_stopped(bench: Bench) -> None:
    bench.write("a.txt", "good\n")
    bench.write("b.txt", "a" * 60 + "!\n")
    began, before = time.monotonic(), set(descendants(os.getpid()))
    got = ask(bench.box(seconds=2), "Grep", pattern="good|(a+)+$", output_mode="content")
    assert time.monotonic() - began < 60
    assert got.failed
    assert got.text.startswith("a.txt:1:good\n[The search took longer than 2 seconds and was stopped.")
    assert set(descendants(os.getpid())) <= before


def test_an_invalid_pattern_is_explained(bench: Bench) -> None:
    bench.write("a.txt", "a\n")
    got = ask(bench.box(), "Grep", pattern="(a")
    assert got.failed
    assert "The pattern is not a regular expression: missing ), unterminated subpattern" in got.text


def test_no_match_is_not_a_failure(bench: Bench) -> None:
    bench.write("a.txt", "a\n")
    got = ask(bench.box(), "Grep", pattern="b")
    assert (got.failed, got.receipt.hits) == (False, {})
    assert got.text.startswith("No matches in 1 files.")


def test_only_shown_lines_are_recorded_as_seen(bench: Bench) -> None:
    bench.write("a.txt", "match\n" * 1_000)
    got = ask(bench.box(characters=2_000), "Grep", pattern="match", output_mode="content", key="k")
    last = max(got.receipt.hits["a.txt"])
    assert f"a.txt:{last}:match\n[" in got.text
    assert f"a.txt:{last + 1}:match" not in got.text
    assert (bench.spill / "k.txt").read_text().count("match") == 1_000


def test_matches_are_capped(bench: Bench) -> None:
    bench.write("a.txt", "match\n" * 100)
    got = ask(bench.box(matches=10), "Grep", pattern="match", output_mode="content")
    assert got.text.count("match\n") == 10
    assert "[Only the first 10 are shown." in got.text


def test_large_files_are_skipped_and_counted(bench: Bench) -> None:
    bench.write("a.txt", "match\n" * 100)
    bench.write("b.txt", "match\n")
    got = ask(bench.box(file_bytes=200), "Grep", pattern="match")
    assert got.text == "b.txt\n[1 files were not searched: they are too large or cannot be opened.]"


def test_names_in_any_encoding_do_no_harm(bench: Bench) -> None:
    bench.write(os.fsdecode(b"\xff\n.txt"), "match\n")
    assert ask(bench.box(), "Grep", pattern="match").receipt.hits
    assert not ask(bench.box(), "Glob", pattern="*").failed
    assert not ask(bench.box(), "LS").failed
