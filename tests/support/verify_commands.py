"""A small repository, texts about it, and `remit verify` run in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

FILES = {
    "src/app/cart.py": "LIMIT = 20\n\n\ndef add(cart, line):\n    cart.lines.append(line)\n    return cart\n\n\n"
    + "x = 1\n" * 20
    + "\n\ndef total(cart):\n    return sum(line.price for line in cart.lines)\n",
    "src/app/prices.py": "CODES = {'TEN': 10}\n\n\ndef discount(pence, code):\n    return pence * CODES[code] // 100\n",
    "README.md": "# A shop\n",
}
#: Four claims: a name is there, a line exists, one file and one line do not exist.
AUDIT = """\
# What I found

Goods are added in `src/app/cart.py:4` (add), prices are in `src/app/prices.py:4`.
The tax is computed in `src/app/price.py:9`, and `src/app/prices.py:80` rounds it.
"""
#: A quote of the last lines of the cart.
TOTAL = "```python\ndef total(cart):\n    return sum(line.price for line in cart.lines)\n```\n"


def git(root: Path, *words: str) -> str:
    own = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(root), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | own).stdout.strip()


def commit(root: Path, message: str = "change") -> str:
    """Commit all files, and return the commit."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
    return git(root, "rev-parse", "HEAD")


def make_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with one commit and an audit of it that is not committed, and change to it."""
    root = folder / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(folder, "init", "-q", str(root))
    commit(root, "all")
    (root / "notes.md").write_text(AUDIT)
    monkeypatch.chdir(root)
    for name in [name for name in os.environ if name.startswith(("REMIT_", "GBRAIN_", "CLAUDE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    return root
