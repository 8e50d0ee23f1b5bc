"""`remit verify --fix` corrects a reference where exactly one location can be meant, and nothing else."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import jsonschema
import pytest
from support.in_process import Ran, Remit, command_runner
from support.verify_commands import AUDIT, TOTAL, commit, git, make_project

from remit.reports.layout import schema_of
from remit.reports.shapes import CheckShape


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(tmp_path, monkeypatch)


@pytest.fixture
def remit(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


def fixed(remit: Remit, project: Path, text: str | bytes, *more: str) -> tuple[Ran, bytes]:
    """Correct a text that is not committed; return what was printed and the text after it."""
    file = project / "doc.md"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = remit("verify", "doc.md", "--fix", "--write", *more)
    return ran, file.read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("`src/app/cart.py:4` (total)\n", "`src/app/cart.py:31` (total)\n"),
        ("See src/app/cart.py#L4 (total).\n", "See src/app/cart.py#L31 (total).\n"),
        ("`src/app/cart.py:4-5` (total)\n", "`src/app/cart.py:31-32` (total)\n"),
        ("`src/app/Cart.py:4`\n", "`src/app/cart.py:4`\n"),
        ("`cart.py:4` (total)\n", "`src/app/cart.py:31` (total)\n"),
        (
            f"`src/app/cart.py:4`:\n{TOTAL}",
            f"`src/app/cart.py:31`:\n{TOTAL}",
        ),
    ],
)
def test_what_has_one_truth_is_corrected(remit: Remit, project: Path, before: str, after: str) -> None:
    ran, text = fixed(remit, project, before)
    assert text.decode() == after
    assert ran.code == 0
    assert re.search(r"(?m)^doc\.md:\d  fixed  ", ran.out)


@pytest.mark.parametrize(
    "text",
    [
        AUDIT,  # a missing file and a line past the end have no truth, only a suggestion
        "`src/app/cart.py:4`\n",
        "`src/app/cart.py:9` (x)\n",
        "Nothing is cited.\n",
        "`src/app/cart.py:99` `src/app/none.py:1` ```\n",
    ],
)
def test_what_has_no_or_several_truths_stays(remit: Remit, project: Path, text: str) -> None:
    ran, after = fixed(remit, project, text)
    assert after.decode() == text
    assert "fixed" not in ran.out


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("site/static/images/till.svg", "![The till](/images/till.svg)\n"),
        ("sites/shop/.github/workflows/sell.yml", "In your repository, open `.github/workflows/sell.yml`.\n"),
        ("examples/fruit/stock/apples.py", "Replace `stock/apples.py` of your shop.\n"),
        (".till/settings.json", "The settings are in `~/.till/settings.json`.\n"),
        ("web/till/settings.json", "| File | Content |\n|---|---|\n| settings.json | what you chose |\n"),
    ],
)
def test_a_path_of_a_site_an_example_or_any_project_stays(file: str, text: str, remit: Remit, project: Path) -> None:
    (project / file).parent.mkdir(parents=True)
    (project / file).write_text("x = 1\n" * 50)
    assert fixed(remit, project, text)[1].decode() == text


def test_a_symbol_with_two_definitions_stays(remit: Remit, project: Path) -> None:
    twice = "x = 1\n" * 20 + "def run():\n    pass\n" + "x = 1\n" * 20 + "def run():\n    pass\n"
    (project / "src/app/twice.py").write_text(twice)
    text = "`src/app/twice.py:2` (run)\n"
    assert fixed(remit, project, text)[1].decode() == text


def test_a_quote_that_occurs_twice_stays(remit: Remit, project: Path) -> None:
    (project / "src/app/twice.py").write_text(
        "x = 1\n" * 20 + "value = compute(1)\n" + "x = 1\n" * 9 + "value = compute(1)\n"
    )
    text = "`src/app/twice.py:2`:\n```python\nvalue = compute(1)\n```\n"
    assert fixed(remit, project, text)[1].decode() == text


def test_the_same_reference_twice_on_a_line_with_one_meaning_is_not_guessed(remit: Remit, project: Path) -> None:
    text = "`src/app/cart.py:4` (total) and `src/app/cart.py:4` (add)\n"
    assert fixed(remit, project, text)[1].decode() == text


def test_line_ends_the_byte_order_mark_and_permissions_stay(remit: Remit, project: Path) -> None:
    (project / "doc.md").write_bytes(b"")
    (project / "doc.md").chmod(0o640)
    _, text = fixed(remit, project, b"\xef\xbb\xbfOne\r\n`src/app/cart.py:4` (total)\r\nno end")
    assert text == b"\xef\xbb\xbfOne\r\n`src/app/cart.py:31` (total)\r\nno end"
    assert stat.S_IMODE((project / "doc.md").stat().st_mode) == 0o640
    assert [file.name for file in project.iterdir() if file.name.startswith(".remit-")] == []


def test_a_link_to_the_file_stays_a_link(remit: Remit, project: Path) -> None:
    (project / "real.md").write_text("`src/app/cart.py:4` (total)\n")
    (project / "doc.md").symlink_to("real.md")
    remit("verify", "doc.md", "--fix", "--write")
    assert (project / "doc.md").is_symlink()
    assert (project / "real.md").read_text() == "`src/app/cart.py:31` (total)\n"


def test_a_second_run_changes_nothing(remit: Remit, project: Path) -> None:
    _, once = fixed(remit, project, "`src/app/cart.py:4` (total) and `src/app/none.py:1`\n")
    ran, twice = fixed(remit, project, once)
    assert once == twice
    assert "fixed" not in ran.out


def test_a_file_without_a_correction_is_not_written(remit: Remit, project: Path) -> None:
    (project / "doc.md").write_text(AUDIT)
    before = (project / "doc.md").stat()
    remit("verify", "doc.md", "--fix", "--write")
    after = (project / "doc.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_json_lists_the_corrections(remit: Remit, project: Path) -> None:
    ran, _ = fixed(remit, project, "`src/app/cart.py:4` (total)\n", "--format", "json")
    assert ran.json["fixes"] == [{"path": "doc.md", "line": 1, "old": "src/app/cart.py:4", "new": "src/app/cart.py:31"}]
    jsonschema.validate(ran.json, schema_of(CheckShape))


def test_standard_input_cannot_be_fixed(remit: Remit) -> None:
    ran = remit("verify", "-", "--fix", "--write", given=b"`src/app/cart.py:4`")
    assert (ran.code, ran.err) == (2, "remit: --fix writes files; it cannot change standard input\n")


def test_text_that_is_not_utf8_is_rejected_and_not_written(remit: Remit, project: Path) -> None:
    ran, after = fixed(remit, project, b"caf\xe9 `src/app/cart.py:4` (total)\n")
    assert (ran.code, after) == (1, b"caf\xe9 `src/app/cart.py:4` (total)\n")


# What moved since it was written


def moved(project: Path, page: str, name: str = "docs/page.md") -> Path:
    """Commit a page about the cart, then rename the cart and add two lines at its top."""
    file = project / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(page)
    commit(project, "page")
    git(project, "mv", "src/app/cart.py", "src/app/basket.py")
    commit(project, "rename")
    basket = project / "src/app/basket.py"
    basket.write_text('"""The basket."""\n\n' + basket.read_text())
    commit(project, "describe")
    return file


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("`src/app/cart.py:31` (total)\n", "`src/app/basket.py:33` (total)\n"),
        ("`src/app/cart.py:4`\n", "`src/app/basket.py:6`\n"),
        ("`src/app/cart.py:4-6`\n", "`src/app/basket.py:6-8`\n"),
        ("See `src/app/cart.py`.\n", "See `src/app/basket.py`.\n"),
        ("See [the cart](../src/app/cart.py).\n", "See [the cart](../src/app/basket.py).\n"),
        ("See [the cart](../src/app/cart.py#L4).\n", "See [the cart](../src/app/basket.py#L6).\n"),
        (f"`src/app/cart.py:31`:\n{TOTAL}", f"`src/app/basket.py:33`:\n{TOTAL}"),
    ],
)
def test_what_moved_since_it_was_written_is_followed(remit: Remit, project: Path, before: str, after: str) -> None:
    file = moved(project, before)
    assert [one["outcome"] for one in outcomes(remit)] == ["outdated"]
    ran = remit("verify", "docs/page.md", "--fix", "--write")
    assert (file.read_text(), ran.code) == (after, 0)
    assert any(line.startswith("docs/page.md:1  fixed  ") for line in ran.lines)
    assert {one["outcome"] for one in outcomes(remit)} <= {"verified", "exists"}


def outcomes(remit: Remit) -> list[dict[str, str]]:
    report = remit("verify", "docs/page.md", "--format", "json").json
    found: list[dict[str, str]] = report["results"][0]["claims"]
    return found


@pytest.mark.parametrize(
    ("line", "after"),
    [
        pytest.param(3, "`is_open()` in `src/app/till.py:3`", id="the file only mentions the name"),
        pytest.param(40, "`is_open()` in `src/app/till.py:40`", id="a line far from the only mention"),
    ],
)
def test_a_name_does_not_move_to_a_line_that_only_mentions_it(
    line: int, after: str, remit: Remit, project: Path
) -> None:
    lines = ['"""The till.', *[""] * 18, "`is_open` is in another file.", '"""', *["x = 1"] * 30]
    (project / "src/app/till.py").write_text("\n".join(lines))
    ran, text = fixed(remit, project, f"`is_open()` in `src/app/till.py:{line}`\n")
    assert (text.decode(), ran.code) == (f"{after}\n", 0)
    assert "fixed" not in ran.out
    assert remit("verify", "doc.md", "--strict").code == 1


def test_a_name_whose_definition_was_removed_does_not_move_to_a_docstring(remit: Remit, project: Path) -> None:
    till = project / "src/app/till.py"
    body = ["def is_open():", "    return True", *["x = 1"] * 30]
    till.write_text("\n".join(['"""The till."""', *[""] * 19, *body]))
    (project / "page.md").write_text("`is_open()` in `src/app/till.py:21`\n")
    commit(project)
    till.write_text("\n".join(['"""The till.', "", "`is_open` was here.", '"""', *[""] * 30, *body[2:]]))
    commit(project)
    for _ in range(2):
        ran = remit("verify", "page.md", "--fix", "--write")
        assert (project / "page.md").read_text() == "`is_open()` in `src/app/till.py:21`\n"
        assert ran.lines[0].startswith("page.md:1  outdated  ")


def test_a_name_moves_to_its_definition_and_stays_there(remit: Remit, project: Path) -> None:
    till = project / "src/app/till.py"
    body = ["def is_open():", "    return True"]
    till.write_text("\n".join(['"""The till."""', *[""] * 19, *body]))
    (project / "page.md").write_text("`is_open()` in `src/app/till.py:21`\n")
    commit(project)
    till.write_text("\n".join(['"""The till. See `is_open`."""', *[""] * 9, "# is_open", *[""] * 39, *body]))
    commit(project)
    for runs in ("fixed", "verified"):
        remit("verify", "page.md", "--fix", "--write")
        assert (project / "page.md").read_text() == "`is_open()` in `src/app/till.py:51`\n", runs


def test_a_second_run_changes_nothing_of_what_moved(remit: Remit, project: Path) -> None:
    file = moved(project, "`src/app/cart.py:31` (total), `cart.py:4` and `src/app/none.py:1`\n")
    remit("verify", "docs/page.md", "--fix", "--write")
    once = file.read_text()
    ran = remit("verify", "docs/page.md", "--fix", "--write")
    assert "`src/app/basket.py:33` (total)" in once
    assert file.read_text() == once
    assert "fixed" not in ran.out


@pytest.mark.parametrize("how", ["staged", "disk", "folder", "after a commit"])
def test_a_rename_that_is_not_committed_is_followed(remit: Remit, project: Path, how: str) -> None:
    (project / "notes.md").write_text("See `src/shop/tax.py` and `src/shop/tax.py:2`.\n")
    (project / "src/shop").mkdir(parents=True)
    (project / "src/shop/tax.py").write_text("RATE = 19\n\n\ndef tax(sum):\n    return sum * RATE\n")
    commit(project, "Tax")
    new = "src/store/tax.py" if how == "folder" else "src/shop/levy.py"
    if how == "folder":
        git(project, "mv", "src/shop", "src/store")
    elif how == "disk":
        (project / "src/shop/tax.py").rename(project / new)
    elif how == "after a commit":
        git(project, "mv", "src/shop/tax.py", "src/shop/duty.py")
        commit(project, "Duty")
        git(project, "mv", "src/shop/duty.py", new)
    else:
        git(project, "mv", "src/shop/tax.py", new)
    ran = remit("verify", "notes.md", "--affected-by", "HEAD")
    assert (ran.code, ran.out.count(f"now at {new}")) == ((1, 2) if how != "after a commit" else (0, 0))
    assert remit("verify", "notes.md").out.count(f"now at {new}") == 2
    assert remit("verify", "notes.md", "--fix", "--write").code == 0
    assert (project / "notes.md").read_text() == f"See `{new}` and `{new}:2`.\n"


def test_two_untracked_files_with_the_content_of_one_that_is_gone_are_not_guessed(remit: Remit, project: Path) -> None:
    (project / "notes.md").write_text("See `src/tax.py`.\n")
    (project / "src/tax.py").write_text("RATE = 19\n")
    commit(project, "Tax")
    (project / "src/tax.py").rename(project / "src/levy.py")
    (project / "src/duty.py").write_text("RATE = 19\n")
    assert "now at" not in remit("verify", "notes.md").out


def test_a_path_that_was_written_from_the_folder_of_the_document_stays_so(remit: Remit, project: Path) -> None:
    file = moved(project, "See `app/cart.py` and `src/app/cart.py:4`.\n", "src/README.md")
    remit("verify", "src/README.md", "--fix", "--write")
    assert file.read_text() == "See `app/basket.py` and `src/app/basket.py:6`.\n"


def test_a_file_that_was_removed_has_no_new_location(remit: Remit, project: Path) -> None:
    (project / "page.md").write_text("`src/app/prices.py:4`\n")
    commit(project)
    git(project, "rm", "-q", "src/app/prices.py")
    commit(project)
    ran = remit("verify", "page.md", "--fix", "--write")
    assert (project / "page.md").read_text() == "`src/app/prices.py:4`\n"
    assert ran.lines[0].startswith("page.md:1  outdated  src/app/prices.py:4  true in ")


def test_a_quote_that_has_changed_keeps_its_location(remit: Remit, project: Path) -> None:
    file = moved(project, f"`src/app/cart.py:31`:\n{TOTAL}")
    basket = project / "src/app/basket.py"
    basket.write_text(basket.read_text().replace("sum(line.price", "max(line.cost"))
    commit(project)
    before = file.read_text()
    ran = remit("verify", "docs/page.md", "--fix", "--write")
    assert ran.code == 1
    assert file.read_text() == before
