"""The memory of `remit merge` with very many findings. `python bench/large_merges.py 1000000` measures any number.

A process of its own reads SARIF files of ten tools, checks every location in a checkout, and writes three formats.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "src")]

from measure import Bench, sized

from remit.checking import Options
from remit.evidence.sources import open_sources
from remit.merging.dismissals import apply_dismissals
from remit.merging.inputs import read_input
from remit.merging.merge_data import MergeSettings
from remit.merging.merge_documents import merge_stream
from remit.surfaces.cli.merge import write_merge

#: With --long more than stay in memory; a million takes several minutes.
FINDINGS = sized(110_000, 20_000)
_IN_FILE = 1_000
_LINES = 400
_TOOLS = 10
FORMS = ("json", "sarif", "html")


class Step(NamedTuple):
    """What a merge has taken until the end of a step: the most memory, and the seconds of the processor."""

    what: str
    megabytes: float
    seconds: float
    about: str


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


def merge(folder: Path) -> Iterator[str]:
    """Merge the files of a folder as `remit merge` does, write each format, and yield what it took so far."""
    sources, options = open_sources(folder / "checkout"), Options().validated()
    files = sorted((folder / "results").iterdir())
    inputs = (read_input(file.read_bytes(), str(file), options, sources) for file in files)
    merged = merge_stream(inputs, MergeSettings(threshold=0))
    yield _taken("merge", f"{merged.counts.rows:,} rows, {merged.counts.findings:,} findings")
    merged = apply_dismissals(merged, (), sources.workspace)
    for form in FORMS:
        output = folder / f"report.{form}"
        write_merge(merged, form, sources, output)
        yield _taken(form, f"{output.stat().st_size / 1e6:,.0f} MB written")


def _taken(what: str, about: str) -> str:
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return json.dumps([what, megabytes, time.process_time(), about])


def measured(findings: int) -> list[Step]:
    """Return what the merge of this number of findings takes, step by step."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        write_inputs(Path(name), findings)
        words = [sys.executable, __file__, "merge", name]
        ran = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [Step(*json.loads(line)) for line in ran.stdout.splitlines()]


@cache
def _steps(findings: int) -> list[Step]:
    return measured(findings)


def _notes(steps: list[Step]) -> list[str]:
    return [f"  {one.what:<6} {one.megabytes:6.0f} MB  {one.seconds:7.1f} s  {one.about}" for one in steps]


def benches() -> list[Bench]:
    """Return the bench of this file: the most memory that the merge and its reports take."""
    return [
        Bench(
            f"memory of a merge of {FINDINGS:,} findings and its JSON, SARIF and HTML",
            "nothing",
            "MB",
            1024,
            lambda: max(one.megabytes for one in _steps(FINDINGS)),
            lambda: _notes(_steps(FINDINGS)),
        )
    ]


if __name__ == "__main__":
    lines = merge(Path(sys.argv[2])) if sys.argv[1] == "merge" else _notes(measured(int(sys.argv[1])))
    for line in lines:
        print(line, flush=True)
