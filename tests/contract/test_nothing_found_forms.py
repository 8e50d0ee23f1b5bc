"""Which results say that nothing was found: the whole first sentence has one of a few forms."""

from __future__ import annotations

import pytest
from verdicts import blocking

from remit.contract.nothing_found import names_a_place, says_nothing_found

_FORM = """## Code Explorer Result

### Status
SUCCESS

### Summary
{summary}

### Findings
{findings}
### Confidence
90 - every file below the folder was listed and searched
verified_confidence: 95
inferred_confidence: 85
combined_confidence: 90

### Confidence Justification
**Score**: 90
**Evidence Count**: 0
**Verification Method**: searched every file
**Potential Blind Spots**: code that is loaded by configuration

### Verification Completed
- [x] **File References Valid**: yes
- [x] **Code Snippets Accurate**: yes
- [x] **No Hallucinated Paths**: yes
- [x] **Evidence Documented**: yes
"""


@pytest.mark.parametrize(
    "summary",
    [
        "No cache was found in `app/`. All files were read.",
        "No issues were found.",
        "There is no cache below `app/**`.",
        "There are no callers of `login` in app/login.py.",
        "Nothing was found in app/.",
        "The search found no use of it in app/.",
        "I found nothing under `app/`.",
        "在 app/ 中没有找到缓存。已阅读所有文件。",
        "app/ にキャッシュは見つかりませんでした。",
    ],
)
def test_a_sentence_of_absence_says_that_nothing_was_found(summary: str) -> None:
    assert says_nothing_found(summary)


@pytest.mark.parametrize(
    "summary",
    [
        "The login was traced. No issues were found.",
        "There is no doubt that the login is broken in app/.",
        "There is no cache, but the login is broken in app/login.py.",
        "No cache was found in app/, although the login keeps its users in one.",
        "No module that checks a password was found to be safe.",
        "The login does not exist twice.",
        "没有找到缓存，但登录有问题。",
        "",
    ],
)
def test_a_sentence_that_says_more_does_not(summary: str) -> None:
    assert not says_nothing_found(summary)


@pytest.mark.parametrize(("text", "is_place"), [("in `app/`", True), ("in app/login.py", True), ("*.py", True)])
def test_a_path_a_folder_and_a_glob_are_places(text: str, is_place: bool) -> None:
    assert names_a_place(text) is is_place
    assert not names_a_place("nothing here and/or there")


@pytest.mark.parametrize(
    "findings", ["", "None.\n", "#### Entry Points\n| Entry | File:Line | Type |\n| --- | --- | --- |\n"]
)
def test_nothing_found_is_an_answer_of_every_kind(findings: str) -> None:
    text = _FORM.format(summary="No cache was found in `app/`. All files were read.", findings=findings)
    assert blocking(text) == []


def test_an_answer_that_names_no_searched_place_needs_its_findings() -> None:
    text = _FORM.format(summary="No cache was found. All files were read.", findings="")
    assert "findings-missing" in blocking(text)


@pytest.mark.parametrize(
    "sentence", ["There is no cache.", "No bugs were found in `app/`.", "Nothing was found in app/."]
)
def test_a_sentence_of_absence_above_findings_lifts_nothing(sentence: str) -> None:
    prose = "The login starts in the API. It asks the store. Then it makes a token.\n"
    text = _FORM.format(summary=f"{sentence} The login starts in the API and is traced.", findings=prose)
    assert {"block-missing", "references-missing"} <= set(blocking(text))
