"""Compare the project before and after a call, and report changes without permission.

Before a call that may write, the work tree is recorded. After it, protected files that differ are compared with what
the call, and other calls that ran at the same time, were allowed to write. What is left is reported, and a patch that
reverts exactly this change is kept.
"""

from __future__ import annotations

import os
import time

from remit.deciding_files import SAMPLE
from remit.gate import file_versions, ignore_rules, work_tree
from remit.gate.change_report import mark_reverted, named, report_changes
from remit.gate.git_settings import CONFIG, decides_what_git_runs, settings_digest
from remit.gate.guarded import is_guarded_name, is_instruction, remit_table_digest
from remit.gate.guarded_outside import changed_outside
from remit.gate.leftover_processes import left_running
from remit.gate.linked_files import changed_linked
from remit.gate.project_paths import ProjectPath, classify
from remit.gate.ruling import Ruling
from remit.gate.session_entries import BackgroundCall, Writer
from remit.gate.shared_mappings import mapped_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.call_record import CallEvent, CallRecord
    from remit.gate.file_versions import StatChange
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse
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


def judge_effects(event: CallEvent, record: CallRecord | None, *, is_reset: bool = False) -> Ruling:
    """Judge what changed while a call ran. A change without permission is recorded, with a patch that reverts it."""
    call, state, project, folder = event.call, event.state, event.project, event.folder
    writer = state.writer_of(call)
    is_settled = writer is not None and bool(writer.end)
    state.close_writer(call)
    if record is None:
        # An event may be delivered twice. After a reset, the records of the session are gone, too.
        is_lost = not is_settled if writer is not None else is_reset
        return _lost_record(call) if is_lost else Ruling()
    event.own, before, event.since = writer or Writer(), record.tree, record.at
    _note_processes(event, record.process)
    mark_reverted(event.own, state)
    after, changes = work_tree.scan(project, before)
    changes, unseen = _judged_changes(changes, before, event)
    changes += _new_dependencies(after, event)
    work_tree.record_again(folder, project, after, changes)
    if not (before.is_complete and after.is_complete):
        return Ruling(2, "unannounced-change", f"the project has more than {work_tree.MAX_FILES} files; not compared")
    if record.git == settings_digest(project):  # git has written a remote or a branch
        changes = [change for change in changes if change.path != CONFIG]
    is_table_changed = record.table != remit_table_digest(project)
    left = protected_changes(changes, state, event.settings, is_table_changed=is_table_changed, with_folders=True)
    left = file_versions.without_rewritten(folder, project, before.copies, before.head, left)
    deciding = [change for change in left if decides_what_git_runs(change.path)]
    locked = [change for change in left if _is_locked(change.path, event.own)]
    left, moved = unexplained(left, event)
    names = [] if event.own.remit else changed_outside(folder, project, record.outside, record.at)
    if before.links:
        linked = changed_linked(project, before, record.linked, {change.path for change in changes})
        names += _without_permission(linked, event)
    is_output = _is_task(event, is_recorded=writer is not None) and all(map(_is_in_output_folder, left))
    if names or (left and not is_output):
        return _with_declarations(report_changes(event, first_code(left, event.settings), names, before), event)
    others = ([change for change in some if change not in moved] for some in (deciding, locked))
    ruling = _note(moved, left, *others)
    if unseen:
        text = f"{unseen} more new files are not looked at; `git status` shows them. {ruling.reason}".rstrip(". ")
        ruling = Ruling(2, "unannounced-change", text)
    return _with_declarations(ruling, event)


def _with_declarations(ruling: Ruling, event: CallEvent) -> Ruling:
    """Add that a declaration was made while a call ran that was not known to make one."""
    made = [entry for entry in event.state.declarations if event.own.at and entry.at >= event.own.at]
    if event.own.declares or not made:
        return ruling
    named_files = ", ".join(f"{entry.kind} {' '.join(entry.paths)}" for entry in made)
    text = f"a declaration was made while this call ran ({named_files}). If you did not make it, end this session"
    if ruling.level in (1, 2):
        ruling.reason += f". {text}"
        return ruling
    return Ruling(2, "declare", f"{text}. {ruling.reason}".rstrip(". "))


def first_code(changes: list[StatChange], settings: GateSettings) -> list[StatChange]:
    """Return changes in the order in which they matter: code and guarded files, tests and specifications, git's own."""

    def rank(change: StatChange) -> int:
        if change.path.startswith(".git/") or "/.git/" in change.path:
            return 2
        return 0 if _class_of(change.path, settings, is_table_changed=True) in ("code", "guarded") else 1

    return sorted(changes, key=rank)


def _judged_changes(changes: list[StatChange], before: TreeRecord, event: CallEvent) -> tuple[list[StatChange], int]:
    """Return the changes that are judged, and how many new files are not: a command can make more than time allows."""
    new = [change for change in changes if change.is_new]
    if len(new) <= _MAX_JUDGED:
        return changes, 0
    tops = {change.path: _new_folder(change.path, before) for change in new}
    ignored = _ignored(event, sorted(set(tops.values()))[:_MAX_JUDGED])
    new = [change for change in new if tops[change.path] not in ignored]
    rest = [change for change in changes if not change.is_new]
    return [*rest, *new[:_MAX_JUDGED]], max(0, len(new) - _MAX_JUDGED)


