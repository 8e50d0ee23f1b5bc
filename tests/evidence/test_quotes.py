"""Quotes: which parts of a result are quotes, their locations and their outcomes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown
from hypothesis import given
from hypothesis import strategies as st

from remit.checking import check_text
from remit.evidence import lost_quotes, quotes
from remit.evidence.model import Difference, Location, Quote
from remit.evidence.quote_text import quote_readings
from remit.evidence.quotes import QuoteChecker
from remit.evidence.receipts import Receipt
from remit.evidence.sources import open_sources
from remit.workspace.files import MAX_FILE, SourceFile

CODE = "    user = store.find_user(name)\n    if user is None or not check_password(user, password):"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def fence(code: str, info: str = "python") -> str:
    return f"```{info}\n{code}\n```"


def outcomes(body: str, tree: Path, **options: str) -> list[str]:
    return [shown(quote) for quote in evidence_of(body, tree, **options).quotes]


# --- Which parts are quotes, and their locations


@pytest.mark.parametrize(
    "info",
    [
        "python src/app.py:14",
        "src/app.py:14",
        "python:src/app.py:14",
        'python title="src/app.py:14"',
        "python file=src/app.py:14",
        "python {src/app.py:14}",
        "python (src/app.py:14)",
        "python src/app.py#L14",
        "python src/app.py line 14",
        "python # src/app.py:14",
    ],
)
def test_a_location_may_be_in_the_info_string(info: str, tree: Path) -> None:
    found = evidence_of(fence(CODE, info), tree)
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:14 verified"]
    assert [shown(reference) for reference in found.references] == ["src/app.py:14 verified"]


@pytest.mark.parametrize("info", ["14:15:src/app.py", "python 14:15:src/app.py", "python src/app.py lines 14-15"])
def test_a_range_may_be_in_the_info_string(info: str, tree: Path) -> None:
    assert outcomes(fence(CODE, info), tree) == ["src/app.py:14-15 verified"]


@pytest.mark.parametrize(
    "comment",
    [
        "# src/app.py:14",
        "// src/app.py:14",
        "/* src/app.py:14 */",
        "<!-- src/app.py:14 -->",
        "-- src/app.py:14",
        "; src/app.py:14",
        "% src/app.py:14",
        "{/* src/app.py:14 */}",
        "(* src/app.py:14 *)",
        "REM src/app.py:14",
        "# File: src/app.py:14",
        "# from src/app.py:14",
        "# src/app.py:14 - no check of the password",
        "# `src/app.py:14` (excerpt)",
        "# src/app.py, line 14",
        "# line 14 of src/app.py",
        "# src/app.py (line 14)",
    ],
)
def test_a_location_may_be_in_a_first_comment_outside_the_quote(comment: str, tree: Path) -> None:
    found = evidence_of(fence(f"{comment}\n{CODE}"), tree)
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:14 verified"]
    assert found.quotes[0].text == CODE
    assert [reference.line for reference in found.references] == [14]


def test_a_comment_may_name_a_file_without_a_line(tree: Path) -> None:
    assert outcomes(fence(f"# src/app.py\n{CODE}"), tree) == ["src/app.py verified"]
    assert outcomes(fence(f"# src/app.py (excerpt)\n{CODE}"), tree) == ["src/app.py verified"]


@pytest.mark.parametrize(
    "comment",
    [
        "#!/bin/sh",
        "#!/usr/bin/env python3",
        "# and/or something else",
        "# /api/users are listed here",
        "# src/store.py is loaded first",
        "# see src/store.py:14",
        '#include "shop/cart.hpp"',
        "# eslint-disable-next-line no-console",
        "--- a/src/app.py",
    ],
)
def test_other_first_lines_do_not_name_a_location(comment: str, tree: Path) -> None:
    assert evidence_of(fence(f"{comment}\n{CODE}"), tree).quotes == []


@pytest.mark.parametrize(
    "above",
    [
        "`src/app.py:14`",
        "The lookup in src/app.py:14 is not cached:",
        "- src/app.py:14",
        "##### src/app.py:14",
        "src/app.py, line 14:",
        "[app.py:14](src/app.py#L14)",
        "> src/app.py:14",
    ],
)
@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_a_location_may_be_in_the_line_above(above: str, between: str, tree: Path) -> None:
    assert outcomes(above + between + fence(CODE), tree) == ["src/app.py:14 verified"]


def test_a_location_two_lines_above_does_not_count(tree: Path) -> None:
    assert evidence_of(f"src/app.py:14\nand this:\n{fence(CODE)}", tree).quotes == []
    assert evidence_of(f"src/app.py:14\n\n\n{fence(CODE)}", tree).quotes == []


def test_of_several_references_above_the_one_with_the_quote_counts(tree: Path) -> None:
    assert outcomes(f"In src/app.py:14 (called from src/store.py:1):\n{fence(CODE)}", tree) == [
        "src/app.py:14 verified"
    ]
    assert outcomes(f"src/store.py:1 calls src/app.py:14:\n{fence(CODE)}", tree) == ["src/app.py:14 verified"]
    found = evidence_of(f"src/store.py:1 calls src/app.py:35:\n{fence(CODE)}", tree)
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:35 relocated > src/app.py:14"]
    assert [shown(reference) for reference in found.references] == [
        "src/store.py:1 verified",
        "src/app.py:35 relocated > src/app.py:14",
    ]


def test_a_path_in_the_fence_takes_its_line_from_the_reference_above(tree: Path) -> None:
    body = f"At src/app.py:35:\n{fence(CODE, 'python src/app.py')}"
    assert outcomes(body, tree) == ["src/app.py:35 relocated > src/app.py:14"]
    assert outcomes(f"At src/app.py:14:\n{fence(f'# src/app.py{chr(10)}{CODE}')}", tree) == ["src/app.py:14 verified"]


@pytest.mark.parametrize("indent", ["  ", "   "])
def test_a_fence_inside_a_list_entry_is_a_quote(indent: str, tree: Path) -> None:
    mark = "- " if indent == "  " else "1. "
    body = "\n".join(indent + line for line in fence(CODE).split("\n"))
    assert outcomes(f"{mark}src/app.py:14\n{body}", tree) == ["src/app.py:14 verified"]
    assert outcomes(f"{mark}src/app.py:14\n\n{body}", tree) == ["src/app.py:14 verified"]


def test_a_fence_inside_a_block_quote_is_a_quote(tree: Path) -> None:
    body = "\n".join("> " + line for line in f"src/app.py:14\n{fence(CODE)}".split("\n"))
    found = evidence_of(body, tree)
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:14 verified"]
    assert [shown(reference) for reference in found.references] == ["src/app.py:14 verified"]


def test_a_fence_directly_below_a_row_quotes_that_row_and_one_below_a_blank_line_does_not(tree: Path) -> None:
    table = "| Item | Location |\n|---|---|\n| a | src/app.py:14 |\n"
    assert outcomes(table + fence(CODE), tree) == ["src/app.py:14 verified"]
    assert outcomes(table + "\n" + fence(CODE), tree) == []


DETAILS = """#### Issues Detected
| ID | Issue | File:Line | Severity | Confidence |
|---|---|---|---|---|
| SEC-001 | one | `src/app.py:14` | Critical | 95 |
| SEC-002 | two | `src/store.py:14` | Minor | 85 |

