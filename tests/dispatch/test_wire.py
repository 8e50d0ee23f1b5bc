"""The requests to the model: system, tools and cache marks; and what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from support.commands import ANTHROPIC, KEYS
from support.model_server import Request
from support.running import BODY, KEEPER, OPENAI, Play, both_providers, tools

from remit.registry.resolution import DEFAULT_SYSTEM
from remit.registry.tools import OFFERED
from remit.store import jobs
from remit.testing import registry

pytest_plugins = ("support.running",)
pytestmark = pytest.mark.anyio
BLANK = "---\nname: blank\ncontract: v2\nallowed_tools: [Read]\n---\n \n\t\n\n"
DEFAULT = DEFAULT_SYSTEM.strip()
#: The default tools; Bash must be named explicitly.
EVERY = [name for name in OFFERED if name != "Bash"]


def system_of(request: Request) -> list[str]:
    """Return the system texts of a request without blank lines at the end of the contract."""
    if "system" in request.body:
        texts = [block["text"] for block in request.body["system"]]
    else:
        said = (item for item in request.body["input"] if item.get("role") in ("system", "developer"))
        texts = [_plain(item["content"]) for item in said]
    return [*texts[:-1], texts[-1].rstrip()]


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def tools_of(request: Request) -> list[str]:
    return [tool["name"] for tool in request.body.get("tools", [])]


#: Fields of a job, and the text and tools that must reach the server.
CASES = {
    "1 the definition's body when the job has no system": ({"subagent_def": "keeper"}, BODY, ["Read", "Grep"]),
    "2 the job's system overrides the body": (
        {"subagent_def": "keeper", "system": "Only count."},
        "Only count.",
        ["Read", "Grep"],
    ),
    "3 the definition's tools when the job names none": ({"subagent_def": "keeper"}, BODY, ["Read", "Grep"]),
    "4 the job's tools override wholly": (
        {"subagent_def": "keeper", "allowed_tools": ["Bash", "Read"]},
        BODY,
        ["Bash", "Read"],
    ),
    "5 an unknown definition falls through": ({"subagent_def": "kepper"}, DEFAULT, EVERY),
    "6 no definition at all": ({"subagent_def": None}, DEFAULT, EVERY),
    "7 a blank body is no body": ({"subagent_def": "blank"}, DEFAULT, ["Read"]),
}


@both_providers
@pytest.mark.parametrize(("job", "system", "names"), CASES.values(), ids=CASES)
async def test_the_chosen_system_and_tools_reach_the_server(
    play: Play, model: str, job: dict[str, Any], system: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    async with play({"text": "done"}) as fleet:
        fleet.registry = registry(KEEPER, BLANK)
        done = await fleet.run("look", **job, model=model)
        brief = await fleet.brief(done)
        [request] = fleet.requests
    assert done.outcome == "completed"
    is_known = job["subagent_def"] not in (None, "kepper")
    contract = [brief.contract.rstrip()] if is_known else []
    assert system_of(request) == [system, *contract], "the chosen text exactly, then the contract of a definition"
    assert ("### Status" in brief.contract) is is_known
    assert sorted(tools_of(request)) == sorted(names)
    said = capsys.readouterr().err
    assert ("there is no definition 'kepper'" in said) is (job["subagent_def"] == "kepper")


@both_providers
async def test_an_empty_system_of_the_job_leaves_only_the_contract(play: Play, model: str) -> None:
    async with play({"text": "done"}) as fleet:
        done = await fleet.run(system="", model=model)
        brief = await fleet.brief(done)
        assert system_of(fleet.requests[0]) == [brief.contract.rstrip()]


@both_providers
async def test_no_tools_means_none_on_the_wire(play: Play, model: str) -> None:
    async with play({"text": "done"}) as fleet:
        done = await fleet.run(allowed_tools=[], model=model)
        assert done.outcome == "completed"
        assert tools_of(fleet.requests[0]) == []


@both_providers
async def test_the_system_is_the_same_in_every_turn_and_after_a_retry(play: Play, model: str) -> None:
    turns = (
        tools(("Read", {"file_path": "a.py"})),
        {"text": "later", "fail": {"status": 400, "times": 1}},
    )
    async with play(*turns) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        await jobs.retry(fleet.database, done.id)
        await fleet.work()
        done = await fleet.job(done.id)
        brief = await fleet.brief(done)
        assert (done.outcome, done.result) == ("completed", "later")
        assert [request.turn for request in fleet.requests] == [0, 1, 1]
        for request in fleet.requests:
            assert system_of(request) == [BODY, brief.contract.rstrip()]
            assert sorted(tools_of(request)) == ["Grep", "Read"]
        assert len(await fleet.outputs(done.id)) == 1, "the finished call was not run again"


async def test_anthropic_is_asked_to_cache_system_tools_and_messages(play: Play) -> None:
    async with play(tools(("Read", {"file_path": "a.py"})), {"text": "done", "usage": {"cache_read": 7}}) as fleet:
        done = await fleet.run(model=ANTHROPIC)
        for request in fleet.requests:
            mark = {"type": "ephemeral", "ttl": "5m"}
            assert request.body["system"][-1]["cache_control"] == mark
            assert request.body["tools"][-1]["cache_control"] == mark
            assert request.body["messages"][-1]["content"][-1]["cache_control"] == mark
            assert request.body["stream"] is True
        assert done.cached_tokens == 7


async def test_openai_gets_the_same_request_without_cache_marks(play: Play) -> None:
    async with play({"text": "done", "usage": {"cache_read": 7}}) as fleet:
        done = await fleet.run(model=OPENAI)
        assert "cache_control" not in str(fleet.requests[0].body)
        assert done.cached_tokens == 7


@both_providers
async def test_keys_are_sent_to_the_provider_and_not_stored(play: Play, model: str, tmp_path: Any) -> None:
    async with play(tools(("Read", {"file_path": "a.py"})), {"text": "a word to find"}) as fleet:
        await fleet.run(model=model)
        headers = fleet.requests[0].headers
        assert headers.get("x-api-key") == "[redacted]" or headers.get("authorization") == "[redacted]"
        found = await fleet.tables_with("a word to find")
        assert set(found) == {"remit.jobs", "remit.messages", "remit.events", "remit.results"}, (
            "the search covers all tables"
        )
        for key in KEYS.values():
            assert await fleet.tables_with(key) == []
    for file in (path for path in (tmp_path / "data").rglob("*") if path.is_file()):
        assert not any(key.encode() in file.read_bytes() for key in KEYS.values()), file


@both_providers
async def test_a_key_in_an_error_of_the_provider_is_not_stored(play: Play, model: str) -> None:
    """OpenAI answers with: Incorrect API key provided: sk-…"""
    key = "sk-ant-api03-" + "abcdefgh" * 5
    async with play({"fail": {"status": 401, "message": f"Incorrect API key provided: {key}"}}) as fleet:
        done = await fleet.run(model=model)
        assert done.outcome == "error"
        assert "Incorrect API key" in str(done.error)
        assert await fleet.tables_with(key) == []


@both_providers
async def test_only_briefs_contain_the_body_and_jobs_share_their_row(play: Play, model: str) -> None:
    body = "Look after the house. " * 40 + "The word is heliotrope."
    async with play(tools(("Read", {"file_path": "a.py"})), {"text": "done"}) as fleet:
        fleet.registry = registry(f"---\nname: keeper\ncontract: v2\nallowed_tools: [Read]\n---\n{body}\n")
        first = await fleet.run("one", model=model)
        second = await fleet.run("two", model=model)
        assert first.outcome == second.outcome == "completed"
        assert await fleet.tables_with("The word is heliotrope.") == ["remit.briefs"]
        assert await fleet.rows("SELECT count(*) FROM remit.briefs") == [(1,)]
        assert first.brief == second.brief
        assert first.definition is not None
        assert set(first.definition) == {"name", "plugin", "digest"}
        brief = await fleet.brief(first)
        assert await fleet.tables_with(brief.contract.splitlines()[0]) == ["remit.briefs"]
        messages = await fleet.rows("SELECT message FROM remit.messages WHERE job = %s", first.id)
        assert not any("system-prompt" in str(message) for message in messages)


async def test_a_system_of_the_job_is_only_in_the_brief(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        await fleet.run(system="Only count heliotropes.")
        assert await fleet.tables_with("Only count heliotropes.") == ["remit.briefs"]


async def test_two_briefs_are_two_rows(play: Play) -> None:
    async with play({"text": "done"}) as fleet:
        await fleet.submit("one")
        await fleet.submit("two", max_turns=3)
        assert await fleet.rows("SELECT count(*) FROM remit.briefs") == [(2,)]
