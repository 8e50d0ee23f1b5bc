"""`remit review`, the main job: offline on the example shop, and with a scripted model and the analysers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import CommandLine, Ran
from support.model_process import model_process

from remit.store.server import EmbeddedServer

ROOT = Path(__file__).resolve().parents[2]
SQL, RANDOM = "B608", "B311"


class Shop:
    """A checkout of the example, with the command in it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "examples" / "shop", folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        self.git("init", "-q")
        self.commit("begin")
        self._command = CommandLine(folder, {"REMIT_TAKEOVER_SECONDS": "1.5", **environment})

    def git(self, *words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def remit(self, *words: str, **environment: str) -> Ran:
        return self._command(*words, env=environment)

    @property
    def reports(self) -> Path:
        return self.folder / ".remit" / "reports"


@pytest.fixture
def shop(tmp_path: Path, address: str) -> Shop:
    return Shop(tmp_path / "shop", REMIT_DATABASE_URL=address)


@pytest.fixture
def embedded_shop(tmp_path: Path) -> Iterator[Shop]:
    """A shop with nothing but the embedded database."""
    made = Shop(tmp_path / "shop")
    yield made
    server = EmbeddedServer(made.folder / ".remit" / "postgres")
    if server.is_listening():
        server.open()
        server.close()


def titles(merged: dict[str, Any]) -> list[str]:
    return [f"{one['path']}:{one['line']} {one['title'][:4]}" for one in merged["findings"]]


def test_offline_the_analysers_find_the_bugs_and_the_report_is_written(embedded_shop: Shop) -> None:
    shop = embedded_shop
    ran = shop.remit("review")
    assert ran.code == 0
    lines, first, second, *_ = ran.err.split("\n")
    assert lines == "reviewed: all lines"
    assert first == "reviewers: ruff, bandit, secret-scan"
    assert second.startswith("no subagents: no key for anthropic is set (ANTHROPIC_API_KEY); ")
    assert "set a key, or `model` in your configuration" in second
    assert all(len(line) <= 80 for line in ran.out.split("\n"))
    assert "shop/catalog.py:63" in ran.out
    assert "shop/auth.py:64" in ran.out
    assert sorted(path.name for path in shop.reports.iterdir()) == ["review-1.html", "review-1.json", "review-1.md"]
    merged = json.loads((shop.reports / "review-1.json").read_text(encoding="utf-8"))
    assert merged["schema"] == "remit.merge/1"
    assert {f"shop/catalog.py:63 {SQL}", f"shop/auth.py:64 {RANDOM}"} <= set(titles(merged))
    assert all(one["verified"] for one in merged["findings"])
    severities = {one["title"][:4]: one["severity"] for one in merged["findings"]}
    assert (severities[SQL], severities[RANDOM]) == ("critical", "important")
    assert f"recorded: {len(merged['findings'])} open review items" in ran.err, "they are in the review queue"
    assert "SQL injection" in (shop.reports / "review-1.html").read_text(encoding="utf-8")
    check = shop.remit("check", str(shop.reports / "review-1.md"), "--format", "json")
    assert (check.code, json.loads(check.out)["results"][0]["verdict"]) == (0, "accept"), check.out

    jobs = json.loads(shop.remit("jobs", "list", "--format", "json").out)["jobs"]
    assert sorted((one["agent"], one["outcome"], one["verdict"]) for one in jobs) == [
        ("bandit", "completed", "accept"),
        ("ruff", "completed", "accept"),
        ("secret-scan", "completed", "accept"),
    ]
    assert shop.git("status", "--porcelain") == "", "nothing of it is left in the checkout"

    again = shop.remit("review", "--format", "json", "--fail-on", "minor", "--agents", "bandit")
    assert again.code == 1
    assert again.err.startswith("reviewed: all lines\nreviewers: bandit\n")
    assert [one["agent"] for one in json.loads(again.out)["agents"]] == ["bandit"]
    assert shop.remit("review", "--fail-on", "critical", "--agents", "ruff", "--format", "markdown").code == 0


def write(shop: Shop, files: dict[str, str]) -> None:
    """Replace the files of the checkout."""
    for path in [one for one in shop.folder.iterdir() if one.name != ".git"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in files.items():
        path = shop.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shop.commit("other files")


#: Its package has no program for Linux on ARM.
PROGRAMS = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
HAS_SHELLCHECK = shutil.which("shellcheck", path=PROGRAMS) is not None

POLYGLOT = {
    "web/app.js": "let total = 1\nif (total = 2) { debugger }\nexport default total\n",
    "bin/run.sh": "#!/bin/sh\nrm -rf $1/*\n",
    "Dockerfile": "FROM ubuntu:latest\nUSER root\n",
    ".github/workflows/ci.yml": "on: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
    "      - run: echo ${{ github.event.issue.title }}\n",
    "settings.ini": 'password = "hunter2-' + 'x7Kq9"\n',
    "server/main.go": "package main\n\nfunc main() {}\n",
    "README.md": "# Shop\n",
}


def test_every_language_has_its_analyser_and_the_report_names_what_was_not_read(shop: Shop) -> None:
    write(shop, POLYGLOT)
    ran = shop.remit("review", "--format", "json")
    assert ran.code == 0, ran.err
    merged = json.loads(ran.out)
    shell = {"shellcheck"} if HAS_SHELLCHECK else set[str]()
    assert {one["agent"] for one in merged["agents"]} == {"oxlint", "hadolint", "zizmor", "secret-scan", *shell}
    found = {one["path"] for one in merged["findings"]}
    assert {"web/app.js", "Dockerfile", ".github/workflows/ci.yml", "settings.ini"} <= found
    assert ("bin/run.sh" in found) == HAS_SHELLCHECK
    coverage = {one["language"]: one for one in merged["coverage"]}
    assert coverage["JavaScript"] == {
        "language": "JavaScript",
        "files": 1,
        "read_by": {"oxlint": 1},
        "unread": 0,
        "searched_by": {"secret-scan": 1},
    }
    assert (coverage["Go"]["files"], coverage["Go"]["unread"]) == (1, 1), "a search for keys is not a review"
    some = shop.remit("review", "--agents", "oxlint,hadolint")
    text = some.out
    assert text.startswith("run PARTIAL · decision review: "), text
    assert "review: run PARTIAL · decision review" in some.err, "the progress and the report state the same"
    assert "run SUCCESS" not in some.err
    assert "files not reviewed: 1 Go, 1 Shell, 1 YAML" in " ".join(text.split())
    assert "Go: 1 file, none reviewed" in text
    for name in ("md", "html"):
        assert "none reviewed" in (shop.reports / f"review-2.{name}").read_text(encoding="utf-8")
    sarif = json.loads(shop.remit("merge", str(shop.reports / "review-2.json"), "--format", "sarif").out)
    notes = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert any("Go: 1 file, none reviewed" in note["message"]["text"] for note in notes)


@pytest.mark.parametrize(
    "files", [{"main.go": "package main\n"}, {"README.md": "# Nothing\n"}], ids=["no-analyser", "no-code"]
)
def test_a_review_in_which_nothing_was_read_is_not_a_success(shop: Shop, files: dict[str, str]) -> None:
    write(shop, files)
    ran = shop.remit("review")
    assert ran.code == 1
    assert ran.out.startswith("run FAILED · decision review: NOT REVIEWED: no reviewer could read")
    assert "1 file, none reviewed; only searched for secrets by secret-scan" in " ".join(ran.out.split())
    assert "No issues" not in ran.out
    assert "review: run FAILED · decision review" in ran.err, "the progress and the report state the same"
    assert "SUCCESS" not in ran.err


def test_a_folder_without_files_is_named_as_such(shop: Shop) -> None:
    (shop.folder / "empty").mkdir()
    ran = shop.remit("review", "empty")
    assert ran.code == 1
    assert ran.out.startswith("run FAILED · decision review: NOT REVIEWED: there is no file to review")
    assert "name a folder with code: remit review PATH" in " ".join(ran.out.split())
    assert "retry" not in ran.out


def test_a_review_is_written_to_a_file_in_any_format(shop: Shop) -> None:
    ran = shop.remit("review", "--agents", "ruff", "--format", "html", "--output", "report.html")
    assert (ran.code, ran.out) == (0, "")
    assert "written to report.html" in ran.err
    assert (shop.folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_list_of_reviewers_states_why_some_do_not_apply(shop: Shop) -> None:
    ran = shop.remit("review", "--list")
    rows = {line.split()[0]: line.split(None, 2)[1:] for line in ran.out.splitlines()}
    assert rows["bandit"][0] == "yes"
    assert rows["oxlint"] == ["no", "no files for it"]
    assert rows["subagents"][0] == "no"
    assert not shop.reports.exists()
    unused = [name for name, (answer, why) in rows.items() if answer == "no" and why != "no files for it"]
    line = next(
        line for line in shop.remit("review", "--agents", "ruff").err.splitlines() if line.startswith("not used")
    )
    assert all(f"{name} (" in line for name in unused if name != "subagents")
    refused = shop.remit("review", "--agents", "oxlint")
    assert (refused.code, "oxlint cannot review here: no files for it" in refused.err) == (2, True)


def test_settings_of_the_checkout_cannot_make_an_analyser_change_it(shop: Shop) -> None:
    write(shop, {"ruff.toml": "fix = true\nunsafe-fixes = true\n", "app.py": "import os\n\n\ndef f():\n    pass\n"})
    ran = shop.remit("review", "--style", "--format", "json", "--agents", "ruff", "--threshold", "0")
    assert shop.git("status", "--porcelain", "app.py") == ""
    assert [one["title"][:4] for one in json.loads(ran.out)["findings"]] == ["F401"]


def test_an_analyser_that_fails_is_a_failed_agent(shop: Shop) -> None:
    (shop.folder / "ruff.toml").write_text("nonsense = [\n", encoding="utf-8")
    ran = shop.remit("review", "--format", "json", "--agents", "ruff,bandit")
    merged = json.loads(ran.out)
    states = {one["agent"]: one["status"] for one in merged["agents"]}
    assert (states["bandit"], states["ruff"]) == ("SUCCESS", "FAILED")
    assert "TOML parse error" in json.dumps(merged["sections"]["errors"]) + ran.err


def test_a_review_whose_reviewers_all_fail_is_a_report_and_the_next_one_is_new(shop: Shop) -> None:
    (shop.folder / "ruff.toml").write_text("nonsense = [\n", encoding="utf-8")
    ran = shop.remit("review", "--agents", "ruff")
    assert ran.code == 1
    assert ran.out.startswith("run FAILED · decision retry: NOT REVIEWED: ruff failed, and no other")
    text = " ".join(ran.out.split())
    first = text.partition(" Agents ")[0]
    assert "could read a file; it ended with error: exit code 2: " in first, "the cause is in the first line"
    assert "TOML parse error" in text
    assert "1. See what it wrote: `remit jobs logs 1` 2. Remove the cause, and run it again" in text
    assert "Python: 23 files, none reviewed" in text
    assert "remit plan answer" not in ran.out + ran.err
    check = shop.remit("check", str(shop.reports / "review-1.md"), "--format", "json")
    assert json.loads(check.out)["results"][0]["verdict"] == "accept", check.out

    again = shop.remit("review", "--agents", "ruff", "--format", "json", "--output", "report.json")
    assert (again.code, again.out) == (1, "")
    merged = json.loads((shop.folder / "report.json").read_text(encoding="utf-8"))
    assert (merged["status"], merged["decision"]) == ("FAILED", "retry")
    assert merged["sections"]["errors"][0]["recovery_options"][0] == "See what it wrote: `remit jobs logs 2`"
    (shop.folder / "ruff.toml").unlink()
    assert shop.remit("review", "--agents", "ruff").code == 0


def test_only_what_changed(shop: Shop) -> None:
    path = shop.folder / "shop" / "mail.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text + "\n\ndef hashed(text):\n    import subprocess\n    subprocess.call(text, shell=True)\n", "utf-8"
    )
    shop.commit("worse")
    ran = shop.remit("review", "--changed-since", "HEAD~1", "--format", "json", "--agents", "bandit")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)["findings"]
    assert found
    assert {one["path"] for one in found} == {"shop/mail.py"}
    wrong = shop.remit("review", "--changed-since", "nothing")
    assert wrong.code == 2
    assert "has no commit 'nothing'" in wrong.err
    assert "begins" not in wrong.err, "said before the work, not after it"
    inner = shop.remit("review", "shop/auth.py", "--format", "json", "--agents", "bandit")
    assert {one["path"] for one in json.loads(inner.out)["findings"]} == {"shop/auth.py"}


def test_a_review_of_changes_counts_only_the_changed_files(shop: Shop) -> None:
    files = {f"tools/part{number}.go": "package tools\n" for number in range(9)}
    write(shop, files)
    write(shop, {**files, "shop/added.py": "def total() -> int:\n    return 1\n"})
    words = ("review", "--format", "json", "--agents", "ruff")
    whole = json.loads(shop.remit(*words, "--all").out)
    assert (whole["status"], whole["decision"]) == ("PARTIAL", "review")
    changed = json.loads(shop.remit(*words, "--changed-since", "HEAD~1").out)
    assert (changed["status"], changed["decision"]) == ("SUCCESS", "continue")
    assert [(one["language"], one["files"], one["unread"]) for one in changed["coverage"]] == [("Python", 1, 0)]


def test_on_a_branch_the_changed_lines_are_reviewed_and_the_first_line_states_it(shop: Shop) -> None:
    main = shop.git("branch", "--show-current").strip()
    shop.git("switch", "-qc", "change")
    (shop.folder / "committed.py").write_text("import os\nimport json\nassert os.getcwd is 'x'\n", encoding="utf-8")
    shop.commit("change")
    words = ("review", "--format", "json", "--agents", "ruff,bandit")
    ran = shop.remit(*words)
    assert ran.err.startswith(f"reviewed: lines changed since {main} (1 file); all lines: remit review --all\n")
    assert {one["path"] for one in json.loads(ran.out)["findings"]} == {"committed.py"}
    (shop.folder / "new.py").write_text("print(undefined)\n", encoding="utf-8")
    ran = shop.remit(*words)
    assert {one["path"] for one in json.loads(ran.out)["findings"]} == {"committed.py", "new.py"}
    ran = shop.remit(*words, "--all")
    assert ran.err.startswith("reviewed: all lines\n")
    assert {"shop/catalog.py", "new.py"} <= {one["path"] for one in json.loads(ran.out)["findings"]}
    inside = shop.remit("review", "shop", "--agents", "ruff")
    assert inside.err.startswith("reviewed: all lines\n"), "there is no change in this folder"
    refused = shop.remit("review", "--all", "--changed-since", "HEAD")
    assert (refused.code, "use one of them" in refused.err) == (2, True)
    shop.git("switch", "-q", main)
    on_main = shop.remit("review", "--agents", "ruff", "--format", "json")
    assert on_main.err.startswith("reviewed: what is not committed (1 file); all lines: remit review --all\n")
    assert {one["path"] for one in json.loads(on_main.out)["findings"]} == {"new.py"}


def test_style_is_not_reported_unless_it_is_asked_for(shop: Shop) -> None:
    write(shop, {"ruff.toml": "lint.select = ['I']\n", "app.py": "import sys\nimport os\n\nprint(os, sys)\n"})
    words = ("review", "--format", "json", "--agents", "ruff")
    plain, styled = (json.loads(shop.remit(*words, *more).out) for more in ((), ("--style",)))
    assert plain["findings"] == []
    assert [(one["title"][:4], one["reason"]) for one in plain["dropped"]] == [
        ("I001", "style or a hint; --style keeps it")
    ]
    assert [(one["title"][:4], one["severity"]) for one in styled["findings"]] == [("I001", "minor")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["--agents", "bandt"], "there is no reviewer 'bandt', did you mean 'bandit'?"),
        (["--agents", "security-auditor"], "security-auditor cannot review here: no key for anthropic is set"),
    ],
)
def test_an_impossible_review_is_refused_at_once(shop: Shop, words: list[str], said: str) -> None:
    ran = shop.remit("review", *words)
    assert ran.code == 2
    assert said in ran.err
    assert not shop.reports.exists()


