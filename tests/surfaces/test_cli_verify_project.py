"""`remit verify` without a file, `--affected-by`, anchors, and `--fix` with its question."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.in_process import Remit, command_runner
from support.verify_commands import commit, git

CART = "LIMIT = 20\n\n\ndef add(cart, line):\n    cart.append(line)\n\n\ndef total(cart):\n    return sum(cart)\n"
GUIDE = "# Guide\n\n## Set up\n\nThe sum is made by `total()` in `src/cart.py:8`. See [the code](../src/cart.py).\n"
AGENTS = "# For assistants\n\nRead [the guide](docs/guide.md#set-up) first; `add()` is in `src/cart.py:4`.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "shop"
    write(root, "src/cart.py", CART)
    write(root, "docs/guide.md", GUIDE)
    write(root, "AGENTS.md", AGENTS)
    write(root, "CHANGELOG.md", "- `src/gone.py:3` was removed\n")
    write(root, "node_modules/lib/README.md", "`src/none.py:3`\n")
    git(root, "init", "-q", "-b", "main")
    commit(root, "Sell things")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def remit(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_the_documents_of_a_project_are_those_that_people_and_assistants_read(remit: Remit, project: Path) -> None:
    ran = remit("verify", "--format", "json")
    assert [result["path"] for result in ran.json["results"]] == ["AGENTS.md", "docs/guide.md"]
    assert ran.code == 0


def test_a_project_can_choose_its_documents(remit: Remit, project: Path) -> None:
    write(project, "remit.toml", '[verify]\nexclude = ["docs/**"]\n')
    assert [result["path"] for result in remit("verify", "--format", "json").json["results"]] == ["AGENTS.md"]
    write(project, "remit.toml", '[verify]\ndocuments = ["CHANGELOG.md"]\n')
    assert [result["path"] for result in remit("verify", "--format", "json").json["results"]] == ["CHANGELOG.md"]


def test_a_folder_without_git_needs_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = command_runner(monkeypatch, capsys)("verify")
    assert ran.code == 2
    assert "without a FILE" in ran.err


def test_a_stale_instruction_names_the_commit_that_made_it_false(remit: Remit, project: Path) -> None:
    git(project, "mv", "src/cart.py", "src/basket.py")
    commit(project, "Rename carts to baskets")
    ran = remit("verify")
    assert ran.code == 1
    assert "renamed in" in ran.out
    assert '"Rename carts to baskets"; now at src/basket.py:4' in ran.words
    assert "2 documents, 2 with failures" in ran.out


FORMATS = ("text", "github", "markdown", "sarif", "json")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("words", [(), ("--affected-by", "HEAD~1")], ids=["project", "change"])
def test_an_outdated_claim_states_the_name_that_is_gone_in_every_format(
    remit: Remit, project: Path, form: str, words: tuple[str, ...]
) -> None:
    write(project, "AGENTS.md", "# A\n\nSums are made with `total` in `src/cart.py`.\n")
    commit(project, "Explain sums")
    write(project, "src/cart.py", CART.replace("def total", "def whole").replace("sum(cart)", "len(cart) + LIMIT"))
    commit(project, "Count lines")
    ran = remit("verify", *words, "--format", form)
    assert ran.code == 1
    assert "`total` is no longer in src/cart.py: true in" in " ".join(ran.out.replace("'", "`").split())


def test_an_outdated_claim_states_the_name_that_moved(remit: Remit, project: Path) -> None:
    write(project, "src/cart.py", CART.replace("def add", "\n" * 30 + "def add").replace("(cart, line)", "(c, line)"))
    commit(project, "Move it")
    ran = remit("verify", "AGENTS.md")
    assert "`add` is no longer at line 4: true in" in ran.words


def test_a_line_past_the_end_states_the_name_that_the_file_lacks(remit: Remit, project: Path) -> None:
    write(project, "notes.md", "`refund()` is in `src/cart.py:90`.\n")
    assert "the file has 9 lines; `refund` does not occur in it" in remit("verify", "notes.md").words


@pytest.mark.parametrize(("length", "end"), [(72, '"; now'), (73, '…"; now')])
def test_a_cut_subject_ends_with_a_mark(remit: Remit, project: Path, length: int, end: str) -> None:
    git(project, "mv", "src/cart.py", "src/basket.py")
    commit(project, "R" * length)
    assert f"{'R' * (72 if length == 72 else 71)}{end}" in remit("verify").words


def test_an_anchor_of_a_page_made_of_docstrings_is_not_accused(remit: Remit, project: Path) -> None:
    write(project, "docs/api.md", "# API\n\n::: shop.cart\n")
    write(project, "AGENTS.md", "[Cart](docs/api.md#shop.cart.Cart)\n")
    assert remit("verify", "AGENTS.md").code == 0


def test_a_link_without_an_ending_leads_to_a_page(remit: Remit, project: Path) -> None:
    write(project, "docs/setup.md", "# Setup\n")
    write(project, "docs/page.md", "[setup](./setup) [stop](./stop)\n")
    claims = remit("verify", "docs/page.md", "--format", "json").json["results"][0]["claims"]
    assert [(claim["text"], claim["outcome"]) for claim in claims] == [
        ("./setup", "exists"),
        ("./stop", "missing-file"),
    ]


def test_a_change_is_blamed_for_what_it_made_false_only(remit: Remit, project: Path) -> None:
    write(project, "docs/old.md", "`tax()` is in `src/cart.py:4`, and `src/none.py:3` is gone.\n")
    commit(project, "Add a document that is false")
    git(project, "checkout", "-q", "-b", "work")
    assert remit("verify", "--affected-by").code == 0
    write(project, "src/cart.py", CART.replace("def total", "def sum_of"))
    commit(project, "Rename total")
    ran = remit("verify", "--affected-by", "main")
    assert ran.code == 1
    assert "docs/guide.md:5" in ran.out
    assert "old.md" not in ran.out
    assert "1 claim made false since" in ran.out


def test_a_claim_on_a_changed_line_has_to_hold(remit: Remit, project: Path) -> None:
    git(project, "checkout", "-q", "-b", "work")
    write(project, "AGENTS.md", AGENTS + "\n`add()` is in `src/none.py:4`.\n")
    ran = remit("verify", "--affected-by", "main", "--format", "json")
    assert ran.code == 1
    claims = [claim for result in ran.json["results"] for claim in result["claims"]]
    assert [(claim["at"], claim["outcome"]) for claim in claims] == [(5, "missing-file")]


def test_a_renamed_document_is_compared_with_its_old_place(remit: Remit, project: Path) -> None:
    git(project, "checkout", "-q", "-b", "work")
    git(project, "mv", "docs/guide.md", "docs/deep.md")
    write(project, "docs/deep.md", GUIDE)
    commit(project, "Move the guide")
    ran = remit("verify", "--affected-by", "main")
    assert "AGENTS.md:3" in ran.out  # its link leads to no file now
    assert "docs/deep.md:" not in ran.out


def test_files_that_git_cannot_compare_are_not_a_missing_commit(remit: Remit, project: Path) -> None:
    base = git(project, "rev-parse", "HEAD")
    blob = git(project, "rev-parse", "HEAD:src/cart.py")
    write(project, "src/cart.py", "x = 1\n")
    file = project / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o600)
    file.unlink()
    ran = remit("verify", "--affected-by", "HEAD")
    assert ran.code not in (0, 1)
    assert f"git cannot compare the files with {base}; run `git fsck`" in ran.err


@pytest.mark.parametrize("words", [(), ("HEAD",), ("main",)], ids=["default", "HEAD", "main"])
def test_a_commit_that_is_compared_with_itself_is_not_called_a_change(
    remit: Remit, project: Path, words: tuple[str, ...]
) -> None:
    write(project, "untracked.txt", "built\n")
    ran = remit("verify", "--affected-by", *words)
    assert ran.code == 0
    assert ran.lines[0].startswith("nothing was compared: ")
    assert "is the checked-out commit" in ran.err
    assert "--affected-by HEAD~1" in ran.err
    assert "nothing was compared" in remit("verify", "--affected-by", *words, "--format", "markdown").out


def test_staged_changes_on_the_main_branch_are_compared(remit: Remit, project: Path) -> None:
    git(project, "rm", "-q", "src/cart.py")
    ran = remit("verify", "--affected-by")
    assert (ran.code, ran.err) == (1, "")
    assert "claims made false since" in ran.out


def test_a_shallow_history_is_stated_although_no_claim_asks_for_it(
    remit: Remit, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "b.txt", "b\n")
    commit(project, "Second")
    git(tmp_path, "clone", "-q", "--depth", "1", project.as_uri(), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    ran = remit("verify", "--affected-by")
    assert (ran.code, ran.lines[0][:20]) == (0, "nothing was compared")
    assert "the clone is shallow" in ran.out
    other = remit("verify", "--affected-by", "HEAD~1")
    assert other.code == 2
    assert "git fetch --unshallow" in other.err


@pytest.mark.parametrize("form", ["text", "markdown", "sarif"])
def test_a_change_that_makes_nothing_false_is_stated_alike_in_every_format(
    remit: Remit, project: Path, form: str
) -> None:
    write(project, "b.txt", "b\n")
    commit(project, "Second")
    ran = remit("verify", "--affected-by", "HEAD~1", "--format", form)
    assert ran.code == 0
    assert "no claim was made false" in ran.out
    assert "no claims found" not in ran.out
    assert str(project) not in ran.out
    assert "(2 documents checked)" in ran.out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Run `scripts/check` first.\n", 1),
        ("Run `./scripts/check` first.\n", 1),
        ("Run `bash scripts/check --all` first.\n", 1),
        ("# A\n\n```bash\npip install .\n./scripts/check --all\n```\n", 5),
        ("# A\n\n```console\n$ pytest -q scripts/check\n```\n", 4),
        ("Read @scripts/guide.md, too.\n", 1),
        ("@scripts/guide.md\n", 1),
        ('# A\n\n```python title="guide.md"\n--8<-- "scripts/guide.md:part"\n```\n', 4),
        ('--8<-- "scripts/guide.md"\n', 1),
    ],
)
def test_a_path_that_was_there_before_the_change_is_a_claim_however_it_is_written(
    remit: Remit, project: Path, text: str, line: int
) -> None:
    write(project, "scripts/check", "#!/bin/sh\npytest\n")
    write(project, "scripts/guide.md", "# A guide\n\nfor scripts\n")
    write(project, "CLAUDE.md", text)
    commit(project, "Add scripts")
    write(project, "b.txt", "b\n")
    assert remit("verify", "--affected-by", "HEAD").code == 0
    name = "check" if "check" in text else "guide.md"
    git(project, "mv", f"scripts/{name}", f"scripts/new-{name}")
    commit(project, "Rename")
    ran = remit("verify", "--affected-by", "HEAD~1")
    assert ran.code == 1
    assert f"CLAUDE.md:{line}  outdated" in ran.out
    assert f"now at scripts/new-{name}" in ran.words
    assert "1 claim made false" in ran.out
    assert remit("verify", "CLAUDE.md", "--affected-by", "HEAD").code == 0


@pytest.mark.parametrize(
    "text",
    [
        "Write to ada@example.com or ask @ada; use `@scope/check` and `and/or`.\n",
        "```bash\ncurl https://example.com/scripts/check\ncp $HOME/scripts/check out/check\n```\n",
        "```python\nopen('scripts/check')\n```\n",
    ],
)
def test_other_words_of_a_line_name_no_path(remit: Remit, project: Path, text: str) -> None:
    write(project, "scripts/check", "#!/bin/sh\npytest\n")
    write(project, "CLAUDE.md", text)
    commit(project, "Add scripts")
    git(project, "mv", "scripts/check", "scripts/test")
    commit(project, "Rename")
    assert remit("verify", "--affected-by", "HEAD~1").code == 0
    assert remit("verify", "CLAUDE.md").code == 0


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_renamed_folder_that_a_text_is_about_is_not_another_code_base(
    remit: Remit, project: Path, is_committed: bool
) -> None:
    names = [f"part{number}" for number in range(8)]
    for name in names:
        write(project, f"till/{name}.py", f"{name} = 1\n")
    write(project, "AGENTS.md", "".join(f"- `till/{name}.py:1`\n" for name in names))
    commit(project, "Parts")
    git(project, "mv", "till", "desk")
    if is_committed:
        commit(project, "Rename")
    for ran in (remit("verify", "--affected-by", "HEAD~1" if is_committed else "HEAD"), remit("verify", "AGENTS.md")):
        assert ran.code == 1
        assert ran.out.count("now at desk/part") == 8
    write(project, "AGENTS.md", "".join(f"- `other/{name}.py:1`\n" for name in names))
    assert "8 claims: 8 unchecked" in remit("verify", "AGENTS.md").out


def test_only_the_named_documents_are_asked(remit: Remit, project: Path) -> None:
    git(project, "checkout", "-q", "-b", "work")
    write(project, "src/cart.py", "X = 1\n")
    assert "docs/guide.md" not in remit("verify", "AGENTS.md", "--affected-by", "main").out
    assert "docs/guide.md" in remit("verify", "docs", "--affected-by", "main").out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--affected-by", "nowhere"], "has no commit 'nowhere'; use a revision"),
        (["--affected-by", "AGENTS.md"], "'AGENTS.md' is a path: remit verify AGENTS.md --affected-by"),
        (["--affected-by", "main", "--fix"], "remove --rev, --fix"),
        (["--affected-by", "main", "--rev", "HEAD"], "remove --rev, --fix"),
        (["--write"], "add --fix"),
    ],
)
def test_what_cannot_be_compared_is_refused(remit: Remit, words: list[str], problem: str) -> None:
    ran = remit("verify", *words)
    assert ran.code == 2
    assert problem in ran.err


def test_a_correction_is_shown_and_not_written_without_a_question(remit: Remit, project: Path) -> None:
    write(project, "src/cart.py", "# carts\n" + CART)
    before = (project / "AGENTS.md").read_text()
    ran = remit("verify", "AGENTS.md", "--fix")
    assert ran.code == 0  # one line further is within reach
    git(project, "mv", "src/cart.py", "src/basket.py")
    commit(project, "Rename")
    ran = remit("verify", "AGENTS.md", "--fix")
    assert ran.code == 1
    assert "-Read [the guide]" in ran.out
    assert "src/basket.py" in ran.out
    assert "1 correction not written" in ran.err
    assert (project / "AGENTS.md").read_text() == before
    ran = remit("verify", "AGENTS.md", "--fix", "--write")
    assert ran.code == 0
    corrected = (project / "AGENTS.md").read_text()
    assert "src/basket.py" in corrected
    again = remit("verify", "AGENTS.md", "--fix", "--write")
    assert again.code == 0
    assert (project / "AGENTS.md").read_text() == corrected


def test_a_command_of_the_root_below_a_changed_folder_is_not_accused(remit: Remit, project: Path) -> None:
    write(project, "package.json", '{"scripts": {"pack": "x"}}')
    write(project, "apps/desk/package.json", '{"scripts": {"build": "x"}}')
    write(project, "AGENTS.md", "```bash\ncd apps/desk\nnpm run build\n\nnpm run pack\nnpm run none\n```\n")
    claims = remit("verify", "AGENTS.md", "--format", "json").json["results"][0]["claims"]
    assert [claim["outcome"] for claim in claims] == ["exists", "unchecked", "mismatch"]


def test_a_folder_that_git_ignores_does_not_fail(remit: Remit, project: Path) -> None:
    write(project, "web/main.ts", "x\n")
    write(project, "web/dist/stub.txt", "x\n")
    write(project, "AGENTS.md", "The client is embedded via `web/dist/`.\n")
    commit(project, "Add a stub")
    git(project, "rm", "-q", "web/dist/stub.txt")
    write(project, ".gitignore", "web/dist/\n")
    commit(project, "Ignore what is built")
    ran = remit("verify", "--format", "json")
    (claim,) = [one for result in ran.json["results"] for one in result["claims"] if one["path"] == "web/dist"]
    assert (ran.code, claim["outcome"], claim["fails"]) == (0, "outdated", False)


def test_a_file_after_a_target_of_make_is_its_argument(remit: Remit, project: Path) -> None:
    write(project, "Makefile", "test:\n\techo\n")
    write(project, "AGENTS.md", "Run `make test tests/test_a.py::test_b`, then `make test none`.\n")
    claims = remit("verify", "AGENTS.md", "--format", "json").json["results"][0]["claims"]
    commands = [(claim["name"], claim["outcome"]) for claim in claims if claim["kind"] == "command"]
    assert commands == [("test", "exists"), ("test", "exists"), ("none", "mismatch")]


@pytest.mark.parametrize("words", [(), ("--affected-by", "HEAD~1")])
def test_a_document_that_is_not_utf8_is_listed(words: tuple[str, ...], remit: Remit, project: Path) -> None:
    (project / "docs/guide.md").write_bytes(b"caf\xe9\n")
    commit(project)
    ran = remit("verify", *words)
    assert ran.code == 1
    assert "docs/guide.md  unreadable  the document cannot be read: it is not UTF-8 text (byte 3)" in ran.lines


def test_a_partial_clone_names_what_completes_it(
    remit: Remit, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "src/cart.py", f"import os\n{CART}")
    commit(project)
    git(project, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", project.as_uri(), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    ran = remit("verify", "AGENTS.md", "--rev", "HEAD~1")
    assert ran.code != 0
    assert "the clone is partial; run `git fetch --refetch --no-filter`" in ran.err
