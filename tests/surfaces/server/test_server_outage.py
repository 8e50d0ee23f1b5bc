"""An outage of the database: requests are refused within seconds, and answered again when it is back."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import httpx2 as httpx
import pytest
from support.postgres import Postgres
from support.waiting import until
from support.web import RunningSite

#: Less than the minute for which other processes wait for a database.
SECONDS = 20.0


def test_requests_are_refused_within_seconds_while_the_database_is_stopped(
    own_postgres: Postgres, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "remit.serve")
    with RunningSite(own_postgres.database(), tmp_path / "site").running() as site:
        program, person = site.bearer(), site.client()
        assert httpx.get(site.url + "/ready").text == "ok\n"
        own_postgres.crash()
        started = time.monotonic()
        refused = program.get("/api/v1/jobs")
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
        until(lambda: program.get("/api/v1/jobs").status_code == 200)
        assert person.get("/jobs").status_code == 200
        assert httpx.get(site.url + "/ready").status_code == 200
    said = [record.getMessage() for record in caplog.records if record.name == "remit.serve"]
    assert len([line for line in said if line.startswith("requests fail: the database does not answer")]) == 1
    assert said[-1] == "the database is available again"
