"""The tools and resources of the MCP server, through the reference client, over both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, ListRootsResult, Root
from support.postgres import Postgres

import remit
from remit.dispatch.worker_settings import load_settings
from remit.operations.declaration import argument_schema, arguments_on, object_schema
from remit.operations.documents import Folders
from remit.operations.served import TOOLS, Caller, Store
from remit.reports.layout import schema_of
from remit.reports.rules import rules_shape
from remit.reports.shapes import CheckShape
from remit.rules.catalog import every_rule
from remit.store import plans
from remit.store.database import Database, open_database
from remit.surfaces.mcp.mcp_server import ContractServer
from remit.testing import project, result

T = TypeVar("T")
#: The handshake, and the protocol without one.
ERAS = ("legacy", "auto")
WRITES = {"submit_job", "answer_question"}


async def no_store() -> NoReturn:
    raise AssertionError("this tool needs no database")


def server(
    folder: Path,
    open_store: Callable[[], Awaitable[Store]] = no_store,
    *,
    is_read_only: bool = False,
    may_read_files: bool = True,
) -> ContractServer:
    def find_caller(_: object, roots: list[Path] | None) -> Caller:
        return Caller(Folders(roots or [folder], folder, may_read=may_read_files), open_store)

    return ContractServer(find_caller, is_read_only=is_read_only, asks_for_roots=True)


def use(made: ContractServer, work: Callable[[Client], Awaitable[T]], **options: Any) -> T:
    """Run `work` with a client that is connected to a server."""

    async def run() -> T:
        async with Client(made, **options) as client:
            return await work(client)

    return asyncio.run(run())


def call(made: ContractServer, name: str, arguments: dict[str, Any], **options: Any) -> Any:
    """Return the structured answer of a tool, which fits the schema that the server states."""

    async def work(client: Client) -> Any:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        jsonschema.validate(arguments, tools[name].input_schema)
        answer = await client.call_tool(name, arguments)
        assert not answer.is_error, answer.content
        jsonschema.validate(answer.structured_content, tools[name].output_schema or {})
        assert json.loads(answer.content[0].text) == answer.structured_content  # type: ignore[union-attr]
        return answer.structured_content

    return use(made, work, **options)


def refusal(made: ContractServer, name: str, arguments: dict[str, Any], **options: Any) -> str:
    """Return why a tool refuses a call."""

    async def work(client: Client) -> str:
        answer = await client.call_tool(name, arguments)
        assert answer.is_error
        return str(answer.content[0].text)  # type: ignore[union-attr]

    return use(made, work, **options)


def giving(*folders: Path | str) -> dict[str, Any]:
    """Return the options of a client that gives these roots."""

    async def roots(_: object) -> ListRootsResult:
        uris = [one if isinstance(one, str) else one.as_uri() for one in folders]
        return ListRootsResult(roots=[Root.model_validate({"uri": uri}) for uri in uris])

    return {"list_roots_callback": roots}


def test_the_tools_are_the_promised_ones_with_valid_schemas() -> None:
    assert list(TOOLS) == [
        *("verify_text", "check_result", "explain_rule", "prompt_for", "merge_results"),
        *("submit_job", "get_job", "answer_question"),
    ]
    for operation in TOOLS.values():
        for schema in (argument_schema(arguments_on(operation.arguments, "mcp")), object_schema(operation.answer)):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            names = {part.partition('"')[0] for part in json.dumps(schema).split('"#/$defs/')[1:]}
            assert names == set(schema.get("$defs", {})), operation.arguments


def test_the_schema_of_an_answer_is_the_schema_of_the_command() -> None:
    own = object_schema(TOOLS["check_result"].answer)
    assert own["properties"] == schema_of(CheckShape)["$defs"]["CheckShape"]["properties"]


@pytest.mark.parametrize("era", ERAS)
def test_a_text_is_verified_against_the_clients_root(tmp_path: Path, era: str) -> None:
    text = "See `app/login.py:1` and `app/invented.py:3`."
    found = call(server(tmp_path), "verify_text", {"text": text}, mode=era, **giving(project()))
    assert found["summary"]["claims_by_outcome"] == {"exists": 1, "missing-file": 1}
    assert found["summary"]["repository"] == str(project())


def test_a_text_without_claims_is_accepted_with_a_note_that_nothing_was_compared(tmp_path: Path) -> None:
    found = call(server(tmp_path), "verify_text", {"text": "I looked at everything."}, **giving(project()))
    (answer,) = found["results"]
    assert (answer["verdict"], answer["claims"]) == ("accept", [])
    assert answer["note"] == "no claims found: nothing was compared"
    assert list(answer).index("note") == list(answer).index("verdict") + 1, "read together"
    described = TOOLS["verify_text"].tool
    assert described is not None
    assert f"`{answer['note']}`, which does not mean that it is true" in described.description
    cited = call(server(tmp_path), "verify_text", {"text": "See `app/login.py:1`."}, **giving(project()))
    assert cited["results"][0]["note"] == ""


def test_the_tool_that_submits_a_job_states_that_it_may_create_a_database() -> None:
    described = TOOLS["submit_job"].tool
    assert described is not None
    assert "creates one of about 40 MB in the person's state folder" in described.description


def test_without_roots_the_current_folder_is_used() -> None:
    found = call(server(project()), "verify_text", {"text": "See `app/login.py:1`."})
    assert found["summary"]["claims_by_outcome"] == {"exists": 1}
    empty = call(server(project()), "verify_text", {"text": "See `app/login.py:1`."}, **giving())
    assert empty["summary"]["repository"] == str(project())


def test_a_result_is_checked_like_by_the_command(tmp_path: Path) -> None:
    text = result("review")
    found = call(server(project()), "check_result", {"text": text, "path": "answer.md", "kind": "review"})
    verdict = remit.check(text, repo=project(), kind="review")
    assert [one["verdict"] for one in found["results"]] == [verdict.verdict]
    assert [one["rule"] for one in found["results"][0]["violations"]] == [one.rule for one in verdict.violations]


def test_a_document_is_read_from_a_file_in_the_roots(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("See `answer.md:1`.", encoding="utf-8")
    found = call(server(tmp_path), "verify_text", {"path": "answer.md"})
    assert found["results"][0]["path"] == "answer.md"
    assert found["summary"]["claims_by_outcome"] == {"exists": 1}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("verify_text", {"text": "x", "repo": "/etc"}),
        ("verify_text", {"text": "x", "repo": "../.."}),
        ("check_result", {"path": "../secret.md"}),
        ("check_result", {"path": "link.md"}),
        ("merge_results", {"documents": [{"path": "/etc/passwd"}]}),
    ],
)
def test_a_path_out_of_the_roots_is_refused(tmp_path: Path, name: str, arguments: dict[str, Any], era: str) -> None:
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/link.md").symlink_to(tmp_path / "secret.md")
    assert "is outside of" in refusal(server(tmp_path), name, arguments, mode=era, **giving(tmp_path / "root"))


@pytest.mark.parametrize("root", ["file://other-host/srv", "file:///no/such/folder", "file:///etc/passwd"])
def test_roots_that_are_not_here_give_access_to_nothing(tmp_path: Path, root: str) -> None:
    text = refusal(server(tmp_path), "verify_text", {"text": "x"}, **giving(root))
    assert text == "none of the client's roots is a folder on this machine"


def test_a_caller_on_another_machine_sends_the_text(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("x", encoding="utf-8")
    assert refusal(server(tmp_path, may_read_files=False), "verify_text", {"path": "answer.md"}) == "pass the text"


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("explain_rule", {}, "missing required field `name`"),
        ("explain_rule", {"name": "no-such-rule"}, "there is no rule 'no-such-rule'"),
        ("explain_rule", {"name": "x", "more": 1}, "unknown field `more`"),
        ("verify_text", {}, "pass a text, or the path of a file"),
        ("verify_text", {"text": ["x"]}, "Expected `str"),
        ("check_result", {"text": "x", "profile": "v9"}, "profile"),
        ("prompt_for", {"kind": "nonsense"}, "kind"),
        ("merge_results", {"documents": []}, "a merge needs 1 to 200 documents"),
        ("get_job", {"job": 0}, ">= 1"),
        ("answer_question", {"question": 1, "answer": "delete"}, "Invalid enum value"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(name: str, arguments: dict[str, Any], reason: str) -> None:
    assert reason in refusal(server(project()), name, arguments)


def test_a_number_may_be_sent_as_text() -> None:
    assert "there is no rule" in refusal(server(project()), "explain_rule", {"name": "5"})
    found = call(server(project()), "check_result", {"text": result("review"), "attempt": 2, "kind": "review"})
    assert found["schema"] == "remit.check/1"


def test_a_rule_is_explained_and_a_prompt_is_given() -> None:
    found = call(server(project()), "explain_rule", {"name": "EVD001"})
    assert found["rules"][0]["rule"] == "reference-missing-file"
    prompt = call(server(project()), "prompt_for", {"kind": "review", "agent": "auditor"})
    assert (prompt["schema"], prompt["kind"]) == ("remit.prompt/1", "review")
    assert "### Status" in prompt["text"]


def test_results_are_merged() -> None:
    documents = [{"path": f"{name}.md", "text": result("review")} for name in ("one", "two")]
    found = call(server(project()), "merge_results", {"documents": documents, "expect": ["auditor"]})
    assert found["schema"] == "remit.merge/2"
    assert len(found["agents"]) >= 1


def test_a_read_only_server_has_no_tool_that_changes_something() -> None:
    made = server(project(), is_read_only=True)
    listed = use(made, lambda client: client.list_tools())
    assert {tool.name for tool in listed.tools} == set(TOOLS) - WRITES
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed.tools)
    for name in WRITES:
        assert "Unknown tool" in refusal(made, name, {})


def test_the_rules_are_resources() -> None:
    async def work(client: Client) -> tuple[str, str, set[str]]:
        whole = await client.read_resource("remit://rules")
        one = await client.read_resource("remit://rules/EVD001")
        templates = (await client.list_resource_templates()).resource_templates
        return whole.contents[0].text, one.contents[0].text, {each.uri_template for each in templates}  # type: ignore[union-attr]

    whole, one, templates = use(server(project()), work)
    assert len(json.loads(whole)["rules"]) == len(rules_shape(every_rule()).rules)
    assert one.startswith("reference-missing-file")
    assert {uri.partition("{")[0] for uri in templates} == {
        "remit://rules/",
        "remit://reports/jobs/",
        "remit://reports/plans/",
        "remit://transcripts/",
    }


@pytest.mark.parametrize("uri", ["remit://rules/none", "remit://rules/../../etc/passwd", "file:///etc/passwd"])
def test_a_resource_that_does_not_exist_is_an_error(uri: str) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.read_resource(uri)

    use(server(project()), work)


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> Iterator[str]:
    with postgres.temporary_database() as address:
        yield address


def with_store(
    address: str, folder: Path, work: Callable[[Callable[..., ContractServer], Database], Awaitable[T]]
) -> T:
    """Run `work` with a function that makes servers over a database."""

    async def run() -> T:
        async with open_database(address, folder) as opened:
            settings = load_settings(start=folder)._replace(
                database=address, state=folder / "data", texts=folder / "data"
            )

            async def open_store() -> Store:
                return Store(opened, settings)

            return await work(lambda **options: server(folder, open_store, **options), opened)

    return asyncio.run(run())


def test_a_job_is_submitted_once_for_a_key_and_shown(database: str, tmp_path: Path) -> None:
    async def work(make: Callable[..., ContractServer], opened: Database) -> None:
        wanted = {"task": "trace the login", "agent": "code-explorer", "key": "once"}
        async with Client(make()) as client:
            first = (await client.call_tool("submit_job", wanted)).structured_content
            again = (await client.call_tool("submit_job", wanted)).structured_content
            assert first
            assert again
            assert (first["state"], first["agent"], first["id"]) == ("queued", "code-explorer", again["id"])
            shown = (await client.call_tool("get_job", {"job": first["id"]})).structured_content
            assert shown == again
            with pytest.raises(MCPError, match="there is no result of job"):
                await client.read_resource(f"remit://reports/jobs/{first['id']}")
            transcript = await client.read_resource(f"remit://transcripts/{first['id']}")
            assert json.loads(transcript.contents[0].text)["messages"] == []  # type: ignore[union-attr]
            unknown = await client.call_tool("submit_job", {"task": "x", "allowed_tools": ["Teleport"]})
            assert unknown.is_error, "the policy is strict"
            missing = await client.call_tool("get_job", {"job": 999_999})
            assert missing.is_error

    with_store(database, tmp_path, work)


def answering(action: str, content: dict[str, Any] | None, asked: list[str]) -> dict[str, Any]:
    """Return the options of a client whose person answers forms."""

    async def answer(_: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult.model_validate({"action": action, "content": content})

    return {"elicitation_callback": answer}


async def ask(opened: Database, reason: str) -> int:
    """Make a plan with an open question and return the number of the question."""
    digest = f"d{len(await plans.escalations(opened))}"
    plan, _ = await plans.open_plan(opened, "release", digest, {}, "/shop", [("review", [("audit", "auditor")])])
    await plans.escalate(opened, plan, 0, None, reason)
    return max(one.id for one in await plans.escalations(opened, plan))


@pytest.mark.parametrize("era", ERAS)
def test_a_question_without_an_answer_is_asked_to_the_person(postgres: Postgres, tmp_path: Path, era: str) -> None:
    async def work(make: Callable[..., ContractServer], opened: Database) -> None:
        number = await ask(opened, "Which \x1b[31mgateway\nis meant?")
        asked: list[str] = []
        person = answering("accept", {"answer": "text", "why": "the remote one"}, asked)
        async with Client(make(), mode=era, **person) as client:
            answer = await client.call_tool("answer_question", {})
            assert not answer.is_error, answer.content
            given = answer.structured_content
        assert given
        assert (given["escalation"], given["answer"]) == (number, "text")
        assert len(asked) == 1
        assert "gateway" in asked[0]
        assert asked[0].isprintable(), "what an agent wrote cannot change what the person is shown"
        stored = await plans.get_escalation(opened, number)
        assert stored
        assert (stored.answer, stored.words) == ("text", "the remote one")

    with postgres.temporary_database() as address:
        with_store(address, tmp_path, work)


def test_a_question_stays_open_until_the_person_answers(database: str, tmp_path: Path) -> None:
    async def work(make: Callable[..., ContractServer], opened: Database) -> None:
        number = await ask(opened, "Continue?")
        wanted = {"question": number}
        async with Client(make(), **answering("decline", None, [])) as client:
            refused = await client.call_tool("answer_question", wanted)
            assert "did not answer (decline)" in refused.content[0].text  # type: ignore[union-attr]
        async with Client(make()) as client:
            refused = await client.call_tool("answer_question", wanted)
            assert "this client cannot ask the person" in refused.content[0].text  # type: ignore[union-attr]
            refused = await client.call_tool("answer_question", {"question": 10**9, "answer": "retry"})
            assert "there is no open question 1000000000" in refused.content[0].text  # type: ignore[union-attr]
            refused = await client.call_tool("answer_question", {**wanted, "answer": "skip"})
            assert "needs a reason" in refused.content[0].text  # type: ignore[union-attr]
            assert not (
                await client.call_tool("answer_question", {**wanted, "answer": "skip", "why": "known"})
            ).is_error
        stored = await plans.get_escalation(opened, number)
        assert stored
        assert stored.answer == "skip"

    with_store(database, tmp_path, work)
