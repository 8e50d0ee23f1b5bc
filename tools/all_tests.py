"""Run all tests in parallel; `dev.py test` calls this.

Tests with the mark `rotating` run a part of their cases. The part is a number, by default that of the day, so that
consecutive days run everything; `--part NUMBER` repeats a run, and `--all` runs all cases.

Tests that fail are run once more, alone: a busy machine can be too slow for a test that waits for many processes,
while a defect fails again. Tests that then pass are reported as flaky, and more than three of them fail the run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".pytest_cache/v"
LAST_FAILED = CACHE / "cache/lastfailed"
#: How many tests did not run, by reason; tests/conftest.py writes it.
COUNTS = CACHE / "remit/not_run"
#: The same as a sentence, for the last line of dev.py.
NOT_RUN = ROOT / ".cache/not_run.txt"
#: A process runs all tests of a module, in the order of tests/conftest.py: what they share takes long to set up.
#: Outside of Linux processes are not forked after the collection, see tests/support/forked_tests.py: each one collects.
IN_PROCESSES = ("--processes",)
if sys.platform != "linux":
    IN_PROCESSES = ("--dist", "loadscope", "--no-loadscope-reorder", "--numprocesses")
#: Tests that are run by name, `dev.py test tests/network`: a minute of failing links, with servers of the system.
BY_NAME = ("--ignore=tests/network",)
#: Rewriting the asserts of all test modules takes 25 s. The second run explains a failure.
PLAIN_ASSERTS = ("--assert", "plain")
MAX_FLAKY = 3
#: With more failures than this the tests are not run again.
MAX_RETRIED = 40


def main(arguments: list[str]) -> int:
    """Run the tests; return 0 if they pass. Other arguments go to pytest."""
    parser = argparse.ArgumentParser(description="Run all tests.")
    parser.add_argument("--all", action="store_true", help="run all cases of the rotating tests")
    parser.add_argument("--part", type=int, default=datetime.datetime.now(datetime.UTC).toordinal())
    options, others = parser.parse_known_args(arguments)
    os.environ["REMIT_TEST_PART"] = "" if options.all else str(options.part)
    if options.all:
        os.environ.setdefault("HYPOTHESIS_PROFILE", "thorough")
    LAST_FAILED.unlink(missing_ok=True)
    COUNTS.unlink(missing_ok=True)
    # One process more than processors, since many tests wait. Each starts a database server.
    processes = min((os.cpu_count() or 1) + 1, 12)
    code = run_pytest(*IN_PROCESSES, str(processes), *BY_NAME, *PLAIN_ASSERTS, "--quiet", *others)
    not_run = describe_not_run()
    NOT_RUN.parent.mkdir(exist_ok=True)
    NOT_RUN.write_text(not_run, encoding="utf-8")
    failed, flaky = set(read_json(LAST_FAILED)), set[str]()
    if code == 1 and 0 < len(failed) <= MAX_RETRIED:
        print(f"\nrunning {len(failed)} failed tests again, alone ...", flush=True)
        os.environ["REMIT_TEST_PART"] = ""
        code = run_pytest("--last-failed", "--verbose", *others)
        flaky = failed - set(read_json(LAST_FAILED))
    if flaky:
        print(f"{len(flaky)} flaky: {', '.join(sorted(flaky))}")
    if len(flaky) > MAX_FLAKY:
        print(f"more than {MAX_FLAKY} flaky tests fail the run")
        code = code or 1
    print(not_run)
    return code


def run_pytest(*arguments: str) -> int:
    """Run pytest and return its exit code."""
    return abs(subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode)


def describe_not_run() -> str:
    """Return a line with the number of tests that did not run, by reason."""
    counts = Counter(read_json(COUNTS))
    reasons = "; ".join(f"{count} ({reason})" for reason, count in counts.most_common())
    return f"not run: {reasons or 'none'}; {len(BY_NAME)} folder by name only (tests/network)"


def read_json(path: Path) -> dict[str, int]:
    """Return what pytest's cache has in a file, nothing without the file."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
