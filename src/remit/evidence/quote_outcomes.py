"""Look up the quotes of a document, and settle what they mean for their locations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from remit.evidence.model import Location, Quote, Reference
from remit.evidence.path_resolution import MAX_SHOWN
from remit.evidence.quote_locations import LocatedQuote
from remit.evidence.quote_text import before_label
from remit.evidence.quotes import MIN_MOVED, QuoteChecker
from remit.evidence.reference_lookup import DOUBTFUL, PAST, PLACEHOLDER, UNNAMED
from remit.evidence.revisions import PermalinkReader
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace

if TYPE_CHECKING:
    from remit.evidence.lost_quotes import LostQuotes

#: The reasons for a quote that has nothing to compare, and for code that is not there and may not be a quote.
_NO_CODE = "it consists of comments only"
_NO_QUOTE = "the text may propose this code"
_NOT_QUOTES = (PLACEHOLDER, UNNAMED, _NO_CODE, _NO_QUOTE)
#: Code without a line is not compared line by line with a larger file.
_MAX_INDEXED = 1024 * 1024
#: Shorter code that omits lines may be in any file.
_MIN_CONDENSED = 40
#: At most this many quotes are compared with the code that replaces them, and only if neither is longer than this.
_MAX_REPLACED = 40
_MAX_NEW = 8_000
_NAME = lazy_pattern(r"[^\W\d]\w*+")
_BELOW_COMMENT = "the code above a comment in it is there, and that below the comment is not: taken for proposed code"
_OTHER_CODE = "the file above has other code at this line"
_TO_BE_WRITTEN = "no line is given, and most of these lines are not in the file: taken for code to be written"
_SKETCH = "no line is given, and several of these lines are not in the file: taken for a sketch"


def check_quotes(
    located_quotes: list[LocatedQuote], workspace: Workspace, document: str, permalinks: PermalinkReader
) -> None:
    """Set the outcome of each quote and of its location; `document` is the text that contains them."""
    checker = QuoteChecker()
    checked = [
        (one, _check_quote(one.quote, one.candidates, checker, permalinks))
        for one in sorted(located_quotes, key=lambda located: located.quote.path)
    ]
    for one, reference in checked:
        if reference.candidates and not reference.target and one.quote.line is not None:
            _settle_by_code(one.quote, reference, checker, workspace)
    for one, reference in checked:
        if one.quote.outcome != "verified" and one.may_be_new():
            one.quote.outcome, one.quote.found, one.quote.why = "unchecked", None, _NO_QUOTE
            if one.quote.is_by_text:
                reference.outcome, reference.why = "unchecked", _OTHER_CODE
    failed = [one.quote for one, _ in checked if one.quote.outcome in ("mismatch", "missing-file")]
    if failed:
        from remit.evidence.lost_quotes import LostQuotes  # late imports, here and below: most quotes are exact

        lost = LostQuotes(workspace, checker)
        lost.find_moved(failed, document)
        for quote in failed:
            _explain(quote, workspace, lost)
    _leave_out_new_code([one for one, _ in checked if one.is_unplaced], workspace)
    for quote in [one.quote for one, _ in checked if one.is_doubtful and one.quote.outcome == "mismatch"]:
        if not _is_altered(quote, workspace):
            quote.outcome, quote.found, quote.why = "unchecked", None, _NO_QUOTE
    compared = 0
    for one, reference in checked:
        one.quote.location = reference
        is_past = one.is_past
        if not is_past and one.quote.outcome == "mismatch" and compared < _MAX_REPLACED and (new := one.replacement()):
            compared += 1
            is_past = _is_replaced(one, new, checker, permalinks)
        _settle(one.quote, reference, is_past=is_past)


def is_quote(quote: Quote) -> bool:
    """Return whether a text that was checked is a quote, as far as its document shows."""
    return quote.why not in _NOT_QUOTES


def _settle_by_code(quote: Quote, reference: Reference, checker: QuoteChecker, workspace: Workspace) -> None:
    """Take the only one of several files that has the code at the line."""
    if len(reference.candidates) >= MAX_SHOWN or len("".join(quote.text.split())) < MIN_MOVED:
        return  # there may be more than these, or short code may be in any file
    shown = [replace(quote, path=path) for path in reference.candidates]
    for one in shown:
        _compare(one, workspace.read(one.path), checker)
    found = [one for one in shown if one.outcome == "verified"]
    if len(found) != 1:
        return
    (only,) = found
    reference.target, reference.candidates = only.path, ()
    reference.outcome, reference.why, reference.found = "abbreviated", "", Location(only.path, reference.line)
    quote.path, quote.outcome, quote.match, quote.why = only.path, only.outcome, only.match, only.why
    quote.found, quote.similarity, quote.difference = only.found, only.similarity, only.difference


def _is_replaced(located: LocatedQuote, new: str, checker: QuoteChecker, permalinks: PermalinkReader) -> bool:
    """Return whether the code that the text proposes instead of a similar quote is there: the change was made."""
    old, size = located.quote.text, len("".join(new.split()))
    if not MIN_MOVED <= size <= _MAX_NEW or len(old) > _MAX_NEW:
        return False
    words, others = ({found[0] for found in _NAME.finditer(text)} for text in (old, new))
    if 2 * len(words & others) < len(words):
        return False
    other = replace(located.quote, text=new)
    _check_quote(other, located.candidates, checker, permalinks)
    return other.outcome == "verified" and (other.match != "condensed" or size >= _MIN_CONDENSED)


def _settle(quote: Quote, reference: Reference, *, is_past: bool) -> None:
    """Settle what a quote that was checked means for its location."""
    if is_past and quote.outcome in ("mismatch", "missing-file"):
        quote.outcome, quote.found, quote.why, quote.difference = "unchecked", None, PAST, None
    elif (reference.is_far or reference.why == DOUBTFUL) and quote.outcome not in ("verified", "unchecked"):
        quote.outcome, quote.found, quote.why = "unchecked", None, UNNAMED
    elif reference.is_elsewhere or (reference.candidates and not reference.target):
        quote.outcome, quote.found, quote.why = "unchecked", None, reference.why
    elif reference.why == PLACEHOLDER:
        quote.outcome, quote.found, quote.why = "unchecked", None, PLACEHOLDER
    elif quote.outcome in ("missing-file", "outside") and reference.outcome in ("unchecked", "planned"):
        quote.outcome, quote.found, quote.why = "unchecked", None, reference.why
    elif quote.why not in (_NO_CODE, _NO_QUOTE, _TO_BE_WRITTEN, _SKETCH, _BELOW_COMMENT):
        _apply_quote_outcome(reference, quote)
    # The location in a fence that is not a quote states nothing.
    if quote.why in (_NO_QUOTE, _TO_BE_WRITTEN, _SKETCH) and reference.line is None and reference.at >= quote.at - 1:
        reference.why = PLACEHOLDER


def _explain(quote: Quote, workspace: Workspace, lost: LostQuotes) -> None:
    """State where a quote that is not in its place was found, or what is most similar to it."""
    file = workspace.read(quote.path)
    if quote.outcome == "mismatch" and quote.found is not None:
        quote.outcome, quote.similarity = "relocated", 1.0
        quote.why = f"it is in {quote.found.path}"
    elif quote.outcome == "mismatch" and isinstance(file, SourceFile):
        lost.suggest(quote, file)


def _leave_out_new_code(located: list[LocatedQuote], workspace: Workspace) -> None:
    """Leave quotes without a line unchecked that are neither in their file nor an altered excerpt of it.

    Of a possible sketch, at most one line may be changed, unless the whole is similar enough.
    """
    failed = [one for one in located if one.quote.outcome == "mismatch"]
    if not failed:
        return
    from remit.evidence.similarity import LineIndex

    index: LineIndex | None = None
    for one in failed:  # sorted by file, so that each file is indexed once
        quote = one.quote
        file = workspace.read(quote.path)
        if not isinstance(file, SourceFile) or len(file.text) > _MAX_INDEXED:
            continue
        index = index if index is not None and index.path == file.path else LineIndex(file.text, file.path)
        is_altered = index.is_altered(quote.text)
        may_be_sketch = one.is_sketch and quote.similarity is not None and quote.match != "altered"
        if not is_altered or (may_be_sketch and index.count_unknown(quote.text) > 1):
            quote.outcome, quote.found, quote.match, quote.similarity = "unchecked", None, None, None
            quote.why, quote.difference = _SKETCH if is_altered else _TO_BE_WRITTEN, None


def _is_altered(quote: Quote, workspace: Workspace) -> bool:
    """Return whether a quote is an excerpt of the lines around its location with a few changed tokens."""
    from remit.evidence.lost_quotes import GUESS_REACH
    from remit.evidence.similarity import LineIndex

    file = workspace.read(quote.path)
    if not isinstance(file, SourceFile):
        return False
    first = max(0, (quote.line or 1) - 1 - GUESS_REACH)
    last = (quote.end_line or quote.line or 1) + GUESS_REACH
    return LineIndex("\n".join(file.lines[first:last]), file.path).is_altered(quote.text)


def _check_quote(
    quote: Quote, candidates: list[Reference], checker: QuoteChecker, permalinks: PermalinkReader
) -> Reference:
    """Check a quote and return the reference that is its location: of several, the one at which it was found."""
    order = [*reversed(candidates), candidates[-1]] if len(candidates) > 1 else candidates
    for candidate in order:
        if candidate.is_elsewhere:
            quote.path, quote.line, quote.end_line = candidate.path, candidate.line, candidate.end_line
            quote.outcome, quote.found = "unchecked", None
            continue
        workspace = permalinks.workspace_of(candidate)
        several = candidate.candidates if not candidate.target else ()
        for path in several or (candidate.file,):
            quote.path, quote.line, quote.end_line = path, candidate.line, candidate.end_line
            file = workspace.read(path) if workspace is not None else Absent(path, "missing")
            _compare(quote, file, checker)
            if quote.outcome == "verified":
                return candidate
        if several:
            quote.path, quote.outcome = candidate.path, "ambiguous"
            quote.found, quote.why = None, "several files end with this path, and none has the quote at this line"
    if len(candidates) > 1:
        _check_in_all(quote, candidates, checker, permalinks)
    return _check_head(quote, candidates, checker, permalinks) or candidates[-1]


def _check_head(
    quote: Quote, candidates: list[Reference], checker: QuoteChecker, permalinks: PermalinkReader
) -> Reference | None:
    """Check the code before a comment such as `// Better:` that the file does not have: below it is proposed code.

    The comment may also describe altered code, so the quote is `unchecked`, and not `verified`.
    """
    head = before_label(quote.text) if quote.outcome in ("mismatch", "relocated") else ""
    if len("".join(head.split())) < MIN_MOVED:
        return None
    shown = replace(quote, text=head)
    reference = _check_quote(shown, candidates, checker, permalinks)
    workspace = permalinks.workspace_of(reference)
    file = workspace.read(shown.path) if workspace is not None and shown.outcome == "verified" else None
    label = quote.text[len(head) :].strip("\n").partition("\n")[0].strip()
    if not isinstance(file, SourceFile) or label in file.text:
        return None
    quote.path, quote.line, quote.end_line, quote.difference = shown.path, shown.line, shown.end_line, None
    quote.outcome, quote.found, quote.match, quote.similarity = "unchecked", None, None, None
    quote.why = _BELOW_COMMENT
    return reference


def _check_in_all(
    quote: Quote, candidates: list[Reference], checker: QuoteChecker, permalinks: PermalinkReader
) -> None:
    """Check a quote in the lines from the first to the last of several of one file: `a.py:12, 30` shows both."""
    last = candidates[-1]
    lines = [line for one in candidates for line in (one.line, one.end_line) if line is not None]
    workspace = permalinks.workspace_of(last) if {one.file for one in candidates} == {last.file} and lines else None
    file = workspace.read(last.file) if workspace is not None and not last.is_elsewhere else None
    if quote.outcome not in ("mismatch", "relocated") or not isinstance(file, SourceFile):
        return
    whole = replace(quote, line=min(lines), end_line=max(lines))
    _compare(whole, file, checker)
    if whole.outcome == "verified":
        quote.outcome, quote.match, quote.similarity, quote.why, quote.found = "verified", whole.match, 1.0, "", None


def _compare(quote: Quote, file: SourceFile | Absent, checker: QuoteChecker) -> None:
    """Set the outcome of a quote in one file."""
    quote.found, quote.similarity, quote.match, quote.why = None, None, None, ""
    if isinstance(file, Absent):
        missing = file.why in ("missing", "folder")
        quote.outcome = "missing-file" if missing else "outside" if file.why == "outside" else "unchecked"
        quote.why = "there is no such file" if missing else f"the file is {file.why}"
    elif not checker.check(quote, file):
        if checker.is_exhausted:
            quote.outcome, quote.why = "unchecked", "the quotes are too large or too many to check"
            return
        from remit.evidence.code_tokens import CodeTokens

        has_code = bool(CodeTokens(quote.text, file.path).words)
        quote.outcome = "mismatch" if has_code else "unchecked"
        quote.why = "the file does not contain these lines" if has_code else _NO_CODE


def _apply_quote_outcome(reference: Reference, quote: Quote) -> None:
    """Change the outcome of a reference whose quote is not there."""
    if quote.outcome == "relocated" and reference.outcome in ("verified", "abbreviated", "out-of-range", "relocated"):
        reference.outcome, reference.found, reference.why = "relocated", quote.found, f"the quote: {quote.why}"
        reference.is_quote_location = True
    elif quote.outcome == "mismatch" and reference.outcome in ("verified", "abbreviated", "relocated"):
        reference.outcome, reference.why = "mismatch", "the quote is not there"
        reference.is_quote_location = True
    elif quote.outcome == "unchecked" and reference.outcome in ("verified", "abbreviated"):
        reference.outcome, reference.why = "unchecked", f"the quote: {quote.why}"
    elif reference.outcome == "missing-file" and quote.found is not None:
        reference.found = Location(quote.found.path, quote.found.line)
