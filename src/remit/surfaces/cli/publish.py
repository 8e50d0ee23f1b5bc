"""The command `remit publish`: post a report where people review code."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click
import msgspec

from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.merging.previous import read_merge
from remit.publishing.comments import Publication, publication_of
from remit.publishing.false_claims import SCHEMA, publication_of_claims, read_claims
from remit.publishing.github_api import DEFAULT_URL, DryRun, GitHub, GitHubError, find_token
from remit.publishing.pull_request import Changes, PullRequest, PullRequestState, local_state, plan_changes
from remit.reports.layout import format_count
from remit.surfaces.cli.named_files import display_name, find_repository, read_file
from remit.surfaces.cli.person import require_person
from remit.workspace import git
from remit.workspace.files import Workspace
from remit.workspace.git import remote_address
from remit.workspace.safe_git import decode_output, run_git

_REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)
_PULL = re.compile(r"refs/pull/(\d{1,9})/")


class _Schema(msgspec.Struct):
    """The field that states what a report is."""

    schema: str = ""


@click.group("publish")
def command() -> None:
    """Post a report where people review code.

    \b
    Examples:
      remit publish github report.json --pr 12
    """


@command.command("github")
@click.argument("report", metavar="REPORT")
@click.option("--pr", type=click.IntRange(1), metavar="N", help="The pull request; default: that of the workflow run.")
@click.option("--repository", metavar="OWNER/NAME", help="The repository; default: GITHUB_REPOSITORY, or the origin.")
@click.option("--repo", type=click.Path(path_type=Path), help="The checkout that the report is about.")
@click.option("--dry-run", is_flag=True, help="Print the requests that would change something, and send none of them.")
@click.option("--base", metavar="REV", help="With --dry-run, for a diff without GitHub; default: the main branch.")
def github_command(report: str, **flags: Any) -> int:
    """Post the findings of REPORT as one review of a pull request.

    REPORT is the JSON of `remit merge` or of `remit verify`, or - for standard input. Every finding, and every claim
    that does not hold, is a thread at its line that people can resolve; a claim has its correction as a suggestion.
    Run the command again after each push: it updates its comments, resolves what is fixed, and ignores what
    did not change. A thread that a person resolved stays resolved. GITHUB_TOKEN is the token; GITHUB_API_URL is the
    server, for GitHub Enterprise. With --dry-run, no token is needed: the diff is then that of the checkout.

    \b
    Examples:
      remit review --format json > report.json; remit publish github report.json --pr 12
      remit publish github report.json --pr 12 --dry-run
      remit verify --affected-by origin/main --format json | remit publish github - --pr 12
    """
    file = None if report == "-" else Path(report)
    data = read_file(file)
    root, _ = find_repository(flags["repo"], [None])
    publication = _publication(data, display_name(file), open_sources(root).workspace)
    if flags["repository"] and not _REPOSITORY.fullmatch(flags["repository"]):
        raise UsageError(f"--repository must be OWNER/NAME: {flags['repository']!r}")
    is_dry_run = flags["dry_run"]
    if not is_dry_run:
        require_person("remit publish", variable="GITHUB_TOKEN", token=find_token(is_needed=False))
    number = flags["pr"] or _number_of_run()
    url = os.environ.get("GITHUB_API_URL") or DEFAULT_URL
    token = find_token(is_needed=not is_dry_run)
    github = (DryRun if is_dry_run else GitHub)(url, token, report=click.echo if is_dry_run else _warn)
    repository = flags["repository"] or _repository(root, is_needed=bool(token))
    pull_request = PullRequest(github, repository, number, _warn)
    state, why = None, "no token is set"
    try:
        state = pull_request.read() if token else None
    except GitHubError as error:
        if not is_dry_run or error.status:
            raise
        why = str(error)
    if state is None:
        state = _local_state(root, flags["base"], why)
    else:
        _warn_about_commit(root, state.head)
    changes = plan_changes(publication, state)
    pull_request.apply(changes, state, publication)
    click.echo(_summary(changes, number, is_dry_run=is_dry_run), err=is_dry_run)
    return 0


def _publication(data: bytes, name: str, workspace: Workspace | None) -> Publication:
    """Return what is published of a report, by its schema."""
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
    except (msgspec.DecodeError, RecursionError):
        schema = ""  # the reader of merges states what is wrong
    if schema == SCHEMA:
        return publication_of_claims(read_claims(data, name), workspace)
    return publication_of(read_merge(data, name), workspace)


def _warn(text: str) -> None:
    click.echo(text, err=True)


def _number_of_run() -> int:
    match = _PULL.match(os.environ.get("GITHUB_REF", ""))
    if match is None:
        raise UsageError("which pull request? pass its number with --pr N")
    return int(match[1])


def _local_state(root: Path, base: str | None, why: str) -> PullRequestState:
    """Return the pull request as far as the checkout shows it, and state what is assumed."""
    rev = base or (f"origin/{branch}" if (branch := os.environ.get("GITHUB_BASE_REF")) else git.main_branch(root))
    state = local_state(root, rev) if rev else None
    if state is None or rev is None:
        raise UsageError(f"{why}, and {root} has no commit {rev or 'to compare with'}; pass one with --base REV")
    files = format_count(len(state.diff), "changed file")
    _warn(
        f"{why}: nothing was read from GitHub. Assumed: the pull request is {state.head[:12]} against {rev} ({files}), "
        "and it has no comments of an earlier run"
    )
    return state


def _repository(root: Path, *, is_needed: bool) -> str:
    name = os.environ.get("GITHUB_REPOSITORY", "")
    if not name:
        name = "/".join((remote_address(root) or "").removesuffix(".git").rsplit("/", 2)[1:])
    if not _REPOSITORY.fullmatch(name):
        if not is_needed:
            return "OWNER/NAME"
        raise UsageError("which repository? pass --repository OWNER/NAME, or set GITHUB_REPOSITORY")
    return name


def _warn_about_commit(root: Path, head: str) -> None:
    """Warn if the checkout is neither the head of the pull request nor a merge of it."""
    found = run_git(root, "rev-list", "--parents", "--max-count=1", "HEAD")
    commits = decode_output(found).split() if found else []
    if commits and head not in commits:
        _warn(f"the checkout is at {commits[0][:12]}, but the pull request is at {head[:12]}: lines may differ")


def _summary(changes: Changes, number: int, *, is_dry_run: bool) -> str:
    new = len(changes.on_lines) + len(changes.on_files) + len(changes.listed)
    counts = {
        "new": new,
        "updated": len(changes.updated),
        "found again": len(changes.reopened),
        "fixed": len(changes.fixed),
        "unchanged": changes.unchanged,
        "dismissed by a person": changes.dismissed,
        "waiting until some of the others are resolved": changes.waiting,
    }
    shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no findings"
    return f"pull request {number}: {shown}{' (nothing was sent)' if is_dry_run else ''}"
