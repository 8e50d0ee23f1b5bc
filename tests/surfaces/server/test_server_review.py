"""The review queue, the scorecards and the calibration, on pages and in the API."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from support.web import HOSTILE, RunningSite, add_job

from remit.ledger.items import ItemOpinion, NewItem
from remit.ledger.ledger_entries import LedgerEntry
from remit.ledger.scorecards import Scorecard
from remit.store import ledger, review_queue
from remit.surfaces.server.agent_pages import version_id
from remit.surfaces.server.review_pages import CodeExcerpt, read_code


def new_item(key: str, text: str = "A leak", **fields: Any) -> NewItem:
    opinion = {
        "agent": text,
        "id": text,
        "severity": "critical",
        "confidence": 90,
        "line": 2,
        "title": text,
        "details": text,
        "evidence": text,
        "flags": [text],
    }
    conflict = {"kind": "severity", "finding": text, "agents": [text], "why": text}
    values: dict[str, Any] = {
        "key": key,
        "kind": "finding",
        "rank": 1,
        "source": "plan",
        "title": text,
        "agents": ("auditor",),
        "severity": "critical",
        "category": "security",
        "path": "app/login.py",
        "line": 2,
        "confidence": 90.0,
        "body": {"finding": {"opinions": [opinion], "flags": [text]}, "conflicts": [conflict]},
        "opinions": (ItemOpinion(agent="auditor", category="security", confidence=90.0, claimed=95.0),),
        **fields,
    }
    return NewItem(**values)


def add_items(site: RunningSite, *items: NewItem) -> list[int]:
    return site.call(lambda database: review_queue.add_items(database, items))


def decision_on(page: str) -> str:
    found = re.search(r'name="decision" value="([0-9a-f-]{36})"', page)
    assert found
    return found[1]


def test_every_lock_of_an_item_is_in_the_audit_log(site: RunningSite) -> None:
    plan = 4_900
    (item,) = add_items(site, new_item("locked", plan=plan))
    page, api = site.client("reviewer", "gina"), site.bearer("reviewer", "gina")
    assert api.post("/api/v1/review/next", json={"plan": plan}).json()["item"]["id"] == item
    page.post("/review/next", data={"plan": str(plan)})
    page.get(f"/review/{item}")  # which is locked already
    page.post(f"/review/{item}/release")
    page.get(f"/review/{item}")
    logged = site.rows("SELECT action, target, outcome FROM remit.audit WHERE who = %s ORDER BY id", "gina")
    assert logged == [
        ("next", "item", f"done: item:{item}"),
        ("next", "item", f"done: item:{item}"),
        ("release", f"item:{item}", "done"),
        ("lock", f"item:{item}", "done"),
    ]
    page.post(f"/review/{item}/release")


def test_a_reviewer_decides_item_after_item_and_undoes(site: RunningSite) -> None:
    plan = 4_001
    first, second = add_items(site, new_item("a1", plan=plan), new_item("a2", plan=plan))
    client = site.client("reviewer", "ann")
    led = client.post("/review/next", data={"plan": str(plan)})
    assert led.headers["location"] == f"/review/{first}?plan={plan}"
    decision = decision_on(client.get(led.headers["location"]).text)
    form = {"plan": str(plan), "decision": decision, "verb": "reject", "note": "not a leak"}
    led = client.post(f"/review/{first}/decide", data=form)
    assert led.headers["location"] == f"/review/{second}?plan={plan}&done={decision}"
    assert f"Undo reject of item {first}" in client.get(led.headers["location"]).text
    again = client.post(f"/review/{first}/decide", data=form)  # the browser sends it twice
    assert again.status_code == 303
    stored = "SELECT verb, reviewer, note FROM remit.decisions WHERE item = %s"
    assert site.rows(stored, first) == [("reject", "ann", "not a leak")]
    undone = client.post("/review/undo", data={"decision": decision, "plan": str(plan)})
    assert undone.headers["location"] == f"/review/{first}?plan={plan}"
    assert site.rows("SELECT state FROM remit.review_items WHERE id = %s", first) == [("open",)]
    actions = site.rows("SELECT action FROM remit.audit WHERE who = 'ann' ORDER BY id")
    steps = [action for (action,) in actions]
    assert steps[0] == "next"  # also the items that a decision leads to
    assert [action for action in steps if action != "next"] == ["decide", "decide", "undo"]


def test_two_reviewers_never_get_the_same_item(site: RunningSite) -> None:
    plan = 4_002
    numbers = add_items(site, *(new_item(f"b{number}", plan=plan) for number in range(12)))
    clients = [site.client("reviewer", f"reviewer-{number}") for number in range(12)]
    with ThreadPoolExecutor(12) as pool:
        led = list(pool.map(lambda client: client.post("/review/next", data={"plan": str(plan)}), clients))
    got = [int(re.findall(r"/review/(\d+)", one.headers["location"])[0]) for one in led]
    assert sorted(got) == sorted(numbers)
    other = site.client("reviewer", "late")
    assert "reviewer-" in other.get(f"/review/{numbers[0]}").text
    assert "is deciding this item" in other.get(f"/review/{numbers[0]}").text
    form = {"decision": str(uuid4()), "verb": "confirm"}
    assert other.post(f"/review/{numbers[0]}/decide", data=form).status_code == 409
    assert "notice=none" in other.post("/review/next", data={"plan": str(plan)}).headers["location"]


def test_a_lock_is_kept_and_given_back(site: RunningSite) -> None:
    (number,) = add_items(site, new_item("c1", plan=4_003))
    one, other = site.client("reviewer", "one"), site.client("reviewer", "other")
    one.get(f"/review/{number}")
    assert one.post(f"/review/{number}/renew").status_code == 204
    assert other.post(f"/review/{number}/renew").status_code == 409
    assert one.post(f"/review/{number}/release").status_code == 204
    assert "decide" in other.get(f"/review/{number}").text


def test_a_viewer_sees_items_and_decides_none(site: RunningSite) -> None:
    (number,) = add_items(site, new_item("d1", plan=4_004))
    viewer = site.client("viewer", "vera")
    page = viewer.get(f"/review/{number}").text
    assert 'id="decide"' not in page
    assert site.rows("SELECT locked_by FROM remit.review_items WHERE id = %s", number) == [(None,)]
    form = {"decision": str(uuid4()), "verb": "confirm"}
    assert viewer.post(f"/review/{number}/decide", data=form).status_code == 403
    assert "notice=none" in viewer.post("/review/next").headers["location"]


@pytest.mark.parametrize("kind", ["finding", "conflict", "result"])
def test_every_text_of_an_item_is_escaped(site: RunningSite, kind: str) -> None:
    body = {"result": {"agent": HOSTILE, "status": HOSTILE, "verdict": HOSTILE}, "why": HOSTILE, "text": HOSTILE}
    fields: dict[str, Any] = {"kind": kind, "agents": (HOSTILE,), "category": HOSTILE, "path": HOSTILE, "plan": 4_005}
    if kind == "result":
        fields["body"] = body
    (number,) = add_items(site, new_item(f"e-{kind}", HOSTILE, revision=HOSTILE, project=HOSTILE, **fields))
    client = site.client("reviewer", "x")
    for path in (f"/review/{number}", "/review?plan=4005", f"/review?category={HOSTILE[:50]}"):
        page = client.get(path).text
        assert "<script>window" not in page
        assert "<img" not in page
        assert "\u202e" not in page
    form = {"decision": decision_on(client.get(f"/review/{number}").text), "verb": "unsure", "note": HOSTILE}
    client.post(f"/review/{number}/decide", data=form)
    assert "<script>window" not in client.get("/review").text


@pytest.mark.parametrize("verb", ["", "approve", "CONFIRM"])
def test_an_unknown_decision_is_refused(site: RunningSite, verb: str) -> None:
    (number,) = add_items(site, new_item("f1", plan=4_006))
    form = {"decision": str(uuid4()), "verb": verb}
    assert site.client("reviewer", "y").post(f"/review/{number}/decide", data=form).status_code == 422


def test_the_code_is_that_of_the_commit(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\nthree\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True).stdout.decode()
    file.write_text("changed\n")
    (tmp_path / "secret.txt").write_text("not in the commit")

    def code(path: str = "a.py", project: str = str(tmp_path), revision: str = "", own: str = "/") -> CodeExcerpt:
        return read_code(stored_item(path=path, project=project, revision=revision), Path(own))

    assert code(revision=head.strip()).lines == ("one", "two", "three")
    assert code().lines == ("one", "two", "three")
    assert "no such" in code("secret.txt").problem
    assert "no such" in code("../../etc/passwd").problem
    assert "does not have the commit" in code(revision="f" * 40).problem
    assert "not on the host" in code(project="/nowhere").problem
    assert "not on the host" in code(project="").problem
    assert "not about one file" in code("").problem


def test_files_on_disk_are_read_in_the_folder_of_the_server_only(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/a.py").write_text("one\n")
    item = stored_item(path="a.py", project=str(tmp_path / "shop"))
    assert read_code(item, tmp_path).lines == ("one",)
    assert "does not have the commit" in read_code(item, tmp_path / "other").problem


def stored_item(**fields: Any) -> review_queue.ReviewItem:
    names = review_queue.ReviewItem.__struct_fields__
    values = {**dict.fromkeys(names), "body": {}, "line": 2, **fields}
    return review_queue.ReviewItem(**values)


def test_a_rejected_finding_is_dismissed_in_its_checkout(site: RunningSite, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text("one\ntwo\n")
    finding = {
        "id": "SEC-001",
        "path": "a.py",
        "line": 1,
        "end_line": None,
        "category": "security",
        "severity": "minor",
        "title": "t",
        "confidence": 90,
        "max": 90,
        "mean": 90,
        "agreement": 1.0,
        "agents": ["auditor"],
        "opinions": [],
        "verified": True,
        "flags": [],
        "fingerprint": "f" * 16,
    }
    item = new_item(
        "g1", project=str(tmp_path), fingerprint="f" * 16, path="a.py", body={"finding": finding}, plan=4_007
    )
    (number,) = add_items(site, item)
    client = site.client("reviewer", "dora")
    decision = decision_on(client.get(f"/review/{number}").text)
    client.post(f"/review/{number}/decide", data={"decision": decision, "verb": "reject", "note": "fine here"})
    files = [file for file in tmp_path.iterdir() if "dismissals" in file.name]
    assert len(files) == 1
    assert "fine here" in files[0].read_text()
    client.post("/review/undo", data={"decision": decision})
    assert "fine here" not in files[0].read_text()


def test_the_api_decides_once_for_an_id(site: RunningSite) -> None:
    (number,) = add_items(site, new_item("h1", plan=4_008))
    api = site.bearer("reviewer", "bot")
    assert api.get("/api/v1/review", params={"path": "app/", "limit": 1}).json()["items"]
    got = api.post("/api/v1/review/next", json={"plan": 4008}).json()["item"]
    assert (got["id"], got["locked_by"]) == (number, "bot")
    body = {"id": str(uuid4()), "verb": "confirm", "note": "seen"}
    first = api.post(f"/api/v1/review/{number}/decide", json=body)
    second = api.post(f"/api/v1/review/{number}/decide", json=body)
    assert (first.json()["is_repeated"], second.json()["is_repeated"]) == (False, True)
    filters = {"plan": "4008", "state": "confirmed"}
    led = site.client("reviewer", "bot").post("/review/next", data=filters)
    assert "notice=none" in led.headers["location"]  # what is decided is not handed out again
    other = site.bearer("reviewer", "bot2").post(f"/api/v1/review/{number}/decide", json={**body, "id": str(uuid4())})
    assert other.status_code == 409
    assert api.post(f"/api/v1/review/decisions/{body['id']}/undo").json()["undone"]
    assert api.get(f"/api/v1/review/{number}").json()["item"]["state"] == "open"
    assert api.post("/api/v1/review/decisions/not-a-uuid/undo").status_code == 422


def test_the_ledger_is_listed_by_page(site: RunningSite) -> None:
    entries = [LedgerEntry(key=f"l{number}", source="check", agent="lister") for number in range(3)]
    site.call(lambda database: ledger.record(database, entries))
    api = site.bearer("viewer")
    first = api.get("/api/v1/ledger", params={"agent": "lister", "limit": 2}).json()["entries"]
    rest = api.get("/api/v1/ledger", params={"agent": "lister", "before": first[-1]["id"]}).json()["entries"]
    assert [one["key"] for one in (*first, *rest)] == ["l2", "l1", "l0"]
    assert api.get("/api/v1/ledger", params={"job": "x"}).status_code == 422


def test_scorecards_show_versions_and_compare_two(site: RunningSite) -> None:
    old = {"agent": "scored", "definition": "sha256:aaaa", "model": "m:one", "source": "job", "claims": 10}
    entries = [
        LedgerEntry(key=f"s{number}", verdict="accept" if number % 2 else "revise", claimed=90, supported=70, **old)  # type: ignore[arg-type]
        for number in range(10)
    ]
    new = {**old, "definition": "sha256:bbbb"}
    entries += [LedgerEntry(key=f"t{number}", verdict="accept", cost=0.5, **new) for number in range(10)]  # type: ignore[arg-type]
    entries.append(
        LedgerEntry(key="u", verdict="accept", agent=HOSTILE, model=HOSTILE, definition=HOSTILE, source="job")
    )
    site.call(lambda database: ledger.record(database, entries))
    client = site.client("viewer")
    page = client.get("/agents").text
    assert "50.0%" in page
    assert "90 → 70" in page
    assert "<script>window" not in page
    assert "\u202e" not in page
    values = {
        name: version_id(Scorecard(agent="scored", definition=f"sha256:{letter * 4}", model="m:one"))
        for name, letter in (("one", "a"), ("other", "b"))
    }
    compared = client.get("/agents/compare", params=values).text
    assert "accepted at first try" in compared
    assert "better" in compared
    assert client.get("/agents/compare", params={"one": "x", "other": "y"}).status_code == 404


def test_the_calibration_has_no_curve_under_fifty_decisions(site: RunningSite) -> None:
    client = site.client("viewer")
    page = client.get("/calibration?agent=calibrated").text
    assert "a curve needs at least 50" in page
    numbers = add_items(
        site,
        *(
            new_item(
                f"k{number}",
                plan=4_009,
                opinions=(ItemOpinion(agent="calibrated", confidence=float(number), claimed=float(number)),),
            )
            for number in range(40, 100)
        ),
    )

    async def decide_all(database: Any) -> None:
        for position, number in enumerate(numbers):
            verb = "confirm" if position > 25 else "reject"
            await review_queue.decide(database, uuid4(), number, verb, "cal")

    site.call(decide_all)
    page = client.get("/calibration?agent=calibrated").text
    assert 'class="curve"' in page
    assert "not recalibrated under 200" in page
    assert "Brier score" in page
    assert client.get(f"/calibration?agent={HOSTILE[:80]}").text.count("<script>window") == 0


def test_the_overview_counts_what_waits_for_review(site: RunningSite) -> None:
    add_job(site)
    add_items(site, new_item("z1", plan=4_010))
    waiting = site.rows("SELECT count(*) FROM remit.review_items WHERE state = 'open'")[0][0]
    assert f"<b>{waiting}</b> to review" in site.client("viewer").get("/").text


def test_items_have_a_stable_shape() -> None:
    assert msgspec.json.schema(review_queue.ReviewItem)
