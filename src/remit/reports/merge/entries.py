"""The findings of a merged report: rows with a name of their own, what each agent says, and the quoted code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from remit.contract import outline
from remit.contract.lines import plain_text
from remit.contract.model import Block, Code, Content, Heading, Item, Items, Override, Result, Row, Text
from remit.contract.render import render
from remit.contract.tokens import estimate_tokens
from remit.evidence.grammar import references_in
from remit.merging.model import MergedFinding, Opinion
from remit.reports.layout import escape_control
from remit.reports.merge.parts import (
    evidence_state,
    has_location,
    location_of,
    neutralize_line,
    notes_of,
    opinions_by_score,
    safe_agent,
    safe_text,
    score,
    severity_of,
    shared_flags,
)
from remit.workspace.files import SourceFile, Workspace

#: Findings with details, and agents heard on each: what a reader gets through.
_MAX_DETAILS = 20
_MAX_OPINIONS = 5
_MAX_WORDS = 240
_MAX_QUOTE = 5
_MAX_COLUMNS = 160
#: `SEC-001`, and what analysers call their rules: `B608`.
_ID = re.compile(r"([A-Za-z][A-Za-z0-9]{0,11})-(\d{1,6})|([A-Za-z]{1,12})(\d{1,6})")
_PLAIN_PATH = re.compile(r"[\w./@+\-]+")
#: A fence whose first line is a comment could be taken for a quote with a place.
_COMMENT = ("//", "#", "--", ";", "%", "/*", "<!--", '"""', "'''")


class SourceLines:
    """Whatever stands in a line of the report, held against the checkout if there is one."""

    def __init__(self, workspace: Workspace | None) -> None:
        self.workspace = workspace

    def harmless(self, line: str) -> str:
        """The line without references and without outer blanks."""
        return neutralize_line(line, self.workspace.exists if self.workspace is not None else None).strip()

    def cited(self, finding: MergedFinding) -> str:
        """The cell that cites a finding's place; empty if the report cannot vouch for it."""
        place = location_of(finding)
        if not place or finding.verified is False or _is_backwards(finding):
            return ""
        if self.workspace is not None and not has_location(finding, self.workspace):
            return ""
        read = references_in(f"`{place}`", lambda path: path == finding.path, bare=True)
        last = finding.end_line if finding.end_line != finding.line else None
        same = [(found.path, found.line, found.end_line) for found in read] == [(finding.path, finding.line, last)]
        return f"`{place}`" if same and "|" not in place and escape_control(place) == place else ""


def _is_backwards(finding: MergedFinding) -> bool:
    line = finding.line
    return line is not None and not 1 <= line <= (finding.end_line or line)


class MarkdownEntry(msgspec.Struct, frozen=True):
    """One finding as the report lists it."""

    finding: MergedFinding
    id: str
    place: str
    row: Row
    details: tuple[Content, ...]
    #: For a place that is not cited: what was claimed, in words.
    lost: str
    quote: Code | None


def entries_of(findings: Sequence[MergedFinding], lines: SourceLines) -> list[MarkdownEntry]:
    """The findings with names that are unique in the report."""
    taken: set[str] = set()
    return [_entry(finding, _name(finding.id, taken), number, lines) for number, finding in enumerate(findings)]


def _name(given: str, taken: set[str]) -> str:
    """The finding's own ID; the second SEC-001 becomes SEC2-001, and one without an ID gets a number."""
    own = _ID.fullmatch(given)
    prefix, number = [part for part in own.groups() if part] if own else ("F", "")
    times = 1
    name = f"{prefix}-{number or '001'}"
    while name.upper() in taken:
        times += 1
        name = f"{prefix}{times}-{number}" if number else f"{prefix}-{times:03}"
    taken.add(name.upper())
    return name


def _entry(finding: MergedFinding, name: str, number: int, lines: SourceLines) -> MarkdownEntry:
    place = lines.cited(finding)
    title = safe_text(finding.title) or "no title"
    cells = (
        name,
        lines.harmless(title),
        place,
        finding.severity or "",
        score(finding.confidence),
        lines.harmless(safe_text(finding.category, 40)) or "general",
    )
    detailed = number < _MAX_DETAILS
    return MarkdownEntry(
        finding=finding,
        id=name,
        place=place,
        row=Row(cells=cells),
        details=_details(finding, name, title, lines) if detailed else (),
        lost=lines.harmless(f"{name}: {_lost(finding)}") if not place else "",
        quote=_quote(finding, place, lines.workspace) if detailed else None,
    )


def _lost(finding: MergedFinding) -> str:
    if finding.path is None:
        return "no agent gave a place"
    why = safe_text(evidence_state(finding)) if finding.verified is False else "it is not there"
    last = f" to {finding.end_line}" if finding.end_line is not None else ""
    line = f", {finding.line}{last}" if finding.line is not None else ""
    return f"{safe_text(finding.path, 200)}{line} was claimed; {why}"


def _details(finding: MergedFinding, name: str, title: str, lines: SourceLines) -> tuple[Content, ...]:
    said = opinions_by_score(finding)
    items = [Item(text=lines.harmless(_said(opinion, finding))) for opinion in said[:_MAX_OPINIONS]]
    if len(said) > _MAX_OPINIONS:
        items.append(Item(text=f"and {len(said) - _MAX_OPINIONS} more agents"))
    notes = ", ".join(filter(None, (safe_text(flag, 160) for flag in _flags(finding))))
    content: list[Content] = [Heading(text=lines.harmless(f"{name}: {title}"))]
    if items:
        content.append(Items(items=tuple(items)))
    if notes:
        content.append(Text(text=lines.harmless(f"Flags: {notes}")))
    return tuple(content)


