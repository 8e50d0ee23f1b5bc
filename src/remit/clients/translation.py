"""Handle an event of a client whose payloads differ from the common form, which is that of Claude Code.

The module `translate` of the client's package has

    to_events(payload, event, project)   the events of a payload in the common form; None for an unknown payload
    to_answer(answers, payload)          the client's answer, from the answers to these events
    CHANGES_INPUT                        whether the client accepts a changed input of a call

One call can be several events: a patch of three files is three edits.
"""

from __future__ import annotations

import os

from remit.clients.hooks.compiled import folder_of, project_of
from remit.clients.hooks.events import fault_response, handle_event, run
from remit.clients.hooks.payload import text
from remit.clients.hooks.responses import deny, merge, message
from remit.clients.known_clients import CLIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from remit.clients.hooks.responses import Answer

#: A call with more parts than this is not split: the rest is decided as one unknown call.
MAX_EVENTS = 200
#: The beginnings of prompts that Remit itself writes. A client reports the reason of a block as a prompt, too.
OWN_PROMPTS = ("remit (", "remit: ")


def run_client(client: str, event: str) -> None:
    """Read the payload of a client from stdin and write the answer to stdout. Never raises."""
    run(event, handle=lambda payload, name: handle_client_event(client, payload, name))


def handle_client_event(client: str, payload: dict[str, Any], event: str = "") -> Answer | None:
    """Return the client's answer to an event, or None for no answer. Never raises."""
    project = ""
    try:
        adapter = _adapter(client)
        project = project_of(text(payload, "cwd") or os.getcwd())
        events = adapter.to_events(payload, event, project)
        if events is None:
            from remit.clients.hooks.unknown_events import count_unknown

            count_unknown(folder_of(project), f"{client} {text(payload, 'hook_event_name') or event}")
            return None
        answers = _answers(events[:MAX_EVENTS], project, changes_input=adapter.CHANGES_INPUT)
        answer: Answer | None = adapter.to_answer(answers, payload)
    except Exception as error:  # noqa: BLE001 - a hook that dies would leave the user without a message
        answer = fault_response(text(payload, "hook_event_name") or event, error, project)
    return answer


def _adapter(client: str) -> ModuleType:
    return __import__(f"{CLIENTS[client]}.translate", fromlist=["to_events"])


def _answers(events: Sequence[dict[str, Any]], project: str, *, changes_input: bool) -> list[Answer | None]:
    """Handle events in order. A denied part denies the whole call, so the parts before it are withdrawn."""
    answers: list[Answer | None] = []
    for at, one in enumerate(events):
        answers.append(handle_event(one, project=project, changes_input=changes_input, has_tools=False))
        if permission_of(answers[-1]) != "deny":
            continue
        for earlier in events[:at]:
            handle_event({**earlier, "hook_event_name": "PermissionDenied"}, project=project)
        break
    return answers


def permission_of(answer: Answer | None) -> str:
    """Return the decision about a call: "deny", "ask" or ""."""
    specific = (answer or {}).get("hookSpecificOutput")
    return text(specific, "permissionDecision")


def merge_permissions(answers: Sequence[Answer | None], ask: str) -> Answer | None:
    """Merge the answers to the parts of a call, for a client that cannot ask: `ask` states what to do instead."""
    denied = [one for one in answers if permission_of(one) == "deny"]
    if denied:
        return merge(denied[0], *(message(text(one, "systemMessage")) for one in answers if _is_other(one, denied)))
    asked = next((one for one in answers if permission_of(one) == "ask"), None)
    if asked is not None:
        return deny(f"{text(asked['hookSpecificOutput'], 'permissionDecisionReason')}. {ask}")
    return merge(*answers)


def _is_other(answer: Answer | None, denied: list[Answer | None]) -> bool:
    return answer is not None and answer not in denied and "systemMessage" in answer
