"""A notice is sent until the receiver accepts it, signed, with the same id each time, and never to another receiver."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import signal
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from support.fixtures import MakeFleet
from support.fleet import Store

from remit.dispatch import webhook
from remit.dispatch.webhook import MAX_TRIES, SECRET, Notice, NoticeSettings, deliver, pause_after, payload, plain, send
from remit.errors import ConfigurationError
from remit.store.database import Database

AT = datetime(2026, 3, 2, tzinfo=UTC)
CRITICAL = Notice(
    1,
    "critical-7",
    "critical",
    {"item": 7, "title": "<!channel> SQL & more", "path": "app/db.py", "line": 4, "agents": ["bandit"]},
    AT,
    1,
)


class Receiver:
    """A web server on loopback that answers with a list of codes, and then with 200."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                code = receiver.codes.pop(0) if receiver.codes else 200
                self.send_response(code)
                if code in (301, 302, 307):
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}/hook?team=a"
        self.settings = NoticeSettings(self.address, "https://remit.example/")

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def add(store: Store, key: str = "plan-3", *, age: str = "0 seconds") -> None:
    store.rows(
        "INSERT INTO remit.outbox (key, kind, data, created) VALUES (%s, 'plan', %s, now() - %s::interval) "
        "ON CONFLICT DO NOTHING",
        key,
        json.dumps({"plan": 3, "name": "release", "outcome": "continue"}),
        age,
    )


def test_a_notice_is_signed_and_leads_to_its_item(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "s3cret")

    assert send(CRITICAL, receiver.settings) is None
    ((path, headers, body),) = receiver.got
    sent = json.loads(body)
    at, _, digest = headers["X-Remit-Signature"].removeprefix("t=").partition(",v1=")

    assert path == "/hook?team=a"
    assert (sent["id"], headers["X-Remit-Notice"]) == ("critical-7", "critical-7")
    assert sent["link"] == "https://remit.example/review/7"
    assert hmac.new(b"s3cret", f"{at}.".encode() + body, hashlib.sha256).hexdigest() == digest


def test_a_notice_without_a_secret_has_no_signature(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET, raising=False)

    assert send(CRITICAL, receiver.settings) is None
    assert "X-Remit-Signature" not in receiver.got[0][1]


def test_text_of_agents_mentions_no_channel_and_makes_no_link() -> None:
    text = payload(CRITICAL, "https://remit.example")["text"]

    assert text == (
        "Critical finding at app/db.py:4: &lt;!channel&gt; SQL &amp; more (bandit)\nhttps://remit.example/review/7"
    )
    assert plain("a\n*b*  <http://x|y>") == "a *b* &lt;http://x|y&gt;"
    assert len(plain("x" * 5000)) == 1000
    assert plain(None) == ""


@pytest.mark.parametrize(
    ("kind", "data", "text", "link"),
    [
        (
            "question",
            {"plan": 3, "question": 9, "reason": "which port?"},
            "Question of plan 3: which port?",
            "/plans/3#question-9",
        ),
        ("plan", {"plan": 3, "name": "release", "outcome": "review"}, "Plan finished: release (review)", "/plans/3"),
        (
            "budget",
            {"job": 5, "agent": "qa", "budget": "tree-cost", "used": 8.5, "limit": 10},
            "Job 5 (qa) has used 85 % of its budget: $8.50 of $10.00",
            "/jobs/5",
        ),
        (
            "budget",
            {"job": 5, "agent": "qa", "budget": "tokens", "used": 900, "limit": 1000},
            "Job 5 (qa) has used 90 % of its budget: 900 of 1,000 tokens",
            "/jobs/5",
        ),
        (
            "budget",
            {"budget": "day", "used": 42, "limit": 50},
            "The jobs of today have used 84 % of the budget of a day: $42.00 of $50.00",
            "/",
        ),
        ("critical", {"item": 1, "title": "t"}, "Critical finding: t ()", "/review/1"),
    ],
)
def test_each_kind_has_a_text_and_a_link(kind: str, data: dict[str, Any], text: str, link: str) -> None:
    found = payload(Notice(1, "k", kind, data, AT, 1), "https://r")

    assert found["text"] == f"{text}\nhttps://r{link}"
    assert found["kind"] == kind


@pytest.mark.parametrize("code", [302, 404, 500])
def test_a_receiver_that_does_not_accept_is_a_failure(receiver: Receiver, code: int) -> None:
    receiver.codes = [code]

    assert send(CRITICAL, receiver.settings) == f"the receiver answered {code}"
    assert len(receiver.got) == 1, "a redirect is not followed"


def test_a_receiver_that_is_away_is_a_failure(receiver: Receiver) -> None:
    receiver.close()

    assert "Refused" in str(send(CRITICAL, receiver.settings))


