"""Kinds of results, and agent names."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import maybe_line

from remit.contract.headings import BLOCKS, COLUMNS
from remit.contract.kinds import KINDS, kind_of, slug

#: Section 4 of the contract: kind, agents, required blocks.
CONTRACT = {
    "exploration": ("code-explorer", "Entry Points, Execution Flow"),
    "search": ("Explore", ""),
    "design": ("code-architect system-architect", "Recommended Architecture, Implementation Map, Build Sequence"),
    "review": ("qa-engineer security-auditor", "Issues Detected"),
    "implementation": ("frontend-specialist backend-specialist", "Files Created or Files Modified, Test Results"),
    "verification": ("verification-specialist", "Claims"),
    "document": ("product-manager technical-writer", "Files"),
    "generic": ("anybody", ""),
}


@pytest.mark.parametrize("kind", CONTRACT)
def test_agents_and_required_blocks_match_the_contract(kind: str) -> None:
    agents, blocks = CONTRACT[kind]
    assert {kind_of(agent).name for agent in agents.split()} == {kind}
    groups = [" or ".join(block.name for block in group) for group in KINDS[kind].required_groups()]
    assert ", ".join(groups) == blocks


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Code Explorer", "code-explorer"),
        ("code_explorer", "code-explorer"),
        ("  Code   Explorer ", "code-explorer"),
        ("CODE-EXPLORER", "code-explorer"),
        ("code _explorer", "code-explorer"),
        ("my-plugin:Code Explorer", "my-plugin:code-explorer"),
        ("コード調査", "コード調査"),
        ("-", ""),
        ("", ""),
    ],
)
def test_names_are_compared_as_slugs(name: str, expected: str) -> None:
    assert slug(name) == expected


@given(maybe_line)
def test_the_slug_of_a_slug_is_itself(name: str) -> None:
    assert slug(slug(name)) == slug(name)


def test_the_plugin_prefix_of_an_agent_is_ignored() -> None:
    assert kind_of("anything:qa-engineer").name == "review"
    assert kind_of("qa-engineer:anything").name == "generic"


def test_a_named_kind_has_priority() -> None:
    assert kind_of("qa-engineer", "document").name == "document"


def test_every_block_and_column_has_names_in_the_headings_table() -> None:
    for kind in KINDS.values():
        for block in kind.blocks:
            assert block.key in BLOCKS
            assert kind.block(block.key) is block
            for column in block.columns:
                assert column.name in COLUMNS[column.key]
        assert kind.block("no such block") is None
