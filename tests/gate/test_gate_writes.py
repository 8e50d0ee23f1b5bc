from __future__ import annotations

from typing import Any

import pytest

from remit.gate.declarations import declare
from remit.gate.delegations import close_delegation, open_delegation, open_writers

SPEC = "docs/specs/orders.md"


@pytest.mark.parametrize(
    ("path", "rule", "agent"),
    [
        ("src/a.py", "edit-code", "backend-specialist"),
        ("src/a.tsx", "edit-code", "frontend-specialist"),
        ("pyproject.toml", "edit-code", "backend-specialist"),
        (".github/settings.json", "edit-code", "backend-specialist"),
        ("tests/test_a.py", "edit-tests", "qa-engineer"),
        ("src/a.test.ts", "edit-tests", "qa-engineer"),
        ("src/a.spec.tsx", "edit-tests", "qa-engineer"),
        ("src/a_test.go", "edit-tests", "qa-engineer"),
        ("src/__tests__/a.js", "edit-tests", "qa-engineer"),
        ("docs/specs/a.md", "edit-spec", "product-manager"),
        ("docs/design/a.png", "edit-spec", "product-manager"),
        ("specs/a/b.yaml", "edit-spec", "product-manager"),
        ("app/requirements.md", "edit-spec", "product-manager"),
        ("app/design.md", "edit-spec", "product-manager"),
        ("/etc/hosts", "edit-code", "backend-specialist"),
    ],
)
def test_code_tests_and_specifications_are_written_by_their_agents(session, path: str, rule: str, agent: str) -> None:
    for found in (session.ask("Write", {"file_path": path, "content": "x"}), session.run(f"echo x > {path}")):
        assert (found.decision, found.rule, found.delegate_to) == ("deny", rule, agent)


@pytest.mark.parametrize("path", ["README.md", "docs/guide.md", "docs/a.png", "app/notes.md"])
def test_prose_is_allowed_with_a_note(session, path: str) -> None:
    found = session.ask("Write", {"file_path": path, "content": "x"})
    assert (found.decision, found.rule, bool(found.reason)) == ("allow", None, True)


@pytest.mark.parametrize(
    "path", [".remit/progress.json", "a/claude-progress.json", "feature-list.json", "/dev/null", "/scratch/x"]
)
def test_state_and_scratch_are_allowed(session, path: str) -> None:
    assert session.ask("Write", {"file_path": path, "content": "x"}).decision == "allow"
    assert session.run(f"echo x > {path}").decision == "allow"


def test_a_link_or_dots_do_not_hide_code(session, project) -> None:
    (project / "docs/link.md").symlink_to(project / "src/f0.py")
    assert session.ask("Write", {"file_path": "docs/link.md", "content": "x"}).rule == "edit-code"
    assert session.ask("Write", {"file_path": ".remit/../src/f0.py", "content": "x"}).rule == "edit-code"
    (project / "docs/src").symlink_to(project / "src")
    assert session.ask("Write", {"file_path": "docs/src/new.py", "content": "x"}).rule == "edit-code"


@pytest.mark.parametrize("tool", ["Edit", "MultiEdit", "NotebookEdit", "Write"])
def test_no_tool_edits_code_even_if_declared(session, project, tool: str) -> None:
    declare(session.state, "edit", ["src/f0.py"], "asked", cwd=str(project), project=str(project))
    found = session.ask(tool, {"file_path": "src/f0.py", "notebook_path": "src/f0.py"})
    assert found.rule == "edit-code"


@pytest.mark.parametrize(
    "command",
    ["sed -i s/x/y/ src/f0.py", "git apply a.patch", "cp a src/f0.py", "rm src/f0.py", "git checkout -- src/f0.py"],
)
def test_the_shell_does_not_edit_code_either(session, command: str) -> None:
    found = session.run(command)
    assert (found.decision, found.rule) == ("deny", "edit-code")


