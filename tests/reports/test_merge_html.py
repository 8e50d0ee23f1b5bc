"""The HTML report as a document: whole, escaped, bounded, accessible, the same bytes each time."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from merge_samples import INVENTED, LOST, PLACES, SHOP, conflict, example, finding, merge_of, merges, sources

from remit.merging.merge_data import AgentReport, Merge, MergeDecision
from remit.reports.merge import html as page
from remit.reports.merge.html import ReportSource, merge_html, report_source
from remit.workspace import git

AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
MADE = datetime(2026, 3, 9, 15, 30, tzinfo=UTC)

VOID = {"meta", "input", "rect"}
TAGS = {
    *("html", "head", "meta", "title", "style", "script", "body", "header", "main", "footer", "section", "article"),
    *("h1", "h2", "h3", "p", "a", "div", "span", "ul", "li", "dl", "dt", "dd", "details", "summary", "mark"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "pre", "code", "svg", "rect"),
    *("form", "fieldset", "legend", "label", "input", "select", "option", "button"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "role", "scope", "type", "value"),
    *("aria-labelledby", "aria-label", "aria-hidden", "aria-pressed", "hidden", "open", "tabindex", "autocomplete"),
    *("data-action", "data-severity", "data-agents", "data-flags", "data-label", "data-band"),
    *("viewbox", "preserveaspectratio", "width", "height"),
}


class Tree(HTMLParser):
    """What a browser would see: tags, attributes, headings and text; tags must close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: dict[str, list[str]] = {}
        self.marked: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.text.setdefault(self._open[-1], []).append(data)
        if "mark" in self._open:
            self.marked.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, attribute, value in self.attributes if attribute == name]


def seen(merge: Merge, *, with_checkout: bool = False) -> Tree:
    return Tree(merge_html(merge, sources().workspace if with_checkout else None))


@given(merges())
def test_no_words_of_an_agent_become_a_tag_an_attribute_or_an_address(merge: Merge) -> None:
    tree = seen(merge, with_checkout=True)
    assert set(tree.tags) <= TAGS
    assert {name for _, name, _ in tree.attributes} <= ATTRIBUTES
    assert all(value.startswith("#") for value in tree.values("href"))
    assert tree.tags.count("article") == len(merge.findings)
    assert tree.tags.count("script") == tree.tags.count("style") == 1


@given(merges())
def test_the_same_merge_and_source_give_the_same_bytes(merge: Merge) -> None:
    source = ReportSource("shop", "commit 0123456789", "2026-03-09 15:30", "../shop")

    assert merge_html(merge).encode() == merge_html(merge).encode()
    assert merge_html(merge, source=source).encode() == merge_html(merge, source=source).encode()


@given(merges())
def test_no_words_of_an_agent_leave_the_address_of_the_code(merge: Merge) -> None:
    tree = Tree(
        merge_html(merge, sources().workspace, source=ReportSource("shop", "", "", "https://host/blob/abc", "-L"))
    )

    links = [value for value in tree.values("href") if not value.startswith("#")]
    assert all(re.fullmatch(r"https://host/blob/abc/[\w.~/%-]+(#L\d+(-L\d+)?)?", link) for link in links)
    assert tree.tags.count("script") == 1


def test_a_report_names_its_project_its_commit_and_its_date() -> None:
    source = ReportSource("shop & sons", "commit 0123456789", "2026-03-09 15:30")
    text = merge_html(merge_of(finding()), source=source)

    assert "<title>Review of shop &amp; sons: 1 finding</title>" in text
    assert "<h1>Review of shop &amp; sons</h1>" in text
    assert '<p class="quiet">commit 0123456789 · 2026-03-09 15:30</p>' in text


