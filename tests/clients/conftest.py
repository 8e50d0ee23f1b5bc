from __future__ import annotations

import os
from pathlib import Path

import pytest
from install_site import Site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    project, home = tmp_path / "my project", tmp_path / "home"
    for folder in (project / ".git", home):
        folder.mkdir(parents=True)
    (project / "app.py").write_text("ANSWER = 42\n", encoding="utf-8")
    for name in [name for name in os.environ if name.startswith(("REMIT_", "GBRAIN_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(project)
    return Site(project, home)
