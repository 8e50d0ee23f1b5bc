"""After a call, the gate compares the project with its state before: a change without permission is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from scratch_project import FILES, SESSION, ScratchProject, decision_of, told_person

from remit.clients.hooks.hook_events import handle_event
from remit.gate.record_store import open_store, store_path
from remit.gate.session_store import open_session

EXPLORER = {"agent_id": "a1", "agent_type": "code-explorer"}
WRITER = {"agent_id": "a2", "agent_type": "backend-specialist"}
#: The gate cannot know what a task of the project writes.
HIDDEN = "make evil"
UNCOMMITTED = FILES["src/app.py"] + "# two\n# uncommitted\n"


def test_an_effect_that_the_reader_did_not_see_is_reported_to_model_and_person(shop: ScratchProject) -> None:
    first, after = shop.run(HIDDEN)
    assert decision_of(first) == "allow"
    reason = after["hookSpecificOutput"]["additionalContext"]
    for text in (reason, told_person(after)):
        assert "unannounced-change" in text
        assert "src/app.py" in text
        assert "src/new.py" in text
    assert shop.state.decisions[-1].rule == "unannounced-change"
    assert shop.state.used == {"unannounced-change": 1}


def test_one_command_reverts_exactly_this_change(shop: ScratchProject) -> None:
    (shop.path / "src/util.py").write_text("# other uncommitted work\n")
    shop.run(HIDDEN)
    command = shop.state.changes[-1].command
    first, after = shop.run(command)
    assert (decision_of(first), after) == ("allow", {})
    assert (shop.path / "src/app.py").read_text() == UNCOMMITTED, "the uncommitted lines of before are kept"
    assert not (shop.path / "src/new.py").exists()
    assert (shop.path / "src/util.py").read_text() == "# other uncommitted work\n"
    assert shop.state.changes[-1].decided == "reverted"


def test_a_revert_restores_what_was_written_after_the_last_call(shop: ScratchProject) -> None:
    shop.run("true")
    (shop.path / "src/app.py").write_text("# the person wrote this between two calls\n")
    shop.run(HIDDEN)
    shop.run(shop.state.changes[-1].command)
    assert (shop.path / "src/app.py").read_text() == "# the person wrote this between two calls\n"


def test_a_changed_patch_is_not_let_through(shop: ScratchProject) -> None:
    shop.run(HIDDEN)
    entry = shop.state.changes[-1]
    patch = shop.folder / "reverts" / f"{entry.patch}.patch"
    patch.write_text(patch.read_text().replace("VALUE = 1", "VALUE = 666"))
    assert decision_of(shop.before(entry.command)[1]) == "deny"


def test_no_other_patch_is_let_through(shop: ScratchProject) -> None:
    shop.run(HIDDEN)
    assert decision_of(shop.before("git apply scripts/evil.patch")[1]) == "deny"
    command = shop.state.changes[-1].command
    assert decision_of(shop.before(f"{command} scripts/evil.patch")[1]) == "deny"
    assert decision_of(shop.before(f"{command}; rm src/util.py")[1]) == "deny"


def test_removed_files_and_changed_modes_are_reported(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("rm src/util.py; chmod 000 tests/test_app.py\n")
    _, after = shop.run(HIDDEN)
    assert "src/util.py" in told_person(after)
    assert "tests/test_app.py" in told_person(after)


def test_ignored_output_and_prose_are_not_reported(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("mkdir -p build; echo x > build/a.py; echo x > new.pyc; echo x > N.md\n")
    assert shop.run(HIDDEN)[1] == {}


def test_a_file_that_is_written_again_with_the_same_content_is_not_reported(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("for f in src/app.py src/util.py; do cp -p $f x; cp x $f; rm x; done\n")
    assert shop.run(HIDDEN)[1] == {}


def test_a_person_may_edit_between_two_calls(shop: ScratchProject) -> None:
    shop.run("true")
    (shop.path / "src/util.py").write_text("changed = True\n")
    assert shop.run("true") == ({}, {})


def test_a_subagent_without_write_tools_is_reported(shop: ScratchProject) -> None:
    _, after = shop.run(HIDDEN, **EXPLORER)
    assert "code-explorer" in told_person(after)
    assert "src/app.py" in told_person(after)


def test_a_subagent_with_write_tools_may_change_code(shop: ScratchProject) -> None:
    assert shop.run(HIDDEN, **WRITER) == ({}, {})


def test_a_subagent_with_write_tools_is_reported_for_guarded_files(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("echo > remit.toml; echo {} > ~/.claude/settings.json\n")
    _, after = shop.run(HIDDEN, **WRITER)
    assert "remit.toml" in told_person(after)
    assert ".claude/settings.json" in told_person(after)


def test_a_writer_that_runs_at_the_same_time_explains_a_change(shop: ScratchProject) -> None:
    call, _ = shop.before("make all")
    shop.run(HIDDEN, **WRITER)
    assert shop.after(call, "make all") == {}


def test_an_edit_that_runs_at_the_same_time_explains_only_its_file(shop: ScratchProject) -> None:
    edit = {"file_path": str(shop.path / "src/app.py"), "old_string": "1", "new_string": "2"}
    call, _ = shop.before("make all")
    shop.hook("PreToolUse", "Edit", edit, "toolu_edit", **WRITER)
    (shop.path / "src/app.py").write_text("edited\n")
    (shop.path / "src/util.py").write_text("not announced\n")
    shop.hook("PostToolUse", "Edit", edit, "toolu_edit", **WRITER)
    told = told_person(shop.after(call, "make all"))
    assert "src/util.py" in told
    assert "src/app.py" not in told


def test_an_edit_that_has_ended_explains_no_later_change(shop: ScratchProject) -> None:
    edit = {"file_path": str(shop.path / "src/app.py"), "old_string": "1", "new_string": "2"}
    shop.hook("PreToolUse", "Edit", edit, "toolu_edit", **WRITER)
    shop.hook("PostToolUse", "Edit", edit, "toolu_edit", **WRITER)
    assert "src/app.py" in told_person(shop.run(HIDDEN)[1])


def test_a_call_of_a_subagent_that_has_stopped_explains_no_later_change(shop: ScratchProject) -> None:
    shop.before("make all", **WRITER)  # the person refused it, so that its end is not reported
    event = {"session_id": shop.session, "hook_event_name": "SubagentStop", "last_assistant_message": "done", **WRITER}
    handle_event({**event, "cwd": str(shop.path)}, project=str(shop.path))
    assert "src/app.py" in told_person(shop.run(HIDDEN)[1])


def test_two_calls_at_the_same_time_are_reported_once(shop: ScratchProject) -> None:
    first, second = shop.before("make all")[0], shop.before(HIDDEN)[0]
    shop.shell(HIDDEN)
    assert "src/app.py" in told_person(shop.after(second, HIDDEN))
    assert shop.after(first, "make all") == {}


def test_a_tool_of_an_mcp_server_is_compared_too(shop: ScratchProject) -> None:
    shop.hook("PreToolUse", "mcp__files__write", {"path": "src/app.py"}, "toolu_mcp")
    (shop.path / "src/app.py").write_text("x")
    answer = shop.hook("PostToolUse", "mcp__files__write", {"path": "src/app.py"}, "toolu_mcp", tool_response={})
    assert "src/app.py" in told_person(answer)


def test_in_strict_the_next_write_is_denied_until_the_person_has_decided(start: Callable[..., ScratchProject]) -> None:
    shop = start(mode="strict")
    shop.run(HIDDEN)
    tasks = ("make all", "npm test", "./scripts/test.sh", "sh scripts/test.sh", "python3 manage.py")
    for line in ("echo x > docs/notes.md", "echo x > notes.md", *tasks):
        answer = shop.before(line)[1]
        assert decision_of(answer) == "deny"
        assert "unannounced-change" in json.dumps(answer)
    for line in ("git status", "git diff", "cat src/app.py", "pytest -q"):
        assert decision_of(shop.before(line)[1]) == "allow"
    shop.run(shop.state.changes[-1].command)
    assert decision_of(shop.before("make all")[1]) == "allow"
    assert decision_of(shop.before("echo x > notes.md")[1]) == "allow"


def test_observe_only_records_a_change(start: Callable[..., ScratchProject]) -> None:
    shop = start(mode="observe")
    assert shop.run(HIDDEN) == ({}, {})
    assert shop.state.decisions[-1].rule == "unannounced-change"


def test_a_missing_record_is_reported(shop: ScratchProject) -> None:
    call, _ = shop.before("make all")
    open_store(str(shop.folder)).remove("call")
    assert "guarded-state" in told_person(shop.after(call, "make all"))


def test_a_branch_of_git_is_a_note_and_no_change_without_permission(shop: ScratchProject) -> None:
    shop.shell("git stash -q")
    _, after = shop.run("git switch -q old")
    assert told_person(after).startswith("remit: git checked out other content of")
    assert "hookSpecificOutput" not in after
    assert shop.state.changes == []


def test_a_project_without_git_is_compared(start: Callable[..., ScratchProject]) -> None:
    shop = start()
    shop.shell("rm -rf .git")
    _, after = shop.run(HIDDEN)
    assert "src/app.py" in told_person(after)
    shop.shell(shop.state.changes[-1].command)
    assert (shop.path / "src/app.py").read_text() == UNCOMMITTED


def test_lines_that_a_line_shows_in_another_way_use_up_the_budget(shop: ScratchProject) -> None:
    (shop.path / "src/long.py").write_text("x = 1\n" * 250)
    first, _ = shop.run("""python3 -c "exec('print(open(\\'src/long.py\\').read())')" """)
    assert decision_of(first) == "warn"
    assert shop.state.window.lines >= 250
    assert decision_of(shop.before("cat src/app.py src/util.py README.md docs/specs/spec.md")[1]) == "deny"


def test_a_change_that_keeps_size_and_modification_time_is_reported(shop: ScratchProject) -> None:
    lines = "cp -p src/util.py x; sed -i s/2/3/ src/util.py; touch -r x src/util.py; rm x\n"
    (shop.path / "scripts/evil.sh").write_text(lines)
    assert "src/util.py" in told_person(shop.run(HIDDEN)[1])


def test_a_folder_that_is_moved_behind_a_link_is_reported_and_reverted(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("mv src src2; ln -s src2 src\n")
    assert "src/app.py" in told_person(shop.run(HIDDEN)[1])
    shop.run(shop.state.changes[-1].command)
    assert not (shop.path / "src").is_symlink()
    assert (shop.path / "src/app.py").read_text() == UNCOMMITTED


def test_a_guarded_file_is_reverted_without_another_report(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("echo 'x = 1' >> remit.toml\n")
    assert "remit.toml" in told_person(shop.run(HIDDEN)[1])
    assert "unannounced-change" not in told_person(shop.run(shop.state.changes[-1].command)[1])
    assert (shop.path / "remit.toml").read_text() == FILES["remit.toml"]


def test_a_change_of_very_many_files_is_reverted_as_a_whole(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("for n in $(seq 300); do echo x > src/n$n.py; done\n")
    assert "and 294 more" in told_person(shop.run(HIDDEN)[1])
    assert shop.run(shop.state.changes[-1].command) == ({}, {})
    assert not list((shop.path / "src").glob("n*.py"))


def test_a_folder_that_is_only_named_like_dependencies_is_reported(shop: ScratchProject) -> None:
    lines = "mkdir -p src/venv/lib node_modules; echo x > src/venv/lib/evil.py; touch src/venv/pyvenv.cfg\n"
    (shop.path / "scripts/evil.sh").write_text(lines)
    told = told_person(shop.run(HIDDEN)[1])
    assert "src/venv/lib/evil.py" in told
    assert "node_modules" not in told, "it is empty"
    (shop.path / "scripts/evil.sh").write_text("echo y > src/venv/lib/evil.py\n")
    assert "src/venv/lib/evil.py" in told_person(shop.run(HIDDEN)[1]), "its files are recorded from now on"


def test_dependencies_are_not_reported_where_package_managers_install_them(shop: ScratchProject) -> None:
    call, _ = shop.before("npm ci")
    (shop.path / "node_modules/a").mkdir(parents=True)
    (shop.path / "node_modules/a/index.js").write_text("x")
    assert shop.after(call, "npm ci") == {}
    call, _ = shop.before("python3 -m venv .venv")
    (shop.path / ".venv").mkdir()
    (shop.path / ".venv/pyvenv.cfg").write_text("x")
    assert shop.after(call, "python3 -m venv .venv") == {}
    call, _ = shop.before("python3 -m venv src/venv")
    (shop.path / "src/venv").mkdir()
    (shop.path / "src/venv/pyvenv.cfg").write_text("x")
    assert "src/venv/pyvenv.cfg" in told_person(shop.after(call, "python3 -m venv src/venv"))


def test_an_environment_that_a_person_made_between_two_calls_is_left_out(shop: ScratchProject) -> None:
    shop.run("true")
    (shop.path / "src/venv").mkdir()
    (shop.path / "src/venv/a.py").write_text("x")
    (shop.path / "scripts/evil.sh").write_text("echo x > src/venv/a.py\n")
    assert shop.run(HIDDEN)[1] == {}


def test_agents_of_the_client_that_only_read_are_reported(shop: ScratchProject) -> None:
    for agent in ("Explore", "Plan"):
        (shop.path / "scripts/evil.sh").write_text(f"echo {agent} > src/app.py\n")
        told = told_person(shop.run(HIDDEN, agent_id="a9", agent_type=agent)[1])
        assert f"subagent {agent}" in told
    assert shop.run(HIDDEN, agent_id="a9", agent_type="general-purpose") == ({}, {})


def test_a_package_manager_may_change_its_lock_file_and_the_person_reads_it(shop: ScratchProject) -> None:
    lock = shop.path / "uv.lock"
    call, _ = shop.before("uv sync")
    lock.write_text("version = 1\n")
    assert told_person(shop.after(call, "uv sync")) == "remit: a package manager changed uv.lock"
    call, _ = shop.before("make all")
    lock.write_text("version = 2\n")
    assert "unannounced-change" in told_person(shop.after(call, "make all")), "a task is no package manager"
    call, _ = shop.before("uv sync")
    (shop.path / "src/app.py").write_text("x")
    assert "src/app.py changed without permission" in told_person(shop.after(call, "uv sync"))


def test_output_that_git_ignores_may_be_removed_and_nothing_else(shop: ScratchProject) -> None:
    (shop.path / "build/out").mkdir(parents=True)
    (shop.path / "build/out/app.js").write_text("x")
    assert decision_of(shop.before("rm -rf build/out")[1]) == "allow"
    assert decision_of(shop.before("rm -rf build dist")[1]) == "deny", "git does not ignore dist"
    assert decision_of(shop.before("echo x > build/out/app.js")[1]) == "deny", "it writes"
    assert decision_of(shop.before("rm -rf build src")[1]) == "deny"
    (shop.path / "build/src").symlink_to("../src")
    assert decision_of(shop.before("rm -rf build/src/app.py")[1]) == "deny", "it leads to code"
    for line in ("rm -rf build/*/app.py", "rm -rf b*/out", "find build/out -follow -name '*.js' -delete"):
        assert decision_of(shop.before(line)[1]) == "deny", f"{line}: it may match what git does not ignore"
    many = " ".join(f"build/{number}" for number in range(9))
    assert decision_of(shop.before(f"rm -rf {many}")[1]) == "deny", "git is not asked about so many"
    shop.shell("git add --force build/out/app.js")
    for line in ("rm -rf build", "rm -rf build/out", "rm build/out/app.js", "rm -rf build/*"):
        assert decision_of(shop.before(line)[1]) == "deny", f"{line}: a file in it is committed"


def test_an_agent_has_the_tools_of_its_definition_however_its_name_is_written(
    start: Callable[..., ScratchProject],
) -> None:
    shop = start()
    edit = {"file_path": str(shop.path / "src/app.py"), "content": "x"}
    for agent in ("Code_Explorer", "code explorer", "remit:Code-Explorer"):
        who = {"agent_id": "a1", "agent_type": agent}
        assert decision_of(shop.hook("PreToolUse", "Write", edit, f"toolu_{agent}", **who)) == "deny"
        (shop.path / "scripts/evil.sh").write_text(f"echo {agent} > src/app.py\n")
        assert "src/app.py" in told_person(shop.run(HIDDEN, **who)[1])


def test_an_edit_by_an_agent_of_the_client_that_only_reads_is_denied(shop: ScratchProject) -> None:
    edit = {"file_path": str(shop.path / "src/app.py"), "content": "x"}
    for agent in ("Explore", "Plan", "explore", "PLAN"):
        answer = shop.hook("PreToolUse", "Write", edit, f"toolu_{agent}", agent_id="a9", agent_type=agent)
        assert decision_of(answer) == "deny"
    answer = shop.hook("PreToolUse", "Write", edit, "toolu_all", agent_id="a8", agent_type="general-purpose")
    assert answer == {}, "it has all tools of the client"


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_the_person_reads_once_that_an_agent_without_a_definition_edits_code(
    start: Callable[..., ScratchProject], mode: str
) -> None:
    shop = start(mode=mode)
    for number, agent in enumerate(("nonesuch", "", "../helper")):
        edits = (("Write", "notes.md"), ("Edit", f"src/a{number}.py"), ("Edit", f"src/b{number}.py"))
        prose, first, later = (
            told_person(shop.hook("PreToolUse", tool, {"file_path": path}, f"toolu_{path}", **who(agent)))
            for tool, path in edits
        )
        assert f"src/a{number}.py is changed by {agent or 'an agent without a name'}, which has no definition" in first
        assert (prose, later) == ("", "")
        shop.hook("PostToolUse", "Write", {"file_path": "notes.md"}, "toolu_notes.md", **who(agent))


def who(agent: str) -> dict[str, str]:
    return {"agent_id": f"id of {agent}", "agent_type": agent}


def test_a_tool_that_the_gate_does_not_know_is_compared(shop: ScratchProject) -> None:
    for number, tool in enumerate(("SomeNewTool", "LSP", "Skill", "bash")):
        shop.hook("PreToolUse", tool, {}, f"toolu_new{number}")
        (shop.path / "src/app.py").write_text(f"x = {number}\n")
        answer = shop.hook("PostToolUse", tool, {}, f"toolu_new{number}", tool_response={})
        assert "src/app.py" in told_person(answer), tool


def test_settings_in_a_folder_below_are_guarded_too(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text(
        "mkdir -p lib/.claude; echo {} > lib/.claude/settings.json; touch lib/remit.toml\n"
    )
    told = told_person(shop.run(HIDDEN, **WRITER)[1])
    assert "lib/.claude/settings.json" in told
    assert "lib/remit.toml" in told
    for path in ("lib/remit.toml", "lib/.claude/agents/a.md", ".claude/worktrees/w/.claude/settings.json"):
        call = {"file_path": str(shop.path / path), "content": "x"}
        assert decision_of(shop.hook("PreToolUse", "Write", call, f"toolu_{path}", **WRITER)) == "deny"


def test_the_index_of_a_repository_below_is_not_a_file_of_the_project(shop: ScratchProject) -> None:
    shop.shell(
        "mkdir libs && cd libs && git init -q inner && cd inner && touch a.py && git add . && git commit -qm one"
    )
    shop.run("true")
    shop.shell("touch libs/inner/a.py")
    assert shop.run("git -C libs/inner status") == ({}, {})
    (shop.path / "scripts/evil.sh").write_text("git -C libs/inner config core.pager evil\n")
    assert "libs/inner/.git/config" in told_person(shop.run(HIDDEN)[1])


def test_a_second_name_of_a_file_does_not_make_it_prose(shop: ScratchProject) -> None:
    (shop.path / "notes.md").hardlink_to(shop.path / "src/app.py")
    write = {"file_path": str(shop.path / "notes.md"), "content": "x"}
    assert decision_of(shop.hook("PreToolUse", "Write", write, "toolu_link")) == "deny"


def test_a_name_that_no_file_can_have_is_not_prose(shop: ScratchProject) -> None:
    write = {"file_path": "src/app.py\0.md", "content": "x"}
    assert decision_of(shop.hook("PreToolUse", "Write", write, "toolu_nul")) == "deny"


def test_instructions_of_the_next_session_are_announced_to_the_person(shop: ScratchProject) -> None:
    for path in ("CLAUDE.md", ".claude/CLAUDE.md", ".claude/rules/a.md", ".claude/output-styles/b.md", "lib/AGENTS.md"):
        _, first = shop.before(f"printf x > {path}")
        assert path in told_person(first), path
    assert told_person(shop.before("printf x > notes.md")[1]) == ""
    (shop.path / "scripts/evil.sh").write_text("mkdir lib; echo x >> lib/CLAUDE.md\n")
    assert "lib/CLAUDE.md" in told_person(shop.run(HIDDEN)[1])


def test_a_program_that_prints_more_lines_than_its_file_has_is_not_accused(shop: ScratchProject) -> None:
    line = "jq -r '.scripts | keys[]' package.json"
    call, _ = shop.before(line)
    assert shop.after(call, line, "a\nb\nc\n") == {}
    assert shop.state.window.lines == 3


def test_a_task_that_prints_a_file_uses_up_the_budget(shop: ScratchProject) -> None:
    (shop.path / "src/long.py").write_text("".join(f"number_{one} = {one} * factor\n" for one in range(250)))
    (shop.path / "scripts/evil.sh").write_text("echo building; cat src/long.py\n")
    assert shop.run(HIDDEN) == ({}, {}), "a note is recorded, and nobody is interrupted"
    assert shop.state.window.files == {"src/long.py": 250}
    assert decision_of(shop.before("cat src/long.py")[1]) == "deny"


def test_a_test_run_does_not_use_up_the_budget(shop: ScratchProject) -> None:
    call, _ = shop.before("make all")
    shop.after(call, "make all", "".join(f"tests/test_app.py::test_{one} PASSED\n" for one in range(500)))
    assert shop.state.window.files == {}


def test_an_agent_that_only_reads_may_not_write_what_its_line_names(shop: ScratchProject) -> None:
    _, after = shop.run("echo x > src/app.py", agent_id="a9", agent_type="Explore")
    assert "src/app.py changed without permission" in told_person(after)


def test_a_rule_for_ignored_files_does_not_hide_itself_and_the_files_of_the_same_call(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("echo '*' > src/.gitignore\necho x > src/hidden.py\n")
    told = told_person(shop.run(HIDDEN)[1])
    assert "src/.gitignore" in told
    assert "src/hidden.py" in told


def test_a_command_that_removes_all_records_is_reported(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("rm -rf .remit; echo x > src/app.py\n")
    assert "guarded-state" in told_person(shop.run(HIDDEN)[1])


def test_an_event_that_is_delivered_twice_is_reported_once(shop: ScratchProject) -> None:
    call, _ = shop.before("make all")
    assert shop.after(call, "make all") == {}
    assert shop.after(call, "make all") == {}


def test_a_rule_of_an_earlier_call_does_not_hide_a_later_file(shop: ScratchProject) -> None:
    rules = {
        "echo '*.hid' >> .gitignore": ".gitignore",
        "echo '*.hid' >> .git/info/exclude": ".git/info/exclude",
        "echo '*.hid' > docs/x.md; git config core.excludesFile docs/x.md": ".git/config",
        "mkdir -p ~/.config/git; echo '*.hid' > ~/.config/git/ignore": ".config/git/ignore",
    }
    for number, (line, named) in enumerate(rules.items()):
        with shop.new_session():
            (shop.path / "scripts/evil.sh").write_text(line + "\n")
            assert named in told_person(shop.run(HIDDEN)[1])
            (shop.path / "scripts/evil.sh").write_text(f"echo x > src/new{number}.hid; echo x > build/new{number}.py\n")
            told = told_person(shop.run(HIDDEN)[1])
            assert f"src/new{number}.hid" in told, line
            assert "build/" not in told, "a rule of before still counts"
            shop.shell(
                "git checkout -q .gitignore; rm -rf .git/info/exclude ~/.config src/*.hid; "
                "git config --unset core.excludesFile"
            )


def test_a_rule_that_a_person_adds_between_two_calls_counts(shop: ScratchProject) -> None:
    shop.run("true")
    with open_session(str(shop.folder), SESSION) as state:
        state.writers.clear()  # as if the call had ended long ago
    (shop.path / ".gitignore").write_text(FILES[".gitignore"] + "*.hid\n")
    (shop.path / "scripts/evil.sh").write_text("echo x > src/new.hid\n")
    assert shop.run(HIDDEN)[1] == {}


def test_a_rule_that_an_agent_edits_does_not_count(shop: ScratchProject) -> None:
    shop.run("true")
    edit = {"file_path": str(shop.path / ".gitignore"), "old_string": "*.pyc", "new_string": "*.hid"}
    shop.hook("PreToolUse", "Edit", edit, "toolu_edit", **WRITER)
    (shop.path / ".gitignore").write_text(FILES[".gitignore"] + "*.hid\n")
    shop.hook("PostToolUse", "Edit", edit, "toolu_edit", **WRITER)
    (shop.path / "scripts/evil.sh").write_text("echo x > src/new.hid\n")
    assert "src/new.hid" in told_person(shop.run(HIDDEN)[1])


def test_a_call_cannot_choose_the_mode_in_which_it_is_judged(shop: ScratchProject) -> None:
    shop.run("true")
    call, _ = shop.before(HIDDEN)
    shop.shell("echo 'mode = \"observe\"' > remit.toml")
    shop.compile({"mode": "observe"})  # as `remit install --mode observe --yes` in a program that is not understood
    assert "remit.toml" in told_person(shop.after(call, HIDDEN))


def test_a_record_of_the_session_that_a_command_rewrites_is_not_believed(start: Callable[..., ScratchProject]) -> None:
    shop = start(mode="strict")
    shop.run("true")
    allowed = """UPDATE record SET data = CAST(replace(data, '"paths":[]', '"paths":null') AS BLOB)"""
    (shop.path / "scripts/evil.sh").write_text(f"{shop.tamper(allowed)}\necho x > src/app.py\n")
    told = told_person(shop.run(HIDDEN)[1])
    assert "gate.sqlite, the gate's record of this session, was changed" in told
    assert "src/app.py" in told
    assert decision_of(shop.before("echo x > notes.md")[1]) == "deny"
    assert told_person(shop.before("git status")[1]) == "", "it is reported once"


def test_a_record_that_a_process_rewrites_between_two_calls_is_reported(shop: ScratchProject) -> None:
    shop.run("true")
    shop.shell(shop.tamper("DELETE FROM record WHERE kind = 'session'"))
    assert "was changed or removed" in told_person(shop.before("git status")[1])


def test_a_store_that_a_process_removes_or_restores_is_reported(shop: ScratchProject) -> None:
    shop.run("true")
    store = Path(store_path(str(shop.folder)))
    earlier = {file: file.read_bytes() for file in store.parent.iterdir()}
    shop.run("true")
    for file, data in earlier.items():
        file.write_bytes(data)
    assert "was changed or removed" in told_person(shop.before("git status")[1])
    assert "was changed or removed" not in told_person(shop.before("git status")[1])
    for file in store.parent.iterdir():
        file.unlink()
    assert "was changed or removed" in told_person(shop.before("git status")[1])


def test_settings_that_a_command_compiles_are_not_obeyed(shop: ScratchProject) -> None:
    shop.run("true")
    observing = """UPDATE record SET data = CAST(replace(data, '"gate":{', '"gate":{"mode":"observe",') AS BLOB)"""
    (shop.path / "scripts/evil.sh").write_text(f"{shop.tamper(observing)}\necho x > src/app.py\n")
    told = told_person(shop.run(HIDDEN)[1])
    assert "changed or removed the compiled settings" in told
    assert "src/app.py" in told


def test_a_record_of_a_call_that_a_command_rewrites_is_reported(shop: ScratchProject) -> None:
    for kind in ("call", "tree"):
        statement = f"UPDATE record SET data = x'00' WHERE kind = '{kind}'"
        (shop.path / "scripts/evil.sh").write_text(f"{shop.tamper(statement)}\n")
        assert "guarded-state" in told_person(shop.run(HIDDEN)[1])


def test_new_files_in_folders_of_output_are_named_unless_git_ignores_them(shop: ScratchProject) -> None:
    (shop.path / "scripts/evil.sh").write_text("mkdir -p target; echo x > target/a.py; echo x > build/a.py\n")
    told = told_person(shop.run(HIDDEN)[1])
    assert told == "remit: git does not ignore the new output target/a.py", "a task of the project may be a build"
    (shop.path / "scripts/evil.sh").write_text("echo x > target/b.py\n")
    assert "target/b.py changed without permission" in told_person(
        shop.run("echo ZWNobwo= | base64 -d | sh; make evil")[1]
    )
    (shop.path / "scripts/evil.sh").write_text("echo x > target/c.py; echo x > src/c.py\n")
    told = told_person(shop.run(HIDDEN)[1])
    assert "target/c.py" in told
    assert "src/c.py" in told


def test_an_agent_without_a_definition_is_reported(shop: ScratchProject) -> None:
    told = told_person(shop.run(HIDDEN, agent_id="a9", agent_type="no-such-agent")[1])
    assert "subagent no-such-agent" in told
    assert "src/app.py" in told
    (shop.path / "scripts/evil.sh").write_text("echo y > src/app.py\n")
    assert shop.run(HIDDEN, agent_id="a9", agent_type="other-plugin:writer") == ({}, {})
