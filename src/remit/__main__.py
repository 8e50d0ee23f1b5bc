"""The command line of this installation: the console script `remit`, and `python -m remit`.

Loading takes some tenths of a second. Ctrl-C in that time ends the process with 130 and prints nothing.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Load the command line and run it."""
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # a shell lets commands in the background ignore it
        signal.signal(signal.SIGINT, _leave)
    from remit.surfaces.cli import main as run  # late: Ctrl-C is quiet from here on

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        _leave()


def _leave(*_: object) -> None:
    os._exit(130)


if __name__ == "__main__":
    main()
