"""`remit serve` as a process: its link, its signals, a port that is in use, and its token."""

from __future__ import annotations

import contextlib
import re
import signal
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from click.testing import CliRunner
from support.commands import Process
from support.fixtures import MakeFleet
from support.fleet import Fleet

from remit.errors import EnvironmentBroken, UsageError
from remit.surfaces.cli.group import remit
from remit.surfaces.server.running import ServeOptions, address_of, bind, check_options


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
    assert "Examples:" in CliRunner().invoke(remit, ["serve", "--help"]).output


def test_programs_send_the_token_of_the_environment(fleet: MakeFleet) -> None:
    place = fleet()
    place.environment["REMIT_SERVER_TOKEN"] = "for programs"
    server, url, _ = start(place)
    for token, status in (("for programs", 404), ("another", 401)):
        answer = httpx.get(f"{url}/api/v1/jobs/7", headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == status
    server.send_signal(signal.SIGTERM)
    assert server.wait() == 0
