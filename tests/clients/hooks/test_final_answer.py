"""The code that a final answer cites, judged by the checkout and by what the session replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.verify_commands import git

from remit.clients.hooks.main_stop import final_answer
from remit.clients.hooks.project import ProjectContext
from remit.final_answer import FalseStatement
from remit.gate.session import SessionState


def false(
    project: Path, answer: str, *calls: tuple[str, dict[str, Any]], printed: str = "done", failed: bool = False
) -> list[FalseStatement]:
    """Return what is false in an answer after these calls, which all printed the same; without any, no transcript."""
    transcript = project.parent / "session.jsonl"
    lines: list[dict[str, Any]] = []
    for number, (tool, given) in enumerate(calls):
        use = {"type": "tool_use", "id": str(number), "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": str(number), "content": printed, "is_error": failed}
        lines += [
            {"type": "assistant", "cwd": str(project), "message": {"content": [use]}},
            {"type": "user", "cwd": str(project), "message": {"content": [result]}},
        ]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    name = str(transcript) if calls else ""
    return final_answer(answer, name, SessionState(), ProjectContext(str(project))).check().false


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a repository with one file, whose last commit has `old_total` and whose work tree has `total`."""
    folder = tmp_path / "shop"
    (folder / "app").mkdir(parents=True)
    (folder / "app/cart.py").write_text("def old_total():\n    return 1\n", encoding="utf-8")
    (folder / "app/gone.py").write_text("x = 1\n", encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        git(folder, *arguments)
    (folder / "app/gone.py").unlink()
    (folder / "app/cart.py").write_text("def total():\n    return 1\n", encoding="utf-8")
    return folder


READ = ("Read", {"file_path": "/x/other.py"})


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ("I fixed app/cart.py:99 and app/none.py:3.", ["app/cart.py:99: the file has 2 lines", "app/none.py:3: "]),
        ("The bug is in `app/removed_orders.py:4`.", ["app/removed_orders.py:4: "]),
        ("I deleted `app/gone.py`; the bug was in `app/gone.py:1`.", []),
        ("The bug is in lib/none.py:3 and none.py:3.", []),
        ("The check is `frob_mac()` in `app/cart.py:1`.", ["`frob_mac` exists nowhere"]),
        ("`total()` in `app/cart.py:1` returns 1.", []),
        ("I replaced `old_total()` in `app/cart.py:1` by `total()`.", []),
        ("`total()` is at `app/cart.py:2`, and `make nothing` runs it.", []),
    ],
)
def test_what_is_not_in_this_checkout_and_never_was_is_false(shop: Path, answer: str, wrong: list[str]) -> None:
    for calls in ((), (READ,)):
        found = false(shop, answer, *calls)
        assert len(found) == len(wrong)
        assert all(part in claim.why for part, claim in zip(wrong, found, strict=True))
        assert {claim.sentence for claim in found} <= {answer}


def test_a_missing_file_that_a_failed_call_named_is_one_of_this_checkout(shop: Path) -> None:
    answer, read = "The bug is in lib/none.py:3.", ("Read", {"file_path": str(shop / "lib/none.py")})
    assert len(false(shop, answer, read, printed="File does not exist.", failed=True)) == 1
    assert false(shop, answer, ("Bash", {"command": "cat a"}), printed="cat: a: No such file", failed=True) == []


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "SHOP/app/none.py"}),
        ("Write", {"file_path": "SHOP/app/none.py", "content": "x"}),
        ("Bash", {"command": "echo x > app/none.py"}),
        ("Bash", {"command": "mv app/none.py app/some.py"}),
    ],
)
def test_a_missing_file_that_the_session_worked_with_was_there(shop: Path, tool: str, given: dict[str, Any]) -> None:
    call = tool, {key: value.replace("SHOP", str(shop)) for key, value in given.items()}
    assert false(shop, "I wrote `app/none.py`.", call) == []
    assert false(shop, "I wrote `app/none.py`.", call, failed=True) != []


@pytest.mark.parametrize(
    "answer",
    [
        "If you want one, I suggest a separate command, for instance in a new file `app/migrate.py`.",
        "I could move it into a new module, `app/migrate.py`.",
        "如果需要，我可以新建 `app/migrate.py`。",
        "よければ、`app/migrate.py` を新規に作成します。",
    ],
)
def test_a_file_that_is_proposed_is_not_claimed(shop: Path, answer: str) -> None:
    assert false(shop, answer, READ) == []


@pytest.mark.parametrize(
    "answer",
    [
        "I added a new file, `app/migrate.py`.",
        "If you want, look at `app/migrate.py`.",
        "I would add a test. The code is in `app/migrate.py`.",
        "I could add `app/other.py`, but the code is in `app/migrate.py`.",
        "I would add it at `app/migrate.py:3`.",
    ],
)
def test_a_proposal_before_it_does_not_excuse_a_claim(shop: Path, answer: str) -> None:
    assert len(false(shop, answer, READ)) == 1


def test_a_name_that_the_session_showed_is_not_false(shop: Path) -> None:
    answer, call = "The check is `frob_mac()` in `app/cart.py:1`.", ("Bash", {"command": "golangci-lint run"})
    assert false(shop, answer, call, printed="app/cart.py:1: func frob_mac is unused (unused)") == []
    assert len(false(shop, answer, call, printed="app/cart.py:1: func frob_macro is unused (unused)")) == 1
    assert len(false(shop, answer, ("Grep", {"pattern": "frob_mac"}), printed="No matches found")) == 1
    edit = {"file_path": "/x/other.py", "old_string": "frob_mac", "new_string": "y"}
    assert false(shop, answer, ("Edit", edit)) == []


def test_a_quote_is_compared_with_the_file_and_with_what_the_session_replaced(shop: Path) -> None:
    answer = "```python\n# app/cart.py:2\nreturn total * discount\n```"
    assert len(false(shop, answer, READ)) == 1
    assert false(shop, answer) == [], "without a record, the file may have changed"
    edit = {"file_path": str(shop / "app/cart.py"), "old_string": "return total * discount", "new_string": "return 1"}
    assert false(shop, answer, ("Edit", edit)) == []
    assert len(false(shop, answer, ("Edit", edit | {"old_string": "return 2"}))) == 1
    assert false(shop, answer, ("Bash", {"command": "sed -i s/2/1/ app/cart.py"})) == []


def test_a_name_that_the_session_may_have_replaced_is_not_false(shop: Path) -> None:
    answer = "I replaced `older_total()` in `app/cart.py:1` by `total()`."
    assert len(false(shop, answer)) == 1
    assert false(shop, answer, ("Bash", {"command": "git commit -am 'Rename it'"})) == []
    edit = {"file_path": str(shop / "app/cart.py"), "old_string": "def older_total", "new_string": "def total"}
    assert false(shop, answer, ("Edit", edit)) == []
    assert len(false(shop, answer, ("Write", {"file_path": str(shop / "app/cart.py"), "content": "x"}))) == 1
