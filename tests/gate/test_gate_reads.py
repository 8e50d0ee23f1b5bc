from __future__ import annotations

import pytest

from remit.gate.declarations import declare
from remit.gate.delegations import close_delegation, open_delegation


def test_lookup_files_allows_three_distinct_files_and_denies_the_fourth(session) -> None:
    for number in range(3):
        assert session.read(f"src/f{number}.py").decision == "allow"
    assert session.read("src/f0.py").decision == "allow"
    fourth = session.read("src/f3.py")
    assert (fourth.decision, fourth.rule, fourth.delegate_to) == ("deny", "lookup-files", "code-explorer")
    assert "src/f3.py" in fourth.reason
    assert (fourth.files, fourth.lines) == (3, 40)


@pytest.mark.parametrize(("lines", "decision"), [(200, "allow"), (201, "deny")])
def test_lookup_lines_allows_200_lines_of_a_file_and_denies_201(session, lines: int, decision: str) -> None:
    session.file("src/long.py", 500)
    found = session.read("src/long.py", limit=lines)
    assert (found.decision, found.rule) == (decision, "lookup-lines" if decision == "deny" else None)


@pytest.mark.parametrize(("lines", "decision"), [(200, "allow"), (201, "deny")])
def test_a_read_without_a_limit_counts_the_lines_of_the_file(session, lines: int, decision: str) -> None:
    session.file("src/long.py", lines)
    assert session.read("src/long.py").decision == decision


def test_a_read_without_a_limit_counts_at_most_2000_lines(start) -> None:
    session = start(limits={"lines": 2000, "total": 2000})
    session.file("src/long.py", 5000)
    assert (session.read("src/long.py").decision, session.state.window.lines) == ("allow", 2000)


def test_lines_of_one_file_add_up_over_several_reads(session) -> None:
    session.file("src/long.py", 500)
    assert session.read("src/long.py", offset=1, limit=150).decision == "allow"
    assert session.read("src/long.py", offset=300, limit=50).decision == "allow"
    assert session.read("src/long.py", offset=400, limit=1).rule == "lookup-lines"


def test_a_limit_beyond_the_end_counts_the_lines_of_the_file(session) -> None:
    session.file("src/long.py", 50)
    assert session.read("src/long.py", limit=4000).lines == 50
    assert session.read("src/long.py", offset=46, limit=100).lines == 55


@pytest.mark.parametrize(("lines", "decision"), [(100, "allow"), (101, "deny")])
def test_lookup_total_allows_300_lines_in_all_and_denies_301(session, lines: int, decision: str) -> None:
    session.file("src/one.py", 200)
    session.file("src/two.py", 200)
    session.read("src/one.py")
    found = session.read("src/two.py", limit=lines)
    assert (found.decision, found.rule) == (decision, "lookup-total" if decision == "deny" else None)


@pytest.mark.parametrize(("seconds", "closed"), [(9.99, False), (10, True)])
def test_lookup_time_closes_the_window_after_a_read_of_ten_seconds(session, seconds: float, closed: bool) -> None:
    session.read("src/f0.py")
    after = session.settle("Read", {}, seconds)
    assert (after.decision, after.rule) == (("warn", "lookup-time") if closed else ("allow", None))
    found = session.read("src/f1.py")
    assert (found.decision, found.rule) == (("deny", "lookup-time") if closed else ("allow", None))
    session.state.open_window("phase")
    assert session.read("src/f1.py").decision == "allow"


def test_a_denied_call_counts_nothing(session) -> None:
    session.file("src/long.py", 500)
    before = session.state.window.copy()
    assert session.read("src/long.py").decision == "deny"
    assert session.state.window.copy() == before
    assert not session.state.pending


def test_a_window_opens_with_a_phase_and_after_an_accepted_delegation_but_not_after_a_rejected_one(session) -> None:
    for number in range(3):
        session.read(f"src/f{number}.py")
    open_delegation(session.state, "d1", "code-explorer")
    close_delegation(session.state, "d1", "rejected")
    assert session.read("src/f3.py").decision == "deny"
    open_delegation(session.state, "d2", "code-explorer")
    close_delegation(session.state, "d2", "accepted")
    assert session.read("src/f3.py").decision == "allow"
    session.state.open_window("phase")
    assert session.state.window.files == {}


