"""The reports on a check, without a process: marks, width, escaping, and what the shapes hold."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.checking import Options, Verdict, check_text
from remit.evidence.sources import Sources
from remit.reports.formats import check_github, check_json
from remit.reports.layout import display_width, escape_control, plain_lines
from remit.reports.verdict_text import check_text_lines
from remit.rules.examples import TREE, sample_text
from remit.workspace.files import WorkTree

GOOD = sample_text("review")
SOURCES = Sources(workspace=WorkTree(TREE))
REVIEW = Options(kind="review")


def checked(text: str, path: str = "a.md", *, select: str = "") -> list[Verdict]:
    options = Options(kind="review", select=(select,) if select else ())
    return check_text(text, path, options, SOURCES)


def shown(verdicts: Sequence[Verdict], columns: int = 80) -> list[str]:
    return plain_lines(check_text_lines(verdicts, columns, SOURCES.workspace)).split("\n")


def columns_of(line: str, words: str) -> tuple[int, int]:
    """The first column of words in a line, and the one after them."""
    start = display_width(line[: line.index(words)])
    return start, start + display_width(words)


def marked(lines: list[str]) -> tuple[str, tuple[int, int]]:
    """The line of the document that is shown, and the columns that are marked under it."""
    (place,) = [place for place, line in enumerate(lines) if re.fullmatch(r" {11}│ +\^+", line)]
    mark = lines[place]
    return lines[place - 1], (mark.index("^"), mark.index("^") + mark.count("^"))


# The mark


def test_the_mark_is_under_the_violation() -> None:
    lines = shown(checked(GOOD.replace("### Status\nSUCCESS", "### Status\nNEARLY DONE"), select="status-unknown"))
    line, under = marked(lines)
    assert line.startswith("         4 │ ")
    assert under == columns_of(line, "NEARLY DONE")


def test_the_mark_is_under_the_violation_after_wide_characters() -> None:
    text = GOOD.replace(
        "| Tokens can be guessed | `app/session.py:10` | Critical", "| 推測可能 | `app/session.py:10` | 深刻"
    )
    line, under = marked(shown(checked(text, select="severity-unknown")))
    assert under == columns_of(line, "深刻")
    assert under[1] - under[0] == 4


def test_the_mark_is_under_the_violation_after_tabs_and_combining_characters() -> None:
    text = GOOD.replace("| Tokens can be guessed |", "| cafe\u0301\tau lait |").replace("Critical", "Severe")
    line, under = marked(shown(checked(text, select="severity-unknown")))
    assert under == columns_of(line, "Severe")


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_a_long_line_is_cut_around_the_mark(columns: int) -> None:
    text = GOOD.replace("Tokens can be guessed |", "word " * 60 + "|").replace(
        "Critical | 95 |", "Severe | 95 | " + "x" * 300
    )
    line, under = marked(shown(checked(text, select="severity-unknown"), columns))
    assert under == columns_of(line, "Severe")
    assert display_width(line) <= columns
    assert "`app/session.py:10` | Severe | 95 | x" in line


def test_a_line_that_fits_is_not_cut() -> None:
    line, _ = marked(shown(checked(GOOD.replace("Critical", "Severe"), select="severity-unknown"), 100))
    assert line.endswith("| SEC-001 | Tokens can be guessed | `app/session.py:10` | Severe | 95 |")


def test_the_same_advice_is_given_once() -> None:
    lines = shown(
        checked(GOOD.replace("Critical |", "Severe |").replace("Minor |", "Tiny |"), select="severity-unknown")
    )
    assert sum("severity-unknown" in line for line in lines) == 2
    assert sum("→ Write critical, important or minor." in line for line in lines) == 1


# Width


def is_location(line: str) -> bool:
    """Return whether a line ends with a path, which is never cut."""
    *label, word = line.split()
    return "/" in word and len(" ".join(label)) < 40


@pytest.mark.parametrize("columns", [80, 140])
def test_no_line_is_wider_than_the_screen(columns: int) -> None:
    text = GOOD.replace("Tokens can be guessed |", "word " * 60 + "|").replace("Critical", "Severe " * 30)
    text = text.replace("`app/login.py:7`", f"`app/{'deep/' * 40}login.py:7`").replace("90 - every", "190 - every")
    wide = [line for line in shown(checked(text), columns)[1:] if display_width(line) > columns]
    assert [line for line in wide if not is_location(line)] == []
    assert any(line.strip().endswith("login.py:7:") for line in wide), "a location is whole"


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(("Tokens can be guessed |", "推測可能な値" * 2 + "|"), id="the line before the mark"),
        pytest.param(("Critical |", "深刻な問題" * 10 + " |"), id="the words at fault"),
        pytest.param(("`app/login.py:7`", "`app/" + "深い" * 40 + ".py:7`"), id="a path"),
    ],
)
def test_no_line_of_wide_text_is_wider_than_the_screen(edit: tuple[str, str]) -> None:
    text = GOOD.replace(*edit).replace("Critical |", "Severe |")
    assert [line for line in shown(checked(text))[1:] if display_width(line) > 80 and not is_location(line)] == []


def test_a_long_line_of_wide_text_is_cut_around_the_mark() -> None:
    text = GOOD.replace("Tokens can be guessed |", "推測" * 8 + " |").replace("Critical |", "Severe |")
    line, under = marked(shown(checked(text, select="severity-unknown")))
    assert under == columns_of(line, "Severe")
    assert max(display_width(line), under[1]) <= 80


def test_names_of_rules_that_were_not_checked_are_not_broken() -> None:
    verdicts = check_text(GOOD, "a.md", REVIEW)
    text = plain_lines(check_text_lines(verdicts, 80))
    missing = [skipped.rule for skipped in verdicts[0].not_run if skipped.rule not in text]
    assert missing == []


# What a document cannot do

HOSTILE = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("\x00\x07\x08\x0b\x0c\x1b\x7f\x80\x85\x9b\x9f\u200b\u200e\u202e\u2028\u2029\u2066\u2069\ufeff"),
        st.sampled_from("%:,<>&\"']]>"),
    ),
    min_size=1,
    max_size=20,
)
_TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "B"}
_MARKS = "\u200b\u200e\u200f\u061c\u2028\u2029\u2060\ufeff"


def raw(text: str) -> list[str]:
    """What a terminal or a browser would obey."""
    return [
        mark
        for mark in text
        if mark != "\n"
        and (unicodedata.category(mark) in ("Cc", "Cs") or unicodedata.bidirectional(mark) in _TURNS or mark in _MARKS)
    ]


def hostile(words: str) -> str:
    text = GOOD.replace("Security Auditor", f"Security {words} Auditor").replace("Critical |", f"Se{words} |")
    return text.replace("### Status\nSUCCESS", f"### Status\n{words}").replace("app/login.py:7`", f"app/{words}.py:7`")


@given(words=HOSTILE, path=HOSTILE)
def test_no_character_that_is_obeyed_reaches_a_report_raw(words: str, path: str) -> None:
    verdicts = checked(hostile(words), path)
    assert raw("\n".join(shown(verdicts))) == []
    assert raw(check_github(verdicts)) == []


@given(words=HOSTILE, path=HOSTILE)
def test_every_violation_is_one_workflow_command_with_three_properties(words: str, path: str) -> None:
    verdicts = checked(hostile(words), path)
    violations = [violation for verdict in verdicts for violation in verdict.violations]
    lines = check_github(verdicts).split("\n")
    assert len(lines) == len(violations) > 0
    for line, violation in zip(lines, violations, strict=True):
        match = re.fullmatch(r"::(error|warning|notice) file=([^,:]*),line=(\d+),title=([^,:]*)::(.*)", line)
        assert match is not None
        assert int(match[3]) == violation.line
        assert not re.search(r"%(?!25|3A|2C)", match[2])
        assert not re.search(r"%(?!25)", match[5])
        assert match[2].replace("%2C", ",").replace("%3A", ":").replace("%25", "%") == escape_control(path)


@pytest.mark.parametrize(
    "mark", ["\xad", "\u180e", "\u2061", "\u2064", "\u206a", "\u206f", "\ufff9", "\ufffb", "\U000e0001", "\U000e0041"]
)
def test_a_character_that_cannot_be_seen_is_made_visible(mark: str) -> None:
    assert mark not in escape_control(f"a{mark}b")


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_every_control_character_is_made_visible(code: int) -> None:
    text = escape_control(f"a{chr(code)}b")
    assert raw(text) == []
    assert len(text) > 2


def test_text_of_any_language_is_shown_as_it_is() -> None:
    for text in ("plain", "推測可能", "Größe", "cafe\u0301", "مرحبا", "👩‍💻", "a │ b"):
        assert escape_control(text) == text


def test_width_counts_columns_not_characters() -> None:
    assert [display_width(text) for text in ("abc", "推測", "ｱ", "Ａ", "e\u0301")] == [3, 4, 1, 2, 1]


# Shapes


def test_the_levels_are_errors_warnings_and_notices() -> None:
    text = GOOD.replace("### Status\nSUCCESS\n\n", "").replace("Critical |", "Severe |")
    text = text[: text.index("### Next Steps")]
    levels = {violation.level for violation in checked(text)[0].violations}
    assert levels == {"L1", "L2", "L3"}
    words = {line.split(" ")[0] for line in check_github(checked(text)).split("\n")}
    assert words == {"::error", "::warning", "::notice"}


def test_nothing_to_say_is_nothing_on_github() -> None:
    assert check_github(checked(GOOD)) == ""


def test_required_claims_that_are_missing_are_an_error_on_github() -> None:
    options = Options(profile="claims")
    texts = {"empty.md": "Nothing is cited here.\n", "good.md": "See `src/app.py:1`.\n"}
    verdicts = [verdict for path, text in texts.items() for verdict in check_text(text, path, options)]
    assert "::error" not in check_github(verdicts)
    assert check_github(verdicts, require_claims=True).split("\n")[0] == (
        "::error file=empty.md,line=1,title=no claims found::The text states nothing about the code that can be "
        "checked, and --require-claims asks for claims."
    )


def test_the_json_report_names_the_repository_or_null() -> None:
    assert json.loads(check_json(checked(GOOD), "there"))["summary"]["repository"] == "there"
    report = json.loads(check_json(check_text(GOOD, "a.md", REVIEW)))
    assert report["summary"]["repository"] is None
    assert {skipped["why"] for skipped in report["results"][0]["not_run"]} >= {"no repository was given"}


def test_the_json_report_keeps_the_lines_of_what_was_found() -> None:
    (result,) = json.loads(check_json(checked(GOOD.replace("app/session.py:10` | C", "app/sesion.py:10` | C"))))[
        "results"
    ]
    (reference,) = [r for r in result["references"] if r["path"] == "app/sesion.py"]
    assert reference["outcome"] == "missing-file"
    assert reference["found"] == {"path": "app/session.py", "line": 10}
    assert (reference["line"], reference["at"]) == (10, 14)


def test_claims_that_hold_are_counted() -> None:
    lines = shown(checked(GOOD))
    assert [line for line in lines if re.fullmatch(r"  claims  [2-5] (verified|exist), [2-5] (verified|exist)", line)]
    assert not [line for line in lines if line.startswith("    line ")]


def test_the_source_around_the_best_guess_is_shown() -> None:
    lines = shown(checked(GOOD.replace("app/session.py:10` | C", "app/sesion.py:10` | C")))
    assert "               → app/session.py:10" in lines
    assert "           >    10 │     token = str(random.randint(0, 10**9))" in lines


def test_hard_rules_come_first_and_equal_violations_are_folded() -> None:
    text = (
        GOOD.replace("Critical |", "Severe |")
        .replace("`app/login.py:7`", "`app/gone.py:7`")
        .replace("90 - every", "190 - every")
    )
    verdicts = checked(text)
    lines = [line.split() for line in shown(verdicts) if line.startswith(("  L1 ", "  L2 ", "  L3 "))]

    levels = [words[0] for words in lines]
    assert levels == sorted(levels)
    assert {"L1", "L3"} & set(levels)
    messages = {(violation.rule, violation.message) for verdict in verdicts for violation in verdict.violations}
    assert len(lines) == len(messages)


def test_a_violation_that_is_repeated_names_all_its_lines() -> None:
    again = "| login | `app/login.py:7`"
    text = GOOD.replace("`app/session.py:10`", "`app/gone.py:7`").replace("`app/login.py:7`", "`app/gone.py:7`")
    lines = [line for line in shown(checked(text, select="reference-missing-file")) if "reference-missing-file" in line]

    assert again not in text
    assert len(lines) == 1
    assert re.search(r"  lines \d+, \d+", lines[0])
