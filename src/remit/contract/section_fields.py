"""Read the fields of sections: scores, labelled lines, bullets with a labelled tail, boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.contract.escape import split_colon, unguard_cell, unguard_pipes
from remit.contract.headings import LABELS, column_index, fold, is_label
from remit.contract.lines import (
    end_of_line,
    entries,
    label_and_value,
    labelled_values,
    lines_of,
    plain_text,
    split_tail,
)
from remit.contract.result_data import (
    STATUSES,
    Blocker,
    Confidence,
    Content,
    Count,
    ErrorDetails,
    Issue,
    Justification,
    KeyReference,
    Override,
    Score,
    Table,
    Tick,
)
from remit.lazy import lazy_pattern

_NUMBER = lazy_pattern(r"^[~≈]?[ ]*([+-]?\d{1,9}(?:\.\d{1,9})?)(?!\d)(?:[ ]*(?:%|/[ ]*100(?!\d)))?")
_MAX_DIGITS = 9
_RANGE_AFTER = lazy_pattern(r"^(?:[-–—]|\.\.| to )\d")
_AFTER_SCORE = lazy_pattern(r"^[\s:：,;.–—-]+")
_HEADLINE_NAME = lazy_pattern(
    r"^[*_]{0,2}(?:overall |confidence )?(?:score|confidence|level)[*_]{0,2}\s*+[:：][*_]{0,2}\s*",
    re.IGNORECASE,
)
_BOX = lazy_pattern(r"^(?:[-*+][ \t]+)?\[([^\[\]]?)\][ \t]*(.*)$", re.DOTALL)
_TICKS = frozenset("xX✓✔✅☑")
_MARKED = lazy_pattern(r"^([✅☑✔✓❌☐✗])️?[ \t]*(.*)$", re.DOTALL)
_DECORATION = lazy_pattern(r"[\s*_`.!:：️]+|[\u2190-\u2bff\U0001f000-\U0001faff]")
_BRACKET = lazy_pattern(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_STATUS_TAIL = lazy_pattern(r"(?<!\s)\s++[-–—:]\s")
_SEVERITY_INSIDE = lazy_pattern(
    rf"[(\[]?[*_]{{0,2}}(?:{'|'.join(LABELS['severity'])})[*_]{{0,2}}[ \t]*[:：][ \t]*([^\s()\[\]|,;.]+)[)\]]?",
    re.IGNORECASE,
)

#: Emphasis marks and every kind of blank around a word.
_AROUND = (
    "*_`\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def is_not_applicable(score: Score | None) -> bool:
    """Return whether a score is `n/a`."""
    words = ("n/a", "na", "not applicable", "none")
    return isinstance(score, str) and (score in ("-", "–", "—") or fold(score) in words)


def read_score(text: str) -> tuple[Score, str]:
    """Return a score and the text after it; words instead of a number are returned as they are."""
    if text.isdecimal() and len(text) <= _MAX_DIGITS:
        return float(text), ""
    bare = plain_text(text)
    match = _NUMBER.match(bare)
    if not match or _RANGE_AFTER.match(bare[match.end() :]):
        before, _, rest = text.partition(" - ")
        word = plain_text(before).removesuffix(" -").rstrip()
        return (word, rest.strip()) if word else (bare, "")
    rest = text[_raw_end(text, match.end()) :]
    if rest.startswith(" - "):
        return float(match.group(1)), rest[3:].strip()
    return float(match.group(1)), _unwrap(_AFTER_SCORE.sub("", rest).strip())


def _raw_end(text: str, plain_end: int) -> int:
    """Return the position in `text` at which the first `plain_end` characters of `plain_text(text)` end."""
    if plain_text(text[:plain_end]) == text[:plain_end]:
        return plain_end
    for end in range(plain_end, min(len(text), plain_end + 16) + 1):
        if len(plain_text(text[:end])) >= plain_end and text[end : end + 1] not in "*_`":
            return end
    return len(text)


def _unwrap(text: str) -> str:
    return text[1:-1].strip() if text[:1] == "(" and text.find(")") == len(text) - 1 else text


def _score_line(text: str) -> tuple[str, str]:
    """Return the part of the confidence that a line states ("" for the score itself), and its value."""
    match = label_and_value(text)
    for key in ("verified", "inferred", "combined"):
        if match and is_label(match[0], key):
            return key, match[1]
    return "", _HEADLINE_NAME.sub("", text).strip()


def is_bare_headline(text: str) -> bool:
    """Return whether the whole line is read as a score and its reason, without a name before it."""
    return _score_line(text) == ("", text)


def read_confidence(content: list[Content], line: int) -> Confidence | None:
    """Read the Confidence section; None if it is empty."""
    headline: list[str] = []
    parts: dict[str, tuple[Score, str]] = {}
    for text, _ in lines_of(content):
        name, value = _score_line(text)
        if name:
            parts.setdefault(name, read_score(value))
        elif plain_text(value):
            headline.append(text if headline else value)
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
    """Read the Confidence Justification section."""
    values = labelled_values(lines_of(content), ("score", "evidence_count", "method", "blind_spots"))
    return Justification(
        score=read_score(values["score"])[0] if values.get("score") else None,
        evidence_count=read_score(values["evidence_count"])[0] if values.get("evidence_count") else None,
        method=values.get("method", ""),
        blind_spots=values.get("blind_spots", ""),
        line=line,
    )


def read_error(content: list[Content], line: int) -> ErrorDetails:
    """Read the Error Details section: a table of Aspect and Value, or labelled lines."""
    values = labelled_values(lines_of(content), ("error_type", "message", "occurred_at", "recoverable"))
    return ErrorDetails(
        type=values.get("error_type", ""),
        message=values.get("message", ""),
        occurred_at=values.get("occurred_at", ""),
        recoverable=values.get("recoverable", ""),
        line=line,
    )


def read_checklist(content: list[Content]) -> Iterator[Tick]:
    """Yield the checkboxes, ticked or not; other lines are ignored."""
    for text, line in entries(content):
        for offset, row in enumerate(text.split("\n")):
            if box := _BOX.match(row.strip()):
                yield Tick(text=box.group(2).strip(), ticked=box.group(1) in _TICKS, line=line + offset)
            elif mark := _MARKED.match(row.strip()):
                yield Tick(text=mark.group(2).strip(), ticked=mark.group(1) in _TICKS, line=line + offset)


def split_severity(text: str) -> tuple[str, str | None]:
    """Split an issue's text from its severity, which may be anywhere in the text."""
    words, severity = split_tail(text, "severity")
    if severity is None and (match := _SEVERITY_INSIDE.search(words)):
        end = end_of_line(words, match.end())
        line = (words[: match.start()] + words[match.end() : end]).rstrip()
        return (line + words[end:]).strip(), match.group(1)
    return words, severity


