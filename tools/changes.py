"""Collect the changes since the last release in CHANGELOG.md.

python tools/changes.py          print the lines that the next release adds
python tools/changes.py X.Y.Z    write them, under the version and today's date, and remove their files

A change is a file changes/NAME.CATEGORY.md with what a user notices, without a leading `- `.
"""

from __future__ import annotations

import datetime
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATEGORIES = ("breaking", "added", "changed", "deprecated", "removed", "fixed", "security")
_UNRELEASED = "## Unreleased\n"
_WIDTH = 120


def fragments(folder: Path) -> list[Path]:
    """Return the files of changes, by category and name; a file of another form is an error."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    for file in files:
        if len(parts := file.name.split(".")) != 3 or parts[1] not in CATEGORIES or parts[2] != "md":
            raise ValueError(f"{file}: the name is not NAME.CATEGORY.md with one of {', '.join(CATEGORIES)}")
    return sorted(files, key=lambda file: (CATEGORIES.index(file.name.split(".")[1]), file.name))


def lines_of(files: list[Path]) -> str:
    """Return the lines of the changelog for these files."""
    found = []
    for file in files:
        mark = "**Breaking**: " if ".breaking." in file.name else ""
        text = " ".join(file.read_text(encoding="utf-8").split())
        found.append(textwrap.fill(f"- {mark}{text}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    return "".join(f"{entry}\n" for entry in found)


def released(changelog: str, lines: str, heading: str) -> str:
    """Return the changelog with a section for a release: what was unreleased, then these lines."""
    start, mark, rest = changelog.partition(_UNRELEASED)
    if not mark:
        raise ValueError("CHANGELOG.md has no section Unreleased")
    body, older_mark, older = rest.partition("\n## ")
    section = "\n".join(part for part in (body.strip("\n"), lines.rstrip("\n")) if part)
    return f"{start}{_UNRELEASED}\n## {heading}\n\n{section}\n{older_mark}{older}"


def main(arguments: list[str]) -> int:
    """Print or write the changes."""
    files = fragments(ROOT / "changes")
    if not arguments:
        print(lines_of(files), end="")
        return 0
    changelog = ROOT / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    today = datetime.datetime.now(datetime.UTC).date()
    changelog.write_text(released(text, lines_of(files), f"{arguments[0]} ({today})"), encoding="utf-8")
    for file in files:
        file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
