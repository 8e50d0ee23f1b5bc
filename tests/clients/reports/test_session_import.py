"""The reports of sessions are in the ledger once, with the facts of their verdicts, also if their files are broken."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from support.fleet import Store

from remit.acceptance import judge_report
from remit.checking import Options
from remit.clients.hooks.judging import model_of
from remit.clients.hooks.results import KeptResult, keep_result
from remit.clients.hooks.session_import import entry_of, import_sessions
from remit.gate.session_store import open_session
from remit.reports.formats import check_json
from remit.store import ledger, review_queue
from remit.store.database import open_database
from remit.testing import project, result


def keep(
    folder: Path, session: str = "s1", *, text: str | None = None, outcome: str = "accepted", **about: object
) -> KeptResult:
    with open_session(str(folder), session):
        pass
    judged = judge_report(text or result("review"), Options(), project())
    return keep_result(
        str(folder),
        session,
        agent="remit:security-auditor",
        agent_id="a1",
        outcome=outcome,
        text=text or result("review"),
        check=check_json(list(judged.verdicts), str(project())),
        verdict=judged.decision,
        violations=judged.violations,
        **{"profile": "v2", "model": "claude-x", "definition": "sha256:d", "commit": "c" * 40, "findings": 2, **about},
    )


def test_an_entry_has_the_facts_of_the_verdict(tmp_path: Path) -> None:
    entry = entry_of(keep(tmp_path), "s1", "/shop")

    assert (entry.source, entry.agent, entry.verdict, entry.session) == ("hook", "security-auditor", "accept", "s1")
    assert (entry.model, entry.definition, entry.revision) == ("anthropic:claude-x", "sha256:d", "c" * 40)
    assert (entry.kind, entry.status, entry.findings, entry.claimed) == ("review", "SUCCESS", 2, 90.0)
    assert entry.claims == sum(entry.outcomes.values()) == entry.outcomes["verified"] + entry.outcomes["exists"]


def test_invented_places_are_counted(tmp_path: Path) -> None:
    text = result("review").replace("app/session.py:10", "app/nowhere.py:10")
    entry = entry_of(keep(tmp_path, text=text, outcome="rejected"), "s1", "/shop")

    assert entry.invented > 0
    assert "reference-missing-file" in entry.violations


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"results": 3, "summary": []}', '{"results": [1]}'])
def test_a_broken_check_is_an_entry_without_facts(tmp_path: Path, broken: str) -> None:
    kept = keep(tmp_path)
    Path(kept.check).write_text(broken, encoding="utf-8")
    entry = entry_of(kept, "s1", "/shop")

    assert (entry.verdict, entry.claims, entry.claimed) == ("accept", 0, None)


def test_wrong_values_in_a_check_are_ignored(tmp_path: Path) -> None:
    kept = keep(tmp_path)
    shape = {
        "summary": {"claims_by_outcome": {"verified": "many", "mismatch": -1, "outside": 10**9, "relocated": 2}},
        "results": [{"confidence": {"claimed": True, "supported": "high"}, "kind": 7}],
    }
    Path(kept.check).write_text(json.dumps(shape), encoding="utf-8")
    entry = entry_of(kept, "s1", "/shop")

    assert entry.outcomes == {"relocated": 2}
    assert (entry.claimed, entry.supported, entry.kind) == (None, None, "")


def test_sessions_are_imported_once_and_rejected_reports_are_asked(store: Store, tmp_path: Path) -> None:
    keep(tmp_path, "s1")
    keep(tmp_path, "s2", text=result("review").replace("app/session.py:10", "app/nowhere.py:10"), outcome="rejected")
    keep_result(str(tmp_path), "s2", agent="other", agent_id="a2", outcome="observed")

    async def work() -> None:
        async with open_database(store.address, Path("/")) as database:
            assert [await import_sessions(database, [str(tmp_path)], "/shop") for _ in range(2)] == [2, 0]
            assert len(await ledger.list_entries(database)) == 2
            (item,) = await review_queue.list_items(database)
            assert (item.kind, item.agents, item.session) == ("result", ["security-auditor"], "s2")
            assert "app/nowhere.py" in item.body["text"]

    asyncio.run(work())


def test_the_model_is_read_from_the_end_of_a_transcript(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    lines = [
        {"message": {"model": "claude-a"}},
        {"message": {"model": "claude-b", "content": "x" * 1000}},
        {"type": "x"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    assert model_of(str(file)) == "claude-b"
    assert model_of(str(tmp_path / "missing")) == ""
    file.write_text('{"model": "<script>"}', encoding="utf-8")
    assert model_of(str(file)) == ""
