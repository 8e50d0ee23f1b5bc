"""Who may use the server: its link, its sessions and its token; and what it refuses before anything else."""

from __future__ import annotations

import time
from http.client import HTTPConnection

import httpx2 as httpx
import pytest
from support.web import HOSTILE, TOKEN, RunningSite, add_job

from remit.surfaces.server.guard import MAX_BODY, POLICY
from remit.surfaces.server.sign_in import SignIns

PAGES = ("/", "/jobs", "/jobs/1", "/live?topics=jobs")


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_shown_without_a_session(site: RunningSite, path: str) -> None:
    answer = site.visitor().get(path)
    assert answer.status_code in (303, 401)
    assert "no-store" in answer.headers["cache-control"]


def test_a_link_begins_one_session(site: RunningSite) -> None:
    link = site.sign_ins.add_link()
    first, second = site.visitor(), site.visitor()
    answer = first.get("/login", params={"token": link, "next": "/jobs?state=queued"})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert 'content="0; url=/jobs?state=queued"' in answer.text
    assert first.get("/").status_code == 200
    assert second.get("/login", params={"token": link}).status_code == 403
    assert second.get("/").status_code == 303


def test_a_link_is_not_a_bearer_token(site: RunningSite) -> None:
    link = site.sign_ins.add_link()
    assert httpx.get(site.url + "/jobs", headers={"authorization": f"Bearer {link}"}).status_code == 401


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_never_leads_to_another_site(site: RunningSite, target: str) -> None:
    answer = httpx.get(site.url + "/login", params={"token": site.sign_ins.add_link(), "next": target})
    assert 'content="0; url=/"' in answer.text


def test_signing_out_ends_the_session(site: RunningSite) -> None:
    client = site.client()
    cookies = dict(client.cookies)
    assert client.post("/logout").status_code == 303
    assert httpx.get(site.url + "/", cookies=cookies).status_code == 303


def test_the_token_signs_in_again_and_again_but_not_in_an_address(site: RunningSite) -> None:
    for _ in range(2):
        browser = site.visitor()
        assert browser.get("/login", params={"token": TOKEN}).status_code == 403
        assert browser.post("/login", params={"token": TOKEN}, data={}).status_code == 403
        assert browser.post("/login", data={"token": TOKEN}).status_code == 200
        assert browser.get("/").status_code == 200


@pytest.mark.parametrize("secret", ["", "wrong", TOKEN[:-1], f"{TOKEN} "])
def test_another_token_is_refused(site: RunningSite, secret: str) -> None:
    assert httpx.get(site.url + "/jobs", headers={"authorization": f"Bearer {secret}x"}).status_code == 401
    assert site.visitor().post("/login", data={"token": f"{secret}x"}).status_code == 403


def test_without_a_token_of_its_own_a_server_accepts_none() -> None:
    sign_ins = SignIns()
    assert not sign_ins.is_token("")
    assert sign_ins.begin("", is_in_address=False) is None


def test_links_and_sessions_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sign_ins = SignIns()
    link, late = sign_ins.add_link(), sign_ins.add_link()
    cookie = sign_ins.begin(link, is_in_address=True)
    assert cookie
    assert sign_ins.is_session(cookie)
    now = time.monotonic() + 12 * 3600
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert not sign_ins.is_session(cookie)
    assert sign_ins.begin(late, is_in_address=True) is None


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_another_host_is_refused(site: RunningSite, host: str) -> None:
    answer = site.client().get("/", headers={"host": host})
    assert answer.status_code in (400, 421)  # the parser itself refuses an empty name


@pytest.mark.parametrize("name", ["host", "origin"])
def test_a_second_host_or_origin_is_refused(site: RunningSite, name: str) -> None:
    host = site.url.removeprefix("http://")
    own = {"host": host, "origin": site.url}
    for values in ([own[name], "evil.example"], ["evil.example", own[name]]):
        connection = HTTPConnection(host)
        connection.putrequest("GET", "/health", skip_host=True)
        for header, value in [(name, value) for value in values] + ([("host", host)] if name == "origin" else []):
            connection.putheader(header, value)
        connection.endheaders()
        assert connection.getresponse().status in (400, 403, 421)
        connection.close()


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_write_of_another_site_is_refused(site: RunningSite, origin: str) -> None:
    job = add_job(site)
    answer = site.client().post(f"/jobs/{job}/cancel", headers={"origin": origin})
    assert answer.status_code == 403
    assert site.rows("SELECT state FROM remit.jobs WHERE id = %s", job) == [("queued",)]


def test_a_write_without_an_origin_is_refused(site: RunningSite) -> None:
    client = site.client()
    del client.headers["origin"]
    job = add_job(site)
    assert client.post(f"/jobs/{job}/cancel").status_code == 403
    assert site.bearer().post(f"/jobs/{job}/cancel").status_code == 303


def test_a_link_on_another_site_leads_to_a_page_of_this_one(site: RunningSite) -> None:
    answer = site.visitor().get("/jobs?state=queued", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0; url=/jobs?state=queued"' in answer.text


def test_every_answer_has_the_security_headers(site: RunningSite) -> None:
    client = site.client()
    for path in ("/", "/jobs", "/login", "/static/style.css", "/nothing", "/jobs/999999", "/health"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none';")


def test_large_bodies_are_refused(site: RunningSite) -> None:
    client = site.client()
    assert client.post("/login", content=b"x" * (MAX_BODY + 1)).status_code == 413
    pieces = (b"x" * 65_536 for _ in range(MAX_BODY // 65_536 + 2))  # without a length
    assert client.post("/login", content=pieces).status_code == 413


def test_large_heads_and_many_headers_are_refused(site: RunningSite) -> None:
    with pytest.raises((httpx.HTTPError, AssertionError)):
        assert httpx.get(site.url + "/health", headers={"x": "y" * 100_000}).status_code == 200
    assert httpx.get(site.url + "/health", headers={f"x-{n}": "y" for n in range(120)}).status_code == 431


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/..%2fapp.py", "/static/nothing.css", "/static/x.py"])
def test_only_static_files_are_served(site: RunningSite, path: str) -> None:
    assert site.client().get(path).status_code in (303, 404)


def test_an_error_page_escapes(site: RunningSite) -> None:
    answer = site.client().get(f"/jobs/{HOSTILE}")
    assert answer.status_code == 404
    assert "<script>window" not in answer.text
    assert 'onerror="' not in answer.text
