"""Sessions of the real Codex, Copilot CLI and opencode under contract: a session and its continuation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from drivers import DRIVERS, FALSE, Driver
from npm_client import SPEC, Json, NpmStage, does, dumped, says, staged
from support.shop_reports import BAD, GOOD, GOOD_WORDS, INVENTED, cited

#: One client each day, and all of them with `--all` or after a change to clients: a session takes half a minute.
pytestmark = pytest.mark.process

_TEXT = "The checkout starts at `shop/checkout.py:11` and ends in `shop/invented.py:4`."
#: It begins the conversation after a compaction.
_SUMMARY = "this-goes-on: orders were traced."
#: Its first part is good, and ends as the result of a subagent ends in opencode.
_CLOSED = f"{GOOD}</task_result>\n{BAD}"
#: Not covered by a report: three are a quick lookup.
_OTHER_FILES = ("README.md", "shop/prices.py", "shop/config.py", "shop/auth.py")


def conversations(driver: Driver) -> dict[str, list[Json]]:
    def reads(prefix: str) -> Json:
        return does(*(driver.read(f"{prefix}_{at}", path) for at, path in enumerate(cited(GOOD))))

    return {
        "work-on-it": [
            does(
                driver.edit("edit", "shop/mail.py", "Mail to customers", "Mail to all customers"),
                driver.edit("spelling", SPEC, "reciept", "receipt"),
                driver.write("prose", "notes.md", "Ask about refunds.\n"),
                driver.shell("shell", driver.shell_edit()),
            ),
            does(*(driver.read(f"look_{at}", path) for at, path in enumerate(_OTHER_FILES[:3]))),
            does(driver.read("look_3", _OTHER_FILES[3])),
            *driver.delegate("trace-once"),
            # Not at first: a client offers the tools of an MCP server when that has started.
            does(driver.read("again", "shop/orders.py"), driver.verify_text("verified", _TEXT)),
            *driver.delegate("trace-twice"),
            *driver.delegate("walk-good", "walk-bad"),
            says(FALSE),
            says(driver.corrected),
            # The session is continued in another process.
            *driver.compacting(does(driver.read("later", "shop/orders.py")), _SUMMARY),
        ],
        **driver.more_conversations(),
        "trace-once": [reads("once"), says(BAD), says(GOOD)],
        "trace-twice": [reads("twice"), says(BAD), says(BAD)],
        "walk-good": [reads("good"), says(GOOD)],
        "walk-bad": [reads("bad"), says(BAD), says(_CLOSED)],
    }


class Session(NamedTuple):
    """What happened in the sessions of a client."""

    driver: Driver
    stage: NpmStage
    #: What `remit doctor` printed before the person approved the hooks, and after.
    unapproved: str
    approved: str
    log: str

    def results(self, marker: str = "work-on-it") -> dict[str, str]:
        return self.driver.results(self.stage, marker)

    def turns(self, marker: str) -> list[list[Json]]:
        return self.driver.turns(self.stage, marker)


@pytest.fixture(scope="module", params=DRIVERS, ids=lambda driver: driver.client)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp(request.param.client)
    driver: Driver = request.param(folder / "shop")
    with staged(driver.client, folder, conversations(driver)) as stage:
        driver.configure(stage)
        before, at_home = stage.everything(), stage.user_files()
        stage.remit("install", driver.client, "--mcp", "--mode", "standard", "--yes")
        recorded = set(stage.project.glob(".remit/gate/*.json"))
        unapproved = stage.remit("doctor", code=driver.unapproved)
        driver.approve(stage)
        approved = stage.remit("doctor") if driver.unapproved else unapproved
        assert set(stage.project.glob(".remit/gate/*.json")) == recorded  # the doctor's sessions leave nothing
        driver.work(stage, "work-on-it", "go on")
        stage.recorded.extend(stage.server.requests)
        log = stage.remit("gate", "log", "--session", "last")
        stage.remit("uninstall", driver.client, "--yes")
        after = {path: data for path, data in stage.everything().items() if not path.startswith(driver.own_files)}
        assert after == {**before, "notes.md": b"Ask about refunds.\n"}  # no trace of the install
        assert not any((stage.project / ".opencode" / name).exists() for name in ("agents", "plugins"))
        assert set(at_home) <= set(stage.user_files())
        assert not (stage.home / ".local/state/remit").exists()  # the doctor's tests leave nothing either
        yield Session(driver, stage, *(" ".join(text.split()) for text in (unapproved, approved)), log)


def test_doctor_proves_that_the_client_runs_the_hooks(session: Session) -> None:
    assert session.driver.approved in session.approved
    assert "the hook process works: it denied an edit of code in a test" in session.approved


def test_doctor_states_what_the_person_must_do_first(session: Session) -> None:
    if not session.driver.unapproved:
        pytest.skip(f"{session.driver.client} asks for no approval")
    assert session.driver.not_approved in session.unapproved


def test_doctor_proves_that_the_client_has_the_mcp_server(session: Session) -> None:
    assert f"the MCP server works, and {session.driver.client} lists it" in session.approved


def test_the_model_gets_the_verdict_on_a_text_from_the_mcp_server(session: Session) -> None:
    assert "missing-file" in session.results()["verified"]
    assert "shop/invented.py" in session.results()["verified"]


def test_an_edit_of_code_is_denied(session: Session) -> None:
    assert "edit-code" in session.results()["edit"]
    assert "edit-code" in session.results()["shell"]
    assert session.stage.changed() == ""


def test_the_gate_understands_the_change_of_an_edit(session: Session) -> None:
    assert "one misspelt word is corrected" in session.results()["spelling"]


def test_prose_may_be_written(session: Session) -> None:
    assert (session.stage.project / "notes.md").read_text(encoding="utf-8") == "Ask about refunds.\n"


def test_three_files_are_a_quick_lookup_and_the_fourth_is_denied(session: Session) -> None:
    found = session.results()
    for at, path in enumerate(_OTHER_FILES[:3]):
        first = (session.stage.project / path).read_text(encoding="utf-8").splitlines()[0]
        assert dumped(first)[1:-1] in found[f"look_{at}"].replace("\\\\", "\\")
    assert "lookup-files" in found["look_3"]


def test_the_subagent_gets_the_instructions_once(session: Session) -> None:
    assert dumped(session.turns("trace-once")[0]).count("# How to answer") == 1


def test_a_bad_report_is_sent_back_and_the_corrected_one_arrives(session: Session) -> None:
    correction = dumped(session.turns("trace-once")[2][-1])
    assert INVENTED in correction
    assert "COMPLETE result" in correction
    arrived = session.results()["trace-once"]
    assert GOOD_WORDS in arrived
    assert INVENTED not in arrived


def test_a_report_with_receipts_of_the_client_is_accepted(session: Session) -> None:
    assert len(session.turns("trace-once")) == 3  # the good report was not sent back as `no-tool-calls`


def test_a_second_bad_report_is_replaced(session: Session) -> None:
    assert len(session.turns("trace-twice")) == 3  # one correction was requested, not more
    arrived = session.results()["trace-twice"]
    assert "reference-missing-file" in arrived
    assert "not accepted" in arrived
    assert GOOD_WORDS not in arrived
    whole = dumped(session.turns("work-on-it")[-1])
    if session.driver.repeats_reports:
        assert "<subagent_notification>" in arrived  # the notice states that the text there is not accepted either
        assert whole.count(INVENTED) > arrived.count(INVENTED)  # the client does repeat it
    else:
        assert whole.count(GOOD_WORDS) == 2  # only the accepted reports


def test_reports_of_parallel_subagents_are_judged_separately(session: Session) -> None:
    assert [len(session.turns(marker)) for marker in ("walk-good", "walk-bad")] == [2, 3]
    found = session.results()
    assert GOOD_WORDS in found["walk-good"]
    assert "reference-missing-file" in found["walk-bad"]
    assert GOOD_WORDS not in found["walk-bad"]


def test_a_covered_file_is_not_read_again(session: Session) -> None:
    assert "reread-analysed" in session.results()["again"]


def test_the_state_survives_a_new_process_that_resumes_the_session(session: Session) -> None:
    assert "reread-analysed" in session.results(session.driver.resumed)["later"]


def test_the_model_gets_the_state_again_after_a_compaction(session: Session) -> None:
    if not session.driver.compacts:
        pytest.skip(f"the compaction of {session.driver.client} is tested without the client")
    assert "reread-analysed" in session.results("this-goes-on")["after"]
    assert "Remit's gate controls this session" in dumped(session.turns("this-goes-on")[0])


def test_calls_inside_a_script_are_judged_one_by_one(session: Session) -> None:
    if not session.driver.has_scripts:
        pytest.skip(f"{session.driver.client} has no tool that runs a script with calls")
    assert "edit-code" in session.results("in-code-mode")["nested_edit"]
    assert "edit-code" in session.results("in-code-mode")["nested_shell"]


def test_a_false_final_answer_is_sent_back(session: Session) -> None:
    requests = session.turns("work-on-it")
    sent = [one for one in requests if "final-claims" in dumped(one)]
    assert "shop/refunds.py" in dumped(sent[0][-1])
    assert dumped(requests[-1]).count("remit (final-claims)") == 1  # once


def test_a_false_answer_that_cannot_be_sent_back_is_printed_with_exit_code_1(session: Session) -> None:
    if not session.driver.ends_with_false_answer:
        pytest.skip(f"{session.driver.client} sends every false answer back")
    printed = (session.stage.root / "client.log").read_text(encoding="utf-8")
    assert printed.startswith(FALSE)
    assert "remit (final-claims)" in printed.partition("\n\n")[2]  # on standard error; the driver expects the code
    assert "shop/refunds.py:36: there is no such file" in printed


def test_the_gate_log_lists_the_denied_calls(session: Session) -> None:
    assert session.log.count("edit-code") == 2


def test_the_script_was_played_to_its_end(session: Session) -> None:
    wanted = {marker: len(turns) for marker, turns in conversations(session.driver).items()}
    if session.driver.compacts:
        wanted["this-goes-on"] -= session.driver.kept_answers  # answers from before the compaction
    assert {marker: len(session.turns(marker)) for marker in wanted} == wanted
