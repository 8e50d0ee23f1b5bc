"""The form that an agent fills in, and the detection of parts that were not filled in.

The form is generated from the kinds and headings, so the instructions and the checks cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from remit.contract.headings import BOXES, SECTIONS
from remit.contract.kinds import KINDS, BlockSpec, Kind
from remit.contract.lines import Line, lines_of
from remit.contract.parse import Document
from remit.contract.result_data import Code, Content, Items, Table
from remit.lazy import either, lazy_pattern

#: Placeholders of other templates: the first version of the contract, and earlier wordings of this form.
_FOREIGN = (
    "two or three sentences: what was done, what came of it", "a pattern and where it can be seen",
    "what was weighed", "what was decided and why", "number of places cited", "its message", "what it would take",
    "what stops you", "what you did", "rule-name", "true or false", "their mean", "path/to/file:line",
    "what would help", "Approach and Rationale",
    "Agent Name", "SUCCESS | PARTIAL | FAILED", "2-3 sentence summary of what was accomplished or found",
    "Structured content specific to agent type - see below", "Name", "Why important", "0-100", "Brief justification",
    "Issue 1", "Description", "critical/important/minor", "Recommended action 1", "Blocker description",
    "What's needed", "error category", "ErrorType", "Error message", "file:line or step", "true/false",
    "What was tried first", "What was tried second", "Final attempt before failure",
    "Analysis of why the error occurred", "Option 1", "Description of what's blocking progress",
    "What's needed to unblock", "X", "N", "N findings with direct code evidence", "How findings were verified",
    "What might have been missed", "Agent", "Summary", "Title", "Location", "file:line", "path", "Reason",
)  # fmt: skip

_BRACKETED = lazy_pattern(r"(?<![\w\]/\\!])\[([^\[\]\n]{1,120})\](?![(\[/\w])")
_GENERIC = lazy_pattern(r"^(?:\.{3}|…|todo\b.*|tbd|tba|your .*|insert .*|fill .*|placeholder.*)$", re.IGNORECASE)
_CODE_SPAN = lazy_pattern(r"`[^`\n]*`")
_LOCATION_SPAN = lazy_pattern(r"`(\[[^\[\]`\n]*(?:file:line|path/to/)[^\[\]`\n]*\])`")
_BOX = lazy_pattern(rf"^\s*(?:[-*+]\s+)?\[{either(' xX', '✓✔')}?\]")

AGENT_NAME = "[Agent Name]"
STATUS = "[SUCCESS | PARTIAL | FAILED]"
SUMMARY = "[two or three sentences: what you did and what the outcome is]"
SCORE = "[0-100]"
_SEVERITY = "[critical, important or minor]"
QUOTE = "[the quoted lines, copied exactly]"


def template(kind: Kind, *, scored: bool = True) -> str:
    """Return the form for one kind of result; `scored` adds the sections of the second version of the contract.

    A condition in brackets after a heading states when its part is needed.
    """
    parts = [f"## {AGENT_NAME} Result", f"### Status\n{STATUS}", f"### Summary\n{SUMMARY}"]
    if kind.name == "error":
        return "\n\n".join([*parts, error_template()]).replace(STATUS, "FAILED")
    if not kind.is_short:
        blocks = (_block(block, kind) for block in kind.blocks if block.key != "tradeoffs")
        body = "\n\n".join(blocks) or "[what you found, with file:line for each statement]"
        parts.append(f"### Findings\n\n{body}")
    rows = "| Item | Location | Relevance |\n| --- | --- | --- |"
    parts.append(f"### Key References\n{rows}\n| [name] | `[path/to/file:line]` | [why it matters] |")
    if not kind.is_short:
        parts += _scored_parts(scored=scored)
    if kind.name == "review":
        parts.append("### Severity Summary (if any)\n- Critical: [number]\n- Important: [number]\n- Minor: [number]")
    if kind.name == "design":
        parts.append("### Trade-offs Considered\n- [what you considered]: [what you decided and why]")
    if not kind.is_short:
        other = "without a row above" if kind.block("issues_detected") else "if any"
        issue = f"[issue]: [description] ([path/to/file.py:12]) | Severity: {_SEVERITY}"
        parts.append(f"### {SECTIONS['issues'][0]} ({other})\n- {issue}")
        parts.append(f"### {SECTIONS['uncertainty'][0]} (below 70)\n[what is unclear, and what would clarify it]")
    parts.append(
        f"### {SECTIONS['blockers'][0]} (if incomplete)\n- [what blocks you] | Resolution: [what would resolve it]"
    )
    parts.append(f"### {SECTIONS['overrides'][0]} (if any)\n- [name of an L2 rule]: [why it does not apply here]")
    if not kind.is_short:
        parts.append("### Next Steps\n1. [the next action]")
    return "\n\n".join(parts) + "\n"


def _scored_parts(*, scored: bool) -> list[str]:
    breakdown = "\nverified_confidence: [0-100]\ninferred_confidence: [0-100]"
    confidence = f"### Confidence\n{SCORE} - [why]"
    if not scored:
        return [confidence]
    labels = ("Score", "Evidence Count", "Verification Method", "Potential Blind Spots")
    hints = ("[the same number]", "[number of cited locations]", "[how you verified]", "[what you may have missed]")
    justification = "\n".join(f"**{label}**: {hint}" for label, hint in zip(labels, hints, strict=True))
    boxes = "\n".join(f"- [x] **{names[0]}**: [how you checked]" for names in BOXES.values())
    return [
        confidence + breakdown,
        f"### {SECTIONS['justification'][0]} (from 85)\n{justification}",
        f"### {SECTIONS['checklist'][0]}\n{boxes}",
    ]


def error_template() -> str:
    """Return the form of the sections that replace Findings and all after it in a FAILED result."""
    rows = [("Type", "[kind of error]"), ("Message", "[error message]"), ("Occurred At", "[file:line or step]")]
    recoverable = "[true if the same task can succeed on another try, else false]"
    table = "\n".join(f"| {name} | {hint} |" for name, hint in [*rows, ("Recoverable", recoverable)])
    return "\n\n".join(
        (
            f"### Error Details\n| Aspect | Value |\n| --- | --- |\n{table}",
            "### Attempted Actions\n1. [what you tried]",
            "### Root Cause Analysis\n[why it happened]",
            "### Recovery Options\n1. [option]: [what it requires]\n",
        )
    )


def _block(spec: BlockSpec, kind: Kind) -> str:
    is_needed = spec.required or spec.key == "issue_details" or any(spec.key in keys for keys in kind.either)
    head = f"#### {spec.name}\n" if is_needed else f"#### {spec.name} (if any)\n"
    if spec.form == "table":
        names = " | ".join(column.name for column in spec.columns)
        marks = " | ".join("---" for _ in spec.columns)
        cells = " | ".join(f"[{column.hint.replace('`', '')}]" for column in spec.columns)
        return f"{head}| {names} |\n| {marks} |\n| {cells} |"
    if spec.form == "steps":
        return f"{head}1. [{spec.hint.replace('`', '')}]"
    if spec.form == "fence":
        return f"{head}```\n[{spec.hint}]\n```"
    if spec.form == "details":
        quote = f"```\n# path/to/file.py:12\n{QUOTE}\n```"
        return f"{head}**[ID]: [issue]**\n{quote}\n**Risk**: [what can happen]\n**Fix**: [what to do]"
    if spec.labels:
        return head + "\n\n".join(f"**{names[0]}**: [{hint}]" for names, hint in spec.labels)
    return f"{head}- [{spec.hint.replace('*', '')}]"


def filled_lines(document: Document) -> Iterator[Line]:
    """Yield the lines of a result that may have a placeholder: title, headings and section content with a bracket.

    Of fences, only unfilled placeholders are yielded.
    """
    if not document.has_brackets:
        return
    yield Line(document.result.agent, document.title_line)
    for section in document.outline.sections:
        yield Line(section.heading, section.line)
        yield from (Line(block.heading, block.line) for block in section.blocks)
        yield from lines_of(filter(_has_bracket, section.content))
        yield from _unfilled_fences(section.content)


def _has_bracket(part: Content) -> bool:
    if isinstance(part, Table):
        return any("[" in cell for row in (part.columns, *(row.cells for row in part.rows)) for cell in row)
    if isinstance(part, Items):
        return any("[" in item.text for item in part.items)
    return "[" in part.text


def _unfilled_fences(content: list[Content]) -> Iterator[Line]:
    for part in content:
        if isinstance(part, Code) and "[" in part.text:
            hints = _fence_hints()
            rows = enumerate(part.text.split("\n"), part.line + 1)
            yield from (Line(row.strip(), line) for line, row in rows if row.strip() in hints)


@cache
def _fence_hints() -> frozenset[str]:
    blocks = (block for kind in KINDS.values() for block in kind.blocks)
    return frozenset((QUOTE, *(f"[{block.hint}]" for block in blocks if block.form == "fence")))


def find_placeholders(text: str) -> Iterator[str]:
    """Yield the template placeholders in a line, with their brackets."""
    if "[" not in text:
        return
    for match in _BRACKETED.finditer(_CODE_SPAN.sub(lambda span: "x" * len(span[0]), text)):
        inner = match.group(1).strip()
        if not _BOX.match(text) if inner in ("x", "X") else _is_unfilled(inner):
            yield match.group()
    if "`[" in text:
        locations = (match.group(1) for match in _LOCATION_SPAN.finditer(text))
        yield from (location for location in locations if _normal(location[1:-1]) in _placeholders())


def _is_unfilled(inner: str) -> bool:
    """Return whether text in brackets is a template placeholder; an empty checkbox is not."""
    return bool(inner) and (_normal(inner) in _placeholders() or bool(_GENERIC.match(inner)))


def _normal(text: str) -> str:
    return re.sub(r"\d+", "1", " ".join(text.replace("`", "").lower().split()))


@cache
def _placeholders() -> frozenset[str]:
    forms = [template(kind) for kind in KINDS.values()]
    texts = [text for form in forms for text in re.findall(r"\[([^\[\]\n]{2,120})\]", form)]
    return frozenset(_normal(text) for text in (*texts, *_FOREIGN)) - {"x"}
