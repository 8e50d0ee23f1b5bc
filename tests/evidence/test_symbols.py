"""Symbols: names next to a reference, and their lines in the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown
from hypothesis import given
from hypothesis import strategies as st

from remit.evidence.symbols import REACH, SymbolFinder, occurs_near, symbol_after, symbols_called
from remit.workspace.files import SourceFile


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def outcomes(body: str, tree: Path) -> list[str]:
    return [shown(reference) for reference in evidence_of(body, tree).references]


@pytest.mark.parametrize(
    ("after", "symbol"),
    [
        (" (login)", "login"),
        ("` (login)", "login"),
        ("** (login)", "login"),
        ("(login)", "login"),
        (" (`login`)", "login"),
        (" (`login()`)", "login"),
        (" (login())", "login"),
        (" (login(user, password))", "login"),
        (" （login）", "login"),
        (" (User.login)", "User.login"),
        (" (User::login)", "User::login"),
        (" (User#login)", "User#login"),
        (" (user->login)", "user->login"),
        (" ($login)", "$login"),
        (" (_login)", "_login"),
        (" (main)", "main"),
        (" (`test`)", "test"),
        (" (test())", "test"),
        (" (`config`)", "config"),
        (" (new)", ""),
        (" (New)", ""),
        (" (critical)", ""),
        (" (see below)", ""),
        (" (login, logout)", ""),
        (" (L12)", ""),
        (" (v2)", ""),
        (" (line 12)", ""),
        (" (Cart.java)", ""),
        (" (新規)", ""),
        (" (load_data関数)", "load_data"),
        (" (load_data関数内)", "load_data"),
        (" (`load_data` 函数)", "load_data"),
        (" (load_data形式)", ""),
        (" (12)", ""),
        (" and (login)", ""),
        (", (login)", ""),
        ("  (login)", ""),
        ("", ""),
    ],
)
def test_a_name_in_brackets_directly_after_a_reference_is_a_symbol(after: str, symbol: str) -> None:
    assert symbol_after("src/app.py:12" + after, len("src/app.py:12")) == symbol


def test_a_word_that_may_be_a_remark_is_a_symbol_if_the_file_defines_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 20 + "def config():\n    new = 1\n", encoding="utf-8")
    assert outcomes("a.py:20 (config)", tmp_path) == ["a.py:20 verified"]
    assert outcomes("a.py:1 (config)", tmp_path) == ["a.py:1 relocated > a.py:21"]
    assert outcomes("a.py:1 (new)", tmp_path) == ["a.py:1 verified"]


def test_a_call_in_backticks_is_a_symbol_of_its_row() -> None:
    assert symbols_called("`login()` calls `store.find()`") == ["login", "store.find"]
    assert symbols_called("login() and `login` and `login(user)`") == []


def test_a_symbol_must_be_within_five_lines(tmp_path: Path) -> None:
    lines = ["pass"] * 40
    lines[19] = "def login():"
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    for line in range(1, 41):
        expected = "verified" if abs(line - 20) <= REACH else "relocated > a.py:20"
        assert outcomes(f"a.py:{line} (login)", tmp_path) == [f"a.py:{line} {expected}"]
    assert outcomes("a.py:25-30 (login)", tmp_path) == ["a.py:25-30 verified"]
    assert outcomes("a.py:26-30 (login)", tmp_path) == ["a.py:26-30 relocated > a.py:20"]
    assert outcomes("a.py:5-15 (login)", tmp_path) == ["a.py:5-15 verified"]
    assert outcomes("a.py:5-14 (login)", tmp_path) == ["a.py:5-14 relocated > a.py:20"]


@pytest.mark.parametrize(
    "definition",
    [
        "def login(user):",
        "async def login(user):",
        "class login:",
        "function login(user) {",
        "export async function login(user) {",
        "const login = () => {",
        "func login(user User) error {",
        "func (s *Server) login(user User) error {",
        "fn login(user: &str) {",
        "pub struct login {",
        "interface login {",
        "type login = string",
        "macro_rules! login {",
        "CREATE TABLE login (",
    ],
)
def test_the_nearest_definition_is_preferred_to_a_nearer_use(definition: str, tmp_path: Path) -> None:
    lines = ["pass"] * 100
    lines[49], lines[69], lines[89] = definition, "login(user)", "x = login"
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    assert outcomes("a.py:80 (login)", tmp_path) == ["a.py:80 relocated > a.py:50"]
    lines[49] = "pass"
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    assert outcomes("a.py:79 (login)", tmp_path) == ["a.py:79 relocated > a.py:70"]
    assert outcomes("a.py:81 (login)", tmp_path) == ["a.py:81 relocated > a.py:90"]


def test_a_symbol_that_is_part_of_a_longer_name_does_not_match(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def login_user():\n$login\nrelogin\n", encoding="utf-8")
    assert outcomes("a.py:1 (login())", tmp_path) == ["a.py:1 mismatch"]
    assert outcomes("a.py:1 (`user`)", tmp_path) == ["a.py:1 mismatch"]
    assert outcomes("a.py:2 ($login)", tmp_path) == ["a.py:2 verified"]


def test_the_last_part_of_a_dotted_name_counts(tree: Path) -> None:
    assert outcomes("cmd/server/main.go:21 (Server.Listen)", tree) == ["cmd/server/main.go:21 verified"]
    assert outcomes("src/cart.cpp:12 (Cart::add)", tree) == ["src/cart.cpp:12 verified"]
    assert outcomes("src/cart.cpp:12 (Cart::remove)", tree) == ["src/cart.cpp:12 mismatch"]


def test_a_line_out_of_range_is_relocated_to_its_symbol(tree: Path) -> None:
    assert outcomes("src/app.py:0 (login)", tree) == ["src/app.py:0 relocated > src/app.py:12"]
    assert outcomes("src/app.py:99 (login)", tree) == ["src/app.py:99 relocated > src/app.py:12"]
    assert outcomes("src/app.py:99 (ghost)", tree) == ["src/app.py:99 out-of-range > src/app.py:40"]


def test_a_symbol_of_a_whole_file_may_be_anywhere_in_it(tree: Path) -> None:
    table = "| Entry | File |\n|---|---|\n| `{}()` | src/app.py |\n"
    assert outcomes(table.format("open_session"), tree) == ["src/app.py verified"]


def test_a_symbol_in_the_row_of_a_path_without_a_line_may_be_to_be_written(tree: Path) -> None:
    table = "| Añadir | File |\n|---|---|\n| `ghost()` | src/app.py |\n"
    (reference,) = evidence_of(table, tree).references
    assert (reference.outcome, reference.why) == ("unchecked", "no line is given, and ghost is not in the file")
    assert outcomes(table.replace("app.py", "app.py:12"), tree) == ["src/app.py:12 mismatch"]
    assert outcomes("| File |\n|---|\n| src/app.py (`ghost`) |\n", tree) == ["src/app.py mismatch"]


def test_an_entry_point_of_a_result_names_a_symbol_that_exists(tree: Path) -> None:
    block = "#### Entry Points\n\n| Entry | File:Line | Type |\n|---|---|---|\n| `{}()` | src/app.py | API |\n"
    assert outcomes(block.format("open_session"), tree) == ["src/app.py verified"]
    assert outcomes(block.format("ghost"), tree) == ["src/app.py mismatch"]


ROW = "| Entry | File:Line | Note |\n|---|---|---|\n| {} | {} | {} |\n"


def test_the_first_call_of_a_row_belongs_to_its_reference(tree: Path) -> None:
    assert outcomes(ROW.format("`login()`", "src/app.py:12", "x"), tree) == ["src/app.py:12 verified"]
    assert outcomes(ROW.format("x", "src/app.py:12", "`login()` calls `ghost()`"), tree) == ["src/app.py:12 verified"]
    assert outcomes(ROW.format("`ghost()`", "src/app.py:12", "`login()`"), tree) == ["src/app.py:12 mismatch"]
    assert outcomes(ROW.format("`open_session()`", "src/app.py:12", "x"), tree) == ["src/app.py:12 verified"]
    assert outcomes(ROW.format("`SESSIONS()`", "src/app.py:12", "x"), tree) == [
        "src/app.py:12 relocated > src/app.py:33"
    ]
    # A name in brackets has priority over a call elsewhere in the row.
    assert outcomes(ROW.format("`ghost()`", "src/app.py:12 (login)", "x"), tree) == ["src/app.py:12 verified"]


@pytest.mark.parametrize("word", ["in", "at"])
def test_a_call_next_to_its_location_has_priority_over_the_others_of_its_row(word: str, tree: Path) -> None:
    for own, outcome in (
        ("login()", "verified"),
        ("login(name?)", "verified"),
        ("spook()", "mismatch"),
        ("spook(x)", "mismatch"),
    ):
        cell = f"`{own}` {word} src/app.py:12"
        assert outcomes(ROW.format("`ghost()`", cell, "x"), tree) == [f"src/app.py:12 {outcome}"]
    for cell in ("login in src/app.py:12", "`login` in src/app.py:12", "`x(1)`, src/app.py:12"):
        assert outcomes(ROW.format("`ghost()`", cell, "x"), tree) == ["src/app.py:12 mismatch"]


def test_a_column_of_patches_names_symbols_that_are_to_be_written(tree: Path) -> None:
    table = "| Problem | File:Line | {} |\n|---|---|---|\n| x | src/app.py:12 | `ghost()` |\n"
    for name, outcome in (("Patch", "verified"), ("Патч", "verified"), ("Risk", "mismatch")):
        assert outcomes(table.format(name), tree) == [f"src/app.py:12 {outcome}"]


def test_of_several_references_in_a_row_one_must_match_the_symbol(tree: Path) -> None:
    both = "src/app.py:31, src/store.py:14"
    verified = ["src/app.py:31 verified", "src/store.py:14 verified"]
    assert outcomes(ROW.format("`find_user()`", both, "x"), tree) == verified
    assert outcomes(ROW.format("`open_session()`", both, "x"), tree) == verified
    assert outcomes(ROW.format("`find_user()`", both, "`open_session()`"), tree) == verified
    assert outcomes(ROW.format("`ghost()`", both, "x"), tree) == ["src/app.py:31 mismatch", "src/store.py:14 verified"]
    assert outcomes(ROW.format("`ghost()`", both, "`spook()`"), tree) == [
        "src/app.py:31 mismatch",
        "src/store.py:14 mismatch",
    ]


def test_a_symbol_after_a_list_of_lines_matches_one_of_them(tree: Path) -> None:
    assert outcomes("src/app.py:12,31 (open_session)", tree) == ["src/app.py:12 verified", "src/app.py:31 verified"]
    assert outcomes("src/app.py:12,31 (login)", tree) == ["src/app.py:12 verified", "src/app.py:31 verified"]
    assert outcomes("src/app.py:12,31 (`ghost`)", tree) == ["src/app.py:12 verified", "src/app.py:31 mismatch"]


# --- Many names, long lines, long files: the same answers


def brute(lines: list[str], name: str, line: int | None, last: int | None) -> int | None:
    """Return the line of a name by a search of every line."""
    import re

    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    uses = [number for number, text in enumerate(lines, 1) if word.search(text)]
    if line is None:
        return uses[0] if uses else None
    near = [number for number in uses if line - REACH <= number <= (last or line) + REACH]
    defined = [number for number in uses if re.search(rf"\bdef {re.escape(name)}(?![\w$])", lines[number - 1])]
    wanted = near or defined or uses
    return min(wanted, key=lambda number: (abs(number - line), number), default=None)


LINES = st.lists(
    st.sampled_from(["", "a", "def a():", "ab a", "$a", "b(a)", "def b(): pass", "a_b", "def ab(a):"]), max_size=60
)


@given(LINES, st.sampled_from(["a", "b", "ab", "a_b", "$a", "zz"]), st.integers(1, 70), st.integers(0, 40))
def test_symbols_are_found_like_by_a_search_of_every_line(lines: list[str], name: str, line: int, more: int) -> None:
    file = SourceFile("a.py", "\n".join([*lines, ""]).encode())
    many = SymbolFinder([name, *(f"n{number}" for number in range(30))])
    for number in range(30):
        many.find(file, f"n{number}", 1, None)
    for cited, last in ((line, None), (line, line + more), (None, None)):
        expected = brute(lines, name, cited, last)
        assert SymbolFinder([name]).find(file, name, cited, last) == expected
        assert many.find(file, name, cited, last) == expected
        near = expected is not None and (cited is None or cited - REACH <= expected <= (last or cited) + REACH)
        assert occurs_near(file, name, cited, last) == near


def test_long_lines_and_long_ranges_give_the_same_answers() -> None:
    lines = ["x " * 30_000, *["pass"] * 30_000, "def login(): pass", *["pass"] * 30_000]
    file = SourceFile("a.py", "\n".join(lines).encode())
    symbols = SymbolFinder(["login", "x", "ghost"])
    assert symbols.find(file, "x", 1, None) == 1
    assert symbols.find(file, "login", 1, None) == 30_002
    assert symbols.find(file, "login", 10, 60_000) == 30_002
    assert symbols.find(file, "login", 40_000, 60_000) == 30_002
    assert symbols.find(file, "ghost", 1, 60_000) is None


def test_a_file_with_many_symbols_is_indexed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from remit.evidence import symbols as module

    passes = []
    whole = module._all_lines
    monkeypatch.setattr(module, "_all_lines", lambda *given: passes.append(1) or whole(*given))
    file = SourceFile("a.py", "\n".join(f"n{number} = 1" for number in range(5000)).encode())
    names = [f"n{number}" for number in range(0, 5000, 5)]
    found = SymbolFinder(names)
    assert [found.find(file, name, 1, None) for name in names[:100]] == [int(name[1:]) + 1 for name in names[:100]]
    assert len(passes) == 1


@pytest.mark.parametrize(
    "row",
    [
        "| `src/app.py` (entire) | all |",
        "| `src/app.py:12` | The `send_it()` interface of the server is missing and nothing replaces it here. |",
        "| `src/app.py:12` | Create `new_helper()` |",
        "| `src/app.py:12` | Thread the state; add `new_helper()` |",
        "| `src/app.py:12` | Extract a shared helper `new_helper()` |",
    ],
)
def test_a_remark_a_sentence_or_a_proposal_names_no_symbol(row: str, tree: Path) -> None:
    (reference,) = evidence_of(f"| File | Note |\n|---|---|\n{row}", tree).references
    assert (reference.symbol, reference.outcome) == ("", "verified")


@pytest.mark.parametrize("column", ["Fix", "优化建议", "Suggested change", "Recomendación", "Решение"])
def test_a_symbol_in_a_column_of_proposals_is_to_be_written(column: str, tree: Path) -> None:
    (reference,) = evidence_of(f"| File | {column} |\n|---|---|\n| `src/app.py:12` | `new_helper()` |", tree).references
    assert reference.outcome == "verified"
    (reference,) = evidence_of("| File | Calls |\n|---|---|\n| `src/app.py:12` | `new_helper()` |", tree).references
    assert reference.outcome == "mismatch"


def test_a_plain_word_after_a_reference_in_a_sentence_is_a_symbol_only_if_it_occurs(tree: Path) -> None:
    assert outcomes("It is lost in src/app.py:12 (dropped).", tree) == ["src/app.py:12 verified"]
    assert outcomes("It is lost in src/app.py:31 (login).", tree) == ["src/app.py:31 relocated > src/app.py:12"]
    for name in ("`dropped`", "dropped()", "drop_it", "dropIt", "drop2"):
        assert outcomes(f"It is lost in src/app.py:12 ({name}).", tree) == ["src/app.py:12 mismatch"]
    assert outcomes("- src/app.py:12 (dropped)", tree) == ["src/app.py:12 verified"]


def test_a_symbol_that_a_row_adds_is_to_be_written(tree: Path) -> None:
    (reference,) = evidence_of("| File | 拆法 |\n|---|---|\n| `src/app.py:12` | `new_helper()` |", tree).references
    assert reference.outcome == "verified"
    row = "| File | Calls |\n|---|---|\n| `src/app.py:12` | it has added `new_helper()` |"
    (reference,) = evidence_of(row, tree).references
    assert reference.outcome == "mismatch"


@pytest.mark.parametrize(
    "words", ["Removed unnecessary `open_it()`", "dropped the `open_it()`", "add a new `open_it()`"]
)
def test_a_symbol_that_is_gone_or_to_be_written_is_not_a_claim(words: str) -> None:
    assert symbols_called(words) == []
    assert symbols_called("the unnecessary `open_it()`") == ["open_it"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- docs/page.md:2 (table)", ["docs/page.md:2 verified"]),
        ("It fails in app.py:1 (other)", ["app.py:1 verified"]),
        ("It fails in app.py:1 (defined)", ["app.py:1 relocated > app.py:21"]),
        ("- app.py:1 (missing_name)", ["app.py:1 mismatch"]),
    ],
)
def test_a_plain_word_that_is_not_near_is_a_remark_unless_the_file_defines_it(
    text: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text("one\n" * 30 + "table\n")
    (tmp_path / "app.py").write_text("x = 1\n" * 20 + "def defined():\n    other = 1\n")
    assert outcomes(text, tmp_path) == expected


@pytest.mark.parametrize("word", ["warn", "WARN", "Warning", "noun", "backlog", "Overview"])
def test_a_word_that_is_not_written_like_a_name_is_not_accused(word: str, tree: Path) -> None:
    assert outcomes(f"- src/app.py:12 ({word})", tree) == ["src/app.py:12 verified"]
    assert outcomes(f"- src/app.py:12 (`{word}`)", tree) == ["src/app.py:12 mismatch"]


@pytest.mark.parametrize("name", ["noun()", "find_noun", "findNoun", "FindNoun", "noun.find", "noun2"])
def test_a_name_that_does_not_occur_is_accused(name: str, tree: Path) -> None:
    assert outcomes(f"- src/app.py:12 ({name})", tree) == ["src/app.py:12 mismatch"]


def test_a_plain_word_in_wide_brackets_is_a_remark_unless_the_file_defines_it(tmp_path: Path) -> None:
    lines = [*["x = 1"] * 30, 'state = "Approve"', "def transfer():", "    pass"]
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    assert outcomes("- a.py:3（Approve）", tmp_path) == ["a.py:3 verified"]
    assert outcomes("- a.py:3（transfer）", tmp_path) == ["a.py:3 relocated > a.py:32"]
    assert outcomes("- a.py:3（find_user）", tmp_path)[0].startswith("a.py:3 mismatch")


@pytest.mark.parametrize("word", ["Accordéon", "überprüft", "проверка"])
def test_a_word_of_another_language_is_a_remark(word: str, tree: Path) -> None:
    assert outcomes(f"see `src/app.py:14` ({word})", tree) == ["src/app.py:14 verified"]


@pytest.mark.parametrize("name", ["`Accordéon`", "Accordéon()", "prüfeKonto", "prüfe_konto"])
def test_a_name_of_another_language_is_a_symbol(name: str, tree: Path) -> None:
    assert outcomes(f"see `src/app.py:14` ({name})", tree) == ["src/app.py:14 mismatch"]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("SevenPoint", "verified"),
        ("seven_point", "verified"),
        ("`SevenPoint`", "mismatch"),
        ("SevenPoint()", "mismatch"),
        ("SevenPo", "mismatch"),
        ("EightPoint", "mismatch"),
        ("PointCoverage", "mismatch"),
    ],
)
def test_the_beginning_of_a_name_at_the_line_is_a_remark(name: str, outcome: str, tmp_path: Path) -> None:
    lines = [*["x = 1"] * 9, "check = SevenPointCoverage(seven_point_rule)", *["x = 1"] * 90]
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    assert outcomes(f"- a.py:10 ({name})", tmp_path) == [f"a.py:10 {outcome}"]
    assert outcomes(f"- a.py:90 ({name})", tmp_path) == ["a.py:90 mismatch"]
