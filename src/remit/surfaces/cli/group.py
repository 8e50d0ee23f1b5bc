"""The group of commands; each command's module is loaded only when it runs."""

from __future__ import annotations

import importlib
from typing import Any

import click

#: Heading in `remit --help` -> command -> (module and function, one line of help)
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Check and merge": {
        "review": ("review.command", "Review a checkout: several reviewers, verified, one report."),
        "check": ("check.command", "One verdict for each result: does it keep the contract?"),
        "merge": ("merge.command", "One report out of many; agreement counted, conflicts shown."),
        "rules": ("contract.rules_command", "List the rules, or explain one."),
        "convert": ("contract.convert_command", "A result as Markdown or JSON, in canonical form."),
        "schema": ("contract.schema_command", "JSON Schemas of results and reports."),
    },
    "Definitions": {
        "agents": ("agents.command", "What subagents are defined, what each is told and may do."),
        "prompt": ("contract.prompt_command", "The text that tells an agent how to answer."),
    },
    "Jobs": {
        "run": ("run.command", "Run a subagent on a task and wait for its result."),
        "submit": ("jobs.submit_command", "Put a job into the queue."),
        "worker": ("worker.command", "Run jobs from the queue."),
        "jobs": ("jobs.jobs_command", "Show jobs: waiting, running, finished."),
        "logs": ("logs.command", "Show what happened in a job."),
        "cancel": ("jobs.cancel_command", "Cancel a job."),
        "retry": ("jobs.retry_command", "Let a job that did not complete go on."),
    },
    "Plans": {
        "plan": ("plans.plan_command", "Run phases of delegations, durably."),
        "orchestrate": ("orchestrate.command", "Have a model do a task by delegating it."),
        "escalations": ("plans.escalations_command", "List what plans ask a person."),
        "answer": ("plans.answer_command", "Answer what a plan asked."),
        "progress": ("plans.progress_command", "Show where the work stands and what comes next."),
    },
    "Claude Code": {
        "install": ("claude_code.install_command", "Put its subagents and its orchestrator under contract."),
        "uninstall": ("claude_code.uninstall_command", "Take an install back and leave no trace."),
        "gate": ("gate.command", "What was denied and why, what you allow; try a call."),
        "hook": ("claude_code.hook_command", "Answer a hook; Claude Code calls it."),
    },
    "Remit itself": {
        "doctor": ("doctor.command", "Does all work that is needed, and what settings are in force?"),
        "completion": ("completion.command", "Print the completion script for a shell."),
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}


class LazyGroup(click.Group):
    """A group that knows its commands' names without loading them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name][0].split(".")
        command: click.Command = getattr(importlib.import_module(f"remit.surfaces.cli.{module}"), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for a misspelt one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from remit.errors import UsageError, did_you_mean

            near = did_you_mean(args[0], COMMANDS) or "; `remit --help` lists them"
            raise UsageError(f"there is no command {args[0]!r}{near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, so that `--help` loads none of them."""
        wide = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{wide}}", line) for name, (_, line) in commands.items()])


def _version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    if wanted and not ctx.resilient_parsing:
        from remit import __version__

        click.echo(f"remit {__version__}")
        ctx.exit(0)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version.")
def remit() -> None:
    """Hold subagents to a contract: what each may do, and what it must send back.

    Definitions say what a subagent is told and may use. Jobs run them, durably; plans run many. What they send back is
    checked against the code and merged into one report.

    \b
    Examples:
      remit review                            review this checkout
      remit check answer.md                   does this answer keep the contract?
      remit merge results/                    one report out of many answers
      remit agents explain code-explorer      what one is told and may do
      remit run code-explorer "how is a cart paid?"
      remit submit qa-engineer "review the last commit"
      remit worker --concurrency 20           run what is in the queue
      remit plan release.toml                 phases of delegations
      remit orchestrate "add a discount"      a model that delegates
      remit install claude-code               put its subagents under contract
      remit doctor                            does all work that is needed?
    """
