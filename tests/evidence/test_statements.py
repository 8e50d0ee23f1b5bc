"""Statements about finished work: what is one, and what the record shows of it."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.in_process import run_here

from remit.evidence.judge_statements import StatementJudge
from remit.evidence.kept_output import kept_output
from remit.evidence.model import CheckedStatement
from remit.evidence.read_statements import read_statements
from remit.evidence.receipts import RERUN, Receipt, ReceiptIndex, SessionRecord
from remit.workspace.files import WorkTree

_PLANTED = tomllib.loads((Path(__file__).parent / "statements" / "planted.toml").read_text("utf-8"))["record"]
EDIT = Receipt("Edit", path="src/cart.py")


def bash(command: str, status: int | None = 0, output: str | None = "") -> Receipt:
    kept = kept_output(command, output) if output is not None else None
    return Receipt("Bash", {"command": command}, exit=status, failed=status not in (0, None), output=kept)


def checked(text: str, *receipts: Receipt, **options: Any) -> list[CheckedStatement]:
    judge = StatementJudge(ReceiptIndex(receipts, "/"), **options)
    return [judge.judge(statement) for statement in read_statements(text)]


def outcome(text: str, *receipts: Receipt, **options: Any) -> tuple[str, str]:
    """Return the outcome of the only statement of a text, and why."""
    (statement,) = checked(text, *receipts, **options)
    return statement.outcome, statement.why


def _receipt(call: dict[str, Any]) -> Receipt:
    if "command" not in call:
        return Receipt(call["tool"], {"file_path": call["path"]}, path=call["path"])
    receipt = bash(call["command"], call["exit"], call["output"])
    return receipt if not call.get("pending") else Receipt("Bash", receipt.arguments, pending=True)


@pytest.mark.parametrize("record", _PLANTED, ids=lambda record: str(record["name"]))
def test_untrue_statements_are_found_and_true_ones_are_not_accused(record: dict[str, Any]) -> None:
    calls = [_receipt(call) for call in record["calls"]]
    for text in record["false"]:
        assert any(statement.fails for statement in checked(text, *calls)), text
    for text in record["true"]:
        assert [statement.why for statement in checked(text, *calls) if statement.fails] == [], text


@pytest.mark.parametrize(
    ("text", "passed", "command"),
    [
        ("```\n$ python -m pytest tests\n2 passed in 0.01s\n```", True, "python -m pytest tests"),
        ("```console\n% npm test\n\nTests: 1 failed, 3 passed, 4 total\n```", False, "npm test"),
        ("```\nFAILED tests/test_a.py::test_b\n```", False, ""),
        ("```\nFAIL: test_x (tests.T)\nFAILED (failures=1)\n```", False, ""),
        ("All tests pass.", True, ""),
        ("12 tests pass and 1 fails.", False, ""),
        ("| Suite | Result |\n| --- | --- |\n| unit | 12 passed |", True, ""),
        ("| Suite | Result |\n| --- | --- |\n| unit | 2 failed |", False, ""),
        ("- Failed: 3", False, ""),
        ("- Tests failed: 0", True, ""),
        ("No tests failed.", True, ""),
        ("テストはすべて成功しました。", True, ""),
        ("测试全部通过。", True, ""),
        ("All tests pass but 1 fails.", False, ""),
    ],
)
def test_the_results_of_tests_are_statements(text: str, passed: bool, command: str) -> None:
    statements = read_statements(f"#### Test Results\n{text}")
    assert [(statement.passed, statement.command) for statement in statements if statement.kind == "run"] == [
        (passed, command)
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", "None", "N/A", "-", "Tests were not run.", "They could not run here.", "There are no tests."),
        *("Not tested.", "The suite was not executed.", "Tests have not been run", "Tests should be added."),
        *("See the test plan.", "> All tests pass.", "- [ ] All tests pass", 'The badge says "all tests pass".'),
        *("## Next steps\n- Commit and push\n- Updated `a/b.py`", "```python\nassert passed\n```"),
    ],
)
def test_other_texts_state_no_finished_work(text: str) -> None:
    assert read_statements(text) == []


def test_the_whole_sentence_is_kept_with_the_names_of_files() -> None:
    (statement,) = read_statements("It is done. I fixed lib/express.js v1.2 for Node.js 20. Bye.")
    assert (statement.text, statement.paths) == ("I fixed lib/express.js v1.2 for Node.js 20.", ("lib/express.js",))


def test_a_repeated_command_decides() -> None:
    again = Receipt(RERUN, {"command": "exit 1"}, exit=1, failed=True)
    assert outcome("All tests pass.", bash("pytest"), rerun=again) == (
        "contradicted",
        "`exit 1` ended with exit status 1",
    )


def test_the_last_run_counts_and_a_failure_of_another_part_remains() -> None:
    failed = bash("pytest", 1, "1 failed, 9 passed in 1s")
    assert outcome("All tests pass.", failed, bash("ls"), bash("pytest", 0, "10 passed in 1s"))[0] == "verified"
    assert outcome("All tests pass.", bash("pytest", 0, "10 passed in 1s"), failed)[0] == "contradicted"
    part = bash("pytest tests/test_a.py", 0, "1 passed in 1s")
    assert outcome("All tests pass.", failed, part)[0] == "contradicted"
    assert outcome("All tests pass.", failed, EDIT, part)[0] == "verified"


def test_a_run_that_only_another_agent_can_have_made_is_unchecked() -> None:
    assert outcome("All tests pass.", Receipt("Agent", {"subagent_type": "qa"}))[0] == "unchecked"
    assert outcome("All tests pass.", Receipt("Agent"), has_subagents=True)[0] == "unseen"
    assert outcome("All tests pass.", Receipt("mcp__box__run_command"))[0] == "unchecked"
    assert outcome("All tests pass.", Receipt("mcp__docs__search"))[0] == "unseen"


def test_an_outcome_that_no_call_showed_is_unseen() -> None:
    assert outcome("All tests pass.", bash("npm test > /dev/null 2>&1 || true")) == (
        "unseen",
        "`npm test > /dev/null 2>&1 || true` showed no outcome",
    )
    assert outcome("All tests pass.", bash("npm test || true", output=None))[0] == "unchecked"


def test_a_file_that_is_missing_or_still_there_is_a_proof(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("")
    tree = WorkTree(tmp_path)
    assert outcome("I added `new.py`.", workspace=tree) == (
        "contradicted",
        "there is no new.py, and no call wrote it",
    )
    assert outcome("I deleted `old.py`.", workspace=tree) == ("contradicted", "old.py is still there")
    assert outcome("I changed `old.py`.", workspace=tree) == ("unseen", "no call changed old.py")


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ src/tax.py",
        "cat > src/tax.py <<'EOF'\nx\nEOF",
        "git mv src/old.py src/tax.py",
        "cp /tmp/tax.py src/",
        "python - <<'EOF'\nopen('src/tax.py', 'w')\nEOF",
        "python generate.py",
        "git apply fix.patch",
        "make generate",
    ],
)
def test_a_command_that_may_have_written_a_file_leaves_it_unchecked(command: str) -> None:
    assert not checked("I updated `src/tax.py`.", bash(command))[0].fails


@pytest.mark.parametrize("command", ["pytest -q", "ls", "git add -A", "rm src/other.py", "python -c 'print(1)'"])
def test_other_commands_did_not_write_it(command: str) -> None:
    assert outcome("I updated `src/tax.py`.", bash(command))[0] == "unseen"


def test_a_judge_can_be_asked_while_the_record_grows() -> None:
    record = ReceiptIndex([bash("pytest", 1, "1 failed in 1s")], "/")
    judge = StatementJudge(record)
    (statement,) = read_statements("All tests pass.")
    assert judge.judge(statement).outcome == "contradicted"
    record.add(bash("pytest", 0, "9 passed in 1s"))
    assert judge.judge(statement).outcome == "verified"


# From outside


def _transcript(path: Path, *calls: tuple[str, str]) -> str:
    """Write a transcript of the client with these commands and their outputs."""
    lines: list[dict[str, Any]] = [{"type": "user", "cwd": str(path.parent), "message": {"content": "go"}}]
    for number, (command, output) in enumerate(calls):
        use = {"type": "tool_use", "id": str(number), "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": str(number), "content": output}
        lines += [
            {"type": "assistant", "message": {"content": [use]}},
            {"type": "user", "message": {"content": [result]}},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.process
@pytest.mark.parametrize(
    ("calls", "text", "proof"),
    [
        ([("ls", "lib")], "I ran npm test: all pass.", "no tests ran in this session"),
        ([("npm test 2>&1 | tail -20", "sh: 1: mocha: not found")], "All tests pass.", "mocha: not found"),
        ([("npm test || true", "  1 failing")], "All tests pass.", "1 failing"),
        ([("ls", "lib")], "I committed it.", "no call made a commit"),
    ],
)
def test_verify_compares_a_text_with_a_transcript(
    tmp_path: Path, calls: list[tuple[str, str]], text: str, proof: str
) -> None:
    transcript = _transcript(tmp_path / "session.jsonl", *calls)
    (tmp_path / "answer.md").write_text(text)
    done = run_here(tmp_path, "verify", "answer.md", "--repo", str(tmp_path), "--transcript", transcript)
    assert done.code == 1
    assert text in done.out
    assert proof in done.out


def test_check_lists_statements_as_claims(tmp_path: Path) -> None:
    transcript = _transcript(tmp_path / "session.jsonl", ("npm test 2>&1 | tail", "  3 passing (2ms)"))
    (tmp_path / "answer.md").write_text("All 3 tests pass. I pushed it.")
    arguments = ("--profile", "claims", "--repo", str(tmp_path), "--transcript", transcript, "--format", "json")
    done = run_here(tmp_path, "check", "answer.md", *arguments)
    (result,) = done.json["results"]
    assert [(claim["kind"], claim["text"], claim["outcome"], claim["why"]) for claim in result["claims"]] == [
        ("run", "All 3 tests pass.", "verified", ""),
        ("change", "I pushed it.", "unseen", "no call pushed anything"),
    ]
    assert [violation["rule"] for violation in result["violations"]] == ["change-unseen"]


FAILED = bash("pytest -q", 1, "FAILED tests/test_a.py::test_x\n1 failed, 47 passed in 0.91s")
PASSED = bash("pytest -q", 0, "47 passed, 1 skipped in 0.91s")
PART = bash("pytest -q tests/test_a.py", 0, "12 passed in 0.91s")


@pytest.mark.parametrize(
    "text",
    [
        "47 of the 48 tests pass.",
        "47 of 48 tests pass.",
        "47 out of 48 unit tests passed.",
        "47/48 tests pass.",
        "All but one of the 48 tests pass.",
        "2 of the 3 bugs are gone; 47 of the 48 tests pass.",
    ],
)
@pytest.mark.parametrize("run", [FAILED, PASSED], ids=["failed", "skipped"])
def test_a_share_of_the_tests_is_compared_with_what_was_printed(text: str, run: Receipt) -> None:
    assert outcome(text, run)[0] == "verified"


@pytest.mark.parametrize(
    "text",
    ["46 of the 48 tests pass.", "47 of 49 tests pass.", "All but two of the 48 tests pass.", "48/48 tests pass."],
)
def test_another_share_of_the_tests_is_contradicted(text: str) -> None:
    actual, why = outcome(text, FAILED)
    assert actual == "contradicted"
    assert "`1 failed, 47 passed in 0.91s`" in why


def test_a_run_of_a_part_does_not_show_that_all_tests_pass() -> None:
    (statement,) = checked("All tests pass.", PART)
    assert (statement.outcome, statement.reason) == ("unchecked", "run-part")
    assert statement.why == "only a part of the tests ran: `pytest -q tests/test_a.py`"
    whole = bash("pytest -q", 0, "48 passed in 2.00s")
    for runs in ((whole, PART), (PART, whole)):
        assert outcome("All tests pass.", *runs)[0] == "verified"


@pytest.mark.parametrize(
    "text",
    [
        "All 12 tests pass.",
        "All tests in test_a.py pass.",
        "All tests of the cart pass.",
        "`pytest tests/test_a.py`: all tests pass.",
        "The tests pass.",
    ],
)
def test_a_run_of_a_part_shows_what_is_stated_about_a_part(text: str) -> None:
    assert outcome(text, PART)[0] == "verified"


@pytest.mark.parametrize("text", ["All tests pass.", "All 47 tests pass after the change.", "47 passed."])
def test_a_run_before_the_last_change_of_code_does_not_show_that_tests_pass(text: str) -> None:
    (statement,) = checked(text, PASSED, EDIT)
    assert (statement.outcome, statement.reason) == ("unchecked", "run-stale")
    assert statement.why == "`pytest -q` passed before cart.py was changed"
    assert outcome(text, EDIT, PASSED)[0] == "verified"
    assert outcome(text, PASSED, Receipt("Edit", path="CHANGELOG.md"))[0] == "verified"
    assert outcome(text, PASSED, Receipt("Edit", path="requirements.txt"))[0] == "unchecked"


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("sed -i 's/a/b/' src/cart.py", "cart.py"),
        ("perl -pi -e 's/a/b/' src/cart.py", "cart.py"),
        ("cat > src/cart.py <<'EOF'\nx\nEOF", "cart.py"),
        ("echo 'x = 1' >> src/cart.py", "cart.py"),
        ("mv src/new.py src/cart.py", "cart.py"),
        ("cp /tmp/cart.py src/cart.py", "cart.py"),
        ("rm -f src/cart.py", "cart.py"),
        ("cd src && sed -i s/a/b/ cart.py && cd ..", "cart.py"),
        ("sed -i s/a/b/ /home/dev/shop/src/cart.py", "cart.py"),
        ("git checkout -- src/cart.py", "cart.py"),
        ("git checkout src/cart.py", "cart.py"),
        ("git restore src/cart.py", "cart.py"),
        ("patch src/cart.py < fix.diff", "cart.py"),
        ("git apply fix.diff", "files"),
        ("git stash", "files"),
        ("git reset --hard HEAD~1", "files"),
        ("npx prettier --write src/cart.ts", "cart.ts"),
        ("black .", "files"),
        ("ruff check --fix src", "src"),
        ("mix format", "files"),
    ],
)
def test_a_run_before_a_change_by_a_command_does_not_show_that_tests_pass(command: str, what: str) -> None:
    calls = [replace(receipt, cwd="/home/dev/shop") for receipt in (PASSED, bash(command), PASSED)]
    (statement,) = checked("All tests pass.", *calls[:2])
    assert (statement.outcome, statement.reason) == ("unchecked", "run-stale")
    assert statement.why == f"`pytest -q` passed before `{' '.join(command.split())}` changed {what}"
    assert outcome("All tests pass.", *calls)[0] == "verified"


@pytest.mark.parametrize(
    "command",
    [
        "python fix.py",
        "make generate",
        "./tools/update.sh",
        "python -c \"print(open('src/cart.py').read().replace('a', 'b'))\"",
        "python - <<'EOF'\nimport sys\nsys.stdout.write(open('src/cart.py').read())\nEOF",
        "for f in $(cat list); do frobnicate $f; done",
        "sed -n 1,5p src/cart.py",
        "git diff",
        "git add -A && git commit -m done",
        "git checkout -b feature",
        "echo done >> CHANGELOG.md",
        "sed -i s/a/b/ /tmp/cart.py",
        "sed -i s/a/b/ ~/.zshrc",
        "rm -rf dist build/lib tmp/server.pid",
        "ruff check . > lint.log",
        "npm run build 2>&1 | tee build.log",
        "black --check .",
        "mix format --check-formatted",
    ],
)
def test_a_command_that_changes_no_code_or_is_not_understood_leaves_the_run_as_it_is(command: str) -> None:
    calls = [replace(receipt, cwd="/home/dev/shop") for receipt in (PASSED, bash(command))]
    assert outcome("All tests pass.", *calls)[0] == "verified"


def test_a_command_that_failed_changed_nothing_and_one_that_ran_the_tests_changed_before_them() -> None:
    assert outcome("All tests pass.", PASSED, bash("sed -i s/a/b/ src/cart.py", 1))[0] == "verified"
    line = bash("sed -i s/a/b/ src/cart.py && pytest -q", 0, "47 passed in 0.91s")
    assert outcome("All tests pass.", PASSED, line)[0] == "verified"
    failed = bash("sed -i s/a/b/ src/cart.py; pytest -q", 1, "1 failed, 46 passed in 0.91s")
    assert outcome("All tests pass.", failed, PART)[0] == "contradicted"


@pytest.mark.parametrize("folder", ["/home/dev/shop", "C:\\Users\\dev\\shop"])
def test_an_edit_of_a_whole_path_inside_the_project_makes_a_run_old(folder: str) -> None:
    inside = Receipt("Edit", path=f"{folder}/src/cart.py", cwd=folder)
    outside = Receipt("Write", path="/home/dev/.claude/plans/cart.txt", cwd=folder)
    run = replace(PASSED, cwd=folder)
    for record in (SessionRecord(), ReceiptIndex((), folder)):
        judge = StatementJudge(record)
        (statement,) = read_statements("All tests pass.")
        for call, expected in ((run, ""), (outside, ""), (inside, "run-stale")):
            record.add(call)
            assert judge.judge(statement).reason == expected


@pytest.mark.parametrize(
    "text",
    [
        "The one failure is older; all other tests pass.",
        "The remaining tests pass. test_x needs a decision from you.",
        "Apart from one known failure, all tests pass.",
        "`test_x` fails as before, everything else passes the tests.",
    ],
)
def test_the_tests_that_remain_may_pass_although_one_failed(text: str) -> None:
    assert [statement.why for statement in checked(text, FAILED) if statement.fails] == []


@pytest.mark.parametrize(
    "text",
    [
        "You ran the tests and all 5 tests pass.",
        "After `make check` passes, all tests pass and we can merge.",
        "Once the build succeeds, all tests pass.",
        "If you set `CI=1`, all tests pass.",
    ],
)
def test_a_condition_and_the_run_of_a_person_are_not_statements(text: str) -> None:
    assert checked(text, FAILED) == []


@pytest.mark.parametrize(
    "text",
    [
        "Other than that, all tests pass.",
        "Apart from the docs nothing changed, and all tests pass.",
        "删除了旧函数，所有测试都通过了。",
    ],
)
def test_an_exception_before_the_outcome_is_not_a_statement_that_tests_failed(text: str) -> None:
    assert outcome(text, PASSED)[0] == "verified"


@pytest.mark.parametrize(
    "text",
    [
        "I ran the suite; the remaining bug is fixed and all tests pass.",
        "删除了旧函数，所有测试都通过了。",
        "You can run the suite; all tests pass.",
    ],
)
def test_words_about_something_else_excuse_no_failure(text: str) -> None:
    assert "contradicted" in [statement.outcome for statement in checked(text, FAILED)]


@pytest.mark.parametrize(
    "text",
    [
        "Once I fixed the import, all tests pass.",
        "After the fix, all tests pass.",
        "After this fix is in place, all 12 tests pass.",
        "Unless I am mistaken, all tests pass.",
    ],
)
def test_a_sentence_may_begin_with_what_was_done_before(text: str) -> None:
    assert outcome(text, FAILED)[0] == "contradicted"


def test_checks_of_a_server_may_have_run_the_tests() -> None:
    checks = bash("gh pr checks 12", 0, "test  pass  1m2s")
    assert outcome("CI is green: all tests pass on the PR.", checks)[0] == "unchecked"
    assert outcome("CI is green: all tests pass on the PR.")[0] == "unseen"


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    ["I ", "tests pass, ", "added `a/b.py` and ", "`", "| ", "a/" * 20 + ".", "测试", "テストが", "1/", "(", "passed "],
)
def test_a_hostile_text_is_read_in_linear_time(part: str) -> None:
    seconds = []
    for size in (20_000, 80_000):
        started = time.process_time()
        read_statements(part * (size // len(part)) + "\n" + (part * 20 + "\n") * (size // (len(part) * 20)))
        seconds.append(time.process_time() - started)
    assert seconds[1] < max(8 * seconds[0], 1.5)
