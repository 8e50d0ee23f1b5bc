"""Compare the project before and after a call, and report changes without permission.

Before a call that may write, the work tree is recorded. After it, protected files that differ are compared with what
the call, and other calls that ran at the same time, were allowed to write. What is left is reported, and a patch that
reverts exactly this change is kept.
"""

from __future__ import annotations

import os
import time

from remit.gate import file_versions, ignore_rules, work_tree
from remit.gate.call_record import other_calls
from remit.gate.change_report import mark_reverted, named, report_changes
from remit.gate.git_settings import CONFIG, decides_what_runs, settings_digest
from remit.gate.guarded import is_guarded_name, is_instruction, remit_table_digest
from remit.gate.guarded_outside import changed_outside
from remit.gate.leftover_processes import left_running
from remit.gate.linked_files import changed_linked
from remit.gate.paths import ProjectPath, classify
from remit.gate.ruling import Ruling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.call_record import CallRecord
    from remit.gate.file_versions import StatChange
    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.work_tree import TreeRecord

PROTECTED = ("code", "tests", "spec", "guarded")
#: Tools whose processes may outlive them.
_STARTERS = ("Bash", "Monitor", "PowerShell")
#: New files that are judged after a call.
_MAX_JUDGED = 5_000
#: What tools leave behind in projects without a .gitignore.
_OUTPUT = frozenset({".coverage", "coverage.xml", ".DS_Store", "nohup.out", ".eslintcache", ".remit-check"})
_OUTPUT_ENDINGS = (".pyc", ".pyo", ".log", ".tsbuildinfo", ".swp", ".o", ".class", ".lcov", ".profraw")
_OUTPUT_FOLDERS = ("build/", "dist/", "target/", "out/", "htmlcov/", "coverage/", ".next/", ".nyc_output/")
#: Files next to which package managers install dependencies.
_MANIFESTS = ("package.json", "pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile", "manage.py")
#: Files that package managers rewrite.
LOCK_FILES = frozenset(
    {
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
        "bun.lockb",
        "uv.lock",
        "poetry.lock",
        "Cargo.lock",
    }
    | {"go.sum", "go.mod", "Gemfile.lock", "composer.lock", "Pipfile.lock", "pdm.lock", "mix.lock", "deno.lock"}
)


def judge_effects(
    call: ToolUse,
    record: CallRecord | None,
    state: SessionState,
    settings: GateSettings,
    project: str,
    folder: str,
    *,
    is_reset: bool = False,
) -> Ruling:
    """Judge what changed while a call ran. A change without permission is recorded, with a patch that reverts it."""
    own = next((entry for entry in state.writers if entry.get("id") == call.tool_use_id), None)
    is_settled = own is not None and bool(own.get("end"))
    if own is not None:
        own["end"] = time.time()
    if record is None:
        # An event may be delivered twice. After a reset, the records of the session are gone, too.
        is_lost = not is_settled if own is not None else is_reset
        return _lost_record(call) if is_lost else Ruling()
    own, before, at = own or {}, record.tree, record.at
    _note_processes(call, own, record.process, state, project)
    mark_reverted(own, state)
    after, changes = work_tree.scan(project, before)
    changes, unseen = _judged_changes(changes, before, call, project, folder)
    changes += _new_dependencies(after, call, own, at, state, settings, project, folder)
    work_tree.record_again(folder, project, after, changes)
    if not (before.is_complete and after.is_complete):
        return Ruling(2, "unannounced-change", f"the project has more than {work_tree.MAX_FILES} files; not compared")
    is_table_changed = record.table != remit_table_digest(project)
    if record.git == settings_digest(project):  # git has written a remote or a branch
        changes = [change for change in changes if change.path != CONFIG]
    left = protected_changes(changes, state, settings, is_table_changed=is_table_changed, with_folders=True)
    moved: list[StatChange] = []
    deciding: list[StatChange] = []
    locked: list[StatChange] = []
    if left:
        left = file_versions.without_rewritten(folder, project, before.copies, before.head, left)
        deciding = [change for change in left if decides_what_runs(change.path)]
        locked = [change for change in left if _is_locked(change.path, own)]
        left, moved = unexplained(left, call, own, at, state, settings, project, folder)
    names = [] if own.get("remit") else changed_outside(folder, project, record.outside, at)
    if before.links:
        linked = changed_linked(project, before, record.linked, {change.path for change in changes})
        names += _without_permission(linked, call, own, at, state, settings, folder)
    is_output = _is_task(call, own) and all(map(_is_in_output_folder, left))
    if names or (left and not is_output):
        return _with_declarations(
            report_changes(call, left, names, before, state, settings, project, folder), own, state
        )
    others = ([change for change in some if change not in moved] for some in (deciding, locked))
    ruling = _note(moved, left, *others)
    if unseen:
        text = f"{unseen} more new files are not looked at; `git status` shows them. {ruling.reason}".rstrip(". ")
        ruling = Ruling(2, "unannounced-change", text)
    return _with_declarations(ruling, own, state)


