"""The folder of the state that decides: where it is, and that it is never in a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.errors import ConfigurationError
from remit.state_folder import checkout_of, person_files, state_folder


def test_the_folder_is_that_of_the_specification(tmp_path: Path) -> None:
    assert state_folder({"HOME": "/home/ann"}) == "/home/ann/.local/state/remit"
    assert state_folder({"HOME": "/home/ann", "XDG_STATE_HOME": str(tmp_path)}) == str(tmp_path / "remit")
    assert state_folder({"HOME": "/home/ann", "XDG_STATE_HOME": "state"}) == "/home/ann/.local/state/remit"


def test_a_variable_or_the_persons_settings_name_another_folder(tmp_path: Path) -> None:
    own = tmp_path / "remit" / "config.toml"
    own.parent.mkdir()
    own.write_text('state = "../elsewhere"\n')
    variables = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}
    assert state_folder(variables) == str(tmp_path / "elsewhere")
    assert state_folder({**variables, "REMIT_STATE": str(tmp_path / "other")}) == str(tmp_path / "other")
    named = tmp_path / "pyproject.toml"
    named.write_text('[tool.remit]\nstate = "/srv/remit"\n')
    assert person_files({**variables, "REMIT_CONFIG": str(named)}) == [str(named), str(own)]
    assert state_folder({**variables, "REMIT_CONFIG": str(named)}) == "/srv/remit"


@pytest.mark.parametrize("way", ["straight", "link"])
def test_a_folder_in_a_checkout_is_refused(tmp_path: Path, way: str) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    folder = checkout / ".remit"
    if way == "link":
        (tmp_path / "link").symlink_to(checkout)
        folder = tmp_path / "link" / ".remit"
    assert checkout_of(str(folder)) == str(checkout)
    with pytest.raises(ConfigurationError, match="cannot be in a checkout"):
        state_folder({"REMIT_STATE": str(folder)})


def test_a_home_that_is_a_checkout_keeps_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_folder({"REMIT_STATE": str(tmp_path / "state")}) == str(tmp_path / "state")
