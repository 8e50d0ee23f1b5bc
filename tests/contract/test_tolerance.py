"""What agents write instead of the canonical form, and what it is taken for."""

from __future__ import annotations

import pytest

from remit.checking import Options, check_text
from remit.contract.parse import parse
from remit.evidence.sources import Sources
from remit.rules.examples import TREE, sample
from remit.workspace.files import WorkTree

REVIEW = sample("review")
SOURCES = Sources(workspace=WorkTree(TREE))


def rules(text: str, **options: object) -> list[str]:
    verdicts = check_text(text, options=Options(**options), sources=SOURCES)  # type: ignore[arg-type]
    return [violation.rule for verdict in verdicts for violation in verdict.violations]


def indented(text: str, by: str = "  ") -> str:
    return "".join(f"{by}{line}\n" if line else "\n" for line in text.split("\n"))


WRITTEN = {
    "title of level 1": REVIEW.replace("## Security", "# Security", 1),
    "agent as a slug": REVIEW.replace("Security Auditor Result", "security-auditor Result"),
    "sections of level 2": REVIEW.replace("## Security", "# Security", 1).replace("\n### ", "\n## "),
    "sections of level 4, blocks of level 5": REVIEW.replace("\n#### ", "\n##### ").replace("\n### ", "\n#### "),
    "blocks as high as sections": REVIEW.replace("\n#### ", "\n### "),
    "status on the heading": REVIEW.replace("### Status\nSUCCESS", "### Status: SUCCESS"),
    "status in bold": REVIEW.replace("### Status\nSUCCESS", "**Status**: SUCCESS"),
    "summary in bold": REVIEW.replace("### Summary\n", "**Summary:** "),
    "if any after a heading": REVIEW.replace("### Next Steps", "### Next Steps (if any)"),
    "numbered headings": REVIEW.replace("### Summary", "### 2. Summary"),
    "colon after a heading": REVIEW.replace("### Key References", "### Key References:"),
    "in a Markdown fence": f"```markdown\n{REVIEW}```\n",
    "in a bare fence": f"```\n{REVIEW}```\n",
    "in a longer fence": f"````md\n{REVIEW}````\n",
    "text before and after": f"Here is my report.\n\n{REVIEW}\nLet me know if you need more.\n",
    "handed back by a client": f"  <tools-used-before-summary>Read</tools-used-before-summary>\n{indented(REVIEW)}",
    "Windows line ends": REVIEW.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + REVIEW,
    "rules between sections": REVIEW.replace("\n### ", "\n---\n\n### "),
    "score in per cent": REVIEW.replace("90 - every", "90% - every"),
    "score of a hundred": REVIEW.replace("90 - every", "90/100 - every"),
    "score in bold": REVIEW.replace("90 - every", "**90** - every"),
    "score with a decimal": REVIEW.replace("90 - every", "90.5 - every").replace("**Score**: 90", "**Score**: 90.5"),
    "boxes with signs": REVIEW.replace("- [x]", "- ✅"),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_it_is_read_as_if_it_were_canonical(text: str) -> None:
    assert rules(text) == []


@pytest.mark.parametrize(
    "status", ["success", "Success ✅", "SUCCESS (done)", "✅ SUCCESS", "**SUCCESS**", "[SUCCESS]"]
)
def test_a_decorated_status_is_understood_with_advice(status: str) -> None:
    assert rules(REVIEW.replace("### Status\nSUCCESS", f"### Status\n{status}")) == ["status-form"]


@pytest.mark.parametrize("status", ["DONE", "PARTIAL SUCCESS", "SUCCESSFUL", "SUCCESS | PARTIAL", "not SUCCESS"])
def test_other_words_are_no_status(status: str) -> None:
    assert rules(REVIEW.replace("### Status\nSUCCESS", f"### Status\n{status}")) == ["status-unknown"]


def test_section_order_is_free() -> None:
    head, *sections = REVIEW.split("\n### ")
    shuffled = "\n### ".join([head, *reversed([s.rstrip("\n") + "\n" for s in sections])])
    assert rules(shuffled) == []


def test_a_fence_around_a_result_may_hold_bare_fences() -> None:
    wrapped = f"Intro\n\n```markdown\n{sample('implementation')}```\n\nDone.\n\n```\nunrelated\n```\n"
    assert rules(wrapped) == []


def test_several_results_in_one_file_are_each_checked() -> None:
    both = f"{REVIEW}\n{sample('error')}\n```markdown\n{sample('generic')}```\n"
    assert [v.agent for v in check_text(REVIEW + "\n" + sample("error"))] == ["security-auditor", "backend-specialist"]
    assert len(parse(both)) >= 2
    wrapped = "\n\n".join(
        f"### Example\n\n```markdown\n{sample(kind)}```" for kind in ("review", "implementation", "error")
    )
    assert [v.kind for v in check_text(wrapped, sources=SOURCES)] == ["review", "implementation", "error"]
    assert rules(wrapped) == []


def test_a_result_quoted_inside_a_result_is_not_another_one() -> None:
    quoting = REVIEW.replace(
        "### Next Steps", "### Insights\n- see\n\n```text\n## Other Agent Result\n```\n\n### Next Steps"
    )
    assert len(parse(quoting)) == 1


def test_a_heading_of_the_same_level_ends_a_result() -> None:
    (document,) = parse(f"{REVIEW}\n## What else I did\n\n### Status\nFAILED\n")
    assert document.result.status == "SUCCESS"


JAPANESE = """\
## コード調査 結果

### ステータス
SUCCESS

### サマリー
ログインの流れを調べました。入口は一つです。

### 調査結果

#### エントリーポイント
| エントリー | ファイル:行 | 種類 |
|---|---|---|
| login | `app/login.py:7` | 関数 |

#### 実行フロー
1. 検索 → `app/store.py:14` (find_user)

### 主要な参照
| 項目 | 場所 | 関連性 |
|---|---|---|
| login | `app/login.py:7` | 入口 |

### 信頼度
72 - 行を読んで確かめた

### 検証完了
- [x] **ファイル参照が有効**: 済み
- [x] **コード引用が正確**: 済み
- [x] **架空のパスなし**: 済み
- [x] **根拠を記載**: 済み

### 次のステップ
1. 続きを読む
"""
CHINESE = """\
## code-explorer 结果

### 状态
SUCCESS

### 摘要
调查了登录流程。入口只有一个。

### 调查结果

#### 入口点
| 入口 | 文件:行 | 类型 |
|---|---|---|
| login | `app/login.py:7` | 函数 |

#### 执行流程
1. 查找 → `app/store.py:14` (find_user)

### 关键引用
| 项目 | 位置 | 相关性 |
|---|---|---|
| login | `app/login.py:7` | 入口 |

### 置信度
72 - 逐行读过

### 验证完成
- [x] **文件引用有效**: 是
- [x] **代码片段准确**: 是
- [x] **无虚构路径**: 是
- [x] **证据已记录**: 是

### 下一步
1. 继续阅读
"""


@pytest.mark.parametrize("text", [JAPANESE, CHINESE], ids=["Japanese", "Chinese"])
def test_headings_and_columns_are_read_in_three_languages(text: str) -> None:
    assert rules(text, kind="exploration") == []


def test_bold_inside_findings_is_not_a_section() -> None:
    text = REVIEW.replace("**Fix**: use the secrets module", "**Fix**: use the secrets module\n**Confidence**: 12")
    assert rules(text) == []
    without = (
        sample("review")
        .split("### Confidence\n")[0]
        .replace("**Risk**: a stranger", "**Confidence**: 95\n**Risk**: a stranger")
    )
    assert "confidence-missing" in rules(without)


def test_a_second_section_of_the_same_name_is_joined() -> None:
    text = REVIEW.replace("### Next Steps\n", "### Next Steps\n1. First\n\n### Next Steps\n")
    (document,) = parse(text)
    assert document.result.next_steps == ("First", "Mend SEC-001 before the next release")


def test_underlined_headings_are_headings() -> None:
    text = REVIEW.replace("## Security Auditor Result", "Security Auditor Result\n=======================", 1)
    assert rules(text) == []


def test_json_is_read_as_an_object_a_list_and_in_a_fence() -> None:
    from remit.contract.render import to_json

    encoded = to_json(parse(REVIEW)[0].result).decode()
    assert rules(encoded) == []
    assert rules(f"[{encoded},{encoded}]") == []
    assert rules(f"```json\n{encoded}\n```") == []