@pytest.mark.parametrize(
    ("remote", "is_pushed", "address", "between"),
    [
        ("https://github.com/owner/shop.git", True, "https://github.com/owner/shop/blob/{commit}", "-L"),
        ("git@gitlab.com:group/sub/shop.git", True, "https://gitlab.com/group/sub/shop/-/blob/{commit}", "-"),
        ("https://user:secret@github.com/owner/shop", True, "https://github.com/owner/shop/blob/{commit}", "-L"),
        ("https://github.com/owner/shop.git", False, "../my%20shop", ""),
        ("https://example.com/owner/shop.git", True, "../my%20shop", ""),
        ("", False, "../my%20shop", ""),
    ],
)
def test_code_is_linked_where_the_commit_is(
    remote: str, is_pushed: bool, address: str, between: str, tmp_path: Path
) -> None:
    root, folder = tmp_path / "my shop", tmp_path / "reports"
    root.mkdir()
    (root / "cart.py").write_text("total = 1\n", encoding="utf-8")
    steps = [["init", "--quiet"], ["add", "."], [*AUTHOR, "commit", "--quiet", "--message", "The shop"]]
    steps += [["remote", "add", "origin", remote]] if remote else []
    steps += [["update-ref", "refs/remotes/origin/main", "HEAD"]] if is_pushed else []
    for arguments in steps:
        subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True)
    commit = git.head(root) or ""
    source = report_source(root, folder, MADE)

    assert source == ("my shop", f"commit {commit[:10]}", "2026-03-09 15:30", address.format(commit=commit), between)
    (root / "cart.py").write_text("total = 2\n", encoding="utf-8")
    assert report_source(root, None, MADE).commit == f"commit {commit[:10]} and changes"
    assert report_source(root, None, MADE).address == ("" if not between else source.address)


def test_a_folder_without_git_has_no_commit(tmp_path: Path) -> None:
    assert report_source(tmp_path, tmp_path, MADE) == (tmp_path.name, "", "2026-03-09 15:30", ".", "")


@pytest.mark.parametrize(
    ("between", "line", "end_line", "link"),
    [
        ("-L", 12, 18, "#L12-L18"),
        ("-", 12, 18, "#L12-18"),
        ("-L", 12, 12, "#L12"),
        ("-L", None, None, ""),
        ("", 12, 18, ""),
    ],
)
def test_a_link_leads_to_the_lines(between: str, line: int | None, end_line: int | None, link: str) -> None:
    source = ReportSource("shop", "", "", "base", between)
    cited = msgspec.structs.replace(finding(), path="a b/c#d.py", line=line, end_line=end_line)

    assert source.link(cited) == f"base/a%20b/c%23d.py{link}"
    for path in (None, "/etc/passwd", "../other.py"):
        assert source.link(msgspec.structs.replace(cited, path=path)) == ""


def test_the_findings_of_each_severity_are_a_group_with_their_number() -> None:
    rows = [finding("QA-1", severity="critical"), *(finding(f"QA-{n}", severity="minor") for n in (2, 3))]
    text = merge_html(merge_of(*rows))

    bands = re.findall(r'<p class="band" data-band="(\w+)">(\w+) <span class="quiet">(\d+)</span></p>', text)
    assert bands == [("critical", "Critical", "1"), ("minor", "Minor", "2")]
    assert text.index('data-band="minor"') < text.index('id="finding-2"')


def test_the_policy_allows_nothing_but_the_two_parts_of_the_page() -> None:
    (policy,) = [value for value in seen(example()).values("content") if "default-src" in value]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; "
        r"base-uri 'none'; form-action 'none'",
        policy,
    )


def test_headings_come_in_order() -> None:
    merge = merge_of(finding(), dropped=(finding(reason="unsure"),), conflicts=(conflict(),), failed=(INVENTED,))
    levels = [int(tag[1]) for tag in seen(merge).tags if re.fullmatch("h[1-6]", tag)]
    assert levels == [1, 2, 2, 2, 3, 2, 2, 2]


def test_every_control_has_a_label_and_every_id_is_unique() -> None:
    text = merge_html(example())
    form = text[text.index("<form") : text.index("</form>")]
    for control in re.findall(r"<(?:input|select)[^>]*>", form):
        before = form[: form.index(control)]
        assert before.count("<label") > before.count("</label")
    ids = Tree(text).values("id")
    assert len(ids) == len(set(ids))
    assert all(name in ids for name in Tree(text).values("aria-labelledby"))


