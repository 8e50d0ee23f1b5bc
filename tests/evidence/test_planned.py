"""Files that a text wants to create, delete or move, and what it calls removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown

from remit.checking import Options, check_text
from remit.contract.kinds import KINDS
from remit.contract.parse import parse
from remit.evidence import planned, removals
from remit.evidence.gather import gather
from remit.evidence.sources import Sources
from remit.lazy import fold_case
from remit.workspace.files import WorkTree

TABLE = "| Task | Files |\n|---|---|\n| {} | {} |"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def outcomes(body: str, tree: Path) -> list[str]:
    return [shown(one) for one in evidence_of(body, tree).references]


def claims(body: str, tree: Path) -> list[str]:
    (verdict,) = check_text(body, "-", Options(profile="claims"), Sources(workspace=WorkTree(tree)))
    return [shown(one) for one in verdict.evidence.references]


# --- Words of the whole document


def test_a_document_with_a_word_of_an_expression_is_searched_with_it() -> None:
    made = [word for one in (planned._MAKES, planned._NEW, planned._CREATE_BEFORE) for word in vars(one)["_words"]]
    gone = [word for one in (removals._GONE, removals._GONE_CELL) for word in vars(one)["_words"]]
    listed = [word for one in (removals._GONE_LABEL, removals.GONE_HEADING) for word in vars(one)["_words"]]
    assert made
    assert gone
    assert listed
    assert all(planned.may_make_files(fold_case(f"The {word.upper()} file")) for word in made)
    assert all(removals.may_state_gone(fold_case(f"The {word.upper()} file")) for word in (*gone, "~~"))
    assert all(removals.may_list_removed_files(fold_case(f"The {word.upper()} file")) for word in listed)
    text = "The check of the token (a/b.py:12) is kept."
    assert not planned.may_make_files(text)
    assert not removals.may_state_gone(text)
    assert not removals.may_list_removed_files(text)


# --- New files


@pytest.mark.parametrize(
    "cell",
    [
        "New `src/clock.py`",
        "new migration `src/clock.py`, `src/app.py`",
        "Nuevo `src/clock.py`",
        "新規 `src/clock.py`",
        "`src/clock.py` (nuevo)",
    ],
)
def test_a_file_that_a_cell_calls_new_is_planned(cell: str, tree: Path) -> None:
    assert outcomes(TABLE.format("Clock", cell), tree)[0] == "src/clock.py planned"


@pytest.mark.parametrize("cell", ["a new check in `src/clock.py`", "`src/clock.py`", "the newest `src/clock.py`"])
def test_a_file_that_only_gets_something_new_must_exist(cell: str, tree: Path) -> None:
    assert outcomes(TABLE.format("Clock", cell), tree) == ["src/clock.py missing-file"]


# --- Deleted and moved files


@pytest.mark.parametrize("action", ["Delete", "**REMOVE**", "Löschen", "删除"])
def test_a_file_that_a_plan_deletes_may_be_gone(action: str, tree: Path) -> None:
    assert outcomes(TABLE.format(action, "`src/clock.py`"), tree) == ["src/clock.py planned"]
    assert outcomes(TABLE.format(f"{action} the rows of the table", "`src/clock.py`"), tree) == [
        "src/clock.py missing-file"
    ]


def test_a_file_that_was_moved_may_be_gone_if_the_new_one_is_there(tree: Path) -> None:
    assert outcomes(TABLE.format("MOVE it", "`core/state.py` → `src/app.py`"), tree)[0] == "core/state.py planned"
    assert outcomes(TABLE.format("MOVE it", "`core/state.py` → `src/state.py`"), tree) == ["core/state.py missing-file"]


@pytest.mark.parametrize("heading", ["## 1. Latches — ✅ REMOVED", "## Latches (DELETED)", "## 削除済み"])
def test_what_a_heading_calls_removed_is_not_looked_up(heading: str, tree: Path) -> None:
    text = f"{heading}\n\n### Tests\n\n- `src/latch.py:12`\n- `src/app.py:14`"
    assert outcomes(text, tree) == ["src/latch.py:12 unchecked", "src/app.py:14 verified"]
    assert outcomes(text.replace(heading, "## Latches to be removed"), tree)[0] == "src/latch.py:12 missing-file"


@pytest.mark.parametrize("cell", ["ignored", "gitignored", "ignoré"])
def test_a_file_that_git_ignores_may_be_missing(cell: str, tree: Path) -> None:
    assert outcomes(TABLE.format(cell, "`bench/coverage.txt`"), tree) == ["bench/coverage.txt planned"]
    assert outcomes(TABLE.format("tracked", "`bench/coverage.txt`"), tree) == ["bench/coverage.txt missing-file"]


# --- Addresses, approximate places and names that are not files


def test_an_address_in_a_column_of_files_is_not_a_file(tree: Path) -> None:
    assert outcomes(TABLE.format("Limit", "`src/app.py` (for `/p/`, `/state` and `/ws/chat`)"), tree) == [
        "src/app.py verified"
    ]
    assert outcomes(TABLE.format("Read", "`/etc/passwd`"), tree) == ["/etc/passwd outside"]


def test_a_tilde_before_a_name_means_about(tree: Path) -> None:
    assert outcomes("The route (~src/app.py:14) is open.", tree) == ["src/app.py:14 verified"]
    assert outcomes("The route (~/src/app.py:14) is open.", tree)[0] != "src/app.py:14 verified"


def test_levels_are_not_lines(tree: Path) -> None:
    assert outcomes("`src/app.py` satisfies no L0–L4 test.", tree) == []
    assert outcomes("`src/app.py` does it in L1–L4.", tree) == ["src/app.py:1-4 verified"]


def test_a_number_that_a_text_uses_as_a_tag_is_not_a_line(tree: Path) -> None:
    text = "## `src/app.py`\n\n- L13 `src/app.py:14` is wrong\n- in L28 the same"
    assert outcomes(text, tree) == ["src/app.py:14 verified"]
    assert outcomes(text.replace("L13 ", ""), tree) == ["src/app.py:14 verified", "src/app.py:28 verified"]


def test_a_symbol_with_the_ending_of_a_file_in_another_case_is_a_symbol(tree: Path) -> None:
    table = "| Place |\n|---|\n| {} |"
    assert outcomes(table.format("cmd/server/main.go:21 (s.Go)"), tree)[0].split()[1] == "mismatch"
    assert outcomes(table.format("cmd/server/main.go:21 (Server.Listen)"), tree) == ["cmd/server/main.go:21 verified"]


def test_a_name_of_a_file_outside_is_not_short_for_a_file_here(tree: Path) -> None:
    text = "[app.py:3](../../other/app.py) and `app.py:14`"
    assert [one.split()[1] for one in outcomes(text, tree)] == ["outside", "outside"]
    assert outcomes("`app.py:14`", tree) == ["app.py:14 abbreviated > src/app.py:14"]


# --- Lines in columns, ids, members and numbers in strings


def test_a_number_under_lines_is_a_line_if_the_column_has_ranges(tree: Path) -> None:
    table = "| File | Lines |\n|---|---|\n| `src/app.py` | 14 |\n| `src/store.py` | {} |"
    assert outcomes(table.format("8-15"), tree)[0] == "src/app.py:14 verified"
    assert outcomes(table.format("30"), tree)[0] == "src/app.py verified"


def test_the_id_of_a_row_is_not_a_line(tree: Path) -> None:
    table = "| # | File |\n|---|---|\n| {} | `src/app.py:14` |"
    assert outcomes(table.format("L12"), tree) == ["src/app.py:14 verified"]
    assert outcomes("| What | File |\n|---|---|\n| see L12 | `src/app.py:14` |", tree)[0] == "src/app.py:12 verified"


def test_a_string_with_the_word_line_is_not_a_line(tree: Path) -> None:
    assert outcomes('`src/app.py:14` has `"line1\\nline2"`', tree) == ["src/app.py:14 verified"]


def test_a_member_may_come_before_the_line(tree: Path) -> None:
    assert outcomes("`src/app.py::login:12` and src/app.py::Login::open():14", tree) == [
        "src/app.py:12 verified",
        "src/app.py:14 verified",
    ]
    assert outcomes("`std::vector:12`", tree) == []


def test_two_lines_may_be_compared(tree: Path) -> None:
    assert outcomes("`src/app.py` line 12 vs 14", tree) == ["src/app.py:12 verified", "src/app.py:14 verified"]


@pytest.mark.parametrize("cell", ["НОВЫЙ ФАЙЛ — the clock", "New file", "新文件"])
def test_a_new_file_in_other_languages_is_planned(cell: str, tree: Path) -> None:
    assert outcomes(TABLE.format(cell, "`src/clock.py`"), tree) == ["src/clock.py planned"]


@pytest.mark.parametrize("words", ["remove `drain()`", "移除 `drain()`", "delete the unused `drain()`"])
def test_a_symbol_that_is_to_be_removed_may_be_gone(words: str, tree: Path) -> None:
    table = f"| Change | File |\n|---|---|\n| {words} | `src/app.py` |"
    assert outcomes(table, tree) == ["src/app.py verified"]
    assert outcomes(table.replace("`src/app.py`", "`src/app.py:12`"), tree) == ["src/app.py:12 verified"]
    assert outcomes(table.replace(words, "`drain()`").replace("app.py", "app.py:12"), tree) == [
        "src/app.py:12 mismatch"
    ]


@pytest.mark.parametrize(
    ("head", "outcome"),
    [
        ("# A plan\n\n## New Files (the clock)", "planned"),
        ("# A review\n\n## Files to create", "planned"),
        ("# A review\n\n## Recommended Additions (17 files)", "planned"),
        ("# A review\n\n## New Files (the clock)", "missing-file"),
        ("# A plan\n\n## Files to change", "missing-file"),
        ("# A plan\n\n## Folders/", "planned"),
        ("# A review\n\n## Folders/", "missing-file"),
    ],
)
def test_files_below_a_heading_of_new_files_are_planned(head: str, outcome: str, tree: Path) -> None:
    path = "`src/clock/`" if head.endswith("/") else "`src/clock.py`"
    (document,) = parse(f"{head}\n\n{TABLE.format('Clock', path)}")
    found = gather(document, KINDS["generic"], Sources(workspace=WorkTree(tree))).references
    assert [one.outcome for one in found] == [outcome]


def test_the_code_of_a_diagnosis_is_a_remark(tree: Path) -> None:
    assert outcomes("- the error in `src/app.py:14` (TS2532)", tree) == ["src/app.py:14 verified"]
    assert outcomes("- the error in `src/app.py:14` (check_all)", tree) == ["src/app.py:14 mismatch"]


def test_a_symbol_that_uses_the_code_is_elsewhere(tree: Path) -> None:
    table = "| What | File | Why |\n|---|---|---|\n| `Kind` | `src/app.py:14` | {} |"
    assert outcomes(table.format("only used by `drain()`"), tree) == ["src/app.py:14 verified"]
    assert outcomes(table.format("`drain()`"), tree) == ["src/app.py:14 mismatch"]


@pytest.mark.parametrize("words", ["the workflow line 468", "the plan (section 2.2, line 1087)"])
def test_the_line_of_another_text_is_not_one_of_the_file(words: str, tree: Path) -> None:
    assert outcomes(f"`src/app.py:14` does it, see {words}.", tree) == ["src/app.py:14 verified"]


def test_a_line_after_a_text_that_is_named_in_another_line_may_be_of_another_file(tree: Path) -> None:
    text = "The rule is in README.md, as the\nreindex moved `compose` to `:1411`."
    assert [one.split()[1] for one in outcomes(text, tree)] == ["unchecked"]
    assert [one.split()[1] for one in outcomes(text.replace("README.md", "src/app.py"), tree)] == ["out-of-range"]


def test_a_missing_file_in_a_phrase_that_is_quoted_is_an_example(tree: Path) -> None:
    assert outcomes('Be specific: "Fix the error in user.ts:42", not "Fix stuff"', tree) == []
    assert outcomes('Be specific: "Fix the error in src/app.py:14"', tree) == ["src/app.py:14 verified"]
    assert outcomes('The error is in "src/user.ts:42"', tree) == ["src/user.ts:42 missing-file"]
    assert outcomes('"Fix stuff" is about user.ts:42 and "more"', tree) == ["user.ts:42 missing-file"]


@pytest.mark.parametrize(("name", "outcome"), [(".env", "unchecked"), (".env.local", "unchecked")])
def test_the_settings_of_a_machine_are_not_in_a_checkout(name: str, outcome: str, tree: Path) -> None:
    assert outcomes(f"`apps/api/{name}:20` has it", tree) == [f"apps/api/{name}:20 {outcome}"]
    assert outcomes("`apps/api/.env.example:20` has it", tree) == ["apps/api/.env.example:20 missing-file"]


def test_a_phrase_in_code_marks_is_an_example_too(tree: Path) -> None:
    assert outcomes("Example: `The loop is the slowness in cart.ts:240`", tree) == []
    assert outcomes("`cart.ts:240 has the slow loop of it`", tree) == ["cart.ts:240 missing-file"]


def test_two_words_with_a_slash_are_not_a_folder(tree: Path) -> None:
    table = "| Evidence | Location |\n|---|---|\n| Converter | {} |"
    assert outcomes(table.format("the src/scripts of it"), tree) == []
    assert outcomes(table.format("`src/scripts` of it"), tree) == ["src/scripts missing-file"]
    assert outcomes(table.format("src/gone/thing"), tree) == ["src/gone/thing missing-file"]


def test_a_name_that_the_text_gives_to_a_folder_is_left_out(tree: Path) -> None:
    meaning = "ORIG = the module before the change.\n\n"
    assert outcomes(f"{meaning}`ORIG/app.py:14`", tree) == ["ORIG/app.py:14 abbreviated > src/app.py:14"]
    assert outcomes(f"{meaning}`ORIG/gone.py:14`", tree) == ["ORIG/gone.py:14 missing-file"]
    # A folder in capitals that the text does not explain is invented.
    assert outcomes("`ORIG/app.py:14`", tree) == ["ORIG/app.py:14 missing-file > src/app.py:14"]


def test_the_title_of_a_text_about_one_file_names_the_file_of_its_lines(tree: Path) -> None:
    text = "# {}\n\n### An arrow, line 72\n\nIt is long."
    assert outcomes(text.format("src/app.py"), tree)[0].split()[:2] == ["src/app.py:72", "out-of-range"]
    far = text.format("How src/app.py came to be what it is")
    assert outcomes(far, tree) == ["src/app.py:72 unchecked"]
    other = text.replace("\n\n###", "\n\nIt is like `src/store.py`.\n\n###")
    assert outcomes(other.format("src/app.py"), tree) == ["src/app.py:72 unchecked"]


def test_a_symbol_in_a_column_of_replacements_is_to_be_written(tree: Path) -> None:
    table = "| Function | Location | {} |\n|---|---|---|\n| login | `src/app.py:12` | `Sessions.open()` |"
    assert outcomes(table.format("Replacement"), tree) == ["src/app.py:12 verified"]
    assert outcomes(table.format("Replaced By"), tree) == ["src/app.py:12 verified"]
    assert outcomes(table.format("Symbol"), tree) == ["src/app.py:12 mismatch"]


def test_a_file_that_a_prompt_mentions_has_an_at_sign(tree: Path) -> None:
    assert outcomes("@src/app.py (lines 12-14 — the login)", tree) == ["src/app.py:12-14 verified"]
    assert outcomes("@src/gone.py (lines 12-14)", tree) == ["@src/gone.py:12-14 missing-file"]


def test_a_file_of_the_root_that_is_also_named_alone_makes_its_folder_a_root(tree: Path) -> None:
    text = "`/home/me/shop/README.md` (line 1), that is `README.md:1`"
    assert outcomes(text, tree) == ["README.md:1 verified", "README.md:1 verified"]
    assert outcomes("`/home/me/shop/README.md` (line 1)", tree)[0].split()[1] == "outside"


def test_a_shader_is_a_file(tree: Path) -> None:
    assert outcomes("`src/app.py:14` uses `board.wgsl` in a pass, lines 56-58", tree)[0] == "src/app.py:14 verified"
    assert not [one for one in outcomes("`src/app.py:14` uses `board.wgsl`, lines 56-58", tree) if "app.py:56" in one]


def test_a_symbol_after_an_arrow_is_to_be_written(tree: Path) -> None:
    table = "| What | Place |\n|---|---|\n| path | `src/app.py:12` {} `paths.exports()` |"
    assert outcomes(table.format("→"), tree) == ["src/app.py:12 verified"]
    assert outcomes(table.format("and"), tree) == ["src/app.py:12 mismatch"]


def test_a_template_of_a_path_is_not_a_path(tree: Path) -> None:
    assert outcomes("| Lock | File |\n|---|---|\n| one | `{manifest-path}.lock` |", tree) == []
    assert outcomes("| Lock | File |\n|---|---|\n| one | `manifest-path.lock` |", tree)[0].endswith("missing-file")


# --- Instructions


def test_a_table_of_files_with_instructions_states_no_change(tree: Path) -> None:
    table = "# Plan\n\n### Files\n\n| File | Action |\n|---|---|\n| `src/app.py` | {} |\n| `src/more.py` | {} |\n"
    sources = Sources(workspace=WorkTree(tree))
    (planned,) = check_text(table.format("MODIFY - add a check", "**CREATE** (script)"), "-", Options(), sources)
    assert [one.outcome for one in planned.evidence.references] == ["verified", "planned"]
    assert planned.evidence.changes == []
    done = check_text(table.format("modified", "created"), "-", Options(), sources)[0].evidence
    assert [one.outcome for one in done.references] == ["verified", "missing-file"]
    assert [one.outcome for one in done.changes] == ["unchecked", "missing-file"]


def test_files_that_a_session_creates_are_planned(tree: Path) -> None:
    text = "## §6 — New Files This Session {}\n\n| File | Notes |\n|---|---|\n| `src/more.py` | a script |\n"
    assert outcomes(text.format("Creates"), tree) == ["src/more.py planned"]
    assert outcomes(text.format("Reads"), tree) == ["src/more.py missing-file"]


@pytest.mark.parametrize(
    "label",
    [
        "**Deleted files:**",
        "Removed test files:",
        "**Удалённые файлы:**",
        "**Fichiers supprimés** :",
        "**已删除的文件**",
        "### Deleted files",
        "## Archivos eliminados",
    ],
)
def test_files_below_a_label_that_calls_them_deleted_may_be_gone(label: str, tree: Path) -> None:
    body = f"{label}\n\n| File | Lines |\n|---|---|\n| `src/clock.py` | 12 |\n"
    assert outcomes(body, tree) == ["src/clock.py unchecked"]


@pytest.mark.parametrize(
    "label", ["**Changed files:**", "Deleted files are restored by:", "**Deleted rows:**", "### How files are deleted"]
)
def test_files_below_another_label_must_exist(label: str, tree: Path) -> None:
    body = f"{label}\n\n| File | Lines |\n|---|---|\n| `src/clock.py` | 12 |\n"
    assert outcomes(body, tree) == ["src/clock.py missing-file"]


def test_a_label_for_deleted_files_ends_with_its_list(tree: Path) -> None:
    table = "| File |\n|---|\n| `src/clock.py` |\n"
    body = f"**Deleted files:**\n\n- none\n\nThe other files are:\n\n{table}"
    assert outcomes(body, tree) == ["src/clock.py missing-file"]


# --- Files that the text calls missing


@pytest.mark.parametrize(
    "text",
    [
        "`src/clock.py:3` does not exist",
        "The report cites `src/clock.py:3`, but the file does not exist.",
        "The report cites `src/clock.py:3`. Neither the file nor the type exists.",
        "cite `src/clock.py:3` : ni le fichier ni le type n'existent",
        "`src/clock.py:3` 不存在",
    ],
)
def test_a_file_that_the_text_calls_missing_is_not_accused(text: str, tree: Path) -> None:
    assert outcomes(text, tree) == ["src/clock.py:3 planned"]


def test_a_file_without_a_line_that_the_text_calls_missing_is_not_accused(tree: Path) -> None:
    assert outcomes("| File |\n|---|\n| missing page `src/clock.py` |", tree) == ["src/clock.py planned"]


@pytest.mark.parametrize(
    "text",
    [
        "`src/clock.py:3` does not check the time",
        "missing check in `src/clock.py:3`",
        "`src/clock.py:3` fails if the key exists",
        "the key does not exist: see `src/clock.py:3`",
    ],
)
def test_a_file_is_missing_if_something_else_is_called_missing(text: str, tree: Path) -> None:
    assert outcomes(text, tree) == ["src/clock.py:3 missing-file"]


# --- Folders, and folders that a variable names


def test_a_folder_in_a_column_of_files_is_accused_only_in_a_result(tree: Path) -> None:
    assert claims(TABLE.format("Prompts", "`src/`"), tree) == ["src unchecked"]
    assert claims(TABLE.format("Prompts", "`src/clocks/`"), tree) == ["src/clocks missing-file"]
    assert outcomes(TABLE.format("Prompts", "`src/`"), tree)[0].startswith("src missing-file")


def test_a_path_in_a_folder_that_a_variable_names_is_not_checked(tree: Path) -> None:
    assert outcomes("as in `$GOROOT/src/math/big/nat.go:48`", tree) == ["$GOROOT/src/math/big/nat.go:48 unchecked"]
    assert outcomes("as in `$SHOP/src/app.py:3`", tree) == ["$SHOP/src/app.py:3 abbreviated > src/app.py:3"]


@pytest.mark.parametrize(
    "text",
    [
        "1. Create `src/clock.py:1`.",
        "2. `src/clock.py:1` (new).",
        "| File | Action |\n|---|---|\n| src/clock.py:1 | Create |",
        "| Datei | Aktion |\n|---|---|\n| src/clock.py:1 | neu |",
        "| Archivo | Acción |\n|---|---|\n| src/clock.py:1 | crear |",
    ],
)
def test_a_file_with_a_line_that_the_text_creates_is_planned(text: str, tree: Path) -> None:
    assert outcomes(text, tree) == ["src/clock.py:1 planned"]


def test_a_file_that_is_to_be_modified_must_exist(tree: Path) -> None:
    rows = "| Modify | `src/clock.py` |\n| Create | `src/watch.py` |"
    text = f"#### Files\n\n| Action | File |\n|---|---|\n{rows}"
    assert outcomes(text, tree) == ["src/clock.py missing-file", "src/watch.py planned"]


# --- Headings on files that are to be created or deleted


@pytest.mark.parametrize(
    "heading",
    [
        "5.1 DELETE - Debug artifacts (14 files)",
        "Remove (2 files)",
        "Files to delete",
        "Files to create/modify",
        "Files to be created and changed (3)",
        "Files to be removed",
        "Delete these files",
        "Fichiers à créer",
        "Fichiers a creer",
        "Archivos a crear",
        "Arquivos a criar",
        "Файлы для создания",
    ],
)
def test_files_below_a_heading_that_creates_or_deletes_them_may_be_missing(heading: str, tree: Path) -> None:
    table = "| File | Note |\n|---|---|\n| `src/clock.py` | x |"
    assert claims(f"# Notes\n\n### {heading}\n\n{table}", tree) == ["src/clock.py planned"]


@pytest.mark.parametrize(
    "heading",
    [
        "5.1 Deletes sessions twice (14 files)",
        "DELETE",
        "DELETE: returns 404",
        "Remove — finding 3",
        "Files to remove debug output from",
        "Fichiers à ajouter au cache",
        "Files to add validation to",
        "Files to create and modify sessions",
        "Deleting a session",
        "Delete handler",
        "Delete: a session is kept",
        "DELETE (users)",
        "Remove - the guard leaks files",
        "Removed checks",
        "Remove-and-retry loop",
        "Fichiers modifiés",
        "Archivos creados",
        "Files to review",
    ],
)
def test_files_below_another_heading_are_missing(heading: str, tree: Path) -> None:
    table = "| File | Note |\n|---|---|\n| `src/clock.py` | x |"
    assert claims(f"# Notes\n\n### {heading}\n\n{table}", tree) == ["src/clock.py missing-file"]


def test_a_line_below_a_heading_that_deletes_files_is_a_claim(tree: Path) -> None:
    assert claims("### Delete\n\nThe check in `src/clock.py:12` is late.", tree) == ["src/clock.py:12 missing-file"]


@pytest.mark.parametrize(
    "heading",
    ["4.1 `src/clock.py` — whole-file delete (832 lines)", "[DELETE] `src/clock.py`", "`src/clock.py` (delete)"],
)
def test_a_file_whose_heading_deletes_it_may_be_missing_and_its_lines_may_not(heading: str, tree: Path) -> None:
    text = f"### {heading}\n\n| File |\n|---|\n| `src/clock.py` |\n\nThe class is in `src/clock.py:12`."
    assert claims(text, tree) == ["src/clock.py planned", "src/clock.py:12 missing-file"]


@pytest.mark.parametrize(
    "heading",
    ["`src/clock.py` — delete handler is broken", "Delete users in `src/clock.py`", "`src/clock.py` deletes twice"],
)
def test_lines_of_a_file_whose_heading_is_about_a_deletion_are_missing(heading: str, tree: Path) -> None:
    assert claims(f"### {heading}\n\nSee `src/clock.py:12`.", tree) == ["src/clock.py:12 missing-file"]


def test_a_cell_may_delete_the_whole_file(tree: Path) -> None:
    assert claims(TABLE.format("**DELETE the whole file.** It is a copy", "`src/clock.py`"), tree) == [
        "src/clock.py planned"
    ]
    for cell in ("Delete the session. It leaks", "Move. Wrong layer", "Delete; unsafe"):
        assert claims(TABLE.format(cell, "`src/clock.py`"), tree) == ["src/clock.py missing-file"]


CREATED = "### {}\n\n| File | Role |\n|---|---|\n| `src/app.py` | x |\n\n### Code\n\n```python\n# src/app.py{}\n{}\n```"
ALTERED = "def load_user(store, name):\n    user = store.find_users(name)"


def test_code_of_a_file_that_the_text_creates_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    code = "def load_user(store, name):\n    user = store.find_user(name)\n    return user\n"
    (tmp_path / "src/app.py").write_text(code)

    def quotes(heading: str, line: str) -> list[str]:
        (verdict,) = check_text(
            CREATED.format(heading, line, ALTERED),
            "-",
            Options(profile="claims"),
            Sources(workspace=WorkTree(tmp_path)),
        )
        return [one.outcome for one in verdict.evidence.quotes]

    assert quotes("Fichiers à créer", "") == []
    assert quotes("Fichiers à créer", ":1") == ["mismatch"]
    assert quotes("Fichiers modifiés", "") == ["mismatch"]


# --- The files of a plan


@pytest.mark.parametrize(
    ("heading", "cell", "outcome"),
    [
        ("File Structure", "the clock", "planned"),
        ("File Structure", "`Clock`, embedded migrations", "planned"),
        ("2. File map", "tests", "planned"),
        ("Files to touch", "tests", "missing-file"),
        ("File structure (before)", "tests", "missing-file"),
        ("File Structure", "where the check is today", "missing-file"),
        ("File Structure", "the check has an SQL injection", "missing-file"),
        ("Target file layout (phase 1)", "tests", "planned"),
        ("文件结构", "时钟", "planned"),
        ("File Structure", "Modify: the clock", "missing-file"),
        ("File Structure", "**Add** a tick", "missing-file"),
        ("File Structure", "the existing clock", "missing-file"),
        ("File Structure", "修改时钟", "missing-file"),
        ("Findings", "the clock", "missing-file"),
    ],
)
def test_a_file_of_the_file_structure_of_a_plan_is_to_be_written(
    heading: str, cell: str, outcome: str, tree: Path
) -> None:
    table = f"## {heading}\n\n| File | What |\n|---|---|\n| `src/clock.py` | {cell} |\n"
    assert claims(f"# Clock: implementation plan\n\n{table}", tree) == [f"src/clock.py {outcome}"]
    assert claims(f"# Clock: code review\n\n{table}", tree) == ["src/clock.py missing-file"]
    with_line = table.replace("clock.py", "clock.py:12")
    assert claims(f"# Clock: implementation plan\n\n{with_line}", tree) == ["src/clock.py:12 missing-file"]


# --- Where something was


@pytest.mark.parametrize(
    "text",
    [
        "The code is in `src/app.py` (was `src/store.py` lines 900-940).",
        "`src/app.py:3` (formerly `src/store.py:900`)",
        "`src/app.py:3` [moved from src/store.py:900]",
        "- **Extracted from:** src/store.py lines 900-940",
        "Unwraps in the code of src/store.py: vormals Lines 900",
    ],
)
def test_a_place_where_something_was_may_be_gone(text: str, tree: Path) -> None:
    assert [one.rpartition(" ")[2] for one in claims(text, tree)][-1] == "unchecked"


@pytest.mark.parametrize(
    "text",
    [
        "The limit was `src/store.py:900`.",
        "The value is extracted from `src/store.py:900`.",
        "The call moved from `src/app.py:3` to `src/store.py:900`.",
        "The check (was it ever there?) is in `src/store.py:900`.",
        "The injection (previously in src/store.py:900) is still open.",
        "The bug (previously in src/store.py:900) lets anyone in.",
        "The value (was src/store.py:900 tested?) is read.",
    ],
)
def test_other_words_on_the_past_do_not_excuse_a_place(text: str, tree: Path) -> None:
    assert "out-of-range" in claims(text, tree)[-1]


@pytest.mark.parametrize("cell", ["✅ Fixed — removed", "Was deleted, see the log"])
def test_a_row_may_state_that_its_file_was_removed(cell: str, tree: Path) -> None:
    rows = "| File | Status |\n|---|---|\n| `src/clock.py` | {} |"
    assert claims(rows.format(cell), tree) == ["src/clock.py unchecked"]
    for other in ("Fixed — removed users can log in", "Was deleted, but it is still imported"):
        assert claims(rows.format(other), tree) == ["src/clock.py missing-file"]


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        ("Modify (create if it does not exist)", "planned"),
        ("if missing, create it", "planned"),
        ("修改 | 新增查询（如果不存在需创建）", "planned"),
        ("Suppression", "planned"),
        ("fails if it does not exist", "missing-file"),
        ("add a row if the user is missing", "missing-file"),
        ("removes the row if it is missing", "missing-file"),
        ("add a row if missing", "missing-file"),
        ("Add if missing: a limit", "missing-file"),
        ("Suppression of errors", "missing-file"),
    ],
)
def test_a_file_that_may_not_be_there_yet_is_planned(cell: str, outcome: str, tree: Path) -> None:
    rows = "| File | What | More |\n|---|---|---|\n| `src/clock.py` | {} |"
    assert claims(rows.format(cell), tree) == [f"src/clock.py {outcome}"]
    hedged = "| File | What |\n|---|---|\n| `src/clock.py` (or nearest existing test) | tests |"
    assert claims(hedged, tree) == ["src/clock.py planned"]


def test_a_row_of_a_plan_may_call_its_file_new_in_capitals(tree: Path) -> None:
    rows = "| File | What |\n|---|---|\n| `src/clock.py` | {} |"
    assert claims(f"# Clock plan\n\n{rows.format('**NEW** integration test')}", tree) == ["src/clock.py planned"]
    for cell in ("New integration test", "**NEW** integration test"):
        assert claims(f"# Clock review\n\n{rows.format(cell)}", tree) == ["src/clock.py missing-file"]


@pytest.mark.parametrize("heading", ["À créer par la tâche suivante", "À créer", "Por crear", "A criar:"])
def test_a_heading_in_another_language_lists_files_to_create(heading: str, tree: Path) -> None:
    rows = "| File | What |\n|---|---|\n| `src/clock.py` | the clock |"
    assert claims(f"# Clock\n\n### {heading}\n\n{rows}", tree) == ["src/clock.py planned"]
    assert claims(f"# Clock\n\n### Créer par\n\n{rows}", tree) == ["src/clock.py missing-file"]


def test_a_plan_may_call_a_folder_or_a_test_new(tree: Path) -> None:
    rows = "| File | What |\n|---|---|\n| `src/clock.py` | {} |"
    for cell in ("New integration test (needs a clock)", "New directory + 4 files"):
        assert claims(f"# Brief\n\n**Status:** Draft, ready for implementation\n\n{rows.format(cell)}", tree) == [
            "src/clock.py planned"
        ]
        assert claims(f"# Brief\n\n**Status:** Draft\n\n{rows.format(cell)}", tree) == ["src/clock.py missing-file"]
