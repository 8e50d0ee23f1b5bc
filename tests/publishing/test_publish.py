"""`remit publish github` against a scripted GitHub: nothing twice, people's decisions stay, failures are survived."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.github_server import GitHubServer
from support.in_process import Ran, Remit, command_runner

from remit.publishing import github_api
from remit.publishing.comments import Mark, marks_in
from remit.publishing.pull_request import MAX_THREADS, commentable_lines

CODE = [f"value_{number} = {number}" for number in range(1, 41)]
PATCH = (
    "@@ -1,2 +1,4 @@ start\n value_1 = 1\n-old\n+value_2 = 2\n+value_3 = 3\n value_4 = 4\n"
    "@@ -20 +20,2 @@\n+value_20\n value_21\n\\ No newline at end of file"
)

pytestmark = pytest.mark.usefixtures("terminal")
Finding = tuple[str, int | None, str]


class Publisher:
    """A checkout, a server, and the commands that a workflow runs."""

    def __init__(self, root: Path, server: GitHubServer, run: Callable[..., Ran]) -> None:
        self.root, self.server, self.run = root, server, run

    def merge(
        self, findings: Sequence[Finding], *, tool: str = "linter", fails: bool = False, message: str = "is broken"
    ) -> None:
        """Merge a tool's SARIF into report.json."""
        results = [
            {
                "ruleId": rule,
                "level": "error",
                "rank": 90,
                "message": {"text": f"{rule} {message}"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": path},
                            **({"region": {"startLine": line}} if line else {}),
                        }
                    }
                ],
            }
            for path, line, rule in findings
        ]
        run = {
            "tool": {"driver": {"name": tool}},
            "results": results,
            "invocations": [{"executionSuccessful": not fails}],
        }
        (self.root / "tool.sarif").write_text(json.dumps({"version": "2.1.0", "runs": [run]}), encoding="utf-8")
        merged = self.run("merge", "tool.sarif", "--format", "json", "--output", "report.json")
        assert merged.code == 0, merged

    def publish(self, findings: Sequence[Finding], *options: str, **merge: Any) -> Ran:
        self.merge(findings, **merge)
        return self.run("publish", "github", "report.json", "--pr", "7", *options)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were asked for; none is made."""
    asked: list[float] = []
    original = github_api.GitHub.__init__

    def start(self: github_api.GitHub, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **{**options, "wait": asked.append})

    monkeypatch.setattr(github_api.GitHub, "__init__", start)
    return asked


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


@pytest.fixture
def publisher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Ran], waits: list[float]
) -> Iterator[Publisher]:
    for name in ("app.py", "other.py", "far.py"):
        (tmp_path / name).write_text("\n".join(CODE) + "\n", encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True)
    monkeypatch.chdir(tmp_path)
    with GitHubServer({"app.py": PATCH, "other.py": ""}, head=head.stdout.strip()) as server:
        environment = {
            "GITHUB_TOKEN": "token-of-the-bot",
            "GITHUB_API_URL": server.url,
            "GITHUB_REPOSITORY": "team/shop",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield Publisher(tmp_path, server, run)


FINDINGS: list[Finding] = [("app.py", 2, "R1"), ("app.py", 30, "R2"), ("other.py", 3, "R3"), ("far.py", 4, "R4")]


def test_new_findings_are_one_review_with_threads_at_their_lines(publisher: Publisher) -> None:
    ran = publisher.publish(FINDINGS)
    assert (ran.code, ran.out, ran.err) == (0, "pull request 7: 4 new\n", "")
    on_line, *on_file = publisher.server.threads
    assert (on_line.path, on_line.line, on_line.is_file, "R1 is broken" in on_line.body) == ("app.py", 2, False, True)
    # A line outside the diff cannot have a comment, so it is on the file; a file outside it is in the review.
    assert [(one.path, one.is_file) for one in on_file] == [("app.py", True), ("other.py", True)]
    [(_, body)] = publisher.server.reviews
    assert "R4 is broken" in body
    assert "`far.py:4`" in body


def test_a_second_run_sends_nothing(publisher: Publisher) -> None:
    publisher.publish(FINDINGS)
    before = list(publisher.server.changes)
    assert publisher.publish(FINDINGS).out == "pull request 7: 4 unchanged\n"
    assert publisher.server.changes == before


def test_code_that_moves_keeps_its_comment(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    before = list(publisher.server.changes)
    (publisher.root / "app.py").write_text("\n".join(["# a comment", *CODE]), encoding="utf-8")
    assert publisher.publish([("app.py", 3, "R1")]).out == "pull request 7: 1 unchanged\n"
    assert publisher.server.changes == before


def test_a_finding_that_is_gone_is_resolved_and_found_again_if_it_returns(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    assert publisher.publish([]).out == "pull request 7: 1 fixed\n"
    [thread] = publisher.server.threads
    assert thread.is_resolved
    assert "Not reported any more" in thread.body
    before = list(publisher.server.changes)
    assert publisher.publish([]).out == "pull request 7: no findings\n"
    assert publisher.server.changes == before
    assert publisher.publish([("app.py", 2, "R1")]).out == "pull request 7: 1 found again\n"
    assert not thread.is_resolved
    assert "Not reported any more" not in thread.body
    assert len(publisher.server.threads) == 1


def test_a_thread_that_a_person_resolved_stays_resolved(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    publisher.server.threads[0].is_resolved = True
    before = list(publisher.server.changes)
    assert publisher.publish([("app.py", 2, "R1")]).out == "pull request 7: 1 dismissed by a person\n"
    assert publisher.publish([]).out == "pull request 7: no findings\n"
    assert publisher.server.changes == before


def test_a_failed_tool_resolves_nothing(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    publisher.publish([], fails=True)
    publisher.publish([("app.py", 3, "R9")], tool="another")
    assert not publisher.server.threads[0].is_resolved


def test_a_comment_whose_text_changed_is_edited_in_place(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    assert publisher.publish([("app.py", 2, "R1")], message="is still broken").out == "pull request 7: 1 updated\n"
    [thread] = publisher.server.threads
    assert "R1 is still broken" in thread.body


def test_a_finding_that_is_dismissed_in_the_repository_is_resolved(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    report = json.loads((publisher.root / "report.json").read_text(encoding="utf-8"))
    name = report["findings"][0]["fingerprint"]
    assert publisher.run("dismiss", name, "--why", "it is a demo", "--from", "report.json").code == 0
    assert publisher.publish([("app.py", 2, "R1")]).out == "pull request 7: 1 fixed\n"
    assert publisher.server.threads[0].is_resolved


def test_a_mark_in_the_comment_of_another_account_is_not_trusted(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    publisher.server.threads[0].author = "person"
    assert publisher.publish([("app.py", 2, "R1")]).out == "pull request 7: 1 new\n"


def test_lines_that_github_rejects_become_file_comments(publisher: Publisher) -> None:
    publisher.merge([("app.py", 2, "R1"), ("app.py", 3, "R2")])
    publisher.server.fail("POST", "/reviews", 422)
    publisher.server.fail("POST", "/comments", 422)
    assert publisher.run("publish", "github", "report.json", "--pr", "7").code == 0
    assert [(one.line, one.is_file) for one in publisher.server.threads] == [(3, False), (None, True)]
    assert publisher.publish([("app.py", 2, "R1"), ("app.py", 3, "R2")]).out == "pull request 7: 2 unchanged\n"


def test_a_finding_that_is_rejected_everywhere_is_in_a_review(publisher: Publisher) -> None:
    publisher.merge([("other.py", 3, "R1")])
    publisher.server.fail("POST", "/comments", 422)
    assert publisher.run("publish", "github", "report.json", "--pr", "7").code == 0
    assert "R1 is broken" in publisher.server.reviews[-1][1]
    assert publisher.publish([("other.py", 3, "R1")]).out == "pull request 7: 1 unchanged\n"


@pytest.mark.parametrize("status", ["after", 502])
def test_a_connection_that_breaks_while_posting_duplicates_nothing(publisher: Publisher, status: int | str) -> None:
    publisher.server.fail("POST", "/reviews", status)
    assert publisher.publish([("app.py", 2, "R1"), ("other.py", 1, "R2")]).code == 0
    assert len(publisher.server.threads) == 2
    assert len(publisher.server.reviews) == 1


def test_a_run_that_stops_in_the_middle_is_continued(publisher: Publisher) -> None:
    for _ in range(2):  # the second time after it has looked for the comment
        publisher.server.fail("POST", "/comments", 503)
    stopped = publisher.publish([("app.py", 2, "R1"), ("other.py", 1, "R2")])
    assert (stopped.code, "GitHub answered 503" in stopped.err) == (3, True)
    assert publisher.publish([("app.py", 2, "R1"), ("other.py", 1, "R2")]).out == "pull request 7: 1 new, 1 unchanged\n"
    assert len(publisher.server.threads) == 2


def test_reading_is_tried_again(publisher: Publisher, waits: list[float]) -> None:
    publisher.server.fail("GET", "/files", 500)
    publisher.server.fail("GET", "/files", "after")
    assert publisher.publish([("app.py", 2, "R1")]).code == 0
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [(429, {"Retry_After": "7"}, 7.0), (403, {"Retry_After": "9"}, 9.0), (429, {}, 60.0)],
)
def test_a_rate_limit_is_waited_for(
    publisher: Publisher, waits: list[float], status: int, headers: dict[str, str], seconds: float
) -> None:
    publisher.server.fail("POST", "/reviews", status, **headers)
    ran = publisher.publish([("app.py", 2, "R1")])
    assert (ran.code, waits) == (0, [seconds])
    assert f"waiting {seconds:.0f} s" in ran.err
    assert len(publisher.server.threads) == 1


def test_a_rate_limit_that_is_too_long_ends_the_run(publisher: Publisher, waits: list[float]) -> None:
    publisher.server.fail("POST", "/reviews", 403, X_RateLimit_Remaining="0", X_RateLimit_Reset="9999999999")
    ran = publisher.publish([("app.py", 2, "R1")])
    assert (ran.code, waits) == (3, [])
    assert "run the command again later: nothing is posted twice" in ran.err


def test_lists_are_read_to_the_last_page(publisher: Publisher) -> None:
    publisher.server.page = 1
    publisher.server.files = {f"file{number}.py": "" for number in range(5)} | {"app.py": PATCH}
    publisher.publish([("app.py", 2, "R1"), ("app.py", 3, "R2"), ("app.py", 20, "R3")])
    before = list(publisher.server.changes)
    assert publisher.publish([("app.py", 2, "R1"), ("app.py", 3, "R2"), ("app.py", 20, "R3")]).out.endswith(
        "3 unchanged\n"
    )
    assert publisher.server.changes == before


def test_too_many_findings_wait_and_a_second_run_is_silent(publisher: Publisher) -> None:
    lines = range(1, MAX_THREADS + 11)
    code = "\n".join(f"value_{number} = {number}" for number in lines)
    (publisher.root / "app.py").write_text(code, encoding="utf-8")
    publisher.server.files["app.py"] = f"@@ -0,0 +1,{len(lines)} @@\n" + "\n".join(
        f"+{line}" for line in code.split("\n")
    )
    findings: list[Finding] = [("app.py", line, f"R{line}") for line in lines]
    ran = publisher.publish(findings)
    assert ran.out == f"pull request 7: {MAX_THREADS} new, 10 waiting until some of the others are resolved\n"
    before = list(publisher.server.changes)
    publisher.publish(findings)
    assert publisher.server.changes == before


def test_a_dry_run_prints_the_requests_and_sends_none(publisher: Publisher) -> None:
    ran = publisher.publish(FINDINGS, "--dry-run")
    assert ran.code == 0
    assert ran.out.startswith("POST /repos/team/shop/pulls/7/reviews\n{")
    assert "4 new (nothing was sent)" in ran.err
    assert publisher.server.changes == []


def test_a_token_that_may_not_resolve_is_a_warning(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1")])
    publisher.server.may_resolve = False
    ran = publisher.publish([])
    assert ran.code == 0
    assert "1 thread could not be resolved or reopened: GitHub refused a query: Resource not accessible" in ran.err
    assert "a token needs write access to contents as well as to pull requests" in ran.err
    publisher.server.may_resolve = True
    publisher.publish([])
    assert publisher.server.threads[0].is_resolved


def test_a_token_that_may_not_resolve_is_tried_once(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "R1"), ("app.py", 20, "R2")])
    publisher.server.may_resolve = False
    before = len(publisher.server.changes)
    ran = publisher.publish([])
    assert "2 threads could not be resolved" in ran.err
    queries = [call[2]["query"] for call in publisher.server.changes[before:]]
    assert ["resolve" in query for query in queries] == [False, True, False]


def test_a_comment_that_a_person_deleted_is_ignored(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher.publish([("app.py", 2, "R1")])
    node = GitHubServer._thread_node

    def renamed(self: GitHubServer, thread: Any, author: str) -> dict[str, Any]:
        found = node(self, thread, author)
        found["comments"]["nodes"][0]["id"] = "gone"
        return found

    monkeypatch.setattr(GitHubServer, "_thread_node", renamed)
    assert publisher.publish([]).code == 0
    assert publisher.server.threads[0].is_resolved


def test_a_limit_of_queries_is_waited_for(publisher: Publisher, waits: list[float]) -> None:
    publisher.server.limited_queries = 2
    assert publisher.publish([("app.py", 2, "R1")]).code == 0
    assert waits == [7.0, 7.0]


@pytest.fixture
def branch(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """A branch that changes one line, without a token and without GitHub."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_REPOSITORY", "GITHUB_BASE_REF"):
        monkeypatch.delenv(name, raising=False)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    (publisher.root / "app.py").write_text("\n".join(["+++ b/x", *CODE[1:]]) + "\n", encoding="utf-8")
    for words in (["branch", "-M", "main"], ["checkout", "-qb", "new"], ["commit", "-qam", "change"]):
        subprocess.run([*git, *words], cwd=publisher.root, check=True)
    return publisher


