"""Lines whose file is named elsewhere in the text, and the scope in which claims are found."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from corpus.tree import shown

from remit.checking import Options, check_text
from remit.evidence import carried_outcomes
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for path, lines in {"src/app.py": 400, "src/store.py": 200, "docs/page.md": 50, "haproxy.cfg": 30}.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("value = 1\n" * lines)
    return root


def found(text: str, tree: Path) -> list[str]:
    (verdict,) = check_text(text, "-", Options(), Sources(workspace=WorkTree(tree)))
    return [shown(reference).replace(" verified", "") for reference in verdict.evidence.references]


# --- The only file of a section


@pytest.mark.parametrize(
    "text",
    [
        "It is in `src/app.py`.\n\nThe check (line 12) fails.",
        "It is in `src/app.py`. Here is why:\n\n- The check (line 12) fails.",
        "# Review\n\nThis is about `src/app.py`.\n\n## Faults\n\n### One\n\n- The check (line 12) fails.",
        "# Review\n\nThis is about `src/app.py`.\n\n## The check (line 12)\n\nIt fails.",
        "It is in `src/app.py`.\n\n| Line | Fault |\n|---|---|\n| 12 | It fails |",
    ],
)
def test_a_line_belongs_to_the_only_file_that_its_section_names(text: str, tree: Path) -> None:
    assert found(text, tree) == ["src/app.py:12"]
    assert found(text.replace("12", "900"), tree) == ["src/app.py:900 unchecked"]


def test_a_line_belongs_to_the_file_that_the_whole_text_is_about(tree: Path) -> None:
    text = (
        "# [File Review] Audit\n\n## 0) {}\n\n**{}**: `src/app.py`\n\n**Related**:\n- [Store](src/store.py)\n\n"
        "## 1) Findings\n\n| Line(s) | Fault |\n|---|---|\n| 50-52 | One |\n\n- It fails (Lines 12, 14)\n"
    )
    lines = ["src/app.py:50-52", "src/app.py:12", "src/app.py:14"]
    for label in ("File path", "File", "檔案"):
        assert [one for one in found(text.format("Metadata", label), tree) if ":" in one] == lines
    far = found(text.format("Metadata", "File").replace("50-52", "900"), tree)
    assert "src/app.py:900 unchecked" in far
    # A file of one finding is not that of the others.
    assert not set(lines) & set(found(text.format("Finding 1", "File"), tree))
    assert not set(lines) & set(found(text.format("Metadata", "Author"), tree))


def test_columns_of_files_and_lines_in_traditional_chinese(tree: Path) -> None:
    text = "| 功能 | 檔案 | 行數 |\n|---|---|---|\n| 呼叫 | `src/app.py` | {} |\n| 定義 | `src/app.py` | 13-15 |"
    assert found(text.format(12), tree) == ["src/app.py:12", "src/app.py:13-15"]
    assert found(text.format(900), tree)[0] == "src/app.py:900 out-of-range > src/app.py:400"


def test_a_column_may_name_the_form_of_its_locations(tree: Path) -> None:
    text = "| Finding | Source (file:line) |\n|---|---|\n| One | `{}` |"
    assert found(text.format("src/app.py"), tree) == ["src/app.py"]
    assert found(text.format("src/gone.py"), tree) == ["src/gone.py missing-file"]
    assert found(text.format("path/file.py:123-145"), tree) == []
    assert found(text.format("paths/file.py:123-145"), tree) == ["paths/file.py:123-145 missing-file"]


@pytest.mark.parametrize(
    "text",
    [
        "`src/app.py` 需要重构（预计改动 100-900 行）。",
        "`src/app.py`: 新增 300-900 行",
        "`src/app.py` は LINE 2024年版の API を使う",
        "`src/app.py` line 3, 200-900 ms per call",
        "`src/app.py` lines 3-5, ~900 ms per call",
        "`src/app.py` lines 3-5 and ~900 more",
        "`src/app.py` 第 3/900 行",
        "| File | Lines |\n|---|---|\n| `src/app.py` | `900` |",
    ],
)
def test_counts_and_other_numbers_near_a_file_are_not_its_lines(text: str, tree: Path) -> None:
    assert [one for one in found(text, tree) if "out-of-range" in one] == []


def test_a_tilde_between_lines_is_a_range(tree: Path) -> None:
    assert found("The block in `src/app.py` ends. See (lines 72~76) of it.", tree)[-1:] == ["src/app.py:72-76"]
    assert found("`src/app.py` (lines 390~900)", tree)[0].startswith("src/app.py:390-900 out-of-range")


def test_a_line_belongs_to_the_dot_file_of_its_row(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n" * 8)
    text = "| File | Fault |\n|---|---|\n| `.gitignore` | Line {} hides the reports |"
    assert found(text.format(6), tmp_path) == [".gitignore", ".gitignore:6"]
    assert found(text.format(9), tmp_path) == [".gitignore", ".gitignore:9 unchecked"]


def test_a_line_about_no_name_belongs_to_the_file_of_the_line_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("value = 1\n" * 50)
    (tmp_path / "store.py").write_text("value = 1\n" * 29 + "def open_store():\n" + "value = 1\n" * 20)
    text = "`app.py:1` and `store.py:1`.\n\n## Calls\n\n- the store exists (line 26)\n- it calls `{}()` (line 30)"
    assert found(text.format("open_store"), tmp_path)[2:] == ["store.py:26", "store.py:30"]
    assert found(text.format("open_shop"), tmp_path)[2:] == []


@pytest.mark.parametrize(
    "text",
    [
        "| File | Note |\n|---|---|\n| `src/app.py` | " + "and line 12 " * 8_000 + " |",
        "It is in `src/app.py`.\n\n" + "The check (line 12) fails. " * 8_000,
        "`src/app.py` and `src/store.py`.\n\n" + "- `open_store()` (line 12)\n" * 8_000,
    ],
    ids=("row", "section", "guesses"),
)
def test_many_lines_without_a_file_take_linear_time(text: str, tree: Path) -> None:
    start = time.process_time()
    found(text, tree)
    assert time.process_time() - start < 40


def test_lines_in_a_row_belong_to_the_file_that_has_the_names_before_them(tmp_path: Path) -> None:
    (tmp_path / "hub.go").write_text("value = 1\n" * 90)
    (tmp_path / "hub_test.go").write_text("func TestDropsLarge() {}\n" + "value = 1\n" * 89)
    text = "| From | To | Status |\n|---|---|---|\n| `hub.go` | `hub_test.go` | `TestDropsLarge` at lines 1, 74 |"
    assert found(text, tmp_path) == ["hub_test.go:1", "hub_test.go:74"]
    assert found(text.replace("TestDropsLarge", "TestOther"), tmp_path) == ["hub.go:1 unchecked", "hub.go:74 unchecked"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| File | Location | Note |\n|---|---|---|\n| `src/app.py` | 12, 18-20 | x |", ["12", "18-20"]),
        ("| # | 文件 | 位置 |\n|---|---|---|\n| 1 | `src/app.py` | 12 |", ["12"]),
        ("| File | Line(s) |\n|---|---|\n| `src/app.py` | 12-18, 40 |", ["12-18", "40"]),
        ("| 属性 | 值 |\n|---|---|\n| 文件 | `src/app.py` |\n| 行号 | 12-18 |\n| 类型 | x |", ["12-18"]),
        ("| Key | Value |\n|---|---|\n| **File** | `src/app.py` |\n| **Lines** | 12-18 |", ["12-18"]),
        ("`src/app.py:9,56,...,66`", ["9", "56", "66"]),
        (
            "| File | Note |\n|---|---|\n| `src/app.py` | Line 20 imports; lines 12, 18, 30 call it |",
            ["", "20", "12", "18", "30"],
        ),
        ("| File | Note |\n|---|---|\n| `src/app.py` | lines 12 and 30 call it |", ["", "12", "30"]),
    ],
)
def test_columns_keys_and_lists_of_lines(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == [f"src/app.py:{line}" if line else "src/app.py" for line in expected]


@pytest.mark.parametrize(
    "text",
    [
        "src/app.py:186 行单函数",
        '| File | Note |\n|---|---|\n| `src/app.py` | the plan names "lines 12-18", which is stale |',
        "| Key | Value |\n|---|---|\n| File | `src/app.py` |\n| Lines | 120 functions |",
        "| File | Location |\n|---|---|\n| `src/app.py` | Berlin |",
        "| File | Note |\n|---|---|\n| `src/app.py` | lines change, 12 calls |",
    ],
)
def test_counts_and_quoted_lines_are_not_lines(text: str, tree: Path) -> None:
    assert [one for one in found(text, tree) if ":" in one] == []


def test_a_line_belongs_to_the_only_named_file_that_has_its_name_near_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("value = 1\n" * 50)
    (tmp_path / "store.py").write_text("value = 1\n" * 29 + "def open_store():\n" + "value = 1\n" * 20)
    text = "`app.py:1` and `store.py:1`.\n\n## Calls\n\n- it calls `open_store()` to verify it (line {})"
    assert found(text.format(30), tmp_path)[2:] == ["store.py:30"]
    assert found(text.format(10), tmp_path)[2:] == []
    assert found(text.format(900), tmp_path)[2:] == []


# --- A second range after a reference


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`src/app.py:29-32`; `12-27`", ["src/app.py:29-32", "src/app.py:12-27"]),
        ("`src/app.py:29-32` / `12-27`", ["src/app.py:29-32", "src/app.py:12-27"]),
        ("`src/app.py:9`; `12-27`; `30-31`", ["src/app.py:9", "src/app.py:12-27", "src/app.py:30-31"]),
        ("`src/app.py#L5-L9`, `12-27`", ["src/app.py:5-9", "src/app.py:12-27"]),
        ("`src/app.py` (lines 3-4), `12-27`", ["src/app.py:3-4", "src/app.py:12-27"]),
        ("`src/app.py` lines 3-4; and `12-27`", ["src/app.py:3-4", "src/app.py:12-27"]),
        ("`src/app.py:1`, `src/store.py:2`; `12-27`", ["src/app.py:1", "src/store.py:2", "src/store.py:12-27"]),
        ("`src/app.py:9`; `390-402`", ["src/app.py:9", "src/app.py:390-402 out-of-range > src/app.py:390"]),
        ("`src/app.py` (lines `3`, `5` and `7-9`)", ["src/app.py:3", "src/app.py:5", "src/app.py:7-9"]),
    ],
)
def test_a_range_in_code_marks_after_a_reference_is_of_the_same_file(
    text: str, expected: list[str], tree: Path
) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize(
    "text",
    [
        "`src/app.py:9`; `12`",
        "`src/app.py:9` returns `12-27`",
        "`src/app.py:9`; `a-27`",
        "`src/app.py:9`; 12-27 cases",
        "`src/app.py:9`. `12-27`",
    ],
)
def test_a_number_or_a_range_after_other_words_is_not_a_second_range(text: str, tree: Path) -> None:
    assert found(text, tree) == ["src/app.py:9"]


def test_a_range_after_a_file_without_a_line_is_not_a_reference(tree: Path) -> None:
    assert found("`src/app.py`; `12-27`", tree) == []


# --- The file is named near the line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`src/app.py:90-110` sets it (line 93)", ["src/app.py:90-110", "src/app.py:93"]),
        ("`src/app.py` (main() function, lines 257-367)", ["src/app.py:257-367"]),
        ("`src/app.py` is called at `:36`, `:41` and `:48-50`", ["src/app.py:36", "src/app.py:41", "src/app.py:48-50"]),
        (
            "`src/app.py` (menus: lines 51–52, 232–233; L300-L310)",
            ["src/app.py:51-52", "src/app.py:232-233", "src/app.py:300-310"],
        ),
        ("`src/app.py:29-32`, `12-27`", ["src/app.py:29-32", "src/app.py:12-27"]),
        ("`src/app.py:29-32` and `12-27`, `40-41`", ["src/app.py:29-32", "src/app.py:12-27", "src/app.py:40-41"]),
        ("Line 12, in the loop of `src/app.py`", ["src/app.py:12"]),
        ("`src/app.py` opens it.\nIt is closed at line 12.", ["src/app.py:12"]),
        ("- `src/app.py`\n  - Lines 16-17: the call\n  - line 42", ["src/app.py:16-17", "src/app.py:42"]),
        ("- `src/app.py`\n  - the call\n    - line 42", ["src/app.py:42"]),
        (
            "**Settings** (`src/app.py:90-110`):\n- one (line 93)\n- two (line 97)",
            ["src/app.py:90-110", "src/app.py:93", "src/app.py:97"],
        ),
        ("### Sync (`src/app.py`)\n\n- stages all (line 35-47)", ["src/app.py:35-47"]),
        ("| File | Note |\n|---|---|\n| `src/app.py` | see line 12 |", ["src/app.py", "src/app.py:12"]),
        ("`src/app.py` を見る（12行目）", ["src/app.py:12"]),
        (
            "`src/app.py:75-114` 顺序敏感（:107 注释），同文件 :178-188",
            ["src/app.py:75-114", "src/app.py:107", "src/app.py:178-188"],
        ),
        (
            "`src/app.py:5`, again `:105/:177` and `:9/12`",
            ["src/app.py:5", "src/app.py:105", "src/app.py:177", "src/app.py:9", "src/app.py:12"],
        ),
        ("src/app.py:17 (sanitizer :72)", ["src/app.py:17", "src/app.py:72"]),
        ("- `src/app.py`\n  - L5-10: the call", ["src/app.py:5-10"]),
        ("`src/store.py:3`, then `src/app.py:4`; again at `:9`", ["src/store.py:3", "src/app.py:4", "src/app.py:9"]),
    ],
)
def test_a_line_belongs_to_the_last_file_that_is_named(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize(
    "text",
    [
        "line 12 is empty",
        "It listens on :8080 and `:9090`.",
        "`src/app.py` listens on port `:8080`.",
        "`src/app.py` prints it; see line 12 of the log",
        "`src/app.py` prints it; see line 12 in the output",
        "`src/app.py` has 120 lines",
        "`src/app.py`: Lines: 390",
        "`src/app.py` is an L4 proxy with an L2 cache",
        "`src/app.py` takes 3 command line 2 arguments",
        "- `src/app.py`\n- line 12 is a sibling",
        "- `src/app.py` is one thing\n\nFar away, in another list:\n\n- line 12",
        "Use `.txt/.md` files (line 12)",
    ],
)
def test_other_numbers_are_not_lines_of_a_file(text: str, tree: Path) -> None:
    assert found(text, tree) == []


def test_a_second_line_after_a_plus_sign_is_of_the_same_file(tree: Path) -> None:
    text = "- src/app.py:58 (head) + :185 and src/store.py:10 & :12"
    assert [one.split()[0] for one in found(text, tree)][1:] == ["src/app.py:185", "src/store.py:10", "src/store.py:12"]


def test_a_line_after_a_missing_file_belongs_to_another_file_that_is_named(tree: Path) -> None:
    text = "- In `src/app.py:20` the names of `docs/gone.md:333` are stale, see `:184`."
    assert found(text, tree) == ["src/app.py:20", "docs/gone.md:333 missing-file", "src/app.py:184"]


def test_a_line_after_a_missing_file_alone_is_missing(tree: Path) -> None:
    assert found("- `docs/gone.md:3` is stale, see `:9`.", tree) == [
        "docs/gone.md:3 missing-file",
        "docs/gone.md:9 missing-file",
    ]


def test_a_line_past_the_end_of_a_near_file_is_out_of_range(tree: Path) -> None:
    assert found("`src/store.py:10` sets it (line 999)", tree) == [
        "src/store.py:10",
        "src/store.py:999 out-of-range > src/store.py:200",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (108, ["src/app.py:88-109", "src/app.py:108"]),
        (999, ["src/app.py:88-109", "src/app.py:999 unchecked"]),
    ],
)
def test_a_line_far_below_its_file_is_unchecked_if_the_file_lacks_it(
    line: int, expected: list[str], tree: Path
) -> None:
    text = f"#### A conflict\n**File**: `src/app.py:88-109`\n\nIt is wrong. The logic at line {line} returns early."
    assert found(text, tree) == expected


def test_a_line_below_a_file_that_is_to_be_created_is_not_reported(tree: Path) -> None:
    assert found("Create `src/handlers/logs.py` with:\n- `handle` (line 16)\n- `send` (line 24)", tree) == []


# --- Forms that are not references


@pytest.mark.parametrize(
    "text",
    [
        "| Method | Path |\n|---|---|\n| POST | `/api/search` |",
        "| Endpoint | Use |\n|---|---|\n| `/api/search/{id}` | search |",
        "| Route | File |\n|---|---|\n| `/health` | – |",
        "`POST /api/search` (line 12)",
        "**GET** `/api/search:12`",
        "The command `/delete` (line 12) stops it",
        "`haproxy.cfg`: L4 proxy",
        "It calls api.example.org:8443 and example.org:443",
        "It calls api.example.rs:8443",
        "`src/app.py` 120行",
        "`src/app.py`（约120行）",
        "`src/app.py` 共 120 行",
        "Rename `ui/*_view.py:3`",
        "[a tool](https://github.com/other/tool/blob/main/lib/tool.py)",
        "| File | Lines |\n|---|---|\n| total | 1,200 |",
        "the server of `src/app.py` runs on :8080",
        "**File:** src/app.py\n**Lines:** 336",
        "| File | Note |\n|---|---|\n| RFC-053/097/108 | a list |",
        "| File | Note |\n|---|---|\n| PHASE_ORDER/PHASE_KIND | names |",
    ],
)
def test_routes_hosts_counts_and_other_projects_are_not_references(text: str, tree: Path) -> None:
    assert found(text, tree) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| Path | Use |\n|---|---|\n| `src/app.py` | start |", ["src/app.py"]),
        ("| Path | Use |\n|---|---|\n| `src/ghost.py` | start |", ["src/ghost.py missing-file"]),
        ("| Path | Use |\n|---|---|\n| `/src/app.py` | start |", ["src/app.py"]),
        ("`haproxy.cfg` L4", ["haproxy.cfg:4"]),
        ("`src/app.py` 第120行", ["src/app.py:120"]),
        ("`src/app.py` 12-18行", ["src/app.py:12-18"]),
        ("| File | Lines |\n|---|---|\n| src/app.py | 1,200 |", ["src/app.py"]),
        (
            "| File | Lines |\n|---|---|\n| src/app.py | 12, 15 and 18 |",
            ["src/app.py:12", "src/app.py:15", "src/app.py:18"],
        ),
        ("| File | Lines |\n|---|---|\n| src/app.py | 12 and 15 |", ["src/app.py:12", "src/app.py:15"]),
        (
            "| # | Location |\n|---|---|\n| L2-1 | src/app.py:6 |\n| L1-3 | src/app.py:7 |",
            ["src/app.py:6", "src/app.py:7"],
        ),
        ("src/app.py:17 maps :80 to it", ["src/app.py:17"]),
        ("**File:** src/app.py\n**Lines:** 37-40", ["src/app.py:37-40"]),
        ("**File:** src/app.py\n**Line:** 37", ["src/app.py:37"]),
        ("src/app.py:17 (the check :900)", ["src/app.py:17"]),
        ("| File | Note |\n|---|---|\n| src/gone/thing | a list |", ["src/gone/thing missing-file"]),
        ("| File | State |\n|---|---|\n| `src/new.py` | **MISSING** (no coverage) |", ["src/new.py planned"]),
        ("| Commit | Files |\n|---|---|\n| `test(app): add tests` | `src/new.py` |", ["src/new.py planned"]),
        ("| Task | Files |\n|---|---|\n| A | 2 new (src/new.py, src/app.py) |", ["src/new.py planned", "src/app.py"]),
        ("[app](https://github.com/acme/shop/blob/main/src/app.py#L58)", ["src/app.py:58"]),
        ("[`:58`](https://github.com/acme/shop/blob/main/src/app.py#L58)", ["src/app.py:58"]),
        ("[app.py:58-60](src/app.py#L58)", ["src/app.py:58-60"]),
        ("[tool/app.py:58](src/app.py#L58)", ["src/app.py:58"]),
        ("| File | Action |\n|---|---|\n| `src/new.py` | Create |", ["src/new.py planned"]),
        ("| File | Action |\n|---|---|\n| `src/new.py` | Modify |", ["src/new.py missing-file"]),
        ("| File | Action |\n|---|---|\n| `src/app.py` → `src/main.py` | Move |", ["src/app.py"]),
    ],
)
def test_the_counterparts_of_these_are_references(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


# --- The scope


@pytest.mark.parametrize(
    "text",
    [
        "See `src/app.py:12`.",
        "# Audit\n\n## What we saw\n\nSee `src/app.py:12`.",
        "See `src/app.py:12`.\n\n## Explore Result\n\n### Status\nSUCCESS",
        "## Explore Result\n\n### Status\nSUCCESS\n\n## Appendix\n\nSee `src/app.py:12`.",
        "See `src/app.py:12`.\n\n## Testing Results\n\nAll pass.",
        "```markdown\n## Explore Result\n\n### Status\nSUCCESS\n```\n\nSee `src/app.py:12`.",
        "> a note\n>\n> See `src/app.py:12`.",
        "---\ngit_commit: abc\n---\n\nSee `src/app.py:12`.",
    ],
)
def test_claims_are_found_in_the_whole_text(text: str, tree: Path) -> None:
    (verdict,) = check_text(text, "-", Options(), Sources(workspace=WorkTree(tree)))
    (reference,) = verdict.evidence.references
    lines = text.split("\n")
    assert (reference.path, "src/app.py:12" in lines[reference.at - 1]) == ("src/app.py", True)


def test_an_invented_file_around_a_result_is_reported_with_its_line(tree: Path) -> None:
    text = "See `src/ghost.py:1`.\n\n## Explore Result\n\n### Status\nSUCCESS\n\n## Notes\n\nSee `src/phantom.py:2`."
    (verdict,) = check_text(text, "-", Options(select=("reference-missing-file",)), Sources(workspace=WorkTree(tree)))
    assert [one.line for one in verdict.violations] == [1, 10]


# --- A line that its file does not have


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- `src/app.py`\n  - `src/store.py:3` is checked (line 300)", "src/app.py:300"),
        ("### Sync (`src/app.py`)\n\n- `src/store.py:3` is checked (line 300)", "src/app.py:300"),
        ("`src/app.py:3` reads `src/store.py:4` and closes it (line 300)", "src/app.py:300"),
        (
            "| File | Note |\n|---|---|\n| `src/app.py`, `src/store.py` | documented at lines 264-380 |",
            "src/app.py:264-380",
        ),
        (
            "| File | Note |\n|---|---|\n| `src/app.py` | reads `page.md`, which it splits (line 300) |",
            "src/app.py:300",
        ),
    ],
)
def test_a_line_that_its_file_lacks_belongs_to_another_file_named_around_it(
    text: str, expected: str, tree: Path
) -> None:
    assert found(text, tree)[-1] == expected


@pytest.mark.parametrize(
    "text",
    [
        "- `src/app.py:3` parses\n- `src/store.py:3` is checked (line 300)",
        "Checks that `docs/page.md` exists first (lines 434-439)",
        f"Checks that `docs/page.md` {'really ' * 20} exists (lines 434-439)",
        "| File | Note |\n|---|---|\n| `docs/page.md` | resolved by the loader at lines 623-665 |",
        "The types of `docs/page.md`:\n\n- in the installed version: `:12` (emitMessage)",
    ],
)
def test_a_line_that_may_belong_to_an_unnamed_file_is_not_checked(text: str, tree: Path) -> None:
    assert found(text, tree)[-1].endswith(" unchecked")


@pytest.mark.parametrize(
    "text",
    [
        "`src/store.py` (line 999)",
        "The call is in `src/store.py` at line 999",
        "`src/store.py` closes the file much later (line 999)",
        "- **File:** `src/store.py` closes it (line 999)",
        "- `src/app.py:3` parses\n- `src/store.py:3` is checked (line 999)",
        "| File | Note |\n|---|---|\n| `src/store.py` | closed at line 999 |",
    ],
)
def test_a_line_that_no_named_file_has_is_out_of_range(text: str, tree: Path) -> None:
    assert found(text, tree)[-1] == "src/store.py:999 out-of-range > src/store.py:200"


def test_lines_are_looked_up_in_other_files_within_a_limit(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried_outcomes, "MAX_OTHER_FILES", 1)
    text = "### Sync (`src/app.py`)\n\n- `src/store.py:3` is checked (line 300), then (line 301)"
    assert found(text, tree)[1:] == ["src/app.py:300", "src/store.py:301 out-of-range > src/store.py:200"]


def test_a_line_of_a_plan_is_not_a_line_of_the_file(tree: Path) -> None:
    assert found("**File:** `src/app.py:3`\n**Plan reference:** Task 7, line 595", tree) == ["src/app.py:3"]
    assert found("**File:** `src/app.py:3`\n**Reference:** the loop, line 95", tree) == [
        "src/app.py:3",
        "src/app.py:95",
    ]


def test_a_file_at_the_start_of_an_entry_is_reported_if_it_does_not_exist(tree: Path) -> None:
    assert found("- `src/gone.py` - the cache (lines 23-102)", tree) == ["src/gone.py:23-102 missing-file"]
    assert found("- the cache of `src/gone.py` is filled (lines 23-102)", tree) == ["src/gone.py:23-102 missing-file"]
    assert found("- the cache of `gone.js` is filled (lines 23-102)", tree) == []
    assert found("- `src/gone.py` - create the cache (lines 23-102)", tree) == []


def test_a_data_file_that_is_mentioned_next_to_a_line_of_code_may_be_missing(tree: Path) -> None:
    assert found("`src/app.py:3` embeds `keys/digest.txt` (line 11)", tree) == ["src/app.py:3"]
    assert found("It embeds `keys/digest.txt` (line 11)", tree) == ["keys/digest.txt:11 missing-file"]
    assert found("`src/app.py:3` calls `src/gone.py` (line 11)", tree)[-1] == "src/gone.py:11 missing-file"


# --- Which file a line belongs to


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A line before a file belongs to it only if they are joined by a preposition.
        ("It defines fields (lines 26-45) and stores them in `docs/page.md`", []),
        ("It is at line 12 (the loop) of `src/app.py`", ["src/app.py:12"]),
        (
            "`src/store.py:48` is one.\nIt is done by take (`:62-75`) at `src/app.py:173`",
            ["src/store.py:48", "src/store.py:62-75", "src/app.py:173"],
        ),
        # A file outside the checkout has no lines.
        (
            "- `src/app.py:207` does it\n  with `/opt/include/SDL.h:9`\n  at `:210`",
            ["src/app.py:207", "/opt/include/SDL.h:9 outside", "src/app.py:210"],
        ),
        ("`/opt/include/SDL.h:9` and\nat `:910`", ["/opt/include/SDL.h:9 outside", "/opt/include/SDL.h:910 unchecked"]),
        # A member or an imported module is not a file that is named.
        ("`src/app.py:48` returns before `point.h`\nis written at `:57-58`", ["src/app.py:48", "src/app.py:57-58"]),
        ("`src/app.py:27` `import x from '../lib/y.js'`, three calls (L41)", ["src/app.py:27", "src/app.py:41"]),
        ("`src/app.py:27` (L41/L42, L50-L52)", [f"src/app.py:{line}" for line in ("27", "41", "42", "50-52")]),
        # A line that was cited with its file before.
        (
            "`src/app.py:67` and `src/app.py:55`, then `src/store.py:8`,\nwhere the `:55` half matters",
            ["src/app.py:67", "src/app.py:55", "src/store.py:8", "src/app.py:55"],
        ),
        (
            "`src/app.py:55`, `src/store.py:8`,\nwhere `:56` matters",
            ["src/app.py:55", "src/store.py:8", "src/store.py:56"],
        ),
        (
            "- `src/app.py:55`\n- `src/store.py:8`,\n  where `:55` matters",
            ["src/app.py:55", "src/store.py:8", "src/store.py:55"],
        ),
        # The head of the document is too far away.
        ("# Plan\n\nSee `docs/page.md`.\n\n## Step\n\n- Log it (lines 12-13)", []),
        ("# Plan\n\n## Step\n\nSee `docs/page.md`.\n\n### Part\n\n- Log it (lines 12-13)", []),
    ],
)
def test_the_file_of_a_line_is_the_last_one_that_is_named_before_it(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


def test_a_line_of_a_name_is_given_only_to_a_file_that_has_the_name(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text("value = 1\n" * 400)
    (tmp_path / "src/scope.py").write_text("value = 1\n" * 48)
    text = "`src/app.py` lines 31-95; `src/scope.py` lines 23-48; `Store` lines 300-316"
    assert found(text, tmp_path) == ["src/app.py:31-95", "src/scope.py:23-48", "src/scope.py:300-316 unchecked"]
    (tmp_path / "src/app.py").write_text("value = 1\n" * 299 + "class Store:\n" + "value = 1\n" * 100)
    assert found(text, tmp_path)[-1] == "src/app.py:300-316"


def test_a_line_that_no_candidate_has_is_not_accused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "context.md").write_text("x\n" * 9)
    assert found("### `context.md` usage\n\n- the agent (lines 70-103)", tmp_path) == ["context.md:70-103 unchecked"]


# --- Where the file of a line may be named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A label, up to the next label or heading.
        ("**File:** `src/app.py`\n\nIt is set (line 12).\n\nThen it is lost (line 14).", ["12", "14"]),
        ("**Location**: `src/app.py`\n\n- Line 12: it is set", ["12"]),
        ("File: [src/app.py](src/app.py)\n\nOne place (lines 3-4):", ["3-4"]),
        ("<files>src/app.py</files>\n\n1. the first (~line 12)", ["12"]),
        ("- **File:** `src/app.py`\n- **Line 12**: it is set", ["12"]),
        ("1. Bug\n   - File: `src/app.py`\n   - Problem: it is set (line 12)", ["12"]),
        ("**Handler** (`src/app.py:3`):\n\n```\nvalue = 1\n```\n\n1. It starts (line 12)", ["3", "12"]),
        ("`src/app.py`\n\nIt is set (line 12).", ["12"]),
        ("## Part\n\n**File:** `src/app.py`\n\n### Calls\n\n1. first (line 12)", ["12"]),
        # The sentence that introduces a list or table.
        ("Two calls in `src/app.py`:\n\n- the first (line 12)", ["12"]),
        ("It is slow. Two calls are\nin `src/app.py`:\n- the first (line 12)", ["12"]),
        ("**`src/app.py`**\n\n- the first (line 12)", ["12"]),
        # The first cell of a row.
        ("| Artifact | For | Details |\n|---|---|---|\n| `src/app.py` | the `items.yaml` | Line 12: set |", ["12"]),
        ("| From | To | Via |\n|---|---|---|\n| `src/app.py` | `src/store.py` | import (line 12) |", ["12"]),
    ],
)
def test_a_label_an_introduction_or_the_first_cell_names_the_file_of_a_line(
    text: str, expected: list[str], tree: Path
) -> None:
    assert found(text, tree) == [f"src/app.py:{line}" for line in expected]


@pytest.mark.parametrize(
    "text",
    [
        # Another paragraph of a text with several files.
        "It is in `src/app.py`.\n\nIt calls `src/store.py`.\n\nThe check (line 12) fails.",
        "It is in `src/app.py`.\n\n- `src/store.py` too\n- The check (line 12) fails.",
        "It is in `docs/page.md`.\n\nThe check (line 12) fails.",
        "It is in `src/app.py`.\n\nThe RFC states on line 12 that it is allowed.",
        "It is in `src/app.py`.\n\nNow flip L12 and commit.",
        "Both `src/app.py` and `src/store.py` do it:\n\n- the first (line 12)",
        # Another entry.
        "- `src/app.py` is one\n- the check (line 12) fails",
        "1. One\n   - File: `src/app.py`\n2. Two: the check (line 12) fails",
        "- Cause:\n  1. in `src/app.py`\n\n  The schema (line 12) is optional.",
        # A label of several files, or of another section.
        "**Files:** `src/app.py`, `src/store.py`\n\nIt is set (line 12).",
        "### One\n\n**File:** `src/app.py`\n\n### Two\n\nIt is set (line 12).",
        "**File:** `src/app.py`\n\n- [ ] **Step 4: change it in `src/store.py`**\n\nReplace the calls at line 12:",
        # A file after the line, or in code.
        "| Go | Schema | Base |\n|---|---|---|\n| `.notNull()` (line 12) | text | see `src/app.py` |",
        "```\nsee src/app.py\n```\n\nThe check (line 12) fails.",
    ],
)
def test_a_line_without_a_file_near_it_is_not_a_reference(text: str, tree: Path) -> None:
    assert [one for one in found(text, tree) if ":12" in one] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("### `src/app.py`\n\n- `load` (line 12, ~90 lines)", ["src/app.py:12"]),
        ("### `src/app.py`\n\n- `load` (lines 12–30, 90 lines)", ["src/app.py:12-30"]),
        ("### `src/app.py`\n\n- `load` (lines 12, 90) is long", ["src/app.py:12", "src/app.py:90"]),
        ("### `src/app.py`\n\n- lines 12, 90, 93 delegate it", ["src/app.py:12", "src/app.py:90", "src/app.py:93"]),
    ],
)
def test_a_number_of_lines_after_a_line_is_not_a_line(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


def test_a_line_of_the_code_that_is_shown_is_not_one_of_the_file(tree: Path) -> None:
    part = "# Plan\n\n## `src/app.py`\n\n### Card\n\n**Location:** Lines 52-148\n\n```\nnew()\n```\n\n"
    assert found(part + "- Line 15: smaller\n- Line 60: larger", tree) == ["src/app.py:52-148", "src/app.py:60"]
    assert found(part.replace("```\nnew()\n```\n\n", "") + "- Line 15: smaller", tree) == [
        "src/app.py:52-148",
        "src/app.py:15",
    ]


def test_a_line_of_a_name_belongs_to_the_named_file_that_has_the_name_there(tmp_path: Path) -> None:
    (tmp_path / "log.py").write_text("value = 1\n" * 20 + "def log_slot():\n    return 1\n")
    (tmp_path / "run.py").write_text("value = 1\n" * 60)
    text = "## `log.py`\n\n- Only `run.py` imports it.\n  `log_slot` (`:21`) is unused."
    assert found(text, tmp_path) == ["log.py:21"]
    assert found(text.replace("log_slot", "value"), tmp_path) == ["run.py:21"]
    label = "**File:** `run.py`\n\nBut `log_slot` (line 21) differs."
    assert found(label, tmp_path) == []
    assert found(label.replace("log_slot", "value"), tmp_path) == ["run.py:21"]


def test_the_head_of_a_column_names_the_file_of_its_cells(tree: Path) -> None:
    head = "| Part | Old (`src/app.py`) | New (`src/store.py`) |\n|---|---|---|\n"
    assert found(head + "| Size | 20 (`:12`) | 30 (`:14`), as before |", tree) == ["src/app.py:12", "src/store.py:14"]
    assert found(head + "| Size | 20 (`:12`) | in `haproxy.cfg` (`:144`) |", tree) == [
        "src/app.py:12",
        "src/store.py:144",
    ]
    assert found(head.replace("`src/app.py`", "now") + "| Size | 20 (`:12`) | 30 |", tree) == []


def test_a_line_that_one_of_several_files_around_it_may_have_is_not_accused(tmp_path: Path) -> None:
    for path, lines in {"old/cart.py": 80, "new/cart.py": 90, "loot.json": 9}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("value = 1\n" * lines)
    row = "| Part | New (`cart.py`) |\n|---|---|\n| Drop | `loot.json` has one (`:{}`) |"
    assert found(row.format(60), tmp_path) == ["loot.json:60 unchecked"]
    assert found(row.format(600), tmp_path) == ["loot.json:600 out-of-range > loot.json:9"]


# --- Other languages, and lists


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("En `src/app.py` falta el control (línea 12).", ["src/app.py:12"]),
        ("In `src/app.py` fehlt die Prüfung, siehe Zeilen 12-18.", ["src/app.py:12-18"]),
        ("В `src/app.py` нет проверки (строки 12 и 18).", ["src/app.py:12", "src/app.py:18"]),
        ("`src/app.py` 缺少检查（第 12, 18、20-25 行）。", ["src/app.py:12", "src/app.py:18", "src/app.py:20-25"]),
        ("In `src/app.py` see the setup: lines 12-18 (the head) and 30-34.", ["src/app.py:12-18", "src/app.py:30-34"]),
        ("`src/app.py::login` has no check, see :12", ["src/app.py:12"]),
        ("`src/app.py::login` checks the name (`:12`).", ["src/app.py:12"]),
        ("`src/app.py` has no check, see :12", []),
        ("`std::vector` has no check, see :12", []),
        ("Die Datei `src/app.py` ist lang. Zeilen: 120", []),
        ("**Datei:** src/app.py\n**Zeilen:** 12-18", ["src/app.py:12-18"]),
        ("- **Archivo**: src/app.py\n- **Línea**: 12", ["src/app.py:12"]),
    ],
)
def test_a_line_in_another_language_belongs_to_the_file_before_it(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Linha 12 no arquivo `src/app.py`",
        "Línea 12 del archivo src/app.py",
        "Zeile 12 der Datei src/app.py",
        "la ligne 12 dans le fichier src/app.py",
        "riga 12 di src/app.py",
        "`src/app.py` satır 12",
    ],
)
def test_a_line_in_another_language_may_come_before_its_file(text: str, tree: Path) -> None:
    assert found(text, tree) == ["src/app.py:12"]


# --- Several files that are listed together


@pytest.mark.parametrize(
    "text",
    [
        "### `src/app.py` and `src/store.py`\n\nThe loop on line {} is wrong.",
        "### The loops (src/app.py, src/store.py)\n\n- line {} is wrong",
        "- **Ficheros:** src/app.py y src/store.py\n  - la línea {} es falsa",
        "Affected: src/app.py + src/store.py\nIt is wrong on line {}.",
        "| File | Note |\n|---|---|\n| src/app.py, src/store.py | line {} is wrong |",
    ],
)
def test_a_line_below_a_list_of_files_may_be_a_line_of_each_of_them(text: str, tree: Path) -> None:
    assert found(text.format(12), tree)[-1] == "src/store.py:12 ambiguous"
    (verdict,) = check_text(text.format(12), "-", Options(), Sources(workspace=WorkTree(tree)))
    last = verdict.evidence.references[-1]
    assert set(last.candidates) == {"src/app.py", "src/store.py"}
    assert last.why.startswith("the text names several files for this line: src/")
    # The only one that has the line is meant.
    assert found(text.format(300), tree)[-1] == "src/app.py:300"
    assert found(text.format(12).replace("src/store.py", "src/gone.py"), tree)[-1] == "src/app.py:12"
    assert found(text.format(900), tree)[-1].partition(":900 ")[2].startswith(("out-of-range", "unchecked"))


def test_a_file_that_another_one_uses_is_not_in_a_list_with_it(tree: Path) -> None:
    assert found("### src/app.py calls src/store.py\n\nThe loop on line 12 is wrong.", tree) == ["src/store.py:12"]
    assert found("### src/app.py in src/store.py\n\nThe loop on line 12 is wrong.", tree) == ["src/store.py:12"]
    assert found("### src/app.py:3, src/store.py:4\n\nThe loop on line 12 is wrong.", tree)[-1] == "src/store.py:12"


def test_the_name_of_a_line_below_a_list_of_files_decides(tmp_path: Path) -> None:
    for path in ("app.py", "store.py"):
        name = path[:-3]
        (tmp_path / path).write_text("value = 1\n" * 9 + f"def {name}_run(): ...\n" + "value = 1\n" * 9)
    assert found("### app.py and store.py\n\n- `app_run` (line 10) is slow", tmp_path) == ["app.py:10"]


def test_a_line_far_below_a_list_of_files_is_not_read(tree: Path) -> None:
    text = "## src/app.py and src/store.py\n\n### The loop\n\nIt is wrong on line 12."
    assert found(text, tree) == []
    assert found(text.replace(" and src/store.py", ""), tree) == ["src/app.py:12"]


# --- Labels of findings


@pytest.mark.parametrize(
    "labels",
    [
        "### L1 — the key\n\n### L2 — the name\n\n### L3 — the log\n",
        "- **L1.** the key\n- **L2.** the name\n- **L3.** the log\n",
        "- [ ] L1: the key\n- [ ] L2: the name\n- [ ] L3: the log\n",
        "**L1** the key\n\n**L2** the name\n\n**L3** the log\n",
        "| # | What |\n|---|---|\n| L1 | the key |\n| L2 | the name |\n| L3 | the log |\n",
        "### H1 — the key\n\n### M1 — the name\n\n### L3 — the log\n\n### L2 — the rest\n",
    ],
)
def test_the_labels_of_findings_are_not_lines(labels: str, tree: Path) -> None:
    text = "## `src/app.py`\n\n{}\n\nIn `src/app.py` (L3) it is slow; findings L2-L3 of src/app.py are open."
    assert found(text.format(labels), tree) == []
    assert found(text.format("The key."), tree)[0] == "src/app.py:3"
    # A line that is not a label is read, and so is an anchor.
    assert found(f"{labels}\n\nSee `src/app.py` L45 and src/app.py#L3.", tree) == ["src/app.py:45", "src/app.py:3"]


def test_code_and_files_with_names_like_labels_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "L1-cache.py").write_text("one\ntwo\n")
    (tmp_path / "levels.py").write_text("L1 = 5\nL2 = 6\n")
    labels = "### L1 — the key\n\n### L2 — the name\n\n### L3 — the log\n\n"
    text = f"{labels}See `L1-cache.py:2` and L1-cache.py:1.\n\n- `levels.py:1`\n  Code match: `L1 = 5`\n"
    evidence = check_text(text, "-", Options(), Sources(workspace=WorkTree(tmp_path)))[0].evidence
    assert {one.outcome for one in (*evidence.references, *evidence.quotes)} == {"verified"}
    assert len(evidence.quotes) == 1


@pytest.mark.parametrize(
    "text",
    [
        "The parser in `src/app.py` fails when the input file has an error on line 900.",
        "The `src/app.py` module is small. Python shows the traceback: line 812 of it.",
    ],
)
def test_a_line_of_another_text_is_not_out_of_range(text: str, tree: Path) -> None:
    assert [one.split()[1] for one in found(text, tree)] == ["unchecked"]
    assert [one.split()[1] for one in found("The parser in `src/app.py` fails on line 900.", tree)] == ["out-of-range"]


def test_lines_at_the_start_of_entries_are_not_labels(tree: Path) -> None:
    text = "## `src/app.py`\n\n- L11: the key\n- L12: the name\n- L13: the log\n"
    assert found(text, tree) == ["src/app.py:11", "src/app.py:12", "src/app.py:13"]
    assert found(text + "- A1: the rest\n", tree) == ["src/app.py:11", "src/app.py:12", "src/app.py:13"]


# --- Cells


@pytest.mark.parametrize(
    ("cell", "lines"),
    [("L12/14/15", [12, 14, 15]), ("L12 / L14", [12, 14]), ("`L12`", [12]), ("L12-L14", ["12-14"])],
)
def test_a_cell_with_nothing_but_lines_belongs_to_the_file_before_it(
    cell: str, lines: list[int | str], tree: Path
) -> None:
    row = f"| File | Where |\n|---|---|\n| src/app.py | {cell} |"
    assert found(row, tree) == ["src/app.py", *(f"src/app.py:{line}" for line in lines)]
    assert found(f"| # | File |\n|---|---|\n| {cell} | src/app.py |", tree) == ["src/app.py"]


def test_a_pipe_in_code_marks_does_not_end_a_cell(tree: Path) -> None:
    table = "| Code | File |\n|---|---|\n| `a || b` | src/app.py:12 |\n| `a` | src/app.py:13 |\n"
    assert found(table, tree) == ["src/app.py:12", "src/app.py:13"]
    assert found("> " + table.replace("\n", "\n> ", 3), tree) == ["src/app.py:12", "src/app.py:13"]
    assert found(table.replace("`a || b`", "`a` | `b|c` |"), tree) == ["src/app.py:13"]


def test_a_number_with_a_plus_in_a_column_of_lines_is_a_line(tree: Path) -> None:
    table = "| File | Lines |\n|---|---|\n| src/app.py | 12+ |\n| src/store.py | {} |\n"
    assert found(table.format("3-5"), tree) == ["src/app.py:12", "src/store.py:3-5"]
    assert found(table.format("90"), tree) == ["src/app.py", "src/store.py"]


def test_the_name_of_another_file_does_not_continue_a_list_of_lines(tmp_path: Path) -> None:
    for name in ("Layout.astro", "404.astro"):
        (tmp_path / name).write_text("<p>\n" * 200)
    assert found("See `Layout.astro:149`, `404.astro:114`.", tmp_path) == ["Layout.astro:149", "404.astro:114"]


def test_an_absolute_path_after_a_line_is_a_value(tree: Path) -> None:
    row = "| File |\n|---|\n| {} |"
    assert found(row.format("`src/app.py:11` has `/home/me/Downloads/...`"), tree) == ["src/app.py:11"]
    assert found(row.format("`/home/me/app.py`"), tree) == ["/home/me/app.py outside"]


def test_a_line_that_a_hidden_file_lacks_may_be_one_of_another_file(tree: Path) -> None:
    (tree / ".python-version").write_text("3.11\n")
    text = "1. Is 3.11 of `{}` used?\n   - In CI, line 777 ignores it"
    assert found(text.format(".python-version"), tree) == [".python-version:777 unchecked"]
    assert found(text.format("src/app.py"), tree) == ["src/app.py:777 out-of-range > src/app.py:400"]


def test_a_line_that_its_file_lacks_may_be_one_of_a_file_that_is_called_by_its_name(tmp_path: Path) -> None:
    for name, lines in {"search.routes.ts": 60, "ReadingList.js": 400, "Short.ts": 5}.items():
        (tmp_path / name).write_text("x\n" * lines)
    text = "- `search.routes.ts:3` has no check. {} calls it without a token (line 304)."
    assert found(text.format("ReadingList"), tmp_path) == ["search.routes.ts:3", "search.routes.ts:304 unchecked"]
    for other in ("The page", "ShortList", "ReadingLists"):
        assert found(text.format(other), tmp_path)[1].startswith("search.routes.ts:304 out-of-range")


# --- Numbers that are not lines


def test_a_wide_colon_before_a_statement_is_not_that_of_a_line(tree: Path) -> None:
    assert found("- `src/app.py`：403 路由权限\n- `src/app.py`：2 处\n", tree) == []
    assert found("- `src/app.py`：4\n- src/app.py：5 行\n- `src/app.py：6`\n", tree) == [
        f"src/app.py:{line}" for line in (4, 5, 6)
    ]


def test_a_count_after_a_range_is_not_a_line(tree: Path) -> None:
    table = "| File | Notes |\n|---|---|\n| `src/app.py` | Done. Lines 1-90, {} |\n"
    assert found(table.format("4 table_changes channels"), tree)[1:] == ["src/app.py:1-90"]
    assert found(table.format("95 and 97"), tree)[1:] == ["src/app.py:1-90", "src/app.py:95", "src/app.py:97"]


@pytest.mark.parametrize(
    "text",
    [
        "See [the plan](docs/page.md) Part B (L1–L10).",
        "[Page](docs/page.md) (L1-L10)",
        "[page.md](docs/page.md#part-b) (L1-L10)",
        "`docs/page.md` has the labels (L1–L10)",
        "Criticals (C1–C3) and lows (L1–L10) of `src/app.py`",
        "In `src/app.py`: highs (H1-H4), lows (L1-L9)",
        "| File | Items |\n|---|---|\n| src/app.py | Part B (L1–L10) |",
        "`src/app.py`, Tier 1 (L1-L5)",
    ],
)
def test_a_range_of_labels_after_a_text_or_a_part_is_not_a_range_of_lines(text: str, tree: Path) -> None:
    assert [one for one in found(text, tree) if one != "src/app.py"] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[app](src/app.py) (L1-L10)", ["src/app.py:1-10"]),
        ("`docs/page.md` (L1-L10)", ["docs/page.md:1-10"]),
        ("[page.md](docs/page.md) (L1-L10)", ["docs/page.md:1-10"]),
        ("`src/app.py` reads the key (L12-L18)", ["src/app.py:12-18"]),
        ("`src/app.py`, Step 3 (L12-L18)", ["src/app.py:12-18"]),
        ("P0: `src/app.py` reads S3 (L1-L10)", ["src/app.py:1-10"]),
    ],
)
def test_a_range_with_letters_next_to_its_file_is_one_of_lines(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


def test_the_reason_of_a_line_that_the_file_above_lacks_is_stated(tree: Path) -> None:
    text = "**File**: `src/app.py`\n\nIt is wrong. The logic at line 999 returns early."
    (verdict,) = check_text(text, "-", Options(profile="claims"), Sources(workspace=WorkTree(tree)))
    assert [one.why for one in verdict.evidence.references] == [
        "the file that the text names for it does not have this line; it may be one of another file"
    ]
    assert verdict.accepted


def test_a_number_that_may_be_something_else_is_not_unchecked(tree: Path) -> None:
    assert found("`src/app.py:12` starts the server :999 and waits", tree) == ["src/app.py:12"]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("`src/app.py` is short. `RecordStore` opens it in line 40.", "unchecked"),
        ("`src/app.py` is short. `load_table()` is slow. See line 40.", "unchecked"),
        ("`src/app.py:12` is short. In `stores.open_all()`, see line 40.", "unchecked"),
        ("- `src/app.py`\n  - `open_store` opens it (line 40)", "unchecked"),
        ("`src/app.py` is short. `value` is set in line 40.", "verified"),
        ("`src/app.py` is short. `RecordStore` reads `the_value = 1` and `value()` in line 40.", "verified"),
        ("`src/app.py` calls `RecordStore` in line 40.", "verified"),
        ("`src/app.py` is short. It returns `true` in line 40.", "verified"),
    ],
)
def test_a_line_after_a_sentence_about_names_that_the_file_lacks_is_unchecked(
    text: str, outcome: str, tree: Path
) -> None:
    (verdict,) = check_text(text, "-", Options(), Sources(workspace=WorkTree(tree)))
    assert [one.outcome for one in verdict.evidence.references if one.line == 40] == [outcome]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- the cache of `gone.mjs` is filled (`:24-29`)", ["gone.mjs:24-29 unchecked"]),
        ("`src/app.py` (~55-95)", ["src/app.py:55-95"]),
        ("linea 121 y 71 de src/app.py", ["src/app.py:121", "src/app.py:71"]),
        ("Zeilen 12 und 71 in src/app.py", ["src/app.py:12", "src/app.py:71"]),
        ("`src/app.py` 行 89-90 和 99-103", ["src/app.py:89-90", "src/app.py:99-103"]),
        ("`src/app.py` 读取它（行 89-90 和 99-103）", ["src/app.py:89-90", "src/app.py:99-103"]),
        ("`src/app.py` le lit (l.68-70)", ["src/app.py:68-70"]),
        ("src/app.py line 3, 65", ["src/app.py:3", "src/app.py:65"]),
    ],
)
def test_more_forms_of_lines_are_read(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`src/app.py` (~55-95 MB)", []),
        ("`src/app.py` 行数 89-90", []),
        ("`src/app.py` 读取它（行 89-90，3 个）", ["src/app.py:89-90"]),
        ("`src/app.py` et al.68-70", []),
        ("src/app.py line 30, 65 tests fail", ["src/app.py:30"]),
        ("src/app.py line 30, 5", ["src/app.py:30"]),
    ],
)
def test_similar_numbers_are_not_lines(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize("cell", ["Removed", "removed in 2.0", "**Deleted** (unused)", "Dropped: it was old", "已删除"])
def test_a_row_that_calls_its_file_removed_does_not_claim_it(cell: str, tree: Path) -> None:
    assert found(f"| File | What |\n|---|---|\n| src/old.py:3 | {cell} |", tree) == ["src/old.py:3 unchecked"]


@pytest.mark.parametrize(
    "cell", ["Removed validation of keys", "Deleted rows stay", "gone.py calls it", "Dropped frames"]
)
def test_a_row_about_something_removed_from_the_file_claims_the_file(cell: str, tree: Path) -> None:
    assert found(f"| File | What |\n|---|---|\n| src/old.py:3 | {cell} |", tree)[0] == "src/old.py:3 missing-file"


# --- What is a number of something else


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Checkout (`src/app.py`)\n\n**Lines Changed**: 63-85, 202", ["src/app.py:63-85", "src/app.py:202"]),
        ("## Checkout (`src/app.py`)\n\nLines modified: 63-85", ["src/app.py:63-85"]),
        ("## Checkout (`src/app.py`)\n\n**Lines Changed**: 63", []),
        ("## Checkout (`src/app.py`)\n\n**Lines Changed**: 63, 202", []),
        ("In `src/app.py`, add the line 0008", []),
        ("In `src/app.py`, see line 8", ["src/app.py:8"]),
    ],
)
def test_lines_that_were_changed_are_lines_and_counts_and_ids_are_not(
    text: str, expected: list[str], tree: Path
) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("### src/app.py\n\n| Method | Line |\n|---|---|\n| get | 54 |", ["src/app.py:54"]),
        ("### src/app.py\n\n| Метод | Строки |\n|---|---|\n| get | 54, 116 |", ["src/app.py:54", "src/app.py:116"]),
        ("In `src/app.py`:\n\n| Reason | Line |\n|---|---|\n| empty | ~54 |", ["src/app.py:54"]),
        ("### The parser\n\n| Method | Line |\n|---|---|\n| get | 54 |", []),
        ("### src/app.py\n\n| Method | Lines |\n|---|---|\n| get | 54 |", []),
        ("### src/app.py\n\n| Method | Line |\n|---|---|\n| get | 54 km |", []),
        ("### src/app.py\n\n| File | Line |\n|---|---|\n| src/store.py | 54 |", ["src/store.py:54"]),
        ("| File | Verified Line |\n|---|---|\n| src/store.py | 54 |", ["src/store.py:54"]),
        ("| File | Verified Line |\n|---|---|\n| src/store.py | 54 tests |", ["src/store.py"]),
        ("| File | Command Line |\n|---|---|\n| src/store.py | run 54 |", ["src/store.py"]),
    ],
)
def test_a_column_of_lines_without_files_belongs_to_the_file_above(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ("- Modify: `src/app.py:17-22`", ["src/app.py:17-22", "src/app.py:88-92"]),
        ("- Modify: `src/app.py`\n- Test: `docs/page.md`", ["src/app.py:88-92"]),
        ("- Modify: `src/app.py`\n- Modify: `src/store.py`", []),
        ("- Read: `src/app.py`", ["src/app.py:88-92"]),
        ("- Read: `src/app.py`\n- Read: `src/store.py`", []),
    ],
)
def test_lines_in_the_steps_of_a_task_belong_to_the_only_file_that_it_names_or_modifies(
    files: str, expected: list[str], tree: Path
) -> None:
    text = f"### Task 1\n\n**Files:**\n{files}\n\n- [ ] **Step 1**\n\nIn the method (around line 88-92), return it.\n"
    assert found(text, tree) == expected


def test_a_line_belongs_to_the_file_with_the_name_directly_before_it(tmp_path: Path) -> None:
    (tmp_path / "PriceList.kt").write_text("val x = 1\n" * 90)
    (tmp_path / "HttpServer.kt").write_text("val x = 1\n" * 79 + "val y = PriceList()\n" + "val x = 1\n" * 20)
    text = "It is in `HttpServer.kt:24`. The log is new: `PriceList.record` (`:61-64`) keeps sums."
    assert found(text, tmp_path) == ["HttpServer.kt:24", "PriceList.kt:61-64"]
    assert found(text.replace("61-64", "80"), tmp_path) == ["HttpServer.kt:24", "HttpServer.kt:80"]
    assert found(text.replace("61-64", "95"), tmp_path) == ["HttpServer.kt:24", "HttpServer.kt:95 unchecked"]


def test_a_line_in_brackets_belongs_to_the_file_after_it(tmp_path: Path) -> None:
    for name in ("page.tsx", "store.ts"):
        (tmp_path / name).write_text("const x = 1\n" * 50)
    text = "It is in `page.tsx:24`.\n\n- It does what `save` does (line 44 in store.ts)."
    assert found(text, tmp_path) == ["page.tsx:24", "store.ts:44"]


# --- Further forms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`src/app.py`: line 7, 163-167.", ["src/app.py:7", "src/app.py:163-167"]),
        ("`src/app.py`: line 7, 163 tests fail", ["src/app.py:7"]),
        ("`src/app.py` (lines ~362, ~322)", ["src/app.py:362", "src/app.py:322"]),
        ("Nas linhas 9-20 (`src/app.py`) falta a taxa", ["src/app.py:9-20"]),
        ("Nas linhas 9-900 (`src/app.py`) falta a taxa", ["src/app.py:9-900 out-of-range > src/app.py:9"]),
        ("### src/app.py\n\n処理（155-186行）", ["src/app.py:155-186"]),
        ("### src/app.py\n\n500-800行のファイル", []),
        ("### src/app.py\n\nline 317を見る", ["src/app.py:317"]),
        ("`src/app.py`の line 417を見る", ["src/app.py:417 out-of-range > src/app.py:400"]),
        ("| File | Lines |\n|---|---|\n| src/app.py | 125 |", ["src/app.py"]),
    ],
)
def test_further_forms_of_lines_are_read(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


def test_a_line_belongs_to_the_only_file_with_the_name_before_it(tmp_path: Path) -> None:
    (tmp_path / "FormatMask.js").write_text("export class FormatMask {}\n" * 60)
    (tmp_path / "Service.js").write_text('import { FormatMask } from "./FormatMask";\n' + "value\n" * 300)
    text = "## `Service.js`\n\nThe class FormatMask (lines 1-{}) is slow."
    assert found(text.format(54), tmp_path) == ["FormatMask.js:1-54"]
    assert found(text.format(200), tmp_path) == ["Service.js:1-200 unchecked"]
    (tmp_path / "Service.js").write_text("class FormatMask {}\n" + "value\n" * 300)
    assert found(text.format(54), tmp_path) == ["Service.js:1-54"]


# --- A range above that has the line

TASK = (
    "### Task 8: Update the loop and `src/store.py`\n\n"
    "- Modify: `src/app.py:220-260` (the loop)\n- Modify: `src/store.py`\n\n{}"
)


@pytest.mark.parametrize(
    "text",
    ["For the first call (line 231), add a check.", "`src/store.py` (line 231) fails.", "See `src/store.py:231`."],
    ids=["below its file", "directly after its file", "with its file"],
)
def test_a_line_that_its_file_lacks_is_out_of_range_below_a_range_of_another_file(text: str, tree: Path) -> None:
    assert found(TASK.format(text), tree)[-1].split(" ")[1] == "out-of-range"


def test_a_wide_range_above_does_not_have_the_lines_of_the_next_heading(tree: Path) -> None:
    text = "## src/app.py:1-260\n\nRepeated code.\n\n## src/store.py\n\n- Line 231: division by zero"
    assert found(text, tree)[-1].split(" ")[1] == "out-of-range"


def test_a_remark_in_brackets_may_come_between_a_line_and_its_file(tree: Path) -> None:
    text = "Delete lines 127-181 (the `TestRunHelpers` class and its six test methods) from `src/store.py`."
    assert found(text, tree)[0] == "src/store.py:127-181"
    assert found(text.replace("181", "281"), tree)[0].split(" ")[1] == "out-of-range"
