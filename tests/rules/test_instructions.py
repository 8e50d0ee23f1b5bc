"""The answer instructions match the checks: the filled-in form is accepted."""

from __future__ import annotations

import re

import pytest
from verdicts import blocking, broken, verdict

from remit.contract.kinds import CATEGORIES, KINDS
from remit.contract.profiles import PROFILES
from remit.contract.template import template
from remit.contract.tokens import estimate_tokens
from remit.rules.base import Rule
from remit.rules.catalog import every_rule, find
from remit.rules.instructions import instructions

#: The text for each placeholder of the forms.
FILLED = {
    "Agent Name": "{agent}",
    "SUCCESS | PARTIAL | FAILED": "SUCCESS",
    "two or three sentences: what you did and what the outcome is": "The login was read. It works.",
    "what you found, with file:line for each statement": "The login begins at `app/login.py:7`.",
    "name": "login",
    "path/to/file:line": "app/login.py:7",
    "why it matters": "where a user comes in",
    "0-100": "90",
    "why": "every line was read",
    "the same number": "90",
    "number of cited locations": "1",
    "how you verified": "read the files",
    "what you may have missed": "code that is loaded by configuration",
    "how you checked": "opened every file",
    "number": "0",
    "what you considered": "One table or two",
    "what you decided and why": "one, since two would have to agree",
    "the next action": "Tag the release",
    "kind of error": "MissingDependency",
    "error message": "pytest is not installed",
    "file:line or step": "`tests/test_login.py:1`",
    "true if the same task can succeed on another try, else false": "true",
    "what you tried": "ran the tests",
    "why it happened": "The tools are missing.",
    "option": "Install them",
    "what it requires": "one command",
    "what blocks you": "The tests cannot run",
    "what would resolve it": "install the tools",
    # exploration
    "what starts here": "login",
    "path/to/file.py:12": "`app/session.py:8`",
    "what it is": "function",
    "a step → path/to/file.py:12 (symbol)": "Look the user up → `app/store.py:14` (find_user)",
    "a pattern and where it is used": "A table, `app/session.py:5`",
    "internal and external": "app.store",
    # design
    "a pattern in use": "A table",
    "how to follow it": "keep it",
    "what to build, in one or two sentences": "keep the table",
    "why this approach": "it is enough",
    "its name": "login",
    "path/to/file.py": "`app/session.py`",
    "Create or Modify": "Modify",
    "what to build next": "Add the clock",
    # review
    "SEC-001": "QA-001",
    "what is wrong": "Tokens do not expire",
    "critical, important or minor": "minor",
    "ID": "QA-001",
    "issue": "Tokens do not expire",
    "the quoted lines, copied exactly": "def login():",
    "what can happen": "a session lives for ever",
    "what to do": "let it expire",
    "PASS or FAIL": "PASS",
    f"{', '.join(CATEGORIES[:-1])} or {CATEGORIES[-1]}": "quality",
    # sections that apply to some results
    "description": "the table has no clock",
    "what is unclear, and what would clarify it": "Whether the table is shared; a run would show it.",
    "name of an L2 rule": "single-source",
    "why it does not apply here": "the task names one file",
    # implementation, verification, document
    "what it is for": "tests of the login",
    "its number of lines": "12",
    "what changed": "added a function",
    "+5 or -2": "+5",
    "the command and its output, in a fence": "$ pytest\n2 passed",
    "decisions worth knowing": "none",
    "what was claimed": "Unknown users get nothing",
    "VERIFIED, PARTIAL or UNVERIFIED": "VERIFIED",
    "docs/page.md": "`docs/login.md`",
}
AGENTS = {kind.name: kind.agents[0] if kind.agents else "anybody" for kind in KINDS.values()}
WITH_FORM = [profile.name for profile in PROFILES.values() if profile.only is None]
PLACEHOLDER = re.compile(r"\[([^\[\]\n]{2,})\]")
FORMS = [(kind, scored) for kind in KINDS for scored in (True, False)]


def filled(form: str, kind: str, *, but: int | None = None) -> str:
    """Fill in the placeholders of a form, all or all except one; an unknown placeholder raises KeyError."""
    place = -1

    def fill(found: re.Match[str]) -> str:
        nonlocal place
        place += 1
        return found.group() if place == but else FILLED[found.group(1)].format(agent=AGENTS[kind])

    text = PLACEHOLDER.sub(fill, form)
    return text.replace("- Minor: 0", "- Minor: 1") if kind == "review" else text


