"""`remit` as a client's slash command runs it: `python -I -m remit.surfaces.cli.in_client gate status`.

A client shows a command that fails as a fault of its own, with none of our words. So all that is said goes to standard
output, what went wrong too, and the exit code is always 0.
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
    with suppress(OSError, ValueError):  # nobody reads it any more
        sys.stdout.flush()


if __name__ == "__main__":
    run()
    os._exit(0)  # nothing that ends with the process may change the code
