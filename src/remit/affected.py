"""Which claims of the project's documents does a change make false?

A claim is affected if it held before the change and does not hold now, in any document. A claim on a changed line is
affected if it does not hold. What was false before the change is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from remit.checking import Options, Verdict, check_document, with_evidence
from remit.contract.parse import Document, parse_whole
from remit.errors import UsageError
from remit.evidence.gather import holding_in
from remit.evidence.judge import ACCUSING, judge
from remit.evidence.model import Checked, TextKind, Then
from remit.evidence.sources import Sources
from remit.workspace.commit import Commit
from remit.workspace.git import (
    changed_lines,
    has_commit,
    has_tracked_changes,
    head,
    is_shallow,
    main_branch,
    merge_base,
    renamed_files,
)
from remit.workspace.history import PROBLEMS

#: The kind of a claim, its line, its position and its words.
_Key = tuple[str, int, int, str]


class DocumentChange(msgspec.Struct, frozen=True):
    """What a change did to the documents of a checkout."""

    #: The commit before the change.
    base: str
    #: The new and changed lines of each file.
    lines: dict[str, list[tuple[int, int]]]
    #: The old path of each renamed file.
    renamed: dict[str, str]
    #: Why nothing was compared; empty: the files on disk differ from the commit, or the checked-out one does.
    problem: str = ""
    #: Whether the clone lacks a part of the history.
    is_shallow: bool = False

    def is_changed(self, path: str, line: int) -> bool:
        """Return whether the change wrote a line of a document."""
        return any(first <= line <= last for first, last in self.lines.get(path, ()))


def change_since(root: Path, rev: str) -> DocumentChange:
    """Return the change since the checked-out commit left a branch or commit; with an empty name, the main branch."""
    name = rev or main_branch(root)
    if name is None:
        raise UsageError("this checkout has no main branch to compare with; name a commit: --affected-by REV")
    base = merge_base(root, name)
    if base is None:
        raise UsageError(_why_no_base(root, name))
    problem = ""
    if base == head(root) and not has_tracked_changes(root, base):
        same = f"{name} is the checked-out commit {base[:12]}, and no tracked file is changed"
        problem = f"nothing was compared: {same}; name an older commit, for example --affected-by HEAD~1"
    lines, renamed = changed_lines(root, base, with_renames=True), renamed_files(root, base)
    return DocumentChange(base, lines, renamed, problem, is_shallow(root))


def _why_no_base(root: Path, name: str) -> str:
    if not has_commit(root, name):
        if Path(name).exists() or (root / name).exists():
            return f"--affected-by needs a branch or commit, and {name!r} is a path: remit verify {name} --affected-by"
        problem = f"{root} has no commit {name!r}"
    else:
        problem = f"{root} has no commit that {name!r} and the checked-out one have in common"
    hint = "the clone is shallow: fetch the history with git fetch --unshallow"
    return f"{problem}; {hint if is_shallow(root) else 'use a revision that `git rev-parse` accepts there'}"


class Affected(NamedTuple):
    """The verdicts on a document: with the affected claims only, and with all of its claims."""

    verdicts: list[Verdict]
    whole: list[Verdict]


class AffectedClaims:
    """Finds the affected claims of documents. `before` has the files before the change."""

    def __init__(
        self, before: Commit, change: DocumentChange, options: Options, sources: Sources, path_of: Callable[[str], str]
    ) -> None:
        self._change = change
        self._options = options.validated()
        self._sources = sources
        self._path_of = path_of
        self._before = before

    def check(self, source: bytes, path: str) -> Affected:
        """Return the verdicts on a document."""
        answer = Affected([], [])
        for document in parse_whole(source):
            whole = check_document(document, path, self._options, self._sources)
            written, held = self._affected(document, path, whole.evidence.checked)
            answer.whole.append(whole)
            answer.verdicts.append(self._only(whole, written, held))
        return answer

    def _affected(self, document: Document, path: str, checked: Sequence[Checked]) -> tuple[set[_Key], set[_Key]]:
        """Return the accused claims on changed lines, and the others that held before the change."""
        name = self._path_of(path)
        accused = [claim for claim in checked if claim.outcome in ACCUSING]
        written = {_key(claim) for claim in accused if self._change.is_changed(name, claim.at)}
        older = [claim for claim in accused if _key(claim) not in written]
        if not older:
            return written, set()
        old_path = self._change.renamed.get(name, name)
        held = holding_in(self._before, document, [one.claim for one in older], self._sources, old_path)
        return written, {_key(claim) for claim, is_held in zip(older, held, strict=True) if is_held}

    def _only(self, verdict: Verdict, written: set[_Key], held: set[_Key]) -> Verdict:
        """Return a verdict on the affected claims of a document. What held before the change is outdated."""
        accused: list[Checked] = []
        for claim in verdict.evidence.checked:
            if claim.outcome in ACCUSING and _key(claim) in written | held:
                is_undated = claim.then is None and _key(claim) in held
                accused.append(self._outdated(claim, verdict.evidence.text) if is_undated else claim)
        # A cut history is stated also if no claim asked for it: the base may be another one than a whole clone has.
        problem = verdict.evidence.history_problem or (PROBLEMS["shallow"] if self._change.is_shallow else "")
        evidence = replace(verdict.evidence, checked=accused, history_problem=problem)
        return with_evidence(verdict, evidence, self._options)

    def _outdated(self, checked: Checked, text: TextKind) -> Checked:
        """Return a claim that held before the change, judged as one."""
        then = Then(*self._sources.history.describe(self._change.base), found=checked.found)
        facts = replace(checked.facts, then=then)
        return replace(checked, facts=facts, judgement=judge(checked.claim, facts, text))


def _key(checked: Checked) -> _Key:
    claim = checked.claim
    return claim.kind, claim.at, claim.start, claim.text
