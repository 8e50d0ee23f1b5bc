"""Signals: each lowers the reliability of an accusation by one step, and hides no lie."""

from __future__ import annotations

import subprocess
import time
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
from corpus.tree import evidence_in, evidence_of, numbered, write

from remit.evidence.judge import ACCUSING
from remit.evidence.model import RELIABILITIES, Checked, Claim
from remit.evidence.signals import SIGNALS


class Case(NamedTuple):
    """A text in which a signal fires, the same text without its sign, and a lie that must stay listed."""

    text: str
    without: str
    lie: str
    #: The path of the document.
    path: str = ""


def fence(code: str, info: str = "python") -> str:
    return f"```{info}\n{code}\n```"


NEW = fence("launch(the_missiles, now=True)")
DRAWING = fence("login\n├── find_user\n└── open_session", "")
CASES = {
    "proposed-label": Case(
        f"As a fix it would then be this, in `shop/cart.py:3`:\n{NEW}",
        f"As we know it would then be this, in `shop/cart.py:3`:\n{NEW}",
        f"The fix for the invented lines of it is in `shop/ghost.py:3`:\n{NEW}",
    ),
    "proposed-heading": Case(
        "## Proposed changes to the loader\n\nSee `shop/cache.py:3`.",
        "## The loader\n\nSee `shop/cache.py:3`.",
        "## Solution in shop/ghost.py:3\n\nIt is there.",
    ),
    "record": Case(
        "# Plan: the cache\n\nSee `shop/cache.py:3`.",
        "# Notes: the cache\n\nSee `shop/cache.py:3`.",
        "# Audit of it\n\nThe bug is in `shop/ghost.py:3`.",
    ),
    "created": Case("Create `shop/cache.py:3`", "Read `shop/cache.py:3`", "the new code in `shop/ghost.py:3`"),
    "removed": Case(
        "`shop/old.py:3` was removed", "`shop/old.py:3` was read", "removed the check in `shop/ghost.py:3`"
    ),
    "called-absent": Case(
        "`shop/cart.md:3` is missing", "`shop/cart.md:3` is long", "the check is missing in `shop/ghost.py:3`"
    ),
    "other-project": Case(
        "the upstream file `shop/store.c:3`", "the usual file `shop/store.c:3`", "the upstream bug in `shop/ghost.py:3`"
    ),
    "estimate": Case(
        "around line 300 of `shop/cart.py`", "see line 300 of `shop/cart.py`", "around line 9000 of `shop/cart.py`"
    ),
    "example": Case(
        "for instance the file `shop/users.py:3`", "for all of them `shop/users.py:3`", "for instance `shop/ghost.py:3`"
    ),
    "past": Case(
        "# Notes\n\n## Changelog\n\n`shop/old.py:3`",
        "# Notes\n\n## Now\n\n`shop/old.py:3`",
        "# Notes\n\n## History of it\n\n`shop/ghost.py:3`",
    ),
    "written-by-program": Case("it writes `../report.json`", "it reads `../report.json`", "it writes `shop/ghost.py`"),
    "built": Case("`shop/dist/app.js:3`", "`shop/list/app.js:3`", "`shop/build/ghost.py:3`"),
    "local": Case("`shop/cart.local.py:3`", "`shop/cart.global.py:3`", "`shop/ghost.local:3`"),
    "ignored": Case("`shop/log/run.txt:3`", "`shop/list/run.txt:3`", "`shop/log/ghost.py:3`"),
    "stands-for-others": Case("`shop/MyComponent.tsx:3`", "`shop/OneComponent.tsx:3`", "`shop/my-ghost.ts:3`"),
    "not-code": Case(
        f"`shop/cart.py:3`\n{DRAWING}",
        f"`shop/cart.py:3`\n{fence('find_user(login)')}",
        f"`shop/cart.py:3`\n{fence('The user sends a name and a password.', '')}",
    ),
    "other-language": Case(
        f"`shop/cart.py:3`\n{fence('launch(missiles)', 'json')}",
        f"`shop/cart.py:3`\n{fence('launch(missiles)')}",
        f"`shop/cart.py:3`\n{fence('func launch() {}', 'go')}",
    ),
    "any-manager": Case(
        "Start the shop: `npm run serve`, or `yarn serve`.",
        "Start the shop: `npm run serve`, or `yarn dev`.",
        "`npm run ghost` and `yarn ghost` do the same.",
    ),
    "made-project": Case(
        "Run `npm create shop@latest`, then `npm run serve`.",
        "Run `npm install shop@latest`, then `npm run serve`.",
        "Run `npx create-shop`, then `npm run ghost`.",
    ),
    "declared-here": Case(
        "```make\nlint: all\n\techo\n```\n\nRun `make lint`.",
        "```make\ntest: all\n\techo\n```\n\nRun `make lint`.",
        "```make\nlint: all\n```\n\nRun `make lint`.",
    ),
    "new-lines": Case(
        f"`shop/cart.py:3`\n{fence('launch(missiles)  # NEW')}",
        f"`shop/cart.py:3`\n{fence('launch(missiles)  # now')}",
        f"`shop/cart.py:3`\n{fence('invented = code()  # NEW')}",
    ),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    empty = ("shop/dist/x.js", "shop/list/x.js", "shop/build/x.py", "shop/log/x.txt")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    return write(
        root,
        {
            "shop/cart.py": numbered(100),
            ".gitignore": "shop/log/\n",
            "Makefile": "all:\n",
            "package.json": '{"scripts": {"test": "jest"}}',
            **dict.fromkeys(empty, ""),
        },
    )


def accused(text: str, tree: Path, path: str = "") -> Checked:
    """Return the last accusation of a text."""
    return [claim for claim in evidence_in(text, tree, path).checked if claim.outcome in ACCUSING][-1]


def test_every_signal_has_a_case_an_example_and_a_lie() -> None:
    assert CASES.keys() == {signal.name for signal in SIGNALS}
    assert all(signal.example and signal.lie for signal in SIGNALS)


@pytest.mark.parametrize("name", CASES)
def test_a_signal_lowers_an_accusation_by_one_step(name: str, tree: Path) -> None:
    case = CASES[name]
    lowered, plain = accused(case.text, tree, case.path), accused(case.without, tree, case.path)
    assert (lowered.judgement.signals, plain.judgement.signals) == ((name,), ())
    assert lowered.outcome == plain.outcome
    assert lowered.reliability == RELIABILITIES[min(RELIABILITIES.index(plain.reliability or "look") + 1, 2)]


@pytest.mark.parametrize("name", CASES)
def test_a_lie_is_listed_although_a_signal_fires(name: str, tree: Path) -> None:
    lie = accused(CASES[name].lie, tree)
    assert name in lie.judgement.signals
    strict = [claim for claim in evidence_of(CASES[name].lie, tree).checked if claim.outcome in ACCUSING]
    assert {(claim.reliability, claim.fails) for claim in strict} == {("certain", True)}


@pytest.mark.parametrize(
    ("path", "signals"),
    [
        ("docs/plans/cache.md", ("record",)),
        ("docs/2026-03-19-cache.md", ("record",)),
        ("docs/planets.md", ()),
        ("docs/cache.md", ()),
    ],
)
def test_the_path_of_a_plan_or_a_report_is_a_signal(path: str, signals: tuple[str, ...], tree: Path) -> None:
    assert accused("See `shop/cache.py:3`.", tree, str(tree / path)).judgement.signals == signals


def test_several_signals_lower_it_further_and_the_lowest_is_worth_a_look(tree: Path) -> None:
    claim = accused("# Notes\n\n## Changelog\n\n~~Removed `shop/old.py:3`~~, an upstream file", tree)
    assert set(claim.judgement.signals) >= {"past", "removed", "other-project"}
    assert (claim.outcome, claim.reliability, claim.fails) == ("missing-file", "look", False)


def test_signals_words_and_fields_stay_few() -> None:
    assert len(SIGNALS) <= 24
    data = tomllib.loads(files("remit.evidence").joinpath("words.toml").read_text(encoding="utf-8"))
    assert sum(len(group["words"]) for group in data.values()) <= 120
    assert len(Claim.__struct_fields__) <= 16


def test_a_signal_is_about_the_clause_of_its_claim(tree: Path) -> None:
    for text in (
        "The cache was removed. `shop/old.py:3` is called twice.",
        "~~old~~ `shop/old.py:3`",
        "| File | Note |\n|---|---|\n| a/old.py:3 | users come and go twice in the whole list of them |",
    ):
        assert accused(text, tree).judgement.signals == ()


def test_many_commands_of_a_long_text_take_linear_time(tmp_path: Path) -> None:
    long = "npx -a -b -c -d -e -f -g -h -i " * 3_000
    text = "\n".join([long] * 4 + [f"Run `npm run ghost{number}`.\n" for number in range(400)])
    (tmp_path / "package.json").write_text("{}")
    started = time.process_time()
    evidence_in(text, tmp_path)
    assert time.process_time() - started < 3
