"""Find the analysers that can review a checkout, and make their command lines."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from remit.configuration import parse_toml
from remit.dispatch.analyser_table import ANALYSERS, ANY, LARGE, Analyser
from remit.extras import install_command
from remit.globs import matches_glob
from remit.workspace.file_index import project_files
from remit.workspace.files import WorkTree
from remit.workspace.languages import languages_of

#: The most files and the most characters of names in one command line.
_MAX_FILES = 400
_MAX_LENGTH = 60_000
#: Why an analyser does not apply: the scope has no files that it reads.
NO_FILES = "no files for it"


class Availability(NamedTuple):
    """Whether an analyser can review a checkout, with its files, or why it cannot."""

    analyser: Analyser
    program: tuple[str, ...]
    files: tuple[str, ...]
    why_not: str = ""


def find_analysers(root: Path, scope: Sequence[str], *, has_sandbox: bool) -> list[Availability]:
    """Return every known analyser with what it can do for the files in scope."""
    files = languages_of(root, scoped_files(root, scope))
    return [_availability(analyser, root, files, has_sandbox=has_sandbox) for analyser in ANALYSERS.values()]


def _availability(analyser: Analyser, root: Path, files: Mapping[str, str], *, has_sandbox: bool) -> Availability:
    matching = files_of(analyser, list(files), files)
    program = find_program(analyser, root, has_sandbox=has_sandbox)
    if not matching and not any(matches_glob(path, glob) for glob in analyser.maybe for path in files):
        why = NO_FILES
    elif not program:
        why = install_command("review") if analyser.package else "not on the PATH"
    elif analyser.settings and not any((root / name).is_file() for name in analyser.settings):
        why = f"the project has no {analyser.settings[0]}"
    elif analyser.runs_code and not has_sandbox:
        why = "it runs code of the checkout, and the sandbox is not available"
    else:
        why = ""
    return Availability(analyser, program, matching, why)


def scoped_files(root: Path, scope: Sequence[str]) -> list[str]:
    """Return the files of the project in scope, without ignored ones, dependencies and Remit's own."""
    files = [path for path in project_files(root) or WorkTree(root).paths if not path.startswith(".remit/")]
    if any(path in ("", ".") for path in scope) or not scope:
        return sorted(files)
    prefixes = tuple(f"{path.rstrip('/')}/" for path in scope)
    return sorted(path for path in files if path in scope or path.startswith(prefixes))


def reads_any_file(analyser: Analyser) -> bool:
    """Return whether it searches files of every kind for one thing, such as keys. Such a search is not a review."""
    return analyser.files == ANY


def files_of(analyser: Analyser, files: Sequence[str], languages: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that an analyser reads: by their names, and scripts without an ending by their language."""
    if reads_any_file(analyser):
        return tuple(files)
    return tuple(
        path
        for path in files
        if any(matches_glob(path, glob) for glob in analyser.files)
        or (languages[path] in analyser.scripts and "." not in path.rpartition("/")[2])
    )


def find_program(analyser: Analyser, root: Path, *, has_sandbox: bool = False) -> tuple[str, ...]:
    """Return the words that start an analyser; empty if it is not installed.

    A program of the checkout is used only if it is where its package manager installs it, and only in the sandbox.
    """
    if analyser.module:
        is_installed = find_spec(analyser.module) is not None
        # Isolated, so that a checkout cannot replace it with a module of the same name.
        return (sys.executable, "-I", "-m", analyser.module) if is_installed else ()
    folders = [sysconfig.get_path("scripts"), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    inside = os.path.realpath(root)
    prefix = os.path.realpath(sys.prefix)
    for folder in folders:
        real = os.path.realpath(folder)
        is_foreign = real == inside or real.startswith(f"{inside}/")
        if not folder.startswith("/") or (is_foreign and not real.startswith(f"{prefix}/")):
            continue
        if path := shutil.which(analyser.program or analyser.name, path=folder):
            return (path,)
    if not (analyser.runs_code and has_sandbox):
        return ()
    return next(((str(root / path),) for path in analyser.own if os.access(root / path, os.X_OK)), ())


def find_analyser(analyser: Analyser, root: Path, scope: Sequence[str], *, has_sandbox: bool) -> Availability:
    """Return what one analyser can do for the files in scope."""
    return _availability(analyser, root, languages_of(root, scoped_files(root, scope)), has_sandbox=has_sandbox)


class AnalyserCommand(NamedTuple):
    """One command line of an analyser."""

    words: list[str]
    #: The files that it is for.
    files: tuple[str, ...]
    #: The name of its folder for what it writes.
    output: str
    #: The command line that lists those of its files that it reads, if there is one.
    listing: list[str] | None = None


def analyser_commands(
    available: Availability, root: Path, scope: Sequence[str], outputs: str = ""
) -> Iterator[AnalyserCommand]:
    """Yield command lines that together read all files. Each has its own folder in `outputs`."""
    analyser = available.analyser
    isolated = [] if all(_has_ruff_settings(root, path) for path in scope) else ["--isolated"]
    packages = ["./..." if path in ("", ".") else f"./{path}/..." for path in scope]
    special: dict[str, Sequence[str]] = {"{isolated}": isolated, "{packages}": packages}
    by_name = "{files}" in analyser.options.split()
    parts = _parts(available, root) if by_name else scope if "{path}" in analyser.options.split() else scope[:1]
    for number, part in enumerate(parts):
        names = [_plain(path or ".") for path in ([part] if isinstance(part, str) else part)]
        special |= {"{files}": names, "{path}": names}
        large = analyser.for_large_files if by_name and _is_large(root / part[0]) else ""
        texts = (f"{large} {analyser.options}", analyser.listing)
        words, listing = (_filled(text, special, f"{outputs}/{number}") for text in texts)
        files = tuple(part) if by_name else available.files
        listed = [*available.program, *listing] if listing else None
        yield AnalyserCommand([*available.program, *words], files, str(number), listed)


def _parts(available: Availability, root: Path) -> Iterator[list[str]]:
    """Yield the files for each command line. Large files are separate if they need other options."""
    if not available.analyser.for_large_files:
        yield from _chunks(available.files)
        return
    large = {path for path in available.files if _is_large(root / path)}
    yield from _chunks([path for path in available.files if path not in large])
    yield from _chunks(sorted(large))


def _is_large(path: Path) -> bool:
    try:
        return path.lstat().st_size > LARGE
    except OSError:
        return False


def _plain(path: str) -> str:
    """Return a path that no program takes for an option."""
    return f"./{path}" if path.startswith(("-", "@")) else path


def _filled(options: str, special: Mapping[str, Sequence[str]], output: str) -> list[str]:
    return [filled for word in options.split() for filled in special.get(word, [word.replace("{output}", output)])]


def _chunks(files: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    length = 0
    for path in files:
        if chunk and (len(chunk) >= _MAX_FILES or length + len(path) > _MAX_LENGTH):
            yield chunk
            chunk, length = [], 0
        chunk.append(path)
        length += len(path) + 1
    if chunk:
        yield chunk


def _has_ruff_settings(root: Path, path: str) -> bool:
    """Return whether the checkout has ruff settings for a path. If not, ruff would use those of folders above it."""
    path_folder = (root / path).resolve()
    inside = [folder for folder in (path_folder, *path_folder.parents) if folder.is_relative_to(root.resolve())]
    return any(_configures_ruff(folder) for folder in inside)


def _configures_ruff(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("ruff.toml", ".ruff.toml")):
        return True
    try:
        return "ruff" in parse_toml((folder / "pyproject.toml").read_text("utf-8")).get("tool", {})
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
