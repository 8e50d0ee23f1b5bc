"""Answer a hook event of any client: read the payload, print the answer and nothing else."""

from __future__ import annotations

import os

from remit.clients.hooks.hook_events import handle_event
from remit.clients.hooks.payload import Unreadable, parse, read
from remit.clients.hooks.responses import Answer, describe_error, encode, fault_answer, message
from remit.clients.translation import handle_client_event
from remit.gate.settings import VERIFY

#: With the value 1, this variable switches all hooks of a session off.
OFF = "REMIT_OFF"


def run(event: str, client: str = "claude-code", mode: str = VERIFY, *, source: int = 0, target: int = 1) -> None:
    """Read the payload from the descriptor `source` and write the answer to `target`. Never raises.

    Claude Code names the project in the variable CLAUDE_PROJECT_DIR.
    """
    try:
        write(target, _encode(_answer(event, client, mode, source), event))
    except OSError:  # the client has closed the pipe
        return


def _answer(event: str, client: str, mode: str, source: int) -> Answer | None:
    if os.environ.get(OFF) == "1":
        is_start = event.lower() == "sessionstart"
        return message(f"remit: {OFF}=1 switches all hooks off: nothing is checked") if is_start else None
    try:
        payload = parse(read(source))
    except Unreadable as reason:
        return fault_answer(event, f"the payload cannot be read: {reason}")
    except Exception as error:  # noqa: BLE001 - a hook that dies would leave the user without a message
        return fault_answer(event, describe_error(error))
    if client == "claude-code":
        return handle_event(payload, event=event, project=os.environ.get("CLAUDE_PROJECT_DIR", ""), mode=mode)
    return handle_client_event(client, payload, event)


def write(target: int, data: bytes) -> None:
    """Write all data to a descriptor."""
    while data:
        data = data[os.write(target, data) :]


def _encode(answer: Answer | None, event: str) -> bytes:
    try:
        return encode(answer)
    except (ValueError, RecursionError) as error:  # a number or a depth that JSON does not support
        return encode(fault_answer(event, describe_error(error)))
