"""Facts for `remit doctor` about the MCP server that `--mcp` added: it starts, and the client lists it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator

from remit.clients.setup.mcp_entry import COMMAND, NAME, server_problem
from remit.clients.setup.plan import read_record
from remit.clients.setup.target import ClientSetup, InstallTarget
from remit.dispatch.health import HealthFact
from remit.errors import RemitError

_SECONDS = 30.0
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "remit", "version": "1"}},
}


def mcp_facts(client: ClientSetup) -> Iterator[HealthFact]:
    """Check the server of each install that added it; otherwise yield nothing."""
    for is_user in (False, True):
        target = client.find_target(None, is_user=is_user)
        try:
            record = read_record(target)
        except RemitError:
            continue  # the checks of the hooks report it
        if record is None or record.mcp is None:
            continue
        problem = server_problem(target, record) or _start_problem()
        if problem:
            what = f"the MCP server does not work: {problem}; run `remit install {client.name} --mcp`"
            yield HealthFact(client.name, "bad", what)
        else:
            yield _listed(target)


def _start_problem() -> str:
    """Describe why the server does not answer; "" if it does."""
    try:
        done = subprocess.run(
            [*COMMAND], input=json.dumps(_HELLO) + "\n", capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        answer = json.loads(done.stdout.partition("\n")[0] or "{}")
    except (OSError, ValueError, RecursionError, subprocess.SubprocessError) as error:
        return f"it gave no answer ({str(error)[:200]})"
    if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
        return ""
    return f"it gave no answer ({done.stderr.strip()[-200:]})"


def _listed(target: InstallTarget) -> HealthFact:
    """Ask the client which servers it knows here."""
    client = target.client
    works = "the MCP server works"
    program = shutil.which(client.program)
    if program is None:
        return HealthFact(client.name, "good", f"{works}; `{client.program}` is not on PATH, so it was not asked")
    try:
        done = subprocess.run(
            [program, "mcp", "list"],
            cwd=None if target.is_user else target.root,
            env={**os.environ, **client.offline},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return HealthFact(client.name, "odd", f"{works}; {client.name} did not list its servers ({str(error)[:200]})")
    if re.search(rf"(?<![\w/.-]){NAME}(?![\w/.-])", done.stdout):
        return HealthFact(client.name, "good", f"{works}, and {client.name} lists it")
    step = client.next_step(target)
    return HealthFact(
        client.name, "bad", f"{works}, but {client.name} does not list it" + (f"; {step}" if step else "")
    )
