"""What every report of a merge needs to say of a finding: its place, its score, its source, who named it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remit.evidence.grammar import Exists, WrittenReference, looks_like_file, references_in
from remit.merging.merge import name_of
from remit.merging.model import SCALE, AgentReport, Conflict, Merge, MergedFinding, Opinion
from remit.reports.layout import escape_control
from remit.workspace.files import SourceFile, Workspace

#: From the worst to the mildest; a finding to which nobody gave a severity comes last.
SEVERITIES = (*reversed(SCALE), "unrated")
#: What is longer than this in a title was not meant to be read.
MAX_TITLE = 300
MAX_WHY = 120
#: A range of lines may be as long as its file: an excerpt is not.
MAX_CITED = 12
MAX_COLUMNS = 240
EVIDENCE = {True: "location verified", False: "evidence failed", None: "unchecked"}
#: Words for flags that need some.
_FLAGS = {"unscored": "no score given"}
#: Agents that are named; more are counted.
_MAX_NAMED = 3
#: What is beyond this in one opinion's details was not meant to be read.
_MAX_READ = 20_000
_LABEL = re.compile(
    r"\s*(?:[-*+]\s+)?[*_]{0,3}(?:(risk|リスク|风险)|(fix|修正|修复)|(also))[*_]{0,3}\s*[:：]\s*[*_]{0,3}\s*(.*)",
    re.IGNORECASE,
)
_FENCE = ("```", "~~~")
_MARKS = "#*_ \t"
#: Enough for a line in which every word is a reference of several parts.
_ROUNDS = 40
_OPENING = re.compile(r"[\[<]")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_DIGIT = re.compile(r"\d")
_AROUND_PATH = " `\"'*"


class SourceLine(NamedTuple):
    """A line of an excerpt."""

    number: int
    text: str
    cited: bool


def severity_of(finding: MergedFinding) -> str:
    """Its severity as a word."""
    return finding.severity or "unrated"


def score(value: float) -> str:
    """A confidence as people write it: at most one decimal, and no `.0`."""
    return f"{round(value, 1):g}"


def location_of(finding: MergedFinding) -> str:
    """`path:12-18`, or nothing where no place is known."""
    if finding.path is None or finding.line is None:
        return finding.path or ""
    last = f"-{finding.end_line}" if finding.end_line is not None and finding.end_line != finding.line else ""
    return f"{finding.path}:{finding.line}{last}"


def opinions_by_score(finding: MergedFinding) -> list[Opinion]:
    """What the agents say, the surest first."""
    return sorted(finding.opinions, key=lambda opinion: (-opinion.confidence, opinion.agent, opinion.id))


def evidence_state(finding: MergedFinding) -> str:
    """How its evidence stands, and if it failed, why."""
    if finding.verified is not False:
        return EVIDENCE[finding.verified]
    why = next((opinion.evidence for opinion in opinions_by_score(finding) if opinion.evidence), "")
    return EVIDENCE[finding.verified] + (f": {truncate_text(why, MAX_WHY)}" if why else "")


def shared_flags(finding: MergedFinding) -> list[str]:
    """What is so of the whole finding; the flags of one agent stand beside its opinion."""
    own = {flag for opinion in finding.opinions for flag in opinion.flags}
    return [flag for flag in finding.flags if flag not in own]


def notes_of(opinion: Opinion, finding: MergedFinding) -> list[str]:
    """What a reader must know of one opinion: what was claimed, why evidence failed, its flags."""
    place = opinion.claimed_path or ""
    if opinion.claimed_line is not None:
        place += f":{opinion.claimed_line}"
    claimed = f" at {place}" if place else ""
    claimed += f" with {score(opinion.claimed_confidence)}" if opinion.claimed_confidence is not None else ""
    failed = f"evidence failed: {truncate_text(opinion.evidence, MAX_WHY)}" if opinion.evidence else ""
    is_told = len(finding.opinions) == 1 and finding.verified is False
    flags = [_FLAGS.get(flag, flag) for flag in opinion.flags if not (flag == "relocated" and place)]
    return [note for note in (f"claimed{claimed}" if claimed else "", "" if is_told else failed, *flags) if note]


def answered_agents(merge: Merge) -> int:
    """How many agents answered: agreement is counted against them."""
    return len({report.agent for report in merge.agents if report.status != "FAILED"})


def agreement(finding: MergedFinding, agents: int) -> str:
    """`2 of 5`."""
    return f"{len(finding.agents)} of {max(agents, len(finding.agents))}"


def counted(number: int, word: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def join_words(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def truncate_text(text: str, length: int) -> str:
    """A text that says where it was shortened."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


class Subjects:
    """Which finding a conflict is about: names are not unique, the agents that disagree narrow them down."""

    def __init__(self, merge: Merge) -> None:
        self._named: dict[str, list[MergedFinding]] = {}
        for finding in (*merge.findings, *merge.dropped):
            self._named.setdefault(name_of(finding), []).append(finding)

    def of(self, conflict: Conflict) -> MergedFinding | None:
        """The finding, or None if there is none or more than one that fits."""
        if conflict.kind == "compliance":
            return None
        agents = set(conflict.agents)
        fits = [
            finding
            for finding in self._named.get(conflict.finding, ())
            if agents <= set(finding.agents) or (conflict.kind == "presence" and agents >= set(finding.agents))
        ]
        if len(fits) > 1:  # the words tell which, where they name a place
            fits = [finding for finding in fits if names_location(conflict, finding)]
        return fits[0] if len(fits) == 1 else None


