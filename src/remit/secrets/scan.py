"""Replace secrets in text before it is stored, shown or sent to a model: tool output, events, transcripts, logs.

A rule has keywords, one of which is in every match or next to it. Only the surroundings of keywords are searched, so a
text without them costs one fast search for each keyword, and the time is linear for any text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec

from remit.lazy import lazy_pattern
from remit.secrets import secret_kinds
from remit.secrets.environment import own_secrets
from remit.secrets.secret_kinds import SecretRule, Span, first_group

#: Changes the case of ASCII letters only, so that positions stay the same.
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class _Published(msgspec.Struct):
    """A rule of gitleaks."""

    id: str
    regex: str
    keywords: tuple[str, ...]
    reach: int
    entropy: float = 0.0
    group: int | None = None


class _Data(msgspec.Struct):
    """The converted rules of gitleaks; `tools/secret_rules.py` writes them."""

    rules: list[_Published]


def redact(text: str) -> str:
    """Return a text with each secret replaced by its kind. For long texts, call it in a thread."""
    for variable, value in own_secrets():
        text = text.replace(value, f"[{variable} removed]")
    spans = sorted(find_secrets(text))
    if not spans:
        return text
    parts: list[str] = []
    position = 0
    for start, _, end, name in spans:
        if start >= position:
            parts += text[position:start], f"[{name} removed]"
        # Of two secrets that overlap, the rest of the second one is removed, too.
        position = max(position, end)
    return "".join((*parts, text[position:]))


def redacted_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool call with the secrets in their texts replaced."""
    return {name: redact(value) if isinstance(value, str) else value for name, value in arguments.items()}


def find_secrets(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield start, rank, end and kind of each secret. They may overlap; the first rule names a secret best."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text.translate(_LOWER)
    is_present: dict[str, bool] = {}
    for rank, rule in enumerate(all_rules()):
        for keyword in rule.keywords:
            if keyword not in is_present:
                is_present[keyword] = keyword in lowered
        if any(is_present[keyword] for keyword in rule.keywords):
            for region in _regions(lowered, rule):
                yield from ((start, rank, end, rule.name) for start, end in _matches(text, rule, *region))


def _matches(text: str, rule: SecretRule, start: int, end: int) -> Iterator[Span]:
    while start < end and (found := rule.pattern.search(text, start, end)):
        span = rule.judge(found)
        if span is not None and span[1] > span[0]:
            yield span
        start = max(found.end() if span is None else span[1], found.start() + 1)


def _regions(lowered: str, rule: SecretRule) -> Iterator[Span]:
    """Yield the surroundings of a rule's keywords, those that overlap as one."""
    hits = (hit for keyword in rule.keywords for hit in _occurrences(lowered, keyword))
    ordered: Iterable[int] = hits if len(rule.keywords) == 1 else sorted(hits)
    first = last = -1
    for hit in ordered:
        if first >= 0 and hit - rule.reach <= last:
            last = hit + rule.reach
            continue
        if first >= 0:
            yield first, min(last, len(lowered))
        first, last = max(0, hit - rule.reach), hit + rule.reach
    if first >= 0:
        yield first, min(last, len(lowered))


def _occurrences(text: str, keyword: str) -> Iterator[int]:
    position = text.find(keyword)
    while position >= 0:
        yield position
        position = text.find(keyword, position + len(keyword))


@lru_cache(maxsize=1)
def all_rules() -> tuple[SecretRule, ...]:
    """Return every rule: Remit's own, those of gitleaks, and last the values that only their names give away."""
    data = resources.files("remit.secrets").joinpath("gitleaks.json").read_bytes()
    published = msgspec.json.decode(data, type=_Data).rules
    return (*secret_kinds.KINDS, *map(_rule, published), *secret_kinds.NAMED)


def _rule(one: _Published) -> SecretRule:
    pattern = lazy_pattern(one.regex, re.ASCII)  # in Go, \w, \s and \b mean ASCII

    def judge(found: re.Match[str]) -> Span | None:
        span = found.span(one.group) if one.group is not None else first_group(found)
        return span if not one.entropy or entropy(found.string[slice(*span)]) >= one.entropy else None

    return SecretRule(one.id.replace("-", " "), one.keywords, pattern, one.reach, judge)


def entropy(text: str) -> float:
    """Return the bits of information for each character of a text."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
