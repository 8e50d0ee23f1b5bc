"""Quotes that are generated from the corpus's project: faithful excerpts, and excerpts with one changed token.

A faithful excerpt has other white space, added comments or omitted lines. An altered one has exactly one other
operator, number or name. The generator is seeded and knows the truth without the code that is measured.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
TREE = HERE / "corpus/tree"
SEED = 20_261_115
NUMBER = 700
_PER_DOCUMENT = 20
_COMMENT = {".py": "#", ".ts": "//", ".tsx": "//", ".go": "//", ".mm": "//", ".h": "//"}
#: An operator and another one that the same place of a program allows.
_OPERATORS = {"===": "!==", "==": "!=", "!==": "===", "!=": "==", "<=": "<", ">=": ">", "||": "&&", "&&": "||"}
_TOKEN = re.compile(r"===|!==|==|!=|<=|>=|\|\||&&|\b\d+\b|\b[A-Za-z_]\w{2,}\b")
#: Parts of a line that are not changed: strings, and comments up to the end of the line.
_QUIET = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|#.*|//.*")
_REMARKS = ("see above", "TODO: check", "this is where it happens", "1", "not used?", "was 5 before")


class GeneratedQuote(NamedTuple):
    """A quote of lines of a file, and whether it is faithful."""

    path: str
    first: int
    last: int
    code: str
    is_faithful: bool


class Document(NamedTuple):
    """A text with quotes, and for each quote the line of its first code line."""

    text: str
    quotes: list[tuple[int, GeneratedQuote]]


def documents(number: int = NUMBER) -> Iterator[Document]:
    """Yield documents with `number` faithful and `number` altered quotes."""
    chance = random.Random(SEED)
    for generate in (_faithful, _altered):
        quotes: list[GeneratedQuote] = []
        while len(quotes) < number:
            found = generate(*_excerpt(chance), chance)
            quotes += [found] if found is not None else []
        for at in range(0, number, _PER_DOCUMENT):
            yield _document(quotes[at : at + _PER_DOCUMENT])


def _document(quotes: list[GeneratedQuote]) -> Document:
    lines: list[str] = []
    placed: list[tuple[int, GeneratedQuote]] = []
    for quote in quotes:
        lines += [f"`{quote.path}:{quote.first}-{quote.last}`", "```"]
        placed.append((len(lines) + 1, quote))
        lines += [*quote.code.split("\n"), "```", ""]
    return Document("\n".join(lines), placed)


def _sources() -> dict[str, list[str]]:
    files = sorted(path for path in TREE.rglob("*") if path.suffix in _COMMENT and path.stat().st_size > 200)
    return {path.relative_to(TREE).as_posix(): path.read_text(encoding="utf-8").splitlines() for path in files}


SOURCES = _sources()


def _excerpt(chance: random.Random) -> tuple[str, int, list[str]]:
    """Return a path, a first line and between 1 and 12 lines of that file, the first and the last not empty."""
    while True:
        path, lines = chance.choice(list(SOURCES.items()))
        first = chance.randrange(len(lines))
        last = min(len(lines), first + chance.choice((1, 1, 2, 3, 4, 6, 9, 12)))
        own = lines[first:last]
        if own[0].strip() and own[-1].strip() and len("".join("".join(own).split())) >= 15:
            return path, first + 1, own


def _faithful(path: str, first: int, lines: list[str], chance: random.Random) -> GeneratedQuote | None:
    sign = _COMMENT[Path(path).suffix]
    in_docstring = any('"""' in line for line in lines)
    own, kept = [], range(1, len(lines) - 1)
    dropped = chance.choice(kept) if len(kept) > 1 and chance.random() < 0.4 else None
    remark = chance.randrange(len(lines)) if chance.random() < 0.5 and not in_docstring else None
    for at, line in enumerate(lines):
        if at == dropped:
            own += ["..."] if chance.random() < 0.5 else []
            continue
        is_code = bool(line.strip()) and not line.lstrip().startswith(sign)
        own.append(f"{line}  {sign} {chance.choice(_REMARKS)}" if at == remark and is_code else line)
    if chance.random() < 0.3 and not in_docstring:
        own.insert(0, f"{sign} {chance.choice(_REMARKS)}")
    if chance.random() < 0.4:
        own = [line.strip() if chance.random() < 0.5 else f"  {line}" for line in own]
    return GeneratedQuote(path, first, first + len(lines) - 1, "\n".join(own), is_faithful=True)


def _altered(path: str, first: int, lines: list[str], chance: random.Random) -> GeneratedQuote | None:
    if any('"""' in line for line in lines):
        return None
    places = [
        (at, token)
        for at, line in enumerate(lines)
        for token in _TOKEN.finditer(_QUIET.sub(lambda part: " " * len(part[0]), line))
    ]
    if not places:
        return None
    at, token = chance.choice(places)
    changed = list(lines)
    changed[at] = lines[at][: token.start()] + _other(token[0], chance) + lines[at][token.end() :]
    collapsed = " ".join(" ".join(SOURCES[path]).split())
    if " ".join(" ".join(changed).split()) in collapsed:
        return None  # the file has this code as well
    return GeneratedQuote(path, first, first + len(lines) - 1, "\n".join(changed), is_faithful=False)


def _other(token: str, chance: random.Random) -> str:
    if token in _OPERATORS:
        return _OPERATORS[token]
    if token.isdigit():
        return str(int(token) * 10 + 7)
    return token + chance.choice(("s", "2", "_id")) if chance.random() < 0.5 else token[:-1] + "q"
