"""Ask the fork server for a process; as a program, replace `remit` in a shell. Standard library only.

python -I -S fork_client.py SOCKET WORD ...     run `remit WORD ...` with the streams of this program
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def ask(address: str, order: Mapping[str, Any], streams: Sequence[int] = ()) -> int:
    """Send an order and the descriptors that belong to it; return the number in the reply."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"."], list(streams))
        connection.sendall(json.dumps(order).encode() + b"\n")
        with connection.makefile("rb") as reply:
            return int(reply.readline())


def start(
    address: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: str,
    streams: Sequence[int],
    **options: Any,
) -> int:
    """Start `remit` with these words; return its process id."""
    order = {"words": list(words), "environment": dict(environment), "folder": folder, **options}
    return ask(address, order, streams)


def exit_code(address: str, pid: int) -> int:
    """Return the exit code of a process that has ended, or minus the number of the signal that ended it."""
    return ask(address, {"wait": pid})


def main(address: str, words: Sequence[str]) -> int:
    """Run a command to its end in place of this program."""
    pid = start(address, words, os.environ, os.getcwd(), (0, 1, 2))  # noqa: PTH109 (pathlib takes longer to import)
    end = os.pidfd_open(pid)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: signal.pidfd_send_signal(end, number))
    select.select([end], [], [])
    code = exit_code(address, pid)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
