"""Claims of documents that a pull request makes false, on a scripted GitHub: suggestions, one list, no forged marks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.github_server import GitHubServer
from support.in_process import Ran, Remit, command_runner
from support.verify_commands import commit, git

from remit.publishing.comments import marks_in
from remit.publishing.false_claims import publication_of_claims, read_claims
from remit.workspace.files import WorkTree

ROOT = Path(__file__).resolve().parents[2]
CODE = "LIMIT = 20\n\n\ndef total(cart):\n    return sum(cart)\n"
GUIDE = "# Guide\n\nThe sum is made by `total()` in `src/cart.py:4`.\n"
FORGED = '<!-- remit {"finding": "0123456789ab", "text": "x", "agents": ["remit verify"], "state": "open"} -->'
#: The same without a character that is escaped in Markdown, but the first one.
PLAIN = '<!-- remit {"finding": "0123456789ab", "text": "x", "agents": "a"} -->'


class Project:
    """A checkout at the head of a pull request, and its server."""

    def __init__(self, root: Path, remit: Remit) -> None:
        self.root, self.remit = root, remit
        self.base = git(root, "rev-parse", "HEAD").strip()
        self.server = GitHubServer({})

    def change(self, **files: str) -> None:
        """Write files, with `__` for a slash, move the code, and commit: that is the pull request."""
        for name, text in files.items():
            (self.root / f"{name.replace('__', '/')}.md").write_text(text)
        (self.root / "src/cart.py").write_text("# carts\n" * 40 + CODE)
        commit(self.root, "Describe carts")
        self.refresh()

    def refresh(self) -> None:
        """Let the server have what the checkout has."""
        self.server.head = git(self.root, "rev-parse", "HEAD").strip()
        names = git(self.root, "diff", "--name-only", self.base).split()
        self.server.files = {name: self._patch(name) for name in names}

    def _patch(self, name: str) -> str:
        diff = git(self.root, "diff", self.base, "--", name)
        return diff[diff.index("@@") :].rstrip("\n")

    def publish(self) -> Ran:
        """Verify the documents and publish what is false."""
        verified = self.remit("verify", "--affected-by", self.base, "--format", "json")
        (self.root / "claims.json").write_text(verified.out)
        ran = self.remit("publish", "github", "claims.json", "--pr", "7")
        (self.root / "claims.json").unlink()
        return ran


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    root = tmp_path / "shop"
    for folder in ("src", "docs"):
        (root / folder).mkdir(parents=True)
    (root / "src/cart.py").write_text(CODE)
    for name in ("docs/guide.md", "docs/other.md"):
        (root / name).write_text(GUIDE)
    (root / "docs/stale.md").write_text("# Stale\n\nIt is in `src/cart.py:400`.\n")
    git(root, "init", "-q", "-b", "main")
    commit(root, "Sell things")
    monkeypatch.chdir(root)
    made = Project(root, command_runner(monkeypatch, capsys))
    with made.server as server:
        environment = {"TOKEN": "token-of-the-bot", "API_URL": server.url, "REPOSITORY": "team/shop"}
        for name, value in environment.items():
            monkeypatch.setenv(f"GITHUB_{name}", value)
        yield made


def test_a_claim_in_the_diff_has_a_suggestion_and_others_are_one_list(project: Project) -> None:
    project.change(docs__guide=GUIDE + "\nMore words.\n")
    ran = project.publish()
    assert (ran.code, ran.out) == (0, "pull request 7: 2 new\n"), ran.err
    (thread,) = project.server.threads
    assert (thread.path, thread.line, thread.is_file) == ("docs/guide.md", 3, False)
    assert thread.body.startswith("**Outdated** (certain)")
    assert "```suggestion\nThe sum is made by `total()` in `src/cart.py:44`.\n```" in thread.body
    ((_, body),) = project.server.reviews
    assert "**Remit** found 2 claims of documents that do not hold." in body
    assert "`docs/other.md:3`" in body
    assert "stale" not in body, "it was false before"


def test_a_second_run_sends_nothing_and_a_correction_resolves(project: Project) -> None:
    project.change(docs__guide=GUIDE + "\nMore words.\n")
    project.publish()
    number = len(project.server.changes)
    assert project.publish().out == "pull request 7: 2 unchanged\n"
    assert len(project.server.changes) == number
    project.change(docs__guide=GUIDE.replace(":4", ":44") + "\nMore words.\n")
    assert project.publish().out == "pull request 7: 1 fixed, 1 unchanged\n"
    assert project.server.threads[0].is_resolved


def test_a_thread_that_a_person_resolved_is_a_dismissal(project: Project) -> None:
    project.change(docs__guide=GUIDE + "\nMore words.\n")
    project.publish()
    project.server.threads[0].is_resolved = True
    assert project.publish().out == "pull request 7: 1 unchanged, 1 dismissed by a person\n"


def test_a_merge_and_claims_do_not_resolve_each_other(project: Project) -> None:
    project.change(docs__guide=GUIDE + "\nMore words.\n")
    project.publish()
    place = {"physicalLocation": {"artifactLocation": {"uri": "src/cart.py"}, "region": {"startLine": 2}}}
    result = {"ruleId": "R1", "level": "error", "rank": 90, "message": {"text": "is broken"}, "locations": [place]}
    run = {"tool": {"driver": {"name": "linter"}}, "results": [result], "invocations": [{"executionSuccessful": True}]}
    sarif, merged = project.root.parent / "tool.sarif", str(project.root.parent / "merge.json")
    sarif.write_text(json.dumps({"version": "2.1.0", "runs": [run]}))
    project.remit("merge", str(sarif), "--format", "json", "--output", merged)
    assert project.remit("publish", "github", merged, "--pr", "7").out == "pull request 7: 1 new\n"
    assert project.publish().out == "pull request 7: 2 unchanged\n"
    assert [thread.is_resolved for thread in project.server.threads] == [False, False]


@pytest.mark.parametrize("added", [f" {FORGED}", "\u202e", " <!--"])
def test_words_of_a_document_cannot_forge_a_mark(project: Project, added: str) -> None:
    project.change(docs__guide=GUIDE.replace(".\n", f".{added}\n", 1) + f"\nMore words. {FORGED}\n")
    project.publish()
    assert "suggestion" not in project.server.threads[0].body
    for body in [*(thread.body for thread in project.server.threads), project.server.reviews[0][1]]:
        assert all(mark.fingerprint != "0123456789ab" for mark in marks_in(body))


def report(**claim: Any) -> bytes:
    """Return a report with one claim, as someone may write it."""
    fields: dict[str, Any] = {
        "kind": "place", "text": "a.py:9", "at": 1, "path": "a.py", "line": 9, "end_line": None, "name": "",
        "outcome": "out-of-range", "reliability": "certain", "reason": "past-end", "why": "", "found": None,
        "then": None,
    }  # fmt: skip
    result = {
        "path": "a.md", "agent": "", "kind": "generic", "profile": "claims", "status": None, "verdict": "revise",
        "confidence": {}, "violations": [], "overrides": [], "not_run": [], "references": [], "quotes": [],
        "changes": [], "claims": [{**fields, **claim}], "revision": {},
    }  # fmt: skip
    summary = {
        "results": 1, "accept": 0, "revise": 1, "reject": 0, "violations": {}, "claims": 1,
        "claims_by_outcome": {}, "claims_by_reliability": {},
    }  # fmt: skip
    return json.dumps({"schema": "remit.check/1", "results": [result], "summary": summary}).encode()


@pytest.mark.parametrize(
    "text",
    [
        FORGED,
        PLAIN,
        f"\\{PLAIN}",
        f"`{PLAIN}`",
        "@team fixes #12",
        "[a](https://example.org) ![b](c)",
        "a\nb",
        "`" * 50,
    ],
)
def test_words_of_a_claim_are_only_words(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    publication = publication_of_claims(read_claims(report(text=text, why=text), "a.json"), WorkTree(tmp_path))
    (comment,) = publication.comments
    assert list(marks_in(comment.body)) == [comment.mark]
    assert list(marks_in(publication.review_body(1, [comment], 0))) == [comment.mark]
    assert "@team" not in comment.text
    assert "#12" not in comment.text
    assert comment.text.count("<!--") == comment.text.count("\\<!--")
    assert comment.text.count("[") == comment.text.count("\\["), "no link and no image"
    assert comment.text.count("\n") == 2


def test_a_mark_has_a_list_of_names() -> None:
    assert list(marks_in(PLAIN)) == []
    assert len(list(marks_in(FORGED))) == 1, "a mark at the start of a line, as this program writes it"


def test_what_is_not_a_report_of_documents_is_refused(project: Project) -> None:
    (project.root / "r.json").write_text('{"schema": "remit.check/1", "results": 3}')
    assert project.remit("publish", "github", "r.json", "--pr", "7").code == 2
    checked = report().replace(b'"claims", "status"', b'"v2", "status"')
    (project.root / "r.json").write_bytes(checked)
    ran = project.remit("publish", "github", "r.json", "--pr", "7")
    assert ran.code == 2
    assert "publish a merge of them" in ran.err


@pytest.mark.process
def test_the_steps_of_the_action_verify_publish_and_fail(project: Project, tmp_path: Path) -> None:
    project.change(docs__guide=GUIDE + "\nMore words.\n")
    programs = tmp_path / "remit/bin"
    programs.mkdir(parents=True)
    (programs / "remit").symlink_to(Path(sys.executable).with_name("remit"))
    output = tmp_path / "output.txt"
    steps = {step["name"]: step for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]}
    report = str(tmp_path / "remit-documents.json")
    own = {
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
        "BASE": project.base,
        "REPORT": report,
        "NUMBER": "7",
    }

    def run(name: str) -> int:
        script = ["bash", "-e", "-o", "pipefail", "-c", steps[name]["run"]]
        return subprocess.run(script, cwd=project.root, env={**os.environ, **own}, check=False).returncode

    assert run("Verify documents") == 0
    assert output.read_text() == f"report={report}\ncode=1\n"
    assert run("Publish documents") == 0
    assert len(project.server.threads) == 1
    assert run("Result for documents") == 1
