"""Generate the page on the commands from the commands: their help texts and options."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from remit.surfaces.cli.group import FRONT, GROUPS, OLD_NAMES, remit

PATH = Path("docs/commands.md")
WIDTH = 120
#: Where a command is described with examples.
GUIDES = {
    "audit": "audit.md",
    "verify": "verify.md",
    "review": "orchestration.md#review",
    "install": "clients.md",
    "run": "jobs.md",
    "serve": "serve.md",
    "check": "guide.md",
    "merge": "merging.md",
    "dismiss": "merging.md#dismissals",
    "publish github": "merging.md#reviews-on-github",
    "agents": "definitions.md",
    "submit": "jobs.md#the-queue",
    "worker": "operations.md",
    "jobs": "jobs.md",
    "plan": "orchestration.md#plans",
    "orchestrate": "orchestration.md#an-orchestrator-that-is-a-model",
    "gate": "gate.md",
    "mcp": "mcp.md",
    "lsp": "editor.md",
    "ledger": "learning.md",
    "tokens": "serve.md#who-may-do-what",
    "db roles": "operations.md#roles",
}
INTRODUCTION = """\
`remit --help` shows the six commands that you need first, `remit help all` lists all of them, and \
`remit COMMAND --help` explains one with examples. Each command exits \
with one of the [exit codes](guide.md#exit-codes)."""


def page(note: str) -> str:
    """Return the page."""
    lines = ["# Commands", "", note, "", *textwrap.wrap(INTRODUCTION, WIDTH, break_on_hyphens=False), ""]
    names = ", ".join(f"`{old}` (now `{new}`)" for old, new in OLD_NAMES.items())
    lines += textwrap.wrap(f"Until version 0.3, the names of version 0.1 work, too: {names}.", WIDTH)
    context = click.Context(remit)
    for table in (FRONT, *GROUPS.values()):
        for name in table:
            command = remit.get_command(context, name)
            assert command is not None, name
            lines += section([name], command)
    return "\n".join(lines) + "\n"


def section(words: list[str], command: click.Command) -> Iterator[str]:
    """Yield the lines on a command, and on those of its group."""
    name = " ".join(words)
    about = first_paragraph(command.help or "")
    guide = GUIDES.get(name)
    about = f"`{usage(name, command)}`: {about[0].lower()}{about[1:]}"
    about += f" See [{guide.partition('.')[0]}]({guide})." if guide else ""
    yield from ("", f"{'#' * (1 + len(words))} remit {name}", "")
    yield from textwrap.wrap(with_marks(about), WIDTH, break_on_hyphens=False, break_long_words=False)
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    shared = shared_with_run(options) if name == "submit" else set()
    if shared:
        yield from ("", "The options of [`remit run`](#remit-run), and:")
    if rows := [row(option) for option in options if option.name not in shared and not is_format(option)]:
        yield from ("", *rows)
    for option in options:
        if option.name not in shared and is_format(option) and isinstance(option.type, click.Choice):
            yield from (*([] if rows else [""]), f"- `--format`: {choices(option.type)}")
    if isinstance(command, click.Group):
        context = click.Context(command)
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            assert inner is not None, sub
            yield from section([*words, sub], inner)


def usage(name: str, command: click.Command) -> str:
    """Return a command with its arguments."""
    pieces = command.collect_usage_pieces(click.Context(command))
    return " ".join(["remit", name, *(piece for piece in pieces if piece != "[OPTIONS]")])


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a help text as a single line."""
    return " ".join(text.strip().split("\n\n")[0].split())


def is_format(option: click.Option) -> bool:
    """Return whether an option selects the format of the output."""
    return "--format" in option.opts


def row(option: click.Option) -> str:
    """Return the line of an option: its names, its meaning, its choices and its default."""
    meaning = (option.help or "").rstrip(".")
    if isinstance(option.type, click.Choice):
        meaning = ": ".join(filter(None, [meaning, choices(option.type)]))
    default = option.default
    if (
        isinstance(default, int | float | str)
        and not isinstance(default, bool)
        and default != ""
        and option.show_default
    ):
        meaning += f" (default: {default})"
    names = ", ".join(f"`{name}`" for name in option.opts)
    return f"- {names}: {with_marks(meaning[:1].lower() + meaning[1:])}"


def choices(of: click.Choice[str]) -> str:
    """Return the words that an option may have."""
    return ", ".join(f"`{word}`" for word in of.choices)


def with_marks(text: str) -> str:
    """Return a text with its options in code marks."""
    return re.sub(r"(?<![`\w-])--[a-z][a-z-]*(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\g<0>`", text)


def shared_with_run(options: list[click.Option]) -> set[str | None]:
    """Return the names of the options that `remit run` has with the same meaning."""
    run = remit.get_command(click.Context(remit), "run")
    assert run is not None
    known = {one.name: one.help for one in run.params if isinstance(one, click.Option)}
    return {option.name for option in options if known.get(option.name) == option.help}
