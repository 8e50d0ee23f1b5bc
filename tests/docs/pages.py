"""The pages of the documentation, split into parts to test: fenced blocks, links, headings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^ {0,3}(`{3,})[ \t]*(\S*)[^`\n]*$")
_COMMENT = re.compile(r"^<!--\s*(.*?)\s*-->$")
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*$")


class Block(NamedTuple):
    """A fenced block; `notes` are the notes in the comment above it, by name."""

    page: str
    line: int
    language: str
    text: str
    notes: dict[str, str]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


class Page(NamedTuple):
    """A page by its path from the root of the project."""

    name: str
    text: str

    @property
    def blocks(self) -> list[Block]:
        """Return its fenced blocks in order."""
        return _cut(self)[0]

    @property
    def prose(self) -> str:
        """Return the page without its fenced blocks."""
        return _cut(self)[1]

    @property
    def links(self) -> list[str]:
        """Return the targets of its links; code spans contain no links."""
        return _LINK.findall(re.sub(r"`[^`\n]*`", "", self.prose))

    @property
    def anchors(self) -> set[str]:
        """Return the anchors of its headings."""
        headings = [found[2] for line in self.prose.split("\n") if (found := _HEADING.match(line))]
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def section(self, heading: str) -> str:
        """Return the text under a heading, down to the next one of its level or above; empty if it does not exist."""
        lines = self.text.split("\n")
        if heading not in lines:
            return ""
        start = lines.index(heading) + 1
        level = len(heading.partition(" ")[0])
        fence = ""
        for at in range(start, len(lines)):
            mark = _FENCE.match(lines[at])
            if mark and not fence:
                fence = mark[1]
            elif mark and not mark[2] and len(mark[1]) >= len(fence):
                fence = ""
            elif not fence and (found := _HEADING.match(lines[at])) and len(found[1]) <= level:
                return "\n".join(lines[start:at])
        return "\n".join(lines[start:])


def page(name: str) -> Page:
    """Return a page by its path."""
    return Page(name, (ROOT / name).read_text(encoding="utf-8"))


def all_pages() -> list[Page]:
    """Return every page for people."""
    top = [
        name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "RELEASING.md")
        if (ROOT / name).is_file()
    ]
    return [
        page(name) for name in (*top, *(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs").rglob("*.md"))))
    ]


def _cut(whole: Page) -> tuple[list[Block], str]:
    blocks: list[Block] = []
    prose: list[str] = []
    fence: str | None = None
    own: list[str] = []
    begun, language, notes = 0, "", ""
    for number, line in enumerate(whole.text.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence is None and mark:
            fence, begun, language, own = mark[1], number, mark[2], []
            above = next((row for row in reversed(prose) if row.strip()), "")
            notes = found[1] if (found := _COMMENT.match(above.strip())) else ""
        elif fence is not None and mark and not mark[2] and len(mark[1]) >= len(fence):
            blocks.append(Block(whole.name, begun, language, "\n".join(own) + "\n", _notes(notes)))
            fence = None
            prose.append("(a block)")
        elif fence is not None:
            own.append(line)
        else:
            prose.append(line)
    assert fence is None, f"{whole.name}:{begun}: this fence is never closed"
    return blocks, "\n".join(prose)


def _notes(comment: str) -> dict[str, str]:
    pairs = (part.partition(":") for part in comment.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}