def _ignored(event: CallEvent, paths: list[str]) -> set[str]:
    """Return the new paths that git ignores. They are left out of later records."""
    rules = ignore_rules.load_rules(event.folder, event.call.session)
    ignored = ignore_rules.are_ignored(event.project, paths, rules)
    if ignored:
        work_tree.refresh_ignored(event.folder, ignore_rules.ignored_paths(event.project, rules))
    return ignored


def _new_folder(path: str, before: TreeRecord) -> str:
    """Return the highest folder above a file that was not there before, or the file itself."""
    parts = path.split("/")
    names = ("/".join(parts[: count + 1]) for count in range(len(parts)))
    return next((name for name in names if os.fsencode(name) not in before.folders), path)


def _is_task(event: CallEvent, *, is_recorded: bool) -> bool:
    """Return whether a call is an understood command line of the orchestrator, such as a build."""
    return is_recorded and event.call.tool in _STARTERS and not event.call.agent_id and not event.own.opaque


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


def _note_processes(event: CallEvent, since: int) -> None:
    """Record the processes that a call left running. What they change later is compared at the next event."""
    background = event.state.background
    known = {process.number for entry in background for process in entry.processes}
    running = left_running(event.project, since) if event.call.tool in _STARTERS else []
    left = [process for process in running if process.number not in known]
    is_task = event.call.input.get("run_in_background") is True
    if left or is_task:
        mapped = mapped_files(event.project, [])
        about = {"since": time.time(), "processes": left, "task": is_task, "mapped": mapped}
        background.append(BackgroundCall(**vars(event.own), **about))


def _lost_record(call: ToolUse) -> Ruling:
    reason = (
        f"the gate's record of the project before this {call.tool} call is missing, so what it changed is not known. "
        "Tell the user; `git status` shows what is not committed"
    )
    return Ruling(1, "guarded-state", reason, paths=(".remit/gate",))


def _new_dependencies(tree: TreeRecord, event: CallEvent) -> list[StatChange]:
    """Return the files of new folders of dependencies, unless git ignores them or a package manager made them."""
    paths = [os.fsdecode(path) for path in tree.dependencies]
    if not paths:
        return []
    writers, rules = event.writers(), ignore_rules.load_rules(event.folder, event.call.session)
    ignored = ignore_rules.are_ignored(event.project, paths, rules)
    expected = [
        path for path in paths if path in ignored or _is_allowed(path, writers, event.settings) or _is_made(path, event)
    ]
    tree.leave_out(expected)
    left = [path for path in paths if path not in expected]
    tree.leave_out(left, is_left_out=False)
    changes = [change for path in left for change in work_tree.add_folder(event.project, tree, path)]
    tree.save(event.folder)
    return changes


def _is_made(path: str, event: CallEvent) -> bool:
    """Return whether a call that runs a package manager made this folder where a package manager makes one."""
    above = os.path.join(event.project, os.path.dirname(path))
    return (event.own.locks or event.own.environment) and (
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
    is_sample = path.endswith(SAMPLE) and os.path.dirname(path).endswith(".git/hooks")
    return change.is_new and (is_sample or name in _OUTPUT or path.endswith(_OUTPUT_ENDINGS))


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
    return any(change.path in entry.paths and seen in entry.seen for entry in state.changes)


def unexplained(changes: list[StatChange], event: CallEvent) -> tuple[list[StatChange], list[StatChange]]:
    """Return the changes that neither this call nor another one at the same time was allowed to make.

    The second list has those that git made when it checked out a commit.
    """
    if not changes:
        return [], []
    writer, settings, writers = event.own, event.settings, event.writers()
    guarded = [
        change for change in changes if is_guarded_name(change.path, settings) or change.path == "pyproject.toml"
    ]
    if writer.remit:
        guarded = []
    if writer.revert:
        guarded = [change for change in guarded if not _is_allowed(change.path, [writer], settings)]
    rest = [change for change in changes if change not in guarded and not _is_allowed(change.path, writers, settings)]
    moved: list[StatChange] = []
    may_be_moved = rest and any(entry.git for entry in writers)
    if may_be_moved and (dirty := file_versions.uncommitted(event.project)) is not None:
        moved = [change for change in rest if change.path not in dirty]
        rest = [change for change in rest if change.path in dirty]
    fresh = [change.path for change in rest if change.is_new]
    if fresh:
        ignored = _ignored(event, fresh)
        rest = [change for change in rest if change.path not in ignored]
    return [*guarded, *rest], moved


def _without_permission(names: list[str], event: CallEvent) -> list[str]:
    """Return the protected files that no call was allowed to change."""
    writers = event.writers() if names else []
    return [
        name
        for name in names
        if _class_of(name, event.settings, is_table_changed=True) in PROTECTED
        and not _is_allowed(name, writers, event.settings)
    ]


def _is_allowed(path: str, writers: list[Writer], settings: GateSettings) -> bool:
    for entry in writers:
        named = entry.paths
        if named is None or _is_locked(path, entry) or path in named or "." in named:
            return True
        if any(path.startswith(f"{name}/") and _covers(name, settings) for name in named):
            return True
    return False


def _is_locked(path: str, entry: Writer) -> bool:
    """Return whether a call that runs a package manager may change a file: the lock file."""
    return entry.locks and os.path.basename(path) in LOCK_FILES


def _covers(name: str, settings: GateSettings) -> bool:
    """Return whether a permission for a folder is one for protected files, and not for the prose in it."""
    return _class_of(name, settings, is_table_changed=True) in PROTECTED