def test_a_dry_run_needs_neither_a_token_nor_github(branch: Publisher) -> None:
    ran = branch.publish([("app.py", 2, "R1"), ("app.py", 30, "R2"), ("far.py", 3, "R3")], "--dry-run")
    assert ran.code == 0, ran.err
    assert "no token is set: nothing was read from GitHub. Assumed: the pull request is " in ran.err
    assert "against main (1 changed file), and it has no comments of an earlier run" in ran.err
    assert ran.out.startswith("POST /repos/OWNER/NAME/pulls/7/reviews\n{")
    assert '"line": 2' in ran.out
    assert ran.out.count('"subject_type": "file"') == 1
    assert branch.server.calls == []


def test_a_dry_run_survives_a_server_that_is_not_there(
    branch: Publisher, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "token-of-the-bot")
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    options = ("--dry-run", "--repository", "team/shop", "--base", "HEAD~1")
    ran = branch.publish([("app.py", 2, "R1")], *options)
    assert (ran.code, waits) == (0, [1.0, 2.0, 4.0])
    assert "GitHub cannot be reached" in ran.err
    assert "against HEAD~1" in ran.err
    assert ran.out.startswith("POST /repos/team/shop/pulls/7/reviews")


def test_a_dry_run_without_a_base_names_the_option(branch: Publisher) -> None:
    subprocess.run(["git", "branch", "-D", "-q", "main"], cwd=branch.root, check=True)
    ran = branch.publish([("app.py", 2, "R1")], "--dry-run")
    assert (ran.code, "no token is set, and" in ran.err, "--base REV" in ran.err) == (2, True, True)
    assert branch.publish([("app.py", 2, "R1")], "--dry-run", "--base", "--output=x").code == 2


