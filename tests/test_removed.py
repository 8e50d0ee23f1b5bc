"""What stands in for a removed name: the table, and the answers of the command line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import click
import pytest
from support.in_process import run_here

from remit import removed
from remit.configuration import SETTINGS
from remit.surfaces.cli.group import remit

TABLE = tomllib.loads(Path(removed.__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _commands(group: click.Command, words: str = "") -> dict[str, click.Command]:
    """Return the commands below a group by their words."""
    if not isinstance(group, click.Group):
        return {words: group}
    found = {words: group} if words else {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found |= _commands(command, f"{words} {name}".strip())
    return found


def test_each_removed_name_has_one_sentence() -> None:
    assert set(TABLE) == {"commands", "options", "settings", "words"}
    for rows in TABLE.values():
        for name, sentence in rows.items():
            assert sentence.endswith("."), name
            assert "\n" not in sentence, name


def test_no_removed_name_exists() -> None:
    commands = _commands(remit)
    options = {
        f"{words} {option}"
        for words, command in commands.items()
        for parameter in command.params
        for option in parameter.opts
    }
    assert not set(TABLE["commands"]) & set(commands)
    assert not set(TABLE["options"]) & options
    assert {name.rpartition(" ")[0] for name in TABLE["options"]} <= set(commands)
    assert not set(TABLE["settings"]) & {setting.key for setting in SETTINGS}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        "commands": {"sing": "Use `remit check`.", "jobs sing": "Use `remit jobs show`."},
        "options": {"check --sing": "Use `--kind`.", "jobs list --sing": "Use `--state`."},
        "settings": {},
        "words": {"song": "Use json."},
    }
    monkeypatch.setattr(removed, "_table", lambda: rows)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("sing", "No such command 'sing'. Use `remit check`."),
        ("jobs sing", "No such command 'sing'. Use `remit jobs show`."),
        ("check --sing a.md", "No such option '--sing'. Use `--kind`."),
        ("jobs list --sing", "No such option '--sing'. Use `--state`."),
        ("check --format song a.md", "Invalid value for '--format': there is no 'song'. Use json."),
        ("verfy", "No such command 'verfy'. Did you mean 'verify'?"),
        ("zzz", "No such command 'zzz'."),
        ("plan zzz", "No such command 'zzz'."),
        ("verify --sing", "No such option '--sing'."),
    ],
)
def test_the_answer_to_a_removed_name_says_what_stands_in_for_it(tmp_path: Path, words: str, answer: str) -> None:
    assert run_here(tmp_path, *words.split()) == (2, "", f"remit: {answer}\n")