class TestTrivialEdit:
    @pytest.fixture(autouse=True)
    def known_word(self, project) -> None:
        (project / "README.md").write_text("They receive it.\n")

    def test_white_space_and_marks_are_edited_directly(self, session) -> None:
        for old, new in (("- one", "* one"), ("# Orders", "## Orders"), ("orders within", "orders  within")):
            found = session.edit(SPEC, old, new)
            assert (found.decision, found.exception) == ("allow", "trivial-edit")
        assert session.state.saved == 3 * 950

    @pytest.mark.parametrize(("old", "new"), [("recieve", "receive"), ("1.0.0", "1.0.1")])
    def test_other_trivial_edits_are_delegated_first(self, session, project, old: str, new: str) -> None:
        found = session.edit(SPEC, old, new)
        assert (found.decision, found.rule, found.delegate_to) == ("deny", "trivial-edit", "product-manager")
        declare(session.state, "edit", [SPEC], "for speed", cwd=str(project), project=str(project))
        assert session.edit(SPEC, old, new).exception == "trivial-edit"

    def test_trivial_edits_are_direct_after_the_delegation_and_its_retry_failed(self, session) -> None:
        for key in ("d1", "d2"):
            assert session.edit(SPEC, "recieve", "receive").rule == "trivial-edit"
            open_delegation(session.state, key, "team:product-manager")
            close_delegation(session.state, key, "failed")
        assert session.edit(SPEC, "recieve", "receive").decision == "allow"

    def test_the_failure_of_another_agent_does_not_count(self, session) -> None:
        for key in ("d1", "d2"):
            open_delegation(session.state, key, "code-explorer")
            close_delegation(session.state, key, "failed")
        assert session.edit(SPEC, "recieve", "receive").rule == "trivial-edit"

    def test_a_project_may_allow_all_trivial_edits(self, start) -> None:
        session = start(trivial_edits="direct")
        assert session.edit(SPEC, "recieve", "receive").decision == "allow"
        assert session.edit(SPEC, "30 seconds", "60 seconds").decision == "deny"

    @pytest.mark.parametrize(
        ("old", "new"), [("30 seconds", "60 seconds"), ("should", "must"), ("- two\n", "- two\n- three\n")]
    )
    def test_an_edit_that_is_not_trivial_is_denied_even_if_declared(self, session, project, old: str, new: str) -> None:
        assert session.edit(SPEC, old, new).rule == "edit-spec"
        declare(session.state, "edit", [SPEC], "for speed", cwd=str(project), project=str(project))
        assert (session.edit(SPEC, old, new).decision, session.state.decisions[-1].rule) == ("deny", "trivial-edit")

    def test_a_rewritten_file_is_compared(self, session, project) -> None:
        text = (project / SPEC).read_text()
        written = {"file_path": SPEC, "content": text.replace("- one", "* one")}
        assert session.ask("Write", written).exception == "trivial-edit"
        assert session.ask("Write", {"file_path": "docs/specs/new.md", "content": "# New"}).rule == "edit-spec"

    def test_several_edits_in_one_call_count_together(self, session) -> None:
        edits = [{"old_string": f"- {name}", "new_string": f"* {name}"} for name in ("one", "two")]
        assert session.ask("MultiEdit", {"file_path": SPEC, "edits": edits}).decision == "allow"
        edits.append({"old_string": "# Orders", "new_string": "## Orders"})
        assert session.ask("MultiEdit", {"file_path": SPEC, "edits": edits}).decision == "deny"

    @pytest.mark.parametrize(
        "tool_input",
        [
            {"edits": "all"},
            {"edits": [5]},
            {"edits": [{"old_string": "", "new_string": "a"}]},
            {"edits": [{"old_string": "missing", "new_string": "a"}]},
            {"edits": [{"old_string": "o", "new_string": "o" * 1_000_000, "replace_all": True}]},
        ],
    )
    def test_an_edit_that_cannot_be_compared_is_denied(self, session, project, tool_input: dict[str, Any]) -> None:
        denied = session.ask("MultiEdit", {"file_path": "docs/specs/orders.md", **tool_input})
        assert (denied.decision, denied.rule) == ("deny", "edit-spec")

    def test_the_shell_does_not_edit_a_specification_at_all(self, session) -> None:
        assert session.run(f"sed -i 's/- one/* one/' {SPEC}").rule == "edit-spec"

    def test_an_edit_as_announced_is_settled_without_a_warning(self, session, project) -> None:
        session.edit(SPEC, "- one", "* one")
        (project / SPEC).write_text((project / SPEC).read_text().replace("- one", "* one"))
        assert session.settle("Edit", {}).rule is None

    def test_an_edit_that_changed_more_is_a_warning_and_may_be_reverted(self, session, project) -> None:
        before = (project / SPEC).read_text()
        session.edit(SPEC, "- one", "* one")
        (project / SPEC).write_text(before.replace("- one", "* one").replace("30", "60"))
        found = session.settle("Edit", {"originalFile": before})
        assert (found.decision, found.rule) == ("warn", "trivial-edit")
        assert "2 lines" in found.reason
        command = found.reason.rpartition(": ")[2]
        assert session.run(command).decision == "allow"
        assert session.run(f"git checkout -- {SPEC}").rule == "edit-spec", "it would discard other work, too"


def test_a_command_line_that_is_not_understood_is_allowed_without_a_word(session) -> None:
    found = session.run("./frobnicate.sh")
    assert (found.decision, found.reason) == ("allow", "")


def test_a_misspelt_word_stands_nowhere_else_and_the_correct_one_does(start) -> None:
    session = start(trivial_edits="direct")
    assert session.edit(SPEC, "recieve", "receive").decision == "deny", "the project has no such word yet"
    (session.project / "README.md").write_text("They receive it.\n")
    assert session.edit(SPEC, "recieve", "receive").decision == "allow"
    (session.project / "NOTES.md").write_text("We recieve it.\n")
    assert session.edit(SPEC, "recieve", "receive").decision == "deny", "it may be right"
    for new in ("deceive", "received", "relieve"):
        assert session.edit(SPEC, "recieve", new).decision == "deny"


@pytest.mark.parametrize(
    "command",
    ["gate declare edit a.md --why x", "dismiss f1 --why x", "install codex", "uninstall", "plan answer 1 yes"],
)
def test_a_person_is_asked_about_a_persons_word(session, command: str) -> None:
    found = session.run(f"remit {command}")
    assert (found.decision, found.rule) == ("ask", "guarded-state")
    assert session.run("remit gate status").decision == "allow"


def test_a_launch_opens_a_delegation_that_may_write(session) -> None:
    session.ask("Agent", {"subagent_type": "qa-engineer"}, tool_use_id="")
    session.settings.tools = {"qa-engineer": ("Read", "Edit"), "code-explorer": ("Read",)}
    assert open_writers(session.state, session.settings) == ["qa-engineer"]
    close_delegation(session.state, "launch-0", "accepted")
    session.ask("Agent", {"subagent_type": "code-explorer"})
    assert open_writers(session.state, session.settings) == []
    with pytest.raises(ValueError, match="accepted"):
        close_delegation(session.state, "x", "lost")
