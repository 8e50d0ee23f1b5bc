"""Fences: several locations in one, proposed code, and code before and after a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown

from remit.evidence.fence_parts import before_and_after

LOOKUP = "    user = store.find_user(name)"
NEW = "return secrets.compare_digest(one, other)"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def fence(*lines: str, info: str = "python") -> str:
    return "\n".join([f"```{info}", *lines, "```"])


def outcomes(body: str, tree: Path) -> list[str]:
    return [shown(quote) for quote in evidence_of(body, tree).quotes]


def states(body: str, tree: Path) -> list[str]:
    return [quote.outcome for quote in evidence_of(body, tree).quotes]


# --- Several locations in one fence


def test_each_line_may_end_with_its_location(tree: Path) -> None:
    body = fence("user = store.find_user(name)  # src/app.py:14", "", "def find_user(name):  # `src/store.py:14`")
    found = evidence_of(body, tree)
    assert [shown(one) for one in found.quotes] == ["src/app.py:14 verified", "src/store.py:14 verified"]
    assert [shown(one) for one in found.references] == ["src/app.py:14 verified", "src/store.py:14 verified"]
    # A list of calls also looks like this: what is not in the file only describes it.
    assert states(body.replace("(name)  #", "(names)  #"), tree) == ["verified"]
    # Other comments are comments.
    assert evidence_of(body.replace("14\n", "14 is slow\n"), tree).quotes == []
    assert evidence_of(fence("user = 1  # src/app.py:14", "user = 2"), tree).quotes == []


def test_each_comment_that_is_a_location_starts_a_quote(tree: Path) -> None:
    body = fence("# src/app.py:14", LOOKUP, "", "# src/store.py:14", "def find_user(name):")
    found = evidence_of(body, tree)
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:14 verified", "src/store.py:14 verified"]
    assert [shown(one) for one in found.references] == ["src/app.py:14 verified", "src/store.py:14 verified"]
    assert [quote.text for quote in found.quotes] == [LOOKUP + "\n", "def find_user(name):"]


def test_each_quote_of_a_fence_has_its_own_outcome_and_line(tree: Path) -> None:
    body = fence("# src/app.py:14", LOOKUP, "# src/store.py:14", "def find_everybody(name):")
    first, second = evidence_of(body, tree).quotes
    assert (first.outcome, second.outcome) == ("verified", "mismatch")
    assert second.at == first.at + 2


def test_a_location_may_follow_words_in_its_comment(tree: Path) -> None:
    body = fence(
        "# In login() - src/app.py:14", LOOKUP, "# Later in find_user (src/store.py:15)", "return USERS.get(name)"
    )
    assert outcomes(body, tree) == ["src/app.py:14 verified", "src/store.py:15 verified"]


def test_a_path_without_a_line_starts_a_quote_if_it_is_the_whole_comment(tree: Path) -> None:
    body = fence("# src/app.py", LOOKUP, "# src/store.py", "def find_user(name):")
    assert outcomes(body, tree) == ["src/app.py verified", "src/store.py verified"]
    body = fence("# src/app.py", LOOKUP, "# src/store.py is loaded first", "    if user is None:")
    assert len(evidence_of(body, tree).quotes) == 1


def test_the_code_above_the_first_comment_belongs_to_the_location_above_the_fence(tree: Path) -> None:
    body = "`src/app.py:14`\n" + fence(LOOKUP, "# src/store.py:14", "def find_user(name):")
    assert outcomes(body, tree) == ["src/app.py:14 verified", "src/store.py:14 verified"]


def test_a_comment_of_the_quoted_file_does_not_start_a_quote(tmp_path: Path) -> None:
    lines = ["def first():", "    # a.py:1 explains this", "    return second()"]
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    assert outcomes(fence("# a.py:1", *lines), tmp_path) == ["a.py:1 verified"]


def test_a_thousand_locations_in_one_fence_are_a_thousand_quotes(tree: Path) -> None:
    lines = [line for _ in range(1_000) for line in ("# src/app.py:14", LOOKUP)]
    found = evidence_of(fence(*lines), tree).quotes
    assert len(found) == 1_000
    assert {quote.outcome for quote in found} == {"verified"}


# --- Proposed code


@pytest.mark.parametrize(
    "above",
    [
        "**Fix** (src/app.py:14):",
        "**After** (`src/app.py:14`):",
        "**Proposed change** (src/app.py:14):",
        "**Suggested fix** (`src/app.py:14`):",
        "**Example** (src/app.py:14):",
        "**Recommendation:** compare in constant time at src/app.py:14:",
        "**Changes**: replace src/app.py:14",
        "Replace src/app.py:14 with this:",
        "Add this to src/app.py:14:",
        "**Fix:**\nThe comparison in src/app.py:14 takes the same time now.",
        "#### Proposed fix\n`src/app.py:14`",
        "#### Suggested change\n**File**: `src/app.py:14`",
        "Proposed for `src/app.py:14`:",
        "Then add it to `src/app.py` after line 14:",
        "After the lookup (`src/app.py:14`), add:",
        "Remove the lookup in `src/app.py:14`. Replace with:",
        "You should replace `src/app.py:14` with:",
        "The new version of `src/app.py:14`:",
        "Expected output for `src/app.py:14`:",
        "`src/app.py:14` prints:",
        "**Modification** (`src/app.py:14`):",
        "**建议修改：** `src/app.py:14`",
        "#### 変更案\n`src/app.py:14`",
        "#### Proposed fix\n**Step A: compare in constant time**\n`src/app.py:14`",
        "#### Example: `src/app.py` (line 14)",
        "#### Fix #1: Compare in constant time\n`src/app.py:14`",
        "**正しい修正方法**:\n1. `src/app.py:14`",
        "- [ ] **Step 5: pass the name**\n\nIn `src/app.py:14`, read the name from the state:",
        "`src/app.py:14` 的示例：",
        "直接从 `src/app.py:14` 复制文本到新的方法：",
        "`src/app.py:14` の使用例：",
        "# A plan\n\n### Changes required\n\n#### 2. The sites\n\n**Lookup** (`src/app.py:14`):",
        "# A plan\n\n## Design\n\nThe new module is pinned to the lookup in\n(`src/app.py:14`).\n",
        "# A plan\n\n## Design\n\nThe module is like `src/app.py:14`.\n",
    ],
)
def test_code_that_the_text_calls_proposed_is_not_a_quote(above: str, tree: Path) -> None:
    found = evidence_of(f"{above}\n{fence(NEW)}", tree)
    assert found.quotes == []
    assert [reference.outcome for reference in found.references] == ["verified"]


@pytest.mark.parametrize(
    "above",
    [
        "**Current code** (src/app.py:14):",
        "**Before** (src/app.py:14):",
        "**Evidence** (src/app.py:14):",
        "**Location:** `src/app.py:14`",
        "**Fix:** use hmac.\n\n**Location:** `src/app.py:14`",
        "**Fix:** use hmac.\n\n**Problem** (src/app.py:14):",
        "#### Fixtures\n`src/app.py:14`",
        "#### Recommended Architecture\nThe lookup in src/app.py:14 stays as it is.",
        "The fix is needed in src/app.py:14:",
        "#### Fix the lookup of users\n`src/app.py:14`:",
        "#### 建议 1：查找 — 已实现\n`src/app.py:14`:",
        "#### Implementation steps\n`src/app.py:14` currently says:",
        "#### Proposed fix\n**Vulnerable code** (src/app.py:14):",
        "修改前（`src/app.py:14`）：",
        "In `src/app.py:14`, use of a name is unsafe:",
        "- [ ] **Step 5: pass the name**\n\n`src/app.py:14` currently reads:",
        "目前 `src/app.py:14` 的代码：",
        "# A plan\n\n## Design\n\n`src/app.py:14`.\n",
        "# A plan\n\n## Current state\n\nThe lookup is in `src/app.py:14`.\n",
        "# A review\n\n### Changes required\n\n#### 2. The sites\n\n**Lookup** (`src/app.py:14`):",
        "# A review\n\n## Design\n\nThe module is like `src/app.py:14`.\n",
    ],
)
def test_code_that_exists_is_a_quote(above: str, tree: Path) -> None:
    assert outcomes(f"{above}\n{fence('launch(the_missiles, now=True)')}", tree) == ["src/app.py:14 mismatch"]
    assert outcomes(f"{above}\n{fence(LOOKUP)}", tree) == ["src/app.py:14 verified"]


def test_proposed_code_with_a_location_inside_the_fence_keeps_only_the_reference(tree: Path) -> None:
    found = evidence_of(f"**Fix**:\n{fence('# src/app.py:14', NEW)}", tree)
    assert found.quotes == []
    assert [shown(reference) for reference in found.references] == ["src/app.py:14 verified"]
    found = evidence_of(f"**Fix**:\n{fence('# src/app.py:99', NEW)}", tree)
    assert [reference.outcome for reference in found.references] == ["out-of-range"]


@pytest.mark.parametrize(
    "remark",
    [" (Refactored)", " (example pattern)", " - proposed", " — change it to that", ", after line 14:", " (new)"],
)
def test_a_remark_after_the_location_can_call_the_code_proposed(remark: str, tree: Path) -> None:
    assert evidence_of(fence(f"# src/app.py:14{remark}", NEW), tree).quotes == []


@pytest.mark.parametrize("remark", [" (login)", " - the lookup", " news", ""])
def test_another_remark_after_the_location_does_not(remark: str, tree: Path) -> None:
    assert [one.outcome for one in evidence_of(fence(f"# src/app.py:14{remark}", NEW), tree).quotes] == ["mismatch"]


# --- Code of the past


@pytest.mark.parametrize(
    "above",
    [
        "`src/app.py:14` - BEFORE FIX:",
        "`src/app.py:14` was previously:",
        "#### P0-1: logins are logged - ✅ FIXED\n`src/app.py:14`",
        "#### Removed the second lookup\n**Before** (`src/app.py:14`):",
    ],
)
def test_code_before_a_change_that_was_made_may_be_gone(above: str, tree: Path) -> None:
    assert outcomes(f"{above}\n{fence(NEW)}", tree) == ["src/app.py:14 unchecked"]
    assert outcomes(f"{above}\n{fence(LOOKUP)}", tree) == ["src/app.py:14 verified"]


def test_a_comment_can_call_the_code_old(tree: Path) -> None:
    assert outcomes(fence("# OLD (broken) - src/app.py:14", NEW), tree) == ["src/app.py:14 unchecked"]
    assert outcomes(fence("# OLD (broken) - src/app.py:14", LOOKUP), tree) == ["src/app.py:14 verified"]


def test_a_fence_with_comments_only_is_not_a_quote(tree: Path) -> None:
    found = evidence_of("`src/app.py:14`\n" + fence("# looks the user up", "# and nothing else"), tree)
    assert found.quotes == []
    assert [reference.outcome for reference in found.references] == ["verified"]
    assert outcomes("`src/app.py:14`\n" + fence("# looks the user up", "launch(it)"), tree) == [
        "src/app.py:14 mismatch"
    ]


def test_a_heading_in_a_fence_is_not_a_comment_with_a_location(tree: Path) -> None:
    found = evidence_of("```\n#### 1. Input (src/ghost.py:15)\nIt reads.\n```", tree)
    assert (found.references, found.quotes) == ([], [])


def test_a_comma_before_a_closing_bracket_belongs_to_the_line_break(tmp_path: Path) -> None:
    code = ["state = {", "    pages: [", "        1,", "    ],", "    blocks: [],", "}", "pair = (1,)"]
    (tmp_path / "a.js").write_text("\n".join(code), encoding="utf-8")
    assert outcomes("`a.js:1`\n" + fence("state = { pages: [1], blocks: [] }"), tmp_path) == ["a.js:1 verified"]
    assert outcomes("`a.js:2`\n" + fence("pages: [1], blocks: [],"), tmp_path) == ["a.js:2 verified"]
    assert outcomes("`a.js:1`\n" + fence("state = { pages: [1] blocks: [] }"), tmp_path)[0].startswith(
        "a.js:1 mismatch"
    )
    assert outcomes("`a.js:7`\n" + fence("pair = (1)"), tmp_path)[0].startswith("a.js:7 mismatch")


def test_a_location_in_a_fence_of_the_past_may_be_gone(tree: Path) -> None:
    text = "#### P0-1 - FIXED\n" + fence("# src/app.py:99", NEW)
    assert [one.outcome for one in evidence_of(text, tree).references] == ["unchecked"]
    assert [one.outcome for one in evidence_of("Before\n" + text, tree).references] == ["unchecked"]


def test_a_fence_that_shows_a_file_to_create_is_neither_quote_nor_reference(tree: Path) -> None:
    for above in ("**Recommendation:** check the dependencies:", "A new module:", ""):
        found = evidence_of(f"{above}\n{fence('# src/security.py', NEW)}", tree)
        assert (found.quotes, found.references) == ([], [])


def test_a_missing_file_that_is_cited_with_a_line_is_still_reported(tree: Path) -> None:
    found = evidence_of(fence("# src/security.py:3", NEW), tree)
    assert [quote.outcome for quote in found.quotes] == ["missing-file"]
    assert [reference.outcome for reference in found.references] == ["missing-file"]


def test_the_code_of_a_plan_is_to_be_written_unless_it_is_called_current(tree: Path) -> None:
    plan = "# Login: implementation plan\n\n## Phase 1\n\n"
    assert evidence_of("", tree, head=plan + fence("# src/app.py", NEW)).quotes == []
    assert evidence_of("", tree, head=plan + fence("# src/app.py:14", NEW)).quotes == []
    current = plan.replace("Phase 1", "Current state") + fence("# src/app.py:14", NEW)
    assert [quote.outcome for quote in evidence_of("", tree, head=current).quotes] == ["mismatch"]
    altered = LOOKUP.replace("name", "names")
    current = "# Login: implementation plan\n\n## Current state\n\n" + fence("# src/app.py", altered)
    assert [quote.outcome for quote in evidence_of("", tree, head=current).quotes] == ["mismatch"]


# --- Before and after


@pytest.mark.parametrize("label", ["# Soll:", "# Besser：", "# Правильно:"])
def test_code_below_a_comment_with_a_colon_is_not_accused_if_the_code_above_it_is_there(label: str, tree: Path) -> None:
    text = f"src/app.py:14\n{fence('# Ist:', LOOKUP, label, NEW)}"
    (quote,) = evidence_of(text, tree).quotes
    assert quote.outcome == "unchecked"  # it may be altered
    assert "taken for proposed code" in quote.why
    assert [shown(one) for one in evidence_of(text, tree).references] == ["src/app.py:14 verified"]
    # The code above it must be a quote, and the comment must introduce code.
    assert states(text.replace("name", "names"), tree) == ["mismatch"]
    assert states(text.replace(label, label[:-1]), tree) == ["mismatch"]
    assert states(f"src/app.py:14\n{fence(label, NEW)}", tree) == ["mismatch"]
    assert states(f"src/app.py:14\n{fence('x', label, NEW)}", tree) == ["mismatch"]
    assert states(f"src/app.py:14\n{fence(LOOKUP, label, '# nothing')}", tree) == ["verified"]


def test_two_versions_of_the_same_code_are_a_proposal_if_they_are_not_there(tree: Path) -> None:
    old, new = "    user = store.find_person(name)", "    user = store.find_person(name, limit=1)"
    text = "src/app.py:14\n{}"
    assert states(text.format(fence("# 改前", old, "# 改后", new)), tree) == []
    assert states(text.format(fence("# first", old, "# second", "return render(page, status=404)")), tree) == [
        "mismatch"
    ]
    assert states(text.format(fence("# first", old, new)), tree) == ["mismatch"]
    assert states(text.format(fence("# first", "# second", old)), tree) == ["mismatch"]
    assert states(text.format(fence("# first", LOOKUP, "# second")), tree) == ["verified"]


def test_a_comment_of_the_file_does_not_introduce_proposed_code(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("value = compute(one)\n# Then:\nreturn value + 1\n")
    quote = ("value = compute(one)", "# Then:", "return value - 1")
    assert outcomes(f"a.py:1\n{fence(*quote)}", tmp_path)[0].split()[1] == "mismatch"
    assert outcomes(f"a.py:1\n{fence(*quote).replace('Then', 'Better')}", tmp_path) == ["a.py:1 verified"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Before:", "# After:"),
        ("// Before", "// After"),
        ("# Before: nested", "# After: flat"),
        ("# ❌ Bad", "# ✅ Good"),
        ("# Old code", "# New code"),
        ("# Current:", "# Proposed:"),
        ("# vulnerable", "# fixed"),
        ("# 修改前", "# 修改后"),
        ("{# 修正前: old #}", "{# 修正後 #}"),
        ("# 旧代码:", "# 新代码（更好）:"),
        ("// CURRENT: allocates", "// OPTIMIZED (.NET 8+):"),
        ("// ❌ allocates on each call", "// ✅ reuses the list"),
    ],
)
def test_a_fence_with_the_code_before_and_after_a_change_is_not_a_quote(before: str, after: str, tree: Path) -> None:
    assert outcomes("`src/app.py:14`\n" + fence(before, "old()", after, NEW), tree) == []


def test_the_code_above_the_proposed_part_of_a_fence_is_a_quote(tree: Path) -> None:
    assert outcomes("`src/app.py:14`\n" + fence(LOOKUP, "# Should be:", NEW), tree) == ["src/app.py:14 verified"]
    assert outcomes("`src/app.py:14`\n" + fence("old()", "# Should be:", NEW), tree) == ["src/app.py:14 mismatch"]
    assert outcomes("`src/app.py:14`\n" + fence(LOOKUP, "# 应该使用常量", NEW), tree) == ["src/app.py:14 verified"]


@pytest.mark.parametrize("line", ["# After login, the session is opened", "# new_token is random", "# ✅ done"])
def test_an_ordinary_comment_does_not_start_proposed_code(line: str) -> None:
    assert before_and_after(["x = 1", line, "y = 2"]) is None


@pytest.mark.parametrize(
    "command", ["cargo bench --bench app", "$ pytest -q", "npm run build", "# run it\ngit log -p", "sudo make install"]
)
@pytest.mark.parametrize("language", ["", "console"])
def test_commands_below_a_reference_are_not_a_quote(language: str, command: str, tree: Path) -> None:
    found = evidence_of(f"The benchmark is src/app.py:14. Run it:\n```{language}\n{command}\n```", tree)
    assert found.quotes == []
    assert [reference.outcome for reference in found.references] == ["verified"]


def test_code_that_looks_like_a_command_is_a_quote(tree: Path) -> None:
    for code in ("go = start(now)", "make(the_missiles)", "launch(the_missiles)\ngit log -p"):
        assert outcomes(f"`src/app.py:14`:\n```\n{code}\n```", tree) == ["src/app.py:14 mismatch"]
    (tree / "run.sh").write_text("set -e\ngit log -p\n", encoding="utf-8")
    assert outcomes("`run.sh:2`:\n```\ngit log -p\n```", tree) == ["run.sh:2 verified"]
    assert outcomes("`run.sh:2`:\n```\ngit log -q\n```", tree) == ["run.sh:2 mismatch > run.sh:2"]


# --- Code that may be proposed counts only if it is there

PROPOSING = [
    "1. **`src/app.py`** — Inside login, in the lookup (line 14), pass `name` as the argument:",
    "1. **`src/app.py`** — Replace the body (lines 14-15) to call the new function:",
    "2. **`src/app.py`** — Empty the body (line 14). Remove the lookup. The signature remains:",
    "**Lookup** — emit from `src/app.py` `login()` function (line 14):",
    "**The store:** Add to `src/app.py:14`",
    "Implementation pattern (from `src/app.py:14`):",
    "**The store:** `src/app.py:14` pattern",
    "**Root-cause fix:** look up once\n\nIt is in `src/app.py:14`:",
    "**Option A:** look up once\n\nIt is in `src/app.py:14`:",
    "**Exact migrated `login` (replacing `src/app.py:14`):**",
    "Replace the lookup\n(`src/app.py:14`) with a check that takes the same time:",
    "**Conceptual signature** (parallels `src/app.py:14`):",
    "#### Phase 1: Add the menu\n**Main loop** (`src/app.py:14`):",
    "**Menu Changes** (`src/app.py:14`):",
    "#### 2. 提取常量\n`src/app.py:14`",
]


BELOW_PROPOSALS = [
    "## 修复建议\n### 1. 登录\n修改 src/app.py:14：",
    "## 高优先级修复建议\n### 1. 登录\n`src/app.py:14`",
    "## RECOMENDAÇÕES CONCRETAS\n### 1. Login\n`src/app.py:14`",
    "## Konkrete Empfehlungen\n### Anmeldung\nIn `src/app.py:14`",
    "## 2. Pistes de correction\n### Connexion\n`src/app.py:14`",
    "## Soluciones\n### Acceso\n`src/app.py:14`",
    "## Raccomandazioni finali\n### Accesso\n`src/app.py:14`",
    "## Aanbevelingen\n### Inloggen\n`src/app.py:14`",
    "## Zalecenia\n### Logowanie\n`src/app.py:14`",
    "## Рекомендации по коду\n### Вход\n`src/app.py:14`",
    "## Пропозиції\n### Вхід\n`src/app.py:14`",
    "## ログインの改善案\n### 1. 検索\n`src/app.py:14`",
    "## 로그인 개선안\n### 1. 조회\n`src/app.py:14`",
    "## Önerilen düzeltmeler\n### Giriş\n`src/app.py:14`",
    "## Đề xuất\n### Đăng nhập\n`src/app.py:14`",
    "## Saran\n### Masuk\n`src/app.py:14`",
    "## Suggested fixes\n### The login\n#### The lookup\n`src/app.py:14`",
    "修改 `src/app.py:14`",
    "Ändern in `src/app.py:14`",
    "Modifier le fichier `src/app.py:14`",
    "Изменить файл src/app.py:14",
]


@pytest.mark.parametrize("above", BELOW_PROPOSALS)
def test_code_below_a_heading_or_a_verb_that_proposes_is_a_quote_only_if_it_is_there(above: str, tree: Path) -> None:
    assert evidence_of(f"{above}\n{fence(NEW)}", tree).quotes == []
    assert outcomes(f"{above}\n{fence(LOOKUP)}", tree) == ["src/app.py:14 verified"]


@pytest.mark.parametrize(
    "above",
    [
        "## 修复建议\n### 1. 登录\n\n## 登录\n`src/app.py:14`",
        "## Recommendations\n### The login\n#### Current code\n`src/app.py:14`",
        "## Recommendations\n### The login\n**Problem:** `src/app.py:14`",
        "## Recomendações\n### Problema\n`src/app.py:14`",
        "# Recommendations\n\n## The login\n`src/app.py:14`",
        "## 建议 — 已实现\n### 登录\n`src/app.py:14`",
        "Modifier keys are in `src/app.py:14`",
        "修改的原因在这里，参见 `src/app.py:14`",
    ],
)
def test_code_below_another_heading_is_a_quote_though_one_above_proposes(above: str, tree: Path) -> None:
    assert outcomes(f"{above}\n{fence('launch(the_missiles, now=True)')}", tree) == ["src/app.py:14 mismatch"]


@pytest.mark.parametrize(
    "remark", [" - corrigido", " (nachher, korrigiert)", "（修正後）", " — исправлено", " (수정 후)"]
)
def test_a_remark_in_another_language_can_call_the_code_proposed(remark: str, tree: Path) -> None:
    assert evidence_of(fence(f"# src/app.py:14{remark}", NEW), tree).quotes == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Vorher", "Nachher"),
        ("Avant", "Après"),
        ("Antes", "Depois"),
        ("Prima", "Dopo"),
        ("Было", "Стало"),
        ("БЫЛО (BUG)", "СТАЛО (FIXED)"),
        ("Önce", "Sonra"),
        ("Trước", "Sau"),
        ("Sebelum", "Sesudah"),
        ("수정 전", "수정 후"),
        ("改前", "改后"),
    ],
)
def test_a_fence_with_code_before_and_after_in_another_language_is_a_proposal(
    before: str, after: str, tree: Path
) -> None:
    shown_code = fence(f"# {before}:", "launch(1)", f"# {after}:", "start_all(2)", "wait()")
    assert evidence_of(f"`src/app.py:14`\n{shown_code}", tree).quotes == []


@pytest.mark.parametrize("above", PROPOSING)
def test_code_below_a_request_for_a_change_is_a_quote_only_if_it_is_there(above: str, tree: Path) -> None:
    found = evidence_of(f"{above}\n{fence(NEW)}", tree)
    assert found.quotes == []
    assert {reference.outcome for reference in found.references} == {"verified"}


@pytest.mark.parametrize("above", ["**The store:** Add to `src/app.py:14`", "**Option A:** it is\n\n`src/app.py:14`:"])
def test_code_below_a_request_for_a_change_that_is_there_is_verified(above: str, tree: Path) -> None:
    assert outcomes(f"{above}\n{fence(LOOKUP)}", tree) == ["src/app.py:14 verified"]


@pytest.mark.parametrize(
    "above",
    [
        "The pattern in `src/app.py:14`:",
        "**Factory pattern** from `src/app.py:14`:",
        "**Lookup** — the store is asked in `src/app.py:14`:",
        "The users, the names and the adders are in `src/app.py:14`:",
        "- **update.go** handles this (`src/app.py:14`):",
        "- **create-user.sh** is the same as this (`src/app.py:14`):",
        "**output.go** is the same as this (`src/app.py:14`):",
        "Replace it later.\nToday the lookup is this (`src/app.py:14`)",
        "#### Phase 1: The menu\n**Main loop** (`src/app.py:14`):",
    ],
)
def test_code_below_other_words_is_a_quote(above: str, tree: Path) -> None:
    assert outcomes(f"{above}\n{fence(NEW)}", tree)[-1].split()[:2] == ["src/app.py:14", "mismatch"]


@pytest.mark.parametrize(
    "remark", ["# NEW: check it", "x = 1  # <- added", "# ADD THIS", "y = 2  # ← new", "# REMOVED:"]
)
def test_a_fence_with_a_remark_on_new_lines_is_not_accused(remark: str, tree: Path) -> None:
    assert evidence_of(fence("# src/app.py:14", NEW, remark, "check(one)"), tree).quotes == []


@pytest.mark.parametrize("remark", ["# a new user", "# added by the store", "new = 1  # address"])
def test_an_ordinary_remark_does_not_make_code_new(remark: str, tree: Path) -> None:
    found = evidence_of(fence("# src/app.py:14", NEW, remark, "check(one)"), tree).quotes
    assert [one.outcome for one in found] == ["mismatch"]


def test_log_lines_below_a_long_paragraph_are_not_a_quote(tree: Path) -> None:
    log = fence('content: "Trust all"', 'reason: "fallback"', info="")
    above = "The prefix is required (src/app.py:14). Without it, the message was routed by the fallback:"
    assert evidence_of(f"{above}\n\n{log}", tree).quotes == []
    near = evidence_of(f"The message was routed by src/app.py:14:\n\n{log}", tree).quotes
    assert [one.outcome for one in near] == ["mismatch"]
    assert evidence_of(f"{above}\n\n{fence(NEW)}", tree).quotes == []


def test_code_below_a_list_may_be_that_of_any_entry(tree: Path) -> None:
    listed = "- `src/app.py:14` reads it\n- `README.md:1` describes it"
    assert outcomes(f"{listed}\n\n{fence(LOOKUP)}", tree) == ["src/app.py:14 verified"]
    assert outcomes(f"{listed}\n\n{fence(NEW)}", tree)[0].split()[:2] == ["README.md:1", "mismatch"]


def test_of_several_places_above_a_fence_the_one_in_its_language_is_accused(tree: Path) -> None:
    above = "**Location**: `config.xml` line 3, `src/app.py` line 14"
    fences = f"{fence('<env name=1/>', info='xml')}\n{fence(LOOKUP)}"
    assert [one.path for one in evidence_of(f"{above}\n{fences}", tree).quotes if one.outcome == "mismatch"] == []
    other = f"{above}\n{fence(NEW)}"
    assert [(one.path, one.outcome) for one in evidence_of(other, tree).quotes] == [("src/app.py", "mismatch")]
    commands = f"- `run.sh:2` calls it\n- `src/app.py:14` fails\n\n{fence('curl -X POST localhost', info='bash')}"
    assert evidence_of(commands, tree).quotes == []


def test_a_stack_frame_in_a_fence_is_not_a_comment_with_a_location(tree: Path) -> None:
    frames = fence("#0  malloc (asan_malloc_linux.cpp:67)", "#1  login (src/app.py:14)", info="")
    found = evidence_of(f"**Stack trace**:\n\n{frames}", tree)
    assert (found.references, found.quotes) == ([], [])
    assert [one.outcome for one in evidence_of(fence("# src/app.py:14", LOOKUP), tree).quotes] == ["verified"]


def test_a_comment_that_states_where_code_belongs_does_not_claim_that_it_is_there(tree: Path) -> None:
    assert evidence_of(fence("# In src/app.py", NEW), tree).quotes == []
    altered = LOOKUP.replace("name", "names")
    assert [one.outcome for one in evidence_of(fence("# src/app.py", altered), tree).quotes] == ["mismatch"]
    assert [one.outcome for one in evidence_of(fence("# In src/app.py:14", NEW), tree).quotes] == ["mismatch"]


def test_dots_in_a_comment_inside_a_line_stand_for_omitted_code(tmp_path: Path) -> None:
    code = "match run() {\n    Ok(v) => v,\n    Err(Halted) => {\n        stop();\n        none()\n    }\n}\n"
    (tmp_path / "a.rs").write_text(code)
    quote = "match run() {\n    Ok(v) => v,\n    Err(Halted) => { /* ... */ }\n}"
    assert outcomes(f"`a.rs:1`\n{fence(quote, info='rust')}", tmp_path) == ["a.rs:1 verified"]
    altered = quote.replace("Ok(v) => v", "Ok(v) => w")
    assert outcomes(f"`a.rs:1`\n{fence(altered, info='rust')}", tmp_path)[0].split()[1] == "mismatch"


def test_dots_at_the_start_of_a_string_stand_for_its_first_words(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('raise Failed(ctx, "the buffer is too small")\nsend(*parts, "...done")\n')
    text = "`a.py:{}`\n" + fence("{}")
    assert states(text.format(1, 'raise Failed(ctx, "...too small")'), tmp_path) == ["verified"]
    assert states(text.format(1, 'raise Failed(ctx, "...too large")'), tmp_path) == ["mismatch"]
    assert states(text.format(2, 'send(*parts, "...done")'), tmp_path) == ["verified"]
    assert states(text.format(2, "send(...parts)"), tmp_path) == ["mismatch"]


def test_a_branch_may_be_omitted_between_conditional_lines(tmp_path: Path) -> None:
    one = (
        "#if os(tv)\nlet h2 = Font.large\nlet h3 = Font.title.bold\nlet body = Font.third\nlet label = Font.body.semi\n"
    )
    other = (
        "#else\nlet h2 = Font.title.semi\nlet h3 = Font.second\nlet body = Font.body\nlet label = Font.caption.semi\n"
    )
    (tmp_path / "a.swift").write_text(f"{one}{other}#endif\n")
    quote = f"{one}#endif"
    assert outcomes(f"`a.swift:1-11`\n{fence(quote, info='swift')}", tmp_path) == ["a.swift:1-11 verified"]
    altered = quote.replace("third", "fourth")
    assert outcomes(f"`a.swift:1-11`\n{fence(altered, info='swift')}", tmp_path)[0].split()[1] == "mismatch"


def test_a_label_is_above_all_fences_that_follow_each_other(tree: Path) -> None:
    first, second = fence("# src/app.py:14", NEW), fence("# src/app.py:15", NEW)

    def judged(text: str) -> list[str]:
        return [one.partition(" >")[0] for one in outcomes(text, tree)]

    assert judged(f"**Fix:**\n\n{first}\n\n{second}") == []
    assert judged(f"**Evidence:**\n\n{first}\n\n{second}") == ["src/app.py:14 mismatch", "src/app.py:15 mismatch"]
    assert judged(f"**Fix:**\n\n{first}\n\nIt is there:\n\n{second}") == ["src/app.py:15 mismatch"]
    assert judged(f"**Fix:**\n\n{fence(*[NEW] * 90)}\n\n{second}") == ["src/app.py:15 mismatch"]


def test_a_code_example_for_fixes_without_a_line_is_proposed(tree: Path) -> None:
    text = "#### Code examples for fixes\n\n##### Login\n\n" + fence("# src/app.py", NEW)
    assert outcomes(text, tree) == []


def test_a_location_inside_a_longer_comment_does_not_start_a_quote(tree: Path) -> None:
    lines = ("# src/app.py:14", LOOKUP, "# It raises the same error as", "# src/gone.py:51, so the caller stops")
    assert outcomes(fence(*lines), tree) == ["src/app.py:14 verified"]
    apart = ("# src/app.py:14", LOOKUP, "", "# src/app.py:14 again", LOOKUP)
    assert outcomes(fence(*apart), tree) == ["src/app.py:14 verified"] * 2


# --- Text in a fence, and code that no sentence locates


@pytest.mark.parametrize("info", ["", "text"])
@pytest.mark.parametrize(
    "lines",
    [
        ("login", "├── find_user", "└── open_session"),
        ("request → login → find_user",),
        ("1. The user sends a name", "2. The server opens a session"),
        ("Step 1: the user sends a name", "Step 2: the server opens a session"),
        ("The user sends a name and a password.", "Then the server opens a session."),
    ],
)
def test_a_diagram_and_prose_in_a_fence_are_not_quotes(lines: tuple[str, ...], info: str, tree: Path) -> None:
    assert evidence_of(f"The login is in src/app.py:14:\n\n{fence(*lines, info=info)}", tree).quotes == []


@pytest.mark.parametrize(
    "line", ["    user = store.find_everybody(name)", "return everything here now", "12. user = 3"]
)
def test_code_in_a_fence_without_a_language_is_a_quote(line: str, tree: Path) -> None:
    assert outcomes(f"The login is in src/app.py:14:\n\n{fence(line, info='')}", tree)[0].startswith(
        "src/app.py:14 mismatch"
    )


@pytest.mark.parametrize(
    "label",
    [
        "**Alternative:**",
        "**Implementation (to be added):**",
        "Configure:",
        "**Solución:**",
        "**Solución propuesta:**",
        "**Corrección:**",
        "**Lösung:**",
        "**Vorgeschlagene Lösung:**",
        "**Vorschlag:**",
        "**Решение:**",
        "**Предлагаемое решение:**",
        "**Исправление:**",
        "**Correction:**",
        "**Solution proposée:**",
        "**Solução:**",
        "**Proposta:**",
        "### Implementation (to be added)",
        "### Alternative",
        "### Solución",
    ],
)
def test_code_below_a_label_for_a_proposal_is_not_a_quote(label: str, tree: Path) -> None:
    assert evidence_of(f"{label}\n\n{fence('# src/app.py:14', NEW)}", tree).quotes == []


@pytest.mark.parametrize(
    "label", ["**Problema:**", "**Codestelle:**", "**Сейчас:**", "Configured in:", "**Analysis:**"]
)
def test_code_below_another_label_is_a_quote(label: str, tree: Path) -> None:
    found = evidence_of(f"{label}\n\n{fence('# src/app.py:14', NEW)}", tree).quotes
    assert [one.outcome for one in found] == ["mismatch"]


UNPLACED = ["```python\n# src/cart.py\n{}\n```", "src/cart.py\n```python\n{}\n```", "```python src/cart.py\n{}\n```"]
CART = """
def total(items, rate):
    gross = sum(item.price for item in items)
    if gross > LIMIT:
        raise TooLarge(gross)
    return round(gross * rate, 2)
