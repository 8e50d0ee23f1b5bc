"""References: their outcomes and suggestions in a tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from corpus.tree import FILES, HEAD, evidence_of, plant, shown
from hypothesis import given
from hypothesis import strategies as st

from remit.contract.kinds import KINDS
from remit.contract.parse import MAX_BYTES, parse
from remit.evidence import suggestions
from remit.evidence.gather import gather
from remit.evidence.sources import Sources
from remit.workspace.files import MAX_FILE, Absent, SourceFile, WorkTree


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def outcomes(body: str, tree: Path, **options: str) -> list[str]:
    return [shown(reference) for reference in evidence_of(body, tree, **options).references]


# --- Outcomes


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("src/app.py:1", "src/app.py:1 verified"),
        ("src/app.py:40", "src/app.py:40 verified"),
        ("src/app.py:1-40", "src/app.py:1-40 verified"),
        ("src/app.py:41", "src/app.py:41 out-of-range > src/app.py:40"),
        ("src/app.py:40-41", "src/app.py:40-41 out-of-range > src/app.py:40"),
        ("src/app.py:0", "src/app.py:0 out-of-range > src/app.py:1"),
        ("src/app.py:0-3", "src/app.py:0-3 out-of-range > src/app.py:1"),
        ("src/app.py:3-2", "src/app.py:3-2 out-of-range > src/app.py:3"),
        ("src/app.py:3-3", "src/app.py:3-3 verified"),
        ("src/empty.py:1", "src/empty.py:1 out-of-range"),
        ("src/empty.py:0", "src/empty.py:0 out-of-range"),
        ("./src/app.py:1", "src/app.py:1 verified"),
        ("src/../src/app.py:1", "src/app.py:1 verified"),
        ("src/auth/../app.py:1", "src/app.py:1 verified"),
        ("src\\app.py:1", "src/app.py:1 verified"),
        ("../app.py:1", "../app.py:1 outside"),
        ("src/../../app.py:1", "src/../../app.py:1 outside"),
        ("/etc/hosts.txt:1", "/etc/hosts.txt:1 outside"),
        ("~/app.py:1", "~/app.py:1 outside"),
        (".git/config:1", ".git/config:1 outside"),
        ("src/.GIT/config:1", "src/.GIT/config:1 outside"),
        ("C:\\src\\app.py:1", "src/app.py:1 verified"),
        ("C:\\app.py:1", "C:/app.py:1 outside"),
        ("src/App.py:1", "src/App.py:1 missing-file > src/app.py:1"),
        ("SRC/app.py:1", "SRC/app.py:1 missing-file > src/app.py:1"),
        ("src/application.py:1", "src/application.py:1 missing-file"),
        ("src/auth:1", "src/auth:1 missing-file > src/auth/login.ts:1"),
        ("lib/app.py:99", "lib/app.py:99 missing-file > src/app.py"),
        ("src/app.py/x.py:1", "src/app.py/x.py:1 missing-file"),
    ],
)
def test_a_reference_has_this_outcome(written: str, expected: str, tree: Path) -> None:
    assert outcomes(f"see `{written}` there", tree) == [expected]


def test_an_outcome_has_a_reason(tree: Path) -> None:
    def why(written: str) -> str:
        return evidence_of(written, tree).references[0].why

    assert why("src/app.py:99") == "the file has 40 lines"
    assert why("src/app.py:0") == "lines are counted from 1"
    assert why("src/app.py:9-3") == "the range runs backwards from 9 to 3"
    assert why("src/ghost.py:1") == "there is no such file"
    assert why("src/auth:1") == "it is a folder"
    assert why("../x.py:1") == "the path is outside the checkout"
    assert why("src/app.py:12 (`ghost`)") == "ghost does not occur in the file"
    assert why("src/app.py:1 (open_session)") == "open_session is at line 31"


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"a", 1),
        (b"a\n", 1),
        (b"a\nb", 2),
        (b"a\r\nb\r\n", 2),
        (b"a\rb\n", 1),
        (b"a\x0cb\x0bc\xe2\x80\xa8d\n", 1),
        (b"\xff\xfe bytes\n", 1),
    ],
)
def test_lines_are_counted_as_in_the_contract(content: bytes, count: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(content)
    for line in range(1, 4):
        (found,) = evidence_of(f"a.py:{line}", tmp_path).references
        assert found.outcome == ("verified" if line <= count else "out-of-range")


def test_unreadable_files_are_unchecked(tmp_path: Path) -> None:
    (tmp_path / "binary.py").write_bytes(b"\0" * 10)
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    assert outcomes("binary.py:1 large.py:1", tmp_path) == ["binary.py:1 unchecked", "large.py:1 unchecked"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_only_inside_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("x\n", encoding="utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "real.py").write_text("x\n", encoding="utf-8")
    (root / "link.py").symlink_to("real.py")
    (root / "out.py").symlink_to("../outside/a.py")
    (root / "dir").symlink_to("../outside")
    assert outcomes("link.py:1 out.py:1 dir/a.py:1", root) == [
        "link.py:1 verified",
        "out.py:1 outside",
        "dir/a.py:1 outside",
    ]
    other = tmp_path / "other"
    other.symlink_to(root)
    assert outcomes(f"{root.resolve()}/real.py:1 {other}/real.py:1", other) == ["real.py:1 verified"] * 2


def test_an_absolute_path_inside_the_checkout_becomes_relative(tree: Path) -> None:
    root = tree.resolve()
    assert outcomes(f"{root}/src/app.py:12 and {root}/../x.py:1", tree) == [
        "src/app.py:12 verified",
        f"{root}/../x.py:1 outside",
    ]


def test_ignored_and_untracked_files_count(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n", encoding="utf-8")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "out.js").write_text("x\n", encoding="utf-8")
    assert outcomes("build/out.js:1", tmp_path) == ["build/out.js:1 verified"]


def test_without_a_repository_references_are_found_and_unchecked() -> None:
    found = evidence_of("src/app.py:12 and Dockerfile:3 and ../x.py:1", None)
    assert [shown(reference) for reference in found.references] == ["src/app.py:12 unchecked", "../x.py:1 unchecked"]


def test_each_occurrence_is_an_entry_with_its_line(tree: Path) -> None:
    found = evidence_of("src/app.py:12\n\nsrc/app.py:12 and src/app.py:12", tree).references
    first = HEAD.count("\n") + 1
    assert [(reference.text, reference.at) for reference in found] == [
        ("src/app.py:12", first),
        ("src/app.py:12", first + 2),
        ("src/app.py:12", first + 2),
    ]


def test_a_reference_has_its_line_section_and_block(tree: Path) -> None:
    body = (
        "#### Entry Points\n| Entry | File:Line | Type |\n|---|---|---|\n| a | src/app.py:12 | x |\n\nsrc/store.py:14\n"
    )
    table, prose = evidence_of(body, tree, kind="exploration").references
    assert (table.section, table.block, table.row == table.at, prose.row) == ("findings", "entry_points", True, 0)
    assert prose.section == "findings"


# --- Planned files

DESIGN = """#### Implementation Map
| Component | File | Action |
|---|---|---|
| clock | `src/clock.py` | {} |
| app | `src/app.py` | Modify |

