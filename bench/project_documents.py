"""`remit verify` without a file, and `--affected-by`: 300 documents with 10,000 claims in a large repository."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from measure import Bench, sized

FILES = sized(20_000, 4_000)
COMMITS = sized(20_000, 4_000)
DOCUMENTS = 300
CLAIMS = 33
_RUNS = 3
_LINES = 40
_COMMAND = "import sys; sys.argv[0] = 'remit'; from remit.surfaces.cli import main; main()"
_notes: list[str] = []
_REASONS = (
    "  two fifths of the time read the claims: each sentence in every form that people write",
    "  a third is the history of the 247 claims that do not hold: their files are parsed before and after the change",
    "  the rest: looking at files and names, the start and the output",
)


def _path(number: int) -> str:
    return f"src/part{number % 200}/module{number}.py"


def _content(number: int, changed: int = 0) -> str:
    lines = [f"def step_{number}_{line}(): return {line}" for line in range(1, _LINES + 1)]
    if changed:
        lines[changed % _LINES] = f"# changed {changed}"
    return "\n".join(lines) + "\n"


def _document(number: int) -> str:
    lines = [f"# Part {number}", ""]
    for claim in range(CLAIMS):
        about = (number * CLAIMS + claim) % FILES
        line = 1 + claim % _LINES
        lines.append(f"- `step_{about}_{line}()` is in `{_path(about)}:{line}`.")
    return "\n".join(lines) + "\n"


def _stream(documents: int) -> Iterator[bytes]:
    """Yield what `git fast-import` reads: all files, then commits that each change one of them."""
    yield from _commit(0, [(_path(one), _content(one)) for one in range(FILES)])
    yield from _commit(1, [(f"docs/part{one}.md", _document(one)) for one in range(documents)])
    for number in range(2, COMMITS):
        about = number * 7919 % FILES
        yield from _commit(number, [(_path(about), _content(about, number))])


def _commit(number: int, files: list[tuple[str, str]]) -> Iterator[bytes]:
    yield b"commit refs/heads/main\n"
    yield f"committer T <t@example.org> {1_700_000_000 + number} +0000\ndata 6\nchange\n".encode()
    for path, text in files:
        data = text.encode()
        yield f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
    yield b"\n"


@cache
def repository(documents: int = DOCUMENTS) -> Path:
    """A checkout with many files, commits and documents, a part of which is stale."""
    root = Path(tempfile.mkdtemp(prefix="remit-bench-"))
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    with subprocess.Popen(["git", "-C", str(root), "fast-import", "--quiet"], stdin=subprocess.PIPE) as process:
        if process.stdin is None:
            raise RuntimeError("git fast-import has no input")
        process.stdin.writelines(_stream(documents))
    subprocess.run(["git", "-C", str(root), "reset", "-q", "--hard", "main"], check=True)
    return root


def _seconds(command: list[str], root: Path) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if done.returncode > 1:
        raise RuntimeError(done.stderr.decode())
    return time.perf_counter() - began


def _verify(root: Path, *options: str) -> float:
    command = [sys.executable, "-c", _COMMAND, "verify", *options, "--format", "json"]
    return statistics.median(_seconds(command, root) for _ in range(_RUNS))


def _reading(root: Path) -> float:
    """`git ls-files`, the start of remit, and reading the documents."""
    listing = ["git", "ls-files", "-z"]
    idle = [sys.executable, "-c", _COMMAND, "--version"]

    def once() -> float:
        taken = _seconds(listing, root) + _seconds(idle, root)
        began = time.perf_counter()
        for document in root.glob("docs/*.md"):
            document.read_bytes()
        return taken + time.perf_counter() - began

    return statistics.median(once() for _ in range(_RUNS))


def _against_reading(*options: str) -> float:
    root = repository()
    own, base = _verify(root, *options), _reading(root)
    what = " ".join(("remit verify", *options))
    _notes.append(f"  {what}: {own:.1f} s; listing and reading {DOCUMENTS} documents: {1000 * base:.0f} ms")
    return own / base


def _growth() -> float:
    """The time of a document among 300, against one among 100."""
    large, small = _verify(repository()), _verify(repository(DOCUMENTS // 3))
    return large / small / 3


def benches() -> list[Bench]:
    """The documents of a project."""
    size = f"{DOCUMENTS} documents, {DOCUMENTS * CLAIMS:,} claims, {FILES:,} files, {COMMITS:,} commits"
    reading = "git ls-files, start, reading the documents"
    return [
        Bench(f"remit verify: {size}", reading, "x", 60.0, _against_reading, explain=lambda: [*_notes, *_REASONS]),
        Bench(
            "... --affected-by the commit of the documents",
            reading,
            "x",
            60.0,
            lambda: _against_reading("--affected-by", f"HEAD~{COMMITS - 2}"),
        ),
        Bench("time of a document among 300", "time of a document among 100", "x", 1.2, _growth),
    ]