@pytest.mark.parametrize(
    "command",
    [
        "cat {}",
        "head -n 201 {}",
        "tail -n 201 {}",
        "sed -n 1,201p {}",
        "awk '{{print}}' {}",
        "less {}",
        "nl {}",
        "grep line {}",
        "cd src && cat long.py",
        "python -c \"print(open('{}').read())\"",
    ],
)
def test_programs_that_show_a_file_are_reads(session, command: str) -> None:
    session.file("src/long.py", 500)
    assert session.run(command.format("src/long.py")).rule == "lookup-lines"


@pytest.mark.parametrize(
    "command", ["head -n 200 {}", "sed -n 301,500p {}", "cat {} | head -200", "grep -c line {}", "wc -l {}"]
)
def test_programs_that_show_200_lines_are_quick_lookups(session, command: str) -> None:
    session.file("src/long.py", 500)
    assert session.run(command.format("src/long.py")).decision == "allow"


def test_the_fourth_file_through_the_shell_is_denied_as_a_whole(session) -> None:
    assert session.run("cat src/f0.py src/f1.py src/f2.py").decision == "allow"
    session.state.open_window("phase")
    denied = session.run("cat src/f0.py src/f1.py src/f2.py src/f3.py")
    assert (denied.rule, denied.files) == ("lookup-files", 0)
    assert session.run("cat src/*.py").rule == "bulk-search"


@pytest.mark.parametrize(("count", "rule"), [(3, None), (4, "bulk-search")])
def test_a_wildcard_of_three_files_is_a_lookup_and_of_four_a_bulk_search(session, count: int, rule: str | None) -> None:
    for number in range(count):
        session.file(f"lib/{number}.ts")
    assert session.run("cat lib/*.ts").rule == rule
    session.state.open_window("phase")
    assert session.run("head -n 3 lib/{0,1,2}.ts").rule is None
    session.state.open_window("phase")
    assert session.run("head -n 3 lib/{0,1,2,3}.ts").rule == "lookup-files"


def test_reads_of_state_files_are_always_allowed_and_not_counted(session) -> None:
    for path in (".remit/progress.json", ".claude/workspaces/a/b.md", "x/claude-progress.json", "feature-list.json"):
        session.file(path, 5000)
        found = session.read(path)
        assert (found.decision, found.exception, found.files) == ("allow", "state", 0)
    assert session.state.used == {"state": 4}
    assert session.state.saved == 4 * 470


def test_a_link_in_the_state_folder_is_what_it_leads_to(session, project) -> None:
    session.file("src/long.py", 500)
    (project / ".remit/notes.md").symlink_to(project / "src/long.py")
    assert session.read(".remit/notes.md").rule == "lookup-lines"
    assert session.read(".remit/../src/long.py").rule == "lookup-lines"


def test_one_file_under_two_names_is_one_file(session, project) -> None:
    (project / "link.py").symlink_to(project / "src/f0.py")
    session.read("src/f0.py")
    session.read("link.py")
    session.read("src/../src/f0.py")
    assert list(session.state.window.files) == ["src/f0.py"]


def test_reread_analysed_denies_a_file_that_an_accepted_result_covers(session, project) -> None:
    open_delegation(session.state, "d1", "code-explorer")
    close_delegation(session.state, "d1", "accepted", files=["src/f0.py"])
    denied = session.read("src/f0.py")
    assert (denied.decision, denied.rule) == ("deny", "reread-analysed")
    assert "code-explorer" in denied.reason
    assert session.read("src/f1.py").decision == "allow"
    declare(session.state, "verify", ["src/f0.py"], "asked", cwd=str(project), project=str(project))
    found = session.read("src/f0.py")
    assert (found.decision, found.exception, found.files) == ("allow", "verify", 2)


