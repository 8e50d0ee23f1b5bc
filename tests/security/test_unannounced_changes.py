"""After a call, the gate compares the project with its state before: a change without permission is reported."""

from __future__ import annotations

from collections.abc import Callable

from scratch_project import FILES, ScratchProject, decision_of, told_person

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


def who(agent: str) -> dict[str, str]:
    return {"agent_id": f"id of {agent}", "agent_type": agent}


def test_a_tool_that_the_gate_does_not_know_is_compared(shop: ScratchProject) -> None:
    for number, tool in enumerate(("SomeNewTool", "LSP", "Skill", "bash")):
        shop.hook("PreToolUse", tool, {}, f"toolu_new{number}")
        (shop.path / "src/app.py").write_text(f"x = {number}\n")
        answer = shop.hook("PostToolUse", tool, {}, f"toolu_new{number}", tool_response={})
        assert "src/app.py" in told_person(answer), tool


def test_a_name_that_no_file_can_have_is_not_prose(shop: ScratchProject) -> None:
    write = {"file_path": "src/app.py\0.md", "content": "x"}
    assert decision_of(shop.hook("PreToolUse", "Write", write, "toolu_nul")) == "deny"


def test_a_program_that_prints_more_lines_than_its_file_has_is_not_accused(shop: ScratchProject) -> None:
    line = "jq -r '.scripts | keys[]' package.json"
    call, _ = shop.before(line)
    assert shop.after(call, line, "a\nb\nc\n") == {}
    assert shop.state.window.lines == 3


def test_a_test_run_does_not_use_up_the_budget(shop: ScratchProject) -> None:
    call, _ = shop.before("make all")
    shop.after(call, "make all", "".join(f"tests/test_app.py::test_{one} PASSED\n" for one in range(500)))
    assert shop.state.window.files == {}


def test_an_event_that_is_delivered_twice_is_reported_once(shop: ScratchProject) -> None:
    call, _ = shop.before("make all")
    assert shop.after(call, "make all") == {}
    assert shop.after(call, "make all") == {}


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


def test_a_change_while_a_delegation_that_may_write_is_open_is_only_noted(shop: ScratchProject) -> None:
    shop.hook("PreToolUse", "Agent", {"subagent_type": "backend-specialist", "prompt": "p"}, "toolu_agent")
    told = told_person(shop.run(HIDDEN)[1])
    assert "src/app.py changed while a delegation that may write was open" in told
    shop.hook("PostToolUse", "Agent", {}, "toolu_agent", tool_response={"status": "completed", "agentId": "a1"})
    (shop.path / "src/app.py").write_text("VALUE = 5\n")
    assert "without permission" in told_person(shop.run(HIDDEN)[1])


def test_a_subagents_command_is_not_judged(shop: ScratchProject) -> None:
    assert shop.run("echo x > src/app.py", agent_id="a1", agent_type="code-explorer") == ({}, {})
