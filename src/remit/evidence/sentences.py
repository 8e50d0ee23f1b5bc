"""Read the sentences of a closed set that state finished work: `All tests pass`, `the build succeeds`, `pushed`.

The set is data: `sentences.toml`. A clause has the whole form, or it is not read, so that a condition, an exception,
another project, the words of others and other tenses never state anything. Nothing here decides whether it is true.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from remit.evidence.find_runs import find_runs
from remit.evidence.model import Act, Check, WorkStatement
from remit.lazy import lazy_pattern

#: Longer paragraphs and clauses have no form of the set.
_MAX_PARAGRAPH = 20_000
_MAX_CLAUSE = 400
_MAX_JOINTS = 8
_MAX_REST = 2_000
_PATH = r"(?:`(?P<path>[^`\s]{1,250})`|(?P<bare>[\w@+.-]*(?:/[\w@+.-]+)*\.[a-z][a-z0-9]{0,9}))"

_FENCE = lazy_pattern(r"\s*(`{3,}|~{3,})")
_HEADING = lazy_pattern(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*$")
_ITEM = lazy_pattern(r"\s*(?:[-+*•]|\d{1,3}[.)])\s+(\[[ xX]\]\s+)?(?=\S)")
_BOLD_TITLE = lazy_pattern(r"\s*\*\*([^*\n]{1,80})\*\*\s*$")
_END = lazy_pattern(r"(?<=[.!?])[\"')*]*(?=\s)|(?<=[。！？])")
_EMPHASIS = lazy_pattern(r"\*{1,3}|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")
_WORD = lazy_pattern(r"[^\s&/,+、和与]+")
_PART = lazy_pattern(r"\{([a-z]+)\}")
_COMMAND = lazy_pattern(r"(?:running )?`([^`]{2,200})`")


class _Grammar(NamedTuple):
    """The compiled data."""

    subjects: dict[Check, re.Pattern[str]]
    predicates: re.Pattern[str]
    others: dict[Check, re.Pattern[str]]
    acts: dict[Act, re.Pattern[str]]
    lead: re.Pattern[str]
    own: re.Pattern[str]
    beyond: re.Pattern[str]
    joints: re.Pattern[str]
    delegations: str
    titles: frozenset[str]
    title: re.Pattern[str]
    failure: re.Pattern[str]
    parts: dict[str, str]


class _Paragraph(NamedTuple):
    """The joined lines of a paragraph, list entry or heading, with the offset at which each line begins."""

    text: str
    first_line: int
    starts: list[int]


def read_sentences(text: str) -> list[WorkStatement]:
    """Return what the sentences of a text state that was done, in order."""
    statements: list[WorkStatement] = []
    for paragraph in _paragraphs(text):
        for offset, written in _sentences(paragraph):
            for statement in _read(_folded(written)) or ():
                lead = offset + len(written) - len(written.lstrip())
                at = paragraph.first_line + sum(lead >= begin for begin in paragraph.starts[1:])
                start = written.lower().find(statement.path)
                path = written[start : start + len(statement.path)] if start >= 0 else statement.path
                statements.append(replace(statement, text=" ".join(written.split()), at=at, path=path))
    lines = text.split("\n")
    return [replace(found, rest="\n".join(lines[found.at - 1 :])[:_MAX_REST]) for found in statements]


def read_delegations(text: str, agents: Iterable[str]) -> list[tuple[str, str]]:
    """Return the sentences that state that an agent did something or was asked to, each with the agent."""
    patterns = [(agent, re.compile(_grammar().delegations.replace("AGENT", _named(agent)))) for agent in agents]
    sentences = [(written, _folded(written)) for paragraph in _paragraphs(text) for _, written in _sentences(paragraph)]
    return [
        (" ".join(written.split()), agent)
        for written, folded in sentences
        if not folded.endswith("?") and len(folded) <= _MAX_CLAUSE
        for agent, pattern in patterns
        if pattern.fullmatch(folded)
    ]


def _named(agent: str) -> str:
    """Return an expression for an agent's name; one of a single word must be marked as a name."""
    words = re.split(r"[\s_-]+", agent.rpartition(":")[2].lower())
    name = "[ _-]".join(map(re.escape, words))
    marked = rf"(?:`{name}`(?: ?(?:(?:sub)?agent|エージェント|代理))?|{name} ?(?:(?:sub)?agent|エージェント|代理))"
    return marked if len(words) == 1 or name.startswith("general") else rf"(?:{marked}|{name})"


