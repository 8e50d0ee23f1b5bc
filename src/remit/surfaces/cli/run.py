"""The command `remit run`."""

from __future__ import annotations

import click

from remit.operations.job_fields import Run
from remit.surfaces.cli.printing import operation_options


@click.command("run")
@operation_options(Run)
def run_command(wanted: Run) -> int:
    """Run AGENT on TASK, wait for its result and check it. TASK may be - for standard input.

    Without AGENT, the job has no definition: the default prompt, and all tools that the worker allows. The AGENT
    `orchestrator` is a model that does TASK by delegating it to subagents: it can delegate, read results, ask you,
    report and record progress, and reads and edits files only as far as the gate allows.

    If a worker is alive, it runs the job; otherwise this command does. Ctrl-C asks whether to leave the job to a
    worker or to cancel it. With --detach, the job is left in the queue at once. The exit code is 0 if the job
    completed, its result was accepted and no question is open; it is 1 if the result has the status FAILED.

    \b
    Examples:
      remit run code-explorer "trace the login flow"
      remit run security-auditor "audit src/auth" --model openai:gpt-5.2 --max-cost 0.50
      remit run backend-specialist "fix the failing test" --isolation worktree
      remit run "count the TODO comments" --no-contract
      remit run qa-engineer "review the last commit" --detach --key review-1a2b
      remit run orchestrator "add a discount code to the shop, with tests"
    """
    from remit.surfaces.cli.waiting_runs import run_and_print  # late: it needs the extra remit[run]

    return run_and_print(wanted)
