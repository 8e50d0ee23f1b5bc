"""Look claims up: each claim and the checkout give facts. Facts are never overwritten, and nothing is judged here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from remit.evidence.find_code import CodeFinder
from remit.evidence.find_commands import CommandFinder
from remit.evidence.find_files import FileFinder, other_code_base
from remit.evidence.find_names import NameFinder
from remit.evidence.model import REFERENCES, Claim, CodeFacts, Facts, Location, NameFacts, Place
from remit.evidence.token_match import TokenStore
from remit.workspace.files import SourceFile, Workspace

#: Facts about a claim that cannot be looked up: there is no checkout.
UNKNOWN = Facts()
#: A name in a column may be one of several: `open, close`. The reader joins them with this sign.
ALTERNATIVES = "|"


class OwnText(NamedTuple):
    """The document itself: its path from the root, if it has one, and its text."""

    path: str
    text: str


class Looker:
    """Looks up the claims of one document in one tree of files."""

    def __init__(
        self,
        workspace: Workspace,
        folder: str,
        files: FileFinder,
        names: NameFinder,
        commands: CommandFinder,
        document: OwnText,
        tokens: TokenStore,
        *,
        suggests: bool = True,
    ) -> None:
        self._workspace = workspace
        #: The document's own folder in the checkout.
        self._folder = folder
        self._files = files
        self._names = names
        self._commands = commands
        self._own = document
        self._code = CodeFinder(tokens, suggests=suggests)
        self._suggests = suggests

    def look(
        self, claims: Sequence[Claim], *, strict: bool = True, was_here: Callable[[str], bool] = lambda _: False
    ) -> list[Facts]:
        """Return the facts of each claim.

        In a text that is not `strict`, most references to a folder that is not here are about another code base,
        unless it was here.
        """
        self._names.prepare(name for claim in claims if claim.name and claim.kind == "name" for name in _names(claim))
        # Sorted by file, so that each file is read once even if not all of them fit in memory.
        order = sorted(range(len(claims)), key=lambda index: claims[index].path)
        facts: list[Facts] = [UNKNOWN] * len(claims)
        for index in order:
            facts[index] = self._look(claims[index])
        if not strict:
            self._mark_other_code(claims, facts, was_here)
        return self._with_quotes(claims, facts)

    def _look(self, claim: Claim) -> Facts:
        if claim.kind in ("command", "test"):
            return self._look_for_command(claim)
        if claim.kind == "quote":
            return self._look_for_code(claim)
        facts = self._files.look(claim)
        if claim.kind == "name":
            facts = self._with_name(claim, facts)
        return facts

    def _look_for_command(self, claim: Claim) -> Facts:
        found_command = self._commands.find(claim, self._folder)
        if found_command.is_foreign:
            return Facts(state="elsewhere", elsewhere="a program of another project")
        suggestion = Location(found_command.suggestion) if found_command.suggestion else None
        return Facts(state="file", path=found_command.where, is_known=found_command.is_known, suggestion=suggestion)

    def _with_name(self, claim: Claim, facts: Facts) -> Facts:
        """Add where the name is. Of several files, take the only one that has the name near the line."""
        paths = facts.candidates if facts.how == "several" else (facts.path,) if facts.state == "file" else ()
        named = [(path, name) for path in paths if (name := self._name_facts(claim, path)) is not None]
        if facts.how != "several":
            return replace(facts, name=named[0][1]) if named else facts
        near = [(path, name) for path, name in named if name.is_near]
        if len(near) != 1:
            return facts
        path, name = near[0]
        file = self._workspace.read(path)
        count = file.line_count if isinstance(file, SourceFile) else None
        return replace(facts, path=path, how="end", candidates=(), line_count=count, name=name)

    def _name_facts(self, claim: Claim, path: str) -> NameFacts | None:
        """Return the facts about the name, or about the one of several names that is nearest to the line."""
        file = self._workspace.read(path)
        if not isinstance(file, SourceFile):
            return None
        # A name near the line needs no definition, unless the claim is about one.
        needs = not claim.notes.isdisjoint(("plain", "defined"))
        every = [
            self._names.facts(file, name, claim.line, claim.end_line, with_definitions=needs) for name in _names(claim)
        ]
        return max(every, key=lambda facts: (facts.is_near, facts.line is not None, facts.is_anywhere is True))

    def _look_for_code(self, claim: Claim) -> Facts:
        """Return the facts about a quote: of several places that may be meant, the one at which it is."""
        primary = self._files.look_up(claim.path, claim.line, claim.end_line)
        best = self._compare(claim, primary, claim.line, claim.end_line)
        for other in claim.others:
            if best.code is not None and best.code.place == "cited":
                return best
            facts = self._files.look_up(other.path, other.line, other.end_line)
            compared = self._compare(claim, facts, other.line, other.end_line)
            if compared.code is not None and compared.code.place == "cited":
                return replace(compared, code=replace(compared.code, cited=other))
        places = (Place(claim.path, claim.line, claim.end_line), *claim.others)
        lines = [line for place in places for line in (place.line, place.end_line) if line is not None]
        is_one_file = bool(claim.others) and {place.path for place in claim.others} == {claim.path}
        if is_one_file and lines and (best.code is None or best.code.place != "cited"):
            # `a.py:12, 30` shows the lines from the first to the last.
            whole = self._compare(claim, primary, min(lines), max(lines))
            return whole if whole.code is not None and whole.code.place == "cited" else best
        return best

    def _compare(self, claim: Claim, facts: Facts, line: int | None, last: int | None) -> Facts:
        """Add where the code is. Of several files, take the only one that has it at the line."""
        paths = facts.candidates if facts.how == "several" else (facts.path,) if facts.state == "file" else ()
        compared: list[tuple[str, CodeFacts]] = []
        for path in paths:
            file = self._workspace.read(path)
            if isinstance(file, SourceFile):
                compared.append((path, self._code.look(claim.code, file, line, last)))
        if not compared:
            return facts
        if facts.how != "several":
            return replace(facts, code=compared[0][1])
        cited = [(path, code) for path, code in compared if code.place == "cited"]
        if len(cited) != 1:
            return facts
        return replace(facts, path=cited[0][0], how="end", candidates=(), code=cited[0][1])

    def _mark_other_code(self, claims: Sequence[Claim], facts: list[Facts], was_here: Callable[[str], bool]) -> None:
        """Mark the references to another code base: most references of the text share a folder that is not here."""
        references = [
            (claim, claim_facts) for claim, claim_facts in zip(claims, facts, strict=True) if claim.kind in REFERENCES
        ]
        root = other_code_base(references, self._workspace)
        if not root or was_here(root):
            return
        for index, claim in enumerate(claims):
            is_missing = facts[index].state == "missing" and claim.path.strip("/").partition("/")[0] == root
            if is_missing and claim.kind not in ("command", "test"):
                facts[index] = Facts(state="elsewhere", path=claim.path, elsewhere=root)

    def _with_quotes(self, claims: Sequence[Claim], facts: list[Facts]) -> list[Facts]:
        """Add to each location what the comparison of its quote showed."""
        quoted: dict[tuple[int, str, int | None], CodeFacts] = {}
        for claim, claim_facts in zip(claims, facts, strict=True):
            if claim.kind == "quote" and claim_facts.code is not None:
                place = settled(claim, claim_facts)
                quoted.setdefault((place.located_at, place.path, place.line), claim_facts.code)
        if not quoted:
            return facts
        added = list(facts)
        for index, claim in enumerate(claims):
            code = quoted.get((claim.at, claim.path, claim.line)) if claim.kind in REFERENCES else None
            if code is not None and facts[index].state in ("file", "missing"):
                added[index] = replace(facts[index], code=code)
        return added


def settled(claim: Claim, facts: Facts) -> Claim:
    """Return a quote with the one of several places at which its code is."""
    cited = facts.code.cited if facts.code is not None and claim.kind == "quote" else None
    return claim if cited is None else replace(claim, path=cited.path, line=cited.line, end_line=cited.end_line)


def _names(claim: Claim) -> list[str]:
    return claim.name.split(ALTERNATIVES)
