"""The readers of transcripts are loaded when a transcript is read: a check without one starts without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import remit

pytestmark = pytest.mark.process

TRANSCRIPT = Path(__file__).parents[2] / "fixtures/transcripts/subagent.jsonl"
#: Checks a text with the given receipts, and prints which readers are loaded.
CHECK = """
import sys
sys.path.insert(0, sys.argv[1])
import remit.clients.copilot.translate
import remit.clients.hooks.final_answer
import remit.clients.hooks.judging
import remit.surfaces.cli.check
import remit.surfaces.cli.verify
remit.verify("see `a.py:1`", receipts=sys.argv[2] or None)
print(*sorted(name for name in sys.modules if name.startswith("remit.clients.transcripts.")))
"""
READERS = [f"remit.clients.transcripts.{name}" for name in ("other_clients", "reading", "tool_outputs")]


@pytest.mark.parametrize(("receipts", "readers"), [("", []), (str(TRANSCRIPT), READERS)])
def test_only_a_check_with_a_transcript_loads_the_readers(receipts: str, readers: list[str]) -> None:
    source = str(Path(remit.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", CHECK, source, receipts], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (readers, "")
