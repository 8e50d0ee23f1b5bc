"""The command `remit completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from remit.surfaces.cli.group import remit
from remit.surfaces.cli.printing import print_text


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    Examples:
      eval "$(remit completion bash)"
      remit completion fish > ~/.config/fish/completions/remit.fish
    """
    completer = get_completion_class(shell)
    if completer is not None:
        print_text(completer(remit, {}, "remit", "_REMIT_COMPLETE").source())
    return 0
