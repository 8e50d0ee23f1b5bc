"""Who may use the server: sessions, tokens and roles; and what it refuses before anything else."""

from __future__ import annotations

from http.client import HTTPConnection

import httpx2 as httpx
import pytest
from support.web import HOSTILE, RunningSite, add_job

from remit.surfaces.server.guard import MAX_BODY, POLICY

PAGES = ("/", "/jobs", "/jobs/1", "/live?topics=jobs")


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_shown_without_a_session(site: RunningSite, path: str) -> None:
    answer = site.client(None).get(path)
    assert answer.status_code in (303, 401)
    assert "no-store" in answer.headers["cache-control"]


def test_a_link_begins_one_session(site: RunningSite) -> None:
    link = site.token(is_link=True)
    first, second = site.client(None), site.client(None)
    answer = first.get("/login", params={"token": link, "next": "/jobs?state=queued"})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert 'content="0; url=/jobs?state=queued"' in answer.text
    assert first.get("/").status_code == 200
    assert second.get("/login", params={"token": link}).status_code == 403
    assert second.get("/").status_code == 303


def test_a_link_is_not_a_bearer_token(site: RunningSite) -> None:
    link = site.token(is_link=True)
    assert httpx.get(site.url + "/jobs", headers={"authorization": f"Bearer {link}"}).status_code == 401


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_never_leads_to_another_site(site: RunningSite, target: str) -> None:
    answer = httpx.get(site.url + "/login", params={"token": site.token(is_link=True), "next": target})
    assert 'content="0; url=/"' in answer.text


def test_signing_out_ends_the_session(site: RunningSite) -> None:
    client = site.client()
    cookies = dict(client.cookies)
    assert client.post("/logout").status_code == 303
    assert httpx.get(site.url + "/", cookies=cookies).status_code == 303


def test_an_address_signs_in_with_a_link_that_is_used_once_only(site: RunningSite) -> None:
    secret = site.token("carol", "viewer")
    browser = site.client(None)
    assert browser.get("/login", params={"token": secret}).status_code == 403
    assert browser.post("/login", params={"token": secret}, data={}).status_code == 403
    assert browser.post("/login", data={"token": secret}).status_code == 200


def test_a_revoked_token_and_its_sessions_end(site: RunningSite) -> None:
    secret = site.token("bob", "viewer")
    number = site.rows("SELECT max(id) FROM remit.tokens")[0][0]
    browser = site.client(None)
    assert browser.post("/login", data={"token": secret}).status_code == 200
    assert browser.get("/").status_code == 200
    bearer = {"authorization": f"Bearer {secret}"}
    assert httpx.get(site.url + "/jobs", headers=bearer).status_code == 200
    from remit.store.access import revoke_token

    assert site.call(lambda database: revoke_token(database, number)) == "bob"
    assert httpx.get(site.url + "/jobs", headers=bearer).status_code == 401
    assert browser.get("/").status_code == 303


def test_an_expired_token_is_refused(site: RunningSite) -> None:
    secret = site.token("carol", "viewer", days=1)
    site.rows("UPDATE remit.tokens SET expires = now() WHERE name = 'carol'")
    assert httpx.get(site.url + "/", headers={"authorization": f"Bearer {secret}"}).status_code == 401


def test_only_digests_are_stored(site: RunningSite) -> None:
    secret = site.token("dave", "viewer")
    assert secret.encode() not in b"".join(row[0] for row in site.rows("SELECT digest FROM remit.tokens"))
    assert "dave" in site.rows("SELECT string_agg(tokens::text, ' ') FROM remit.tokens")[0][0]
    assert secret not in site.rows("SELECT string_agg(tokens::text, ' ') FROM remit.tokens")[0][0]


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
    answer = site.client(None).get("/jobs?state=queued", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0; url=/jobs?state=queued"' in answer.text


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("reviewer", 403), ("operator", 303)])
def test_only_an_operator_cancels_jobs(site: RunningSite, role: str, status: int) -> None:
    job = add_job(site)
    assert site.client(role).post(f"/jobs/{job}/cancel").status_code == status  # type: ignore[arg-type]
    expected = "finished" if status == 303 else "queued"
    assert site.rows("SELECT state FROM remit.jobs WHERE id = %s", job) == [(expected,)]


def test_every_write_is_in_the_audit_log(site: RunningSite) -> None:
    job = add_job(site)
    client = site.client("operator", "erin")
    client.post(f"/jobs/{job}/cancel")
    assert client.post(f"/jobs/{job}/cancel").status_code == 422
    found = site.rows("SELECT who, role, action, outcome FROM remit.audit WHERE target = %s ORDER BY id", f"job:{job}")
    assert found == [
        ("erin", "operator", "cancel", "done"),
        ("erin", "operator", "cancel", f"refused: job {job} is already finished (cancelled)"),
    ]


def test_only_an_operator_reads_the_audit_log(site: RunningSite) -> None:
    job = add_job(site)
    site.client("operator", "frank").post(f"/jobs/{job}/cancel")
    assert f"job:{job}" in site.client("operator").get("/log").text
    assert site.client("reviewer").get("/log").status_code == 403
    moved = site.client("operator").get("/audit?before=9")
    assert (moved.status_code, moved.headers["location"]) == (301, "/log?before=9")


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
