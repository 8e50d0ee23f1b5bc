"""Date the claims that do not hold: a claim that held when its line was written is outdated.

The date of a claim is the commit that last changed its line. A path that the history has is outdated, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from remit.evidence.find_names import last_part
from remit.evidence.judge import HOLDING, judge
from remit.evidence.model import REFERENCES, Claim, Facts, Location, Then
from remit.evidence.sources import Sources
from remit.workspace.definitions import defined_name
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.history import PROBLEMS, Held

#: At most this many commits of one document are looked at, those of most claims first.
_MAX_COMMITS = 40
#: Returns the facts of claims in another tree of files.
LookIn = Callable[[Workspace, Sequence[Claim]], list[Facts]]


class Accused(NamedTuple):
    """An accused claim: its position in the list of all claims, and what the checkout shows."""

    at: int
    claim: Claim
    facts: Facts


class ClaimDates:
    """Finds out which accused claims of a document held when they were written."""

    def __init__(self, workspace: Workspace, sources: Sources, document: str | None, look: LookIn) -> None:
        self._workspace = workspace
        self._history = sources.history
        #: The path of the document in the checkout; None: it is not in it.
        self._document = document
        self._look = look

    @property
    def problem(self) -> str:
        """What the history cannot show; empty if it is complete."""
        return PROBLEMS[self._history.problem]

    def ask(self, accused: Sequence[Accused]) -> dict[int, Then]:
        """Return when each claim held, by its position; a claim that never held is left out."""
        dates = self._dates(accused)
        held = self._held(accused, dates)
        gone = [
            accusation
            for accusation in accused
            if accusation.at not in held and accusation.facts.state == "missing" and accusation.claim.path
        ]
        return held | self._removed(gone)

    def _dates(self, accused: Sequence[Accused]) -> dict[int, str]:
        """Return the commit of each claim, by its position; a claim that is not committed has none."""
        if self._document is None:
            return {}
        lines = self._history.dates(self._document, {accusation.claim.at for accusation in accused})
        return {
            accusation.at: commit for accusation in accused if (commit := lines.get(accusation.claim.at)) is not None
        }

    def _held(self, accused: Sequence[Accused], dates: dict[int, str]) -> dict[int, Then]:
        """Return the claims that held at their commit or at its parent."""
        groups: dict[str, list[Accused]] = {}
        for accusation in accused:
            if accusation.at in dates:
                groups.setdefault(dates[accusation.at], []).append(accusation)
        chosen = sorted(groups, key=lambda commit: -len(groups[commit]))[:_MAX_COMMITS]
        held_claims: dict[int, tuple[Accused, Held]] = {}
        for commit in chosen:
            open_claims = groups[commit]
            for then in (commit, self._history.parent(commit)):
                if then is None or not open_claims:
                    continue
                holding = self._holding(open_claims, then)
                held_claims |= {accusation.at: (accusation, held) for accusation, held in holding}
                open_claims = [accusation for accusation in open_claims if accusation.at not in held_claims]
        asked = {at: _question(accusation, held) for at, (accusation, held) in held_claims.items() if held.path}
        changed = self._history.changed_in(asked.values())
        return {
            position: self._then(accusation, held, changed[asked[position]] if position in asked else "")
            for position, (accusation, held) in held_claims.items()
        }

    def _holding(self, accused: Sequence[Accused], commit: str) -> list[tuple[Accused, Held]]:
        files = self._history.files_at(commit)
        if files is None:
            return []
        changed = [accusation for accusation in accused if not self._is_unchanged(accusation, files)]
        past = self._look(files, [accusation.claim for accusation in changed])
        holding = []
        for accusation, facts in zip(changed, past, strict=True):
            if judge(accusation.claim, facts).outcome in HOLDING:
                line = _line_of(accusation.claim, facts, files)
                path = facts.path or accusation.claim.path if _is_located(accusation.claim) else ""
                holding.append((accusation, Held(commit, path, line, accusation.claim.end_line)))
        return holding

    def _is_unchanged(self, accused: Accused, files: Workspace) -> bool:
        """Return whether the file of a claim was the same at a commit: then the claim did not hold there either."""
        facts = accused.facts
        if facts.state != "file" or facts.how != "written" or accused.claim.others or not _is_located(accused.claim):
            return False
        old, new = files.read(facts.path), self._workspace.read(facts.path)
        return isinstance(old, SourceFile) and isinstance(new, SourceFile) and old.text == new.text

    def _then(self, accused: Accused, held: Held, changed_in: str) -> Then:
        _, date = self._history.describe(held.commit)
        location: Location | None = None
        if held.path and held.line is not None:
            today = self._history.follow(held.path, held.line, held.commit)
            location = Location(today.path, today.line) if today is not None else None
        elif held.path:
            removal = self._history.removed([held.path], self._document or "").get(held.path)
            location = Location(removal.renamed_to) if removal is not None and removal.renamed_to else None
        code = accused.facts.code
        if location is None and code is not None and code.place == "file":
            location = code.found
        name = accused.facts.name
        if location is None and name is not None and len(name.definitions) == 1:
            location = Location(accused.facts.path, name.definitions[0])
        return Then(
            held.commit,
            date,
            changed_in=changed_in,
            subject=self._history.subject(changed_in) if changed_in else "",
            found=location,
            path=held.path,
        )

    def _removed(self, gone: Sequence[Accused]) -> dict[int, Then]:
        """Return the claims on paths that the history has, and the checkout does not."""
        paths = [accusation.facts.path or accusation.claim.path for accusation in gone]
        removals = self._history.removed(paths, self._document or "")
        groups: dict[str, list[Accused]] = {}
        for accusation in gone:
            removal = removals.get(accusation.facts.path or accusation.claim.path)
            if removal is not None:
                groups.setdefault(removal.last_commit, []).append(accusation)
        chosen = sorted(groups, key=lambda commit: -len(groups[commit]))[:_MAX_COMMITS]
        holding = [pair for commit in chosen for pair in self._holding(groups[commit], commit)]
        past = {accusation.at: held for accusation, held in holding}
        removed: dict[int, Then] = {}
        for accusation in (accusation for members in groups.values() for accusation in members):
            removal = removals[accusation.facts.path or accusation.claim.path]
            held = past.get(accusation.at)
            today = Location(removal.renamed_to, held.line if held else None) if removal.renamed_to else None
            _, date = self._history.describe(removal.last_commit)
            subject = self._history.subject(removal.commit) if removal.commit else ""
            path = held.path if held else ""
            removed[accusation.at] = Then(removal.last_commit, date, removal.commit, today, subject, held is None, path)
        return removed


def _is_located(claim: Claim) -> bool:
    """Return whether a claim is about a file."""
    return claim.kind in REFERENCES or claim.kind == "quote"


def _question(accused: Accused, held: Held) -> Held:
    """Return a claim that held as one about its name, if its file does not have the name any more."""
    claim, name = accused.claim, accused.facts.name
    is_gone = claim.kind == "name" and name is not None and name.line is None
    return Held(held.commit, held.path, name=last_part(claim.name)) if is_gone else held


def _line_of(claim: Claim, facts: Facts, files: Workspace) -> int | None:
    """Return the line of a claim that is followed: that of the quote or the cited one.

    If the cited line does not have the name of the claim, that of its definition is followed.
    """
    if facts.code is not None and facts.code.found is not None:
        return facts.code.found.line
    name, line = facts.name, claim.line
    file = files.read(facts.path)
    if name is None or name.line is None or line is None or claim.end_line is not None or isinstance(file, Absent):
        return line
    short = last_part(claim.name)
    if short in "".join(file.lines[line - 1 : line]):
        return line
    is_definition = name.is_definition or defined_name(file.lines[name.line - 1]) == short
    return name.line if is_definition else line
