"""Look references up in the workspace: does the file exist, does it have the line, is the symbol there?"""

from __future__ import annotations

from remit.evidence.model import Location, Reference
from remit.evidence.path_resolution import PathResolver
from remit.evidence.suggestions import SuggestionFinder
from remit.evidence.symbols import SymbolFinder, begins_name_near, defines, is_near
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace

#: Why a loose reference that does not hold is left unchecked.
UNNAMED = "the text does not name the file next to the line"
DOUBTFUL = "the text only mentions this file; the line may be one of another file"
LACKING = "the file that the text names for it does not have this line; it may be one of another file"
MISSING = "the file that the text names for it does not exist; the line may be one of another file"
PLACEHOLDER = "the path stands for any file"
PAST = "the text shows it as the code before a change, or as removed"
FOLDER = "it is a folder"
NOT_EXPECTED = "the text creates or deletes this file, or calls it missing"
#: Folders of installed dependencies; a checkout without them cannot show what is in them.
_DEPENDENCIES = frozenset({"node_modules", "bower_components", "site-packages", ".venv", "venv", "Pods"})
#: `$GOROOT/src/os/file.go`, `%APPDATA%/app.ini`.
_VARIABLE = lazy_pattern(r"\$[A-Za-z_]\w*/|%[A-Za-z_]\w*%/")
#: Endings of `.env` files that a repository has.
_SHARED_ENV = (".example", ".sample", ".template", ".dist", ".defaults")
_WHY = {
    "large": "the file is larger than 10 MB",
    "binary": "the file is not text",
    "special": "it is not a regular file",
    "forbidden": "the file is not readable",
    "submodule": "the file is in a submodule",
}


def look_up(
    reference: Reference,
    workspace: Workspace,
    suggestions: SuggestionFinder,
    symbols: SymbolFinder,
    planned: frozenset[str],
) -> None:
    """Set the outcome of a reference."""
    if reference.candidates and not reference.target:
        shown = ", ".join(reference.candidates)
        reference.outcome, reference.why = "ambiguous", f"several files end with this path: {shown}"
        if reference.is_far:
            reference.outcome, reference.why = "unchecked", UNNAMED
        return
    file = workspace.read(reference.file)
    if isinstance(file, Absent):
        _explain_absent(reference, file, workspace, suggestions, symbols, planned)
    elif (problem := _range_problem(reference, file)) is not None:
        reference.outcome, reference.why = "out-of-range", reference.why or problem
        nearest = min(max(reference.line or 1, 1), len(file.lines))
        reference.found = Location(file.path, nearest) if file.lines else None
        is_start_there = reference.line == nearest and (reference.end_line or 0) > len(file.lines) > nearest
        reference.found_end = len(file.lines) if is_start_there else None
        if reference.symbol and (line := symbols.find(file, reference.symbol, nearest, None)):
            reference.outcome, reference.found, reference.found_end = "relocated", Location(file.path, line), None
            reference.why = f"{reference.symbol} is at line {line}"
    else:
        reference.outcome = "verified"
        if reference.symbol:
            _check_symbol(reference, file, symbols)
        if reference.target and reference.outcome == "verified":
            reference.outcome, reference.found = "abbreviated", Location(file.path, reference.line)
    if reference.is_placeholder and reference.outcome in ("missing-file", "outside"):
        reference.outcome, reference.found, reference.why = "unchecked", None, PLACEHOLDER
    if reference.is_past and reference.outcome in ("missing-file", "out-of-range", "mismatch"):
        reference.outcome, reference.found, reference.why = "unchecked", None, PAST
    is_missing = reference.outcome == "missing-file"
    # A heading or label may be about a file that the text creates or deletes, or calls missing.
    is_titled = is_missing and reference.is_titled
    is_passing = reference.carried == "bare" and is_missing
    if is_passing or is_titled or (reference.is_far and reference.outcome not in ("verified", "abbreviated")):
        is_lacking = reference.carried == "far" and reference.outcome == "out-of-range"
        reference.outcome, reference.found, reference.found_end = "unchecked", None, None
        is_passing &= reference.text.startswith(":")
        is_passing = (is_passing or is_titled) and not reference.is_placeholder
        reference.why = LACKING if is_lacking else MISSING if is_passing else UNNAMED


def names_folder(reference: Reference) -> bool:
    """Return whether a reference that was looked up names an existing folder, without a line."""
    return reference.outcome == "missing-file" and reference.line is None and reference.why == FOLDER


