"""Read permalinks: links to a file on a server that name a commit in the history of this checkout.

They are claims about that commit. No other link with a scheme is a claim.
"""

from __future__ import annotations

from urllib.parse import unquote

from msgspec.structs import replace

from remit.evidence.document import Segment
from remit.evidence.model import Claim
from remit.evidence.sources import Sources
from remit.lazy import lazy_pattern
from remit.workspace.files import Workspace

_LINK = lazy_pattern(
    r"https?://[\w.\-]{1,200}(?::\d{1,5})?(?:/[\w.\-~]{1,100}){1,10}?(?:/-)?/blob/([0-9a-f]{7,64})/"
    r"([^\s<>`\"'|()\[\]#?]{1,400})(?:\?[^\s<>`\"'|()\[\]#]{0,200})?"
    r"(?:#L(\d{1,9})(?:C\d{1,9})?(?:-L?(\d{1,9})(?:C\d{1,9})?)?)?"
)
#: A label of a link is not longer than this.
_MAX_LABEL = 300


def read_permalinks(segment: Segment, sources: Sources) -> tuple[Segment, list[Claim]]:
    """Return the segment without its permalinks, and their claims."""
    text, commits = segment.text, sources.commits
    if commits is None or "/blob/" not in text:
        return segment, []
    claims: list[Claim] = []
    pieces: list[str] = []
    done = 0
    for link in _LINK.finditer(text):
        name, path, line, last = link.groups()
        commit = commits.get(name, is_from_top=True)
        if commit is None or not commits.is_in_history(commit.id):
            continue
        address = link.group()
        if line is None:  # the end of a sentence
            address, path = address.rstrip(".,;:!"), path.rstrip(".,;:!")
        start, end = _link_span(text, link.start(), link.start() + len(address))
        path = unquote(path, errors="replace")
        claims.append(
            Claim(
                kind="path" if line is None else "place",
                text=address,
                at=segment.line,
                segment=segment,
                path=commit.normal(path) or path,
                line=int(line) if line else None,
                end_line=int(last) if last else None,
                start=start,
                end=end,
                commit=commit.id,
            )
        )
        pieces += (text[done:start], " " * (end - max(done, start)))
        done = end
    return (replace(segment, text="".join([*pieces, text[done:]])) if claims else segment), claims


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


def files_of(commit: str, sources: Sources) -> Workspace | None:
    """Return the files of a permalink's commit."""
    return sources.commits.get(commit, is_from_top=True) if sources.commits is not None else None
