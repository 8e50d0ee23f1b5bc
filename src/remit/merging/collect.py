"""Collect the sections of one checked result: everything it reports except its findings, and what does not hold."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from remit.acceptance import holding_lines
from remit.checking import Verdict
from remit.contract.findings import blocks
from remit.contract.headings import block_key, column_index
from remit.contract.lines import bare_text, entries, is_none_text
from remit.contract.render import free_text
from remit.contract.result_data import Block, Content, Item, Items, Result, Row, Table, Text
from remit.evidence.claims import explain
from remit.evidence.model import OUTCOMES, Checked, Outcome
from remit.merging.content import (
    AgentBlocker,
    AgentError,
    AgentSummary,
    AgentTests,
    Change,
    Citation,
    CitedLocation,
    ClaimRow,
    ComplianceRow,
    Design,
    EntryPoint,
    Exploration,
    MapEntry,
    Note,
    PatternUse,
    Sections,
    Statement,
)
from remit.merging.merge_data import FAILED, FailedRow

#: The most rules that are named as the cause of a rejection.
_MAX_RULES = 5
Marked = TypeVar("Marked", Exploration, Design, Change, Citation)
#: The most characters of one text; test output can be long.
MAX_TEXT = 20_000
_EXPLORATION = ("entry_points", "execution_flow", "architecture_patterns", "dependencies")
_DESIGN = ("pattern_analysis", "recommended_architecture", "implementation_map", "build_sequence", "tradeoffs")
_CHANGES = {"files_created": "created", "files_modified": "modified", "files": "changed"}
#: Blocks that are findings, or that other sections contain as a whole.
_TABLES = ("entry_points", "pattern_analysis", "implementation_map", *_CHANGES, "compliance_check", "claims")
_WHOLE = ("execution_flow", "architecture_patterns", "dependencies", "recommended_architecture", "build_sequence")
#: The blocks of which each row or step is a claim.
_CHECKED = ("entry_points", "execution_flow", *_CHANGES)
_NO_WORK = ("contradicted", "unseen")
_TEST_FILE = re.compile(r"^[\w./-]+\.\w{1,4}$")
_LINES = re.compile(r":\d+(?:[-:]\d+)*$|#L\d+(?:-L?\d+)?$")
_NOTHING_FOUND = re.compile(r"\s*(?:no|none|nothing)\b[^\n]{0,80}$|問題は|未发现|没有发现", re.IGNORECASE)


def collect_sections(verdict: Verdict, agent: str, status: str) -> tuple[Sections, tuple[FailedRow, ...]]:
    """Return the sections of a result, and the entry points, steps, changes and runs that do not hold.

    Of a rejected result, there are only the rows and steps whose claims hold.
    """
    if verdict.verdict == "reject":
        return _held_sections(verdict, agent), ()
    failing = _Failing(verdict)
    result = verdict.document.result
    kept = _without(result, failing)
    places = _References(verdict.evidence.references)
    sections = Sections(
        summaries=(
            AgentSummary(
                agent=agent,
                status=status,
                kind=verdict.kind,
                text=cut_text(result.summary.strip()),
                confidence=verdict.confidence.claimed,
            ),
        )
        if result.summary.strip() or verdict.confidence.claimed is not None
        else (),
        explorations=tuple(_exploration(kept, agent)),
        designs=tuple(_design(result, agent, places)),
        changes=tuple(_changes(verdict, agent, kept)),
        tests=tuple(_tests(verdict, agent)),
        blockers=tuple(
            AgentBlocker(agent, bare_text(blocker.text), bare_text(blocker.resolution)) for blocker in result.blockers
        ),
        next_steps=tuple(Statement(agent, bare_text(step)) for step in result.next_steps if not is_none_text(step)),
        references=tuple(_references(result, agent, places)),
        errors=tuple(_errors(verdict, agent)),
        compliance=tuple(
            ComplianceRow(agent, *cells) for cells in _rows(result, "compliance_check", ("standard", "status", "notes"))
        ),
        claims=tuple(ClaimRow(agent, *cells) for cells in _rows(result, "claims", ("claim", "location", "outcome"))),
        notes=tuple(Note(agent, heading, text) for heading, text in _notes(verdict) if text.strip()),
    )
    return sections, tuple(_failed(verdict, agent, failing))


class _Failing:
    """The lines of a result whose entry point, step or change does not hold, each with the place and the reason."""

    def __init__(self, verdict: Verdict) -> None:
        self.lines: dict[int, tuple[str, str]] = {}
        seen: set[int] = set()
        for claim in verdict.evidence.references:
            is_first, line = claim.at not in seen, claim.row or claim.at
            seen.add(claim.at)
            is_lost = claim.outcome in FAILED if is_first else claim.outcome == "mismatch"
            if is_lost and claim.block in _CHECKED:
                self.lines.setdefault(line, (claim.display_text, explain(claim) or OUTCOMES[claim.outcome]))
        for change in verdict.evidence.changes:
            if change.outcome in FAILED or change.outcome in _NO_WORK:
                self.lines.setdefault(change.at, (change.path, change.why or OUTCOMES[change.outcome]))


def _without(result: Result, failing: _Failing) -> Result:
    """Return a result without the rows and steps that do not hold."""
    blocks = (
        msgspec.structs.replace(block, content=tuple(_holding(block, failing)))
        if block_key(block.heading) in _CHECKED
        else block
        for block in result.findings
    )
    return msgspec.structs.replace(result, findings=tuple(blocks))


def _holding(block: Block, failing: _Failing) -> Iterator[Content]:
    for part in block.content:
        if isinstance(part, Table):
            yield msgspec.structs.replace(part, rows=tuple(row for row in part.rows if row.line not in failing.lines))
        elif isinstance(part, Items):
            yield msgspec.structs.replace(part, items=tuple(i for i in part.items if i.line not in failing.lines))
        else:
            yield part


def _failed(verdict: Verdict, agent: str, failing: _Failing) -> Iterator[FailedRow]:
    """Yield the entry points, steps and changes that do not hold, and the runs that the record denies."""
    result = verdict.document.result
    for block in result.findings:
        for part in block.content if block_key(block.heading) in _CHECKED else ():
            lines = [(row.line, " · ".join(filter(None, map(bare_text, row.cells)))) for row in _table_rows(part)]
            lines += [(item.line, bare_text(item.text)) for item in _list_items(part)]
            for line, text in lines:
                if line in failing.lines:
                    place, why = failing.lines[line]
                    yield FailedRow(agent, "", cut_text(text), None, place, why)
    for run in verdict.evidence.statements:
        if run.fails and run.statement.check is not None:
            yield FailedRow(agent, "", cut_text(run.statement.text), None, run.command, run.why)


def _table_rows(part: Content) -> Sequence[Row]:
    return part.rows if isinstance(part, Table) else ()


def _list_items(part: Content) -> Sequence[Item]:
    return part.items if isinstance(part, Items) else ()


def _held_sections(verdict: Verdict, agent: str) -> Sections:
    """Return what may be repeated of a rejected result, marked as partial, and why it was rejected."""
    whole, holds = verdict.document.result, holding_lines(verdict)
    blocks = (msgspec.structs.replace(block, content=tuple(_held(block, holds))) for block in whole.findings)
    references = tuple(row for row in whole.references if holds.get(row.line))
    result = Result(findings=tuple(block for block in blocks if block.content), references=references)
    places = _References(verdict.evidence.references)
    rules = dict.fromkeys(violation.rule for violation in verdict.violations if violation.level == "L1")
    why = f"its report was rejected ({', '.join([*rules][:_MAX_RULES])})" if rules else "its report was rejected"
    return Sections(
        explorations=tuple(_marked(_exploration(result, agent))),
        designs=tuple(_marked(_design(result, agent, places))),
        changes=tuple(_marked(_changes(verdict, agent, result))),
        references=tuple(
            msgspec.structs.replace(place, citations=tuple(_marked(place.citations)))
            for place in _references(result, agent, places)
        ),
        errors=(AgentError(agent=agent, type="Rejected", message=why, recovery_options=("Run it again",)),),
    )


def _held(block: Block, holds: Mapping[int, bool]) -> Iterator[Content]:
    """Yield the rows of tables and the entries of lists whose every claim holds."""
    for part in block.content:
        if isinstance(part, Table) and (rows := tuple(row for row in part.rows if holds.get(row.line))):
            yield msgspec.structs.replace(part, rows=rows)
        elif isinstance(part, Items) and (items := tuple(item for item in part.items if _is_held(item, holds))):
            yield msgspec.structs.replace(part, items=items)


def _is_held(item: Item, holds: Mapping[int, bool]) -> bool:
    lines = range(item.line, item.line + item.text.count("\n") + 1)
    claims = [holds[line] for line in lines if line in holds]
    return bool(claims) and all(claims)


def _marked(entries: Iterable[Marked]) -> Iterator[Marked]:
    return (msgspec.structs.replace(entry, partial=True) for entry in entries)


def looks_for_issues(verdict: Verdict) -> bool:
    """Return whether a result states which issues there are, or that it found no issue."""
    result = verdict.document.result
    has_section = bool(result.issues) or verdict.document.section("issues") is not None
    return verdict.kind == "review" or has_section or bool(blocks(result, "issues_detected"))


def cut_text(text: str) -> str:
    """Cut a text to the limit of one entry."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


