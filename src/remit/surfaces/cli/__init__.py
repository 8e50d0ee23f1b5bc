"""The command line. It reads arguments, calls one function, prints; it decides nothing."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Entry of the `remit` command: exit codes 0 accepted, 1 not accepted, 2 usage, 3 internal."""
    from remit.surfaces.cli.group import remit

    for stream in (sys.stdout, sys.stderr):
        # Reports are UTF-8 wherever they go: a terminal that is not shows marks instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = remit(standalone_mode=False)
    except Exception as error:  # noqa: BLE001 (the outermost frame: every error becomes a message and a code)
        code = _explain(error)
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: Exception) -> int:
    """One line on standard error for what a user can mend; a report for what only we can."""
    import click

    from remit.errors import RemitError
    from remit.reports.layout import escape_control

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
        click.echo(f"remit: {escape_control(' '.join(error.format_message().split()))}", err=True)
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        sys.stderr.close()  # the reader is gone; Python would complain once more at exit
        return 0
    import traceback

    traceback.print_exception(error)
    click.echo("remit: this is a fault of remit, not of your input; please report the lines above", err=True)
    return 3
