"""The group of commands; each command's module is loaded only when it runs."""

from __future__ import annotations

import importlib
from typing import Any

import click

#: command -> (module, one line for `remit --help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "review": ("review", "Review a checkout: several reviewers, verified, one report."),
    "check": ("check", "One verdict for each result: does it keep the contract?"),
    "merge": ("merge", "One report out of many: findings compared, agreement counted, conflicts shown."),
    "agents": ("agents", "What subagents are defined, what each is told and may do."),
    "run": ("run", "Run a subagent on a task and wait for its result."),
    "submit": ("submit", "Put a job into the queue."),
    "jobs": ("jobs", "Show jobs: waiting, running, finished."),
    "logs": ("logs", "Show what happened in a job."),
    "cancel": ("cancel", "Cancel a job."),
    "retry": ("retry", "Let a job that did not complete go on."),
    "worker": ("worker", "Run jobs from the queue."),
    "plan": ("plan", "Run phases of delegations, durably."),
    "orchestrate": ("orchestrate", "Have a model do a task by delegating it."),
    "escalations": ("escalations", "List what plans ask a person."),
    "answer": ("answer", "Answer what a plan asked."),
    "progress": ("progress_command", "Show where the work stands and what comes next."),
    "install": ("install", "Put a client's subagents and orchestrator under contract: Claude Code."),
    "uninstall": ("uninstall", "Take an install back and leave no trace."),
    "hook": ("hook", "Answer a hook of Claude Code."),
    "gate": ("gate", "Ask the gate: what it denied and why, what you allow, what it says of a call."),
    "rules": ("rules", "List the rules, or explain one."),
    "convert": ("convert", "A result as Markdown or JSON, in canonical form."),
    "schema": ("schema", "JSON Schemas of results and reports."),
    "prompt": ("prompt", "The text that tells an agent how to answer."),
    "doctor": ("doctor", "Show the settings in force and where they come from."),
    "completion": ("completion", "Print the completion script for a shell."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names without loading them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"remit.surfaces.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
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
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _version(ctx: click.Context, _: click.Parameter, wanted: Any) -> None:
    if wanted and not ctx.resilient_parsing:
        from remit import __version__

        click.echo(f"remit {__version__}")
        ctx.exit(0)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version.")
def remit() -> None:
    """Check what subagents send back.

    \b
    Examples:
      remit check answer.md             does this answer keep the contract?
      remit rules status-missing        what does a rule ask, and why?
      remit prompt --kind review        what to tell an agent about how to answer
    """
