"""Names in files: near the cited lines, in the body of a definition, elsewhere, or nowhere in the checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from remit.evidence import find_names
from remit.evidence.find_names import REACH, NameFinder, last_part, occurrences
from remit.evidence.model import NameFacts
from remit.workspace.commit import Commit
from remit.workspace.files import SourceFile, WorkTree

CART = """\
import numpy as np
from shop import prices


class Cart:
    def total(self):
        first = 1
        second = 2
        third = 3
        fourth = 4
        fifth = 5
        sixth = 6
        seventh = 7
        return prices.sum(first)

    def close(self):
        self.open = False


class Order:
    def __init__(self):
        self.done = False
        self.sent = False
        self.paid = False
        self.late = False
        self.lost = False

    def total(self):
        return 0
"""


def source(text: str, path: str = "shop/cart.py") -> SourceFile:
    return SourceFile(path, text.encode())


def finder(root: Path, files: dict[str, str] | None = None) -> NameFinder:
    for name, text in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return NameFinder(WorkTree(root))


def where(facts: NameFacts) -> tuple[bool, int | None]:
    return facts.is_near, facts.line


# --- Near the lines


def test_a_name_is_near_within_five_lines(tmp_path: Path) -> None:
    lines = ["pass"] * 40
    lines[19] = "login(user)"
    file, names = source("\n".join(lines)), finder(tmp_path)
    for line in range(1, 41):
        assert where(names.facts(file, "login", line, None)) == (abs(line - 20) <= REACH, 20)
    assert names.facts(file, "login", 25, 30).is_near
    assert not names.facts(file, "login", 26, 30).is_near
    assert names.facts(file, "login", 5, 15).is_near
    assert not names.facts(file, "login", 5, 14).is_near


def test_a_line_in_the_body_of_a_definition_is_near(tmp_path: Path) -> None:
    file, names = source(CART), finder(tmp_path)
    assert where(names.facts(file, "total", 14, None)) == (True, 6)
    assert names.facts(file, "Cart", 14, None).is_near
    assert not names.facts(file, "Cart", 22, None).is_near
    assert names.facts(file, "total", 12, 13).is_near


def test_without_a_line_a_name_is_near_if_the_file_has_it(tmp_path: Path) -> None:
    file, names = source(CART), finder(tmp_path)
    assert where(names.facts(file, "close", None, None)) == (True, 16)
    assert where(names.facts(file, "prices", None, None)) == (True, 2)
    assert where(names.facts(file, "prize", None, None)) == (False, None)


def test_definitions_are_distinguished_from_uses(tmp_path: Path) -> None:
    text = "from shop import total\n" + "x = 1\n" * 30 + "def total():\n    pass\n"
    file, names = source(text), finder(tmp_path)
    near_use = names.facts(file, "total", 1, None)
    assert (near_use.is_near, near_use.line, near_use.is_definition, near_use.definitions) == (True, 1, False, (32,))
    near_definition = names.facts(file, "total", 33, None)
    assert (near_definition.line, near_definition.is_definition) == (32, True)
    assert names.facts(file, "total", 1, None, with_definitions=False) == NameFacts(is_near=True, line=1)
    assert names.facts(file, "total", 15, None, with_definitions=False).definitions == (32,)


@pytest.mark.parametrize(
    ("line", "end_line", "is_near", "is_other"),
    [(2, None, True, False), (3, None, False, True), (20, 29, False, False), (36, None, True, False)],
)
def test_a_use_next_to_the_lines_or_a_comment_does_not_show_a_name_that_is_defined_elsewhere(
    line: int, end_line: int | None, is_near: bool, is_other: bool, tmp_path: Path
) -> None:
    lines = ["pass"] * 40
    lines[1], lines[24], lines[37] = "total(cart)", "# total is slow", "def total(cart):"
    facts = finder(tmp_path).facts(source("\n".join(lines)), "total", line, end_line, with_definitions=False)
    assert (facts.is_near, facts.is_other) == (is_near, is_other)


@pytest.mark.parametrize(
    ("path", "head", "line", "definition"),
    [
        ("a.c", "void set(int *total) {", "*total = a;", "int total(int n) {\n    return n;\n}"),
        ("a.rs", "fn set() {", "#[total]", "fn total() {\n}"),
    ],
)
def test_a_pointer_or_an_attribute_shows_a_name_as_code(
    path: str, head: str, line: str, definition: str, tmp_path: Path
) -> None:
    file = source("\n".join([head, *["    int a;"] * 12, line, *["    int a;"] * 12, "}", definition]), path)
    assert finder(tmp_path).facts(file, "total", 14, None).is_near


def test_a_name_elsewhere_is_at_the_nearest_definition_else_at_the_nearest_use(tmp_path: Path) -> None:
    lines = ["pass"] * 100
    lines[49], lines[69], lines[89] = "def login(user):", "login(user)", "x = login"
    names = finder(tmp_path)
    assert where(names.facts(source("\n".join(lines)), "login", 80, None)) == (False, 50)
    lines[49] = "pass"
    assert where(names.facts(source("\n".join(lines)), "login", 79, None)) == (False, 70)
    assert where(names.facts(source("\n".join(lines)), "login", 81, None)) == (False, 90)


def test_a_use_with_another_owner_is_not_where_a_name_is(tmp_path: Path) -> None:
    names = finder(tmp_path)
    file = source("\n" * 30 + "door.open\n" + "\n" * 30 + "shop.open\n", "shop/all.c")
    assert names.facts(file, "shop.open", 1, 9) == NameFacts(is_near=False, line=62)
    assert names.facts(file, "window.open", 1, 9) == NameFacts(is_near=False, is_anywhere=True)
    for call, line in (("shop.at(1).open();\n", 31), ("shop\n  .at(1)\n  .open();\n", 33)):
        chained = source("\n" * 30 + call, "shop/chained.ts")
        assert names.facts(chained, "shop.open", 1, 9) == NameFacts(is_near=False, line=line)


def test_of_two_definitions_the_one_of_the_named_class_is_meant(tmp_path: Path) -> None:
    file, names = source(CART + "x = 1\n" * 60), finder(tmp_path)
    assert names.facts(file, "total", 80, None).line == 28
    assert names.facts(file, "Cart.total", 80, None).line == 6
    assert names.facts(file, "Order.total", 80, None).line == 28
    assert names.facts(file, "Basket.total", 80, None).line == 28
    assert names.definition_lines(file, "total") == [6, 28]
    assert names.definition_lines(file, "Cart.total") == [6]
    go = "package a\nfunc (c *Cart) Total() {}\nfunc (o *Order) Total() {}\n" + "// x\n" * 40
    assert names.facts(source(go, "a.go"), "Cart.Total", 40, None).line == 2
    assert names.facts(source(go, "a.go"), "Order.Total", 40, None).line == 3


def test_the_body_of_another_class_with_such_a_method_is_not_near(tmp_path: Path) -> None:
    body = "\n".join(f"        a{number} = 1" for number in range(20))
    text = f"class Cart:\n    def total(self):\n{body}\n\nclass Order:\n    def total(self):\n{body}\n"
    file, names = source(text), finder(tmp_path)
    assert names.facts(file, "Order.total", 35, None).is_near
    assert not names.facts(file, "Cart.total", 35, None).is_near


STORE = """\
class Store:
    def save(self, item):
        self.items.append(item)

    def flush(self):
        self.save(None)


