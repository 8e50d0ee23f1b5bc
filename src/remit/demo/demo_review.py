"""A review of the example shop by three subagents, and what came of it on one screen."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from remit.demo.recorded_model import MODEL, Recording, read_recordings
from remit.errors import EnvironmentBroken
from remit.merging.merge_data import Merge, MergedFinding
from remit.orchestrate.delegating import PlanResult
from remit.reports.layout import Line, Piece, display_width, escape_control, format_count, wrap_text
from remit.reports.merge.text import SEVERITY_STYLES
from remit.store.database import Database
from remit.workspace.safe_git import command, environment

#: The examples: of the installed package, or of the checkout.
_EXAMPLES = (Path(__file__).with_name("examples"), Path(__file__).resolve().parents[3] / "examples")
_AUTHOR = ("-c", "user.name=Remit", "-c", "user.email=remit@example.com", "-c", "commit.gpgsign=false")
#: Rules on claims have codes of this family; those of this level are about claims that do not hold.
_CLAIMS, _HARD = "EVD", "L1"
_LABEL = 9
_MAX_FINDINGS = 12
_MAX_FALSE = 6


def examples() -> Path:
    """Return the folder with the shop and the recordings."""
    for folder in _EXAMPLES:
        if (folder / "recorded").is_dir():
            return folder
    raise EnvironmentBroken("the examples are missing from this installation; install it again")


def copy_shop(source: Path, root: Path) -> None:
    """Copy the shop to a folder, which is replaced, and commit it there. Without git, there is no commit."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(source, root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    variables = {name: value for name, value in environment(root).items() if name != "GIT_WORK_TREE"}
    for arguments in (("init", "--quiet"), ("add", "."), (*_AUTHOR, "commit", "--quiet", "--message", "The shop")):
        try:
            subprocess.run(command(root, *arguments), env=variables, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return


def recordings() -> tuple[Recording, ...]:
    """Return the recorded conversations of the review."""
    return read_recordings(examples() / "recorded/review")


class FalseClaim(msgspec.Struct, frozen=True):
    """A claim of a subagent that does not hold, and how that was found."""

    agent: str
    rule: str
    message: str
    #: The number of the report: 1, or 2 after a correction.
    submission: int


class ReviewedBy(msgspec.Struct, frozen=True):
    """A reviewer: how its work ended, how often it was sent back, and the places that its first report cites."""

    agent: str
    state: str
    corrections: int
    places: int
    error: str | None


class DemoResult(msgspec.Struct, frozen=True):
    """What came of the review, in the shape `remit.demo/1`."""

    schema: str
    model: str
    reviewers: list[ReviewedBy]
    false: list[FalseClaim]
    merge: Merge


async def demo_result(database: Database, plan_result: PlanResult, merged: Merge, model: str) -> DemoResult:
    """Read what the reviewers claimed, and what of it was false."""
    reviewers, false = [], []
    for delegation in plan_result.delegations:
        stored = await database.rows("transcript.results", job=delegation.job) if delegation.job is not None else []
        places = len(stored[0]["report"]["references"]) if stored else 0
        reviewers.append(
            ReviewedBy(delegation.agent, delegation.state, delegation.corrections, places, delegation.error)
        )
        false += [
            FalseClaim(delegation.agent, violation["rule"], violation["message"], row["submission"])
            for row in stored
            for violation in row["report"]["violations"]
            if violation["level"] == _HARD and violation["code"].startswith(_CLAIMS)
        ]
    return DemoResult("remit.demo/1", model, reviewers, false, merged)


def demo_lines(result: DemoResult, report: Path, columns: int) -> Iterator[Line]:
    """Yield one screen: what was claimed, what was false and how that was found, what remains, and what to do next."""
    is_recorded = result.model == MODEL
    who = "A recorded model" if is_recorded else f"The model {escape_control(result.model)}"
    rest = "; everything else is real." if is_recorded else "."
    yield from ([Piece(row, "bold")] for row in wrap_text(f"{who} reviewed an example shop{rest}", columns))
    yield []
    places = format_count(sum(reviewer.places for reviewer in result.reviewers), "cited place")
    text = f"{places} in the reports of {format_count(len(result.reviewers), 'subagent')}"
    yield from _labelled("claimed", [(text, "")], columns)
    yield from _labelled("false", _false(result), columns)
    if result.merge.conflicts:
        number = format_count(len(result.merge.conflicts), "conflict")
        titles = {finding.id: finding.title for finding in result.merge.findings}
        rows = [
            (f"{titles.get(conflict.finding, conflict.finding)}: {conflict.why}", "")
            for conflict in result.merge.conflicts
        ]
        yield from _labelled("open", [(f"{number} for you to decide", "bold yellow"), *rows], columns)
    yield from _remaining(result.merge, columns)
    yield from _labelled("report", [(str(report), "")], columns)
    yield []
    for arguments, what in (
        ("audit", "what did your assistants get wrong?"),
        ("verify YOUR.md", "do the claims of a document hold?"),
    ):
        yield [Piece(f"remit {arguments:<20}"), Piece(f" {what}", "dim")]


def _false(result: DemoResult) -> Iterator[tuple[str, str]]:
    """Yield the false claims of each subagent, and how its work ended."""
    if not result.false:
        yield "no claim: every cited line, quote and test run was looked up", ""
    for reviewer in result.reviewers:
        messages = list(dict.fromkeys(claim.message for claim in result.false if claim.agent == reviewer.agent))
        if messages:
            yield f"{format_count(len(messages), 'claim')} of {reviewer.agent}:", "bold red"
            yield from ((message, "") for message in messages[:_MAX_FALSE])
            if len(messages) > _MAX_FALSE:
                yield f"and {len(messages) - _MAX_FALSE} more", "dim"
        if messages and reviewer.state == "accepted":
            yield f"{reviewer.agent} was sent back, and its corrected report was accepted", "green"
        elif reviewer.state != "accepted":
            yield f"the report of {reviewer.agent} was not accepted: {reviewer.error or reviewer.state}", "red"


def _remaining(merged: Merge, columns: int) -> Iterator[Line]:
    """Yield the findings, each with its whole location."""
    confirmed = sum(finding.verified is True for finding in merged.findings)
    head = f"{format_count(len(merged.findings), 'finding')}; the cited code of {confirmed} was compared and is there"
    yield from _labelled("remains", [(head, "bold")], columns)
    shown = merged.findings[:_MAX_FINDINGS]
    width = max((display_width(_place(finding)) for finding in shown), default=0)
    room = columns - _LABEL - 11 - width - 2
    for finding in shown:
        severity, place = finding.severity or "unrated", _place(finding)
        first = [Piece(f"{'':{_LABEL}}{severity:<11}", SEVERITY_STYLES[severity])]
        title = escape_control(finding.title)
        if display_width(title) <= room:
            yield [*first, Piece(place, "underline"), Piece(" " * (width - display_width(place) + 2)), Piece(title)]
        else:
            yield [*first, Piece(place, "underline")]
            yield from ([Piece(row)] for row in wrap_text(title, columns, _LABEL + 11))
    if len(merged.findings) > len(shown):
        yield from _labelled("", [(f"and {len(merged.findings) - len(shown)} more", "dim")], columns)


def _place(finding: MergedFinding) -> str:
    return escape_control(f"{finding.path}:{finding.line}" if finding.path else "no location")


def _labelled(label: str, rows: Iterable[tuple[str, str]], columns: int) -> Iterator[Line]:
    """Yield texts with their styles below each other, next to a label."""
    for text, style in rows:
        for row in wrap_text(escape_control(text), columns, _LABEL):
            yield [Piece(f"{label:<{_LABEL}}", "bold"), Piece(row[_LABEL:], style)]
            label = ""
