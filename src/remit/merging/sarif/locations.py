"""Locate the results of a SARIF run: resolve artifact paths and regions, and check them."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import unquote

from remit.evidence.find_code import CodeFinder, Quoted
from remit.evidence.model import OUTCOMES, Outcome
from remit.evidence.read_places import display_path
from remit.merging.adjust import QUOTE_LOST, is_verified
from remit.merging.sarif.values import MAX_DETAILS, MAX_NAME, as_dict, as_list, as_text, item_at
from remit.workspace.files import Absent, SourceFile, Workspace
from remit.workspace.paths import normalize_path

_MAX_PATH = 2_048
_MAX_LINE = 2**31 - 1
_MAX_BASES = 16
_MAX_LOCATIONS = 20
#: Files that list packages: a tool reports on the package, often with a line that means nothing.
_LOCK_FILES = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", "go.mod", "gradle.lockfile", "pom.xml"}
    | {"gemfile.lock", "requirements.txt", "packages.lock.json", "project.assets.json", "package.json", "pipfile"}
)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
#: `alpine:3.18`, `registry.example/team/app:1.2`, or an image's own path `library/alpine`.
_IMAGE = re.compile(r"(?:[\w.-]+(?::\d+)?/)*[\w.-]+:[\w][\w.-]{0,127}|library/[\w.-]+")
_VULNERABILITY = re.compile(
    r"(?:CVE-\d{4}-\d+|GHSA-[\w-]+|GO-\d{4}-\d+|RUSTSEC-\d{4}-\d+|PYSEC-\d{4}-\d+|OSV-|SNYK-|DLA-|DSA-)"
)
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]+:")


class ArtifactPaths:
    """The paths of a run's artifacts."""

    def __init__(self, bases: dict[str, Any], artifacts: list[Any], workspace: Workspace | None) -> None:
        self._bases = bases
        self._artifacts = artifacts
        self._workspace = workspace
        self._known: dict[tuple[str, str], str] = {}

    def path(self, location: dict[str, Any]) -> str | None:
        """Return the path relative to the checkout; a path outside it stays absolute."""
        if not as_text(location.get("uri")):
            location = as_dict(as_dict(item_at(self._artifacts, location.get("index"))).get("location"))
        key = (as_text(location.get("uri"), _MAX_PATH), as_text(location.get("uriBaseId"), MAX_NAME))
        if key not in self._known:
            self._known[key] = self._resolved(*key)
        return self._known[key] or None

    def _resolved(self, uri: str, base: str) -> str:
        below, seen = uri, set[str]()
        while uri and not _ABSOLUTE.match(uri) and base in self._bases and base not in seen:
            if len(seen) == _MAX_BASES or len(uri) > _MAX_PATH:
                break
            seen.add(base)
            here = as_dict(self._bases[base])
            below, above = uri, as_text(here.get("uri"), _MAX_PATH)
            uri = f"{above.rstrip('/')}/{uri}" if above else uri
            base = as_text(here.get("uriBaseId"), MAX_NAME)
        path, workspace = as_text(_decoded(uri), _MAX_PATH), self._workspace
        if (
            workspace is not None
            and seen
            and _ABSOLUTE.match(path)
            and normalize_path(path, str(workspace.root)) is None
        ):
            # A base is where the files were when the tool ran. On another machine it means the checkout.
            moved = normalize_path(_decoded(below), str(workspace.root))
            path = moved if moved and workspace.exists(moved) else path
        outside = _SCHEME.match(path) or (workspace is None and path.startswith("/"))
        return path if outside else display_path(path, workspace)


def _decoded(uri: str) -> str:
    """Return the path of a `file:` URI; a URI with another scheme stays as it is."""
    if not uri.lower().startswith("file:"):
        return uri if _SCHEME.match(uri) else unquote(uri)
    path = unquote(uri[5:])
    if path.startswith("//"):
        host, _, rest = path[2:].partition("/")
        path = f"/{rest}" if host.lower() in ("", "localhost") else path
    return path


def region_of(physical: dict[str, Any]) -> tuple[int | None, int | None, bool]:
    """Return the first line, the last line if it differs, and whether the region is invalid."""
    region = physical.get("region")
    start, end = as_dict(region).get("startLine"), as_dict(region).get("endLine")
    if start is None and end is None:
        return None, None, region is not None and not isinstance(region, dict)
    line, last = (each if type(each) is int and 0 < each <= _MAX_LINE else None for each in (start, end))
    if line is None or (end is not None and last is None):
        return line, None, True
    if last is not None and last > line and as_dict(region).get("endColumn") == 1:
        last -= 1  # it ends before the first character of that line
    return line, last if last is not None and last > line else None, last is not None and last < line


class Offset(NamedTuple):
    """A region that is given by an offset instead of a line."""

    start: int
    end: int
    in_bytes: bool


