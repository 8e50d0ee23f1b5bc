"""`remit plan run`, `answer` and `questions`, and the progress of a plan. After Ctrl-C, a plan can be resumed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from remit.aio import cancel_and_wait
from remit.configuration import load
from remit.dispatch.submit import Resolving
from remit.dispatch.worker_settings import Settings
from remit.errors import EnvironmentBroken, UsageError
from remit.evidence.sources import open_sources
from remit.merging.merge import merge
from remit.merging.merge_data import Merge
from remit.operations.jobs import Answer, ListQuestions, answer_question, list_questions
from remit.orchestrate.delegating import (
    PlanResult,
    begin_plan,
    check_drivable,
    check_keys,
    drive_plan,
    max_parallel,
    merge_plan,
    plan_result,
)
from remit.orchestrate.plan import Plan
from remit.orchestrate.plan_file import read_plan
from remit.registry import resolution
from remit.reports.formats import format_json
from remit.reports.layout import Line, escape_control, plain_lines
from remit.reports.merge.html import merge_html, report_source
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.text import merge_text_lines
from remit.reports.plan_text import (
    dry_run_lines,
    next_step_text,
    phase_lines,
    plan_lines,
    plan_shape,
    question_lines,
    unreviewed_lines,
)
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import JobUsage
from remit.surfaces.cli.job_commands import is_served
from remit.surfaces.cli.printing import columns, form_option, operation_options, print_answer, print_lines, print_text
from remit.surfaces.cli.with_database import with_database
from remit.workspace.atomic_write import replace_below
from remit.workspace.git_folder import keep_out_of_git

#: A step of a delegation -> its words.
_STEPS = {
    "submit": "started",
    "accept": "accepted",
    "correct": "sent back",
    "retry": "retried",
    "fall-back": "replaced by its files",
    "gap": "left out",
    "escalate": "waits for an answer",
}


class DrivenPlan(NamedTuple):
    """A plan after it was driven, the usage of its jobs, whether the user stopped it, and the merge of all phases."""

    found: PlanResult
    uses: dict[int, JobUsage]
    stopped: bool
    merged: Merge | None = None
    #: The files of the report on all phases, by their endings.
    files: dict[str, Path] = {}


async def drive_with_progress(
    database: Database,
    settings: Settings,
    plan: int,
    resolving: Resolving,
    *,
    shows_results: bool = False,
) -> DrivenPlan:
    """Drive a plan and show its progress.

    `shows_results`: print the results of each phase before the next one starts, and write a report on all phases.
    """
    from remit.orchestrate.local_worker import ensure_worker

    spec = msgspec.convert((await plans.get_plan(database, plan)).document, Plan)
    async with ensure_worker(database, settings, concurrency=max_parallel(spec)) as queue:
        display = _PlanDisplay(database, plan, len(spec.phases) if shows_results else 0)
        await display.skip_old_steps()
        driving = asyncio.create_task(
            drive_plan(
                database,
                settings,
                plan,
                queue=queue,
                resolving=resolving,
                on_change=display.show,
                can_ask=sys.stdin.isatty() and sys.stderr.isatty(),
            )
        )
        stopped = await _until_done(driving, display)
    if not stopped:
        await driving
    found, uses = await plan_result(database, plan), await plans.uses_of(database, plan)
    merged = await merge_plan(database, found.plan) if shows_results else None
    files: dict[str, Path] = {}
    if merged is not None:
        merged = await asyncio.to_thread(merge, [merged], sources=open_sources(Path(found.plan.workspace)))
        folder = reports_folder(settings.texts)
        files = await asyncio.to_thread(write_reports, merged, Path(found.plan.workspace), folder, f"plan-{plan}")
    return DrivenPlan(found, uses, stopped, merged, files)


def reports_folder(texts: Path) -> Path:
    """Return the folder of reports in a folder of texts, which git ignores from now on."""
    try:
        keep_out_of_git(texts)
    except OSError as error:
        raise EnvironmentBroken(f"{texts} cannot be used: {error.strerror}; it must be a folder, not a link") from error
    return texts / "reports"


def write_reports(merged: Merge, root: Path, folder: Path, stem: str) -> dict[str, Path]:
    """Write a merge as HTML, Markdown and JSON through no link, and return the files by their endings."""
    workspace = open_sources(root).workspace
    texts = {
        "html": merge_html(merged, workspace, source=report_source(root, folder, datetime.now().astimezone())),
        "md": merge_markdown(merged, workspace),
        "json": format_json(merged),
    }
    files = {ending: folder / f"{stem}.{ending}" for ending in texts}
    try:
        for ending, text in texts.items():
            name = f"{folder.parent.name}/{folder.name}/{stem}.{ending}"
            replace_below(folder.parents[1], name, text.encode("utf-8", "replace"), mode=0o600)
    except OSError as error:
        raise EnvironmentBroken(
            f"{folder} cannot be used: {error.strerror}; it must be a folder, not a link"
        ) from error
    return files


async def _until_done(driving: asyncio.Task[Any], display: _PlanDisplay) -> bool:
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    waiting = asyncio.create_task(interrupted.wait())
    try:
        with display:
            while not driving.done() and not interrupted.is_set():
                await asyncio.wait({driving, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=0.5)
                await display.show()
        return not driving.done()
    finally:
        waiting.cancel()
        loop.remove_signal_handler(signal.SIGINT)
        if not driving.done():  # interrupted, or the local worker failed
            await cancel_and_wait(driving)


class _PlanDisplay:
    """The progress of a plan: a live tree on a terminal, otherwise a line for each step.

    The results of a phase are printed when it is finished, if another phase follows: those of `phases - 1` phases.
    """

    def __init__(self, database: Database, plan: int, phases: int = 0) -> None:
        self._database = database
        self._plan = plan
        self._phases = phases
        self._shown: set[int] = set()
        self._live: Any = None
        self._printed: set[int] = set()

    async def skip_old_steps(self) -> None:
        """Do not print the steps that were done before this command."""
        self._printed = {row["id"] for row in await self._database.rows("plans.steps", plan=self._plan, after=0)}
        for phase in await plans.phases_of(self._database, self._plan, whole=False):
            if phase.state == "finished":
                self._shown.add(phase.number)

    def __enter__(self) -> _PlanDisplay:
        if sys.stderr.isatty():
            self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    async def show(self) -> None:
        """Show the plan as it is now."""
        if self._live is None:
            await self._print_steps()
            await self._print_results()
            return
        await self._print_results()

        found = await plan_result(self._database, self._plan, whole=False)
        uses = await plans.uses_of(self._database, self._plan)
        self._live.update(_styled(plan_lines(found, uses, columns())))

    async def _print_results(self) -> None:
        """Print the results of each phase that has finished and is not the last."""
        finished = [
            phase.number
            for phase in await plans.phases_of(self._database, self._plan, whole=False)
            if phase.state == "finished" and phase.number not in self._shown and phase.number < self._phases - 1
        ]
        if not finished:
            return

        self._shown.update(finished)
        root = Path((await plans.get_plan(self._database, self._plan)).workspace)
        workspace = await asyncio.to_thread(lambda: open_sources(root).workspace)
        for phase in await plans.phases_of(self._database, self._plan):
            if phase.number in finished:
                lines = list(phase_lines(phase, columns(), workspace))
                if self._live is not None:
                    self._live.console.print(_styled(lines))
                else:
                    click.echo(plain_lines(lines), err=True)

    async def _print_steps(self) -> None:
        for row in await self._database.rows("plans.steps", plan=self._plan, after=max(self._printed, default=0)):
            if row["id"] not in self._printed:
                self._printed.add(row["id"])

                step = escape_control(_step_text(row["step"], row["name"] or "", row["reason"]))
                click.echo(f"{row['at'].astimezone():%H:%M:%S} {step}", err=True)


def _step_text(step: str, name: str, reason: str) -> str:
    """Return a step as text: of a delegation with its name, else of the plan."""
    if not name:
        return f"{step}: {reason}"
    return f"{name} {_STEPS.get(step, step)}" + (f": {reason}" if step != "submit" else "")


def _styled(lines: Iterable[Line]) -> Any:
    """Return lines as text of the terminal library."""
    text = Text()
    for line in lines:
        for piece in line:
            text.append(piece.text, piece.style)
        text.append("\n")
    return text


#: Paths in a warning about scopes.
_SHOWN_SCOPES = 5


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--repo", type=click.Path(path_type=Path), help="The folder to work in; default: the current folder.")
@click.option("--resume", type=int, metavar="ID", help="Continue this plan instead of reading a file.")
@click.option("--new", "is_new", is_flag=True, help="Start a new plan although the same one is unfinished.")
@click.option("--dry-run", is_flag=True, help="Print the delegations without running them.")
@click.option("--plugin-path", metavar="PATH", help="Folders of definitions, separated as in PATH.")
@form_option()
def plan_command(file: Path | None, resume: int | None, form: str, **options: Any) -> int:
    """Run the plan in FILE: phases of delegations that survive a crash.

    FILE is TOML or YAML. The results of each phase are merged and printed, and the merge decides how the plan
    continues. At the end, everything that the subagents reported is printed and written to a report. If a plan was
    interrupted, run the same command again to continue it. The exit code is 0 if the plan is finished with the
    decision to continue, otherwise 1.

    \b
    Examples:
      remit plan run review.toml
      remit plan run review.toml --dry-run
      remit plan run --resume 3
    """
    if (file is None) == (resume is None):
        raise UsageError("pass either a FILE or --resume ID")
    configured = load()
    if options["plugin_path"]:
        registry = resolution.open_registry(options["plugin_path"], resolution.allow_list(configured, None))
    else:
        registry = resolution.configured_registry(configured)
    unknown: list[str] = []
    plan = read_plan(file, registry, unknown) if file is not None else None
    if options["dry_run"] and plan is not None:
        if form != "text":
            raise UsageError("a dry run has no JSON form; leave out --format json")

        _warn_about_agents(unknown)
        _warn_about_scopes(plan, options["repo"] or Path.cwd())
        print_lines(dry_run_lines(plan, columns()))
        return 0

    async def work(database: Database, settings: Settings) -> DrivenPlan:
        runs_here = not await is_served(database, settings, "default")
        if unknown and runs_here:
            raise UsageError(unknown[0])  # this process would run the plan, and it does not know the agent
        _warn_about_agents(unknown)
        if plan is not None:
            root = options["repo"] or Path.cwd()
            _warn_about_scopes(plan, root)
            number = await begin_plan(database, plan, root, is_new=options["is_new"])
        else:
            number = (await check_drivable(database, resume or 0)).id
        resolving = Resolving(registry=registry)
        if runs_here:
            await check_keys(database, number, resolving)
        return await drive_with_progress(database, settings, number, resolving, shows_results=True)

    return print_result(with_database(work), form)


def _warn_about_agents(unknown: list[str]) -> None:
    for text in unknown:
        more = " The worker" if text.endswith("?") else "; the worker"
        click.echo(f"{escape_control(text)}{more} of the job looks it up", err=True)


def _warn_about_scopes(plan: Plan, root: Path) -> None:
    """Warn about files that a delegation is about, that do not exist, and that no delegation writes."""
    delegations = [delegation for phase in plan.phases for delegation in phase.delegations]
    written = {path for delegation in delegations for path in delegation.writes}
    scopes = dict.fromkeys(path for delegation in delegations for path in delegation.scope)
    missing = [path for path in scopes if path not in written and not _exists(root, path)]
    if missing:
        more = f" and {len(missing) - _SHOWN_SCOPES} more" if len(missing) > _SHOWN_SCOPES else ""
        shown = ", ".join(escape_control(path) for path in missing[:_SHOWN_SCOPES])
        click.echo(f"the scope names what does not exist in {escape_control(str(root))}: {shown}{more}", err=True)


def _exists(root: Path, path: str) -> bool:
    """Return whether a path or pattern is in a folder."""
    try:
        return "*" in path or (root / path).exists()
    except (OSError, ValueError):
        return False


def print_result(driven: DrivenPlan, form: str) -> int:
    """Print a plan, and return the exit code."""
    found = driven.found
    if form == "json":
        print_text(format_json(plan_shape(found, driven.files)))
    else:
        print_lines(plan_lines(found, driven.uses, columns()))
        if driven.merged is not None:
            workspace = open_sources(Path(found.plan.workspace)).workspace
            print_lines([[], *merge_text_lines(driven.merged, columns(), workspace)])
        print_lines(unreviewed_lines(found, columns()))
        if driven.files:
            click.echo(f"report: {driven.files['html']}\n        {driven.files['md']}", err=True)
        click.echo(next_step_text(found), err=True)
    if driven.stopped:
        click.echo(f"remit: stopped; continue with `remit plan run --resume {found.plan.id}`", err=True)
        return 130
    return 0 if found.plan.state == "finished" and found.plan.outcome == "continue" else 1


@click.command("answer")
@operation_options(Answer)
def answer_command(wanted: Answer) -> int:
    """Answer a question of a plan or an orchestrator.

    ESCALATION is the number of the question. `retry` tries the work again, `skip` continues without it, `cancel` ends
    the plan, and `text` tries again with a text for the subagent.

    \b
    Examples:
      remit plan answer 4 retry
      remit plan answer 4 skip --why "the module is going away"
      remit plan answer 4 text --why "look in src/legacy instead"
    """
    number, verb = wanted.question or 0, wanted.answer or ""
    if verb in ("skip", "text") and not wanted.why.strip():
        raise UsageError(f"{verb} needs --why")
    given = with_database(lambda database, settings: answer_question(database, settings, number, verb, wanted.why))
    print_answer(wanted.form, given, given.next_action)
    return 0


@click.command("questions")
@operation_options(ListQuestions)
def questions_command(wanted: ListQuestions) -> int:
    """List the open questions of plans and orchestrators. The exit code is 1 if a question is open.

    \b
    Examples:
      remit plan questions
      remit plan questions --format json
    """
    listed = with_database(lambda database, _: list_questions(database, wanted))
    print_answer(wanted.form, listed, question_lines(listed.escalations, columns()))
    return 1 if any(question.answer is None for question in listed.escalations) else 0
