"""Results and documents for hypothesis to draw: wide-ranging, and hostile in their texts.

Texts are brought into the form in which the parser hands them over (without outer blanks, no blank line inside
a paragraph, ...), with the parser's own functions where it has one.
"""

from __future__ import annotations

import re
from functools import cache

from hypothesis import strategies as st

from remit.contract.chunks import title_agent
from remit.contract.kinds import KINDS
from remit.contract.lines import plain_text
from remit.contract.render import free_text
from remit.contract.result_data import (
    Block,
    Blocker,
    Code,
    Confidence,
    Content,
    Count,
    ErrorDetails,
    Extra,
    Heading,
    Issue,
    Item,
    Items,
    Justification,
    KeyReference,
    Override,
    Result,
    Row,
    Table,
    Text,
    Tick,
)
from remit.contract.section_fields import _AROUND, read_score, read_status
from remit.rules.examples import sample_text

PIECES = [
    *("#", "##", "### Status", "#### Claims", "# Foo Result", "\\#", "- ", "* ", "+ ", "-", "1. ", "2) ", "> "),
    *("---", "===", "|", "\\|", "｜", "| a | b |", "|---|---|", "a|b", "\\", "\\\\", "\\-", "\\:", ":", ": ", "："),
    *(" - ", "(", ")", "[", "]", "{", "}", "```", "~~~", "````", "`", "`code`", "<!--", "-->", "<b>", "&amp;", "*"),
    *("**", "_", "__init__", "**Status**", "**Summary:** x", "**Claims**", "**Foo Result**", "Status: SUCCESS"),
    *("Severity: minor", "| Severity: x", "(severity: low)", "Resolution: y", "| Resolution: z", "verified: 9"),
    *("Score: 8", "[x] ", "[ ] ", "[Agent Name]", "n/a", "92", "92%", "90 - why", "None", "word", "foo bar", "e.g. it"),
    *("日本語の文", "結果", "状态", "✅", "👩‍💻", "é", "e\u0301", "\u200b", "\u202e", "\ufeff", "\ufffd", "\x1b[31m"),
    *("\t", " ", "  ", "\x0b", "\x0c", "\x1c", "\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\u3000"),
]

_letters = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=6)
_run = st.lists(st.one_of(st.sampled_from(PIECES), _letters), min_size=1, max_size=6).map("".join)

#: One line, possibly empty, without outer blanks.
maybe_line = _run.map(str.strip)
#: One line that is not empty.
line = maybe_line.filter(bool)
#: A paragraph: lines without outer blanks, none of them empty.
paragraph = st.lists(line, min_size=1, max_size=3).map("\n".join)
_indented = st.tuples(st.sampled_from(["", "  ", "    ", "\t", "   - "]), _run).map("".join).map(str.rstrip)
#: An entry of a list: later lines may be indented or empty.
maybe_item = st.tuples(line, st.lists(_indented, max_size=3)).map(
    lambda drawn: "\n".join([drawn[0], *drawn[1]]).strip()
)
item = maybe_item.filter(bool)
#: A cell of a table.
cell = maybe_line

scores = st.one_of(
    st.integers(0, 100).map(float),
    st.floats(-1000, 1000).map(lambda score: round(score, 4)),
    st.sampled_from(["high", "n/a", "92-95", "very high", "[0-100]"]),
    # Words in place of a number, as `read_score` leaves them.
    maybe_line.map(lambda words: read_score(words)[0]).filter(bool),
)  # fmt: skip


texts = st.builds(Text, text=paragraph)
codes = st.builds(
    Code,
    text=st.lists(_run.map(lambda run: run.replace("\r", "")), max_size=4).map(
        lambda rows: "\n".join(rows).strip("\n")
    ),
    info=maybe_line,
)
headings = st.builds(Heading, text=line)
lists = st.builds(
    Items,
    items=st.lists(st.builds(Item, text=st.one_of(item, st.just(""))), min_size=1, max_size=12).map(tuple),
    ordered=st.booleans(),
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 4))
    cells = st.lists(cell, min_size=width, max_size=width).map(tuple)
    rows = draw(st.lists(cells, max_size=3))
    return Table(columns=draw(cells), rows=tuple(Row(cells=row) for row in rows))


