"""The commit that a text states, and permalinks: references that name their commit.

A text is checked against the commit that the caller chose, else against the files on disk. The commit that it states
is its date: in its frontmatter (`git_commit:` or `commit:`), in its head (`**Commit:** 1183ca7`), or the one that most
of its GitHub and GitLab permalinks name. Without one, the date of a claim is the commit that last changed its line: a
claim that does not hold, but held then, is outdated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from remit.evidence.anchors import is_anchor
from remit.evidence.document import Segment
from remit.evidence.file_names import path_in_address
from remit.evidence.find_names import last_part
from remit.evidence.judge import HOLDING, judge
from remit.evidence.model import REFERENCES, Claim, Facts, Location, Then
from remit.evidence.read_commands import stated_commit
from remit.evidence.renamed_symbols import RenamedSymbol
from remit.evidence.sources import Sources
from remit.lazy import lazy_pattern
from remit.workspace.commit import Commits
from remit.workspace.definitions import defined_name
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.history import PROBLEMS, Held, Removal
from remit.workspace.project_documents import has_document_name, is_instruction

_LINK = lazy_pattern(
    r"https?://[\w.\-]{1,200}(?::\d{1,5})?((?:/[\w.\-~]{1,100}){1,10}?)(?:/-)?/(?:blob|blame|raw|src/(?:commit|branch))/"
    r"([^\s<>`\"'|()\[\]#?/]{1,200})/"
    r"([^\s<>`\"'|()\[\]#?]{1,400})(?:\?[^\s<>`\"'|()\[\]#]{0,200})?"
    r"(?:#L(\d{1,9})(?:C\d{1,9})?(?:-L?(\d{1,9})(?:C\d{1,9})?)?)?"
)
_COMMIT = lazy_pattern(r"[0-9a-f]{7,64}\Z")
#: A label of a link is not longer than this.
_MAX_LABEL = 300

Origin = Literal["--rev"]


class Revision(msgspec.Struct, frozen=True):
    """What a text was checked against. `commit` is None for the files on disk."""

    commit: str | None = None
    #: What named the commit; None: nothing did.
    source: Origin | None = None
    #: A commit that the text names and that the repository does not have.
    absent: str | None = None


class Permalink(msgspec.Struct, frozen=True):
    """A link to lines of a file on a server, and its position in a text. The label of a Markdown link is part of it."""

    start: int
    end: int
    text: str
    #: The repository on the server: `owner/name`.
    repository: str
    #: The commit; empty if the link names a branch or a tag.
    commit: str
    path: str
    line: int | None
    end_line: int | None
    #: What the link names in place of a commit: a branch or a tag.
    name: str = ""


#: The name of a release, which no one uses for a branch that changes: `v2.3.1`, `release-1.4.0`.
_VERSION = lazy_pattern(r"(?:[A-Za-z][\w.]{0,30}[-_])?[vV]?\d{1,5}(?:\.\d{1,5}){2}(?:[-.+]?[\w.\-]{1,30})?")


def links_in(text: str) -> Iterator[Permalink]:
    """Yield the links of a text to files on a server, in order."""
    if not any(part in text for part in ("/blob/", "/blame/", "/raw/", "/src/")):
        return
    for link in _LINK.finditer(text):
        repository, version, path, line, last = link.groups()
        address = link.group()
        if line is None:  # the end of a sentence
            address, path = address.rstrip(".,;:!"), path.rstrip(".,;:!")
        yield Permalink(
            *_link_span(text, link.start(), link.start() + len(address)),
            address,
            repository.strip("/"),
            version if _COMMIT.match(version) else "",
            unquote(path, errors="replace"),
            int(line) if line else None,
            int(last) if last else None,
            "" if _COMMIT.match(version) else version,
        )


def _link_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the Markdown link around an address, or of the address itself."""
    if text[start - 2 : start] != "](":
        return start, end
    depth = 0
    for position in range(start - 2, max(-1, start - _MAX_LABEL), -1):
        depth += {"]": 1, "[": -1}.get(text[position], 0)
        if not depth:
            closing = text.find(")", end, end + _MAX_LABEL)
            return position, closing + 1 if closing >= 0 else end
    return start, end


def choose_revision(text: str, sources: Sources) -> tuple[Revision, str | None]:
    """Return what a text is checked against, and the commit that it states as its date, if the repository has it."""
    if sources.workspace is None:
        return Revision(), None
    if sources.has_rev:
        return Revision(getattr(sources.workspace, "id", None), "--rev"), None
    absent = None
    for name, is_stated in _named_commits(text):
        commit = sources.commits.get(name) if sources.commits is not None else None
        if commit is not None:
            return Revision(), commit.id
        absent = absent or (name if is_stated else None)
    return Revision(absent=absent), None


