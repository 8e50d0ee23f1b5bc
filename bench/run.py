"""Measure Remit and print a table: `python3 dev.py bench [PART] [--strict]`.

Every other file in this folder has a function `benches() -> list[Bench]`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from measure import Bench  # noqa: E402 (the path must be known first)


def registry() -> dict[str, list[Bench]]:
    """Return the benches by their file."""
    found: dict[str, list[Bench]] = {}
    for file in sorted(HERE.glob("*.py")):
        if file.stem not in ("run", "measure"):
            found[file.stem] = importlib.import_module(file.stem).benches()
    return found


def format_figure(bench: Bench, value: float) -> tuple[str, str, str]:
    """Return the figure, the goal and whether it is met."""
    shown = f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    if bench.goal is None:
        return f"{shown} {bench.unit}", "", ""
    met = value <= bench.goal if bench.goal > 0 else value >= -bench.goal
    return f"{shown} {bench.unit}", f"{'≤' if bench.goal > 0 else '≥'} {abs(bench.goal):g}", "met" if met else "NOT MET"


def main() -> int:
    """Measure and print; with --strict, the exit code is 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("part", nargs="?", default="", help="part of a bench's file or name; default: all")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is not met")
    arguments = parser.parse_args()
    missed, notes = 0, []
    print(f"{'what':<68} {'against':<38} {'figure':>12}  {'goal':<6} {''}")
    for part, benches in registry().items():
        for bench in benches:
            if arguments.part not in f"{part} {bench.name}":
                continue
            figure, goal, met = format_figure(bench, bench.measure())
            missed += met == "NOT MET"
            print(f"{bench.name:<68} {bench.baseline:<38} {figure:>12}  {goal:<6} {met}".rstrip(), flush=True)
            notes += bench.explain() if bench.explain else []
    print(*notes, sep="\n", end="\n" if notes else "")
    return 1 if arguments.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
