"""A quiet place for each test: no configuration around it, no registry left from another, the command in-process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.in_process import Remit, command_runner

from remit.registry import resolution

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in list(os.environ):
        if name.startswith(("REMIT_", "GBRAIN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(resolution, "_loaded", [])
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture
def remit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    """The command as it is typed: `remit("agents", "list")`."""
    return command_runner(monkeypatch, capsys)


@pytest.fixture
def plugin(tmp_path: Path) -> Write:
    """Writes a plugin: `plugin("house", {"agents/a.md": text}, manifest={...})`."""

    def write(
        name: str,
        files: Mapping[str, str | bytes],
        manifest: object = None,
        *,
        layout: str = "remit.plugin.json",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        if manifest is not None:
            file = folder / layout
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(manifest, bytes):
                file.write_bytes(manifest)
            else:
                file.write_text(json.dumps(manifest), encoding="utf-8")
        return folder

    return write
