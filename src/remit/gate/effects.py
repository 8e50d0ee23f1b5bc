"""Compare the project before and after a call, and report changes without permission.

Before a call of the orchestrator that may write, the work tree is recorded. After it, protected files that differ are
compared with what the call, and other calls that ran at the same time, were allowed to write. What is left is reported,
and a patch that reverts exactly this change is kept. While a delegation that may write is open, it is only noted.
"""

from __future__ import annotations

import os

from remit.gate import file_versions, work_tree
from remit.gate.delegations import open_writers
from remit.gate.project_paths import ProjectPath, classify, is_guarded
from remit.gate.reverse_patch import FileVersion, keep_reverse_patch
from remit.gate.ruling import Ruling
from remit.gate.session_entries import ChangeEntry, Writer
from remit.gate.tool_use import MAX_NAME_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.call_record import CallEvent, CallRecord
    from remit.gate.file_versions import StatChange
    from remit.gate.reverse_patch import ReversePatch
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.work_tree import TreeRecord

PROTECTED = ("code", "tests", "spec", "guarded")
#: Tools that run command lines, such as a build.
_STARTERS = ("Bash", "Monitor", "PowerShell")
#: How many files the record of a change names, and how many a message.
_MAX_KEPT = 1_000
_MAX_NAMED = 6
#: With more files than this, the patch has no new files: to make it would take longer than the client waits.
_MAX_PATCHED = 1_000
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


def judge_effects(event: CallEvent, record: CallRecord) -> Ruling:
    """Judge what changed while a call ran. A change without permission is recorded, with a patch that reverts it."""
    state, project, folder = event.state, event.project, event.folder
    writer = state.writer_of(event.call)
    state.close_writer(event.call)
    event.own, before, event.since = writer or Writer(), record.tree, record.at
    _mark_reverted(event.own, state)
    after, changes = work_tree.scan(project, before)
    changes, unseen = _judged_changes(changes, before, event)
    changes += _new_dependencies(after, event)
    work_tree.record_again(folder, project, after, changes)
    if not (before.is_complete and after.is_complete):
        return Ruling(2, "unannounced-change", f"the project has more than {work_tree.MAX_FILES} files; not compared")
    left = _protected_changes(changes, state, event.settings)
    left = file_versions.without_rewritten(folder, project, before.copies, before.head, left)
    locked = [change for change in left if _is_locked(change.path, event.own)]
    left, moved = _unexplained(left, event)
    left, delegated = _charged(left, event)
    is_output = _is_task(event, is_recorded=writer is not None) and all(map(_is_in_output_folder, left))
    if left and not is_output:
        return _report_changes(event, _first_code(left, event.settings), before)
    ruling = _note(moved, left, [change for change in locked if change not in moved], delegated)
    if unseen:
        text = f"{unseen} more new files are not looked at; `git status` shows them. {ruling.reason}".rstrip(". ")
        ruling = Ruling(2, "unannounced-change", text)
    return ruling


def _charged(changes: list[StatChange], event: CallEvent) -> tuple[list[StatChange], list[StatChange]]:
    """Return the changes that the call is charged with, and those that an open delegation may have made."""
    if not any(open_writers(state, event.settings) for state in event.states()):
        return changes, []
    guarded = [change for change in changes if _class_of(change.path, event.settings) == "guarded"]
    return guarded, [change for change in changes if change not in guarded]


def _first_code(changes: list[StatChange], settings: GateSettings) -> list[StatChange]:
    """Return changes in the order in which they matter: code and guarded files first."""
    return sorted(changes, key=lambda change: _class_of(change.path, settings) not in ("code", "guarded"))


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
    ignored = file_versions.ignored_among(event.project, paths)
    if ignored:
        work_tree.refresh_ignored(event.folder, file_versions.ignored_paths(event.project))
    return ignored


def _new_folder(path: str, before: TreeRecord) -> str:
    """Return the highest folder above a file that was not there before, or the file itself."""
    parts = path.split("/")
    names = ("/".join(parts[: count + 1]) for count in range(len(parts)))
    return next((name for name in names if os.fsencode(name) not in before.folders), path)


def _is_task(event: CallEvent, *, is_recorded: bool) -> bool:
    """Return whether a call is an understood command line, such as a build."""
    return is_recorded and event.call.tool in _STARTERS and not event.own.opaque


def _note(
    moved: list[StatChange], output: list[StatChange], locked: list[StatChange], delegated: list[StatChange]
) -> Ruling:
    """Return what the person reads about changes that need not be reported."""
    texts = []
    if delegated:
        names = _named([change.path for change in delegated])
        texts.append(f"{names} changed while a delegation that may write was open")
    if locked:
        texts.append(f"a package manager changed {_named([change.path for change in locked])}")
    if moved:
        texts.append(f"git checked out other content of {_named([change.path for change in moved])}")
    if output:
        texts.append(f"git does not ignore the new output {_named([change.path for change in output])}")
    return Ruling(3, None, "; ".join(texts)) if texts else Ruling()


def _new_dependencies(tree: TreeRecord, event: CallEvent) -> list[StatChange]:
    """Return the files of new folders of dependencies, unless git ignores them or a package manager made them."""
    paths = [os.fsdecode(path) for path in tree.dependencies]
    if not paths:
        return []
    writers, ignored = event.writers(), file_versions.ignored_among(event.project, paths)
    expected = [
        path for path in paths if path in ignored or _is_allowed(path, writers, event.settings) or _is_made(path, event)
    ]
    tree.leave_out(map(os.fsencode, expected))
    left = [path for path in paths if path not in expected]
    tree.leave_out(map(os.fsencode, left), is_left_out=False)
    changes = [change for path in left for change in work_tree.add_folder(event.project, tree, path)]
    tree.save(event.folder)
    return changes


