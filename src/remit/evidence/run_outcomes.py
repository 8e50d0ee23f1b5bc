"""Read what the output of a run shows: whether it succeeded, and how many tests passed.

A run that states counts, and no test that passed, does not show that tests pass.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from remit.evidence.find_runs import RunCommand, Runner, runners
from remit.evidence.kept_output import MAX_LINE, without_escapes
from remit.evidence.model import Check
from remit.lazy import lazy_pattern

#: Lines of a shell or of a package manager that could not start a program, or that report its failure.
_NOT_STARTED = lazy_pattern(
    r"(?:(?:^|[\s:])command not found(?:$|: \S+$)"
    r"|^\S+: (?:line )?(?:\d+: )?\S+: not found$)|^\S*sh: (?:line )?\d*:? ?\S+: (?:No such file"
    r"|Permission denied)|"
    r"is not recognized as an? |^(?:npm|pnpm) (?:ERR!|error) (?:Missing script|code E|Lifecycle script)"
    r"|Missing script:|"
    r"^error: (?:Script|unknown command|no such (?:sub)?command)|: No module named |^make: \*\*\*"
    r"|^make\[\d+\]: \*\*\*|"
    r"^error: script \"[^\"]+\" exited with code [1-9]|^\[[\w:.-]+\] ERROR task failed|^\s*ERROR  run failed: command|"
    r"ELIFECYCLE|error Command failed with exit code|^error: Recipe|Couldn't find a script named|"
    r"No such file or directory \(os error|executable file not found|No rule to make target"
)
#: ... each has one of these ...
_NOT_STARTED_PARTS = (
    *("not found", "No such file", "Permission denied", "is not recognized", "npm", "Missing script", "error: ", "***"),
    *(
        "exited with code",
        "task failed",
        "run failed",
        "No module named",
        "ELIFECYCLE",
        "Command failed",
        "Couldn't find",
        "No rule to make",
    ),
)
#: ... but not one that only shows the output of the run.
_SHOWING = lazy_pattern(r"\b(?:grep|rg|tail|head|tee|awk|sed|jq)\b")
#: What a program that runs several tasks puts before their lines: `[lint:go] `, `web:build: `, `apps/web test: `.
_TASK = lazy_pattern(r"(\[[\w:@/.-]{1,60}\]|[\w@/.-]{1,60}:[\w:-]{1,40}:|[\w@/.-]{1,60} [\w:-]{1,30}:) ")
_WORD = lazy_pattern(r"[^\W_]+")
_COUNT = lazy_pattern(
    r"(?<![\w.%-])(\d{1,7}(?:,\d{3})*)\s(?:tests?\s|specs?\s|examples?\s)?"
    r"(pass(?:ed|ing)?|successe?s?|fail(?:s|ed|ing|ures?)?|errors?|total|tests?|examples?|specs?|runs|scenarios?)\b"
    r"|(?<!\bexpected )\b(pass(?:ed)?|fail(?:ed|ures?)?|errors?|tests run|tests|total)(?:[:=][ \t]*|\s)(\d{1,7})\b"
    r"(?!\s[a-z])",
    re.IGNORECASE,
)
#: Tests that neither passed nor failed.
_LEFT_OUT = lazy_pattern(
    r"(?<![\w.%-])(\d{1,7})\s(?:tests?\s|specs?\s|examples?\s)?"
    r"(?:skip(?:s|ped)?|deselected|ignored|pending|todos?|xfailed|xpassed|excluded|disabled|incomplete|inconclusive)\b"
    r"|\b(?:skipped|ignored|pending|disabled|incomplete|expected fail(?:ures?)?)(?:[:=][ \t]*|\s)(\d{1,7})\b",
    re.IGNORECASE,
)
#: A count of files is not one of tests.
_OF_FILES = lazy_pattern(r"\s*Test (?:Suites|Files)\b")
#: ExUnit counts each kind of test: `14 doctests, 3 properties, 106 tests, 0 failures`.
_TESTS_OF_KINDS = lazy_pattern(r"\s*((?:\d{1,7} [a-z]{1,20}, ){1,8})(\d{1,7}) tests?, \d{1,7} failures?\b")
_KIND_OF_TEST = lazy_pattern(
    r"(\d{1,7}) (?!pass|fail|err|test|example|spec|run|scenario|succes|total|skip)[a-z]{1,20}, "
)
#: What each of its matches has.
_COUNTED = ("pass", "fail", "error", "test", "succes", "total", "example", "spec", "runs", "scenario")
_OUT_OF = lazy_pattern(r"failed out of (\d{1,7})")
_KINDS = {
    **dict.fromkeys(("pa", "su"), "passed"),
    **dict.fromkeys(("fa", "er"), "failed"),
    **dict.fromkeys(("to", "te", "ex", "sp", "ru", "sc"), "total"),
}


class RunOutcome(msgspec.Struct, frozen=True):
    """What a run showed: whether it succeeded (None: unknown), the line that shows it, and its counts."""

    passed: bool | None
    line: str = ""
    counts: tuple[tuple[str, int], ...] = ()
    #: Whether it states that no test passed, and none failed: all were skipped, or nothing ran.
    is_empty: bool = False


def run_outcome(run: RunCommand, output: str | None, status: int | None, wanted: Check = "command") -> RunOutcome:
    """Return the outcome of a run by what it printed, else by the status of its line if that is its own."""
    shown = read_outcome(output, run, wanted) if output else RunOutcome(passed=None)
    is_zero = run.is_indirect and status == 0 and run.owns_success
    if shown.passed is False and is_zero and not dict(shown.counts).get("failed"):
        return RunOutcome(passed=True, counts=shown.counts)  # a program that it starts may print errors
    if shown.passed is not None:
        return shown
    stated = _stated_status(run, output or "")
    if stated is not None and not (shown.is_empty and stated[0] == 0):
        return RunOutcome(stated[0] == 0, stated[1], shown.counts)
    if status == 0 and run.owns_success and not shown.is_empty:
        return RunOutcome(passed=True, counts=shown.counts)
    if status is not None and status != 0 and run.owns_failure:
        return RunOutcome(passed=False, line=shown.line, counts=shown.counts)
    return shown


def read_outcome(
    output: str,
    run: RunCommand | None = None,
    wanted: Check = "command",
    *,
    only_runners: bool = False,
    command: str = "",
) -> RunOutcome:
    """Return the outcome that an output shows. Without a run, or with one that starts others, all runners are tried.

    `only_runners`: what a shell or a package manager printed does not count. `command`: what started the others.
    """
    is_any = run is None or run.is_indirect
    names = () if run is None else run.runners
    chosen = [runner for runner in runners() if not runner.is_indirect and (is_any or runner.name in names)]
    chosen = [runner for runner in chosen if wanted == "command" or wanted in runner.checks or not is_any]
    printed = _printed_by(tuple(runner.name for runner in chosen))
    summaries: dict[str, _Summary] = {}
    broken, plain = "", without_escapes(output)
    may_be_broken = not only_runners and any(part in plain for part in _NOT_STARTED_PARTS)
    for text in plain.split("\n"):
        line = text.rstrip()[:MAX_LINE]
        if may_be_broken and not broken and _NOT_STARTED.search(line) and not _SHOWING.search(line):
            broken = line
        if is_any:
            line = _without_task(line, command or (run.words if run is not None else ""))
        if not printed.match(line):
            continue
        for runner in chosen:
            is_summary = runner.success is not None and runner.success.match(line) is not None
            is_failure = runner.failure is not None and runner.failure.match(line) is not None
            is_part = any(pattern.match(line) for _, pattern in runner.parts)
            if is_summary or is_failure or is_part:
                if not is_failure or is_summary or run is not None or _is_only_of(line, wanted):
                    summary = summaries.setdefault(runner.name, _Summary(runner))
                    summary.add(line, is_summary=is_summary, is_failure=is_failure)
                break
    return _combined(list(summaries.values()), broken, is_of_tests=wanted in ("test", "command"))


def _without_task(line: str, command: str) -> str:
    """Return a line without the name of its task, which has a word of the command."""
    task = _TASK.match(line)
    is_own = task is not None and not {*_WORD.findall(task[1])}.isdisjoint(_WORD.findall(command))
    return line[task.end() :] if task is not None and is_own else line


@lru_cache(256)
def _printed_by(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression for the lines of all these runners: most lines of an output are of none."""
    patterns = (
        pattern
        for runner in runners()
        if runner.name in names
        for pattern in (runner.success, runner.failure, *(pattern for _, pattern in runner.parts))
        if pattern
    )
    return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in patterns) or "(?!)")


