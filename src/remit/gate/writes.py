"""Judge direct edits: state and prose are allowed, code and tests are not, specifications only for trivial edits."""

from __future__ import annotations

import os

from remit.gate.delegations import has_failed_twice
from remit.gate.file_versions import count_words, has_committed, ignored_among
from remit.gate.project_paths import ProjectPath, classify, is_guarded, locate, read_text
from remit.gate.ruling import Ruling
from remit.gate.session_entries import Grant
from remit.gate.tool_use import MAX_NAME_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse
    from remit.shell.command import Effects

#: File name extensions of frontend code.
_FRONTEND = (".tsx", ".jsx", ".css", ".scss", ".sass", ".less", ".html", ".htm", ".vue", ".svelte", ".astro")
#: The texts of an edit are compared up to this number of characters.
MAX_EDIT_SIZE = 2_000_000
#: Folders that tools make, and that a command may remove if git ignores them.
_OUTPUT_TEXT = """
    build dist target out htmlcov coverage node_modules __pycache__ .next .nuxt .turbo .parcel-cache .nyc_output
    .pytest_cache .mypy_cache .ruff_cache .hypothesis
"""
_OUTPUT_FOLDERS = frozenset(_OUTPUT_TEXT.split())
#: With more removed paths, git is not asked: it would take too long before the call.
_MAX_REMOVED = 8
#: Files of a folder that is removed or moved as a whole whose classes are looked at.
_MAX_BELOW = 2_000


def edited_path(call: ToolUse) -> str:
    """Return the file that an editing tool changes."""
    return call.text("file_path") or call.text("notebook_path") or call.text("path")


