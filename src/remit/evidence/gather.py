"""Collect and check the claims of one text: read, look, judge.

Many texts share the workspace and the receipts. The outcome for one text is an `Evidence`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec
from msgspec.structs import replace

from remit.contract.kinds import Kind
from remit.contract.parse import Document
from remit.contract.result_data import STATUSES
from remit.evidence.absence import proposes, says_absent
from remit.evidence.changes import ChangeChecker
from remit.evidence.dates import Accused, ClaimDates
from remit.evidence.document import Headings, Segment, has_words, planned_rows, segments, words
from remit.evidence.find_files import FileFinder
from remit.evidence.grammar import references_in
from remit.evidence.judge import ACCUSING, HOLDING, judge
from remit.evidence.judge_work import WorkJudge
from remit.evidence.look import UNKNOWN, Looker, OwnText, settled
from remit.evidence.model import (
    REFERENCES,
    Checked,
    CheckedStatement,
    Claim,
    Evidence,
    Facts,
    Judgement,
    TextKind,
)
from remit.evidence.permalinks import files_of, read_permalinks
from remit.evidence.read_commands import command_claims, is_shell
from remit.evidence.read_places import MAX_CLAIMS, PlaceReader, TooManyClaims, display_path, table_rows
from remit.evidence.read_quotes import (
    Surroundings,
    fence_claims,
    finding_places,
    inline_quotes,
    places_by_id,
)
from remit.evidence.sentences import read_sentences
from remit.evidence.sources import Sources
from remit.evidence.stated_runs import read_runs
from remit.evidence.support import supported_confidence
from remit.workspace.files import SourceFile, Workspace, WorkTree
from remit.workspace.git import ignored_paths


class Asked(msgspec.Struct, frozen=True):
    """How a text is judged."""

    #: What the text is; None: a document if it is a file, else a report. A result is a report in every case.
    text: TextKind | None = None
    #: Whether the history is asked when a claim of a document does not hold.
    with_history: bool = False


class _Read(msgspec.Struct, frozen=True):
    """The claims of a text, and its title."""

    claims: list[Claim]
    title: str


def gather(document: Document, kind: Kind, sources: Sources, path: str = "", asked: Asked = Asked()) -> Evidence:  # noqa: B008 (frozen)
    """Check every claim of a text. `path` is the file that contains it, if it is one."""
    is_report = asked.text == "report" or sources.receipts is not None or _is_result(document, kind)
    text: TextKind = "report" if is_report else asked.text or ("report" if path in ("", "-") else "document")
    strict = text == "report"
    read = _read_claims(document, kind, sources, strict=strict)
    evidence = Evidence(
        tool_calls=sources.receipts.count if sources.receipts is not None else None,
        receipts_problem=sources.receipts_problem,
        has_repository=sources.workspace is not None,
        has_snapshot=sources.snapshot is not None,
        text=text,
    )
    if sources.workspace is not None:
        facts = _look(document, read.claims, sources, path, asked, strict=strict)
        evidence.checked = _judged(document, read, facts, sources, path, asked, evidence)
        if strict:  # in another text, a table of changed files may be one of files to change
            checker = ChangeChecker(sources.workspace, sources.receipts, sources.snapshot)
            evidence.changes = checker.claims(document.result)
    else:
        evidence.checked = [Checked(claim, UNKNOWN, judge(claim, UNKNOWN)) for claim in read.claims]
    _apply_receipts(evidence, sources)
    if strict:
        evidence.statements = _statements(document, sources)
    return evidence


def _statements(document: Document, sources: Sources) -> list[CheckedStatement]:
    """Return what a text states that was done, judged by the calls of the agent."""
    stated = [
        replace(statement, at=statement.at + first - 1)
        for first, lines in document.line_runs
        for read in (read_runs, read_sentences)
        for statement in read("\n".join(lines))
    ]
    stated.sort(key=lambda statement: statement.at)
    if not stated or sources.receipts is None:
        return [CheckedStatement(statement, "unchecked", "no-receipts", "no receipts") for statement in stated]
    judge_statement = WorkJudge(sources.receipts).judge
    return [judge_statement(statement) for statement in stated]


def _is_result(document: Document, kind: Kind) -> bool:
    """Return whether a text is the result of an agent; a heading such as `## Test Results` does not make it one."""
    result = document.result
    return bool(result.agent) and (kind.name != "generic" or result.status in STATUSES)


def planned_files(document: Document, workspace: Workspace) -> frozenset[str]:
    """Return the files that a design creates."""
    cells = (references_in(cell, workspace.exists, bare=True) for cell, _ in planned_rows(document))
    return frozenset(display_path(written.path, workspace) for references in cells for written in references)


def _read_claims(document: Document, kind: Kind, sources: Sources, *, strict: bool) -> _Read:
    """Return all claims of a text, in document order."""
    workspace = sources.workspace
    pieces = list(segments(document))
    reader = PlaceReader(workspace, before=sources.before, is_strict=strict)
    places: list[Claim] = []
    claims: list[Claim] = []
    by_line: dict[int, list[Claim]] = {}
    rows: dict[int, tuple[Segment, ...]] = {}
    fences: list[tuple[Segment, str]] = []
    above: list[Claim] = []  # the last reference
    for row in table_rows(pieces):
        if row[0].kind == "code":
            fences.append((row[0], reader.lines.file_above(row[0])))
            claims.extend(_commands(row[0], (), reader, strict=strict))
            continue
        if row[0].row:
            rows[row[0].row] = tuple(row)
        for segment, references, linked in _references(row, reader, sources):
            if "`" in segment.text:
                near = [place for place in above if segment.group - place.segment.group <= 1]
                claims.extend(inline_quotes(segment, near, references))
            claims.extend(_commands(segment, references, reader, strict=strict))
            if found := [*linked, *references]:
                places += found
                by_line.setdefault(segment.line, []).extend(found)
            above = references[-1:] or above
            if len(places) + len(claims) > MAX_CLAIMS:
                raise TooManyClaims
    planned = planned_files(document, workspace) if kind.name == "design" and workspace is not None else frozenset()
    places = [_with_plan(place, planned) for place in places]
    headings = Headings(pieces)
    findings = finding_places(document, places, [fence for fence, _ in fences])
    by_id = places_by_id(rows.values(), by_line) if fences else {}
    surroundings = Surroundings(document, headings, by_line, workspace, strict, findings, by_id)
    for fence, file_above in fences:
        claims.extend(fence_claims(fence, surroundings, file_above))
        if len(places) + len(claims) > MAX_CLAIMS:
            raise TooManyClaims
    # A line below which frontmatter ends looks like a heading of the second level.
    heads = [piece for piece in pieces if piece.kind == "heading"]
    title = next(
        (piece.text for piece in heads if piece.depth == 1),
        heads[0].text if heads and ": " not in heads[0].text else "",
    )
    stated = [claim for claim in (*places, *claims) if not says_absent(claim) and not proposes(claim)]
    every = sorted(stated, key=lambda claim: (claim.at, claim.kind == "quote"))
    return _Read(every, title)


def _commands(segment: Segment, references: Sequence[Claim], reader: PlaceReader, *, strict: bool) -> list[Claim]:
    """Return the commands of a segment, and its paths that are not written as references."""
    commands = list(islice(command_claims(segment), MAX_CLAIMS + 1))
    if not strict:
        known = reader.read_known(segment, [*references, *commands], is_shell=is_shell(segment))
        commands += islice(known, MAX_CLAIMS + 1)
    return commands


def _references(
    row: list[Segment], reader: PlaceReader, sources: Sources
) -> Iterator[tuple[Segment, list[Claim], list[Claim]]]:
    """Yield each segment of a row with its references and its permalinks."""
    for position, original in enumerate(row):
        segment, linked = read_permalinks(original, sources)
        if not position or not segment.row:
            reader.lines.add(segment)
        yield segment, reader.read(segment, row), linked


def _with_plan(claim: Claim, planned: frozenset[str]) -> Claim:
    """Return a claim with the note that a row of a design creates its file."""
    return replace(claim, notes=claim.notes | {"create"}) if claim.path in planned else claim


def _look(
    document: Document,
    claims: Sequence[Claim],
    sources: Sources,
    path: str,
    asked: Asked,
    *,
    strict: bool,
) -> list[Facts]:
    """Return the facts of each claim: those of a permalink at its own commit."""
    facts: list[Facts] = [UNKNOWN] * len(claims)
    groups: dict[str | None, list[int]] = {}
    for index, claim in enumerate(claims):
        groups.setdefault(claim.commit, []).append(index)
    for commit, members in groups.items():
        workspace = sources.workspace if commit is None else files_of(commit, sources)
        if workspace is None:
            continue
        chosen = [claims[index] for index in members]
        looker = looker_for(workspace, sources, document.whole_text, chosen, path if commit is None else "")
        was_here = sources.had_folder if asked.with_history else _was_never_here
        looked_up = looker.look(chosen, strict=strict, was_here=was_here)
        for index, claim_facts in zip(members, looked_up, strict=True):
            facts[index] = claim_facts
    return facts


def _was_never_here(_: str) -> bool:
    return False


def looker_for(
    workspace: Workspace, sources: Sources, text: str, claims: Sequence[Claim], path: str, *, suggests: bool = True
) -> Looker:
    """Return what looks up the claims of a text in a tree of files, and what may be meant if they do not hold."""
    receipts = sources.receipts
    folder = workspace.folder_of(path) if path not in ("", "-") else ""
    files = FileFinder(
        workspace,
        folder=folder,
        roots=receipts.other_roots if receipts is not None else (),
        opened=receipts.touched if receipts is not None else (),
        text=text,
        suggests=suggests,
    )
    files.prepare([claim.path for claim in claims if claim.path])
    name = workspace.normal(path) if path not in ("", "-") else None
    own_text = text
    if name and workspace is not sources.workspace:  # the document as it was
        past = workspace.read(name)
        own_text = past.text if isinstance(past, SourceFile) else text
    own_document = OwnText(name or "", own_text)
    names, commands = sources.name_finder(workspace), sources.command_finder(workspace)
    return Looker(workspace, folder, files, names, commands, own_document, sources.tokens, suggests=suggests)


def _judged(
    document: Document,
    read: _Read,
    facts: list[Facts],
    sources: Sources,
    path: str,
    asked: Asked,
    evidence: Evidence,
) -> list[Checked]:
    """Judge every claim: by the checkout, and if it is accused in a document, by the history."""
    text, workspace = evidence.text, sources.workspace
    claims = [settled(claim, claim_facts) for claim, claim_facts in zip(read.claims, facts, strict=True)]
    name = _document_name(workspace, path)
    is_plan = has_words(name.replace("_", " "), words("plan")) or has_words(read.title, words("plan"))

    def judged() -> list[Judgement]:
        pairs = zip(claims, facts, strict=True)
        return [judge(claim, claim_facts, text, is_plan=is_plan) for claim, claim_facts in pairs]

    first = judged()
    accused = [index for index, judgement in enumerate(first) if judgement.outcome in ACCUSING]
    if text != "report" and asked.with_history and accused and workspace is not None:
        dates = _claim_dates(document, sources, workspace, path)
        asked_for = [index for index in accused if claims[index].commit is None]
        held = dates.ask([Accused(index, claims[index], facts[index]) for index in asked_for])
        for index, then in held.items():
            facts[index] = replace(facts[index], then=then)
        _mark_ignored(facts, [index for index in held if facts[index].state == "missing"], workspace)
        evidence.history_problem = dates.problem
        first = judged()
    return [one for one in _with_locations(claims, facts, first) if not _states_nothing(one)]


def _states_nothing(checked: Checked) -> bool:
    """Return whether a claim is about a program of another project."""
    return checked.kind == "command" and checked.facts.state == "elsewhere"


def _mark_ignored(facts: list[Facts], missing: list[int], workspace: Workspace | None) -> None:
    """Mark the missing paths that the checkout ignores, as written or where the history has them."""
    if not missing or not isinstance(workspace, WorkTree):
        return
    paths = {
        index: {facts[index].path, then.path if (then := facts[index].then) is not None else ""} for index in missing
    }
    ignored = ignored_paths(workspace.folder, chain.from_iterable(paths.values()))
    for index in missing:
        if not ignored.isdisjoint(paths[index]):
            facts[index] = replace(facts[index], is_ignored=True)


def holding_in(
    workspace: Workspace, document: Document, claims: Sequence[Claim], sources: Sources, path: str
) -> list[bool]:
    """Return which claims of a document hold in another tree of files. `path` is the document's path from the root."""
    facts = looker_for(workspace, sources, document.whole_text, claims, path, suggests=False).look(claims)
    return [judge(claim, claim_facts).outcome in HOLDING for claim, claim_facts in zip(claims, facts, strict=True)]


