"""Group the blocks of a document into named sections.

A heading is classified by its name first and by its level second, because agents choose levels freely.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec
from msgspec.structs import replace

from remit.contract.chunks import title_agent
from remit.contract.headings import SECTIONS, block_key, section_key
from remit.contract.kinds import is_known_agent
from remit.contract.outline import Head, Node
from remit.contract.result_data import STATUSES, Block, Content, Heading, Table, Text
from remit.lazy import lazy_pattern

_BOLD = lazy_pattern(r"^[ ]{0,3}\*\*([^*\n]{1,80})\*\*[ \t]*[:：]?[ \t]*(.*)$")
_STATUS = lazy_pattern(
    rf"^(?:{'|'.join(SECTIONS['status'])})[ \t]*[:：][\s*_`]*(?:{'|'.join(STATUSES)})\b", re.IGNORECASE | re.MULTILINE
)
_NAMED_VALUE = lazy_pattern(r"^([^:：]{1,80})[:：][ \t]*(.*)$")


class Section(msgspec.Struct, frozen=True):
    """A section as written. `key` is None if the contract does not define the heading.

    `heading` is empty for content before the first heading, and for Findings that have blocks but no heading.
    """

    key: str | None
    heading: str
    line: int
    content: list[Content]
    blocks: list[Block]

    def tables(self) -> list[Table]:
        """Return the tables of the section."""
        return [part for part in self.content if isinstance(part, Table)]


class Outline(msgspec.Struct, frozen=True):
    """A result's title and sections."""

    agent: str | None
    title_line: int
    sections: list[Section]
    #: All blocks of the text in order, including those before the title.
    nodes: list[Node]

    def get(self, key: str) -> Section | None:
        """Return the section with that key, or None."""
        return next((section for section in self.sections if section.key == key), None)


def arrange(nodes: list[Node], first_line: int, *, is_whole: bool = False) -> Outline:
    """Assign blocks to their headings. Repeated sections are joined.

    What is before the title is left out, unless the nodes are a whole text. Then a title is a heading like others, and
    it names an agent only if the text has a Status.
    """
    agent, title_line, rest = _take_title(nodes, first_line)
    sections = _Arranger(_bold_to_heads(nodes if is_whole else rest)).arrange()
    if is_whole and not any(section.key == "status" for section in sections):
        agent, title_line = None, first_line
    return Outline(agent, title_line, sections, nodes)


def split_name(heading: str) -> tuple[str, str]:
    """Split `Status: SUCCESS` into name and value; return other headings unchanged with an empty value."""
    match = _NAMED_VALUE.match(heading)
    if match and section_key(match.group(1)):
        return match.group(1).strip(), match.group(2).strip().strip("*").strip()
    return heading, ""


def _take_title(nodes: list[Node], first_line: int) -> tuple[str | None, int, list[Node]]:
    named = False  # after the first section heading, bold text belongs to that section
    for index, node in enumerate(nodes):
        if isinstance(node, Head):
            agent = title_agent(node.text) if node.level <= 2 else None
            if agent is not None and (
                is_known_agent(agent) or _is_first(nodes, index) or _has_status(nodes, index + 1)
            ):
                return agent, node.line, nodes[index + 1 :]
            named = named or _any_key(split_name(node.text)[0]) is not None
        elif isinstance(node, Text) and not named:
            line, _, after = node.text.partition("\n")
            agent = _bold_title(line)
            if agent is not None and (is_known_agent(agent) or _has_status(nodes, index + 1, after)):
                rest: list[Node] = [Text(text=after, line=node.line + 1)] if after else []
                return agent, node.line, rest + nodes[index + 1 :]
            named = bool(_bold_lines(node))
    return None, first_line, nodes


def _has_status(nodes: list[Node], start: int, after: str = "") -> bool:
    """Return whether a Status follows a title, in the text `after` it or in the nodes before the next title."""
    if after and _states_status(Text(text=after)):
        return True
    for index in range(start, len(nodes)):
        node = nodes[index]
        if isinstance(node, Head):
            if section_key(split_name(node.text)[0]) == "status":
                return True
            if node.level <= 2 and title_agent(node.text) is not None:
                return False
        elif isinstance(node, Text):
            if _bold_title(node.text.partition("\n")[0]) is not None:
                return False
            if _states_status(node):
                return True
    return False


def _is_first(nodes: list[Node], index: int) -> bool:
    """Return whether a title is the first line of a text that has sections: then only its Status can be missing."""
    return index == 0 and any(isinstance(node, Head) and section_key(split_name(node.text)[0]) for node in nodes)


def _states_status(node: Text) -> bool:
    return any(key == "section:status" for _, key, _ in _bold_lines(node)) or bool(_STATUS.search(node.text))


def _bold_title(line: str) -> str | None:
    match = _BOLD.match(line)
    return title_agent(match.group(1)) if match and not match.group(2) else None


