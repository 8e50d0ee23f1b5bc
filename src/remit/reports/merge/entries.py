"""The findings of a merged Markdown report: a row for each finding, each agent's statement, and quoted code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from remit.contract import outline
from remit.contract.lines import plain_text
from remit.contract.render import render
from remit.contract.result_data import Block, Code, Content, Heading, Item, Items, Override, Result, Row, Text
from remit.contract.tokens import estimate_tokens
from remit.evidence.grammar import references_in
from remit.merging.merge_data import MergedFinding, Opinion
from remit.reports.layout import escape_control
from remit.reports.merge.parts import (
    Located,
    evidence_state,
    has_location,
    has_secret,
    location_of,
    notes_of,
    opinions_by_score,
    safe_agent,
    safe_text,
    score,
    severity_of,
    shared_flags,
)
from remit.rules.kinds.security_without_quote import has_statement
from remit.workspace.files import SourceFile, Workspace

#: The most findings with details, and the most agents quoted for each.
_MAX_DETAILS = 20
_MAX_OPINIONS = 5
_MAX_WORDS = 240
_MAX_QUOTE = 5
_MAX_COLUMNS = 160
_PLAIN_PATH = re.compile(r"[\w./@+\-]+")


class SourceLines:
    """Lines of the report, checked against the checkout if there is one."""

    def __init__(self, workspace: Workspace | None) -> None:
        self.workspace = workspace

    def cited(self, finding: MergedFinding) -> str:
        """Return the cell that cites a finding's location; empty if the location is not verified."""
        return "" if finding.verified is False else self.cite(finding)

    def cite(self, finding: Located) -> str:
        """Return the cell that cites a location; empty if the checkout does not have it."""
        place = location_of(finding)
        if not place or _is_backwards(finding):
            return ""
        if self.workspace is not None and not has_location(finding, self.workspace):
            return ""
        read = references_in(f"`{place}`", lambda path: path == finding.path, bare=True)
        last = finding.end_line if finding.end_line != finding.line else None
        same = [(reference.path, reference.line, reference.end_line) for reference in read] == [
            (finding.path, finding.line, last)
        ]
        return f"`{place}`" if same and "|" not in place and escape_control(place) == place else ""


def _is_backwards(finding: Located) -> bool:
    line = finding.line
    return line is not None and not 1 <= line <= (finding.end_line or line)


class MarkdownEntry(msgspec.Struct, frozen=True):
    """One finding as the report lists it."""

    finding: MergedFinding
    id: str
    place: str
    row: Row
    details: tuple[Content, ...]
    #: For a location that is not cited: what was claimed, as text.
    lost: str
    quote: Code | None


def entries_of(findings: Sequence[MergedFinding], lines: SourceLines) -> list[MarkdownEntry]:
    """Return the findings with their ids, which are unique in a merge."""
    return [_entry(finding, number, lines) for number, finding in enumerate(findings)]


def _entry(finding: MergedFinding, number: int, lines: SourceLines) -> MarkdownEntry:
    place = lines.cited(finding)
    name = safe_text(finding.id) or f"F-{number + 1:03}"
    title = safe_text(finding.title) or "no title"
    cells = (
        name,
        title,
        place,
        finding.severity or "",
        score(finding.confidence),
        safe_text(finding.category, 40) or "general",
    )
    detailed = number < _MAX_DETAILS
    return MarkdownEntry(
        finding=finding,
        id=name,
        place=place,
        row=Row(cells=cells),
        details=_details(finding, name, title, lines) if detailed else (),
        lost=f"{name}: {_lost(finding)}" if not place else "",
        quote=_copied(finding, place.strip("`"), lines.workspace) if detailed and lines.workspace is not None else None,
    )


def _lost(finding: MergedFinding) -> str:
    if finding.path is None:
        return "no agent gave a location"
    why = safe_text(evidence_state(finding)) if finding.verified is False else "it does not exist"
    last = f" to {finding.end_line}" if finding.end_line is not None else ""
    line = f", {finding.line}{last}" if finding.line is not None else ""
    return f"{safe_text(finding.path, 200)}{line} was claimed; {why}"


def _details(finding: MergedFinding, name: str, title: str, lines: SourceLines) -> tuple[Content, ...]:
    opinions = opinions_by_score(finding)
    items = [Item(text=_opinion_text(opinion, finding)) for opinion in opinions[:_MAX_OPINIONS]]
    if len(opinions) > _MAX_OPINIONS:
        items.append(Item(text=f"and {len(opinions) - _MAX_OPINIONS} more agents"))
    notes = ", ".join(filter(None, (safe_text(flag, 160) for flag in _flags(finding))))
    content: list[Content] = [Heading(text=f"{name}: {title}")]
    if items:
        content.append(Items(items=tuple(items)))
    if notes:
        content.append(Text(text=f"Flags: {notes}"))
    if lines.workspace is None and (repeated := _repeated(finding)):
        content.append(Text(text=repeated))
    return tuple(content)


def _flags(finding: MergedFinding) -> list[str]:
    """Return the flags; a verified location is cited, a failed one is stated here."""
    return [evidence_state(finding), *shared_flags(finding)] if finding.verified is False else shared_flags(finding)


