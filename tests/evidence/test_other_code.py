"""Texts about other code than that of the checkout: another project, a package, a submodule that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.receipts import ReceiptIndex
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

FILES = {
    "src/app.py": 40,
    "src/api/cart_store.py": 20,
    "shop/cart.py": 20,
    "docs/notes.md": 1,
    "web/src/page.ts": 30,
    "README.md": 3,
    "setup.py": 9,
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for path, lines in FILES.items():
        (root / path).parent.mkdir(exist_ok=True, parents=True)
        (root / path).write_text("value = 1\n" * lines)
    return root


def outcomes(text: str, tree: Path, document: str = "docs/notes.md", receipts: ReceiptIndex | None = None) -> list[str]:
    path = str(tree / document) if document else "-"
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree), receipts=receipts))
    return [one.outcome for one in verdict.evidence.references]


# --- Files without a trace in the checkout

TEXT = "The hub connects in `McpHub.ts:716-772`, `src/app.py:3` reads it, and `McpHub.ts:1271` closes it."


def test_a_missing_file_without_a_trace_may_be_one_of_another_code_base(tree: Path) -> None:
    assert outcomes(TEXT, tree) == ["unchecked", "verified", "unchecked"]
    (verdict,) = check_text(TEXT, str(tree / "docs/notes.md"), Options(), Sources(workspace=WorkTree(tree)))
    first, _, last = verdict.evidence.references
    assert first.why == "nothing in the checkout has this name or these folders; it may be a file of another code base"
    assert (first.is_silent, last.is_silent) == (False, True)
    assert outcomes("See `core/engine/hub.ts:3`.", tree) == ["unchecked"]


@pytest.mark.parametrize(
    "path",
    [
        "cart_store.ts:3",  # a file of this name is there
        "Cart_Store.py:3",
        "src/hub.py:3",  # so are the folders
        "src/none/hub.py:3",
        "api/hub.py:3",
        "src/aap.py:3",
    ],
)
def test_a_file_with_a_trace_in_the_checkout_is_missing(path: str, tree: Path) -> None:
    assert outcomes(f"The hub is `{path}`.", tree) == ["missing-file"]


def test_a_file_without_a_trace_is_not_accused_however_many_others_are_here(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"part{number}.py").write_text("value = 1\n" * 9)
    named = " ".join(f"`part{number}.py:3`" for number in range(10))
    for other in ("`hub.py:3`", "`core/hub.py:3`"):
        assert outcomes(f"{named} {other}", tmp_path, "n.md")[-1] == "unchecked"
        assert outcomes(f"{named} {other}", tmp_path, "")[-1] == "missing-file"
    assert outcomes(f"{named} `prt1.py:3`", tmp_path, "n.md")[-1] == "missing-file"  # similar to part1.py


@pytest.mark.parametrize(
    ("title", "path", "expected"),
    [
        ("Review", "src/hub.py", "unchecked"),  # nothing is similar
        ("Review", "src/apps.py", "missing-file"),  # src/app.py is
        ("Plan of the hub", "src/apps.py", "unchecked"),
    ],
)
def test_a_missing_file_without_a_line_may_be_one_to_be_written(
    title: str, path: str, expected: str, tree: Path
) -> None:
    text = f"# {title}\n\n| File | Issue |\n|---|---|\n| `{path}` | slow |\n"
    assert outcomes(text, tree) == [expected]
    assert outcomes(text, tree, "") == ["missing-file"]
    assert outcomes(text.replace(f"`{path}`", f"`{path}:3`"), tree) == ["missing-file"]


def test_a_file_in_the_folder_of_the_checkout_is_missing(tree: Path) -> None:
    assert outcomes(f"The hub is `{tree.name}/lib/hub.ts:3`.", tree) == ["missing-file"]


def test_an_answer_and_a_result_are_about_the_checkout(tree: Path) -> None:
    accused = ["missing-file", "verified", "missing-file"]
    assert outcomes(TEXT, tree, document="") == accused
    assert outcomes(TEXT, tree, receipts=ReceiptIndex([], str(tree))) == accused
    result = f"# review-security Result\n\n**Status:** COMPLETED\n\n## Summary\n{TEXT}\n"
    assert outcomes(result, tree) == accused


OTHER = " ".join(f"`engine/part{number}.cc:3`" for number in range(8)) + " `engine/core/app.py:300`"


def test_a_name_in_a_text_on_another_code_base_may_be_one_of_its_files(tree: Path) -> None:
    assert outcomes(f"{OTHER} `app.py:300` `app.py:3`", tree, "")[-2:] == ["unchecked", "abbreviated"]
    assert outcomes(f"{OTHER} `page.ts:300`", tree, "")[-1] == "out-of-range"
    assert outcomes(f"{OTHER} `src/app.py:300` `web/src/page.ts:3`", tree, "")[-2:] == ["out-of-range", "verified"]
    assert outcomes(f"{OTHER} `engine/README.md:3` `README.md:300`", tree, "")[-1] == "out-of-range"
    assert outcomes(f"{OTHER} Our `src/app.py:3` is fine, our `app.py:300` is not.", tree, "")[-1] == "out-of-range"
    both = "`src/app.py:1` `shop/cart.py:1` `web/src/page.ts:1`"
    assert outcomes(f"{OTHER} {both} `app.py:300`", tree, "")[-1] == "out-of-range"
    assert outcomes("See `engine/core/app.py:300` and `app.py:300`.", tree, "")[-1] == "out-of-range"
    result = f"# review-security Result\n\n**Status:** COMPLETED\n\n## Summary\n{OTHER} `app.py:300`\n"
    assert outcomes(result, tree)[-1] == "out-of-range"


def test_names_of_files_in_a_language_that_is_not_here_are_of_another_code_base(tree: Path) -> None:
    text = "`engine.rs:3` calls `queue.rs:4`, and `app.rs:5` starts it."
    assert outcomes(text, tree) == ["unchecked"] * 3
    assert outcomes("`engine.rs:3` starts `app.rs:5`.", tree) == ["unchecked", "missing-file"]
    assert outcomes("`engine.ts:3` calls `queue.ts:4`, and `app.ts:5` starts it.", tree)[-1] == "missing-file"
    assert outcomes("`engine.rs:3` calls `queue.rs:4`, and `src/app.rs:5` starts it.", tree)[-1] == "missing-file"


@pytest.mark.parametrize("path", ["/etc/nginx/nginx.conf:3", "/tmp/state/", "~/.config/app.ini:9", "/var/log/app.log"])
def test_a_path_of_a_machine_in_a_text_of_the_checkout_is_not_accused(path: str, tree: Path) -> None:
    text = f"| Item | Location |\n|---|---|\n| State | `{path}` |\n"
    assert outcomes(text, tree) == ["unchecked"]
    assert outcomes(text, tree, "") == ["unchecked" if path.startswith("~") and ":" not in path else "outside"]
    result = f"# review-security Result\n\n**Status:** COMPLETED\n\n### Key References\n\n{text}"
    assert outcomes(result, tree) == ["outside"]


@pytest.mark.parametrize(
    "path",
    [
        *("../other/app.py:3", "/home/me/other/app.py:3", "/Users/me/other/app.py:3", "/root/other/app.py:3"),
        *("/usr/src/app/none.py:3", "/var/www/other/app.py:3", "/tmp/other/src/none.py:3", "~/work/none.py:3"),
        *("/tmp/other/web/gone.yaml:9", "/tmp/{own}/gone.md:9"),
        *("/tmp/../home/me/x.conf:3", "~/.../none.conf:3", "/tmp/clone/README.md:300", "~/.cursor/other/lib/x.py:3"),
    ],
)
def test_a_path_of_another_checkout_is_outside(path: str, tree: Path) -> None:
    path = path.replace("{own}", tree.name)
    assert outcomes(f"See `{'../' if path.startswith('.') else ''}{path}`.", tree) == ["outside"]


# --- Other forms of a path


def test_a_path_may_have_the_folder_of_the_checkout_before_a_package_of_the_same_name(tree: Path) -> None:
    text = (
        "`src/app.py:3`, `shop/shop/cart.py:3`, `shop/shop/cart.py:300`, `shop/shop/none.py:3` and `src/src/app.py:3`"
    )
    assert outcomes(text, tree) == ["verified", "unchecked", "missing-file", "missing-file", "missing-file"]


def test_an_absolute_path_may_follow_a_sign_of_the_editor(tree: Path) -> None:
    text = "See `@/home/me/work/web/src/page.ts:3` and `@/home/me/work/web/src/page.ts:300`."
    assert outcomes(text, tree) == ["verified", "out-of-range"]


def test_an_alias_of_a_folder_is_not_a_sign_of_the_editor(tmp_path: Path) -> None:
    for path in ("src/home/Hero.tsx", "src/home/cards/big/Hero2.tsx"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("x\n" * 30)
    text = "See `@/home/Hero.tsx:3`, `@/home/cards/big/Hero2.tsx:3` and `@/home/Hero.tsx:300`."
    assert outcomes(text, tmp_path, "") == ["abbreviated", "abbreviated", "out-of-range"]
    assert outcomes("See `@/home/cards/big/None.tsx:3`.", tmp_path, "n.md") == ["missing-file"]


def test_a_file_in_a_string_of_code_has_no_line(tree: Path) -> None:
    assert outcomes('The call `kill("run src/app.py")` on line 50 ends it.', tree) == []
    assert outcomes("The command `kill src/app.py` on line 50 ends it.", tree) == ["out-of-range"]
    assert outcomes('The file "src/app.py" (`main`) has a bug at line 900.', tree) == ["out-of-range"]
    assert outcomes('In "src/app.py", `value` is set at line 36.', tree) == ["verified"]
    assert outcomes('See `"src/app.py"` line 900.', tree) == ["out-of-range"]


# --- Numbers and lines that are not those of the file


def test_a_line_in_a_list_below_one_place_may_be_a_line_of_another_file(tree: Path) -> None:
    text = (
        "**Location**: src/app.py, line 3\n**Symptom**:\n- The page shows nothing (line 568)\n- Lines 5-8 are empty\n"
    )
    assert outcomes(text, tree) == ["verified", "unchecked", "verified"]
    assert outcomes(text.replace(", line 3", ""), tree)[0] == "out-of-range"
    assert outcomes(text.replace("**Symptom**:\n", ""), tree)[1] == "out-of-range"
    assert outcomes("- `src/app.py:3` opens it\n  - line 568 closes it\n", tree) == ["verified", "out-of-range"]


def test_a_name_may_be_short_for_a_file_of_an_installed_package(tree: Path) -> None:
    text = "`src/app.py:3` follows `node_modules/next/docs/policy.md:44-87` (`policy.md:67` and `docs/policy.md:70`)."
    assert outcomes(text, tree) == ["verified", "unchecked", "unchecked", "unchecked"]
    assert outcomes(text, tree, "") == ["verified", "unchecked", "unchecked", "unchecked"]
    assert outcomes("`src/app.py:3` follows `policy.md:67`.", tree, "") == ["verified", "missing-file"]
    result = f"# review-security Result\n\n**Status:** COMPLETED\n\n## Summary\n{text}\n"
    assert outcomes(result, tree)[-1] == "missing-file"
    other = text.replace("node_modules", "modules")
    assert outcomes(other, tree, "")[-1] == "missing-file"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("src/app.py:138-39", (138, 139)),
        ("src/app.py:138-9", (138, 9)),
        ("src/app.py:138-21", (138, 21)),
        ("src/app.py:38-9", (38, 9)),
        ("src/app.py:1138-239", (1138, 1239)),
        ("src/app.py:138-1139", (138, 1139)),
    ],
)
def test_a_range_may_end_with_the_last_digits(written: str, expected: tuple[int, int], tree: Path) -> None:
    (verdict,) = check_text(f"See `{written}`.", "-", Options(), Sources(workspace=WorkTree(tree)))
    (one,) = verdict.evidence.references
    assert (one.line, one.end_line) == expected


def test_a_number_with_a_leading_zero_is_not_a_line(tree: Path) -> None:
    assert outcomes("The helper (`src/app.py:3`, 0600, shredded) is private.", tree) == ["verified"]
    assert outcomes("In `src/app.py` the price is written with `:02` and `:05`.", tree) == []
    assert outcomes("The helper (`src/app.py:3`, 600) is private.", tree) == ["verified", "out-of-range"]
    for path in ("src/app.py:0", "src/app.py:0400", "src/app.py lines 0400-0500"):
        assert outcomes(f"See {path}.", tree) == ["out-of-range"]


def test_a_name_in_another_language_is_not_accused_if_the_others_are_not(tree: Path) -> None:
    here = ", ".join(f"`src/app.py:{line}`" for line in range(1, 9))
    app = "`hub_screen.dart:3`, `cart_screen.dart:4` and `page.dart:5`"
    assert outcomes(f"{here}\n\n## App\n\n{app}\n", tree) == ["verified"] * 8 + ["unchecked"] * 3
    assert outcomes(f"{here}\n\n## App\n\n`page.dart:5`\n", tree)[-1] == "missing-file"  # page.ts is here


def test_a_file_in_another_language_does_not_excuse_others(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"part{number}.py").write_text("value = 1\n")
    here = ", ".join(f"`part{number}.py:1`" for number in range(9))
    for other in ("`hub.dart:3`", "`hub.dart:3`, `cart.dart:4`"):
        assert outcomes(f"{here}, {other} and `core/part3.py:3`", tmp_path, "part1.py")[-1] == "missing-file"


def test_names_with_the_ending_of_a_language_that_is_here_are_found(tree: Path) -> None:
    here = ", ".join(f"`src/app.py:{line}`" for line in range(1, 9))
    app = "`hub_screen.dart:3`, `cart_screen.dart:4` and `page.dart:5`"
    assert outcomes(f"{here}\n\n## App\n\n{app.replace('.dart', '.ts')}\n", tree)[-1] == "abbreviated"


# --- Submodules that are not checked out


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    for path, lines in {"src/app.rs": 40, "src/lib.rs": 9, "docs/notes.md": 1}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text("value = 1\n" * lines)
    (tmp_path / ".gitmodules").write_text('[submodule "planner"]\n\tpath = crates/shop-planner\n\turl = x\n')
    (tmp_path / "crates/shop-planner").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "`shop-planner/src/lib.rs:90`",
        "`planner/src/lib.rs:90`",
        "`/home/me/shop/crates/shop-planner/layers/visual.rs:90`",
        "The layers of `shop-planner`: `visual.rs:11`",
        "The `shop-planner` has layers.\n\n- the view (`layers/visual.rs:11`)",
    ],
)
def test_a_submodule_may_be_called_by_its_name_or_a_part_of_it(text: str, modules: Path) -> None:
    assert outcomes(text, modules) == ["unchecked"]
    result = f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{text}\n"
    assert outcomes(result, modules, "")[0] in ("missing-file", "outside")


@pytest.mark.parametrize(
    "text",
    [
        "The layers of the shop: `src/visual.rs:11`",
        "The planner has layers: `src/visual.rs:11`",
        "The planners have layers: `src/aap.rs:11`",
        "The planner." + "\n" * 20 + "The view: `src/visual.rs:11`",
        "`src/planner/visual.rs:11`",
    ],
)
def test_a_path_in_a_folder_that_is_here_is_not_one_of_a_submodule(text: str, modules: Path) -> None:
    assert outcomes(text, modules) == ["missing-file"]


def test_a_line_past_the_end_may_be_one_of_a_file_in_a_submodule(modules: Path) -> None:
    assert outcomes("`shop-planner/src/lib.rs:90` and `lib.rs:95`", modules) == ["unchecked", "unchecked"]
    assert outcomes("`shop-planner/src/app.rs:90` and `src/lib.rs:95`", modules) == ["unchecked", "out-of-range"]
    assert outcomes("The shop-planner: `lib.rs:95`", modules) == ["out-of-range"]
    assert outcomes("`shop-planner/src/lib.rs:90`, `src/lib.rs:3`, `lib.rs:95`", modules)[-1] == "out-of-range"
    assert outcomes("`shop-planner/../../x.rs:4`", modules)[0] in ("outside", "missing-file")
    (modules / "lib.rs").write_text("value = 1\n")
    assert outcomes("`shop-planner/src/lib.rs:90` and `lib.rs:95`", modules)[-1] == "out-of-range"


def test_a_common_word_is_not_the_name_of_a_submodule(modules: Path) -> None:
    (modules / ".gitmodules").write_text('[submodule "s"]\n\tpath = crates/shop-service\n\turl = x\n')
    (modules / "crates/shop-service").mkdir()
    for text in ("`service/ghost.rs:3`", "The customer service is good: `lip.rs:3`", "The planner: `lip.rs:3`"):
        assert outcomes(text, modules, "") == ["missing-file"]
    (modules / ".gitmodules").write_text('[submodule "s"]\n\tpath = crates/json\n\turl = x\n')
    (modules / "crates/json").mkdir()
    (modules / "json").mkdir()
    (modules / "json/a.rs").write_text("value = 1\n")
    for text in ("The store reads json files: `lip.rs:3`", "`json/none.rs:12`"):
        assert outcomes(text, modules, "") == ["missing-file"]


def test_many_names_near_a_submodule_take_little_time(modules: Path) -> None:
    assert len(outcomes("shop-planner " + " ".join(f"`h{at}.rs:3`" for at in range(2_000)), modules)) == 2_000


def test_a_name_that_the_text_cites_in_full_as_outside_is_meant(tree: Path) -> None:
    text = "`/home/me/bank/main.go:63` is open, and so is `main.go:99`."
    assert outcomes(text, tree) == ["outside", "unchecked"]
    assert outcomes(text.replace("main.go:99", "mine.go:99"), tree)[1] != "outside"
    assert outcomes(text.replace("main.go", "main.yml"), tree)[0] == "outside"
    result = f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{text}\n"
    assert outcomes(result, tree, "") == ["outside", "missing-file"]