def states_failure(text: str) -> bool:
    """Return whether a text has a word for a failure."""
    return _grammar().failure.search(text.lower()) is not None


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    """Yield what may state something: not fences, quotes, tables, comments, and what a title says is something else."""
    fence, titles, label = "", [(0, True)], True
    pending: _Paragraph | None = None
    for number, line in enumerate([*text.split("\n"), ""], 1):
        mark, heading, bold = _FENCE.match(line), _HEADING.match(line), _BOLD_TITLE.match(line)
        item = _ITEM.match(line)
        is_text = not (fence or mark or heading or bold or item) and line.strip() and line.lstrip()[0] not in ">|<"
        if is_text and pending is not None:
            pending.starts.append(len(pending.text) + 1)
            pending = pending._replace(text=f"{pending.text} {line.strip()}")
            continue
        if pending is not None:
            is_lead = pending.text.rstrip().endswith((":", "："))
            label = _is_title(pending.text) if is_lead else label
            if not is_lead and label and all(known for _, known in titles) and len(pending.text) < _MAX_PARAGRAPH:
                yield pending
            pending = None
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif heading or bold:
            level, words = (len(heading[1]), heading[2]) if heading else (7, bold[1] if bold else "")
            titles = [entry for entry in titles if entry[0] < level]
            statement = _Paragraph(words, number, [0])
            is_statement = _read(_folded(words)) is not None
            if is_statement and all(known for _, known in titles):
                yield statement
            titles.append((level, is_statement or _is_title(words)))
            label = True
        elif item:
            is_open = item[1] is not None and item[1].startswith("[ ]")
            pending = None if is_open else _Paragraph(line[item.end() :].strip(), number, [0])
        elif is_text:
            label = True
            pending = _Paragraph(line.strip(), number, [0])


def _sentences(paragraph: _Paragraph) -> Iterator[tuple[int, str]]:
    start = 0
    for end in [*(match.end() for match in _END.finditer(paragraph.text)), len(paragraph.text)]:
        yield start, paragraph.text[start:end]
        start = end


def _is_title(written: str) -> bool:
    """Return whether a title is one of a summary of work: `What I changed`, `Test results:`, `Fixed the cart`."""
    folded = _folded(written).rstrip(": ")
    return _is_label(folded) or _is_own(folded) or _grammar().title.fullmatch(folded) is not None


def _is_label(folded: str) -> bool:
    return all(word in _grammar().titles for word in _WORD.findall(folded))


def _folded(written: str) -> str:
    """Return a clause in lower case, without emphasis, invisible characters, and signs before and after it."""
    text = "".join(sign for sign in unicodedata.normalize("NFKC", written) if unicodedata.category(sign) != "Cf")
    text = " ".join(_EMPHASIS.sub("", text.replace("’", "'")).lower().split())
    first = next((place for place, sign in enumerate(text) if sign.isalnum() or sign in "`\"'“「『~(<["), len(text))
    last = len(text)
    while last > first and not (text[last - 1].isalnum() or text[last - 1] in "`\"'”」』~)>]:?"):
        last -= 1
    plain = text[first:last]
    return "".join(sign for sign in plain if unicodedata.category(sign) != "So").replace("  ", " ").replace(": :", ":")


def _read(clause: str, depth: int = 0) -> list[WorkStatement] | None:
    """Return what a clause states; None if it is not one of the set, or has anything besides."""
    grammar = _grammar()
    clause = clause.strip(" ,")
    if not 1 < len(clause) <= _MAX_CLAUSE or clause.endswith("?"):
        return None
    if (found := _form(clause)) is not None:
        return found
    if lead := grammar.lead.match(clause):
        return _read(clause[lead.end() :], depth)
    label, colon, rest = clause.partition(":")
    if colon and _is_label(label):
        return _read(rest, depth)
    if depth > 1:
        return None
    for joint in list(grammar.joints.finditer(clause))[:_MAX_JOINTS]:
        parts = clause[: joint.start()].strip(), clause[joint.end() :].strip()
        read = [_read(part, depth + 1) for part in parts]
        if any(read) and all(found or _is_own(part) for found, part in zip(read, parts, strict=True)):
            return [statement for found in read for statement in found or ()]
    return None


