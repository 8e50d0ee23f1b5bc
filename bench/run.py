"""Measure Remit and print a table: `python3 dev.py bench [PART] [--long] [--strict] [--format json] [--compare FILE]`.

The files in this folder have a function `benches() -> list[Bench]`. The figures of the last run are kept in
`.cache/bench/last.json` and those of the run before in `previous.json`, for `--compare`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src"), str(HERE.parent / "tests")]

from measure import LONG, Bench, NotMeasured  # noqa: E402 (the path must be known first)

LAST = HERE.parent / ".cache/bench/last.json"
PREVIOUS = LAST.with_name("previous.json")
#: A figure that is worse than before by more than this factor is marked.
REGRESSION = 1.10
#: The share of processor time that the host may give to other machines before a run reports it.
NOISY = 0.05
Row = dict[str, Any]
Before = dict[tuple[str, str], Row]


def registry() -> dict[str, list[Bench]]:
    """Return the benches by their file."""
    found: dict[str, list[Bench]] = {}
    for file in sorted(HERE.glob("*.py")):
        if file.stem not in ("run", "measure", "fleet"):
            found[file.stem] = importlib.import_module(file.stem).benches()
    return found


def is_met(value: float, goal: float | None) -> bool | None:
    """Return whether a figure meets its goal; None if it has none. A negative goal is a minimum."""
    if goal is None:
        return None
    return value <= goal if goal > 0 else value >= -goal


def change(row: Row, before: Before) -> float | None:
    """Return how many times as bad a figure is as before; None if it was not measured."""
    earlier = before.get((row["name"], row["against"]))
    if earlier is None or not earlier["figure"] or not row["figure"]:
        return None
    ratio = float(row["figure"]) / float(earlier["figure"])
    return 1 / ratio if (row["goal"] or 0) < 0 else ratio


def as_line(row: Row) -> str:
    """Return a figure as a line of the table."""
    value, goal = row["figure"], row["goal"]
    if value is None:
        return f"{row['name']:<68} {row['against']:<38} {'FAILED':>12}"
    figure = f"{value:,.2f} {row['unit']}" if value < 100 else f"{value:,.0f} {row['unit']}"
    limit = "" if goal is None else f"{'≤' if goal > 0 else '≥'} {abs(goal):g}"
    met = {None: "", True: "met", False: "NOT MET"}[row["is_met"]]
    line = f"{row['name']:<68} {row['against']:<38} {figure:>12}  {limit:<6} {met:<7}"
    if row.get("change") is not None:
        line += f"  {row['change']:.2f} x before{'  REGRESSION' if row['change'] > REGRESSION else ''}"
    return line.rstrip()


def measure(part: str, before: Before, rows: list[Row], *, with_long: bool, is_quiet: bool) -> None:
    """Measure the benches whose file or name contains a text, and add them to `rows`; print each unless `is_quiet`."""
    for file, benches in registry().items():
        begun = time.monotonic()
        for bench in benches:
            if part not in f"{file} {bench.name}" or (bench.is_long and not with_long):
                continue
            started = time.monotonic()
            try:
                value = bench.measure()
                notes = bench.explain() if bench.explain else []
            except NotMeasured as reason:
                print(f"{bench.name}: not measured: {reason}", file=sys.stderr, flush=True)
                continue
            except (Exception, SystemExit) as error:  # noqa: BLE001 - the other parts are still measured
                print(f"{bench.name}: FAILED: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                value, notes = math.nan, []
            row: Row = {
                "part": file,
                "name": bench.name,
                "against": bench.baseline,
                "figure": None if math.isnan(value) else round(value, 4),
                "unit": bench.unit,
                "goal": bench.goal,
                "is_met": is_met(value, bench.goal),
                "notes": notes,
                "seconds": round(time.monotonic() - started, 1),
            }
            row["change"] = change(row, before)
            rows.append(row)
            print(bench.name if is_quiet else as_line(row), file=sys.stderr if is_quiet else sys.stdout, flush=True)
        if any(row["part"] == file for row in rows):
            print(f"{file}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def stolen_time() -> tuple[float, float]:
    """Return the processor time that the host gave to other machines, and all processor time; 0 where not known."""
    try:
        ticks = [float(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    except OSError:
        return 0.0, 0.0
    return ticks[7], sum(ticks)


def times_of_parts(rows: list[Row]) -> list[str]:
    """Return how long each part took, the longest first, and all of them together."""
    taken: dict[str, float] = {}
    for row in rows:
        taken[row["part"]] = taken.get(row["part"], 0.0) + row["seconds"]
    parts = sorted(taken.items(), key=lambda part: -part[1])
    lines = [f"measured in {sum(taken.values()):.0f} s, each part by its file (seconds)"]
    return lines + [f"  {seconds:6.1f}  {part}" for part, seconds in parts]


def keep(report: Row) -> None:
    """Keep the figures of this run, and those of the last one as the previous."""
    LAST.parent.mkdir(parents=True, exist_ok=True)
    if LAST.is_file():
        LAST.replace(PREVIOUS)
    LAST.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def figures_of(path: Path) -> Before:
    """Return the figures of an earlier run by name and baseline."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["figures"]
        return {(row["name"], row["against"]): row for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path} has no figures of an earlier run: {error}") from error


def main() -> int:
    """Measure and print. The exit code is 1 if a part failed; with --strict, also if a goal is missed."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("part", nargs="?", default="", help="part of a bench's file or name; default: all")
    parser.add_argument(
        "--long", action="store_true", help="also measure what takes minutes, with full sizes; give a part"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is not met or a figure got worse")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--compare", metavar="FILE", help="show the ratio to the figures of an earlier run")
    arguments = parser.parse_args()
    if arguments.long:
        os.environ[LONG] = "1"
    is_json = arguments.format == "json"
    names = [f"{file} {bench.name}" for file, benches in registry().items() for bench in benches]
    if not any(arguments.part in name for name in names):
        parser.error(f"no bench has {arguments.part!r} in its file or name; there are:\n" + "\n".join(names))
    before = figures_of(Path(arguments.compare)) if arguments.compare else {}
    if not is_json:
        print(f"{'what':<68} {'against':<38} {'figure':>12}  {'goal':<6}")
    rows: list[Row] = []
    stolen, whole = stolen_time()
    try:
        measure(arguments.part, before, rows, with_long=arguments.long, is_quiet=is_json)
        is_complete = True
    except KeyboardInterrupt:
        print("stopped: the rest was not measured", file=sys.stderr)
        is_complete = False
    stolen_now, whole_now = stolen_time()
    share = round((stolen_now - stolen) / max(1.0, whole_now - whole), 3)
    machine = {
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "taken by other machines": share,
    }
    report = {"machine": machine, "figures": rows}
    if not arguments.part and is_complete:
        keep(report)
    if is_json:
        print(json.dumps(report, indent=1))
    else:
        print(*(note for row in rows for note in row["notes"]), *times_of_parts(rows), sep="\n")
        if share > NOISY:
            print(f"the host gave {share:.0%} of the processor time to other machines: these figures are too high")
    if not is_complete:
        return 130
    has_failed = any(row["figure"] is None for row in rows)
    is_worse = any(row["is_met"] is False or (row["change"] or 0) > REGRESSION for row in rows)
    return 1 if has_failed or (arguments.strict and is_worse) else 0


if __name__ == "__main__":
    sys.exit(main())
