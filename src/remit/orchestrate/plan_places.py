"""Where something stands in a plan file, so that a refusal can name its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

#: Where a value is: `("phases", 1, "delegations", 0, "task")`.
Place = tuple[str | int, ...]
#: In files, one phase is `phase`, one delegation `delegation`, as TOML likes it; the plural is fine too.
PLURALS = {"phase": "phases", "delegation": "delegations"}
_HEADER = re.compile(r"\s*(\[\[?)\s*([\w. -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*\"?([\w-]+)\"?\s*=")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class Places:
    """The lines of a plan file, by what stands there."""

    def __init__(self, text: str = "", *, is_yaml: bool = False) -> None:
        self._text = text
        self._is_yaml = is_yaml

    def line(self, *place: str | int) -> str:
        """`, line 12` for a place, or for what it is a part of; nothing if there is no file."""
        if not self._text:
            return ""
        known = dict(_yaml_lines(self._text) if self._is_yaml else _toml_lines(self._text))
        while place and place not in known:
            place = place[:-1]
        return f", line {known[place]}" if place else ""

    def of_error(self, said: str) -> str:
        """The line that an error of msgspec's speaks of."""
        _, _, path = said.partition(" - at `$")
        place: list[str | int] = [name or int(number) for name, number in _STEP.findall(path)]
        unknown = re.search(r"unknown field `([\w-]+)`", said)
        return self.line(*place, *([unknown[1]] if unknown else []))


def _toml_lines(text: str) -> Iterator[tuple[Place, int]]:
    base: Place = ()
    counts: dict[Place, int] = {}
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quote and (header := _HEADER.match(line)):
            base = _header_place(header[2].split("."), counts, is_item=header[1] == "[[")
            yield base, number
        elif not quote and (key := _KEY.match(line)):
            yield (*base, PLURALS.get(key[1], key[1])), number
        for mark in re.findall(r"\"\"\"|'''", line):  # inside them nothing is a key
            quote = "" if mark == quote else quote or mark


def _header_place(words: list[str], counts: dict[Place, int], *, is_item: bool) -> Place:
    place: Place = ()
    for at, word in enumerate(words):
        place = (*place, PLURALS.get(word.strip(), word.strip()))
        if is_item and at == len(words) - 1:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _yaml_lines(text: str) -> Iterator[tuple[Place, int]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    yield from _node_lines(yaml.compose(text, Loader=loader), ())


def _node_lines(node: Any, place: Place) -> Iterator[tuple[Place, int]]:
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, PLURALS.get(key.value, key.value))
            yield inner, key.start_mark.line + 1
            yield from _node_lines(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for at, item in enumerate(node.value):
            yield (*place, at), item.start_mark.line + 1
            yield from _node_lines(item, (*place, at))
