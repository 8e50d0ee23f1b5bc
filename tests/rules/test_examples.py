"""The examples of all rules: a good one violates no rule, a bad one exactly the rules that it lists."""

from __future__ import annotations

import pytest

from remit.checking import Options, check_text
from remit.contract.kinds import KINDS
from remit.rules.base import Example, Rule
from remit.rules.catalog import every_rule
from remit.rules.examples import RECEIPTS, example_sources, example_text, sample_text


def broken(example: Example) -> list[str]:
    verdicts = check_text(
        example_text(example),
        options=Options(profile=example.profile, agent=example.agent or None),
        sources=example_sources(example),
    )
    return sorted(violation.rule for verdict in verdicts for violation in verdict.violations)


def examples() -> list[pytest.param]:  # type: ignore[valid-type]
    return [
        pytest.param(rule, example, id=f"{rule.name}-{place}")
        for rule in every_rule()
        for place, example in enumerate((*rule.good, *rule.bad))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("receipts", ["", "everything"])
def test_the_sample_of_a_kind_violates_no_rule(kind: str, receipts: str) -> None:
    (verdict,) = check_text(sample_text(kind), sources=example_sources(Example(kind, receipts=receipts)))
    assert (verdict.verdict, verdict.kind, verdict.violations) == ("accept", kind, ())


@pytest.mark.parametrize(("rule", "example"), examples())
def test_an_example_gives_exactly_the_expected_violations(rule: type[Rule], example: Example) -> None:
    assert broken(example) == sorted(example.expect)


#: Rules about the history of a repository, which the project of the examples does not have: tests/evidence shows them.
WITHOUT_EXAMPLE = {"reference-outdated"}


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
def test_a_rule_has_a_bad_example_that_names_it(rule: type[Rule]) -> None:
    if rule.name in WITHOUT_EXAMPLE:
        assert (*rule.good, *rule.bad) == ()
        return
    assert any(rule.name in example.expect for example in rule.bad)
    assert not any(example.expect for example in rule.good)


def test_an_edit_that_does_not_match_raises() -> None:
    with pytest.raises(ValueError, match="0 times"):
        example_text(Example("generic", edits=(("not there", "x"),)))


def test_every_kind_of_receipts_is_used_by_an_example() -> None:
    used = {example.receipts for rule in every_rule() for example in (*rule.good, *rule.bad)}
    assert used - {""} == set(RECEIPTS)
