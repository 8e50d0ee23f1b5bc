"""A report with invented claims, checked against a real checkout: exactly the invented claims are reported."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.in_process import run_here

import remit

FILES = {
    "shop/cart.py": '''"""The cart of a session."""

from shop import prices


class Cart:
    def __init__(self, lines, code=""):
        self.lines = lines
        self.code = code

    def total(self):
        """What the customer pays."""
        goods = sum(line.price * line.quantity for line in self.lines)
        return prices.discounted(goods, self.code)
''',
    "shop/prices.py": '''"""Prices are whole pence."""

CODES = {"TEA10": 10, "TEA25": 25}


def percentage(pence, percent):
    """A part of a price, rounded down."""
    return pence * percent // 100


def shipping(pence):
    """Free from thirty pounds on."""
    return 0 if pence >= 3000 else 350


def vat(pence):
    """Contained in every price."""
    return percentage(pence, 20)


def discounted(pence, code):
    """A price after the discount that a code gives."""
    return pence - percentage(pence, CODES.get(code, 0))
''',
    "shop/orders.py": '''"""Orders, once they are placed."""

from shop import prices


def place(cart, address):
    """Turn a cart into an order."""
    if not address.strip():
        raise ValueError("where shall we send it?")
    total = cart.total() + prices.shipping(cart.total())
    return {"total": total, "address": address.strip()}
''',
    "shop/stock.py": '''"""What is on the shelves."""

SHELVES = {}


def take(product, quantity):
    """Take goods from a shelf."""
    SHELVES[product] = SHELVES.get(product, 0) - quantity
''',
}

REPORT = """## Code Explorer Result

### Status
SUCCESS

### Summary
A cart computes its total with the discount and an order adds the shipping. Nothing else prices goods.

### Findings

#### Entry Points
| Entry | File:Line | Type |
| --- | --- | --- |
| place | `shop/orders.py:6` | function |

#### Execution Flow
1. Add up the lines → `shop/cart.py:11` (total)
2. Take the discount off → `shop/prices.py:6` (discounted)
3. Look the code up → `shop/coupons.py:18`
4. Take the goods from the shelf → `shop/stock.py:6` (take)

The order adds the shipping in one line:

```python shop/orders.py:10
    total = round(cart.subtotal() * (1 + VAT)) + shipping_cost(address)
```

#### Test Results

12 passed in 0.31s

### Key References
| Item | Location | Relevance |
| --- | --- | --- |
| total | `shop/cart.py:11` | where the discount is taken off |
| place | `shop/orders.py:6` | where an order begins |

### Confidence
55 - the files were read, but not how a payment follows

### Uncertainty
- How does a payment follow? Read the handlers

### Verification Completed
- [x] **File References Valid**: every `file:line` was opened
- [x] **Code Snippets Accurate**: the quote was copied
- [x] **No Hallucinated Paths**: no path was guessed
- [x] **Evidence Documented**: each statement names its place

