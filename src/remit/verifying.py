"""Correct the references of any text that cites code: paths and lines that moved.

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
from posixpath import relpath
from typing import NamedTuple

from remit.checking import Options, Verdict, check_text
from remit.contract.parse import MAX_BYTES
from remit.contract.result_data import SCHEMA
from remit.errors import UsageError
from remit.evidence.claims import ACCUSING, HOLDING, claims_of
from remit.evidence.find_names import NameFinder
from remit.evidence.model import Checked, Location
from remit.evidence.sources import Sources
from remit.lazy import lazy_pattern
from remit.workspace.atomic_write import replace_file
from remit.workspace.files import SourceFile, Workspace
from remit.workspace.safe_git import root_above

#: The options of a verification.
OPTIONS = Options(profile="claims", with_history=True)
#: Corrections are checked and reduced at most this often; then none is made.
_MAX_ROUNDS = 3
_NUMBER = lazy_pattern(r"\d+")
#: Characters that a path may have before its last part.
_PATH_CHARACTERS = frozenset("./\\@+-$~_…[](){}")


class Fix(NamedTuple):
    """A correction: the line of the document, the words as written, their replacement and the place that they mean."""

    line: int
    old: str
    new: str
    target: Location


class Fixed(NamedTuple):
    """A corrected text, what was corrected, and the verdicts on the text before and after."""

    text: str
    fixes: list[Fix]
    before: list[Verdict]
    verdicts: list[Verdict]


def fix_text(text: str, path: str, options: Options, sources: Sources) -> Fixed:
    """Correct a text. Line ends and all other characters stay as they are."""
    return fix_checked(text, path, check_text(text, path, options, sources), options, sources)


def fix_checked(text: str, path: str, before: list[Verdict], options: Options, sources: Sources) -> Fixed:
    """Correct a text whose verdicts are known."""
    fixes = [fix for verdict in before for fix in _proposals(verdict, sources)]
    for _ in range(_MAX_ROUNDS):
        if not fixes:
            break
        corrected, applied = _apply(text, fixes)
        after = check_text(corrected, path, options, sources)
        good = [fix for fix in applied if _holds(fix, after)]
        if len(good) == len(fixes) and _failures(after) <= _failures(before) and _count(after) == _count(before):
            return Fixed(corrected, good, before, after)
        fixes = good if len(good) < len(fixes) else []
    return Fixed(text, [], before, before)


def fix_source(
    source: bytes,
    name: str,
    options: Options,
    sources: Sources,
    before: list[Verdict] | None = None,
) -> Fixed:
    """Correct the content of a file, whose verdicts may be known. A text that cannot be read is not changed."""
    text = source.decode("utf-8", "replace")
    is_json = text.lstrip()[:1] in ("{", "[") and SCHEMA in text  # its lines are not those of the Markdown form
    if len(source) > MAX_BYTES or text.encode("utf-8") != source or is_json:
        verdicts = before or check_text(source, name, options, sources)
        return Fixed(text, [], verdicts, verdicts)
    before = before or check_text(text, name, options, sources)
    return fix_checked(text, name, before, options, sources)


def write_fixed(path: Path, source: bytes, text: str) -> None:
    """Write a corrected text in one step, with the permissions of the file, whose content was `source`.

    A link stays a link. Raises UsageError if it leads out of its checkout, or if the file cannot be written or has
    changed meanwhile.
    """
    target = _written_file(path)
    try:
        about = target.lstat()
        if not stat.S_ISREG(about.st_mode) or target.read_bytes() != source:
            raise UsageError(f"{path}: the file has changed while it was checked; nothing was written")
        owner = (about.st_uid, about.st_gid)
        replace_file(target, text.encode("utf-8"), mode=about.st_mode & 0o7777, owner=owner)
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


def _failures(verdicts: list[Verdict]) -> int:
    claims = (claim for verdict in verdicts for claim in claims_of(verdict.evidence))
    return sum(claim.outcome not in HOLDING for claim in claims)


def _count(verdicts: list[Verdict]) -> int:
    return sum(len(claims_of(verdict.evidence)) for verdict in verdicts)


def _holds(fix: Fix, verdicts: list[Verdict]) -> bool:
    """Return whether a corrected reference names its file in full, and what it states is there."""
    return any(
        reference.at == fix.line and Location(reference.file, reference.line) == fix.target
        for verdict in verdicts
        for reference in verdict.evidence.references
        if reference.outcome in ("verified", "exists")
    )


def _proposals(verdict: Verdict, sources: Sources) -> Iterator[Fix]:
    workspace = sources.workspace
    if workspace is None:
        return
    folder = workspace.folder_of(verdict.path) if verdict.path not in ("", "-") else ""
    lines, first = verdict.document.lines, verdict.document.first_line
    names = NameFinder(workspace)
    for reference in verdict.evidence.references:
        # A list is rewritten as a whole.
        is_wanted = reference.commit is None and not reference.is_listed and reference.outcome in ACCUSING
        place = _truth(reference, verdict, workspace, names) if is_wanted else None
        if place is None or not 0 <= reference.at - first < len(lines):
            continue
        is_linked = f"]({reference.text}" in lines[reference.at - first]
        is_relative = bool(folder) and (is_linked or _is_below(folder, reference, place))
        new = _rewritten(reference, place, relpath(place.path, folder) if is_relative else place.path)
        if new is not None and new != reference.text:
            yield Fix(reference.at, reference.text, new, place)


def _is_below(folder: str, reference: Checked, target: Location) -> bool:
    """Return whether a path was written from the folder of the document, and its file is still below that."""
    then = reference.facts.then
    return then is not None and then.path == f"{folder}/{reference.path}" and target.path.startswith(f"{folder}/")


def _truth(reference: Checked, verdict: Verdict, workspace: Workspace, names: NameFinder) -> Location | None:
    """Return the only location that a failed reference can mean; None if there is not exactly one."""
    location = reference.found
    if location is None:
        return None
    if reference.outcome == "outdated":  # the place today, followed through the history
        return location if reference.line is None or location.line is not None else None
    if reference.outcome == "missing-file":
        return _same_path(reference, location, workspace)
    file = workspace.read(location.path)
    if reference.outcome != "relocated" or not isinstance(file, SourceFile):
        return None
    if reference.is_quote_location:
        of_quotes = verdict.evidence.quotes
        quotes = [quote for quote in of_quotes if quote.found == location and quote.outcome == "relocated"]
        return location if quotes and all(_occurs_once(quote, file) for quote in quotes) else None
    # A line that only mentions the name may be any of them: a name moves to its definition.
    only = reference.symbol and names.definition_lines(file, reference.symbol) == [location.line]
    return location if only else None


def _same_path(reference: Checked, location: Location, workspace: Workspace) -> Location | None:
    """Return the file whose path differs only in case, if there is exactly one and it has the line."""
    wanted = reference.path.lower()
    named = workspace.index.by_folded_name.get(wanted.rpartition("/")[2], ())
    same = [path for path in named if path.lower() == wanted]
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
