"""Run all tests in parallel and measure their coverage; `dev.py test` calls this.

Tests that fail are run once more, alone: a busy machine can be too slow for a test that waits for many processes,
while a defect fails again. Tests that then pass are reported as flaky, and more than three of them fail the run.
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
COVERAGE = ("--cov", "--cov-report=")
MAX_FLAKY = 3
#: With more failures than this the tests are not run again.
MAX_RETRIED = 25


def main(arguments: list[str]) -> int:
    """Run the tests; return 0 if they pass and cover enough of the code. Arguments go to pytest."""
    LAST_FAILED.unlink(missing_ok=True)
    code = run_pytest("--numprocesses", str(processes()), "--dist", "worksteal", *COVERAGE, *arguments)
    flaky: list[str] = []
    if code == 1 and 0 < len(last_failed()) <= MAX_RETRIED:
        failed = last_failed()
        print(f"\nrunning {len(failed)} failed tests again, alone ...", flush=True)
        code = run_pytest("--last-failed", "--verbose", *COVERAGE, "--cov-append", *arguments)
        flaky = sorted(failed - last_failed())
    covered = code != 0 or coverage_report.main(["--floor"]) == 0
    if flaky:
        print(f"{len(flaky)} flaky: {', '.join(flaky)}")
    if len(flaky) > MAX_FLAKY:
        print(f"more than {MAX_FLAKY} flaky tests fail the run")
    return 1 if code or len(flaky) > MAX_FLAKY or not covered else 0


def processes() -> int:
    """Return the number of test processes: one more than processors, since many tests wait."""
    # Each process has its own database server, so there is a limit.
    return min((os.cpu_count() or 1) + 1, 12)


def run_pytest(*arguments: str) -> int:
    """Run pytest and return its exit code."""
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode


def last_failed() -> set[str]:
    """Return the tests that failed when they were last run."""
    return set(json.loads(LAST_FAILED.read_text(encoding="utf-8"))) if LAST_FAILED.is_file() else set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