def _is_only_of(line: str, wanted: Check) -> bool:
    """Return whether only runners of a check print a line of failure: `error: ` may be of any program."""
    printing = (runner for runner in runners() if runner.failure is not None and runner.failure.match(line))
    return wanted == "command" or all(wanted in runner.checks for runner in printing)


class _Summary:
    """What one runner printed."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.counts: dict[str, int] = {}
        self._good = self._bad = self._failure = ""
        #: The tests that passed: of each line with numbers, of each test that has a line, of each part that has one.
        self._numbers: list[int] = []
        self._shown: dict[str, set[bool]] = {"test": set(), "part": set()}
        self._nothing = ""

    def add(self, line: str, *, is_summary: bool, is_failure: bool) -> None:
        """Add a line of a summary, one that only a failed run prints, or one of a test or of a part of them."""
        for what, pattern in self.runner.parts:
            if pattern.match(line):
                level, _, state = what.partition("_")
                self._shown[level].add(state == "passed")
                self._nothing = self._nothing if state == "passed" else line
        if is_summary:
            self._add_summary(line, is_failure=is_failure)
        elif is_failure:
            self._failure = self._failure or line

    def _add_summary(self, line: str, *, is_failure: bool) -> None:
        counts = line_counts(_LEFT_OUT.sub(" ", line))
        for name, number in counts.items():
            before = self.counts.get(name, 0)
            self.counts[name] = before + number if self.runner.name in _SUMMED else max(before, number)
        if "test" in self.runner.checks and not _OF_FILES.match(line):
            self._count_passed(line, counts)
        if is_failure or counts.get("failed", 0) > 0:
            self._bad = self._bad or line
        else:
            self._good = line

    def _count_passed(self, line: str, counts: dict[str, int]) -> None:
        left_out = count_left_out(line)
        if "passed" in counts:
            self._numbers.append(counts["passed"])
        elif "total" in counts:
            self._numbers.append(max(0, counts["total"] - counts.get("failed", 0) - left_out))
        elif left_out and self._numbers:
            self._numbers[-1] = max(0, self._numbers[-1] - left_out)  # `Ran 5 tests`, and below it `OK (skipped=5)`
        elif left_out:
            self._numbers.append(0)
            self.counts.setdefault("passed", 0)
        else:
            return
        self._nothing = self._nothing if self._numbers[-1] else line

    @property
    def passed(self) -> bool:
        """Whether the run succeeded."""
        return not self._bad and (not self._failure or (self.runner.is_final and bool(self.counts)))

    @property
    def is_empty(self) -> bool:
        """Whether it states that no test passed, and none failed. Lines of single tests decide, then numbers."""
        levels = (self._shown["test"], {number > 0 for number in self._numbers}, self._shown["part"])
        decisive = next((level for level in levels if level), {True})
        return self.passed and not any(decisive)

    @property
    def is_known(self) -> bool:
        """Whether a line shows that the run succeeded or failed."""
        return bool(self._good or self._bad or self._failure)

    @property
    def line(self) -> str:
        """The line that shows it."""
        good = self._nothing if self.is_empty else self._good
        return (good if self.passed else self._bad or self._failure).strip()


def _combined(summaries: list[_Summary], broken: str, *, is_of_tests: bool) -> RunOutcome:
    # A program under test may print what another runner prints: a summary with counts has priority.
    counted = [summary for summary in summaries if summary.counts] or summaries
    telling = [summary for summary in counted if summary.is_known and not (is_of_tests and summary.is_empty)]
    counts: dict[str, int] = {}
    for summary in counted:
        for name, number in summary.counts.items():
            counts[name] = counts.get(name, 0) + number
    if not telling and is_of_tests and counted:
        return RunOutcome(None, counted[0].line, tuple(sorted(counts.items())), is_empty=True)
    if not telling:
        return RunOutcome(passed=False, line=broken.strip()) if broken else RunOutcome(passed=None)
    failed = [summary for summary in telling if not summary.passed]
    return RunOutcome(not failed, (failed or telling)[0].line, tuple(sorted(counts.items())))


#: Runners that print a summary for each part.
_SUMMED = frozenset({"cargo", "go", "tap"})


def line_counts(line: str) -> dict[str, int]:
    """Return the numbers of a summary line: `2 failed, 208 passed` is {failed: 2, passed: 208}."""
    counts: dict[str, int] = {}
    lower = line.lower()
    if not any(word in lower for word in _COUNTED):
        return counts
    for count in _COUNT.finditer(line):
        word, number = (count[2], count[1]) if count[1] else (count[3], count[4])
        kind = _KINDS[word[:2].lower()]
        counts[kind] = counts.get(kind, 0) + int(number.replace(",", ""))
    if kinds := tests_of_kinds(line):
        counts["total"] = sum(kinds)
    if out_of := _OUT_OF.search(line):
        counts["total"] = int(out_of[1])
    return counts


def tests_of_kinds(line: str) -> list[int]:
    """Return the numbers of tests of each kind, if a summary counts several kinds; else none."""
    summary = _TESTS_OF_KINDS.match(line)
    others = [int(number) for number in _KIND_OF_TEST.findall(summary[1])] if summary else []
    return [*others, int(summary[2])] if summary and others else []


def count_left_out(line: str) -> int:
    """Return how many tests neither passed nor failed by a line: `3 skipped`, `Ignored: 3`."""
    return sum(int(match[1] or match[2]) for match in _LEFT_OUT.finditer(line))


def _stated_status(run: RunCommand, output: str) -> tuple[int, str] | None:
    """Return the status that the line prints after the run, and the line of the output."""
    if run.status_label is None:
        return None
    pattern = re.compile(rf"^{re.escape(run.status_label)}\s*(\d{{1,3}})\b[^\n]*$", re.MULTILINE)
    statuses = [*pattern.finditer(output)]
    return (int(statuses[-1][1]), statuses[-1][0]) if statuses else None
