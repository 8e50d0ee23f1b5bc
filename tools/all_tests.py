"""Run all tests in parallel; `dev.py test` calls this.

Tests that fail are run once more, alone: a busy machine can be too slow for a test that waits for many processes,
while a defect fails again. Tests that then pass are reported as flaky, and more than three of them fail the run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".pytest_cache/v"
LAST_FAILED = CACHE / "cache/lastfailed"
#: How many cases there are, and how many were skipped, by reason; tests/conftest.py writes it.
COUNTS = CACHE / "remit/counts"
#: The same as a sentence, for the last line of dev.py.
RAN = ROOT / ".cache/ran.txt"
#: A process runs all tests of a module, in the order of tests/conftest.py: what they share takes long to set up.
#: Outside of Linux processes are not forked after the collection, see tests/support/forked_tests.py: each one collects.
IN_PROCESSES = ("--processes",)
if sys.platform != "linux":
    IN_PROCESSES = ("--dist", "loadscope", "--no-loadscope-reorder", "--numprocesses")
#: Rewriting the asserts of all test modules takes 25 s. The second run explains a failure.
PLAIN_ASSERTS = ("--assert", "plain")
MAX_FLAKY = 3
#: With more failures than this the tests are not run again.
MAX_RETRIED = 40


def main(arguments: list[str]) -> int:
    """Run the tests; return 0 if they pass. The arguments go to pytest."""
    for path in (LAST_FAILED, COUNTS):
        path.unlink(missing_ok=True)
    # One process more than processors, since many tests wait. Each starts a database server.
    processes = min((os.cpu_count() or 1) + 1, 12)
    code = run_pytest(*IN_PROCESSES, str(processes), *PLAIN_ASSERTS, "--quiet", *arguments)
    ran = describe_run()
    RAN.parent.mkdir(exist_ok=True)
    RAN.write_text(ran, encoding="utf-8")
    failed, flaky = set(read_json(LAST_FAILED)), set[str]()
    if code == 1 and 0 < len(failed) <= MAX_RETRIED:
        print(f"\nrunning {len(failed)} failed tests again, alone ...", flush=True)
        code = run_pytest("--last-failed", "--verbose", *arguments)
        flaky = failed - set(read_json(LAST_FAILED))
    if flaky:
        print(f"{len(flaky)} flaky: {', '.join(sorted(flaky))}")
    if len(flaky) > MAX_FLAKY:
        print(f"more than {MAX_FLAKY} flaky tests fail the run")
        code = code or 1
    print(ran)
    return code


def run_pytest(*arguments: str) -> int:
    """Run pytest and return its exit code."""
    return abs(subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode)


def describe_run() -> str:
    """Return a line that says how many of all cases ran, and why the others did not."""
    counts = read_json(COUNTS)
    cases, skipped = counts.get("cases", 0), counts.get("skipped", {})
    reasons = "; ".join(f"{count} ({reason})" for reason, count in sorted(skipped.items(), key=lambda each: -each[1]))
    return f"{cases - sum(skipped.values())} of {cases} cases ran; skipped: {reasons or 'none'}"


def read_json(path: Path) -> dict[str, Any]:
    """Return what pytest's cache has in a file, nothing without the file."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
