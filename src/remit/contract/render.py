"""One canonical Markdown form of a result, and its JSON form.

Text is written as it is when it reads back as the same text; otherwise its lines are protected with
backslashes. So every result survives: `parse(render(r)) == r`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from remit.contract import outline
from remit.contract.chunks import title_agent
from remit.contract.escape import guard_colons, guard_lines, guard_pipes, unguard_lines
from remit.contract.headings import SECTIONS, block_key, section_key
from remit.contract.model import (
    SCHEMA,
    Block,
    Code,
    Confidence,
    Content,
    ErrorDetails,
    Item,
    Items,
    Justification,
    Result,
    Row,
    Score,
    Table,
    Text,
    placeless,
)
from remit.contract.sections import has_bold_name, split_name


def render(result: Result) -> str:
    """The canonical Markdown form."""
    return "\n\n".join(_pieces(result)) + "\n"


def to_json(result: Result) -> bytes:
    """The JSON form, the same schema that `remit schema result` prints."""
    return msgspec.json.encode({"schema": SCHEMA} | msgspec.to_builtins(placeless(result)))


def number(score: Score | None) -> str:
    """A score as people write it: no `.0`."""
    if isinstance(score, str) or score is None:
        return score or ""
    return str(int(score)) if score == int(score) else repr(score)


def _pieces(result: Result) -> Iterator[str]:
    if result.agent:
        yield f"## {result.agent} Result"
    for extra in result.extra[:1]:
        if not extra.heading and extra.content:
            yield _content(extra.content, 4)
    for key, body in _sections(result):
        if body:
            yield f"### {SECTIONS[key][0]}\n{body}"
    for extra in result.extra:
        if extra.heading:
            yield "\n\n".join(filter(None, [f"### {_heading(extra.heading)}", _content(extra.content, 4)]))


def _sections(result: Result) -> Iterator[tuple[str, str]]:
    yield "status", result.status
    yield "summary", _free(result.summary)
    yield "findings", "\n" + "\n\n".join(_block(block) for block in result.findings) if result.findings else ""
    yield (
        "references",
        _table(
            Table(
                columns=("Item", "Location", "Relevance"),
                rows=tuple(Row(cells=(ref.item, ref.location, ref.relevance)) for ref in result.references),
            )
        )
        if result.references
        else "",
    )
    yield "confidence", _confidence(result.confidence) if result.confidence else ""
    yield "justification", _justification(result.justification) if result.justification else ""
    yield "uncertainty", _free(result.uncertainty)
    yield "checklist", _bullets(f"[{'x' if tick.ticked else ' '}] {tick.text}" for tick in result.checklist)
    yield (
        "issues",
        _bullets(
            _with_tail(_named(issue.title, issue.description), "Severity", issue.severity) for issue in result.issues
        ),
    )
    yield "severity_summary", _bullets(f"{count.severity}: {count.count}" for count in result.severity_summary)
    yield (
        "blockers",
        _bullets(
            _with_tail(guard_pipes(blocker.text), "Resolution", blocker.resolution) for blocker in result.blockers
        ),
    )
    yield "error", _error(result.error) if result.error else ""
    yield "attempted_actions", _bullets(result.attempted_actions, ordered=True)
    yield "root_cause", _free(result.root_cause)
    yield "recovery_options", _bullets(result.recovery_options, ordered=True)
    yield "tradeoffs", _bullets(result.tradeoffs)
    yield "insights", _bullets(result.insights)
    yield "next_steps", _bullets(result.next_steps, ordered=True)
    yield "overrides", _bullets(_named(override.rule, override.reason) for override in result.overrides)


def _named(name: str, words: str) -> str:
    name = guard_colons(guard_pipes(name))
    return f"{name}: {guard_pipes(words)}" if words else name


def _with_tail(words: str, label: str, value: str) -> str:
    return f"{words} | {label}: {guard_pipes(value)}" if value else words


def _confidence(confidence: Confidence) -> str:
    headline = number(confidence.score) + (f" - {confidence.reason}" if confidence.reason else "")
    parts = [
        ("verified_confidence", confidence.verified, confidence.verified_reason),
        ("inferred_confidence", confidence.inferred, confidence.inferred_reason),
        ("combined_confidence", confidence.combined, ""),
    ]
    lines = [
        f"{name}: {number(value)}" + (f" ({why})" if why else "") for name, value, why in parts if value is not None
    ]
    return "\n".join([headline, *lines])


def _justification(justification: Justification) -> str:
    fields = [
        ("Score", number(justification.score)),
        ("Evidence Count", number(justification.evidence_count)),
        ("Verification Method", justification.method),
        ("Potential Blind Spots", justification.blind_spots),
    ]
    return "\n".join(f"**{name}**: {value}" for name, value in fields)


def _error(error: ErrorDetails) -> str:
    aspects = [
        ("Type", error.type),
        ("Message", error.message),
        ("Occurred At", error.occurred_at),
        ("Recoverable", error.recoverable),
    ]
    return _table(Table(columns=("Aspect", "Value"), rows=tuple(Row(cells=aspect) for aspect in aspects)))


def _block(block: Block) -> str:
    heading = f"#### {_heading(block.heading)}" if block.heading else ""
    return "\n\n".join(filter(None, [heading, _content(block.content, 5)]))


def _heading(text: str) -> str:
    taken = section_key(split_name(text)[0]) or title_agent(text) is not None
    text = "\\" + text if (taken and not block_key(text)) or unguard_lines("\\" + text) == text else text
    return text[:-1] + "\\#" if text.endswith("#") else text


def _content(content: Iterable[Content], level: int) -> str:
    pieces: list[str] = []
    marker = "-"
    before: Content | None = None
    for part in content:
        if isinstance(part, Items):
            follows = isinstance(before, Items) and before.ordered == part.ordered
            marker = ("*" if marker == "-" else "-") if follows else "-"
            pieces.append(_items(part, marker))
        elif isinstance(part, Text):
            pieces.append(_paragraph(part.text))
        elif isinstance(part, Code):
            pieces.append(_code(part))
        elif isinstance(part, Table):
            pieces.append(_table(part))
        else:
            pieces.append(f"{'#' * level} {_heading(part.text)}")
        before = part
    return "\n\n".join(pieces)


def text_of(content: Iterable[Content]) -> str:
    """Content as the plain text of a field such as Summary."""
    return _content_plain(content)


def _content_plain(content: Iterable[Content]) -> str:
    return "\n\n".join(part.text if isinstance(part, Text) else _content([part], 4) for part in content)


def _free(text: str) -> str:
    """Text of a section: paragraphs, perhaps lists."""
    if not text:
        return ""
    nodes = outline.read(text)
    safe = not any(isinstance(node, outline.Head) for node in nodes) and not has_bold_name(text)
    if safe and text_of(node for node in nodes if not isinstance(node, outline.Head)) == text == unguard_lines(text):
        return text
    return "\n\n".join(_paragraph(paragraph) for paragraph in text.split("\n\n"))


def _paragraph(text: str) -> str:
    if outline.read(text) == [Text(text=text)] and unguard_lines(text) == text and not has_bold_name(text):
        return text
    return guard_lines(text)


def _bullets(texts: Iterable[str], *, ordered: bool = False) -> str:
    items = tuple(Item(text=text) for text in texts)
    return _items(Items(items=items, ordered=ordered), "-") if items else ""


def _items(part: Items, marker: str) -> str:
    plain = _list_lines(part, marker, guarded=False)
    if outline.read(plain) == [part] and all(unguard_lines(item.text) == item.text for item in part.items):
        return plain
    return _list_lines(part, marker, guarded=True)


def _list_lines(part: Items, marker: str, *, guarded: bool) -> str:
    lines: list[str] = []
    for place, item in enumerate(part.items, 1):
        lead = (f"{place}. " if marker == "-" else f"{place}) ") if part.ordered else f"{marker} "
        text = guard_lines(item.text) if guarded else item.text
        first, *rest = text.split("\n")
        lines.append(lead + first)
        lines.extend(" " * len(lead) + line if line else "" for line in rest)
    return "\n".join(line.rstrip() for line in lines)


def _code(part: Code) -> str:
    mark = "~" if "`" in part.info else "`"
    longest = max((len(run) for run in _runs(part.text, mark)), default=0)
    fence = mark * max(3, longest + 1)
    return f"{fence}{part.info}\n{part.text}\n{fence}" if part.text else f"{fence}{part.info}\n{fence}"


def _runs(text: str, mark: str) -> Iterator[str]:
    for line in text.split("\n"):
        bare = line.lstrip()
        yield bare[: len(bare) - len(bare.lstrip(mark))]


def _table(table: Table) -> str:
    rows = [table.columns, tuple("---" for _ in table.columns), *(row.cells for row in table.rows)]
    return "\n".join(f"| {' | '.join(guard_pipes(cell.replace(chr(10), ' ')) for cell in row)} |" for row in rows)
