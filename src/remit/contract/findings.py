"""The findings of a result: the rows of Issues Detected and the bullets of Issues.

Merging, conflicts and several rules use this list.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Literal

import msgspec

from remit.contract.headings import block_key, column_index
from remit.contract.kinds import CATEGORY_BY_PREFIX, slug
from remit.contract.lines import bare_text, is_none_text, plain_text
from remit.contract.nothing_found import is_none_row
from remit.contract.result_data import Block, Code, Content, Heading, Result, Table, Text
from remit.contract.section_fields import read_score
from remit.lazy import either, lazy_pattern

Severity = Literal["critical", "important", "minor"]

#: Raw word (lower case) -> severity. Never derived from confidence.
SEVERITIES: dict[str, Severity] = {
    "critical": "critical",
    "important": "important",
    "high": "important",
    "medium": "important",
    "minor": "minor",
    "low": "minor",
    "info": "minor",
}

CATEGORY_BY_AGENT = {
    "security-auditor": "security",
    "qa-engineer": "quality",
    "code-architect": "architecture",
    "system-architect": "architecture",
    "devops": "operations",
}

#: Words in a finding that state how certain its author is.
FLAG_WORDS = {
    "uncertain": lazy_pattern(r"\b(?:uncertain|unsure|not certain)\b|不確実|不确定", re.IGNORECASE),
    "assumed": lazy_pattern(r"\b(?:assumed|assuming|assumption)\b|仮定|推測|假设", re.IGNORECASE),
    "needs-corroboration": lazy_pattern(r"\bneeds[ -]corroboration\b|要確認|需要佐证", re.IGNORECASE),
}

#: One of these is in every such word, in lower case: most findings have none, and are not searched with expressions.
_FLAG_WORDS = (
    *("uncerta", "unsure", "not certa", "assum", "corrobora"),
    *("不確実", "不确定", "仮定", "推測", "假设", "要確認", "需要佐证"),
)

_ID = lazy_pattern(r"^([A-Za-z][A-Za-z0-9]{0,15}-?\d{1,6})\b")
#: A rule of a tool may have colons in its ID: `java:S2068`.
_MAX_COLONS = 4
_NO_LETTER = lazy_pattern(r"[^a-z]")
_PREFIX = lazy_pattern(r"^([A-Za-z]+)")
_DETAIL = lazy_pattern(rf"^[*_\s]*([A-Za-z][A-Za-z0-9]{{0,15}}-\d{{1,6}})\b[*_\s]*{either(':.-', '：', '–—')}?\s*(.*)$")


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One statement of a result about the code."""

    id: str
    title: str
    location: str
    severity: Severity | None
    severity_text: str
    confidence: float | None
    category: str
    flags: tuple[str, ...]
    line: int
    source: Literal["row", "bullet"]


class FindingDetail(msgspec.Struct, frozen=True):
    """The entry of Issue Details for one ID."""

    id: str
    title: str
    line: int
    content: tuple[Content, ...]

    @property
    def has_quote(self) -> bool:
        """Whether code is quoted."""
        return any(isinstance(part, Code) for part in self.content) or any(
            "code match:" in part.text.lower() for part in self.content if isinstance(part, Text)
        )


def severity_of(word: str) -> Severity | None:
    """Return the severity that a raw word stands for, or None."""
    if known := SEVERITIES.get(word.lower()):
        return known
    plain = plain_text(word).lower()
    return SEVERITIES.get(plain) or SEVERITIES.get(_NO_LETTER.sub("", plain))


def blocks(result: Result, key: str) -> list[Block]:
    """Return the blocks of Findings with that key."""
    return [block for block in result.findings if block_key(block.heading) == key]


def tables(result: Result, key: str) -> list[Table]:
    """Return the tables of the blocks with that key."""
    return [part for block in blocks(result, key) for part in block.content if isinstance(part, Table)]


def is_prose(block: Block) -> bool:
    """Return whether a block contains only paragraphs, such as "No issues were found"."""
    return all(isinstance(part, Text) for part in block.content)


def has_column(result: Result, key: str) -> bool:
    """Return whether the table of Issues Detected has that column."""
    return any(column_index(table.columns, key) is not None for table in tables(result, "issues_detected"))


