"""Direct edits: state and prose are the orchestrator's, code and tests never, a specification only trivially."""

from __future__ import annotations

import os

from remit.gate.delegations import has_given_up, judge_subagent_write
from remit.gate.model import LONGEST_NAME
from remit.gate.paths import classify, is_guarded, locate, read_text
from remit.gate.ruling import Ruling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from remit.gate.model import ToolUse
    from remit.gate.paths import ProjectPath
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings

#: Endings of what a browser shows.
_FRONTEND = (".tsx", ".jsx", ".css", ".scss", ".sass", ".less", ".html", ".htm", ".vue", ".svelte", ".astro")
#: A larger file is not compared with what it would become.
LARGEST = 2_000_000


def edited_path(call: ToolUse) -> str:
    """The file that an editing tool changes."""
    return call.text("file_path") or call.text("notebook_path") or call.text("path")


def judge_edit(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """An edit by one of the client's tools."""
    place = locate(edited_path(call), call.cwd, project)
    name = place.name[:LONGEST_NAME]
    kind = _class(place, settings, project)
    if kind != "spec":
        return judge_write(name, kind, settings)
    before = read_text(place.real, LARGEST)
    after = _after(call, before)
    unread = before is None and os.path.lexists(place.real)
    if unread or after is None or len(after) > LARGEST:
        return judge_write(name, "spec", settings)
    return _judge_spec(call, state, settings, name, (before or "", after))


def judge_subagent_edit(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """A subagent's edit: of any class, but not of what remit keeps, nor of a file that another one writes."""
    place = locate(edited_path(call), call.cwd, project)
    if is_guarded(place, settings, project):
        return judge_write(place.name[:LONGEST_NAME], "guarded", settings)
    return judge_subagent_write(call, state, [place.name])


def _class(place: ProjectPath, settings: GateSettings, project: str) -> str:
    """The class of a file that is written; what only remit writes is one of its own."""
    return "guarded" if is_guarded(place, settings, project) else classify(place, settings)


def judge_write(name: str, kind: str, settings: GateSettings, *, by_shell: bool = False) -> Ruling:
    """A write of which nothing more is known than where."""
    through = " through the shell" if by_shell else ""
    if kind in ("state", "scratch"):
        return Ruling(paths=(name,), exception=None)
    if kind == "guarded":
        reason = f"{name} is kept by remit itself and not written{through}; reading it is fine"
        return Ruling(1, "guarded-state", reason, paths=(name,))
    if kind == "prose":
        return Ruling(3, None, f"{name} is prose: edited directly{through}, and noted", paths=(name,))
    if kind == "tests":
        agent, rule, what = settings.agent("tests"), "edit-tests", "a test"
    elif kind == "spec":
        agent, rule, what = settings.agent("spec"), "edit-spec", "a specification"
    else:
        role = "frontend" if name.lower().endswith(_FRONTEND) else "backend"
        agent, rule, what = settings.agent(role), "edit-code", "code or configuration"
    if name == ".":
        reason = (
            f"this changes files of the project, which the orchestrator does not do{through}. Delegate it to {agent}"
        )
    else:
        reason = f"{name} is {what}, which the orchestrator does not write{through}. Delegate the change to {agent}"
    return Ruling(1, rule, reason, delegate_to=agent, paths=(name,))


def judge_shell_writes(
    paths: Iterable[str],
    restored: Iterable[str],
    call: ToolUse,
    state: SessionState,
    settings: GateSettings,
    project: str,
) -> list[Ruling]:
    """The writes of a command line; a file that an edit changed too much may be restored."""
    again = {locate(path, call.cwd, project).name for path in restored}
    rulings = []
    for path in paths:
        place = locate(path, call.cwd, project)
        if place.name in again and place.name in state.reverts:
            rulings.append(Ruling(3, None, f"{place.name} is restored after an edit that changed too much"))
        else:
            kind = _class(place, settings, project)
            rulings.append(judge_write(place.name[:LONGEST_NAME], kind, settings, by_shell=True))
    return rulings


def _after(call: ToolUse, before: str | None) -> str | None:
    """What the file would hold after the edit; None if that cannot be said."""
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
        if len(text) > LARGEST:
            return None
    return text


def _judge_spec(
    call: ToolUse, state: SessionState, settings: GateSettings, name: str, texts: tuple[str, str]
) -> Ruling:
    from remit.gate.trivial_edit import digest, judge_trivial_edit  # late: few calls edit a specification

    edit = judge_trivial_edit(*texts, path=name, most=settings.limits["edit_lines"])
    agent = settings.agent("spec")
    declared = state.declared("edit", name)
    if edit.kind is None:
        rule = "trivial-edit" if declared else "edit-spec"
        reason = f"{name} is a specification, and this is no trivial edit: {edit.reason}. Delegate it to {agent}"
        return Ruling(1, rule, reason, delegate_to=agent, paths=(name,))
    allowed = edit.kind == "formatting" or declared or settings.trivial_edits == "direct" or has_given_up(state, agent)
    if not allowed:
        reason = (
            f"{name}: {edit.reason}, which is trivial, but delegation comes first: give it to {agent}. Directly only "
            f"after that failed twice, or when a person declares it: remit gate declare edit {name} --why ..."
        )
        return Ruling(1, "trivial-edit", reason, delegate_to=agent, paths=(name,))

    def grant(state: SessionState) -> None:
        state.record_exception("trivial-edit", (name,), state.updated)
        if call.tool_use_id:
            announced = {"kind": "edit", "paths": {name: edit.changed}, "after": digest(texts[1]), "at": state.updated}
            state.pending[call.tool_use_id] = announced

    return Ruling(0, None, f"{name}: {edit.reason}", exception="trivial-edit", paths=(name,), apply=grant)