@pytest.mark.parametrize("profile", WITH_FORM)
@pytest.mark.parametrize("kind", KINDS)
def test_the_filled_in_form_is_accepted(kind: str, profile: str) -> None:
    told = instructions(kind, profile)
    form, *_ = re.findall(r"````markdown\n(.*?)````", told, re.DOTALL)
    text = filled(form, kind)
    assert blocking(text, profile=profile) == []
    assert verdict(text, profile=profile).verdict == "accept"
    assert verdict(text, profile=profile).kind == kind


def test_a_profile_without_a_form_asks_for_none_and_lists_only_its_own_rules() -> None:
    told = instructions("review", "claims")
    assert "````" not in told
    assert "- reference-missing-file: " in told
    assert "- status-missing: " not in told


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "error"])
def test_every_agent_gets_the_form_for_failures(kind: str) -> None:
    form, failure = re.findall(r"````markdown\n(.*?)````", instructions(kind, "v2"), re.DOTALL)
    head = re.split("### (?:Findings|Key References)", form)[0].replace("[SUCCESS | PARTIAL | FAILED]", "FAILED")
    found = verdict(filled(head + failure, kind))
    assert (found.kind, found.verdict) == ("error", "accept")


@pytest.mark.parametrize(("kind", "scored"), FORMS)
def test_every_single_unfilled_placeholder_is_reported(kind: str, scored: bool) -> None:
    form = template(KINDS[kind], scored=scored)
    profile = "v2" if scored else "v1"
    for place in range(len(PLACEHOLDER.findall(form))):
        text = filled(form, kind, but=place)
        assert "placeholder-left" in broken(text, profile=profile), text


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_in_the_instructions_exists_and_is_listed_under_its_level(kind: str, profile: str) -> None:
    told = instructions(kind, profile).split("## Rules", 1)[1]
    for part in re.split(r"^(?=L[123] \()", told, flags=re.MULTILINE)[1:]:
        names = re.findall(r"^- ([a-z-]+): ", part.split("\n\n", 1)[0], re.MULTILINE)
        assert names
        assert all(find(name).level_in(profile) == part[:2] for name in names)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_rule_with_a_prompt_is_listed_exactly_where_it_applies(profile: str) -> None:
    for kind in KINDS:
        text = instructions(kind, profile)
        for rule in every_rule():
            if rule.prompt:
                applies = rule.level_for(profile, KINDS[kind]) is not None
                assert (f"- {rule.name}: {rule.prompt}" in text) == applies


def test_every_placeholder_in_the_map_is_in_a_form() -> None:
    forms = [template(KINDS[kind], scored=scored) for kind, scored in FORMS]
    assert set(FILLED) == {name for form in forms for name in PLACEHOLDER.findall(form)}


#: Rule without its own line -> the words of the instructions that ask for what it checks.
ASKED = {
    "unreadable": "the Markdown form below",
    "title-missing": "## [Agent Name] Result",
    "agent-mismatch": "You are [Agent Name].",
    "placeholder-left": "Replace every [placeholder].",
    "status-unknown": "[SUCCESS | PARTIAL | FAILED]",
    "summary-missing": "### Summary\n",
    "findings-missing": "### Findings\n",
    "confidence-missing": "### Confidence\n",
    "confidence-reason": "[0-100] - [why]",
    "confidence-arithmetic": "The score is their mean.",
    "confidence-justification": "### Confidence Justification (from 85)\n",
    "confidence-uncertainty": "### Uncertainty (below 70)\n",
    "score-missing": "Each confidence is a number from 0 to 100.",
    "checklist-unticked": "- [x] **File References Valid**",
    "block-missing": "Omit a part only if the condition in its heading does not apply.",
    "wrong-column": "Omit a part only if the condition in its heading does not apply.",
    "blockers-missing": "### Blockers (if incomplete)\n",
    "error-details-missing": "### Error Details\n",
    "recoverable-unknown": "| Recoverable | [true if the same task can succeed on another try, else false] |",
    "severity-missing": "| Severity: [critical, important or minor]",
    "severity-unknown": "| Severity: [critical, important or minor]",
    "reference-out-of-range": "Cite only files and lines that you have opened",
    "reference-ambiguous": "the full path from the root of the checkout",
    "reference-relocated": "each path, line and name is looked up",
    "reference-unseen": "Cite only files and lines that you have opened",
    "reference-outdated": "each path, line and name is looked up",
    "test-missing": "Name only commands and tests that exist",
    "quote-relocated": "each quote is compared",
    "quote-condensed": "`...` may replace code in a quote",
    "change-unseen": "State a test run or a change only if you made it",
    "no-tool-calls": "Cite only files and lines that you have opened",
    "execution-unseen": "you read the code and ran something that confirms it",
    "confidence-unsupported": "Give a score only as high as your evidence",
}

