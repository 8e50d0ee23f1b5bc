"""Print the coverage of each measured package: `[tool.coverage.run]` in pyproject.toml lists them.

`--floor` fails if a package has less than 95 % of its lines or branches covered; `--missing` lists what is not covered.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "src/remit"
FLOOR = 95.0


class Package(NamedTuple):
    """The figures of a package: covered and all lines, covered and all branches."""

    name: str
    covered_lines: int
    lines: int
    covered_branches: int
    branches: int

    @property
    def line_percent(self) -> float:
        """Return the percentage of the lines that are covered."""
        return 100 * self.covered_lines / max(self.lines, 1)

    @property
    def branch_percent(self) -> float:
        """Return the percentage of the branches that are covered."""
        return 100 * self.covered_branches / self.branches if self.branches else 100.0

    @property
    def is_low(self) -> bool:
        """Return whether a figure is below the floor."""
        return min(self.line_percent, self.branch_percent) < FLOOR


def measured_files() -> dict[str, Any]:
    """Return coverage.py's record of each file, by its path below src/remit."""
    coverage = Coverage(config_file=str(ROOT / "pyproject.toml"))
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        coverage.json_report(outfile=str(report))
        files = json.loads(report.read_bytes())["files"]
    return {(ROOT / path).resolve().relative_to(PACKAGES).as_posix(): record for path, record in files.items()}


def packages(files: dict[str, Any]) -> list[Package]:
    """Return the figures of each package."""
    names = sorted({path.partition("/")[0] for path in files})
    keys = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    return [
        Package(
            name, *(sum(files[path]["summary"][key] for path in files if path.startswith(f"{name}/")) for key in keys)
        )
        for name in names
    ]


def missing(files: dict[str, Any]) -> Iterator[str]:
    """Yield the lines and branches of each file that are not covered."""
    for path, record in sorted(files.items()):
        lines = set(record["missing_lines"])
        # A branch from or to a line that is not covered is not listed again.
        branches = [branch for branch in record["missing_branches"] if not lines & {abs(line) for line in branch}]
        if lines or branches:
            jumps = ", ".join(f"{start}->{end if end > 0 else 'exit'}" for start, end in branches)
            yield f"{path}  lines: {', '.join(map(str, sorted(lines))) or '-'}  branches: {jumps or '-'}"


def main(arguments: list[str]) -> int:
    """Print the table; return 1 if a figure is below the floor and that matters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--floor", action="store_true", help=f"fail below {FLOOR:.0f} %%")
    parser.add_argument("--missing", action="store_true", help="list the lines and branches that are not covered")
    options = parser.parse_args(arguments)
    files = measured_files()
    if options.missing:
        print(*missing(files), sep="\n")
    print("coverage      lines  branches")
    rows = packages(files)
    for row in rows:
        mark = f"  below {FLOOR:.0f} %" if row.is_low else ""
        print(f"{row.name:10}  {row.line_percent:5.1f} %   {row.branch_percent:5.1f} %{mark}")
    return 1 if options.floor and any(row.is_low for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
