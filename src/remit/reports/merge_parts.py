"""What every report of a merge needs to say of a finding: its place, its score, its source, who named it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from remit.merging.conflict import name_of
from remit.merging.model import SCALE, Conflict, Merge, MergedFinding, Opinion
from remit.workspace.files import SourceFile, Workspace

#: From the worst to the mildest; a finding to which nobody gave a severity comes last.
SEVERITIES = (*reversed(SCALE), "unrated")
#: What is longer than this in a title was not meant to be read.
MAX_TITLE = 300
MAX_WHY = 120
#: A range of lines may be as long as its file: an excerpt is not.
MAX_CITED = 12
MAX_COLUMNS = 240

EVIDENCE = {True: "place holds", False: "evidence failed", None: "unchecked"}
#: Words for flags that need some.
_FLAGS = {"unscored": "no score given"}


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


def place_of(finding: MergedFinding) -> str:
    """`path:12-18`, or nothing where no place is known."""
    if finding.path is None or finding.line is None:
        return finding.path or ""
    last = f"-{finding.end_line}" if finding.end_line is not None and finding.end_line != finding.line else ""
    return f"{finding.path}:{finding.line}{last}"


def heard(finding: MergedFinding) -> list[Opinion]:
    """What the agents say, the surest first."""
    return sorted(finding.opinions, key=lambda opinion: (-opinion.confidence, opinion.agent, opinion.id))


def state_of(finding: MergedFinding) -> str:
    """How its evidence stands, and if it failed, why."""
    why = next((said.evidence for said in heard(finding) if said.evidence), "") if finding.verified is False else ""
    return EVIDENCE[finding.verified] + (f": {cut(why, MAX_WHY)}" if why else "")


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
    failed = f"evidence failed: {cut(opinion.evidence, MAX_WHY)}" if opinion.evidence else ""
    is_told = len(finding.opinions) == 1 and finding.verified is False
    flags = [_FLAGS.get(flag, flag) for flag in opinion.flags if not (flag == "relocated" and place)]
    return [note for note in (f"claimed{claimed}" if claimed else "", "" if is_told else failed, *flags) if note]


def answered(merge: Merge) -> int:
    """How many agents answered: agreement is counted against them."""
    return len({report.agent for report in merge.agents if report.status != "FAILED"})


def agreement(finding: MergedFinding, agents: int) -> str:
    """`2 of 5`."""
    return f"{len(finding.agents)} of {max(agents, len(finding.agents))}"


def counted(number: int, word: str) -> str:
    """`1 finding`, `2 findings`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def joined(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def cut(text: str, length: int) -> str:
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
            fits = [finding for finding in fits if names_place(conflict, finding)]
        return fits[0] if len(fits) == 1 else None


def names_place(conflict: Conflict, finding: MergedFinding) -> bool:
    """Whether a conflict's own words say where it is."""
    if finding.path is None:
        return False
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    return f"(at {place})" in conflict.why or conflict.finding == place


def is_there(finding: MergedFinding, workspace: Workspace) -> bool:
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
    if workspace is None or finding.path is None or finding.line is None or not is_there(finding, workspace):
        return
    file = workspace.read(finding.path)
    if not isinstance(file, SourceFile):
        return
    last = min(finding.end_line or finding.line, finding.line + MAX_CITED - 1)
    first = max(1, finding.line - around)
    for number, text in enumerate(file.lines[first - 1 : last + around], first):
        yield SourceLine(number, cut(text, MAX_COLUMNS), finding.line <= number <= last)
