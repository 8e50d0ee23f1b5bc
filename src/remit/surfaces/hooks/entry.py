"""The process that a client starts for an event: `python -I -S entry.py EVENT [--client CLIENT] [--mode MODE]`.

Isolated mode without `site` starts fastest, so this script adds the folders of Remit and of its libraries to the path.
Only this installation decides where they are. The exit code is always 0: the client treats 2 as a denial, and it hides
the output of a process that ends with another code.

The settings of users contain the path of this file: it must not move.
"""

from __future__ import annotations

import gc
import os
import sys

#: Every check needs this library, so its folder shows where the others are.
_LIBRARY = "msgspec"


def add_packages() -> None:
    """Add the folders of Remit and of its libraries to the end of the path: none replaces the standard library."""
    root = os.path.abspath(__file__).rsplit(os.sep, 4)[0]
    sys.path.append(root)
    if os.path.isdir(os.path.join(root, _LIBRARY)):
        return
    environment = os.path.dirname(os.path.dirname(sys.executable))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    parts = ("Lib",) if os.name == "nt" else ("lib", version)
    packages = os.path.join(environment, *parts, "site-packages")
    if os.path.isdir(os.path.join(packages, _LIBRARY)):
        sys.path.append(packages)
        return
    import site  # it reads every .pth file, and only an unusual layout needs it

    site.main()


def main() -> None:
    """Answer the event; if Remit cannot be loaded, report that."""
    gc.disable()  # the process is too short for garbage collection
    event = sys.argv[1] if len(sys.argv) > 1 else ""
    options = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
    try:
        add_packages()
        from remit.clients.answer_event import run

        run(event, options.get("--client", "claude-code"), options.get("--mode", "verify"))
    except BaseException as error:  # noqa: BLE001 - the outermost frame of a process that must not fail
        text = f"remit could not be loaded ({type(error).__name__}): nothing is checked. Install it again."
        os.write(1, ('{"systemMessage": "%s"}\n' % text).encode())  # noqa: UP031 - braces of JSON


if __name__ == "__main__":
    main()
    # Everything is written, and there is nothing to clean up.
    os._exit(0)
