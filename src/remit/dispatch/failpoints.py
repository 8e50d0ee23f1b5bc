"""Failpoints: named places where a test can kill a worker. In production each costs one comparison.

`REMIT_STOP_AT=NAME:N` kills the process (SIGKILL) when it reaches failpoint NAME for the Nth time.
"""

from __future__ import annotations

import os
import signal

#: Every failpoint, in the order in which a run reaches them.
FAILPOINTS = (
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
    """Kill the process if this failpoint is the configured one and its count has been reached."""
    if name == _name:
        _count_down()


def _count_down() -> None:
    global _left  # noqa: PLW0603 (one process, one countdown)
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