def _flags(finding: MergedFinding) -> list[str]:
    """A place that holds is cited; that one failed has to be said."""
    return [evidence_state(finding), *shared_flags(finding)] if finding.verified is False else shared_flags(finding)


def _said(opinion: Opinion, finding: MergedFinding) -> str:
    own = ", ".join(
        filter(None, [safe_text(opinion.id, 40), *(safe_text(note, 160) for note in notes_of(opinion, finding))])
    )
    head = f"{safe_agent(opinion.agent)} says {opinion.severity or 'unrated'}, {score(opinion.confidence)}"
    title = safe_text(opinion.title, 120) if opinion.title != finding.title else ""
    told = " · ".join(filter(None, [title, safe_text(_prose(opinion), _MAX_WORDS)]))
    return f"{head}{f' ({own})' if own else ''}{f': {told}' if told else ''}"


def _prose(opinion: Opinion) -> str:
    """An agent's words without code, without the heading that repeats its row, and nothing twice."""
    kept: dict[str, None] = {}
    for part in _parts(opinion):
        text = part.text if isinstance(part, Text | outline.Head) else ""
        text = "\n".join(item.text for item in part.items) if isinstance(part, Items) else text
        kept.update(dict.fromkeys(filter(None, map(plain_text, text.split("\n")))))
    kept.pop(f"{opinion.id}: {opinion.title}", None)
    return " · ".join(kept)


def _parts(opinion: Opinion) -> list[outline.Node]:
    return outline.read_outline(opinion.details[:4000])


def _quote(finding: MergedFinding, place: str, workspace: Workspace | None) -> Code | None:
    if workspace is None:
        return _repeated(finding)
    return _copied(finding, place.strip("`"), workspace)


def _copied(finding: MergedFinding, place: str, workspace: Workspace) -> Code | None:
    """The cited lines as they stand in the file, with their place: a quote that can be checked."""
    if not place or finding.path is None or finding.line is None or not _PLAIN_PATH.fullmatch(finding.path):
        return None
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return None
    last = min(finding.end_line or finding.line, finding.line + _MAX_QUOTE - 1)
    code = "\n".join(file.lines[finding.line - 1 : last]).rstrip().split("\n")
    exact = all(len(line) <= _MAX_COLUMNS and escape_control(line) == line.replace("\t", "    ") for line in code)
    if not exact or not any(any(map(str.isalnum, line)) for line in code):
        return None
    language = finding.path.rpartition(".")[2] if "." in finding.path.rpartition("/")[2] else "text"
    return Code(text="\n".join(code), info=f"{language} {place}")


def _repeated(finding: MergedFinding) -> Code | None:
    """Code as an agent quoted it. Nobody can check it here, so it is put down as text, not as a quote."""
    for opinion in opinions_by_score(finding):
        for part in _parts(opinion):
            code = part.text.split("\n") if isinstance(part, Code) else []
            while code and (not code[0].strip() or code[0].lstrip().startswith(_COMMENT)):
                code.pop(0)
            if code:
                rows = (escape_control(line)[:_MAX_COLUMNS].rstrip() for line in code[:_MAX_QUOTE])
                return Code(text="\n".join(rows), info="text")
    return None


def quoted(result: Result, entries: Sequence[MarkdownEntry], lines: SourceLines) -> Result:
    """The result with its quotes, the worst findings first, as long as they are not most of it, and its overrides."""
    room = estimate_tokens(render(result))
    shown: dict[str, Code] = {}
    for entry in entries:
        if entry.quote is not None and (cost := estimate_tokens(entry.quote.text)) <= room:
            shown[entry.id], room = entry.quote, room - cost
    blocks = tuple(
        Block(heading=block.heading, content=tuple(_with_quotes(entries, shown)))
        if block.heading == "Issue Details"
        else block
        for block in result.findings
    )
    overrides = tuple(Override(rule=rule, reason=why) for rule, why in _departures(entries, shown))
    return msgspec.structs.replace(result, findings=blocks, overrides=overrides)


def _with_quotes(entries: Iterable[MarkdownEntry], shown: dict[str, Code]) -> Iterator[Content]:
    for entry in entries:
        yield from entry.details[:1]
        if entry.id in shown:
            yield shown[entry.id]
        yield from entry.details[1:]


def _departures(entries: Sequence[MarkdownEntry], shown: dict[str, Code]) -> Iterator[tuple[str, str]]:
    """Rules that a merge cannot keep without making something up, each with the reason."""
    if any(not entry.place for entry in entries):
        yield "finding-without-reference", "a place that does not hold is told in words and not cited"
    if any(entry.finding.severity is None for entry in entries):
        yield "severity-missing", "no agent gave a severity, and a merge makes none up"
    if len({entry.finding.path for entry in entries if entry.place}) == 1:
        yield "single-source", "every place that holds lies in this file"
    if any(_is_security(entry) and entry.id not in shown for entry in entries):
        yield "security-without-quote", "the code stands in the agents' own results"
    said: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        if entry.place:
            said.setdefault((entry.place, entry.row.cells[-1].lower()), set()).add(severity_of(entry.finding))
    if any(len(severities - {"unrated"}) > 1 for severities in said.values()):
        yield "self-conflict", "different findings of one place are kept apart, as their agents gave them"


def _is_security(entry: MarkdownEntry) -> bool:
    return plain_text(entry.row.cells[-1]).lower() == "security"
