"""The operations on one document: check a result, verify a text; and the folders that they may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from remit.affected import Affected, AffectedClaims, change_since
from remit.checking import Options, Verdict, check_text, read_source
from remit.clients.transcripts.reading import read_transcripts
from remit.configuration import Configuration, load
from remit.contract.kinds import KINDS
from remit.errors import UsageError
from remit.evidence.model import TextKind
from remit.evidence.sources import Sources, open_sources
from remit.operations.declaration import CLI, PROGRAMS, described
from remit.reports.shapes import CheckShape, FixShape, check_shape
from remit.verifying import OPTIONS as CLAIMS_OPTIONS
from remit.verifying import Fixed, fix_source, write_fixed
from remit.workspace.commit import Commit

_MAX_PATH = 4_096


class Folders:
    """The folders of a caller. Relative paths start in `start`, which is one of them or inside of one.

    A caller on another machine may not read files: it has to send texts.
    """

    def __init__(self, roots: Sequence[Path], start: Path | None = None, *, may_read: bool = True) -> None:
        self._may_read = may_read
        self.roots = tuple(root.resolve() for root in roots)
        folder = (start or roots[0]).resolve()
        self.start = folder if any(folder.is_relative_to(root) for root in self.roots) else self.roots[0]

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
SentText = Annotated[
    str | None,
    described("The text. Over MCP, the file at `path` is read without it.", on=PROGRAMS, required=["http"]),
]
DocumentPath = Annotated[
    str, described("The name of the text in the answer; over MCP also the file to read.", on=PROGRAMS)
]
Repo = Annotated[str | None, described("The checkout that claims are checked against.", metavar="PATH")]
Rev = Annotated[str | None, described("Check claims against this commit instead of the files on disk.")]
Profile = Annotated[str | None, described("The profile: v2, v1 or claims; default: the configured one.")]
Transcripts = Annotated[
    list[str],
    described("A transcript of the session that produced the text.", on=CLI, option="--transcript", metavar="PATH"),
]
RequireClaims = Annotated[bool, described("Exit with 1 if a text has no claims.", on=CLI)]


class Verify(msgspec.Struct, frozen=True, kw_only=True):
    """Any text whose claims about the code are checked."""

    paths: Annotated[
        list[str],
        described(
            "Files and folders; without one, the project's documents.", on=CLI, metavar="[FILE...]", is_argument=True
        ),
    ] = []
    text: SentText = None
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
    every: Annotated[bool, described("List every claim, not only those that fail.", on=CLI, option="--all")] = False
    strict: Annotated[bool, described("Treat the text as a report: every claim that does not hold fails.", on=CLI)] = (
        False
    )
    explain: Annotated[
        str | None,
        described("Show how a claim was judged: a line, a location or words of it.", on=CLI, metavar="CLAIM"),
    ] = None
    fix: Annotated[
        bool, described("Show the corrections of paths and lines as a diff, and ask before they are written.", on=CLI)
    ] = False
    write: Annotated[bool, described("With --fix: write the corrections without asking.", on=CLI)] = False
    form: Annotated[
        Literal["text", "json", "sarif", "github", "markdown"],
        described("The output format.", on=CLI, option="--format"),
    ] = "text"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A document with results to check."""

    paths: Files = []
    text: SentText = None
    path: DocumentPath = "-"
    repo: Repo = None
    rev: Rev = None
    transcripts: Transcripts = []
    receipts: Annotated[
        list[str], described("A file of receipts of the agent's tool calls.", on=CLI, metavar="PATH")
    ] = []
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
    select: Annotated[
        list[str], described("Check only this rule, code or family, and all of L1.", on=CLI, metavar="RULE")
    ] = []
    ignore: Annotated[list[str], described("Skip this rule, code or family, except L1.", on=CLI, metavar="RULE")] = []
    require_claims: RequireClaims = False
    form: Annotated[Literal["text", "json", "github"], described("The output format.", on=CLI, option="--format")] = (
        "text"
    )


def verify_options(wanted: Verify) -> Options:
    """Return the options: what the texts are, which decides what fails."""
    is_project = not wanted.paths and wanted.text is None and wanted.path == "-"
    text: TextKind | None = "project" if is_project else None
    if wanted.strict or wanted.affected_by is not None:
        text = "report" if wanted.strict else "document"
    return replace(CLAIMS_OPTIONS, text=text)


def check_options(wanted: Check, configured: Configuration) -> Options:
    """Return the options of a check; the configured ones where the operation has none."""
    profile = wanted.profile or configured["profile"]
    options = Options(
        profile=profile,
        kind=wanted.kind,
        kinds=configured["agents.kinds"],
        agent=wanted.agent,
        attempt=wanted.attempt,
        overrides=(*wanted.overrides.items(), *configured["check.overrides"].items()),
        select=tuple(wanted.select or configured["check.select"]),
        ignore=tuple(wanted.ignore or configured["check.ignore"]),
        scope=tuple(wanted.scope),
        text="report",
    )
    return options.validated().without_ignored_l1()


class NamedText(NamedTuple):
    """A text to check, under its name in the answer."""

    name: str
    source: bytes
    #: The file of the text, if it may be corrected.
    file: Path | None = None
    #: Whether its name is that of a document in the checkout.
    is_document: bool = True


