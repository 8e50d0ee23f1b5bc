"""Write the picture of a report of a merge in the documentation, with Debian's Chromium.

python tools/screenshots.py [FOLDER]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_SIZE = {"width": 1280, "height": 800}


def take_report(page: Page, folder: Path) -> None:
    """Take the picture of a report of the example reviews."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(ROOT / "examples", Path(place, "shop/examples"))
        report = Path(place, "report.html")
        command = [sys.executable, "-m", "remit", "merge", "examples/reviews/inputs", "--format", "html"]
        subprocess.run([*command, "--output", str(report)], cwd=Path(place, "shop"), check=True)
        page.goto(report.as_uri())
        page.screenshot(path=folder / "merge.png")


def main() -> None:
    """Take the picture."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    program = next((found for name in _PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        sys.exit("chromium is not installed")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        take_report(browser.new_page(viewport=_SIZE, color_scheme="light"), folder)  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    main()
