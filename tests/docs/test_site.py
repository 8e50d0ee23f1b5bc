"""The documentation site: links are rewritten for it, and a link that leads nowhere fails the build."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import build_site
from build_site import BrokenSite

pytestmark = pytest.mark.process

GROUPS = ["Start", "Guides", "Reference", "Internals"]
SETTINGS = """
[project]
site_name = "Small"
nav = [{ "Start" = "index.md" }, { "Internals" = "project/security.md" }]
theme.font = false
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project whose links are right."""
    files = {
        "zensical.toml": SETTINGS,
        "docs/index.md": "# Start\n\n[code](../code.py), [security](../SECURITY.md#limits), `[no](link.md)`\n",
        "SECURITY.md": "# Security\n\n## Limits\n\nSee [the start](docs/index.md).\n",
        "code.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_site_of_this_project_is_complete_and_loads_nothing_from_other_hosts(tmp_path: Path) -> None:
    build_site.build(tmp_path / "site")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(build_site.site_pages())
    for page in pages:
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="([^"]*)"', page.read_text("utf-8"))
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == [], page


def test_the_navigation_has_four_groups_and_every_page() -> None:
    nav = build_site.settings()["nav"]
    assert [name for group in nav for name in group] == GROUPS
    assert build_site.missing_in_nav() == []


def test_links_lead_to_pages_of_the_site_or_to_the_code_host(project: Path) -> None:
    text = (project / "docs/index.md").read_text("utf-8")
    args = ("docs/index.md", "index.md")
    assert build_site.rewrite(text, *args, "", project) == (
        "# Start\n\ncode, [security](project/security.md#limits), `[no](link.md)`\n",
        [],
    )
    hosted, _ = build_site.rewrite(text, *args, "https://code.example/remit/", project)
    assert "[code](https://code.example/remit/blob/main/code.py)" in hosted


def test_a_page_from_the_root_links_into_the_site(project: Path) -> None:
    text = "[start](docs/index.md) [docs](docs) [web](https://example.com) [here](#limits)\n\n```\n[x](y.md)\n```\n"
    rewritten, problems = build_site.rewrite(text, "SECURITY.md", "project/security.md", "", project)
    assert "[start](../index.md) docs [web](https://example.com) [here](#limits)" in rewritten
    assert "[x](y.md)" in rewritten
    assert problems == []


def test_a_correct_site_is_built(project: Path, tmp_path: Path) -> None:
    build_site.build(tmp_path / "site", root=project)
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize(
    ("page", "text", "problem"),
    [
        ("docs/index.md", "[gone](gone.md)", "docs/index.md: the link gone.md leads nowhere"),
        ("docs/index.md", "[gone](../src/gone.py)", "docs/index.md: the link ../src/gone.py leads nowhere"),
        ("docs/index.md", "[out](../../elsewhere.md)", "the link ../../elsewhere.md leads nowhere"),
        ("docs/new.md", "# New", "new.md is not in the navigation"),
        ("docs/index.md", "[there](../SECURITY.md#gone)", "gone"),
    ],
)
def test_a_broken_site_is_refused(project: Path, page: str, text: str, problem: str) -> None:
    (project / page).write_text(f"# A page\n\n{text}\n", encoding="utf-8")
    with pytest.raises(BrokenSite) as raised:
        build_site.build(None, root=project)
    assert problem in str(raised.value)
