"""The catalogue is complete and consistent."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import remit.rules
from remit.contract.profiles import PROFILES
from remit.errors import UsageError
from remit.rules.base import Case, Rule
from remit.rules.catalog import CATALOG, NAMES, every_rule, expand, find, find_name

FAMILIES = {"result": "RES", "confidence": "CNF", "kinds": "KND", "evidence": "EVD"}


def all_rules() -> set[type[Rule]]:
    for module in pkgutil.walk_packages(remit.rules.__path__, "remit.rules."):
        if ".samples" not in module.name:
            importlib.import_module(module.name)
    return set(Rule.__subclasses__())


def test_no_rule_class_is_missing_from_the_catalogue() -> None:
    assert all_rules() == set(every_rule())
    assert len(CATALOG) == len(set(CATALOG))


def test_names_and_codes_are_unique_and_well_formed() -> None:
    assert len({rule.name for rule in every_rule()}) == len({rule.code for rule in every_rule()}) == len(CATALOG)
    for rule in every_rule():
        assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", rule.name)
        assert re.fullmatch(rf"{FAMILIES[rule.family()]}\d{{3}}", rule.code), rule.name


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
def test_a_rule_is_named_like_its_file_and_has_texts(rule: type[Rule]) -> None:
    assert rule.__module__.rsplit(".", 1)[1] == rule.name.replace("-", "_")
    assert rule.summary().endswith(".")
    assert rule.rationale()
    assert rule.help.endswith(".")
    assert set(rule.levels) <= set(PROFILES)


def test_a_rule_comes_after_the_rules_it_requires() -> None:
    seen: set[str] = set()
    for rule in every_rule():
        assert set(rule.requires) <= seen, rule.name
        seen.add(rule.name)


def test_levels_by_profile_match_the_contract() -> None:
    levels = {
        name: {profile: rule.level_in(profile) for profile in PROFILES}
        for name, rule in zip(NAMES, every_rule(), strict=True)
    }
    assert levels["status-missing"] == {"v2": "L1", "v1": "L1", "claims": None}
    assert levels["confidence-reason"] == {"v2": "L2", "v1": "L1", "claims": None}
    assert levels["block-missing"] == {"v2": "L1", "v1": "L2", "claims": None}
    assert levels["finding-without-reference"] == {"v2": "L2", "v1": "L1", "claims": None}
    off = {name for name, by_profile in levels.items() if by_profile["v1"] is None}
    assert off == {
        "confidence-breakdown",
        "confidence-justification",
        "confidence-uncertainty",
        "checklist-missing",
        "checklist-unticked",
        "quote-condensed",
        "single-source",
        "security-without-quote",
    }


def test_rules_are_found_by_name_code_and_family() -> None:
    assert find("RES002") is find("status-missing") is find("Status-Missing")
    assert expand(("CNF",)) == expand(("confidence",)) > {"confidence-range"}
    assert find_name("EVD004") == "quote-mismatch"
    assert find_name("EVD999") is None
    with pytest.raises(UsageError, match="did you mean 'status-missing'"):
        find("staus-missing")


def test_a_rule_without_check_raises() -> None:
    with pytest.raises(TypeError, match="Rule"):
        Rule().check(None)  # type: ignore[arg-type]
    assert Case.__doc__


def test_a_rule_file_is_small() -> None:
    folder = Path(remit.rules.__path__[0])
    for rule in every_rule():
        source = (folder / rule.family() / f"{rule.name.replace('-', '_')}.py").read_text(encoding="utf-8")
        check = source[source.index("    def check(") :]
        assert check.count("\n") <= 60, rule.name