class _References:
    """The references of a result by line."""

    def __init__(self, references: Iterable[Checked]) -> None:
        self._by_line: dict[int, list[Checked]] = defaultdict(list)
        for reference in references:
            self._by_line[reference.row or reference.at].append(reference)

    def in_cell(self, cell: str, line: int) -> Checked | None:
        """Return the first reference of a cell."""
        return next(
            (reference for reference in self._by_line.get(line, ()) if reference.text and reference.text in cell), None
        )


def _rows(result: Result, key: str, columns: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of these columns, without marks, of each row of the tables of a block."""
    for cells, _ in _cells(result, key, columns):
        yield tuple(map(bare_text, cells))


def _cells(result: Result, key: str, columns: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    for block in blocks(result, key):
        for table in (part for part in block.content if isinstance(part, Table)):
            positions = [column_index(table.columns, column) for column in columns]
            for row in table.rows:
                if not all(is_none_text(cell) for cell in row.cells):
                    yield tuple(row.cells[position] if position is not None else "" for position in positions), row.line


def _steps(result: Result, key: str) -> tuple[str, ...]:
    steps = (bare_text(entry.text) for block in blocks(result, key) for entry in entries(block.content))
    return tuple(cut_text(text) for text in steps if not is_none_text(text))


def _exploration(result: Result, agent: str) -> Iterator[Exploration]:
    if not any(blocks(result, key) for key in _EXPLORATION):
        return
    yield Exploration(
        agent=agent,
        entry_points=tuple(
            EntryPoint(*cells) for cells in _rows(result, "entry_points", ("entry", "location", "type"))
        ),
        flow=_steps(result, "execution_flow"),
        patterns=_steps(result, "architecture_patterns"),
        dependencies=_steps(result, "dependencies"),
    )


def _design(result: Result, agent: str, places: _References) -> Iterator[Design]:
    if not any(blocks(result, key) for key in _DESIGN) and not result.tradeoffs:
        return
    texts = (free_text(block.content) for block in blocks(result, "recommended_architecture"))
    rows = _cells(result, "implementation_map", ("component", "location", "action"))
    uses = _rows(result, "pattern_analysis", ("pattern", "example", "recommendation"))
    yield Design(
        agent=agent,
        architecture=cut_text("\n\n".join(texts)),
        map=tuple(
            MapEntry(bare_text(component), _path(location, line, places), bare_text(action))
            for (component, location, action), line in rows
        ),
        sequence=_steps(result, "build_sequence"),
        patterns=tuple(PatternUse(*cells) for cells in uses),
        tradeoffs=(*_steps(result, "tradeoffs"), *map(bare_text, result.tradeoffs)),
    )


def _path(cell: str, line: int, places: _References) -> str:
    """Return the file that a cell names, without its line."""
    reference = places.in_cell(cell, line)
    if reference is not None:
        return reference.file
    return _LINES.sub("", bare_text(cell)).removeprefix("./")


def _changes(verdict: Verdict, agent: str, result: Result) -> Iterator[Change]:
    claims = {change.at: change for change in verdict.evidence.changes}
    for key, claim in _CHANGES.items():
        for (location, purpose, change, lines), line in _cells(result, key, ("location", "purpose", "change", "lines")):
            checked = claims.get(line)
            outcome: Outcome = checked.outcome if checked is not None else "unchecked"
            yield Change(
                agent=agent,
                path=bare_text(location),
                claim=claim,
                text=bare_text(purpose or change),
                lines=bare_text(lines),
                outcome=outcome,
            )


def _tests(verdict: Verdict, agent: str) -> Iterator[AgentTests]:
    """Yield the Test Results, with what the agent says of each test file that a command names, else of the command."""
    runs: dict[str, bool] = {}
    for run in verdict.evidence.statements:
        statement = run.statement
        if statement.check == "test" and not run.fails:
            files = [word for word in statement.command.split() if _TEST_FILE.search(word)]
            for subject in files or filter(None, [statement.command]):
                runs[subject] = runs.get(subject, True) and statement.passed
    for block in blocks(verdict.document.result, "test_results"):
        yield AgentTests(agent=agent, text=cut_text(free_text(block.content)), runs=runs)


def _references(result: Result, agent: str, places: _References) -> Iterator[CitedLocation]:
    for row in result.references:
        if is_none_text(row.item) and is_none_text(row.location):
            continue
        citation = Citation(agent, bare_text(row.item), bare_text(row.relevance))
        reference = places.in_cell(row.location, row.line)
        where = reference.found if reference is not None and reference.outcome == "relocated" else None
        if reference is not None and where is not None:
            text = f"{where.path}:{where.line}" if where.line else where.path
            place = CitedLocation(location=text, path=where.path, line=where.line, outcome="relocated")
        elif reference is not None:
            place = CitedLocation(
                location=bare_text(reference.text),
                path=reference.file,
                line=reference.line,
                end_line=reference.end_line,
                outcome=reference.outcome,
            )
        else:
            place = CitedLocation(location=bare_text(row.location))
        yield CitedLocation(
            location=place.location,
            path=place.path,
            line=place.line,
            end_line=place.end_line,
            outcome=place.outcome,
            agents=(agent,),
            citations=(citation,),
        )


def _errors(verdict: Verdict, agent: str) -> Iterator[AgentError]:
    result = verdict.document.result
    error = result.error
    if error is None and not (result.attempted_actions or result.root_cause or result.recovery_options):
        return
    yield AgentError(
        agent=agent,
        type=bare_text(error.type) if error else "",
        message=bare_text(error.message) if error else "",
        occurred_at=bare_text(error.occurred_at) if error else "",
        recoverable=bare_text(error.recoverable) if error else "",
        attempted=tuple(map(bare_text, result.attempted_actions)),
        root_cause=cut_text(result.root_cause),
        recovery_options=tuple(map(bare_text, result.recovery_options)),
    )


def _notes(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield what no other section contains: blocks and sections that the contract does not define, and lists."""
    result = verdict.document.result
    known = {finding.id.upper() for finding in verdict.document.findings}
    for block in result.findings:
        key = block_key(block.heading)
        if key == "issue_details":
            continue
        if key == "issues_detected" or key in _TABLES:
            text = free_text(_without_tables(block))
            yield bare_text(block.heading), "" if _NOTHING_FOUND.match(text) else cut_text(text)
        elif key not in _WHOLE and key not in ("test_results", "tradeoffs"):
            yield bare_text(block.heading) or "Findings", cut_text(free_text(block.content))
    for detail in verdict.document.details:
        if detail.id.upper() not in known:
            yield f"{detail.id}: {detail.title}".rstrip(": "), cut_text(free_text(detail.content[1:]))
    yield "Insights", "\n".join(map(bare_text, result.insights))
    yield "Uncertainty", cut_text(result.uncertainty)
    if result.justification is not None:
        yield "Potential Blind Spots", bare_text(result.justification.blind_spots)
    yield "Overrides", "\n".join(f"{override.rule}: {override.reason}" for override in result.overrides)
    for extra in result.extra:
        yield bare_text(extra.heading) or "Text", cut_text(free_text(extra.content))


def _without_tables(block: Block) -> list[Content]:
    return [part for part in block.content if not isinstance(part, Table) and (not isinstance(part, Text) or part.text)]
