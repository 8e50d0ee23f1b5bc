"""Write a result in its canonical Markdown form and in its JSON form.

Text is written unchanged if it reads back as the same text; otherwise its lines are escaped with backslashes.
Therefore `parse(render(r)) == r` for every result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from remit.contract import outline
from remit.contract.chunks import is_self_contained
from remit.contract.escape import (
    clean,
    guard_cell,
    guard_heading,
    guard_lines,
    guard_pipes,
    join_colon,
    unguard_lines,
)
from remit.contract.headings import SECTIONS, block_key, section_key
from remit.contract.kinds import is_known_agent
from remit.contract.lines import split_tail
from remit.contract.result_data import (
    SCHEMA,
    Block,
    Blocker,
    Code,
    Confidence,
    Content,
    ErrorDetails,
    Issue,
    Item,
    Items,
    Justification,
    Result,
    Row,
    Score,
    Table,
    Text,
    without_lines,
)
from remit.contract.section_fields import is_bare_headline, split_severity
from remit.contract.sections import has_bold_name, split_name
from remit.lazy import lazy_pattern

#: An unclosed comment hides everything after it.
_COMMENT = lazy_pattern(r"^[ \t]*+<!--", re.MULTILINE)
#: Characters at the start of a text that is not Markdown: JSON, or a byte order mark.
_OTHER_FORMS = ("{", "[", "\ufeff")


def render(result: Result) -> str:
    """Return the canonical Markdown form."""
    text = "\n\n".join(_pieces(result)) + "\n"
    return "\\" + text if text.startswith(_OTHER_FORMS) else text


def to_json(result: Result) -> bytes:
    """Return the JSON form, which follows the schema that `remit prompt --schema` prints."""
    return msgspec.json.encode({"schema": SCHEMA} | msgspec.to_builtins(without_lines(result)))


def format_number(score: Score | None) -> str:
    """Return a score without `.0` and without an exponent."""
    if isinstance(score, str) or score is None:
        return score or ""
    text = repr(score)
    return f"{score:.9f}".rstrip("0").rstrip(".") if "e" in text else text.removesuffix(".0")


def _pieces(result: Result) -> Iterator[str]:
    if result.agent:
        yield f"## {_one_line(result.agent)} Result"
    for extra in result.extra[:1]:
        if not extra.heading and extra.content:
            yield _content(extra.content, 4)
    for key, body in _sections(result):
        # Without a status, the title of an agent that the contract does not name would not be read as one.
        if body or (key == "status" and result.agent and not is_known_agent(result.agent)):
            yield f"### {SECTIONS[key][0]}\n{body}"
    for extra in result.extra:
        if extra.heading:
            yield "\n\n".join(filter(None, [f"### {_heading(extra.heading)}", _content(extra.content, 4)]))


def _sections(result: Result) -> Iterator[tuple[str, str]]:
    yield "status", _paragraph(_one_line(result.status))
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
    boxes = (f"[{'x' if tick.ticked else ' '}] {_one_line(tick.text)}" for tick in result.checklist)
    yield "checklist", _bullets(boxes)
    yield "issues", _bullets(map(_issue, result.issues))
    counts = (f"{_one_line(count.severity)}: {count.count}" for count in result.severity_summary)
    yield "severity_summary", _bullets(counts)
    yield "blockers", _bullets(map(_blocker, result.blockers))
    yield "error", _error(result.error) if result.error else ""
    yield "attempted_actions", _bullets(result.attempted_actions, ordered=True)
    yield "root_cause", _free(result.root_cause)
    yield "recovery_options", _bullets(result.recovery_options, ordered=True)
    yield "tradeoffs", _bullets(result.tradeoffs)
    yield "insights", _bullets(result.insights)
    yield "next_steps", _bullets(result.next_steps, ordered=True)
    yield "overrides", _bullets(join_colon(override.rule, override.reason) for override in result.overrides)


def _one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, text.split("\n")))) if "\n" in text else text


def _issue(issue: Issue) -> str:
    words = join_colon(guard_pipes(issue.title), guard_pipes(issue.description))
    stated = bool(issue.severity) or split_severity(words)[1] is not None
    return _with_tail(words, "Severity", issue.severity) if stated else words


def _blocker(blocker: Blocker) -> str:
    words = guard_pipes(blocker.text)
    stated = bool(blocker.resolution) or split_tail(words, "resolution")[1] is not None
    return _with_tail(words, "Resolution", blocker.resolution) if stated else words


def _with_tail(words: str, label: str, value: str) -> str:
    return f"{words} | {label}: {guard_pipes(_one_line(value))}".strip()


def _confidence(confidence: Confidence) -> str:
    headline = _score(confidence.score, confidence.reason)
    parts = [
        ("verified", confidence.verified, confidence.verified_reason),
        ("inferred", confidence.inferred, confidence.inferred_reason),
        ("combined", confidence.combined, ""),
    ]
    lines = [
        headline if is_bare_headline(headline) else f"Score: {headline}",
        *(f"{name}_confidence: {_score(value, why)}".strip() for name, value, why in parts if value is not None),
    ]
    return _paragraph("\n".join(filter(None, lines)))


def _score(score: Score, why: str) -> str:
    return (_one_line(format_number(score)) + (f" - {_one_line(why)}" if why else "")).strip()


def _justification(justification: Justification) -> str:
    fields = [
        ("Score", format_number(justification.score)),
        ("Evidence Count", format_number(justification.evidence_count)),
        ("Verification Method", justification.method),
        ("Potential Blind Spots", justification.blind_spots),
    ]
    return "\n".join(f"**{name}**: {_one_line(value)}".rstrip() for name, value in fields)


def _error(error: ErrorDetails) -> str:
    aspects = [
        ("Type", error.type),
        ("Message", error.message),
        ("Occurred At", error.occurred_at),
        ("Recoverable", error.recoverable),
    ]
    return _table(Table(columns=("Aspect", "Value"), rows=tuple(Row(cells=aspect) for aspect in aspects)))


def _block(block: Block) -> str:
    heading = f"#### {_heading(block.heading, of_block=True)}" if block.heading else ""
    return "\n\n".join(filter(None, [heading, _content(block.content, 5)]))


def _heading(text: str, *, of_block: bool = False) -> str:
    text = _one_line(text)
    taken = section_key(split_name(text)[0]) is not None or (not of_block and block_key(text) is not None)
    return guard_heading(text, taken=taken)


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


def free_text(content: Iterable[Content]) -> str:
    """Return content as the plain text of a field such as Summary, in a form that `_free` writes and reads back."""
    text = _plain_text(content)
    return text if _is_free(text) else _flat(text)


def _plain_text(content: Iterable[Content]) -> str:
    return "\n\n".join(part.text if isinstance(part, Text) else _content([part], 4) for part in content)


def _flat(text: str) -> str:
    """Return the text as paragraphs: no indentation, one blank line between them."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(map(str.strip, text.split("\n")))).strip()


