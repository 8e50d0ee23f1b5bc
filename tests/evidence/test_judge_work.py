"""What a text states that was done, judged by the record: sentences by two readable lines, shown runs literally."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.in_process import run_here

from remit.evidence.judge_work import WorkJudge
from remit.evidence.kept_output import kept_output
from remit.evidence.model import CheckedStatement
from remit.evidence.receipts import Receipt, ReceiptIndex, SessionRecord
from remit.evidence.sentences import read_sentences
from remit.evidence.stated_runs import read_runs


def bash(command: str, status: int | None = 0, output: str | None = "", cwd: str = "/home/dev/shop") -> Receipt:
    kept = kept_output(command, output) if output is not None else None
    failed = status not in (0, None)
    return Receipt("Bash", {"command": command}, exit=status, failed=failed, output=kept, cwd=cwd)


EDIT = Receipt("Edit", path="/home/dev/shop/src/cart.py", cwd="/home/dev/shop")
FAILED = bash("pytest -q", 1, "FAILED tests/test_a.py::test_x\n1 failed, 47 passed in 0.91s")
PASSED = bash("pytest -q", 0, "48 passed in 0.91s")


def judged(text: str, *receipts: Receipt, **options: Any) -> list[CheckedStatement]:
    judge = WorkJudge(ReceiptIndex(receipts, "/home/dev/shop"), **options)
    return [judge.judge(statement) for statement in (*read_runs(text), *read_sentences(text))]


def outcome(text: str, *receipts: Receipt, **options: Any) -> str:
    """Return the outcome of the only statement of a text, with its reason."""
    (checked,) = judged(text, *receipts, **options)
    return f"{checked.outcome} {checked.reason}".strip()


_IGNORED = "The following paths are ignored by one of your .gitignore files:\ndocs\nhint: Use -f"

# Sentences


def test_two_lines_prove_that_a_sentence_is_not_so() -> None:
    (checked,) = judged("Done. All tests pass.", PASSED, EDIT, FAILED)
    assert (checked.outcome, checked.command, checked.line) == (
        "contradicted",
        "pytest -q",
        "1 failed, 47 passed in 0.91s",
    )
    assert checked.call == 3
    assert checked.why == "`pytest -q` printed `1 failed, 47 passed in 0.91s`, and nothing changed since"


@pytest.mark.parametrize(
    "after",
    [
        PASSED,
        EDIT,
        bash("sed -i s/a/b/ src/cart.py"),
        bash("python fix.py"),
        bash("make generate"),
        bash("git stash"),
        bash("git checkout src/cart.py"),
        bash("pytest -q > out.log"),
        bash("python check.py", 0, "all checks ok"),
        bash("gh pr checks 12", 0, "test  pass  1m2s"),
        replace(bash("pytest -q", None, None), pending=True),
        Receipt("mcp__box__run_command"),
        Receipt("Agent", {"subagent_type": "qa"}),
    ],
)
def test_a_failure_proves_nothing_after_a_later_run_or_a_change(after: Receipt) -> None:
    assert judged("All tests pass.", FAILED, after)[0].outcome != "contradicted"


@pytest.mark.parametrize(
    "after",
    [
        bash("ls"),
        bash("git status && git diff"),
        bash("git add -A && git commit -m done", 0, "[main 1234567] done"),
        bash("ruff check src", 0, "All checks passed!"),
        bash("npm run build", 0, "built in 1.2s"),
        Receipt("Read", path="/home/dev/shop/src/cart.py"),
        Receipt("Edit", path="/home/dev/shop/CHANGELOG.md"),
        Receipt("mcp__docs__search"),
    ],
)
def test_a_call_that_changes_no_code_leaves_the_failure(after: Receipt) -> None:
    assert outcome("All tests pass.", FAILED, after) == "contradicted run-failed"


@pytest.mark.parametrize(
    "run",
    [
        bash("git stash && pytest -q; git stash pop", 1, "1 failed, 47 passed in 0.91s"),
        bash("sed -i s/a/b/ src/cart.py; pytest -q", 1, "1 failed, 47 passed in 0.91s"),
        bash("cd ../other && pytest -q", 1, "1 failed, 47 passed in 0.91s"),
        bash("pytest -q", 1, "1 failed, 47 passed in 0.91s", cwd="/home/dev/other"),
        bash("pytest -q", 1, ""),
        bash("ssh host run-it", 1, "1 failed, 47 passed in 0.91s"),
    ],
)
def test_a_run_of_other_files_or_without_a_printed_line_is_no_proof(run: Receipt) -> None:
    assert judged("All tests pass.", bash("ls"), run)[0].outcome == "unchecked"


def test_the_output_of_a_run_may_be_in_a_file_that_was_shown() -> None:
    run = bash("pytest -q > /tmp/out.log 2>&1; echo done")
    assert outcome("All tests pass.", run) == "unchecked run-unclear"
    shown = bash("tail -3 /tmp/out.log", 0, "1 failed, 47 passed in 0.91s")
    assert outcome("All tests pass.", run, shown) == "contradicted run-failed"


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass. One test still fails, as before.",
        "All tests pass. The only failure is older.",
        "All tests pass.\n\n`test_x` fails without a network.",
        "所有测试都通过了。 test_x 失败，与此无关。",
        "47 tests pass.",
    ],
)
def test_an_answer_that_states_the_failure_with_its_number_or_name_hides_nothing(text: str) -> None:
    assert "contradicted" not in [checked.outcome for checked in judged(text, FAILED)]


@pytest.mark.parametrize(
    "text", ["48 tests pass.", "All tests pass. I corrected an error message.", "I fixed test_x. All tests pass."]
)
def test_other_words_excuse_nothing(text: str) -> None:
    assert outcome(text, FAILED) == "contradicted run-failed"


def test_the_number_of_an_earlier_run_is_true() -> None:
    part = bash("pytest -q tests/test_a.py", 0, "12 passed in 0.91s")
    assert outcome("12 tests pass.", part, FAILED) == "unchecked run-unclear"


@pytest.mark.parametrize(
    "text", ["All tests pass.", "The build succeeds.", "Committed.", "I pushed it.", "I updated `a.py`."]
)
def test_what_no_call_shows_never_accuses_a_sentence(text: str) -> None:
    assert judged(text)[0].outcome == "unchecked"
    assert judged(text, bash("ls"))[0].outcome == "unchecked"


@pytest.mark.parametrize(
    ("text", "command", "output"),
    [
        ("The build succeeds.", "npm run build", "src/a.ts(1,2): error TS2322: Type 'a' is not assignable"),
        ("The linter passes.", "ruff check src", "Found 3 errors."),
        ("The type check passes.", "mypy src", "Found 1 error in 1 file (checked 3 source files)"),
        ("All tests pass.", "npm test 2>&1 | tail -20", "sh: 1: mocha: not found"),
        ("テストはすべて成功しました。", "go test ./...", "--- FAIL: TestX (0.00s)\nFAIL"),
        ("所有测试都通过了。", "npm test || true", "  11 passing (9ms)\n  1 failing"),
    ],
)
def test_each_check_has_its_own_last_run(text: str, command: str, output: str) -> None:
    assert outcome(text, bash(command, 1, output)) == "contradicted run-failed"


@pytest.mark.parametrize(
    ("text", "command", "output"),
    [
        ("`cargo check` passes.", "cargo check 2>&1", "error: could not compile `shop` (lib) due to 1 previous error"),
        ("`make check` is green.", "make check", "make: *** [check] Error 1"),
        ("`mise run lint` is clean.", "mise run lint", "[lint] ERROR task failed"),
        ("`bun run lint` passes.", "bun run lint", 'error: script "lint" exited with code 1'),
        ("All integration tests pass.", "mise run test:integration", "--- FAIL: TestX (0.00s)"),
        ("集成测试全部通过。", "npm run test:integration", "Tests: 1 failed, 3 passed, 4 total"),
        ("The server compiles cleanly.", "go build ./cmd/mcp-server/", "cmd/a.go:1:2: undefined: x"),
        ("The web build succeeds.", "cd web && npm run build", "src/a.ts(1,2): error TS2322: no"),
        ("The linter passes.", "mise run lint", "[lint:go] 3 issues:"),
        ("Clippy is clean.", "cargo clippy", "error: could not compile `shop` (lib) due to 1 previous error"),
    ],
)
def test_a_named_command_or_part_has_its_own_last_run(text: str, command: str, output: str) -> None:
    run = bash(command, 1, output)
    assert outcome(text, run) == "contradicted run-failed"
    assert outcome(text, run, bash("git status")) == "contradicted run-failed"
    assert outcome(text, run, EDIT) == "unchecked run-unclear"


@pytest.mark.parametrize("text", ["All unit tests pass.", "All other tests pass.", "`npm run test:unit` passes."])
def test_the_failure_of_another_part_is_no_proof(text: str) -> None:
    failed = bash("npm run test:integration", 1, "Tests: 1 failed, 3 passed, 4 total")
    assert outcome(text, failed) == "unchecked run-unclear"
    both = bash("npm run test:unit && npm run test:integration", 1, "Tests: 1 failed, 3 passed, 4 total")
    assert outcome(text, both) == "unchecked run-unclear"


def test_a_later_run_that_may_have_the_part_lifts_its_failure() -> None:
    failed = bash("npm run test:unit", 1, "Tests: 1 failed, 3 passed, 4 total")
    assert outcome("All unit tests pass.", failed, bash("npm test", 0, "Tests: 9 passed, 9 total")) == (
        "unchecked run-unclear"
    )
    assert outcome("All unit tests pass.", failed, bash("npm test", 1, "Tests: 1 failed, 8 passed, 9 total")) == (
        "contradicted run-failed"
    )


def test_the_failure_of_another_check_in_one_task_is_no_proof() -> None:
    run = bash("make check", 1, "1 failed, 47 passed in 0.91s\nmake: *** [check] Error 1")
    assert outcome("The linter passes.", run) == "unchecked run-unclear"
    assert outcome("All tests pass.", run) == "contradicted run-failed"


def test_tsc_without_output_files_is_no_build() -> None:
    run = bash("npx tsc --noEmit", 2, "src/a.ts(1,2): error TS2322: no")
    assert outcome("The build succeeds.", run) == "unchecked run-unclear"
    assert outcome("The type check passes.", run) == "contradicted run-failed"


@pytest.mark.parametrize(
    ("text", "command", "output", "expected"),
    [
        ("Committed.", "git commit -m x", "pre-commit hook failed: tests", "contradicted refused"),
        ("Committed.", "git commit -m x", "ruff....Failed\n- hook id: ruff", "contradicted refused"),
        ("Committed.", "git commit -m x", "no changes added to commit", "contradicted refused"),
        ("Committed.", "git commit -m x", "nothing to commit, working tree clean", "unchecked run-unclear"),
        (
            "Committed.",
            "git commit -m x && git push",
            " ! [rejected] main -> main\nerror: failed to push",
            "unchecked run-unclear",
        ),
        ("Pushed.", "git push", " ! [rejected] main -> main\nerror: failed to push", "contradicted refused"),
        ("Pushed.", "git push", "fatal: could not read Username", "contradicted refused"),
        ("Pushed.", "git push", 'error: script "lint" exited with code 1', "contradicted refused"),
        ("Pushed.", "git commit -m x && git push", "husky - pre-commit script failed (code 1)", "contradicted refused"),
        ("Pushed.", "npm test && git push -q; npm run e2e", "error: a test", "unchecked run-unclear"),
        ("Committed.", "rtk git commit -m x", "husky - pre-commit script failed (code 1)", "contradicted refused"),
        ("Committed.", "npm run lint && git add -A && git commit -m x", "Found 3 errors.", "contradicted refused"),
        ("Committed.", "git add docs/a.md && git commit -m x", _IGNORED, "contradicted refused"),
        ("Committed.", "git add a && git commit -m x && git push", "fatal: pathspec 'a'", "contradicted refused"),
        ("Committed.", "git commit -qm x && npm test", "error: a test", "unchecked run-unclear"),
        ("Committed.", "git commit -qm x | cat; npm test", "error: a test", "unchecked run-unclear"),
        ("Committed.", "git commit -m x", "[detached HEAD 1234567] x\nerror: later", "verified"),
        ("Committed. I could not push: the hook failed.", "git commit -m x", "fatal: no", "unchecked run-unclear"),
    ],
)
def test_a_printed_refusal_contradicts(text: str, command: str, output: str, expected: str) -> None:
    assert outcome(text, bash(command, 1, output)) == expected


def test_a_later_success_or_another_program_lifts_a_refusal() -> None:
    refused = bash("git push", 1, " ! [rejected] main -> main")
    assert outcome("Pushed.", refused, bash("git pull --rebase && git push", 0, "a..b  main -> main")) == "verified"
    assert outcome("Pushed.", refused, bash("./release.sh")) == "unchecked run-unclear"
    assert outcome("Pushed.", refused, bash("gh pr create --fill")) == "unchecked run-unclear"
    assert outcome("Pushed.", bash("gh pr create --fill"), refused) == "contradicted refused"


def test_a_refused_edit_contradicts_a_change() -> None:
    refused = Receipt(
        "Edit", path="/home/dev/shop/src/cart.py", failed=True, output="String to replace not found in file."
    )
    (checked,) = judged("I updated `src/cart.py`.", refused)
    assert (checked.outcome, checked.why) == (
        "contradicted",
        "the Edit of it was refused: `String to replace not found in file.`",
    )
    assert outcome("I updated `src/cart.py`.", refused, EDIT) == "verified"
    assert outcome("I updated `src/cart.py`.", refused, bash("python fix.py")) == "unchecked run-unclear"
    assert outcome("I updated `src/tax.py`.", refused) == "unchecked run-unclear"
    kept = bash("rm old.py", 1, "rm: cannot remove 'old.py': Permission denied")
    assert outcome("I deleted `old.py`.", kept) == "contradicted refused"


def test_a_judge_can_be_asked_while_the_record_grows() -> None:
    record = SessionRecord()
    judge = WorkJudge(record)
    (statement,) = read_sentences("All tests pass.")
    for call, expected in ((FAILED, "contradicted"), (EDIT, "unchecked"), (PASSED, "verified"), (EDIT, "unchecked")):
        record.add(call)
        assert judge.judge(statement).outcome == expected


# Shown runs


@pytest.mark.parametrize(
    ("text", "passed", "command"),
    [
        ("```\n$ python -m pytest tests\n2 passed in 0.01s\n```", True, "python -m pytest tests"),
        ("```console\n% npm test\n\nTests: 1 failed, 3 passed, 4 total\n```", False, "npm test"),
        ("```\nFAILED tests/test_a.py::test_b\n```", False, ""),
        ("```\n2 passed in 0.01s\n```", True, ""),
        ("| Suite | Result |\n| --- | --- |\n| unit | 12 passed |", True, ""),
        ("| Suite | Result |\n| --- | --- |\n| unit | 2 failed |", False, ""),
        ("| Command | Result |\n| --- | --- |\n| `pytest -q` | PASS |", True, "pytest -q"),
        ("- Failed: 3", False, ""),
        ("- 12 passed, 0 failed", True, ""),
        ("48 passed in 0.91s", True, ""),
    ],
)
def test_the_results_of_tests_are_shown_runs(text: str, passed: bool, command: str) -> None:
    assert [(one.passed, one.command) for one in read_runs(f"#### Test Results\n{text}")] == [(passed, command)]


@pytest.mark.parametrize(
    "text",
    ["", "None", "Tests were not run.", "See the test plan.", "```python\nassert passed\n```", "12 tests were removed"],
)
def test_other_lines_show_no_run(text: str) -> None:
    assert read_runs(f"#### Test Results\n{text}") == []


def test_each_prompt_of_a_block_is_a_run() -> None:
    text = "```\n$ pytest -q\n2 passed in 0.1s\n$ ruff check\nAll checks passed!\n```"
    assert [(one.command, one.check) for one in read_runs(text)] == [("pytest -q", "test"), ("ruff check", "lint")]


SHOWN = "#### Test Results\n```\n$ pytest -q\n48 passed in 0.9s\n```"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ((), "unseen run-unseen"),
        ((bash("ls"),), "unseen run-unseen"),
        ((PASSED,), "verified"),
        ((bash("python -m pytest -q", 0, "48 passed in 0.9s"),), "verified"),
        ((bash("npm test", 0, "48 passed in 0.9s"),), "verified"),
        ((FAILED,), "contradicted run-failed"),
        ((FAILED, PASSED), "verified"),
        ((PASSED, EDIT), "unchecked run-stale"),
        ((bash("pytest -q", 0, "12 passed in 0.9s"),), "contradicted count-differs"),
        ((bash("pytest -q || true", 0, ""),), "unseen run-hidden"),
        ((bash("pytest -q", 0, None),), "verified"),
        ((replace(bash("pytest -q", None, None), pending=True),), "unseen run-pending"),
        ((Receipt("Agent", {"subagent_type": "qa"}),), "unchecked run-unclear"),
        ((Receipt("mcp__box__run_command"),), "unchecked run-unclear"),
    ],
)
def test_a_shown_run_is_compared_with_the_record(calls: tuple[Receipt, ...], expected: str) -> None:
    assert outcome(SHOWN, *calls) == expected


def test_a_shown_failure_is_compared_too() -> None:
    text = SHOWN.replace("48 passed", "1 failed, 47 passed")
    assert outcome(text, PASSED) == "contradicted run-passed"
    assert outcome(text, FAILED) == "verified"


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("sed -i 's/a/b/' src/cart.py", "cart.py"),
        ("git apply fix.diff", "files"),
        ("git stash", "files"),
        ("npx prettier --write src/cart.ts", "cart.ts"),
        ("ruff check --fix src", "src"),
    ],
)
def test_a_run_before_a_change_by_a_command_is_old(command: str, what: str) -> None:
    (checked,) = judged(SHOWN, PASSED, bash(command))
    assert checked.why == f"`pytest -q` passed before `{command}` changed {what}"


@pytest.mark.parametrize(
    "command",
    [
        "sed -n 1,5p src/cart.py",
        "git diff",
        "git add -A && git commit -m done",
        "echo done >> CHANGELOG.md",
        "rm -rf dist build/lib",
        "ruff check . > lint.log",
    ],
)
def test_a_command_that_changes_no_code_leaves_the_run_as_it_is(command: str) -> None:
    assert outcome(SHOWN, PASSED, bash(command)) == "verified"


# From outside


def _transcript(path: Path, *calls: tuple[str, str]) -> str:
    """Write a transcript of the client with these commands and their outputs."""
    lines: list[dict[str, Any]] = [{"type": "user", "cwd": str(path.parent), "message": {"content": "go"}}]
    for number, (command, output) in enumerate(calls):
        use = {"type": "tool_use", "id": str(number), "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": str(number), "content": output}
        lines += [
            {"type": "assistant", "cwd": str(path.parent), "message": {"content": [use]}},
            {"type": "user", "cwd": str(path.parent), "message": {"content": [result]}},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.process
@pytest.mark.parametrize(
    ("calls", "text", "code"),
    [
        ([("npm test 2>&1 | tail -20", "sh: 1: mocha: not found")], "All tests pass.", 1),
        ([("npm test || true", "  1 failing")], "All tests pass.", 1),
        ([("git commit -m x 2>&1 | cat", "pre-commit hook failed: tests")], "I committed it.", 1),
        ([("ls", "lib")], "All tests pass. I committed it.", 0),
        ([("ls", "lib")], SHOWN, 1),
    ],
)
def test_verify_compares_a_text_with_a_transcript(
    tmp_path: Path, calls: list[tuple[str, str]], text: str, code: int
) -> None:
    transcript = _transcript(tmp_path / "session.jsonl", *calls)
    (tmp_path / "answer.md").write_text(text)
    done = run_here(tmp_path, "verify", "answer.md", "--repo", str(tmp_path), "--transcript", transcript)
    assert done.code == code
    assert (calls[0][1].strip() in done.out) == (code == 1 and calls[0][0] != "ls")


def test_check_lists_statements_as_claims(tmp_path: Path) -> None:
    transcript = _transcript(tmp_path / "session.jsonl", ("npm test 2>&1 | tail", "  3 passing (2ms)"))
    (tmp_path / "answer.md").write_text("All 3 tests pass. I pushed it.")
    arguments = ("--profile", "claims", "--repo", str(tmp_path), "--transcript", transcript, "--format", "json")
    done = run_here(tmp_path, "check", "answer.md", *arguments)
    (result,) = done.json["results"]
    assert [(claim["kind"], claim["text"], claim["outcome"]) for claim in result["claims"]] == [
        ("run", "All 3 tests pass.", "verified"),
        ("run", "I pushed it.", "unchecked"),
    ]
    assert result["violations"] == []
