"""`remit serve` as a process: its link, its signals, a port that is in use, and a crash in the middle of a decision."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx2 as httpx
import psycopg
import pytest
from click.testing import CliRunner
from support.commands import Process
from support.fixtures import MakeFleet
from support.fleet import Fleet
from support.waiting import read_until, until

from remit.errors import EnvironmentBroken, UsageError
from remit.surfaces.cli.group import remit
from remit.surfaces.server.running import ServeOptions, address_of, bind, check_options

_INSERT = (
    "INSERT INTO remit.review_items (key, kind, rank, source, agents, title, body) "
    "VALUES ('k', 'finding', 1, 'plan', '{a}', 't', '{}') RETURNING id"
)


def start(fleet: Fleet) -> tuple[Process, str, str]:
    """Start a server; return it with its address and the link that it prints."""
    server = fleet.start("serve", "--port", "0")
    fleet.until(lambda: "Ctrl-C stops it." in server.output or not server.is_alive)
    found = re.search(r"Remit runs on (\S+);", server.output)
    assert found, server.output
    return server, found[1], re.findall(r"http\S+token=\S+", server.output)[0]


@contextlib.contextmanager
def signed_in(url: str, link: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"origin": url}, timeout=60) as client:
        assert client.get(link).status_code == 200
        yield client


def test_a_decision_survives_a_crash_of_the_server(fleet: MakeFleet) -> None:
    place = fleet()
    server, url, link = start(place)
    item = place.store.row(_INSERT)["id"]
    form = {"decision": str(uuid4()), "verb": "confirm", "note": "seen"}
    with signed_in(url, link) as client:
        client.get(f"/review/{item}")
        cookies = dict(client.cookies)
        with psycopg.connect(place.store.address) as holder:
            holder.execute("SELECT id FROM remit.review_items WHERE id = %s FOR UPDATE", [item])
            # The server waits for the row in the middle of its transaction.
            sending = threading.Thread(target=lambda: send(client, item, form))
            sending.start()
            until(lambda: place.store.rows("SELECT 1 AS x FROM pg_locks WHERE NOT granted"))
            server.kill()
            sending.join()
    assert place.store.rows("SELECT id FROM remit.decisions") == []
    assert place.store.row("SELECT outcome FROM remit.audit WHERE action = 'decide'") == {"outcome": None}
    again, url, link = start(place)
    with signed_in(url, link) as client:
        assert httpx.get(url + "/", cookies=cookies).status_code in (200, 303)
        for _ in range(2):  # the browser sends the form again, twice
            assert client.post(f"/review/{item}/decide", data=form).status_code == 303
    assert place.store.rows("SELECT verb, note FROM remit.decisions") == [{"verb": "confirm", "note": "seen"}]
    again.send_signal(signal.SIGTERM)
    assert again.wait() == 0


def send(client: httpx.Client, item: int, form: dict[str, str]) -> None:
    with pytest.raises(httpx.HTTPError):
        client.post(f"/review/{item}/decide", data=form)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["Ctrl-C", "SIGTERM", "SIGHUP"])
def test_a_signal_stops_the_server_and_its_streams(fleet: MakeFleet, number: int) -> None:
    place = fleet()
    server, url, link = start(place)
    with signed_in(url, link) as client, client.stream("GET", "/live?topics=jobs") as stream:
        lines = stream.iter_lines()
        next(lines)
        server.send_signal(number)
        list(lines)  # the stream ends
        assert server.wait() == 0
    assert server.output.endswith("stopped\n")
    assert "Traceback" not in server.output
    unused = place.store.rows("SELECT id FROM remit.tokens WHERE is_link AND used IS NULL")
    assert unused == []


def test_two_servers_run_side_by_side_and_a_port_in_use_is_explained(fleet: MakeFleet) -> None:
    place = fleet()
    (one, url, link), (other, second, _) = start(place), start(place)
    assert url != second
    with signed_in(url, link) as client:
        assert client.get("/").status_code == 200
    code, text = place.run("serve", "--port", url.rpartition(":")[2])
    assert code == 3
    assert "is in use, perhaps by another `remit serve`" in text
    for server in (one, other):
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0


def test_two_servers_give_two_reviewers_different_items_and_both_notice(fleet: MakeFleet) -> None:
    place = fleet()
    for key in "abcdefgh":
        place.store.row(_INSERT.replace("'k'", f"'{key}'"))
    added = [place.run("tokens", "add", name, "--role", "reviewer") for name in ("alice", "bob")]
    assert [code for code, _ in added] == [0, 0], added
    servers = [start(place), start(place)]
    taken: list[list[int]] = [[], []]

    def review(number: int) -> None:
        headers = {"authorization": f"Bearer {added[number][1].split()[-1]}"}
        with httpx.Client(base_url=servers[number][1] + "/api/v1", headers=headers, timeout=60) as client:
            while item := client.post("/review/next", json={}).json()["item"]:
                taken[number].append(item["id"])
                answer = client.post(f"/review/{item['id']}/decide", json={"id": str(uuid4()), "verb": "confirm"})
                assert answer.status_code == 200

    with contextlib.ExitStack() as stack:
        streams = []
        for _, url, link in servers:
            client = stack.enter_context(signed_in(url, link))
            lines = stack.enter_context(client.stream("GET", "/live?topics=review")).iter_lines()
            read_until(lines, ["event: open"])
            streams.append(lines)
        with ThreadPoolExecutor() as pool:
            reviews = [pool.submit(review, number) for number in (0, 1)]
            for one in reviews:
                one.result()
        for lines in streams:  # each server notifies its own pages
            read_until(lines, ["data: review"])
    assert sorted([*taken[0], *taken[1]]) == list(range(1, 9))
    assert place.store.row("SELECT count(*) AS number FROM remit.decisions")["number"] == 8
    for server, _, _ in servers:
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0


def test_the_demo_shows_every_page_and_leaves_nothing_behind(fleet: MakeFleet) -> None:
    place = fleet()
    place.environment["TMPDIR"] = str(place.folder)
    place.environment["XDG_STATE_HOME"] = str(place.folder / "state")
    server = place.start("serve", "--demo", "--port", "0")
    place.until(lambda: "Ctrl-C stops it." in server.output or not server.is_alive)
    links = re.findall(r"http\S+token=\S+", server.output)
    assert links, server.output
    link = links[0]
    url = link.partition("/login")[0]
    with signed_in(url, link) as client:
        for path in ("/", "/review", "/jobs", "/plans", "/sessions", "/agents", "/calibration", "/log"):
            page = client.get(path)
            assert (path, page.status_code) == (path, 200)
            assert 'class="empty"' not in page.text or path in ("/", "/log"), path
        first = re.search(r'href="(/sessions/[^"]+)"', client.get("/sessions").text)
        assert first
        assert client.get(first[1]).status_code == 200
    assert list(place.folder.glob("remit-demo-*"))
    server.send_signal(signal.SIGTERM)
    assert server.wait() == 0
    assert "Traceback" not in server.output
    assert list(place.folder.glob("remit-demo-*")) == []
    left = {file.name: json.loads(file.read_text("utf-8")) for file in (place.folder / "state").rglob("*.json")}
    assert not any(left.values()), left


def test_a_server_with_its_own_certificate_answers_https_only(fleet: MakeFleet) -> None:
    place = fleet()
    certificate, key = place.folder / "remit.pem", place.folder / "remit.key"
    write_certificate(certificate, key)
    server = place.start(
        *("serve", "--port", "0", "--certificate", str(certificate), "--key", str(key)),
    )
    place.until(lambda: "Ctrl-C stops it." in server.output or not server.is_alive)
    link = re.findall(r"https\S+token=\S+", server.output)[0]
    url = link.partition("/login")[0]
    trusted = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(base_url=url, headers={"origin": url}, timeout=60, verify=trusted) as client:
        answer = client.get(link)
        assert answer.status_code == 200
        assert "Secure" in answer.headers["set-cookie"]
        assert answer.headers["strict-transport-security"]
        assert client.get("/").status_code == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(url.replace("https:", "http:") + "/health")
    server.send_signal(signal.SIGTERM)
    assert server.wait() == 0


def write_certificate(certificate: Path, key: Path) -> None:
    """Write a certificate for 127.0.0.1 that signs itself."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"]
    subprocess.run([*command, *names, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)


def test_tokens_are_made_listed_and_revoked(fleet: MakeFleet) -> None:
    place = fleet()
    code, text = place.run("tokens", "add", "alice", "--role", "reviewer", "--days", "30")
    assert (code, "token 1 of alice (reviewer)" in text) == (0, True)
    secret = text.split()[-1]
    assert "alice" in place.run("tokens", "list")[1]
    assert secret not in place.run("tokens", "list", "--format", "json")[1]
    assert place.run("tokens", "revoke", "1") == (0, "token 1 of alice is revoked\n")
    assert "revoked" in place.run("tokens", "list")[1]
    assert place.run("tokens", "revoke", "7")[0] == 2
    assert place.run("tokens", "add", " ")[0] == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"host": "0.0.0.0"}, "needs TLS"),
        ({"host": "0.0.0.0", "is_behind_tls": True}, "--url"),
        ({"host": "0.0.0.0", "is_behind_tls": True, "url": "http://remit.example"}, "--url"),
        ({"certificate": Path("c")}, "both --certificate"),
        ({"certificate": Path("c"), "key": Path("k"), "is_behind_tls": True}, "not both"),
        ({"url": "https://remit.example"}, "--behind-tls"),
        ({"url": "ftp://x"}, "scheme, host and port"),
        ({"url": "https://remit.example/x", "is_behind_tls": True}, "scheme, host and port"),
    ],
)
def test_an_unsafe_server_is_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_options(ServeOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "url", "cookie"),
    [
        ({}, "http://127.0.0.1:8321", "remit_session_8321"),
        ({"host": "::1"}, "http://[::1]:8321", "remit_session_8321"),
        ({"host": "localhost"}, "http://localhost:8321", "remit_session_8321"),
        ({"is_behind_tls": True, "url": "https://Remit.example/"}, "https://remit.example", "remit_session_443"),
        ({"certificate": Path("c"), "key": Path("k")}, "https://127.0.0.1:8321", "remit_session_8321"),
    ],
)
def test_the_address_of_a_server(options: dict[str, object], url: str, cookie: str) -> None:
    wanted = ServeOptions(**options)  # type: ignore[arg-type]
    check_options(wanted)
    address = address_of(wanted, 8321)
    assert (address.url, address.cookie) == (url, cookie)
    assert url.partition("://")[2] in address.hosts
    assert address.is_secure is url.startswith("https")


def test_a_host_that_does_not_exist_is_explained() -> None:
    with pytest.raises(EnvironmentBroken, match="cannot listen"):
        bind("256.256.256.256", 0)


def test_the_help_has_examples() -> None:
    for words in (["serve", "--help"], ["tokens", "--help"], ["tokens", "add", "--help"]):
        assert "Examples:" in CliRunner().invoke(remit, words).output
