"""Read the runs that a result shows: `$ command` with what it printed, and the rows and lines of Test Results.

They are compared with the record literally. Sentences are read elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from remit.evidence.find_runs import RunCommand, find_runs
from remit.evidence.model import Check, WorkStatement
from remit.evidence.run_outcomes import line_counts, read_outcome
from remit.lazy import lazy_pattern

_MAX_LINE = 400
_MAX_BLOCK = 20_000
_FENCE = lazy_pattern(r"\s*(`{3,}|~{3,})")
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}\s+(.*)$|\s*\*\*([^*\n]{1,80}?)[:：]?\*\*[:：]?\s*$")
_ABOUT_TESTS = lazy_pattern(r"\b(?:tests?|testing)\b|テスト|测试", re.IGNORECASE)
_PROMPT = lazy_pattern(r"\s*[$>%❯]\s+(\S.*)$")
_MARKS = lazy_pattern(r"[*`✅✔✓❌✗☑]|^\s*(?:[-+*•]|\d{1,3}[.)])\s+")
_COUNT = (
    r"(?:\d[\d,]*\s(?:tests?\s)?(?:pass(?:ed|ing)?|fail(?:ed|ing|ures?)?|skipped|errors?|total|tests?)"
    r"|(?:tests?\s)?(?:pass(?:ed)?|fail(?:ed|ures?)?|skipped|errors?|total|tests?)\s?[:=]\s?\d[\d,]*)"
)
#: A line with nothing but numbers of tests, and perhaps a label: `Unit: 12 passed, 1 failed in 0.9s`.
_COUNTS = lazy_pattern(
    rf"(?:[^:|.\d]{{1,40}}[:：]\s?)?{_COUNT}(?:\s?(?:[,;/·]|and)?\s?{_COUNT}){{0,5}}(?:\s?\(?in [\d.]+ ?m?s\)?)?\.?",
    re.IGNORECASE,
)
_PASS = lazy_pattern(r"(?:all )?(?:pass(?:ed|es|ing)?|ok|success(?:ful)?|green|成功|通过|通過|合格)", re.IGNORECASE)
_FAIL = lazy_pattern(r"fail(?:ed|s|ing|ure)?|error|red|失败|失敗|不合格", re.IGNORECASE)


def read_runs(text: str) -> list[WorkStatement]:
    """Return the runs that a text shows, in order."""
    statements: list[WorkStatement] = []
    body: list[str] = []
    fence, first, is_about_tests = "", 0, False
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence and not (mark and mark[1].startswith(fence)):
            body.append(line)
        elif fence:
            statements += _of_fence(body, first, is_about_tests=is_about_tests)
            fence = ""
        elif mark:
            fence, body, first = mark[1], [], number + 1
        elif heading := _HEADING.match(line[:_MAX_LINE]):
            is_about_tests = _ABOUT_TESTS.search(heading[1] or heading[2] or "") is not None
        elif is_about_tests and len(line) <= _MAX_LINE:
            statements += _of_line(line, number)
    return statements


def _of_fence(body: list[str], first: int, *, is_about_tests: bool) -> Iterator[WorkStatement]:
    """Yield the runs of a block of code: each prompt with what it printed, or the output alone."""
    prompts = [(place, prompt[1]) for place, line in enumerate(body) if (prompt := _PROMPT.match(line[:_MAX_LINE]))]
    if not prompts and is_about_tests:
        yield from _shown("\n".join(body), "", None, first)
    for number, (place, command) in enumerate(prompts):
        end = prompts[number + 1][0] if number + 1 < len(prompts) else len(body)
        runs = find_runs(" ".join(command.split()))
        if runs or is_about_tests:
            output = "\n".join(body[place + 1 : end])
            yield from _shown(output, " ".join(command.split()) if runs else "", runs[-1] if runs else None, first)


def _shown(output: str, command: str, run: RunCommand | None, line: int) -> Iterator[WorkStatement]:
    check = _check_of(run)
    outcome = read_outcome(output[:_MAX_BLOCK], run if run is not None and run.runners else None, check)
    if outcome.passed is not None:
        counts = dict(outcome.counts)
        yield WorkStatement(
            outcome.line,
            line,
            is_shown=True,
            check=check,
            passed=outcome.passed,
            count=counts.get("passed"),
            failed=counts.get("failed"),
            command=command,
        )


def _check_of(run: RunCommand | None) -> Check:
    if run is None or "test" in run.checks:
        return "test"
    return min(run.checks)


def _of_line(line: str, number: int) -> Iterator[WorkStatement]:
    """Yield the run of a row, list entry or line below a heading about tests."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.lstrip().startswith("|") else [line]
    plain = [_MARKS.sub("", cell).strip() for cell in cells]
    command = next((cell for cell in plain if find_runs(cell)), "") if len(cells) > 1 else ""
    for cell in plain:
        counted, word = _COUNTS.fullmatch(cell), _word_of(cell) if command else None
        if counted is None and word is None:
            continue
        counts = line_counts(cell)
        passed = word == "passed" if counted is None else not counts.get("failed")
        if counted is not None and not {"passed", "failed"} & counts.keys():
            continue
        text, run = " : ".join(plain), find_runs(command)[-1] if command else None
        check, count = _check_of(run), counts.get("passed")
        failed = counts.get("failed")
        yield WorkStatement(
            text, number, is_shown=True, check=check, passed=passed, count=count, failed=failed, command=command
        )
        return


def _word_of(cell: str) -> Literal["passed", "failed"] | None:
    return "passed" if _PASS.fullmatch(cell) else "failed" if _FAIL.fullmatch(cell) else None
