"""Build the documentation site in a temporary folder; a broken link or anchor fails the build.

Pages link to each other and to source files by relative paths, so that the links work on a code host. For the
site the pages are copied and their links rewritten: a link to a file outside `docs` leads to the code host if
`--repository` names one, and becomes plain text if not. The pages of PROJECT_PAGES are added to the site.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = "zensical.toml"
#: Pages outside `docs`, and their places in the site.
PROJECT_PAGES = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "RELEASING.md": "project/releasing.md",
}
BRANCH = "main"

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_CODE_OR_LINK = re.compile(
    r"(?P<code>(`+)(?!`).+?(?<!`)\2(?!`))|(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class BrokenSite(Exception):
    """The site cannot be built; the message lists the reasons."""


def site_pages(root: Path = ROOT) -> dict[str, str]:
    """Return every page of the site: its path in the site, and in the project."""
    names = sorted(file.relative_to(root).as_posix() for file in (root / "docs").rglob("*.md"))
    return {name.removeprefix("docs/"): name for name in names} | {
        place: name for name, place in PROJECT_PAGES.items() if (root / name).is_file()
    }


def settings(root: Path = ROOT) -> dict[str, Any]:
    """Return the settings of the site."""
    project: dict[str, Any] = tomllib.loads((root / SETTINGS).read_text(encoding="utf-8"))["project"]
    return project


def nav_pages(nav: list[object]) -> Iterator[str]:
    """Yield every page that the navigation names."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for value in entry.values():
                yield from nav_pages(value if isinstance(value, list) else [value])


def missing_in_nav(root: Path = ROOT) -> list[str]:
    """Return the pages that a reader cannot reach from the navigation."""
    nav = set(nav_pages(settings(root)["nav"]))
    return [page for page in site_pages(root) if page not in nav]


def rewrite(text: str, source: str, place: str, repository: str, root: Path = ROOT) -> tuple[str, list[str]]:
    """Return a page with the site's links, and a problem for each link that leads nowhere."""
    problems: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        target = site_target(match["target"], source, place, repository, root)
        if target is None:
            problems.append(f"{source}: the link {match['target']} leads nowhere")
        return f"{match['image']}[{match['text']}]({target})" if target else match["text"]

    return "".join(_CODE_OR_LINK.sub(replace, part) if prose else part for part, prose in _parts(text)), problems


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, each with whether it is prose and not a code block."""
    rows: list[str] = []
    fence = ""
    for row in text.splitlines(keepends=True):
        mark = _FENCE.match(row.rstrip("\n"))
        if mark and not fence:
            yield "".join(rows), True
            rows, fence = [row], mark[1]
        elif mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            yield "".join([*rows, row]), False
            rows, fence = [], ""
        else:
            rows.append(row)
    yield "".join(rows), not fence


def site_target(target: str, source: str, place: str, repository: str, root: Path = ROOT) -> str | None:
    """Return a link's target in the site: "" if it is outside and no code host is set, None if it does not exist."""
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z][a-z+.-]*:", target):
        return target
    name = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if name.startswith("..") or not (root / name).exists():
        return None
    inside = PROJECT_PAGES.get(name) or (name.removeprefix("docs/") if name.startswith("docs/") else "")
    if inside:
        return f"{posixpath.relpath(inside, posixpath.dirname(place) or '.')}{mark}{anchor}"
    kind = "tree" if (root / name).is_dir() else "blob"
    return f"{repository.rstrip('/')}/{kind}/{BRANCH}/{name}{mark}{anchor}" if repository else ""


def stage(folder: Path, repository: str, root: Path = ROOT) -> None:
    """Write the settings and every page with the site's links into a folder."""
    shutil.copy(root / SETTINGS, folder / SETTINGS)
    shutil.copytree(root / "docs", folder / "docs")
    problems = [f"{page} is not in the navigation of {SETTINGS}" for page in missing_in_nav(root)]
    for place, source in site_pages(root).items():
        text, broken = rewrite((root / source).read_text(encoding="utf-8"), source, place, repository, root)
        problems += broken
        file = folder / "docs" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    if problems:
        raise BrokenSite("\n".join(problems))


def build(output: Path | None, repository: str = "", root: Path = ROOT) -> None:
    """Build the site strictly; keep it in `output` if that is set."""
    with tempfile.TemporaryDirectory(prefix="remit-site-") as name:
        folder = Path(name).resolve()
        stage(folder, repository, root)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BrokenSite(_COLOUR.sub("", done.stdout + done.stderr).partition("Traceback")[0])
        if output is not None:
            shutil.copytree(folder / "site", output, dirs_exist_ok=True)


def main(arguments: list[str]) -> int:
    """Build the site; the exit code is 1 if it is broken."""
    parser = argparse.ArgumentParser(prog="build_site.py", description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where to put the site; default: only check")
    parser.add_argument("--repository", default="", metavar="URL", help="the code host's page of this project")
    options = parser.parse_args(arguments)
    try:
        build(options.output, options.repository)
    except BrokenSite as broken:
        print(broken, file=sys.stderr)
        return 1
    print(f"the site is complete{f': {options.output}' if options.output else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
