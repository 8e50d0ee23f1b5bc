"""Run all tests in parallel, in two parts; `dev.py test` calls this.

The tests that need neither a database nor other processes come first, and their coverage is measured. The other tests
would need 40 to 80 % more processor time with it and cover hardly anything more.

Tests that fail are run once more, alone: a busy machine can be too slow for a test that waits for many processes,
while a defect fails again. Tests that then pass are reported as flaky, and more than three modules with such tests fail
the run: the tests of a module share what is set up, so that one cause makes all of them fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import coverage_report

ROOT = Path(__file__).resolve().parent.parent
LAST_FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"
#: The modules of which the first part runs every test; tests/conftest.py writes it.
COMPLETE_MODULES = ROOT / ".pytest_cache/v/remit/complete_modules"
COVERAGE = ("--cov", "--cov-report=")
FAST_TESTS = "not database and not process and not slow"
OTHER_TESTS = "database or process or slow"
#: Processes take single tests from each other.
SINGLE_TESTS = ("--dist", "worksteal")
#: A process runs all tests of a module, in the order of tests/conftest.py: what they share takes long to set up.
WHOLE_MODULES = ("--dist", "loadscope", "--no-loadscope-reorder")
#: Tests that are run by name, `dev.py test tests/network`: a minute of failing links, with servers of the system.
BY_NAME = ("--ignore=tests/network",)
MAX_FLAKY = 3
#: With more failures than this the tests are not run again.
MAX_RETRIED = 40


def main(arguments: list[str]) -> int:
    """Run the tests; return 0 if they pass and cover enough of the code. Arguments go to pytest."""
    LAST_FAILED.unlink(missing_ok=True)
    COMPLETE_MODULES.unlink(missing_ok=True)
    processors = os.cpu_count() or 1
    # Programs of npm (400 MB), which only the second part needs, are installed during the first.
    with subprocess.Popen([sys.executable, str(ROOT / "tools/npm_clients.py")], cwd=ROOT):
        codes = [run_in_parallel(processors, *SINGLE_TESTS, "-m", FAST_TESTS, *COVERAGE, *arguments)]
    # Two processes more than processors, since these tests wait. Each has a database server, so there is a limit.
    # Each would need ten seconds to import the modules of which no test is left.
    done = [f"--ignore={path}" for path in read_json(COMPLETE_MODULES)]
    processes = min(processors + 2, 12)
    codes.append(run_in_parallel(processes, *WHOLE_MODULES, "-m", OTHER_TESTS, *done, *BY_NAME, *arguments))
    failed, flaky = last_failed(), set[str]()
    if max(codes) == 1 and 0 < len(failed) <= MAX_RETRIED:
        print(f"\nrunning {len(failed)} failed tests again, alone ...", flush=True)
        codes = [run_pytest("--last-failed", "--verbose", *COVERAGE, "--cov-append", *arguments)]
        flaky = failed - last_failed()
    covered = coverage_report.main(["--floor"]) == 0
    if flaky:
        print(f"{len(flaky)} flaky: {', '.join(sorted(flaky))}")
    is_stable = len({test.partition("::")[0] for test in flaky}) <= MAX_FLAKY
    if not is_stable:
        print(f"more than {MAX_FLAKY} modules with flaky tests fail the run")
    return 0 if max(codes) == 0 and covered and is_stable else 1


def run_in_parallel(processes: int, *arguments: str) -> int:
    """Run pytest in several processes and return its exit code."""
    return run_pytest("--numprocesses", str(processes), *arguments)


def run_pytest(*arguments: str) -> int:
    """Run pytest and return its exit code."""
    return abs(subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode)


def last_failed() -> set[str]:
    """Return the tests that failed when they were last run."""
    return set(read_json(LAST_FAILED))


def read_json(path: Path) -> list[str]:
    """Return the strings that pytest's cache has in a file, none without the file."""
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