#### Issue Details

"""


@pytest.mark.parametrize("head", ["**SEC-001: one**", "##### SEC-001: one", "**SEC-001** one"])
def test_a_fence_below_an_id_quotes_the_location_of_that_finding(head: str, tree: Path) -> None:
    body = f"{DETAILS}{head}\nSome words about it.\n\n{fence(CODE)}\n**Risk**: none\n"
    found = evidence_of(body, tree, kind="review")
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:14 verified"]


def test_each_fence_belongs_to_the_id_above_it(tree: Path) -> None:
    store = fence("def find_user(name):")
    body = f"{DETAILS}**SEC-001: one**\n\n{fence(CODE)}\n\n**SEC-002: two**\n\n{store}\n"
    assert outcomes(body, tree, kind="review") == ["src/app.py:14 verified", "src/store.py:14 verified"]


def test_a_missing_quote_changes_the_outcome_of_its_finding(tree: Path) -> None:
    found = evidence_of(
        f"{DETAILS}**SEC-001: one**\n\n{fence('launch(the_missiles, now=True)')}\n", tree, kind="review"
    )
    assert [quote.outcome for quote in found.quotes] == ["mismatch"]
    assert [shown(reference) for reference in found.references] == [
        "src/app.py:14 mismatch",
        "src/store.py:14 verified",
    ]


@pytest.mark.parametrize(
    "label",
    [
        "**Fix**:",
        "**Suggested fix:**",
        "**Remediation:**",
        "- Fix:",
        "Recommended change:",
        "After:",
        "修正案：",
        "建议:",
    ],
)
def test_proposed_code_is_not_a_quote(label: str, tree: Path) -> None:
    proposed = fence("return secrets.compare_digest(one, other)")
    body = f"{DETAILS}**SEC-001: one**\n{fence(CODE)}\n{label}\n{proposed}\n"
    assert outcomes(body, tree, kind="review") == ["src/app.py:14 verified"]


@pytest.mark.parametrize(
    "body",
    [
        fence("2 passed in 0.01s", ""),
        f"Running src/app.py:14:\n{fence('$ pytest', 'console')}",
        f"Running src/app.py:14:\n{fence('$ pytest', 'bash')}",
        f"See src/app.py:14:\n{fence('...')}",
        f"See src/app.py:14:\n{fence('')}",
        "`user = store.find_user(name)` in src/app.py:14",
    ],
)
def test_other_fences_and_inline_code_are_not_quotes(body: str, tree: Path) -> None:
    assert evidence_of(body, tree).quotes == []


def test_test_results_are_not_quotes(tree: Path) -> None:
    body = f"#### Test Results\nsrc/app.py:14\n{fence('2 passed', '')}"
    assert evidence_of(body, tree, kind="implementation").quotes == []


def test_a_shell_script_may_be_quoted_as_one(tree: Path) -> None:
    assert outcomes(f"scripts/deploy.sh:3:\n{fence('set -eu', 'bash')}", tree) == ["scripts/deploy.sh:3 verified"]
    assert outcomes(f"scripts/deploy.sh:1:\n{fence('#!/bin/sh', 'sh')}", tree) == ["scripts/deploy.sh:1 verified"]


@pytest.mark.parametrize(
    "body",
    [
        "Found it in src/app.py:12\n- Verified: read\n- Code match: `def login(name, password):`",
        "- src/app.py:12\n- Code match: `def login(name, password):`",
        "- src/app.py:12\n  - Code match: `def login(name, password):`",
        "- src/app.py:12: Code match: `def login(name, password):`",
        "- **Code match**: `def login(name, password):` (src/app.py:12)",
        "- code match: ``def login(name, password):`` at src/app.py:12",
        "- src/store.py:14\n- src/app.py:12\n- **Code match:** `def login(name, password):`",
        "src/app.py:12\n\nCode match: `def login(name, password):`",
    ],
)
def test_inline_code_is_a_quote_after_code_match(body: str, tree: Path) -> None:
    found = evidence_of(body, tree)
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:12 verified"]


def test_an_unclosed_code_match_is_not_a_quote(tree: Path) -> None:
    assert evidence_of("src/app.py:12\n\nCode match: `def login(name, password):", tree).quotes == []


def test_code_match_without_a_reference_above_it_is_not_a_quote(tree: Path) -> None:
    assert evidence_of("Code match: `def login(name, password):`", tree).quotes == []
    body = "src/app.py:12\n\nOther words.\n\nMore words.\n\nCode match: `def login(name, password):`"
    assert evidence_of(body, tree).quotes == []


def test_at_is_the_first_line_of_code(tree: Path) -> None:
    first = evidence_of(
        "", tree, head="## A Result\n\n### Status\nSUCCESS\n\n### Findings\n" + fence(CODE, "py src/app.py:14")
    )
    assert (first.quotes[0].at, first.references[0].at) == (8, 7)
    head = "## A Result\n\n### Status\nSUCCESS\n\n### Findings\n" + fence(f"\n\n# src/app.py:14\n{CODE}")
    second = evidence_of("", tree, head=head)
    assert (second.quotes[0].at, second.references[0].at) == (11, 10)


# --- Outcomes


def at(location: str, code: str) -> str:
    return f"{location}:\n{fence(code)}"


@pytest.mark.parametrize(
    "code",
    [
        CODE,
        CODE.replace("    ", "\t"),
        CODE.replace("    ", ""),
        CODE.replace(" ", "  "),
        CODE.replace("\n", "\n\n"),
        "user = store.find_user(name)",
        "store.find_user(name)",
        "14 | user = store.find_user(name)\n15 | if user is None or not check_password(user, password):",
        "14: user = store.find_user(name)\n15: if user is None or not check_password(user, password):",
        "  14\tuser = store.find_user(name)\n  15\tif user is None or not check_password(user, password):",
        "14→    user = store.find_user(name)\n15→    if user is None or not check_password(user, password):",
        "> 14 │     user = store.find_user(name)\n  15 │     if user is None or not check_password(user, password):",
        "L14: user = store.find_user(name)",
        "14  user = store.find_user(name)\n15  if user is None or not check_password(user, password):",
        '13 |     """Let a user in."""\n...\n16 |         return None',
        "- user = store.find_user(name)\n+ user = store.find(name)",
        "-    user = store.find(name)\n+    user = store.find_user(name)",
        '@@ -13,3 +13,3 @@ login\n     """Let a user in."""\n-    user = store.find_user(name)\n+    user = find(name)',
        "--- a/src/app.py\n+++ b/src/app.py\n@@ -14 +14 @@\n-    user = store.find_user(name)\n+    user = find(name)",
        "def login(name, password):\n    ...\n    return open_session(user)",
        "def login(name, password):\n    # ... existing code ...\n    return open_session(user)",
        "def login(name, password):\n    // ...\n    return open_session(user)",
        "def login(name, password):\n[...]\n    return open_session(user)",
        "def login(name, password):\n    …\n    return open_session(user)",
        "...\n    user = store.find_user(name)\n...",
    ],
)
def test_a_correct_quote_is_verified(code: str, tree: Path) -> None:
    assert outcomes(at("src/app.py:14", code), tree) == ["src/app.py:14 verified"]


def test_a_quote_up_to_five_lines_off_is_verified_with_its_line(tree: Path) -> None:
    line = "    user = store.find_user(name)"
    assert outcomes(at("src/app.py:14", line), tree) == ["src/app.py:14 verified"]
    for location in (9, 10, 13, 15, 18, 19):
        assert outcomes(at(f"src/app.py:{location}", line), tree) == [f"src/app.py:{location} verified > src/app.py:14"]
    for location in (1, 8, 20, 40):
        assert outcomes(at(f"src/app.py:{location}", line), tree) == [
            f"src/app.py:{location} relocated > src/app.py:14"
        ]
    assert outcomes(at("src/app.py:3-9", line), tree) == ["src/app.py:3-9 verified > src/app.py:14"]
    assert outcomes(at("src/app.py:3-8", line), tree) == ["src/app.py:3-8 relocated > src/app.py:14"]
    assert outcomes(at("src/app.py:12-17", line), tree) == ["src/app.py:12-17 verified"]


def test_a_quote_around_the_cited_line_is_verified(tree: Path) -> None:
    function = "\n".join((tree / "src/app.py").read_text(encoding="utf-8").split("\n")[11:34])
    for location in (12, 20, 34):
        assert outcomes(at(f"src/app.py:{location}", function), tree) == [f"src/app.py:{location} verified"]
    assert outcomes(at("src/app.py:39", function), tree) == ["src/app.py:39 verified > src/app.py:12"]
    assert outcomes(at("src/app.py:40", function), tree) == ["src/app.py:40 relocated > src/app.py:12"]


def test_a_quote_with_one_letter_changed_is_a_mismatch_with_both_lines(tree: Path) -> None:
    found = evidence_of(at("src/app.py:15", "if user is None or not check_pasword(user, password):"), tree).quotes[0]
    assert (found.outcome, found.match) == ("mismatch", "altered")
    assert found.similarity is not None
    assert 0.9 <= found.similarity < 1
    assert found.difference == Difference(
        "if user is None or not check_pasword(user, password):",
        "if user is None or not check_password(user, password):",
        15,
    )


def test_a_long_quote_with_one_name_changed_is_a_mismatch(tree: Path) -> None:
    function = "\n".join((tree / "src/app.py").read_text(encoding="utf-8").split("\n")[11:34])
    assert outcomes(at("src/app.py:12", function.replace("token", "tokem", 1)), tree) == [
        "src/app.py:12 mismatch > src/app.py:12"
    ]


def test_pieces_between_ellipses_are_not_compared_by_similarity(tree: Path) -> None:
    code = "def login(name, passwort):\n    ...\n    return open_session(user)"
    assert outcomes(at("src/app.py:12", code), tree)[0].startswith("src/app.py:12 mismatch")


def test_of_equally_similar_lines_the_nearest_is_suggested(tmp_path: Path) -> None:
    lines = [""] * 20
    lines[5] = lines[9] = "value = compute(first, second)"
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    assert outcomes(at("a.py:10", "value = compute(first, secund)"), tmp_path) == ["a.py:10 mismatch > a.py:10"]


@pytest.mark.parametrize(
    "code",
    [
        "launch(the_missiles, now=True)",
        "    user = store.find_user(email)\n    if user is None:\n        raise Unknown(email)",
        "return open_session(user)\n    ...\ndef login(name, password):",
        "    user = store.find_user(name)\n    grant_everything(user)",
        "...state,\nuser = store.find_user(name)",
        "timeout: 30\n- fake",
        "find_use",
    ],
)
def test_a_wrong_quote_is_a_mismatch(code: str, tree: Path) -> None:
    found = evidence_of(at("src/app.py:14", code), tree)
    assert [quote.outcome for quote in found.quotes] == ["mismatch"]
    assert [reference.outcome for reference in found.references] == ["mismatch"]


def test_a_list_marker_is_not_read_as_a_removed_line(tree: Path) -> None:
    assert outcomes(at("config/app.yaml:4", "retries:\n  - first\n  - second"), tree) == ["config/app.yaml:4 verified"]
    assert [q.outcome for q in evidence_of(at("config/app.yaml:3", " timeout: 30\n- fake"), tree).quotes] == [
        "mismatch"
    ]


def test_a_moved_quote_is_relocated_to_the_nearest_match_in_the_file(tmp_path: Path) -> None:
    lines = [f"x{number} = {number}" for number in range(1, 101)]
    for number in (10, 50, 90):
        lines[number - 1] = "the_same_line_again(1, 2)"
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    assert outcomes(at("a.py:30", "the_same_line_again(1, 2)"), tmp_path) == ["a.py:30 relocated > a.py:10"]
    assert outcomes(at("a.py:31", "the_same_line_again(1, 2)"), tmp_path) == ["a.py:31 relocated > a.py:50"]
    assert outcomes(at("a.py:99", "the_same_line_again(1, 2)"), tmp_path) == ["a.py:99 relocated > a.py:90"]


def test_a_quote_from_exactly_one_other_file_is_relocated_there(tree: Path) -> None:
    assert outcomes(at("src/app.py:14", "return USERS.get(name)"), tree) == [
        "src/app.py:14 relocated > src/store.py:15"
    ]
    assert evidence_of(at("src/app.py:14", "return USERS.get(name)"), tree).references[0].outcome == "relocated"


def test_a_quote_that_is_in_two_other_files_is_a_mismatch(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("pass\n" if name == "a.py" else "the_same_line_again(1, 2)\n", encoding="utf-8")
    assert [q.outcome for q in evidence_of(at("a.py:1", "the_same_line_again(1, 2)"), tmp_path).quotes] == ["mismatch"]


def test_a_quote_of_fewer_than_ten_characters_is_not_searched_for_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\n" * 99 + "abcd = efgh\nabcd = efghi\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("pass\n", encoding="utf-8")
    assert outcomes(at("a.py:100", "abcd = efgh"), tmp_path) == ["a.py:100 verified"]
    for location in ("a.py:1", "b.py:1"):
        assert outcomes(at(location, "abcd = efgh"), tmp_path) == [f"{location} mismatch"]
        assert outcomes(at(location, "abcd = efghi"), tmp_path) == [f"{location} relocated > a.py:101"]
        assert outcomes(at(location, "1 | abcd = efgh"), tmp_path) == [f"{location} mismatch"]


def test_a_location_without_a_line_is_the_whole_file(tree: Path) -> None:
    assert outcomes(fence(CODE, "python src/app.py"), tree) == ["src/app.py verified"]
    assert outcomes(fence(CODE.replace("name", "nome"), "python src/app.py"), tree) == [
        "src/app.py mismatch > src/app.py:14"
    ]
    assert outcomes(fence("return USERS.get(name)", "python src/app.py"), tree) == [
        "src/app.py relocated > src/store.py:15"
    ]


@pytest.mark.parametrize("location", ["src/app.py:0", "src/app.py:41", "src/app.py:99", "src/app.py:17-12"])
def test_a_quote_makes_a_line_that_is_out_of_range_relocated(location: str, tree: Path) -> None:
    for code, line in (("SESSIONS = {}", 40), ('"""The way in."""', 1)):
        found = evidence_of(at(location, code), tree)
        assert [shown(quote) for quote in found.quotes] == [f"{location} relocated > src/app.py:{line}"]
        assert [shown(reference) for reference in found.references] == [f"{location} relocated > src/app.py:{line}"]


def test_a_range_past_the_end_stays_out_of_range_with_a_correct_quote(tree: Path) -> None:
    found = evidence_of(at("src/app.py:38-50", "SESSIONS = {}"), tree)
    assert [shown(quote) for quote in found.quotes] == ["src/app.py:38-50 verified"]
    assert [shown(reference) for reference in found.references] == ["src/app.py:38-50 out-of-range > src/app.py:38"]


def test_a_missing_quote_leaves_a_line_out_of_range(tree: Path) -> None:
    found = evidence_of(at("src/app.py:99", "launch(the_missiles, now=True)"), tree)
    assert [quote.outcome for quote in found.quotes] == ["mismatch"]
    assert [shown(reference) for reference in found.references] == ["src/app.py:99 out-of-range > src/app.py:40"]


def test_a_missing_file_stays_missing_with_the_location_of_its_quote(tree: Path) -> None:
    found = evidence_of(at("src/ghost.py:3", "return USERS.get(name)"), tree)
    assert [shown(quote) for quote in found.quotes] == ["src/ghost.py:3 missing-file > src/store.py:15"]
    assert [shown(reference) for reference in found.references] == ["src/ghost.py:3 missing-file > src/store.py:15"]


def test_a_quote_from_outside_is_outside(tree: Path) -> None:
    assert outcomes(at("../secret.py:3", "return USERS.get(name)"), tree) == ["../secret.py:3 outside"]


@pytest.mark.parametrize("kind", ["binary", "huge", "pipe"])
def test_an_invented_quote_from_a_file_that_cannot_be_read_is_unchecked_and_supports_no_score(
    kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.py"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.write_bytes(b"\0\1\2" if kind == "binary" else b"x = 1\n" * (MAX_FILE // 6 + 1))
    sources = open_sources(tmp_path, records=[Receipt(tool="Read", path="a.py")])
    (verdict,) = check_text(at("a.py:3", "launch(the_missiles, now=True)"), sources=sources)
    found = verdict.evidence
    assert [quote.outcome for quote in found.quotes] == ["unchecked"]
    assert [reference.outcome for reference in found.references] == ["unchecked"]
    assert found.supported == 0


def test_a_wrong_symbol_is_reported_next_to_a_correct_quote(tree: Path) -> None:
    found = evidence_of(f"src/app.py:14 (`ghost`):\n{fence(CODE)}", tree)
    assert [quote.outcome for quote in found.quotes] == ["verified"]
    assert [(r.outcome, r.is_quote_location) for r in found.references] == [("mismatch", False)]


def test_a_mismatch_suggests_similar_lines(tree: Path) -> None:
    (quote,) = evidence_of(at("src/app.py:30", "    user = load_from_database(name, password)"), tree).quotes
    assert (quote.outcome, quote.found and quote.found.path) == ("mismatch", "src/app.py")
    assert quote.similarity is not None
    assert 0.5 <= quote.similarity < 0.9
    assert f"line {quote.found.line if quote.found else 0} is the most similar" in quote.why


def test_suggestions_are_within_fifty_lines(tmp_path: Path) -> None:
    lines = [""] * 200
    lines[99] = "value = compute(first, second)"
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    wrong = "value = computing(first, other)"
    assert outcomes(at("a.py:50", wrong), tmp_path) == ["a.py:50 mismatch > a.py:100"]
    assert outcomes(at("a.py:150", wrong), tmp_path) == ["a.py:150 mismatch > a.py:100"]
    assert outcomes(at("a.py:49", wrong), tmp_path) == ["a.py:49 mismatch"]
    assert outcomes(at("a.py:100", "zzzzzzzzzzzz"), tmp_path) == ["a.py:100 mismatch"]


def test_a_mismatch_with_a_suggestion_is_a_mismatch_of_its_reference(tree: Path) -> None:
    found = evidence_of(at("src/app.py:14", "    user = load_user_by(name, password)"), tree)
    assert [(r.outcome, r.found) for r in found.references] == [("mismatch", None)]


# --- Readings


def test_a_text_has_these_readings() -> None:
    assert quote_readings("a\n\n  b  c") == [["a\nb c"]]
    assert quote_readings("1 | a\n2 | b") == [["1 | a\n2 | b"], ["a\nb"], ["| a\n| b"]]
    assert quote_readings("2 | a\n1 | b") == [["2 | a\n1 | b"]]
    assert quote_readings("a\n...\nb") == [["a", "b"]]
    assert quote_readings("...args,\nb") == [["...args,\nb"]]
    assert quote_readings("-a\n+b\n c") == [["-a\n+b\nc"], ["a\nc"], ["b\nc"]]
    assert quote_readings("- a\n- b") == [["- a\n- b"], ["a\nb"]]
    assert quote_readings("...\n…") == []


# --- Properties


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")[:-1]


TEXT = st.text(st.sampled_from("abcdefgxyz_ =()+*.,:\"'0123456789{}[]"), min_size=3, max_size=40)


@st.composite
def file_and_run(draw: st.DrawFn) -> tuple[list[str], int, int]:
    lines = draw(st.lists(st.one_of(TEXT, st.just("")), min_size=1, max_size=40))
    first = draw(st.integers(1, len(lines)))
    last = draw(st.integers(first, min(len(lines), first + 6)))
    while first < last and not lines[last - 1].strip():
        last -= 1
    while first < last and not lines[first - 1].strip():
        first += 1
    return lines, first, last


def check(text: str, lines: list[str], line: int | None, end_line: int | None = None, path: str = "a.py") -> Quote:
    file = SourceFile(path, "\n".join([*lines, ""]).encode())
    quote = Quote(path=path, line=line, end_line=end_line, at=1, text=text)
    if not QuoteChecker().check(quote, file):
        quote.outcome = "mismatch"
    return quote


@given(file_and_run())
def test_lines_quoted_at_their_location_are_verified(case: tuple[list[str], int, int]) -> None:
    lines, first, last = case
    text = "\n".join(lines[first - 1 : last])
    if not quote_readings(text):
        return
    for location in ((first, last), (first, None), (last, None), (None, None)):
        quote = check(text, lines, *location)
        assert quote.outcome == "verified", (text, location)


@given(file_and_run(), st.integers(40, 200))
def test_lines_quoted_far_away_are_relocated(case: tuple[list[str], int, int], gap: int) -> None:
    lines, first, last = case
    text = "\n".join(lines[first - 1 : last])
    if (
        sum(not mark.isspace() for mark in text) < 10
        or len(quote_readings(text)) != 1
        or len(quote_readings(text)[0]) != 1
    ):
        return
    # Nothing else around the cited line but lines that are like no other.
    quote = check(text, [*lines, *["@@@@"] * gap, *["%%%%"] * 40], len(lines) + gap + 20)
    assert quote.outcome == "relocated"
    assert quote.found is not None
    found = " ".join(" ".join(lines[(quote.found.line or 0) - 1 :]).split())
    assert " ".join(text.split()) in found


COMMON = ["else:", "return None", "try:", ")", "}", "pass", "end"]


@given(st.lists(st.sampled_from(COMMON), min_size=60, max_size=120), st.data())
def test_a_quote_far_from_the_cited_line_is_relocated_even_if_one_of_its_lines_is_common(
    around: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, len(around)))
    quoted = ["unique_name = compute(1)", *data.draw(st.lists(st.sampled_from(COMMON), max_size=3))]
    quoted.insert(data.draw(st.integers(0, len(quoted))), "other_name = compute(2)")
    quoted = data.draw(st.sampled_from([quoted, [data.draw(st.sampled_from(COMMON)), *quoted]]))
    lines = [*around[: first - 1], *quoted, *around[first - 1 :]]
    last = first + len(quoted) - 1
    line = data.draw(st.integers(1, len(lines)).filter(lambda line: line < first - 5 or line > last + 5))
    quote = check("\n".join(quoted), lines, line)
    assert (quote.outcome, quote.found) == ("relocated", Location("a.py", first))


POOL = [
    "pool = Pool(",
    "    url=url,",
    "    most=5,  # few",
    "    least=0,",
    "    wait=30,",
    ")",
    "one = (",
    "    pool,",
    ")",
]


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        (["pool = Pool(", "    url=url,", "    most=5", ")"], "verified"),
        (["pool = Pool(", "    url=url", ")"], "verified"),
        (["pool = Pool(", "    url=url,", "    least=0", ")"], "verified"),
        (["pool = Pool(", "    url=url,", "    most=6", ")"], "mismatch"),
        (["pool = Pool(", "    url=url", "    most=5,", ")"], "mismatch"),
        (["pool = Pool(", "    url=url,", "    most", ")"], "mismatch"),
    ],
)
def test_the_comma_before_omitted_elements_may_be_left_out(lines: list[str], outcome: str) -> None:
    assert check("\n".join(lines), POOL, 1, 6).outcome == outcome


HOOKS = [
    "  const [glow, setGlow] = useState(() => {",
    "    const saved = store.get('glow');",
    "    return saved ? Number(saved) : firstGlow;",
    "  });",
    "",
    "  const [rate, setRate] = useState(() => {",
    "    const saved = store.get('rate');",
    "    return saved ? Number(saved) : firstRate;",
    "  });",
    "",
    "  const onGlow = useCallback((value) => {",
    "    setGlow(value);",
    "  }, []);",
]


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        ([*HOOKS[:4], "", "// and the handler", *HOOKS[10:]], "verified"),
        ([*HOOKS[5:9], *HOOKS[10:]], "verified"),
        ([*HOOKS[:2], HOOKS[7], HOOKS[3], *HOOKS[10:]], "mismatch"),  # the end of another block
        ([HOOKS[0], *HOOKS[6:9], *HOOKS[10:]], "mismatch"),  # its body
        ([*HOOKS[:2], "    return saved ? Number(saved) : lastGlow;", HOOKS[3], *HOOKS[10:]], "mismatch"),
    ],
)
def test_a_bracket_that_ends_many_blocks_is_that_of_the_quoted_one(lines: list[str], outcome: str) -> None:
    assert check("\n".join(lines), HOOKS, 1, 13, path="a.ts").outcome == outcome


def test_a_line_above_the_cited_ones_does_not_verify_an_altered_one() -> None:
    lines = [
        *("it('delta', () => {", "  expect(beta).toBe(0);", "});"),
        *("it('beta', () => {", "  expect(beta).toBe(2);", "});", "delta({", "  a: 1,", "  b: alpha,"),
    ]
    quoted = "\n".join(["  expect(beta).toBe(0);", *lines[5:]])
    assert check(quoted, lines, 5, 9, path="a.ts").outcome == "mismatch"
    assert check(quoted.replace("0", "2"), lines, 5, 9, path="a.ts").outcome == "verified"


def test_the_head_of_one_function_above_the_body_of_another_is_altered() -> None:
    lines = [
        "func Task(op Op) bool {",
        "\tnote := lower(trim(op.Note))",
        '\treturn has(note, "task") && !has(note, "none")',
        "}",
        "",
        "func External(op Op) bool {",
        "\tnote := lower(trim(op.Note))",
        '\treturn has(note, "external")',
        "}",
    ]
    for first, last in ((6, 8), (1, 9), (None, None)):
        quote = check("\n".join((lines[0], *lines[6:8])), lines, first, last, path="pay.go")
        assert quote.outcome == "mismatch"


@pytest.mark.parametrize(
    ("shown", "outcome"),
    [
        ("send(chat, '*Error...*');", "verified"),
        ("send(chat, '*Error...');", "verified"),
        ("send(chat, '*Fault...*');", "mismatch"),
        ("send(chat, '*Error...*', now);", "mismatch"),
        ("send(user, '*Error...*');", "mismatch"),
    ],
)
def test_dots_in_a_string_stand_for_a_part_of_it(shown: str, outcome: str) -> None:
    assert check(shown, ["send(chat, '*Error: the cart is empty, try again*');"], 1, path="a.js").outcome == outcome


def test_lines_that_are_omitted_around_the_cited_line_do_not_verify_a_quote() -> None:
    lines = ["def one():", "    total = 0", *["    total += 1"] * 100, "    return total"]
    assert check("def one():\n    total = 0\n    return total", lines, 1, 103).outcome == "verified"
    assert check("def one():\n    total = 0\n    return total", lines, 50).outcome == "relocated"


@given(file_and_run(), st.text(st.sampled_from("äöüßÄÖÜéèà"), min_size=10, max_size=60))
def test_text_that_is_not_in_the_file_is_never_verified(case: tuple[list[str], int, int], other: str) -> None:
    lines, first, last = case
    assert check(other, lines, first, last).outcome == "mismatch"
    assert check(other, lines, None).outcome == "mismatch"
    mixed = "\n".join([*lines[first - 1 : last][:1], other])
    assert check(mixed, lines, first, last).outcome == "mismatch"


@given(st.text(max_size=300))
def test_any_text_has_readings_without_blank_pieces(text: str) -> None:
    for pieces in quote_readings(text):
        assert pieces
        assert all(piece.strip() for piece in pieces)


# --- Limits


def test_the_cost_of_all_quotes_of_a_result_is_limited(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_SCANNED", "MAX_COMPARED"):
        monkeypatch.setattr(quotes, name, 0)
        body = at("src/app.py:14", CODE) + "\n\n" + at("src/app.py:15", "launch(the_missiles, now=True)")
        found = evidence_of(body, tree)
        assert [shown(quote) for quote in found.quotes] == ["src/app.py:14 verified", "src/app.py:15 unchecked"]
        assert [one.outcome for one in found.references] == ["verified", "unchecked"]
        assert found.quotes[1].why == "the quotes are too large or too many to check"
        monkeypatch.undo()


def test_the_search_for_similar_lines_is_limited(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        at("src/app.py:14", "    user = store.find_users(name)")
        + "\n\n"
        + at("src/app.py:14", "user = store.find_u(name)")
    )
    assert all(quote.found is not None for quote in evidence_of(body, tree).quotes)
    monkeypatch.setattr(lost_quotes, "MAX_GUESSED", 1)
    found = evidence_of(body, tree).quotes
    assert [quote.outcome for quote in found] == ["mismatch", "mismatch"]
    assert [quote.found is not None for quote in found] == [True, False]


def test_the_search_in_other_files_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py", "z.py"):
        (tmp_path / name).write_text("pass\n" if name != "z.py" else "the_same_line_again(1, 2)\n", encoding="utf-8")
    body = at("a.py:1", "the_same_line_again(1, 2)")
    assert outcomes(body, tmp_path) == ["a.py:1 relocated > z.py:1"]
    for limit in ("MAX_SEARCHED", "MAX_SEARCHED_FILE", "MAX_SEARCHED_FILES", "MAX_LOST"):
        with monkeypatch.context() as patch:
            patch.setattr(lost_quotes, limit, 0)
            assert outcomes(body, tmp_path) == ["a.py:1 mismatch"]


def test_a_long_quote_is_compared_with_windows_that_share_lines(tmp_path: Path) -> None:
    lines = [f"the value of number {number} is computed here = {number * 7919 % 10007}" for number in range(1, 1001)]
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    quoted = lines[300:600]
    quoted[150] = "this one line has been changed by somebody"
    assert outcomes(at("a.py:301", "\n".join(quoted)), tmp_path) == ["a.py:301 mismatch > a.py:301"]
    assert outcomes(at("a.py:400", "\n".join(quoted)), tmp_path) == ["a.py:400 mismatch > a.py:301"]
    every = "\n".join(lines[300:600]).replace("computed", "complted")
    assert outcomes(at("a.py:301", every), tmp_path) == ["a.py:301 mismatch > a.py:301"]
    assert outcomes(at("a.py:304", every), tmp_path) == ["a.py:304 mismatch > a.py:301"]


def test_a_condensed_quote_of_the_only_other_file_of_that_name_is_relocated(tmp_path: Path) -> None:
    code = ["install:", "\t@if [ -f bashrc ]; then \\", "\t\techo one; \\", "\telse \\", "\t\techo two; \\", "\tfi"]
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool/Makefile").write_text("\n".join(code), encoding="utf-8")
    (tmp_path / "Makefile").write_text("all:\n" * 9, encoding="utf-8")
    quoted = "\n".join(["@if [ -f bashrc ]; then \\", "    echo one; \\", "    fi"])
    assert outcomes(f"Makefile:2-6:\n{fence(quoted)}", tmp_path) == ["Makefile:2-6 relocated > tool/Makefile:2"]
    altered = quoted.replace("one", "three")
    assert outcomes(f"Makefile:2-6:\n{fence(altered)}", tmp_path)[0].startswith("Makefile:2-6 mismatch")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/Makefile").write_text("\n".join(code), encoding="utf-8")
    assert outcomes(f"Makefile:2-6:\n{fence(quoted)}", tmp_path)[0].startswith("Makefile:2-6 mismatch")


def test_a_line_that_is_elsewhere_in_the_file_is_not_called_unlike_all_of_its_lines(tmp_path: Path) -> None:
    lines = [f"the_value_of_number_{number} = compute_{number * 7919 % 10007}()" for number in range(1, 101)]
    lines[90] = "raise NotImplementedError(message) from None"
    (tmp_path / "a.py").write_text("\n".join(lines), encoding="utf-8")
    quoted = "\n".join([lines[10], lines[90], lines[11].replace("compute", "count")])
    (quote,) = evidence_of(at("a.py:11", quoted), tmp_path).quotes
    assert quote.outcome == "mismatch"
    assert quote.why.endswith(f"; none of these lines is like `{lines[90]}`")


# --- Marks and lines that do not matter

SIBLINGS = """\
export const useBlock = (id: string) =>
  useStore((state) => state.blocks[id]);

