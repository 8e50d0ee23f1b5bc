"""The process that searches for Grep. A regular expression may take for ever, so the search must be killable.

Reads a JSON line (the request of `grep`) and then paths, each followed by a NUL. Prints JSON lines: rows
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


class _LimitReached(Exception):
    """The requested number of rows has been printed."""


def main(_: list[str]) -> None:
    """Search the files named on standard input."""
    head, _line, rest = sys.stdin.buffer.read().partition(b"\n")
    request: dict[str, Any] = json.loads(head)
    _set_limits(request["seconds"])
    try:
        search = FileSearch(request)
    except (re.error, OverflowError, RecursionError) as error:
        _print({"error": str(error)})
        return
    paths = [os.fsdecode(name) for name in rest.split(b"\0") if name]
    more = False
    try:
        if len(paths) == 1:
            search.search_file(paths[0])
        else:
            for folder, names in groupby(paths, key=lambda path: path.rpartition("/")[0]):
                search.search_folder(folder, [name.rpartition("/")[2] for name in names])
    except _LimitReached:
        more = True
    _print({"more": more, "unread": search.unread})


def _set_limits(seconds: int) -> None:
    """Limit the memory, and the time in case the worker dies and cannot end this process."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _print(row: object) -> None:
    # Names that are not UTF-8 contain lone surrogates, which JSON readers reject.
    sys.stdout.buffer.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


class FileSearch:
    """A search in files that prints matching rows up to a limit."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.unread = 0
        self._top: str = request["top"]
        self._closed = frozenset((device, number) for device, number in request["closed"])
        self._mode: str = request["mode"]
        self._multiline: bool = request["multiline"]
        flags = re.MULTILINE | (re.IGNORECASE if request["ignore_case"] else 0)
        self._pattern = re.compile(request["pattern"], flags | (re.DOTALL if self._multiline else 0))
        self._before: int = request["before"]
        self._after: int = request["after"]
        self._left: int = request["rows"]
        self._max_bytes: int = request["file_bytes"]
        self._width: int = request["width"]

    def search_file(self, path: str) -> None:
        """Search one file. It may be a link that stays inside the workspace."""
        try:
            with parent_of(self._top, path, closed=self._closed) as (folder, name):
                self._file(folder, name, path)
        except OSError:
            self.unread += 1

    def search_folder(self, folder: str, names: list[str]) -> None:
        """Search files of one folder. Links and files that cannot be opened are skipped."""
        try:
            with open_folder(self._top, folder, self._closed) as opened:
                for name in names:
                    self._file(opened, name, f"{folder}/{name}" if folder else name)
        except OSError:
            self.unread += len(names)

    def _file(self, folder: int, name: str, path: str) -> None:
        try:
            with open(open_file(name, folder), "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
                data = file.read(self._max_bytes + 1)
        except OSError:
            return  # a link, a pipe, without permission, or removed meanwhile
        if len(data) > self._max_bytes:
            self.unread += 1
        elif b"\0" not in data[:_BINARY_PROBE]:
            self._text(path, data.decode("utf-8", "replace").replace("\r\n", "\n"))

    def _text(self, path: str, text: str) -> None:
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        numbers = self._match_text(text) if self._multiline else self._match_lines(lines)
        if self._mode == "content":
            self._print_lines(path, lines, [number for number in numbers if number <= len(lines)])
        elif self._mode == "count":
            if count := sum(1 for _ in numbers):
                self._print_row([path, 0, True, str(count)])
        elif next(numbers, None) is not None:
            self._print_row([path, 0, True, ""])

    def _match_lines(self, lines: list[str]) -> Iterator[int]:
        search = self._pattern.search
        return (number for number, line in enumerate(lines, 1) if search(line))

    def _match_text(self, text: str) -> Iterator[int]:
        """Yield the lines that matches span, each once."""
        position, number, last = 0, 1, 0
        for match in self._pattern.finditer(text):
            number += text.count("\n", position, match.start())
            position = match.start()
            end = number + text.count("\n", position, max(match.end() - 1, position))
            yield from range(max(number, last + 1), end + 1)
            last = max(end, last)

    def _print_lines(self, path: str, lines: list[str], numbers: list[int]) -> None:
        """Print the matching lines with their context."""
        matching, printed = set(numbers), 0
        for number in numbers:
            first = max(number - self._before, printed + 1, 1)
            if printed and first > printed + 1 and (self._before or self._after):
                _print(None)
            for line in range(first, min(number + self._after, len(lines)) + 1):
                self._print_row([path, line, line in matching, lines[line - 1][: self._width]])
                printed = line

    def _print_row(self, row: list[Any]) -> None:
        if not self._left:
            raise _LimitReached
        self._left -= 1
        _print(row)
