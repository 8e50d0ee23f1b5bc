"""The API: the shapes of the commands, problem details, and a document that describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import jsonschema
import msgspec
import pytest
from psycopg.types.json import Jsonb
from support.postgres import Postgres
from support.web import HOSTILE, RunningSite, add_job

import remit
from remit.checking import Options, check_text
from remit.evidence.sources import open_sources
from remit.reports.shapes import check_shape
from remit.surfaces.server.api_routes import OPERATIONS, PREFIX, openapi_document
from remit.testing import project, result


@pytest.fixture(scope="module")
def site(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    folder = tmp_path_factory.mktemp("site")
    for source in project().rglob("*.py"):
        target = folder / source.relative_to(project())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    with postgres.temporary_database() as address, RunningSite(address, folder).running() as it:
        yield it


@pytest.fixture(scope="module")
def api(site: RunningSite) -> httpx.Client:
    client = site.bearer()
    client.base_url = site.url + PREFIX
    return client


@pytest.fixture(scope="module")
def document(api: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = api.get("/openapi.json").json()
    return found


def assert_fits(document: dict[str, Any], path: str, method: str, answer: httpx.Response) -> None:
    """The answer has the shape that the document states."""
    entry = document["paths"][PREFIX + path][method]["responses"][str(answer.status_code)]
    schema = next(iter(entry["content"].values()))["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": document["components"]})


def is_problem(answer: httpx.Response, status: int) -> bool:
    body = answer.json()
    is_typed = answer.headers["content-type"] == "application/problem+json"
    return is_typed and answer.status_code == body["status"] == status and bool(body["title"] and body["detail"])


def test_the_document_describes_every_operation(document: dict[str, Any]) -> None:
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert described == {(PREFIX + one.endpoint.template, one.endpoint.method.lower()) for one in OPERATIONS}
    names = [entry["operationId"] for methods in document["paths"].values() for entry in methods.values()]
    assert len(set(names)) == len(names) == len(OPERATIONS)
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}:
        assert reference in document["components"]["schemas"]
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == remit.__version__


def test_the_document_is_the_same_each_time() -> None:
    assert openapi_document(OPERATIONS, "1") == openapi_document(OPERATIONS, "1")


def test_a_job_is_submitted_once_for_its_key(site: RunningSite, api: httpx.Client, document: dict[str, Any]) -> None:
    body = {"agent": "code-explorer", "task": "trace the login", "key": "k1", "limits": {"cost": 1.5}}
    first, second = api.post("/jobs", json=body), api.post("/jobs", json=body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    assert_fits(document, "/jobs", "post", first)
    stored = site.rows("SELECT agent, workspace, max_cost FROM remit.jobs WHERE id = %s", first.json()["id"])
    assert stored == [("code-explorer", str(site.folder.resolve()), 1.5)]


def test_a_remote_caller_gets_the_strict_policy(site: RunningSite, api: httpx.Client) -> None:
    before = site.rows("SELECT count(*) FROM remit.jobs")
    answer = api.post("/jobs", json={"agent": "code-explorer", "task": "go", "allowed_tools": ["Teleport"]})
    assert is_problem(answer, 422)
    assert "Teleport" in answer.json()["detail"]
    assert site.rows("SELECT count(*) FROM remit.jobs") == before


@pytest.mark.parametrize("repo", ["..", "/", "../other", "app/../..", "\0"])
def test_a_folder_outside_the_server_is_refused(api: httpx.Client, repo: str) -> None:
    assert is_problem(api.post("/jobs", json={"task": "go", "repo": repo}), 422)
    assert is_problem(api.post("/check", json={"text": "x", "repo": repo}), 422)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"task": 1}', b'{"task": "", "policy": "open"}', b'{"task": "", "priority": "5"}', b"\xff"],
)
def test_a_wrong_body_is_a_problem(api: httpx.Client, body: bytes) -> None:
    assert is_problem(api.post("/jobs", content=body), 422)


def test_a_job_is_shown_and_cancelled(site: RunningSite, api: httpx.Client, document: dict[str, Any]) -> None:
    job = add_job(site)
    assert_fits(document, "/jobs/{number}", "get", api.get(f"/jobs/{job}"))
    assert api.post(f"/jobs/{job}/cancel").json()["outcome"] == "cancelled"
    assert is_problem(api.post(f"/jobs/{job}/cancel"), 422)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/jobs/999999", 404), ("GET", "/nothing", 404), ("DELETE", "/jobs", 405), ("GET", "/jobs", 405)],
)
def test_what_does_not_exist_is_a_problem(api: httpx.Client, method: str, path: str, status: int) -> None:
    assert is_problem(api.request(method, path), status)


def test_no_operation_works_without_a_token(site: RunningSite) -> None:
    client = site.visitor()
    for one in OPERATIONS:
        path = PREFIX + one.endpoint.template.replace("{number}", "1")
        answer = client.request(one.endpoint.method, path)
        assert is_problem(answer, 401), path
        assert answer.headers["www-authenticate"] == "Bearer"


def test_events_are_streamed_from_where_a_client_stopped(site: RunningSite, api: httpx.Client) -> None:
    job = add_job(site, state="finished", outcome="completed", finished="now")
    for turn in (1, 2, 3):
        site.rows("INSERT INTO remit.events (job, kind, data) VALUES (%s, 'turn', %s)", job, Jsonb({"turn": turn}))
    ids = [row[0] for row in site.rows("SELECT id FROM remit.events WHERE job = %s ORDER BY id", job)]
    text = api.get(f"/jobs/{job}/events", headers={"last-event-id": str(ids[0])}).text
    data = [json.loads(line.removeprefix("data: ")) for line in text.split("\n") if line.startswith("data: ")]
    assert [one.get("data", {}).get("turn") for one in data] == [2, 3, None]
    assert "event: end" in text


def test_a_checked_document_has_the_shape_of_the_command(
    site: RunningSite, api: httpx.Client, document: dict[str, Any]
) -> None:
    text = result("review")
    answer = api.post("/check", json={"text": text, "path": "answer.md"})
    assert_fits(document, "/check", "post", answer)
    sources = open_sources(site.folder)
    verdicts = check_text(text.encode(), "answer.md", Options(profile="v2").validated(), sources)
    expected = msgspec.json.encode(check_shape(verdicts, str(site.folder.resolve())))
    assert answer.json() == msgspec.json.decode(expected)


def test_the_claims_of_a_text_are_verified(site: RunningSite, api: httpx.Client, document: dict[str, Any]) -> None:
    text = "See `app/login.py:1` and `app/missing.py:3`."
    answer = api.post("/verify", json={"text": text})
    assert_fits(document, "/verify", "post", answer)
    found = {one["path"]: one["outcome"] for one in answer.json()["results"][0]["references"]}
    assert found == {"app/login.py": "exists", "app/missing.py": "missing-file"}
    assert remit.verify(text, repo=site.folder)


def test_documents_are_merged(api: httpx.Client, document: dict[str, Any]) -> None:
    documents = [{"path": "a.md", "text": result("review")}, {"path": "b.sarif", "text": "{broken"}]
    answer = api.post("/merge", json={"documents": documents, "threshold": 10})
    assert_fits(document, "/merge", "post", answer)
    merged = answer.json()
    assert merged["schema"] == "remit.merge/2"
    assert [one["status"] for one in merged["agents"] if one["agent"] == "b.sarif"] == ["FAILED"]
    assert is_problem(api.post("/merge", json={"documents": []}), 422)


def add_question(site: RunningSite, reason: str = "which one?") -> tuple[int, int]:
    """Insert a plan that waits for an answer; return the plan and its question."""
    plan = site.rows(
        "INSERT INTO remit.plans (name, digest, document, workspace, state) "
        "VALUES (%s, gen_random_uuid(), '{}', '/', 'waiting') RETURNING id",
        reason,
    )[0][0]
    site.rows("INSERT INTO remit.phases (plan, number, name) VALUES (%s, 0, %s)", plan, reason)
    site.rows(
        "INSERT INTO remit.delegations (plan, phase, name, agent, state, error, warnings) "
        "VALUES (%s, 0, %s, %s, 'escalated', %s, ARRAY[%s])",
        *(plan, reason, reason, reason, reason),
    )
    site.rows("INSERT INTO remit.steps (plan, step, reason) VALUES (%s, %s, %s)", plan, reason, reason)
    question = site.rows(
        "INSERT INTO remit.escalations (plan, phase, reason) VALUES (%s, 0, %s) RETURNING id", plan, reason
    )
    return plan, question[0][0]


def test_a_question_is_answered_on_the_page_of_its_plan(site: RunningSite) -> None:
    plan, question = add_question(site, HOSTILE)
    person = site.client()
    page = person.get(f"/plans/{plan}").text
    assert f'id="question-{question}"' in page
    assert "<script>window" not in page
    assert "\u202e" not in page
    assert "</textarea></script>" not in page
    form = {"question": str(question), "answer": "skip", "words": "not needed"}
    assert person.post(f"/plans/{plan}/answer", data=form).status_code == 303
    assert "Answered: <b>skip</b> – not needed" in person.get(f"/plans/{plan}").text
    assert site.rows("SELECT words FROM remit.escalations WHERE id = %s", question) == [("not needed",)]
    for path in ("/plans", "/plans?state=waiting", "/"):
        assert "<script>window" not in person.get(path).text


def test_a_plan_is_cancelled_with_its_questions(site: RunningSite) -> None:
    plan, question = add_question(site)
    operator = site.client()
    assert operator.post(f"/plans/{plan}/cancel").status_code == 303
    assert site.rows("SELECT state FROM remit.plans WHERE id = %s", plan) == [("cancelled",)]
    assert site.rows("SELECT answer FROM remit.escalations WHERE id = %s", question) == [("cancel",)]
