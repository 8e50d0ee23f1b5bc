"""The pictures of terminals show what the commands print today."""

from __future__ import annotations

import os
import sys

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "tools"))

if os.name != "nt":
    import demo_picture

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]


@pytest.mark.parametrize("name", list(demo_picture.COMMANDS) if os.name != "nt" else [])
def test_a_picture_of_a_command_is_what_it_prints(name: str) -> None:
    shown = demo_picture.picture_of_command(demo_picture.COMMANDS[name])
    assert shown == (ROOT / "docs" / name).read_text(encoding="utf-8"), "run tools/demo_picture.py"
