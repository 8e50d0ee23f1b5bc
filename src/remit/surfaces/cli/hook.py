"""`remit hook`."""

from __future__ import annotations

import click


@click.command("hook")
@click.argument("event", default="")
def command(event: str) -> int:
    """Answer a hook of Claude Code: its payload on the input, the answer on the output.

    EVENT is the hook's event, for payloads that do not say it. The exit code is always 0. What
    `remit install claude-code` puts in place does the same and starts faster.

    \b
    Examples:
      remit hook PreToolUse < payload.json
    """
    from remit.clients.claude_code.process import run

    run(event)
    return 0
