"""`remit mcp`."""

from __future__ import annotations

import click


@click.command("mcp")
@click.option("--read-only", "is_read_only", is_flag=True, help="Leave out the tools that change something.")
def command(*, is_read_only: bool) -> int:
    """Serve the contract to an assistant: an MCP server over standard input and output.

    The client starts this command. Its tools check results, verify texts, merge reports and submit jobs;
    its resources are rules, reports and transcripts. Paths are confined to the roots that the client
    gives, or to the current folder. `claude mcp add remit -- remit mcp` adds the server to Claude Code.

    \b
    Examples:
      remit mcp
      remit mcp --read-only
    """
    from remit.surfaces.mcp.mcp_server import serve_standard_streams  # late: it needs the extra remit[mcp]

    serve_standard_streams(is_read_only=is_read_only)
    return 0
