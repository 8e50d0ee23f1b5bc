"""Write the pictures of pages in the documentation, with Debian's Chromium: `remit serve --demo`, a report of a merge.

python tools/screenshots.py [FOLDER]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_SIZE = {"width": 1280, "height": 800}
_LINK = re.compile(r"http://\S+token=\S+")


def take(page: Page, folder: Path) -> None:
    """Take the pictures of a signed-in page."""
    page.wait_for_load_state()
    page.screenshot(path=folder / "serve-overview.png")
    page.goto(page.url.partition("/login")[0].rstrip("/") + "/review")
    page.locator("a[href^='/review/']").first.click()
    page.wait_for_load_state()
    page.screenshot(path=folder / "serve.png")
    page.goto(page.url.partition("/review")[0] + "/agents")
    page.screenshot(path=folder / "learning.png", clip={"x": 0, "y": 0, "width": _SIZE["width"], "height": 630})


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
    """Start the demonstration, take the pictures and stop it."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    program = next((found for name in _PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        sys.exit("chromium is not installed")
    command = [sys.executable, "-m", "remit", "serve", "--demo", "--port", "0"]
    with tempfile.TemporaryDirectory() as place:
        environment = os.environ | {"XDG_STATE_HOME": place, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                link = next(match[0] for line in server.stdout if (match := _LINK.search(line)))
                with sync_playwright() as playwright:
                    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
                    browser = playwright.chromium.launch(executable_path=program, args=arguments)
                    page = browser.new_page(viewport=_SIZE, color_scheme="light")  # type: ignore[arg-type]
                    page.goto(link)
                    take(page, folder)
                    take_report(page, folder)
                    browser.close()
            finally:
                server.terminate()
                server.wait()


if __name__ == "__main__":
    main()
