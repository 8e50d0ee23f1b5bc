"""Reading the parts of sections: scores, labelled lines, bullets with a tail, boxes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remit.contract.escape import split_colon, unguard_lines, unguard_pipes
from remit.contract.headings import LABELS, column_index, fold, is_label
from remit.contract.model import (
    STATUSES,
    Blocker,
    Code,
    Confidence,
    Content,
    Count,
    ErrorDetails,
    Issue,
    Items,
    Justification,
    KeyReference,
    Override,
    Row,
    Score,
    Table,
    Tick,
)

_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)\*|\*(?!\w)")
_NUMBER = re.compile(r"^[~≈]?[ ]*([+-]?\d{1,9}(?:\.\d{1,9})?)(?!\d)[ ]*(?:%|/[ ]*100(?!\d))?")
_RANGE_AFTER = re.compile(r"^(?:[-–—]|\.\.| to )\d")
_AFTER_SCORE = re.compile(r"^[\s:：,;.–—-]+")
_HEADLINE_NAME = re.compile(r"^(?:overall |confidence )?(?:score|confidence|level)\s*[:：]\s*", re.IGNORECASE)
_LABELLED = re.compile(r"^(?:[-*+][ \t]+)?[*_`]{0,3}([^:：|]{1,60}?)[*_`]{0,3}[ \t]*[:：][ \t]*(.*)$")
_BOX = re.compile(r"^(?:[-*+][ \t]+)?\[([^\[\]]?)\][ \t]*(.*)$", re.DOTALL)
_TICKS = frozenset("xX✓✔✅☑")
_MARKED = re.compile(r"^([✅☑✔✓❌☐✗])️?[ \t]*(.*)$", re.DOTALL)
_DECORATION = re.compile(r"[\s*_`.!:：️]+|[\u2190-\u2bff\U0001f000-\U0001faff]")
_BRACKET = re.compile(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_UNGUARDED_PIPE = re.compile(r"(?<!\\)[|｜]")
_SEVERITY_INSIDE = re.compile(
    rf"[(\[]?[*_]{{0,2}}(?:{'|'.join(LABELS['severity'])})[*_]{{0,2}}[ \t]*[:：][ \t]*([^\s()\[\]|,;.]+)[)\]]?",
    re.IGNORECASE,
)

_NOTHING = frozenset(
    {
        "none",
        "n/a",
        "na",
        "nothing",
        "no issues",
        "no blockers",
        "none found",
        "なし",
        "該当なし",
        "无",
        "没有",
        "-",
        "",
    }
)


class Line(NamedTuple):
    """A line of a section, whatever block it stands in."""

    text: str
    line: int


def says_none(text: str) -> bool:
    """Whether an entry only says that there is nothing to say."""
    return fold(text).rstrip(".。") in _NOTHING


def is_not_applicable(score: Score | None) -> bool:
    """Whether `n/a` stands in place of a score."""
    return isinstance(score, str) and fold(score) in ("n/a", "na", "not applicable", "none", "-")


def plain(text: str) -> str:
    """Text without emphasis marks."""
    return _EMPHASIS.sub("", text).strip()


def lines_of(content: Iterable[Content]) -> Iterator[Line]:
    """Every line of a section; a row of a two-column table reads as `name: value`."""
    for part in content:
        if isinstance(part, Items):
            for item in part.items:
                yield from (Line(text, item.line + n) for n, text in enumerate(item.text.split("\n")) if text.strip())
        elif isinstance(part, Table):
            for row in (Row(cells=part.columns, line=part.line), *part.rows):
                yield Line(": ".join(cell for cell in map(unguard_pipes, row.cells) if cell), row.line)
        elif not isinstance(part, Code):
            yield from (Line(text, part.line + n) for n, text in enumerate(part.text.split("\n")) if text.strip())


def entries(content: Iterable[Content]) -> Iterator[Line]:
    """The entries of a list section: items, or whole paragraphs where an agent wrote no list."""
    for part in content:
        if isinstance(part, Items):
            yield from (Line(unguard_lines(item.text), item.line) for item in part.items if item.text)
        elif isinstance(part, Table):
            yield from (Line(" | ".join(map(unguard_pipes, row.cells)), row.line) for row in part.rows)
        elif part.text:
            yield Line(unguard_lines(part.text) if not isinstance(part, Code) else part.text, part.line)


def read_score(text: str) -> tuple[Score, str]:
    """A score and the words after it; words in place of a number stay words."""
    bare = plain(text)
    found = _NUMBER.match(bare)
    if not found or _RANGE_AFTER.match(bare[found.end() :]):
        word, _, rest = bare.partition(" - ")
        return word.strip(), rest.strip()
    rest = text[_raw_end(text, found.end()) :]
    rest = _AFTER_SCORE.sub("", rest).strip()
    return float(found.group(1)), _unwrap(rest)


def _raw_end(text: str, plain_end: int) -> int:
    """Where in `text` the first `plain_end` characters of `plain(text)` end."""
    if plain(text[:plain_end]) == text[:plain_end]:
        return plain_end
    for end in range(plain_end, min(len(text), plain_end + 16) + 1):
        if len(plain(text[:end])) >= plain_end and text[end : end + 1] not in "*_`":
            return end
    return len(text)


def _unwrap(text: str) -> str:
    return text[1:-1].strip() if text[:1] == "(" and text.find(")") == len(text) - 1 else text


def labelled(lines: Iterable[Line], keys: tuple[str, ...]) -> dict[str, Line]:
    """`Name: value` lines by key; lines without a name continue the value above them."""
    found: dict[str, Line] = {}
    current: str | None = None
    for text, line in lines:
        match = _LABELLED.match(text)
        key = next((key for key in keys if match and is_label(match.group(1), key)), None)
        if match and key is not None:
            current = key
            found.setdefault(key, Line(match.group(2).strip().strip("*").strip(), line))
        elif current is not None and match is None:
            found[current] = found[current]._replace(text=f"{found[current].text} {text.strip()}".strip())
    return found


def read_confidence(content: list[Content], line: int) -> Confidence | None:
    """The Confidence section, or None if it says nothing."""
    headline: list[str] = []
    parts: dict[str, tuple[Score, str]] = {}
    for text, _ in lines_of(content):
        match = _LABELLED.match(text)
        name = next((k for k in ("verified", "inferred", "combined") if match and is_label(match.group(1), k)), None)
        if match and name is not None:
            parts.setdefault(name, read_score(match.group(2)))
        else:
            headline.append(_HEADLINE_NAME.sub("", plain(text) if not headline else text).strip())
    if not headline and not parts:
        return None
    score, reason = read_score(headline[0]) if headline else parts.get("combined", ("", ""))
    reason = " ".join(filter(None, [reason, *headline[1:]]))
    verified, verified_reason = parts.get("verified", (None, ""))
    inferred, inferred_reason = parts.get("inferred", (None, ""))
    return Confidence(
        score=score,
        reason=reason,
        verified=verified,
        verified_reason=verified_reason,
        inferred=inferred,
        inferred_reason=inferred_reason,
        combined=parts.get("combined", (None, ""))[0],
        line=line,
    )


def read_justification(content: list[Content], line: int) -> Justification:
    """The Confidence Justification section."""
    found = labelled(lines_of(content), ("score", "evidence_count", "method", "blind_spots"))
    values = {key: value.text for key, value in found.items()}
    return Justification(
        score=read_score(values["score"])[0] if values.get("score") else None,
        evidence_count=read_score(values["evidence_count"])[0] if values.get("evidence_count") else None,
        method=values.get("method", ""),
        blind_spots=values.get("blind_spots", ""),
        line=line,
    )


def read_error(content: list[Content], line: int) -> ErrorDetails:
    """The Error Details section: a table of Aspect and Value, or labelled lines."""
    found = labelled(lines_of(content), ("error_type", "message", "occurred_at", "recoverable"))
    values = {key: value.text for key, value in found.items()}
    return ErrorDetails(
        type=values.get("error_type", ""),
        message=values.get("message", ""),
        occurred_at=values.get("occurred_at", ""),
        recoverable=values.get("recoverable", ""),
        line=line,
    )


def read_checklist(content: list[Content]) -> Iterator[Tick]:
    """Boxes, ticked or not; other lines are not boxes."""
    for text, line in entries(content):
        for offset, row in enumerate(text.split("\n")):
            if box := _BOX.match(row.strip()):
                yield Tick(text=box.group(2).strip(), ticked=box.group(1) in _TICKS, line=line + offset)
            elif mark := _MARKED.match(row.strip()):
                yield Tick(text=mark.group(2).strip(), ticked=mark.group(1) in _TICKS, line=line + offset)


def _tail(text: str, label: str) -> tuple[str, str]:
    """Split `words | Label: value`; the label may also begin a line of its own."""
    pipes = list(_UNGUARDED_PIPE.finditer(text))
    for pipe in reversed(pipes):
        match = _LABELLED.match(text[pipe.end() :].strip())
        if match and is_label(match.group(1), label):
            return text[: pipe.start()].strip(), match.group(2).strip()
    head, *rows = text.split("\n")
    for index, row in enumerate(rows):
        match = _LABELLED.match(row.strip())
        if match and is_label(match.group(1), label):
            others = [*rows[:index], *rows[index + 1 :]]
            return "\n".join([head, *others]).strip(), match.group(2).strip()
    return text, ""


def read_issues(content: list[Content]) -> Iterator[Issue]:
    """Bullets of Issues, or rows where an agent wrote a table."""
    for part in content:
        if isinstance(part, Table):
            yield from _issue_rows(part)
            continue
        for text, line in entries([part]):
            words, severity = _tail(text, "severity")
            if not severity and (found := _SEVERITY_INSIDE.search(words)):
                words, severity = (words[: found.start()] + words[found.end() :]).strip(), found.group(1)
            title, description = split_colon(words)
            yield Issue(
                title=unguard_pipes(title),
                description=unguard_pipes(description),
                severity=unguard_pipes(severity.strip("*_` ")),
                line=line,
            )


def _issue_rows(table: Table) -> Iterator[Issue]:
    where = {key: column_index(table.columns, key) for key in ("issue", "description", "severity")}
    for row in table.rows:
        cells = {key: unguard_pipes(row.cells[at]) if at is not None else "" for key, at in where.items()}
        title = cells["issue"] or unguard_pipes(row.cells[0])
        yield Issue(title=title, description=cells["description"], severity=cells["severity"], line=row.line)


def read_blockers(content: list[Content]) -> Iterator[Blocker]:
    """Bullets of Blockers, with their resolution on the same line or the next."""
    for text, line in entries(content):
        words, resolution = _tail(text, "resolution")
        yield Blocker(text=unguard_pipes(words), resolution=unguard_pipes(resolution), line=line)


def read_overrides(content: list[Content]) -> Iterator[Override]:
    """`- rule-name: reason`."""
    for text, line in entries(content):
        rule, reason = split_colon(text)
        yield Override(rule=plain(rule).lower(), reason=reason, line=line)


def read_counts(content: list[Content]) -> Iterator[Count]:
    """`- Critical: 2`, also several on one line."""
    for text, line in lines_of(content):
        for piece in re.split(r"[,;、|]", text):
            match = _LABELLED.match(piece.strip())
            number = _NUMBER.match(plain(match.group(2))) if match else None
            if match and number and number.group(1).isdigit():
                yield Count(severity=plain(match.group(1)), count=int(number.group(1)), line=line)


def read_references(content: list[Content]) -> Iterator[KeyReference]:
    """Rows of Key References; columns beyond the three are kept with the relevance."""
    for part in content:
        if not isinstance(part, Table):
            continue
        where = [column_index(part.columns, key) for key in ("item", "location", "relevance")]
        for row in part.rows:
            cells = [unguard_pipes(cell) for cell in row.cells]
            item, location, relevance = (cells[at] if at is not None else "" for at in where)
            others = [f"{part.columns[at]}: {cell}" for at, cell in enumerate(cells) if at not in where and cell]
            yield KeyReference(
                item=item, location=location, relevance="; ".join(filter(None, [relevance, *others])), line=row.line
            )


def read_status(text: str) -> tuple[str, bool]:
    """A status and whether it is written exactly; words that name no status come back as they are."""
    if text in STATUSES:
        return text, True
    word = _DECORATION.sub("", _BRACKET.sub("", text) or text.strip("[]()"))
    head = re.split(r"\s+[-–—:]\s+", text, maxsplit=1)[0]
    for candidate in (word, _DECORATION.sub("", head), _DECORATION.sub("", text.strip().strip("[]()"))):
        if candidate.upper() in STATUSES:
            return candidate.upper(), False
    return text, False
