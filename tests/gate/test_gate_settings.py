"""The gate's settings as a project writes them down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.configuration import load
from remit.dispatch.worker_settings import load_settings
from remit.errors import ConfigurationError
from remit.gate.rule_texts import FIRM
from remit.gate.settings import LIMITS, PATHS, GateSettings, from_configuration, settings_mapping

EXCEPTION = '[[gate.exceptions]]\nrule = "edit-code"\npaths = ["gen/**"]\nreason = "made by a tool"\n'


def settings(folder: Path, text: str, **environment: str) -> GateSettings:
    (folder / "remit.toml").write_text(text, encoding="utf-8")
    return from_configuration(load(folder, {"REMIT_CONFIG": str(folder / "remit.toml"), **environment}))


def test_without_configuration_the_defaults_apply(tmp_path: Path) -> None:
    found, usual = settings(tmp_path, ""), GateSettings()
    assert all(getattr(found, name) == getattr(usual, name) for name in vars(usual))


def test_every_setting_reaches_the_gate(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        '[gate]\nothers = "off"\ntrivial_edits = "direct"\nlimits = {files = 7}\n'
        'agents = {tests = "tester"}\n' + EXCEPTION + 'expires = 2999-12-31\n[paths]\ntests = ["checks/**"]\n',
    )
    assert (found.others, found.trivial_edits) == ("off", "direct")
    assert found.limits == LIMITS | {"files": 7}
    assert (found.paths["tests"], found.agents["tests"]) == (("checks/**", *PATHS["tests"]), "tester")
    [one] = found.exceptions
    assert (one.rule, one.paths, one.reason, one.expires) == ("edit-code", ("gen/**",), "made by a tool", "2999-12-31")


def test_the_mapping_survives_json(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text(EXCEPTION + 'expires = 2999-12-31\n[paths]\nspec = ["rfcs/**"]\n')
    mapping = settings_mapping(load(tmp_path, {"REMIT_CONFIG": str(tmp_path / "remit.toml")}))
    again = GateSettings.from_mapping(json.loads(json.dumps(mapping)))
    assert again.problems == []
    assert (again.exceptions[0].expires, again.paths["spec"]) == ("2999-12-31", ("rfcs/**", *PATHS["spec"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[gate]\ntrivial_edits = "yes"', "gate.trivial_edits must be one of delegate, direct"),
        ("[gate.limits]\nfils = 3", "gate.limits: unknown limit 'fils', did you mean 'files'?"),
        ("[gate.limits]\nfiles = -1", "gate.limits.files must be a number of at least 0, not -1"),
        ('[gate.agents]\nbackent = "a"', "gate.agents: unknown role 'backent', did you mean 'backend'?"),
        ('[gate.agents]\nzzz = "a"', "unknown role 'zzz'; choose one of explore, backend"),
        ('[gate.agents]\ntests = ""', "gate.agents.tests must be the name of an agent"),
        (EXCEPTION, "gate.exceptions: an exception needs rule, paths, reason and expires (YYYY-MM-DD)"),
        (EXCEPTION + 'expires = "soon"', "an exception needs rule, paths, reason and expires"),
        (EXCEPTION + 'expires = "2031-13-01"', "an exception needs rule, paths, reason and expires"),
        (EXCEPTION + "expire = 2031-01-01", "unknown key 'expire' in an exception, did you mean 'expires'?"),
        (EXCEPTION.replace("edit-code", "edit-cod"), "unknown rule 'edit-cod', did you mean 'edit-code'?"),
        *((EXCEPTION.replace("edit-code", rule), f"the rule '{rule}' allows no exceptions") for rule in FIRM),
    ],
)
def test_an_invalid_value_is_an_error_with_its_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        settings(tmp_path, text)
    assert str(raised.value).startswith("remit.toml: gate.")
    assert words in str(raised.value)


def test_a_misspelt_key_of_the_gate_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no setting 'gate.limit', did you mean 'gate.limits'"):
        settings(tmp_path, "[gate]\nlimit = {files = 3}\n")


def test_a_worker_uses_the_settings_for_its_orchestrators(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text("[gate]\nlimits = {total = 90}\n")
    found = load_settings(load(tmp_path, {"REMIT_CONFIG": str(tmp_path / "remit.toml")}), tmp_path).gate
    assert (found.mode, found.limits["total"]) == ("orchestrator", 90)
