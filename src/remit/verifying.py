"""Correct the references of any text that cites code: full paths and the right lines.

A reference is corrected where there is exactly one truth, and only its own characters are replaced. The corrected text
is checked again, and a correction that does not lead to a reference that holds is dropped, so that a document never
gets worse.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from posixpath import basename, relpath
from typing import NamedTuple

from remit.checking import Options, Verdict, check_text
from remit.contract.parse import MAX_BYTES
from remit.contract.result_data import SCHEMA
from remit.errors import UsageError
from remit.evidence.claims import HOLDING, claims_of
from remit.evidence.file_names import has_known_ending
from remit.evidence.find_names import NameFinder
from remit.evidence.model import Checked, Location
from remit.evidence.sources import Sources
from remit.lazy import lazy_pattern
from remit.workspace.atomic_write import replace_file
from remit.workspace.definitions import SEPARATOR
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.history import SECONDS, Removal
from remit.workspace.safe_git import root_above

#: The options of a verification.
OPTIONS = Options(profile="claims", with_history=True)
#: Corrections are checked and reduced at most this often; then none is made.
_MAX_ROUNDS = 3
_NUMBER = lazy_pattern(r"\d+")
#: A word with the marks that paths and qualified names have, as `_apply` sees it.
_TOKEN = lazy_pattern(r"[\w$./\\@+\-:#]+")
_WORD = lazy_pattern(r"[\w$]+")
#: Folders with files of examples, which a text cites from the folder of the example.
_ASIDE = frozenset({"example", "examples", "playground", "sample", "samples", "template", "templates", "testdata"})
#: Characters that a path may have before its last part.
_PATH_CHARACTERS = frozenset("./\\@+-$~_…[](){}")


class Target(NamedTuple):
    """What a corrected reference means: its words before the correction, its place, and its symbol if renamed."""

    text: str
    place: Location
    name: str = ""


class Fix(NamedTuple):
    """A correction: the line of the document, the words as written, their replacement and what they mean."""

    line: int
    old: str
    new: str
    targets: tuple[Target, ...]


class Fixed(NamedTuple):
    """A corrected text, what was corrected, and the verdicts on the text before and after."""

    text: str
    fixes: list[Fix]
    before: list[Verdict]
    verdicts: list[Verdict]


def fix_text(text: str, path: str, options: Options, sources: Sources, *, completes: bool = False) -> Fixed:
    """Correct a text. Line ends and all other characters stay as they are."""
    return fix_checked(text, path, check_text(text, path, options, sources), options, sources, completes=completes)


def fix_checked(
    text: str,
    path: str,
    before: list[Verdict],
    options: Options,
    sources: Sources,
    *,
    completes: bool = False,
    seconds: float = SECONDS,
) -> Fixed:
    """Correct a text whose verdicts are known.

    `completes`: short paths that hold become whole ones. The history has some seconds to answer what they mean.
    """
    fixes = [fix for verdict in before for fix in _proposals(verdict, sources, seconds, completes=completes)]
    for _ in range(_MAX_ROUNDS):
        if not fixes:
            break
        corrected, applied = _apply(text, fixes)
        after = check_text(corrected, path, options, sources)
        good = [fix for fix in applied if _holds(fix, after)]
        if len(good) == len(fixes) and _failures(after) <= _failures(before) and _count(after) == _count(before):
            # A corrected path may show which file a short one means.
            more = fix_checked(corrected, path, after, options, sources, completes=completes, seconds=0)
            return Fixed(more.text, sorted([*good, *more.fixes]), before, more.verdicts)
        fixes = good if len(good) < len(fixes) else []
    return Fixed(text, [], before, before)


def fix_source(
    source: bytes,
    name: str,
    options: Options,
    sources: Sources,
    before: list[Verdict] | None = None,
    *,
    completes: bool = False,
) -> Fixed:
    """Correct the content of a file, whose verdicts may be known. A text that cannot be read is not changed."""
    text = source.decode("utf-8", "replace")
    is_json = text.lstrip()[:1] in ("{", "[") and SCHEMA in text  # its lines are not those of the Markdown form
    if len(source) > MAX_BYTES or text.encode("utf-8") != source or is_json:
        verdicts = before or check_text(source, name, options, sources)
        return Fixed(text, [], verdicts, verdicts)
    before = before or check_text(text, name, options, sources)
    return fix_checked(text, name, before, options, sources, completes=completes)


def write_fixed(path: Path, source: bytes, text: str) -> None:
    """Write a corrected text in one step, with the permissions of the file, whose content was `source`.

    A link stays a link. Raises UsageError if it leads out of its checkout, or if the file cannot be written or has
    changed meanwhile.
    """
    target = _written_file(path)
    try:
        folder = _open_folder(target.parent)
        try:
            _replace(path, target, folder, source, text.encode("utf-8"))
        finally:
            if folder is not None:
                os.close(folder)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; nothing was written") from error


def _written_file(path: Path) -> Path:
    """Return the file that a path leads to. Raises UsageError if a link leads out of its checkout, or into `.git`."""
    named = Path.cwd() / path
    target = Path(os.path.realpath(named))  # `resolve` fails on a cycle of links
    links = (part for part in (*reversed(named.parents), named) if part.is_symlink())
    checkout = next(filter(None, (root_above(link.parent) for link in links)), None)
    if checkout is None:
        return target
    if not target.is_relative_to(checkout) or ".git" in target.relative_to(checkout).parts:
        raise UsageError(f"{path}: a link leads out of the files of {checkout}; nothing was written")
    return target


def _open_folder(folder: Path) -> int | None:
    """Open a folder step by step, so that no link is followed that was created in the meantime.

    Return None where the system cannot do that.
    """
    only_path = getattr(os, "O_PATH", 0)
    if not only_path:
        return None
    flags = only_path | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = os.open(folder.anchor, flags)
    for part in folder.parts[1:]:
        try:
            below = os.open(part, flags, dir_fd=opened)
        finally:
            os.close(opened)
        opened = below
    return opened


def _replace(path: Path, target: Path, folder: int | None, source: bytes, data: bytes) -> None:
    name = target if folder is None else Path(target.name)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with os.fdopen(os.open(name, flags | getattr(os, "O_BINARY", 0), dir_fd=folder), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or file.read(len(source) + 1) != source:
            raise UsageError(f"{path}: the file has changed while it was checked; nothing was written")
    owner = (about.st_uid, about.st_gid)
    replace_file(name, data, mode=about.st_mode & 0o7777, owner=owner, folder=folder)


def _failures(verdicts: list[Verdict]) -> int:
    claims = (claim for verdict in verdicts for claim in claims_of(verdict.evidence))
    return sum(claim.outcome not in HOLDING for claim in claims)


def _count(verdicts: list[Verdict]) -> int:
    return sum(len(claims_of(verdict.evidence)) for verdict in verdicts)


def _holds(fix: Fix, verdicts: list[Verdict]) -> bool:
    """Return whether corrected references name their files in full, and what they state is there."""
    holding = {
        (reference.file, reference.line, name)
        for verdict in verdicts
        for reference in verdict.evidence.references
        if reference.at == fix.line and reference.outcome in ("verified", "exists")
        for name in (reference.symbol, "")
    }
    return all((target.place.path, target.place.line, target.name) in holding for target in fix.targets)


def _proposals(verdict: Verdict, sources: Sources, seconds: float, *, completes: bool) -> Iterator[Fix]:
    workspace = sources.workspace
    if workspace is None:
        return
    folder = workspace.folder_of(verdict.path) if verdict.path not in ("", "-") else ""
    unclear = ("abbreviated", "ambiguous")
    short = [reference.path for reference in verdict.evidence.references if completes and reference.outcome in unclear]
    name = f"{folder}/{basename(verdict.path)}".lstrip("/")
    gone: dict[str, Removal | None] = {}
    if short:
        history = sources.history
        history.restart(seconds)
        gone.update(history.removed(dict.fromkeys(short), name))
        has_history = history.problem not in ("no-git", "no-commit")
        gone = {path: gone.get(path) for path in short if not has_history or history.has_answer(path, name)}
    finder = _TruthFinder(verdict, workspace, gone)
    lines, first = verdict.document.lines, verdict.document.first_line
    renamed: dict[int, dict[Target, str]] = {}
    names: dict[str, str] = {}
    for reference in verdict.evidence.references:
        is_own = reference.commit is None and not reference.is_listed  # a list is rewritten as a whole
        is_wanted = is_own and (completes or reference.reliability is not None)  # else it is right as it is
        place = finder.truth(reference) if is_wanted else None
        if place is None or not 0 <= reference.at - first < len(lines):
            continue
        is_relative = bool(folder) and (
            f"]({reference.text}" in lines[reference.at - first] or _is_below(folder, reference, place)
        )
        new = _rewritten(reference, place, relpath(place.path, folder) if is_relative else place.path)
        target = Target(reference.text, place, then.name if (then := reference.then) is not None else "")
        if new is not None and target.name:
            renamed.setdefault(reference.at, {})[target] = new
            names |= dict(zip(SEPARATOR.split(reference.symbol), SEPARATOR.split(target.name), strict=True))
        elif new is not None and new != reference.text:
            yield Fix(reference.at, reference.text, new, (target,))
    for at, references in renamed.items():
        words = _renamed_words(lines[at - first], references, names)
        if words is not None:
            yield Fix(at, *words, tuple(references))


def _is_below(folder: str, reference: Checked, target: Location) -> bool:
    """Return whether a path was written from the folder of the document, and its file is still below that."""
    then = reference.facts.then
    return then is not None and then.path == f"{folder}/{reference.path}" and target.path.startswith(f"{folder}/")


class _TruthFinder:
    """Finds the only location that a failed reference can mean."""

    def __init__(self, verdict: Verdict, workspace: Workspace, gone: dict[str, Removal | None]) -> None:
        self._workspace = workspace
        folder = workspace.folder_of(verdict.path) if verdict.path not in ("", "-") else ""
        is_readme = basename(verdict.path).lower().startswith("readme.") and bool(folder)
        #: The folder that the document is about, if it is a README.
        self._readme_folder = f"{folder}/" if is_readme else None
        #: How the files disappeared that the history has at the short paths, as far as it is known.
        self._gone = gone
        self._quotes = verdict.evidence.quotes
        self._names = NameFinder(workspace)

    def truth(self, reference: Checked) -> Location | None:
        """Return the location that is meant, or None if there is not exactly one."""
        location = reference.found
        if location is None or reference.reason == "outdated-record" or reference.judgement.signals:
            return None  # in a record of the past, the old place is the truth
        if reference.outcome == "abbreviated" and not self._is_meant(reference, location.path):
            return None
        if reference.outcome == "abbreviated" or (reference.outcome == "outdated" and reference.line is None):
            return Location(location.path, reference.line)
        if reference.outcome == "outdated":  # the place today, followed through the history
            return location if location.line is not None else None
        if reference.outcome == "missing-file":
            return self._same_path(reference, location)
        file = self._workspace.read(location.path)
        if reference.outcome != "relocated" or not isinstance(file, SourceFile):
            return None
        if reference.is_quote_location:
            quotes = [quote for quote in self._quotes if quote.found == location and quote.outcome == "relocated"]
            return location if quotes and all(_occurs_once(quote, file) for quote in quotes) else None
        # A line that only mentions the name may be any of them: a name moves to its definition.
        only = reference.symbol and self._names.definition_lines(file, reference.symbol) == [location.line]
        return location if only else None

    def _is_meant(self, reference: Checked, path: str) -> bool:
        """Return whether the only file that ends with a path may not be another one than was meant.

        A path from the root of a site, of any project or of a home (`/images/a.svg`, `.github/a.yml`, `~/a.yml`) is not
        the end of a path, nor is a name alone. The files of an example are named from its own folder, and a README is
        about the files below it.
        """
        short = reference.path
        first = short.partition("/")[0]
        is_hidden = first.startswith(".") and bool(first.strip("."))
        is_from_root = "/" in short and (not first or is_hidden or reference.text.lstrip("`[(").startswith("~"))
        is_name = "/" not in reference.text and reference.line is None
        is_aside = not _ASIDE.isdisjoint(path.removesuffix(short.strip("/")).split("/"))
        is_elsewhere = self._readme_folder is not None and not path.startswith(self._readme_folder)
        if is_from_root or is_name or is_aside or is_elsewhere or reference.facts.candidates:
            return False
        gone = self._gone.get(short)
        return short in self._gone and (gone is None or gone.renamed_to == path)

    def _same_path(self, reference: Checked, location: Location) -> Location | None:
        """Return the file whose path differs only in case, if there is exactly one and it has the line."""
        wanted = reference.path.lower()
        same = [
            path
            for path in self._workspace.index.by_folded_name.get(wanted.rpartition("/")[2], ())
            if path.lower() == wanted
        ]
        return location if same == [location.path] and location.line == reference.line else None


def _occurs_once(quote: Checked, file: SourceFile) -> bool:
    words = " ".join(quote.code.split())
    return bool(words) and file.collapsed.text.count(words) == 1


def _rewritten(reference: Checked, target: Location, path: str) -> str | None:
    """Return a reference with another path and line, in the form in which it is written; None if that is unclear."""
    text = reference.text
    span = _path_span(text, reference, target)
    if span is None:
        return None
    start, end = span
    before, after = text[:start], text[end:]
    if target.line != reference.line:
        if target.line is None or reference.line is None:
            return None
        shift = target.line - reference.line
        old = [reference.line, *([reference.end_line] if reference.end_line is not None else [])]
        if [int(number) for number in _NUMBER.findall(before + "|" + after)] != old:
            return None
        before, after = (_NUMBER.sub(lambda number: str(int(number[0]) + shift), part) for part in (before, after))
    return before + path + after


def _renamed_words(line: str, references: dict[Target, str], names: dict[str, str]) -> tuple[str, str] | None:
    """Return the words of a line from the first to the last that renamed symbols change, and what they become.

    Names are not replaced in paths, nor in plain words if they are written as code. None: a reference is on the line
    more than once, or no name is on it.
    """
    moved: list[tuple[int, int, str]] = []
    for target, new in references.items():
        places = list(re.finditer(_as_written(target.text), line))
        if len(places) != 1:
            return None
        moved.append((*places[0].span(), new))
    written = [found for found in _TOKEN.finditer(line) if not _is_inside(found, moved) and not _is_path(found[0])]
    named = [(*found.span(), words) for found in written if (words := _with_names(found[0], names)) != found[0]]
    as_code = [one for one in named if line[: one[0]].count("`") % 2 or line[one[1] : one[1] + 1] in ("(", "]")]
    if not named:
        return None
    moved = sorted([*moved, *(as_code or named)])
    low, high = moved[0][0], moved[-1][1]
    low -= len(line[:low]) - len(line[:low].rstrip("`*["))
    high += len(line[high:]) - len(line[high:].lstrip("`*)"))
    pieces, done = [], low
    for start, end, words in moved:
        pieces += [line[done:start], words]
        done = end
    return line[low:high], "".join([*pieces, line[done:high]])


def _is_inside(found: re.Match[str], parts: list[tuple[int, int, str]]) -> bool:
    return any(start < found.end() and found.start() < end for start, end, _ in parts)


def _is_path(token: str) -> bool:
    return "/" in token or "\\" in token or has_known_ending(token)


def _with_names(token: str, names: dict[str, str]) -> str:
    return _WORD.sub(lambda word: names.get(word[0], word[0]), token)


def _path_span(text: str, reference: Checked, target: Location) -> tuple[int, int] | None:
    """Return where the path is in a written reference: it ends with the name of the cited or of the found file."""
    for name in (path.rstrip("/").rpartition("/")[2] for path in (reference.path, target.path)):
        position = text.find(name)
        if name and position >= 0 and text.find(name, position + 1) < 0:
            start = position
            while start and (text[start - 1].isalnum() or text[start - 1] in _PATH_CHARACTERS):
                start -= 1
            opened = text[start:position].find("](")
            return (start + opened + 2 if opened >= 0 else start), position + len(name)
    return None


def _apply(text: str, fixes: list[Fix]) -> tuple[str, list[Fix]]:
    """Replace each reference on its line; one that occurs more often than it is to be corrected stays as it is."""
    lines = text.split("\n")
    groups: dict[tuple[int, str], list[Fix]] = {}
    for fix in fixes:
        groups.setdefault((fix.line, fix.old), []).append(fix)
    applied: list[Fix] = []
    for (number, old), group in sorted(groups.items(), key=lambda entry: -len(entry[0][1])):
        line = lines[number - 1]
        parts = re.split(_as_written(old), line)
        if len({fix.new for fix in group}) == 1 and len(parts) == len(group) + 1:
            lines[number - 1] = group[0].new.join(parts)
            applied.extend(group)
    return "\n".join(lines), sorted(applied)


def _as_written(words: str) -> str:
    """Return the pattern of words of a line that are not a part of another path or place."""
    return rf"(?<![\w./\\@+\-]){re.escape(words)}(?!:?\d)"
