"""References that do not hold, although nothing speaks against their author."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import shown

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

FILES = {
    "crates/shop-core/src/types.rs": 40,
    "modules/cart/http/service.rs": 40,
    "modules/cart/domain/service.rs": 40,
    "src/crypto.ts": 40,
    "src/app.py": 40,
    "src/store.py": 20,
    "docs/page.md": 30,
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for path, lines in FILES.items():
        (root / path).parent.mkdir(exist_ok=True, parents=True)
        (root / path).write_text("value = 1\n" * lines)
    (root / ".gitignore").write_text("# local\n/var/\n*.dump\nbuild/out\n!keep.dump\n")
    return root


def outcomes(text: str, tree: Path) -> list[str]:
    (verdict,) = check_text(text, "-", Options(), Sources(workspace=WorkTree(tree)))
    return [shown(reference) for reference in verdict.evidence.references]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`shop-core/types.rs:3`", "shop-core/types.rs:3 unchecked > crates/shop-core/src/types.rs:3"),
        ("`core/types.rs:3`", "core/types.rs:3 unchecked > crates/shop-core/src/types.rs:3"),
        ("`shop-core/types.rs:41`", "shop-core/types.rs:41 missing-file > crates/shop-core/src/types.rs"),
        ("`src/shop-core/types.rs:3`", "src/shop-core/types.rs:3 missing-file > crates/shop-core/src/types.rs:3"),
        ("`other/types.rs:3`", "other/types.rs:3 missing-file > crates/shop-core/src/types.rs:3"),
        ("`cart/service.rs:3`", "cart/service.rs:3 unchecked"),
        ("`cart/service.rs:41`", "cart/service.rs:41 missing-file > modules/cart/http/service.rs"),
    ],
)
def test_a_path_may_leave_out_folders_of_a_file_that_has_the_others(text: str, expected: str, tree: Path) -> None:
    assert outcomes(text, tree) == [expected]


@pytest.mark.parametrize(
    "path",
    [
        "dist/main.js:3",
        "web/dist/static/main.js:3",
        "var/state.json:3",
        "logs/app.dump:3",
        "build/out/app.js:3",
        "@scope/name/lib/index.js:3",
    ],
)
def test_what_is_not_part_of_a_checkout_is_not_missing(path: str, tree: Path) -> None:
    assert outcomes(f"see `{path}` there", tree) == [f"{path} unchecked"]


def test_a_file_in_the_home_folder_of_the_author_is_not_outside_without_a_line(tree: Path) -> None:
    row = "| File | Note |\n|---|---|\n| `{}` | x |"
    assert outcomes(row.format("~/.config/app.json"), tree) == ["~/.config/app.json unchecked"]
    assert outcomes(row.format("~/.ssh/id_rsa:1"), tree) == ["~/.ssh/id_rsa:1 outside"]


@pytest.mark.parametrize("path", ["lib/main.js:3", "build/app.js:3", "src/var.json:3", "src/dumps.py:3"])
def test_other_files_that_do_not_exist_are_missing(path: str, tree: Path) -> None:
    assert [one.split(" > ")[0] for one in outcomes(f"see `{path}` there", tree)] == [f"{path} missing-file"]


def test_a_compiled_file_is_not_missing_if_its_source_exists(tree: Path) -> None:
    row = "| File | Note |\n|---|---|\n| {} | imports it |"
    assert outcomes(row.format("src/crypto.js"), tree) == ["src/crypto.js unchecked > src/crypto.ts"]
    assert outcomes(row.format("src/other.js"), tree) == ["src/other.js missing-file"]
    assert outcomes("imports `./crypto.js` (line 3)", tree) == ["crypto.js:3 unchecked > src/crypto.ts"]


def test_a_missing_file_after_the_label_of_an_example_is_not_a_reference(tree: Path) -> None:
    assert outcomes("Example: `notes/api.md:15-42`", tree) == []
    assert outcomes("Example: `src/app.py:15`", tree) == ["src/app.py:15 verified"]
    assert outcomes("The example in `notes/api.md:15-42`", tree) == ["notes/api.md:15-42 missing-file"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`src/app.py:30-42`", "src/app.py:30-42 out-of-range > src/app.py:30"),
        ("`src/app.py:41`", "src/app.py:41 out-of-range > src/app.py:40"),
        ("`src/app.py` (lines ~30-50)", "src/app.py:30-50 unchecked"),
        ("`src/app.py` (lines ~60-70)", "src/app.py:60-70 out-of-range > src/app.py:40"),
        ('File "src/app.py", line 60, in main', "src/app.py:60 unchecked"),
    ],
)
def test_a_line_past_the_end_may_be_an_estimate_or_of_an_earlier_state(text: str, expected: str, tree: Path) -> None:
    assert outcomes(text, tree) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`src/app.py` L3 and migration `0019` L709", "src/app.py:709 unchecked"),
        ("`src/app.py:3` calls `src/store.py:4`, which fails later (line 90)", "src/store.py:90 unchecked"),
        ("`src/app.py:3`, `:90`", "src/app.py:90 out-of-range > src/app.py:40"),
        ("`src/store.py` fails later (line 90)", "src/store.py:90 out-of-range > src/store.py:20"),
    ],
)
def test_a_line_that_its_file_lacks_may_belong_to_something_else_that_the_text_names(
    text: str, expected: str, tree: Path
) -> None:
    assert outcomes(text, tree)[-1] == expected


@pytest.mark.parametrize("remark", ["(absent)", "(missing)", "(manquant)", "（缺失）"])
def test_a_file_with_a_remark_that_it_is_absent_is_not_missing(remark: str, tree: Path) -> None:
    row = f"| File | Note |\n|---|---|\n| `src/other.py` {remark} | x |"
    assert outcomes(row, tree) == ["src/other.py planned"]


# --- The name of the project before a path

PROJECTS = [
    ("shop_front", "notes.txt", ""),
    ("one", "package.json", '{"author": {"name": "billing"}, "name": "@acme/shop-front"}'),
    ("one", "pyproject.toml", '[tool.uv.index]\nname = "billing"\n[project]\nname = "shop-front"\n'),
    ("one", "pyproject.toml", '[ tool.poetry ]  # main\nname = "Shop-Front"\n'),
    ("one", "Cargo.toml", '[[bin]]\nname = "billing"\n[package]\nname = "shop_front"\n'),
    ("one", "go.mod", "// shop\nmodule example.org/acme/shop-front/v2\n"),
    ("one", "package.json", '\ufeff{"name": "shop-front", "version": "1.0.0"}'),
]


def plant(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(exist_ok=True, parents=True)
        (root / path).write_text("value = 1\n" * 9)
    return root


@pytest.mark.parametrize(("folder", "file", "text"), PROJECTS)
def test_a_path_may_begin_with_the_name_of_the_project(folder: str, file: str, text: str, tmp_path: Path) -> None:
    base = plant(tmp_path / folder, "src/app.py")
    (base / file).write_text(text)
    for name in ("shop_front", "shop-front", "Shop-Front"):
        assert outcomes(f"`{name}/src/app.py:3`", base) == [f"{name}/src/app.py:3 abbreviated > src/app.py:3"]
    for path in ("shop/src/app.py:3", "billing/src/app.py:3", "shop_front/src/app.py:30", "shop_front/app.py:3"):
        assert outcomes(f"`{path}`", base)[0].split()[1] == "missing-file"
    assert outcomes("`shop_front/src/gone.py:3`", base) == ["shop_front/src/gone.py:3 missing-file"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("README.md", "# Billing App\n"),
        ("pyproject.toml", f"a = {'1' * 5000}\n"),
        ("package.json", "[" * 100_000),
        ("package.json", '{"name": ["billing_app"]}'),
        ("package.json", '["billing_app"]'),
        ("package.json", '{"name": "billing_app"'),
        ("pyproject.toml", 'name = "billing_app"\n[project]\ndynamic = ["name"]\n'),
        ("pyproject.toml", 'project = "billing_app"\n'),
        ("pyproject.toml", 'description = """\n[project]\nname = "billing_app"\n"""\n'),
        ("Cargo.toml", '[package]\nname = "shop"\n  [dependencies.x]\n  name = "billing_app"\n'),
        ("Cargo.toml", '[workspace]\nmembers = []\n[[example]]\nname = "billing_app"\n'),
    ],
)
def test_another_name_is_not_that_of_the_project(file: str, text: str, tmp_path: Path) -> None:
    base = plant(tmp_path / "one", "src/app.py")
    (base / "go.mod").write_text("module example.org/shop\n")
    (base / file).write_text(text)
    for name in ("billing", "billing_app", "one"):
        assert outcomes(f"`{name}/src/app.py:3`", base)[0].split()[1] == "missing-file"


def test_the_name_of_the_project_is_not_left_out_of_a_folder_a_planned_file_or_a_result(tmp_path: Path) -> None:
    base = plant(tmp_path / "shop_front", "src/app.py", "cli.py")
    assert outcomes("# Plan\n\n- Create: `shop_front/cli.py`\n", base) in ([], ["shop_front/cli.py planned"])
    (verdict,) = check_text(
        "# review-security Result\n\n**Status:** COMPLETED\n\n## Summary\n`shop_front/src/app.py:3` is wrong\n",
        "-",
        Options(),
        Sources(workspace=WorkTree(base)),
    )
    assert [one.outcome for one in verdict.evidence.references] == ["missing-file"]
    assert outcomes("`shop_front/src/app.py:3` (nosuch) is wrong", base)[0].split()[1] == "missing-file"
    plant(base, "packages/shop_front/other.py")
    assert outcomes("`shop_front/cli.py:3`", base)[0].split()[1] == "missing-file"


@pytest.mark.parametrize("folder", ["app", "backend", "src", "config"])
def test_a_plain_folder_is_not_the_name_of_a_project(folder: str, tmp_path: Path) -> None:
    base = plant(tmp_path / folder, "pages/app.py")
    assert outcomes(f"`{folder}/pages/app.py:3`", base)[0].split()[1] == "missing-file"


def test_a_quote_below_the_name_of_the_project_is_compared(tmp_path: Path) -> None:
    base = plant(tmp_path / "shop_front", "src/app.py")
    for code, outcome in (("value = 1\nvalue = 1", "verified"), ("value = 1\nvalue = 22222222", "mismatch")):
        (verdict,) = check_text(
            f"`shop_front/src/app.py:3`\n```python\n{code}\n```\n", "-", Options(), Sources(workspace=WorkTree(base))
        )
        assert [one.outcome for one in verdict.evidence.quotes] == [outcome]


def test_a_path_may_begin_with_a_word_of_the_title(tree: Path) -> None:
    title = "# Acme-Shop / Till / Tests / Docs: audit\n\n"
    assert outcomes(f"{title}`acme_shop/src/app.py:3`", tree) == ["acme_shop/src/app.py:3 unchecked > src/app.py:3"]
    assert outcomes(f"{title}`acme_shop/src/app.py:41`", tree) == ["acme_shop/src/app.py:41 missing-file > src/app.py"]
    assert "missing-file" in outcomes(f"{title}`acme_bank/src/app.py:3`", tree)[0]
    assert "missing-file" in outcomes("# Modules\n\n`modules/src/app.py:3`", tree)[0]  # a folder of the checkout
    for path in ("tests/src/app.py:3", "acme-shop/README.md:1"):  # a common name, and a rest without a folder
        assert "missing-file" in outcomes(f"{title}`{path}`", tree)[0]
    assert "missing-file" in outcomes(f"{title}`acme-shop/src/app.py:3` and `till/src/app.py:3`", tree)[0]
    copies = outcomes(f"{title}`acme-shop/src/app.py:3` is a copy of `src/app.py:3`", tree)
    assert "missing-file" in copies[0]
    fence = "```sh\n# acme-shop\nrun\n```\n\n"
    assert "missing-file" in outcomes(f"{fence}`acme-shop/src/app.py:3`", tree)[0]
    assert "missing-file" in outcomes("Acme-Shop\n\n`acme_shop/src/app.py:3`", tree)[0]
    result = f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{title}`acme_shop/src/app.py:3`\n"
    assert "missing-file" in outcomes(result, tree)[0]


def test_a_title_of_any_length_takes_little_time(tree: Path) -> None:
    assert outcomes("#" + " " * 200_000 + "\n" + "# a.b-" * 50_000 + "\n\n`src/app.py:3`", tree) == [
        "src/app.py:3 verified"
    ]


def test_of_a_range_that_a_cell_cuts_off_the_first_line_counts(tree: Path) -> None:
    found = ["src/app.py:3 verified", "src/app.py:12-18 verified", "src/app.py:25 verified"]
    assert outcomes("`src/app.py:3,12-18,25-2…`", tree) == found
    assert outcomes("`src/app.py:25-3…`", tree) == ["src/app.py:25 verified"]
    assert "out-of-range" in outcomes("`src/app.py:25-300…`", tree)[0]
    assert "out-of-range" in outcomes("`src/app.py:55-6…`", tree)[0]
    assert "out-of-range" in outcomes("`src/app.py:25-2`", tree)[0]


def test_the_number_of_a_finding_is_not_a_range_of_lines(tree: Path) -> None:
    assert outcomes("- `src/app.py` (L10-02)", tree) == ["src/app.py:10-2 unchecked"]
    assert outcomes("- `src/app.py` L10-12", tree) == ["src/app.py:10-12 verified"]
    for text in ("`src/app.py:10-2`", "`src/app.py` (L10-2)", "`src/app.py` (lines 10-02)", "`src/app.py:L10-02`"):
        assert "out-of-range" in outcomes(text, tree)[0]


def test_a_path_with_a_revision_is_one_of_that_revision(tree: Path) -> None:
    assert outcomes("`src/app.py@origin/main:60-90`", tree) == ["src/app.py@origin/main:60-90 unchecked"]
    for path in ("src/aap.py@origin/main:60-90", "src/app.py@beef/ghost.py:4", "src/app.py@close_store:5"):
        assert "missing-file" in outcomes(f"`{path}`", tree)[0]


def test_two_names_with_a_slash_are_not_a_path(tree: Path) -> None:
    table = "| File |\n|---|\n| `{}` |\n"
    assert outcomes(table.format("app.py/store.py"), tree) == ["app.py/store.py unchecked"]
    for path in ("app/store.py", "src/app.py/ghost.py", "src/app.py/lib/store.py", "ghost.py/store.py"):
        assert "missing-file" in outcomes(table.format(path), tree)[0]


def test_lines_of_a_file_that_the_text_creates_may_be_those_of_another(tree: Path) -> None:
    text = "- Create: `src/store.py`\n\n### Task 4: `src/store.py`\n\nPort the loop (lines 241-290) near-verbatim.\n"
    assert "unchecked" in outcomes(text, tree)[-1]
    assert "out-of-range" in outcomes(text.replace("Create", "Change"), tree)[-1]
    assert "out-of-range" in outcomes("- Create: `src/store.py`\n\n`src/store.py:241`\n", tree)[-1]
    assert "out-of-range" in outcomes("`src/store.py` (new): the leak is at line 900.\n", tree)[-1]


def test_many_created_files_take_little_time(tree: Path) -> None:
    created = "".join(f"Create: `src/q{at}.py`\n" for at in range(3_000))
    lines = "".join(f"It is at line {at + 50}.\n" for at in range(3_000))
    assert outcomes(f"{created}\n### src/store.py\n\n{lines}", tree)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- `src/app.py:30` — `5` (pages)", ["src/app.py:30 verified"]),
        ("- `src/app.py:30`-`35`", ["src/app.py:30-35 verified"]),
        ("- `src/app.py:30` – `35`", ["src/app.py:30-35 verified"]),
        ("- `src/app.py:30` – `:35`", ["src/app.py:30-35 verified"]),
        ("- `src/app.py:30` – `:25`", ["src/app.py:30-25 out-of-range > src/app.py:30"]),
    ],
)
def test_a_number_in_code_marks_after_a_dash_is_not_the_end_of_a_range(
    text: str, expected: list[str], tree: Path
) -> None:
    assert outcomes(text, tree) == expected


def test_a_name_may_leave_out_what_is_before_a_dot(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("Shop.Store.cs", "Shop.Cart.cs", "Club.Cart.cs", "cart.test.ts"):
        (tmp_path / "src" / name).write_text("value = 1\n" * 9)
    assert outcomes("See `Store.cs:3`.", tmp_path) == ["Store.cs:3 unchecked > src/Shop.Store.cs:3"]
    for text in (
        "`Store.cs:30`",
        "`Cart.cs:3`",
        "`test.ts:3`",
        "`Tore.cs:3`",
    ):  # no line, two files, no name, inside a word
        (found,) = outcomes(f"See {text}.", tmp_path)
        assert " missing-file" in found