"""


@pytest.fixture(scope="module")
def cart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant(tmp_path_factory.mktemp("cart"))
    (root / "src/cart.py").write_text(f"LIMIT = 5\n{CART}\n\nclass Cart:\n    pass\n", encoding="utf-8")
    return root


def unplaced(form: str, code: str, tree: Path) -> tuple[str, str]:
    above = "| File |\n|---|\n| " if form.startswith("src/") else ""
    (quote,) = evidence_of(above + form.format(code.strip("\n")), tree).quotes
    return quote.outcome, quote.why


@pytest.mark.parametrize("form", UNPLACED)
def test_an_excerpt_below_a_path_without_a_line_is_compared_with_the_whole_file(form: str, cart: Path) -> None:
    assert unplaced(form, CART, cart)[0] == "verified"
    assert unplaced(form, CART.replace("    if gross", "    # a remark\n    if gross"), cart)[0] == "verified"
    assert unplaced(form, CART.replace("        raise TooLarge(gross)\n", ""), cart)[0] == "verified"


@pytest.mark.parametrize("form", UNPLACED)
@pytest.mark.parametrize(
    ("old", "new"),
    [("gross > LIMIT", "gross < LIMIT"), ("rate, 2", "rate, 3"), ("item.price", "item.cost"), (CART, "LIMIT = 6")],
)
def test_an_excerpt_below_a_path_without_a_line_may_not_be_altered(form: str, old: str, new: str, cart: Path) -> None:
    assert unplaced(form, CART.replace(old, new), cart)[0] == "mismatch"


def test_a_declaration_of_the_file_that_is_quoted_in_another_way_is_altered(cart: Path) -> None:
    both = "def total(things: list[Thing], tax: Decimal) -> int: ...\nclass Cart(Base, metaclass=Meta): ..."
    assert unplaced(UNPLACED[0], both, cart)[0] == "mismatch"
    assert unplaced(UNPLACED[0], both.replace("total", "sums").replace("Cart", "Bag"), cart)[0] == "unchecked"


@pytest.mark.parametrize("form", UNPLACED)
@pytest.mark.parametrize(
    "code",
    [
        NEW,
        # the function as it is to become: lines that the file does not have
        CART.replace(
            "    if gross", "    audit.record(user, gross)\n    metrics.observe('total', gross)\n    if gross"
        ),
        CART.replace("    return", "    with tracer.span('total') as span:\n        span.set(gross)\n    return"),
        "class Cart:\n    def __init__(self, owner):\n        self.owner = owner\n        self.items = []",
    ],
)
def test_code_that_is_not_from_the_file_is_to_be_written_if_no_line_is_cited(form: str, code: str, cart: Path) -> None:
    outcome, why = unplaced(form, code, cart)
    assert outcome == "unchecked"
    assert why.startswith("no line is given, and most of these lines are not in the file")
    lined = form.replace("src/cart.py", "src/cart.py:3")
    assert unplaced(lined, code, cart)[0] == "mismatch"


@pytest.mark.parametrize(
    "label", ["### Current state", "**Existing code:**", "The cart currently has this:", "### 当前状态"]
)
def test_code_that_the_text_calls_current_is_a_quote_also_without_a_line(label: str, cart: Path) -> None:
    text = f"{label}\n\n{UNPLACED[0]}"
    assert unplaced(text, NEW, cart)[0] == "mismatch"
    assert unplaced(text, CART, cart)[0] == "verified"
    assert unplaced(f"{label}\n\n```\nls\n```\n\n{UNPLACED[0]}", NEW, cart)[0] == "unchecked"


def test_the_location_of_code_to_be_written_is_not_a_reference(cart: Path) -> None:
    assert evidence_of(UNPLACED[0].format(NEW), cart).references == []
    assert evidence_of(UNPLACED[0].replace("cart", "bag").format(NEW), cart).references == []


@pytest.mark.parametrize("heading", ["### План", "### Plan:", "### 設定例", "### Option B: a cache"])
def test_code_below_the_heading_of_a_plan_or_example_counts_only_if_it_is_there(heading: str, tree: Path) -> None:
    text = f"{heading}\n\nПереписать src/app.py:14:\n\n"
    assert evidence_of(text + fence(NEW), tree).quotes == []
    assert states(text + fence(LOOKUP), tree) == ["verified"]
    assert states(text.replace(heading, "### Planet") + fence(NEW), tree) == ["mismatch"]


def test_only_the_last_sentence_above_a_fence_locates_it(tree: Path) -> None:
    above = "The login is in src/app.py:14. The tests compare it in this way:"
    assert evidence_of(f"{above}\n\n{fence(NEW)}", tree).quotes == []
    assert outcomes(f"{above}\n\n{fence(LOOKUP)}", tree) == ["src/app.py:14 verified"]
    labelled = evidence_of(f"See src/app.py:14. The code:\n\n{fence(NEW)}", tree).quotes
    assert [one.outcome for one in labelled] == ["mismatch"]


def test_a_sentence_in_the_quoted_code_that_ends_with_a_path_does_not_end_the_quote(tree: Path) -> None:
    lines = ("# src/app.py:14", LOOKUP, "# The rest is the same - src/store.py:14", "    if user is not None:")
    (quote,) = evidence_of(fence(*lines), tree).quotes
    assert (quote.path, quote.line, quote.outcome) == ("src/app.py", 14, "mismatch")


def test_code_that_the_text_calls_removed_may_be_gone(tree: Path) -> None:
    (quote,) = evidence_of(f"Removed at src/app.py:14:\n\n{fence(NEW)}", tree).quotes
    assert quote.outcome == "unchecked"


def test_two_short_locations_are_not_titles_of_two_versions(tree: Path) -> None:
    code = "value = secrets.token_hex(one)"
    assert states(fence("# src/app.py:14", code, "", "# src/store.py:3", code), tree) == ["mismatch", "mismatch"]
    html = fence("<!-- src/app.py:14 -->", code, "", "<!-- src/store.py:3 -->", code, info="html")
    assert states(html, tree) == ["mismatch", "mismatch"]


# --- Output in HTML


def test_what_is_inside_pre_is_output(tree: Path) -> None:
    text = "<pre><code>$ build\n/home/me/ghost.py:12: error: x\n\n    at ghost.py:13</code></pre>\n\nSee `ghost.py:14`."
    assert [shown(one) for one in evidence_of(text, tree).references] == ["ghost.py:14 missing-file"]


@pytest.mark.parametrize(
    "text",
    [
        "<pre>\n\nSee `ghost.py:14`.",
        "The tag <pre> is in `ghost.py:14`, and </pre> too.",
        "```html\n<pre>\n```\n\nSee `ghost.py:14`.\n\n```html\n</pre>\n```",
        "<prefix>\nSee `ghost.py:14`.\n</pre>",
        "<pre> is not escaped.\n\n## Findings\n\nSee `ghost.py:14`.\n\nAdd `</pre>`.</pre>",
        "<pre> is not escaped. See `ghost.py:14`.\n\nAdd the missing `</pre>`.",
        "<pre>ok</pre> then see `ghost.py:14`.",
    ],
    ids=["not closed", "in a sentence", "in fences", "another tag", "above a heading", "end in code", "after it"],
)
def test_other_text_with_pre_is_read(text: str, tree: Path) -> None:
    assert [shown(one) for one in evidence_of(text, tree).references] == ["ghost.py:14 missing-file"]
