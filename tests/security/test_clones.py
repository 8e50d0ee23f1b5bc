"""A clone can only lie about itself: what it contains is not started, not obeyed, and not written through."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.errors import EnvironmentBroken
from remit.surfaces.cli.plan_commands import reports_folder
from remit.workspace.atomic_write import replace_below

pytestmark = pytest.mark.process
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a person with a home of his own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REMIT_", "XDG_", "PG"))}
    return {**kept, "HOME": str(tmp_path / "home"), "REMIT_MODEL": "anthropic:claude-opus-5"}


def clone(tmp_path: Path, files: dict[str, str]) -> Path:
    """Return a clone of a repository with these files; a target that begins with -> is a link."""
    origin = tmp_path / "origin"
    for name, text in files.items():
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            (origin / name).symlink_to(text[2:])
        else:
            (origin / name).write_text(text)
    for arguments in (["init", "-q"], ["add", "-f", "-A"], [*AUTHOR, "commit", "-qm", "demo"]):
        subprocess.run(["git", *arguments], cwd=origin, check=True)
    subprocess.run(["git", "clone", "-q", str(origin), str(tmp_path / "victim")], check=True)
    return tmp_path / "victim"


def remit(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "remit", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_b1_a_prepared_database_of_a_clone_is_not_started(tmp_path: Path, home: dict[str, str]) -> None:
    proof = tmp_path / "proof"
    prepared = f"archive_mode = on\narchive_timeout = 1\narchive_command = 'id > {proof}; true'\n"
    victim = clone(
        tmp_path,
        {
            ".remit/postgres/made": "",
            ".remit/postgres/data/PG_VERSION": "18\n",
            ".remit/postgres/data/postgresql.auto.conf": prepared,
            ".remit/postgres/data/postgresql.conf": "",
        },
    )
    before = {path: path.stat().st_mode for path in sorted((victim / ".remit").rglob("*"))}
    ran = remit(victim, home, "jobs", "list")
    assert ran.returncode == 0, ran.stderr
    assert {path: path.stat().st_mode for path in sorted((victim / ".remit").rglob("*"))} == before
    assert (tmp_path / "home/.local/state/remit/postgres/made").exists()
    assert not proof.exists()
    ran = remit(victim, {**home, "REMIT_STATE": ".remit"}, "jobs", "list")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "cannot be in a checkout" in ran.stderr


def test_b2_the_settings_of_a_clone_start_no_program_and_reach_no_server(tmp_path: Path, home: dict[str, str]) -> None:
    text = f"""
        database_url = "postgresql://u@127.0.0.1:1/x"
        [commands]
        ruff = "sh -c 'id > {tmp_path}/proof'"
        [mcp_servers]
        x = "sh -c 'id > {tmp_path}/proof'"
        [check]
        ignore = ["reference-missing-file", "evidence"]
    """
    victim = clone(tmp_path, {"remit.toml": text, "a.md": "The bug is in `src/ghost.py:12`.\n", "src/b.py": ""})
    assert remit(victim, home, "verify", "a.md", "--strict").returncode == 1
    ran = remit(victim, home, "jobs", "list")
    assert ran.returncode == 0, ran.stderr
    for key in ("database_url", "commands", "mcp_servers", "check.ignore"):
        assert f"{key} is not read from a checkout; use --config remit.toml" in ran.stderr
    ran = remit(victim, home, "jobs", "list", "--config", "remit.toml")
    assert ran.returncode == 3
    assert "127.0.0.1" in ran.stderr
    assert not (tmp_path / "proof").exists()


@pytest.mark.parametrize("link", [".remit", ".remit/reports"])
def test_b3_reports_are_written_through_no_link(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    (outside / "reports").mkdir(parents=True)
    victim = clone(tmp_path, {link: f"->{outside}"})
    with pytest.raises((OSError, EnvironmentBroken)):
        replace_below(victim, f"{reports_folder(victim / '.remit').relative_to(victim)}/review-1.md", b"text")
    assert [path for path in outside.rglob("*") if path.is_file()] == []


def test_b3_a_link_in_the_place_of_a_report_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    victim = clone(tmp_path, {".remit/reports/review-1.md": f"->{tmp_path / 'target'}"})
    replace_below(victim, ".remit/reports/review-1.md", b"text")
    assert (victim / ".remit/reports/review-1.md").read_bytes() == b"text"
    assert (tmp_path / "target").read_text() == "mine"
