"""Debian's Chromium, driven by Playwright. A violation of the content security policy or an error of a script fails."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import PATIENCE
from support.web import RunningSite

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: Where Debian and others install it.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
#: The browser reports a violation of the policy as an event; the console of the page makes it a problem of the test.
_REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (e) => console.error(`CSP ${e.violatedDirective} ${e.blockedURI}`));
"""
WIDE, NARROW = (1600, 1000), (390, 844)


def find_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """Start a browser without a window."""
    from playwright.sync_api import sync_playwright

    program = find_browser()
    if program is None:
        pytest.skip("chromium is not installed (Debian, Ubuntu: apt install chromium)")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*arguments, "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A person with a browser window who is signed in."""

    def __init__(self, browser: Browser, site: RunningSite, **options: Any) -> None:
        width, height = options.pop("size", WIDE)
        self.site = site
        self.problems: list[str] = []
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.add_init_script(_REPORT_VIOLATIONS)
        self.go(f"/login?token={site.sign_ins.add_link()}")
        self.page.wait_for_url(site.url + "/")

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def go(self, path: str) -> Page:
        """Open a page of the server."""
        self.page.goto(self.site.url + path)
        return self.page

    def connected(self) -> Page:
        """Wait until the page receives live updates."""
        self.page.wait_for_selector("body[data-connected]")
        return self.page

    def assert_harmless(self) -> None:
        """No script of a text ran, nothing violated the policy, and no script failed."""
        assert self.page.evaluate("window.hacked") is None
        assert self.problems == []

    def close(self) -> None:
        self.context.close()
