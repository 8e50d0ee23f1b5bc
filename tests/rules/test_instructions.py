"""What an agent is told is what it is checked for."""

from __future__ import annotations

import re

import pytest

from remit.checking import Options, check_text
from remit.contract.kinds import KINDS
from remit.contract.profiles import PROFILES
from remit.contract.template import find_placeholders, template
from remit.evidence.sources import Sources
from remit.rules.catalog import BY_NAME
from remit.rules.examples import TREE
from remit.rules.instructions import instructions
from remit.workspace.files import WorkTree

#: Placeholder -> what somebody who follows the form literally writes there.
FILLED = {
    "[Agent Name]": "Release Helper",
    "[SUCCESS | PARTIAL | FAILED]": "SUCCESS",
    "[two or three sentences: what was done, what came of it]": "The code was read. Two places matter.",
    "[what you found, with file:line for each statement]": "It begins at `app/login.py:7`.",
    "[name]": "login",
    "[path/to/file:line]": "app/login.py:7",
    "[why it matters]": "where a user comes in; needs corroboration",
    "[0-100]": "80",
    "[their mean]": "80",
    "[why]": "every line was read",
    "[the same number]": "80",
    "[number of places cited]": "1",
    "[how you verified]": "by reading",
    "[what you may have missed]": "configuration",
    "[what you did]": "done",
    "[the next action]": "Read on",
    "[what starts here]": "login",
    "[path/to/file.py:12]": "`app/login.py:7`",
    "[what it is]": "a function",
    "[a step → path/to/file.py:12 (symbol)]": "Begin → `app/login.py:7` (login)",
    "[a pattern and where it can be seen]": "functions over a table",
    "[internal and external]": "internal only",
    "[a pattern in use]": "functions over a table",
    "[how to follow it]": "keep it",
    "[Approach and Rationale]": "**Approach**: extend. **Rationale**: it is there.",
    "[its name]": "login",
    "[path/to/file.py]": "`app/login.py`",
    "[Create or Modify]": "Modify",
    "[what to build next]": "Build it",
    "[what was weighed]": "One table",
    "[what was decided and why]": "kept, it is simple",
    "[SEC-001]": "SEC-001",
    "[what is wrong]": "Tokens can be guessed",
    "[critical, important or minor]": "minor",
    "[ID]": "SEC-001",
    "[issue]": "Tokens can be guessed",
    "[the quoted lines, copied exactly]": "def login(name, password):",
    "[what can happen]": "harm",
    "[what to do]": "mend it",
    "[PASS or FAIL]": "PASS",
    "[number]": "0",
    "[what it is for]": "the login",
    "[its number of lines]": "19",
    "[what changed]": "a sentence",
    "[+5 or -2]": "+5",
    "[the command and its output, in a fence]": "2 passed",
    "[decisions worth knowing]": "none",
    "[what was claimed]": "it works",
    "[VERIFIED, PARTIAL or UNVERIFIED]": "VERIFIED",
    "[docs/page.md]": "`docs/login.md`",
    "[kind of error]": "MissingTool",
    "[its message]": "not installed",
    "[file:line or step]": "`app/login.py:1`",
    "[true or false]": "true",
    "[what you tried]": "Ran it",
    "[why it happened]": "Nobody installed it.",
    "[option]": "Install",
    "[what it would take]": "one command",
    "[what stops you]": "It is missing",
    "[what would help]": "install it",
}


def filled(form: str) -> str:
    for placeholder, value in FILLED.items():
        form = form.replace(placeholder, value)
    form = form.replace("- [ ]", "- [x]").replace("# path/to/file.py:12", "# app/login.py:7")
    if "SEC-001" in form:
        form = form.replace("- Minor: 0", "- Minor: 1")
    return form


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_that_follows_the_form_literally_is_accepted(kind: str, profile: str) -> None:
    text = instructions(kind, profile)
    form = re.search(r"````markdown\n(.*?)````", text, re.DOTALL)
    assert form
    document = filled(form.group(1))
    assert not [found for line in document.split("\n") for found in find_placeholders(line)]
    options = Options(profile=profile, kind=kind if kind != "error" else None)
    (verdict,) = check_text(document, options=options, sources=Sources(workspace=WorkTree(TREE)))
    assert [v for v in verdict.violations if v.level != "L3"] == []
    assert verdict.verdict == "accept"


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_rule_named_in_the_text_exists_and_applies(kind: str, profile: str) -> None:
    named = re.findall(
        r"^- ([a-z-]+): ", instructions(kind, profile).split("## Rules")[1].split("````")[0], re.MULTILINE
    )
    assert len(named) > 10
    for name in named:
        assert BY_NAME[name].level_in(profile) is not None


def test_every_placeholder_of_every_form_is_recognised() -> None:
    for kind in KINDS.values():
        for placeholder in re.findall(
            r"\[[^\[\]\n]{2,}\]", re.sub(r"```\n.*?```", "", template(kind), flags=re.DOTALL)
        ):
            assert list(find_placeholders(f"see {placeholder} here")) == [placeholder]
