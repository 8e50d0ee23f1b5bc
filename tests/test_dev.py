"""The developer commands of dev.py."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return dev.py with an environment in which `remit CODE` exits with that code."""
    spec = importlib.util.spec_from_file_location("dev_under_test", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    environment = module.Environment(tmp_path, tmp_path / "run.lock")
    program = environment.program("remit")
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nimport os, sys\nos.kill(os.getpid(), 15) if sys.argv[1] == 'ended' else ")
    with program.open("a") as file:
        file.write("sys.exit(int(sys.argv[1]))\n")
    program.chmod(0o755)
    monkeypatch.setattr(module, "RUN", environment)
    monkeypatch.setattr(module, "prepare", lambda _: None)
    return module


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="the program is a script")
@pytest.mark.parametrize(("argument", "code"), [("0", 0), ("1", 1), ("2", 2), ("3", 3), ("130", 130), ("ended", 143)])
def test_run_returns_the_exit_code_of_remit_and_adds_no_line(
    dev: ModuleType, capfd: pytest.CaptureFixture[str], argument: str, code: int
) -> None:
    assert dev.main(["run", argument]) == code
    assert capfd.readouterr() == ("", f"$ remit {argument}\n")


def test_a_failed_step_of_another_command_returns_one_and_names_it(
    dev: ModuleType, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: list[str]) -> None:
        raise dev.StepFailed("pytest failed (exit code 5)")

    monkeypatch.setitem(dev.COMMANDS, "test", fail)

    assert dev.main(["test"]) == 1
    assert capfd.readouterr().err == "dev.py: pytest failed (exit code 5)\n"


@pytest.mark.parametrize(("options", "is_installed"), [([], False), (["--yes"], True)])
def test_a_system_package_is_installed_only_if_the_user_agrees(
    dev: ModuleType,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    is_installed: bool,
) -> None:
    installed: list[str] = []
    monkeypatch.setattr(dev.shutil, "which", lambda _: None)
    monkeypatch.setattr(dev.sys, "stdin", io.StringIO())
    monkeypatch.setattr(dev, "prepare_system_program", lambda _, package, __: installed.append(package))

    dev.prepare_system_programs(may_install=bool(options))

    assert bool(installed) == is_installed
    assert (
        "bubblewrap is not installed: the tests of the sandbox are skipped" in capfd.readouterr().err
    ) != is_installed
