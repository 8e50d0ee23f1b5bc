"""Follow a renamed definition through the history: from the commit at which a document was right to the checkout.

A definition was renamed if the commit that removed its name has exactly one definition with a new name that continues
it: on the same lines, or with a similar body. Where two may be meant, none is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from remit.evidence.file_names import is_source
from remit.evidence.find_names import NameFinder, last_part
from remit.evidence.similarity import indel_similarity
from remit.lazy import lazy_pattern
from remit.workspace.definitions import SEPARATOR, ParsingProcess, SourceDefinition, find_definitions
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.history import Held, History, has_word
from remit.workspace.history_git import align_lines

#: A name is followed through at most this many commits that rename it or its file.
_MAX_STEPS = 6
#: A commit that wrote more source files is a move of the whole project: only the file itself is searched.
_MAX_FILES = 60
_MAX_TOKENS = 4_000
#: Seconds for all symbols of a run.
_RUN_SECONDS = 8.0
#: How similar a definition must be if its names share half of their words, else, and if no other place is looked at.
_RELATED, _UNRELATED, _ALIKE = 0.8, 0.9, 0.95
#: How much less similar any other definition must be.
_MARGIN = 0.15
#: A definition with fewer tokens, such as `LIMIT = 10`, does not show what it is by its content; one elsewhere with
#: fewer does not if the names are not related.
_FEW_TOKENS, _FEW_ELSEWHERE = 12, 25
#: A file is parsed if it has this share of the lines of a definition, as far as they are this long.
_SHARED, _LONG_LINE = 1 / 3, 12
_TOKEN = lazy_pattern(r"[\w$]+|[^\w\s$]")
_WORD = lazy_pattern(r"[\w$]+")
_PART_OF_NAME = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class RenamedSymbol(msgspec.Struct, frozen=True):
    """A renamed definition in the checkout. `name` is qualified as the old one was written."""

    name: str
    path: str
    line: int
    #: The commit that renamed it first; empty: the change is not committed.
    commit: str
    #: Whether its body has as many lines as it had.
    keeps_length: bool


class _Defined(NamedTuple):
    """A definition and its file."""

    file: SourceFile
    definition: SourceDefinition

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.file.lines[self.definition.first_line - 1 : self.definition.last_line]

    @property
    def tokens(self) -> list[str]:
        """Its tokens, with an empty one in place of its name."""
        tokens = _TOKEN.findall("\n".join(self.lines))[:_MAX_TOKENS]
        return ["" if token == self.definition.name else token for token in tokens]


class _Step(NamedTuple):
    """A commit that removed a name from a file: the file before it, the files after it, and their paths before it."""

    old: SourceFile
    #: The path of the file after the commit; empty: it was removed.
    path: str
    before: Workspace
    after: Workspace
    #: Empty: the change is not committed.
    commit: str


class SymbolRenames:
    """Finds the definitions of a checkout that had other names."""

    def __init__(self, workspace: Workspace, history: History, names: NameFinder, parsing: ParsingProcess) -> None:
        self._workspace = workspace
        self._history = history
        self._names = names
        self._parsing = parsing
        self._known: dict[tuple[str, str, str], RenamedSymbol | None] = {}
        #: The files that a commit wrote.
        self._written_by: dict[str, dict[str, str]] = {}
        self._parsed: dict[tuple[str, int], dict[str, list[SourceDefinition]]] = {}
        self._seconds_left = _RUN_SECONDS

    def today(self, name: str, held: Held) -> RenamedSymbol | None:
        """Return the definition that a name of a file at a commit has become; None if exactly one is not clear."""
        key = (name, held.path, held.commit)
        if key not in self._known:
            is_gone = bool(held.path) and self._seconds_left > 0 and self._names.is_anywhere(name) is False
            started = time.monotonic()
            renamed = self._follow(name, held) if is_gone else None
            self._seconds_left -= time.monotonic() - started
            self._known[key] = self._with_owner(renamed, name, held) if renamed is not None else None
        return self._known[key]

    def _with_owner(self, renamed: RenamedSymbol, name: str, held: Held) -> RenamedSymbol | None:
        """Return a renamed symbol with the name that its owner has today; None if that is not clear."""
        owner, new = SEPARATOR.split(name)[:-1], last_part(renamed.name)
        if not owner or self._names.is_anywhere(owner[-1]) is not False:
            return renamed
        renamed_owner = self.today(name[: name.rindex(owner[-1]) + len(owner[-1])], held)
        if renamed_owner is None:
            return None
        between = name[name.rindex(owner[-1]) + len(owner[-1]) : len(name) - len(last_part(name))]
        return replace(renamed, name=f"{renamed_owner.name}{between}{new}")

    def _follow(self, name: str, held: Held) -> RenamedSymbol | None:
        commit, path, first, length = held.commit, held.path, "", 0
        for _ in range(_MAX_STEPS):
            short = last_part(name)
            changed = Held(commit, path, name=short)
            lost = self._history.changed_in([changed])[changed]
            step = self._step(path, lost)
            if step is None:
                return None
            moved = step.after.read(step.path) if step.path else None
            if isinstance(moved, SourceFile) and has_word(moved.text, short):
                commit, path = lost, step.path  # only the file was renamed
                continue
            pair = self._successor(step, name)
            if pair is None:
                return None
            old, new = pair
            first, length = first or lost, length or _length(old.definition)
            name = f"{name[: len(name) - len(short)]}{new.definition.name}"
            commit, path = lost, new.file.path
            today = self._definition_today(name, path, commit)
            if today is not None:
                same = _length(today.definition) == length
                return RenamedSymbol(name, today.file.path, today.definition.line, first, same)
        return None

    def _step(self, path: str, commit: str) -> _Step | None:
        """Return what a commit did to a file; without a commit, what the work tree did to the newest one."""
        newest = commit or self._history.newest
        before_id = self._history.parent(commit) if commit else newest
        before = self._history.files_at(before_id) if before_id else None
        after = self._history.files_at(commit) if commit else self._workspace
        old = before.read(path) if before is not None else None
        if before is None or after is None or not isinstance(old, SourceFile):
            return None
        if commit and not isinstance(after.read(path), SourceFile):
            path = next((new for new, was in self._written(commit, path).items() if was == path), "")
        return _Step(old, path, before, after, commit)

    def _written(self, commit: str, path: str) -> dict[str, str]:
        """Return the files that a commit wrote: the path before it by the new path. Without a commit, only `path`."""
        if not commit:
            return {path: path}
        if commit not in self._written_by:
            self._written_by[commit] = self._history.written_files(commit)
        return self._written_by[commit]

    def _definition_today(self, name: str, path: str, commit: str) -> _Defined | None:
        """Return the only definition of a name in the file of a commit as it is today."""
        path_today = self._history.path_today(path, commit) if commit else path
        file = self._workspace.read(path_today) if path_today is not None else None
        if not isinstance(file, SourceFile):
            return None
        lines = self._names.definition_lines(file, name)
        found = [one for one in self._definitions(file).get(last_part(name), []) if one.line in lines]
        return _Defined(file, found[0]) if len(found) == 1 else None

    def _definitions(self, file: SourceFile) -> dict[str, list[SourceDefinition]]:
        key = file.path, hash(file.text)
        if key not in self._parsed:
            self._parsed[key] = find_definitions(file, set(_WORD.findall(file.text)), self._parsing)
        return self._parsed[key]

    def _successor(self, step: _Step, name: str) -> tuple[_Defined, _Defined] | None:
        """Return the definition of a name, and the only new one that continues it; None if that is not clear."""
        olds = self._definitions(step.old)
        lines = self._names.definition_lines(step.old, name)
        mine = [one for one in olds.get(last_part(name), []) if one.line in lines]
        if len(mine) != 1:
            return None
        old = _Defined(step.old, mine[0])
        near = list(self._new_definitions(step, step.path, olds))
        kept = _words_of(step.after, step.path)
        lost = [_Defined(step.old, one) for named, found in olds.items() if named not in kept for one in found]
        on_same_lines = self._on_same_lines(step, old, near, lost)
        if on_same_lines is not None and _similarity(old.tokens, on_same_lines.tokens) >= _ALIKE:
            is_only = all(
                _similarity(old.tokens, one.tokens) <= _ALIKE - _MARGIN
                for one in near
                if one is not on_same_lines and not _is_around(one, on_same_lines)
            )
            is_long = len(old.tokens) >= _FEW_TOKENS
            if not is_long:
                is_only = _renames_uses(step, self._written(step.commit, step.old.path), old, on_same_lines)
            return self._on_one_level(old, on_same_lines) if is_only else None
        if len(old.tokens) < _FEW_TOKENS:
            return None
        news = [*near, *self._far_definitions(step, old, olds)]
        scores = [_similarity(old.tokens, new.tokens) for new in news]
        score = max(scores, default=0.0)
        if not score:
            return None
        new = news[scores.index(score)]
        others = [own for one, own in zip(news, scores, strict=True) if one is not new and not _is_around(one, new)]
        rivals = [_similarity(one.tokens, new.tokens) for one in lost if not _is_around(one, old)]
        is_related = _are_related(old.definition.name, new.definition.name)
        is_enough = is_related or new is on_same_lines or len(old.tokens) >= _FEW_ELSEWHERE
        is_clear = is_enough and max([*others, *rivals], default=0.0) <= score - _MARGIN
        is_clear = is_clear and score >= (_RELATED if is_related else _UNRELATED)
        return self._on_one_level(old, new) if is_clear else None

    def _on_one_level(self, old: _Defined, new: _Defined) -> tuple[_Defined, _Defined] | None:
        """Return two definitions if as many are around each: a function inside of a new one continues no other."""
        old_level, new_level = (
            sum(
                outer.first_line <= inner.first_line and inner.last_line <= outer.last_line and outer.line < inner.line
                for definitions in self._definitions(file).values()
                for outer in definitions
            )
            for file, inner in (old, new)
        )
        return (old, new) if old_level == new_level else None

    def _new_definitions(
        self, step: _Step, path: str, defined: dict[str, list[SourceDefinition]]
    ) -> Iterator[_Defined]:
        """Yield the definitions of a file after a commit with names that were not defined before."""
        file = step.after.read(path) if path else None
        if isinstance(file, SourceFile):
            for name, found in self._definitions(file).items():
                if name not in defined:
                    yield from (_Defined(file, one) for one in found)

    def _far_definitions(
        self, step: _Step, old: _Defined, olds: dict[str, list[SourceDefinition]]
    ) -> Iterator[_Defined]:
        """Yield the new definitions of the other files that a commit wrote, if they share lines with the old one."""
        written = self._written(step.commit, step.old.path)
        paths = [path for path in written if is_source(path) and path != step.path]
        lines = {line for line in map(str.strip, old.lines) if len(line) >= _LONG_LINE}
        for path in paths if len(paths) <= _MAX_FILES else ():
            file, was = step.after.read(path), written[path]
            if isinstance(file, SourceFile) and sum(line in file.text for line in lines) >= _SHARED * len(lines):
                earlier = step.before.read(was) if was else None
                defined = self._definitions(earlier) if isinstance(earlier, SourceFile) else {}
                yield from self._new_definitions(step, path, {**olds, **defined})

    def _on_same_lines(self, step: _Step, old: _Defined, news: list[_Defined], lost: list[_Defined]) -> _Defined | None:
        """Return the only new definition between the unchanged lines around the old name."""
        file = step.after.read(step.path) if step.path else None
        if not isinstance(file, SourceFile):
            return None
        same = align_lines(step.old.lines, file.lines)
        name_line = old.definition.line - 1
        above = max((at for at in same if at < name_line), default=-1)
        below = min((at for at in same if at > name_line), default=len(step.old.lines))
        first, last = same.get(above, -1), same.get(below, len(file.lines))
        inside = [one for one in news if first < one.definition.line - 1 < last]
        replaced = [one for one in lost if above < one.definition.line - 1 < below]
        return inside[0] if len(inside) == 1 and len(replaced) == 1 else None


def _length(definition: SourceDefinition) -> int:
    return definition.last_line - definition.line


def _words_of(files: Workspace, path: str) -> set[str]:
    file = files.read(path) if path else None
    return set(_WORD.findall(file.text)) if isinstance(file, SourceFile) else set()


def _similarity(one: list[str], other: list[str]) -> float:
    return indel_similarity(one, other, _RELATED - _MARGIN)


def _are_related(one: str, other: str) -> bool:
    """Return whether two names share at least half of the words of the shorter one: `load_user`, `fetchUser`."""
    first, second = ({part.lower() for part in _PART_OF_NAME.findall(name)} for name in (one, other))
    return 2 * len(first & second) >= min(len(first), len(second)) > 0


def _is_around(one: _Defined, other: _Defined) -> bool:
    """Return whether one of two definitions is inside of the other one."""
    first, second = one.definition, other.definition
    return one.file.path == other.file.path and (
        first.first_line <= second.first_line <= second.last_line <= first.last_line
        or second.first_line <= first.first_line <= first.last_line <= second.last_line
    )


def _renames_uses(step: _Step, written: dict[str, str], old: _Defined, new: _Defined) -> bool:
    """Return whether the written files use the new name as often as the old one before, and at least once."""
    uses = gained = 0
    for path, was in written.items():
        earlier, later = step.before.read(was) if was else None, step.after.read(path)
        words = _WORD.findall(earlier.text) if isinstance(earlier, SourceFile) else []
        later_words = _WORD.findall(later.text) if isinstance(later, SourceFile) else []
        uses += words.count(old.definition.name)
        gained += later_words.count(new.definition.name) - words.count(new.definition.name)
    return uses == gained >= 2
