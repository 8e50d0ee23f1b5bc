"""The HTML report in a real browser: filters work, nothing an agent wrote runs, and a phone shows it whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from merge_samples import PLACES, conflict, example, finding, merge_of, sources
from support.browser import browsing

from remit.merging.merge_data import Merge
from remit.reports.merge.html import TITLE, merge_html

pytestmark = pytest.mark.process

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUNS = "document.title='it ran'"
HOSTILE = (
    f"<script>{RUNS}</script>",
    f"</style><script>{RUNS}</script>",
    f"</title><script>{RUNS}</script>",
    f'</pre></details></article><img src=x onerror="{RUNS}">',
    f'"><svg onload="{RUNS}">',
    f"' autofocus onfocus=\"{RUNS}\" x='",
    f"javascript:{RUNS}",
    f"[x](javascript:{RUNS})",
    f"${{{RUNS}}}",
    f'{{{{constructor.constructor("{RUNS}")()}}}}',
)
Show = Callable[..., "Shown"]
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


class Shown:
    """A page after its scripts have run."""

    def __init__(self, dom: str, console: list[str]) -> None:
        self.dom = dom
        #: What the page wrote to the console; a refused resource is written there, too.
        self.console = console

    @property
    def title(self) -> str:
        title = re.search(r"<title>(.*?)</title>", self.dom, re.DOTALL)
        return unescape(title.group(1)) if title else ""

    def cards(self) -> list[str]:
        """The numbers of the cards that are not hidden."""
        return [
            card.group(1)
            for card in re.finditer(r'<article [^>]*id="finding-(\d+)"[^>]*>', self.dom)
            if 'hidden=""' not in card.group()
        ]

    def count(self) -> str:
        count = re.search(r'id="shown"[^>]*>(.*?)<', self.dom)
        return count.group(1) if count else ""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Open a page in a new tab."""
    context = browser.new_context(viewport={"width": 1600, "height": 1000})

    def show(page: str, address: str = "") -> Shown:
        file = tmp_path / "merge.html"
        file.write_text(page, "utf-8")
        tab, console = context.new_page(), list[str]()
        tab.on("console", lambda message: console.append(message.text))
        tab.on("pageerror", lambda error: console.append(str(error)))
        tab.goto(file.as_uri() + address)
        return Shown(tab.content(), console)

    yield show
    context.close()


SHOWN = 'const shown = () => [...document.querySelectorAll("article:not([hidden])")].map((a) => a.id.slice(8)).join();'


def measured(page: str, script: str) -> str:
    """The page with a script of the test's own at its end, which its policy would not let run."""
    return POLICY.sub("", page).replace("</body>", f"<script>{{{SHOWN}{script}}}</script></body>")


def framed(page: str, script: str, width: int) -> str:
    """A page that holds the report in a frame of that width (no window is as narrow as a phone) and looks at it."""
    return f"""<!DOCTYPE html><title>not loaded</title>
<iframe width="{width}" height="900" frameborder="0" srcdoc="{escape(page)}"></iframe>
<script>addEventListener("load", () => {{
const frame = document.querySelector("iframe").contentWindow, page = frame.document;
{script}
}});</script>"""


@pytest.fixture(scope="module")
def merge() -> Merge:
    return merge_of(
        finding("SEC-001", severity="critical", agents=("security-auditor", "qa-engineer"), flags=("agreed",)),
        finding("QA-001", severity="important", agents=("qa-engineer",), title="Needle in the hay"),
        finding("QA-002", severity="minor", agents=("qa-engineer",), place=PLACES[1], verified=None),
        finding("R-1", severity=None, agents=("ruff & <b>",), flags=("revise",), place=PLACES[2]),
        conflicts=(conflict(),),
    )


ADDRESSES = {
    "": "1,2,3,4",
    "#severity=critical": "1",
    "#severity=critical,minor": "1,3",
    "#severity=unrated": "4",
    "#agent=qa-engineer": "1,2,3",
    "#agent=ruff%20%26%20%3Cb%3E": "4",
    "#agent=nobody": "1,2,3,4",
    "#flag=agreed": "1",
    "#flag=unchecked": "3",
    "#severity=important,minor&agent=qa-engineer&flag=the line exists": "2",
    "#q=needle": "2",
    "#q=no+such+words": "",
    "#finding-3": "1,2,3,4",
}


@pytest.mark.parametrize(
    "address", ["", "#severity=critical", "#severity=important,minor&agent=qa-engineer&flag=the line exists"]
)
def test_the_address_chooses_what_is_shown(merge: Merge, address: str, show: Show) -> None:
    shown = show(merge_html(merge, sources().workspace), address)
    cards = ADDRESSES[address].split(",")
    assert shown.cards() == cards
    assert shown.count() == ("All 4 shown" if len(cards) == 4 else f"{len(cards)} of 4 shown")
    assert shown.console == []