def _free(text: str) -> str:
    return text if _is_free(text) else guard_lines(text)


def _is_free(text: str) -> bool:
    """Return whether a text with lists, tables and fences reads back unchanged."""
    nodes = [node for node in outline.read_outline(text) if not isinstance(node, outline.Head)]
    return _is_plain(text) and is_self_contained(text) and _plain_text(clean(nodes)) == text


def _is_plain(text: str) -> bool:
    return not has_bold_name(text) and not _COMMENT.search(text)


def _paragraph(text: str) -> str:
    if _is_plain(text) and unguard_lines(text) == text and outline.read_outline(text) == [Text(text=text)]:
        return text
    return guard_lines(text)


def _bullets(texts: Iterable[str], *, ordered: bool = False) -> str:
    items = tuple(Item(text=text) for text in texts)
    return _items(Items(items=items, ordered=ordered), "-") if items else ""


def _items(part: Items, marker: str) -> str:
    plain = _list_lines(part, marker, guarded=False)
    same = all(unguard_lines(item.text) == item.text for item in part.items)
    if same and is_self_contained(plain) and outline.read_outline(plain) == [part]:
        return plain
    return _list_lines(part, marker, guarded=True)


def _list_lines(part: Items, marker: str, *, guarded: bool) -> str:
    lines: list[str] = []
    for number, item in enumerate(part.items, 1):
        lead = (f"{number}. " if marker == "-" else f"{number}) ") if part.ordered else f"{marker} "
        text = guard_lines(item.text) if guarded else item.text
        first, *rest = text.split("\n")
        lines.append(lead + first)
        lines.extend(" " * len(lead) + line if line else "" for line in rest)
    return "\n".join(line.rstrip() for line in lines)


def _code(part: Code) -> str:
    info = _one_line(part.info)
    mark = "~" if "`" in info else "`"
    longest = max((len(run) for run in _runs(part.text, mark)), default=0)
    fence = mark * max(3, longest + 1)
    opening = f"{fence} {info}" if info.startswith(mark) else fence + info
    return f"{opening}\n{part.text}\n{fence}" if part.text else f"{opening}\n{fence}"


def _runs(text: str, mark: str) -> Iterator[str]:
    for line in text.split("\n"):
        bare = line.lstrip()
        yield bare[: len(bare) - len(bare.lstrip(mark))]


def _table(table: Table) -> str:
    rows = [table.columns, tuple("---" for _ in table.columns), *(row.cells for row in table.rows)]
    return "\n".join(f"| {' | '.join(guard_cell(_one_line(cell)) for cell in row)} |" for row in rows)
