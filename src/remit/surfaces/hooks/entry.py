"""The process that a client starts for an event: `python -I -S entry.py EVENT`.

Isolated and without site, for that starts fastest; so the package's own folder is made known here. It always ends
with 0: the client takes 2 for a refusal, and hides what ends with another code.
"""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Answer; where not even that can be loaded, say so."""
    gc.disable()  # a process this short leaves nothing worth collecting
    event = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        # At the end: nothing there may stand in for the standard library.
        sys.path.append(os.path.abspath(__file__).rsplit(os.sep, 4)[0])  # noqa: PTH100 - pathlib is slow to load
        from remit.clients.claude_code.events import run

        run(event)
    except BaseException as error:  # noqa: BLE001 - the outermost frame of a process that must not fail
        text = f"remit could not be loaded ({type(error).__name__}): nothing is checked. Install it anew."
        os.write(1, ('{"systemMessage": "%s"}\n' % text).encode())  # noqa: UP031 - braces of JSON


if __name__ == "__main__":
    main()
    # All is written, and there is nothing to tidy up.
    os._exit(0)
