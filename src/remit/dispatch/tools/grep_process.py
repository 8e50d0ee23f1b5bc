"""The process that searches: its regular expression may take for ever, so it must be possible to kill it.

Reads a JSON line (see `Wanted`) and then paths, each ended by a NUL. Prints JSON lines: rows
`[path, line, is_match, text]`, `null` between groups of lines, and at the end `{"more", "unread"}` or `{"error"}`.
Standard library only: it runs in an isolated interpreter.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from remit.dispatch.tools.openat import open_file, open_folder, parent_of

_BINARY_PROBE = 8_192
_MEMORY = 2 * 1024**3


class _Full(Exception):
    """As many rows as were asked for."""


def main(_: list[str]) -> None:
    """Search the files named on the standard input."""
    head, _line, rest = sys.stdin.buffer.read().partition(b"\n")
    wanted: dict[str, Any] = json.loads(head)
    _limit(wanted["seconds"])
    try:
        search = FileSearch(wanted)
    except (re.error, OverflowError, RecursionError) as error:
        _print({"error": str(error)})
        return
    paths = [os.fsdecode(name) for name in rest.split(b"\0") if name]
    more = False
    try:
        if len(paths) == 1:
            search.one(paths[0])
        else:
            for folder, names in groupby(paths, key=lambda path: path.rpartition("/")[0]):
                search.folder(folder, [name.rpartition("/")[2] for name in names])
    except _Full:
        more = True
    _print({"more": more, "unread": search.unread})


def _limit(seconds: int) -> None:
    """Bound memory, and the time in case that the worker dies and nobody is left to end this."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _print(row: object) -> None:
    # Names that are not UTF-8 hold lone surrogates, which no reader of JSON takes.
    sys.stdout.buffer.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


class FileSearch:
    """What is looked for, and how many rows may still be printed."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.unread = 0
        self._top: str = wanted["top"]
        self._closed = frozenset((device, number) for device, number in wanted["closed"])
        self._mode: str = wanted["mode"]
        self._multiline: bool = wanted["multiline"]
        flags = re.MULTILINE | (re.IGNORECASE if wanted["ignore_case"] else 0)
        self._pattern = re.compile(wanted["pattern"], flags | (re.DOTALL if self._multiline else 0))
        self._before: int = wanted["before"]
        self._after: int = wanted["after"]
        self._left: int = wanted["rows"]
        self._most: int = wanted["file_bytes"]
        self._width: int = wanted["width"]

    def one(self, path: str) -> None:
        """Search one file, which may be a link that stays inside."""
        try:
            with parent_of(self._top, path, closed=self._closed) as (folder, name):
                self._file(folder, name, path)
        except OSError:
            self.unread += 1

    def folder(self, folder: str, names: list[str]) -> None:
        """Search files of one folder; what cannot be opened is left out, links as well."""
        try:
            with open_folder(self._top, folder, self._closed) as opened:
                for name in names:
                    self._file(opened, name, f"{folder}/{name}" if folder else name)
        except OSError:
            self.unread += len(names)

    def _file(self, folder: int, name: str, path: str) -> None:
        try:
            with open(open_file(name, folder), "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
                data = file.read(self._most + 1)
        except OSError:
            return  # a link, a pipe, forbidden, or gone meanwhile
        if len(data) > self._most:
            self.unread += 1
        elif b"\0" not in data[:_BINARY_PROBE]:
            self._text(path, data.decode("utf-8", "replace").replace("\r\n", "\n"))

    def _text(self, path: str, text: str) -> None:
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        found = self._across(text) if self._multiline else self._each(lines)
        if self._mode == "content":
            self._content(path, lines, [number for number in found if number <= len(lines)])
        elif self._mode == "count":
            if count := sum(1 for _ in found):
                self._row([path, 0, True, str(count)])
        elif next(found, None) is not None:
            self._row([path, 0, True, ""])

    def _each(self, lines: list[str]) -> Iterator[int]:
        search = self._pattern.search
        return (number for number, line in enumerate(lines, 1) if search(line))

    def _across(self, text: str) -> Iterator[int]:
        """The lines that matches span, each once."""
        at, number, last = 0, 1, 0
        for match in self._pattern.finditer(text):
            number += text.count("\n", at, match.start())
            at = match.start()
            end = number + text.count("\n", at, max(match.end() - 1, at))
            yield from range(max(number, last + 1), end + 1)
            last = max(end, last)

    def _content(self, path: str, lines: list[str], found: list[int]) -> None:
        matching, shown = set(found), 0
        for number in found:
            first = max(number - self._before, shown + 1, 1)
            if shown and first > shown + 1 and (self._before or self._after):
                _print(None)
            for place in range(first, min(number + self._after, len(lines)) + 1):
                self._row([path, place, place in matching, lines[place - 1][: self._width]])
                shown = place

    def _row(self, row: list[Any]) -> None:
        if not self._left:
            raise _Full
        self._left -= 1
        _print(row)