def offset_of(physical: dict[str, Any]) -> Offset | None:
    """Return the offset of a region without a line; None if it has a line or no valid offset."""
    region = as_dict(physical.get("region"))
    if region.get("startLine") is not None:
        return None
    for unit, in_bytes in (("char", False), ("byte", True)):
        start, length = region.get(f"{unit}Offset"), region.get(f"{unit}Length")
        if type(start) is int and 0 <= start <= _MAX_LINE:
            more = length if type(length) is int and 0 < length <= _MAX_LINE else 1
            return Offset(start, start + more - 1, in_bytes)
    return None


class OffsetLines:
    """The lines of offsets; the line starts of the last file are kept."""

    def __init__(self) -> None:
        self._file: SourceFile | None = None
        self._starts: dict[bool, list[int]] = {}

    def lines(self, offset: Offset, file: SourceFile) -> tuple[int | None, int | None]:
        """Return the first line and, if it differs, the last; None if the offset is not in the file.

        A file with two kinds of line ends gives no line: its offsets cannot be counted.
        """
        if file.returns and file.returns < len(file.lines) - 1:
            return None, None
        if self._file is not file:
            self._file, self._starts = file, {}
        starts = self._starts.setdefault(offset.in_bytes, [])
        if not starts:
            more = 2 if file.returns else 1
            each = (len(line.encode("utf-8", "replace")) if offset.in_bytes else len(line) for line in file.lines)
            starts += accumulate((size + more for size in each), initial=0)
        if offset.start >= starts[-1]:
            return None, None
        first, last = bisect_right(starts, offset.start), min(bisect_right(starts, offset.end), len(file.lines))
        return first, last if last > first else None


def snippet_of(physical: dict[str, Any]) -> str:
    """Return the code that a result quotes; the first lines if it is very long."""
    text = as_dict(as_dict(physical.get("region")).get("snippet")).get("text")
    if not isinstance(text, str):
        return ""
    return text if len(text) <= MAX_DETAILS else text[:MAX_DETAILS].rpartition("\n")[0]


def region_outcome(
    quote: Quoted, file: SourceFile | Absent, finder: CodeFinder, *, is_broken: bool, is_current: bool
) -> Outcome:
    """Check the location of a result. `is_broken`: see `region_of`.

    A tool that ran on this checkout knows its lines (`is_current`); some count the end of a block past the file. For a
    file of another commit, the snippet decides.
    """
    if isinstance(file, Absent):
        failed: dict[str, Outcome] = {"outside": "missing-file", "missing": "missing-file", "folder": "missing-file"}
        return failed.get(file.why, "unchecked")
    # Tools that report on a whole file use line 1 even if it is empty.
    last = quote.line or 1 if is_current else quote.end_line or quote.line or 1
    # A tool that misses something at the end of a file reports the line after the last one.
    inside = not is_broken and last <= max(1, len(file.lines) + is_current)
    if is_current or not quote.text.strip():
        return "exists" if inside else "out-of-range"
    code = finder.look(quote.text, file, quote.line, quote.end_line)
    is_found = code.place in ("cited", "file")
    quote.found = code.found if is_found else None
    if inside:
        return "verified" if code.place == "cited" else "relocated" if is_found else "mismatch"
    return "relocated" if is_found and quote.found is not None else "out-of-range"


def is_never_a_file(path: str, rule: str, result: dict[str, Any]) -> bool:
    """Return whether a location is an image or a package, so that no file and no line can confirm it."""
    name = path.rpartition("/")[2].lower()
    if _SCHEME.match(path) or "@sha256:" in path or _IMAGE.fullmatch(path):
        return True
    if name in _LOCK_FILES or name.endswith((".lock", ".lockb", "-lock.json", "-lock.yaml", ".lock.json")):
        return True
    return bool(_VULNERABILITY.match(rule)) or any(map(_is_package, as_list(result.get("locations"))[:_MAX_LOCATIONS]))


def _is_package(location: object) -> bool:
    """Return whether a location has a logical part that is a package or an image."""
    for logical in map(as_dict, as_list(as_dict(location).get("logicalLocations"))[:_MAX_LOCATIONS]):
        name = as_text(logical.get("fullyQualifiedName"), _MAX_PATH)
        if as_text(logical.get("kind"), MAX_NAME).lower() in ("package", "container", "image"):
            return True
        if "@sha256:" in name or name.startswith("pkg:"):
            return True
    return False


def failure_reason(outcome: Outcome, file: SourceFile | Absent, *, is_broken: bool) -> str:
    """Return why the evidence failed; empty if it did not."""
    if is_verified([outcome]) is not False:
        return ""
    if outcome == "mismatch":
        return QUOTE_LOST
    if is_broken:
        return "its line numbers are invalid"
    if isinstance(file, SourceFile):
        count = len(file.lines)
        return f"the file has {count} line{'s' if count != 1 else ''}"
    return "it is a folder" if file.why == "folder" else OUTCOMES[outcome]
