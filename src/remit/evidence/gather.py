"""Everything that can be found out about one result, in one pass.

The workspace and the receipts are shared by many results; what is learnt of one result is an `Evidence`.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby

from remit.contract.fields import says_none
from remit.contract.kinds import Kind
from remit.contract.parse import Document
from remit.evidence.changes import Changes, run_claims, settle_runs
from remit.evidence.grammar import references_in
from remit.evidence.model import Evidence, Place, Quote, Reference
from remit.evidence.places import finding_rows, inline_quotes, quote_of_fence
from remit.evidence.quotes import check_quote, find_moved
from remit.evidence.references import Guesser, attach_called, find_references, look_up, shown_path
from remit.evidence.segments import Segment, segments
from remit.evidence.sources import Sources
from remit.evidence.support import supported
from remit.evidence.tables import planned_rows
from remit.workspace.files import SourceFile, Workspace


def gather(document: Document, kind: Kind, sources: Sources) -> Evidence:
    """Look up every claim of a result."""
    pieces = list(segments(document))
    references, beside = _references(document, pieces, sources.workspace)
    evidence = Evidence(
        references=references,
        quotes=[quote for quote, _ in beside],
        run_claims=run_claims(document.result),
        tool_calls=sources.ledger.count if sources.ledger is not None else None,
        has_repository=sources.workspace is not None,
        has_snapshot=sources.snapshot is not None,
        has_rerun=sources.rerun is not None,
    )
    for claim in evidence.run_claims:
        claim.at = claim.at or document.line_of("summary")
    if sources.workspace is not None:
        _look_everything_up(document, kind, evidence, beside, sources)
    _ask_receipts(evidence, sources)
    return evidence


def planned_files(document: Document, workspace: Workspace) -> frozenset[str]:
    """The files that a design says it creates."""
    cells = (references_in(cell, workspace.exists, bare=True) for cell, _ in planned_rows(document))
    return frozenset(shown_path(written.path, workspace) for found in cells for written in found)


Beside = list[tuple[Quote, Reference | None]]


def _references(
    document: Document, pieces: list[Segment], workspace: Workspace | None
) -> tuple[list[Reference], Beside]:
    """All references and quotes of a document, in its order."""
    references: list[Reference] = []
    quotes: Beside = []
    by_line: dict[int, list[Reference]] = {}
    recent: list[Reference] = []  # of the current list or paragraph, and of the one before
    group = 0
    for _, run in groupby(pieces, key=lambda piece: (piece.row, piece.group if not piece.row else 0)):
        row: list[Segment] = [piece for piece in run if piece.kind != "code" and not says_none(piece.text)]
        own_of_row: list[Reference] = []
        for piece in row:
            if piece.group > group + 1:
                recent = []
            group = piece.group
            own = find_references(piece, workspace)
            own_of_row.extend(own)
            if "ode match" in piece.text:
                quotes.extend(inline_quotes(piece, recent, own))
            recent = (recent + own)[-8:]
            if piece.kind != "cell":
                by_line.setdefault(piece.line, []).extend(own)
        if row and row[0].row:
            attach_called(own_of_row, row)
        references.extend(own_of_row)
    _take_fences(document, pieces, workspace, references, by_line, quotes)
    references.sort(key=lambda reference: reference.at)
    quotes.sort(key=lambda beside: beside[0].at)
    return references, quotes


def _take_fences(
    document: Document,
    pieces: list[Segment],
    workspace: Workspace | None,
    references: list[Reference],
    by_line: dict[int, list[Reference]],
    quotes: Beside,
) -> None:
    rows = finding_rows(document, references)
    starts = sorted(rows)
    for fence in pieces:
        if fence.kind != "code":
            continue
        finding = None
        if fence.block == "issue_details" and (at := bisect_right(starts, fence.line)):
            finding = rows[starts[at - 1]]
        above = by_line.get(_line_above(document, fence.line), [])
        found = quote_of_fence(fence, above, references, finding, workspace)
        if found is not None:
            quotes.append(found)


def _line_above(document: Document, line: int) -> int:
    """The line directly above a fence; one blank line between them does not count."""
    above = line - 1
    index = above - document.first_line
    return above - 1 if 0 <= index < len(document.lines) and not document.lines[index].strip() else above


def _look_everything_up(document: Document, kind: Kind, evidence: Evidence, beside: Beside, sources: Sources) -> None:
    workspace = sources.workspace
    if workspace is None:
        return
    planned = planned_files(document, workspace) if kind.name == "design" else frozenset()
    guesser = Guesser(workspace)
    # By file, so that each is read once even where all of them do not fit in memory.
    for reference in sorted(evidence.references, key=lambda reference: reference.path):
        look_up(reference, workspace, guesser, planned)
    _check_quotes(beside, workspace)
    evidence.changes = Changes(workspace, sources.ledger, sources.snapshot).claims(document.result)


def _check_quotes(beside: Beside, workspace: Workspace) -> None:
    lost: list[Quote] = []
    for quote, _ in sorted(beside, key=lambda pair: pair[0].path):
        file = workspace.read(quote.path)
        if isinstance(file, SourceFile):
            if not check_quote(quote, file):
                quote.outcome, quote.why = "mismatch", "the file does not hold these lines"
                lost.append(quote)
        elif file.why in ("missing", "folder"):
            quote.outcome, quote.why = "missing-file", "there is no such file"
            lost.append(quote)
        else:
            quote.outcome, quote.why = ("outside" if file.why == "outside" else "unchecked"), f"the file is {file.why}"
    find_moved(lost, workspace)
    for quote in lost:
        if quote.found is not None and quote.outcome == "mismatch":
            quote.outcome, quote.similarity = "relocated", 1.0
            quote.why = f"it stands in {quote.found.path}"
    for quote, reference in beside:
        if reference is not None:
            _settle_place(reference, quote)


def _settle_place(reference: Reference, quote: Quote) -> None:
    """A reference with a quote beside it is right only if the quote is there."""
    if quote.outcome == "relocated" and reference.outcome in ("verified", "out-of-range", "relocated"):
        reference.outcome, reference.found, reference.why = "relocated", quote.found, f"the quote: {quote.why}"
    elif quote.outcome == "mismatch" and reference.outcome == "verified":
        reference.outcome, reference.why = "mismatch", "the quote is not there"
    elif reference.outcome == "missing-file" and quote.found is not None:
        reference.found = Place(quote.found.path, quote.found.line)


def _ask_receipts(evidence: Evidence, sources: Sources) -> None:
    ledger = sources.ledger
    if ledger is not None:
        for reference in evidence.references:
            reference.seen = ledger.seen(reference.path, reference.line, reference.end_line)
        evidence.executed = ledger.executed
        if evidence.has_repository:
            evidence.supported = supported(evidence, ledger)
    runs = [*(ledger.runs if ledger is not None else ()), *([sources.rerun] if sources.rerun else ())]
    if ledger is not None or sources.rerun is not None:
        settle_runs(evidence.run_claims, runs)