def test_text_of_a_tool_mentions_no_user_and_has_no_markup(publisher: Publisher) -> None:
    publisher.publish([("app.py", 2, "@everyone fixes #12 <img src=x> --> [a](http://x) `c`")])
    body = publisher.server.threads[0].body
    assert "@everyone" not in body
    assert "#12" not in body
    assert "<img" not in body.replace("\\<img", "")
    assert "](" not in body.replace("\\[a](", "")
    assert len(list(marks_in(body))) == 1


def test_an_earlier_commit_of_the_checkout_is_a_warning(publisher: Publisher) -> None:
    publisher.server.head = "a" * 40
    ran = publisher.publish([("app.py", 2, "R1")])
    assert "the pull request is at aaaaaaaaaaaa: lines may differ" in ran.err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("GITHUB_TOKEN", "", "set GITHUB_TOKEN"),
        ("GITHUB_TOKEN", "wrong", "GITHUB_TOKEN is not valid"),
        ("GITHUB_API_URL", "http://example.com", "must use https"),
        ("GITHUB_API_URL", "file:///etc/passwd", "not the address of an API server"),
        ("GITHUB_REPOSITORY", "team/else", "check the repository"),
        ("GITHUB_REPOSITORY", "../../user", "which repository?"),
    ],
)
def test_a_wrong_setting_is_explained(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.delenv("GH_TOKEN", raising=False)
    ran = publisher.publish([("app.py", 2, "R1")])
    assert ran.code in (2, 3)
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_the_token_is_not_sent_to_another_host(publisher: Publisher) -> None:
    publisher.server.fail("GET", "/pulls/7", 302, Location="http://127.0.0.1:9/steal")
    ran = publisher.publish([("app.py", 2, "R1")])
    assert (ran.code, "the repository has moved" in ran.err) == (3, True)
    publisher.server.fail("GET", "/files", 200, Link='<http://127.0.0.1:9/next>; rel="next"')
    ran = publisher.publish([("app.py", 2, "R1")])
    assert (ran.code, "on another host" in ran.err) == (3, True)
    assert "token-of" not in ran.err + ran.out


def test_github_enterprise_has_graphql_next_to_its_rest_api() -> None:
    assert github_api.graphql_url("https://git.example.com/api/v3") == "https://git.example.com/api/graphql"
    assert github_api.graphql_url("https://api.github.com") == "https://api.github.com/graphql"


def test_the_lines_of_a_diff_that_can_have_a_comment() -> None:
    assert commentable_lines(PATCH) == {1, 2, 3, 4, 20, 21}
    assert commentable_lines("") == frozenset()


@given(st.text(), st.text(), st.lists(st.text(), max_size=3), st.text())
def test_a_mark_is_read_back_from_any_text(name: str, digest: str, agents: list[str], text: str) -> None:
    mark = Mark(name, digest, tuple(agents))
    if len(str(mark)) < 4_000 and "<!-- remit" not in text:
        assert list(marks_in(f"{text}\n{mark}\n{text}")) == [mark]
