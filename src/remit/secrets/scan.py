"""Replace secrets in text before it is stored, shown or sent to a model: tool output, events, transcripts, logs.

A rule has keywords, one of which is in every match or next to it. All keywords are found in one pass, and only their
surroundings are searched, so the time is linear for any text.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from remit.lazy import lazy_pattern
from remit.secrets import secret_kinds
from remit.secrets.environment import is_secret_name, own_secrets
from remit.secrets.secret_kinds import SecretRule, Span, first_group

#: Changes the case of ASCII letters only, so that positions stay the same.
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
#: Lines before and after an excerpt that are searched for the rest of a secret: a private key has many lines.
_CONTEXT_LINES = 60
#: A shorter text contains no secret.
_MIN_LENGTH = 8
#: Keywords are found by this many bytes at their start: the size of the type "I" of a memoryview.
_START = 4
#: A longer key of a mapping is a text, not a name.
_MAX_NAME = 100
#: What is shown in the place of a secret.
MARK = lazy_pattern(r"\[[^\[\]\n]{1,100}+(?<= removed)\]")


#: Escape sequences of terminals and characters without a shape, which may be inside a secret that people see whole.
_HIDDEN = lazy_pattern(
    r"\x1b(?:\[[0-?]{0,30}[ -/]{0,5}[@-~]|\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)|[@-Z\\^_]|)"
    r"|[\x00\x08\x7f\x9b\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
)
_HIDING = ("\x1b", "\0", "\x08", "\x7f")
_HIDES = lazy_pattern(r"[\x00\x08\x1b\x7f\x9b\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
OwnSecrets = Sequence[tuple[str, str]]
_Ranked = list[tuple[str, int]]


def redact(text: str, start: int = 0, *, keeps_lines: bool = False, own: OwnSecrets | None = None) -> str:
    """Return a text from `start` on with each secret replaced by its kind. For long texts, call it in a thread.

    If it `keeps_lines`, a secret of several lines leaves empty ones, so that line numbers stay the same. `own` are this
    process's own secrets, for callers with many texts.
    """
    if len(text) < _MIN_LENGTH:
        return text[start:]
    values = own_secrets() if own is None else own
    spans = sorted({*_own_spans(text, values), *find_secrets(text), *_split_spans(text, values)})
    parts: list[str] = []
    position = start
    for begin, _, end, name in spans:
        if end > start and (begin >= position or begin < start == position):
            parts += text[position : max(begin, position)], f"[{name} removed]"
        if keeps_lines and end > position:
            parts.append("\n" * text.count("\n", max(begin, position), end))
        # Of two secrets that overlap, the rest of the second one is removed, too.
        position = max(position, end)
    return "".join((*parts, text[position:])) if parts else text[start:]


def redact_lines(lines: Sequence[str], first: int, last: int) -> list[str]:
    """Return the lines with these indices without secrets, also without parts of one that begins before them."""
    start = max(0, first - _CONTEXT_LINES)
    shown = redact("\n".join(lines[start : last + _CONTEXT_LINES]), keeps_lines=True).split("\n")
    return shown[first - start : last - start]


def _split_spans(text: str, own: OwnSecrets) -> Iterator[tuple[int, int, int, str]]:
    """Yield the places of secrets in which there are escape sequences or characters without a shape."""
    if not (_HIDES.search(text) if not text.isascii() else any(sign in text for sign in _HIDING)):
        return
    kept: list[str] = []
    starts: list[int] = []
    shifts: list[int] = []
    length = position = 0
    for hidden in _HIDDEN.finditer(text):
        if hidden.start() > position:
            kept.append(text[position : hidden.start()])
            starts.append(length)
            shifts.append(position - length)
            length += len(kept[-1])
        position = hidden.end()
    kept.append(text[position:])
    starts.append(length)
    shifts.append(position - length)
    shown = "".join(kept)

    def original(position: int) -> int:
        return position + shifts[bisect_right(starts, position) - 1]

    for begin, rank, end, name in (*_own_spans(shown, own), *find_secrets(shown)):
        if end > begin:
            yield original(begin), rank, original(end - 1) + 1, name


def _own_spans(text: str, own: OwnSecrets) -> Iterator[tuple[int, int, int, str]]:
    """Yield the places of this process's own secrets."""
    for variable, value in own:
        yield from ((position, -1, position + len(value), variable) for position in _occurrences(text, value))


def redact_all(value: Any) -> Any:
    """Return a nested value with the secrets in all its texts replaced, also those that only their keys give away."""
    return _redact_nested(value, own_secrets())


def _redact_nested(value: Any, own: OwnSecrets) -> Any:
    if isinstance(value, str):
        return redact(value, own=own)
    if isinstance(value, Mapping):
        return {_redact_key(name, own): _redact_entry(name, inner, own) for name, inner in value.items()}
    return [_redact_nested(inner, own) for inner in value] if isinstance(value, list | tuple) else value


def _redact_key(name: Any, own: OwnSecrets) -> Any:
    return redact(name, own=own) if isinstance(name, str) and len(name) > _MAX_NAME else name


def _redact_entry(name: Any, value: Any, own: OwnSecrets) -> Any:
    redacted = _redact_nested(value, own)
    if redacted == value and isinstance(value, str) and isinstance(name, str) and is_secret_name(name[:_MAX_NAME]):
        # A password has no typical form: `{"password": "..."}` is recognised by its key.
        before = f'"{name}": "'
        return redact(f'{before}{value}"', own=own).removeprefix(before)[:-1]
    return redacted


