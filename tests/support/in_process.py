"""Commands of remit in the process of the tests, which has imported everything: they take a tenth of the time."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from support.commands import Ran

from remit.registry import resolution
from remit.surfaces.cli import main

#: `remit("agents", "list")` runs a command here, with `given` on standard input.
Remit = Callable[..., Ran]


def command_runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    """Return `remit("agents", "list")`: it runs a command as it is typed, in the folder of the test."""

    def run(*words: str, given: object = b"") -> Ran:
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        monkeypatch.setattr(sys, "argv", ["remit", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        code = stop.value.code or 0
        assert isinstance(code, int)
        return Ran(code, *capsys.readouterr())

    return run


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
