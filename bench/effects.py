"""How long the comparison of a project before and after a call takes."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from functools import cache
from pathlib import Path

from measure import Bench

from remit.gate import work_tree

FILES = 20_000
IN_A_FOLDER = 50
RUNS = 9


@cache
def measured() -> tuple[float, float]:
    """Milliseconds of CPU for one record of 20,000 files, and for one system call for each of them.

    A record loads the last one, looks at every file and compares.
    """
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        project, folder = Path(name, "project"), Path(name, "gate")
        folder.mkdir()
        for number in range(FILES // IN_A_FOLDER):
            part = project / f"part{number // 20}" / f"folder{number}"
            part.mkdir(parents=True)
            for file in range(IN_A_FOLDER):
                (part / f"file{file}.py").write_text("x = 1\n")
        tree, _ = work_tree.scan(str(project), work_tree.TreeRecord())
        tree.save(str(folder))

        def compare() -> None:
            known = work_tree.load_tree(str(folder))
            assert known is not None
            assert work_tree.scan(str(project), known)[1] == []

        def look() -> None:
            for path, files in tree.folders.items():
                at = os.open(os.fsencode(project) + b"/" + path, os.O_RDONLY | os.O_DIRECTORY)
                for file in files[1]:
                    os.lstat(file, dir_fd=at)
                os.close(at)

        taken: tuple[list[float], list[float]] = ([], [])
        gc.disable()  # as in a hook
        for _ in range(RUNS):
            for times, work in zip(taken, (compare, look), strict=True):
                started = time.process_time()
                work()
                times.append(1000 * (time.process_time() - started))
        gc.enable()
    return min(taken[0]), min(taken[1])


def benches() -> list[Bench]:
    """Effects."""
    return [
        Bench(f"compare {FILES:,} files before or after a call", "CPU time", "ms", 50, lambda: measured()[0]),
        Bench("this comparison, its floor: one lstat for each file", "CPU time", "ms", None, lambda: measured()[1]),
    ]