def read_issues(content: list[Content]) -> Iterator[Issue]:
    """Yield the bullets of Issues, or the rows if the agent wrote a table."""
    for part in content:
        if isinstance(part, Table):
            yield from _issue_rows(part)
            continue
        for text, line in entries([part]):
            words, severity = split_severity(text)
            title, description = split_colon(words)
            severity = (severity or "").strip(_AROUND)
            if title or description or severity:
                yield Issue(
                    title=unguard_pipes(title),
                    description=unguard_pipes(description),
                    severity=unguard_pipes(severity),
                    line=line,
                )


def _issue_rows(table: Table) -> Iterator[Issue]:
    positions = {key: column_index(table.columns, key) for key in ("issue", "description", "severity")}
    for row in table.rows:
        cells = {
            key: unguard_cell(row.cells[column]) if column is not None else "" for key, column in positions.items()
        }
        title = cells["issue"] or unguard_cell(row.cells[0])
        severity = cells["severity"].strip(_AROUND)
        if title or cells["description"] or severity:
            yield Issue(title=title, description=cells["description"], severity=severity, line=row.line)


def read_blockers(content: list[Content]) -> Iterator[Blocker]:
    """Yield the bullets of Blockers, with their resolution on the same line or the next."""
    for text, line in entries(content):
        words, resolution = split_tail(text, "resolution")
        if words or resolution:
            yield Blocker(text=unguard_pipes(words), resolution=unguard_pipes(resolution or ""), line=line)


def read_overrides(content: list[Content]) -> Iterator[Override]:
    """Yield the overrides: `- rule-name: reason`."""
    for text, line in entries(content):
        words, reason = split_colon(text)
        rule = " ".join(plain_text(words).lower().split())
        if rule or reason:
            yield Override(rule=rule, reason=reason, line=line)


def read_counts(content: list[Content]) -> Iterator[Count]:
    """Yield the counts of `- Critical: 2`; a line may have several."""
    for text, line in lines_of(content):
        for piece in re.split("[,;|]", text.replace("、", ",")):
            match = label_and_value(piece.strip())
            number = _NUMBER.match(plain_text(match[1])) if match else None
            if match and number and number.group(1).isdigit():
                yield Count(severity=plain_text(match[0]).strip(_AROUND), count=int(number.group(1)), line=line)


def read_references(content: list[Content]) -> Iterator[KeyReference]:
    """Yield the rows of Key References; further columns are added to the relevance."""
    for part in content:
        if not isinstance(part, Table):
            continue
        positions = [column_index(part.columns, key) for key in ("item", "location", "relevance")]
        for row in part.rows:
            cells = [unguard_cell(cell) for cell in row.cells]
            item, location, relevance = (cells[column] if column is not None else "" for column in positions)
            others = [
                f"{part.columns[column]}: {cell}"
                for column, cell in enumerate(cells)
                if column not in positions and cell
            ]
            yield KeyReference(
                item=item, location=location, relevance="; ".join(filter(None, [relevance, *others])), line=row.line
            )


def read_status(text: str) -> tuple[str, bool]:
    """Return a status and whether it is written exactly; words that do not name a status are returned unchanged."""
    if text in STATUSES:
        return text, True
    word = _DECORATION.sub("", _BRACKET.sub("", text) or text.strip("[]()"))
    head = _STATUS_TAIL.split(text, maxsplit=1)[0]
    for candidate in (word, _DECORATION.sub("", head), _DECORATION.sub("", text.strip().strip("[]()"))):
        if candidate.upper() in STATUSES:
            return candidate.upper(), False
    return text, False
