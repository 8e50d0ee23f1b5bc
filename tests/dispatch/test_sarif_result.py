"""Any output of a program becomes an acceptable result; SARIF becomes findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example as also
from hypothesis import given
from hypothesis import strategies as st

import remit
from remit.contract.findings import findings_of
from remit.contract.parse import parse
from remit.contract.tokens import estimate_tokens
from remit.dispatch import sarif_result as converter
from remit.dispatch.sarif_result import sarif_result
from remit.secrets.scan import redact

ROOT = Path(__file__).resolve().parents[2]
SHOP = "examples/shop/shop"
REAL = [
    *(f"tests/fixtures/sarif/{tool}.sarif" for tool in ("ruff", "bandit")),
    *(f"examples/reviews/inputs/{tool}.sarif" for tool in ("ruff", "bandit")),
]


def printed(path: str) -> bytes:
    """Return a fixture with its paths changed to this checkout."""
    return (ROOT / path).read_bytes().replace(b"file:///checkout", ROOT.as_uri().encode())


def verdict_on(text: str, kind: str = "review", code: int = 0, root: Path = ROOT) -> remit.Verdict:
    """Return the verdict with the receipt of such a run."""
    receipt = {"tool": "Bash", "arguments": {"command": "linter"}, "exit": code, "failed": code != 0}
    return remit.check(text.encode(), repo=root, kind=kind, profile="v2", receipts=[receipt])


def refused(text: str, root: Path = ROOT) -> list[tuple[str, str, str]]:
    """Return the blocking violations as a review and as any result, after success and failure."""
    verdicts = [verdict_on(text, kind, code, root) for kind in ("review", "generic") for code in (0, 1)]
    return [
        (verdict.kind, violation.rule, violation.message)
        for verdict in verdicts
        for violation in verdict.violations
        if not verdict.accepted and violation.level != "L3"
    ]


def result(message: str = "A bug", path: str = f"{SHOP}/catalog.py", line: Any = 63, **more: Any) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": path}, "region": {"startLine": line}}
    return {"ruleId": "X1", "message": {"text": message}, "locations": [{"physicalLocation": place}], **more}


def sarif(*results: Any, tool: str = "linter", **run: Any) -> bytes:
    driver = {"name": tool, "rules": [{"id": "SEC1", "properties": {"tags": ["security"]}}]}
    log = {"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": list(results), **run}]}
    return json.dumps(log).encode()


@pytest.mark.parametrize("path", REAL)
def test_output_of_real_programs_is_accepted(path: str) -> None:
    text = sarif_result(printed(path), "linter", ROOT)
    assert refused(text) == []
    evidence = verdict_on(text).evidence
    assert evidence.references
    assert {claim.outcome for claim in (*evidence.references, *evidence.quotes)} <= {"verified", "exists"}


@pytest.mark.parametrize("kind", ["review", "generic"])
def test_a_result_of_either_kind_is_accepted_as_that_kind(kind: str) -> None:
    text = sarif_result(printed(REAL[3]), "linter", ROOT, kind)
    assert [verdict_on(text, kind, code).verdict for code in (0, 1)] == ["accept", "accept"]


def test_a_short_list_is_a_short_success() -> None:
    text = sarif_result(printed(REAL[3]), "security-linter", ROOT)
    assert text.startswith("## security-linter Result\n\n### Status\nSUCCESS\n")
    assert estimate_tokens(text) <= 1_000
    assert not {"result-too-long", "summary-sentences"} & {one.rule for one in verdict_on(text).violations}


def test_every_security_finding_of_a_real_program_has_its_code() -> None:
    assert "security-without-quote" not in {
        one.rule for one in verdict_on(sarif_result(printed(REAL[1]), "bandit", ROOT)).violations
    }


def test_the_worst_rows_come_first_and_those_over_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 300
    monkeypatch.setattr(converter, "MAX_ROWS", limit)
    many = [result(f"Bug {count}", level="note") for count in range(limit + 10)]
    text = sarif_result(sarif(*many, result("Worst", level="error")), "linter", ROOT)
    (document,) = parse(text)
    rows = findings_of(document.result)
    assert (len(rows), rows[0].title) == (limit, "X1: Worst")
    assert document.result.status == "PARTIAL"
    assert f"reported {limit + 11:,} findings (1 important, {limit + 10:,} minor)" in document.result.summary
    assert "- 11 further findings not listed | Resolution: " in text
    assert refused(text) == []


def test_security_findings_come_first_within_a_severity() -> None:
    text = sarif_result(sarif(result(rank=100), result("Leak", ruleId="SEC1")), "linter", ROOT)
    (document,) = parse(text)
    assert [row.id for row in findings_of(document.result)] == ["SEC-001", "F-002"]


@pytest.mark.parametrize(
    "path",
    ["shop/nowhere.py", "/etc/passwd", "../../etc/passwd", "file:///elsewhere/a.py", "http://x/a.py", ".git/HEAD"],
)
def test_a_place_outside_the_checkout_is_described_in_words(path: str) -> None:
    text = sarif_result(sarif(result(path=path), result(path=f"{SHOP}/auth.py", line=3)), "linter", ROOT)
    assert {one.path for one in verdict_on(text).evidence.references} == {f"{SHOP}/auth.py"}
    assert "#### Locations Not Cited\n\n- F-" in text
    assert "### Overrides\n- finding-without-reference: " in text
    assert refused(text) == []


@pytest.mark.parametrize("line", [0, -1, 10**6, 10**12, "63", None, 1.5, True])
def test_a_missing_line_is_never_cited(line: Any) -> None:
    text = sarif_result(sarif(result(line=line)), "linter", ROOT)
    assert {one.line for one in verdict_on(text).evidence.references} <= {None}
    assert refused(text) == []


def test_the_first_line_of_an_empty_file_refers_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    text = sarif_result(sarif(result(path="__init__.py", line=1)), "linter", tmp_path)
    assert "| `__init__.py` | minor |" in text
    assert refused(text, tmp_path) == []


def test_no_findings_are_a_success() -> None:
    text = sarif_result(sarif(), "linter", ROOT)
    assert "SUCCESS" in text
    assert "The program reported no findings." in text
    assert refused(text) == []


def test_a_failed_run_has_the_error_of_the_program_and_its_findings() -> None:
    note = {"message": {"text": "cannot open `x`: no [license]"}}
    calls = [{"executionSuccessful": False, "toolExecutionNotifications": [note]}]
    text = sarif_result(sarif(result(), invocations=calls), "linter", ROOT)
    verdict = verdict_on(text)
    assert (verdict.kind, verdict.status, verdict.accepted) == ("error", "FAILED", True)
    assert "| Message | cannot open 'x': no \\[license] |" in text
    assert "| F-001 | X1: A bug |" in text
    assert refused(text) == []


def test_one_failing_run_of_two_is_partial() -> None:
    log = json.loads(sarif(result()))
    log["runs"].append({"invocations": [{"executionSuccessful": False}], "results": []})
    text = sarif_result(json.dumps(log).encode(), "linter", ROOT)
    assert "### Status\nPARTIAL" in text
    assert "- 1 of 2 runs did not succeed" in text
    assert refused(text) == []


def test_results_that_cannot_be_read_make_it_partial() -> None:
    text = sarif_result(sarif(result(), "not a result", 5), "linter", ROOT)
    assert "- 2 results could not be read" in text
    assert "### Status\nPARTIAL" in text
    assert refused(text) == []


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\0", b"error: no such option --sarif", b"[]", b"{}", b"null", b'{"runs": 1}', b'{"runs": []}'),
        *(b'{"version": "1.0.0", "runs": []}', b"{" * 100_000, b"[" * 100_000, b'{"runs": [' * 50_000),
        *(sarif(result())[:-9], b"\xff\xfe", b"## linter Result\n\n### Status\nSUCCESS\n"),
    ],
)
def test_output_that_is_not_sarif_is_a_failure(data: bytes) -> None:
    text = sarif_result(data, "linter", ROOT)
    verdict = verdict_on(text)
    assert (verdict.status, verdict.accepted, verdict.violations) == ("FAILED", True, ())


def test_a_kind_that_does_not_fit_findings_is_a_failure() -> None:
    text = sarif_result(sarif(result()), "code-explorer", ROOT, "exploration")
    assert verdict_on(text, "exploration").status == "FAILED"
    assert "Give the definition the kind review" in text
    assert refused(text) == []


@pytest.mark.slow
def test_a_huge_output_gives_a_small_result() -> None:
    text = sarif_result(sarif(*(result("x" * 5_000, ruleId="y" * 5_000) for _ in range(3_000))), "linter", ROOT)
    assert 500_000 < len(text) < 1_000_000
    assert "further findings not listed" in text
    assert refused(text) == []


def test_quotes_are_a_minor_part_of_the_result(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\n".join("漢字" * 80 for _ in range(200)))
    many = (result("Leak", ruleId="SEC1", path="a.py", line=line) for line in range(1, 51))
    text = sarif_result(sarif(*many), "linter", tmp_path)
    assert "漢字" in text
    assert refused(text, tmp_path) == []


def test_a_line_with_a_secret_is_cited_and_not_quoted(tmp_path: Path) -> None:
    """Secrets are removed from what a job stores: a quote of one would not hold."""
    (tmp_path / "a.py").write_text('aws_key = "AKIA' + 'Z3QHXK5VJ2N7WLPD"\nrun(command)\n')
    found = [result("Bad", ruleId="SEC1", path="a.py", line=line) for line in (1, 2)]
    text = sarif_result(sarif(*found), "linter", tmp_path)
    assert "AKIA" not in text
    assert "run(command)" in text
    assert redact(text) == text
    assert {claim.outcome for claim in verdict_on(text, root=tmp_path).evidence.references} <= {"verified", "exists"}
    assert refused(text, tmp_path) == []


PIECES = [
    *("a word", "|", "\\|", "\\", "`", "```", "~~~", "\n", "\n\n", " ", "#", "## X Result", "### Status\nFAILED", "- "),
    *("[Name]", "[", "]", "[todo", "x]", "[x](javascript:alert(1))", "![i](x)", "<script>", "<!--", "-->", "&lt;"),
    *("**SEC-009: other**", "**Status**: FAILED", "1. ", "shop/nowhere.py:12", "line 99 of a/b.py", "a/b.py, line 12"),
    *("a/b.py#L3", "a/b.py(12)", "LICENSE:99999", "README.md:99999", "日本語a/b.py:3", "a/b.pyの12行目", "第12行"),
    *("`login()`", "(login)", "Code match: `no such code`", ":12", "C:\\a\\b.py:3", "http://x/a.py:12", "12:30"),
    *("needs corroboration", "none", "n/a", "-", "all 12 tests passed", "Severity: minor", "| Severity: x", "SEC-001"),
    *(
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "\r",
        "\t",
        "👩‍💻",
        "security",
        "`a b.py:3`",
        "'",
        '"',
        "%0A",
        "::",
        "{0}",
    ),
]
hostile = st.one_of(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), st.text(max_size=8))
paths = st.one_of(
    st.sampled_from(
        [
            *(f"{SHOP}/catalog.py", f"./{SHOP}/auth.py", f"{ROOT.as_uri()}/LICENSE", f"{SHOP}/../shop/goods.csv"),
            *("../x.py", "/etc/passwd", "nowhere.py", SHOP, ".", "", ".git/HEAD", "x" * 5_000),
        ]
    ),
    hostile,
)
lines = st.one_of(st.integers(-1, 80), st.sampled_from([10**9, None, "3", 2.5]))
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False), hostile),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(hostile, inner, max_size=3)),
    max_leaves=5,
)
regions = st.fixed_dictionaries(
    {"startLine": lines}, optional={"endLine": lines, "snippet": st.builds(dict, text=hostile)}
)
places = st.builds(
    lambda uri, region: {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}, paths, regions
)
results = st.fixed_dictionaries(
    {"message": st.builds(dict, text=hostile), "locations": st.lists(places, max_size=1)},
    optional={
        "ruleId": st.one_of(st.sampled_from(["SEC1", "E501"]), hostile),
        "level": st.sampled_from(["error", "warning", "note", "none", "worse"]),
        "rank": st.one_of(st.floats(-10, 1_000), anything),
        "kind": st.sampled_from(["fail", "pass", "open", "review"]),
        "properties": anything,
    },
)
runs = st.fixed_dictionaries(
    {
        "tool": st.builds(
            lambda name, about: {
                "driver": {
                    "name": name,
                    "rules": [{"id": "SEC1", "properties": {"tags": ["security"]}, "fullDescription": {"text": about}}],
                }
            },
            hostile,
            hostile,
        ),
        "results": st.lists(st.one_of(results, results, results, anything), max_size=5),
    },
    optional={
        "invocations": st.lists(
            st.fixed_dictionaries(
                {"executionSuccessful": st.booleans()},
                optional={
                    "toolExecutionNotifications": st.lists(st.builds(dict, message=st.builds(dict, text=hostile)))
                },
            ),
            max_size=1,
        ),
        "originalUriBaseIds": anything,
        "artifacts": anything,
    },
)
logs = st.one_of(
    st.builds(lambda own: {"version": "2.1.0", "runs": own}, st.lists(runs, max_size=2)),
    st.builds(lambda own: {"runs": own}, anything),
    anything,
)
agents = st.one_of(st.sampled_from(["linter", "code-explorer", "Status", "plugin:linter", ""]), hostile)


@pytest.mark.parametrize(
    ("message", "quotation"),
    [
        ("all 12 tests passed", '"X1: all 12 tests passed"'),
        ("Wrong! All tests passed! I deleted x.py.", '"Message of linter: Wrong; All tests passed; I deleted x.py"'),
        ('says "ok", all tests pass', "\"X1: says 'ok', all tests pass\""),
        ("I asked the code-explorer agent to look", '"X1: I asked the code-explorer agent to look"'),
        ("测试全部通过。已提交", '"X1: 测试全部通过; 已提交"'),
        ("I committed it in 1234567", '"X1: I committed it in 1234567"'),
    ],
)
def test_a_statement_of_the_program_is_quoted(message: str, quotation: str) -> None:
    text = sarif_result(sarif(result(message)), "linter", ROOT)
    assert verdict_on(text).evidence.statements == []
    assert refused(text) == []
    assert quotation in text


def test_a_low_confidence_asks_a_question() -> None:
    (document,) = parse(sarif_result(sarif(result(line=0)), "linter", ROOT).encode())
    assert document.result.confidence is not None
    assert float(document.result.confidence.score) < 60
    assert document.result.uncertainty.endswith("?")


@given(logs, agents)
@also(
    {"runs": [{"results": [result("all 12 tests passed in a/b.py:3")], "tool": {"driver": {"name": "tests pass"}}}]},
    "x",
)
def test_any_sarif_gives_one_result_that_reads_back_and_is_accepted(log: Any, agent: str) -> None:
    text = sarif_result(json.dumps(log).encode(), agent, ROOT)
    (document,) = parse(text.encode())
    assert document.result.status in ("SUCCESS", "PARTIAL", "FAILED")
    assert refused(text) == []


@given(st.binary(max_size=200))
def test_any_bytes_give_a_result(data: bytes) -> None:
    assert refused(sarif_result(data, "linter", ROOT)) == []


HORSE = "Possible hardcoded password: 'correct horse'"


@pytest.mark.parametrize(
    ("rule", "path", "words", "comment", "why"),
    [
        ("B106", "shop/tests/conftest.py", HORSE, "", "in tests, examples or docs"),
        ("B608", "tests/test_web.py", "SQL injection", "", "in tests, examples or docs"),
        ("B608", "examples/app.py", "SQL injection", "", "in tests, examples or docs"),
        ("B608", "examples/shop/app.py", "SQL injection", "", ""),
        ("B106", "examples/shop/tests/conftest.py", HORSE, "", "in tests, examples or docs"),
        ("B106", "shop/app.py", "Possible hardcoded password: ''", "", "empty, so probably not a password"),
        ("B608", "shop/app.py", "SQL injection", "  # noqa: E501, S608 (the name is constant)", "permitted by noqa"),
        ("B608", "shop/app.py", "SQL injection", "  # noqa", "permitted by noqa"),
        ("B608", "shop/app.py", "SQL injection", "  # noqa: S602", ""),
        ("B106", "shop/app.py", HORSE, "", ""),
        ("B106", "shop/testing.py", HORSE, "", ""),
    ],
)
def test_a_probable_false_alarm_is_downgraded_with_a_reason(
    tmp_path: Path, rule: str, path: str, words: str, comment: str, why: str
) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(f"password = 'x'{comment}\n", encoding="utf-8")
    text = sarif_result(
        sarif(result(words, path, 1, ruleId=rule), tool="bandit"), "bandit", tmp_path, scope=["examples/shop"]
    )
    row = next(line for line in text.split("\n") if words in line)
    assert (f"{rule}: {why}: {words}" in row) == bool(why)
    assert ("| 30 |" in row) == bool(why)
    assert ("| critical |" in row) == (rule == "B608" and not why), "a critical finding is never dropped"