def _opinion_text(opinion: Opinion, finding: MergedFinding) -> str:
    notes = ", ".join(
        filter(None, [safe_text(opinion.id, 40), *(safe_text(note, 160) for note in notes_of(opinion, finding))])
    )
    head = f"{safe_agent(opinion.agent)}: {opinion.severity or 'unrated'}, {score(opinion.confidence)}"
    title = safe_text(opinion.title, 120) if opinion.title != finding.title else ""
    text = " · ".join(filter(None, [title, safe_text(_prose(opinion), _MAX_WORDS)]))
    return f"{head}{f' ({notes})' if notes else ''}{f'. {text}' if text else ''}"


def _prose(opinion: Opinion) -> str:
    """Return an agent's text without code, without the heading that repeats its row, and without duplicates."""
    kept: dict[str, None] = {}
    for part in _parts(opinion):
        text = part.text if isinstance(part, Text | outline.Head) else ""
        text = "\n".join(item.text for item in part.items) if isinstance(part, Items) else text
        kept.update(dict.fromkeys(filter(None, map(plain_text, text.split("\n")))))
    kept.pop(f"{opinion.id}: {opinion.title}", None)
    return " · ".join(kept)


def _parts(opinion: Opinion) -> list[outline.Node]:
    return outline.read_outline(opinion.details[:4000])


def _copied(finding: MergedFinding, place: str, workspace: Workspace) -> Code | None:
    """Return the cited lines of the file with their location: a quote that can be checked."""
    if not place or finding.path is None or finding.line is None or not _PLAIN_PATH.fullmatch(finding.path):
        return None
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return None
    last = min(finding.end_line or finding.line, finding.line + _MAX_QUOTE - 1)
    code = "\n".join(file.lines[finding.line - 1 : last]).rstrip().split("\n")
    exact = all(len(line) <= _MAX_COLUMNS and escape_control(line) == line.replace("\t", "    ") for line in code)
    if not exact or not any(any(map(str.isalnum, line)) for line in code) or has_secret(finding, "\n".join(code)):
        return None
    language = finding.path.rpartition(".")[2] if "." in finding.path.rpartition("/")[2] else "text"
    return Code(text="\n".join(code), info=f"{language} {place}")


def _repeated(finding: MergedFinding) -> str:
    """Return code as an agent quoted it. Without a checkout it is not checked, so it is a sentence and not a quote."""
    for opinion in opinions_by_score(finding):
        for part in _parts(opinion):
            code = part.text.strip().split("\n") if isinstance(part, Code) and part.text.strip() else []
            if code:
                rows = (safe_text(line, _MAX_COLUMNS) for line in code[:_MAX_QUOTE])
                return f"Code as {safe_agent(opinion.agent)} quoted it, not checked: {' ⏎ '.join(filter(None, rows))}"
    return ""


def add_quotes(result: Result, entries: Sequence[MarkdownEntry], lines: SourceLines) -> Result:
    """Add quotes, worst findings first, until they would be most of the result; then add the overrides."""
    room = estimate_tokens(render(result))
    quotes: dict[str, Code] = {}
    for entry in entries:
        if entry.quote is not None and (cost := estimate_tokens(entry.quote.text)) <= room:
            quotes[entry.id], room = entry.quote, room - cost
    blocks = tuple(
        Block(heading=block.heading, content=tuple(_with_quotes(entries, quotes)))
        if block.heading == "Issue Details"
        else block
        for block in result.findings
    )
    locations = {reference.location.partition(":")[0] for reference in result.references}
    overrides_by_rule = dict(_overrides(entries, quotes, locations))
    if not entries and result.status == "PARTIAL":
        overrides_by_rule["finding-without-reference"] = "no finding is reported"
    overrides = tuple(Override(rule=rule, reason=why) for rule, why in overrides_by_rule.items())
    return msgspec.structs.replace(result, findings=blocks, overrides=overrides)


def _with_quotes(entries: Iterable[MarkdownEntry], quotes: dict[str, Code]) -> Iterator[Content]:
    for entry in entries:
        yield from entry.details[:1]
        if entry.id in quotes:
            yield quotes[entry.id]
        yield from entry.details[1:]


def _overrides(
    entries: Sequence[MarkdownEntry], quotes: dict[str, Code], locations: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield the rules that a merge cannot keep without inventing something, each with the reason."""
    if any(not entry.place for entry in entries):
        yield "finding-without-reference", "a location that failed its check is described and not cited"
    if any(entry.finding.severity is None for entry in entries):
        yield "severity-missing", "no agent gave a severity, and a merge does not invent one"
    if len(locations) == 1:
        yield "single-source", "all verified locations are in this file"
    unquoted = (entry for entry in entries if entry.id not in quotes or not has_statement(quotes[entry.id].text))
    if any(map(_is_security, unquoted)):
        yield "security-without-quote", "the code is in the agents' own results"
    severities_at: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        if entry.place:
            severities_at.setdefault((entry.place, entry.row.cells[-1].lower()), set()).add(severity_of(entry.finding))
    if any(len(severities - {"unrated"}) > 1 for severities in severities_at.values()):
        yield "self-conflict", "different findings at one location stay separate, as their agents reported them"


def _is_security(entry: MarkdownEntry) -> bool:
    return plain_text(entry.row.cells[-1]).lower() == "security"