The clock (`src/clock.py:3`) is new.
"""


def test_files_that_a_design_creates_are_planned(tree: Path) -> None:
    assert outcomes(DESIGN.format("Create"), tree, kind="design") == [
        "src/clock.py planned",
        "src/app.py verified",
        "src/clock.py:3 planned",
    ]


@pytest.mark.parametrize(("action", "kind"), [("Modify", "design"), ("Delete", "design"), ("Create", "exploration")])
def test_other_files_that_do_not_exist_are_missing(action: str, kind: str, tree: Path) -> None:
    assert [line.split()[1] for line in outcomes(DESIGN.format(action), tree, kind=kind)] == [
        "missing-file",
        "verified",
        "missing-file",
    ]


def test_a_planned_file_that_exists_is_verified_and_one_outside_is_outside(tree: Path) -> None:
    body = DESIGN.format("Create").replace("src/clock.py", "src/store.py")
    assert outcomes(body, tree, kind="design")[0] == "src/store.py verified"
    body = DESIGN.format("Create").replace("src/clock.py", "../clock.py")
    assert outcomes(body, tree, kind="design")[0] == "../clock.py outside"


# --- Suggestions


def test_suggestions_prefer_the_path_with_the_most_common_parts(tmp_path: Path) -> None:
    for path in ("a/models/user.py", "b/models/user.py", "b/user.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n", encoding="utf-8")
    assert outcomes("b/model/user.py:1", tmp_path) == ["b/model/user.py:1 missing-file > b/user.py:1"]
    assert outcomes("c/models/user.py:1", tmp_path) == ["c/models/user.py:1 missing-file > b/models/user.py:1"]
    assert outcomes("src/a/models/User.py:9", tmp_path) == ["src/a/models/User.py:9 missing-file > a/models/user.py"]


def test_a_folder_suggests_its_main_file(tmp_path: Path) -> None:
    for path in ("pkg/a.py", "pkg/__init__.py", "web/a.ts", "web/index.ts", "other/z.py", "other/b.py", "other2/a.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n", encoding="utf-8")
    table = "| File | Note |\n|---|---|\n| {} | x |\n"
    for folder, suggested in (("pkg/", "pkg/__init__.py"), ("web/", "web/index.ts"), ("other/", "other/b.py")):
        name = folder.rstrip("/")
        assert outcomes(table.format(folder), tmp_path) == [f"{name} missing-file > {suggested}"]


def test_the_number_of_suggestions_is_limited(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MAX_GUESSES", 1)
    assert outcomes("src/sture.py:1 src/appp.py:1 src/sture.py:2", tree) == [
        "src/sture.py:1 missing-file",
        "src/appp.py:1 missing-file > src/app.py:1",
        "src/sture.py:2 missing-file",
    ]


def test_of_too_many_equal_names_the_first_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MAX_COMPARISONS", 0)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("x\n", encoding="utf-8")
    assert outcomes("c/b/x.py:1", tmp_path) == ["c/b/x.py:1 missing-file > a/x.py:1"]


# --- Properties

FORMS = (
    "{path}:{line}",
    "`{path}:{line}`",
    "{path}:{line}-{line}",
    "{path}:{line}:3",
    "{path}#L{line}",
    "{path}#L{line}-L{line}",
    "line {line} of {path}",
    "{path}, line {line}",
    "{path} (lines {line}-{line})",
    "[x]({path}#L{line})",
    "[x:{line}]({path})",
    "`{path}` の{line}行目",
    "`{path}` 第{line}行",
    "./{path}:{line}",
)
PLACES = [
    (path, count)
    for path, (count, _) in FILES.items()
    if count and " " not in path and "%" not in path and "C:" not in path
]


@given(st.sampled_from(PLACES), st.sampled_from(FORMS), st.data())
def test_any_line_of_the_tree_is_verified_in_any_form(
    tree: Path, file_and_count: tuple[str, int], form: str, data: st.DataObject
) -> None:
    path, count = file_and_count
    line = data.draw(st.integers(1, count))
    found = evidence_of("see " + form.format(path=path, line=line) + " there", tree).references
    assert [(one.path, one.line, one.outcome) for one in found] == [(path, line, "verified")]


@given(st.sampled_from(PLACES), st.sampled_from(FORMS), st.integers(1, 10**12))
def test_any_line_past_the_end_is_out_of_range(
    tree: Path, file_and_count: tuple[str, int], form: str, more: int
) -> None:
    path, count = file_and_count
    found = evidence_of("see " + form.format(path=path, line=count + more) + " there", tree).references
    assert [(one.path, one.outcome) for one in found] == [(path, "out-of-range")]
    assert found[0].found is not None
    assert found[0].found.line == count


# --- Hostile documents


class Counting(WorkTree):
    """A tree that counts reads and listings."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.loaded: list[str] = []
        self.listed = 0

    def _load(self, path: str) -> SourceFile | Absent:
        self.loaded.append(path)
        return super()._load(path)

    def _list(self) -> list[str]:
        self.listed += 1
        return super()._list()


