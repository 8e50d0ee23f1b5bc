"""`remit ledger`: what the recorded verdicts state."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from remit.clients.hooks.recorded_project import current_project
from remit.errors import UsageError
from remit.ledger import scorecards
from remit.ledger.calibration import calibrate
from remit.ledger.learned import DecidedOpinion, decision_points, learn
from remit.ledger.scorecards import Scorecard
from remit.reports.calibration_chart import calibration_lines, calibration_svg
from remit.reports.formats import format_json
from remit.reports.layout import plain_lines
from remit.reports.ledger_shapes import ScorecardsShape, export_line
from remit.reports.scorecard_text import difference_lines, learned_lines, scorecard_lines, scorecard_shape, version_name
from remit.surfaces.cli.printing import form_option, print_answer, print_lines, print_text
from remit.surfaces.cli.with_database import with_database

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.database import Database

_PATH = click.Path(path_type=Path)
#: The longest line of an export that is read.
_MAX_LINE = 1_000_000
_from_option = click.option(
    "--from", "source", type=_PATH, help="Read decisions from an export, not from the database."
)


@click.group("ledger")
def ledger_command() -> None:
    """Export the ledger, and show what it states about agents.

    The ledger has every verdict of jobs, plans and sessions, and those of commands with --record.

    \b
    Examples:
      remit ledger export > ledger.jsonl
      remit ledger cards
      remit ledger weights
    """


@ledger_command.command("export")
@click.option("--output", type=_PATH, help="Write to this file instead of standard output.")
def export_command(output: Path | None) -> int:
    """Write the ledger as JSON lines: each verdict, then what agents stated about findings that people decided.

    \b
    Examples:
      remit ledger export --output ledger.jsonl
      remit ledger export | jq 'select(.type == "verdict" and .verdict == "reject")'
    """

    from remit.store import ledger

    async def work(database: Database, settings: Settings) -> int:
        del settings
        await _import_sessions(database)
        number = 0
        with output.open("wb") if output is not None else contextlib.nullcontext() as file:
            write = file.write if file is not None else _print_line
            async for entry in ledger.stream_entries(database):
                write(export_line(entry))
                number += 1
            for opinion in await ledger.decided_opinions(database):
                write(export_line(opinion))
                number += 1
        sys.stdout.flush()
        return number

    try:
        number = with_database(work)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise UsageError(f"{output}: {error.strerror or error}") from error
    if output is not None:
        click.echo(f"{number} lines written to {output}", err=True)
    return 0


def _print_line(line: bytes) -> None:
    """Print a line of JSON. A terminal gets it without the characters that it obeys; a pipe gets the bytes."""
    if sys.stdout.isatty():
        print_text(line.decode())
    else:
        sys.stdout.buffer.write(line)


@ledger_command.command("import")
def import_command() -> int:
    """Import the sessions of this project that the hooks have recorded. Nothing is counted twice.

    \b
    Examples:
      remit ledger import
    """
    number = with_database(lambda database, _: _import_sessions(database))
    click.echo(f"{number} new {'entry' if number == 1 else 'entries'} in the ledger")
    return 0


async def _import_sessions(database: Database) -> int:
    """Import the recorded sessions of the current project, and return how many entries are new."""
    from remit.clients.hooks.session_import import import_sessions

    project = current_project()
    return await import_sessions(database, project.folders, project.root)


@ledger_command.command("cards")
@click.argument("agent", required=False)
@click.option("--compare", is_flag=True, help="Compare the last two versions of AGENT.")
@form_option()
def cards_command(agent: str | None, form: str, *, compare: bool) -> int:
    """Show a scorecard for each agent, definition and model.

    \b
    Examples:
      remit ledger cards
      remit ledger cards security-auditor --compare
    """

    from remit.store import ledger

    async def work(database: Database, _: Settings) -> list[Scorecard]:
        await _import_sessions(database)
        await ledger.fold(database)
        return await ledger.scorecards(database, agent=agent)

    cards = with_database(work)
    if compare:
        if agent is None or len(cards) < 2:
            raise UsageError("--compare needs an AGENT with at least two versions in the ledger")
        newest, before = cards[:2]
        print_text(f"{version_name(before)}  ->  {version_name(newest)}")
        print_lines(difference_lines(scorecards.compare(before, newest)))
    else:
        shape = ScorecardsShape(scorecards=[scorecard_shape(card) for card in cards])
        print_answer(form, shape, scorecard_lines(cards))
    return 0


@ledger_command.command("weights")
@_from_option
@form_option()
def weights_command(source: Path | None, form: str) -> int:
    """Show the weights that `merge.weights = "learned"` uses, and what agreement is worth.

    The same decisions give the same weights: --from computes them from an export.

    \b
    Examples:
      remit ledger weights
      remit ledger weights --from ledger.jsonl --format json
    """
    note = learn(_decided(source))
    print_answer(form, {"schema": "remit.weights/1", **msgspec.structs.asdict(note)}, learned_lines(note))
    return 0


@ledger_command.command("calibration")
@click.option("--agent", metavar="NAME", help="Only the findings of this agent.")
@click.option(
    "--score",
    type=click.Choice(["claimed", "checked"]),
    default="claimed",
    show_default=True,
    help="The score that agents gave, or the score after the check of their evidence.",
)
@_from_option
@click.option("--output", type=_PATH, help="Write to this file instead of standard output.")
@form_option("text", "json", "svg")
def calibration_command(agent: str | None, score: str, source: Path | None, output: Path | None, form: str) -> int:
    """Show how often findings with a score were confirmed by people.

    There is no curve under 50 decisions, and no recalibration under 200.

    \b
    Examples:
      remit ledger calibration
      remit ledger calibration --agent security-auditor --format svg --output calibration.svg
    """
    calibration = calibrate(decision_points(_decided(source), agent=agent, is_checked=score == "checked"))
    if form == "json":
        text = format_json(calibration)
    elif form == "svg":
        text = calibration_svg(calibration, title=f"Calibration of {agent}" if agent else "Calibration")
    elif output is None:
        print_lines(calibration_lines(calibration))
        return 0
    else:
        text = plain_lines(calibration_lines(calibration))
    if output is None:
        print_text(text)
        return 0
    try:
        output.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror or error}") from error
    click.echo(f"written to {output}", err=True)
    return 0


def _decided(source: Path | None) -> list[DecidedOpinion]:
    """Return what agents stated about decided findings, from the database or from an export."""
    if source is not None:
        try:
            with source.open("rb") as file:
                return list(_read_opinions(file, str(source)))
        except OSError as error:
            raise UsageError(f"{source}: {error.strerror or error}") from error

    from remit.store import ledger

    return with_database(lambda database, _: ledger.decided_opinions(database))


def _read_opinions(lines: Iterable[bytes], name: str) -> Iterator[DecidedOpinion]:
    for number, line in enumerate(lines, 1):
        if b'"opinion"' not in line[:200] or len(line) > _MAX_LINE:
            continue
        try:
            yield msgspec.json.decode(line, type=DecidedOpinion)
        except msgspec.DecodeError as error:
            raise UsageError(f"{name}:{number}: not an export of the ledger: {error}") from error