#: Content where no heading can stand: before the first heading of a document or of Findings a heading would
#: begin the next part instead of belonging to this one.
plain_content = st.lists(st.one_of(texts, codes, lists, tables()), min_size=1, max_size=4).map(tuple)
content: st.SearchStrategy[tuple[Content, ...]] = st.lists(
    st.one_of(texts, headings, codes, lists, tables()), max_size=4
).map(tuple)
#: Text of a field such as Summary: what the parser makes of any content.
free = st.one_of(paragraph, st.lists(paragraph, min_size=1, max_size=3).map("\n\n".join), content.map(free_text))

agents = maybe_line.map(lambda name: title_agent(f"{name} Result") or "")
statuses = st.one_of(
    st.sampled_from(["SUCCESS", "PARTIAL", "FAILED", "", "DONE", "SUCCESS / FAILED"]),
    maybe_line.map(lambda words: read_status(words)[0]),
)

#: Names of severities in the Severity Summary: a label, so none of the marks that end or separate labels.
severity_names = (
    maybe_line.map(lambda words: "".join(character for character in words if character not in ":：|｜,;、-+*[]`\\"))
    .map(lambda words: plain_text(words).strip(_AROUND))
    .filter(lambda words: 0 < len(words) <= 60)
)

issues = st.builds(
    Issue,
    title=st.just("") | item,
    description=st.just("") | item,
    severity=maybe_line.map(lambda words: words.strip(_AROUND)),
).filter(lambda issue: issue.title or issue.description or issue.severity)
blockers = st.builds(Blocker, text=st.just("") | item, resolution=maybe_line).filter(
    lambda blocker: blocker.text or blocker.resolution
)
overrides = st.builds(
    Override, rule=maybe_line.map(lambda words: " ".join(plain_text(words).lower().split())), reason=st.just("") | item
).filter(lambda override: override.rule or override.reason)


@st.composite
def confidences(draw: st.DrawFn) -> Confidence:
    verified, inferred = draw(st.none() | scores), draw(st.none() | scores)
    return Confidence(
        score=draw(scores),
        reason=draw(maybe_line),
        verified=verified,
        verified_reason=draw(maybe_line) if verified is not None else "",
        inferred=inferred,
        inferred_reason=draw(maybe_line) if inferred is not None else "",
        combined=draw(st.none() | scores),
    )


