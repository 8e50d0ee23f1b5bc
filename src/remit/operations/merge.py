"""The operation `merge`: several documents become one report."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import msgspec

from remit.checking import Options
from remit.configuration import load
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.dismissal_file import stored_dismissals
from remit.merging.dismissals import apply_dismissals
from remit.merging.inputs import Input, failed_report, read_input
from remit.merging.merge_data import Merge, Policy
from remit.merging.merge_documents import merge_inputs
from remit.operations.declaration import CLI, PROGRAMS, described
from remit.operations.documents import Folders, Profile, Repo
from remit.orchestrate.merge_settings import merge_settings
from remit.registry.resolution import current_registry

MAX_DOCUMENTS = 200
MergeFormat = Literal["text", "json", "markdown", "html", "sarif", "github"]


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
        float | None, described("Keep findings of at least this confidence, 0 to 100; default: the configured one.")
    ] = None
    policy: Annotated[
        Policy | None, described("How the scores of agents that agree are combined; default: the configured one.")
    ] = None
    expect: Annotated[list[str], described("An agent that must be among the inputs.", metavar="AGENT")] = []
    changed_since: Annotated[
        str | None, described("Keep findings on lines changed since this commit.", on=CLI, metavar="REV")
    ] = None
    baseline: Annotated[
        str | None, described("Hide the findings of this earlier merge (JSON).", on=CLI, metavar="PATH")
    ] = None
    fail_on: Annotated[
        Literal["critical", "important", "minor", "conflict"] | None,
        described("Exit with 1 if there is a finding of this severity or worse, or a conflict.", on=CLI),
    ] = None
    sarif_profile: Annotated[
        Literal["github", "ai"],
        described("The SARIF profile: github for code scanning, ai for the AI profile.", on=CLI),
    ] = "github"
    output: Annotated[
        str | None, described("Write to this file instead of standard output.", on=CLI, metavar="PATH")
    ] = None
    form: Annotated[MergeFormat, described("The output format.", on=CLI, option="--format")] = "text"


def merge_documents(folders: Folders, wanted: MergeDocuments) -> Merge:
    """Merge documents into one report, as `remit merge` does."""
    if not 0 < len(wanted.documents) <= MAX_DOCUMENTS:
        raise UsageError(f"a merge needs 1 to {MAX_DOCUMENTS} documents, not {len(wanted.documents)}")
    configured = load(folders.start)
    settings = merge_settings(
        configured, current_registry, threshold=wanted.threshold, policy=wanted.policy, expect=tuple(wanted.expect)
    )
    options = Options(profile=wanted.profile or configured["profile"], kinds=configured["agents.kinds"]).validated()
    root = folders.folder(wanted.repo or ".")
    texts = [(document.path, folders.text(document.text, document.path)) for document in wanted.documents]
    categories = configured["merge.categories"]
    with open_sources(root) as sources:
        read = partial(_read, options=options, sources=sources, categories=categories)
        inputs = [read(path, data, is_only=len(texts) == 1) for path, data in texts]
        return apply_dismissals(merge_inputs(inputs, settings), stored_dismissals(root), sources.workspace)


def _read(
    path: str,
    data: bytes,
    *,
    options: Options,
    sources: Sources,
    categories: dict[str, str],
    is_only: bool,
) -> Input:
    """Return the input of a document. Among others, one that cannot be parsed is one failed agent."""
    try:
        return read_input(data, path, options, sources, categories)
    except UsageError:
        if is_only:
            raise
        return Input([failed_report(path)])
