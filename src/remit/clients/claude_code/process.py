"""A hook as a process: a payload comes in, an answer goes out, and nothing else is ever printed."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_code.answers import Answer


def run(event: str, source: int = 0, target: int = 1) -> None:
    """Answer the event whose payload can be read from `source`, into `target`; it never raises.

    The project is the client's, by its variable CLAUDE_PROJECT_DIR.
    """
    try:
        write(target, _encoded(_answered(event, source), event))
    except OSError:  # nobody listens any more
        return


def _answered(event: str, source: int) -> Answer | None:
    from remit.clients.claude_code.answering import answer, unanswered
    from remit.clients.claude_code.payload import Unreadable, parse, read

    project = os.environ.get("CLAUDE_PROJECT_DIR", "")
    try:
        payload = parse(read(source))
    except Unreadable as why:
        return unanswered(event, f"its payload cannot be read, {why}", project)
    except Exception as error:  # noqa: BLE001 - a hook that dies says nothing at all to the person
        return unanswered(event, error, project)
    return answer(payload, event=event, project=project)


def _encoded(said: Answer | None, event: str) -> bytes:
    from remit.clients.claude_code.answers import encode

    try:
        return encode(said)
    except (ValueError, RecursionError) as error:  # numbers or depths that JSON or we do not have
        from remit.clients.claude_code.answering import unanswered

        return encode(unanswered(event, error, os.environ.get("CLAUDE_PROJECT_DIR", "")))


def write(target: int, data: bytes) -> None:
    """All of it, as the target takes it."""
    while data:
        data = data[os.write(target, data) :]
