"""Everything that can be found out about one result, in one pass.

The workspace and the receipts are shared by many results; what is learnt of one result is an `Evidence`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby

from remit.contract.kinds import Kind
from remit.contract.lines import is_none_text
from remit.contract.parse import Document
from remit.evidence.changes import ChangeChecker, run_claims, settle_runs
from remit.evidence.grammar import references_in
from remit.evidence.model import Evidence, Location, Quote, Reference
from remit.evidence.quote_locations import Fence, LocatedQuote, finding_rows, inline_quotes, quote_of_fence
from remit.evidence.quotes import QuoteChecker
from remit.evidence.references import SuggestionFinder, attach_symbols, display_path, find_references, look_up
from remit.evidence.segments import Segment, segments
from remit.evidence.sources import Sources
from remit.evidence.support import supported_confidence
from remit.evidence.symbols import SymbolFinder
from remit.evidence.tables import planned_rows
from remit.workspace.files import SourceFile, Workspace


def gather(document: Document, kind: Kind, sources: Sources) -> Evidence:
    """Look up every claim of a result."""
    pieces = list(segments(document))
    references, placed = _references(document, pieces, sources.workspace)
    evidence = Evidence(
        references=references,
        quotes=[one.quote for one in placed],
        run_claims=run_claims(document.result),
        tool_calls=sources.ledger.count if sources.ledger is not None else None,
        has_repository=sources.workspace is not None,
        has_snapshot=sources.snapshot is not None,
        has_rerun=sources.rerun is not None,
    )
    for claim in evidence.run_claims:
        claim.at = claim.at or document.line_of("summary")
    if sources.workspace is not None:
        _look_everything_up(document, kind, evidence, placed, sources)
    _ask_receipts(evidence, sources)
    return evidence


def planned_files(document: Document, workspace: Workspace) -> frozenset[str]:
    """The files that a design says it creates."""
    cells = (references_in(cell, workspace.exists, bare=True) for cell, _ in planned_rows(document))
    return frozenset(display_path(written.path, workspace) for found in cells for written in found)


def _references(
    document: Document, pieces: list[Segment], workspace: Workspace | None
) -> tuple[list[Reference], list[LocatedQuote]]:
    """All references and quotes of a document, in its order."""
    references: list[Reference] = []
    quotes: list[LocatedQuote] = []
    by_line: dict[int, list[Reference]] = {}
    here: list[Reference] = []  # of the current list or paragraph
    before: list[Reference] = []  # of the one before
    group = 0
    for _, run in groupby(pieces, key=lambda piece: (piece.row, piece.group if not piece.row else 0)):
        row: list[Segment] = [piece for piece in run if piece.kind != "code" and not _is_empty(piece.text)]
        own_of_row: list[Reference] = []
        for piece in row:
            if piece.group != group:
                before, here = here if piece.group == group + 1 else [], []
            group = piece.group
            own = find_references(piece, workspace)
            own_of_row.extend(own)
            if "ode match" in piece.text:
                quotes.extend(inline_quotes(piece, here or before, own))
            here = own[-1:] or here
            by_line.setdefault(piece.line, []).extend(own)
        if row and row[0].row:
            attach_symbols(own_of_row, row, workspace)
        references.extend(own_of_row)
    for placed in _quotes_of_fences(document, pieces, workspace, references, by_line):
        quotes.append(placed)
        references.extend([placed.own] if placed.own is not None else [])
    references.sort(key=lambda reference: reference.at)
    quotes.sort(key=lambda placed: placed.quote.at)
    return references, quotes


def _is_empty(text: str) -> bool:
    """Whether a text only says that there is nothing; words in brackets after it may say more."""
    return is_none_text(text) and "(" not in text and "（" not in text


def _quotes_of_fences(
    document: Document,
    pieces: list[Segment],
    workspace: Workspace | None,
    references: list[Reference],
    by_line: dict[int, list[Reference]],
) -> Iterator[LocatedQuote]:
    rows = finding_rows(document, references)
    starts = sorted(rows)
    for piece in pieces:
        if piece.kind != "code":
            continue
        fence = Fence(piece, document)
        finding = None
        if piece.block == "issue_details" and (at := bisect_right(starts, piece.line)):
            finding = rows[starts[at - 1]]
        # A table that ends above a blank line has nothing to do with the fence below it.
        above = [one for one in by_line.get(fence.above, ()) if fence.touches or not one.row]
        placed = quote_of_fence(fence, above, finding, workspace)
        if placed is not None:
            yield placed


def _look_everything_up(
    document: Document, kind: Kind, evidence: Evidence, placed: list[LocatedQuote], sources: Sources
) -> None:
    workspace = sources.workspace
    if workspace is None:
        return
    planned = planned_files(document, workspace) if kind.name == "design" else frozenset()
    guesser = SuggestionFinder(workspace)
    symbols = SymbolFinder(reference.symbol for reference in evidence.references if reference.symbol)
    # By file, so that each is read once even where all of them do not fit in memory.
    for reference in sorted(evidence.references, key=lambda reference: reference.path):
        look_up(reference, workspace, guesser, symbols, planned)
    _check_quotes(placed, workspace, document.text.strip())
    evidence.changes = ChangeChecker(workspace, sources.ledger, sources.snapshot).claims(document.result)


def _check_quotes(placed: list[LocatedQuote], workspace: Workspace, document: str) -> None:
    quotes = QuoteChecker(workspace)
    settled = [
        (quote, _check_quote(quote, places, quotes, workspace))
        for quote, places, _ in sorted(placed, key=lambda one: one.quote.path)
    ]
    lost = [quote for quote, _ in settled if quote.outcome in ("mismatch", "missing-file")]
    quotes.find_moved(lost, document)
    for quote in lost:
        file = workspace.read(quote.path)
        if quote.outcome == "mismatch" and quote.found is not None:
            quote.outcome, quote.similarity = "relocated", 1.0
            quote.why = f"it stands in {quote.found.path}"
        elif quote.outcome == "mismatch" and isinstance(file, SourceFile):
            quotes.guess(quote, file)
    for quote, reference in settled:
        _settle_place(reference, quote)


def _check_quote(quote: Quote, places: list[Reference], quotes: QuoteChecker, workspace: Workspace) -> Reference:
    """Look for a quote, and give back the reference that is its place: of several, the one where it stands."""
    order = [*reversed(places), places[-1]] if len(places) > 1 else places
    for place in order:
        quote.path, quote.line, quote.end_line = place.path, place.line, place.end_line
        quote.found, quote.similarity, quote.why = None, None, ""
        file = workspace.read(quote.path)
        if not isinstance(file, SourceFile):
            missing = file.why in ("missing", "folder")
            quote.outcome = "missing-file" if missing else "outside" if file.why == "outside" else "unchecked"
            quote.why = "there is no such file" if missing else f"the file is {file.why}"
        elif not quotes.check(quote, file):
            if quotes.is_exhausted:
                quote.outcome, quote.why = "unchecked", "there are too many quotes to look for"
            else:
                quote.outcome, quote.why = "mismatch", "the file does not hold these lines"
        if quote.outcome == "verified":
            return place
    return places[-1]


def _settle_place(reference: Reference, quote: Quote) -> None:
    """A reference with a quote beside it is right only if the quote is there."""
    if quote.outcome == "relocated" and reference.outcome in ("verified", "out-of-range", "relocated"):
        reference.outcome, reference.found, reference.why = "relocated", quote.found, f"the quote: {quote.why}"
        reference.is_quote_place = True
    elif quote.outcome == "mismatch" and reference.outcome in ("verified", "relocated"):
        reference.outcome, reference.why = "mismatch", "the quote is not there"
        reference.is_quote_place = True
    elif quote.outcome == "unchecked" and reference.outcome == "verified":
        reference.outcome, reference.why = "unchecked", f"the quote: {quote.why}"
    elif reference.outcome == "missing-file" and quote.found is not None:
        reference.found = Location(quote.found.path, quote.found.line)


def _ask_receipts(evidence: Evidence, sources: Sources) -> None:
    ledger = sources.ledger
    if ledger is not None:
        for reference in evidence.references:
            reference.seen = ledger.seen(reference.path, reference.line, reference.end_line)
        evidence.executed = ledger.executed
        if evidence.has_repository:
            evidence.supported = supported_confidence(evidence, ledger)
    runs = [*(ledger.runs if ledger is not None else ()), *([sources.rerun] if sources.rerun else ())]
    if ledger is not None or sources.rerun is not None:
        settle_runs(evidence.run_claims, runs)
