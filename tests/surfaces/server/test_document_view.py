"""Results as Markdown with their claims in place, code in colours, and corrections."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.surfaces.server.job_pages import MAX_DOCUMENT, coloured_lines, difference, rendered

CLAIM = {"text": "a.py:3", "at": 1, "outcome": "out-of-range", "why": "the file has 2 lines"}


def tags(html: str) -> set[str]:
    return set(re.findall(r"<([a-z0-9]+)", html))


def test_a_claim_is_marked_in_its_sentence() -> None:
    page = str(rendered("See `a.py:3` and a.py:3.", [CLAIM, {**CLAIM, "outcome": "exists"}]))
    assert page.count("a.py:3<small>") == 2
    assert '<code><a class="claim bad" href="#claim-1" title="the file has 2 lines">a.py:3<small>out-of-range' in page
    assert '<a class="claim good" href="#claim-2"' in page


def test_a_claim_stays_in_its_row_and_its_cell() -> None:
    text = "| 日本 | Place |\n|---|---|\n| one | `a.py:3` |\n| two | line 3 of a.py |\n"
    claims = [{**CLAIM, "at": 3}, {**CLAIM, "at": 4}]
    page = str(rendered(text, claims))
    one, two = re.findall(r"<tr><td>.*?</tr>", page)
    assert "<td>one</td><td><code><a" in one
    assert "<td>line 3 of a.py<a" in two  # its words differ from the text of the claim


def test_a_violation_is_a_note_at_its_line() -> None:
    violation = {"level": "L1", "rule": "title-missing", "message": "no <title>", "line": 3}
    page = str(rendered("First.\n\nSecond.", [], [violation]))
    assert '<p>Second.<span class="note bad">L1 title-missing: no &lt;title&gt;</span></p>' in page


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "text <img src=x onerror=alert(1)>",
        "[a](javascript:alert(1)) ![b](http://example.com/x.png)",
        "# <b onclick=x>\n\n```html\n<script>x</script>\n```",
    ],
)
def test_markup_of_an_agent_is_text(text: str) -> None:
    page = str(rendered(text, []))
    assert tags(page) <= {"p", "code", "pre", "h2", "span"}
    assert "href" not in page


@given(st.text(alphabet="#*_`|<>[]()!-~+ \n\t\u202eax1.:日", max_size=200))
def test_any_text_becomes_a_closed_set_of_balanced_tags(text: str) -> None:
    page = rendered(text, [CLAIM])
    if page is None:
        assert not text.strip()
        return
    single = {"br", "hr"}
    opened = [name for name in re.findall(r"<([a-z0-9]+)", page) if name not in single]
    assert sorted(opened) == sorted(re.findall(r"</([a-z0-9]+)>", page))
    assert "\u202e" not in page


def test_a_very_long_text_is_not_rendered() -> None:
    assert rendered("x" * (MAX_DOCUMENT + 1), []) is None


def test_code_has_the_colours_of_its_language_and_keeps_its_lines() -> None:
    first, empty, last = coloured_lines('def f():  # "<b>"\n\n    return "日"', path="shop/a.py")
    assert '<span class="hl-keyword">def</span>' in first
    assert '<span class="hl-comment"># &#34;&lt;b&gt;&#34;</span>' in first
    assert empty == ""
    assert '<span class="hl-string">' in last
    assert coloured_lines("<a>\n", path="no-such.ending-of-a-file") == ["&lt;a&gt;", ""]


def test_a_correction_is_shown_by_its_lines() -> None:
    assert difference("a\nb\nc", "a\nx\nc") == [("@", ""), (" ", "a"), ("-", "b"), ("+", "x"), (" ", "c")]
    assert difference("same", "same") == ()
    assert difference("a\n" * 9, "b", limit=5) == ()