def _document_name(workspace: Workspace | None, path: str) -> str:
    """Return the path of the document in the checkout; empty if it is not in it."""
    if workspace is None or path in ("", "-"):
        return ""
    return workspace.normal(os.path.abspath(path)) or ""  # noqa: PTH100 (links stay as they are written)


def _claim_dates(document: Document, sources: Sources, checkout: Workspace, path: str) -> ClaimDates:
    """Return what dates the claims of a document by the history of the checkout."""

    def look(workspace: Workspace, claims: Sequence[Claim]) -> list[Facts]:
        return looker_for(workspace, sources, document.whole_text, claims, path, suggests=False).look(claims)

    name = _document_name(checkout, path)
    return ClaimDates(checkout, sources, name or None, look)


def _with_locations(claims: list[Claim], facts: list[Facts], judged: list[Judgement]) -> Iterator[Checked]:
    """Yield the checked claims; the location of a quote knows whether the quote failed."""
    quoted: dict[tuple[int, str, int | None], Judgement] = {}
    for claim, judgement in zip(claims, judged, strict=True):
        key = claim.located_at, claim.path, claim.line
        if claim.kind == "quote" and (key not in quoted or quoted[key].outcome not in ACCUSING):
            quoted[key] = judgement
    for claim, claim_facts, judgement in zip(claims, facts, judged, strict=True):
        quote = quoted.get((claim.at, claim.path, claim.line)) if claim.kind in REFERENCES else None
        if quote is None:
            yield Checked(claim, claim_facts, judgement)
            continue
        is_accused = quote.outcome in ACCUSING
        is_failed = is_accused and judgement.outcome in ("relocated", "mismatch", "outdated")
        if is_failed and judgement.reason == quote.reason:
            judgement = replace(judgement, fails=quote.fails)  # noqa: PLW2901
        # A location that is wrong although its quote is right is a separate claim.
        has_quote = is_accused or judgement.outcome not in ACCUSING
        yield Checked(claim, claim_facts, judgement, has_quote=has_quote, is_quote_location=is_failed)


def _apply_receipts(evidence: Evidence, sources: Sources) -> None:
    receipts = sources.receipts
    if receipts is not None:
        evidence.checked = [
            replace(claim, facts=replace(claim.facts, seen=receipts.how_seen(claim.file, claim.line)))
            if claim.kind in REFERENCES and not claim.is_elsewhere
            else claim
            for claim in evidence.checked
        ]
        evidence.executed = receipts.executed
        if evidence.has_repository:
            evidence.supported = supported_confidence(evidence, receipts)