def _is_own(clause: str) -> bool:
    """Return whether a clause states an act of the author, and nothing beyond it."""
    return _grammar().own.fullmatch(clause) is not None and not _grammar().beyond.search(clause)


def _form(clause: str) -> list[WorkStatement] | None:
    grammar = _grammar()
    for act, pattern in grammar.acts.items():
        if form := pattern.fullmatch(clause):
            return [WorkStatement(clause, 0, act=act, path=_value(form, "path", "bare"))]
    for check, pattern in grammar.others.items():
        if form := pattern.fullmatch(clause):
            return [WorkStatement(clause, 0, check=check, only=_only(form))]
    for predicate in grammar.predicates.finditer(clause):
        if found := _subjects(clause[: predicate.start()], _number(predicate)):
            return found
    return None


def _subjects(words: str, number: int | None) -> list[WorkStatement] | None:
    """Return the statement about each subject: `the build and all 48 tests`, "`cargo check`"."""
    found: list[WorkStatement] = []
    for part in re.split(r", and |, | and | & |、|和|与|と", words):
        if (command := _COMMAND.fullmatch(part.strip())) and find_runs(command[1]):
            found.append(WorkStatement(words, 0, check="command", command=command[1], count=number))
            continue
        named = ((check, pattern.fullmatch(part)) for check, pattern in _grammar().subjects.items())
        check, match = next(((check, match) for check, match in named if match), (None, None))
        if check is None or match is None:
            return None
        count = _number(match) or number
        found.append(WorkStatement(words, 0, check=check, count=count, only=_only(match)))
    return found


def _number(match: re.Match[str]) -> int | None:
    number = _value(match, "n", "of")
    return int(number.replace(",", "")) if number else None


def _only(match: re.Match[str]) -> str:
    """Return the part that a sentence names, as commands call it."""
    word = _value(match, "only")
    return _grammar().parts.get(word, word)


def _value(match: re.Match[str], *names: str) -> str:
    """Return what the first of these groups has that is not empty; a group is used several times with a number."""
    groups = match.groupdict().items()
    return next((value for key, value in groups if key.rstrip("0123456789") in names and value), "")


@cache
def _grammar() -> _Grammar:
    data = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))
    around, parts = data["around"], {**data["parts"], "path": _PATH, "agent": "AGENT"}

    def one(patterns: list[str] | str, end: str = "") -> re.Pattern[str]:
        filled = [_filled(pattern, parts) for pattern in ([patterns] if isinstance(patterns, str) else patterns)]
        return re.compile(_numbered("|".join(f"(?:{pattern}){end}" for pattern in filled)))

    def table(name: str) -> Any:
        return {key: one(patterns) for key, patterns in data[name].items()}

    return _Grammar(
        cast("dict[Check, re.Pattern[str]]", table("subjects")),
        one(data["predicates"]["of_all"], end="$"),
        cast("dict[Check, re.Pattern[str]]", table("others")),
        cast("dict[Act, re.Pattern[str]]", table("acts")),
        one(around["lead"]),
        one(around["own"]),
        re.compile(around["beyond"]),
        one(around["joints"]),
        one(data["delegations"]["agent"]).pattern,
        frozenset(around["titles"].split()),
        one(around["title"]),
        re.compile(around["failure"]),
        data["parts_of_tests"],
    )


def _filled(pattern: str, parts: dict[str, str]) -> str:
    """Return an expression with its parts, which may have parts."""
    return _PART.sub(lambda part: _filled(parts[part[1]], parts), pattern)


def _numbered(pattern: str) -> str:
    """Return an expression in which each name of a group is used once."""
    pieces = re.split(r"\(\?P<(\w+)>", pattern)
    names = (f"(?P<{name}{index}>" for index, name in enumerate(pieces[1::2]))
    joined = pieces[0]
    for name, piece in zip(names, pieces[2::2], strict=True):
        joined += name + piece.replace("(?P=of)", f"(?P={name[4:-1]})")
    return joined
