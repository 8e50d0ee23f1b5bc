"""Settings: where they are found, which value wins, and the errors for invalid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from remit.configuration import FILE_ONLY, SETTINGS, find_file, load
from remit.errors import ConfigurationError


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a folder in it."""
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    (tmp_path / "checkout" / "inner" / "deep").mkdir(parents=True)
    return tmp_path / "checkout"


def error_text(
    folder: Path, text: str = "", environment: dict[str, str] | None = None, name: str = "remit.toml"
) -> str:
    if text:
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as raised:
        load(folder, environment or {})
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_values_are_defaults_without_file_and_variables(checkout: Path) -> None:
    values = load(checkout, {}).values
    assert {key: value.value for key, value in values.items()} == {s.key: s.default for s in SETTINGS}
    assert {value.source for value in values.values()} == {"default"}


def test_remit_toml_is_read_and_named_as_the_source(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n[check]\nselect = ["CNF"]\noverrides = {raw-dump = "logs"}\n')
    found = load(checkout, {})
    assert (found["profile"], found["check.select"], found["check.overrides"]) == ("v1", ["CNF"], {"raw-dump": "logs"})
    assert found.values["profile"].source == str(checkout / "remit.toml")
    assert found.values["check.ignore"].source == "default"


def test_dotted_key_is_the_same_as_a_table(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('check.ignore = ["EVD"]\nmerge.weights = {a = 2, "b/security" = 0.5}\n')
    assert load(checkout, {})["check.ignore"] == ["EVD"]
    assert load(checkout, {})["merge.weights"] == {"a": 2, "b/security": 0.5}


def test_table_in_pyproject_is_read(checkout: Path) -> None:
    text = '[project]\nname = "x"\n[tool.remit]\nprofile = "lenient"\n[tool.remit.agents.kinds]\nhelper = "review"\n'
    (checkout / "pyproject.toml").write_text(text)
    found = load(checkout / "inner", {})
    assert (found["profile"], found["agents.kinds"]) == ("lenient", {"helper": "review"})
    assert found.values["profile"].source == str(checkout / "pyproject.toml")


@pytest.mark.parametrize(
    "text",
    [
        '[ tool . "remit" ]\nprofile = "lenient"\n',
        "['tool'.remit]\nprofile = \"lenient\"\n",
        '[tool]\nremit.profile = "lenient"\n',
        '[project]\nname = "x"\n[ "tool" ]\nremit = {profile = "lenient"}\n',
        'tool.remit.profile = "lenient"\n',
        'tool = {remit = {profile = "lenient"}}\n',
    ],
)
def test_the_table_in_pyproject_is_found_however_it_is_written(text: str, checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text(text)
    assert load(checkout, {})["profile"] == "lenient"


def test_pyproject_without_the_table_is_skipped(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n')
    (checkout / "inner" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert find_file(checkout / "inner") == checkout / "remit.toml"


def test_remit_toml_takes_precedence_over_pyproject_in_the_same_folder(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n')
    (checkout / "pyproject.toml").write_text('[tool.remit]\nprofile = "lenient"\n')
    assert load(checkout, {})["profile"] == "v1"


def test_only_the_nearest_file_is_read(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\nmerge.policy = "max"\n')
    (checkout / "inner" / "pyproject.toml").write_text('[tool.remit]\nprofile = "lenient"\n')
    found = load(checkout / "inner" / "deep", {})
    assert (found["profile"], found["merge.policy"]) == ("lenient", "mean")


def test_search_ends_at_the_root_of_the_checkout(checkout: Path) -> None:
    (checkout.parent / "remit.toml").write_text('profile = "v1"\n')
    assert find_file(checkout / "inner" / "deep") is None
    (checkout / "remit.toml").write_text("")
    assert find_file(checkout / "inner" / "deep") == checkout / "remit.toml"


def test_search_continues_upwards_outside_a_checkout(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "remit.toml").write_text("")
    assert find_file(tmp_path / "a" / "b") == tmp_path / "remit.toml"


def test_worktree_with_a_git_file_is_a_checkout(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text("")
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / ".git").write_text("gitdir: elsewhere\n")
    assert find_file(tmp_path / "worktree") is None


def test_variable_takes_precedence_over_the_file_and_is_named_as_the_source(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n[check]\nignore = ["CNF"]\n')
    variables = {"REMIT_PROFILE": "lenient", "REMIT_CHECK_IGNORE": " EVD, raw-dump,,", "REMIT_MERGE_THRESHOLD": "62.5"}
    found = load(checkout, variables)
    assert found.values["profile"] == ("lenient", "REMIT_PROFILE")
    assert found["check.ignore"] == ["EVD", "raw-dump"]
    assert found["merge.threshold"] == 62.5


def test_empty_list_in_a_variable_clears_the_list_of_the_file(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('check.ignore = ["CNF"]\n')
    assert load(checkout, {"REMIT_CHECK_IGNORE": ""})["check.ignore"] == []


def test_tables_have_no_variable() -> None:
    without = {setting.key for setting in SETTINGS if setting.variable is None}
    assert without == {setting.key for setting in SETTINGS if setting.shape in FILE_ONLY}
    assert {"gate.limits", "gate.paths", "gate.agents", "gate.exceptions"} <= without
    assert {"check.overrides", "agents.kinds", "models", "runners", "queue_limits", "merge.weights"} <= without


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('profil = "v1"', "there is no setting 'profil', did you mean 'profile'?"),
        ("[check]\nselct = []", "there is no setting 'check.selct', did you mean 'check.select'?"),
        ("[chek]\nselect = []", "there is no setting 'chek'"),
        ("zzzzzz = 1", "there is no setting 'zzzzzz'; the keys are agents.kinds, allow_tools"),
        ("check = 3", "there is no setting 'check'"),
    ],
)
def test_unknown_key_is_an_error_with_a_suggestion(checkout: Path, text: str, expected: str) -> None:
    message = error_text(checkout, text)
    assert message.startswith("remit.toml: ")
    assert expected in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "profile = 2",
            "profile must be a string (the profile that results are checked with: v2, v1 or claims), not 2",
        ),
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
def test_error_for_a_wrong_type_names_the_expected_type(checkout: Path, text: str, expected: str) -> None:
    assert expected in error_text(checkout, text)


def test_error_in_pyproject_names_that_file(checkout: Path) -> None:
    assert error_text(checkout, "[tool.remit]\nprofile = 1\n", name="pyproject.toml").startswith(
        "pyproject.toml: profile"
    )


def test_error_for_an_invalid_number_names_the_variable(checkout: Path) -> None:
    message = error_text(checkout, environment={"REMIT_MERGE_THRESHOLD": "high"})
    assert message.startswith("REMIT_MERGE_THRESHOLD must be a number")
    assert message.endswith("not 'high'")


@pytest.mark.parametrize("name", ["remit.toml", "pyproject.toml"])
@pytest.mark.parametrize("data", [b"[tool.remit]\nprofile = \n", b"[tool.remit", b"[tool.remit]\nprofile = '\xff'\n"])
def test_error_for_invalid_toml_is_one_line_with_the_file(checkout: Path, name: str, data: bytes) -> None:
    (checkout / name).write_bytes(data)
    assert error_text(checkout).startswith(f"{name}: ")


@pytest.mark.parametrize("text", ["[[tool.remit]]\nprofile = 'v1'\n", "[tool]\nremit = 3\n"])
def test_error_for_a_value_instead_of_a_table_is_one_line(checkout: Path, text: str) -> None:
    assert error_text(checkout, text, name="pyproject.toml").startswith("pyproject.toml: ")


@pytest.mark.parametrize("other", ["[tool.remitter]\nprofile = 'x'\n", "# [tool.remit] is in remit.toml\n"])
def test_table_of_another_tool_and_comment_do_not_end_the_search(checkout: Path, other: str) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n')
    (checkout / "inner" / "pyproject.toml").write_text(other)
    assert load(checkout / "inner", {})["profile"] == "v1"


@pytest.mark.parametrize(
    "text", ["[tool]\nremit = {profile = 'v1'}\n", "[tool]\nremit.profile = 'v1'\n", "[ tool.remit ]\nprofile = 'v1'\n"]
)
def test_table_may_be_written_in_any_form_of_toml(checkout: Path, text: str) -> None:
    (checkout / "pyproject.toml").write_text(text)
    assert load(checkout, {})["profile"] == "v1"


@pytest.mark.parametrize("value", ["nan", "inf"])
@pytest.mark.parametrize("key", ["merge.threshold", "merge.window"])
def test_number_must_be_finite(checkout: Path, key: str, value: Any) -> None:
    assert "must be a number" in error_text(checkout, f"{key} = {value}\n")
