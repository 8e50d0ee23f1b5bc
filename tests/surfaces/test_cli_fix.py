"""`remit verify --fix` corrects a reference where exactly one location can be meant, and nothing else."""

from __future__ import annotations

import re
import stat
import textwrap
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from support.in_process import Ran, Remit, command_runner
from support.verify_commands import AUDIT, TOTAL, commit, git, make_project

from remit.reports.shapes import check_schema


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
    ran = remit("verify", "doc.md", "--fix", "--full-paths", "--write", *more)
    return ran, file.read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("`src/app/cart.py:4` (total)\n", "`src/app/cart.py:31` (total)\n"),
        ("See src/app/cart.py#L4 (total).\n", "See src/app/cart.py#L31 (total).\n"),
        ("`src/app/cart.py:4-5` (total)\n", "`src/app/cart.py:31-32` (total)\n"),
        ("`src/app/Cart.py:4`\n", "`src/app/cart.py:4`\n"),
        ("`cart.py:4` and `app/prices.py:4-5`\n", "`src/app/cart.py:4` and `src/app/prices.py:4-5`\n"),
        ("`.../cart.py:4`, line 5 of cart.py\n", "`src/app/cart.py:4`, line 5 of src/app/cart.py\n"),
        ("`cart.py:4` (total)\n", "`src/app/cart.py:31` (total)\n"),
        ("[`cart.py:4`](cart.py#L4) adds.\n", "[`cart.py:4`](src/app/cart.py#L4) adds.\n"),
        ("| File | Line |\n|---|---|\n| cart.py | 4 |\n", "| File | Line |\n|---|---|\n| src/app/cart.py | 4 |\n"),
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


def test_a_short_path_that_holds_stays_unless_full_paths_are_wanted(remit: Remit, project: Path) -> None:
    text = "`cart.py:31` (total), `app/prices.py` and [the cart](src/app/cart.py#L4); `src/app/cart.py:4` (total)\n"
    (project / "doc.md").write_text(text)
    ran = remit("verify", "doc.md", "--fix", "--write")
    assert ran.out.count("  fixed  ") == 1
    assert (project / "doc.md").read_text() == text.replace("`src/app/cart.py:4`", "`src/app/cart.py:31`")
    assert "--full-paths completes what --fix writes" in remit("verify", "doc.md", "--full-paths").err
    assert "`src/app/cart.py:31` (total), `src/app/prices.py` and" in fixed(remit, project, text)[1].decode()


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


def test_a_path_that_several_files_end_with_stays(remit: Remit, project: Path) -> None:
    (project / "src/web").mkdir()
    (project / "src/web/cart.py").write_text("x = 1\n" * 50)
    ran, after = fixed(remit, project, "`cart.py:4`\n")
    assert after == b"`cart.py:4`\n"
    assert "ambiguous" in ran.out


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


def test_a_readme_is_about_the_files_of_its_folder(remit: Remit, project: Path) -> None:
    for file in ("apps/book/app/page.tsx", "apps/help/site/pages/index.tsx", "apps/help/README.md"):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text("`app/page.tsx` and `pages/index.tsx`\n")
    remit("verify", "apps/help/README.md", "--fix", "--full-paths", "--write")
    text = (project / "apps/help/README.md").read_text()
    assert text == "`app/page.tsx` and `apps/help/site/pages/index.tsx`\n"


def test_a_folder_is_completed_only_if_no_other_one_has_its_name(remit: Remit, project: Path) -> None:
    (project / "src/till/keys").mkdir(parents=True)
    (project / "src/till/keys/key.py").write_text("x = 1\n")
    text = "The keys are in `./keys/`.\n"
    assert fixed(remit, project, text)[1].decode() == "The keys are in `src/till/keys/`.\n"
    (project / "web/keys").mkdir(parents=True)
    (project / "web/keys/key.ts").write_text("x = 1\n")
    assert fixed(remit, project, text)[1].decode() == text


@pytest.mark.parametrize("text", ["`OrderStore:4`", "(OrderStore:4)", "Run `docker run OrderStore:4`, OrderStore:4"])
def test_a_class_in_place_of_its_file_stays(text: str, remit: Remit, project: Path) -> None:
    (project / "src/OrderStore.ts").write_text("let x = 1;\n" * 50)
    assert fixed(remit, project, f"{text}\n")[1].decode() == f"{text}\n"
    assert fixed(remit, project, "`OrderStore.ts:4`\n")[1] == b"`src/OrderStore.ts:4`\n"


