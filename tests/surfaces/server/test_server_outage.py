"""An outage of the database: requests are refused within seconds, and answered again when it is back."""

from __future__ import annotations

import time
from pathlib import Path

import httpx2 as httpx
from support.postgres import Postgres
from support.waiting import until
from support.web import RunningSite, add_job

#: Less than the minute for which other processes wait for a database.
SECONDS = 20.0


def test_requests_are_refused_within_seconds_while_the_database_is_stopped(
    own_postgres: Postgres, tmp_path: Path
) -> None:
    with RunningSite(own_postgres.database(), tmp_path / "site").running() as site:
        program, person, job = site.bearer(), site.client(), add_job(site)
        assert httpx.get(site.url + "/ready").text == "ok\n"
        own_postgres.crash()
        started = time.monotonic()
        refused = program.get(f"/api/v1/jobs/{job}")
        page = person.get("/jobs")
        assert time.monotonic() - started < SECONDS
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert refused.json()["title"] == "The database is unavailable"
        assert "the database does not answer" in refused.json()["detail"]
        assert page.status_code == 503
        assert "The database is unavailable" in page.text
        assert httpx.get(site.url + "/ready", timeout=SECONDS).status_code == 503
        assert httpx.get(site.url + "/health").text == "ok\n", "the server itself lives"
        own_postgres.start()
        until(lambda: program.get(f"/api/v1/jobs/{job}").status_code == 200)
        assert person.get("/jobs").status_code == 200
        assert httpx.get(site.url + "/ready").status_code == 200