def find_secrets(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield start, rank, end and kind of each secret. They may overlap; the first rule names a secret best."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text.translate(_LOWER)
    for rank in _ranks(lowered):
        rule = _rule_at(rank)
        for start, end in _matches_near(text, lowered, rule) if rule.near else _matches_around(text, lowered, rule):
            yield start, rank, end, rule.name


def _ranks(lowered: str) -> list[int]:
    """Return the ranks of the rules of which a text contains a keyword: most texts contain few of them.

    One search for each of the keywords would take longer than all that follows. Instead, every four bytes of the text,
    as a number, are looked up in the numbers with which keywords start. Words that occur again are left out.
    """
    short, by_start, starts = _keywords()
    data = " ".join(set(lowered.split())).encode("utf-8", "replace")
    starts_in_text: set[int] = set()
    for offset in range(_START):
        end = len(data) - (len(data) - offset) % _START
        starts_in_text |= starts.intersection(memoryview(data)[offset:end].cast("I"))
    candidates = [*short, *(pair for start in starts_in_text for pair in by_start[start])]
    return sorted({rank for keyword, rank in candidates if keyword in lowered})


@cache
def _keywords() -> tuple[_Ranked, dict[int, _Ranked], frozenset[int]]:
    """Return the keywords with the ranks of their rules: the short ones, the others by their start, and all starts."""
    short: _Ranked = []
    by_start: dict[int, _Ranked] = {}
    kinds, named = ([rule.keywords for rule in rules] for rules in (secret_kinds.KINDS, secret_kinds.NAMED))
    for rank, keywords in enumerate((*kinds, *(rule["keywords"] for rule in _stored_rules()), *named)):
        for keyword in keywords:
            start = keyword.encode()[:_START]
            is_short = len(start) < _START or " " in keyword
            place = short if is_short else by_start.setdefault(int.from_bytes(start, sys.byteorder), [])
            place.append((keyword, rank))
    return short, by_start, frozenset(by_start)


def _matches_around(text: str, lowered: str, rule: SecretRule) -> Iterator[Span]:
    """Yield the secrets in the surroundings of a rule's keywords."""
    for first, end in _regions(lowered, rule):
        start = first
        while start < end and (match := rule.pattern.search(text, start, end)):
            span, start = _judged(rule, match)
            if span is not None:
                yield span


def _matches_near(text: str, lowered: str, rule: SecretRule) -> Iterator[Span]:
    """Yield the secrets of a rule whose matches start shortly before a keyword, and only if something follows it."""
    start = 0
    for hit in _hits(lowered, rule):
        start = max(start, hit - rule.before)
        while start <= hit:
            match = rule.pattern.match(text, start, hit + rule.reach)
            span, start = _judged(rule, match) if match else (None, start + 1)
            if span is not None:
                yield span


def _judged(rule: SecretRule, match: re.Match[str]) -> tuple[Span | None, int]:
    """Return where the secret is in a match, or None, and where the next match may start."""
    span = rule.judge(match)
    following = max(match.end() if span is None else span[1], match.start() + 1)
    return span if span is not None and span[1] > span[0] else None, following


def _regions(lowered: str, rule: SecretRule) -> Iterator[Span]:
    """Yield the surroundings of a rule's keywords, those that overlap as one."""
    first = last = -1
    for hit in _hits(lowered, rule):
        if first >= 0 and hit - rule.reach <= last:
            last = hit + rule.reach
            continue
        if first >= 0:
            yield first, min(last, len(lowered))
        first, last = max(0, hit - rule.reach), hit + rule.reach
    if first >= 0:
        yield first, min(last, len(lowered))


def _hits(lowered: str, rule: SecretRule) -> Iterable[int]:
    """Return the positions of a rule's keywords, in order."""
    hits = (hit for keyword in rule.keywords for hit in _occurrences(lowered, keyword))
    if rule.near is not None:
        follows = rule.near.match
        hits = (hit for hit in hits if follows(lowered, hit))
    return hits if len(rule.keywords) == 1 else sorted(hits)


def _occurrences(text: str, keyword: str) -> Iterator[int]:
    position = text.find(keyword)
    while position >= 0:
        yield position
        position = text.find(keyword, position + len(keyword))


def all_rules() -> tuple[SecretRule, ...]:
    """Return every rule: Remit's own, those of gitleaks, and last the values that only their names give away."""
    count = len(secret_kinds.KINDS) + len(_stored_rules()) + len(secret_kinds.NAMED)
    return tuple(map(_rule_at, range(count)))


@cache
def _rule_at(rank: int) -> SecretRule:
    """Return the rule with this rank. Most texts need few of them."""
    kinds, stored = secret_kinds.KINDS, _stored_rules()
    if rank < len(kinds):
        return kinds[rank]
    rank -= len(kinds)
    return _rule(stored[rank]) if rank < len(stored) else secret_kinds.NAMED[rank - len(stored)]


@cache
def _stored_rules() -> list[dict[str, Any]]:
    """Return the rules of gitleaks; `tools/secret_rules.py` writes them."""
    # Not with importlib.resources or pathlib, which take longer to load than the search.
    with open(os.path.join(os.path.dirname(__file__), "gitleaks.json"), "rb") as file:
        rules: list[dict[str, Any]] = json.loads(file.read())["rules"]
    return rules


def _rule(stored: Mapping[str, Any]) -> SecretRule:
    """Return a rule of gitleaks."""
    pattern = lazy_pattern(stored["regex"], int(re.ASCII))  # in Go, \w, \s and \b mean ASCII
    group, least = stored.get("group"), stored.get("entropy", 0.0)

    def judge(match: re.Match[str]) -> Span | None:
        span = match.span(group) if group is not None else first_group(match)
        return span if not least or entropy(match.string[slice(*span)]) >= least else None

    return SecretRule(stored["id"].replace("-", " "), tuple(stored["keywords"]), pattern, stored["reach"], judge)


def entropy(text: str) -> float:
    """Return the bits of information for each character of a text."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