def test_a_review_that_was_killed_goes_on_when_it_is_run_again(shop: Shop) -> None:
    undisturbed = json.loads(shop.remit("review", "--format", "json").out)
    killed = shop.remit("review", REMIT_STOP_AT="finished:1")
    assert killed.code == -signal.SIGKILL
    again = shop.remit("review", "--format", "json")
    assert again.code == 0, again.err
    assert json.loads(again.out) == undisturbed
    jobs = json.loads(shop.remit("jobs", "list", "--format", "json").out)["jobs"]
    assert len(jobs) == 6, "three of the first review, three of the second: none was started again"
    assert [one["outcome"] for one in jobs] == ["completed"] * 6
    assert (shop.reports / "review-2.html").exists()


def test_a_review_that_is_resumed_as_a_plan_states_what_was_read(shop: Shop) -> None:
    assert shop.remit("review", "--agents", "ruff", REMIT_STOP_AT="finished:1").code == -signal.SIGKILL
    resumed = shop.remit("plan", "run", "--resume", "1")
    assert resumed.code == 0, resumed.err
    merged = json.loads((shop.reports / "plan-1.json").read_text(encoding="utf-8"))
    python = merged["coverage"][0]
    assert (python["language"], python["read_by"], python["unread"]) == ("Python", {"ruff": python["files"]}, 0)
    shown = shop.remit("plan", "questions")
    assert shown.code == 0, "a review asks no question"


