"""Words of agents inside a report of our own: repeated, never obeyed, and no claim of ours.

A merged report vouches for the places it cites. So whatever an agent's words hold is taken down to text:
a reference, a quote, a placeholder, a link or a tag in them is still readable and no longer one.
"""

from __future__ import annotations

import re

from remit.evidence.grammar import Exists, Written, looks_like_file, references_in
from remit.reports.merge_parts import MAX_TITLE, cut
from remit.reports.visible import visible

#: Enough for a line in which every word is a reference of several parts.
_ROUNDS = 40
_OPENING = re.compile(r"[\[<]")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_DIGIT = re.compile(r"\d")
_AROUND_PATH = " `\"'*"


def words(text: str, length: int = MAX_TITLE) -> str:
    """Untrusted text as one line of Markdown that means what it says: no tag, link or code span in it.

    Its references must still be taken down, with the words around it: see `harmless`.
    """
    line = " ".join(text[: 8 * length].split())
    line = cut(visible(line), length).replace("`", "'")
    return _OPENING.sub(r"\\\g<0>", _BACKSLASH.sub(r"\\\\", line))


def agent(name: str) -> str:
    """Who says it."""
    return words(name, 80) or "unnamed"


def harmless(line: str, exists: Exists | None = None) -> str:
    """A line in which nothing is a reference: `a.py:12` becomes `a.py: 12`.

    `exists` says which names are files; without it, every name that could be one is taken for one.
    """
    for _ in range(_ROUNDS):
        found = [written for written in _written(line, exists) if _counts(line, written, exists)]
        if not found:
            return line
        for written in reversed(found):
            line = _broken(line, written)
    return _DIGIT.sub("#", line)  # a line made to defy this: a place needs a number


def _written(line: str, exists: Exists | None) -> list[Written]:
    if exists is not None:
        return references_in(line, exists)
    both = {written.start: written for written in (*references_in(line), *references_in(line, lambda _: True))}
    return [both[start] for start in sorted(both)]


def _counts(line: str, written: Written, exists: Exists | None) -> bool:
    if exists is not None or looks_like_file(written.path):
        return True
    if not any(map(str.isalpha, written.path)):
        return False  # a time or a ratio
    after = line[written.start + len(written.path) :][:1]
    return after in (":", "#", "(") or not written.path.islower()


def _broken(line: str, written: Written) -> str:
    """The line with something between the path and its number."""
    before = line[written.start : written.end].find(written.path)
    if before > 0:  # `line 12 of a.py`
        at = written.start + len(line[written.start : written.start + before].rstrip(_AROUND_PATH))
        return f"{line[:at]}:{line[at:]}"
    at = written.start + len(written.path)
    between = {":": ": ", ",": ";", "#": " #", "(": " ("}.get(line[at : at + 1])
    return f"{line[:at]}{between}{line[at + 1 :]}" if between else f"{line[:at]};{line[at:]}"
