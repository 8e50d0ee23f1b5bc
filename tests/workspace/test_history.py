"""The history answers for all failing claims of a document: dates, removed paths, changes and places of today."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit.workspace import history as history_module
from remit.workspace import history_git, past_files, safe_git
from remit.workspace.alignment import align_lines
from remit.workspace.commit import Commit
from remit.workspace.files import SourceFile, WorkTree
from remit.workspace.history import PROBLEMS, FileLine, Held, History, Removal
from remit.workspace.history_git import Gone, new_folder
from remit.workspace.safe_git import GitLimitReached

_SETTINGS = ("user.name=Someone", "user.email=someone@example.com", "protocol.file.allow=always", "core.autocrlf=false")
_CODE = [f"def function_{n}(): return {n}" for n in range(1, 41)]


class Checkout:
    """A folder under git whose commits are one day apart."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.day = 0
        root.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, ok: bool = True) -> str:
        """Run git as a person would, with the repository's own configuration."""
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        moment = f"2024-02-{self.day:02d}T23:30:00-0800" if self.day else ""
        dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment} if moment else {}
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=self.root,
            env=kept | dates | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=ok,
        )
        return done.stdout

    def write(self, path: str, *lines: str) -> None:
        """Write the lines of a file."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def commit(self) -> str:
        """Commit everything that is there; return the id of the commit."""
        self.day = min(self.day + 1, 28)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a commit")
        return self.head

    @property
    def head(self) -> str:
        """The id of the newest commit."""
        return self.git("rev-parse", "HEAD").strip()


Open = Callable[..., History]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """An empty repository."""
    return Checkout(tmp_path / "shop")


@pytest.fixture
def ask() -> Iterator[Open]:
    """Open the history of a folder; it is closed in the end."""
    opened: list[History] = []

    def open_history(root: Path) -> History:
        opened.append(History(WorkTree(root)))
        return opened[-1]

    yield open_history
    for history in opened:
        history.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that are started."""
    commands: list[str] = []
    start = safe_git.start_git

    def counted(root: str, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
        commands.append(next(word for word in arguments if not word.startswith("--literal")))
        return start(root, *arguments, **options)  # type: ignore[arg-type]

    for module in (history_git, past_files):
        monkeypatch.setattr(module, "start_git", counted)
    return commands


def _document(checkout: Checkout, *lines: str) -> str:
    checkout.write("docs/plan.md", *lines)
    return checkout.commit()


# Dates


def test_the_date_of_a_line_is_the_commit_that_last_changed_it(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one", "two", "three")
    second = _document(checkout, "one", "two changed", "three")
    third = _document(checkout, "zero", "one", "two changed", "three")
    history = ask(checkout.root)
    dates = history.dates("docs/plan.md", [1, 2, 3, 4])
    assert dates == {1: third, 2: first, 3: second, 4: first}
    assert history.problem == ""


def test_a_line_that_is_not_committed_has_no_date(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one", "two", "three")
    checkout.write("docs/plan.md", "new", "one", "two changed", "three")
    assert ask(checkout.root).dates("docs/plan.md", [1, 2, 3, 4]) == {1: None, 2: first, 3: None, 4: first}


def test_an_untracked_document_and_a_text_outside_have_no_dates(checkout: Checkout, ask: Open, tmp_path: Path) -> None:
    _document(checkout, "one")
    checkout.write("notes.md", "one")
    (tmp_path / "elsewhere.md").write_text("one\n")
    history = ask(checkout.root)
    assert history.dates("notes.md", [1]) == {1: None}
    assert history.dates(None, [1, 2]) == {1: None, 2: None}
    assert history.dates("../elsewhere.md", [1]) == {1: None}
    assert history.dates("docs", [1]) == {1: None}


def test_a_line_that_the_document_does_not_have_has_no_date(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one")
    assert ask(checkout.root).dates("docs/plan.md", [0, 1, 2, 99]) == {0: None, 1: first, 2: None, 99: None}


def test_the_dates_of_a_linked_document_are_those_of_its_target(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one")
    second = _document(checkout, "one", "two")
    (checkout.root / "PLAN.md").symlink_to("docs/plan.md")
    checkout.commit()
    assert ask(checkout.root).dates("PLAN.md", [1, 2]) == {1: first, 2: second}


def test_a_document_keeps_its_dates_when_it_is_renamed(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one", "two", "three")
    checkout.git("mv", "docs/plan.md", "docs/design.md")
    checkout.commit()
    assert ask(checkout.root).dates("docs/design.md", [2]) == {2: first}


def test_windows_line_ends_do_not_change_the_dates(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one", "two")
    (checkout.root / "docs/plan.md").write_bytes(b"one\r\ntwo\r\n")
    assert ask(checkout.root).dates("docs/plan.md", [1, 2]) == {1: first, 2: first}


def test_many_lines_are_dated_by_one_process(checkout: Checkout, ask: Open, started: list[str]) -> None:
    first = _document(checkout, *(f"line {n}" for n in range(2_000)))
    dates = ask(checkout.root).dates("docs/plan.md", range(1, 2_000, 2))
    assert set(dates.values()) == {first}
    assert started.count("blame") == 1


def test_dates_across_a_merge_are_the_commits_of_the_branch(checkout: Checkout, ask: Open) -> None:
    _document(checkout, "one", "", "", "", "", "two")
    checkout.git("checkout", "--quiet", "-b", "side")
    side = _document(checkout, "one", "", "", "", "", "two of the branch")
    checkout.git("checkout", "--quiet", "main")
    main = _document(checkout, "one of the main line", "", "", "", "", "two")
    checkout.git("merge", "--quiet", "--no-edit", "side")
    assert ask(checkout.root).dates("docs/plan.md", [1, 6]) == {1: main, 6: side}


# The files of a commit


def test_the_files_of_a_commit_are_those_of_the_past(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", "old")
    first = checkout.commit()
    checkout.write("src/app.py", "new")
    second = checkout.commit()
    history = ask(checkout.root)
    before, now = history.files_at(first), history.files_at(second[:12])
    assert before is not None
    assert now is not None
    old, new = before.read("src/app.py"), now.read("src/app.py")
    assert isinstance(old, SourceFile)
    assert isinstance(new, SourceFile)
    assert (old.text, new.text, old.path) == ("old\n", "new\n", "src/app.py")
    assert (history.parent(second), history.parent(first)) == (first, None)


@pytest.mark.parametrize("name", ["HEAD", "main", "--all", "0" * 40, "", "a\nb", "deadbeef", "beefbeef"])
def test_only_ids_of_commits_are_accepted(checkout: Checkout, ask: Open, name: str) -> None:
    checkout.write("a.py", "old")
    checkout.commit()
    checkout.git("branch", "beefbeef")
    history = ask(checkout.root)
    assert history.files_at(name) is None
    assert history.parent(name) is None
    assert history.describe(name) == (name[:7], "")


def test_a_commit_is_described_by_its_short_id_and_the_day_of_its_author(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one")
    assert ask(checkout.root).describe(first) == (first[:7], "2024-02-01")


def test_a_short_id_grows_until_it_is_unique(checkout: Checkout, ask: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [_document(checkout, f"text {n}") for n in range(20)]
    monkeypatch.setattr(history_module, "_SHORT_ID", 4)
    history = ask(checkout.root)
    every = checkout.git("rev-list", "--objects", "--all", "--no-object-names").split()
    for commit in ids:
        short, _ = history.describe(commit)
        assert [name for name in every if name.startswith(short)] == [commit]


# Removed and renamed paths


def test_a_removed_file_has_the_commit_that_removed_it(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.write("src/other.py", "x")
    kept = checkout.commit()
    checkout.git("rm", "--quiet", "src/app.py")
    gone = checkout.commit()
    _document(checkout, "later")
    history = ask(checkout.root)
    expected = Removal("src/app.py", gone, "2024-02-02", None, kept)
    assert history.removed(["src/app.py", "src/never.py"]) == {"src/app.py": expected}
    assert history.problem == ""


def test_a_renamed_file_has_its_name_of_today(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.commit()
    checkout.git("mv", "src/app.py", "src/main.py")
    checkout.write("src/main.py", *_CODE[:-2], "changed", "changed")
    renamed = checkout.commit()
    checkout.git("mv", "src/main.py", "src/start.py")
    checkout.commit()
    removal = ask(checkout.root).removed(["src/app.py"])["src/app.py"]
    assert (removal.commit, removal.renamed_to) == (renamed, "src/start.py")


def test_a_file_that_was_renamed_and_then_removed_has_no_name_of_today(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.commit()
    checkout.git("mv", "src/app.py", "src/main.py")
    renamed = checkout.commit()
    checkout.git("rm", "--quiet", "src/main.py")
    checkout.commit()
    removal = ask(checkout.root).removed(["src/app.py"])["src/app.py"]
    assert (removal.commit, removal.renamed_to) == (renamed, None)


def test_files_that_are_renamed_in_a_circle_end(checkout: Checkout, ask: Open) -> None:
    checkout.write("a.py", *_CODE)
    checkout.commit()
    for old, new in (("a.py", "b.py"), ("b.py", "a.py"), ("a.py", "b.py")):
        checkout.git("mv", old, new)
        checkout.commit()
    removal = ask(checkout.root).removed(["a.py"])["a.py"]
    assert (removal.commit, removal.renamed_to) == (checkout.head, "b.py")


def test_a_renamed_folder_moves_its_files_and_itself(checkout: Checkout, ask: Open) -> None:
    for name in ("a", "b", "c"):
        checkout.write(f"lib/core/{name}.py", name, *_CODE)
    checkout.commit()
    checkout.git("mv", "lib", "packages")
    renamed = checkout.commit()
    checkout.commit()
    checkout.commit()
    removed = ask(checkout.root).removed(["lib/core/b.py", "lib/core", "lib"])
    assert {path: removal.renamed_to for path, removal in removed.items()} == {
        "lib/core/b.py": "packages/core/b.py",
        "lib/core": "packages/core",
        "lib": "packages",
    }
    assert {removal.commit for removal in removed.values()} == {renamed}


def test_a_file_that_was_removed_twice_has_the_last_removal(checkout: Checkout, ask: Open) -> None:
    for _ in range(2):
        checkout.write("src/app.py", *_CODE)
        checkout.commit()
        checkout.git("rm", "--quiet", "src/app.py")
        checkout.commit()
    gone, written = checkout.git("rev-list", "--max-count=2", "HEAD").split()
    for _ in range(3):
        checkout.commit()
    removal = ask(checkout.root).removed(["src/app.py"])["src/app.py"]
    assert (removal.commit, removal.last_commit) == (gone, written)


def test_a_file_that_is_only_removed_in_the_work_tree_has_no_commit(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    newest = checkout.commit()
    (checkout.root / "src/app.py").unlink()
    checkout.write("src/here.py", "not removed")
    assert ask(checkout.root).removed(["src/app.py", "src/here.py", "src"]) == {
        "src/app.py": Removal("src/app.py", "", "", None, newest)
    }


def test_a_file_that_came_back_is_only_removed_in_the_work_tree(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.commit()
    checkout.git("rm", "--quiet", "src/app.py")
    checkout.commit()
    checkout.write("src/app.py", *_CODE)
    checkout.commit()
    (checkout.root / "src/app.py").unlink()
    assert ask(checkout.root).removed(["src/app.py"])["src/app.py"].commit == ""


def test_the_end_of_a_path_finds_the_only_path_of_the_history(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/shop/cart.py", "cart", *_CODE)
    checkout.write("src/shop/tax/rates.py", "rates", *_CODE)
    checkout.write("lib/tax/rates.py", "other rates", *_CODE[:9])
    checkout.write("docs/tools/rates.py", "rates of the docs")
    checkout.commit()
    checkout.git("rm", "-r", "--quiet", "src", "lib", "docs")
    checkout.commit()
    history = ask(checkout.root)
    removed = history.removed(["cart.py", "shop/cart.py", "art.py", "tax/rates.py"])
    assert {path: removal.path for path, removal in removed.items()} == {
        "cart.py": "src/shop/cart.py",
        "shop/cart.py": "src/shop/cart.py",
    }
    assert history.removed(["rates.py"]) == {}
    assert history.removed(["rates.py"], "docs/plan.md")["rates.py"].path == "docs/tools/rates.py"
    assert history.removed(["../lib/tax/rates.py"], "docs/plan.md")["../lib/tax/rates.py"].path == ("lib/tax/rates.py")


@pytest.mark.parametrize(
    "name",
    [
        "a b.py",
        'quo"te.py',
        "-rf.py",
        "--all",
        "new\nline.py",
        "tab\t.py",
        "ü.py",
        "*.py",
        ":(top)x.py",
        "ba\rck.py",
        "D",
    ],
)
def test_a_path_with_an_odd_name_is_found(checkout: Checkout, ask: Open, name: str) -> None:
    path = f"src/{name}"
    checkout.write(path, *_CODE)
    written = checkout.commit()
    checkout.git("mv", "--", path, "moved.py")
    renamed = checkout.commit()
    for _ in range(2):
        removal = ask(checkout.root).removed([path])[path]
        assert (removal.path, removal.commit, removal.renamed_to) == (path, renamed, "moved.py")
    history = ask(checkout.root)
    assert history.follow(path, 3, written) == FileLine("moved.py", 3)
    assert history.changed_in([Held(written, path, 3)]) == {Held(written, path, 3): renamed}


def test_an_odd_document_has_dates(checkout: Checkout, ask: Open) -> None:
    for name in ("-p.md", "a b.md", "new\nline.md", "*.md"):
        checkout.write(f"docs/{name}", "one")
        first = checkout.commit()
        assert ask(checkout.root).dates(f"docs/{name}", [1]) == {1: first}


@pytest.mark.parametrize("path", ["", "..", "../x", "./x", "a\0b", "/etc/passwd", "\ud800", ".git/config", "x" * 5_000])
def test_a_path_that_no_commit_can_have_is_not_found(checkout: Checkout, ask: Open, path: str) -> None:
    first = _document(checkout, "one")
    history = ask(checkout.root)
    assert history.removed([path], "docs/plan.md") == {}
    assert history.changed_in([Held(first, path, 1)]) == {Held(first, path, 1): ""}
    assert history.follow(path, 1, first) is None
    assert history.problem == ""


def test_a_file_that_a_merge_removes_has_the_merge(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "side")
    checkout.git("mv", "src/app.py", "src/main.py")
    checkout.commit()
    checkout.git("checkout", "--quiet", "main")
    checkout.write("other.py", "x")
    checkout.commit()
    checkout.git("merge", "--quiet", "--no-edit", "side")
    removal = ask(checkout.root).removed(["src/app.py"])["src/app.py"]
    assert (removal.commit, removal.renamed_to) == (checkout.head, "src/main.py")


def test_a_date_on_a_merged_branch_finds_the_removal_of_the_main_line(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.write("x.py", "x")
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "side")
    written = _document(checkout, "see src/app.py")
    checkout.git("checkout", "--quiet", "main")
    checkout.git("rm", "--quiet", "src/app.py")
    gone = checkout.commit()
    checkout.git("merge", "--quiet", "--no-edit", "side")
    history = ask(checkout.root)
    assert history.dates("docs/plan.md", [1]) == {1: written}
    assert history.removed(["src/app.py"])["src/app.py"].commit == gone


# What changed a claim, and where it is today


def test_a_line_is_followed_to_its_place_of_today(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    written = checkout.commit()
    checkout.write("src/app.py", "import os", "", *_CODE[:9], "def function_10(): return 0", *_CODE[12:])
    checkout.commit()
    history = ask(checkout.root)
    assert history.follow("src/app.py", 5, written) == FileLine("src/app.py", 7)
    assert history.follow("src/app.py", 10, written) is None
    assert history.follow("src/app.py", 13, written) == FileLine("src/app.py", 13)
    assert history.follow("src/app.py", 41, written) is None
    assert history.follow("src/app.py", 5, "0" * 40) is None


def test_a_line_is_followed_through_a_rename_and_an_edit_that_is_not_committed(checkout: Checkout, ask: Open) -> None:
    checkout.write("lib/app.py", *_CODE)
    written = checkout.commit()
    checkout.git("mv", "lib", "src")
    checkout.commit()
    checkout.write("src/app.py", "# new", *_CODE)
    assert ask(checkout.root).follow("lib/app.py", 5, written) == FileLine("src/app.py", 6)


def test_the_commit_that_changed_a_line_is_named(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    written = checkout.commit()
    changes: dict[int, str] = {}
    lines = list(_CODE)
    for number in (30, 7, 19, 2):
        lines[number - 1] = "changed"
        checkout.write("src/app.py", *lines)
        changes[number] = checkout.commit()
    lines[39] = "changed, not committed"
    checkout.write("src/app.py", *lines)
    held = {number: Held(written, "src/app.py", number) for number in (*changes, 40)}
    answers = ask(checkout.root).changed_in(held.values())
    assert {number: answers[claim] for number, claim in held.items()} == changes | {40: ""}


def test_a_range_is_changed_by_the_first_change_of_its_lines(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    written = checkout.commit()
    checkout.write("src/app.py", *_CODE[:11], "changed", *_CODE[12:])
    changed = checkout.commit()
    claim = Held(written, "src/app.py", 10, 14)
    assert ask(checkout.root).changed_in([claim]) == {claim: changed}


def test_a_name_holds_while_its_file_has_it(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    written = checkout.commit()
    checkout.write("src/app.py", "import os", *_CODE)
    checkout.commit()
    checkout.write("src/app.py", *(line.replace("function_5", "renamed") for line in _CODE))
    renamed = checkout.commit()
    checkout.write("src/app.py", "renamed")
    checkout.commit()
    claim = Held(written, "src/app.py", 5, name="function_5")
    answers = ask(checkout.root).changed_in([claim])
    assert answers == {claim: renamed}


def test_a_path_that_existed_is_changed_by_its_removal(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    written = checkout.commit()
    checkout.write("src/app.py", "changed")
    checkout.commit()
    checkout.git("rm", "--quiet", "src/app.py")
    gone = checkout.commit()
    claim = Held(written, "src/app.py")
    assert ask(checkout.root).changed_in([claim]) == {claim: gone}


def test_a_claim_of_a_merged_branch_is_changed_by_a_commit_of_the_main_line(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "side")
    written = _document(checkout, "src/app.py:30")
    checkout.git("checkout", "--quiet", "main")
    checkout.write("src/app.py", "import os", *_CODE)
    moved = checkout.commit()
    checkout.git("merge", "--quiet", "--no-edit", "side")
    checkout.write("src/app.py", "changed")
    checkout.commit()
    claim = Held(written, "src/app.py", 30)
    assert ask(checkout.root).changed_in([claim]) == {claim: moved}


def test_a_commit_of_another_branch_changes_nothing_but_is_followed(checkout: Checkout, ask: Open) -> None:
    checkout.write("src/app.py", *_CODE)
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "other")
    checkout.write("src/app.py", "first", *_CODE)
    other = checkout.commit()
    checkout.git("checkout", "--quiet", "main")
    history = ask(checkout.root)
    claim = Held(other, "src/app.py", 1)
    assert history.changed_in([claim]) == {claim: ""}
    assert history.follow("src/app.py", 2, other) == FileLine("src/app.py", 1)


# What the history cannot know


def test_a_shallow_clone_reports_that_history_is_missing(checkout: Checkout, ask: Open, tmp_path: Path) -> None:
    checkout.write("src/app.py", *_CODE)
    _document(checkout, "one")
    checkout.git("rm", "--quiet", "src/app.py")
    boundary = checkout.commit()
    newest = _document(checkout, "one", "two")
    source = f"file://{checkout.root}"
    subprocess.run(["git", "clone", "--quiet", "--depth=2", source, str(tmp_path / "clone")], check=True)
    history = ask(tmp_path / "clone")
    assert history.dates("docs/plan.md", [1, 2]) == {1: boundary, 2: newest}
    assert history.parent(boundary) is None
    assert history.removed(["src/app.py"]) == {}
    assert history.problem == "shallow"
    assert "shallow" in PROBLEMS[history.problem]


def test_with_a_revision_every_line_has_its_date_and_history_ends_there(checkout: Checkout) -> None:
    checkout.write("src/app.py", *_CODE)
    _document(checkout, "one")
    checkout.git("mv", "src/app.py", "src/main.py")
    renamed = checkout.commit()
    checkout.git("rm", "--quiet", "src/main.py")
    checkout.commit()
    commit = Commit(checkout.root, renamed)
    history = History(commit)
    assert history.dates("docs/plan.md", [1, 7]) == {1: renamed, 7: renamed}
    assert history.removed(["src/app.py"])["src/app.py"].renamed_to == "src/main.py"
    assert history.removed(["src/main.py"]) == {}, "the commit has it"
    assert history.problem == "revision"
    history.close()
    commit.close()


def test_a_folder_without_git_and_a_repository_without_a_commit_have_no_history(
    checkout: Checkout, ask: Open, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    for root, problem in ((tmp_path / "plain", "no-git"), (checkout.root, "no-commit")):
        history = ask(root)
        assert history.dates("a.md", [1]) == {1: None}
        assert history.removed(["a.py"]) == {}
        assert history.changed_in([Held("0" * 40, "a.py", 1)]) == {Held("0" * 40, "a.py", 1): ""}
        assert history.follow("a.py", 1, "0" * 40) is None
        assert history.files_at("0" * 40) is None
        assert history.problem == problem
    assert all(PROBLEMS[problem] for problem in PROBLEMS if problem)


def test_without_git_there_is_no_history(checkout: Checkout, ask: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    _document(checkout, "one")
    monkeypatch.setenv("PATH", str(checkout.root))
    history = ask(checkout.root)
    assert history.dates("docs/plan.md", [1]) == {1: None}
    assert history.problem == "no-git"


def test_a_pipe_among_the_objects_is_an_error(checkout: Checkout, ask: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_files, "HANGS_AFTER", 0.5)
    first = _document(checkout, "one")
    _document(checkout, "two")
    name = checkout.git("rev-parse", f"{first}:docs/plan.md").strip()
    place = checkout.root / ".git/objects" / name[:2] / name[2:]
    place.unlink()
    os.mkfifo(place)
    files = ask(checkout.root).files_at(first)
    assert files is not None
    with pytest.raises(GitLimitReached, match=r"longer than 0\.5 seconds"):
        files.read("docs/plan.md")


def test_a_repository_that_lacks_an_object_is_reported(checkout: Checkout, ask: Open) -> None:
    first = _document(checkout, "one")
    tree = checkout.git("rev-parse", f"{first}:docs").strip()
    (checkout.root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    history = ask(checkout.root)
    files = history.files_at(first)
    assert files is not None
    assert not isinstance(files.read("docs/plan.md"), SourceFile)
    assert history.problem == "failed"


# Parts of a repository


def test_paths_are_relative_to_a_workspace_that_is_a_part_of_the_repository(checkout: Checkout, ask: Open) -> None:
    checkout.write("packages/shop/src/app.py", *_CODE)
    checkout.write("packages/shop/docs/plan.md", "one")
    checkout.write("packages/other/src/gone.py", *_CODE[:20])
    written = checkout.commit()
    checkout.git("mv", "packages/shop/src/app.py", "packages/shop/src/main.py")
    checkout.git("rm", "--quiet", "packages/other/src/gone.py")
    renamed = checkout.commit()
    history = ask(checkout.root / "packages/shop")
    assert history.dates("docs/plan.md", [1]) == {1: written}
    removal = history.removed(["src/app.py", "src/gone.py", "other/src/gone.py"])
    assert {path: answer.renamed_to for path, answer in removal.items()} == {"src/app.py": "src/main.py"}
    assert history.follow("src/app.py", 5, written) == FileLine("src/main.py", 5)
    assert history.changed_in([Held(written, "src/app.py", 5)]) == {Held(written, "src/app.py", 5): renamed}
    files = history.files_at(written)
    assert files is not None
    assert files.paths == ["docs/plan.md", "src/app.py"]
    assert not files.exists("../other/src/gone.py")


def test_the_name_of_a_part_is_not_a_pattern(checkout: Checkout, ask: Open) -> None:
    for part in (":(icase)shop", "shop"):
        checkout.write(f"{part}/kept.py", "kept")
        checkout.write(f"{part}/gone_from_{len(part)}.py", part, *_CODE)
    checkout.commit()
    for gone in checkout.root.rglob("gone_*.py"):
        gone.unlink()
    for _ in range(4):
        checkout.commit()
    history = ask(checkout.root / ":(icase)shop")
    assert list(history.removed(["gone_from_12.py", "gone_from_4.py"])) == ["gone_from_12.py"]


def test_a_linked_work_tree_has_the_history_of_its_repository(checkout: Checkout, ask: Open, tmp_path: Path) -> None:
    first = _document(checkout, "one")
    checkout.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "HEAD")
    assert ask(tmp_path / "linked").dates("docs/plan.md", [1]) == {1: first}


def test_a_repository_with_sha256_ids_has_a_history(ask: Open, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", "--object-format=sha256", str(root)], check=True)
    checkout = Checkout(root)
    checkout.write("src/a.py", "first of the folder")
    checkout.write("src/app.py", *_CODE)
    first = _document(checkout, "one")
    checkout.git("mv", "src/app.py", "src/main.py")
    renamed = checkout.commit()
    history = ask(root)
    assert history.dates("docs/plan.md", [1]) == {1: first}
    assert history.removed(["src/app.py"])["src/app.py"].commit == renamed
    assert history.follow("src/app.py", 5, first) == FileLine("src/main.py", 5)


# Hostile repositories


@pytest.fixture
def trapped(checkout: Checkout, tmp_path: Path) -> tuple[Checkout, Path]:
    """A checkout whose configuration makes git run a script, and the file that this script writes."""
    marker, script = tmp_path / "MARKER", tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\necho ran >> '{marker}'\ncat\nexit 0\n")
    script.chmod(0o755)
    checkout.write("src/app.py", *_CODE)
    _document(checkout, "one", "two")
    checkout.git("mv", "src/app.py", "src/main.py")
    _document(checkout, "one", "changed")
    checkout.write(".git/info/attributes", "* diff=mine filter=mine")
    for key in ("diff.external", "diff.mine.command", "diff.mine.textconv", "filter.mine.clean", "filter.mine.smudge"):
        checkout.git("config", key, str(script))
    checkout.git("config", "filter.mine.process", str(script))
    checkout.git("config", "core.fsmonitor", str(script))
    checkout.git("config", "core.pager", str(script))
    checkout.git("config", "gpg.program", str(script))
    checkout.git("config", "log.showSignature", "true")
    checkout.write("docs/plan.md", "one", "changed", "new")
    return checkout, marker


def test_the_configuration_of_a_repository_runs_nothing(trapped: tuple[Checkout, Path], ask: Open) -> None:
    checkout, marker = trapped
    history = ask(checkout.root)
    newest, first = checkout.git("rev-list", "HEAD").split()
    marker.unlink(missing_ok=True)
    assert history.dates("docs/plan.md", [1, 2, 3]) == {1: first, 2: newest, 3: None}
    assert history.removed(["src/app.py", "src/never.py"])["src/app.py"].renamed_to == "src/main.py"
    assert history.follow("src/app.py", 3, first) == FileLine("src/main.py", 3)
    assert history.changed_in([Held(first, "src/app.py", 3)]) == {Held(first, "src/app.py", 3): newest}
    assert not marker.exists(), "a script was run"
    for command in (("blame", "docs/plan.md"), ("status",), ("diff",)):
        marker.unlink(missing_ok=True)
        checkout.git(*command, ok=False)
        assert marker.exists(), f"plain git {command[0]} does not run the script, so this proves nothing"


def test_a_partial_clone_fetches_nothing_and_reports_what_is_missing(
    checkout: Checkout, ask: Open, tmp_path: Path
) -> None:
    checkout.git("config", "uploadpack.allowFilter", "true")
    checkout.write("src/app.py", *_CODE)
    _document(checkout, "one")
    checkout.write("old.txt", "nothing is the same", *_CODE[:4])
    written = checkout.commit()
    checkout.git("mv", "src/app.py", "src/main.py")
    checkout.git("rm", "--quiet", "old.txt")
    checkout.write("new.txt", "nothing is the same", *_CODE[:3])
    renamed = checkout.commit()
    newest = _document(checkout, "one", "two")
    clone, source = tmp_path / "clone", f"file://{checkout.root}"
    subprocess.run(["git", "clone", "--quiet", "--filter=blob:none", source, str(clone)], check=True)
    before = sorted(path.name for path in (clone / ".git/objects").rglob("*") if path.is_file())
    history = ask(clone)
    removal = history.removed(["src/app.py"])["src/app.py"]
    assert (removal.commit, removal.renamed_to) == (renamed, "src/main.py")
    assert history.removed(["old.txt"])["old.txt"].commit == renamed
    files = history.files_at(written)
    assert files is not None
    assert not isinstance(files.read("old.txt"), SourceFile)
    assert isinstance(history.files_at(newest).read("src/main.py"), SourceFile)  # type: ignore[union-attr]
    assert history.dates("docs/plan.md", [1, 2])[1] is None
    assert history.problem == "partial"
    assert sorted(path.name for path in (clone / ".git/objects").rglob("*") if path.is_file()) == before


def test_a_clone_without_trees_answers_nothing_wrong(checkout: Checkout, ask: Open, tmp_path: Path) -> None:
    checkout.git("config", "uploadpack.allowFilter", "true")
    checkout.write("src/app.py", *_CODE)
    _document(checkout, "one")
    checkout.git("rm", "--quiet", "src/app.py")
    checkout.commit()
    _document(checkout, "one", "two")
    clone, source = tmp_path / "clone", f"file://{checkout.root}"
    subprocess.run(["git", "clone", "--quiet", "--filter=tree:0", source, str(clone)], check=True)
    history = ask(clone)
    assert history.removed(["src/app.py"]) == {}
    assert history.problem == "partial"


# Cost


def test_two_hundred_claims_cost_a_few_processes(checkout: Checkout, ask: Open, started: list[str]) -> None:
    for n in range(100):
        checkout.write(f"src/kept_{n}.py", f"only {n}", *_CODE)
        checkout.write(f"src/gone_{n}.py", f"also {n}", *_CODE)
    checkout.commit()
    lines: list[str] = []
    for batch in range(20):
        lines += [f"claim {batch} {n}" for n in range(10)]
        _document(checkout, *lines)
    for n in range(100):
        checkout.write(f"src/kept_{n}.py", "new", f"only {n}", *_CODE)
    checkout.git("mv", "src/gone_0.py", "src/moved_0.py")
    checkout.git("rm", "--quiet", *(f"src/gone_{n}.py" for n in range(1, 100)))
    changed = checkout.commit()

    history = ask(checkout.root)
    dates = history.dates("docs/plan.md", range(1, 201))
    assert len(set(dates.values())) == 20
    held = [Held(dates[n + 1] or "", f"src/kept_{n}.py", 5) for n in range(100)]
    for claim in held:
        files, parent = history.files_at(claim.commit), history.parent(claim.commit)
        assert files is not None
        assert parent is not None
        assert files.exists(claim.path)
        assert files.index.ending_with(claim.path) == [claim.path]
    missing = {f"src/gone_{n}.py": dates[n + 101] for n in range(100)} | {f"src/never_{n}.py": None for n in range(100)}
    removed = history.removed(missing, "docs/plan.md")
    assert {removal.commit for removal in removed.values()} == {changed}
    assert len(removed) == 100
    assert set(history.changed_in(held).values()) == {changed}
    assert [history.follow(claim.path, 5, claim.commit) for claim in held] == [
        FileLine(claim.path, 6) for claim in held
    ]
    assert history.follow("src/gone_0.py", 5, held[0].commit) == FileLine("src/moved_0.py", 5)
    assert history.problem == ""
    assert len(started) <= 10, started


def test_lines_of_many_renamed_files_are_followed_with_a_few_processes(
    checkout: Checkout, ask: Open, started: list[str]
) -> None:
    for n in range(40):
        checkout.write(f"lib/file_{n}.py", f"only {n}", *_CODE)
    written = checkout.commit()
    checkout.git("mv", "lib", "src")
    renamed = checkout.commit()
    history = ask(checkout.root)
    held = [Held(written, f"lib/file_{n}.py", 5) for n in range(40)]
    assert set(history.changed_in(held).values()) == {renamed}
    for claim in held:
        assert history.follow(claim.path, 5, written) == FileLine(claim.path.replace("lib", "src"), 5)
        assert history.removed([claim.path], "docs/plan.md")[claim.path].commit == renamed
    assert len(started) <= 6, started


def test_a_closed_history_leaves_no_process(checkout: Checkout) -> None:
    first = _document(checkout, "one")
    history = History(WorkTree(checkout.root))
    assert history.files_at(first) is not None
    assert history.describe(first)[0]
    history.close()
    assert history.problem == ""
    running = [
        line
        for process in Path("/proc").glob("[0-9]*/cmdline")
        if b"git" in (line := _command_line(process)) and os.fsencode(checkout.root) in line
    ]
    assert running == []


def _command_line(process: Path) -> bytes:
    try:
        return process.read_bytes()
    except OSError:
        return b""


# Alignment


def test_equal_lines_are_aligned_by_what_is_around_them() -> None:
    old = ["a", "{", "x", "}", "b", "{", "y", "}"]
    new = ["b", "{", "y", "}", "c", "{", "z", "}", "end"]
    assert align_lines(old, new) == {4: 0, 5: 1, 6: 2, 7: 3}


def test_a_moved_block_keeps_the_longest_part_in_order() -> None:
    old = [str(n) for n in range(20)]
    new = [*old[15:], *old[:15]]
    assert align_lines(old, new) == {n: n + 5 for n in range(15)}


def test_lines_without_an_anchor_are_aligned_in_small_gaps() -> None:
    assert align_lines(["x", "x", "y", "y"], ["z", "x", "x", "w", "y", "y", "z"]) == {0: 1, 1: 2, 2: 4, 3: 5}


def test_a_long_text_with_changes_at_both_ends_is_aligned() -> None:
    old = [f"line {n}" if n % 3 else "}" for n in range(300)]
    new = ["first", *old[1:150], "middle", *old[151:299], "last"]
    assert align_lines(old, new) == {n: n for n in range(1, 299) if n != 150}


def test_an_alignment_is_increasing_and_only_of_equal_lines() -> None:
    old = [str(n * n % 17) for n in range(300)]
    new = [str(n * n % 19) for n in range(300)]
    same = align_lines(old, new)
    assert all(old[before] == new[after] for before, after in same.items())
    after = [same[before] for before in sorted(same)]
    assert after == sorted(set(after))


def test_a_long_file_without_changes_is_aligned() -> None:
    text = [str(n % 7) for n in range(300_000)]
    assert len(align_lines(text, [*text, "end"])) == 300_000


@pytest.mark.parametrize(
    ("renamed", "folder"),
    [
        ({"till/a.py": "shop/till/a.py", "till/keys/b.py": "shop/till/keys/b.py"}, "shop/till"),
        ({"till/a.py": "shop/a.py", "till/b.py": "shop/b.py", "till/c.png": "assets/till/c.png"}, "shop"),
        ({"till/a.py": "core/src/till/a2.py", "till/docs/c.png": "core/assets/docs/c.png"}, None),
        ({"tills/a.py": "shop/a.py"}, None),
    ],
)
def test_a_folder_is_renamed_if_most_of_its_files_moved_to_one_other(
    renamed: dict[str, str], folder: str | None
) -> None:
    gone = {old: Gone("1", new) for old, new in renamed.items()}
    assert new_folder(gone, "till", "1") == folder


def test_what_is_older_than_the_commits_that_are_read_is_not_known_and_said(
    checkout: Checkout, ask: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_git, "MAX_COMMITS", 3)
    checkout.write("src/old.py", *_CODE)
    checkout.write("src/new.py", "new", *_CODE)
    _document(checkout, "old")
    checkout.git("rm", "--quiet", "src/old.py")
    checkout.commit()
    for number in range(2):
        checkout.write("x.py", str(number))
        checkout.commit()
    checkout.git("rm", "--quiet", "src/new.py")
    gone = _document(checkout, "old", "new")
    history = ask(checkout.root)
    assert {path: one.commit for path, one in history.removed(["src/old.py", "src/new.py"]).items()} == {
        "src/new.py": gone
    }
    assert history.dates("docs/plan.md", [1, 2]) == {1: None, 2: gone}
    assert history.problem == "limit"


def test_a_log_that_prints_too_much_is_read_as_far_as_its_commits_are_complete(
    checkout: Checkout, ask: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_git, "_MAX_OUTPUT", 120)
    checkout.write("src/old.py", *_CODE)
    checkout.write("src/new.py", "new", *_CODE)
    _document(checkout, "old")
    checkout.git("rm", "--quiet", "src/old.py")
    checkout.commit()
    checkout.git("rm", "--quiet", "src/new.py")
    gone = _document(checkout, "old", "new")
    history = ask(checkout.root)
    assert {path: one.commit for path, one in history.removed(["src/old.py", "src/new.py"]).items()} == {
        "src/new.py": gone
    }
    assert history.problem == "limit"
