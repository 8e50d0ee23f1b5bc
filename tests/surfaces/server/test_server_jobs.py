"""The overview, the list of jobs and the page of a job."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from psycopg.types.json import Jsonb
from support.web import HOSTILE, RunningSite, add_hostile_job, add_job

from remit.clients.hooks.results import keep_result
from remit.gate.session_store import open_session


class Elements(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_harmless(text: str) -> None:
    """No hostile text has become markup, and nothing is inline."""
    elements = Elements(text).found
    assert [one for one in elements if one[0] == "img"] == []
    assert [
        one for one in elements if one[0] == "script" and not (one[1].get("src") or "").startswith("/static/")
    ] == []
    assert [one for one in elements if one[0] == "style" or "style" in one[1]] == []
    assert [one for one in elements if any(name.startswith("on") for name in one[1])] == []
    assert "\u202e" not in text


def test_every_text_of_a_job_is_escaped(site: RunningSite) -> None:
    job = add_hostile_job(site)
    client = site.client()
    page = client.get(f"/jobs/{job}").text
    assert page.count("&lt;img src=x onerror=") > 20
    for path in (f"/jobs/{job}", f"/jobs/{job + 1}", "/jobs", "/", f"/jobs?agent={HOSTILE[:60]}"):
        assert_harmless(client.get(path).text)


def test_a_task_is_shown_without_its_secrets(site: RunningSite) -> None:
    task = "deploy " + "x" * 140 + " with PASSWORD=hunter2-Passw0rd"
    finished = add_job(site, prompt=task, state="finished", outcome="completed", result="x")
    add_job(site, prompt=task, state="queued", parent=finished, root=finished, depth=1)
    for path in ("/", "/jobs", f"/jobs/{finished}"):
        page = site.client().get(path).text
        assert "deploy xxx" in page
        assert "hunter2" not in page


def test_the_result_is_next_to_its_verdict(site: RunningSite) -> None:
    job = add_job(site, state="finished", outcome="completed", verdict="revise", result="x")
    violation = {
        "rule": "status-missing",
        "code": "RES001",
        "level": "L1",
        "line": 2,
        "message": "no status",
        "help": "h",
    }
    reference = {"text": "a.py:1", "path": "a.py", "line": 1, "end_line": None, "outcome": "verified", "at": 1}
    report = {"violations": [violation], "references": [{**reference, "code": {"start": 1, "text": "def f():"}}]}
    site.rows(
        "INSERT INTO remit.results (job, submission, document, verdict, report) VALUES (%s, 1, %s, 'revise', %s)",
        *(job, "one\ntwo\nthree", Jsonb(report)),
    )
    page = site.client().get(f"/jobs/{job}").text
    assert '<li id="L2" class="marked bad"' in page
    assert '<a href="#L2">line 2</a>' in page
    assert 'href="#claim-1"' in page
    assert '<span class="hl-keyword">def</span>' in page


def test_a_call_is_shown_with_its_turn_and_a_correction_as_a_difference(site: RunningSite) -> None:
    job = add_job(site, state="finished", outcome="completed", verdict="accept", result="x")
    for number, words in enumerate(("First I read.", "Then I search.")):
        parts = [
            {"part_kind": "text", "content": words},
            {"part_kind": "tool-call", "tool_name": "Read", "tool_call_id": "again", "args": {}},
        ]
        usage = {"input_tokens": 1_200 + number, "output_tokens": 34}
        site.rows(
            "INSERT INTO remit.messages (job, number, message, attempt) VALUES (%s, %s, %s, 1)",
            *(job, number, Jsonb({"kind": "response", "parts": parts, "usage": usage})),
        )
        site.rows(
            "INSERT INTO remit.tool_calls (job, call, turn, name, arguments, state, attempt, output) "
            "VALUES (%s, %s, %s, 'Read', %s, 'done', 1, 'read')",
            *(job, f"{number + 1}:again", number + 1, Jsonb({"file_path": f"file-{number}.py"})),
        )
    lie = {"rule": "test-run-unseen", "level": "L1", "line": 1, "message": "no tests ran"}
    for number, (text, verdict, violations) in enumerate(
        (("All tests pass.\nDone.", "revise", [lie]), ("I ran no tests.\nDone.", "accept", [])), 1
    ):
        site.rows(
            "INSERT INTO remit.results (job, submission, document, verdict, report) VALUES (%s, %s, %s, %s, %s)",
            *(job, number, text, verdict, Jsonb({"violations": violations})),
        )
    page = site.client().get(f"/jobs/{job}").text
    first, second = page.index("First I read."), page.index("Then I search.")
    assert first < page.index("file-0.py") < second < page.index("file-1.py")
    assert "1 tool call: Read · 1,200 tokens in, 34 out" in page
    correction = page[page.index('id="correction"') : page.index('id="transcript"')]
    assert '<span class="removed">- All tests pass.' in correction
    assert '<span class="added">+ I ran no tests.' in correction
    assert "no tests ran" in correction


def test_jobs_are_found_by_words_of_their_task(site: RunningSite) -> None:
    wanted = add_job(site, prompt="Find the 100% Discount_code", agent="finder")
    other = add_job(site, prompt="Find the 1000 discount-code", agent="finder")
    client = site.client()
    found = client.get("/jobs", params={"q": "100% discount_"}).text
    assert f'href="/jobs/{wanted}"' in found
    assert f'href="/jobs/{other}"' not in found
    assert "No job matches" in client.get("/jobs", params={"q": "100% discount_", "verdict": "reject"}).text


def test_the_tree_shows_each_job_below_its_parent(site: RunningSite) -> None:
    top = add_job(site, agent="top")
    first = add_job(site, parent=top, root=top, depth=1)
    second = add_job(site, parent=top, root=top, depth=1)
    below = add_job(site, parent=first, root=top, depth=2)
    page = site.client().get(f"/jobs/{second}").text
    tree = page[page.index('<ul class="tree">') : page.index("</ul>", page.index('<ul class="tree">'))]
    assert [int(number) for number in re.findall(r'href="/jobs/(\d+)"', tree)] == [top, first, below, second]
    assert 'aria-current="true"' in tree


def test_the_list_has_pages_and_filters(site: RunningSite) -> None:
    add_job(site)  # and its brief
    site.rows(
        "INSERT INTO remit.jobs (agent, brief, request, prompt, workspace, state, outcome, verdict, finished) "
        "SELECT 'many', 'b', '{}', 'p', '/', 'finished', 'completed', (ARRAY['accept', 'revise'])[1 + mod(n, 2)], "
        "now() FROM generate_series(1, 230) AS n"
    )
    client = site.client()
    seen: list[int] = []
    address = "/jobs?agent=many&verdict=accept"
    while address:
        page = client.get(address).text
        seen += [int(number) for number in re.findall(r'<td class="num"><a href="/jobs/(\d+)"', page)]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        address = "/jobs" + older[1].replace("&amp;", "&") if older else ""
    assert len(seen) == len(set(seen)) == 115
    assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize(
    "query", ["state=nothing", "before=x", "before=99999999999999999999", "agent=%00", "verdict='"]
)
def test_a_wrong_filter_is_ignored(site: RunningSite, query: str) -> None:
    assert site.client().get(f"/jobs?{query}").status_code == 200


@pytest.mark.parametrize("number", ["0", "999999999", "99999999999999999999999"])
def test_a_job_that_does_not_exist_is_not_found(site: RunningSite, number: str) -> None:
    answer = site.client().get(f"/jobs/{number}")
    assert answer.status_code == 404
    assert "there is no" in answer.text


def test_the_overview_counts_and_shows_stuck_jobs(site: RunningSite) -> None:
    site.rows(
        "INSERT INTO remit.workers (id, host, pid, queues, concurrency) VALUES (gen_random_uuid(), 'alpha', 7, '{}', 3)"
    )
    worker = site.rows("SELECT id FROM remit.workers WHERE host = 'alpha'")[0][0]
    add_job(site, state="running", started="now", checkpoint="now", worker=worker, agent="busy", max_cost=2, cost=1)
    add_job(site, state="running", started="2020-01-01", checkpoint="2020-01-01", worker=worker, agent="hung")
    page = site.client().get("/").text
    assert re.search(r"<b>2</b> running", page)
    assert re.search(r"<b>1</b> stuck", page)
    assert "alpha" in page


def test_the_overview_shows_reports_that_were_sent_back_and_the_last_sessions(site: RunningSite) -> None:
    assert "No session is recorded in this project." in site.client().get("/").text
    lie = {"rule": "reference-out-of-range", "level": "L1", "line": 4, "message": "a.py:90: the file has 12 lines"}
    form = {"rule": "status-missing", "level": "L1", "line": 1, "message": "no status"}
    job = add_job(site, agent="liar", state="finished", outcome="completed", verdict="accept", finished="now")
    for number, violations, verdict in ((1, [form, lie, lie], "revise"), (2, [], "accept")):
        site.rows(
            "INSERT INTO remit.results (job, submission, document, verdict, report) VALUES (%s, %s, 'x', %s, %s)",
            *(job, number, verdict, Jsonb({"violations": violations})),
        )
    folder = str(site.folder / ".remit/gate")
    with open_session(folder, "s-1") as state:
        state.open_with("Add a voucher\nwith a long text", "vouchers")
    about = {"agent": "plugin:explorer", "agent_id": "a1", "text": "text", "check": "{}"}
    keep_result(folder, "s-1", outcome="rejected", verdict="reject", violations=(form,), **about)  # type: ignore[arg-type]
    page = site.client().get("/").text
    rows = re.findall(r"<td>([a-z]+)</td><td><span[^>]*>([a-z ]+)</span></td><td[^>]*>(\d*)</td>", page)
    assert {("explorer", "rejected", ""), ("liar", "sent back and corrected", "1")} <= set(rows)
    assert f'href="/jobs/{job}#correction">job {job}</a></td><td class="text">a.py:90: the file has 12 lines' in page
    assert re.search(r'href="/sessions/[^"]+#delegations">Add a voucher</a></td><td class="text">no status', page)
    assert re.search(r'<li><a href="/sessions/[^"#]+">Add a voucher</a>', page)
    listed = site.client().get("/sessions").text
    assert "Add a voucher</a>" in listed
    assert "<code>vouchers</code>" in listed


def test_a_job_that_failed_can_be_retried(site: RunningSite) -> None:
    job = add_job(site, state="finished", outcome="error", error="no key", finished="now")
    client = site.client()
    assert f"/jobs/{job}/retry" in client.get(f"/jobs/{job}").text
    assert client.post(f"/jobs/{job}/retry").status_code == 303
    assert site.rows("SELECT state FROM remit.jobs WHERE id = %s", job) == [("queued",)]


def test_a_stream_reports_changes_of_its_topics(site: RunningSite) -> None:
    job, other = add_job(site), add_job(site)
    with site.client().stream("GET", f"/live?topics=job:{job}") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event")) == "event: open"
        site.rows("UPDATE remit.jobs SET is_cancelled = true WHERE id = %s", other)
        site.rows("UPDATE remit.jobs SET is_cancelled = true WHERE id = %s", job)
        assert next(line for line in lines if line.startswith("event: changed"))
        assert next(lines) == f"data: job:{job}"


def test_the_number_of_streams_is_limited(site: RunningSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.surfaces.server.streams.MAX_STREAMS", 1)
    client = site.client()
    with client.stream("GET", "/live?topics=jobs") as stream:
        lines = stream.iter_lines()  # the stream ends with the iterator
        next(lines)
        assert client.get("/live?topics=jobs").status_code == 503


@pytest.mark.parametrize("topics", ["", "job:x", "x" * 3, ",".join(f"job:{n}" for n in range(1, 30)), "job:1;DROP"])
def test_unknown_topics_are_refused(site: RunningSite, topics: str) -> None:
    assert site.client().get("/live", params={"topics": topics}).status_code == 422
