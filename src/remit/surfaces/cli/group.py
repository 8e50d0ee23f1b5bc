"""The `remit` command group. The module of a command is loaded when the command runs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import click

import remit as package
from remit.errors import UsageError

Table = Mapping[str, tuple[str, str]]

#: Command -> (module and function, summary). `remit --help` explains these.
FRONT: Table = {
    "check": ("check.command", "Check results against the contract and the checkout."),
    "merge": ("merge.merge_command", "Merge results and SARIF files into one report."),
    "verify": ("verify.command", "Check whether what a text states about the code is true."),
    "install": ("clients.install_command", "Verify what a client's assistant and subagents say."),
    "run": ("run.run_command", "Run a subagent on a task and wait for its result."),
    "review": ("review.command", "Let subagents review a checkout; print one verified report."),
    "audit": ("audit.command", "List the untrue statements of your assistants."),
    "serve": ("serve.serve_command", "Start the dashboard and the API."),
}
#: Heading -> command -> (module and function, summary). `remit --help` names these, `remit help all` explains them.
GROUPS: dict[str, Table] = {
    "Results": {
        "dismiss": ("merge.dismiss_command", "Dismiss a finding with a reason that your team shares; --undo."),
        "rules": ("contract.rules_command", "List the rules of the contract, or explain one."),
        "prompt": ("contract.prompt_command", "Print what an agent has to know to write a result."),
        "convert": ("contract.convert_command", "Convert results to canonical Markdown or JSON."),
        "demo": ("demo.command", "Review an example shop, and show what was false."),
    },
    "Agents": {
        "agents": ("agents.command", "Show and check subagent definitions."),
        "worker": ("worker_commands.worker_command", "Run jobs from the queue."),
        "jobs": ("group.jobs_command", "List, show, follow, cancel and continue jobs."),
        "plan": ("group.plan_command", "Run plans of delegations; show progress and questions."),
    },
    "Clients": {
        "uninstall": ("clients.uninstall_command", "Remove everything that install added."),
        "gate": ("gate.command", "Show decisions on calls, and test or permit a call."),
        "mcp": ("mcp.command", "Serve the checks to an assistant as an MCP server."),
    },
    "Setup": {
        "doctor": ("doctor.doctor_command", "Check the installation and show the effective settings."),
        "help": ("group.help_command", "Explain a command, or all of them (`remit help all`)."),
    },
}
#: Commands that programs run.
HIDDEN: Table = {"hook": ("clients.hook_command", "Handle a hook event; a client runs it.")}
COMMANDS: Table = {**FRONT, **{name: about for group in GROUPS.values() for name, about in group.items()}, **HIDDEN}
#: Commands of `remit plan`: see `COMMANDS`.
PLAN: Table = {
    "run": ("plan_commands.plan_command", "Run the plan in a file, or continue one."),
    "progress": ("progress.command", "Show the progress of the work and the next action."),
    "questions": ("plan_commands.questions_command", "List the open questions of plans."),
    "answer": ("plan_commands.answer_command", "Answer a question of a plan."),
}
#: Commands of `remit jobs`: see `COMMANDS`.
JOBS: Table = {
    "list": ("job_commands.list_command", "List jobs, the newest first."),
    "show": ("job_commands.show", "Show one job with its result, finished or not."),
    "logs": ("job_commands.logs_command", "Show the events of a job."),
    "cancel": ("job_commands.cancel_command", "Cancel a job, or a plan."),
    "retry": ("job_commands.retry_command", "Continue a job that did not complete."),
    "prune": ("job_commands.prune", "Remove old finished jobs."),
}
#: Characters of the line about a command in a group.
_MAX_LINE = 54


def _name_config(_: click.Context, __: click.Parameter, file: str | None) -> None:
    """Name the file for all that this command does, also in the processes that it starts."""
    if file is not None:
        os.environ["REMIT_CONFIG"] = str(Path(file).absolute())


def _add_config(command: click.Command) -> None:
    """Add the option `--config` to a command and to all commands in it."""
    if all(parameter.name != "config" for parameter in command.params):
        command.params.append(
            click.Option(
                ["--config"],
                type=click.Path(exists=True, dir_okay=False),
                callback=_name_config,
                expose_value=False,
                is_eager=True,
                help="Obey this file of settings, also what it grants.",
            )
        )
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _add_config(inner)


class LazyCommands(click.Group):
    """A command group that loads its commands when they run, and suggests a similar command for an unknown one."""

    table: ClassVar[Table] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help page."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self.table:
            return None
        module, function = self.table[cmd_name][0].split(".")
        command: click.Command = getattr(importlib.import_module(f"remit.surfaces.cli.{module}"), function)
        _add_config(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a similar command for an unknown one."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            raise click.NoSuchCommand(args[0], possibilities=self.table, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands from the table, so that `--help` does not load them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])


class RemitCommands(LazyCommands):
    """The commands of Remit."""

    table = COMMANDS

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in front, and the names of the others in one line for each group."""
        width = max(map(len, (*FRONT, *GROUPS)))
        with formatter.section("Commands"):
            formatter.write_dl([(f"{name:<{width}}", line) for name, (_, line) in FRONT.items()])
        with formatter.section("More commands (`remit help all` explains them)"):
            formatter.write_dl([(f"{title:<{width}}", ", ".join(names)) for title, names in GROUPS.items()])


