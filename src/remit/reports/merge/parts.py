"""Text that all reports of a merge share: location, score, source and agents of a finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from remit.merging.merge_data import (
    NAMED,
    NOT_COUNTED,
    QUOTED,
    SCALE,
    FailedRow,
    Merge,
    MergedFinding,
    Opinion,
)
from remit.reports.layout import escape_control
from remit.secrets.scan import redact, redact_lines
from remit.workspace.files import SourceFile, Workspace

#: From the worst to the mildest; a finding without a severity comes last.
SEVERITIES = (*reversed(SCALE), "unrated")
#: The most characters of a title.
MAX_TITLE = 300
#: The most cited lines of an excerpt: a range may be as long as its file.
MAX_CITED = 12
MAX_COLUMNS = 240
#: What was compared of the evidence of a finding.
THE_QUOTE, THE_NAME, THE_LINE, THE_FILE = (
    "the quote is there",
    "the name is there",
    "the line exists",
    "the file exists",
)
UNCHECKED = "unchecked"
#: The most characters of an opinion's details that are read.
_MAX_READ = 20_000
_LABEL = re.compile(
    r"\s*(?:[-*+]\s+)?[*_]{0,3}(?:(risk|リスク|风险)|(fix|修正|修复)|(also))[*_]{0,3}\s*[:：]\s*[*_]{0,3}\s*(.*)",
    re.IGNORECASE,
)
_FENCE = ("```", "~~~")
_MARKS = "#*_ \t"
#: What would begin a link, a tag, a character reference, or emphasis. `_` inside a word is text.
_MARK = re.compile(r"[\[<*]|&(?=#?\w{1,31};)|~(?=~)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
#: Before a name, the number of an issue or merge request, or the same in an address.
_CALLS = re.compile(
    r"(?<![\w.+-])@(?=[A-Za-z0-9])|(?<![\w&])[#!](?=\d)|(?<=\w)#(?=\d)|\bGH-(?=\d)|/(?:issues|pull|merge_requests)/(?=\d)",
    re.IGNORECASE,
)


class FoldedFinding(NamedTuple):
    """A finding with the other findings of the same rule: the report shows it once, with all places."""

    finding: MergedFinding
    others: tuple[MergedFinding, ...]


def fold_findings(findings: Iterable[MergedFinding]) -> list[FoldedFinding]:
    """Join the equal findings of one agent: of one rule of an analyser, or with one title. The order stays."""
    folded: dict[tuple[object, ...], list[MergedFinding]] = {}
    for number, finding in enumerate(findings):
        folded.setdefault(_kind_of(finding) or (number,), []).append(finding)
    return [FoldedFinding(first, tuple(others)) for first, *others in folded.values()]


def _kind_of(finding: MergedFinding) -> tuple[object, ...] | None:
    """Return what equal findings have in common; None for a finding that is shown alone."""
    if len(finding.opinions) != 1 or "disputed" in finding.flags:
        return None
    opinion = finding.opinions[0]
    return opinion.agent, opinion.rule or finding.title, finding.severity, finding.category


class SourceLine(NamedTuple):
    """A line of an excerpt."""

    number: int
    text: str
    cited: bool


class Located(Protocol):
    """A finding, or a location that an agent cites."""

    @property
    def path(self) -> str | None:
        """Return the file."""

    @property
    def line(self) -> int | None:
        """Return the first line."""

    @property
    def end_line(self) -> int | None:
        """Return the last line."""


def severity_of(finding: MergedFinding) -> str:
    """Return the severity as a word."""
    return finding.severity or "unrated"


def score(value: float) -> str:
    """Format a confidence with at most one decimal and without `.0`."""
    return f"{round(value, 1):g}"


def location_of(finding: Located) -> str:
    """Return `path:12-18`; empty if there is no location."""
    if finding.path is None or finding.line is None:
        return finding.path or ""
    last = f"-{finding.end_line}" if finding.end_line is not None and finding.end_line != finding.line else ""
    return f"{finding.path}:{finding.line}{last}"


def opinions_by_score(finding: MergedFinding) -> list[Opinion]:
    """Return the opinions, highest confidence first."""
    return sorted(finding.opinions, key=lambda opinion: (-opinion.confidence, opinion.agent, opinion.id))


def evidence_state(finding: MergedFinding) -> str:
    """Return what was compared of the evidence: a quote that is there is more than a line that exists."""
    if finding.verified is None:
        return UNCHECKED
    if QUOTED in finding.flags:
        return THE_QUOTE
    if NAMED in finding.flags:
        return THE_NAME
    return THE_LINE if finding.line is not None else THE_FILE


def shown_flags(finding: MergedFinding) -> list[str]:
    """Return the flags of a finding that its evidence does not state."""
    return [flag for flag in finding.flags if flag not in (QUOTED, NAMED)]


def notes_of(opinion: Opinion) -> list[str]:
    """Return the notes on one opinion: what was claimed, if the evidence changed it."""
    if opinion.claimed is None:
        return ["no score given"]
    return [f"claimed {score(opinion.claimed)}"] if opinion.claimed != opinion.confidence else []


def counts_of(rows: Iterable[FailedRow | MergedFinding]) -> str:
    """Return how many rows of each severity there are, the worst first."""
    each = Counter(row.severity or SEVERITIES[-1] for row in rows)
    return ", ".join(f"{each[name]:,} {name}" for name in SEVERITIES if each[name])


def answered_agents(merge: Merge) -> int:
    """Return the number of agents that answered; agreement is relative to it."""
    return len({report.agent for report in merge.agents if report.status not in ("FAILED", *NOT_COUNTED)})


def agreement(finding: MergedFinding, agents: int) -> str:
    """Return the agreement, such as `2 of 5`."""
    return f"{len(finding.agents)} of {max(agents, len(finding.agents))}"


def join_words(words: list[str]) -> str:
    """Join words: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def truncate_text(text: str, length: int) -> str:
    """Cut a text at `length` characters and mark the cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def has_location(finding: Located, workspace: Workspace) -> bool:
    """Return whether the checkout has the location of a finding, including its lines."""
    if finding.path is None:
        return False
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return workspace.exists(finding.path)  # too large or not text: the line cannot be checked
    if finding.line is None:
        return True
    return 1 <= finding.line <= (finding.end_line or finding.line) <= len(file.lines)


def excerpt(finding: MergedFinding, workspace: Workspace | None, around: int) -> Iterator[SourceLine]:
    """Yield the cited lines with some context; nothing if they cannot be shown. Long ranges are cut."""
    if workspace is None or finding.path is None or finding.line is None or not has_location(finding, workspace):
        return
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return
    last = min(finding.end_line or finding.line, finding.line + MAX_CITED - 1)
    first = max(1, finding.line - around)
    shown = redact_lines(file.lines, first - 1, min(last + around, len(file.lines)))
    for number, text in enumerate(shown, first):
        yield SourceLine(number, truncate_text(text, MAX_COLUMNS), finding.line <= number <= last)


def has_secret(finding: MergedFinding, code: str) -> bool:
    """Return whether the code of a finding on security contains a secret, which no report shows."""
    return finding.category == "security" and redact(code) != code


class OpinionDetails(NamedTuple):
    """The parts of an opinion's details; each may be empty."""

    risk: str
    fix: str
    also: str
    words: str
    code: str