### Next Steps
1. Read the handlers
"""

#: What is true instead.
CORRECTIONS = (
    ("`shop/prices.py:6` (discounted)", "`shop/prices.py:21` (discounted)"),
    ("`shop/coupons.py:18`", "`shop/prices.py:3`"),
    (
        "    total = round(cart.subtotal() * (1 + VAT)) + shipping_cost(address)",
        "    total = cart.total() + prices.shipping(cart.total())",
    ),
    ("12 passed in 0.31s", "Tests were not run."),
)


def line_of(words: str) -> int:
    """Return the line of the report that contains the words."""
    (line,) = (number for number, line in enumerate(REPORT.split("\n"), 1) if words in line)
    return line


#: Rule, level, line of the report, and words of the message.
RUN = ("test-run-unseen", "L1", line_of("12 passed"), "no tests ran in this session")
STALE = ("reference-relocated", "L2", line_of("shop/prices.py:6"), "`discounted` is at line 21")
INVENTED = ("reference-missing-file", "L1", line_of("shop/coupons.py:18"), "there is no such file")
ALTERED = ("quote-mismatch", "L1", line_of("total = round("), "the quote is not at shop/orders.py:10")
UNOPENED = ("reference-unseen", "L2", line_of("shop/stock.py:6"), "shop/stock.py is cited but was never opened")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """The shop, under git."""
    root = (tmp_path / "checkout").resolve()
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    calm = kept | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "the shop"]):
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments]
        subprocess.run(command, cwd=root, env=calm, check=True)
    return root


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """The report."""
    path = tmp_path / "answer.md"
    path.write_text(REPORT)
    return path


@pytest.fixture
def receipts(tmp_path: Path) -> Path:
    """Receipts of reading every file, without a test run."""
    read = [{"tool": "Read", "path": name, "ranges": [[1, text.count("\n")]]} for name, text in FILES.items()]
    look = {"tool": "Bash", "arguments": {"command": "ls tests 2>/dev/null"}, "exit": 0}
    path = tmp_path / "receipts.json"
    path.write_text(json.dumps({"schema": "remit.receipts/1", "receipts": [*read, look]}))
    return path


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """A transcript of the client from another machine: three files were opened, the stock was not."""
    path = tmp_path / "agent-af01.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in _transcript()))
    return path


def _transcript() -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        _line("user", "Find where the discount is applied."),
        {"type": "attachment", "attachment": {"type": "skill_listing"}, "cwd": "/home/dev/shop"},
        {"type": "api-request-blob", "message": {"role": "user", "content": [{"type": "text", "text": "[trimmed]"}]}},
        _line("assistant", [{"type": "text", "text": "I start with the cart."}]),
    ]
    for name in ("shop/cart.py", "shop/prices.py"):
        shown = "\n".join(f"{number}\t{text}" for number, text in enumerate(FILES[name].split("\n"), 1))
        lines += _called(f"toolu_{name}", "Read", {"file_path": f"/home/dev/shop/{name}"}, {"content": shown})
    command = {"command": "cat shop/orders.py", "description": "Show the orders"}
    lines += _called("toolu_cat", "Bash", command, {"content": FILES["shop/orders.py"], "is_error": False})
    missing = "File does not exist. Note: your current working directory is /home/dev/shop."
    away = {"file_path": "/home/dev/shop/shop/coupons.py"}
    lines += _called("toolu_away", "Read", away, {"content": missing, "is_error": True})
    return [*lines, _line("assistant", [{"type": "text", "text": REPORT}])]


def _called(name: str, tool: str, arguments: dict[str, str], result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _line("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": arguments}]),
        _line("user", [{"tool_use_id": name, "type": "tool_result", **result}]),
        {"type": "api-request", "requestId": None},
    ]


def _line(role: str, content: object) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "isSidechain": True,
        "agentId": "af01b51016df552db",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": "00000000-0000-0000-0000-000000000000",
        "timestamp": "2026-01-31T10:00:00.000Z",
        "cwd": "/home/dev/shop",
        "sessionId": "00000000-0000-0000-0000-000000000001",
        "version": "2.1.325",
    }


def check(report: Path, repo: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and its only result."""
    done = run_here(report.parent, "check", report, "--repo", repo, "--format", "json", *arguments)
    assert done.err == ""
    (result,) = done.json["results"]
    return done.code, result


def assert_exactly(violations: list[tuple[str, str, int, str]], *expected: tuple[str, str, int, str]) -> None:
    """Assert that these are the violations, in this order, with these texts."""
    assert [found[:3] for found in violations] == [wanted[:3] for wanted in expected]
    for found, wanted in zip(violations, expected, strict=True):
        assert wanted[3] in found[3]


def violations(result: dict[str, Any]) -> list[tuple[str, str, int, str]]:
    return [(found["rule"], found["level"], found["line"], found["message"]) for found in result["violations"]]


def test_with_receipts_exactly_the_four_inventions_are_reported(report: Path, repo: Path, receipts: Path) -> None:
    code, result = check(report, repo, "--receipts", str(receipts))
    assert (code, result["verdict"]) == (1, "revise")
    assert_exactly(violations(result), STALE, INVENTED, ALTERED, RUN)
    assert result["violations"][0]["help"] == "Cite shop/prices.py:21 instead."
    found = {entry["text"]: (entry["outcome"], entry["found"], entry["seen"]) for entry in result["references"]}
    assert found["shop/prices.py:6"] == ("relocated", {"path": "shop/prices.py", "line": 21}, "line")
    assert found["shop/coupons.py:18"][0] == "missing-file"
    assert found["shop/coupons.py:18"][2] == "no"
    assert found["shop/stock.py:6"] == ("verified", None, "line")
    assert [(entry["path"], entry["line"], entry["outcome"], entry["at"]) for entry in result["quotes"]] == [
        ("shop/orders.py", 10, "mismatch", ALTERED[2])
    ]
    assert "test-run-unseen" not in [entry["rule"] for entry in result["not_run"]]


def test_the_supported_confidence_counts_verified_claims(report: Path, repo: Path, receipts: Path) -> None:
    """Of eight references, including that of the quote, five hold and one is relocated: r = 5.5/8, q = 0."""
    _, result = check(report, repo, "--receipts", str(receipts))
    outcomes = [entry["outcome"] for entry in result["references"]]
    holding = [outcome for outcome in outcomes if outcome in ("verified", "exists")]
    assert sorted(set(outcomes) - set(holding)) == ["mismatch", "missing-file", "relocated"]
    assert (len(holding), len(outcomes)) == (5, 8)
    assert result["confidence"]["supported"] == 60 * 5.5 / 8