def export(store, path):
    first = 1
    second = 2
    third = 3
    fourth = 4
    with open(path) as file:
        file.save(store)
    fifth = 5
    sixth = 6
    seventh = 7
    eighth = 8
    ninth = 9
    store.save(first)
"""


@pytest.mark.parametrize(
    ("name", "line", "is_near", "expected", "is_other"),
    [
        ("Store.save", 2, True, 2, False),
        ("Store.save", 6, True, 2, False),
        ("Store.save", 15, False, 2, False),
        ("Store.save", 21, True, 21, False),
        ("Archive.save", 15, False, 2, True),
        ("file.save", 15, True, 15, False),
        ("self.save", 6, True, 6, False),
        ("save", 6, True, 6, False),
        ("save", 15, False, 2, True),
        ("append", 3, True, 3, False),
        ("Item.append", 3, False, 3, True),
    ],
)
def test_a_name_is_near_only_if_the_line_can_mean_it(
    name: str, line: int, is_near: bool, expected: int, is_other: bool, tmp_path: Path
) -> None:
    facts = finder(tmp_path).facts(source(STORE), name, line, None, with_definitions=False)
    assert (facts.is_near, facts.line, facts.is_other) == (is_near, expected, is_other)


def test_two_files_with_the_same_path_are_not_mixed_up(tmp_path: Path) -> None:
    names = finder(tmp_path)
    assert names.facts(source("total = 1\n"), "total", 1, None).is_near
    assert not names.facts(source("other = 1\n"), "total", 1, None).is_near


# --- Whole words


def test_a_part_of_a_longer_name_is_not_an_occurrence(tmp_path: Path) -> None:
    file = source("def login_user():\n$login\nrelogin\nlogin2\nLogin\n")
    assert occurrences(file, "login") == []
    assert occurrences(file, "$login") == [2]
    assert occurrences(file, "user") == []
    assert not finder(tmp_path).facts(file, "login", 2, None).is_near


def test_the_marks_of_a_language_are_not_part_of_a_name() -> None:
    file = source("private $total;\n$this->total = 1;\n", "cart.php")
    assert occurrences(file, "total") == occurrences(file, "$total") == [1, 2]
    file = source("def valid?\nend\n", "cart.rb")
    assert occurrences(file, "valid?") == [1]


@pytest.mark.parametrize("name", ["Cart.total", "Cart::total", "Cart#total", "cart->total", "Shop\\total", "total"])
def test_the_last_part_of_a_name_counts(name: str) -> None:
    assert last_part(name) == "total"


def test_lines_that_are_very_long_are_searched_once(tmp_path: Path) -> None:
    file, names = source("x " * 30_000 + "total\n" + "y\n" * 10 + "total " * 20_000), finder(tmp_path)
    assert where(names.facts(file, "total", 1, None, with_definitions=False)) == (True, 1)
    assert where(names.facts(file, "total", 6, None, with_definitions=False)) == (True, 1)


def test_many_names_of_one_file_are_found_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = source("".join(f"name{number} = 1\n" for number in range(100)))
    expected = [occurrences(file, f"name{number}") for number in range(100)]
    calls: list[str] = []
    monkeypatch.setattr(find_names, "occurrences", lambda file, name: calls.append(name) or occurrences(file, name))
    names = finder(tmp_path)
    names.prepare(f"Cart.name{number}" for number in range(100))
    facts = [names.facts(file, f"name{number}", 1, None) for number in range(10, 100)]
    assert [[fact.line] for fact in facts] == expected[10:]
    assert len(calls) == find_names._FEW


# --- Anywhere in the checkout


def test_a_name_that_is_in_another_file_is_somewhere(tmp_path: Path) -> None:
    names = finder(tmp_path, {"shop/cart.py": "def total(): ...\n", "shop/order.py": "x = 1\n"})
    missing = names.facts(source("x = 1\n"), "Cart.total", 1, None)
    assert (missing.is_near, missing.line, missing.is_anywhere) == (False, None, True)
    assert names.facts(source("x = 1\n"), "Cart.sum", 1, None).is_anywhere is False
    assert names.is_anywhere("tota") is False
    assert names.is_anywhere("ef") is False
    assert finder(tmp_path, {"a.py": "open_session()\n"}).is_anywhere("session") is False


def test_a_name_that_the_file_has_is_not_searched_for(tmp_path: Path) -> None:
    assert finder(tmp_path).facts(source(CART), "total", 1, None).is_anywhere is None


@pytest.mark.parametrize(
    ("file", "is_there"),
    [
        *((name, True) for name in ("a.py", "a.yaml", "a.json", "a.html", "Makefile")),
        *((name, False) for name in ("a.md", "a.txt", "a.log", "a.lock", "node_modules/a.js")),
    ],
)
def test_texts_do_not_show_that_a_name_exists(file: str, is_there: bool, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("call verify_mac here", encoding="utf-8")
    assert NameFinder(WorkTree(tmp_path)).is_anywhere("verify_mac") is is_there


def test_data_and_binary_files_do_not_show_that_a_name_exists(tmp_path: Path) -> None:
    (tmp_path / "large.json").write_text("[" + '"verify_mac",' * 10_000 + "1]", encoding="utf-8")
    (tmp_path / "program").write_bytes(b"\0\1 verify_mac")
    assert NameFinder(WorkTree(tmp_path)).is_anywhere("verify_mac") is False


def test_a_name_may_be_in_code_that_is_too_large_to_be_searched(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text("verify_mac\n" * 100_000, encoding="utf-8")
    assert NameFinder(WorkTree(tmp_path)).is_anywhere("verify_mac") is None


def test_the_document_itself_does_not_show_that_a_name_exists(tmp_path: Path) -> None:
    (tmp_path / "review.yaml").write_text("verify_mac: no\n", encoding="utf-8")
    assert NameFinder(WorkTree(tmp_path)).is_anywhere("verify_mac") is True
    assert NameFinder(WorkTree(tmp_path), excluding={"review.yaml"}).is_anywhere("verify_mac") is False


def test_a_link_out_of_the_checkout_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("verify_mac()\n", encoding="utf-8")
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "b.py").write_text("pass\n", encoding="utf-8")
    (root / "a.py").symlink_to(outside / "a.py")
    os.mkfifo(root / "pipe.py")
    names = NameFinder(WorkTree(root))
    names._workspace.index  # noqa: B018 (the files are listed before the folder becomes a link)
    names._workspace.index._paths += ["a.py", "folder/a.py", "pipe.py", "gone.py"]
    (root / "folder").rename(root / "other")
    (root / "folder").symlink_to(outside)
    assert names.is_anywhere("verify_mac") is False


@pytest.mark.parametrize("limit", ["_MAX_SEARCHED_FILES", "_MAX_SEARCHED"])
def test_past_a_limit_it_is_unknown_whether_a_name_exists(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_names, limit, 2)
    names = finder(tmp_path, {"a.py": "def total(): ...\n", "b.py": "x = 1\n", "c.py": "def sum(): ...\n"})
    assert names.is_anywhere("total") is True
    assert names.is_anywhere("sum") is None


def test_each_file_is_read_once_and_only_as_far_as_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_names, "_PIECE", 1)
    opened: list[str] = []
    plain = find_names._plain_reader

    def counted(workspace: WorkTree) -> object:
        read = plain(workspace)
        return lambda path: opened.append(path) or read(path)

    monkeypatch.setattr(find_names, "_plain_reader", counted)
    names = finder(tmp_path, {"a.py": "first = 1\n", "b.py": "second = 1\n", "c.py": "third = 1\n"})
    assert names.is_anywhere("first") is True
    assert opened == ["a.py"]
    assert names.is_anywhere("fourth") is False
    assert names.is_anywhere("third") is names.is_anywhere("second") is True
    assert opened == ["a.py", "b.py", "c.py"]


def test_many_names_that_are_nowhere_are_searched_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_names, "_MAX_SINGLE", 3)
    names = finder(tmp_path, {"a.py": "first = 1\nlast = 2\n"})
    names.prepare([f"gone{number}" for number in range(10)] + ["Cart.first", "last"])
    searched: list[bytes] = []
    occurs = find_names._occurs
    monkeypatch.setattr(find_names, "_occurs", lambda name, data: searched.append(name) or occurs(name, data))
    assert [names.is_anywhere(f"gone{number}") for number in range(10)] == [False] * 10
    assert (names.is_anywhere("first"), names.is_anywhere("last")) == (True, True)
    assert len(searched) == 3
    assert [names.is_anywhere(f"other{number}") for number in range(6)] == [False] * 6


def test_the_files_of_a_commit_are_searched_too(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def total(): ...\n", encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "a.py").write_text("def sum(): ...\n", encoding="utf-8")
    workspace = Commit(tmp_path, "HEAD")
    names = NameFinder(workspace)
    assert (names.is_anywhere("total"), names.is_anywhere("sum")) == (True, False)
    assert NameFinder(workspace, searches_all=False).is_anywhere("sum") is None
    workspace.close()


# --- Dependencies


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ("package.json", '{"dependencies": {"left-pad": "^1.0.0"}}'),
        ("web/package.json", '{"devDependencies": {"left-pad": "workspace:*"}}'),
        ("package-lock.json", '{"packages": {"node_modules/left-pad": {}}}'),
        ("pyproject.toml", '[project]\ndependencies = ["left-pad>=1", "other"]\n'),
        ("requirements.txt", "left-pad==1.0\n"),
        ("requirements-dev.txt", "left_pad\n"),
        ("uv.lock", '[[package]]\nname = "left-pad"\n'),
        ("go.mod", "module a\n\nrequire (\n\tgithub.com/shop/left-pad/v2 v2.0.1\n)\n"),
        ("Cargo.toml", '[dependencies]\nleft-pad = { version = "1" }\n'),
        ("Cargo.lock", '[[package]]\nname = "left-pad"\n'),
        ("Gemfile.lock", "GEM\n  specs:\n    left-pad (1.0)\n"),
        ("pom.xml", "<dependency><artifactId>left-pad</artifactId></dependency>"),
        ("composer.json", '{"require": {"left-pad": "^1"}}'),
    ],
)
def test_a_name_of_a_dependency_is_imported(manifest: str, text: str, tmp_path: Path) -> None:
    file = source("x = 1\n", "a.js")
    assert not finder(tmp_path).is_imported(file, "left_pad.trim")
    (tmp_path / manifest).parent.mkdir(exist_ok=True)
    (tmp_path / manifest).write_text(text, encoding="utf-8")
    names = NameFinder(WorkTree(tmp_path))
    assert names.is_imported(file, "left_pad.trim")
    assert names.is_imported(file, "left_pad")
    assert not names.is_imported(file, "cart.trim")


@pytest.mark.parametrize(
    ("path", "text", "name", "is_imported"),
    [
        ("a.py", "import numpy as np\n", "np.linalg.norm", True),
        ("a.py", "import numpy as np\n", "cart.norm", False),
        ("a.js", 'const fs = require("fs")\n', "fs.watch", True),
        ("a.js", "const cart = load()\n", "cart.total", False),
        ("a.rs", "use serde::Serialize;\n", "serde::Deserialize", True),
        ("a.py", "", "os.path.join", True),
        ("a.py", "", "print", True),
        ("a.py", "", "verify_mac", False),
        ("a.js", "", "print", False),
        ("a.js", "", "os.path.join", False),
    ],
)
def test_a_name_of_an_imported_module_or_of_python_is_imported(
    path: str, text: str, name: str, is_imported: bool, tmp_path: Path
) -> None:
    file = source(text, path)
    assert finder(tmp_path).is_imported(file, name) is is_imported
    assert finder(tmp_path).facts(file, name, 1, None).is_imported is is_imported
