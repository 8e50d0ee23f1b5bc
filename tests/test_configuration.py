"""Settings: where they are found, which one wins, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remit.configuration import FILE_ONLY, SETTINGS, find_file, load
from remit.errors import ConfigurationError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A checkout with a folder in it."""
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    (tmp_path / "checkout" / "inner" / "deep").mkdir(parents=True)
    return tmp_path / "checkout"


def complaint(folder: Path, text: str = "", environment: dict[str, str] | None = None, name: str = "remit.toml") -> str:
    if text:
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as raised:
        load(folder, environment or {})
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_without_a_file_and_variables_every_value_is_its_default(home: Path) -> None:
    values = load(home, {}).values
    assert {key: value.value for key, value in values.items()} == {s.key: s.default for s in SETTINGS}
    assert {value.source for value in values.values()} == {"default"}


def test_remit_toml_is_read_and_named_as_the_source(home: Path) -> None:
    (home / "remit.toml").write_text('profile = "v1"\n[check]\nselect = ["CNF"]\noverrides = {raw-dump = "logs"}\n')
    found = load(home, {})
    assert (found["profile"], found["check.select"], found["check.overrides"]) == ("v1", ["CNF"], {"raw-dump": "logs"})
    assert found.values["profile"].source == str(home / "remit.toml")
    assert found.values["check.ignore"].source == "default"


def test_a_dotted_key_is_the_same_as_a_table(home: Path) -> None:
    (home / "remit.toml").write_text('check.ignore = ["EVD"]\nmerge.weights = {a = 2, "b/security" = 0.5}\n')
    assert load(home, {})["check.ignore"] == ["EVD"]
    assert load(home, {})["merge.weights"] == {"a": 2, "b/security": 0.5}


def test_the_table_in_pyproject_is_read(home: Path) -> None:
    text = '[project]\nname = "x"\n[tool.remit]\nprofile = "lenient"\n[tool.remit.agents.kinds]\nhelper = "review"\n'
    (home / "pyproject.toml").write_text(text)
    found = load(home / "inner", {})
    assert (found["profile"], found["agents.kinds"]) == ("lenient", {"helper": "review"})
    assert found.values["profile"].source == str(home / "pyproject.toml")