def findings_of(result: Result) -> list[Finding]:
    """Return every finding, in document order."""
    findings = [finding for table in tables(result, "issues_detected") for finding in _rows(result, table)]
    for issue in result.issues:
        if is_none_text(issue.title) and not issue.description:
            continue
        title = bare_text(issue.title)
        match = _ID.match(title)
        name = match.group(1) if match and "-" in match.group(1) else ""
        words = f"{issue.title} {issue.description}"
        findings.append(
            Finding(
                id=name,
                title=title,
                location=issue.description,
                severity=severity_of(issue.severity),
                severity_text=issue.severity,
                confidence=None,
                category=category_of("", name, result.agent),
                flags=flags_in(words),
                line=issue.line,
                source="bullet",
            )
        )
    return findings


def _rows(result: Result, table: Table) -> list[Finding]:
    # A column that is missing is the empty cell after the last one.
    columns = ("id", "issue", "location", "severity", "confidence", "category")
    positions = [-1 if (column := column_index(table.columns, key)) is None else column for key in columns]
    may_flag = _may_flag(" ".join(chain.from_iterable(row.cells for row in table.rows)))
    findings = []
    for row in table.rows:
        if is_none_row(row):
            continue
        cells = (*row.cells, "")
        stated_id, title, location, severity, confidence, category = [cells[position] for position in positions]
        score = read_score(confidence)[0] if confidence else None
        name = plain_text(stated_id)
        findings.append(
            Finding(
                id=name,
                title=bare_text(title),
                location=location,
                severity=severity_of(severity),
                severity_text=severity,
                confidence=score if isinstance(score, float) else None,
                category=category_of(plain_text(category), name, result.agent),
                flags=flags_in(" ".join(row.cells)) if may_flag else (),
                line=row.line,
                source="row",
            )
        )
    return findings


def category_of(stated: str, name: str, agent: str) -> str:
    """Return a finding's category: its column, else the prefix of its ID, else the domain of its agent."""
    if stated:
        return stated.lower()
    prefix = _PREFIX.match(name)
    if prefix and "-" in name:
        return CATEGORY_BY_PREFIX.get(prefix.group(1).upper(), prefix.group(1).lower())
    return CATEGORY_BY_AGENT.get(slug(agent).rpartition(":")[2], "general")


def flags_in(words: str) -> tuple[str, ...]:
    """Return the flags whose words occur in a finding's text."""
    return tuple(flag for flag, pattern in FLAG_WORDS.items() if pattern.search(words)) if _may_flag(words) else ()


def _may_flag(words: str) -> bool:
    """Return whether a text may have words for a flag."""
    return any(word in words.casefold() for word in _FLAG_WORDS)


def details_of(result: Result) -> list[FindingDetail]:
    """Return the entries of Issue Details: an ID in bold or in a heading, and the content after it.

    An ID is `SEC-001`, or the ID of a row and a colon.
    """
    rows = _row_ids(result)
    details: list[FindingDetail] = []
    for block in blocks(result, "issue_details"):
        open_at: tuple[str, str, int] | None = None
        content: list[Content] = []
        for part in block.content:
            head = _detail_head(part, rows)
            if head:
                if open_at:
                    details.append(FindingDetail(*open_at, tuple(content)))
                open_at, content = (head[0], plain_text(head[1]), part.line), [part]
            elif open_at:
                content.append(part)
        if open_at:
            details.append(FindingDetail(*open_at, tuple(content)))
    return details


def _row_ids(result: Result) -> frozenset[str]:
    columns = [(table, column_index(table.columns, "id")) for table in tables(result, "issues_detected")]
    return frozenset(
        plain_text(row.cells[column]) for table, column in columns if column is not None for row in table.rows
    )


def _detail_head(part: Content, rows: frozenset[str]) -> tuple[str, str] | None:
    """Return the ID and the title that start an entry; None if the part does not."""
    if not isinstance(part, Heading) and not (isinstance(part, Text) and part.text.startswith(("**", "__"))):
        return None
    line = part.text.split("\n", 1)[0]
    text = plain_text(line)
    colon = text.find(":")
    for _ in range(_MAX_COLONS):
        if colon < 0:
            break
        if text[:colon] and text[:colon] in rows:
            return text[:colon], text[colon + 1 :]
        colon = text.find(":", colon + 1)
    match = _DETAIL.match(line)
    return (match.group(1), match.group(2)) if match else None
