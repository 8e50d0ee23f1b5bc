"""Find the files that a command line names, and the checkout they belong to."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from remit.contract.parse import MAX_BYTES as MAX_RESULT
from remit.contract.parse import parse
from remit.contract.result_data import STATUSES
from remit.errors import UsageError
from remit.workspace.safe_git import root_above

#: Bytes of a JSON file that are read to detect its format.
_PEEK = 64 * 1024
#: Names of pages in a folder of results that are not results.
_PAGES = frozenset(
    {
        *("readme", "license", "licence", "copying", "authors", "contributors"),
        *("changelog", "contributing", "code_of_conduct"),
    }
)
#: The files of a folder that `remit verify` reads.
_TEXTS = (".md", ".markdown", ".mdx", ".txt")
_SARIF_VERSION = re.compile(rb'"version"\s*:\s*"2\.')

#: The largest file that is read; SARIF files and merges may be large.
MAX_BYTES = 64 * 1024 * 1024


def find_files(paths: Sequence[str], *, for_merge: bool = False) -> list[Path | None]:
    """Return the files in their order, with folders expanded; None is standard input.

    A folder contributes its results, and with `for_merge` also SARIF files and earlier merges.
    """
    forms = "*.md, *.json and *.sarif" if for_merge else "*.md and *.json"
    return _expand(
        paths, partial(_may_be_input, for_merge=for_merge), f"no results in this folder (looked for {forms})"
    )


def find_texts(paths: Sequence[str]) -> list[Path | None]:
    """Return the files in their order; a folder contributes every Markdown and text file. None is standard input."""
    return _expand(paths, _is_text, f"no texts in this folder (looked for {', '.join(_TEXTS)})")


def _expand(paths: Sequence[str], is_wanted: Callable[[Path], bool], problem: str) -> list[Path | None]:
    files: list[Path | None] = []
    for name in paths:
        path = Path(name)
        if name == "-":
            files.append(None)
        elif not _exists(path):
            raise UsageError(f"{name}: no such file or folder")
        elif path.is_dir():
            inside = sorted(file for file in path.rglob("*") if _is_in(file, path) and is_wanted(file))
            if not inside:
                raise UsageError(f"{name}: {problem}")
            files.extend(inside)
        else:
            files.append(path)
    return files


def _is_in(file: Path, folder: Path) -> bool:
    """Return whether a visible file of a folder is in it. A file that is named itself may be anywhere."""
    real, top = os.path.realpath(file), os.path.realpath(folder)
    is_hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return real.startswith(f"{top.rstrip('/')}/") and not is_hidden and file.is_file()


def _is_text(file: Path) -> bool:
    return file.suffix in _TEXTS


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False  # the name is not valid for a file


def display_name(file: Path | None) -> str:
    """Return the name of a file for a report; bytes that are not UTF-8 are replaced."""
    return "-" if file is None else os.fsencode(file).decode("utf-8", "replace")


def _may_be_input(file: Path, *, for_merge: bool) -> bool:
    if file.suffix == ".json":
        return _is_json_input(file, for_merge=for_merge)
    if file.suffix in (".md", ".markdown"):
        return not _is_page(file)
    return for_merge and file.suffix == ".sarif"


def _is_json_input(file: Path, *, for_merge: bool) -> bool:
    if for_merge and file.name.endswith(".sarif.json"):
        return True
    with file.open("rb") as opened:
        head = opened.read(_PEEK)
    if b'"remit.result/' in head:
        return True
    is_sarif = b'"runs"' in head and _SARIF_VERSION.search(head) is not None
    return for_merge and (is_sarif or b'"remit.merge/' in head)


def _is_page(file: Path) -> bool:
    """Return whether a Markdown file is a README or a similar page, and not a result by its title and status."""
    if file.stem.lower().replace("-", "_") not in _PAGES:
        return False

    with file.open("rb") as opened:
        documents = parse(opened.read(MAX_RESULT + 1))
    return not any(document.outline.agent and document.result.status in STATUSES for document in documents)


def find_repository(repo: Path | None, files: list[Path | None]) -> tuple[Path, str]:
    """Return the checkout that claims are checked against, and how it was chosen."""
    if repo is not None:
        return repo, "--repo"
    first = next((file for file in files if file is not None), None)
    above = root_above(first if first is not None else Path.cwd())
    if above is None:
        return Path.cwd(), "the current folder"
    return above, "the checkout above the document" if first is not None else "the checkout above the current folder"


def display_root(root: Path) -> str:
    """Return a checkout as a report shows it: relative to the current folder if it is in it."""
    here = Path.cwd()
    return str(root.relative_to(here) if root.is_absolute() and root.is_relative_to(here) else root)


def read_file(file: Path | None) -> bytes:
    """Read the bytes of a file; None is standard input."""
    try:
        if file is None:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with file.open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file or '-'}: larger than {MAX_BYTES >> 20} MiB")
    return data