class JobCommands(LazyCommands):
    """The commands of `remit jobs`; options without a command are those of `list`."""

    table = JOBS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `list`."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


class PlanCommands(LazyCommands):
    """The commands of `remit plan`."""

    table = PLAN


def _print_version(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"remit {package.__version__}")
        ctx.exit(0)


_SETTINGS = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
}


@click.group(cls=RemitCommands, context_settings=_SETTINGS)
@click.option(
    "--version", is_flag=True, callback=_print_version, expose_value=False, is_eager=True, help="Show the version."
)
def remit() -> None:
    """Verify what assistants and their subagents say about code.

    \b
    Examples:
      remit check answer.md         is the report in order, and true?
      remit merge results/          one report of many
      remit verify audit.md         are the claims of a text true?
      remit install claude-code     verify what the assistant writes
      remit run code-explorer "how is a cart paid?"
      remit review                  let subagents review this branch
      remit audit                   what did my assistants say that was not so?
      remit serve                   see jobs, plans and sessions in the browser
    """


@click.group("jobs", cls=JobCommands)
def jobs_command() -> None:
    """List jobs, show one, follow it, cancel it or continue it.

    \b
    Examples:
      remit jobs                    list the newest jobs
      remit jobs --state queued     list queued jobs (options as in `remit jobs list`)
      remit jobs show 12            show one job with its result
      remit jobs logs -f 12         follow its events
      remit jobs cancel 12
      remit jobs retry 12
      remit jobs prune --days 30    remove old jobs
    """


@click.group("plan", cls=PlanCommands)
def plan_command() -> None:
    """Run plans: phases of delegations that survive a crash. Show their progress, and answer their questions.

    \b
    Examples:
      remit plan run release.toml       run a plan
      remit plan progress               what was done, and what comes next
      remit plan questions              what waits for you
      remit plan answer 4 retry
    """


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND|all]")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Explain a command, or list all commands.

    \b
    Examples:
      remit help all
      remit help verify
      remit help jobs show
    """
    top = ctx.find_root()
    if words == ("all",):
        click.echo(_all_commands())
        return 0
    command, names = top.command, list(words)
    for index, name in enumerate(names):
        subcommand = command.get_command(top, name) if isinstance(command, click.Group) else None
        if subcommand is None:
            raise UsageError(f"there is no command {' '.join(names[: index + 1])!r}; see `remit help all`")
        command = subcommand
    with click.Context(command, info_name=" ".join(["remit", *names]), **remit.context_settings) as context:
        click.echo(command.get_help(context))
    return 0


def _all_commands() -> str:
    """Return every command with its line, and the commands of groups."""
    formatter = click.HelpFormatter(max_width=100)
    for title, table in {"In front": FRONT, **GROUPS}.items():
        with formatter.section(title):
            formatter.write_dl([row for name in table for row in _rows(name)])
    return formatter.getvalue().rstrip()


def _rows(name: str) -> list[tuple[str, str]]:
    """Return a command with its line, and the commands in it."""
    rows = [(name, COMMANDS[name][1])]
    try:
        command = remit.get_command(click.Context(remit), name)
    except ModuleNotFoundError:  # it needs an extra
        return rows
    if isinstance(command, LazyCommands):
        return [*rows, *((f"  {name} {inner}", line) for inner, (_, line) in command.table.items())]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            subcommand = command.get_command(context, inner)
            if subcommand is not None and not subcommand.hidden:
                rows.append((f"  {name} {inner}", subcommand.get_short_help_str(_MAX_LINE)))
    return rows


_add_config(remit)
