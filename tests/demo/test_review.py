"""`remit demo` plays its recording through real jobs, tools, checks and merges, and believes what is true of it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from support.model_process import RemoteServer
from support.postgres import Postgres

from remit.demo.demo_review import DemoResult, copy_shop, demo_lines, examples, recordings
from remit.demo.recorded_model import MODEL, RecordedTurn, Recording, find_turn, recorded_model
from remit.dispatch.worker_settings import load_settings
from remit.orchestrate.review_team import REVIEWERS
from remit.reports.layout import plain_lines
from remit.store.database import open_database
from remit.surfaces.cli.playing import review_shop

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
#: The defects of the shop: the same as in the documentation of the examples.
DEFECTS = {
    "shop/account.py:58": "critical",
    "shop/auth.py:64": "critical",
    "shop/catalog.py:63": "critical",
    "shop/orders.py:32": "critical",
    "shop/payments.py:40": "critical",
    "shop/catalog.py:31": "important",
    "shop/html.py:31": "important",
    "shop/catalog.py:51": "minor",
    "shop/payments.py:51": "minor",
}


def play(address: str, root: Path) -> DemoResult:
    """Play the recording on a copy of the shop."""

    async def work() -> DemoResult:
        settings = load_settings(start=root)._replace(
            database=address, state=root.parent / "data", texts=root.parent / "data"
        )
        async with open_database(address, settings.state) as database:
            _, result = await review_shop(database, settings, root, MODEL)
        assert result is not None
        return result

    with recorded_model(recordings()):
        return asyncio.run(work())


@pytest.fixture(scope="module")
def played(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoResult]:
    root = tmp_path_factory.mktemp("played") / "shop"
    copy_shop(examples() / "shop", root)
    with postgres.temporary_database() as address:
        yield play(address, root)


def test_the_report_has_the_defects_of_the_shop_with_their_severities(played: DemoResult) -> None:
    merged = played.merge

    assert {f"{one.path}:{one.line}": one.severity for one in merged.findings} == DEFECTS
    assert all(one.verified for one in merged.findings)


def test_an_invented_line_and_test_run_are_sent_back_once_and_corrected(played: DemoResult) -> None:
    assert {(one.agent, one.submission, one.rule, one.message) for one in played.false} == {
        ("qa-engineer", 1, "test-run-unseen", '"42 passed in 0.61s": no tests ran in this session'),
        ("qa-engineer", 1, "reference-out-of-range", "shop/orders.py:118: the file has 78 lines"),
    }
    subagents = {one.agent: (one.state, one.corrections) for one in played.reviewers}
    assert subagents == {name: ("accepted", int(name == "qa-engineer")) for name in REVIEWERS}


def test_two_subagents_contradict_each_other(played: DemoResult) -> None:
    conflicts = {(one.kind, one.finding): one.agents for one in played.merge.conflicts}

    assert conflicts["compliance", "OWASP A01 Broken Access Control"] == ("qa-engineer", "security-auditor")
    sql = next(one for one in played.merge.findings if one.path == "shop/catalog.py" and one.line == 63)
    assert sql.agents == ("security-auditor",)


def test_the_outcome_is_one_screen_that_states_that_the_model_is_recorded(played: DemoResult) -> None:
    text = plain_lines(demo_lines(played, Path(".remit/demo/report.html"), 80))
    lines = text.split("\n")

    assert len(lines) <= 32
    assert max(map(len, lines)) <= 80
    assert lines[0] == "A recorded model reviewed an example shop; everything else is real."
    for part in ("42 passed in 0.61s", "shop/orders.py:118", "OWASP A01", "audit", "verify YOUR.md"):
        assert part in text
    assert all(place in text for place in DEFECTS)
    assert "…" not in text


def test_the_picture_of_the_readme_is_what_the_command_prints(played: DemoResult) -> None:
    source = spec_from_file_location("demo_picture", ROOT / "tools/demo_picture.py")
    assert source is not None
    assert source.loader is not None
    tool = module_from_spec(source)
    source.loader.exec_module(tool)

    assert tool.picture(played) == tool.PICTURE.read_text(encoding="utf-8"), "run tools/demo_picture.py"


def test_a_narrow_screen_keeps_every_location_and_title(played: DemoResult) -> None:
    lines = plain_lines(demo_lines(played, Path("report.html"), 44)).split("\n")

    assert all(any(line.endswith(place) for line in lines) for place in DEFECTS)
    words = " ".join(" ".join(lines).split())
    assert all(finding.title in words for finding in played.merge.findings)


def test_changed_code_makes_the_recorded_findings_about_it_false(postgres: Postgres, tmp_path: Path) -> None:
    source = tmp_path / "source"
    copy_shop(examples() / "shop", source)
    catalog = source / "shop/catalog.py"
    text = catalog.read_text(encoding="utf-8")
    pasted = re.search(r' {8}f"SELECT .*\n.*\n', text)
    assert pasted
    catalog.write_text(text.replace(pasted[0], "        SEARCH, {\n            'text': text}\n"), encoding="utf-8")
    copy_shop(source, tmp_path / "shop")
    with postgres.temporary_database() as address:
        result = play(address, tmp_path / "shop")

    auditor = next(one for one in result.reviewers if one.agent == "security-auditor")
    assert (auditor.state, auditor.corrections) == ("rejected", 1)
    about = [one for one in result.false if one.agent == "security-auditor"]
    assert {(one.rule, one.submission) for one in about} == {("quote-mismatch", 1), ("quote-mismatch", 2)}
    assert all("shop/catalog.py:63" in one.message for one in about)
    about_sql = [one for one in result.merge.findings if one.title == "Search text is pasted into SQL"]
    assert not any(one.verified for one in about_sql)
    lines = plain_lines(demo_lines(result, Path("report.html"), 80))
    assert "the report of security-auditor was not accepted" in " ".join(lines.split())


def test_the_command_writes_a_report_and_needs_no_key_and_no_database(tmp_path: Path) -> None:
    kept = ("PATH", "HOME", "LANG")
    own = {"COLUMNS": "80", "REMIT_STATE": str(tmp_path / "state")}
    variables = {name: os.environ[name] for name in kept if name in os.environ} | own
    command = [sys.executable, "-m", "remit", "demo"]
    done = subprocess.run(
        command, cwd=tmp_path, env=variables | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "model: recorded, because no key for anthropic is set" in done.stderr
    assert "qa-engineer sent back" in done.stderr
    report = tmp_path / re.findall(r"^report +(\S+)$", done.stdout, re.MULTILINE)[0]
    assert "Search text is pasted into SQL" in report.read_text(encoding="utf-8")
    assert (tmp_path / "state/demo/shop/shop/catalog.py").is_file()


def test_with_a_key_the_model_of_the_provider_is_asked(
    tmp_path: Path, model: Callable[[dict[str, Any]], RemoteServer]
) -> None:
    turns = {
        one.task: [
            {"text": turn.text, "tools": [{"name": call.tool, "input": call.input} for call in turn.calls]}
            for turn in one.turns
        ]
        for one in recordings()
    }
    server = model({"conversations": turns})
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    key = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": server.url, "PYTHONPATH": str(ROOT / "src")}
    key["REMIT_STATE"] = str(tmp_path / "state")
    command = [sys.executable, "-m", "remit", "demo"]
    done = subprocess.run(command, cwd=tmp_path, env=kept | key, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("model: anthropic:claude-"), done.stderr
    assert "recorded" not in done.stdout
    assert "qa-engineer was sent back" in done.stdout
    assert {request["body"]["model"] for request in server.requests} >= {"claude-sonnet-5-5"}


def test_a_request_is_answered_by_the_conversation_of_its_task_and_the_last_answer_is_repeated() -> None:
    turns = (RecordedTurn(text="first"), RecordedTurn(text="second"))
    recorded = [Recording("a", "another task", ()), Recording("b", "look at the cart", turns)]

    def asked(task: str, answers: int) -> str | None:
        said = [{"role": "assistant", "content": "…"}, {"role": "user", "content": "again"}]
        content = [{"type": "text", "text": f"{task}, please"}]
        found = find_turn(recorded, {"messages": [{"role": "user", "content": content}, *(answers * said)]})
        return found.text if found else None

    assert [asked("look at the cart", number) for number in range(3)] == ["first", "second", "second"]
    assert asked("look at the orders", 0) is None
    assert find_turn(recorded, {}) is None


def test_the_environment_is_as_before_when_the_recorded_model_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "example.com")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    before = dict(os.environ)

    with recorded_model(()):
        assert os.environ["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
        assert os.environ["NO_PROXY"] == "example.com,127.0.0.1"

    assert dict(os.environ) == before


def test_a_wheel_has_what_the_command_replays() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    included = built["wheel"]["force-include"]

    assert included == {f"examples/{name}": f"remit/demo/examples/{name}" for name in ("shop", "recorded")}
    assert len(recordings()) == len(REVIEWERS)