def test_the_target_of_a_link_stays_relative_to_the_document(remit: Remit, project: Path) -> None:
    (project / "docs").mkdir()
    (project / "docs/page.md").write_text("[x](cart.py#L4) and `cart.py:5`\n")
    assert remit("verify", "docs/page.md", "--fix", "--full-paths", "--write").code == 0
    text = (project / "docs/page.md").read_text()
    assert text == "[x](../src/app/cart.py#L4) and `src/app/cart.py:5`\n"


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
    jsonschema.validate(ran.json, check_schema())


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
    assert (text.decode(), ran.code) == (f"{after}\n", 1)
    assert "fixed" not in ran.out


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


@pytest.mark.parametrize("text", ["# Plan: one cart\n\nSplit {}.\n", "{} was removed from the shop.\n"])
def test_a_record_of_the_past_keeps_its_places(remit: Remit, project: Path, text: str) -> None:
    before = text.format("`src/app/cart.py:31` (total)")
    file = moved(project, before)
    remit("verify", "docs/page.md", "--fix", "--write")
    assert file.read_text() == before


def test_a_short_path_does_not_become_another_file_than_was_meant(remit: Remit, project: Path) -> None:
    for path in ("src/lock.py", "web/src/lock.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(f"# {path}\nopened = {len(path)}\n")
    commit(project, "locks")
    file = project / "page.md"
    file.write_text("See `src/lock.py` and `src/app/till.py:900`.\n")
    commit(project, "page")
    (project / "src/doors").mkdir()
    git(project, "mv", "src/lock.py", "src/doors/lock.py")
    commit(project, "move")
    remit("verify", "page.md", "--fix", "--write")
    assert "web/" not in file.read_text()


def test_one_run_corrects_what_an_earlier_correction_makes_clear(remit: Remit, project: Path) -> None:
    for folder in ("old", "web"):
        (project / folder).mkdir()
        (project / folder / "door.py").write_text("\n".join(f"{folder} = {line}" for line in range(9)))
    file = project / "page.md"
    file.write_text("`old/door.py` opens, at `door.py:4`.\n")
    commit(project, "doors")
    git(project, "mv", "old", "new")
    commit(project, "move")
    remit("verify", "page.md", "--fix", "--full-paths", "--write")
    assert file.read_text() == "`new/door.py` opens, at `new/door.py:4`.\n"


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


# Renamed symbols

USERS = '''"""Users."""

import os


def save_user(db, user):
    """Store a user under its key."""
    db.put(user.key, user)
    return user


def load_user(db, key):
    """Load a user."""
    row = db.get(key)
    if row is None:
        raise KeyError(key)
    return row


class UserStore:
    def row_total(self):
        return len(self.rows) + len(self.cached_rows)


ROW_LIMIT = 10
print(ROW_LIMIT)
'''


def renamed(project: Path, page: str, change: Callable[[str], dict[str, str]]) -> Path:
    """Commit a page about users, then what a change makes of them: the files to write, empty ones are removed."""
    users = project / "src/users.py"
    users.write_text(USERS)
    file = project / "docs/page.md"
    file.parent.mkdir()
    file.write_text(page)
    commit(project, "page")
    users.unlink()
    for path, text in change(USERS).items():
        (project / path).write_text(text)
    git(project, "add", "-A")
    commit(project, "Rename the users")
    return file


def swapped(*pairs: tuple[str, str], path: str = "src/users.py", top: str = "") -> Callable[[str], dict[str, str]]:
    """Return a change that replaces words, writes lines above, and may move the file."""

    def change(text: str) -> dict[str, str]:
        for old, new in pairs:
            text = text.replace(old, new)
        return {path: top + text}

    return change


FETCH = ("load_user", "fetch_user")


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        pytest.param("`load_user()` in `src/users.py`", swapped(FETCH), "`fetch_user()` in `src/users.py`", id="name"),
        pytest.param(
            "`load_user` (`src/users.py:12`)",
            swapped(FETCH, top="x = 1\n"),
            "`fetch_user` (`src/users.py:13`)",
            id="line",
        ),
        pytest.param(
            "[load_user](../src/users.py#L12)",
            swapped(FETCH),
            "[fetch_user](../src/users.py#L12)",
            id="label of a link",
        ),
        pytest.param(
            "| Symbol | Location |\n|---|---|\n| `load_user` | src/users.py:12 |",
            swapped(FETCH),
            "| Symbol | Location |\n|---|---|\n| `fetch_user` | src/users.py:12 |",
            id="table",
        ),
        pytest.param(
            "`load_user` in `src/users.py:12`",
            swapped(FETCH, path="src/people.py"),
            "`fetch_user` in `src/people.py:12`",
            id="with its file",
        ),
        pytest.param(
            "`load_user` in `src/users.py:12`",
            lambda text: {
                "src/users.py": text[: text.index("def load")] + text[text.index("class ") :],
                "src/app/store.py": "import os\n\n\n"
                + text[text.index("def load") : text.index("class ")].replace(*FETCH).replace("row", "found"),
            },
            "`fetch_user` in `src/app/store.py:4`",
            id="into another file, with another body",
        ),
        pytest.param(
            "`UserStore` (`src/users.py`) has `UserStore.row_total` in `src/users.py:21`",
            swapped(("UserStore", "UserRows"), ("row_total", "row_count")),
            "`UserRows` (`src/users.py`) has `UserRows.row_count` in `src/users.py:21`",
            id="class and method",
        ),
        pytest.param(
            "`ROW_LIMIT` in `src/users.py`",
            swapped(("ROW_LIMIT", "MAX_ROWS")),
            "`MAX_ROWS` in `src/users.py`",
            id="constant with its uses",
        ),
    ],
)
def test_a_renamed_symbol_is_followed(
    before: str, change: Callable[[str], dict[str, str]], after: str, remit: Remit, project: Path
) -> None:
    file = renamed(project, f"{before}\n", change)
    affected = remit("verify", "--affected-by", "HEAD~1")
    assert (affected.code, '"Rename the users"; now `' in affected.out) == (1, True)
    for runs in ("fixed", "again"):
        ran = remit("verify", "docs/page.md", "--fix", "--write")
        assert (file.read_text(), ran.code) == (f"{after}\n", 0), runs


