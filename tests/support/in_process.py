"""Commands of remit in the process of the tests, which has imported everything: they take a tenth of the time."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from remit.registry import resolution
from remit.surfaces.cli import main


class Ran(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_here(folder: Path, *words: str | Path, given: bytes = b"", variables: Mapping[str, str] | None = None) -> Ran:
    """Run a command in a folder, with `given` on standard input."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}
    environment = {**kept, "COLUMNS": "80", **(variables or {})}
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding, write_through=True) for name in ("stdout", "stderr")}
    arguments = ["remit", *map(os.fspath, words)]
    code: Any = 0
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.multiple(sys, argv=arguments, stdin=io.TextIOWrapper(io.BytesIO(given), "utf-8"), **streams),
        mock.patch.object(resolution, "_loaded", []),
        mock.patch.object(sys.modules["__main__"], "__package__", None),  # the help names the program by argv
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    printed = [stream.buffer.getvalue().decode() for stream in streams.values()]  # type: ignore[attr-defined]
    return Ran(code or 0, *printed)


def run_each(folder: Path, *lines: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> list[Ran]:
    """Run several commands in a folder."""
    return [run_here(folder, *words, variables=variables) for words in lines]
