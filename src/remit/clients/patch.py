"""The edits of a patch in the form of Codex, also inside a command line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "
#: Codex runs a command of this form itself, as if its patch were passed to the tool.
_PROGRAM = "apply_patch"

Edit = tuple[str, "dict[str, Any]"]


def patches_in(command: str) -> list[str]:
    """Return the patches that a command line passes to `apply_patch`."""
    if _PROGRAM not in command and "applypatch" not in command:
        return []
    found: list[str] = []
    at = command.find(_BEGIN)
    while at >= 0:
        end = command.find(_END, at)
        found.append(command[at:] if end < 0 else command[at : end + len(_END)])
        at = command.find(_BEGIN, end) if end >= 0 else -1
    return found


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
    """
    edits: list[Edit] = []
    current: Edit | None = None
    for line in patch.split("\n"):
        name = line.partition(": ")[2].strip()
        if line.startswith((_ADD, _DELETE, _MOVE)):
            edits.append(("Write", {"file_path": name, "content": ""}))
            # The changes of a moved file follow its new name.
            current = current if line.startswith(_MOVE) else edits[-1]
        elif line.startswith(_UPDATE):
            edits.append(("MultiEdit", {"file_path": name, "edits": []}))
            current = edits[-1]
        elif current is not None and not line.startswith("***"):
            _add_line(current, line)
    return [(tool, _whole(given)) for tool, given in edits]


def _add_line(edit: Edit, line: str) -> None:
    tool, given = edit
    if tool == "Write":
        if line.startswith("+"):
            given["content"] += line[1:] + "\n"
        return
    if line.startswith("@@"):
        given["edits"].append({"old": [], "new": []})
    elif line[:1] in ("+", "-", " ") or not line:
        if not given["edits"]:
            given["edits"].append({"old": [], "new": []})
        hunk = given["edits"][-1]
        if line[:1] != "+":
            hunk["old"].append(line[1:])
        if line[:1] != "-":
            hunk["new"].append(line[1:])


def _whole(fields: dict[str, Any]) -> dict[str, Any]:
    if "edits" not in fields:
        return fields
    hunks = [{"old_string": "\n".join(one["old"]), "new_string": "\n".join(one["new"])} for one in fields["edits"]]
    return {"file_path": fields["file_path"], "edits": hunks}
