"""Answer before the client stops waiting: what takes too long to check is not verified, and the person reads that."""

from __future__ import annotations

import contextvars
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

#: The client waits 60 s for an event that checks a report. The rest is for what is stored after the check.
SECONDS = 40.0


class TooSlow(Exception):
    """A check took longer than the client waits."""


def before_deadline(work: Callable[[], T]) -> T:
    """Return the result of some work. Raises TooSlow if it takes too long; the work goes on, and its result is lost."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the work was asked for
            errors.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), daemon=True)
    thread.start()
    thread.join(SECONDS)
    if errors:
        raise errors[0]
    if not results:
        raise TooSlow(f"the check took longer than {SECONDS:g} s")
    return results[0]