def _explain_absent(
    reference: Reference,
    absent: Absent,
    workspace: Workspace,
    suggestions: SuggestionFinder,
    symbols: SymbolFinder,
    planned: frozenset[str],
) -> None:
    if absent.why == "outside":
        reference.outcome, reference.why = "outside", "the path is outside the checkout"
    elif absent.why in _WHY:
        reference.outcome, reference.why = "unchecked", _WHY[absent.why]
    elif reference.path in planned or reference.is_planned:
        is_design = reference.path in planned
        reference.outcome, reference.why = "planned", "this design creates it" if is_design else NOT_EXPECTED
    else:
        reference.outcome = "missing-file"
        if why := _why_not_committed(reference.path, workspace):
            reference.outcome, reference.why = "unchecked", why
            return
        reference.why = FOLDER if absent.why == "folder" else "there is no such file"
        suggested = suggestions.suggest(reference.path)
        if suggested is not None:
            reference.found = Location(suggested, _line_in(workspace, suggested, reference, symbols))


def _why_not_committed(path: str, workspace: Workspace) -> str:
    """Return why a missing file is not expected in a checkout; empty if it is."""
    if _VARIABLE.match(path):
        return "the path starts in a folder that a variable names"
    name = path.rpartition("/")[2]
    if name == ".env" or (name.startswith(".env.") and not name.endswith(_SHARED_ENV)):
        return "a file with the settings of a machine is not in the checkout"
    return "it is a dependency that is not in the checkout" if _is_dependency(path, workspace) else ""


def _is_dependency(path: str, workspace: Workspace) -> bool:
    """Return whether a path is in a folder of installed dependencies that does not exist."""
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if part in _DEPENDENCIES), None)
    if at is None:
        return False
    folder = workspace.read("/".join(parts[: at + 1]))
    return isinstance(folder, Absent) and folder.why == "missing"


def _line_in(workspace: Workspace, path: str, reference: Reference, symbols: SymbolFinder) -> int | None:
    """Return the line to suggest in another file: the symbol's line, else the cited line if it exists."""
    file = workspace.read(path)
    if not isinstance(file, SourceFile) or reference.line is None:
        return None
    if reference.symbol and (line := symbols.find(file, reference.symbol, reference.line, reference.end_line)):
        return line
    return reference.line if 1 <= reference.line <= len(file.lines) else None


def _range_problem(reference: Reference, file: SourceFile) -> str | None:
    line, last, count = reference.line, reference.end_line, file.line_count
    if line is None:
        return None
    if line < 1:
        return "lines are counted from 1"
    if last is not None and last < line:
        return f"the range runs backwards from {line} to {last}"
    if max(line, last or 0) > count:
        return f"the file has {count} line{'s' if count != 1 else ''}"
    return None


def _check_symbol(reference: Reference, file: SourceFile, symbols: SymbolFinder) -> None:
    line = symbols.find(file, reference.symbol, reference.line, reference.end_line)
    is_near_line = line is not None and is_near(line, reference.line, reference.end_line)
    is_elsewhere = line is not None and defines(file, reference.symbol)
    is_remark = not is_elsewhere if reference.is_word else line is None and reference.is_plain
    is_unknown = line is None and reference.is_unmarked
    is_remark |= is_unknown and begins_name_near(file, reference.symbol, reference.line, reference.end_line)
    if is_remark and not is_near_line:
        reference.symbol = ""
    elif line is None and reference.is_loose_symbol:
        reference.outcome, reference.why = "unchecked", f"no line is given, and {reference.symbol} is not in the file"
    elif line is None:
        reference.outcome, reference.why = "mismatch", f"{reference.symbol} does not occur in the file"
    elif not is_near_line:
        reference.outcome, reference.found = "relocated", Location(file.path, line)
        reference.why = f"{reference.symbol} is at line {line}"


def look_up_on_disk(
    references: list[Reference], on_disk: Workspace, resolver: PathResolver, symbols: SymbolFinder
) -> None:
    """Look up files that the commit named by the text does not have: the author may have cited work in progress."""
    suggestions = SuggestionFinder(on_disk)
    for reference in references:
        if reference.outcome != "missing-file":
            continue
        resolved = resolver.resolve(reference.path)
        if on_disk.exists(resolved.target or resolved.path):
            reference.is_on_disk, reference.found, reference.why = True, None, ""
            reference.target = resolved.target
            look_up(reference, on_disk, suggestions, symbols, frozenset())
            reference.why = "; ".join(filter(None, (reference.why, "the file is on disk, not in the commit")))
