"""The commit that a text refers to, and permalinks: references that name their commit.

A text is checked against the commit that the caller chose, else the one in its frontmatter (`git_commit:` or
`commit:`), else the one that most of its GitHub and GitLab permalinks name. A commit that the repository does not have
is not used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from remit.evidence.file_names import path_in_address
from remit.evidence.model import Reference
from remit.evidence.segments import Segment
from remit.evidence.sources import Sources
from remit.lazy import lazy_pattern
from remit.workspace.files import Workspace

if TYPE_CHECKING:
    from remit.workspace.commit import Commits

_FRONTMATTER = lazy_pattern(r"\A\s*---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_COMMIT_FIELD = lazy_pattern(
    r"^[ \t]*(?:git_commit|git-commit|commit)[ \t]*:[ \t]*[\"'`]?([0-9a-f]{7,64})[\"'`]?[ \t]*(?:#.*)?$",
    re.MULTILINE | re.IGNORECASE,
)
_LINK = lazy_pattern(
    r"https?://[\w.\-]{1,200}(?::\d{1,5})?((?:/[\w.\-~]{1,100}){1,10}?)(?:/-)?/(?:blob|blame|raw|src/(?:commit|branch))/"
    r"([^\s<>`\"'|()\[\]#?/]{1,200})/"
    r"([^\s<>`\"'|()\[\]#?]{1,400})(?:\?[^\s<>`\"'|()\[\]#]{0,200})?"
    r"(?:#L(\d{1,9})(?:C\d{1,9})?(?:-L?(\d{1,9})(?:C\d{1,9})?)?)?"
)
_COMMIT = lazy_pattern(r"[0-9a-f]{7,64}\Z")
#: A label of a link is not longer than this.
_MAX_LABEL = 300

Origin = Literal["--rev", "frontmatter", "permalinks"]


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


def links_in(text: str) -> Iterator[Permalink]:
    """Yield the links of a text to files on a server, in order."""
    if not any(part in text for part in ("/blob/", "/blame/", "/raw/", "/src/")):
        return
    from urllib.parse import unquote  # late import: few documents have permalinks

    for found in _LINK.finditer(text):
        repository, version, path, line, last = found.groups()
        address = found.group()
        if line is None:  # the end of a sentence
            address, path = address.rstrip(".,;:!"), path.rstrip(".,;:!")
        yield Permalink(
            *_link_span(text, found.start(), found.start() + len(address)),
            address,
            repository.strip("/"),
            version if _COMMIT.match(version) else "",
            unquote(path, errors="replace"),
            int(line) if line else None,
            int(last) if last else None,
        )


def _link_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the Markdown link around an address, or of the address itself."""
    if text[start - 2 : start] != "](":
        return start, end
    depth = 0
    for at in range(start - 2, max(-1, start - _MAX_LABEL), -1):
        depth += {"]": 1, "[": -1}.get(text[at], 0)
        if not depth:
            closing = text.find(")", end, end + _MAX_LABEL)
            return at, closing + 1 if closing >= 0 else end
    return start, end


def choose_revision(text: str, sources: Sources) -> tuple[Sources, Revision]:
    """Return the sources to check a text against: those of the commit that it names, if the repository has it."""
    if sources.workspace is None:
        return sources, Revision()
    if sources.has_rev:
        return sources, Revision(getattr(sources.workspace, "id", None), "--rev")
    absent = None
    for name, origin in _named_commits(text):
        found = sources.commits.get(name) if sources.commits is not None else None
        if found is not None:
            return sources.with_workspace(found), Revision(found.id, origin)
        absent = absent or (name if origin == "frontmatter" else None)
    return sources, Revision(absent=absent)


def _named_commits(text: str) -> Iterator[tuple[str, Origin]]:
    """Yield the commits that a text names, the most likely first."""
    head = _FRONTMATTER.match(text)
    if head and (field := _COMMIT_FIELD.search(head[1])):
        yield field[1].lower(), "frontmatter"
    linked = Counter(link.commit for link in links_in(text) if link.commit)
    for name, _ in linked.most_common():
        yield name, "permalinks"


class PermalinkReader:
    """Turns permalinks into references at their commit. Lines of other repositories stay unchecked."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._workspace = sources.workspace
        self._on_disk = sources.on_disk

    def extract(self, segment: Segment) -> tuple[Segment, list[Reference]]:
        """Return the references of a segment's permalinks, and the segment without these links."""
        if self._workspace is None or "://" not in segment.text or (commits := self._sources.commits) is None:
            return segment, []
        text, done = segment.text, 0
        found: list[Reference] = []
        pieces: list[str] = []
        for link in links_in(text):
            commit = commits.get(link.commit, is_from_top=True) if link.commit else None
            why = self._why_elsewhere(link, commits) if commit is None else ""
            if commit is None and not why:
                continue
            pieces += (text[done : link.start], " " * (link.end - max(done, link.start)))
            done = link.end
            path = commit.normal(link.path) or link.path if commit is not None else link.text.partition("#")[0]
            found.append(
                Reference(
                    text=link.text,
                    path=path,
                    line=link.line,
                    end_line=link.end_line,
                    at=segment.line,
                    row=segment.row,
                    section=segment.section,
                    block=segment.block,
                    commit=commit.id if commit is not None else None,
                    is_elsewhere=commit is None,
                    is_silent=commit is None,
                    why=why,
                )
            )
        return (replace(segment, text="".join([*pieces, text[done:]])) if found else segment), found

    def _why_elsewhere(self, link: Permalink, commits: Commits) -> str:
        """Return why the lines of a link cannot be looked up here; empty if it is a link to a file of the checkout."""
        if link.line is None or self._workspace is None:
            return ""
        if commits.repositories and link.repository.lower() not in commits.repositories:
            return f"the link leads to another repository: {link.repository}"
        if link.commit and commits.has_git:
            return f"the repository has no commit {link.commit[:12]}"
        if link.end - link.start > len(link.text) and path_in_address(link.text, self._workspace.exists):
            return ""
        return "the link does not name a commit of this repository"

    def workspace_of(self, reference: Reference) -> Workspace | None:
        """Return the files that a reference is looked up in: those of its own commit, else the workspace."""
        if reference.is_on_disk:
            return self._on_disk
        commits = self._sources.commits if reference.commit is not None else None
        if reference.commit is None or commits is None:
            return self._workspace
        return commits.get(reference.commit, is_from_top=True)
