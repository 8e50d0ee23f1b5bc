"""The names of sections, blocks, columns and boxes in three languages.

A heading is looked up after folding: case, numbering ("2. Summary"), emphasis, "(if any)" and a final
colon are ignored. Enum words (SUCCESS, critical, ...) are not translated.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from remit.lazy import either, lazy_pattern

#: key -> (canonical English name, other accepted names)
SECTIONS: dict[str, tuple[str, ...]] = {
    "status": ("Status", "ステータス", "状態", "状态"),
    "summary": ("Summary", "サマリー", "概要", "要約", "摘要", "总结"),
    "findings": ("Findings", "調査結果", "発見事項", "调查结果", "发现"),
    "references": ("Key References", "References", "主要な参照", "主な参照", "关键引用", "主要引用"),
    "confidence": (
        "Confidence",
        "Confidence Score",
        "Confidence Breakdown",
        "信頼度",
        "確信度",
        "信頼度の内訳",
        "置信度",
        "置信度明细",
    ),
    "justification": ("Confidence Justification", "信頼度の根拠", "置信度依据", "置信度理由"),
    "uncertainty": ("Uncertainty", "Uncertainties", "不確実性", "不确定性"),
    "checklist": ("Verification Completed", "検証完了", "验证完成"),
    "issues": ("Issues", "問題", "問題点", "问题"),
    "blockers": ("Blockers", "ブロッカー", "阻害要因", "阻塞项", "阻碍"),
    "error": ("Error Details", "エラー詳細", "エラーの詳細", "错误详情"),
    "attempted_actions": ("Attempted Actions", "試みた対応", "試行した操作", "尝试的操作", "已尝试操作"),
    "root_cause": ("Root Cause Analysis", "Root Cause", "根本原因分析", "根本原因", "根因分析"),
    "recovery_options": ("Recovery Options", "復旧オプション", "回復オプション", "恢复选项", "恢复方案"),
    "next_steps": ("Next Steps", "次のステップ", "下一步", "后续步骤"),
    "tradeoffs": ("Trade-offs Considered", "検討したトレードオフ", "考虑的权衡", "权衡考虑"),
    "severity_summary": ("Severity Summary", "重大度サマリー", "深刻度サマリー", "严重性摘要", "严重程度汇总"),
    "insights": ("Insights", "洞察", "知見", "见解"),
    "overrides": ("Overrides", "オーバーライド", "規則の例外", "覆盖", "规则例外"),
}

BLOCKS: dict[str, tuple[str, ...]] = {
    "entry_points": ("Entry Points", "エントリーポイント", "入口点"),
    "execution_flow": ("Execution Flow", "実行フロー", "执行流程"),
    "architecture_patterns": ("Architecture Patterns", "アーキテクチャパターン", "架构模式"),
    "dependencies": ("Dependencies", "依存関係", "依赖", "依赖关系"),
    "pattern_analysis": ("Pattern Analysis", "パターン分析", "模式分析"),
    "recommended_architecture": ("Recommended Architecture", "推奨アーキテクチャ", "推荐架构"),
    "implementation_map": ("Implementation Map", "実装マップ", "实现映射", "实施映射"),
    "build_sequence": ("Build Sequence", "構築手順", "ビルド手順", "构建顺序"),
    "tradeoffs": ("Trade-offs", "トレードオフ", "权衡"),
    "issues_detected": ("Issues Detected", "検出された問題", "检测到的问题"),
    "issue_details": ("Issue Details", "問題の詳細", "问题详情"),
    "compliance_check": ("Compliance Check", "コンプライアンスチェック", "準拠チェック", "合规检查"),
    "files_created": ("Files Created", "作成したファイル", "作成されたファイル", "创建的文件", "新建文件"),
    "files_modified": ("Files Modified", "変更したファイル", "変更されたファイル", "修改的文件"),
    "test_results": ("Test Results", "テスト結果", "测试结果"),
    "implementation_notes": ("Implementation Notes", "実装メモ", "実装ノート", "实现说明"),
    "claims": ("Claims", "主張", "检验的主张", "声明"),
    "files": ("Files", "ファイル", "文件"),
}

#: Columns; the canonical form writes the first name unless a kind defines another.
COLUMNS: dict[str, tuple[str, ...]] = {
    "item": ("Item", "項目", "项目"),
    "location": (
        "Location",
        "File:Line",
        "File",
        "Files",
        "Path",
        "場所",
        "ファイル:行",
        "ファイル",
        "位置",
        "文件:行",
        "文件",
    ),
    "relevance": ("Relevance", "関連性", "関連", "相关性", "关联"),
    "entry": ("Entry", "Entry Point", "エントリー", "エントリ", "入口"),
    "type": ("Type", "種類", "タイプ", "类型"),
    "pattern": ("Pattern", "パターン", "模式"),
    "example": ("Example", "例", "示例"),
    "recommendation": ("Recommendation", "推奨", "推奨事項", "建议"),
    "component": ("Component", "コンポーネント", "组件"),
    "action": ("Action", "アクション", "操作", "対応"),
    "id": ("ID", "番号", "编号"),
    "issue": ("Issue", "Title", "Finding", "Problem", "問題", "问题"),
    "severity": ("Severity", "重大度", "深刻度", "严重性", "严重程度"),
    "confidence": ("Confidence", "信頼度", "確信度", "置信度"),
    "category": ("Category", "カテゴリ", "カテゴリー", "分類", "类别"),
    "description": ("Description", "説明", "描述"),
    "standard": ("Standard", "標準", "基準", "标准"),
    "status": ("Status", "ステータス", "状態", "状态"),
    "notes": ("Notes", "備考", "メモ", "备注"),
    "purpose": ("Purpose", "目的", "用途"),
    "lines": ("Lines", "Lines Changed", "行数", "変更行数", "更改行数"),
    "change": ("Change", "変更", "変更内容", "更改", "变更"),
    "claim": ("Claim", "主張", "声明", "主张"),
    "outcome": ("Outcome", "結果", "判定", "结果"),
    "aspect": ("Aspect", "項目", "方面"),
    "value": ("Value", "値", "值"),
    "resolution": ("Resolution", "解決策", "解决方案"),
    "blocker": ("Blocker", "ブロッカー", "阻塞项"),
}

#: The four boxes of the checklist.
BOXES: dict[str, tuple[str, ...]] = {
    "references_valid": ("File References Valid", "ファイル参照が有効", "文件引用有效"),
    "snippets_accurate": ("Code Snippets Accurate", "コード引用が正確", "代码片段准确"),
    "no_invented_paths": ("No Hallucinated Paths", "架空のパスなし", "无虚构路径"),
    "evidence_documented": ("Evidence Documented", "根拠を記載", "证据已记录"),
}

#: The words after "<Agent Name>" that mark a heading as the title of a result.
TITLE_WORDS = ("Result", "Results", "結果", "结果")

#: Labels inside sections: `key: value` lines.
LABELS: dict[str, tuple[str, ...]] = {
    "severity": ("Severity", "重大度", "深刻度", "严重性", "严重程度"),
    "resolution": ("Resolution", "解決策", "解決方法", "解决方案"),
    "score": ("Score", "スコア", "分数"),
    "evidence_count": ("Evidence Count", "根拠の数", "证据数量"),
    "method": ("Verification Method", "検証方法", "验证方法"),
    "blind_spots": ("Potential Blind Spots", "Blind Spots", "見落としの可能性", "潜在盲点"),
    "error_type": ("Type", "種類", "类型"),
    "message": ("Message", "メッセージ", "消息"),
    "occurred_at": ("Occurred At", "発生箇所", "发生位置"),
    "recoverable": ("Recoverable", "回復可能", "可恢复"),
    "verified": ("verified_confidence", "verified", "Verified Confidence"),
    "inferred": ("inferred_confidence", "inferred", "Inferred Confidence"),
    "combined": ("combined_confidence", "combined", "Combined Confidence"),
}

_NUMBERING = lazy_pattern(r"^\d{1,3}(?:\.\d{1,3})*[.)]\s+")
_PARENTHESIS = lazy_pattern(r"\s*[(（][^()（）]{0,60}[)）]$")
_SEPARATORS = lazy_pattern(either(r"\s_\-", "‐-―") + "+")


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Return the form in which names are compared."""
    name = unicodedata.normalize("NFKC", name[:200]).strip().strip("*_`# ").strip()
    if "  " not in name and name.replace(" ", "").isalpha():  # the usual case: nothing to remove
        return name.lower()
    name = _NUMBERING.sub("", name)
    name = _PARENTHESIS.sub("", name.rstrip(":").rstrip())
    return _SEPARATORS.sub(" ", name).strip(" *_`:").lower()


