"""Files of a project in which a client lists programs that it starts."""

from __future__ import annotations

import pytest

from remit.gate.git_settings import decides_what_runs


@pytest.mark.parametrize("name", [".mcp.json", ".github/mcp.json", "opencode.json", "opencode.jsonc"])
def test_a_file_with_mcp_servers_decides_what_runs(name: str) -> None:
    assert decides_what_runs(name)


@pytest.mark.parametrize("name", ["docs/opencode.json", ".github/dependabot.yml"])
def test_another_file_does_not(name: str) -> None:
    assert not decides_what_runs(name)
