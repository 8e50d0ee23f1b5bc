"""Settings: where they are found, which value wins, and the errors for invalid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from remit.configuration import SETTINGS, find_file, load
from remit.contract.kinds import KINDS
from remit.contract.profiles import PROFILES
from remit.errors import ConfigurationError
from remit.merging.merge_data import Policy


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of the user out of environments without variables."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a folder in it."""
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    (tmp_path / "checkout" / "inner" / "deep").mkdir(parents=True)
    return tmp_path / "checkout"


def error_text(
    folder: Path, text: str = "", environment: dict[str, str] | None = None, name: str = "remit.toml"
) -> str:
    """Return the error for a file that the person names."""
    if text:
        (folder / name).write_text(text, encoding="utf-8")
    named = {"REMIT_CONFIG": str(folder / name)} if (folder / name).exists() else {}
    with pytest.raises(ConfigurationError) as raised:
        load(folder, {**named, **(environment or {})})
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_values_are_defaults_without_file_and_variables(checkout: Path) -> None:
    values = load(checkout, {}).values
    assert {key: value.value for key, value in values.items()} == {s.key: s.default for s in SETTINGS}
    assert {value.source for value in values.values()} == {"default"}


def test_remit_toml_is_read_and_named_as_the_source(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n[verify]\nexclude = ["a/**"]\n')
    found = load(checkout, {})
    assert (found["profile"], found["verify.exclude"]) == ("v1", ["a/**"])
    assert found.values["profile"].source == str(checkout / "remit.toml")
    assert found.values["verify.documents"].source == "default"


def test_dotted_key_is_the_same_as_a_table(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('verify.exclude = ["a"]\nmerge.weights = {a = 2, "b/security" = 0.5}\n')
    assert load(checkout, {})["verify.exclude"] == ["a"]
    assert load(checkout, {})["merge.weights"] == {"a": 2, "b/security": 0.5}


def test_table_in_pyproject_is_read(checkout: Path) -> None:
    text = '[project]\nname = "x"\n[tool.remit]\nprofile = "claims"\n[tool.remit.agents.kinds]\nhelper = "review"\n'
    (checkout / "pyproject.toml").write_text(text)
    found = load(checkout / "inner", {})
    assert (found["profile"], found["agents.kinds"]) == ("claims", {"helper": "review"})
    assert found.values["profile"].source == str(checkout / "pyproject.toml")


@pytest.mark.parametrize(
    "text",
    [
        '[ tool . "remit" ]\nprofile = "claims"\n',
        "['tool'.remit]\nprofile = \"claims\"\n",
        '[tool]\nremit.profile = "claims"\n',
        '[project]\nname = "x"\n[ "tool" ]\nremit = {profile = "claims"}\n',
        'tool.remit.profile = "claims"\n',
        'tool = {remit = {profile = "claims"}}\n',
    ],
)
def test_the_table_in_pyproject_is_found_however_it_is_written(text: str, checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text(text)
    assert load(checkout, {})["profile"] == "claims"


def test_pyproject_without_the_table_is_skipped(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n')
    (checkout / "inner" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert find_file(checkout / "inner") == checkout / "remit.toml"


def test_remit_toml_takes_precedence_over_pyproject_in_the_same_folder(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n')
    (checkout / "pyproject.toml").write_text('[tool.remit]\nprofile = "claims"\n')
    assert load(checkout, {})["profile"] == "v1"


def test_only_the_nearest_file_is_read(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\nmerge.policy = "max"\n')
    (checkout / "inner" / "pyproject.toml").write_text('[tool.remit]\nprofile = "claims"\n')
    found = load(checkout / "inner" / "deep", {})
    assert (found["profile"], found["merge.policy"]) == ("claims", "mean")


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


def test_the_persons_sources_come_before_the_checkout_and_are_named(checkout: Path, tmp_path: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "v1"\n[verify]\nexclude = ["a"]\ndocuments = ["b"]\n')
    own = tmp_path / "config" / "remit" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('profile = "v2"\nplugin_path = ["mine"]\n[verify]\nexclude = ["c"]\n[check]\nignore = ["CNF"]\n')
    named = tmp_path / "ci.toml"
    named.write_text('plugin_path = ["named"]\n[check]\nignore = ["RES"]\n')
    variables = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "REMIT_CONFIG": str(named)}
    found = load(checkout, {**variables, "REMIT_VERIFY_EXCLUDE": "d", "REMIT_PLUGIN_PATH": "/last"})
    assert found.values["profile"] == ("v2", str(own))
    assert found.values["check.ignore"] == (["RES"], str(named))
    assert found.values["verify.exclude"] == (["d"], "REMIT_VERIFY_EXCLUDE")
    assert found.values["verify.documents"] == (["b"], str(checkout / "remit.toml"))
    assert found["plugin_path"] == ["/last", str(tmp_path / "named"), str(own.parent / "mine")]


def test_a_named_file_that_is_missing_is_an_error(checkout: Path) -> None:
    assert "No such file" in error_text(checkout, environment={"REMIT_CONFIG": str(checkout / "gone.toml")})


#: Every key that grants, with a value; what follows the key in a file.
GRANTS = {
    "database_url": '"postgresql://u@127.0.0.1:1/x"',
    "model": '"anthropic:x"',
    "models": '{fast = "anthropic:x"}',
    "max_turns": "999",
    "mcp_servers": '{x = "sh -c id"}',
    "commands": '{ruff = "sh -c id"}',
    "plugin_path": '["/tmp"]',
    "allow_tools": '["Bash"]',
    "policy": '"open"',
    "redact": '"off"',
    "limits.tokens": "1",
    "limits.cost": "1000",
    "limits.seconds": "1",
    "check.select": '["CNF"]',
    "check.ignore": '["EVD"]',
    "check.overrides": '{raw-dump = "logs"}',
    "gate.limits": "{files = 900}",
    "gate.agents": '{explore = "x"}',
    "gate.trivial_edits": '"direct"',
    "gate.exceptions": "[]",
    "gate.others": '"off"',
    "gate.under_contract": '["x"]',
    "takeover_seconds": "1",
    "shutdown_seconds": "1",
}


@pytest.mark.parametrize("name", ["remit.toml", "pyproject.toml"])
@pytest.mark.parametrize("key", GRANTS)
def test_a_grant_in_a_checkout_is_named_and_not_obeyed_and_a_named_file_grants_it(
    checkout: Path, key: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    header = "[tool.remit]\n" if name == "pyproject.toml" else "# ours\n"
    (checkout / name).write_text(f"{header}{key} = {GRANTS[key]}\n")
    found = load(checkout, {})
    assert found.values[key].source == "default"
    note = f"{name}:2 {key} is not read from a checkout; use --config {name} or your own configuration"
    assert found.notes == (note,)
    assert capsys.readouterr().err == f"remit: {note}\n"
    granted = load(checkout, {"REMIT_CONFIG": str(checkout / name)})
    assert granted.values[key].source == str(checkout / name)
    assert granted.notes == ()


def test_every_key_that_a_checkout_may_set_describes() -> None:
    describes = {setting.key for setting in SETTINGS if setting.checkout != "no"}
    assert not describes & set(GRANTS)
    assert {s.key for s in SETTINGS if s.checkout == "lowers"} == {"merge.threshold"}
    assert {s.key for s in SETTINGS if s.checkout == "adds"} == {"paths.code", "paths.tests", "paths.spec"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# one\n\n[mcp_servers]\nx = 'sh'\n", 3),
        ("profile = 'v1'\n[ check ]\nselect = []\n", 3),
        ("gate.others = 'off'\n", 1),
        ("profile = 'v1'\n\n[[gate.exceptions]]\nrule = 'edit-code'\n", 3),
    ],
)
def test_a_note_names_the_line(checkout: Path, text: str, line: int) -> None:
    (checkout / "remit.toml").write_text(text)
    assert [note.partition(" ")[0] for note in load(checkout, {}).notes] == [f"remit.toml:{line}"]


def test_a_checkout_only_lowers_the_threshold(checkout: Path) -> None:
    (checkout / "remit.toml").write_text("merge.threshold = 60\n")
    assert load(checkout, {})["merge.threshold"] == 60
    assert load(checkout, {"REMIT_MERGE_THRESHOLD": "70"})["merge.threshold"] == 70
    (checkout / "remit.toml").write_text("merge.threshold = 95\n")
    found = load(checkout, {})
    assert found["merge.threshold"] == 75
    assert "remit.toml:1 merge.threshold of a checkout only counts below 75" in found.notes[0]


def test_a_checkout_only_adds_paths(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('[paths]\ntests = ["spec/**"]\n')
    assert load(checkout, {})["paths.tests"] == ["spec/**"]
    found = load(checkout, {"REMIT_PATHS_TESTS": "a/*.{js,ts},b"})
    assert found["paths.tests"] == ["a/*.{js,ts}", "b", "spec/**"]


def test_the_profile_of_a_checkout_is_never_claims_for_a_client(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profile = "claims"\n')
    assert load(checkout, {})["profile"] == "claims"
    found = load(checkout, {}, in_hook=True)
    assert found["profile"] == "v2"
    assert "profile of a checkout is never claims" in found.notes[0]
    assert load(checkout, {"REMIT_PROFILE": "claims"}, in_hook=True)["profile"] == "claims"


def test_an_unknown_or_invalid_key_of_a_checkout_is_named_and_not_read(checkout: Path) -> None:
    (checkout / "remit.toml").write_text('profil = "v1"\nverify.exclude = "a"\nverify.documents = ["b"]\n')
    found = load(checkout, {})
    assert [note.partition(",")[0] for note in found.notes] == [
        "remit.toml:1 there is no setting 'profil'",
        "remit.toml:2 verify.exclude must be a list of strings (globs of documents that `remit verify` leaves out)",
    ]
    assert (found["verify.exclude"], found["verify.documents"]) == ([], ["b"])
    (checkout / "remit.toml").write_text("profile = \n")
    assert load(checkout, {}).notes[0].endswith("the file is not read")


def test_an_unknown_key_of_the_person_is_only_named_in_a_hook(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "remit.toml").write_text('profil = "v1"\nprofile = "v1"\n')
    variables = {"REMIT_CONFIG": str(checkout / "remit.toml"), "REMIT_RUNNERS": "{}"}
    found = load(checkout, variables, in_hook=True)
    assert found["profile"] == "v1"
    assert [note.partition(":")[0] for note in found.notes] == ["remit.toml", "REMIT_RUNNERS"]
    assert capsys.readouterr().err == ""


def test_a_removed_key_says_what_stands_in_for_it(checkout: Path) -> None:
    message = error_text(checkout, "[budget]\ntokens = 4\n")
    assert message == "remit.toml:2: there is no setting 'budget.tokens' any more. Use `limits.tokens`."
    assert "Use `commands`." in error_text(checkout, "[runners]\nx = 'y'\n")
    (checkout / "remit.toml").unlink()
    assert "Use `limits.cost`." in error_text(checkout, environment={"REMIT_BUDGET_COST": "1"})


def test_variables_hold_lists_and_tables(checkout: Path) -> None:
    variables = {"REMIT_CHECK_IGNORE": " EVD, raw-dump,,", "REMIT_MODELS": '{fast = "a:b"}', "REMIT_CHECK_SELECT": ""}
    found = load(checkout, variables)
    assert (found["check.ignore"], found["models"]) == (["EVD", "raw-dump"], {"fast": "a:b"})
    assert found.values["check.select"] == ([], "REMIT_CHECK_SELECT")
    assert "REMIT_MODELS must be a table of strings" in error_text(checkout, environment={"REMIT_MODELS": "fast"})


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
    assert message.startswith("remit.toml")
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
        ('paths.code = "src/**"', "paths.code must be a list of strings"),
        ('gate.exceptions = ["edit-code"]', "gate.exceptions must be a list of tables"),
        ("[gate.exceptions]\nrule = 'edit-code'", "gate.exceptions must be a list of tables"),
        ('gate.under_contract = "qa-engineer"', "gate.under_contract must be a list of strings"),
    ],
)
def test_error_for_a_wrong_type_names_the_expected_type(checkout: Path, text: str, expected: str) -> None:
    assert expected in error_text(checkout, text)


def test_error_in_pyproject_names_that_file(checkout: Path) -> None:
    text = "[tool.remit]\nprofile = 1\n"
    assert error_text(checkout, text, name="pyproject.toml").startswith("pyproject.toml:2: profile")


def test_error_for_an_invalid_number_names_the_variable(checkout: Path) -> None:
    message = error_text(checkout, environment={"REMIT_MERGE_THRESHOLD": "high"})
    assert message.startswith("REMIT_MERGE_THRESHOLD must be a number")
    assert message.endswith("not 'high'")


@pytest.mark.parametrize("name", ["remit.toml", "pyproject.toml"])
@pytest.mark.parametrize("data", [b"[tool.remit]\nprofile = \n", b"[tool.remit", b"[tool.remit]\nprofile = '\xff'\n"])
def test_error_for_invalid_toml_is_one_line_with_the_file(checkout: Path, name: str, data: bytes) -> None:
    (checkout / name).write_bytes(data)
    assert error_text(checkout, name=name).startswith(f"{name}: ")


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
@pytest.mark.parametrize("key", ["merge.threshold"])
def test_number_must_be_finite(checkout: Path, key: str, value: Any) -> None:
    assert "must be a number" in error_text(checkout, f"{key} = {value}\n")


def test_the_choices_of_a_checkout_are_those_that_exist() -> None:
    choices = {setting.key: setting.choices for setting in SETTINGS if setting.choices}
    assert choices == {"profile": tuple(PROFILES), "merge.policy": get_args(Policy), "agents.kinds": tuple(KINDS)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('profile = "v9"', "profile must be one of v2, v1, claims, not 'v9'; it is not read"),
        ('merge.policy = "best"', "merge.policy must be one of mean, max, floor, not 'best'; it is not read"),
        ('agents.kinds = {scout = "poem"}', "agents.kinds must be one of exploration, "),
        ("merge.threshold = -1", "merge.threshold must be at least 0, not -1; it is not read"),
        ("merge.weights = {a = -1}", "merge.weights must be at least 0, not {'a': -1}; it is not read"),
    ],
)
@pytest.mark.parametrize("in_hook", [True, False])
def test_a_bad_value_of_a_checkout_is_named_in_one_line_and_not_read(
    checkout: Path, text: str, said: str, in_hook: bool
) -> None:
    (checkout / "remit.toml").write_text(f'verify.exclude = ["a"]\n{text}\n')
    found = load(checkout, {}, in_hook=in_hook)
    assert [note.startswith(f"remit.toml:2 {said}") for note in found.notes] == [True]
    key = text.partition(" =")[0]
    assert found.values[key].source == "default"
    assert found["verify.exclude"] == ["a"]
