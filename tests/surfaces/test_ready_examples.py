"""The workflow and the hooks that people copy do what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
REMIT = [sys.executable, "-c", "import sys; sys.argv[0] = 'remit'; from remit.surfaces.cli import main; main()"]


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with the example shop, two reviews of it, and one commit."""
    shutil.copytree(ROOT / "examples/shop", tmp_path / "examples/shop", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "results").mkdir()
    for name in ("review-security.md", "review-quality.md"):
        shutil.copy(ROOT / "examples/results" / name, tmp_path / "results" / name)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="the workflow's steps are written for a POSIX shell")
def test_the_steps_of_the_workflow_run(project: Path) -> None:
    workflow = yaml.safe_load((ROOT / "examples/ci/github-workflow.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for step in workflow["jobs"]["results"]["steps"] if "run" in step]
    remit = [step for step in steps if step.startswith("remit ")]
    assert len(remit) == 3
    programs = project / "bin"
    programs.mkdir()
    script = programs / "remit"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{REMIT[2]}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    codes = [run(["sh", "-c", step], project, PATH=path, BASE="HEAD").returncode for step in remit]
    assert codes == [0, 0, 0]  # nothing has changed since HEAD, so nothing fails
    assert (project / "remit.sarif").read_text(encoding="utf-8").startswith("{")
    assert "<html" in (project / "remit.html").read_text(encoding="utf-8")


def test_the_hooks_run_on_the_files_they_name(project: Path) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    files = [str(path.relative_to(project)) for path in sorted((project / "results").iterdir())]
    for hook in hooks.values():
        assert all(re.search(hook["files"], file) for file in files)
        assert hook["entry"].split()[0] == "remit"
    accepted = run([*REMIT, *hooks["remit-check"]["entry"].split()[1:], *files], project)
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    critical = run([*REMIT, *hooks["remit-merge"]["entry"].split()[1:], *files], project)
    assert critical.returncode == 1
    assert "SEC-001" in critical.stdout
