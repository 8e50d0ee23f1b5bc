"""`remit` for the slash commands of a client: `python -I -m remit.surfaces.cli.in_client gate status`.

A client hides the output of a command that fails. So errors go to standard output too, and the exit code is always 0.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr, suppress

from remit.surfaces.cli import main


def run() -> None:
    """Run the command that the arguments name."""
    sys.argv[0] = "remit"
    with redirect_stderr(sys.stdout), suppress(SystemExit):
        main()
    with suppress(OSError, ValueError):  # the reader has closed the pipe
        sys.stdout.flush()


if __name__ == "__main__":
    run()
    os._exit(0)  # exit handlers must not change the exit code
