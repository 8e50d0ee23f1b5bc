"""The part that all adapters share: what a tool call counts as, and when an answer is sent back."""

from __future__ import annotations

import pytest
from adapter_scenario import BAD, FILES, GOOD, PROJECT
from hypothesis import given
from hypothesis import strategies as st

from remit import Verdict, check
from remit.adapters.answer_check import AgentCall, AnswerCheck, AnswerNotAccepted
from remit.errors import UsageError

READS = [AgentCall("read_file", {"path": path}) for path in FILES]


def rules(text: str, calls: list[AgentCall], **options: object) -> set[str]:
    """Return the rules that an answer violates."""
    verdicts: list[Verdict] = []
    checking = AnswerCheck(repo=PROJECT, on_verdict=verdicts.append, raises=False, **options)
    checking.correction(text, calls, attempt=1)
    return {one.rule for one in verdicts[0].violations}


def test_a_good_answer_is_accepted() -> None:
    assert AnswerCheck(repo=PROJECT).correction(GOOD, READS, attempt=1) is None


def test_the_first_bad_answer_is_sent_back_with_the_reason() -> None:
    correction = AnswerCheck(repo=PROJECT).correction(BAD, READS, attempt=1)
    assert correction is not None
    assert "app/login.py:4711" in correction
    assert "resend the COMPLETE result" in correction


def test_the_second_bad_answer_raises_with_its_verdict() -> None:
    with pytest.raises(AnswerNotAccepted, match="was not accepted") as raised:
        AnswerCheck(repo=PROJECT).correction(BAD, READS, attempt=2)
    assert not raised.value.verdict.accepted


def test_without_raising_the_second_bad_answer_is_passed_on() -> None:
    verdicts: list[Verdict] = []
    checking = AnswerCheck(repo=PROJECT, raises=False, on_verdict=verdicts.append)
    assert checking.correction(BAD, READS, attempt=2) is None
    assert [one.accepted for one in verdicts] == [False]


def test_an_answer_without_a_tool_call_is_found_out() -> None:
    assert "no-tool-calls" in rules(GOOD, [])


@pytest.mark.parametrize(
    "calls",
    [
        [AgentCall("ReadFile", {"filename": path}) for path in FILES],
        [AgentCall("view", f'{{"file_path": "{path}"}}') for path in FILES],
        [AgentCall("bash", {"command": f"cat {path}"}) for path in FILES],
        [AgentCall("run_command", {"cmd": ["cat", *FILES]})],
        [AgentCall("terminal", f"cat {' '.join(FILES)}")],
        [AgentCall("code_search", {"query": "def"}, "\n".join(f"{path}:7: def" for path in FILES))],
        [AgentCall("retriever", {"q": "login"}, f"See {FILES[0]} and ./{FILES[1]} (page 2).")],
    ],
)
def test_a_file_counts_as_seen_with_any_name_of_a_tool(calls: list[AgentCall]) -> None:
    assert rules(GOOD, calls) == set()


def test_a_failed_call_shows_nothing() -> None:
    failed = [AgentCall("read_file", {"path": path}, "no such file", failed=True) for path in FILES]
    assert rules(GOOD, failed)


def test_a_name_can_be_mapped_to_what_the_tool_does() -> None:
    calls = [AgentCall("lade", {"path": path}) for path in FILES]
    assert rules(GOOD, calls, tools={"lade": "Read"}) == set()
    with pytest.raises(UsageError, match="Lesen is not one of Bash, Edit, Grep, Read"):
        AnswerCheck(tools={"lade": "Lesen"})


def test_the_exit_status_in_an_output_counts() -> None:
    checking = AnswerCheck(repo=PROJECT)
    outputs = {"ok": 0, "Exit code: 2": 2, "returncode=1": 1, "exited with code 127": 127, "exit_status: 0\nok": 0}
    for output, status in outputs.items():
        (receipt,) = checking._receipts(AgentCall("bash", {"command": "pytest"}, output))
        assert receipt.exit == status


def test_an_object_is_checked_as_its_json() -> None:
    assert AnswerCheck(repo=PROJECT).correction({"answer": 1}, READS, attempt=1) is not None


def test_the_correction_of_a_verdict_is_public() -> None:
    assert check(GOOD.encode(), repo=PROJECT).correction == ""
    assert "app/login.py:4711" in check(BAD.encode(), repo=PROJECT).correction


@given(
    name=st.text(), arguments=st.one_of(st.none(), st.text(), st.dictionaries(st.text(), st.text())), output=st.text()
)
def test_any_call_becomes_a_receipt(name: str, arguments: dict[str, str] | str | None, output: str) -> None:
    assert list(AnswerCheck(repo=PROJECT)._receipts(AgentCall(name, arguments, output)))


def test_the_instructions_are_those_of_the_profile_and_kind() -> None:
    review = AnswerCheck(kind="review", agent="security-auditor").instructions
    assert "## Security Auditor Result" in review
    assert "Severity Summary" in review
    assert "Severity Summary" not in AnswerCheck(profile="claims").instructions
