"""What the source documents require of one result, checked with `remit check` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from remit.rules.examples import TREE
from remit.surfaces.cli.group import remit


def check(text: str, tmp_path: Path, *options: str) -> dict[str, Any]:
    file = tmp_path / "answer.md"
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(remit, ["check", str(file), "--repo", str(TREE), "--format", "json", *options])
    assert done.exit_code in (0, 1), done.output
    shape: dict[str, Any] = json.loads(done.output)["results"][0]
    return shape


def rules(text: str, tmp_path: Path, *options: str) -> list[tuple[str, str]]:
    found = check(text, tmp_path, *options)["violations"]
    return sorted((violation["rule"], violation["level"]) for violation in found)


def sample(kind: str, old: str = "", new: str = "") -> str:
    text = (TREE.parent / f"{kind}.md").read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new) if old else text


@pytest.mark.parametrize("kind", ["generic", "review", "implementation", "design", "error"])
def test_the_sample_of_a_kind_is_accepted(kind: str, tmp_path: Path) -> None:
    assert rules(sample(kind), tmp_path) == []


# Quotes


QUOTED = "    return user.password == password"


@pytest.mark.parametrize(
    "changed",
    [
        "    return user.password != password",
        "    return user.passwort == password",
        "    return user.password == password2",
        "    return not user.password == password",
    ],
)
def test_a_quote_with_one_token_changed_is_refused_with_both_lines(changed: str, tmp_path: Path) -> None:
    result = check(sample("review", QUOTED, changed), tmp_path)
    assert result["verdict"] == "revise"
    (violation,) = result["violations"]
    assert (violation["rule"], violation["level"]) == ("quote-mismatch", "L1")
    assert changed.strip() in violation["message"]
    assert QUOTED.strip() in violation["message"]


def test_a_quote_with_a_remark_is_accepted_with_advice(tmp_path: Path) -> None:
    result = check(sample("review", QUOTED, f"{QUOTED}  # compared in variable time"), tmp_path)
    assert result["verdict"] == "accept"
    assert [violation["rule"] for violation in result["violations"]] == ["quote-annotated"]
    assert [quote["match"] for quote in result["quotes"]] == ["exact", "annotated"]


# Confidence


@pytest.mark.parametrize("score", ["150", "high", "-4", "101%"])
def test_the_confidence_of_a_row_is_a_number_from_0_to_100(score: str, tmp_path: Path) -> None:
    assert rules(sample("review", "| Minor | 85 |", f"| Minor | {score} |"), tmp_path) == [("confidence-range", "L1")]


@pytest.mark.parametrize("score", ["0", "100", "85%", "85/100", "**85**"])
def test_a_row_may_write_its_confidence_in_several_ways(score: str, tmp_path: Path) -> None:
    assert rules(sample("review", "| Minor | 85 |", f"| Minor | {score} |"), tmp_path) == []


@pytest.mark.parametrize("score", ["", "-", "n/a", "N/A"])
def test_a8_a_row_without_a_score_is_sent_back_once(score: str, tmp_path: Path) -> None:
    text = sample("review", "| Minor | 85 |", f"| Minor | {score} |")
    assert rules(text, tmp_path) == [("score-missing", "L2")]
    assert check(text, tmp_path, "--attempt", "2")["verdict"] == "accept"


def under(score: int, uncertainty: str) -> str:
    lines = "verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n"
    text = sample("generic", lines).replace("90 - every", f"{score} - every")
    return text.replace("### Next Steps", f"### Uncertainty\n{uncertainty}\n\n### Next Steps")


def test_a18_a_score_below_60_needs_a_question(tmp_path: Path) -> None:
    asked = ("confidence-uncertainty", "L2")
    assert rules(under(55, "The table may be shared."), tmp_path) == [asked]
    assert rules(under(55, "Is the table shared between processes?"), tmp_path) == []
    assert rules(under(60, "The table may be shared."), tmp_path) == []
    assert rules(under(55, "表は共有されていますか？"), tmp_path) == []


def test_the_breakdown_may_be_a_separate_section(tmp_path: Path) -> None:
    lines = "verified_confidence: 95\ninferred_confidence: 85\ncombined_confidence: 90\n"
    bullets = "".join(f"- {line}\n" for line in lines.splitlines())
    own = sample("generic", lines, f"\n### Confidence Breakdown\n{bullets}")
    assert rules(own, tmp_path) == []
    wrong = sample(
        "generic", lines, "\n### Confidence Breakdown\n- verified_confidence: 95\n- inferred_confidence: 15\n"
    )
    assert rules(wrong, tmp_path) == [("confidence-arithmetic", "L1")]


# Issues


def with_issues(kind: str, *bullets: str) -> str:
    return sample(kind, "### Next Steps", "### Issues\n" + "\n".join(bullets) + "\n\n### Next Steps")


def test_an_issue_names_its_location(tmp_path: Path) -> None:
    vague = with_issues("generic", "- Slow start: it loads twice | Severity: minor")
    assert rules(vague, tmp_path) == [("finding-without-reference", "L2")]
    exact = with_issues("generic", "- Slow start: it loads twice (app/login.py:7) | Severity: minor")
    assert rules(exact, tmp_path) == []


@pytest.mark.parametrize("place", ["(OrderStore:4)", "`OrderStore:4`", "`OrderStore:9999`"])
def test_a_class_is_not_the_location_of_an_issue(place: str, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/OrderStore.ts").write_text("let x = 1;\n" * 50)
    vague = with_issues("generic", f"- Slow start: it loads twice {place} | Severity: minor")
    assert ("finding-without-reference", "L2") in rules(vague, tmp_path, "--repo", str(tmp_path))


def test_only_the_issue_without_a_location_is_reported(tmp_path: Path) -> None:
    text = with_issues(
        "generic",
        "- One: a (app/login.py:7) | Severity: minor",
        "- Two: b | Severity: minor",
        "- Three: c\n  `app/session.py:8` | Severity: minor",
    )
    (violation,) = check(text, tmp_path)["violations"]
    assert "'Two'" in violation["message"]


def test_an_issue_under_the_first_version_needs_its_location_as_well(tmp_path: Path) -> None:
    vague = with_issues("generic", "- Slow start: it loads twice | Severity: minor")
    assert ("finding-without-reference", "L1") in rules(vague, tmp_path, "--profile", "v1")


def test_a_security_issue_quotes_the_code(tmp_path: Path) -> None:
    bare = "- SEC-001 Tokens can be guessed: `app/session.py:10` | Severity: critical"
    assert rules(with_issues("generic", bare), tmp_path) == [("security-without-quote", "L2")]
    assert rules(with_issues("generic", "- SEC-001 Tokens can be guessed | Severity: critical"), tmp_path) == [
        ("finding-without-reference", "L2"),
        ("security-without-quote", "L2"),
    ]
    quote = "  ```python\n  # app/session.py:10\n      token = str(random.randint(0, 10**9))\n  ```"
    assert rules(with_issues("generic", bare, quote), tmp_path) == []
    assert rules(with_issues("generic", bare.replace("SEC-001 ", "")), tmp_path) == []


# Blockers and errors


def test_a_blocker_without_a_resolution_gets_advice(tmp_path: Path) -> None:
    text = sample("generic", "### Next Steps", "### Blockers\n- No key for the release\n\n### Next Steps")
    result = check(text, tmp_path)
    assert result["verdict"] == "accept"
    assert [violation["rule"] for violation in result["violations"]] == ["resolution-missing"]


@pytest.mark.parametrize("resolution", [" | Resolution: ask for one", "\n  Resolution: ask for one"])
def test_a_resolution_is_on_the_line_of_its_blocker_or_the_next(resolution: str, tmp_path: Path) -> None:
    blocker = f"### Blockers\n- No key for the release{resolution}\n\n### Next Steps"
    assert rules(sample("generic", "### Next Steps", blocker), tmp_path) == []


def test_a_partial_result_without_blockers_gets_advice_and_a_failed_one_is_refused(tmp_path: Path) -> None:
    partial = sample("generic", "### Status\nSUCCESS", "### Status\nPARTIAL")
    assert ("blockers-missing", "L3") in rules(partial, tmp_path)
    failed = sample("error")
    start, end = failed.index("### Recovery Options"), len(failed)
    assert ("blockers-missing", "L1") in rules(failed[:start] + failed[end:], tmp_path)


@pytest.mark.parametrize(
    ("word", "expected"), [("maybe", [("recoverable-unknown", "L2")]), ("False", []), ("true", [])]
)
def test_recoverable_is_true_or_false(word: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert rules(sample("error", "| Recoverable | true |", f"| Recoverable | {word} |"), tmp_path) == expected


# Design


@pytest.mark.parametrize(
    "line",
    [
        "**Approach**: keep the expiry time next to the user in the session table\n",
        "**Rationale**: it follows `app/session.py:8` and needs no new storage\n",
    ],
)
def test_the_recommended_architecture_has_an_approach_and_a_rationale(line: str, tmp_path: Path) -> None:
    assert rules(sample("design", line, "\n"), tmp_path) == [("block-missing", "L2")]


def test_the_parts_of_an_architecture_may_be_headings_or_bullets(tmp_path: Path) -> None:
    text = sample("design", "**Approach**: keep", "##### Approach\nkeep").replace(
        "**Rationale**: it", "- Rationale: it"
    )
    assert rules(text, tmp_path) == []


# A result that contradicts itself


def with_tests(summary: str, output: str) -> str:
    text = sample("implementation")
    start = text.index("### Summary\n") + len("### Summary\n")
    end = text.index("\n\n### ", start)
    text = f"{text[:start]}{summary}{text[end:]}"
    assert "2 passed in 0.01s" in text
    return text.replace("2 passed in 0.01s", output)


@pytest.mark.parametrize(
    ("summary", "output"),
    [
        ("Added a way out of a session. All tests passing.", "2 failed, 12 passed in 0.01s"),
        ("Added a way out of a session. All tests pass.", "FAILED tests/test_login.py::test_one\n1 failed"),
        ("Added a way out of a session. The test suite is green.", "12 passed, 2 failed"),
        ("Added a way out of a session. Every test passes now.", "failures: 3"),
    ],
)
def test_a_summary_that_denies_failed_tests_is_a_conflict_without_receipts(
    summary: str, output: str, tmp_path: Path
) -> None:
    assert rules(with_tests(summary, output), tmp_path) == [("self-conflict", "L2")]


@pytest.mark.parametrize(
    ("summary", "output"),
    [
        ("Added a way out of a session. All tests pass.", "14 passed in 0.01s"),
        ("Added a way out of a session. All tests pass.", "14 passed, 0 failed"),
        ("Added a way out of a session. Two tests fail.", "2 failed, 12 passed"),
        ("Added a way out of a session. 12 of 14 tests pass.", "2 failed, 12 passed"),
        ("Added a way out of a session. All tests pass except two.", "2 failed, 12 passed"),
        ("Added a way out of a session. All tests pass.", "before: 2 failed, 12 passed\nafter: 14 passed"),
        ("Added a way out of a session. It is small.", "2 failed, 12 passed"),
    ],
)
def test_a_summary_that_agrees_with_its_tests_is_not_a_conflict(summary: str, output: str, tmp_path: Path) -> None:
    assert ("self-conflict", "L2") not in rules(with_tests(summary, output), tmp_path)


def two_severities(reason: str = "") -> str:
    row = "| SEC-002 | Passwords compared in variable time | `app/login.py:19` | Minor | 85 |"
    other = row.replace("SEC-002", "SEC-003").replace("Minor", "Critical")
    quote = "**SEC-003: Passwords compared in variable time**\n```python\n# app/login.py:19\n"
    quote += "    return user.password == password\n```\n\n#### Compliance Check"
    text = sample("review", row, f"{row}\n{other}").replace("#### Compliance Check", quote)
    text = text.replace("- Critical: 1", "- Critical: 2")
    overrides = f"### Overrides\n- self-conflict: {reason}\n\n### Next Steps"
    return text.replace("### Next Steps", overrides) if reason else text


def test_a_conflict_that_an_agent_cannot_resolve_is_reported_as_such(tmp_path: Path) -> None:
    assert rules(two_severities(), tmp_path) == [("self-conflict", "L2")]
    reported = check(two_severities("two tools disagree about it"), tmp_path)
    assert reported["verdict"] == "accept"
    assert [violation["rule"] for violation in reported["violations"]] == ["self-conflict"], "it stays listed"
    assert [(one["rule"], one["reason"]) for one in reported["overrides"]] == [
        ("self-conflict", "two tools disagree about it")
    ]


# Lines and sources


def test_a_line_beyond_the_end_is_refused_and_one_whose_symbol_is_elsewhere_is_corrected(tmp_path: Path) -> None:
    invented = sample("generic", "`app/login.py:7` | where", "`app/login.py:999` | where")
    assert rules(invented, tmp_path) == [("reference-out-of-range", "L1")]
    assert check(invented, tmp_path, "--attempt", "2")["verdict"] == "reject"
    wrong = sample("generic", "`app/login.py:7` | where", "`app/login.py:999` (login) | where")
    assert rules(wrong, tmp_path) == [("reference-relocated", "L2")]
    second = check(wrong, tmp_path, "--attempt", "2")
    assert second["verdict"] == "accept"
    assert [violation["rule"] for violation in second["violations"]] == ["reference-relocated"], "it stays listed"


def test_a_result_with_a_single_source_states_that_it_needs_corroboration(tmp_path: Path) -> None:
    text = sample("verification", "`app/session.py:10` | UNVERIFIED", "`app/login.py:14` | UNVERIFIED")
    text = text.replace("`app/session.py:8` | where", "`app/login.py:14` | where")
    assert ("single-source", "L2") in rules(text, tmp_path)
    assert ("single-source", "L2") not in rules(text, tmp_path, "--scope", "app/login.py")
    stated = text.replace("One holds and one does not.", "One holds and one does not; this needs corroboration.")
    assert ("single-source", "L2") not in rules(stated, tmp_path)


# Raw output


@pytest.mark.parametrize("profile", ["v2", "v1"])
@pytest.mark.parametrize("fence", ["```\n", ""])
def test_raw_output_is_refused_with_and_without_a_fence(fence: str, profile: str, tmp_path: Path) -> None:
    output = fence + "tests/test_login.py::test_one PASSED\n" * 400 + fence
    text = sample("generic", "### Key References", f"{output}\n### Key References")
    assert ("raw-dump", "L2") in rules(text, tmp_path, "--profile", profile)


HIT = "`app/login.py:7` defines login, a hit of the search\n"


@pytest.mark.parametrize("profile", ["v2", "v1"])
@pytest.mark.parametrize("form", ["- {}", "1. {}", "| {} | `app/login.py:7` |\n"], ids=["bullets", "numbers", "rows"])
def test_g13_h16_search_hits_as_bullets_or_rows_are_raw_output(form: str, profile: str, tmp_path: Path) -> None:
    head = "| Hit | Location |\n| --- | --- |\n" if form.startswith("|") else ""
    hits = head + form.format(HIT.strip() if head else HIT) * 400
    text = sample("generic", "### Key References", f"{hits}\n### Key References")
    assert ("raw-dump", "L2") in rules(text, tmp_path, "--profile", profile)


def test_g13_many_findings_are_not_raw_output(tmp_path: Path) -> None:
    row = "| SEC-002 | Passwords compared in variable time | `app/login.py:19` | Minor | 85 |\n"
    more = "".join(row.replace("SEC-002", f"QA-{number:03}") for number in range(100))
    text = sample("review", row, row + more).replace("- Minor: 1", "- Minor: 101")
    assert ("raw-dump", "L2") not in rules(text, tmp_path)
    issues = [f"- Slow start {number}: it loads twice (app/login.py:7) | Severity: minor" for number in range(100)]
    assert ("raw-dump", "L2") not in rules(with_issues("generic", *issues), tmp_path)


# Locations of flows and prose


FLOW = (
    "1. Look the user up → `app/store.py:14` (find_user)\n2. Compare the password → `app/login.py:17` (check_password)"
    "\n3. Make a token → `app/session.py:8` (open_session)\n"
)


@pytest.mark.parametrize("profile", ["v2", "v1"])
def test_g12_h15_a_flow_patterns_and_prose_name_a_location(profile: str, tmp_path: Path) -> None:
    vague = ("finding-without-reference", "L2")
    flow = sample("exploration", FLOW, "1. Look the user up\n2. Compare the password\n3. Make a token\n")
    assert vague in rules(flow, tmp_path, "--profile", profile)
    one = sample("exploration", FLOW, "1. Look the user up\n2. Compare the password\n3. `app/session.py:8`\n")
    assert vague not in rules(one, tmp_path, "--profile", profile)
    pattern = sample(
        "design", "| Functions over a table | `app/session.py:5` |", "| Functions over a table | the session |"
    )
    assert vague in rules(pattern, tmp_path, "--profile", profile)
    prose = "The login has one entry, `app/login.py:7`, and one place that makes tokens, `app/session.py:8`."
    vague_prose = "The login has one entry.\n\n#### Tokens\nThey are made in one place.\n"
    assert rules(sample("generic", prose, vague_prose), tmp_path, "--profile", profile).count(vague) == 1
    assert vague not in rules(sample("generic", prose, "None."), tmp_path, "--profile", profile)


def test_a_long_result_in_short_paragraphs_is_not_raw_output(tmp_path: Path) -> None:
    prose = "The login checks the password before it opens a session, and it never stores one.\n\n" * 120
    text = sample("generic", "### Key References", f"{prose}### Key References")
    assert ("raw-dump", "L2") not in rules(text, tmp_path)


# The rest of a file


def test_the_lines_that_are_not_part_of_the_result_are_counted(tmp_path: Path) -> None:
    text = sample("generic")
    assert check(text, tmp_path)["lines_outside"] == 0
    around = check(f"Here is my report.\n\n{text}\n## Appendix\n\nSee app/none.py:3.\n", tmp_path)
    assert around["lines_outside"] == 3
    assert ("reference-missing-file", 1) in [
        (violation["rule"], 1) for violation in around["violations"] if violation["level"] == "L1"
    ]
    file = tmp_path / "answer.md"
    done = CliRunner().invoke(remit, ["check", str(file), "--repo", str(TREE)])
    assert "3 lines of the file are not part of the result" in done.output


# Transcripts


@pytest.mark.parametrize("content", ["# A README\n", '{"type": "response_item", "payload": {}}\n', ""])
def test_a_transcript_of_an_unknown_format_is_reported_and_never_counts_as_no_calls(
    content: str, tmp_path: Path
) -> None:
    transcript = tmp_path / "other.jsonl"
    transcript.write_text(content, encoding="utf-8")
    result = check(sample("generic"), tmp_path, "--transcript", str(transcript))
    assert result["violations"] == []
    skipped = {skipped["rule"]: skipped["why"] for skipped in result["not_run"]}
    assert skipped["no-tool-calls"] == f"{transcript}: unknown transcript format"
    file = tmp_path / "answer.md"
    done = CliRunner().invoke(remit, ["check", str(file), "--repo", str(TREE), "--transcript", str(transcript)])
    assert "unknown transcript format" in " ".join(done.output.split())
