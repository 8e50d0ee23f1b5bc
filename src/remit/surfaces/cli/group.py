"""The `remit` command group. The module of a command is loaded when the command runs."""

from __future__ import annotations

import importlib
from typing import Any

import click

import remit as package
from remit.errors import UsageError, did_you_mean

#: Heading in `remit --help` -> command -> (module and function, summary)
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Check and merge": {
        "audit": ("audit.command", "List the untrue statements of your assistants."),
        "demo": ("demo.command", "Review an example shop, and show what was false."),
        "review": ("review.command", "Review a checkout and print one verified report."),
        "verify": ("verify.command", "Check whether what a text states about the code is true."),
        "check": ("check.command", "Check results against the contract and the checkout."),
        "merge": ("merge.merge_command", "Merge results and SARIF files into one report."),
        "dismiss": ("merge.dismiss_command", "Dismiss a finding with a reason that your team shares."),
        "restore": ("merge.restore_command", "Remove the dismissal of a finding."),
        "publish": ("publish.command", "Post a merge as a review of a pull request."),
        "rules": ("contract.rules_command", "List the rules, or explain one."),
        "convert": ("contract.convert_command", "Convert a result to canonical Markdown or JSON."),
        "schema": ("contract.schema_command", "Print a JSON Schema of a result or of a command's output."),
    },
    "Definitions": {
        "agents": ("agents.command", "Show and check subagent definitions."),
        "prompt": ("contract.prompt_command", "Print the instructions on how to write a result."),
    },
    "Jobs": {
        "run": ("run.run_command", "Run a subagent on a task and wait for its result."),
        "submit": ("jobs.submit_command", "Put a job into the queue."),
        "worker": ("worker.worker_command", "Run jobs from the queue."),
        "jobs": ("jobs.jobs_command", "List and show jobs; remove old ones."),
        "logs": ("jobs.logs_command", "Show the events of a job."),
        "cancel": ("jobs.cancel_command", "Cancel a job or a plan."),
        "retry": ("jobs.retry_command", "Continue a job, or let it correct its result."),
    },
    "Plans": {
        "plan": ("plans.plan_command", "Run a plan: phases of delegations that survive a crash."),
        "orchestrate": ("run.orchestrate_command", "Let a model do a task by delegating it."),
        "escalations": ("plans.escalations_command", "List the open questions of plans."),
        "answer": ("plans.answer_command", "Answer a question of a plan."),
        "progress": ("progress.command", "Show the progress of the work and the next action."),
    },
    "Claude Code": {
        "install": ("clients.install_command", "Install the hooks, agents and commands."),
        "uninstall": ("clients.uninstall_command", "Remove everything that install added."),
        "gate": ("gate.command", "Show decisions of the gate, declare exceptions, test a call."),
        "hook": ("clients.hook_command", "Handle a hook event; Claude Code runs it."),
    },
    "Server": {
        "serve": ("serve.serve_command", "Start the dashboard and the API."),
        "tokens": ("serve.tokens_command", "Manage who may use the server."),
        "mcp": ("mcp.command", "Serve the contract to an assistant as an MCP server."),
        "lsp": ("lsp.command", "Verify Markdown in an editor: a language server."),
    },
    "Ledger": {
        "ledger": ("ledger.ledger_command", "Export the ledger; show scorecards and learned weights."),
        "calibration": ("ledger.calibration_command", "Show how often findings with a score were confirmed."),
    },
    "Remit itself": {
        "db": ("worker.db_command", "Create the database roles of workers and submitters."),
        "doctor": ("doctor.doctor_command", "Check the installation and show the effective settings."),
        "completion": ("doctor.completion_command", "Print the completion script of a shell."),
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}


class LazyGroup(click.Group):
    """A command group that loads its commands when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name][0].split(".")
        command: click.Command = getattr(importlib.import_module(f"remit.surfaces.cli.{module}"), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a similar command for an unknown one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = did_you_mean(args[0], COMMANDS) or "; see `remit --help`"
            raise UsageError(f"there is no command {args[0]!r}{near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands from the table, so that `--help` does not load them."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", line) for name, (_, line) in commands.items()])


def _print_version(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"remit {package.__version__}")
        ctx.exit(0)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, callback=_print_version, expose_value=False, is_eager=True, help="Show the version."
)
def remit() -> None:
    """Control what subagents may do, and verify what they report.

    Definitions set the prompt, tools and limits of a subagent. Jobs and plans run subagents and survive a crash.
    Results are checked against the checkout and merged into one report.

    \b
    Examples:
      remit review                            review this checkout
      remit verify audit.md                   are the claims of a text true?
      remit check answer.md                   check a result
      remit merge results/                    merge many results into one report
      remit agents explain code-explorer      show its prompt, tools and limits
      remit run code-explorer "how is a cart paid?"
      remit submit qa-engineer "review the last commit"
      remit worker --concurrency 20           run jobs from the queue
      remit plan release.toml                 run a plan
      remit orchestrate "add a discount"      let a model delegate a task
      remit install claude-code               check the reports of its subagents
      remit serve --open                      see and decide in the browser
      remit calibration                       how often is a score right?
      remit doctor                            check the installation
    """