def _is_made(path: str, event: CallEvent) -> bool:
    """Return whether a call that runs a package manager made this folder where a package manager makes one."""
    above = os.path.join(event.project, os.path.dirname(path))
    return (event.own.locks or event.own.environment) and (
        "/" not in path or any(os.path.lexists(os.path.join(above, name)) for name in _MANIFESTS)
    )


def _protected_changes(changes: list[StatChange], state: SessionState, settings: GateSettings) -> list[StatChange]:
    """Return the changes of protected files, without reported ones and new output of tools."""
    return [
        change
        for change in changes
        if not _is_output(change) and _class_of(change.path, settings) in PROTECTED and not _is_reported(change, state)
    ]


def _is_output(change: StatChange) -> bool:
    name = os.path.basename(change.path)
    return change.is_new and (name in _OUTPUT or change.path.endswith(_OUTPUT_ENDINGS))


def _is_in_output_folder(change: StatChange) -> bool:
    return change.is_new and change.path.startswith(_OUTPUT_FOLDERS)


def _class_of(path: str, settings: GateSettings) -> str:
    target = ProjectPath(path, path, inside=True)
    return "guarded" if is_guarded(target) else classify(target, settings)


def _is_reported(change: StatChange, state: SessionState) -> bool:
    """Return whether another call that ran at the same time has been reported for this change."""
    seen = f"{change.after[0]}"
    return any(change.path in entry.paths and seen in entry.seen for entry in state.changes)


def _unexplained(changes: list[StatChange], event: CallEvent) -> tuple[list[StatChange], list[StatChange]]:
    """Return the changes that neither this call nor another one at the same time was allowed to make.

    The second list has those that git made when it checked out a commit.
    """
    if not changes:
        return [], []
    writer, settings, writers = event.own, event.settings, event.writers()
    guarded = [change for change in changes if _class_of(change.path, settings) == "guarded"]
    rest = [change for change in changes if change not in guarded and not _is_allowed(change.path, writers, settings)]
    if writer.remit:
        guarded = []
    if writer.revert:
        guarded = [change for change in guarded if not _is_allowed(change.path, [writer], settings)]
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


def _is_allowed(path: str, writers: list[Writer], settings: GateSettings) -> bool:
    for entry in writers:
        if _is_locked(path, entry) or path in entry.paths or "." in entry.paths:
            return True
        if any(path.startswith(f"{name}/") and _covers(name, settings) for name in entry.paths):
            return True
    return False


def _is_locked(path: str, entry: Writer) -> bool:
    """Return whether a call that runs a package manager may change a file: the lock file."""
    return entry.locks and os.path.basename(path) in LOCK_FILES


def _covers(name: str, settings: GateSettings) -> bool:
    """Return whether a permission for a folder is one for protected files, and not for the prose in it."""
    return _class_of(name, settings) in PROTECTED


def _mark_reverted(writer: Writer, state: SessionState) -> None:
    """Record that a patch of the gate was applied, so that the user has nothing left to decide."""
    for entry in state.changes:
        if writer.revert and entry.patch == writer.revert:
            entry.decided = "reverted"


def _report_changes(event: CallEvent, changes: list[StatChange], before: TreeRecord) -> Ruling:
    """Record a change without permission, and return the ruling that names its files and how to revert it."""
    entry, paths = _record(event, changes, before), _names(changes)
    event.state.record_exception("unannounced-change", tuple(paths), event.state.updated)
    revert = "No patch can restore it: look at the file"
    if entry.command:
        what = "exactly this change" if len(changes) <= _MAX_PATCHED else "the files that were there before"
        revert = f"This reverts {what}: {entry.command}"
    reason = (
        f"{_named(paths)} changed without permission while this {event.call.tool} call ran. Tell the user. {revert}"
    )
    event.state.warn(reason)
    return Ruling(1, "unannounced-change", reason, paths=tuple(paths))


def _names(changes: list[StatChange]) -> list[str]:
    return [change.path[:MAX_NAME_LENGTH] for change in changes]


def _record(event: CallEvent, changes: list[StatChange], before: TreeRecord) -> ChangeEntry:
    """Record a change, with a patch that reverts it if the earlier content is known."""
    entry = ChangeEntry(
        id=event.call.tool_use_id,
        at=event.state.updated,
        paths=_names(changes[:_MAX_KEPT]),
        seen=[f"{change.after[0]}" for change in changes[:_MAX_KEPT]],
        more=len(changes) > _MAX_KEPT,
    )
    kept = _keep_patch(event, changes, before)
    if kept is not None:
        entry.patch, entry.digest, entry.command = kept.name, kept.digest, kept.command
    event.state.changes.append(entry)
    return entry


def _keep_patch(event: CallEvent, changes: list[StatChange], before: TreeRecord) -> ReversePatch | None:
    """Keep the patch that reverts these changes, or return None if the earlier content of one of them is lost."""
    versions = {}
    if len(changes) > _MAX_PATCHED:
        changes = [change for change in changes if not change.is_new][:_MAX_PATCHED]
    known = [change for change in changes if not change.is_new]
    contents = file_versions.contents_before(event.folder, event.project, before.copies, before.head, known)
    for change in changes:
        old, new = contents.get(change.path), None
        if not change.is_new and old is None:
            return None
        if not change.is_removed:
            path = os.path.join(event.project, change.path)
            new = file_versions.read_version(path, change.after[3], file_versions.MAX_COPY)
            if new is None:
                return None
        versions[change.path] = (FileVersion(old, change.before[3]), FileVersion(new, change.after[3]))
    if not versions:
        return None
    return keep_reverse_patch(event.folder, event.project, versions, event.call.tool_use_id)


def _named(paths: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(paths) - _MAX_NAMED
    return ", ".join(paths[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
