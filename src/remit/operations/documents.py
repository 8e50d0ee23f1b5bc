"""The operations on one document: check a result, verify a text; and the folders that they may read."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from remit.checking import Options, check_text, read_source
from remit.configuration import Configuration, load
from remit.contract.kinds import KINDS
from remit.dispatch.telemetry import emit_verdicts
from remit.errors import UsageError
from remit.evidence.model import Reliability
from remit.evidence.sources import open_sources
from remit.operations.declaration import CLI, PROGRAMS, described
from remit.reports.shapes import CheckShape, check_shape
from remit.verifying import OPTIONS as CLAIMS_OPTIONS

_MAX_PATH = 4_096


class Folders:
    """The folders of a caller. Relative paths start in `start`, which is one of them or inside of one.

    A caller on another machine may not read files: it has to send texts.
    """

    def __init__(self, roots: Sequence[Path], start: Path | None = None, *, may_read: bool = True) -> None:
        self._may_read = may_read
        self.roots = tuple(root.resolve() for root in roots)
        found = (start or roots[0]).resolve()
        self.start = found if any(found.is_relative_to(root) for root in self.roots) else self.roots[0]

    def folder(self, name: str) -> Path:
        """Return a folder of a request. Raises UsageError if it is not in the folders, also by a link."""
        return self._inside(name, "folder")

    def text(self, text: str | None, path: str) -> bytes:
        """Return a text that was sent, else the content of the file at its path."""
        if text is not None:
            return text.encode("utf-8", "replace")
        if not self._may_read:
            raise UsageError("pass the text")
        if path == "-":
            raise UsageError("pass a text, or the path of a file")
        return self.read(path)

    def read(self, name: str) -> bytes:
        """Return the content of a file, as `read_source` does. Raises UsageError if it is not in the folders."""
        file = self._inside(name, "file")
        try:
            is_file = stat.S_ISREG(file.stat().st_mode)
        except OSError as error:
            raise UsageError(f"{name[:_MAX_PATH]}: {error.strerror or error}") from error
        if not is_file:  # a pipe or a device could block the server or never end
            raise UsageError(f"{name!r} is not a file")
        return read_source(file)

    def _inside(self, name: str, what: str) -> Path:
        if len(name) > _MAX_PATH:
            raise UsageError(f"the path of the {what} is too long")
        try:
            path = (self.start / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a loop of links is a RuntimeError before Python 3.13
            raise UsageError(f"the {what} {name!r} cannot be used") from error
        if not any(path.is_relative_to(root) for root in self.roots):
            raise UsageError(f"the {what} {name!r} is outside of {', '.join(map(str, self.roots))}")
        return path


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

    paths: Annotated[
        list[str],
        described(
            "Files and folders; without one, the project's documents.", on=CLI, metavar="[FILE...]", is_argument=True
        ),
    ] = []
    text: Text = None
    path: DocumentPath = "-"
    repo: Repo = None
    rev: Rev = None
    affected_by: Annotated[
        str | None,
        described(
            "Report only claims that the change since REV made false; without REV, since the main branch.",
            on=CLI,
            metavar="[REV]",
            bare="",
        ),
    ] = None
    transcripts: Transcripts = []
    require_claims: RequireClaims = False
    claims: EveryClaim = False
    strict: Annotated[bool, described("Let accusations fail that are only worth a look.", on=CLI)] = False
    only: Annotated[Reliability, described("Hide accusations that are less reliable.", on=CLI)] = "look"
    explain: Annotated[
        str | None,
        described("Show how a claim was judged: a line, a location or words of it.", on=CLI, metavar="CLAIM"),
    ] = None
    fix: Annotated[
        bool, described("Show the corrections of paths and lines as a diff, and ask before they are written.", on=CLI)
    ] = False
    write: Annotated[bool, described("With --fix: write the corrections without asking.", on=CLI)] = False
    record: Record = False
    attest: Attest = None
    form: Annotated[
        Literal["text", "json", "sarif", "github", "junit", "markdown", "badge"],
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
    # A text that was sent is not a document of the checkout, under any name.
    path = "-" if wanted.text is not None else wanted.path
    try:
        verdicts = [replace(one, path=wanted.path) for one in check_text(text, path, options, sources)]
    finally:
        sources.close()
    emit_verdicts(verdicts)
    return check_shape(verdicts, str(root))
