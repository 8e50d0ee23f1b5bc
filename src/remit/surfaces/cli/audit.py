"""The command `remit audit`."""

from __future__ import annotations

import click

from remit.operations.audit import Audit, audit_sessions
from remit.reports.audit_report import audit_html, audit_json, audit_lines, audit_markdown
from remit.surfaces.cli.printing import SlowNotice, operation_options, print_lines, print_text, terminal_columns

_FORMS = {"json": audit_json, "markdown": audit_markdown, "html": audit_html}


@click.command("audit")
@operation_options(Audit)
def command(wanted: Audit) -> int:
    """List the statements of your assistants that their own sessions contradict.

    The transcripts of Claude Code, Codex, Copilot CLI and opencode on this machine are read, or the files and folders
    PATH. A statement about work that was done ("all tests pass", "I added tests/test_cart.py", "committed and pushed")
    is compared with the calls before it and with what they printed. Each contradiction is listed with its proof, the
    worst first, then the numbers of each project and model. A statement that no call shows is only counted, because the
    record may be partial; --unseen lists these too, after the others.

    Nothing is installed, sent or written. Secrets are removed from what is shown. The exit code is 1 if a statement is
    contradicted, otherwise 0.

    \b
    Examples:
      remit audit
      remit audit --since 30d --client claude-code
      remit audit --project .
      remit audit --unseen
      remit audit ~/.claude/projects/-home-me-shop --all
      remit audit session.jsonl --format json
      remit audit --format html > audit.html
    """
    with SlowNotice() as notice:
        report = audit_sessions(wanted, notice.update)
    if wanted.form == "text":
        limit = wanted.limit if terminal_columns() is not None else 0
        print_lines(audit_lines(report, terminal_columns(), limit or None))
    else:
        print_text(_FORMS[wanted.form](report))
    return 1 if report.summary.contradicted else 0
