#!/usr/bin/env python3
"""Feed changed inputs to every parser: `python3 dev.py fuzz [--target NAME] [--seconds 60 | --inputs 1000000]`.

A target must not raise anything but the errors that it documents, and must not take long. Inputs are real ones with
random edits: first some that hypothesis makes, which explores and shrinks well, then many from a random generator,
which is ten times as fast. A failing input is made small, printed and saved in `tests/security/corpus/TARGET`; the
tests run it again from then on.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402 (the path must be known first)
from hypothesis import strategies as st  # noqa: E402

from remit.checking import Options, check_text  # noqa: E402
from remit.clients.hooks.payload import NEEDED, Unreadable, missing, parse  # noqa: E402
from remit.clients.transcripts.reading import read_transcript  # noqa: E402
from remit.configuration import load  # noqa: E402
from remit.contract.parse import parse as parse_document  # noqa: E402
from remit.contract.render import render  # noqa: E402
from remit.errors import RemitError  # noqa: E402
from remit.merging.sarif.read import read_sarif  # noqa: E402
from remit.orchestrate.plan_file import read_plan  # noqa: E402
from remit.registry.plugins import load_plugins  # noqa: E402
from remit.registry.tools import AllowList  # noqa: E402
from remit.shell.interpret import read_command  # noqa: E402

CORPUS = ROOT / "tests/security/corpus"
#: The most bytes of a seed: small inputs are fast, and edits repeat parts of them.
_MAX_SEED = 12_000
#: The most seconds for one input, and for each of its bytes.
_SECONDS, _SECONDS_PER_BYTE = 2.0, 0.00005
#: Inputs that hypothesis makes in each run of a target.
_BATCH = 100
#: Text that parsers treat in a special way.
_TOKENS = (
    *("\n", "\r\n", "\0", "\t", " ", "\\", "`", "```", "~~~", "|", "---", "#", "## X Result", "### Status", "\ufeff"),
    *(
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ":",
        ",",
        "$(",
        "${x",
        "<<EOF",
        ";",
        "&&",
        "a.py:12",
        "..",
        "/",
        "\u202e",
        "\ud7ff",
    ),
    *(
        "null",
        "true",
        "1e999",
        "-1",
        "9" * 40,
        "a" * 300,
        "é" * 100,
        "💥",
        "=",
        "[[a]]",
        "a.b.c",
        "&a *a",
        "!!x",
        "\x1b[",
    ),
)


_KINDS = ("delete", "insert", "replace", "repeat", "move")
#: How often the text of an edit is one of the tokens.
_TOKEN_SHARE = 0.6


class Target(NamedTuple):
    """A parser: what is called with an input, and the inputs that edits start from."""

    run: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]


class TooSlow(AssertionError):
    """An input took longer than its size allows."""


def _document(data: bytes) -> None:
    for document in parse_document(data):
        render(document.result)
    check_text(data, "-", Options())


def _sarif(data: bytes) -> None:
    read_sarif(data, "x.sarif", None, {})


def _in_file(name: str, data: bytes, read: Callable[[Path], object]) -> None:
    file = _folder() / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    read(file)


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="remit-fuzz-"))


def _transcript(data: bytes) -> None:
    _in_file("session.jsonl", data, read_transcript)


def _definition(data: bytes) -> None:
    _in_file("plugin/agents/one.md", data, lambda file: load_plugins([str(file.parents[1])], AllowList(["*"])))


def _payload(data: bytes) -> None:
    try:
        found = parse(data)
    except Unreadable:
        return
    for event in NEEDED:
        missing(event, found)


def _shell(data: bytes) -> None:
    read_command(data.decode("utf-8", "replace"), "src")


def _plan(data: bytes) -> None:
    for name in ("plan.toml", "plan.yaml"):
        try:
            _in_file(name, data, read_plan)
        except RemitError:
            continue


def _configuration(data: bytes) -> None:
    _in_file("settings/remit.toml", data, lambda file: load(file.parent, {}))


def _files(*patterns: str) -> Callable[[], list[bytes]]:
    return lambda: [
        file.read_bytes()[:_MAX_SEED] for pattern in patterns for file in sorted(ROOT.glob(pattern)) if file.is_file()
    ]


def _texts(*texts: str) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for text in texts]


TARGETS = {
    "document": Target(_document, _files("src/remit/rules/samples/*.md", "examples/results/*.md")),
    "sarif": Target(_sarif, _files("tests/fixtures/sarif/*.sarif", "examples/reviews/inputs/*.sarif")),
    "transcript": Target(_transcript, _files("tests/fixtures/transcripts/*.jsonl")),
    "definition": Target(_definition, _files("src/remit/registry/team/*.md")),
    "payload": Target(_payload, _files("tests/fixtures/claude_code/payloads/*.json")),
    "shell": Target(
        _shell,
        _texts(
            "cd src && sed -i 's/a/b/' main.py | tee out.txt; git -c core.pager=cat log -- src",
            "for f in *.py; do awk '{ print $1 > \"x\" }' \"$f\"; done < <(find . -name '*.py' -exec rm {} +)",
            "cat <<'EOF' > remit.toml\nmode = 1\nEOF\npython3 - <<X\nopen('a', 'w')\nX\n",
            'f() { rm -rf "${HOME:?}/$1"; }; case $x in a|b) f {1..9};; esac && ((i++)) || [[ -f a && b =~ c ]]',
        ),
    ),
    "plan": Target(
        _plan,
        _texts(
            'name = "ship"\n[[phase]]\nname = "look"\n[[phase.delegation]]\nagent = "code-explorer"\ntask = "Look."\n'
            'scope = ["src"]\ncritical = true\n',
            "name: ship\nphases:\n  - name: look\n    inputs: []\n    delegations:\n      - agent: code-explorer\n"
            "        task: Look around.\n        scope: [src]\n",
        ),
    ),
    "configuration": Target(
        _configuration,
        _texts(
            'profile = "v2"\nplugin_path = ["agents"]\n[check]\nignore = ["CNF"]\n[gate]\nothers = "off"\n'
            '[commands]\nx = "y {prompt}"\n[merge]\nthreshold = 80\nweights = { ruff = 0.5 }\n',
        ),
    ),
}


def _edits() -> st.SearchStrategy[list[tuple[str, float, float, str]]]:
    part = st.floats(0, 1, allow_nan=False)
    text = st.one_of(st.sampled_from(_TOKENS), st.text(max_size=12))
    kinds = st.sampled_from(_KINDS)
    return st.lists(st.tuples(kinds, part, part, text), min_size=1, max_size=7)


def edited(data: bytes, edits: list[tuple[str, float, float, str]]) -> bytes:
    """Return an input after some edits; each names a place and a length as parts of the whole."""
    for kind, at, size, text in edits:
        start = int(at * len(data))
        end = min(len(data), start + int(size * size * 200) + (kind != "insert"))
        words = text.encode("utf-8", "replace")
        middle = {
            "delete": b"",
            "insert": words + data[start:end],
            "replace": words,
            "repeat": data[start:end] * (2 + int(size * 30)),
            "move": data[end : end + 40] + data[start:end],
        }[kind]
        data = data[:start] + middle + data[end:]
    return data[: 4 * _MAX_SEED]


def run_input(target: Target, data: bytes) -> None:
    """Run one input. Raises what the target must not raise, or TooSlow."""
    began = time.process_time()
    with contextlib.suppress(RemitError):
        target.run(data)
    if time.process_time() - began > _SECONDS + len(data) * _SECONDS_PER_BYTE:
        raise TooSlow(f"{len(data):,} bytes took {time.process_time() - began:.1f} s")


def saved_inputs(name: str) -> Iterator[Path]:
    """Yield the inputs of a target that have failed once."""
    yield from sorted((CORPUS / name).glob("*.bin"))


def fuzz(name: str, target: Target, seconds: float, inputs: int | None, first_seed: int) -> tuple[int, bytes | None]:
    """Run a target until the time is up or the number is reached; return the number, and a failing input if any."""
    seeds = target.seeds()
    if not seeds:
        raise ValueError(f"the target {name} has no seeds")
    deadline = time.monotonic() + seconds
    for file in saved_inputs(name):
        run_input(target, file.read_bytes())
    done, bad, error = _explore(target, seeds, _BATCH if inputs is None else min(_BATCH, inputs), first_seed)
    choice = random.Random(first_seed)
    while bad is None and ((done < inputs) if inputs is not None else (time.monotonic() < deadline)):
        data = edited(choice.choice(seeds), random_edits(choice))
        done += 1
        if (error := failure(target, data)) is not None:
            bad = shrunk(target, data, type(error))
    if bad is not None:
        print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    return done, bad


def _explore(
    target: Target, seeds: list[bytes], inputs: int, first_seed: int
) -> tuple[int, bytes | None, Exception | None]:
    """Run inputs that hypothesis makes; return their number, and a failing input with its error if any."""
    done, last = 0, b""

    @seed(first_seed)
    @settings(
        max_examples=inputs,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, len(seeds) - 1), _edits())
    def one_batch(which: int, edits: list[tuple[str, float, float, str]]) -> None:
        nonlocal done, last
        done += 1
        last = edited(seeds[which], edits)
        run_input(target, last)

    try:
        one_batch()
    except Exception as error:  # noqa: BLE001 (any error of a parser is a finding)
        return done, last, error
    return done, None, None


def random_edits(choice: random.Random) -> list[tuple[str, float, float, str]]:
    """Return edits of the same kinds that hypothesis makes."""
    return [
        (choice.choice(_KINDS), choice.random(), choice.random(), _random_text(choice))
        for _ in range(choice.randint(1, 7))
    ]


def _random_text(choice: random.Random) -> str:
    if choice.random() < _TOKEN_SHARE:
        return choice.choice(_TOKENS)
    highest = choice.choice((0x7F, 0x7F, 0x2FF, 0xD7FF))
    return "".join(chr(choice.randint(0, highest)) for _ in range(choice.randint(0, 12)))


def failure(target: Target, data: bytes) -> Exception | None:
    """Return the error of an input, or None."""
    try:
        run_input(target, data)
    except Exception as error:  # noqa: BLE001 (as above)
        return error
    return None


def shrunk(target: Target, data: bytes, kind: type[Exception]) -> bytes:
    """Return a smaller input that fails in the same way: without any part that is not needed."""
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if isinstance(failure(target, shorter), kind):
                data = shorter
            else:
                at += size
        size = 0 if kind is TooSlow and size < len(data) // 16 else size // 2
    return data


def keep(name: str, data: bytes) -> Path:
    """Save a failing input, so that the tests run it again."""
    file = CORPUS / name / f"{hashlib.sha256(data).hexdigest()[:16]}.bin"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def main(arguments: list[str]) -> int:
    """Run the targets; return 1 if an input failed."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--target", choices=list(TARGETS), action="append", help="a parser; default: all")
    parser.add_argument("--seconds", type=float, default=60, help="the time for each target (default 60)")
    parser.add_argument("--inputs", type=int, help="the number of inputs for each target, instead of a time")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="repeats an earlier run")
    chosen = parser.parse_args(arguments)
    failed = 0
    print(f"seed {chosen.seed}", flush=True)
    for name in chosen.target or TARGETS:
        began = time.monotonic()
        done, bad = fuzz(name, TARGETS[name], chosen.seconds, chosen.inputs, chosen.seed)
        if bad is not None:
            failed += 1
            print(f"{name}: saved as {keep(name, bad).relative_to(ROOT)}: {bad[:200]!r}", flush=True)
        print(f"{name:<14} {done:>10,} inputs in {time.monotonic() - began:6.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
