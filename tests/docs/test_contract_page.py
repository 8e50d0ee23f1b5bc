"""The page on the contract names every rule of the gate and only commands that exist."""

from __future__ import annotations

import re

from click.testing import CliRunner
from pages import page

from remit.gate.rule_texts import RULES
from remit.surfaces.cli.group import remit

PAGE = page("docs/contract.md")


def test_every_part_of_the_contract_has_a_section_with_a_table() -> None:
    sections = re.findall(r"^## (\d)\. ", PAGE.text, re.MULTILINE)
    assert sections == [str(number) for number in range(1, 10)]
    for number in sections:
        section = re.split(r"^## ", PAGE.text, flags=re.MULTILINE)[int(number)]
        assert "| part | enforced in | see it |" in section


def test_every_rule_of_the_gate_is_on_the_page() -> None:
    assert [name for name, *_ in RULES if f"`{name}`" not in PAGE.text] == []


def test_every_command_on_the_page_exists() -> None:
    commands = {tuple(found.split()) for found in re.findall(r"`remit ([a-z]+(?: [a-z]+)?)", PAGE.text)}
    assert len(commands) > 10
    for words in commands:
        name = words if words[0] in ("gate", "jobs", "agents") else words[:1]
        done = CliRunner().invoke(remit, [*name, "--help"])
        assert done.exit_code == 0, (words, done.output)
