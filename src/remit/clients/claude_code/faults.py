"""Errors of our own, as a person sees them."""

# ruff: noqa: PTH120
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import os

from remit.clients.claude_code.answers import deny, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_code.answers import Answer

#: A folder's name is cut here.
_LONGEST_NAME = 300


def fault(event: str, what: str, *, closed: bool) -> Answer:
    """Told to the person, and no reason to stop their work unless they asked for that (`closed`)."""
    start = f"remit could not answer {event[:40] or 'a hook'}: {what}"
    if event != "PreToolUse":
        return message(f"{start}. Nothing was checked or changed; `remit doctor` tells more.")
    if closed:
        return deny(f"{start}. The call is denied, as gate.on_fault asks; `remit doctor` tells more.")
    return message(f"{start}. The call was let through unchecked; `remit doctor` tells more.")


def told(error: BaseException) -> str:
    """An error by its type and place; its text only if that is ours or the system's, others may quote the payload."""
    from remit.errors import RemitError

    if isinstance(error, RemitError):
        return str(error)
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        # The folder is what a person can mend; a name may come from a payload, so it is no more than text.
        folder = os.path.dirname(error.filename)[:_LONGEST_NAME]
        return f"{error.strerror} in {''.join(sign if sign.isprintable() else '?' for sign in folder) or '.'}"
    place = ""
    trace = error.__traceback__
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} in {place}"
