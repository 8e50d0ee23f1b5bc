"""The table of clients. A new client is one folder and one entry here.

The package of a client has three modules:

    translate       payload -> events, and answers -> answer; events have the form of Claude Code, so it has none
    setup.client    `CLIENT`: the files of an install
    setup.health    `client_facts`: the checks of `remit doctor`
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit.clients.setup.target import ClientSetup
    from remit.dispatch.health import HealthFact

#: The client's name on the command line -> its package.
CLIENTS: dict[str, str] = {
    "claude-code": "remit.clients.claude_code",
    "codex": "remit.clients.codex",
    "copilot": "remit.clients.copilot",
    "opencode": "remit.clients.opencode",
}


def client_setup(name: str) -> ClientSetup:
    """Return what an install of a client consists of."""
    from importlib import import_module

    setup: ClientSetup = import_module(f"{CLIENTS[name]}.setup.client").CLIENT
    return setup


def client_facts(name: str) -> Iterator[HealthFact]:
    """Check the install of a client for `remit doctor`. Only Claude Code reports that it is not installed."""
    from importlib import import_module

    from remit.clients.setup.mcp_health import mcp_facts

    yield from import_module(f"{CLIENTS[name]}.setup.health").client_facts()
    yield from mcp_facts(client_setup(name))
