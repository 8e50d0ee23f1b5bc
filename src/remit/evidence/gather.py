"""Collect and check the claims of one result in one pass.

Many results share the workspace and the receipts. The outcome for one result is an `Evidence`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from remit.contract.kinds import Kind
from remit.contract.lines import is_none_text
from remit.contract.parse import Document
from remit.evidence.carried_lines import LineCarrier
from remit.evidence.changes import ChangeChecker, run_claims
from remit.evidence.grammar import references_in
from remit.evidence.heading_words import PROPOSED_HEADING
from remit.evidence.line_mentions import without_label_ids
from remit.evidence.line_numbers import line_in_comment
from remit.evidence.model import Evidence, Reference
from remit.evidence.path_resolution import PathResolver
from remit.evidence.plan_tables import TableHeads
from remit.evidence.planned import new_files
from remit.evidence.proposals import Proposals
from remit.evidence.reference_lookup import MISSING, PLACEHOLDER, UNNAMED, look_up, look_up_on_disk
from remit.evidence.references import DocumentFiles, attach_symbols, display_path, find_references, named_files
from remit.evidence.revisions import PermalinkReader
from remit.evidence.segments import Segment, segments, without_output
from remit.evidence.sources import Sources
from remit.evidence.suggestions import SuggestionFinder
from remit.evidence.symbols import SymbolFinder
from remit.evidence.tables import planned_rows
from remit.evidence.written import may_cite
from remit.workspace.files import Workspace

if TYPE_CHECKING:
    from remit.evidence.quote_locations import FenceClaims, LocatedQuote

#: The code that is proposed instead of some other is at most this many segments below it.
_MAX_BETWEEN = 24
#: A longer cell states more than that there is nothing.
_MAX_NONE = 40


def gather(document: Document, kind: Kind, sources: Sources, path: str = "") -> Evidence:
    """Check every claim of a text. `path` is the file that contains it, if it is one."""
    pieces = without_label_ids(without_output(list(segments(document)), document.whole_text), document.whole_text)
    permalinks = PermalinkReader(sources)
    references, quotes = _references(document, pieces, sources, permalinks, path)
    for located in quotes:
        located.quote.location = located.candidates[-1]
    evidence = Evidence(
        references=references,
        quotes=[located.quote for located in quotes],
        run_claims=run_claims(document.result),
        tool_calls=sources.receipts.count if sources.receipts is not None else None,
        receipts_problem=sources.receipts_problem,
        has_repository=sources.workspace is not None,
        has_snapshot=sources.snapshot is not None,
        has_rerun=sources.rerun is not None,
    )
    for claim in evidence.run_claims:
        claim.at = claim.at or document.line_of("summary")
    if sources.workspace is not None:
        _check_permalinks(evidence.references, permalinks)
        _check_in_workspace(document, kind, evidence, quotes, sources, permalinks, path)
        # A line without a file next to it may be a line of something else, and a placeholder states nothing.
        evidence.references = [one for one in evidence.references if one.why not in (UNNAMED, PLACEHOLDER)]
        is_generic = kind.name == "generic"
        checker = ChangeChecker(sources.workspace, sources.receipts, sources.snapshot, is_generic=is_generic)
        evidence.changes = checker.claims(document.result)
    _apply_receipts(evidence, sources)
    return evidence


def planned_files(document: Document, workspace: Workspace) -> frozenset[str]:
    """Return the files that a design creates."""
    cells = (references_in(cell, workspace.exists, bare=True) for cell, _ in planned_rows(document))
    return frozenset(display_path(written.path, workspace) for found in cells for written in found)


class _Places(msgspec.Struct, frozen=True):
    """References by the line and by the list that they are in, and the file above each fence that states its line."""

    by_line: dict[int, list[Reference]]
    by_list: dict[int, list[Reference]]
    files: dict[int, str]


def _references(
    document: Document, pieces: list[Segment], sources: Sources, permalinks: PermalinkReader, path: str
) -> tuple[list[Reference], list[LocatedQuote]]:
    """Return all references and quotes of a document, in document order."""
    workspace = sources.workspace
    references: list[Reference] = []
    quotes: list[LocatedQuote] = []
    found = _Places({}, {}, {})
    here: list[Reference] = []  # references of the current list or paragraph
    before, group = list[Reference](), 0  # references of the previous one
    files = DocumentFiles(workspace, document.folded_text)
    carrier = LineCarrier(lambda piece: named_files(piece, files))
    for row in _rows(pieces):
        own_of_row: list[Reference] = []
        if row[0].kind == "code":
            found.files[row[0].line] = carrier.file_above(row[0])
            continue
        for piece, may_claim in _places(row):
            if piece.group != group:
                before, here = here if piece.group == group + 1 else [], []
            group = piece.group
            is_new_place = piece is row[0] or not piece.row
            piece, linked = permalinks.extract(piece) if may_claim else (piece, [])  # noqa: PLW2901 (the rest)
            if is_new_place:
                carrier.add(piece)
            if not may_claim:
                continue
            own = [*linked, *find_references(piece, files, carrier, row)]
            if "ode match" in piece.text:
                from remit.evidence.quote_locations import inline_quotes  # late imports: many texts have no quotes

                quotes.extend(inline_quotes(piece, here or before, own))
            if own:
                own_of_row.extend(own)
                here = own[-1:]
                found.by_line.setdefault(piece.line, []).extend(own)
                if piece.kind == "item":
                    found.by_list.setdefault(piece.group, []).append(own[-1])
        if own_of_row and row[0].row:
            attach_symbols(own_of_row, row, workspace)
        references.extend(own_of_row)
    proposals = Proposals(document, path, is_own=_is_own(sources, path))
    _mark_proposed(references if workspace is not None else [], proposals, document)  # else no file is looked up
    for claims in _claims_of_fences(document, pieces, workspace, list(references), found, proposals):
        quotes.extend(claims.quotes)
        references.extend(claims.references)
    return sorted(references, key=lambda one: one.at), sorted(quotes, key=lambda located: located.quote.at)


def _mark_proposed(references: list[Reference], proposals: Proposals, document: Document) -> None:
    """Set which references are to things that were removed, or are to be created, according to the headings above."""
    heads = TableHeads(document.line_text)
    for reference in references:
        listed = proposals.headings.files_at(reference.at)
        reference.is_past |= listed.are_gone or proposals.kind.is_historical
        reference.is_placeholder |= proposals.kind.is_template
        if not reference.block:
            has_line = reference.line is not None
            is_folder = proposals.kind.is_plan and not has_line and reference.text.rstrip("`").endswith("/")
            is_deleted = listed.are_to_be_deleted or listed.deleted == reference.path
            reference.is_planned |= is_folder or listed.are_parts or (not has_line and (listed.are_new or is_deleted))
            reference.is_planned |= not has_line and proposals.kind.creates_files and reference.is_planned_in_plan
            reference.is_planned_in_plan |= not has_line and listed.are_new and proposals.kind.is_plan
            if listed.may_be_new and not has_line:
                heads.mark(reference, are_of_plan=listed.are_of_plan)


def _rows(pieces: list[Segment]) -> Iterator[list[Segment]]:
    """Yield the segments of each table row, list and paragraph, without cells that say nothing.

    Code is left out, except a fence that starts with the line of its code: `# Line 231`.
    """
    row: list[Segment] = []
    number = group = 0
    for piece in pieces:
        if piece.row != number or (not number and piece.group != group):
            if row:
                yield row
            row, number, group = [], piece.row, piece.group
        if piece.kind != "code" and not _is_empty(piece.text):
            row.append(piece)
        elif piece.kind == "code" and line_in_comment(piece.text.lstrip("\n").partition("\n")[0]):
            if row:
                yield row
            yield [piece]
            row = []
    if row:
        yield row


def _places(row: list[Segment]) -> Iterator[tuple[Segment, bool]]:
    """Yield the segments of a row, and whether they may have a claim.

    All cells of a table row have the same place, so only the first one and those that may have a claim are needed.
    """
    if not row[0].row:
        yield from ((piece, piece.is_location or _may_claim(piece.text)) for piece in row)
        return
    may_claim = _may_claim("\n".join([cell.text for cell in row if not cell.is_location]))
    for cell in row:
        claims = cell.is_location or (may_claim and _may_claim(cell.text))
        if claims or cell is row[0]:
            yield cell, claims


def _may_claim(text: str) -> bool:
    """Return whether a text may have a reference, a line, a link or a quote; most cells of a table do not."""
    return may_cite(text) or "://" in text or "ode match" in text


def _is_empty(text: str) -> bool:
    """Return whether a text only states that there is nothing, without a remark in brackets."""
    return len(text) < _MAX_NONE and is_none_text(text) and "(" not in text and "（" not in text


def _claims_of_fences(
    document: Document,
    pieces: list[Segment],
    workspace: Workspace | None,
    references: list[Reference],
    found: _Places,
    proposals: Proposals,
) -> Iterator[FenceClaims]:
    """Yield the claims of each fence; `found` is what the text outside the fences names."""
    if all(piece.kind != "code" for piece in pieces):
        return
    from remit.evidence.quote_locations import MAX_CANDIDATES, Fence, claims_of_fence, finding_rows

    rows = finding_rows(document, references)
    starts = sorted(rows)
    created = {one.path for one in references if one.line is None and proposals.headings.files_at(one.at).are_new}
    for index, piece in enumerate(pieces):
        if piece.kind != "code":
            continue
        fence = Fence(piece, document)
        finding = None
        if piece.block == "issue_details" and (at := bisect_right(starts, piece.line)):
            finding = rows[starts[at - 1]]
        # A table that ends above a blank line is not related to the fence below it.
        above = [one for one in found.by_line.get(fence.above, ()) if fence.is_adjacent or not one.row]
        if above and not (
            fence.is_adjacent
            and (document.line_text(piece.line)[:1].isspace() or fence.introduction.rstrip().endswith((":", "：")))
        ):
            # Code below a whole list may be that of any of its entries.
            above = [*found.by_list.get(piece.group - 1, ())[-MAX_CANDIDATES:-1], *above]
        labelled: list[Reference] = []
        if not above and finding is None:
            at = fence.labelled_location(lambda line: bool(found.by_line.get(line)))
            labelled = found.by_line.get(at, [])
        file_above = found.files.get(piece.line, "")
        claims = claims_of_fence(fence, above, finding, proposals, workspace, labelled, file_above)
        replacement = partial(_replacement, pieces, index, proposals)
        quotes = [
            # Code of a file that the text wants to create counts only if it is there.
            replace(one, replacement=replacement, may_be_new=_is_new if _is_created(one, created) else one.may_be_new)
            for one in claims.quotes
        ]
        yield replace(claims, quotes=quotes)


def _is_created(located: LocatedQuote, created: set[str]) -> bool:
    return located.quote.line is None and located.quote.path in created


def _is_new() -> bool:
    return True


def _replacement(pieces: list[Segment], index: int, proposals: Proposals) -> str:
    """Return the code of the next fence of the same section if the text proposes it instead of that of a fence.

    What a text calls the current code is not replaced yet.
    """
    if not proposals.may_be_replaced(pieces[index].line):
        return ""
    for piece in pieces[index + 1 : index + 1 + _MAX_BETWEEN]:
        if piece.kind == "code":
            is_new = proposals.is_proposed(piece.line, has_line=True) or proposals.shows_new(piece.line)
            return piece.text if is_new else ""
        if piece.kind == "heading" and not PROPOSED_HEADING.match(piece.text):
            return ""
    return ""


def _check_permalinks(references: list[Reference], permalinks: PermalinkReader) -> None:
    """Look up permalinks, each at its own commit."""
    for commit, group in groupby(
        sorted((one for one in references if one.commit), key=lambda one: (one.commit or "", one.path)),
        key=lambda one: one.commit,
    ):
        linked = list(group)
        workspace = permalinks.workspace_of(linked[0]) if commit else None
        if workspace is not None:
            suggestions = SuggestionFinder(workspace)
            symbols = SymbolFinder(reference.symbol for reference in linked if reference.symbol)
            for reference in linked:
                look_up(reference, workspace, suggestions, symbols, frozenset())


def _check_in_workspace(
    document: Document,
    kind: Kind,
    evidence: Evidence,
    quotes: list[LocatedQuote],
    sources: Sources,
    permalinks: PermalinkReader,
    path: str,
) -> None:
    workspace, receipts = sources.workspace, sources.receipts
    if workspace is None:
        return
    opened = receipts.touched if receipts is not None else ()
    roots = receipts.other_roots if receipts is not None else ()
    here = [one for one in evidence.references if one.commit is None and not one.is_elsewhere]
    folder = workspace.folder_of(path) if path not in ("", "-") else ""
    resolver = PathResolver(workspace, folder=folder, roots=roots, opened=opened)
    resolver.resolve_all(here, document.whole_text, is_result=bool(document.result.agent))
    planned = planned_files(document, workspace) if kind.name == "design" else frozenset()
    announced = {one.path for one in here if one.is_planned and one.is_planned_in_plan} | new_files(document.whole_text)
    suggestions = SuggestionFinder(workspace)
    symbols = SymbolFinder(reference.symbol for reference in evidence.references if reference.symbol)
    # Sorted by file, so that each file is read once even if not all of them fit in memory.
    for reference in sorted(here, key=lambda reference: reference.file):
        reference.is_planned |= reference.line is None and reference.path in announced
        reference.is_planned &= kind.name in ("generic", "design")
        look_up(reference, workspace, suggestions, symbols, planned)
    if any(one.listed or one.carried or one.called or one.about for one in here):
        from remit.evidence.carried_outcomes import settle_carried  # late: rarely needed

        settle_carried(here, workspace, resolver, symbols)
    if sources.on_disk is not None:
        look_up_on_disk(here, sources.on_disk, PathResolver(sources.on_disk), symbols)
    _excuse(document, evidence, here, workspace, is_own=_is_own(sources, path))
    if quotes:
        from remit.evidence.quote_outcomes import check_quotes, is_quote

        check_quotes(quotes, workspace, document.text.strip(), permalinks)
        evidence.quotes = [quote for quote in evidence.quotes if is_quote(quote)]


def _is_own(sources: Sources, path: str) -> bool:
    """Return whether a text is a document of the checkout, and not the report of an agent."""
    workspace = sources.workspace if sources.receipts is None and path not in ("", "-") else None
    return workspace is not None and workspace.contains(path)


def _excuse(
    document: Document, evidence: Evidence, here: list[Reference], workspace: Workspace, *, is_own: bool
) -> None:
    """Take back what is not the author's fault; most texts have nothing to excuse. `is_own`: it is in the checkout."""
    is_result = bool(document.result.agent)
    is_lost = any(one.outcome in ("missing-file", "outside", "out-of-range") for one in evidence.references)
    if is_lost:
        from remit.evidence.other_code import excuse_named_outside
        from remit.evidence.other_projects import excuse_named_projects, excuse_submodules

        excuse_submodules(here, workspace, document.line_text, is_result=is_result)
        if is_own and not is_result:
            excuse_named_projects(here, workspace, document)
        excuse_named_outside(here, is_result=is_result)
    if not is_result:  # a finding must name a file, in full
        from remit.evidence.excuses import Excuses

        excuses = Excuses(workspace, here, document.whole_text)
        for reference in here:
            excuses.apply(reference)
    if is_lost:
        from remit.evidence.other_code import (
            excuse_machine_paths,
            excuse_unknown_files,
            excuse_unlined_files,
            join_other_code,
            without_alternatives,
        )

        evidence.references = without_alternatives(evidence.references)
        join_other_code([one for one in here if one.why not in (UNNAMED, MISSING)], workspace, is_result=is_result)
        if is_own and not is_result:
            excuse_unknown_files(here, workspace)
            excuse_unlined_files(here, document)
            excuse_machine_paths(here, workspace)


def _apply_receipts(evidence: Evidence, sources: Sources) -> None:
    receipts = sources.receipts
    if receipts is not None:
        for reference in evidence.references:
            if reference.is_elsewhere:
                continue
            reference.seen = receipts.how_seen(reference.file, reference.line)
        evidence.executed = receipts.executed
        if evidence.has_repository:
            from remit.evidence.support import supported_confidence  # late imports: few checks have receipts

            evidence.supported = supported_confidence(evidence, receipts)
    runs = [*(receipts.runs if receipts is not None else ()), *([sources.rerun] if sources.rerun else ())]
    if receipts is not None or sources.rerun is not None:
        from remit.evidence.test_runs import settle_runs

        settle_runs(evidence.run_claims, runs)
