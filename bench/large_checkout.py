"""A checkout of 150,000 files: what `remit verify`, `remit check` and the gate take."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from evidence import FILES, _cited, _many_files
from measure import Bench, sized

from remit.gate import work_tree

#: The files that the gate compares, and a tenth of them.
MANY = sized(FILES, 30_000)
FEW = MANY // 10
_RUNS = 3
_COMMAND = "import sys; sys.argv[0] = 'remit'; from remit.surfaces.cli import main; main()"
_notes: list[str] = []


@cache
def _document(name: str) -> Path:
    """Return a document with 200 references that lack their first folders."""
    path = Path(tempfile.mkdtemp(prefix="remit-bench-")) / name
    rows = "\n".join(f"| item | `{one}:{1 + number % 60}` | why |" for number, one in enumerate(_cited()))
    table = f"| Item | Location | Relevance |\n| --- | --- | --- |\n{rows}"
    path.write_text(f"## Bench Result\n\n### Key References\n{table}\n", encoding="utf-8")
    return path


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(done.stderr.decode())
    return time.perf_counter() - began


def _against_listing(verb: str) -> float:
    """A command from start to end against `git ls-files` in the same checkout and `remit --version`."""
    root = str(_many_files())
    command = [sys.executable, "-c", _COMMAND, verb, str(_document("claims.md")), "--repo", root]
    listing = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    idle = [sys.executable, "-c", _COMMAND, "--version"]
    own, base = [], []
    for _ in range(_RUNS):
        own.append(_seconds(command))
        base.append(_seconds(listing) + _seconds(idle))
    taken, floor = statistics.median(own), statistics.median(base)
    _notes.append(
        f"  remit {verb}, 200 short paths among {FILES:,} files: {1000 * taken:.0f} ms;"
        f" git ls-files and the start of remit: {1000 * floor:.0f} ms"
    )
    return taken / floor


@cache
def _tree(files: int) -> Path:
    root = Path(tempfile.mkdtemp(prefix="remit-bench-"))
    for number in range(files // 50):
        folder = root / f"part{number // 20}" / f"folder{number}"
        folder.mkdir(parents=True)
        for file in range(50):
            (folder / f"file{file}.py").touch()
    return root


def _record_ms(files: int) -> float:
    """Milliseconds of CPU for one record: load the last one, look at every file, compare."""
    project = str(_tree(files))
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder:
        tree, _ = work_tree.scan(project, work_tree.TreeRecord())
        if not tree.is_complete:
            message = f"{files:,} files are not compared"
            raise RuntimeError(message)
        tree.save(str(folder))
        taken = []
        gc.disable()  # as in a hook
        for _ in range(_RUNS):
            began = time.process_time()
            known = work_tree.load_tree(folder)
            if known is None or work_tree.scan(project, known)[1]:
                message = "an unchanged tree differs"
                raise RuntimeError(message)
            taken.append(1000 * (time.process_time() - began))
        gc.enable()
    _notes.append(f"  the gate compares {files:,} files before or after a command: {min(taken):.0f} ms of CPU")
    return min(taken)


def _explained() -> list[str]:
    notes, _notes[:] = list(_notes), []
    return notes


def benches() -> list[Bench]:
    """Return the benches of this file."""
    listing = "git ls-files and starting remit"
    return [
        Bench(f"remit verify in {FILES:,} files", listing, "x", 2.5, lambda: _against_listing("verify"), _explained),
        Bench(f"remit check in {FILES:,} files", listing, "x", 2.5, lambda: _against_listing("check"), _explained),
        Bench(
            f"the gate compares {MANY:,} files",
            f"{FEW:,} files",
            "x",
            11,
            lambda: _record_ms(MANY) / _record_ms(FEW),
            _explained,
        ),
    ]
