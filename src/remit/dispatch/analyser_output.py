"""Read what analysers print, one result at a time, and combine it as SARIF within limits for results.

An output may be larger than the memory: it is read from a file, and only the results that are kept are in memory. Equal
results at one place are one.
"""

from __future__ import annotations

import codecs
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from remit.dispatch.analyser_table import Analyser, OutputError, OutputPart, from_sarif, listed_files

#: The most results of one rule that are kept, the most of all rules, and the most characters. The rest is counted.
MAX_OF_RULE = 2_000
MAX_RESULTS = 20_000
_MAX_CHARACTERS = 32 * 1024 * 1024
#: The most characters of one value, such as a result or a list of rules.
_MAX_VALUE = 16 * 1024 * 1024
_CHUNK = 1024 * 1024


class AnalyserOutput(NamedTuple):
    """What one command of an analyser printed, and what its listing printed, if it has one."""

    file: IO[bytes]
    files: tuple[str, ...]
    listed: bytes | None = None


class CombinedOutput(NamedTuple):
    """The results of an analyser as SARIF, the files that it did not read, and how many results are left out."""

    sarif: bytes
    unread: list[str]
    left_out: int


def combined_sarif(analyser: Analyser, outputs: Sequence[AnalyserOutput], root: Path) -> CombinedOutput:
    """Return the outputs of an analyser as one SARIF file.

    Raises OutputError if an output is not complete.
    """
    kept = _KeptResults()
    runs: list[_Run] = []
    inside = os.path.realpath(root)
    unread: set[str] = set()
    for output in outputs:
        items = json_lines(output.file) if analyser.is_lines else json_items(output.file, analyser.containers)
        try:
            unread.update(_read_output(analyser, items, output.files, inside, kept, runs))
        except OutputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise OutputError("its output is not complete") from error
        if output.listed is not None:
            unread.update(set(output.files) - listed_files(output.listed, inside))
    sarif = b'{"version": "2.1.0", "runs": [' + b", ".join(run.sarif() for run in runs) + b"]}"
    return CombinedOutput(sarif, sorted(unread), kept.left_out)


def _read_output(
    analyser: Analyser,
    items: Iterator[OutputPart],
    files: Collection[str],
    root: str,
    kept: _KeptResults,
    runs: list[_Run],
) -> set[str]:
    """Add the runs of one output, and return the files that were not read."""
    read: set[str] = set()
    unread: set[str] = set()
    reads_only_stated = False
    run: _Run | None = None
    for reading in (analyser.convert or from_sarif)(items, root):
        if run is None or reading.starts_run:
            run = _Run({"tool": {"driver": {"name": analyser.name}}}, [])
            runs.append(run)
        run.parts.update(reading.parts)
        run.results.extend(kept.added(reading.results))
        read.update(reading.read)
        unread.update(reading.unread)
        reads_only_stated |= reading.reads_only_stated
    return unread | (set(files) - read if reads_only_stated else set())


class _Run(NamedTuple):
    """A run with its encoded results."""

    parts: dict[str, Any]
    results: list[bytes]

    def sarif(self) -> bytes:
        """Return the run as SARIF; one whose list of results is not a list stays without results."""
        results = b"" if "results" in self.parts else b', "results": [' + b", ".join(self.results) + b"]"
        return json.dumps(self.parts).encode()[:-1] + results + b"}"


class _KeptResults:
    """Which results of all outputs are kept."""

    def __init__(self) -> None:
        self.left_out = 0
        self._room = _MAX_CHARACTERS
        self._places: set[int] = set()
        self._of_rule: Counter[str] = Counter()

    def added(self, results: Sequence[Any]) -> Iterator[bytes]:
        """Yield the results that are kept, without those at one place that are equal."""
        for result in results:
            rule, place = _rule_and_place(result)
            if place in self._places:
                continue
            encoded = json.dumps(result).encode()
            is_full = self._of_rule[rule] >= MAX_OF_RULE or len(self._places) >= MAX_RESULTS
            if is_full or len(encoded) > self._room:
                self.left_out += 1
                continue
            self._of_rule[rule] += 1
            self._places.add(place)
            self._room -= len(encoded)
            yield encoded


