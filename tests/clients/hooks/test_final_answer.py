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


def false(project: Path, answer: str, *calls: tuple[str, dict[str, Any]]) -> list[FalseStatement]:
    """Return what is false in an answer after these calls; without any, there is no transcript."""
    transcript = project.parent / "session.jsonl"
    lines: list[dict[str, Any]] = []
    for number, (tool, given) in enumerate(calls):
        use = {"type": "tool_use", "id": str(number), "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": str(number), "content": "done"}
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


def test_a_missing_file_that_the_session_touched_is_one_of_this_checkout(shop: Path) -> None:
    answer = "The bug is in lib/none.py:3."
    assert len(false(shop, answer, ("Read", {"file_path": str(shop / "lib/none.py")}))) == 1
    assert false(shop, answer, ("Read", {"file_path": "/home/other/lib/none.py"})) == []
    moved = ("Bash", {"command": "mv lib/none.py lib/some.py"})
    assert false(shop, answer, ("Read", {"file_path": str(shop / "lib/none.py")}), moved) == []


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
