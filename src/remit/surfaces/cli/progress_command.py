"""`remit progress`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from remit.errors import UsageError
from remit.reports.layout import Line, Piece
from remit.reports.visible import visible, wrapped
from remit.surfaces.cli.printing import columns, print_lines, print_text

#: Delegations that are shown.
_MOST = 20


@click.command("progress")
@click.option("--resume", is_flag=True, help="Only say what to do next.")
@click.option("--file", type=click.Path(path_type=Path), help="A progress file of another tool's.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(file: Path | None, form: str, *, resume: bool) -> int:
    """Show where the work of this project stands.

    \b
    Examples:
      remit progress
      remit progress --resume
    """
    from remit.dispatch.settings import load_settings
    from remit.orchestrate.progress import find_progress, read_progress

    found = file or find_progress(Path.cwd(), load_settings().data)
    if found is None:
        raise UsageError("there is no progress file here; `remit plan` and `remit review` write one")
    progress = read_progress(found)
    if form == "json":
        from remit.reports.json import pretty

        print_text(pretty({"schema": "remit.progress/1", **progress}))
    elif resume:
        print_text(visible(progress["resumptionContext"]["nextAction"]))
    else:
        print_lines(_lines(progress, found))
    return 0


def _lines(progress: dict[str, Any], file: Path) -> list[Line]:
    context = progress["resumptionContext"]
    facts = {
        "project": progress["project"],
        "status": progress["status"],
        "phase": progress["currentPhase"],
        "task": progress["currentTask"],
        "position": context["position"],
        "next": context["nextAction"],
        "key files": ", ".join(map(_words, context["keyFiles"])),
        "decisions": "; ".join(map(_words, context["decisions"])),
        "blockers": "; ".join(map(_words, [*context["blockers"], *_more(progress.get("blockers"))])),
    }
    lines: list[Line] = [[Piece(visible(str(file)), "dim")]]
    for label, words in facts.items():
        for number, row in enumerate(wrapped(visible(str(words or "")), columns(), 12) if words else ()):
            lines.append(
                [Piece(f"{label:<12}" if number == 0 else "", "bold"), Piece(row[12:] if number == 0 else row)]
            )
    for words in progress["warnings"]:
        lines += [[Piece(row, "yellow")] for row in wrapped(visible(f"warning: {_words(words)}"), columns())]
    current = [one for one in progress["delegations"] if _plan(one) == _plan(progress["delegations"][-1])]
    for one in current[-_MOST:]:
        shown = "  ".join(_told(one))
        lines += [[Piece(row, "dim")] for row in wrapped(visible(shown), columns(), 2)]
    if older := len(progress["delegations"]) - len(current[-_MOST:]):
        lines.append([Piece(f"  and {older} earlier ones; --format json has them", "dim")])
    return lines


def _told(one: Any) -> list[str]:
    """A delegation in words."""
    if not isinstance(one, dict):
        return [str(one)]
    words = [one.get("phase"), one.get("name") or one.get("agent"), one.get("state"), one.get("verdict")]
    return [str(word) for word in (*words, f"job {one['job']}" if one.get("job") else "") if word]


def _plan(one: Any) -> Any:
    """Which plan a delegation belongs to; those of other tools belong to none."""
    return one.get("plan") if isinstance(one, dict) else None


def _more(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _words(one: Any) -> str:
    """A note that is text, or an object that has it under one of the usual names."""
    if not isinstance(one, dict):
        return str(one)
    return str(next((one[name] for name in ("description", "decision", "summary", "text") if one.get(name)), one))