def _rule_and_place(result: Any) -> tuple[str, int]:
    """Return the rule of a result, and a number for its rule, place and message."""
    if not isinstance(result, dict):
        return "", hash(json.dumps(result))
    rule = str(result.get("ruleId") or result.get("rule") or result.get("ruleIndex"))
    places = json.dumps(_without_columns(result.get("locations")))
    return rule, hash((rule, places, json.dumps(result.get("message"))))


def _without_columns(value: Any) -> Any:
    """Return locations without columns, offsets and snippets: results in one line are at one place."""
    if isinstance(value, list):
        return [_without_columns(each) for each in value[:20]]
    if not isinstance(value, dict):
        return value
    if "startLine" in value:
        return [value["startLine"], value.get("endLine")]
    return {key: _without_columns(each) for key, each in value.items()}


def json_lines(file: IO[bytes]) -> Iterator[OutputPart]:
    """Yield the value of each line that has a JSON object."""
    while line := file.readline(_MAX_VALUE):
        if line.startswith(b"{"):
            yield OutputPart((), json.loads(line))


def json_items(file: IO[bytes], containers: Collection[tuple[str, ...]]) -> Iterator[OutputPart]:
    """Yield the values of a JSON document in their order, without reading the whole document into memory.

    A value whose path is in `containers` is entered: it is yielded as an empty list or object, and its members follow.
    The path has the keys, with `*` for each element of a list.
    """
    reader = _JsonReader(file)
    if not reader.next():
        raise OutputError("it printed no results")
    yield from _items(reader, (), containers)
    if reader.next():
        raise OutputError("its output is more than one document")


def _items(reader: _JsonReader, path: tuple[str, ...], containers: Collection[tuple[str, ...]]) -> Iterator[OutputPart]:
    kind = reader.next()
    if path not in containers or kind not in ("[", "{"):
        yield OutputPart(path, reader.value())
        return
    yield OutputPart(path, [] if kind == "[" else {})
    reader.skip(kind)
    end = "]" if kind == "[" else "}"
    while reader.next() != end:
        key = "*"
        if kind == "{":
            key = str(reader.value())
            reader.skip(":")
        yield from _items(reader, (*path, key), containers)
        if reader.next() != end:
            reader.skip(",")
    reader.skip(end)


class _JsonReader:
    """Reads the values of a JSON document one after another from a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._value = json.JSONDecoder().raw_decode
        self._text = ""
        self._position = 0
        self._is_end = False

    def next(self) -> str:
        """Return the next character that is not a space; empty at the end."""
        while True:
            while self._position < len(self._text):
                character = self._text[self._position]
                if character not in " \t\r\n":
                    return character
                self._position += 1
            if self._is_end:
                return ""
            self._more()

    def skip(self, character: str) -> None:
        """Skip the next character, which must be this one."""
        if self.next() != character:
            raise OutputError("its output ends early" if not self.next() else "its output is not complete")
        self._position += 1

    def value(self) -> Any:
        """Return the next value."""
        self.next()
        while True:
            try:
                value, end = self._value(self._text, self._position)
            except ValueError:
                if self._is_end:
                    raise OutputError("its output ends early or is not JSON") from None
            else:
                if end < len(self._text) or self._is_end:  # a number may go on
                    self._position = end
                    return value
            self._more()

    def _more(self) -> None:
        """Read as much again as is left, so that a long value is not parsed many times."""
        rest = self._text[self._position :]
        if len(rest) > _MAX_VALUE:
            raise OutputError(f"its output has a value of more than {_MAX_VALUE:,} characters, or is not JSON")
        data = self._file.read(max(_CHUNK, len(rest)))
        self._is_end = not data
        self._text, self._position = rest + self._decode(data, self._is_end), 0