def test_a_pyproject_without_the_table_is_passed_over(home: Path) -> None:
    (home / "remit.toml").write_text('profile = "v1"\n')
    (home / "inner" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert find_file(home / "inner") == home / "remit.toml"


def test_in_one_folder_remit_toml_comes_before_pyproject(home: Path) -> None:
    (home / "remit.toml").write_text('profile = "v1"\n')
    (home / "pyproject.toml").write_text('[tool.remit]\nprofile = "lenient"\n')
    assert load(home, {})["profile"] == "v1"


def test_the_nearest_file_wins_whole(home: Path) -> None:
    (home / "remit.toml").write_text('profile = "v1"\nmerge.policy = "max"\n')
    (home / "inner" / "pyproject.toml").write_text('[tool.remit]\nprofile = "lenient"\n')
    found = load(home / "inner" / "deep", {})
    assert (found["profile"], found["merge.policy"]) == ("lenient", "mean")


def test_the_search_ends_at_the_root_of_the_checkout(home: Path) -> None:
    (home.parent / "remit.toml").write_text('profile = "v1"\n')
    assert find_file(home / "inner" / "deep") is None
    (home / "remit.toml").write_text("")
    assert find_file(home / "inner" / "deep") == home / "remit.toml"


def test_outside_a_checkout_the_search_goes_on_upwards(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "remit.toml").write_text("")
    assert find_file(tmp_path / "a" / "b") == tmp_path / "remit.toml"


def test_a_worktree_whose_git_is_a_file_is_a_checkout_too(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text("")
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / ".git").write_text("gitdir: elsewhere\n")
    assert find_file(tmp_path / "worktree") is None


def test_a_variable_comes_before_the_file_and_is_named_as_the_source(home: Path) -> None:
    (home / "remit.toml").write_text('profile = "v1"\n[check]\nignore = ["CNF"]\n')
    variables = {"REMIT_PROFILE": "lenient", "REMIT_CHECK_IGNORE": " EVD, raw-dump,,", "REMIT_MERGE_THRESHOLD": "62.5"}
    found = load(home, variables)
    assert found.values["profile"] == ("lenient", "REMIT_PROFILE")
    assert found["check.ignore"] == ["EVD", "raw-dump"]
    assert found["merge.threshold"] == 62.5


def test_an_empty_list_in_a_variable_clears_the_list_of_the_file(home: Path) -> None:
    (home / "remit.toml").write_text('check.ignore = ["CNF"]\n')
    assert load(home, {"REMIT_CHECK_IGNORE": ""})["check.ignore"] == []


def test_tables_have_no_variable() -> None:
    without = {setting.key for setting in SETTINGS if setting.variable is None}
    assert without == {setting.key for setting in SETTINGS if setting.shape in FILE_ONLY}
    assert {"gate.limits", "gate.paths", "gate.agents", "gate.exceptions"} <= without
    assert {"check.overrides", "agents.kinds", "models", "runners", "queue_limits", "merge.weights"} <= without


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('profil = "v1"', "there is no setting 'profil', did you mean 'profile'?"),
        ("[check]\nselct = []", "there is no setting 'check.selct', did you mean 'check.select'?"),
        ("[chek]\nselect = []", "there is no setting 'chek'"),
        ("zzzzzz = 1", "there is no setting 'zzzzzz'; known keys are agents.kinds, allow_tools"),
        ("check = 3", "there is no setting 'check'"),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(home: Path, text: str, words: str) -> None:
    message = complaint(home, text)
    assert message.startswith("remit.toml: ")
    assert words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("profile = 2", "profile must be a string (the profile results are held to: v2, v1 or lenient), not 2"),
        ('check.select = "CNF"', "check.select must be a list of strings"),
        ("check.select = [1]", "check.select must be a list of strings"),
        ("check.overrides = {raw-dump = true}", "check.overrides must be a table of strings"),
        ('agents.kinds = "review"', "agents.kinds must be a table of strings"),
        ('merge.threshold = "80"', "merge.threshold must be a number"),
        ("merge.threshold = true", "merge.threshold must be a number"),
        ('merge.weights = {a = "2"}', "merge.weights must be a table of numbers"),
        ('gate.limits = {files = "2"}', "gate.limits must be a table of numbers"),
        ('gate.paths = {code = "src/**"}', "gate.paths must be a table of lists of strings"),
        ("gate.paths = {code = [1]}", "gate.paths must be a table of lists of strings"),
        ('gate.exceptions = ["edit-code"]', "gate.exceptions must be a list of tables"),
        ("[gate.exceptions]\nrule = 'edit-code'", "gate.exceptions must be a list of tables"),
        ('gate.under_contract = "qa-engineer"', "gate.under_contract must be a list of strings"),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error_that_says_what_is_wanted(home: Path, text: str, words: str) -> None:
    assert words in complaint(home, text)


def test_an_error_in_pyproject_names_that_file(home: Path) -> None:
    assert complaint(home, "[tool.remit]\nprofile = 1\n", name="pyproject.toml").startswith("pyproject.toml: profile")


def test_a_variable_that_is_no_number_is_named(home: Path) -> None:
    message = complaint(home, environment={"REMIT_MERGE_THRESHOLD": "high"})
    assert message.startswith("REMIT_MERGE_THRESHOLD must be a number")
    assert message.endswith("not 'high'")


@pytest.mark.parametrize("name", ["remit.toml", "pyproject.toml"])
@pytest.mark.parametrize("data", [b"[tool.remit]\nprofile = \n", b"[tool.remit", b"[tool.remit]\nprofile = '\xff'\n"])
def test_broken_toml_is_one_line_that_names_the_file(home: Path, name: str, data: bytes) -> None:
    (home / name).write_bytes(data)
    assert complaint(home).startswith(f"{name}: ")


@pytest.mark.parametrize("text", ["[[tool.remit]]\nprofile = 'v1'\n", "[tool]\nremit = 3\n"])
def test_a_table_that_is_none_is_one_line_too(home: Path, text: str) -> None:
    assert complaint(home, text, name="pyproject.toml").startswith("pyproject.toml: ")


@pytest.mark.parametrize("other", ["[tool.remitter]\nprofile = 'x'\n", "# [tool.remit] is in remit.toml\n"])
def test_another_tools_table_and_a_comment_do_not_end_the_search(home: Path, other: str) -> None:
    (home / "remit.toml").write_text('profile = "v1"\n')
    (home / "inner" / "pyproject.toml").write_text(other)
    assert load(home / "inner", {})["profile"] == "v1"


@pytest.mark.parametrize(
    "text", ["[tool]\nremit = {profile = 'v1'}\n", "[tool]\nremit.profile = 'v1'\n", "[ tool.remit ]\nprofile = 'v1'\n"]
)
def test_the_table_may_be_spelt_in_any_way_toml_allows(home: Path, text: str) -> None:
    (home / "pyproject.toml").write_text(text)
    assert load(home, {})["profile"] == "v1"


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("key", ["merge.threshold", "merge.window"])
def test_what_is_no_finite_number_is_refused(home: Path, key: str, value: Any) -> None:
    assert "must be a number" in complaint(home, f"{key} = {value}\n")
