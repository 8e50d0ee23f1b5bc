"""Explain quotes that are not in their file: where else they are, or what is most similar to them.

Every other file of the tree is searched, once for all quotes together and within limits. Else the most similar lines
near the location and the first difference are shown; similarity never makes a quote count as found.
"""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.model import Difference, Location, Quote
from remit.evidence.quote_text import quote_readings
from remit.evidence.quotes import QuoteChecker, cited_lines, long_readings
from remit.workspace.files import SourceFile, Workspace

#: A quote this similar to some lines is an altered quote of them.
MIN_SIMILARITY = 0.90
#: A suggestion for a quote that was not found: its minimum similarity and its maximum distance.
MIN_GUESS = 0.50
GUESS_REACH = 50
#: Similar lines are searched for at most this many quotes of a result.
MAX_GUESSED = 500
#: Limits of the search in other files: characters in total, characters of one file, files, and quotes.
MAX_SEARCHED = 64 * 1024 * 1024
MAX_SEARCHED_FILE = 1024 * 1024
MAX_SEARCHED_FILES = 20_000
MAX_LOST = 100
_PROSE = (".md", ".markdown", ".txt", ".rst", ".html", ".json", ".jsonl", ".sarif", ".xml", ".log")
#: Endings of binary files, which are not opened.
_NO_TEXT = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".mp4", ".woff", ".woff2", ".ttf"),
    *(".zip", ".gz", ".xz", ".jar", ".so", ".dll", ".pyc"),
)
#: At most this many files of the same name are compared with a quote.
_MAX_NAMESAKES = 20
_OTHER_CODE = "only a comment states its line, and the code is that of another file"


class LostQuotes:
    """Searches for the quotes of one result that are not in their own file."""

    def __init__(self, workspace: Workspace, checker: QuoteChecker) -> None:
        from remit.evidence.similarity import WindowMatcher  # late import: most quotes are exact

        self._workspace = workspace
        self._checker = checker
        self._guesses_left = MAX_GUESSED
        self._matcher = WindowMatcher()

    def find_moved(self, quotes: list[Quote], document: str = "") -> None:
        """Search all other files for quotes that are not in their own file, in one pass over the tree.

        The document itself is not a source of its quotes, and prose is not a source of code.
        """
        wanted = [_MissingQuote(quote, readings) for quote in quotes[:MAX_LOST] if (readings := long_readings(quote))]
        if not wanted:
            return
        for file in self._other_files():
            if document and document in file.text:
                continue
            is_prose = file.path.lower().endswith(_PROSE)
            for missing in wanted:
                if file.path == missing.quote.path or (is_prose and not missing.quote.path.lower().endswith(_PROSE)):
                    continue
                if len(missing.locations) < 2 and (location := self._locate(file, missing)):
                    missing.locations.append(location)
        for missing in wanted:
            if not missing.locations:
                missing.locations += self._in_namesakes(missing.quote)
            if missing.locations and missing.quote.is_by_text:
                missing.quote.outcome, missing.quote.why = "unchecked", _OTHER_CODE
            elif len(missing.locations) == 1:
                missing.quote.found = missing.locations[0]

    def _in_namesakes(self, quote: Quote) -> Iterator[Location]:
        """Yield the places of a quote in other files of the same name, compared token by token."""
        name = quote.path.rpartition("/")[2]
        for path in self._workspace.index.ending_with(name)[:_MAX_NAMESAKES]:
            file = self._workspace.read(path) if path != quote.path else None
            if isinstance(file, SourceFile):
                one = Quote(path=path, line=quote.line, end_line=quote.end_line, at=quote.at, text=quote.text)
                cited = cited_lines(one, file)
                if (
                    cited is not None
                    and (found := self._checker.by_tokens(one, file, long_readings(one), cited)) is not None
                ):
                    yield Location(path, found.line)

    def _other_files(self) -> Iterator[SourceFile]:
        searched = skipped = 0
        for path in self._workspace.paths[:MAX_SEARCHED_FILES]:
            file = None if path.lower().endswith(_NO_TEXT) else self._workspace.read(path)
            if not isinstance(file, SourceFile):
                continue
            if len(file.text) > MAX_SEARCHED_FILE:
                skipped += len(file.text)
            else:
                searched += len(file.text)
                yield file
            if searched > MAX_SEARCHED or skipped > 4 * MAX_SEARCHED:
                return

    def _locate(self, file: SourceFile, missing: _MissingQuote) -> Location | None:
        for pieces, longest in missing.readings:
            if longest in file.text and (hit := self._checker.nearest(file, pieces, 1)) is not None:
                return Location(file.path, hit.line)
        return None

    def suggest(self, quote: Quote, file: SourceFile) -> None:
        """Record the lines near the location that are most similar to a quote that was not found."""
        from remit.evidence.similarity import first_difference

        self._guesses_left -= 1
        if self._guesses_left < 0:
            return
        line = min(max(quote.line or 1, 1), len(file.lines))
        last = max(line, min(quote.end_line or line, len(file.lines)))
        low, high = (line - GUESS_REACH, last + GUESS_REACH) if quote.line is not None else (1, len(file.lines))
        matches = [
            (match, pieces)
            for pieces in quote_readings(quote.text)
            if (match := self._matcher.best_window(file, "\n".join(pieces), low, high, MIN_GUESS)) is not None
        ]
        if matches:
            best, pieces = max(matches, key=lambda match: match[0].similarity)
            quote.found, quote.similarity = Location(file.path, best.line), round(best.similarity, 4)
            quote.match = "altered" if best.similarity >= MIN_SIMILARITY else None
            quote.difference = first_difference(pieces, file, best)
            share = min(best.similarity, 0.99)  # not 100 %: it differs
            quote.why += f"; line {best.line} is the most similar ({share:.0%}){_difference_text(quote.difference)}"


class _MissingQuote:
    """A quote that is searched for in other files, with the longest word of each of its readings."""

    def __init__(self, quote: Quote, readings: list[list[str]]) -> None:
        self.quote = quote
        self.readings = [(pieces, max(" ".join(pieces).split(), key=len)) for pieces in readings]
        self.locations: list[Location] = []


def _difference_text(difference: Difference | None) -> str:
    """Return the line of the quote that differs, and the line of the file."""
    if difference is None:
        return ""
    if not difference.actual:
        return f"; none of these lines is like `{difference.quoted}`"
    return f"; the quote has `{difference.quoted}`, but line {difference.line} is `{difference.actual}`"