def test_with_a_transcript_the_unopened_file_is_also_reported(report: Path, repo: Path, transcript: Path) -> None:
    code, result = check(report, repo, "--transcript", str(transcript))
    assert (code, result["verdict"]) == (1, "revise")
    assert_exactly(violations(result), STALE, INVENTED, UNOPENED, ALTERED, RUN)
    seen = {entry["path"]: entry["seen"] for entry in result["references"]}
    assert seen == {
        "shop/orders.py": "line",
        "shop/cart.py": "line",
        "shop/prices.py": "line",
        "shop/coupons.py": "no",
        "shop/stock.py": "no",
    }


def test_without_receipts_the_claimed_run_is_unchecked(report: Path, repo: Path) -> None:
    code, result = check(report, repo)
    assert code == 1
    assert_exactly(violations(result), STALE, INVENTED, ALTERED)
    not_run = {entry["rule"]: entry["why"] for entry in result["not_run"]}
    assert not_run["test-run-unseen"] == "no receipts were given"
    assert "reference-unseen" in not_run
    assert {entry["seen"] for entry in result["references"]} == {None}


def test_the_second_attempt_is_rejected(report: Path, repo: Path, receipts: Path) -> None:
    code, result = check(report, repo, "--receipts", str(receipts), "--attempt", "2")
    assert (code, result["verdict"]) == (1, "reject")


def test_a_commit_is_checked_regardless_of_the_working_tree(report: Path, repo: Path, receipts: Path) -> None:
    (repo / "shop" / "coupons.py").write_text("\n" * 30)
    (repo / "shop" / "cart.py").unlink()
    _, result = check(report, repo, "--receipts", str(receipts), "--rev", "HEAD")
    assert_exactly(violations(result), STALE, INVENTED, ALTERED, RUN)


def test_the_python_function_reports_the_same(report: Path, repo: Path, receipts: Path, transcript: Path) -> None:
    def named(verdict: remit.Verdict) -> list[tuple[str, str, int, str]]:
        return [(found.rule, found.level, found.line, found.message) for found in verdict.violations]

    for given in (receipts, str(receipts), json.loads(receipts.read_text())["receipts"]):
        verdict = remit.check(report, repo=repo, receipts=given)
        assert (verdict.verdict, verdict.accepted) == ("revise", False)
        assert_exactly(named(verdict), STALE, INVENTED, ALTERED, RUN)
    verdict = remit.check(REPORT, repo=repo, receipts=transcript)
    assert_exactly(named(verdict), STALE, INVENTED, UNOPENED, ALTERED, RUN)
    verdict = remit.check(REPORT, repo=str(repo))
    assert_exactly(named(verdict), STALE, INVENTED, ALTERED)
    (entry,) = (entry for entry in verdict.not_run if entry.rule == "test-run-unseen")
    assert entry.why == "no receipts were given"


def test_the_corrected_report_is_accepted(report: Path, repo: Path, receipts: Path) -> None:
    text = REPORT
    for wrong, right in CORRECTIONS:
        assert text.count(wrong) == 1
        text = text.replace(wrong, right)
    report.write_text(text)
    code, result = check(report, repo, "--receipts", str(receipts))
    assert (code, result["verdict"], result["violations"]) == (0, "accept", [])


@pytest.mark.parametrize(("left", "expected"), [(1, STALE), (2, INVENTED), (3, ALTERED), (0, RUN)])
def test_each_single_invention_is_the_only_one_reported(
    report: Path, repo: Path, receipts: Path, left: int, expected: tuple[str, str, int, str]
) -> None:
    text = REPORT
    for wrong, right in CORRECTIONS[: left - 1] + CORRECTIONS[left:] if left else CORRECTIONS[:3]:
        text = text.replace(wrong, right)
    report.write_text(text)
    _, result = check(report, repo, "--receipts", str(receipts))
    assert_exactly(violations(result), expected)


def test_a_test_run_in_the_receipts_confirms_the_claim(report: Path, repo: Path, receipts: Path) -> None:
    given = json.loads(receipts.read_text())
    given["receipts"].append({"tool": "Bash", "arguments": {"command": "python -m pytest -q"}, "exit": 0})
    receipts.write_text(json.dumps(given))
    _, result = check(report, repo, "--receipts", str(receipts))
    assert_exactly(violations(result), STALE, INVENTED, ALTERED)
    given["receipts"][-1] |= {"exit": 1, "failed": True}
    receipts.write_text(json.dumps(given))
    _, result = check(report, repo, "--receipts", str(receipts))
    failed = (*RUN[:3], "`python -m pytest -q` ended with exit status 1")
    assert_exactly(violations(result), STALE, INVENTED, ALTERED, failed)


def test_a_sentence_that_only_nothing_shows_is_not_reported(report: Path, repo: Path, receipts: Path) -> None:
    text = REPORT.replace("12 passed in 0.31s", "None.").replace("Nothing else prices goods.", "All 12 tests pass.")
    report.write_text(text)
    _, result = check(report, repo, "--receipts", str(receipts))
    assert [found for found in result["violations"] if found["rule"] == RUN[0]] == []
