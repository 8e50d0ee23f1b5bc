"""The command `remit merge`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.checking import Options, Verdict
from remit.clients.hooks.recorded_project import current_project
from remit.configuration import LEARNED, Configuration, load
from remit.contract.kinds import slug
from remit.dispatch.telemetry import emit_verdicts, is_receiver_named
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.ledger.learned import explained, with_learned
from remit.merging.api import merge_inputs, merge_stream
from remit.merging.inputs import Input, failed_report, read_input
from remit.merging.merge import hide_baseline, only_changed
from remit.merging.model import MERGED_AGENT, SCALE, LearnedNote, Merge, MergeSettings
from remit.merging.previous import read_merge
from remit.operations.merge import MergeDocuments
from remit.orchestrate.merge_settings import learns_weights, merge_settings
from remit.registry.api import reload_registry
from remit.reports.attestation import document_subject, merge_policy, merge_properties
from remit.surfaces.cli.attesting import Documents, commit_of, write_statement
from remit.surfaces.cli.dismissals import keep_last_merge, with_dismissals
from remit.surfaces.cli.files import display_name, find_files, find_repository, read_file
from remit.surfaces.cli.merge_output import write_merge
from remit.surfaces.cli.operation_options import operation_options, path_of
from remit.surfaces.cli.store import with_database
from remit.workspace import git

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database


@click.command("merge")
@operation_options(MergeDocuments)
def command(wanted: MergeDocuments) -> int:
    """Merge results, SARIF files and earlier merges into one report.

    FILE is a result (Markdown or JSON), a SARIF file of any tool, a merge written with --format json, a
    folder of these, or - for standard input. --session adds the reports of the subagents of a session, and --plan
    those of a plan. The number of findings is not limited; very many are kept in a temporary file.

    \b
    Examples:
      remit merge review-*.md
      remit merge results/ ruff.sarif --fail-on critical --format github
      remit merge results/ --expect security-auditor --format html --output report.html
      remit merge results/ --changed-since origin/main --baseline last.json
      remit merge --session last
      remit merge results/ --format json --output merged.json --attest merged.intoto.json
      remit merge --plan 3 --format html --output plan.html
    """
    configured = load()
    files = find_files(wanted.paths, for_merge=True)
    if not files and not wanted.session and wanted.plan is None:
        raise UsageError("nothing to merge: pass files, a session with --session last, or a plan with --plan ID")
    project = current_project() if wanted.session else None
    of_plan, workspace = _plan_inputs(wanted.plan) if wanted.plan is not None else ([], None)
    root, _ = find_repository(path_of(wanted.repo) or (Path(project.root) if project else workspace), files)
    sources = open_sources(root)
    options = Options(profile=wanted.profile or configured["profile"], kinds=configured["agents.kinds"]).validated()
    settings, note = _settings(wanted, configured)
    checked: list[Verdict] | None = [] if wanted.record or is_receiver_named() else None
    read = partial(
        read_input, options=options, sources=sources, categories=configured["merge.categories"], checked=checked
    )
    documents = Documents(is_limited=False) if wanted.attest is not None else None
    inputs = _inputs_of(files, read, documents)
    of_session = project.inputs(wanted.session or "last", options, sources) if project is not None else []
    is_whole = wanted.record or documents is not None  # these need all findings in memory
    merged = _merged(chain(inputs, of_session, of_plan), settings, note, is_whole=is_whole)
    merged = with_dismissals(merged, sources.workspace)
    keep_last_merge(merged, root)
    merged = _filtered(merged, wanted, sources)
    write_merge(merged, wanted.form, sources, path_of(wanted.output), wanted.sarif_profile)
    if documents is not None:
        _attest(wanted, documents, merged, (options, settings), root)
    emit_verdicts(checked or (), seconds=None)
    if wanted.record:
        from remit.surfaces.cli.recording import record_merge  # late: it needs the extra remit[run]

        record_merge(merged, "merge", root, verdicts=checked or (), plan=wanted.plan)
    return 1 if fails(merged, wanted.fail_on) else 0


def _attest(
    wanted: MergeDocuments,
    documents: Documents,
    merged: Merge,
    policy: tuple[Options, MergeSettings],
    root: Path,
) -> None:
    """Write the statement about a merge. Its subjects are the inputs, and the report if it is written to a file."""
    output, baseline = path_of(wanted.output), path_of(wanted.baseline)
    if output is not None:
        documents.add(str(output), output, output.read_bytes())
    filters = {
        "changed_since": commit_of(root, wanted.changed_since) if wanted.changed_since else None,
        "baseline": document_subject("", baseline.read_bytes()).digest if baseline is not None else None,
    }
    write_statement(
        Path(wanted.attest or ""),
        documents,
        root=root,
        commits=[None],
        properties=merge_properties(merged, is_filtered=any(filters.values())),
        policy=merge_policy(*policy, filters),
    )


def _plan_inputs(plan: int) -> tuple[list[Input], Path]:
    """Return the results of a plan, and the folder that its subagents worked in."""
    from remit.orchestrate.phase import whole_plan
    from remit.store import plans

    async def work(database: Database, _: Settings) -> tuple[list[Input], Path]:
        row = await plans.get_plan(database, plan)
        inputs = (await whole_plan(database, row)).inputs
        if not inputs:
            raise UsageError(f"plan {plan} has no results yet")
        return inputs, Path(row.workspace)

    return with_database(work)


def _inputs_of(
    files: Sequence[Path | None], read: Callable[[bytes, str], Input], documents: Documents | None
) -> Iterator[Input]:
    """Yield the input of each file. Among others, one that cannot be parsed is one failed agent: the rest is merged."""
    for file in files:
        data, name = read_file(file), display_name(file)
        if documents is not None:
            documents.add(name, file, data)
        try:
            found = read(data, name)
        except UsageError as error:
            if len(files) == 1:
                raise
            click.echo(f"{error}; it counts as a failed agent", err=True)
            found = Input([failed_report(name, str(error))])
        if any(report.agent == slug(MERGED_AGENT) for report in found.reports):
            click.echo(
                f"{name}: this is a merged report, which does not contain the opinions of each agent; "
                "merge the output of --format json instead",
                err=True,
            )
        yield found


def _settings(wanted: MergeDocuments, configured: Configuration) -> tuple[MergeSettings, LearnedNote | None]:
    """Return the settings, and what was learned from decisions if the settings use it."""
    settings = merge_settings(
        configured, reload_registry, threshold=wanted.threshold, policy=wanted.policy, expect=tuple(wanted.expect)
    )
    has_learned = learns_weights(configured)
    if not has_learned and settings.policy != LEARNED:
        return settings, None

    note = _learned_note()
    return with_learned(settings, note, has_weights=has_learned), note


def _learned_note() -> LearnedNote:
    from remit.store.ledger import learned_note

    async def work(database: Database, _: Settings) -> LearnedNote:
        return await learned_note(database)

    return with_database(work)


def _merged(inputs: Iterable[Input], settings: MergeSettings, note: LearnedNote | None, *, is_whole: bool) -> Merge:
    merged = merge_inputs(list(inputs), settings) if is_whole else merge_stream(inputs, settings)
    if note is None:
        return merged

    return explained(merged, note)


def _filtered(merged: Merge, wanted: MergeDocuments, sources: Sources) -> Merge:
    if wanted.changed_since and sources.workspace is not None:
        changed = git.changed_lines(sources.workspace.root, wanted.changed_since)
        merged = only_changed(merged, changed, wanted.changed_since)
    if wanted.baseline is not None:
        merged = hide_baseline(merged, read_merge(read_file(Path(wanted.baseline)), wanted.baseline))
    return merged


def fails(merged: Merge, limit: str | None) -> bool:
    """Return whether a merge has a finding of at least the severity `limit`, or a conflict if that is the limit."""
    if limit is None:
        return False
    if limit == "conflict":
        return bool(merged.conflicts)
    return any(getattr(merged.counts, severity) for severity in SCALE[SCALE.index(limit) :])
