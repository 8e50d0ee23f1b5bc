"""Text that all reports of a merge share: location, score, source and agents of a finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple, Protocol

from remit.merging.conflicts import name_of
from remit.merging.merge_data import (
    NOT_COUNTED,
    QUOTED,
    SCALE,
    Conflict,
    Merge,
    MergedFinding,
    Opinion,
)
from remit.merging.sarif.tool_rules import is_analyser, rule_of
from remit.reports.layout import escape_control
from remit.secrets.scan import redact, redact_lines
from remit.workspace.files import SourceFile, Workspace

#: From the worst to the mildest; a finding without a severity comes last.
SEVERITIES = (*reversed(SCALE), "unrated")
#: The most characters of a title.
MAX_TITLE = 300
MAX_WHY = 120
#: The most cited lines of an excerpt: a range may be as long as its file.
MAX_CITED = 12
MAX_COLUMNS = 240
EVIDENCE = {True: "location exists", False: "evidence failed", None: "unchecked"}
_QUOTE = "quote verified"
#: Display text of flags that need one.
_FLAGS = {"unscored": "no score given"}
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
    if len(finding.opinions) != 1 or "disputed" in finding.flags or finding.verified is False:
        return None
    opinion = finding.opinions[0]
    what = rule_of(opinion) if is_analyser(opinion.agent) else finding.title
    return opinion.agent, what, finding.severity, finding.category


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


def evidence_kind(finding: MergedFinding) -> str:
    """Return what is known about the evidence: a quote that was compared is more than a location that exists."""
    is_quoted = finding.verified is True and any(QUOTED in opinion.flags for opinion in finding.opinions)
    return _QUOTE if is_quoted else EVIDENCE[finding.verified]


def evidence_state(finding: MergedFinding) -> str:
    """Return the state of the evidence, with the reason if it failed."""
    if finding.verified is not False:
        return evidence_kind(finding)
    why = next((opinion.evidence for opinion in opinions_by_score(finding) if opinion.evidence), "")
    return EVIDENCE[finding.verified] + (f": {truncate_text(why, MAX_WHY)}" if why else "")


def shared_flags(finding: MergedFinding) -> list[str]:
    """Return the flags of the whole finding; the flags of one agent are shown with its opinion."""
    opinion_flags = {flag for opinion in finding.opinions for flag in opinion.flags}
    return [flag for flag in finding.flags if flag not in opinion_flags]


def notes_of(opinion: Opinion, finding: MergedFinding) -> list[str]:
    """Return the notes on one opinion: what was claimed, why its evidence failed, its flags."""
    location = opinion.claimed_path or ""
    if opinion.claimed_line is not None:
        location += f":{opinion.claimed_line}"
    claimed = f" at {location}" if location else ""
    claimed += f" with {score(opinion.claimed_confidence)}" if opinion.claimed_confidence is not None else ""
    failed = f"evidence failed: {truncate_text(opinion.evidence, MAX_WHY)}" if opinion.evidence else ""
    is_stated = len(finding.opinions) == 1 and finding.verified is False
    hidden = {QUOTED, "relocated"} if location else {QUOTED}
    flags = [_FLAGS.get(flag, flag) for flag in opinion.flags if flag not in hidden]
    return [note for note in (f"claimed{claimed}" if claimed else "", "" if is_stated else failed, *flags) if note]


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


class Subjects:
    """Finds the finding of a conflict: names are not unique, so the agents of the conflict decide."""

    def __init__(self, merge: Merge) -> None:
        self._named: dict[str, list[tuple[int, MergedFinding]]] = {conflict.finding: [] for conflict in merge.conflicts}
        if self._named:
            for number, finding in enumerate(chain(merge.findings, merge.dropped)):
                name = name_of(finding)
                if name in self._named:
                    self._named[name].append((number, finding))

    def of(self, conflict: Conflict) -> MergedFinding | None:
        """Return the finding; None if no finding or more than one matches."""
        numbered = self.numbered(conflict)
        return numbered[1] if numbered is not None else None

    def numbered(self, conflict: Conflict) -> tuple[int, MergedFinding] | None:
        """Return the position of the finding among the kept and then the dropped ones, and the finding."""
        if conflict.kind == "compliance":
            return None
        agents = set(conflict.agents)
        fits = [
            (number, finding)
            for number, finding in self._named.get(conflict.finding, ())
            if agents <= set(finding.agents) or (conflict.kind == "presence" and agents >= set(finding.agents))
        ]
        if len(fits) > 1:  # the reason decides, if it names a location
            fits = [fit for fit in fits if names_location(conflict, fit[1])]
        return fits[0] if len(fits) == 1 else None


def names_location(conflict: Conflict, finding: MergedFinding) -> bool:
    """Return whether the reason of a conflict names its location."""
    if finding.path is None:
        return False
    location = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    return f"(at {location})" in conflict.why or conflict.finding == location


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