LOAD = USERS[USERS.index("def load") : USERS.index("class ")]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda text: {
                "src/users.py": text.replace(LOAD, LOAD.replace("load_user", "fetch_user"))
                + LOAD.replace("load_user", "read_user")
            },
            id="two that may be meant",
        ),
        pytest.param(
            lambda text: {"src/users.py": text.replace(LOAD, "def drop_user(db, key):\n    db.delete(key)\n\n\n")},
            id="replaced by something else",
        ),
        pytest.param(
            lambda text: {"src/users.py": text.replace(*FETCH), "src/app/old.py": "load_user = None\n"},
            id="the old name is still there",
        ),
        pytest.param(lambda text: {"src/users.py": text.replace(LOAD, "")}, id="removed"),
        pytest.param(
            lambda text: {
                "src/users.py": text.replace(
                    LOAD,
                    "def reader(words):\n"
                    + textwrap.indent(LOAD.replace("load_user", "read"), "    ")
                    + "    return read\n\n\n",
                )
            },
            id="moved into a function that makes it",
        ),
    ],
)
def test_a_symbol_that_was_not_clearly_renamed_stays(
    change: Callable[[str], dict[str, str]], remit: Remit, project: Path
) -> None:
    page = "`load_user` in `src/users.py`\n"
    file = renamed(project, page, change)
    ran = remit("verify", "docs/page.md", "--fix", "--write")
    assert file.read_text() == page
    assert ran.lines[0].startswith(
        "docs/page.md:1  outdated  src/users.py  `load_user` is no longer in src/users.py: true in "
    )
    assert '"Rename the users"' in ran.lines[0]


def test_a_whole_path_that_was_renamed_is_not_the_end_of_another_one(remit: Remit, project: Path) -> None:
    for path in ("src/lock.py", "web/src/lock.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(f"# {path}\nopened = {len(path)}\n")
    file = project / "page.md"
    file.write_text("See `src/lock.py:2`.\n")
    commit(project, "locks")
    (project / "src/doors").mkdir()
    git(project, "mv", "src/lock.py", "src/doors/lock.py")
    commit(project, "Move the lock")
    affected = remit("verify", "--affected-by", "HEAD~1")
    assert (affected.code, "src/doors/lock.py:2" in affected.out) == (1, True)
    assert remit("verify", "page.md", "--fix", "--write").code == 0
    assert file.read_text() == "See `src/doors/lock.py:2`.\n"
