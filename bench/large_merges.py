"""The memory of `remit merge` with very many findings. `python bench/large_merges.py 1000000` measures any number.

Each run is a process of its own, which reads SARIF files of ten tools and checks every location in a checkout.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "src")]

from measure import Bench

#: The findings of a run of the bench; a million takes several minutes.
FINDINGS = 120_000
_IN_FILE = 1_000
_LINES = 400
_TOOLS = 10
FORMS = ("json", "sarif", "html")


class Run(NamedTuple):
    """What a merge took."""

    megabytes: float
    seconds: float
    written: int


def _result(chance: random.Random, path: str) -> dict[str, object]:
    rule, line = chance.randrange(60), chance.randrange(1, _LINES)
    text = f"Rule {rule} is broken by the value of variable_{chance.randrange(5000)} in this statement"
    region = {"startLine": line} | ({"endLine": line + 2} if chance.random() < 0.2 else {})
    return {
        "ruleId": f"R{rule:03}",
        "level": chance.choice(["error", "warning", "note"]),
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": path}, "region": region}}],
    }


def write_inputs(folder: Path, findings: int) -> None:
    """Write a checkout, and SARIF files of several tools about it, with about 250 findings in each file."""
    chance = random.Random(findings)
    paths = [f"src/part_{at % 40}/module_{at}.py" for at in range(max(1, findings // 250))]
    for path in paths:
        file = folder / "checkout" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"variable_{number} = {number}\n" for number in range(_LINES)), encoding="utf-8")
    results = folder / "results"
    results.mkdir()
    for number in range(findings // _IN_FILE):
        own = [_result(chance, chance.choice(paths)) for _ in range(_IN_FILE)]
        driver = {"name": f"tool-{number % _TOOLS}", "rules": []}
        log = {"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": own}]}
        (results / f"{number:05}.sarif").write_text(json.dumps(log), encoding="utf-8")


def merge(folder: Path, form: str) -> Run:
    """Merge the files of a folder in another process, and return what it took."""
    output = folder / f"report.{form}"
    words = ["merge", str(folder / "results"), "--repo", str(folder / "checkout"), "--format", form]
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "remit", *words, "--threshold", "0", "--output", str(output)],
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the merge ended with {process.returncode}")
    return Run(usage.ru_maxrss / 1024, time.monotonic() - started, output.stat().st_size)


def measured(findings: int, forms: tuple[str, ...] = FORMS) -> dict[str, Run]:
    """Return what the merge of this number of findings takes in each format."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        write_inputs(Path(name), findings)
        return {form: merge(Path(name), form) for form in forms}


@cache
def _runs(findings: int, forms: tuple[str, ...]) -> dict[str, Run]:
    return measured(findings, forms)


def _notes(runs: dict[str, Run]) -> list[str]:
    return [
        f"  {form:<5} {run.megabytes:6.0f} MB of memory  {run.seconds:6.1f} s  {run.written / 1e6:8.1f} MB written"
        for form, run in runs.items()
    ]


def benches() -> list[Bench]:
    """Return the benches of this file: the most memory of a format, and one format against half of the findings."""
    return [
        Bench(
            f"memory of a merge of {FINDINGS:,} findings, the most of JSON, SARIF and HTML",
            "nothing",
            "MB",
            1024,
            lambda: max(run.megabytes for run in _runs(FINDINGS, FORMS).values()),
            lambda: _notes(_runs(FINDINGS, FORMS)),
        )
    ]


if __name__ == "__main__":
    for line in _notes(measured(int(sys.argv[1]), tuple(sys.argv[2:]) or FORMS)):
        print(line)