def _bold_to_heads(nodes: list[Node]) -> list[Node]:
    """Turn `**Summary:** text` into a heading if it occurs once and no heading has that name."""
    taken = {key for node in nodes if isinstance(node, Head) and (key := _any_key(split_name(node.text)[0]))}
    times_by_key = Counter(key for node in nodes if isinstance(node, Text) for _, key, _ in _bold_lines(node))
    wanted = {key for key, times in times_by_key.items() if times == 1 and key not in taken}
    if not wanted:
        return nodes
    result: list[Node] = []
    inside_findings = False
    for node in nodes:
        if isinstance(node, Head):
            key = _any_key(split_name(node.text)[0])
            if key is not None:
                inside_findings = key.startswith("block:") or key == "section:findings"
        if isinstance(node, Text):
            keys = {key for key in wanted if key.startswith("block:") or not inside_findings}
            result.extend(_split_text(node, keys))
        else:
            result.append(node)
    return result


def _any_key(heading: str) -> str | None:
    if key := section_key(heading):
        return f"section:{key}"
    if key := block_key(heading):
        return f"block:{key}"
    return None


def _bold_lines(node: Text) -> list[tuple[int, str, re.Match[str]]]:
    if "**" not in node.text:
        return []
    lines = []
    for offset, line in enumerate(node.text.split("\n")):
        match = _BOLD.match(line)
        key = _any_key(match.group(1)) if match else None
        if match and key and (key.startswith("section:") or not match.group(2)):
            lines.append((offset, key, match))
    return lines


def _split_text(node: Text, keys: set[str]) -> list[Node]:
    marks = [(offset, key, match) for offset, key, match in _bold_lines(node) if key in keys]
    if not marks:
        return [node]
    lines = node.text.split("\n")
    pieces: list[Node] = []
    if marks[0][0] > 0:
        pieces.append(Text(text="\n".join(lines[: marks[0][0]]), line=node.line))
    for (offset, key, match), following in zip(marks, [*(m[0] for m in marks[1:]), len(lines)], strict=True):
        level = 3 if key.startswith("section:") else 4
        pieces.append(Head(level, match.group(1).strip().rstrip(":："), node.line + offset))
        lines_of_piece = [match.group(2), *lines[offset + 1 : following]]
        skipped = 0 if match.group(2) else 1
        if any(line.strip() for line in lines_of_piece):
            pieces.append(Text(text="\n".join(lines_of_piece[skipped:]).strip(), line=node.line + offset + skipped))
    return pieces


class _Arranger:
    """One pass over the nodes of a result, below its title."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._section_level = self._shallowest_levels()
        self._sections: dict[object, Section] = {}
        self._current: Section | None = None
        self._level = 0
        self._block_level = 0
        self._blocks: list[tuple[str, int, list[Content]]] = []
        self._loose: list[Content] = []

    def arrange(self) -> list[Section]:
        for node in self._nodes:
            if isinstance(node, Head):
                self._take_head(node)
            else:
                self._add(node)
        if "findings" in self._sections:
            loose = [("", self._loose[0].line, self._loose)] if self._loose else []
            blocks = (
                Block(heading=name, line=line, content=tuple(content))
                for name, line, content in (*loose, *self._blocks)
            )
            self._sections["findings"].blocks.extend(blocks)
        return list(self._sections.values())

    def _shallowest_levels(self) -> dict[str, int]:
        levels: dict[str, int] = {}
        for node in self._nodes:
            if isinstance(node, Head) and (key := section_key(split_name(node.text)[0])):
                levels[key] = min(levels.get(key, 9), node.level)
        return levels

    def _take_head(self, head: Head) -> None:
        name, value = split_name(head.text)
        key = section_key(name)
        if key is not None and head.level == self._section_level[key]:
            self._open(key, name, head)
            if value:
                self._add(Text(text=value, line=head.line))
        elif block_key(head.text) and (
            self._in_findings() or head.level <= self._level or "findings" not in self._section_level
        ):
            if not self._in_findings():
                self._open("findings", "", head)
                self._level = head.level - 1
            self._open_block(head)
        elif self._current is not None and self._is_named() and head.level > self._level:
            if self._in_findings() and (not self._block_level or head.level <= self._block_level):
                self._open_block(head)
            else:
                self._add(Heading(text=head.text, line=head.line))
        else:
            self._open(None, head.text, head)

    def _is_named(self) -> bool:
        return self._current is not None and bool(self._current.key or self._current.heading)

    def _in_findings(self) -> bool:
        return self._current is not None and self._current.key == "findings"

    def _open(self, key: str | None, heading: str, head: Head) -> None:
        identity: object = key or (heading, head.line)
        section = self._sections.get(identity)
        if section is None:
            section = self._sections[identity] = Section(key, heading, head.line, [], [])
        elif heading and not section.heading:
            section = self._sections[identity] = replace(section, heading=heading, line=head.line)
        self._current, self._level, self._block_level = section, head.level, 0

    def _open_block(self, head: Head) -> None:
        self._blocks.append((head.text, head.line, []))
        self._block_level = head.level

    def _add(self, content: Content) -> None:
        if self._current is None:
            self._current = self._sections[None] = Section(None, "", content.line, [], [])
        self._current.content.append(content)
        if self._current.key == "findings":
            (self._blocks[-1][2] if self._block_level else self._loose).append(content)


def has_bold_name(text: str) -> bool:
    """Return whether a bold line of the text would be read as a section or block name, or the first as a title."""
    return "**" in text and (bool(_bold_lines(Text(text=text))) or _bold_title(text.partition("\n")[0]) is not None)