def test_a_notice_is_repeated_until_it_is_accepted_and_then_never_again(store: Store, receiver: Receiver) -> None:
    receiver.codes = [500, 503]
    add(store)
    add(store)  # the same event again

    async def work(database: Database) -> list[int]:
        sent = []
        for _ in range(4):
            sent.append(await deliver(database, receiver.settings))
            async with database.transaction() as connection:
                await connection.execute("UPDATE remit.outbox SET due = now() WHERE sent IS NULL")
        return sent

    assert store.run(work) == [0, 0, 1, 0]
    assert [json.loads(body)["id"] for _, _, body in receiver.got] == ["plan-3"] * 3
    row = store.row("SELECT tries, error, sent FROM remit.outbox")
    assert (row["tries"], row["error"]) == (3, None)
    assert row["sent"] is not None


def test_a_failed_notice_waits_and_is_given_up_in_the_end(store: Store, receiver: Receiver) -> None:
    receiver.codes = [500] * 2
    add(store)

    async def work(database: Database) -> None:
        assert await deliver(database, receiver.settings) == 0
        assert await deliver(database, receiver.settings) == 0, "it is not due yet"
        async with database.transaction() as connection:
            await connection.execute("UPDATE remit.outbox SET due = now(), tries = %s", [MAX_TRIES - 1])
        assert await deliver(database, receiver.settings) == 0

    store.run(work)

    assert len(receiver.got) == 2
    assert store.row("SELECT gave_up IS NOT NULL AS is_over FROM remit.outbox")["is_over"]


def test_concurrent_senders_send_each_notice_once(store: Store, receiver: Receiver) -> None:
    for number in range(12):
        add(store, f"plan-{number}")

    async def work(database: Database) -> int:
        return sum(await asyncio.gather(*(deliver(database, receiver.settings) for _ in range(4))))

    assert store.run(work) == 12
    assert len({json.loads(body)["id"] for _, _, body in receiver.got}) == len(receiver.got) == 12


def test_old_notices_are_not_sent_to_a_new_webhook(store: Store, receiver: Receiver) -> None:
    add(store, age="2 days")

    assert store.run(lambda database: deliver(database, receiver.settings)) == 0
    assert receiver.got == []


def test_without_a_webhook_nothing_is_taken(store: Store) -> None:
    add(store)

    assert store.run(lambda database: deliver(database, NoticeSettings("", ""))) == 0
    assert store.row("SELECT tries FROM remit.outbox")["tries"] == 0


def add_cost(store: Store, cost: float, state: str, finished: str | None = None) -> None:
    store.rows("INSERT INTO remit.briefs (digest, brief) VALUES ('b', '{}') ON CONFLICT DO NOTHING")
    store.rows(
        "INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, state, outcome, cost, finished) "
        "VALUES ('a', 'b', '{}', 'p', '/', %s, %s, %s, now() + %s::interval)",
        *(state, "completed" if finished else None, cost, finished),
    )


def test_a_day_that_has_used_80_percent_of_its_budget_makes_one_notice(store: Store) -> None:
    add_cost(store, 30, "finished", "-2 days")
    add_cost(store, 5, "finished", "0 days")
    add_cost(store, 2.9, "running")

    async def work(database: Database) -> list[int]:
        counts = []
        for budget in (0, 10, 9.8, 5):  # off, under 80 percent, over it, and far over it
            await webhook.note_day_budget(database, budget)
            counts.append(len(await database.rows("notices.take", lease=0, limit=9)))
            async with database.transaction() as connection:
                await connection.execute("UPDATE remit.outbox SET sent = now()")
        return counts

    assert store.run(work) == [0, 0, 1, 0]
    assert store.row("SELECT data FROM remit.outbox")["data"] == {"budget": "day", "used": 7.9, "limit": 9.8}


@pytest.mark.process
def test_a_running_worker_sends_a_notice(fleet: MakeFleet, receiver: Receiver) -> None:
    place = fleet()
    place.environment |= {"REMIT_NOTICES_WEBHOOK": receiver.address, SECRET: "s3cret", "REMIT_BUDGET_DAY": "10"}
    worker = place.start("worker")
    place.until(lambda: "worker started" in worker.output)
    add(place.store)
    add_cost(place.store, 9, "finished", "0 days")
    place.until(lambda: len(receiver.got) == 2)
    worker.send_signal(signal.SIGTERM)

    assert worker.wait() == 0
    assert {json.loads(body)["kind"] for _, _, body in receiver.got} == {"plan", "budget"}
    assert all("X-Remit-Signature" in headers for _, headers, _ in receiver.got)


def test_pauses_grow_to_an_hour() -> None:
    pauses = [pause_after(tries) for tries in range(1, MAX_TRIES + 1)]

    assert pauses[:3] == [5, 10, 20]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 3600


@pytest.mark.parametrize("address", ["ftp://x/y", "hooks.example.com", "http://", "http://[::1", "file:///etc/passwd"])
def test_an_address_that_is_not_of_a_web_server_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match=r"notices\.webhook"):
        NoticeSettings(address, "").checked()


def test_every_kind_of_the_outbox_has_a_text() -> None:
    assert set(webhook._TEXTS) == {"question", "plan", "budget", "critical"}
