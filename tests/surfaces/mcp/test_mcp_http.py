"""MCP over HTTP through `remit serve`: its token, folders, and the reference client in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from support.postgres import Postgres
from support.web import TOKEN, RunningSite, add_job

from remit.store import plans
from remit.store.database import Database
from remit.testing import project

T = TypeVar("T")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def site(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "app").mkdir()
    (folder / "app/login.py").write_bytes((project() / "app/login.py").read_bytes())
    with postgres.temporary_database() as address, RunningSite(address, folder).running() as it:
        yield it


def use(site: RunningSite, era: str, work: Callable[[Client], Awaitable[T]], **options: Any) -> T:
    async def run() -> T:
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(f"{site.url}/mcp", http_client=http)
            async with Client(transport, mode=era, **options) as client:
                return await work(client)

    return asyncio.run(run())


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_the_reference_client_uses_the_tools(site: RunningSite, era: str) -> None:
    job = add_job(site, agent="lister", state="finished", outcome="completed", finished="now", result="The result.")

    async def work(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 8
        found = await client.call_tool("verify_text", {"text": "See `app/login.py:1` and `app/none.py:1`."})
        assert found.structured_content
        assert found.structured_content["summary"]["claims_by_outcome"] == {"exists": 1, "missing-file": 1}
        shown = await client.call_tool("get_job", {"job": job})
        assert shown.structured_content
        assert shown.structured_content["agent"] == "lister"
        report = await client.read_resource(f"remit://reports/jobs/{job}")
        assert report.contents[0].text == "The result."  # type: ignore[union-attr]
        answer = await client.call_tool("submit_job", {"task": "go", "agent": "code-explorer"})
        assert answer.structured_content, answer.content
        for arguments in ({"text": "x", "repo": ".."}, {"path": "app/login.py"}):
            assert (await client.call_tool("verify_text", arguments)).is_error

    use(site, era, work)


def open_question(site: RunningSite, reason: str) -> int:
    async def ask(database: Database) -> int:
        plan, _ = await plans.open_plan(database, "release", reason, {}, "/shop", [("review", [("audit", "auditor")])])
        await plans.escalate(database, plan, 0, None, reason)
        return max(one.id for one in await plans.escalations(database, plan))

    return site.call(ask)


@pytest.mark.parametrize(("action", "stored"), [("accept", ("text", "the remote one")), ("decline", (None, None))])
def test_a_question_is_shown_to_the_person_over_http(
    site: RunningSite, action: str, stored: tuple[str | None, ...]
) -> None:
    number = open_question(site, f"Which gateway is meant ({action})?")
    asked: list[str] = []

    async def person(_: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        content = {"answer": "text", "why": "the remote one"} if action == "accept" else None
        return ElicitResult.model_validate({"action": action, "content": content})

    async def work(client: Client) -> bool:
        return (await client.call_tool("answer_question", {"question": number})).is_error

    assert use(site, "auto", work, elicitation_callback=person) is (action != "accept")
    assert asked == [f"A subagent asks: Which gateway is meant ({action})?"]
    assert site.rows("SELECT answer, words FROM remit.escalations WHERE id = %s", number) == [stored]


def test_in_earlier_versions_over_http_the_call_needs_the_answer(site: RunningSite) -> None:
    number = open_question(site, "Which cart is meant?")

    async def person(*_: object) -> ElicitResult:
        raise AssertionError("the server keeps no session, so it cannot ask")

    async def work(client: Client) -> None:
        refused = await client.call_tool("answer_question", {"question": number})
        assert refused.is_error
        given = await client.call_tool("answer_question", {"question": number, "answer": "skip", "why": "later"})
        assert not given.is_error, given.content

    use(site, "legacy", work, elicitation_callback=person)


def test_nothing_works_without_a_token(site: RunningSite) -> None:
    answer = site.anonymous.post("/mcp", json=INITIALIZE, headers={**ACCEPT, "origin": site.url})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    wrong = site.anonymous.post("/mcp", json=INITIALIZE, headers={**ACCEPT, "authorization": "Bearer nonsense"})
    assert wrong.status_code == 401


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"host": "evil.example"}])
def test_another_site_cannot_use_it(site: RunningSite, headers: dict[str, str]) -> None:
    answer = site.bearer().post("/mcp", json=INITIALIZE, headers={**ACCEPT, **headers})
    assert answer.status_code in (403, 421)


def test_a_browser_session_of_this_server_may_use_it_from_its_own_pages(site: RunningSite) -> None:
    answer = site.client().post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert answer.json()["result"]["serverInfo"]["name"] == "remit"


def test_there_are_no_streams_and_no_sessions(site: RunningSite) -> None:
    bearer = site.bearer()
    assert bearer.get("/mcp", headers=ACCEPT).status_code == 405
    assert bearer.delete("/mcp").status_code == 405
    answer = bearer.post("/mcp", json=INITIALIZE, headers=ACCEPT)
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize(
    ("body", "status"), [(b"", 400), (b"[" * 10_000, 400), (b'{"jsonrpc": "2.0"}', 400), (b"x" * (17 << 20), 413)]
)
def test_a_wrong_body_is_refused(site: RunningSite, body: bytes, status: int) -> None:
    headers = {**ACCEPT, "content-type": "application/json"}
    assert site.bearer().post("/mcp", content=body, headers=headers).status_code == status


def test_a_tool_that_does_not_exist_is_an_error(site: RunningSite) -> None:
    async def work(client: Client) -> Any:
        return await client.call_tool("delete_everything", {})

    assert use(site, "legacy", work).is_error
