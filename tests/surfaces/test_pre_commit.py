"""The hooks of `.pre-commit-hooks.yaml`, run by the real pre-commit in a project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.verify_commands import commit, git

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]
HOOKS = ".pre-commit-hooks.yaml"
CODE = "LIMIT = 20\n\n\ndef total(cart):\n    return sum(cart)\n"
GUIDE = "# Guide\n\nThe sum is made by `total()` in `src/cart.py:4`.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with both hooks. The program of the environment is run: an own one needs minutes to install."""
    hooks, root = tmp_path / "hooks", tmp_path / "shop"
    hooks.mkdir()
    shutil.copy(ROOT / HOOKS, hooks / HOOKS)
    git(hooks, "init", "-q", "-b", "main")
    commit(hooks, "Offer hooks")
    for folder in ("src", "docs"):
        (root / folder).mkdir(parents=True)
    (root / "src/cart.py").write_text(CODE)
    (root / "docs/guide.md").write_text(GUIDE)
    (root / "CHANGELOG.md").write_text("# Changes\n\n- `src/gone.py:3` was removed\n")
    entries = [{"id": name, "language": "system"} for name in ("remit-verify", "remit-verify-affected")]
    source = {"repo": hooks.as_uri(), "rev": git(hooks, "rev-parse", "HEAD").strip(), "hooks": entries}
    (root / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [source]}))
    git(root, "init", "-q", "-b", "main")
    commit(root, "Sell things")
    return root


def pre_commit(root: Path) -> subprocess.CompletedProcess[str]:
    """Stage everything and run the hooks as a commit does."""
    git(root, "add", "--all")
    programs = str(Path(sys.executable).parent)
    own = {
        "PATH": os.pathsep.join((programs, os.environ["PATH"])),
        "PRE_COMMIT_HOME": str(root.parent / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    command = [str(Path(programs) / "pre-commit"), "run", "--color", "never"]
    return subprocess.run(
        command, cwd=root, env={**os.environ, **own}, capture_output=True, text=True, timeout=300, check=False
    )


def states(output: str) -> dict[str, str]:
    """Return how each hook ended."""
    lines = [line for line in output.splitlines() if "....." in line]
    return {line.partition("...")[0]: line.rpartition(".")[2] for line in lines}


def test_a_change_that_breaks_no_claim_is_committed(project: Path) -> None:
    (project / "docs/guide.md").write_text(GUIDE + "\nThe limit is in `src/cart.py:1`.\n")
    ran = pre_commit(project)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert states(ran.stdout) == {"remit verify": "Passed", "remit verify --affected-by": "Passed"}


def test_a_document_with_a_false_claim_is_not_committed(project: Path) -> None:
    (project / "docs/guide.md").write_text(GUIDE + "\nThe limit is in `src/cart.py:400`.\n")
    ran = pre_commit(project)
    assert ran.returncode == 1
    assert states(ran.stdout)["remit verify"] == "Failed"
    assert "docs/guide.md:5  out-of-range  src/cart.py:400" in ran.stdout


def test_a_change_of_code_fails_for_a_document_that_it_does_not_touch(project: Path) -> None:
    git(project, "mv", "src/cart.py", "src/basket.py")
    ran = pre_commit(project)
    assert ran.returncode == 1
    assert states(ran.stdout) == {"remit verify": "(no files to check)Skipped", "remit verify --affected-by": "Failed"}
    assert "docs/guide.md:3" in ran.stdout


def test_what_was_false_before_and_a_changelog_do_not_stop_a_commit(project: Path) -> None:
    (project / "docs/old.md").write_text("# Old\n\nIt is in `src/cart.py:400`.\n")
    commit(project, "Write a false claim")
    (project / "CHANGELOG.md").write_text("# Changes\n\n- `src/gone.py:3` and `src/lost.py:4` were removed\n")
    (project / "src/cart.py").write_text(CODE + "\n\nRATE = 2\n")
    ran = pre_commit(project)
    assert ran.returncode == 0, ran.stdout + ran.stderr