def _named_commits(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the commits that a text names, the most likely first, and whether it states them as its own."""
    stated = stated_commit(text)
    if stated is not None:
        yield stated.lower(), True
    linked = Counter(link.commit for link in links_in(text) if link.commit)
    for name, _ in linked.most_common():
        yield name, False


class PermalinkReader:
    """Turns permalinks into claims at their commit. Lines of other repositories stay unchecked."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._workspace = sources.workspace
        #: Why a link is not looked up here, by its address.
        self._elsewhere: dict[str, str] = {}

    def extract(self, segment: Segment) -> tuple[Segment, list[Claim]]:
        """Return the claims of a segment's permalinks, and the segment without these links."""
        if self._workspace is None or "://" not in segment.text or (commits := self._sources.commits) is None:
            return segment, []
        text, done = segment.text, 0
        claims: list[Claim] = []
        pieces: list[str] = []
        for link in links_in(text):
            name = link.commit or (commits.tagged(link.name) if link.line is not None else "")
            commit = commits.get(name, is_from_top=True) if name else None
            why = self._why_elsewhere(link, commits) if commit is None else ""
            if commit is None and not why:
                continue
            pieces += (text[done : link.start], " " * (link.end - max(done, link.start)))
            done = link.end
            path = commit.normal(link.path) or link.path if commit is not None else link.text.partition("#")[0]
            if commit is None:
                self._elsewhere[path] = why
            claims.append(
                Claim(
                    kind="path" if link.line is None else "place",
                    text=link.text,
                    at=segment.line,
                    segment=segment,
                    path=path,
                    line=link.line,
                    end_line=link.end_line,
                    start=link.start,
                    end=link.end,
                    commit=commit.id if commit is not None else "",
                )
            )
        return (replace(segment, text="".join([*pieces, text[done:]])) if claims else segment), claims

    def _why_elsewhere(self, link: Permalink, commits: Commits) -> str:
        """Return why the lines of a link cannot be looked up here; empty if it is a link to a file of the checkout."""
        if link.line is None or self._workspace is None:
            return ""
        if commits.repositories and link.repository.lower() not in commits.repositories:
            return f"the link leads to another repository: {link.repository}"
        if link.commit and commits.has_git:
            return f"the repository has no commit {link.commit[:12]}"
        if _VERSION.fullmatch(link.name) and commits.has_git:
            return f"the repository has no tag {link.name}"
        if link.end - link.start > len(link.text) and path_in_address(link.text, self._workspace.exists):
            return ""
        return "the link does not name a commit of this repository"

    def workspace_at(self, commit: str) -> Workspace | None:
        """Return the files of a permalink's commit; None for a link that is not of this repository."""
        commits = self._sources.commits if commit else None
        return commits.get(commit, is_from_top=True) if commits is not None else None

    def facts_elsewhere(self, claim: Claim) -> Facts:
        """Return the facts about a link that cannot be looked up here."""
        return Facts(state="elsewhere", elsewhere=self._elsewhere.get(claim.path, "the link leads elsewhere"))


#: At most this many commits of one document are looked at, those of most claims first.
_MAX_COMMITS = 40
#: Returns the facts of claims in another tree of files.
LookIn = Callable[[Workspace, Sequence[Claim]], list[Facts]]


class Accused(NamedTuple):
    """An accused claim: its position in the list of all claims, and what the checkout shows."""

    at: int
    claim: Claim
    facts: Facts


class ClaimDates:
    """Finds out which accused claims of a document held when they were written."""

    def __init__(
        self, workspace: Workspace, sources: Sources, document: str | None, stated: str | None, look: LookIn
    ) -> None:
        self._workspace = workspace
        self._history = sources.history
        self._renames = sources.renames
        #: The path of the document in the checkout; None: it is not in it.
        self._document = document
        #: The commit that the text states as its own.
        self._stated = stated
        self._look = look

    @property
    def problem(self) -> str:
        """What the history cannot show; empty if it is complete."""
        return PROBLEMS[self._history.problem]

    @property
    def is_record(self) -> bool:
        """Whether the history shows that the document is a record: no one edits it after a few days."""
        if self._document is None or has_document_name(self._document) or is_instruction(self._document):
            return False
        return self._history.is_written_once(self._document)

    def ask(self, accused: Sequence[Accused]) -> dict[int, Then]:
        """Return when each claim held, by its position; a claim that never held is left out.

        Each call gets the whole time limit of the history.
        """
        self._history.restart()
        dates = self._dates(accused)
        held = self._held(accused, dates)
        gone = [
            accusation
            for accusation in accused
            if accusation.at not in held and accusation.facts.state == "missing" and accusation.claim.path
        ]
        return held | self._removed(gone, dates)

    def moved(self, short: Sequence[Accused]) -> dict[int, Then]:
        """Return the claims whose short path was a whole one when they were written, of a file that was renamed.

        A document that moved together with the file may still cite it from its own folder, and the name of a file
        alone still leads to the file if it kept its name.
        """
        dates = self._dates(short)
        dated = {claim.claim.path: dates[claim.at] for claim in short if claim.at in dates}
        removals = self._history.removed(dated, self._document or "", as_written=True) if dated else {}
        return {
            claim.at: self._then_moved(claim, removal, dates[claim.at])
            for claim in short
            if claim.at in dates
            and (removal := removals.get(claim.claim.path)) is not None
            and removal.renamed_to is not None
            and not (
                removal.renamed_to == claim.facts.path and self._still_leads_there(claim.claim.path, claim.facts.path)
            )
        }

    def _still_leads_there(self, written: str, path: str) -> bool:
        """Return whether a written path is only a name, or one from a folder that the document is in."""
        above = path.removesuffix(written)
        return "/" not in written or (self._document or "").startswith(above)

    def _then_moved(self, short: Accused, removal: Removal, commit: str) -> Then:
        """Return when a path was a whole one, and where its file or its line is today."""
        name, date = self._history.describe(commit)
        location = Location(removal.renamed_to or "")
        if short.claim.line is not None:
            line = self._history.follow(removal.path, short.claim.line, commit)
            location = Location(line.path, line.line) if line is not None else location
        subject = self._history.subject(removal.commit)
        return Then(name, date, removal.commit, location, subject, path=removal.path)

    def _dates(self, accused: Sequence[Accused]) -> dict[int, str]:
        """Return the commit of each claim, by its position; a claim that is not committed has none."""
        if self._stated is not None:
            return {accusation.at: self._stated for accusation in accused}
        if self._document is None:
            return {}
        lines = self._history.dates(self._document, {accusation.claim.at for accusation in accused})
        return {
            accusation.at: commit for accusation in accused if (commit := lines.get(accusation.claim.at)) is not None
        }

    def _held(self, accused: Sequence[Accused], dates: dict[int, str]) -> dict[int, Then]:
        """Return the claims that held at their commit or at its parent."""
        groups: dict[str, list[Accused]] = {}
        for accusation in accused:
            if accusation.at in dates:
                groups.setdefault(dates[accusation.at], []).append(accusation)
        chosen = sorted(groups, key=lambda commit: -len(groups[commit]))[:_MAX_COMMITS]
        held_claims: dict[int, tuple[Accused, Held]] = {}
        for commit in chosen:
            open_claims = groups[commit]
            for then in (commit, self._history.parent(commit)):
                if then is None or not open_claims:
                    continue
                holding = self._holding(open_claims, then)
                held_claims |= {accusation.at: (accusation, held) for accusation, held in holding}
                open_claims = [accusation for accusation in open_claims if accusation.at not in held_claims]
        asked = {at: _question(accusation, held) for at, (accusation, held) in held_claims.items() if held.path}
        changed = self._history.changed_in(asked.values())
        return {
            position: self._then(accusation, held, changed[asked[position]] if position in asked else "")
            for position, (accusation, held) in held_claims.items()
        }

    def _holding(self, accused: Sequence[Accused], commit: str) -> list[tuple[Accused, Held]]:
        files = self._history.files_at(commit)
        if files is None:
            return []
        changed = [accusation for accusation in accused if not self._is_unchanged(accusation, files)]
        past = self._look(files, [accusation.claim for accusation in changed])
        holding = []
        for accusation, facts in zip(changed, past, strict=True):
            if judge(accusation.claim, facts, strict=False).outcome in HOLDING:
                line = _line_of(accusation.claim, facts, files)
                path = facts.path or accusation.claim.path if _is_located(accusation.claim) else ""
                holding.append((accusation, Held(commit, path, line, accusation.claim.end_line)))
        return holding

    def _is_unchanged(self, accused: Accused, files: Workspace) -> bool:
        """Return whether the file of a claim was the same at a commit: then the claim did not hold there either."""
        facts = accused.facts
        if facts.state != "file" or facts.how != "written" or accused.claim.others or not _is_located(accused.claim):
            return False
        old, new = files.read(facts.path), self._workspace.read(facts.path)
        return isinstance(old, SourceFile) and isinstance(new, SourceFile) and old.text == new.text

    def _then(self, accused: Accused, held: Held, changed_in: str) -> Then:
        _, date = self._history.describe(held.commit)
        location: Location | None = None
        if held.path and held.line is not None:
            today = self._history.follow(held.path, held.line, held.commit)
            location = Location(today.path, today.line) if today is not None else None
        elif held.path:
            removal = self._history.removed({held.path: held.commit}, self._document or "").get(held.path)
            location = Location(removal.renamed_to) if removal is not None and removal.renamed_to else None
        code = accused.facts.code
        if location is None and code is not None and code.place in ("file", "other"):
            location = code.found
        name = accused.facts.name
        if location is None and name is not None and len(name.definitions) == 1:
            location = Location(accused.facts.path, name.definitions[0])
        renamed = self._renamed(accused, held)
        if renamed is not None:
            changed_in, location = renamed.commit, _place_of_renamed(accused.claim, held, location, renamed)
        return Then(
            held.commit,
            date,
            changed_in=changed_in,
            subject=self._history.subject(changed_in) if changed_in else "",
            found=location,
            path=held.path,
            name=renamed.name if renamed is not None else "",
        )

    def _renamed(self, accused: Accused, held: Held) -> RenamedSymbol | None:
        """Return what the symbol of a claim is called today, if it was renamed."""
        claim, facts = accused.claim, accused.facts
        is_symbol = claim.kind == "name" and not is_anchor(claim) and "|" not in claim.name
        has_name = facts.name is not None and facts.name.line is not None
        return self._renames.today(claim.name, held) if is_symbol and not has_name else None

    def _removed(self, gone: Sequence[Accused], dates: dict[int, str]) -> dict[int, Then]:
        """Return the claims on paths that the history has, and the checkout does not."""
        paths = {accusation.facts.path or accusation.claim.path: dates.get(accusation.at) for accusation in gone}
        removals = self._history.removed(paths, self._document or "") if paths else {}
        groups: dict[str, list[Accused]] = {}
        for accusation in gone:
            removal = removals.get(accusation.facts.path or accusation.claim.path)
            if removal is not None:
                groups.setdefault(removal.last_commit, []).append(accusation)
        chosen = sorted(groups, key=lambda commit: -len(groups[commit]))[:_MAX_COMMITS]
        holding = [pair for commit in chosen for pair in self._holding(groups[commit], commit)]
        past = {accusation.at: held for accusation, held in holding}
        removed: dict[int, Then] = {}
        for accusation in (accusation for members in groups.values() for accusation in members):
            removal = removals[accusation.facts.path or accusation.claim.path]
            held = past.get(accusation.at)
            today = Location(removal.renamed_to, held.line if held else None) if removal.renamed_to else None
            _, date = self._history.describe(removal.last_commit)
            subject = self._history.subject(removal.commit) if removal.commit else ""
            path = held.path if held else ""
            removed[accusation.at] = Then(removal.last_commit, date, removal.commit, today, subject, held is None, path)
        return removed


def _is_located(claim: Claim) -> bool:
    """Return whether a claim is about a file."""
    return claim.kind in REFERENCES or claim.kind == "quote"


def _question(accused: Accused, held: Held) -> Held:
    """Return a claim that held as one about its name, if its file does not have the name any more."""
    claim, name = accused.claim, accused.facts.name
    is_gone = claim.kind == "name" and name is not None and name.line is None and not is_anchor(claim)
    return Held(held.commit, held.path, name=last_part(claim.name)) if is_gone else held


def _place_of_renamed(claim: Claim, held: Held, followed: Location | None, renamed: RenamedSymbol) -> Location:
    """Return where a renamed symbol is: the cited line as far as it was followed, else that of the definition.

    Lines of a range are known only if the definition is as long as it was.
    """
    if claim.line is not None and claim.end_line is not None and not renamed.keeps_length:
        return Location(renamed.path)
    is_followed = followed is not None and followed.path == renamed.path and held.line is not None
    return followed if is_followed and followed is not None else Location(renamed.path, renamed.line)


def _line_of(claim: Claim, facts: Facts, files: Workspace) -> int | None:
    """Return the line of a claim that is followed: that of the quote or the cited one.

    If the cited line does not have the name of the claim, that of its definition is followed.
    """
    if facts.code is not None and facts.code.found is not None:
        return facts.code.found.line
    name, line = facts.name, claim.line
    file = files.read(facts.path)
    if name is None or name.line is None or line is None or claim.end_line is not None or isinstance(file, Absent):
        return line
    short = last_part(claim.name)
    if short in "".join(file.lines[line - 1 : line]):
        return line
    is_definition = name.is_definition or defined_name(file.lines[name.line - 1]) == short
    return name.line if is_definition else line
