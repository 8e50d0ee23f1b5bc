"""The pages in a real browser: keyboard, live updates, hostile texts, widths and colours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.types.json import Jsonb
from support.browser import NARROW, WIDE, Visitor, browsing
from support.web import HOSTILE, RunningSite, add_hostile_job, add_job
from test_server_api import add_question

from remit.gate.session_entries import DecisionEntry
from remit.gate.session_store import open_session

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.process
Visit = Callable[..., Visitor]
#: With this variable, pictures of all pages are written to a folder, for a person to look at.
PICTURES = os.environ.get("REMIT_TEST_PICTURES")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as started:
        yield started


@pytest.fixture
def visit(browser: Browser, site: RunningSite) -> Iterator[Visit]:
    """Let a person sign in; each page must be without problems at the end."""
    with ExitStack() as stack:

        def make(**options: Any) -> Visitor:
            visitor = Visitor(browser, site, **options)
            stack.callback(visitor.close)
            stack.callback(visitor.assert_harmless)
            return visitor

        yield make


@pytest.fixture(scope="module")
def paths(site: RunningSite) -> list[str]:
    """Every page, with a hostile text in every field."""
    job = add_hostile_job(site)
    plan, _ = add_question(site, HOSTILE)
    folder = site.folder / ".remit/gate"
    folder.mkdir(parents=True, exist_ok=True)
    with open_session(str(folder), "hostile", title=HOSTILE, branch=HOSTILE) as state:
        state.session = HOSTILE
        decision = {"tool": HOSTILE, "rule": HOSTILE, "reason": HOSTILE, "paths": [HOSTILE]}
        state.decisions.append(DecisionEntry(at=1.7e9, decision="deny", **decision))
        state.warn(HOSTILE)
    return [
        *("/", "/jobs", f"/jobs/{job}", f"/jobs/{job + 1}", "/plans", f"/plans/{plan}", "/sessions"),
        *("/sessions/hostile", "/nothing"),
    ]


#: The headings of columns that are not above their cells. On a narrow window, rows are lists without headings.
CUT_OFF = """() => {
    const range = document.createRange();
    const lines = one => { range.selectNodeContents(one); return range.getClientRects().length; };
    const wide = [...document.querySelectorAll(".scroll")].filter(one => one.scrollWidth > one.clientWidth + 1);
    const broken = [...document.querySelectorAll("table.rows th")]
        .filter(one => one.children.length === 0 && lines(one) > one.textContent.trim().split(/[ -]+/).length);
    return [...wide, ...broken].map(one => one.innerText.slice(0, 80));
}"""
MISALIGNED = """() => innerWidth < 800 ? [] : [...document.querySelectorAll("table.rows")].flatMap(table => {
    const heads = [...table.querySelectorAll("thead th")], row = table.querySelector("tbody tr");
    if (!row || row.cells.length !== heads.length) return [];
    const left = one => Math.round(one.getBoundingClientRect().left);
    return heads.filter((head, at) => Math.abs(left(head) - left(row.cells[at])) > 1).map(head => head.textContent);
})"""


def test_no_page_runs_or_loads_what_a_text_contains(visit: Visit, paths: list[str]) -> None:
    visitor = visit()
    for path in paths:
        page = visitor.go(path)
        assert page.evaluate("window.hacked") is None, path
        assert page.locator("img").count() == 0, path
        assert page.locator("h1").count() == 1, path
    visitor.problems = [one for one in visitor.problems if "404" not in one]  # of /nothing


@pytest.mark.parametrize(
    ("size", "colours"),
    [
        pytest.param(size, colours, id=f"{size[0]}-{colours}")
        for size in (WIDE, NARROW)
        for colours in ("light", "dark")
        if PICTURES or (size is WIDE) == (colours == "light")  # half of them, and all for pictures
    ],
)
def test_pages_fit_the_window_in_light_and_dark(
    visit: Visit, paths: list[str], size: tuple[int, int], colours: str
) -> None:
    visitor = visit(size=size, color_scheme=colours)
    backgrounds = set()
    for path in paths[:-1]:
        page = visitor.go(path)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate(MISALIGNED) == [], path
        assert page.evaluate(CUT_OFF) == [], path
        assert page.locator("button:not(:has-text(''))").count() == 0, path  # every button has a name
        if PICTURES:
            name = (path.strip("/").replace("/", "-") or "overview") + f"-{size[0]}-{colours}.png"
            page.screenshot(path=str(Path(PICTURES) / name), full_page=True)
    assert len(backgrounds) == 1
    assert ("rgb(20," in backgrounds.pop()) is (colours == "dark")


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_pages_have_no_fault_that_axe_finds(visit: Visit, paths: list[str], colours: str, half: int) -> None:
    source = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    visitor = visit(color_scheme=colours)
    for path in paths[half:-1:2]:
        page = visitor.go(path)
        page.evaluate(source)
        found = page.evaluate("axe.run()")["violations"]
        nodes = [(one["id"], node["html"][:120]) for one in found for node in one["nodes"]]
        assert nodes == [], path


def test_lists_are_moved_through_searched_and_sorted_with_the_keyboard(visit: Visit, site: RunningSite) -> None:
    old, new = (add_job(site, agent=name, prompt=f"sorted {name}") for name in ("zebra-agent", "aardvark-agent"))
    page = visit().go("/jobs")
    page.keyboard.press("/")
    page.keyboard.type("sorted ")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=sorted*")
    agents = page.locator("tbody tr td:nth-child(2)")
    assert agents.all_inner_texts() == ["aardvark-agent", "zebra-agent"]
    page.get_by_role("button", name="Job", exact=True).click()
    assert agents.all_inner_texts() == ["zebra-agent", "aardvark-agent"]
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{old}")
    page.keyboard.press("?")
    assert "search" in page.get_by_role("dialog", name="Keys").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill(f"job {new}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{new}")
    page.keyboard.press("Control+k")
    page.keyboard.type("plans")
    page.keyboard.press("Enter")
    page.wait_for_url("**/plans")


def test_a_running_job_and_its_plan_are_updated_live(visit: Visit, site: RunningSite) -> None:
    job = add_job(site, agent="live-agent")
    visitor, planner = visit(), visit()
    page = visitor.go(f"/jobs/{job}")
    visitor.connected()
    assert page.locator("#head .chip").first.inner_text() == "queued"
    page.evaluate("window.kept = 1")
    site.rows("UPDATE remit.jobs SET state = 'running', started = now(), turns = 1 WHERE id = %s", job)
    page.wait_for_selector("#head .chip:text-is('running')")
    site.rows("INSERT INTO remit.events (job, kind, data) VALUES (%s, 'turn', %s)", job, Jsonb({"turn": 7}))
    site.rows("SELECT pg_notify('remit_events', %s)", str(job))
    page.wait_for_selector("#events li:has-text('turn 7')")
    site.rows(
        "UPDATE remit.jobs SET state = 'finished', outcome = 'completed', verdict = 'accept', result = 'All is well.', "
        "finished = now() WHERE id = %s",
        job,
    )
    page.wait_for_selector("#outcome .markdown:has-text('All is well.')")
    assert page.evaluate("window.kept") == 1  # the page was not loaded again
    plan, question = add_question(site, "Which module is meant?")
    page = planner.go(f"/plans/{plan}")
    planner.connected()
    site.rows("UPDATE remit.delegations SET state = 'accepted' WHERE plan = %s", plan)
    page.wait_for_selector("#phases .chip:text-is('accepted')")
    page.locator(f"#words-{question}").fill("the first one")
    page.get_by_role("button", name="Try again with this text").click()
    page.wait_for_selector("text=Answered: text")


def test_an_open_part_stays_open_and_typed_text_stays(visit: Visit, site: RunningSite) -> None:
    plan, question = add_question(site, "Open?")
    page = visit().go(f"/plans/{plan}")
    page.wait_for_selector("body[data-connected]")
    page.locator("#steps-list summary").click()
    page.locator(f"#words-{question}").fill("half a sentence")
    site.rows("UPDATE remit.delegations SET state = 'failed', error = 'lost' WHERE plan = %s", plan)
    page.wait_for_selector("#phases .chip:text-is('failed')")
    assert page.locator("#steps-list").get_attribute("open") is not None
    assert page.locator(f"#words-{question}").input_value() == "half a sentence"


def test_a_violation_leads_to_its_line_and_a_claim_to_its_code(visit: Visit, site: RunningSite) -> None:
    job = add_job(site, state="finished", outcome="completed", verdict="revise", result="x")
    violation = {"rule": "status-missing", "code": "RES001", "level": "L1", "line": 40, "message": "m", "help": "h"}
    reference = {"text": "a.py:2", "path": "a.py", "line": 2, "end_line": 2, "outcome": "verified", "at": 3}
    report = {
        "violations": [violation],
        "references": [{**reference, "code": {"start": 1, "text": "a\ncited\nc"}}],
    }
    site.rows(
        "INSERT INTO remit.results (job, submission, document, verdict, report) VALUES (%s, 1, %s, 'revise', %s)",
        *(job, "\n".join(f"line {number}" for number in range(1, 80)), Jsonb(report)),
    )
    page = visit().go(f"/jobs/{job}")
    page.locator(".violations a").click()
    assert page.url.endswith("#L40")
    page.locator("#L3 .claim").click()
    page.wait_for_selector("#claim-1 .cited:has-text('cited')")


def test_pages_are_complete_without_scripts(visit: Visit, site: RunningSite, paths: list[str]) -> None:
    visitor = visit(java_script_enabled=False)
    for path in paths[:-1]:
        assert visitor.page.request.get(site.url + path).ok, path
    page = visitor.go("/jobs?state=finished")
    assert page.locator("tbody tr").count() >= 1
    job = add_job(site)
    visitor.go(f"/jobs/{job}").get_by_role("button", name="Cancel job").click()
    assert site.rows("SELECT outcome FROM remit.jobs WHERE id = %s", job) == [("cancelled",)]


def test_the_page_can_be_used_with_the_keyboard_alone(visit: Visit) -> None:
    page = visit().go("/jobs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for name in ("State", "Verdict", "Outcome", "Agent"):
        assert page.get_by_label(name, exact=True).count() >= 1, name
    assert page.get_by_role("navigation", name="Main").count() == 1
    assert page.locator("nav a[aria-current=page]").inner_text() == "Jobs"
