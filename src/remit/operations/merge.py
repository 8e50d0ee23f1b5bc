"""The operation `merge`: several documents become one report."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from remit.checking import Options
from remit.configuration import load
from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.merging.inputs import Named
from remit.merging.merge import merge
from remit.merging.merge_data import Merge, Policy
from remit.merging.merge_settings import merge_settings
from remit.operations.declaration import CLI, PROGRAMS, described
from remit.operations.documents import Folders, Profile, Repo

MAX_DOCUMENTS = 200
MergeFormat = Literal["text", "json", "markdown", "html", "sarif", "github"]
FailOn = Literal["critical", "important", "minor", "conflict", "failed"]
FAIL_ON: tuple[FailOn, ...] = get_args(FailOn)


class SourceDocument(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A result, a SARIF file or an earlier merge. They are distinguished by name and content, as files are."""

    path: Annotated[str, described("The name of the document; over MCP also the file to read.")]
    text: Annotated[str | None, described("The text. Over MCP, the file at `path` is read without it.")] = None


class MergeDocuments(msgspec.Struct, frozen=True, kw_only=True):
    """Documents to merge into one report."""

    paths: Annotated[list[str], described("Files and folders.", on=CLI, metavar="FILE...", is_argument=True)] = []
    documents: Annotated[list[SourceDocument], described("The documents.", on=PROGRAMS, required=PROGRAMS)] = []
    session: Annotated[
        str | None,
        described("Also merge the reports of a Claude Code session: its id, or last.", on=CLI, metavar="ID"),
    ] = None
    plan: Annotated[int | None, described("Also merge the results of all phases of a plan.", on=CLI, metavar="ID")] = (
        None
    )
    repo: Repo = None
    profile: Profile = None
    threshold: Annotated[
        float | None,
        described(
            "Keep findings whose score, combined or of one agent, is at least this; default: the configured one."
        ),
    ] = None
    policy: Annotated[
        Policy | None, described("How the scores of agents that agree are combined; default: the configured one.")
    ] = None
    expect: Annotated[list[str], described("An agent that must be among the inputs.", metavar="AGENT")] = []
    changed_since: Annotated[
        str | None,
        described(
            "Keep findings on lines changed since this commit; dismissals count as of the commit where the branch "
            "left it.",
            on=CLI,
            metavar="REV",
        ),
    ] = None
    baseline: Annotated[
        str | None, described("Hide the findings of this earlier merge (JSON).", on=CLI, metavar="PATH")
    ] = None
    fail_on: Annotated[
        FailOn | None,
        described(
            "Exit with 1 if there is a finding of this severity or worse, a conflict, or a claim that failed.", on=CLI
        ),
    ] = None
    output: Annotated[
        str | None, described("Write to this file instead of standard output.", on=CLI, metavar="PATH")
    ] = None
    form: Annotated[MergeFormat, described("The output format.", on=CLI, option="--format")] = "text"


def merge_documents(folders: Folders, wanted: MergeDocuments) -> Merge:
    """Merge documents into one report, as `remit merge` does."""
    if not 0 < len(wanted.documents) <= MAX_DOCUMENTS:
        raise UsageError(f"a merge needs 1 to {MAX_DOCUMENTS} documents, not {len(wanted.documents)}")
    configured = load(folders.start)
    settings = merge_settings(configured, threshold=wanted.threshold, policy=wanted.policy, expect=tuple(wanted.expect))
    options = Options(profile=wanted.profile or configured["profile"], kinds=configured["agents.kinds"])
    root = folders.folder(wanted.repo or ".")
    texts = [Named(document.path, folders.text(document.text, document.path)) for document in wanted.documents]
    with open_sources(root) as sources:
        return merge(texts, settings, options=options, sources=sources)