def _with_declarations(ruling: Ruling, own: dict[str, Any], state: SessionState) -> Ruling:
    """Add that a declaration was made while a call ran that was not known to make one."""
    made = [entry for entry in state.declarations if entry.get("at", 0) >= own.get("at", float("inf"))]
    if own.get("declares") or not made:
        return ruling
    named_files = ", ".join(f"{entry.get('kind')} {' '.join(map(str, entry.get('paths', ())))}" for entry in made)
    text = f"a declaration was made while this call ran ({named_files}). If you did not make it, end this session"
    if ruling.level in (1, 2):
        ruling.reason += f". {text}"
        return ruling
    return Ruling(2, "declare", f"{text}. {ruling.reason}".rstrip(". "))


def _judged_changes(
    changes: list[StatChange], before: TreeRecord, call: ToolUse, project: str, folder: str
) -> tuple[list[StatChange], int]:
    """Return the changes that are judged, and how many new files are not: a command can make more than time allows."""
    new = [change for change in changes if change.is_new]
    if len(new) <= _MAX_JUDGED:
        return changes, 0
    tops = {change.path: _new_folder(change.path, before) for change in new}
    rules = ignore_rules.load_rules(folder, call.session)
    ignored = ignore_rules.are_ignored(project, sorted(set(tops.values()))[:_MAX_JUDGED], rules)
    if ignored:
        work_tree.refresh_ignored(folder, ignore_rules.ignored_paths(project, rules))
    new = [change for change in new if tops[change.path] not in ignored]
    rest = [change for change in changes if not change.is_new]
    return [*rest, *new[:_MAX_JUDGED]], max(0, len(new) - _MAX_JUDGED)


def _new_folder(path: str, before: TreeRecord) -> str:
    """Return the highest folder above a file that was not there before, or the file itself."""
    parts = path.split("/")
    names = ("/".join(parts[: count + 1]) for count in range(len(parts)))
    return next((name for name in names if os.fsencode(name) not in before.folders), path)


def _is_task(call: ToolUse, own: dict[str, Any]) -> bool:
    """Return whether a call is an understood command line of the orchestrator, such as a build."""
    return bool(own) and call.tool in _STARTERS and not call.agent_id and not own.get("opaque")


def _note(
    moved: list[StatChange], output: list[StatChange], deciding: list[StatChange], locked: list[StatChange]
) -> Ruling:
    """Return what the person reads about changes that need not be reported."""
    texts = []
    if deciding:
        names = named([change.path for change in deciding])
        texts.append(f"{names} changed, by a call that may write. It decides what runs next; look at it")
    if locked:
        texts.append(f"a package manager changed {named([change.path for change in locked])}")
    if moved:
        texts.append(f"git checked out other content of {named([change.path for change in moved])}")
    if output:
        texts.append(f"git does not ignore the new output {named([change.path for change in output])}")
    return Ruling(3, None, "; ".join(texts)) if texts else Ruling()


def _note_processes(call: ToolUse, own: dict[str, Any], since: int, state: SessionState, project: str) -> None:
    """Record the processes that a call left running. What they change later is compared at the next event."""
    known = {one[0] for entry in state.background for one in entry.get("processes", ()) if one}
    found = [one for one in left_running(project, since) if one[0] not in known] if call.tool in _STARTERS else []
    is_task = call.input.get("run_in_background") is True
    if found or is_task:
        own = {"paths": [], **own, **({"task": True} if is_task else {})}
        state.background.append({**own, "since": time.time(), "processes": [list(one) for one in found]})


def _lost_record(call: ToolUse) -> Ruling:
    reason = (
        f"the gate's record of the project before this {call.tool} call is missing, so what it changed is not known. "
        "Tell the user; `git status` shows what is not committed"
    )
    return Ruling(1, "guarded-state", reason, paths=(".remit/gate",))


def _new_dependencies(
    tree: TreeRecord,
    call: ToolUse,
    own: dict[str, Any],
    at: float,
    state: SessionState,
    settings: GateSettings,
    project: str,
    folder: str,
) -> list[StatChange]:
    """Return the files of new folders of dependencies, unless git ignores them or a package manager made them."""
    paths = [os.fsdecode(path) for path in tree.dependencies]
    if not paths:
        return []
    writers = [own, *other_calls(call, at, state, folder)]
    ignored = ignore_rules.are_ignored(project, paths, ignore_rules.load_rules(folder, call.session))
    expected = [
        path
        for path in paths
        if path in ignored or _is_allowed(path, writers, settings) or _is_made(path, own, project)
    ]
    tree.leave_out(expected)
    left = [path for path in paths if path not in expected]
    tree.leave_out(left, is_left_out=False)
    changes = [change for path in left for change in work_tree.add_folder(project, tree, path)]
    tree.save(folder)
    return changes


