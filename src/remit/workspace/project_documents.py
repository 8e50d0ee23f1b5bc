"""The documents of a checkout that people and assistants read, by their paths."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from remit.globs import Pattern
from remit.workspace.file_index import DEPENDENCIES
from remit.workspace.safe_git import decode_output, run_git

_ENDINGS = (".md", ".markdown", ".mdx", ".mdc")
#: Names of instructions for assistants and of other documents in any folder, without their ending.
_NAMES = frozenset(
    {
        *("agents", "claude", "gemini", "copilot-instructions", "skill"),
        *("readme", "contributing"),
        *("architecture", "development", "developing", "hacking", "security", "testing", "design"),
    }
)
#: Folders whose Markdown files are instructions for assistants, or documents.
_INSTRUCTIONS = frozenset({".github", "agents", "commands", "skills", "prompts", "rules"})
_DOCS = frozenset({"docs", "doc", "documentation"})
_FOLDERS = _DOCS | _INSTRUCTIONS
#: Records of the past, which no one keeps up to date; the names have these starts.
_RECORDS = ("changelog", "changes", "history", "news", "releases", "release-notes", "release_notes", "upgrading")
#: Legal texts and templates.
_OTHERS = ("license", "licence", "copying", "notice", "code_of_conduct", "code-of-conduct", "pull_request_template")
_RECORD_FOLDERS = frozenset({"changelog", "changelogs", "changes", "releases", ".changeset", "newsfragments"})
#: Folders of test inputs and of templates: their references are not about this checkout.
_INPUT_FOLDERS = frozenset({"fixtures", "testdata", "__fixtures__", "issue_template", "templates", "snapshots"})
#: The end of the name of a folder with the documents of earlier versions, as Docusaurus keeps them.
_VERSIONS = "versioned_docs"
#: A second ending of documents that were put aside: `CONTRIBUTING.old.md`.
_ASIDE = (".old", ".orig", ".bak")
_LINK = "120000"


def project_documents(
    root: str | os.PathLike[str], documents: Sequence[str] = (), excluded: Sequence[str] = ()
) -> list[str] | None:
    """Return the tracked documents below the root, sorted; None without git. Links, pipes and devices are left out.

    `documents` are globs of the files that are documents, instead of the usual ones; `excluded` are left out.
    """
    listed = run_git(root, "ls-files", "-z", "--stage")
    if listed is None:
        return None
    entries = (row.partition("\t") for row in decode_output(listed).split("\0"))
    paths = {path for about, _, path in entries if path and not about.startswith(_LINK)}
    chosen = [pattern.matches for pattern in map(Pattern, documents)] or [is_document]
    out = [Pattern(glob) for glob in excluded]
    top = os.path.realpath(root)
    return sorted(
        path
        for path in paths
        if any(is_wanted(path) for is_wanted in chosen)
        and not any(pattern.matches(path) for pattern in out)
        and _may_be_read(os.path.join(top, path))
    )


def _may_be_read(path: str) -> bool:
    """Return whether a path is not that of a link, a pipe or a device, nor below a link: git may list another state."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode) and os.path.realpath(path) == path
    except FileNotFoundError:
        return True  # an error is reported when it is read
    except OSError:
        return False


def is_document(path: str) -> bool:
    """Return whether a path is that of a document that should stay true."""
    *folders, name = path.lower().split("/")
    stem, ending = os.path.splitext(name)
    if ending not in _ENDINGS or stem.startswith((*_RECORDS, *_OTHERS)) or stem.endswith(_ASIDE):
        return False
    if any(folder.endswith(_VERSIONS) for folder in folders):
        return False
    inside = frozenset(folders)
    if inside & (_RECORD_FOLDERS | _INPUT_FOLDERS) or inside & {folder.lower() for folder in DEPENDENCIES}:
        return False
    return not folders or has_document_name(path) or not inside.isdisjoint(_FOLDERS)


def has_document_name(path: str) -> bool:
    """Return whether a file is named like a document that should stay true in any folder: `README.md`, `AGENTS.md`."""
    return os.path.splitext(os.path.basename(path.lower()))[0] in _NAMES
