"""The table of clients. A new client is one package and one entry here.

The package of a client has these modules:

    translate    payload -> events, and answers -> answer; events have the form of Claude Code, so it has none
    transcript   its transcript -> the tool calls of an agent
    setup        `CLIENT`: the files of an install, and the checks of `remit doctor`
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.clients.claude_code import setup as claude_code
from remit.clients.codex import setup as codex
from remit.clients.copilot import setup as copilot
from remit.clients.opencode import setup as opencode
from remit.clients.setup.other_places import second_install_facts
from remit.clients.setup.target import ClientSetup
from remit.dispatch.health import HealthFact

#: The client's name on the command line -> what its install consists of.
CLIENTS: dict[str, ClientSetup] = {
    package.CLIENT.name: package.CLIENT for package in (claude_code, codex, copilot, opencode)
}


def client_facts(name: str) -> Iterator[HealthFact]:
    """Check the install of a client for `remit doctor`. Only Claude Code reports that it is not installed."""
    yield from CLIENTS[name].facts()
    yield from second_install_facts(CLIENTS[name])
