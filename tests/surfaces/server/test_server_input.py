"""The server answers any input of a signed-in caller that is wrong: it never fails, and never waits for ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import pytest
from support.postgres import Postgres
from support.web import HOSTILE, RunningSite, add_job

from remit.surfaces.server.api_routes import OPERATIONS, PREFIX

#: Numbers that no row has, or that Python, PostgreSQL or JavaScript read in their own way.
NUMBERS = (
    *("0", "-1", "1.5", "1e3", "nan", "٣", "²", "0x1", "1_0", "+1", " 1"),
    *("2147483648", "9223372036854775807", "9223372036854775808", "1" * 19, "9" * 19, "0" * 30 + "1", "9" * 4301),
)
TEXTS = (
    "",
    "\0",
    "a\0b",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    HOSTILE,
    "x" * 5000,
    "%00",
    "..",
)
#: Addresses that continue a list, and refuse a wrong limit or state before they use the rest.
LISTS = ("/jobs", "/plans")
#: Values of fields in a posted document.
VALUES: tuple[Any, ...] = (
    *(None, -1, 2**31, 2**63, 10**30, 1e308, 1.5, [[]], "", "a\0b", "x" * 5000),
    *({"a": "\0"}, ["\0"], {"tokens": 10**30}, {"cost": -1}),
)


@pytest.fixture(scope="module")
def site(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    folder = tmp_path_factory.mktemp("site")
    with postgres.temporary_database() as address, RunningSite(address, folder).running() as it:
        add_job(it)
        yield it


@pytest.fixture(scope="module")
def api(site: RunningSite) -> httpx.Client:
    return site.bearer()


@pytest.fixture(scope="module")
def person(site: RunningSite) -> httpx.Client:
    return site.client()


def failures(answers: Iterator[tuple[object, httpx.Response]]) -> list[tuple[object, int, str]]:
    return [(sent, one.status_code, one.text[:200]) for sent, one in answers if one.status_code >= 500]


@pytest.mark.parametrize(
    "operation",
    [operation.endpoint for operation in OPERATIONS if "{" in operation.endpoint.path],
    ids=lambda address: address.name,
)
def test_numbers_in_addresses_never_fail(api: httpx.Client, operation: Any) -> None:
    def send() -> Iterator[tuple[object, httpx.Response]]:
        for number in (*NUMBERS, *TEXTS[2:]):
            before, _, rest = (PREFIX + operation.template).partition("{")
            path = before + quote(number, safe="") + rest.partition("}")[2]
            body: dict[str, Any] = {"json": {}} if operation.method == "POST" else {}
            yield number, api.request(operation.method, path, **body)

    assert failures(send()) == []


@pytest.mark.parametrize("path", [
    *("/jobs", "/plans", "/sessions", "/login", "/live", f"{PREFIX}/jobs/1", "/jobs/1"),
])  # fmt: skip
def test_parameters_never_fail(person: httpx.Client, path: str) -> None:
    names = (
        "before",
        "after",
        "limit",
        "job",
        "plan",
        "agent",
        "state",
        "kind",
        "path",
        "score",
        "one",
        "next",
        "done",
    )

    def send() -> Iterator[tuple[object, httpx.Response]]:
        for value in (*NUMBERS, *TEXTS, "1.9999999999", "1." + "9" * 18, "9" * 18 + ".1", "²." + "1"):
            yield value, person.get(path, params=dict.fromkeys(names, value))
            if path in LISTS:
                for name in ("after", "agent"):
                    yield (name, value), person.get(path, params={name: value})

    assert failures(send()) == []


@pytest.mark.parametrize(("path", "fields"), [
    ("/jobs", {"task": "t", "agent": None, "repo": ".", "model": "m", "max_turns": 3, "input_vars": {}, "limits": {},
               "queue": "q", "priority": 0, "key": None, "delay": 0, "parent": None, "tree_max_tokens": None,
               "tree_max_cost": None, "tree_max_turns": None, "tree_max_seconds": None, "allowed_tools": ["Read"],
               "system": "s", "kind": None, "profile": None}),
    ("/check", {"documents": [{"name": "a.md", "text": "x"}], "attempt": 1}),
    ("/verify", {"documents": [{"name": "a.md", "text": "x"}]}),
    ("/merge", {"documents": [{"name": "a.md", "text": "x"}], "threshold": 80}),
], ids=lambda one: one if isinstance(one, str) else "")  # fmt: skip
def test_posted_documents_never_fail(api: httpx.Client, path: str, fields: dict[str, Any]) -> None:
    def send() -> Iterator[tuple[object, httpx.Response]]:
        for name in fields:
            for value in VALUES:
                yield {name: value}, api.post(PREFIX + path, json={**fields, name: value})
        for body in (b"", b"[]", b"null", b"{", b"\xff", b'{"a":' * 2000, b"1" * 5000, b'{"id": "\\ud800"}'):
            yield body, api.post(PREFIX + path, content=body)

    assert failures(send()) == []


@pytest.mark.parametrize(("path", "fields"), [
    ("/plans/1/answer", ("question", "answer", "words")),
    ("/jobs/1/retry", ("instructions", "words")),
    ("/login", ("token", "next")),
])  # fmt: skip
def test_posted_forms_never_fail(person: httpx.Client, path: str, fields: tuple[str, ...]) -> None:
    whole = {"question": "1", "answer": "retry", "words": "w"}

    def send() -> Iterator[tuple[object, httpx.Response]]:
        for name in fields:
            for value in (*NUMBERS, *TEXTS):
                form = {**{key: whole.get(key, "") for key in fields}, name: value}
                yield {name: value}, person.post(path, data=form)

    assert failures(send()) == []
