"""How long the comparison of a project before and after a call takes."""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path

from measure import Bench

from remit.gate import work_tree

FILES = 20_000
IN_A_FOLDER = 50
RUNS = 9


def spent_on_a_record() -> float:
    """Milliseconds of CPU for one record of 20,000 files: load the last one, look at every file, compare."""
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as name:
        project, folder = Path(name, "project"), Path(name, "gate")
        folder.mkdir()
        for number in range(FILES // IN_A_FOLDER):
            part = project / f"part{number // 20}" / f"folder{number}"
            part.mkdir(parents=True)
            for file in range(IN_A_FOLDER):
                (part / f"file{file}.py").write_text("x = 1\n")
        tree, _ = work_tree.scan(str(project), work_tree.TreeRecord())
        (folder / work_tree.FILE).write_bytes(tree.dumps())
        taken = []
        gc.disable()  # as in a hook
        for _ in range(RUNS):
            started = time.process_time()
            known = work_tree.load_tree(str(folder))
            assert known is not None
            _, changes = work_tree.scan(str(project), known)
            taken.append(1000 * (time.process_time() - started))
            assert changes == []
    gc.enable()
    return min(taken)


def benches() -> list[Bench]:
    """Effects."""
    return [Bench(f"compare {FILES:,} files before or after a call", "CPU time", "ms", 50, spent_on_a_record)]
