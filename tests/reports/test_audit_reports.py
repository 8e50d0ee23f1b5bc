"""The reports of `remit audit`: text and JSON, with hostile text."""

from __future__ import annotations

import json

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from remit.reports.audit_report import (
    AuditFact,
    AuditProof,
    AuditReport,
    AuditSession,
    AuditSkipped,
    audit_json,
    audit_lines,
    audit_schema,
)
from remit.reports.layout import display_width, plain_lines


def report(text: str = "All tests pass.", proof: str = "`pytest` printed `1 failed`", **fields: str) -> AuditReport:
    agent, project = fields.get("agent", "main"), fields.get("project", "/home/dev/shop")
    place = AuditProof("a.jsonl", 3, proof)
    fact = AuditFact("contradicted", text, agent, "2026-02-08T10:31:00Z", "a.jsonl", 4, place)
    session = AuditSession("s1", "codex", project, "gpt", "2026-02-08", "2026-02-08", "a.jsonl", [fact])
    return AuditReport([session], [AuditSkipped("b.jsonl", "Permission denied")], 2)


def test_a_pipe_gets_one_line_for_each_fact() -> None:
    said = "“All tests pass.”  `pytest` printed `1 failed`"
    assert plain_lines(audit_lines(report())).splitlines() == [
        f"2026-02-08 10:31  shop  main  contradicted  {said}  a.jsonl:4, a.jsonl:3",
        "skipped b.jsonl: Permission denied",
        "1 session: 1 statement contradicted by their own record, 0 subagents that reported without a call",
    ]


def test_a_terminal_gets_wrapped_lines() -> None:
    lines = plain_lines(audit_lines(report("word " * 60, "proof " * 60), 80)).splitlines()
    assert max(map(display_width, lines)) <= 80
    assert lines[0] == "2026-02-08 10:31  shop  main  contradicted"


def test_without_a_transcript_the_report_states_what_to_do() -> None:
    empty = AuditReport([], [], 0, searched="~/.claude/projects")
    expected = "no transcripts found in ~/.claude/projects; name files or folders, or see `remit audit --help`"
    assert plain_lines(audit_lines(empty)).strip() == expected


def test_without_a_fact_the_report_states_what_was_compared() -> None:
    read = report()
    read.sessions[0].facts = []
    read.left_out = 2
    shown = plain_lines(audit_lines(read))
    assert "1 session (2 sessions left out by the options): 0 statements" in shown
    assert "Not compared: everything else" in shown


def test_the_json_has_the_printed_schema() -> None:
    printed = json.loads(audit_json(report()))
    jsonschema.validate(printed, audit_schema())
    assert printed["schema"] == "remit.audit/2"
    assert printed["summary"] == {"files": 2, "sessions": 1, "contradicted": 1, "without_call": 0, "skipped": 1}
    assert printed["sessions"][0]["facts"][0]["proof"]["line"] == 3


@given(st.text(max_size=60))
def test_no_text_is_obeyed_by_a_terminal(text: str) -> None:
    hostile = f"\x1b[31m| `x` {text}"
    read = report(hostile, hostile, agent=hostile, project=hostile)
    assert "\x1b" not in plain_lines(audit_lines(read))
    assert "\x1b" not in plain_lines(audit_lines(read, 80))
