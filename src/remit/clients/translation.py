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
from remit.clients.hooks.hook_events import count_unknown, fault_response, handle_event, run
from remit.clients.hooks.payload import text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import deny, merge, message
from remit.deciding_files import CLIENTS
from remit.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    from remit.clients.hooks.responses import Answer

#: A call with more parts than this is denied in a mode that denies, as the client does not wait for all answers.
MAX_EVENTS = 200
#: The beginnings of prompts that Remit itself writes. A client reports the reason of a block as a prompt, too.
OWN_PROMPTS = ("remit (", "remit: ")
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
#: Codex runs a command of this form itself, as if its patch were passed to the tool.
_PROGRAM = "apply_patch"
Edit = tuple[str, "dict[str, Any]"]


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
            count_unknown(folder_of(project), f"{client} {text(payload, 'hook_event_name') or event}")
            return None
        answers = _answers(events, project, changes_input=adapter.CHANGES_INPUT)
        answer: Answer | None = adapter.to_answer(answers, payload)
    except Exception as error:  # noqa: BLE001 - a hook that dies would leave the user without a message
        answer = fault_response(text(payload, "hook_event_name") or event, error, project)
    return answer


def _adapter(client: str) -> ModuleType:
    if client not in CLIENTS:
        raise UsageError(f"unknown client {client[:40]!r}")
    return __import__(f"remit.clients.{client}.translate", fromlist=["to_events"])


def _answers(events: Sequence[dict[str, Any]], project: str, *, changes_input: bool) -> list[Answer | None]:
    """Handle events in order. A denied part denies the whole call, so the parts before it are withdrawn."""
    if (
        len(events) > MAX_EVENTS
        and ProjectContext.open(project).is_denying
        and text(events[0], "hook_event_name") == "PreToolUse"
    ):
        return [deny(f"remit: this call has more than {MAX_EVENTS} parts. Divide it into several calls")]
    answers: list[Answer | None] = []
    for number, event in enumerate(events[:MAX_EVENTS]):
        answers.append(handle_event(event, project=project, changes_input=changes_input, has_tools=False))
        if permission_of(answers[-1]) != "deny":
            continue
        for earlier in events[:number]:
            handle_event({**earlier, "hook_event_name": "PermissionDenied"}, project=project)
        break
    return answers


def rename_fields(arguments: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of a call with the names of the common form.

    The client ignores an argument that has such a name already, so it does not replace the renamed one.
    """
    renamed = {names[key]: value for key, value in arguments.items() if key in names}
    return {key: value for key, value in arguments.items() if key not in names} | renamed


def permission_of(answer: Answer | None) -> str:
    """Return the decision about a call: "deny", "ask" or ""."""
    specific = (answer or {}).get("hookSpecificOutput")
    return text(specific, "permissionDecision")


def merge_permissions(answers: Sequence[Answer | None], ask: str) -> Answer | None:
    """Merge the answers to the parts of a call, for a client that cannot ask: `ask` states what to do instead."""
    denied = [answer for answer in answers if permission_of(answer) == "deny"]
    if denied:
        return merge(
            denied[0], *(message(text(answer, "systemMessage")) for answer in answers if _is_other(answer, denied))
        )
    asked = next((answer for answer in answers if permission_of(answer) == "ask"), None)
    if asked is not None:
        return deny(f"{text(asked['hookSpecificOutput'], 'permissionDecisionReason')}. {ask}")
    return merge(*answers)


def _is_other(answer: Answer | None, denied: list[Answer | None]) -> bool:
    return answer is not None and answer not in denied and "systemMessage" in answer


def patches_in(command: str) -> list[str]:
    """Return the patches that a command line passes to `apply_patch`."""
    if _PROGRAM not in command and "applypatch" not in command:
        return []
    patches: list[str] = []
    begin = command.find(_BEGIN)
    while begin >= 0:
        end = command.find(_END, begin)
        patches.append(command[begin:] if end < 0 else command[begin : end + len(_END)])
        begin = command.find(_BEGIN, end) if end >= 0 else -1
    return patches


def is_only_patch(command: str) -> bool:
    """Whether a command line does nothing but apply one patch from a here-document."""
    before, _, rest = command.strip().partition("\n")
    words = before.split("<<")
    if len(words) != 2 or words[0].split() not in ([_PROGRAM], ["applypatch"]):
        return False
    mark = words[1].strip().strip("'\"")
    return mark.isidentifier() and rest.strip().endswith(f"\n{mark}") and rest.count(_BEGIN) == 1


def edits_in(patch: str) -> list[Edit]:
    """Return the edits of a patch, each as a tool of the common form and its input.

    A moved file is an edit of both names. A removed file is written empty: the gate judges it as a change of the file.
    As in Codex, a header may be indented, except after the lines of an update, where it is a line of the file.
    """
    edits: list[Edit] = []
    current: Edit | None = None
    for raw in patch.split("\n"):
        line = raw if current is not None and current[0] == "MultiEdit" else raw.strip()
        name = line.partition(":")[2].strip()
        if line.startswith((_ADD, _DELETE, _MOVE)):
            edits.append(("Write", {"file_path": name, "lines": []}))
            # The changes of a moved file follow its new name.
            current = current if line.startswith(_MOVE) else edits[-1]
        elif line.startswith(_UPDATE):
            edits.append(("MultiEdit", {"file_path": name, "edits": []}))
            current = edits[-1]
        elif current is not None and not line.startswith("***"):
            _add_line(current, line)
    return [(tool, _whole(tool_input)) for tool, tool_input in edits]


def _add_line(edit: Edit, line: str) -> None:
    tool, tool_input = edit
    if tool == "Write":
        if line.startswith("+"):
            tool_input["lines"].append(line[1:] + "\n")
        return
    if line.startswith("@@"):
        tool_input["edits"].append({"old": [], "new": []})
    elif line[:1] in ("+", "-", " ") or not line:
        if not tool_input["edits"]:
            tool_input["edits"].append({"old": [], "new": []})
        hunk = tool_input["edits"][-1]
        if line[:1] != "+":
            hunk["old"].append(line[1:])
        if line[:1] != "-":
            hunk["new"].append(line[1:])


def _whole(fields: dict[str, Any]) -> dict[str, Any]:
    if "lines" in fields:
        return {"file_path": fields["file_path"], "content": "".join(fields["lines"])}
    hunks = [{"old_string": "\n".join(hunk["old"]), "new_string": "\n".join(hunk["new"])} for hunk in fields["edits"]]
    return {"file_path": fields["file_path"], "edits": hunks}