def test_the_cited_lines_are_marked_with_three_lines_around_them() -> None:
    tree = seen(merge_of(finding(place=PLACES[1])), with_checkout=True)
    assert [row.strip() for row in tree.marked if row.strip().isdigit()] == ["40", "41", "42"]
    assert tree.values("class").count("row") == 6


@pytest.mark.parametrize("place", [*LOST, (f"{SHOP}/auth.py", None, None)])
def test_a_place_that_cannot_be_shown_has_no_excerpt(place: tuple[str | None, int | None, int | None]) -> None:
    tree = seen(merge_of(finding(place=place, verified=None)), with_checkout=True)
    assert "figure" not in tree.tags
    assert "Unchecked" in "".join(tree.text["li"])


def test_a_long_range_is_cut() -> None:
    tree = seen(merge_of(finding(place=(f"{SHOP}/catalog.py", 1, 60))), with_checkout=True)
    assert tree.values("class").count("row cited") == 12


def test_a_card_shows_agreement_and_each_agents_own_opinion() -> None:
    shown = finding("SEC-001", agents=("a", "b"), details="**Risk**: loss\n**Fix**: <b>fix it</b>", flags=("agreed",))
    agents = tuple(AgentReport(name, "SUCCESS", "accept") for name in "abcde")
    text = merge_html(merge_of(shown, agents=agents))
    assert "<span>2 of 5 agents</span>" in text
    details = '<dl class="details"><dt>Risk</dt><dd>loss</dd><dt>Fix</dt><dd>&lt;b&gt;fix it&lt;/b&gt;</dd></dl>'
    assert text.count(details) == 2


@pytest.mark.parametrize(("decision", "color"), [("continue", "good"), ("review", "warn"), ("retry", "bad")])
def test_the_first_chip_is_the_decision_and_not_how_the_run_ended(decision: MergeDecision, color: str) -> None:
    agents = (AgentReport("a", "SUCCESS", "revise"),)
    text = merge_html(msgspec.structs.replace(merge_of(agents=agents), decision=decision))
    assert f'<p class="verdict"><span class="chip {color}">{decision.capitalize()}</span>' in text
    assert f'<p class="headline">decision {decision} · run SUCCESS · 0 failed · 0 dropped · 0 dismissed</p>' in text


DETAILS = "**QA-001: A bug**\n```py\nthe_quoted_code()\n```\nSome words.\n"


def test_details_repeat_neither_the_title_nor_the_code_that_is_shown() -> None:
    shown = merge_of(finding(details=DETAILS))
    card = merge_html(shown, sources().workspace)
    assert "the_quoted_code" not in card
    assert "QA-001: A bug" not in card
    assert '<p class="words">Some words.</p>' in card
    assert "<pre>the_quoted_code()</pre>" in merge_html(shown)


def test_long_help_is_folded() -> None:
    text = merge_html(merge_of(finding(details="Why it is bad. " * 40)))
    assert '<details class="more"><summary>Full text</summary><pre>Why it is bad.' in text


def test_conflicts_and_what_did_not_hold_come_before_the_findings() -> None:
    merge = merge_of(
        finding("QA-001"),
        finding("QA-002", agents=("b",), flags=("disputed",)),
        conflicts=(conflict(about="QA-002"),),
        failed=(INVENTED,),
    )
    text = merge_html(merge)
    places = [text.index(f'id="{name}"') for name in ("conflicts", "failed", "findings", "finding-1")]
    assert places == sorted(places)
    assert '<a class="subject" href="#finding-2">QA-002</a>' in text
    assert '<dt><a href="#conflicts">Conflicts</a></dt>' in text
    assert "<td>ruff</td><td>the file has 171 lines</td>" in text
    assert '<span class="chip warn">disputed</span>' in text


def test_every_other_title_stands_beside_that_of_the_finding() -> None:
    other = finding(agents=("b",), title="Something <else>").opinions
    both = msgspec.structs.replace(finding(), opinions=(*other, *finding().opinions))
    assert '<p class="beside">Also stated there: Something &lt;else&gt;</p>' in merge_html(merge_of(both))


