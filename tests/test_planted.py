"""Lies that are planted in true texts: the generators plant real lies, the figures are counted correctly, and met."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench/accuracy"))

import planted  # noqa: E402 (the path must be known first)
from cases import Case, as_result  # noqa: E402
from checkout_facts import Checkout, Source  # noqa: E402
from layouts import LAYOUTS, NAME_FORMS  # noqa: E402
from quote_lies import ALTERATIONS, FAITHFUL  # noqa: E402

SEED = 20_261_118
#: Lies of each kind; the nine kinds of altered quotes are more than 200.
PER_KIND = 16


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.copy_tree(planted.OWN_TREES[0], tmp_path_factory.mktemp("planted").resolve())


@pytest.fixture(scope="module")
def checkout(tree: Path) -> Checkout:
    return Checkout(tree, SEED)


@pytest.fixture(scope="module")
def rows(tree: Path) -> list[planted.Row]:
    """The answers to lies of results."""
    return planted.measure(tree, SEED, PER_KIND, only="kinds", settings=("result",))


@pytest.fixture(scope="module")
def layout_rows(tree: Path) -> list[planted.Row]:
    return planted.measure(tree, SEED, 12, only="layouts", settings=("document",))


def pairs(checkout: Checkout, group: str, number: int = 6) -> Iterator[tuple[Case, Case]]:
    for job in planted.jobs(group):
        cases = list(planted.cases_of(job, checkout, SEED, number))
        yield from zip(cases[::2], cases[1::2], strict=True)


# The figures.


def kinds_of(checkout: Checkout) -> list[str]:
    """The kinds that this tree has."""
    return [job.kind for job in planted.jobs("kinds") if any(planted.cases_of(job, checkout, SEED, 1))]


def test_lies_of_results_are_found_in_every_kind(rows: list[planted.Row], checkout: Checkout) -> None:
    measured = {row.kind for row in rows if row.is_lie}
    assert measured == set(kinds_of(checkout))
    missed = [str(goal) for goal in planted.goals(rows) if goal.name.startswith("result") and not goal.is_met]
    assert missed == []


def test_no_altered_quote_is_accepted(rows: list[planted.Row]) -> None:
    altered = [row for row in rows if row.is_lie and row.kind in {f"quote: {kind}" for kind in ALTERATIONS}]
    assert len(altered) >= 140
    assert [row.case.text for row in altered if row.is_confirmed] == []
    assert [row.case.text for row in altered if row.answer == "silent"] == []


def test_true_texts_are_not_accused(rows: list[planted.Row], layout_rows: list[planted.Row]) -> None:
    truths = [row for row in (*rows, *layout_rows) if not row.is_lie]
    accused = [row.case.text for row in truths if row.answer == "failing"]
    assert len(accused) <= 0.02 * len(truths), "\n-----\n".join(accused)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_invented_findings_are_found_in_every_layout(layout: str, layout_rows: list[planted.Row]) -> None:
    lies = [row for row in layout_rows if row.is_lie and row.form == layout]
    missed = [row.case.text for row in lies if row.answer == "silent"]
    assert lies
    assert len(missed) <= 0.05 * len(lies), "\n-----\n".join(missed)


# The generators.


@pytest.mark.parametrize("group", ["kinds", "layouts", "names"])
def test_a_lie_differs_from_the_truth_only_in_its_own_lines(group: str, checkout: Checkout) -> None:
    for true, lie in pairs(checkout, group):
        old, new = true.text.split("\n"), lie.text.split("\n")
        assert old != new
        assert old[: lie.first - 1] == new[: lie.first - 1]
        assert old[len(old) - (len(new) - lie.last) :] == new[lie.last :]


def test_an_altered_quote_is_not_in_its_file(checkout: Checkout) -> None:
    for true, lie in pairs(checkout, "kinds"):
        if lie.kind in {f"quote: {kind}" for kind in ALTERATIONS}:
            path = next(path for path in checkout.sources if f"{path}:" in true.text.split("\n", true.first - 1)[-1])
            code = re.findall(r"```.*\n((?:.*\n)*?) *```", "\n".join(lie.text.split("\n")[lie.first - 1 : lie.last]))
            lines = [line for line in code[-1].split("\n") if f"{path}:" not in line]
            assert not checkout.sources[path].has("\n".join(lines)), lie.text


def test_an_invented_name_or_file_is_nowhere_in_the_checkout(checkout: Checkout) -> None:
    chance = random.Random(SEED)
    files = {path: (checkout.root / path).read_bytes().decode("utf-8", "replace") for path in checkout.paths}
    for suffix in (".py", ".ts"):
        name = checkout.invented_word(chance, suffix)
        path = checkout.invented_file(chance, "services/api/src", suffix)
        assert not any(name in text for text in files.values())
        assert not (checkout.root / path).exists()


def test_a_tree_offers_every_kind_and_form(checkout: Checkout) -> None:
    for job in planted.jobs():
        assert list(planted.cases_of(job, checkout, SEED, 1)), f"{job.group}: {job.kind}"
    assert {job.kind.partition(" / ")[0] for job in planted.jobs("names")} == set(NAME_FORMS)
    assert {job.kind for job in planted.jobs("faithful")} == set(FAITHFUL)


def test_the_same_seed_makes_the_same_texts(tree: Path) -> None:
    one, other = (Checkout(tree, SEED) for _ in range(2))
    job = planted.jobs("kinds")[0]
    assert list(planted.cases_of(job, one, SEED, 4)) == list(planted.cases_of(job, other, SEED, 4))
    assert list(planted.cases_of(job, one, SEED, 4)) != list(planted.cases_of(job, one, SEED + 1, 4))


def test_a_result_contains_the_text_at_the_shifted_lines(checkout: Checkout) -> None:
    for true, _ in pairs(checkout, "layouts", 3):
        result, shift = as_result(true, checkout)
        lines = true.text.rstrip("\n").split("\n")
        inner = result.split("\n")[shift : shift + len(lines)]
        assert [re.sub("^#+ ", "# ", line) for line in inner] == [re.sub("^#+ ", "# ", line) for line in lines]


def test_comments_and_strings_are_not_code() -> None:
    text = 'def load(path):  # opens "it"\n    """Read a file."""\n    return open(path, "rb")\n'
    source = Source("load.py", text)
    assert [line.rstrip() for line in source.code] == ["def load(path):", "", "    return open(path,     )"]
    assert source.without_comment(0) == "def load(path):"
    assert [(one.name, one.first, one.last) for one in source.definitions] == [("load", 1, 3)]


def test_lines_of_a_string_of_several_lines_are_not_clear() -> None:
    source = Source("query.ts", "const a = 1;\nconst text = `one\n == two`;\nif (a !== 2) {\n}\n")
    assert source.is_clear == [True, False, False, True, True]


# The scoring.


def claim(outcome: str, *, fails: bool = True) -> dict[str, object]:
    return {"kind": "place", "at": 1, "outcome": outcome, "fails": fails}


@pytest.mark.parametrize(
    ("claims", "answer"),
    [
        ([], "silent"),
        ([claim("exists", fails=False)], "silent"),
        ([claim("missing-file", fails=False)], "weak"),
        ([claim("missing-file", fails=False), claim("mismatch")], "failing"),
        ([{"kind": "place", "at": 1, "outcome": "out-of-range"}], "failing"),  # of a run
    ],
)
def test_an_answer_is_the_strongest_accusation(claims: list[dict[str, object]], answer: str) -> None:
    assert planted._answer(claims) == answer


def test_reports_with_and_without_a_list_of_claims_are_read() -> None:
    violation = {"rule": "test-run-unseen", "line": 4}
    new = {
        "claims": [claim("exists", fails=False)],
        "violations": [violation],
        "references": [claim("exists")],
        "quotes": [],
    }
    old = {"references": [{"at": 2, "outcome": "verified"}], "quotes": [{"at": 3, "outcome": "mismatch"}]}
    assert [one["kind"] for one in planted.claims_of(new)] == ["place", "run"]
    assert [one["kind"] for one in planted.claims_of({**old, "violations": []})] == ["place", "quote"]


@pytest.mark.parametrize(("hits", "limit", "is_met"), [(97, 0.97, True), (96, 0.97, False), (3, -0.02, False)])
def test_a_goal_is_a_minimum_or_a_maximum(hits: int, limit: float, is_met: bool) -> None:
    assert planted.Goal("figure", hits, 100, limit).is_met is is_met


def test_a_checker_that_reports_nothing_meets_no_goal_for_lies(layout_rows: list[planted.Row]) -> None:
    silent = [row._replace(answer="silent") for row in layout_rows]
    assert not any(goal.is_met for goal in planted.goals(silent) if goal.name.startswith("layout"))


def test_a_checker_that_accuses_everything_accuses_the_truth(layout_rows: list[planted.Row]) -> None:
    loud = [row._replace(answer="failing") for row in layout_rows]
    (goal,) = (goal for goal in planted.goals(loud) if goal.name == "other true texts accused")
    assert not goal.is_met