def _result(kind: str) -> str:
    """A result about the shop, whose checkout is here the shop itself."""
    sample = (ROOT / "examples" / "results" / f"{kind}.md").read_text(encoding="utf-8")
    return sample.replace("examples/shop/", "")


def test_with_a_model_three_subagents_take_part_and_all_is_merged(shop: Shop, tmp_path: Path) -> None:
    """The security auditor finds what bandit finds too; the others send what they have."""
    names = {"code-explorer": "exploration", "qa-engineer": "review-quality", "security-auditor": "review-security"}
    files = sorted(path.relative_to(shop.folder).as_posix() for path in shop.folder.rglob("*.py"))
    reads = {"tools": [{"name": "Read", "input": {"file_path": path}} for path in files]}
    tasks = {
        "code-explorer": "Trace the entry points",
        "qa-engineer": "Review the code in scope for defects",
        "security-auditor": "Audit the code in scope",
    }
    documents = {name: _result(kind) for name, kind in names.items()}
    turns = {tasks[name]: [reads, *[{"text": text}] * 2] for name, text in documents.items()}
    with model_process({"conversations": turns}, tmp_path) as server:
        ran = shop.remit(
            "review",
            "--format",
            "json",
            ANTHROPIC_API_KEY="test-key",
            ANTHROPIC_BASE_URL=server.url,
            REMIT_MODEL="anthropic:claude-sonnet-5",
        )
        asked = {one["marker"] for one in server.requests}
    assert ran.code == 0, ran.err
    reviewers = "reviewers: code-explorer, qa-engineer, security-auditor, ruff, bandit, secret-scan\n"
    assert ran.err.startswith(f"reviewed: all lines\n{reviewers}")
    assert "no subagents" not in ran.err
    assert asked == set(tasks.values())
    merged = json.loads(ran.out)
    assert {one["agent"] for one in merged["agents"]} == {*names, "ruff", "bandit", "secret-scan"}
    by_agents = [set(one["agents"]) for one in merged["findings"]]
    assert {"bandit", "security-auditor"} in by_agents, "what both found is one finding"
    assert any(agents == {"qa-engineer"} for agents in by_agents)
