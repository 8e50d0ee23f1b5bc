"""Count the events that this version of Remit does not understand: they pass, and `remit doctor` lists them."""

from __future__ import annotations

import json
import os

from remit.workspace.atomic_write import replace_file

#: In the gate's folder. It has no ending, so it is not taken for a session.
FILE = "unknown-events"
_MAX_NAMES = 50
_MAX_NAME = 60
_MAX_BYTES = 100_000


def count_unknown(folder: str, event: str) -> None:
    """Count an event. Nothing is written in a project without a gate, and an error is ignored: the event passes."""
    name = "".join(sign for sign in event[:_MAX_NAME] if sign.isprintable()) or "(no name)"
    counts = unknown_events(folder)
    if name not in counts and len(counts) >= _MAX_NAMES:
        return
    counts[name] = counts.get(name, 0) + 1
    try:
        if os.path.isdir(folder):
            replace_file(os.path.join(folder, FILE), json.dumps(counts).encode("ascii"), mode=0o600, sync=False)
    except OSError:
        return


def unknown_events(folder: str) -> dict[str, int]:
    """Return the number of times that each unknown event came."""
    try:
        with open(os.open(os.path.join(folder, FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            values = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    known = values.items() if isinstance(values, dict) else ()
    return {str(name)[:_MAX_NAME]: count for name, count in known if isinstance(count, int)}


def unknown_notice(folder: str) -> str:
    """Describe the unknown events of a project for a person; "" without one."""
    counts = unknown_events(folder)
    if not counts:
        return ""
    names = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items(), key=lambda one: -one[1])[:5])
    return (
        f"events that this version does not understand passed unchecked: {names}; update Remit, or report it. "
        "`remit install` again clears the count"
    )
