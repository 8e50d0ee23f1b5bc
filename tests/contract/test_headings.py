"""The names of sections, blocks, columns and boxes in three languages."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from strategies import maybe_line

from remit.contract import headings
from remit.contract.headings import (
    BLOCKS,
    BOXES,
    COLUMNS,
    LABELS,
    SECTIONS,
    block_key,
    box_key,
    column_index,
    fold,
    is_label,
    section_key,
)
from remit.contract.kinds import KINDS


@pytest.mark.parametrize("key", SECTIONS)
def test_every_name_of_a_section_is_found(key: str) -> None:
    for name in SECTIONS[key]:
        assert section_key(name) == key
        assert section_key(f"**{name.upper()}** (if any):") == key


@pytest.mark.parametrize("key", BLOCKS)
def test_every_name_of_a_block_is_found(key: str) -> None:
    for name in BLOCKS[key]:
        assert block_key(name) == key
        assert block_key(f"2.1. {name}：") == key


@pytest.mark.parametrize("key", BOXES)
def test_every_name_of_a_box_is_found_before_its_text(key: str) -> None:
    for name in BOXES[key]:
        assert box_key(f"{name}: every one") == key
        assert box_key(f"{name}：全部") == key


@pytest.mark.parametrize("key", LABELS)
def test_every_name_of_a_label_is_found(key: str) -> None:
    assert all(is_label(name, key) for name in LABELS[key])


@pytest.mark.parametrize("key", COLUMNS)
def test_every_name_of_a_column_is_found(key: str) -> None:
    assert all(column_index(("Other", f" {name} "), key) == 1 for name in COLUMNS[key])


def test_no_name_has_two_meanings() -> None:
    names = [(fold(name), key) for table in (SECTIONS, BLOCKS) for key in table for name in table[key]]
    assert len({name for name, _ in names}) == len(names)


def test_every_section_and_block_has_names_in_three_languages() -> None:
    for table in (SECTIONS, BLOCKS, BOXES):
        for key, (first, *others) in table.items():
            assert first.isascii(), key
            assert sum(not name.isascii() for name in others) >= 2, key


def test_the_names_in_the_contract_are_all_defined() -> None:
    japanese = (
        "ステータス サマリー 調査結果 主要な参照 信頼度 問題 次のステップ ブロッカー 検証完了 信頼度の根拠 不確実性"
    )
    chinese = "状态 摘要 调查结果 关键引用 置信度 问题 下一步 阻塞项 验证完成 置信度依据 不确定性"
    keys = [section_key(name) for name in japanese.split()]
    assert None not in keys
    assert keys == [section_key(name) for name in chinese.split()]
    blocks = [block_key(name) for name in "エントリーポイント 実行フロー 検出された問題".split()]  # noqa: SIM905
    assert blocks == ["entry_points", "execution_flow", "issues_detected"]
    assert blocks == [block_key(name) for name in "入口点 执行流程 检测到的问题".split()]  # noqa: SIM905
    assert {"結果", "结果"} <= set(headings.TITLE_WORDS)


def test_the_columns_of_one_table_are_distinct() -> None:
    for kind in KINDS.values():
        for block in kind.blocks:
            for one, other in combinations(block.columns, 2):
                assert column_index((one.name,), other.key) is None, (kind.name, one.name, other.name)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Status", "status"),
        ("STATUS:", "status"),
        ("1. Status", "status"),
        ("`Status`", "status"),
        ("_Key_ References", "references"),
        ("key-references", "references"),
        ("Key   References", "references"),
        ("Trade\u2011offs Considered", "tradeoffs"),
        ("Ｓtatus", "status"),
        ("Blockers (none)", "blockers"),
        ("Blockers（なし）", "blockers"),
        ("My Status", None),
        ("Statuses", None),
        ("", None),
        ("(if any)", None),
    ],
)
def test_case_numbers_marks_and_brackets_are_ignored(written: str, key: str | None) -> None:
    assert section_key(written) == key


@given(maybe_line)
def test_any_text_can_be_looked_up(text: str) -> None:
    keys = (section_key(text), block_key(text), box_key(text))
    assert all(key is None or isinstance(key, str) for key in keys)
    assert column_index((text,), "location") in (None, 0)
