"""Date the claims that do not hold: did they hold when they were written, and where is it today?

The date of a claim is the commit that the text states, else the commit that last changed its line. Only accused claims
are asked, all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from remit.evidence.judge import HOLDING, judge
from remit.evidence.model import REFERENCES, Claim, Facts, Location, Then
from remit.workspace.files import Workspace
from remit.workspace.history import PROBLEMS, Held, History

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

    def __init__(self, history: History, document: str | None, stated: str | None, look: LookIn) -> None:
        self._history = history
        #: The path of the document in the checkout; None: it is not in it.
        self._document = document
        #: The commit that the text states as its own.
        self._stated = stated
        self._look = look

    @property
    def problem(self) -> str:
        """What the history cannot show; empty if it is complete."""
        return PROBLEMS[self._history.problem]

    def ask(self, accused: Sequence[Accused]) -> dict[int, Then]:
        """Return when each claim held, by its position; a claim that never held is left out."""
        dates = self._dates(accused)
        held = self._held(accused, dates)
        gone = [one for one in accused if one.at not in held and one.facts.state == "missing" and one.claim.path]
        return held | self._removed(gone, dates)

    def _dates(self, accused: Sequence[Accused]) -> dict[int, str]:
        """Return the commit of each claim, by its position; a claim that is not committed has none."""
        if self._stated is not None:
            return {one.at: self._stated for one in accused}
        if self._document is None:
            return {}
        lines = self._history.dates(self._document, {one.claim.at for one in accused})
        return {one.at: commit for one in accused if (commit := lines.get(one.claim.at)) is not None}

    def _held(self, accused: Sequence[Accused], dates: dict[int, str]) -> dict[int, Then]:
        """Return the claims that held at their commit or at its parent."""
        groups: dict[str, list[Accused]] = {}
        for one in accused:
            if one.at in dates:
                groups.setdefault(dates[one.at], []).append(one)
        chosen = sorted(groups, key=lambda commit: -len(groups[commit]))[:_MAX_COMMITS]
        found: dict[int, tuple[Accused, Held]] = {}
        for commit in chosen:
            open_claims = groups[commit]
            for then in (commit, self._history.parent(commit)):
                if then is None or not open_claims:
                    continue
                holding = self._holding(open_claims, then)
                found |= {one.at: (one, held) for one, held in holding}
                open_claims = [one for one in open_claims if one.at not in found]
        changed = self._history.changed_in([held for _, held in found.values() if held.path])
        return {at: self._then(one, held, changed.get(held, "")) for at, (one, held) in found.items()}

    def _holding(self, accused: Sequence[Accused], commit: str) -> list[tuple[Accused, Held]]:
        files = self._history.files_at(commit)
        if files is None:
            return []
        past = self._look(files, [one.claim for one in accused])
        holding = []
        for one, facts in zip(accused, past, strict=True):
            if judge(one.claim, facts, strict=False).outcome in HOLDING:
                line = _line_of(one.claim, facts)
                is_place = one.claim.kind in (*REFERENCES, "quote")
                path = facts.path or one.claim.path if is_place else ""
                holding.append((one, Held(commit, path, line, one.claim.end_line)))
        return holding

    def _then(self, one: Accused, held: Held, changed_in: str) -> Then:
        _, date = self._history.describe(held.commit)
        found: Location | None = None
        if held.path and held.line is not None:
            today = self._history.follow(held.path, held.line, held.commit)
            found = Location(today.path, today.line) if today is not None else None
        elif held.path:
            removal = self._history.removed({held.path: held.commit}, self._document or "").get(held.path)
            found = Location(removal.renamed_to) if removal is not None and removal.renamed_to else None
        code = one.facts.code
        if found is None and code is not None and code.place in ("file", "other"):
            found = code.found
        if found is None and one.facts.name is not None and one.facts.name.line is not None:
            found = Location(one.facts.path, one.facts.name.line)
        return Then(held.commit, date, changed_in=changed_in, found=found)

    def _removed(self, gone: Sequence[Accused], dates: dict[int, str]) -> dict[int, Then]:
        """Return the claims on paths that the history has, and the checkout does not.

        A line, a name or a quote must have been there before the path was removed.
        """
        paths = {one.facts.path or one.claim.path: dates.get(one.at) for one in gone}
        removals = self._history.removed(paths, self._document or "") if paths else {}
        groups: dict[str, list[Accused]] = {}
        for one in gone:
            removal = removals.get(one.facts.path or one.claim.path)
            if removal is not None:
                groups.setdefault(removal.last_commit, []).append(one)
        chosen = sorted(groups, key=lambda commit: -len(groups[commit]))[:_MAX_COMMITS]
        holding = [pair for commit in chosen for pair in self._holding(groups[commit], commit)]
        found: dict[int, Then] = {}
        for one, held in holding:
            removal = removals[one.facts.path or one.claim.path]
            today = Location(removal.renamed_to, held.line) if removal.renamed_to else None
            _, date = self._history.describe(removal.last_commit)
            found[one.at] = Then(removal.last_commit, date, changed_in=removal.commit, found=today)
        return found


def _line_of(claim: Claim, facts: Facts) -> int | None:
    """Return the line at which the quote or the name of a claim was; the cited line if it has neither."""
    if facts.code is not None and facts.code.found is not None:
        return facts.code.found.line
    is_named = facts.name is not None and claim.line is not None and claim.end_line is None
    return facts.name.line if is_named and facts.name is not None and facts.name.line is not None else claim.line
