"""The command line. It reads arguments, calls a function and prints the result; it makes no decisions."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import sys
import traceback

import click

from remit.errors import EnvironmentBroken, RemitError
from remit.extras import install_command, missing_extra
from remit.removed import instead_of
from remit.reports.layout import escape_control
from remit.surfaces.cli.group import remit

#: New objects until Python searches for garbage; Python's own default is 700.
_OBJECTS = 50_000
#: Command -> the extra that it needs, which includes the one of a package that is missing first.
_EXTRAS_OF_COMMANDS = {"mcp": "mcp", "serve": "serve", "tokens": "serve"}


def main() -> None:
    """Run the `remit` command and exit: 0 accepted, 1 not accepted, 2 usage error, 3 internal error."""
    # Loading modules creates many objects that stay: searching them for garbage again and again takes 5 % of a check.
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)  # the search at the end takes another 5 %, and the process releases its memory anyway
    for stream in (sys.stdout, sys.stderr):
        # Reports are UTF-8. A terminal with another encoding shows replacement characters instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = remit(standalone_mode=False)
    except Exception as error:  # noqa: BLE001 (the outermost frame: every error becomes a message and a code)
        code = _explain(error)
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: Exception) -> int:
    """Print one line for an error that the user can fix, and a traceback for a bug. Return the exit code."""
    if isinstance(error, ModuleNotFoundError) and (extra := missing_extra(error)):
        extra = _EXTRAS_OF_COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", extra)
        text = f"this command needs the extra `{extra}` ({error.name} is not installed): {install_command(extra)}"
        error = EnvironmentBroken(text)
    if isinstance(error, RemitError):
        click.echo(f"remit: {escape_control(str(error))}", err=True)
        return error.exit_code
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        click.echo("remit: interrupted", err=True)
        return 130
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if isinstance(error, click.ClickException):
        instead = _instead_of(error)
        text = f"{error.message} {instead}" if instead else error.format_message()
        click.echo(f"remit: {escape_control(' '.join(text.split()))}", err=True)
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        sys.stderr.close()  # the reader has closed the pipe; Python would report it again at exit
        return 0
    if text := _system_problem(error):
        click.echo(f"remit: {text}", err=True)
        return 2 if getattr(error, "errno", None) == errno.ENAMETOOLONG else 3
    traceback.print_exception(error)
    click.echo("remit: this is a bug in remit, not an error in your input; please report the lines above", err=True)
    return 3


def _instead_of(error: click.ClickException) -> str:
    """Return what stands in for a command or an option that left the product."""
    if not isinstance(error, click.NoSuchCommand | click.NoSuchOption):
        return ""
    words: list[str] = []
    context = error.ctx
    while context is not None and context.parent is not None:
        words.insert(0, str(context.info_name))
        context = context.parent
    if isinstance(error, click.NoSuchCommand):
        return instead_of("commands", " ".join([*words, error.command_name]))
    return instead_of("options", " ".join([*words, error.option_name]))


def _system_problem(error: Exception) -> str:
    """Return what the system refused: a name, or the output on a full disk."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{escape_control(str(error.filename))}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"{error.filename or 'the output'} cannot be written: {error.strerror}"
    return ""
