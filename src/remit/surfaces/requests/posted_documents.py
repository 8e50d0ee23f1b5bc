"""Check, verify and merge documents that a program sends, against a checkout in its folders."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from remit.checking import Options, Verdict, check_text
from remit.configuration import Configuration, load
from remit.dispatch.verdict_events import emit_verdicts
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.api import checked_settings, merge_inputs
from remit.merging.dismissals import FILE, Dismissal, apply_dismissals, read_dismissals
from remit.merging.inputs import Input, failed_report, read_input
from remit.merging.model import Merge, MergeSettings, Policy
from remit.reports.shapes import CheckShape, check_shape
from remit.surfaces.requests.folders import Folders
from remit.verifying import OPTIONS as CLAIMS_OPTIONS

MAX_DOCUMENTS = 200


class CheckBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A document with results to check."""

    text: str
    #: Its name in the answer.
    path: str = "-"
    #: The checkout, relative to the folder that the server was started in, and a commit of it.
    repo: str = "."
    rev: str | None = None
    profile: str | None = None
    kind: str | None = None
    agent: str | None = None
    attempt: int = 1


class VerifyBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Any text whose claims about the code are checked."""

    text: str
    path: str = "-"
    repo: str = "."
    rev: str | None = None


class PostedDocument(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A result, a SARIF file or an earlier merge. They are distinguished by name and content, as files are."""

    path: str
    text: str


class MergeBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Documents to merge into one report."""

    documents: list[PostedDocument]
    repo: str = "."
    profile: str | None = None
    threshold: float | None = None
    policy: Policy | None = None
    expect: list[str] = []


def check_document(folders: Folders, body: CheckBody) -> CheckShape:
    """Check the results in a document, as `remit check` does."""
    configured = load(folders.start)
    profile = body.profile or configured["profile"]
    options = Options(
        profile=profile,
        kind=body.kind,
        kinds=configured["agents.kinds"],
        agent=body.agent,
        attempt=body.attempt,
        overrides=tuple(configured["check.overrides"].items()),
        select=tuple(configured["check.select"]),
        ignore=tuple(configured["check.ignore"]),
        with_history=profile == "claims",
    ).validated()
    return _checked(folders, body, options)


def verify_document(folders: Folders, body: VerifyBody) -> CheckShape:
    """Check the claims of any text, as `remit verify` does."""
    return _checked(folders, body, CLAIMS_OPTIONS)


def _checked(folders: Folders, body: CheckBody | VerifyBody, options: Options) -> CheckShape:
    root = folders.folder(body.repo)
    sources = open_sources(root, rev=body.rev)
    try:
        verdicts = check_text(body.text.encode("utf-8", "replace"), body.path, options, sources)
    finally:
        sources.close()
    emit_verdicts(verdicts)
    return check_shape(verdicts, str(root))


def merge_documents(folders: Folders, body: MergeBody) -> Merge:
    """Merge documents into one report, as `remit merge` does."""
    if not 0 < len(body.documents) <= MAX_DOCUMENTS:
        raise UsageError(f"a merge needs 1 to {MAX_DOCUMENTS} documents, not {len(body.documents)}")
    configured = load(folders.start)
    settings = _merge_settings(body, configured)
    options = Options(profile=body.profile or configured["profile"], kinds=configured["agents.kinds"]).validated()
    root = folders.folder(body.repo)
    sources = open_sources(root)
    checked: list[Verdict] = []
    categories = configured["merge.categories"]
    try:
        read = partial(_read, options=options, sources=sources, categories=categories, checked=checked)
        inputs = [read(one, is_only=len(body.documents) == 1) for one in body.documents]
        merged = apply_dismissals(merge_inputs(inputs, settings), _dismissals(root), sources.workspace)
    finally:
        sources.close()
    emit_verdicts(checked)
    return merged


def _dismissals(root: Path) -> list[Dismissal]:
    try:
        return read_dismissals((root / FILE).read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{FILE}: {error.strerror or error}") from error


def _merge_settings(body: MergeBody, configured: Configuration) -> MergeSettings:
    return checked_settings(
        MergeSettings(
            threshold=float(body.threshold if body.threshold is not None else configured["merge.threshold"]),
            policy=body.policy or configured["merge.policy"],
            weights=configured["merge.weights"],
            window=int(configured["merge.window"]),
            expect=tuple(body.expect),
        )
    )


def _read(
    document: PostedDocument,
    *,
    options: Options,
    sources: Sources,
    categories: dict[str, str],
    checked: list[Verdict],
    is_only: bool,
) -> Input:
    """Return the input of a document. Among others, one that cannot be parsed is one failed agent."""
    try:
        data = document.text.encode("utf-8", "replace")
        return read_input(data, document.path, options, sources, categories, checked)
    except UsageError:
        if is_only:
            raise
        return Input([failed_report(document.path)])
