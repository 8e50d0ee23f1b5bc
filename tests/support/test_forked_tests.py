"""The processes that run the tests report every test once, also when one of them dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]

_CONFTEST = """
from support.forked_tests import ForkedTests

def pytest_configure(config):
    config.pluginmanager.register(ForkedTests(2, lambda nodeid: nodeid.partition("::")[0]))
"""
_SHARED = """
import os
import pytest

@pytest.fixture(scope="module")
def number():
    print("set up in", os.getpid())
    yield os.getpid()
    with open({record!r}, "a") as record:
        record.write("ended\\n")

@pytest.mark.parametrize("case", range(3))
def test_case(number, case, tmp_path):
    assert number == os.getpid()
    with open({record!r}, "a") as record:
        record.write(f"{{number}}\\n")
"""
_FAULTS = """
import os
import signal
import pytest

def test_fails():
    print("printed before")
    assert "left" == "right"

def test_is_skipped():
    pytest.skip("a reason")

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_is_not_reached():
    pass
"""


def _run(folder: Path, *options: str, **modules: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    for name, text in modules.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider", *options]
    ran = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def test_the_tests_of_a_module_run_in_one_process_that_ends_their_set_up(tmp_path: Path) -> None:
    records = [tmp_path / "one.txt", tmp_path / "two.txt"]
    code, output = _run(tmp_path, **{path.stem: _SHARED.format(record=str(path)) for path in records})
    assert (code, "6 passed" in output) == (0, True)
    for path in records:
        *numbers, last = path.read_text(encoding="utf-8").splitlines()
        assert (len(numbers), len(set(numbers)), last) == (3, 1, "ended")


def test_failures_skips_and_a_killed_process_are_reported(tmp_path: Path) -> None:
    modules = {"faults": _FAULTS, "one": _SHARED.format(record=str(tmp_path / "one.txt"))}
    code, output = _run(tmp_path, "-rs", **modules)
    assert code == 1
    assert "3 failed, 3 passed, 1 skipped" in output
    assert "printed before" in output
    assert "assert 'left' == 'right'" in output
    assert "a reason" in output
    assert "the process of this test has ended" in output


def test_a_run_stops_at_the_first_failure_on_request(tmp_path: Path) -> None:
    code, output = _run(tmp_path, "-x", faults=_FAULTS)
    assert code == 1
    assert "1 failed" in output
    assert "test_dies" not in output