def _is_made(path: str, own: dict[str, Any], project: str) -> bool:
    """Return whether a call that runs a package manager made this folder where a package manager makes one."""
    above = os.path.join(project, os.path.dirname(path))
    return bool(own.get("locks") or own.get("environment")) and (
        "/" not in path or any(os.path.lexists(os.path.join(above, name)) for name in _MANIFESTS)
    )


def protected_changes(
    changes: list[StatChange],
    state: SessionState,
    settings: GateSettings,
    *,
    is_table_changed: bool = True,
    with_folders: bool = False,
) -> list[StatChange]:
    """Return the changes of protected files, without reported ones and new output of tools.

    New files in folders of output are left out, too, unless `with_folders`.
    """
    return [
        change
        for change in changes
        if not (_is_output(change) or (not with_folders and _is_in_output_folder(change)))
        and _class_of(change.path, settings, is_table_changed=is_table_changed) in PROTECTED
        and not _is_reported(change, state)
    ]


def _is_output(change: StatChange) -> bool:
    path = change.path
    name = os.path.basename(path)
    return change.is_new and (name in _OUTPUT or path.endswith(_OUTPUT_ENDINGS))


def _is_in_output_folder(change: StatChange) -> bool:
    return change.is_new and change.path.startswith(_OUTPUT_FOLDERS)


def _class_of(path: str, settings: GateSettings, *, is_table_changed: bool) -> str:
    if is_guarded_name(path, settings) or (path == "pyproject.toml" and is_table_changed):
        return "guarded"
    if is_instruction(path):
        return "spec"
    return classify(ProjectPath(path, path, inside=True), settings)


def _is_reported(change: StatChange, state: SessionState) -> bool:
    """Return whether another call that ran at the same time has been reported for this change."""
    seen = f"{change.after[0]}"
    return any(change.path in entry.get("paths", ()) and seen in entry.get("seen", ()) for entry in state.changes)


def unexplained(
    changes: list[StatChange],
    call: ToolUse,
    own: dict[str, Any],
    at: float,
    state: SessionState,
    settings: GateSettings,
    project: str,
    folder: str,
) -> tuple[list[StatChange], list[StatChange]]:
    """Return the changes that neither this call nor another one at the same time was allowed to make.

    The second list has those that git made when it checked out a commit.
    """
    guarded = [one for one in changes if is_guarded_name(one.path, settings) or one.path == "pyproject.toml"]
    writers = [own, *other_calls(call, at, state, folder)]
    if own.get("remit"):
        guarded = []
    if own.get("revert"):
        guarded = [change for change in guarded if not _is_allowed(change.path, [own], settings)]
    rest = [change for change in changes if change not in guarded and not _is_allowed(change.path, writers, settings)]
    moved: list[StatChange] = []
    if (
        rest
        and any(entry.get("git") for entry in writers)
        and (dirty := file_versions.uncommitted(project)) is not None
    ):
        moved = [change for change in rest if change.path not in dirty]
        rest = [change for change in rest if change.path in dirty]
    fresh = [change.path for change in rest if change.is_new]
    if fresh:
        rules = ignore_rules.load_rules(folder, call.session)
        ignored = ignore_rules.are_ignored(project, fresh, rules)
        rest = [change for change in rest if change.path not in ignored]
        if ignored:
            work_tree.refresh_ignored(folder, ignore_rules.ignored_paths(project, rules))
    return [*guarded, *rest], moved


def _without_permission(
    names: list[str],
    call: ToolUse,
    own: dict[str, Any],
    at: float,
    state: SessionState,
    settings: GateSettings,
    folder: str,
) -> list[str]:
    """Return the protected files that no call was allowed to change."""
    writers = [own, *other_calls(call, at, state, folder)] if names else []
    return [
        name
        for name in names
        if _class_of(name, settings, is_table_changed=True) in PROTECTED and not _is_allowed(name, writers, settings)
    ]


def _is_allowed(path: str, writers: list[dict[str, Any]], settings: GateSettings) -> bool:
    for entry in writers:
        named = entry.get("paths", ())
        if named is None or _is_locked(path, entry):
            return True
        if path in named or any(path.startswith(f"{name}/") and _covers(name, settings) for name in named):
            return True
        if "." in named:
            return True
    return False


def _is_locked(path: str, entry: dict[str, Any]) -> bool:
    """Return whether a call that runs a package manager may change a file: the lock file."""
    return bool(entry.get("locks")) and os.path.basename(path) in LOCK_FILES


def _covers(name: str, settings: GateSettings) -> bool:
    """Return whether a permission for a folder is one for protected files, and not for the prose in it."""
    return _class_of(name, settings, is_table_changed=True) in PROTECTED
