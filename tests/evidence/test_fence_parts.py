"""Fences with several locations: lists of them, lines of the same file, and code of many files."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown

LOOKUP = "    user = store.find_user(name)"
NEW = "return secrets.compare_digest(one, other)"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant(tmp_path_factory.mktemp("tree"))
    lines = [
        *("import os", "class Shop:", "    def open(self, key):", "        self.key = key", "        self.log = []"),
        *("        return Result(", "            key,", "            self.log,", "            count=0,", "        )"),
        *("def close(shop):", "    shop.key = None"),
    ]
    (root / "src/shop.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "CMakeLists.txt").write_text('set(ROOT "D:/lib")\nset(NAME shop)\n', encoding="utf-8")
    return root


def fence(*lines: str, info: str = "python") -> str:
    return "\n".join([f"```{info}", *lines, "```"])


def found(body: str, tree: Path) -> tuple[list[str], list[str]]:
    """Return the references and the quotes of a text."""
    evidence = evidence_of(body, tree)
    return [shown(one) for one in evidence.references], [one.outcome for one in evidence.quotes]


# --- Several locations in one comment


@pytest.mark.parametrize("mark", [" and ", ", ", "; ", " & ", " / "])
def test_code_below_a_comment_with_two_locations_may_be_at_either(mark: str, tree: Path) -> None:
    references, quotes = found(fence(f"# src/shop.py:4{mark}src/app.py:14", LOOKUP), tree)
    assert references == ["src/shop.py:4 verified", "src/app.py:14 verified"]
    assert quotes == ["verified"]


def test_code_that_is_at_none_of_the_locations_is_a_mismatch(tree: Path) -> None:
    assert found(fence("# src/shop.py:4 and src/app.py:14", NEW), tree)[1] == ["mismatch"]


def test_a_location_later_in_the_words_of_a_comment_is_not_a_location_of_the_code(tree: Path) -> None:
    assert found(fence("# src/shop.py:4 is called by src/app.py:14", "self.key = key"), tree)[0] == [
        "src/shop.py:4 verified"
    ]


def test_code_below_a_list_of_lines_may_have_pieces_of_each(tree: Path) -> None:
    pieces = ("class Shop:", "        self.log = []", "    shop.key = None")
    assert found(f"`src/shop.py` lines 2, 5, 12:\n\n{fence(*pieces)}", tree)[1] == ["verified"]
    altered = (*pieces[:2], "    shop.key = 0")
    assert found(f"`src/shop.py` lines 2, 5, 12:\n\n{fence(*altered)}", tree)[1] == ["mismatch"]


# --- Lines of the same file


@pytest.mark.parametrize("comment", ["# Line 12: clears it", "# L12", "# lines 11-12", "# 第12行"])
def test_a_comment_with_a_line_starts_a_quote_of_the_same_file(comment: str, tree: Path) -> None:
    references, quotes = found(fence("# src/shop.py:4", "self.key = key", comment, "shop.key = None"), tree)
    assert [one.split()[1] for one in references] == ["verified", "verified"]
    assert quotes == ["verified", "verified"]


def test_the_quote_of_such_a_line_may_be_altered(tree: Path) -> None:
    text = f"`src/shop.py:4`:\n{fence('self.key = key', '# Line 12', 'shop.key = 0')}"
    assert found(text, tree)[1] == ["verified", "mismatch"]


def test_a_line_that_the_file_lacks_or_a_comment_of_the_file_is_code(tree: Path) -> None:
    assert found(fence("# src/shop.py:4", "self.key = key", "# Line 90"), tree)[1] == ["verified"]
    assert found(fence("self.key = key", "# Line 12"), tree) == ([], [])


def test_code_of_many_files_is_not_that_of_the_file_above(tree: Path) -> None:
    text = fence("# src/shop.py:4", "self.key = key", "# all src/views/*.py files", "import views")
    assert found(text, tree) == (["src/shop.py:4 verified"], ["verified"])
    assert found(fence("# src/shop.py:4", "self.key = key", "# all views", "import views"), tree)[1] == ["mismatch"]


# --- The info string


@pytest.mark.parametrize("info", ["py:4-5:src/shop.py", "4:5:src/shop.py", "python 4-5:src/shop.py"])
def test_the_info_string_may_have_lines_before_the_path(info: str, tree: Path) -> None:
    references, quotes = found(fence("        self.key = key", info=info), tree)
    assert references == ["src/shop.py:4-5 verified"]
    assert quotes == ["verified"]


# --- Joined lines with others left out


def test_a_quote_may_join_lines_and_omit_lines_between_them(tree: Path) -> None:
    joined = fence("# src/shop.py:6-10", "        return Result( key, count=0, )")
    assert [one.match for one in evidence_of(joined, tree).quotes] == ["condensed"]
    altered = fence("# src/shop.py:6-10", "        return Result( key, count=1, )")
    assert found(altered, tree)[1] == ["mismatch"]


def test_the_order_of_joined_lines_counts(tree: Path) -> None:
    assert found(fence("# src/shop.py:6-10", "return Result( count=0, key, )"), tree)[1] == ["mismatch"]


def test_a_remark_in_a_cmake_file_is_a_comment(tree: Path) -> None:
    line = 'set(ROOT "D:/lib")  # a fixed path'
    text = f"`CMakeLists.txt:1`:\n{fence(line, info='cmake')}"
    assert found(text, tree)[1] == ["verified"]
    assert found(text.replace("D:/lib", "E:/lib"), tree)[1] == ["mismatch"]
