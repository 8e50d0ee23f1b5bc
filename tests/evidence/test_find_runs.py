"""Runs of tests, builds and analyses: which commands are some, and what their output shows."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import remit
from remit.evidence.find_runs import find_runs, runners
from remit.evidence.kept_output import kept_output
from remit.evidence.model import Check
from remit.evidence.run_outcomes import read_outcome, run_outcome

_SKIPPED = tomllib.loads((Path(__file__).parent / "statements" / "skipped_runs.toml").read_text("utf-8"))
_OUTPUTS = tomllib.loads((Path(__file__).parent / "statements" / "runner_outputs.toml").read_text("utf-8"))["output"]
#: Programs that print nothing when they succeed.
_SILENT = ("make-pass", "tsc-pass")


@pytest.mark.parametrize("recorded", _OUTPUTS, ids=lambda recorded: str(recorded["name"]))
def test_the_output_of_a_runner_decides_and_not_the_status_of_its_line(recorded: dict[str, Any]) -> None:
    (run,) = find_runs(recorded["command"])
    output = kept_output(recorded["command"], recorded["text"])
    passed = recorded["exit"] == 0
    assert run_outcome(run, output, recorded["exit"]).passed is passed
    (hidden,) = find_runs(f"{recorded['command']} 2>&1 | tail -40")
    if recorded["name"] not in _SILENT:
        assert run_outcome(hidden, output, 0).passed is passed


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("pytest-fail", {"failed": 1, "passed": 1}),
        ("jest-fail", {"failed": 1, "passed": 1, "total": 2}),
        ("vitest-pass", {"passed": 1}),
        ("mocha-fail", {"failed": 1, "passed": 1}),
        ("node-fail", {"failed": 1, "passed": 1}),
        ("cargo-pass", {"failed": 0, "passed": 2}),
        ("ctest-fail", {"failed": 1, "total": 2}),
        ("rspec-fail", {"failed": 1, "total": 2}),
        ("phpunit-fail", {"failed": 1, "total": 2}),
        ("minitest-pass", {"failed": 0, "total": 1}),
    ],
)
def test_the_counts_of_a_summary_are_read(name: str, counts: dict[str, int]) -> None:
    recorded = next(entry for entry in _OUTPUTS if entry["name"] == name)
    (run,) = find_runs(recorded["command"])
    assert dict(run_outcome(run, recorded["text"], None).counts) == counts


@pytest.mark.parametrize(
    ("command", "check"),
    [
        ("pytest", "test"),
        ("python -m pytest -q tests", "test"),
        ("cd app && npm test", "test"),
        ("npm ci && npm run test:unit", "test"),
        ("env CI=1 timeout 60 pytest -q 2>&1 | tail -5", "test"),
        ("bash -lc 'cargo test'", "test"),
        ("make check", "test"),
        ("./run_tests.sh", "test"),
        ("sh tests.sh", "test"),
        ("uv run --extra dev pytest", "test"),
        ("poetry run python -m pytest", "test"),
        ("python manage.py test", "test"),
        ("docker compose exec -T web bats tests", "test"),
        ("docker run --rm -v .:/app image pytest", "test"),
        ("npx --yes jest", "test"),
        ("pnpm --filter web test", "test"),
        ("./gradlew build", "build"),
        ("npm run build", "build"),
        ("npx tsc --noEmit", "types"),
        ("uvx mypy src", "types"),
        ("pre-commit run --all-files", "lint"),
        ("npm run lint", "lint"),
    ],
)
def test_a_command_line_names_what_it_checks(command: str, check: Check) -> None:
    assert any(check in run.checks for run in find_runs(command))


@pytest.mark.parametrize(
    "command",
    [
        "ls tests",
        "cat pytest.ini",
        "grep -rn 'pytest' .",
        "grep -E 'test|spec' a.py",
        "echo 'pytest: 45 passed'",
        "cat tests/test_a.py > copy.py",
        "pip install pytest",
        "python -m pip install pytest",
        "npm install --save-dev jest",
        "npm ci",
        "npx playwright install",
        "git add tests && git commit -m 'tests pass'",
        "mkdir -p tests && touch tests/test_a.py",
        "python -m pytest --collect-only",
        "pytest --version",
    ],
)
def test_a_command_that_only_names_tests_runs_none(command: str) -> None:
    assert find_runs(command) == ()


@pytest.mark.parametrize(
    ("command", "status", "passed"),
    [
        ("pytest", 0, True),
        ("pytest", 1, False),
        ("pytest && echo ok", 0, True),
        ("pytest && echo ok", 1, False),
        ("pytest | tail -5", 0, None),
        ("pytest 2>&1 | tee log", 0, None),
        ("set -o pipefail; pytest | tee log", 2, False),
        ("pytest; echo done", 0, None),
        ("pytest || true", 0, None),
        ("pytest &", 0, None),
        ("pytest && make docs", 2, None),
        ("pytest | grep FAILED", 1, None),
    ],
)
def test_the_status_counts_only_if_it_is_that_of_the_runner(command: str, status: int, passed: bool | None) -> None:
    assert run_outcome(find_runs(command)[0], "", status).passed is passed


@pytest.mark.parametrize(
    "end", ["FAILED (failures=1)", "FAILED (errors=1, skipped=1)", "FAILED (unexpected successes=1)"]
)
def test_the_number_of_tests_of_unittest_does_not_hide_that_one_failed(end: str) -> None:
    (run,) = find_runs("python -m unittest 2>&1 | tail -3")
    assert run_outcome(run, kept_output("python -m unittest", f"Ran 3 tests in 0.001s\n\n{end}"), 0).passed is False


def test_a_printed_status_counts() -> None:
    (run,) = find_runs('pytest > out.log 2>&1; echo "exit: $?"')
    assert run_outcome(run, "exit: 1", 0).passed is False
    assert run_outcome(run, "exit: 0", 0).passed is True
    (piped,) = find_runs("pytest | tail -3; echo $?")
    assert run_outcome(piped, "0", 0).passed is None


def test_a_summary_has_priority_over_what_the_program_under_test_prints() -> None:
    (run,) = find_runs("npm test")
    output = "error: expected in this test\nFAIL of a connection\n  12 passing (3ms)"
    assert run_outcome(run, output, 0).passed is True


def test_a_line_that_programs_of_other_checks_print_proves_nothing_about_a_check() -> None:
    printed = "error: expected in this test\n 12 pass\n 0 fail\nChecked 29 files in 9ms. No fixes applied."
    assert read_outcome(printed, None, "lint").passed is True
    assert read_outcome("src/a.ts(3,4): error TS2307: no module", None, "types").passed is False
    linter, _ = find_runs("npm run lint && npm test")
    assert run_outcome(linter, printed, 0, "lint").passed is True
    assert run_outcome(linter, "error: no such rule", 1, "lint").passed is False


def test_a_long_output_is_kept_in_part_with_its_summary() -> None:
    output = "\n".join(["test passed"] * 50_000 + ["2 failed, 3 passed in 1.0s"])
    kept = kept_output("pytest", output)
    assert len(kept) < 50_000
    assert kept.endswith("2 failed, 3 passed in 1.0s")
    assert kept_output("cat a.py", output) == ""


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (
            "pytest",
            "\x1b[31mFAILED\x1b[0m a.py::b\n\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m3 passed\x1b[0m in 0.1s",
        ),
        (
            "npx vitest run",
            "\x1b[2m      Tests \x1b[22m \x1b[31m1 failed\x1b[39m\x1b[2m | \x1b[22m\x1b[32m3 passed\x1b[39m (4)",
        ),
        ("pytest", "collecting 1\rcollecting 2\r1 failed, 3 passed in 0.1s\r\n"),
        ("pytest", "\x1b]0;title\x07\x1b[2J1 failed, 3 passed in 0.1s"),
    ],
)
def test_colours_and_a_progress_display_do_not_hide_a_failure(command: str, output: str) -> None:
    (run,) = find_runs(command)
    kept = kept_output(command, output)
    assert "\x1b" not in kept
    outcome = run_outcome(run, kept, 0)
    assert outcome.passed is False
    assert dict(outcome.counts)["failed"] == 1


def test_many_escape_sequences_take_linear_time() -> None:
    for hostile in ("\x1b[", "\x1b[0", "\x1b]x", "\x1b[;" + "0" * 50):
        assert kept_output("pytest", hostile * 100_000 + "\n1 failed in 1s").endswith("1 failed in 1s")
    assert kept_output("pytest", "\x1b[" + "0" * 1_000_000 + "\n1 failed in 1s").endswith("1 failed in 1s")


def _outcomes(text: str, command: str, output: str, folder: Path) -> set[str]:
    receipt = {"tool": "Bash", "arguments": {"command": command}, "output": kept_output(command, output), "exit": 0}
    statements = remit.check(text, repo=folder, receipts=[receipt]).evidence.statements
    return {f"{statement.outcome} {statement.reason}".strip() for statement in statements}


@pytest.mark.parametrize("run", _SKIPPED["empty"], ids=lambda run: str(run["command"]))
def test_a_run_in_which_no_test_passed_does_not_show_that_tests_pass(run: dict[str, str], tmp_path: Path) -> None:
    for command in (run["command"], f"{run['command']} 2>&1 | tail -40"):
        assert _outcomes("All tests pass.\n", command, run["text"], tmp_path) == {"unchecked run-unclear"}


@pytest.mark.parametrize("run", _SKIPPED["some"], ids=lambda run: str(run["command"]))
def test_a_run_in_which_some_tests_were_skipped_shows_that_tests_pass(run: dict[str, str], tmp_path: Path) -> None:
    assert _outcomes("All tests pass.\n", run["command"], run["text"], tmp_path) == {"verified"}


def test_a_build_without_tests_shows_that_the_build_passes(tmp_path: Path) -> None:
    output = "[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS"
    assert _outcomes("The build passes.\n", "mvn package -DskipTests", output, tmp_path) == {"verified"}


@pytest.mark.parametrize("output", ["5 skipped in 0.1s", "5 deselected in 0.1s", "2 skipped, 3 xfailed in 0.1s"])
def test_a_run_in_which_no_test_ran_does_not_show_that_tests_passed(output: str, tmp_path: Path) -> None:
    receipts = [{"tool": "Bash", "arguments": {"command": "pytest"}, "output": output}]
    verdict = remit.check("```\n$ pytest\n5 passed in 0.1s\n```\n", repo=tmp_path, receipts=receipts)
    assert {statement.outcome for statement in verdict.evidence.statements} == {"contradicted"}
    receipts[0]["exit"] = 0
    verdict = remit.check("All tests pass.\n", repo=tmp_path, receipts=receipts)
    assert {statement.outcome for statement in verdict.evidence.statements} == {"unchecked"}
    receipts[0]["output"] = f"5 passed, {output}"
    verdict = remit.check("All tests pass.\n", repo=tmp_path, receipts=receipts)
    assert {statement.outcome for statement in verdict.evidence.statements} == {"verified"}


def test_only_the_expressions_that_are_asked_are_compiled() -> None:
    runners.cache_clear()
    assert find_runs("pytest tests/test_of_compiling.py")
    patterns = [pattern for runner in runners() for pattern in (runner.success, runner.failure) if pattern is not None]
    assert patterns
    assert not [pattern for pattern in patterns if "_compiled" in vars(pattern)]