@pytest.mark.slow
def test_a_hundred_thousand_references_in_one_document(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n", encoding="utf-8")
    words = HEAD + ("a.py:1 " * 499 + "b.py:1\n") * 200
    assert len(words) < MAX_BYTES
    (document,) = parse(words)
    workspace = Counting(tmp_path)
    found = gather(document, KINDS["generic"], Sources(workspace=workspace)).references
    assert [len(found), workspace.loaded, workspace.listed] == [100_000, ["a.py", "b.py", ".gitmodules"], 1]
    assert sum(reference.outcome == "verified" for reference in found) == 99_800


@pytest.mark.parametrize("end", [" ", "\n", ""])
def test_the_same_windows_path_many_times_is_looked_up_a_few_times(end: str, tmp_path: Path) -> None:
    class Asked(Counting):
        """Counts the questions whether a file exists."""

        asked = 0

        def exists(self, path: str) -> bool:
            self.asked += 1
            return super().exists(path)

    few, many = Asked(tmp_path), Asked(tmp_path)
    found = [len(evidence_of(f"C:\\x:1{end}" * count, one).references) for count, one in ((50, few), (1_000, many))]
    assert found == ([50, 1_000] if end else found)
    assert (many.loaded, many.listed) == (few.loaded, few.listed)
    per_line = 950 if end == "\n" else 0
    assert many.asked <= few.asked + 4 * per_line


@pytest.mark.slow
def test_one_line_of_a_megabyte(tree: Path) -> None:
    line = "the words around it take up most of the line, src/app.py:1 does not " * ((MAX_BYTES - 1000) // 68)
    found = evidence_of(line, tree).references
    assert len(found) == line.count("src/app.py:1")


@pytest.mark.slow
def test_references_into_one_long_file_read_it_once(tmp_path: Path) -> None:
    count = 200_000
    names = [f"name_{number} = {number}" for number in range(1, count + 1)]
    (tmp_path / "long.py").write_text("\n".join(names), encoding="utf-8")
    step = count // 500
    body = "\n".join(f"- long.py:{n} (name_{n})\n- long.py:{n} (name_{count - n})" for n in range(1, count, step))
    workspace = Counting(tmp_path)
    found = evidence_of(body, workspace).references
    assert [path for path in workspace.loaded if path.endswith(".py")] == ["long.py"]
    assert workspace.listed == 0
    assert [reference.outcome for reference in found[::2]] == ["verified"] * 500
    assert [reference.found and reference.found.line for reference in found[1::2]] == [
        None if abs(count - 2 * n) <= 5 else count - n for n in range(1, count, step)
    ]


def test_many_references_to_many_files_list_the_tree_at_most_once(tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"d{number % 20}").mkdir(exist_ok=True)
        (tmp_path / f"d{number % 20}" / f"file_{number}.py").write_text("x\n" * 10, encoding="utf-8")
    rows = []
    for number in range(2000):
        file = f"d{number % 20}/file_{number % 500}.py"
        rows.append(f"{file}:{1 + number % 10}" if number % 4 else f"gone/file_{number % 500}.py:1")
    workspace = Counting(tmp_path)
    found = evidence_of("\n\n".join(rows), workspace).references
    assert workspace.listed == 1
    assert len(found) == 2000
    assert sum(reference.outcome == "verified" for reference in found) == 1500
    assert sorted(set(workspace.loaded)) == sorted(workspace.loaded)


def test_correct_references_do_not_list_the_tree(tree: Path) -> None:
    workspace = Counting(tree)
    evidence_of("src/app.py:12 (login), Makefile:3, localhost:80, ../x.py:1, src/app.py:99", workspace)
    assert workspace.listed == 0


@pytest.mark.skipif(os.name == "nt", reason="such names are not allowed there")
def test_unusual_names_on_disk_are_handled(tmp_path: Path) -> None:
    odd = [
        "new\nline.py",
        "bell\x07.py",
        "right\u202eleft.py",
        " space.py",
        "quote'.py",
        "back\\slash.py",
        "é.py",
        "e\u0301f.py",
    ]
    for name in odd:
        (tmp_path / name).write_text("unmistakable_line = 1\n" if name == odd[0] else "x\n", encoding="utf-8")
    found = evidence_of("`newline.py:1`, é.py:1, e\u0301.py:1, `quote'.py:1`, right\u202eleft.py:1, éf.py:1", tmp_path)
    assert [reference.outcome for reference in found.references] == [
        "missing-file",
        "verified",
        "verified",
        "verified",
        "missing-file",
        "verified",
    ]
    body = "é.py:1:\n```\nunmistakable_line = 1\n```"
    assert [shown(quote) for quote in evidence_of(body, tmp_path).quotes] == ["é.py:1 relocated > new\nline.py:1"]


@given(st.text(max_size=400))
def test_any_document_can_be_looked_up(tree: Path, body: str) -> None:
    for reference in evidence_of(body, tree).references:
        assert reference.outcome != "unchecked"


@pytest.mark.parametrize("change", ["New: a table of offsets", "Create: the table", "New file", "新增：表"])
def test_a_file_that_a_row_calls_new_is_planned(change: str, tree: Path) -> None:
    row = f"| File | Change |\n|---|---|\n| `src/offsets.py` | {change} |"
    assert [one.outcome for one in evidence_of("", tree, head=row).references] == ["planned"]


def test_a_file_that_the_text_creates_is_planned_everywhere(tree: Path) -> None:
    row = "| File | Purpose |\n|---|---|\n| `tests/test_offsets.py` | tests |\n\n"
    assert [one.outcome for one in evidence_of("", tree, head=row).references] == ["missing-file"]
    head = row + "- Create: `tests/test_offsets.py`\n"
    assert [one.outcome for one in evidence_of("", tree, head=head).references] == ["planned"]


# --- What the text itself calls removed


@pytest.mark.parametrize(
    "text",
    [
        "~~src/gone.py:12~~",
        "- ~~`src/app.py:99` has no check~~ done",
        "Removed `src/gone.py:12`.",
        "`src/gone.py:12` was removed in the last release.",
        "`src/app.py:99` has since been deleted.",
        "- `src/gone.py:12` (deleted)",
        "- `src/gone.py:12` no longer exists",
        "- `src/app.py:12` (`ghost`) was removed",
        "| File | Status |\n|---|---|\n| src/gone.py:12 | ✅ Removed |",
        "| File | Estado |\n|---|---|\n| src/gone.py:12 | eliminado |",
        "| File | Status |\n|---|---|\n| src/gone.py:12 | удалён |",
    ],
)
def test_what_the_text_calls_removed_is_not_accused(text: str, tree: Path) -> None:
    (reference,) = evidence_of(text, tree).references
    assert (reference.outcome, reference.found) == ("unchecked", None)


@pytest.mark.parametrize(
    "text",
    [
        "`src/gone.py:12` should be removed.",
        "`src/gone.py:12` is never removed from the list",
        "~~old~~ `src/gone.py:12`",
        "The cache was removed. `src/gone.py:12` is called twice.",
        "| File | Note |\n|---|---|\n| src/gone.py:12 | users are removed twice |",
    ],
)
def test_a_missing_file_that_is_not_called_removed_is_reported(text: str, tree: Path) -> None:
    assert [one.outcome for one in evidence_of(text, tree).references] == ["missing-file"]


# --- Requests in tables


@pytest.mark.parametrize(
    "table",
    [
        "| Method | Location |\n|---|---|\n| POST | /api/users |",
        "| Location | Verb |\n|---|---|\n| `/api/users` | `DELETE` |",
        "| Location | Note |\n|---|---|\n| POST /api/users | no limit |",
    ],
)
def test_a_route_next_to_the_method_of_a_request_is_not_a_file(table: str, tree: Path) -> None:
    assert evidence_of(table, tree).references == []


def test_a_file_next_to_the_method_of_a_request_is_a_file(tree: Path) -> None:
    table = "| Method | Location |\n|---|---|\n| POST | src/app.py:12 |\n| GET | src/gone.py |"
    assert outcomes(table, tree) == ["src/app.py:12 verified", "src/gone.py missing-file"]


# --- Columns and lines in other languages


@pytest.mark.parametrize(
    "head", ["Archivo | Línea", "Datei | Zeile", "Файл | Строка", "Fichier | Ligne", "Arquivo | Linha", "파일 | 줄"]
)
def test_the_columns_of_files_and_lines_are_known_in_other_languages(head: str, tree: Path) -> None:
    assert outcomes(f"| {head} |\n|---|---|\n| src/app.py | 12 |", tree) == ["src/app.py:12 verified"]


def test_a_column_with_numbers_of_lines_has_no_locations(tree: Path) -> None:
    assert outcomes("| Datei | Zeilen |\n|---|---|\n| src/app.py | 12 |", tree) == ["src/app.py verified"]
    assert outcomes("| Datei | Zeilen |\n|---|---|\n| src/app.py | 12-18 |", tree) == ["src/app.py:12-18 verified"]
