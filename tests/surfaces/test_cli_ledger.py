"""`--record` stores each verdict once, and the ledger's commands show what was stored."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from support.fleet import Store

from remit.store import review_queue
from remit.store.database import open_database
from remit.surfaces.cli import main
from remit.testing import project, result

Run = Callable[..., tuple[int, str, str]]
FAULTY = ("app/session.py:10", "app/session.py:900")


@pytest.fixture
def run(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a copy of the sample project, with a database."""
    for source in (one for one in project().rglob("*") if one.is_file() and one.suffix in (".py", ".md")):
        target = tmp_path / source.relative_to(project())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    (tmp_path / "review.md").write_text(result("review"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMIT_DATABASE_URL", store.address)

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["remit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return command


async def decide_all(address: str, verb: review_queue.Verb) -> int:
    async with open_database(address, Path("/")) as database:
        items = await review_queue.list_items(database)
        for item in items:
            await review_queue.decide(database, uuid4(), item.id, verb, "Ada")
        return len(items)


def test_a_document_is_recorded_once_by_any_command(run: Run, store: Store) -> None:
    assert run("check", "review.md", "--record")[2] == "recorded: 1 new entry in the ledger\n"
    assert run("check", "review.md", "--record")[2] == "recorded: 0 new entries in the ledger\n"
    code, _, err = run("merge", "review.md", "--record")

    assert code == 0
    assert err == "recorded: 1 new entry in the ledger, 2 open review items\n", "the merge itself is new"
    rows = store.rows("SELECT source, agent, verdict, kind, claims, findings FROM remit.ledger ORDER BY id")
    assert [(row["source"], row["agent"], row["verdict"]) for row in rows] == [
        ("check", "security-auditor", "accept"),
        ("merge", "", "continue"),
    ]
    assert (rows[0]["kind"], rows[0]["claims"], rows[0]["findings"]) == ("review", 6, 2)


def test_a_command_without_the_flag_records_nothing(run: Run, store: Store) -> None:
    run("check", "review.md")
    run("merge", "review.md")

    assert store.rows("SELECT 1 FROM remit.ledger") == []


def test_any_text_can_be_recorded(run: Run, store: Store, tmp_path: Path) -> None:
    (tmp_path / "audit.md").write_text("The token is made in app/session.py:10 and app/nowhere.py:3.", encoding="utf-8")

    assert run("verify", "audit.md", "--record")[0] == 1
    row = store.row("SELECT source, verdict, claims, invented, outcomes FROM remit.ledger")
    assert (row["source"], row["claims"], row["invented"]) == ("verify", 2, 1)
    assert row["outcomes"] == {"exists": 1, "missing-file": 1}


def test_the_export_has_verdicts_and_decided_opinions(run: Run, store: Store, tmp_path: Path) -> None:
    run("merge", "review.md", "--record")
    assert asyncio.run(decide_all(store.address, "confirm")) == 2
    code, _, err = run("ledger", "export", "--output", "ledger.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text("utf-8").splitlines()]

    assert (code, err) == (0, "4 lines written to ledger.jsonl\n")
    assert [(line["schema"], line["type"]) for line in lines] == [
        *[("remit.ledger/1", "verdict")] * 2,
        *[("remit.ledger/1", "opinion")] * 2,
    ]
    assert (
        run("ledger", "weights", "--format", "json")[1]
        == run("ledger", "weights", "--from", "ledger.jsonl", "--format", "json")[1]
    ), "the weights can be reproduced from the export"
    shown = run("ledger", "calibration", "--from", "ledger.jsonl")[1]
    assert "2 decisions, 100 % confirmed" in shown
    assert "a curve needs at least 50" in shown


def test_learned_weights_are_explained_in_the_report(run: Run, store: Store, tmp_path: Path) -> None:
    run("merge", "review.md", "--record")
    asyncio.run(decide_all(store.address, "reject"))
    (tmp_path / "remit.toml").write_text('[merge]\nweights = "learned"\npolicy = "learned"\n', encoding="utf-8")
    code, out, _ = run("merge", "review.md")
    shape = json.loads(run("merge", "review.md", "--format", "json")[1])

    assert code == 0
    assert "Learned Weights" in out
    assert "0 of 2 confirmed" in out
    assert shape["learned"]["decisions"] == 2
    assert [one["agent"] for one in shape["learned"]["weights"] if not one["category"]] == ["security-auditor"]
    (tmp_path / "remit.toml").unlink()
    assert "learned" not in json.loads(run("merge", "review.md", "--format", "json")[1])


def test_scorecards_and_their_comparison_are_printed(run: Run, store: Store, tmp_path: Path) -> None:
    run("check", "review.md", "--record")
    (tmp_path / "faulty.md").write_text(result("review").replace(*FAULTY), encoding="utf-8")
    run("check", "faulty.md", "--record")
    store.rows("UPDATE remit.ledger SET definition = 'sha256:abc' WHERE verdict <> 'accept'")
    out = run("ledger", "cards")[1]
    shape = json.loads(run("ledger", "cards", "--format", "json")[1])

    assert out.count("security-auditor") == 2
    assert [card["sums"]["results"] for card in shape["scorecards"]] == [1, 1]
    assert sorted(card["first_try_rate"] for card in shape["scorecards"]) == [0.0, 1.0]
    compared = run("ledger", "cards", "security-auditor", "--compare")[1]
    assert "accepted at first try" in compared
    assert run("ledger", "cards", "--compare")[0] == 2


def test_a_calibration_is_written_as_a_picture_and_as_json(run: Run, tmp_path: Path) -> None:
    assert run("ledger", "calibration", "--format", "svg", "--output", "c.svg")[0] == 0
    assert (tmp_path / "c.svg").read_text("utf-8").startswith("<svg ")
    assert json.loads(run("ledger", "calibration", "--format", "json")[1])["schema"] == "remit.calibration/1"
    assert run("ledger", "calibration", "--output", "c.txt")[0] == 0
    assert "a curve needs at least 50" in (tmp_path / "c.txt").read_text("utf-8")


def test_a_file_that_is_not_an_export_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"type":"opinion","item":"no"}\n', encoding="utf-8")

    assert run("ledger", "weights", "--from", "x.jsonl")[0] == 2
    assert run("ledger", "weights", "--from", "missing.jsonl")[0] == 2


def test_importing_without_sessions_adds_nothing(run: Run) -> None:
    assert run("ledger", "import")[1] == "0 new entries in the ledger\n"
