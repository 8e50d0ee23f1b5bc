"""How fast a browser shows the HTML report of a merge with very many findings."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Bench, NotMeasured

from remit.merging.merge import merge
from remit.merging.merge_data import MergeSettings, Opinion, Report, ReportedFinding
from remit.reports.merge.html import merge_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FINDINGS = 10_000
_REPEATS = 3
#: Two frames after the page was loaded, its layout is painted.
_PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


def report_page(findings: int) -> str:
    """Return the page of a merge with this number of findings, on 100 lines of 100 files."""
    severities = ("critical", "important", "minor")
    rows = tuple(
        ReportedFinding(
            opinion=Opinion(
                agent="tool",
                id=f"QA-{at:05}",
                severity=severities[at % 3],  # type: ignore[arg-type]
                confidence=float(50 + at % 50),
                line=1 + at // 100,
                title=f"The value of variable_{at} is never used in this module",
            ),
            path=f"src/module_{at % 100}.py",
            end_line=None,
            category="quality",
            verified=True,
        )
        for at in range(findings)
    )
    report = Report(agent="tool", status="SUCCESS", verdict="accept", rows=rows)
    merged = merge([report], MergeSettings(threshold=0))
    if merged.counts.findings != findings:
        raise AssertionError(f"{merged.counts.findings:,} findings instead of {findings:,}")
    return merge_html(merged)


def _opened(browser: Browser, file: Path) -> float:
    """Return the seconds until a new window has loaded, filtered and painted a page."""
    page = browser.new_page()
    try:
        started = time.monotonic()
        page.goto(file.as_uri(), wait_until="load")
        page.evaluate(_PAINTED)
        seconds = time.monotonic() - started
        if f"{FINDINGS:,}" not in page.locator("body").inner_text():
            raise AssertionError("the page does not state how many findings there are")
        return seconds
    finally:
        page.close()


def _seconds() -> float:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NotMeasured("playwright is not installed") from error
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        raise NotMeasured("there is no Chromium on the PATH")
    with tempfile.TemporaryDirectory(prefix="remit-bench-") as folder, sync_playwright() as driver:
        file = Path(folder) / "report.html"
        file.write_text(report_page(FINDINGS), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        try:
            return statistics.median(_opened(browser, file) for _ in range(_REPEATS))
        finally:
            browser.close()


def benches() -> list[Bench]:
    """Return the bench of this file."""
    return [Bench(f"opening the page of {FINDINGS:,} findings in Chromium", "nothing", "s", 2, _seconds)]