def test_three_files_may_be_verified_and_a_fourth_not(start, project) -> None:
    session = start(limits={"files": 9})
    names = [f"src/f{number}.py" for number in range(4)]
    open_delegation(session.state, "d1", "code-explorer")
    close_delegation(session.state, "d1", "accepted", files=names)
    declare(session.state, "verify", ["src"], "asked", cwd=str(project), project=str(project))
    assert [session.read(name).decision for name in names] == ["allow", "allow", "allow", "deny"]
    assert session.state.decisions[-1].rule == "reread-analysed"


def test_a_presentation_must_be_declared(session) -> None:
    session.file("docs/specs/long.md", 250)
    assert session.read("docs/specs/long.md").rule == "lookup-lines"


class TestFallback:
    @pytest.fixture(autouse=True)
    def files(self, session) -> None:
        for number in range(5):
            session.file(f"src/l{number}.py", 250)

    def fail(self, session, times: int) -> None:
        for number in range(times):
            open_delegation(session.state, f"d{number}", "code-explorer")
            close_delegation(session.state, f"d{number}", "failed")

    def test_delegation_first_asks_for_the_retry_before_a_fallback(self, session) -> None:
        self.fail(session, 1)
        session.read("src/l0.py", limit=200)
        denied = session.read("src/l1.py", limit=200)
        assert (denied.decision, denied.rule) == ("deny", "delegation-first")
        assert "Retry it" in denied.reason

    def test_after_the_failed_retry_three_files_of_200_lines_are_read_and_no_fourth(self, session) -> None:
        self.fail(session, 2)
        for number in range(3):
            found = session.read(f"src/l{number}.py", limit=200)
            assert (found.decision, found.exception) == ("allow", "fallback")
        assert session.read("src/l3.py", limit=200).rule == "delegation-first"
        assert session.state.used == {"fallback": 3}
        assert session.state.exceptions[0].instead is None

    @pytest.mark.parametrize(("more", "decision"), [({"limit": 200}, "allow"), ({"limit": 201}, "deny"), ({}, "deny")])
    def test_only_the_first_200_lines_are_a_fallback(self, session, more: dict[str, int], decision: str) -> None:
        self.fail(session, 2)
        assert session.read("src/l0.py", **more).decision == decision

    def test_a_later_part_of_a_file_is_not_a_fallback(self, session) -> None:
        self.fail(session, 2)
        assert session.read("src/l0.py", offset=100, limit=101).exception == "fallback"
        assert session.read("src/l1.py", offset=100, limit=102).exception == "lookup"

    def test_an_accepted_delegation_ends_the_fallback(self, session) -> None:
        self.fail(session, 2)
        open_delegation(session.state, "d9", "code-explorer")
        close_delegation(session.state, "d9", "accepted")
        assert session.read("src/l0.py", limit=200).exception == "lookup"

    def test_a_delegation_to_another_agent_is_not_a_retry(self, session) -> None:
        self.fail(session, 1)
        open_delegation(session.state, "other", "qa-engineer")
        close_delegation(session.state, "other", "failed")
        session.read("src/l0.py", limit=200)
        assert session.read("src/l1.py", limit=200).rule == "delegation-first"

    def test_each_failure_is_a_warning(self, session) -> None:
        self.fail(session, 2)
        assert session.state.warnings == ["Agent code-explorer failed, results may be incomplete"]


class TestBulkSearch:
    @pytest.mark.parametrize(("count", "decision"), [(3, "allow"), (4, "deny")])
    def test_a_glob_of_three_files_is_allowed_and_of_four_denied(self, session, count: int, decision: str) -> None:
        for number in range(count):
            session.file(f"lib/deep/m{number}.ts")
        for tool_input in ({"pattern": "lib/**/*.ts"}, {"pattern": "**/*.ts", "path": str(session.project / "lib")}):
            found = session.ask("Glob", tool_input)
            assert found.decision == decision
            assert found.rule == ("bulk-search" if decision == "deny" else None)
        assert session.ask("Grep", {"pattern": "x", "glob": "*.ts"}).decision == decision
        assert session.run("grep -rl x lib").decision == decision
        assert session.run("find lib -name '*.ts'").decision == decision

    def test_a_search_is_delegated_to_the_configured_explorer(self, start) -> None:
        found = start(agents={"explore": "scout"}).ask("Grep", {"pattern": "x"})
        assert (found.rule, found.delegate_to) == ("bulk-search", "scout")

    def test_a_search_of_one_file_is_a_read_of_it(self, session) -> None:
        session.file("src/long.py", 500)
        grep = {"pattern": "x", "path": "src/long.py"}
        assert session.ask("Grep", grep).lines == 1
        assert session.ask("Grep", {**grep, "output_mode": "content", "head_limit": 20}).lines == 21
        assert session.ask("Grep", {**grep, "output_mode": "content"}).rule == "lookup-lines"

    def test_a_search_of_state_is_allowed(self, session) -> None:
        for number in range(9):
            session.file(f".remit/jobs/{number}.json")
        assert session.ask("Grep", {"pattern": "x", "path": ".remit"}).decision == "allow"

    def test_a_search_too_large_to_evaluate_is_denied(self, session, monkeypatch) -> None:
        monkeypatch.setattr("remit.globs.MAX_ENTRIES", 5)
        assert session.ask("Glob", {"pattern": "**/*.zig"}).rule == "bulk-search"