class Correction(NamedTuple):
    """The corrections of a file that are not written yet."""

    text: NamedText
    fixed: Fixed

    @property
    def shapes(self) -> list[FixShape]:
        """The corrections as they are reported."""
        return [FixShape(self.text.name, fix.line, fix.old, fix.new) for fix in self.fixed.fixes]


class Verified(NamedTuple):
    """The verdicts on texts."""

    verdicts: list[Verdict]
    #: The corrections that were made, or with --affected-by those that `--fix` would make; None: not wanted.
    fixes: list[FixShape] | None = None
    waiting: Sequence[Correction] = ()
    #: The commit that `--affected-by` compares with, and why nothing was compared.
    base: str = ""
    problem: str = ""


def sources_of(root: Path, wanted: Check | Verify) -> Sources:
    """Open what the claims are checked against."""
    transcripts = read_transcripts(map(Path, wanted.transcripts))
    if isinstance(wanted, Verify):
        return open_sources(root, rev=wanted.rev, transcripts=transcripts)
    receipts = list(map(Path, wanted.receipts))
    return open_sources(root, rev=wanted.rev, transcripts=transcripts, receipts=receipts)


def check_texts(texts: Iterable[NamedText], options: Options, sources: Sources) -> Iterator[Verdict]:
    """Yield the verdicts on texts."""
    for text in texts:
        for verdict in check_text(text.source, text.name if text.is_document else "-", options, sources):
            yield replace(verdict, path=text.name)


def verify_texts(root: Path, wanted: Verify, texts: Iterable[NamedText]) -> Verified:
    """Return whether the claims of texts hold in a checkout.

    Corrections are found, if they are wanted, and not written.
    """
    options = verify_options(wanted)
    change = change_since(root, wanted.affected_by) if wanted.affected_by is not None else None
    verdicts: list[Verdict] = []
    proposed: list[FixShape] = []
    waiting: list[Correction] = []
    with ExitStack() as opened:
        sources, affected = sources_of(root, wanted), None
        if change is not None:
            before = opened.enter_context(closing(Commit(root, change.base)))
            sources = replace(sources, before=before)
            affected = AffectedClaims(before, change, options, sources, partial(_path_in, root))
        opened.enter_context(sources)
        for text in texts:
            if affected is not None:
                found = affected.check(text.source, text.name)
                verdicts += found.verdicts
                proposed += _proposed(text, found, options, sources) if wanted.form == "json" else []
            elif wanted.fix and text.file is not None:
                fixed = fix_source(text.source, text.name, options, sources)
                verdicts += fixed.before
                waiting += [Correction(text, fixed)] if fixed.fixes else []
            else:
                verdicts += check_texts([text], options, sources)
    has_fixes = wanted.fix or (change is not None and wanted.form == "json")
    base, problem = (change.base, change.problem) if change is not None else ("", "")
    problem = problem if all(verdict.accepted for verdict in verdicts) else ""  # an untracked document is compared
    return Verified(verdicts, proposed if has_fixes else None, waiting, base, problem)


def _path_in(root: Path, name: str) -> str:
    """Return the path of a document from the root of the checkout."""
    return os.path.relpath(os.path.realpath(name), os.path.realpath(root)).replace(os.sep, "/")


def _proposed(text: NamedText, affected: Affected, options: Options, sources: Sources) -> list[FixShape]:
    """Return what `--fix` would correct of the reported claims."""
    claims = (claim for verdict in affected.verdicts for claim in verdict.evidence.checked)
    reported = {(claim.at, claim.text) for claim in claims}
    if text.file is None or not reported:
        return []
    fixed = fix_source(text.source, text.name, options, sources, affected.whole)
    chosen = [fix for fix in fixed.fixes if (fix.line, fix.old) in reported]
    return Correction(text, fixed._replace(fixes=chosen)).shapes


def write_corrections(verified: Verified) -> Verified:
    """Write the corrections, and return the verdicts on the corrected files."""
    fixes: list[FixShape] = []
    after: dict[str, list[Verdict]] = {}
    for waiting in verified.waiting:
        text, fixed = waiting
        write_fixed(text.file or Path(text.name), text.source, fixed.text)
        after[text.name] = fixed.verdicts
        fixes += waiting.shapes
    names = dict.fromkeys(verdict.path for verdict in verified.verdicts)
    before = {name: [one for one in verified.verdicts if one.path == name] for name in names}
    return Verified([one for name in names for one in after.get(name, before[name])], fixes)


def check_document(folders: Folders, wanted: Check) -> CheckShape:
    """Check the results in a document, as `remit check` does."""
    options, root = check_options(wanted, load(folders.start)), folders.folder(wanted.repo or ".")
    text = _text_of(folders, wanted)
    with sources_of(root, wanted) as sources:
        return check_shape(list(check_texts([text], options, sources)), str(root))


def verify_document(folders: Folders, wanted: Verify) -> CheckShape:
    """Check the claims of any text, as `remit verify` does."""
    root = folders.folder(wanted.repo or ".")
    return check_shape(verify_texts(root, wanted, [_text_of(folders, wanted)]).verdicts, str(root))


def _text_of(folders: Folders, wanted: Check | Verify) -> NamedText:
    # A text that was sent is not a document of the checkout, under any name.
    return NamedText(wanted.path, folders.text(wanted.text, wanted.path), is_document=wanted.text is None)