def names_location(conflict: Conflict, finding: MergedFinding) -> bool:
    """Whether a conflict's own words say where it is."""
    if finding.path is None:
        return False
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    return f"(at {place})" in conflict.why or conflict.finding == place


def has_location(finding: MergedFinding, workspace: Workspace) -> bool:
    """Whether the place of a finding is in the checkout, line and all."""
    if finding.path is None:
        return False
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return workspace.exists(finding.path)  # too large or not text: nobody can say that the line is wrong
    if finding.line is None:
        return True
    return 1 <= finding.line <= (finding.end_line or finding.line) <= len(file.lines)


def excerpt(finding: MergedFinding, workspace: Workspace | None, around: int) -> Iterator[SourceLine]:
    """The cited lines with some around them; nothing if they cannot be shown. Long ranges are cut."""
    if workspace is None or finding.path is None or finding.line is None or not has_location(finding, workspace):
        return
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return
    last = min(finding.end_line or finding.line, finding.line + MAX_CITED - 1)
    first = max(1, finding.line - around)
    for number, text in enumerate(file.lines[first - 1 : last + around], first):
        yield SourceLine(number, truncate_text(text, MAX_COLUMNS), finding.line <= number <= last)


def decision_text(merge: Merge) -> str:
    """Why the decision is as it is. Names of agents in it are as they were written."""
    return "; ".join(filter(None, [_main(merge), broken_text(merge)]))


def contract_status(report: AgentReport) -> str:
    """Whether a report keeps the contract: tools are not held to it, and who sent nothing has no result."""
    return report.verdict or ("no result" if report.status == "FAILED" else "tool")


def _main(merge: Merge) -> str:
    if merge.decision == "continue":
        return "every agent finished and none disagrees with another"
    if merge.decision == "retry":
        if not merge.agents:
            return "there was nothing to merge"
        failed = _named(merge, "FAILED")
        return f"{failed or 'an agent'} failed and should run again before anybody relies on this"
    conflicts = counted(len(merge.conflicts), "conflict") if merge.conflicts else ""
    partial = _named(merge, "PARTIAL")
    reasons = [conflicts, f"{partial} did not finish" if partial else ""]
    return "; ".join(filter(None, reasons)) or "an agent is less than 60 sure of its own result"


def _named(merge: Merge, status: str) -> str:
    names = list(dict.fromkeys(truncate_text(report.agent, 80) for report in merge.agents if report.status == status))
    return join_words(names) if len(names) <= _MAX_NAMED else counted(len(names), "agent")


def broken_text(merge: Merge) -> str:
    """How many results break the contract; empty: none."""
    judged = [report.verdict for report in merge.agents if report.verdict]
    broken = sum(verdict != "accept" for verdict in judged)
    verb = "breaks" if broken == 1 else "break"
    return f"{broken:,} of {counted(len(judged), 'result')} {verb} the contract" if broken else ""


class OpinionDetails(NamedTuple):
    """The parts; each is empty where there is none."""

    risk: str
    fix: str
    also: str
    words: str
    code: str


def opinion_details(opinion: Opinion) -> OpinionDetails:
    """The parts of what one agent says of a finding."""
    parts: dict[str, list[str]] = {"risk": [], "fix": [], "also": [], "words": [], "code": []}
    repeated = {_bare(opinion.title), _bare(f"{opinion.id}: {opinion.title}")}
    now, in_code = "words", False
    for line in opinion.details[:_MAX_READ].split("\n"):
        if line.lstrip().startswith(_FENCE):
            in_code, now = not in_code, "words"
        elif in_code:
            parts["code"].append(line)
        elif not line.strip():
            now = "words"
            parts[now].append("")
        elif label := _LABEL.match(line):
            now = ("risk", "fix", "also")[next(at for at in range(3) if label[at + 1])]
            parts[now].append(label[4])
        elif _bare(line) not in repeated:
            parts[now].append(line)
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
    """Untrusted text as one line of Markdown that means what it says: no tag, link or code span in it.

    Its references must still be taken down, with the words around it: see `harmless`.
    """
    line = " ".join(text[: 8 * length].split())
    line = truncate_text(escape_control(line), length).replace("`", "'")
    return _OPENING.sub(r"\\\g<0>", _BACKSLASH.sub(r"\\\\", line))


def safe_agent(name: str) -> str:
    """Who says it."""
    return safe_text(name, 80) or "unnamed"


def neutralize_line(line: str, exists: Exists | None = None) -> str:
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


def _written(line: str, exists: Exists | None) -> list[WrittenReference]:
    if exists is not None:
        return references_in(line, exists)
    both = {written.start: written for written in (*references_in(line), *references_in(line, lambda _: True))}
    return [both[start] for start in sorted(both)]


def _counts(line: str, written: WrittenReference, exists: Exists | None) -> bool:
    if exists is not None or looks_like_file(written.path):
        return True
    if not any(map(str.isalpha, written.path)):
        return False  # a time or a ratio
    after = line[written.start + len(written.path) :][:1]
    return after in (":", "#", "(") or not written.path.islower()


def _broken(line: str, written: WrittenReference) -> str:
    """The line with something between the path and its number."""
    before = line[written.start : written.end].find(written.path)
    if before > 0:  # `line 12 of a.py`
        at = written.start + len(line[written.start : written.start + before].rstrip(_AROUND_PATH))
        return f"{line[:at]}:{line[at:]}"
    at = written.start + len(written.path)
    between = {":": ": ", ",": ";", "#": " #", "(": " ("}.get(line[at : at + 1])
    return f"{line[:at]}{between}{line[at + 1 :]}" if between else f"{line[:at]};{line[at:]}"
