"""How the libraries of a check are loaded: fast, and so that nobody else notices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import remit

pytestmark = pytest.mark.process

LOADED = """
import sys
sys.path.append(sys.argv[1])
from remit.clients.claude_code.judging import _make_ready
_make_ready()
assert not {"platform", "typing_extensions", "pathlib", "hashlib"} & set(sys.modules), sorted(sys.modules)
import msgspec, platform, uuid
assert platform.python_version()
name = "12345678-1234-5678-1234-567812345678"
assert msgspec.convert(name, uuid.UUID) == uuid.UUID(name)
"""


def test_what_stood_in_for_slow_modules_is_gone_once_the_libraries_are_loaded() -> None:
    package = str(Path(remit.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOADED, package], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
