"""Start `remit` without its imports: every process is forked from one that has imported everything.

Importing takes most of the time of a short command, and the tests start hundreds of them. The child runs the real entry
point with its own arguments, environment, folder and streams; only memory pages are shared.

    python fork_server.py SOCKET     makes the socket when it is ready; ends when its standard input is closed
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import ssl
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import certifi
import model_server

import remit
from remit.dispatch import failpoints
from remit.dispatch.model_client import build_model
from remit.dispatch.models import model_prices
from remit.surfaces.cli import main

_MODELS = {"anthropic:claude-opus-5": "ANTHROPIC_API_KEY", "openai:gpt-5": "OPENAI_API_KEY"}


def load_everything() -> None:
    """Import every module of remit, without the adapters of other frameworks, and the libraries of the models."""
    gc.disable()  # nearly everything that importing makes stays
    for module in pkgutil.walk_packages(remit.__path__, "remit."):
        is_left_out = module.name.startswith(("remit.adapters.", "remit.rules.samples"))
        if not is_left_out and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _leave_out_public_certificates()
    for model, key in _MODELS.items():
        os.environ[key] = "for-loading-only"
        build_model(model)
        model_prices(model)
    build_model.cache_clear()
    gc.collect()
    gc.freeze()  # pages that the collector never touches stay shared
    gc.enable()


def _leave_out_public_certificates() -> None:
    """Let clients of models start without reading all public certificates: the models of tests are on loopback."""
    load, public = ssl.SSLContext.load_verify_locations, certifi.where()

    def load_others(context: ssl.SSLContext, cafile: Any = None, *others: Any, **named: Any) -> None:
        if cafile != public:
            load(context, cafile, *others, **named)

    ssl.SSLContext.load_verify_locations = load_others  # type: ignore[method-assign]


def serve(address: str) -> None:
    """Answer orders until standard input is closed: the tests have ended or were killed."""
    children: set[int] = set()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen(64)
        Path(f"{address}.new").rename(address)  # now it can be found
        while True:
            ready, _, _ = select.select([sys.stdin, listening], [], [])
            if sys.stdin in ready:
                for child in children:
                    os.kill(child, signal.SIGKILL)
                return
            connection, _ = listening.accept()
            with connection:
                order, streams = _receive(connection)
                if "wait" in order:
                    children.discard(order["wait"])
                    answer = _wait(order["wait"])
                else:
                    answer = os.fork()
                    if not answer:
                        listening.close()
                        connection.close()
                        _become(order, streams)
                    children.add(answer)
                for stream in streams:
                    os.close(stream)
                connection.sendall(f"{answer}\n".encode())


def _receive(connection: socket.socket) -> tuple[dict[str, Any], Sequence[int]]:
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as order:
        return json.loads(order.readline()), streams


def _wait(pid: int) -> int:
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _become(order: Mapping[str, Any], streams: Sequence[int]) -> NoReturn:
    """Run `remit` in this forked process."""
    code = 70
    try:
        if order.get("is_new_session"):
            os.setsid()
        _use_streams(streams)
        if order.get("is_model_server"):
            sys.argv = ["model_server.py", *order["words"]]
            model_server.main()
            return
        os.environ.clear()
        os.environ.update(order["environment"])
        time.tzset()
        os.chdir(order["folder"])
        sys.argv = ["remit", *order["words"]]
        importlib.reload(failpoints)  # it reads its variable when it is imported
        for name, value in order.get("attributes", {}).items():
            module, _, attribute = name.rpartition(".")
            setattr(sys.modules[module], attribute, value)
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001 (as the interpreter does)
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _use_streams(streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        old = getattr(sys, name)
        number = old.fileno()
        is_line_buffered = name == "stderr" or os.isatty(number)
        options = {"encoding": old.encoding, "errors": old.errors, "buffering": 1 if is_line_buffered else -1}
        setattr(sys, name, open(number, mode, closefd=False, **options))  # noqa: SIM115 (open until the process ends)


if __name__ == "__main__":
    load_everything()
    serve(sys.argv[1])