def judge_edit(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """Judge an edit by one of the client's tools."""
    target = locate(edited_path(call), call.cwd, project)
    name = target.name[:MAX_NAME_LENGTH]
    if _changes_settings(call, target):
        return judge_write(name, "guarded", settings)
    kind = write_class(target, settings)
    ruling = (
        judge_write(name, kind, settings)
        if kind != "spec"
        else _judge_spec_edit(call, state, settings, target, project)
    )
    ruling.written = (name, kind)
    return ruling


def _judge_spec_edit(
    call: ToolUse, state: SessionState, settings: GateSettings, target: ProjectPath, project: str
) -> Ruling:
    name = target.name[:MAX_NAME_LENGTH]
    before = read_text(target.real, MAX_EDIT_SIZE)
    after = _text_after(call, before)
    unread = before is None and os.path.lexists(target.real)
    if unread or after is None or len(after) > MAX_EDIT_SIZE:
        return judge_write(name, "spec", settings)
    return _judge_spec(call, state, settings, name, (before or "", after), project)


def _changes_settings(call: ToolUse, target: ProjectPath) -> bool:
    """Return whether an edit of pyproject.toml changes [tool.remit]."""
    if target.name != "pyproject.toml":
        return False
    before = read_text(target.real, MAX_EDIT_SIZE)
    after = _text_after(call, before)
    if after is None:  # the client may still find what is replaced
        return "remit" in repr(call.input)
    return _lines_about_remit(before or "") != _lines_about_remit(after)


def _lines_about_remit(text: str) -> list[str]:
    """Return the lines of a TOML text that may be about Remit."""
    lines, is_inside = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            is_inside = "remit" in line
        if is_inside or "remit" in line:
            lines.append(line)
    return lines


def write_class(target: ProjectPath, settings: GateSettings, *, whole: bool = False) -> str:
    """Return the class of a file that is written; `guarded` for files that only a person changes.

    With `whole`, a folder is removed, moved or replaced with all that is in it.
    """
    if is_guarded(target):
        return "guarded"
    kind = classify(target, settings)
    if kind in ("prose", "state", "scratch"):
        below = [ProjectPath(name, name, inside=True) for name in _names_below(target, whole=whole)]
        classes = ("guarded" if is_guarded(path) else classify(path, settings) for path in below)
        return next((found for found in classes if found in ("guarded", "code", "tests", "spec")), kind)
    return kind


def _names_below(target: ProjectPath, *, whole: bool) -> list[str]:
    """Return the name of any file in a folder; with `whole`, the names of its files, too, up to a limit."""
    if not target.inside or target.name == "." or not os.path.isdir(target.real):
        return []
    names, waiting = [f"{target.name}/_"], [target.real] if whole else []
    while waiting and len(names) < _MAX_BELOW:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    names.append(target.name + entry.path[len(target.real) :])
        except OSError:
            continue
    return names


def judge_write(name: str, kind: str, settings: GateSettings, *, by_shell: bool = False) -> Ruling:
    """Judge a write by the class of its file."""
    through = " through the shell" if by_shell else ""
    if kind in ("state", "scratch"):
        return Ruling(paths=(name,), exception=None)
    if kind == "guarded":
        reason = f"{name} is guarded and is changed by a person only, not{through or ' by an agent'}. You may read it"
        return Ruling(1, "guarded-state", reason, paths=(name,))
    if kind == "prose":
        return Ruling(3, None, f"{name} is prose; the direct edit{through} is recorded", paths=(name,))
    if kind == "tests":
        agent, rule, what = settings.agent("tests"), "edit-tests", "a test"
    elif kind == "spec":
        agent, rule, what = settings.agent("spec"), "edit-spec", "a specification"
    else:
        role = "frontend" if name.lower().endswith(_FRONTEND) else "backend"
        agent, rule, what = settings.agent(role), "edit-code", "code or configuration"
    if name == ".":
        reason = (
            f"this changes files of the project, which an orchestrator does not do{through}. Delegate it to {agent}"
        )
    else:
        reason = f"{name} is {what}, which an orchestrator does not change{through}. Delegate the change to {agent}"
    return Ruling(1, rule, reason, delegate_to=agent, paths=(name,))


def judge_shell_writes(effects: Effects, call: ToolUse, settings: GateSettings, project: str) -> list[Ruling]:
    """Judge the writes of a command line."""
    rulings: list[Ruling] = []
    removed: list[str] = []
    for path in effects.writes:
        target = locate(path, call.cwd, project)
        kind = write_class(target, settings, whole=path in effects.removes)
        if kind == "code" and path in effects.removes and _may_be_output(target):
            removed.append(target.name)
        else:
            rulings.append(judge_write(target.name[:MAX_NAME_LENGTH], kind, settings, by_shell=True))
    is_denied = any(ruling.level == 1 for ruling in rulings)
    output = _output_of(removed, project) if 0 < len(removed) <= _MAX_REMOVED and not is_denied else frozenset()
    for name in removed:
        if name in output:
            rulings.append(Ruling(3, None, f"{name[:MAX_NAME_LENGTH]} is output that git ignores"))
        else:
            rulings.append(judge_write(name[:MAX_NAME_LENGTH], "code", settings, by_shell=True))
    return rulings


def _may_be_output(target: ProjectPath) -> bool:
    """Return whether a path may be output of tools by its name. A pattern may match what git does not ignore."""
    return (
        target.inside
        and not any(letter in target.name for letter in "*?[")
        and not _OUTPUT_FOLDERS.isdisjoint(target.name.split("/"))
    )


def _output_of(names: list[str], project: str) -> frozenset[str]:
    """Return the paths that git ignores and has no file of."""
    ignored = ignored_among(project, names)
    return frozenset(name for name in names if name in ignored and not has_committed(project, name))


def _text_after(call: ToolUse, before: str | None) -> str | None:
    """Return the text of the file after the edit, or None if it cannot be determined."""
    if call.tool == "Write":
        return call.text("content")
    edits: Any = call.input.get("edits") if call.tool == "MultiEdit" else [call.input]
    if before is None or not isinstance(edits, list | tuple) or len(edits) > 100:
        return None
    text = before
    for edit in edits:
        old, new = (edit.get("old_string"), edit.get("new_string")) if isinstance(edit, dict) else (None, None)
        if not isinstance(old, str) or not isinstance(new, str) or not old or old not in text:
            return None
        text = text.replace(old, new) if edit.get("replace_all") is True else text.replace(old, new, 1)
        if len(text) > MAX_EDIT_SIZE:
            return None
    return text


def _judge_spec(
    call: ToolUse, state: SessionState, settings: GateSettings, name: str, texts: tuple[str, str], project: str
) -> Ruling:
    from remit.gate.trivial_edit import digest, judge_trivial_edit  # late: edits of specifications are rare

    limit = settings.limits["edit_lines"]
    edit = judge_trivial_edit(*texts, lambda *words: count_words(project, *words), path=name, max_lines=limit)
    agent = settings.agent("spec")
    is_declared = state.is_declared("edit", name)
    if edit.kind is None:
        rule = "trivial-edit" if is_declared else "edit-spec"
        reason = f"{name} is a specification, and this edit is not trivial: {edit.reason}. Delegate it to {agent}"
        return Ruling(1, rule, reason, delegate_to=agent, paths=(name,))
    is_direct = edit.kind == "formatting" or is_declared or settings.trivial_edits == "direct"
    if not is_direct and not has_failed_twice(state, agent):
        reason = (
            f"{name}: {edit.reason}. That is trivial, but must be delegated first: send it to {agent}. A direct edit "
            f"is allowed after that failed twice, or if a person declares it: remit gate declare edit {name} --why ..."
        )
        return Ruling(1, "trivial-edit", reason, delegate_to=agent, paths=(name,))

    def grant(state: SessionState) -> None:
        state.record_exception("trivial-edit", (name,), state.updated)
        if call.tool_use_id:
            state.pending[call.tool_use_id] = Grant(
                kind="edit", paths={name: edit.changed}, after=digest(texts[1]), at=state.updated
            )

    return Ruling(0, None, f"{name}: {edit.reason}", exception="trivial-edit", paths=(name,), apply=grant)
