"""The command `remit audit`."""

from __future__ import annotations

import click

from remit.operations.audit import Audit, audit_sessions
from remit.reports.audit_report import audit_json, audit_lines
from remit.surfaces.cli.printing import SlowNotice, operation_options, print_lines, print_text, terminal_columns


@click.command("audit")
@operation_options(Audit)
def command(wanted: Audit) -> int:
    """List what past sessions of your assistants contradict.

    The transcripts of Claude Code, Codex, Copilot CLI and opencode on this machine are read, or the files and folders
    PATH. Two facts are listed, each with its proof: a sentence such as "all tests pass", "the build succeeds" or
    "committed" where the last run printed a failure and nothing changed since, and a subagent that reported about code
    without any call. All other prose is left alone.

    Nothing is installed, sent or written. Secrets are removed from what is shown. The exit code is 1 if there is a
    fact, otherwise 0.

    \b
    Examples:
      remit audit
      remit audit --since 30d --client claude-code
      remit audit --project .
      remit audit session.jsonl --format json
    """
    with SlowNotice() as notice:
        report = audit_sessions(wanted, notice.update)
    if wanted.form == "json":
        print_text(audit_json(report))
    else:
        print_lines(audit_lines(report, terminal_columns(), lists_all=wanted.all))
    return 1 if report.facts else 0