#: A sentence outside the form and the lines of rules -> the rules that check it. The labels become flags of findings.
STATED: dict[str, tuple[str, ...]] = {
    "You are [Agent Name].": ("agent-mismatch",),
    "Your last message is your result and nothing else: the Markdown form below, filled in.": ("title-missing",),
    "A program checks it.": ("unreadable",),
    "Replace every [placeholder].": ("placeholder-left",),
    "Omit a part only if the condition in its heading does not apply.": ("block-missing", "wrong-column"),
    "If you fail, Status is FAILED, and these sections replace all after the Summary:": ("error-details-missing",),
    "Give a score only as high as your evidence:": ("confidence-unsupported",),
    "95-100 (certain): you read the code and ran something that confirms it.": ("execution-unseen",),
    "85-94 (high): you read the code, and everything you found is consistent.": ("confidence-unsupported",),
    "75-84 (moderate): some evidence, and a reasonable inference from it.": ("confidence-unsupported",),
    "60-74 (low): little evidence; name your assumptions.": ("confidence-unsupported", "confidence-uncertainty"),
    "below 60: speculation; state the question that has to be answered first.": ("confidence-uncertainty",),
    'Mark a statement that you did not verify as "uncertain" or "assumed", and one that rests on a single source as '
    '"needs corroboration".': ("single-source",),
}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "error"])
@pytest.mark.parametrize("profile", WITH_FORM)
def test_the_instructions_state_nothing_that_no_rule_checks(kind: str, profile: str) -> None:
    text = re.sub(r"````markdown\n.*?````", "", instructions(kind, profile), flags=re.DOTALL)
    text = re.sub(r"^(?:#+ .*|L[123] \(.*\):|- [a-z-]+: .*)$", "", text, flags=re.MULTILINE)
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\n|^- ", text, flags=re.MULTILINE)]
    sentences = {one for part in paragraphs for one in re.split(r"(?<=[.])\s", part) if one}
    assert sentences <= set(STATED)
    for sentence in sentences:
        assert any(find(name).level_in(profile) is not None for name in STATED[sentence]) or profile == "v1", sentence


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "error"])
def test_the_instructions_are_short(kind: str) -> None:
    assert estimate_tokens(instructions(kind, "v2", "code-explorer")) < 1350


def test_agents_learn_how_to_quote_and_to_name() -> None:
    for kind in KINDS:
        text = instructions(kind, "v2")
        assert "Quote a removed secret as it is shown." in text
        assert "`...` may replace code in a quote." in text
        assert "A name next to a location, `path/to/file.py:12` (name), makes the line checkable." in text


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
def test_a_rule_that_can_refuse_a_result_is_asked_for_in_the_instructions(rule: type[Rule]) -> None:
    if rule.level_in("v2") in ("L1", "L2"):
        words = rule.prompt or ASKED[rule.name]
        for kind in {example.kind for example in rule.bad if example.profile == "v2"} - {"error"}:
            if rule.level_for("v2", KINDS[kind]):
                assert words in instructions(kind, "v2")


def test_no_words_are_listed_for_a_rule_that_has_its_own_line() -> None:
    assert not [name for name in ASKED if find(name).prompt]


def test_the_instructions_name_the_agent_in_the_title_and_leave_no_placeholder_for_it() -> None:
    text = instructions("exploration", "v2", "remit:code-explorer")
    assert "## Code Explorer Result" in text
    assert "[Agent Name]" not in text