def _some(parts: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(parts, max_size=3).map(tuple)


@st.composite
def blocks(draw: st.DrawFn) -> tuple[Block, ...]:
    """Only text before the first heading has no heading, so only the first block may have none."""
    first = draw(st.lists(st.builds(Block, content=plain_content), max_size=1))
    headed = draw(st.lists(st.builds(Block, heading=line, content=content), max_size=3))
    return (*first, *headed)


@st.composite
def extras(draw: st.DrawFn) -> tuple[Extra, ...]:
    """As with blocks, content without a heading comes before everything else."""
    first = draw(st.lists(st.builds(Extra, heading=st.just(""), content=plain_content), max_size=1))
    headed = draw(st.lists(st.builds(Extra, heading=line, content=content), max_size=2))
    return (*first, *headed)


_parts: dict[str, st.SearchStrategy] = {
    "summary": free,
    "findings": blocks(),
    "references": _some(st.builds(KeyReference, item=cell, location=cell, relevance=cell)),
    "confidence": confidences(),
    "justification": st.builds(
        Justification,
        score=st.none() | scores,
        evidence_count=st.none() | scores,
        method=maybe_line,
        blind_spots=maybe_line,
    ),
    "uncertainty": free,
    "checklist": _some(st.builds(Tick, text=maybe_line, ticked=st.booleans())),
    "issues": _some(issues),
    "blockers": _some(blockers),
    "error": st.builds(
        ErrorDetails, type=maybe_line, message=maybe_line, occurred_at=maybe_line, recoverable=maybe_line
    ),
    "attempted_actions": _some(item),
    "root_cause": free,
    "recovery_options": _some(item),
    "next_steps": _some(item),
    "tradeoffs": _some(item),
    "severity_summary": _some(st.builds(Count, severity=severity_names, count=st.integers(0, 999_999_999))),
    "insights": _some(item),
    "overrides": _some(overrides),
    "extra": extras(),
}


@st.composite
def results(draw: st.DrawFn) -> Result:
    """Draw a few parts at a time, in any combination, which is faster than drawing all."""
    names = draw(st.sets(st.sampled_from(sorted(_parts)), max_size=4))
    return Result(agent=draw(agents), status=draw(statuses), **{name: draw(_parts[name]) for name in sorted(names)})


#: Lines and blocks for documents: complete ones, broken ones, and surrounding text.
_HEAD = re.compile(r"\s*#{1,2}[ \t]+(\S.*)")

FRAGMENTS = [
    *("- a: b | Severity: low\n  more", "- a (Severity: low) \n  more", "- b | Resolution: c\n  more"),
    *("- c |\n  Severity: d",),
    *("| Issue | Description | Severity |\n|--|--|--|\n| x | y | **High** |\n| | | |", "- : x", "### Issues"),
    *("## Code Explorer Result", "# security-auditor result", "Foo Result\n===", "**Foo Result**", "## Notes"),
    *("# Result", "### Status\nSUCCESS", "### Status: success ✅", "**Status**: FAILED", "#### Status"),
    *("状态\n---\nPARTIAL", "### Status", "### Summary\nOne. Two.", "**Summary:** One. Two.", "### サマリー"),
    *("### Findings", "### Findings\n\nwords", "## Findings", "#### Issues Detected", "#### Claims", "**Claims**"),
    *("##### Sub", "#### Unknown block", "#### Issue Details", "####"),
    *("| ID | Issue | File:Line | Severity | Confidence |\n|---|---|---|---|---|\n| SEC-1 | x | `a.py:1` | Low | 9 |",),
    *("|a\n|-", "a|b\n-|-\nc|d|e\nf", "| Aspect | Value |\n| --- | --- |\n| Type | |\n| Message | m |", "|"),
    *("| \\| | `a|b` |\n|-|-|",),
    *("### Key References\n| Item | Location | Relevance | More |\n|--|--|--|--|\n| a | b | c | d |",),
    *("### Error Details", "### Confidence\n**90%** - why", "### Confidence", "verified_confidence: 95 (read)"),
    *("combined: n/a", "Score: high", "### Confidence Justification", "**Score**: 9\nmore\n**Evidence Count:** 2"),
    *("**Verification Method: read**", "### Verification Completed", "- [x] **File References Valid**: y"),
    *("✅ done\n❌ not done", "### Issues (if any)", "- a: b | Severity: minor", "- a\n  Severity: low"),
    *("- x (Severity: high) y", "### Blockers", "- b\n  Resolution: r", "### Severity Summary"),
    *("Critical: 1, Minor: 2", "### Overrides", "- confidence-reason: because", "### Extra: x", "### Next Steps"),
    *("1. one\n2. two\n\n   more", "- a\n  - b\n\n    c", "* * *", "-", "1)", "+ x\n+", "- ```\n  x\n  ```", "```"),
    *("~~~", "````markdown", "```json", "```python\n# a.py:1\nx\n```", "    code", "\tcode", "> quote\n> - x", ">"),
    *("<!-- a", "<!-- a -->", "<div>", "[a]: b", "***", "___", "===", "---", "\\# x", "\\", "&amp;", "![a](b)"),
    *("<a@b.c>", "{", "[", "}", '{"agent": "x"}', "<tools-used-before-summary>", "text before", "text after"),
]  # fmt: skip


@cache
def sample_lines() -> list[str]:
    return [row for kind in KINDS for row in sample_text(kind).split("\n")]


_fragment = st.one_of(st.sampled_from(FRAGMENTS), _run, st.deferred(lambda: st.sampled_from(sample_lines())))
_placed = st.tuples(st.sampled_from(["", "", "", "  ", "    ", "> ", "- "]), _fragment, st.sampled_from(["\n", "\n\n"]))


#: Texts that have much of a result and are not quite one.
documents = st.lists(_placed.map("".join), max_size=25).map("".join)


def is_wrapped(result: Result) -> bool:
    """Whether an untitled result has a fence that starts with a title: then the fence wraps the result."""
    parts = [part for own in (*result.findings, *result.extra) for part in own.content]
    return not result.agent and any(
        isinstance(part, Code) and (opening := _HEAD.match(part.text)) and title_agent(opening.group(1)) is not None
        for part in parts
    )