def opinion_details(opinion: Opinion) -> OpinionDetails:
    """Split the details of an opinion into parts."""
    parts: dict[str, list[str]] = {"risk": [], "fix": [], "also": [], "words": [], "code": []}
    repeated = {_bare(opinion.title), _bare(f"{opinion.id}: {opinion.title}")}
    part, in_code = "words", False
    for line in redact(opinion.details[:_MAX_READ]).split("\n"):
        if line.lstrip().startswith(_FENCE):
            in_code, part = not in_code, "words"
        elif in_code:
            parts["code"].append(line)
        elif not line.strip():
            part = "words"
            parts[part].append("")
        elif label := _LABEL.match(line):
            part = ("risk", "fix", "also")[next(index for index in range(3) if label[index + 1])]
            parts[part].append(label[4])
        elif _bare(line) not in repeated:
            parts[part].append(line)
    return OpinionDetails(
        risk=" ".join(parts["risk"]).strip(),
        fix=" ".join(parts["fix"]).strip(),
        also="; ".join(filter(None, parts["also"])),
        words=re.sub(r"\n{3,}", "\n\n", "\n".join(parts["words"])).strip(),
        code="\n".join(parts["code"]).strip("\n"),
    )


def _bare(line: str) -> str:
    return line.strip(_MARKS).lower()


def safe_text(text: str, length: int = MAX_TITLE) -> str:
    """Return untrusted text as one line of Markdown without tags, links and code spans."""
    line = " ".join(text[: 8 * length].split())
    line = truncate_text(escape_control(line), length).replace("`", "'")
    return _MARK.sub(r"\\\g<0>", _BACKSLASH.sub(r"\\\\", without_mentions(line)))


def without_mentions(line: str) -> str:
    """Return a line that notifies no person and closes no issue where GitHub shows it: `@ name`, `no. 12`."""
    return _CALLS.sub(lambda match: _apart(line, match), line)


def _apart(line: str, match: re.Match[str]) -> str:
    is_alone = match[0] in ("#", "!") and not line[match.start() - 1 : match.start()].isalnum()
    return "no. " if is_alone else f"{match[0]} "


def safe_agent(name: str) -> str:
    """Return an agent's name as safe text."""
    return safe_text(name, 80) or "unnamed"
