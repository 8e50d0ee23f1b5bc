"""The hook process imports the libraries of a check, and no other package of the environment."""

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
from remit.clients.hooks.libraries import make_libraries_importable
for _ in range(2):
    make_libraries_importable()
assert len([finder for finder in sys.meta_path if "Library" in type(finder).__name__]) == 1, sys.meta_path
import remit.acceptance
slow = {"typing_extensions", "inspect"}
assert not slow & set(sys.modules), sorted(sys.modules)
assert not any(entry.endswith("site-packages") for entry in sys.path), sys.path
try:
    import pytest
except ImportError:
    pass
else:
    raise AssertionError("a package that no check needs was found")
import msgspec, uuid
text = "12345678-1234-5678-1234-567812345678"
assert msgspec.convert(text, uuid.UUID) == uuid.UUID(text)
"""


def test_only_the_libraries_of_a_check_are_importable() -> None:
    package = str(Path(remit.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOADED, package], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
