"""`remit lsp` over its real protocol: a client starts the process and talks to it through pipes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.language_client import LanguageClient
from support.verify_commands import commit, git
from support.waiting import until

pytestmark = pytest.mark.process

CART = "LIMIT = 20\n\n\ndef add(cart, line):\n    cart.append(line)\n\n\ndef total(cart):\n    return sum(cart)\n"
GUIDE = (
    "# Guide\n\nThe sum is made by `total()` in `src/cart.py:8`.\n\nLines are added in `src/cart.py:4`.\n\n"
    "The limit is in `src/cart.py:99`. Rates are in `src/rates.py`.\n"
)
ERROR, WARNING, INFORMATION = 1, 2, 3


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("editor") / "shop"
    write(root, "src/cart.py", CART)
    write(root, "docs/guide.md", GUIDE)
    write(root, "docs/old.md", "# Old\n\nThe sum is made by `total()` in `src/cart.py:8`.\n")
    write(root.parent, "secret.py", "PASSWORD = 'tulip'\n")
    git(root, "init", "-q", "-b", "main")
    commit(root, "Sell things")
    write(root, "src/cart.py", "# carts\n" + "\n" * 39 + CART)
    commit(root, "Name the module")
    return root


@pytest.fixture(scope="module")
def editor(project: Path) -> Iterator[LanguageClient]:
    with LanguageClient(project) as client:
        yield client


def marks(diagnostics: list[dict[str, Any]]) -> list[tuple[int, str, int]]:
    return [(found["range"]["start"]["line"], found["code"], found["severity"]) for found in diagnostics]


def dated(editor: LanguageClient, path: str) -> list[dict[str, Any]]:
    """Return the first diagnostics that the history has dated."""
    while True:
        found = editor.diagnostics(path)
        if any(mark["code"] == "reference-outdated" for mark in found):
            return found


def test_the_server_announces_what_it_answers(editor: LanguageClient) -> None:
    offered = editor.capabilities
    assert offered["textDocumentSync"]["change"] == 1, "whole texts"
    assert all(offered[f"{name}Provider"] for name in ("hover", "definition", "codeAction", "codeLens"))


def test_claims_that_do_not_hold_are_marked_by_their_reliability(editor: LanguageClient, project: Path) -> None:
    editor.open("docs/guide.md")
    found = dated(editor, "docs/guide.md")
    assert (6, "reference-out-of-range", ERROR) in marks(found)
    assert all(mark["source"] == "remit" for mark in found)
    (out_of_range,) = [mark for mark in found if mark["code"] == "reference-out-of-range"]
    assert GUIDE.split("\n")[6][
        out_of_range["range"]["start"]["character"] : out_of_range["range"]["end"]["character"]
    ] == ("src/cart.py:99")
    assert "the file has 49 lines" in out_of_range["message"]


def test_unsaved_text_is_checked_as_it_is_typed(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/typed.md", "# Typed\n\nNothing.\n")
    assert editor.open("docs/typed.md") == []
    version = editor.change("docs/typed.md", "# Typed\n\nNothing.\n\nSee `src/cart.py:400`.\n")
    assert marks(editor.diagnostics("docs/typed.md", version)) == [(4, "reference-out-of-range", ERROR)]
    version = editor.change("docs/typed.md", "# Typed\n\nMore.\nLines.\n\nSee `src/cart.py:400`.\n")
    assert marks(editor.diagnostics("docs/typed.md", version)) == [(5, "reference-out-of-range", ERROR)]
    version = editor.change("docs/typed.md", "# Typed\n\nMore.\nLines.\n\nSee `src/cart.py:4`.\n")
    assert editor.diagnostics("docs/typed.md", version) == []
    assert (project / "docs/typed.md").read_text() == "# Typed\n\nNothing.\n"


def test_only_the_last_of_quick_edits_is_answered(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/quick.md", "# Quick\n")
    editor.open("docs/quick.md")
    for line in range(100, 120):
        version = editor.change("docs/quick.md", f"# Quick\n\nSee `src/cart.py:{line}`.\n")
    found = editor.diagnostics("docs/quick.md", version)
    assert "src/cart.py:119" in found[0]["message"]
    published = [
        message["params"]["version"]
        for message in editor.seen
        if message.get("method") == "textDocument/publishDiagnostics"
        and message["params"]["uri"] == editor.uri("docs/quick.md")
    ]
    assert len(set(published)) < 10, "stale checks are dropped"


def test_an_outdated_claim_has_a_lens_and_a_correction(editor: LanguageClient, project: Path) -> None:
    editor.open("docs/old.md")
    (mark,) = dated(editor, "docs/old.md")
    assert mark["relatedInformation"][0]["location"]["range"]["start"]["line"] == 47
    first = git(project, "rev-list", "--max-parents=0", "HEAD")[:7]
    about = {"textDocument": {"uri": editor.uri("docs/old.md")}}
    (lens,) = editor.ask("textDocument/codeLens", about)
    assert lens["command"]["title"] == f"true in {first}, changed since"
    wanted = {**about, "range": mark["range"], "context": {"diagnostics": [mark]}}
    (action,) = editor.ask("textDocument/codeAction", wanted)
    assert action["title"] == "Correct to src/cart.py:48"
    (edit,) = action["edit"]["documentChanges"][0]["edits"]
    assert edit["newText"] == "The sum is made by `total()` in `src/cart.py:48`."
    assert (edit["range"]["start"], edit["range"]["end"]["line"]) == ({"line": 2, "character": 0}, 2)
    version = editor.change("docs/old.md", f"# Old\n\n{edit['newText']}\n")
    assert editor.diagnostics("docs/old.md", version) == []
    editor.ask("workspace/executeCommand", {"command": "remit.explain", "arguments": lens["command"]["arguments"]})


def test_what_the_history_showed_stays_while_a_text_is_edited(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/kept.md", "# Kept\n\nThe sum is made by `total()` in `src/cart.py:48`.\n")
    commit(project, "Document the sum")
    write(project, "src/cart.py", "# more\n" * 40 + (project / "src/cart.py").read_text())
    try:
        editor.open("docs/kept.md")
        dated(editor, "docs/kept.md")
        version = editor.change(
            "docs/kept.md", "# Kept\n\nA new line.\n\nThe sum is made by `total()` in `src/cart.py:48`.\n"
        )
        assert marks(editor.diagnostics("docs/kept.md", version))[0][:2] == (4, "reference-outdated")
    finally:
        git(project, "checkout", "-q", "src/cart.py")


def test_a_hover_shows_the_outcome_and_the_code(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/hover.md", "# Hover\n\nIt is `total()` in `src/cart.py:48`.\n")
    editor.open("docs/hover.md")
    shown = editor.ask("textDocument/hover", editor.at("docs/hover.md", 2, 22))
    assert shown["contents"]["value"].startswith("**verified** `src/cart.py:48`")
    assert "```python\n" in shown["contents"]["value"]
    assert "def total(cart):" in shown["contents"]["value"]
    assert editor.ask("textDocument/hover", editor.at("docs/hover.md", 0, 1)) is None


def test_a_definition_is_the_cited_line(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/go.md", "# Go\n\nÜber 😀 `total()` in `src/cart.py:48`.\n")
    editor.open("docs/go.md")
    target = editor.ask("textDocument/definition", editor.at("docs/go.md", 2, 25))
    assert target == {
        "uri": editor.uri("src/cart.py"),
        "range": {"start": {"line": 47, "character": 0}, "end": {"line": 47, "character": 0}},
    }


def test_positions_count_the_units_of_the_editor(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/units.md", "# Units\n\n😀😀 `src/cart.py:400`\n")
    (mark,) = editor.open("docs/units.md")
    assert (mark["range"]["start"]["character"], mark["range"]["end"]["character"]) == (6, 21)


def test_a_file_that_changes_on_disk_is_read_again(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/disk.md", "# Disk\n\nSee `src/new.py:2`.\n")
    assert editor.open("docs/disk.md"), "the file does not exist"
    write(project, "src/new.py", "A = 1\nB = 2\n")
    try:
        changed = {"changes": [{"uri": editor.uri("src/new.py"), "type": 1}]}
        editor.notify("workspace/didChangeWatchedFiles", changed)
        until(lambda: editor.diagnostics("docs/disk.md") == [])
    finally:
        (project / "src/new.py").unlink()


def test_a_closed_document_has_no_marks(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/closed.md", "# Closed\n\nSee `src/cart.py:400`.\n")
    assert editor.open("docs/closed.md")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": editor.uri("docs/closed.md")}})
    until(lambda: editor.diagnostics("docs/closed.md") == [])
    assert editor.ask("textDocument/hover", editor.at("docs/closed.md", 2, 6)) is None


def test_nothing_outside_the_checkout_is_read_or_shown(editor: LanguageClient, project: Path) -> None:
    (project / "src/link.py").symlink_to(project.parent / "secret.py")
    text = (
        f"# Out\n\n`../secret.py:1`\n\n`{project.parent}/secret.py:1`\n\n`src/link.py:1`\n\n[a](../../secret.py)\n\n"
        "`.git/config:1`\n"
    )
    write(project, "docs/out.md", text)
    editor.open("docs/out.md")
    for line in range(text.count("\n")):
        for character in (2, 5):
            shown = editor.ask("textDocument/hover", editor.at("docs/out.md", line, character))
            assert "tulip" not in str(shown)
            assert "repositoryformatversion" not in str(shown)
            assert editor.ask("textDocument/definition", editor.at("docs/out.md", line, character)) is None


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd.md",
        "file:///no/such/folder/a.md",
        "file:///%00.md",
        "untitled:Untitled-1",
        "git:/a.md?x",
        "file://host/share/a.md",
        "file:///" + "a" * 5000 + ".md",
        "",
    ],
)
def test_a_document_elsewhere_is_not_checked(editor: LanguageClient, uri: str) -> None:
    editor.notify_open(uri, "See `src/cart.py:400`.\n")
    about = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 6}}
    assert editor.ask("textDocument/hover", about) is None
    assert editor.ask("textDocument/definition", about) is None


def test_a_document_outside_the_open_folders_is_not_checked(project: Path, tmp_path: Path) -> None:
    with LanguageClient(project, folders=[tmp_path]) as client:
        client.notify_open(client.uri("docs/guide.md"), GUIDE)
        assert client.ask("textDocument/hover", client.at("docs/guide.md", 2, 35)) is None


def test_code_and_excluded_documents_are_not_checked(project: Path, editor: LanguageClient) -> None:
    editor.notify_open(editor.uri("src/cart.py"), "# see `src/cart.py:400`\n", "python")
    write(project, "remit.toml", '[verify]\nexclude = ["docs/forms.md"]\n')
    try:
        editor.notify_open(editor.uri("docs/forms.md"), "See `src/cart.py:400`.\n")
        for path in ("src/cart.py", "docs/forms.md"):
            assert editor.ask("textDocument/hover", editor.at(path, 0, 8)) is None
    finally:
        (project / "remit.toml").unlink()


@pytest.mark.parametrize(
    "message",
    [
        b"Content-Length: 3\r\n\r\n{{{",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc",
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100000,
        b'Content-Length: 34\r\n\r\n{"jsonrpc":"2.0","method":"a/bcd"}',
        b'Content-Length: 44\r\n\r\n{"jsonrpc":"2.0","id":[1],"method":"a/bcd"}\n',
        b"Nonsense: 1\r\nMore\r\n\r\n",
        b"Content-Length: 70000000\r\n\r\n" + b"a" * 70000000,
    ],
)
def test_a_malformed_message_does_not_end_the_server(editor: LanguageClient, message: bytes) -> None:
    editor.send_bytes(message)
    for params in (None, {}, {"textDocument": 3}, {"textDocument": {"uri": "a"}, "position": {}}):
        assert "error" in editor.ask_for_answer("textDocument/hover", params)
    assert editor.ask("textDocument/hover", editor.at("docs/none.md", 10**6, 10**9)) is None
    assert editor.process.poll() is None


def test_a_huge_document_is_answered_with_one_mark(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/huge.md", "# Huge\n")
    (mark,) = editor.open("docs/huge.md", "See `src/cart.py:400`.\n" * 60_000)
    assert "larger than 1 MiB" in mark["message"]
    version = editor.change("docs/huge.md", "# Small\n\nSee `src/cart.py:400`.\n")
    assert marks(editor.diagnostics("docs/huge.md", version)) == [(2, "reference-out-of-range", ERROR)]


def test_many_false_claims_are_cut(editor: LanguageClient, project: Path) -> None:
    write(project, "docs/many.md", "# Many\n")
    found = editor.open("docs/many.md", "# Many\n\n" + "".join(f"See `src/cart.py:{n}`.\n\n" for n in range(100, 1300)))
    assert len(found) == 1000


def test_marks_in_a_hover_are_not_markdown(editor: LanguageClient, project: Path) -> None:
    write(project, "src/evil.py", "x = 1\n```\n![a](https://example.org/a.png)\n\x1b[31m\n")
    write(project, "docs/evil.md", "# Evil\n\nSee `src/evil.py:2-4`.\n")
    editor.open("docs/evil.md")
    value = editor.ask("textDocument/hover", editor.at("docs/evil.md", 2, 8))["contents"]["value"]
    assert value.count("````") == 2, "the fence is longer than the one in the file"
    assert "\x1b" not in value