def _index(table: dict[str, tuple[str, ...]], *, is_ascii: bool) -> dict[str, str]:
    """Map folded names to keys; if several keys have the same name, the first one gets it.

    The names in ASCII and the others have an index each, because most documents need only the first one.
    """
    index: dict[str, str] = {}
    for key, names in table.items():
        for name in names:
            if name.isascii() == is_ascii:
                index.setdefault(fold(name), key)
    return index


@cache
def _section_keys(*, is_ascii: bool) -> dict[str, str]:
    return _index(SECTIONS, is_ascii=is_ascii)


@cache
def _block_keys(*, is_ascii: bool) -> dict[str, str]:
    return _index(BLOCKS, is_ascii=is_ascii)


@cache
def _box_keys(*, is_ascii: bool) -> dict[str, str]:
    return _index(BOXES, is_ascii=is_ascii)


@cache
def _label_names(key: str) -> frozenset[str]:
    return frozenset(map(fold, LABELS[key]))


@cache
def _column_names(key: str) -> frozenset[str]:
    return frozenset(map(fold, COLUMNS[key]))


def section_key(heading: str) -> str | None:
    """Return the section that a heading names, or None."""
    name = fold(heading)
    return _section_keys(is_ascii=name.isascii()).get(name)


def block_key(heading: str) -> str | None:
    """Return the block of Findings that a heading names, or None."""
    name = fold(heading)
    return _block_keys(is_ascii=name.isascii()).get(name)


def box_key(text: str) -> str | None:
    """Return the box of the checklist that a line names, or None."""
    name = fold(text.split(":", 1)[0].split("：", 1)[0])
    return _box_keys(is_ascii=name.isascii()).get(name)


def is_label(text: str, key: str) -> bool:
    """Return whether `text` is one of the names of the label `key`."""
    return fold(text) in _label_names(key)


def column_index(columns: tuple[str, ...], key: str) -> int | None:
    """Return the position of the column `key`, or None."""
    names = _column_names(key)
    for index, column in enumerate(columns):
        if fold(column) in names:
            return index
    return None
