"""The reports of `remit audit`: text, JSON, Markdown and HTML, with hostile text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import jsonschema
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from remit.reports.audit_report import (
    AuditReport,
    AuditSession,
    AuditSkipped,
    AuditStatement,
    audit_html,
    audit_json,
    audit_lines,
    audit_markdown,
    audit_schema,
)
from remit.reports.layout import display_width, plain_lines


def report(text: str = "All tests pass.", proof: str = "no tests ran in this session", **fields: str) -> AuditReport:
    statement = AuditStatement(
        session="s1",
        agent=fields.get("agent", "main"),
        at="2026-02-08T10:31:00Z",
        text=text,
        kind="run",
        outcome="contradicted",
        proof=proof,
        command=fields.get("command", ""),
        line=fields.get("line", ""),
        reason="run-unseen",
    )
    session = AuditSession("s1", "codex", fields.get("project", "/home/dev/shop"), "gpt", "2026-02-08", 4, 1)
    return AuditReport([session], [statement], [AuditSkipped("a.jsonl", "Permission denied")], 2)


def test_a_pipe_gets_one_line_for_each_statement() -> None:
    assert plain_lines(audit_lines(report())).splitlines() == [
        "2026-02-08 10:31  shop  main  contradicted  “All tests pass.”  no tests ran in this session",
        "shop  gpt  1 session, 4 statements, 1 contradicted",
        "skipped a.jsonl: Permission denied",
        "1 session, 4 statements about what was done: 1 contradicted by their own record, 3 that it does not decide",
    ]


def test_a_terminal_gets_wrapped_lines() -> None:
    lines = plain_lines(audit_lines(report("word " * 60, "proof " * 60), 80)).splitlines()
    assert max(map(display_width, lines)) <= 80
    assert lines[0] == "2026-02-08 10:31  shop  main  contradicted"


def test_the_line_of_the_output_is_shown_if_the_proof_does_not_have_it() -> None:
    assert "it failed: `2 failed`" in plain_lines(audit_lines(report(proof="it failed", line="2 failed")))
    assert plain_lines(audit_lines(report(proof="`x` printed `2 failed`", line="2 failed"))).count("2 failed") == 1


def test_without_a_transcript_the_report_states_what_to_do() -> None:
    assert "name files or folders" in plain_lines(audit_lines(AuditReport([], [], [], 0)))


def test_the_rest_of_a_long_list_is_counted() -> None:
    read = report()
    read.statements = [msgspec.structs.replace(read.statements[0], text=f"{number} tests pass.") for number in range(5)]
    assert "3 more" in plain_lines(audit_lines(read, 80, 2))


def test_a_sentence_with_several_untrue_parts_is_listed_once_with_all_proofs() -> None:
    read = report(proof="no call changed a.py")
    read.statements.append(msgspec.structs.replace(read.statements[0], proof="no call made a commit"))
    lines = plain_lines(audit_lines(read)).splitlines()
    assert lines[0].endswith("“All tests pass.”  no call changed a.py; no call made a commit")
    assert "All tests pass" not in lines[1]
    assert audit_html(read).count("<blockquote>") == 1
    assert len(json.loads(audit_json(read))["statements"]) == 2


def test_a_project_without_statements_has_no_line() -> None:
    read = report()
    read.sessions.append(AuditSession("s2", "codex", "/home/dev/other", "gpt", "2026-02-08"))
    assert "other" not in plain_lines(audit_lines(read))


def test_the_json_has_the_printed_schema() -> None:
    printed = json.loads(audit_json(report()))
    jsonschema.validate(printed, audit_schema())
    assert printed["schema"] == "remit.audit/1"
    assert printed["summary"]["groups"][0]["contradicted"] == 1


@given(st.text(max_size=60))
def test_no_text_is_markup_or_obeyed_by_a_terminal(text: str) -> None:
    hostile = f"<script>alert(1)</script>\x1b[31m| `x` {text}"
    read = report(hostile, hostile, agent=hostile, project=hostile, line=hostile)
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(audit_html(read))
    assert "script" not in tags
    assert "\x1b" not in plain_lines(audit_lines(read)) + audit_markdown(read) + audit_html(read)
    rows = [line for line in audit_markdown(read).splitlines() if line.startswith("| 2026")]
    assert [row.replace("\\|", "").count("|") for row in rows] == [7]