def test_dropped_findings_are_folded_away_with_their_reasons() -> None:
    text = merge_html(merge_of(dropped=(finding("QA-009", reason="confidence 60 is under 75"),)))
    assert '<details class="fold">\n<summary><h2>Dropped findings (1)</h2></summary>' in text
    assert "<td>confidence 60 is under 75</td>" in text


def test_nothing_found_needs_no_filters() -> None:
    tree = seen(merge_of())
    assert "form" not in tree.tags
    assert "No issues were found." in "".join(tree.text["p"])


@pytest.mark.slow
def test_more_findings_than_cards_are_rows_and_all_can_be_filtered() -> None:
    tree = seen(merge_of(*(finding(f"QA-{number}") for number in range(1050))))
    assert tree.tags.count("article") == page.MAX_CARDS
    assert tree.values("data-severity").count("important") == 1050
    assert "50 findings of lower rank, without details" in "".join(tree.text["caption"])
    assert "finding-1050" in tree.values("id")


def test_more_text_than_anybody_reads_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MAX_TEXT", 50_000)
    monkeypatch.setattr(page, "MAX_ROWS", 10)
    words = "x" * 1_000_000
    text = merge_html(merge_of(*(finding(title=words, details=words, agents=tuple("abcdef")) for _ in range(200))))
    assert text.count("<article") < 10
    assert "more.</p>" in text
    assert len(text) < 150_000


def test_a_title_of_the_callers_own_is_escaped_and_an_empty_one_replaced() -> None:
    assert "<title>a &lt;b&gt; c</title>" in merge_html(merge_of(), title="a <b> c")
    assert "<title>Review findings</title>" in merge_html(merge_of(), title="")


# Colours: text against its background, in both schemes.
PAIRS = [
    *(("ink", ground) for ground in ("page", "card", "sunk", "mark", "dispute")),
    *(("soft", ground) for ground in ("page", "card", "sunk", "mark", "dispute")),
    *(("link", ground) for ground in ("page", "card", "dispute")),
    *((name, f"{name}-wash") for name in ("critical", "important", "minor", "unrated", "good")),
    *((name, "card") for name in ("critical", "important", "minor")),
]


def colours() -> list[dict[str, str]]:
    style = (files("remit.reports") / "html" / "merge.css").read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block)) for block in blocks]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(shown: str, other: str) -> float:
    light, dark = sorted((luminance(shown), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
@pytest.mark.parametrize(("ink", "ground"), PAIRS)
def test_text_stands_out_from_its_ground(scheme: int, ink: str, ground: str) -> None:
    palette = colours()[scheme]
    assert contrast(palette[ink], palette[ground]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1])
def test_the_edges_of_controls_can_be_seen(scheme: int) -> None:
    palette = colours()[scheme]
    assert contrast(palette["edge"], palette["page"]) >= 3
    assert contrast(palette["focus"], palette["page"]) >= 3
    assert contrast(palette["bar"], palette["card"]) >= 3


MANY = tuple(AgentReport(f"agent-{number}", "SUCCESS", "accept") for number in range(120))


def test_a_report_starts_with_findings() -> None:
    shown = merge_html(merge_of(finding(), agents=MANY))
    assert shown.index('id="findings-title"') < shown.index("Agents (120)") < shown.index("agent-119")
    few = merge_html(merge_of(finding(), agents=MANY[:12]))
    assert few.index('id="findings-title"') < few.index("agents-title")


def test_ten_thousand_findings_are_cards_and_closed_pages() -> None:
    shown = merge_html(merge_of(*(finding(f"QA-{number}") for number in range(10_000))))
    assert shown.count('<article class="card') == page.MAX_CARDS
    assert shown.count('<details class="page">') == (10_000 - page.MAX_CARDS) // 500
    assert "<summary>1,001 to 1,500</summary>" in shown
    assert 'id="finding-10000"' in shown
    assert shown.count("content-visibility: auto") == 1
