"""In a result no word, mark or form excuses a claim: each case was accepted with an invented file or invented code."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from support.verify_commands import commit, git

import remit
from remit.contract.parse import parse
from remit.evidence.model import Checked

CART = '''"""The cart of a session."""

from shop import prices


class Cart:
    def __init__(self, lines, code=""):
        self.lines = lines
        self.code = code

    def total(self):
        """What the customer pays."""
        goods = sum(line.price * line.quantity for line in self.lines)
        return prices.discounted(goods, self.code)
'''
RESULT = """## {agent} Result

### Status
SUCCESS

### Summary
Read the cart and found a fault.

### Findings

#### Issues Detected
| ID | Issue | File:Line | Severity | Confidence |
|----|-------|-----------|----------|------------|
| {id} | Total is wrong | {place} | Important | 90 |

#### Issue Details

**{id}: Total is wrong**
{detail}
**Risk**: money is lost

### Key References
| Item | Location | Relevance |
|------|----------|-----------|
| Cart | `shop/cart.py:6` | the class |

### Severity Summary
- Critical: 0
- Important: 1
- Minor: 0
"""
PLACE = "`shop/cart.py:13`"
CODE = "        goods = sum(line.price * line.quantity for line in self.lines)"
INVENTED = "goods = sum(line.cost for line in self.rows)"
QUOTE = f"```python\n# shop/cart.py:13\n{CODE}\n```"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a checkout with one module."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/cart.py").write_text(CART, encoding="utf-8")
    return tmp_path


def check(shop: Path, place: str = PLACE, detail: str = QUOTE, finding: str = "CR-001") -> dict[str, str]:
    """Return the violated rules of a result with one finding, and their levels."""
    agent = "Security Auditor" if finding.startswith("SEC") else "Code Reviewer"
    text = RESULT.format(agent=agent, id=finding, place=place, detail=detail)
    return {fault.rule: fault.level for fault in remit.check(text, repo=shop).violations}


def test_a_true_finding_breaks_no_rule_of_evidence(shop: Path) -> None:
    assert not {rule for rule in check(shop) if rule.startswith(("reference", "quote", "finding", "security"))}
    assert "security-without-quote" not in check(shop, finding="SEC-001")


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("`shop/ghost.py:12` (removed)", id="a remark"),
        pytest.param("~~`shop/ghost.py:12`~~", id="struck out"),
        pytest.param("`node_modules/pay/ghost.js:12`", id="a dependency"),
        pytest.param("`$APP/shop/ghost.py:12`", id="a variable"),
        pytest.param('"shop/ghost.py:12"', id="quotation marks"),
        pytest.param("<pre>shop/ghost.py:12</pre>", id="HTML"),
        pytest.param("[shop/ghost.py:999](shop/cart.py#L12)", id="the text of a link"),
        pytest.param("`shop/{cart,ghost}.py:12`", id="braces"),
        pytest.param("`shop/cart.py:1\u200b3`", id="a zero-width space in a number"),
        pytest.param("`shop/cart.py:13\u200b`", id="a zero-width space after a number"),
        pytest.param("`shop/ca\u00adrt.py:13`", id="a soft hyphen in a path"),
        pytest.param("`shop/cart.py:\u202e13`", id="another direction before a number"),
        pytest.param("`shop/cart.py:1\ufe0f3`", id="a variation selector in a number"),
        pytest.param("`shop/cart.py:1\u31643`", id="a filler in a number"),
    ],
)
def test_an_invented_place_of_a_finding_is_a_missing_file(shop: Path, place: str) -> None:
    assert check(shop, place)["reference-missing-file"] == "L1"


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("`.env.production:12`", id="a name that may be a host"),
        pytest.param("https://github.com/another/shop/blob/dev/shop/ghost.py#L12", id="a link to a branch"),
    ],
)
def test_a_place_that_cannot_be_checked_is_not_a_place_of_a_finding(shop: Path, place: str) -> None:
    assert "finding-without-reference" in check(shop, place)


@pytest.mark.parametrize(
    "number",
    [
        *(":0x3e7", ":1e3", ":1_003", ":⁹⁹⁹", ":Ⅻ", ":>999", "::999", " (999)", ", 999"),
        *(":13+999", ":13; 999", ":13 \\| 999", ":1 003"),
    ],
)
def test_a_number_after_a_place_that_is_not_read_as_its_line_is_reported(shop: Path, number: str) -> None:
    assert check(shop, f"`shop/cart.py`{number}")["finding-without-reference"] == "L2"
    assert check(shop, f"shop/cart.py{number}")["finding-without-reference"] == "L2"


@pytest.mark.parametrize(
    "remark",
    [
        "",
        " (3 places)",
        " 2 times",
        " (`sha256`)",
        " twice",
        ":7",
        "-14",
        ", 14",
        " v2",
        " (85%)",
        " 85%",
        " #123",
        " (2026-01-02)",
        " [1]",
        " (1st)",
        " (×2)",
        " → 14",
    ],
)
def test_a_remark_after_a_place_is_not_a_line(shop: Path, remark: str) -> None:
    assert "finding-without-reference" not in check(shop, f"shop/cart.py:13{remark}")


def test_a_true_place_does_not_make_up_for_one_that_cannot_be_checked(shop: Path) -> None:
    (shop / "shop/data.bin").write_bytes(b"\0\1\2" * 100)
    assert check(shop, f"{PLACE}, `shop/data.bin:3`")["finding-without-reference"] == "L2"


def fork_commit(shop: Path) -> str:
    """Commit the checkout, then a file on another branch that is not checked out; return the commit of that branch."""
    git(shop, "init", "-q", "-b", "main")
    commit(shop)
    git(shop, "checkout", "-q", "-b", "side")
    (shop / "shop/ghost.py").write_text("KEY = 1\n" * 20, encoding="utf-8")
    found = commit(shop)
    git(shop, "checkout", "-q", "main")
    return found


def test_a_commit_that_is_not_in_the_history_does_not_hold_for_a_finding(shop: Path) -> None:
    link = f"https://github.com/shop/shop/blob/{fork_commit(shop)}/shop/ghost.py#L12"
    assert check(shop, f"[`shop/ghost.py:12`]({link})")["finding-without-reference"] == "L2"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("#### Deleted files\n- `shop/ghost.py:12`", id="a heading"),
        pytest.param("| Module | Lines |\n|---|---|\n| shop/ghost.py | 12-18 |", id="a table of lines"),
        pytest.param("`shop/ghost.py` leaks the key (line 12)", id="a line after a missing path"),
        pytest.param("See shop/ghost\u200b.py:12 for more.", id="a zero-width space in prose"),
        pytest.param("See shop/ghost&#46;py:12 for more.", id="an entity in prose"),
        pytest.param("See shop/<b>ghost</b>.py:12 for more.", id="tags in a path"),
        pytest.param("See shop/ghost<wbr>.py:12 for more.", id="a tag for line breaks in a path"),
        pytest.param("See shop/ghost\u2024py:12 for more.", id="a sign like a dot"),
        pytest.param("See shop\uff0fghost.py\uff1a12 for more.", id="signs of full width"),
        pytest.param("See shop/ghost.py\u223612 for more.", id="a sign like a colon"),
        pytest.param("See shop/ghost&period;py&colon;12 for more.", id="entities instead of all marks"),
    ],
)
def test_an_invented_place_elsewhere_in_a_result_is_a_missing_file(shop: Path, text: str) -> None:
    assert check(shop, detail=f"{QUOTE}\n\n{text}\n")["reference-missing-file"] == "L1"


@pytest.mark.parametrize("name", ["refund_all", ":refund_all", "Cart.refund", "refund()", "13:refund_all"])
def test_an_invented_name_that_a_colon_joins_to_a_path_is_missing(shop: Path, name: str) -> None:
    assert check(shop, f"`shop/cart.py:{name}`")["symbol-missing"] == "L1"
    assert check(shop, f"shop/cart.py:{name}")["symbol-missing"] == "L1"
    if not name[0].isdigit() and name[0] != ":":
        assert check(shop, f"`shop/cart.py#{name}`")["symbol-missing"] == "L1"
        assert check(shop, detail=f"{QUOTE}\n\n`shop/cart.py#{name}` leaks.\n")["symbol-missing"] == "L1"
    assert check(shop, detail=f"{QUOTE}\n\n`shop/cart.py:{name}` leaks.\n")["symbol-missing"] == "L1"


@pytest.mark.parametrize("name", ["total", "total()", "Cart.total", ":Cart.total()", "13:total"])
def test_a_true_name_that_a_colon_joins_to_a_path_breaks_no_rule(shop: Path, name: str) -> None:
    assert not {rule for rule in check(shop, f"`shop/cart.py:{name}`") if rule.startswith(("symbol", "ref", "finding"))}


@pytest.mark.parametrize("language", ["text", "console", "output", "log", "python", ""])
@pytest.mark.parametrize("location", ["", "`shop/cart.py:13`\n"], ids=["the finding's place", "a location above"])
def test_the_language_of_a_fence_does_not_excuse_invented_code(shop: Path, language: str, location: str) -> None:
    assert check(shop, detail=f"{location}```{language}\n{INVENTED}\n```")["quote-mismatch"] == "L1"


@pytest.mark.parametrize("language", ["sh", "bash", "mermaid", "http", "markdown"])
def test_a_fence_directly_below_a_location_is_compared_in_any_language(shop: Path, language: str) -> None:
    detail = f"{QUOTE}\n\n`shop/cart.py:13`\n```{language}\n{INVENTED}\n```"
    assert check(shop, detail=detail)["quote-mismatch"] == "L1"


@pytest.mark.parametrize("language", ["sh", "bash", "shell", "zsh", "console"])
@pytest.mark.parametrize("location", ["`shop/cart.py:13`", "shop/cart.py:13", "**Location:** `shop/cart.py:13`"])
def test_a_blank_line_below_a_location_does_not_excuse_code_in_the_language_of_a_shell(
    shop: Path, language: str, location: str
) -> None:
    detail = f"{QUOTE}\n\n{location}\n\n```{language}\n{INVENTED}\n```"
    assert check(shop, detail=detail)["quote-mismatch"] == "L1"
    commands = f"{QUOTE}\n\nTo reproduce the fault of `shop/cart.py:13`:\n\n```{language}\npytest -q\n```"
    assert "quote-mismatch" not in check(shop, detail=commands)


def test_output_that_starts_with_a_prompt_is_not_a_quote(shop: Path) -> None:
    assert "quote-mismatch" not in check(
        shop, detail=f"{QUOTE}\n\n```console\n$ python -m shop\nKeyError: 'total'\n```"
    )


@pytest.mark.parametrize(("line", "old", "new"), [(7, 'code=""', 'code=" "'), (7, 'code=""', 'code="\t "')])
def test_a_string_of_blanks_is_not_an_empty_string(shop: Path, line: int, old: str, new: str) -> None:
    quoted = CART.split("\n")[line - 1]
    for code, is_altered in ((quoted, False), (quoted.replace(old, new), True)):
        found = check(shop, detail=f"{QUOTE}\n\n```python\n# shop/cart.py:{line}\n{code}\n```")
        assert ("quote-mismatch" in found) == is_altered


@pytest.mark.parametrize("key", ["title", "filename", "name"])
def test_a_title_does_not_excuse_code_of_a_file(shop: Path, key: str) -> None:
    (shop / "app.py").write_text("x = 1\n")
    assert "quote-mismatch" in check(shop, detail=f'{QUOTE}\n\n```python {key}="app.py"\n{INVENTED}\n```')


@pytest.mark.parametrize("label", ["Exploit", "PoC"])
def test_a_label_does_not_excuse_code_that_names_its_line(shop: Path, label: str) -> None:
    detail = f"**{label}**:\n```python\n# shop/cart.py:13\n{INVENTED}\n```"
    assert check(shop, detail=detail)["quote-mismatch"] == "L1"


@pytest.mark.parametrize(
    "detail",
    [
        pytest.param("", id="none"),
        pytest.param("```python\n```", id="an empty fence"),
        pytest.param("```python\n# shop/cart.py:13\n)\n```", id="a bracket"),
        pytest.param("```python\n# shop/cart.py:14\nreturn ...\n```", id="an ellipsis"),
        pytest.param("```python\n# shop/cart.py:13\n# the sum of all goods of a session\n```", id="a comment"),
        pytest.param("```python\n# shop/cart.py:3\nfrom shop import prices\n```", id="code far away"),
    ],
)
def test_a_security_finding_needs_a_statement_of_its_place(shop: Path, detail: str) -> None:
    assert check(shop, detail=detail, finding="SEC-001")["security-without-quote"] == "L2"


def test_a_line_after_a_missing_path_is_not_looked_up_in_another_file(shop: Path) -> None:
    detail = f"{QUOTE}\n\n`shop/ghost.py` leaks the key (line 12)\n"
    text = RESULT.format(agent="Code Reviewer", id="CR-001", place=PLACE, detail=detail)
    references: list[Checked] = list(remit.check(text, repo=shop).evidence.references)
    assert {(checked.path, checked.outcome) for checked in references if checked.line == 12} == {
        ("shop/ghost.py", "missing-file")
    }


def test_a_member_of_a_json_result_that_the_schema_does_not_have_is_checked_like_the_rest(shop: Path) -> None:
    result = {
        "schema": "remit.result/1",
        "agent": "code-explorer",
        "status": "SUCCESS",
        "summary": "All is well.",
        "aside": "the key leaks in shop/ghost.py:99",
        "references": [{"item": "Cart", "location": "shop/cart.py:6", "relevance": "x", "also": "shop/phantom.py:3"}],
    }
    path = shop / "result.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    verdict = remit.check(path, repo=shop)
    missing = {checked.path for checked in verdict.evidence.references if checked.outcome == "missing-file"}
    assert missing == {"shop/ghost.py", "shop/phantom.py"}
    assert [extra.heading for extra in verdict.document.result.extra] == ["Unknown Members"]


def test_a_json_result_with_known_members_only_has_no_other_section(shop: Path) -> None:
    text = RESULT.format(agent="Code Reviewer", id="CR-001", place=PLACE, detail=QUOTE)
    document = remit.check(text, repo=shop).document
    again = msgspec.json.encode({"schema": "remit.result/1", **msgspec.to_builtins(document.result)}).decode()
    assert not parse(again)[0].result.extra
