from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hooking import ENTRY, PART, Hooks

from remit.clients.hooks import compiling, project
from remit.clients.hooks.compiled import SCHEMA, project_of, stamp
from remit.clients.hooks.project import ProjectContext, recompile
from remit.errors import ConfigurationError
from remit.gate.record_store import remove_store


def test_a_project_has_the_agents_under_contract_and_their_instructions(hooks: Hooks) -> None:
    found = ProjectContext.open(str(hooks.project))
    assert found.folder == str(hooks.folder)
    assert (found.profile, found.settings.mode, found.is_observing) == ("v2", "standard", False)
    for name in ("code-explorer", "remit:code-explorer", "a:b:code-explorer", "Code-Explorer", "code_explorer"):
        assert found.is_under_contract(name)
        assert (found.kind_of(name), found.prompt_for(name)) == ("exploration", PART)
    for name in ("", ":", "leaf", "code-explorer:leaf"):
        assert not found.is_under_contract(name)
        assert (found.kind_of(name), found.prompt_for(name)) == ("", "")


def test_current_settings_are_not_compiled_again(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Path) -> Path:
        raise AssertionError

    monkeypatch.setattr(compiling, "compile_project", never)
    file = hooks.project / "remit.toml"
    hooks.compile({"mode": "strict"}, stamps=[stamp(str(file)), stamp(str(hooks.project / "src/app.py"))])
    assert ProjectContext.open(str(hooks.project)).settings.mode == "strict"


@pytest.mark.parametrize("change", ["made", "edited", "removed"])
def test_changed_settings_are_compiled_again(hooks: Hooks, change: str) -> None:
    file = hooks.project / "remit.toml"
    if change != "made":
        file.write_text('[gate]\nmode = "observe"\n')
    hooks.compile({"mode": "observe"}, stamps=[stamp(str(file))])
    assert ProjectContext.open(str(hooks.project)).settings.mode == "observe"
    if change == "removed":
        file.unlink()
    else:
        file.write_text('[gate]\nmode = "strict"\n')
    found = ProjectContext.open(str(hooks.project))
    assert (found.settings.mode, found.is_recompiled) == ("standard" if change == "removed" else "strict", True)
    assert not ProjectContext.open(str(hooks.project)).is_recompiled