export const useChildren = (id: string) =>
  useStore((state) => state.children[id]);

export const useContent = (id: string) =>
  useStore((state) => state.blocks[id]?.content);
"""
BLOCK, CHILDREN, CONTENT = SIBLINGS.rstrip("\n").split("\n\n")


def quote_outcome(code: str, path: str, source: str, root: Path) -> str:
    (root / path).write_text(source)
    (quote,) = evidence_of(f"```text {path}:1-{source.count(chr(10))}\n{code}\n```", root).quotes
    return quote.outcome


def test_a_function_between_similar_ones_may_be_left_out(tmp_path: Path) -> None:
    assert quote_outcome(f"{BLOCK}\n\n{CONTENT}", "store.ts", SIBLINGS, tmp_path) == "verified"
    for altered in (
        f"{BLOCK}\n\n{CONTENT.replace('useContent', 'useChild')}",
        f"{BLOCK}\n\n{CHILDREN.replace('useChildren', 'useContent')}",
        f"{BLOCK.replace('useBlock', 'useContent')}\n\n{CONTENT}",
    ):
        assert quote_outcome(altered, "store.ts", SIBLINGS, tmp_path) == "mismatch"


@pytest.mark.parametrize(
    ("path", "outcome"),
    [("a.py", "verified"), ("a.ts", "verified"), ("a.go", "mismatch"), ("a.sh", "mismatch"), ("a.rb", "mismatch")],
)
def test_the_quotation_marks_of_a_string_matter_only_where_they_do_in_the_language(
    path: str, outcome: str, tmp_path: Path
) -> None:
    source = 'strategies = {\n    "mock": Mock,\n    "always": Always,\n}\n'
    code = source.rstrip("\n").replace('"', "'")
    assert quote_outcome(code, path, source, tmp_path) == outcome
    assert quote_outcome(code.replace("'mock'", "mock"), path, source, tmp_path) == "mismatch"
    assert quote_outcome(code.replace("mock", "mocks"), path, source, tmp_path) == "mismatch"


def test_a_line_of_another_case_does_not_verify_an_altered_one(tmp_path: Path) -> None:
    source = (
        'switch (role) {\n  case "guest":\n    grant(user, "read", false);\n    audit(user);\n    break;\n'
        '  case "admin":\n    grant(user, "read", true);\n    break;\n}\n'
    )
    code = 'switch (role) {\n  case "guest":\n    grant(user, "read", true);\n    break;'
    (tmp_path / "role.ts").write_text(source)
    (quote,) = evidence_of(f"```text role.ts:1-5\n{code}\n```", tmp_path).quotes
    assert quote.outcome == "mismatch"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ('run("a" + b + "c")', "run('a\" + b + \"c')"),
        ('os.system("rm -rf \'" + name)', 'os.system("rm -rf \\"" + name)'),
        ("query(`name = '${name}'`)", 'query(`name = "${name}"`)'),
        ('say("it\'s")', "say('it\"s')"),
    ],
)
def test_quotation_marks_inside_a_string_matter(source: str, code: str, tmp_path: Path) -> None:
    for path in ("a.py", "a.ts"):
        assert quote_outcome(code, path, f"{source}\n", tmp_path) == "mismatch"


def test_the_head_of_one_function_with_the_end_of_another_is_altered(tmp_path: Path) -> None:
    source = (
        "def read(path):\n    check(path)\n\n    data = load(path, safe=True)\n    return data\n\n\n"
        "def read_fast(path):\n    prepare(path)\n\n    data = load(path, safe=False)\n    return data.raw\n"
    )
    code = "def read(path):\n    check(path)\n\n    data = load(path, safe=False)\n    return data.raw"
    (tmp_path / "a.py").write_text(source)
    (quote,) = evidence_of(f"```python a.py:1-5\n{code}\n```", tmp_path).quotes
    assert quote.outcome == "mismatch"
