"""The cost of checking claims against a checkout and a transcript."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import time
import tracemalloc
from functools import cache, partial
from pathlib import Path

from measure import Bench, medians, ratio

from remit.checking import Options, check_text
from remit.clients.transcripts.reading import read_transcript
from remit.contract.parse import parse
from remit.evidence.sources import Sources, open_sources

_LINES = 400


@cache
def _folder() -> Path:
    """A tree of 40 files, kept for one run."""
    root = Path(tempfile.mkdtemp(prefix="remit-bench-"))
    chance = random.Random(7)
    for number in range(40):
        lines = [f"value_{number}_{line} = compute({chance.randrange(10**6)})" for line in range(1, _LINES + 1)]
        (root / f"module_{number}.py").write_text("\n".join(lines) + "\n")
    return root


def _result(references: int, quotes: int) -> str:
    root = _folder()
    rows = [f"| item {n} | `module_{n % 40}.py:{1 + n * 7 % _LINES}` | why |" for n in range(references - quotes)]
    details = []
    for number in range(quotes):
        line = 1 + number * 13 % _LINES
        code = (root / f"module_{number % 40}.py").read_text().split("\n")[line - 1]
        details.append(f"Quote {number}\n\n```python\n# module_{number % 40}.py:{line}\n{code}\n```")
    table = "\n".join(["| Item | Location | Relevance |", "| --- | --- | --- |", *rows])
    found = "\n\n".join(details) or "Nothing to quote."
    head = "## Bench Result\n\n### Status\nSUCCESS\n\n### Summary\nOne. Two.\n\n### Findings\n\n"
    return f"{head}{found}\n\n### Key References\n{table}\n"


def _against_parsing() -> float:
    text = _result(40, 10)
    options = Options()

    def full() -> None:
        check_text(text, "-", options, open_sources(_folder()))

    return ratio(full, lambda: parse(text))


@cache
def _large_file() -> Path:
    root = Path(tempfile.mkdtemp(prefix="remit-bench-"))
    (root / "large.py").write_text("".join(f"name_{n} = {n}\n" for n in range(200_000)))
    return root


def _large(references: int) -> str:
    rows = [f"| item {n} | `large.py:{1 + n * 397 % 200_000}` | why |" for n in range(references)]
    table = "\n".join(["| Item | Location | Relevance |", "| --- | --- | --- |", *rows])
    return f"## Bench Result\n\n### Key References\n{table}\n"


def _into_large_file() -> float:
    """500 references against one: what is added is looking up, not reading."""

    def full(text: str) -> None:
        check_text(text, "-", Options(), Sources(workspace=open_sources(_large_file()).workspace))

    many, one = _large(500), _large(1)
    return ratio(lambda: full(many), lambda: full(one), repeats=5)


def _large_explained() -> list[str]:
    """State what a further reference takes."""
    texts = [_large(500), _large(1)]
    root = _large_file()
    checks = [partial(check_text, text, "-", Options(), open_sources(root)) for text in texts]
    many, one, parsed = medians([*checks, partial(parse, texts[0])], repeats=5)
    each, of_table = (1e6 * time / 499 for time in (many - one, parsed))
    return [
        f"a further reference takes {each:.0f} µs, {of_table:.0f} of them to parse its row",
        "the rest: its three cells are searched for claims, and it is looked up and judged; the file is read once",
    ]


@cache
def _transcript() -> Path:
    """50 MB in the client's form: calls, results of 20 KB, and lines of other types."""
    path = Path(tempfile.mkdtemp(prefix="remit-bench-")) / "agent.jsonl"
    body = "\n".join(f"{n}\tvalue = compute({n})" for n in range(1, 700))
    with path.open("w") as file:
        written, number = 0, 0
        while written < 50_000_000:
            number += 1
            call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": f"/p/{number}.py"}}
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": body}
            for kind, block in (("assistant", call), ("user", result)):
                written += file.write(json.dumps({"type": kind, "cwd": "/p", "message": {"content": [block]}}) + "\n")
    return path


def _against_json() -> float:
    """Reading a transcript against decoding its lines with the standard library."""
    path = _transcript()

    def decoded() -> None:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)

    return ratio(lambda: read_transcript(path), decoded, repeats=3)


def _transcript_speed() -> float:
    path = _transcript()
    start = time.perf_counter()
    read_transcript(path)
    return path.stat().st_size / 1e6 / (time.perf_counter() - start)


def _transcript_memory() -> float:
    path = _transcript()
    tracemalloc.start()
    read_transcript(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / path.stat().st_size


FILES = 150_000
_IN_FOLDER = 100
_CITED = 200


@cache
def _many_files() -> Path:
    """A checkout of many files: names for the same few files, because only the names matter."""
    root = Path(tempfile.mkdtemp(prefix="remit-bench-"))
    subprocess.run(["git", "init", "-q", root], check=True)
    for number in range(FILES):
        folder = root / f"packages/p{number // 3000}/src/d{number // _IN_FOLDER}"
        own = root / f"seed_{number // 50_000}.txt"  # a file system limits the names of one file
        if number % 50_000 == 0:
            own.write_text("value = 1\n" * 60)
        if number % _IN_FOLDER == 0:
            folder.mkdir(parents=True)
        os.link(own, folder / _name(number))
    subprocess.run(["git", "-C", root, "add", "-A"], check=True, stderr=subprocess.DEVNULL)
    return root


def _name(number: int) -> str:
    """Return the name of a file; 1,500 files have the same name."""
    return "index.ts" if number % _IN_FOLDER == 0 else f"file_{number}.ts"


def _cited() -> list[str]:
    """Return 200 paths without their first folders."""
    numbers = range(0, FILES, FILES // _CITED)
    return [f"d{number // _IN_FOLDER}/{_name(number)}" for number in numbers]


def _in_many_files() -> float:
    """A document with 200 short paths against listing the files and reading the cited ones."""
    root = _many_files()
    text = "\n".join(f"- `{path}:{1 + number % 60}`" for number, path in enumerate(_cited()))
    full = [root / f"packages/p{n // 3000}/src/d{n // _IN_FOLDER}" / _name(n) for n in range(0, FILES, FILES // _CITED)]
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]

    def baseline() -> None:
        subprocess.run(listing, check=True, capture_output=True)
        for path in full:
            path.read_bytes()

    def check() -> None:
        (verdict,) = check_text(text, "-", Options(), open_sources(root))
        if sum(one.found is not None for one in verdict.evidence.references) != _CITED:
            raise AssertionError("a reference was not found")

    return ratio(check, baseline, repeats=3, clock=time.perf_counter)


def benches() -> list[Bench]:
    """What is measured here."""
    return [
        Bench("full check, 40 references and 10 quotes", "parsing alone", "x", 5, _against_parsing),
        Bench(
            "500 references into a file of 200,000 lines",
            "1 reference into it",
            "x",
            3,
            _into_large_file,
            _large_explained,
        ),
        Bench(
            f"200 short paths in a checkout of {FILES:,} files",
            "git ls-files, reading the files",
            "x",
            2,
            _in_many_files,
        ),
        Bench("reading a transcript of 50 MB", "json.loads of its lines", "x", 1.2, _against_json),
        Bench("reading a transcript of 50 MB", "a second", "MB/s", None, _transcript_speed),
        Bench("memory for a transcript of 50 MB", "its size", "x", 0.5, _transcript_memory),
    ]
