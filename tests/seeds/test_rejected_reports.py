"""What subagents report is judged once, when it arrives; of a rejected report, only what holds reaches a reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.client_session import GOOD, READ, Client
from support.place import MakePlace, says, signed

from remit.acceptance import judge_report
from remit.checking import Options
from remit.merging.adjust import report_of
from remit.merging.merge import merge as merge_all
from remit.reports.merge.markdown import merge_markdown
from remit.rules.examples import TREE, sample_text
from remit.surfaces.cli.group import remit

pytest_plugins = ("support.running", "support.place")
#: A part of a report that was invented, next to parts that hold.
INVENTED = GOOD.replace(
    "2. Compare the password → `app/login.py:17` (check_password)",
    "2. Limit the rate → `src/api/limiter.py:3` (limit)",
).replace("| login | `app/login.py:7` | function |", "| logout | `src/api/logout.py:12` | function |")
SECRET = "q8Zr0Vt5Lm2Xw9Kd7Hs3Np6B"
LEAK = f"JWT_SECRET = '{SECRET}'\n"
SHOWN = "JWT_SECRET = '[named secret removed]'"


def leaking(code: str) -> str:
    """Return a review that quotes the line with the secret."""
    text = sample_text("review").replace("Tokens can be guessed", "Hardcoded secret")
    text = text.replace("app/session.py:10", "app/keys.py:1").replace("| Critical | 95 |", "| Important | 81 |")
    text = text.replace("token = str(random.randint(0, 10**9))", code)
    return text.replace("- Critical: 1", "- Critical: 0").replace("- Important: 0", "- Important: 1")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "REMIT_GATE_MODE", "REMIT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    found = Client(tmp_path, "")
    monkeypatch.chdir(found.project)
    return found


def run(*words: str) -> Result:
    return CliRunner().invoke(remit, [*words])


def merged_session(form: str) -> str:
    return " ".join(run("merge", "--session", "last", "--format", form).stdout.split())


@pytest.mark.parametrize("quoted", [SHOWN, LEAK.strip()])
def test_n1_a_secret_that_was_quoted_as_shown_or_in_full_stays_a_finding(client: Client, quoted: str) -> None:
    (client.project / "app/keys.py").write_text(LEAK)
    client.launch("toolu_1", "security-auditor")
    client.transcript("a1", call="toolu_1", read=(*READ, "app/keys.py"))
    client.start("a1", "security-auditor")
    client.stop("a1", leaking(quoted), "security-auditor")
    assert client.outcomes == ["accepted"], client.kept[-1].violations
    found = json.loads(run("merge", "--session", "last", "--format", "json").stdout)
    [finding] = [one for one in found["findings"] if one["title"] == "Hardcoded secret"]
    assert (finding["verified"], finding["confidence"]) == (True, 81.0)
    assert SECRET not in merged_session("markdown") + merged_session("text") + json.dumps(found)


def test_n1_a_merge_does_not_judge_an_accepted_report_again(client: Client) -> None:
    client.run("toolu_1", "a1", sample_text("review"), agent="security-auditor")
    (client.project / "app/session.py").unlink()
    found = json.loads(run("merge", "--session", "last", "--format", "json").stdout)
    assert [(one["id"], one["verified"], one["confidence"]) for one in found["findings"]] == [
        ("SEC-001", True, 95.0),
        ("SEC-002", True, 85.0),
    ]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_n2_nothing_invented_of_a_rejected_report_is_printed(client: Client, form: str) -> None:
    client.run("toolu_1", "a1", INVENTED, INVENTED)
    assert client.outcomes == ["returned", "rejected"]
    shown = merged_session(form)
    for invented in ("limiter", "logout", "Limit the rate", "where a user comes in and"):
        assert invented not in shown
    assert "find_user" in shown
    assert "app/store.py" in shown
    assert ('"partial":true' in shown.replace(" ", "")) or "rejected; only what holds" in shown


def test_n2_n9_a_session_whose_only_report_was_rejected_has_failed(client: Client) -> None:
    client.run("toolu_1", "a1", INVENTED, INVENTED)
    found = json.loads(run("merge", "--session", "last", "--format", "json").stdout)
    assert (found["status"], found["decision"]) == ("FAILED", "retry")
    assert [(one["agent"], one["status"], one["verdict"]) for one in found["agents"]] == [
        ("code-explorer", "FAILED", "reject")
    ]
    [error] = found["sections"]["errors"]
    assert error["message"] == "its report was rejected (reference-missing-file)"
    assert "there is nothing to fix" not in merged_session("markdown")


def merged_review(*edits: tuple[str, str]) -> str:
    """Return the Markdown of a merge of a rejected review."""
    text = sample_text("review")
    for old, new in edits:
        text = text.replace(old, new)
    judged = judge_report(text, Options(attempt=2), TREE)
    assert judged.decision == "reject"
    report = report_of(list(judged.verdicts), "security-auditor", None)
    return merge_markdown(merge_all([report]))


def test_n2_a_finding_of_a_rejected_report_is_kept_if_all_its_claims_hold() -> None:
    text = merged_review(
        ("| SEC-002 | Passwords compared in variable time | `app/login.py:19`", "| SEC-002 | Made up | `app/no.py:9`")
    )
    assert "Tokens can be guessed" in text
    assert "partial" in text
    assert "Made up" not in text
    assert "app/no.py" not in text


def test_n2_a_finding_of_a_rejected_report_is_not_kept_if_its_quote_is_invented() -> None:
    text = merged_review(("token = str(random.randint(0, 10**9))", "token = base64(user.name + salt)"))
    assert "Tokens can be guessed" not in text
    assert "Passwords compared in variable time" in text


@pytest.mark.process
@pytest.mark.parametrize("second", ["accepted", "rejected"])
def test_n9_a_plan_with_a_rejected_result_decides_retry_and_exits_1(make_place: MakePlace, second: str) -> None:
    place = make_place(alpha=says(INVENTED, INVENTED), beta=says(signed("review", "Security Auditor")))
    tasks = ["code-explorer", "alpha"], ["security-auditor", "beta"]
    text = 'name = "the plan"\n[[phase]]\nname = "look"\n' + "".join(
        f'[[phase.delegation]]\nagent = "{agent}"\ntask = "task {task}"\n'
        for agent, task in (tasks if second == "accepted" else tasks[:1])
    )
    ran = place("plan", "run", place.plan(text))
    assert ran.code == 1
    if second == "accepted":
        assert "decision retry · run PARTIAL · 0 failed · 0 dropped · 0 dismissed code-explorer failed" in " ".join(
            ran.out.split()
        )
    assert "limiter" not in ran.out + ran.err.partition("report:")[0]
    shown = place("merge", "--plan", "1", "--format", "markdown").out
    assert "limiter" not in shown
    assert "find_user" in shown


@pytest.mark.process
def test_n1_a_plan_keeps_a_finding_on_a_secret_although_its_result_is_stored_without_it(
    make_place: MakePlace,
) -> None:
    read = {"tools": [{"name": "Read", "input": {"file_path": path}} for path in ("app/login.py", "app/keys.py")]}
    place = make_place(alpha=[read, {"text": leaking(SHOWN)}], beta=[read, {"text": leaking(LEAK.strip())}])
    (place.project / "app/keys.py").write_text(LEAK)
    text = 'name = "the plan"\n' + "".join(
        f'[[phase]]\nname = "{task}"\n[[phase.delegation]]\nagent = "security-auditor"\ntask = "task {task}"\n'
        for task in ("alpha", "beta")
    )
    ran = place("plan", "run", place.plan(text))
    found = json.loads(place("merge", "--plan", "1", "--format", "json").out)
    [finding] = [one for one in found["findings"] if one["title"] == "Hardcoded secret"]
    assert (finding["verified"], finding["confidence"]) == (True, 81.0), ran.err
    assert SECRET not in json.dumps(found)