def test_a_changed_environment_variable_is_a_change(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    recompile(str(hooks.project), force=True)
    assert ProjectContext.open(str(hooks.project)).settings.mode == "standard"
    monkeypatch.setenv("REMIT_GATE_MODE", "observe")
    assert ProjectContext.open(str(hooks.project)).settings.mode == "observe"
    monkeypatch.delenv("REMIT_GATE_MODE")
    assert ProjectContext.open(str(hooks.project)).settings.mode == "standard"


def test_a_variable_that_may_be_secret_is_not_stored(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_DATABASE_URL", "postgresql://me:do-not-keep@localhost/x")
    monkeypatch.setenv("REMIT_PROFILE", "v1")
    assert recompile(str(hooks.project), force=True)["environment"] == {"REMIT_PROFILE": "v1"}
    assert "do-not-keep" not in json.dumps(hooks.compiled)


def test_a_new_project_is_compiled_at_the_first_event(hooks: Hooks) -> None:
    hooks.forget_compiled()
    found = ProjectContext.open(str(hooks.project))
    assert found.is_under_contract("code-explorer")
    assert "exploration" in found.prompts
    assert "exploration" in hooks.compiled["prompts"]


@pytest.mark.parametrize(
    "stamps", [[1], [[]], [["a"]], [[None, 1, 1]], [["\0", 1, 1]], [["/none", 1, 1]], [{"path": "a"}]]
)
def test_invalid_stamps_are_not_fresh(hooks: Hooks, stamps: list[object]) -> None:
    hooks.compile({"mode": "observe"}, stamps=stamps)
    assert ProjectContext.open(str(hooks.project)).settings.mode == "standard"


@pytest.mark.parametrize("key", ["gate", "contract", "prompts", "profile", "stamps"])
@pytest.mark.parametrize("value", [None, 1, "x", ["y", 2], {"k": 3}])
def test_a_compiled_file_with_a_field_of_another_type_is_compiled_again(hooks: Hooks, key: str, value: object) -> None:
    hooks.compile({}, **{key: value})
    assert ProjectContext.open(str(hooks.project)).kind_of("code-explorer") == "exploration"
    made = hooks.compiled
    # Any text may be a profile, and a mapping with unknown settings is one: `remit doctor` names them.
    assert (made[key] == value) is ((key, value) in (("profile", "x"), ("gate", {"k": 3})))


@pytest.mark.process
@pytest.mark.parametrize("forged", [{"path": ["evil"]}, {"interpreter": "evil/python"}, {"environment": None}])
def test_a_compiled_file_from_a_clone_is_compiled_again_and_runs_nothing(
    hooks: Hooks, forged: dict[str, object]
) -> None:
    evil = hooks.project / "evil"
    evil.mkdir()
    for name in ("msgspec.py", "pyromark.py", "yaml.py"):
        (evil / name).write_text(f"open({str(hooks.project / 'run')!r}, 'w')")
    hooks.compile({"mode": "observe"}, **{"path": [str(evil)], **forged})
    planted = {**hooks.compiled, "stamps": []}
    remove_store(str(hooks.folder))
    (hooks.folder / "seal").unlink()
    (hooks.folder / "compiled.json").write_text(json.dumps(planted))
    payload = json.dumps(hooks.payload("PreToolUse", tool_name="Write", tool_input={"file_path": "src/f0.py"}))
    command = [sys.executable, "-I", "-S", str(ENTRY), "PreToolUse"]
    done = subprocess.run(command, input=payload.encode(), cwd=hooks.project, capture_output=True, check=True)
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert not (hooks.project / "run").exists()


@pytest.mark.process
def test_the_libraries_are_found_without_site_packages() -> None:
    program = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from remit.surfaces.hooks.entry import add_packages\n"
        "add_packages(); import msgspec, pyromark, rapidfuzz, yaml"
    )
    root = str(ENTRY.parents[3])
    subprocess.run([sys.executable, "-I", "-S", "-c", program, root], check=True)


def test_an_invalid_configuration_is_reported_in_one_line(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    (hooks.project / "remit.toml").write_text("[gate\n")
    monkeypatch.setenv("REMIT_CONFIG", str(hooks.project / "remit.toml"))
    with pytest.raises(ConfigurationError, match=r"remit\.toml"):
        recompile(str(hooks.project), force=True)


@pytest.mark.process
def test_a_module_of_the_project_does_not_replace_one_of_remit(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hooks.project)
    for name in ("json.py", "pathlib.py", "msgspec.py", "remit.py"):
        (hooks.project / name).write_text("raise SystemExit('mine')\n")
    assert recompile(str(hooks.project), force=True)["schema"] == SCHEMA
    payload = json.dumps(hooks.payload("PreToolUse", tool_name="Edit", tool_input={"file_path": "src/app.py"}))
    assert "deny" in str(hooks.process(payload.encode()))


def test_a_project_is_found_from_a_folder_within_it(hooks: Hooks, tmp_path: Path) -> None:
    deep = hooks.project / "src/a/b"
    deep.mkdir(parents=True)
    assert project_of(str(deep)) == str(hooks.project)
    checkout = tmp_path / "checkout"
    (checkout / ".git").mkdir(parents=True)
    (checkout / "x").mkdir()
    assert project_of(str(checkout / "x")) == str(checkout)
    alone = tmp_path / "alone"
    alone.mkdir()
    assert project_of(str(alone)) == str(alone)


def test_many_processes_compile_outdated_settings_once(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def compiles(project: Path) -> None:
        made.append(str(project))
        hooks.compile({"mode": "strict"})

    monkeypatch.setattr(compiling, "compile_project", compiles)
    hooks.compile({}, stamps=[[str(hooks.project / "remit.toml"), 1, 1]])
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: project.recompile(str(hooks.project)), range(8)))
    assert made == [str(hooks.project)]
    assert [values["gate"] for values in found] == [{"mode": "strict"}] * 8
