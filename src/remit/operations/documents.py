"""The operations on one document: check a result, verify a text."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from remit.checking import Options, check_text
from remit.configuration import Configuration, load
from remit.contract.kinds import KINDS
from remit.dispatch.telemetry import emit_verdicts
from remit.errors import UsageError
from remit.evidence.model import Reliability
from remit.evidence.sources import open_sources
from remit.operations.declaration import CLI, PROGRAMS, described
from remit.operations.folders import Folders
from remit.reports.shapes import CheckShape, check_shape
from remit.verifying import OPTIONS as CLAIMS_OPTIONS

Files = Annotated[list[str], described("Files and folders.", on=CLI, required=CLI, metavar="FILE...", is_argument=True)]
Text = Annotated[
    str | None,
    described("The text. Over MCP, the file at `path` is read without it.", on=PROGRAMS, required=["http"]),
]
DocumentPath = Annotated[
    str, described("The name of the text in the answer; over MCP also the file to read.", on=PROGRAMS)
]
Repo = Annotated[str | None, described("The checkout that claims are checked against.", metavar="PATH")]
Rev = Annotated[str | None, described("Check claims against this commit instead of the files on disk.")]
Profile = Annotated[str | None, described("The profile: v2, v1, lenient or claims; default: the configured one.")]
Transcripts = Annotated[
    list[str],
    described("A transcript of the session that produced the text.", on=CLI, option="--transcript", metavar="PATH"),
]
RequireClaims = Annotated[bool, described("Exit with 1 if a text has no claims.", on=CLI)]
EveryClaim = Annotated[bool, described("Show every claim, not only those that fail or are worth a look.", on=CLI)]
Attest = Annotated[
    str | None, described("Write an in-toto statement about the outcome to this file.", on=CLI, metavar="FILE")
]
Record = Annotated[bool, described("Store the verdicts in the ledger.", on=CLI)]


class Verify(msgspec.Struct, frozen=True, kw_only=True):
    """Any text whose claims about the code are checked."""

    paths: Files = []
    text: Text = None
    path: DocumentPath = "-"
    repo: Repo = None
    rev: Rev = None
    transcripts: Transcripts = []
    require_claims: RequireClaims = False
    claims: EveryClaim = False
    strict: Annotated[bool, described("Let accusations fail that are only worth a look.", on=CLI)] = False
    only: Annotated[Reliability, described("Hide accusations that are less reliable.", on=CLI)] = "look"
    explain: Annotated[
        str | None,
        described("Show how a claim was judged: a line, a location or words of it.", on=CLI, metavar="CLAIM"),
    ] = None
    fix: Annotated[bool, described("Write full paths and correct lines into the files.", on=CLI)] = False
    record: Record = False
    attest: Attest = None
    form: Annotated[
        Literal["text", "json", "sarif", "github", "junit", "markdown"],
        described("The output format.", on=CLI, option="--format"),
    ] = "text"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A document with results to check."""

    paths: Files = []
    text: Text = None
    path: DocumentPath = "-"
    repo: Repo = None
    rev: Rev = None
    transcripts: Transcripts = []
    receipts: Annotated[
        list[str], described("A file of receipts of the agent's tool calls.", on=CLI, metavar="PATH")
    ] = []
    rerun: Annotated[
        str | None,
        described("Run CMD in the checkout and compare its outcome with the claimed one.", on=CLI, metavar="CMD"),
    ] = None
    profile: Profile = None
    kind: Annotated[
        str | None, described(f"The kind of result: {', '.join(KINDS)}; default: derived from the agent's name.")
    ] = None
    agent: Annotated[
        str | None, described("The agent that was asked; a result under another name is refused.", metavar="NAME")
    ] = None
    attempt: Annotated[int, described("The number of the submission; 2 is final.")] = 1
    scope: Annotated[
        list[str], described("A file or folder that the agent was asked to look at.", on=CLI, metavar="PATH")
    ] = []
    overrides: Annotated[
        dict[str, str],
        described("Override a default rule, with a reason.", on=CLI, option="--override", metavar="RULE=REASON"),
    ] = {}
    select: Annotated[list[str], described("Check only this rule, code or family.", on=CLI, metavar="RULE")] = []
    ignore: Annotated[list[str], described("Skip this rule, code or family.", on=CLI, metavar="RULE")] = []
    require_claims: RequireClaims = False
    claims: EveryClaim = False
    record: Record = False
    attest: Attest = None
    form: Annotated[
        Literal["text", "json", "github", "junit"], described("The output format.", on=CLI, option="--format")
    ] = "text"


def verify_options(wanted: Verify) -> Options:
    """Return the options: which accusations fail. What is hidden does not fail."""
    if wanted.strict and wanted.only != "look":
        raise UsageError(f"--strict lets all accusations fail, and --only {wanted.only} hides some; use one of them")
    if wanted.strict:
        return replace(CLAIMS_OPTIONS, least="look")
    return replace(CLAIMS_OPTIONS, least="certain") if wanted.only == "certain" else CLAIMS_OPTIONS


def check_options(wanted: Check, configured: Configuration) -> Options:
    """Return the options of a check; the configured ones where the operation has none."""
    profile = wanted.profile or configured["profile"]
    return Options(
        profile=profile,
        kind=wanted.kind,
        kinds=configured["agents.kinds"],
        agent=wanted.agent,
        attempt=wanted.attempt,
        overrides=(*wanted.overrides.items(), *configured["check.overrides"].items()),
        select=tuple(wanted.select or configured["check.select"]),
        ignore=tuple(wanted.ignore or configured["check.ignore"]),
        scope=tuple(wanted.scope),
        with_history=profile == "claims",
    ).validated()


def check_document(folders: Folders, wanted: Check) -> CheckShape:
    """Check the results in a document, as `remit check` does."""
    return _checked(folders, wanted, check_options(wanted, load(folders.start)))


def verify_document(folders: Folders, wanted: Verify) -> CheckShape:
    """Check the claims of any text, as `remit verify` does."""
    return _checked(folders, wanted, verify_options(wanted))


def _checked(folders: Folders, wanted: Check | Verify, options: Options) -> CheckShape:
    root = folders.folder(wanted.repo or ".")
    text = folders.text(wanted.text, wanted.path)
    sources = open_sources(root, rev=wanted.rev)
    try:
        verdicts = check_text(text, wanted.path, options, sources)
    finally:
        sources.close()
    emit_verdicts(verdicts)
    return check_shape(verdicts, str(root))
