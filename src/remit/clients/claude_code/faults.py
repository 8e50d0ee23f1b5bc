"""Errors of our own, as a person sees them."""

from __future__ import annotations

from remit.clients.claude_code.answers import deny, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_code.answers import Answer


def fault(event: str, what: str, *, closed: bool) -> Answer:
    """Told to the person, and no reason to stop their work unless they asked for that (`closed`)."""
    start = f"remit could not answer {event[:40] or 'a hook'}: {what}"
    if event != "PreToolUse":
        return message(f"{start}. Nothing was checked or changed; `remit doctor` tells more.")
    if closed:
        return deny(f"{start}. The call is denied, as gate.on_fault asks; `remit doctor` tells more.")
    return message(f"{start}. The call was let through unchecked; `remit doctor` tells more.")


def told(error: BaseException) -> str:
    """An error by its type and place; its text only if that is ours, for others may quote the payload."""
    from remit.errors import RemitError

    if isinstance(error, RemitError):
        return str(error)
    place = ""
    trace = error.__traceback__
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} in {place}"