def test_every_filter_can_be_named_in_the_address(merge: Merge, show: Show) -> None:
    script = f"""
        const said = {{}};
        for (const address of {json.dumps(list(ADDRESSES))}) {{
            for (const next of ["#x=", address]) {{
                history.replaceState(null, "", next || location.pathname);
                dispatchEvent(new Event("hashchange"));
            }}
            said[address] = shown();
        }}
        document.title = JSON.stringify(said);
    """
    assert json.loads(show(measured(merge_html(merge), script)).title) == ADDRESSES


def test_a_link_to_a_finding_opens_it(merge: Merge, show: Show) -> None:
    assert re.search(r'id="finding-3"[^>]*>\s*<details open="">', show(merge_html(merge), "#finding-3").dom)
    assert not re.search(r'id="finding-3"[^>]*>\s*<details open="">', show(merge_html(merge)).dom)


def test_the_controls_filter_and_the_address_remembers(merge: Merge, show: Show) -> None:
    script = """
        document.querySelector("input[value=critical]").click();
        document.querySelector("[data-action=open]").click();
        document.title = [location.hash, shown(), document.querySelectorAll(".card > details[open]").length].join(" ");
    """
    assert show(measured(merge_html(merge), script)).title == "#severity=critical 1 4"


def test_a_group_without_a_shown_finding_is_hidden(merge: Merge, show: Show) -> None:
    script = """
        document.querySelector("input[value=critical]").click();
        const bands = [...document.querySelectorAll("[data-band]:not([hidden])")];
        document.title = bands.map((one) => one.dataset.band).join();
    """
    assert show(measured(merge_html(merge), script)).title == "critical"


def test_without_scripts_everything_is_shown_and_no_control_is_offered(merge: Merge, show: Show) -> None:
    page = re.sub(r"<script>.*</script>", "", merge_html(merge), flags=re.DOTALL)
    shown = show(page, "#severity=critical")
    assert shown.cards() == ["1", "2", "3", "4"]
    assert re.search(r'<form [^>]*hidden=""', shown.dom)


def test_no_words_of_an_agent_run(show: Show) -> None:
    merge = merge_of(
        *(
            finding(words, title=words, details=words, agents=(words,), flags=(words,), category=words)
            for words in HOSTILE
        ),
        dropped=tuple(finding(title=words, reason=words) for words in HOSTILE),
        conflicts=tuple(conflict("score", words, words) for words in HOSTILE),
    )
    for page in (merge_html(merge), POLICY.sub("", merge_html(merge))):
        shown = show(page)
        assert shown.title == TITLE
        assert shown.console == []
        assert len(shown.cards()) == len(HOSTILE)


def test_even_a_script_that_slipped_through_would_not_run(merge: Merge, show: Show) -> None:
    page = merge_html(merge).replace("Needle in the hay", f"<script>{RUNS}</script>")
    assert show(page).title == TITLE
    assert show(POLICY.sub("", page)).title == "it ran"


def test_nothing_from_the_network_would_be_loaded(merge: Merge, show: Show) -> None:
    image = '<img src="http://127.0.0.1:9/x.png" onerror="document.title=this.src">'
    shown = show(merge_html(merge).replace("Needle in the hay", image))
    assert shown.title == TITLE
    assert shown.console != []


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_no_width_makes_the_page_scroll_sideways(width: int, show: Show) -> None:
    wide = finding(title="w" * 300, agents=("a" * 80,), flags=("f" * 80,), details="d" * 500, category="c" * 60)
    merge = merge_of(wide, *example().findings, dropped=(wide,), conflicts=(conflict("score", "x" * 200, "y" * 300),))
    script = """
        for (const fold of page.querySelectorAll("details")) fold.open = true;
        const { clientWidth, scrollWidth } = page.documentElement;
        document.title = [frame.innerWidth, scrollWidth - clientWidth].join(" ");
    """
    page = framed(merge_html(merge, sources().workspace), script, width)
    assert show(page).title == f"{width} 0"


def test_print_opens_and_shows_everything(merge: Merge, show: Show) -> None:
    script = """
        const closed = () => document.querySelectorAll("details:not([open])").length;
        dispatchEvent(new Event("beforeprint"));
        const before = closed();
        dispatchEvent(new Event("afterprint"));
        document.title = [before, closed()].join(" ");
    """
    assert show(measured(merge_html(merge), script)).title == "0 4"
