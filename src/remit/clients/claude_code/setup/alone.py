"""One install or removal at a time in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from remit.clients.claude_code.setup.place import Place
from remit.errors import UsageError

#: So long one waits for another, which takes a second or two unless a person is being asked.
WAIT_SECONDS = 20.0
_PAUSE = 0.05


@contextmanager
def alone(place: Place) -> Iterator[None]:
    """Hold the place. The folder itself is locked, so that nothing has to be made in it or removed again."""
    import fcntl

    descriptor = os.open(place.root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    what = "another `remit install` or `remit uninstall` is at work"
                    raise UsageError(f"{what} in {place.root}: nothing was changed; start again when it ends") from None
                time.sleep(_PAUSE)
            except OSError:  # a disk that knows no such locks; files that change meanwhile are still noticed
                break
        yield
    finally:
        os.close(descriptor)
