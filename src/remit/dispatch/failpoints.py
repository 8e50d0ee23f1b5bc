"""Named stop points: where a test may kill a worker, to see what is left. In use they cost one comparison.

`REMIT_STOP_AT=NAME:N` ends the process by SIGKILL when point NAME is passed for the Nth time.
"""

from __future__ import annotations

import os
import signal

#: Every point, in the order a run passes them.
STOP_POINTS = (
    "ticket-taken",
    "claimed",
    "worktree-made",
    "request-saved",
    "model-asked",
    "model-answered",
    "settled",
    "response-saved",
    "tool-begun",
    "tool-ran",
    "tool-finished",
    "checked",
    "result-saved",
    "finished",
)
_name, _, _times = os.environ.get("REMIT_STOP_AT", "").partition(":")
_left = int(_times) if _times.isdigit() else 1


def failpoint(name: str) -> None:
    """Pass a point."""
    if name == _name:
        _stop()


def _stop() -> None:
    global _left  # noqa: PLW0603 (one process, one countdown)
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
