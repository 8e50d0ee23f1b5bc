"""Handle an event of a client whose payloads differ from the common form, which is that of Claude Code.

The module `translate` of the client's package has

    to_events(payload, event, project)   the events of a payload in the common form; None for an unknown payload
    to_answer(answers, payload)          the client's answer, from the answers to these events
    CHANGES_INPUT                        whether the client accepts a changed input of a call

Only the mode `verify` is known there: no call is judged, so of the calls only launches of subagents and the arrival of
their reports are events.
"""

from __future__ import annotations

import os

from remit.clients.hooks.compiled import folder_of, project_of
from remit.clients.hooks.hook_events import count_unknown, handle_event
from remit.clients.hooks.payload import text
from remit.clients.hooks.responses import describe_error, fault_answer
from remit.deciding_files import CLIENTS
from remit.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from remit.clients.hooks.responses import Answer

#: The beginnings of prompts that Remit itself writes. A client reports the reason of a block as a prompt, too.
OWN_PROMPTS = ("remit (", "remit: ")


def handle_client_event(client: str, payload: dict[str, Any], event: str = "") -> Answer | None:
    """Return the client's answer to an event, or None for no answer. Never raises."""
    try:
        adapter = _adapter(client)
        project = project_of(text(payload, "cwd") or os.getcwd())
        events = adapter.to_events(payload, event, project)
        if events is None:
            count_unknown(folder_of(project), f"{client} {text(payload, 'hook_event_name') or event}")
            return None
        about: dict[str, Any] = {"project": project, "client": client, "changes_input": adapter.CHANGES_INPUT}
        answers = [handle_event(each, **about) for each in events]
        answer: Answer | None = adapter.to_answer(answers, payload)
    except Exception as error:  # noqa: BLE001 - a hook that dies would leave the user without a message
        answer = fault_answer(text(payload, "hook_event_name") or event, describe_error(error))
    return answer


def _adapter(client: str) -> ModuleType:
    if client not in CLIENTS:
        raise UsageError(f"unknown client {client[:40]!r}")
    return __import__(f"remit.clients.{client}.translate", fromlist=["to_events"])
