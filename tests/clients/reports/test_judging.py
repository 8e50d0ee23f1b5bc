"""Reports are judged like `remit check` does it, with the transcript as receipts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.client_session import GOOD, INVENTED, VAGUE, Client

import remit
from remit.acceptance import ReportJudgement
from remit.clients.hooks import judging
from remit.clients.hooks.judging import check_document, judge
from remit.clients.hooks.project import ProjectContext
from remit.rules.examples import sample_text

EXPLORER = "code-explorer"


@pytest.fixture
def context(client: Client) -> ProjectContext:
    return ProjectContext.open(str(client.project), mode="orchestrator")


def test_the_decision_is_that_of_a_check_with_the_transcript_as_receipts(
    client: Client, context: ProjectContext
) -> None:
    transcript = client.transcript("a1")
    for report in (GOOD, INVENTED, VAGUE):
        for attempt in (1, 2):
            judged = judge(report, context, EXPLORER, str(transcript), attempt)
            found = remit.check(report, repo=client.project, kind="exploration", receipts=transcript, attempt=attempt)
            assert judged.decision == found.verdict
            assert judged.is_accepted == found.accepted
            assert [one["message"] for one in judged.violations] == [one.message for one in found.violations]


def test_the_kind_is_that_of_the_agent(client: Client, context: ProjectContext) -> None:
    assert judge(sample_text("review"), context, "security-auditor", "", 1).is_accepted
    assert not judge(sample_text("generic"), context, "qa-engineer", "", 1).is_accepted


def test_a_report_of_a_failure_can_be_accepted(context: ProjectContext) -> None:
    judged = judge(sample_text("error"), context, "backend-specialist", "", 1)
    assert judged.is_accepted
    assert judged.failure is not None
    assert judged.failure.is_recoverable
    final = sample_text("error").replace("| Recoverable | true |", "| Recoverable | false |")
    failure = judge(final, context, "backend-specialist", "", 1).failure
    assert failure is not None
    assert not failure.is_recoverable


def test_a_report_under_another_agents_name_is_not_accepted(context: ProjectContext) -> None:
    judged = judge(sample_text("review"), context, "qa-engineer", "", 1)
    assert [one["rule"] for one in judged.violations if one["level"] == "L1"] == ["agent-mismatch"]


def test_several_results_in_one_report_are_only_as_good_as_the_worst(context: ProjectContext) -> None:
    judged = judge(f"{GOOD}\n\n{INVENTED}", context, EXPLORER, "", 1)
    assert judged.decision == "revise"
    assert judged.analysed_files == []
    assert len(json.loads(check_document(judged, context))["results"]) == 2


def test_the_check_has_its_fixed_shape(client: Client, context: ProjectContext) -> None:
    judged = judge(INVENTED, context, EXPLORER, "", 1)
    report = json.loads(check_document(judged, context))
    assert report["schema"] == "remit.check/1"
    assert report["results"][0]["verdict"] == judged.decision
    assert report["summary"]["repository"] == str(client.project)


def test_only_existing_files_count_as_analysed(context: ProjectContext) -> None:
    assert judge(GOOD, context, EXPLORER, "", 1).analysed_files == ["app/login.py", "app/session.py"]
    assert judge(INVENTED, context, EXPLORER, "", 1).analysed_files == []


def test_a_transcript_that_is_too_long_is_not_read(
    client: Client, context: ProjectContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = client.transcript("a1", read=())
    transcript.write_text(transcript.read_text() + "{}\n" * 100)
    assert "no-tool-calls" in {one["rule"] for one in judge(GOOD, context, EXPLORER, str(transcript), 1).violations}
    monkeypatch.setattr(judging, "MAX_TRANSCRIPT_BYTES", 100)
    assert judge(GOOD, context, EXPLORER, str(transcript), 1).is_accepted


def test_a_transcript_that_is_a_pipe_does_not_block(context: ProjectContext, tmp_path: Path) -> None:
    pipe = tmp_path / "agent.jsonl"
    os.mkfifo(pipe)
    assert judge(GOOD, context, EXPLORER, str(pipe), 1).is_accepted


def test_text_that_is_not_valid_unicode_is_judged(context: ProjectContext) -> None:
    assert judge(GOOD + "\ud800", context, EXPLORER, "", 1).decision == "accept"
    assert judge("\ud800\0", context, EXPLORER, "", 1).decision != "accept"


def test_a_correction_contains_no_control_characters() -> None:
    violation = {"rule": "r", "level": "L1", "line": 1, "message": "a\x1b[2J\x07b <b>", "help": "mend it"}
    assert ReportJudgement("revise", [], [violation]).correction.endswith("\n- r (line 1): a[2Jb <b>. mend it")


@pytest.mark.process
def test_a_python_without_site_packages_finds_the_libraries(client: Client) -> None:
    """In a process that is started like a hook."""
    program = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from remit.surfaces.hooks.entry import add_packages\n"
        "add_packages()\n"
        "from remit.clients.hooks.project import ProjectContext\n"
        "from remit.clients.hooks.judging import judge\n"
        "verdict = judge(sys.stdin.read(), ProjectContext.open(sys.argv[2]), 'code-explorer', '', 1).decision\n"
        "print(verdict)\n"
    )
    root = str(Path(remit.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-c", program, root, str(client.project)]
    done = subprocess.run(command, input=GOOD, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("accept\n", "")