class TestSecurityAlone:
    @pytest.mark.parametrize(
        "command", ["bandit -r src", "semgrep .", "npm audit", "gitleaks detect", "python -m pip_audit"]
    )
    def test_a_scan_is_delegated_to_the_auditor(self, session, command: str) -> None:
        found = session.run(command)
        assert (found.decision, found.rule, found.delegate_to) == ("deny", "security-alone", "security-auditor")

    @pytest.mark.parametrize("command", ["npm test", "pytest -k bandit", "git log"])
    def test_other_programs_are_not_scans(self, session, command: str) -> None:
        assert session.run(command).rule is None

    @pytest.mark.parametrize("pattern", ["password|secret", "AKIA[0-9A-Z]{16}", "BEGIN RSA PRIVATE KEY", "api_key"])
    def test_a_search_for_secrets_is_delegated_to_the_auditor(self, session, pattern: str) -> None:
        assert session.ask("Grep", {"pattern": pattern, "path": "src"}).rule == "security-alone"
        assert session.run(f"grep -rn '{pattern}' .").rule == "security-alone"

    def test_one_such_word_in_one_file_is_only_noted(self, session) -> None:
        found = session.ask("Grep", {"pattern": "password_min_length", "path": "src/f0.py"})
        assert (found.decision, found.rule, found.files) == ("allow", "security-alone", 1)


class TestSettling:
    def test_a_failed_read_is_not_counted(self, session) -> None:
        session.read("src/f0.py")
        session.settle("Read", None, failed=True)
        assert session.state.window.files == {}

    def test_unused_lines_of_a_grant_are_subtracted(self, session) -> None:
        session.read("src/f0.py")
        found = session.settle("Read", {"file": {"content": "a\nb\n", "numLines": 3}})
        assert (found.decision, session.state.window.lines) == ("allow", 2)

    def test_more_lines_than_granted_are_counted_with_a_warning(self, session) -> None:
        session.run("grep -c x src/f0.py")
        found = session.settle("Bash", {"stdout": "1\n" * 201})
        assert (found.decision, found.rule, session.state.window.lines) == ("warn", "lookup-lines", 201)

    def test_a_few_more_lines_than_the_file_has_are_counted_without_a_warning(self, session) -> None:
        session.run("grep -c x src/f0.py")
        assert session.settle("Bash", {"stdout": "1\n2\n3"}).decision == "allow"
        assert session.state.window.lines == 3

    def test_a_call_is_settled_once(self, session) -> None:
        session.read("src/f0.py")
        session.settle("Read", {}, 11)
        assert session.settle("Read", {}, 11).rule is None


def test_more_than_300_lines_are_not_read_to_be_shown(session, project) -> None:
    session.file("docs/specs/long.md", 301)
    declare(session.state, "presentation", ["docs/specs"], "show it", cwd=str(project), project=str(project))
    found = session.read("docs/specs/long.md", limit=300)
    assert (found.decision, found.exception, found.files) == ("allow", "presentation", 0)
    session.state.open_window("phase")
    found = session.read("docs/specs/long.md")
    assert (found.decision, found.rule) == ("deny", "presentation-size")
