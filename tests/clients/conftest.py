from __future__ import annotations

import os
from pathlib import Path

import pytest
from install_site import Site

from remit.surfaces.cli import clients


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    project, home = tmp_path / "my project", tmp_path / "home"
    for folder in (project / ".git", home):
        folder.mkdir(parents=True)
    (project / "app.py").write_text("ANSWER = 42\n", encoding="utf-8")
    for name in [name for name in os.environ if name.startswith(("REMIT_", "GBRAIN_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))  # opencode's settings of the user are there
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # that of other tests would stay after an uninstall
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(project)
    return Site(project, home)


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which the user answers."""

    class Terminal:
        def isatty(self) -> bool:
            return True

    class System:
        stdin = Terminal()

    monkeypatch.setattr(clients, "sys", System)
