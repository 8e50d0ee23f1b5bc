"""What the outputs of tools show: lines, files and exit statuses, also of outputs that come later or are saved.

The client answers a call that starts a command in the background at once, with the id of a task. The task's output is
read later with a tool (`TaskOutput`, `BashOutput`), from a file (`tasks/ID.output`), or announced in a
`<task-notification>`. A long output is saved next to the transcript, which contains a preview (`<persisted-output>`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from remit.evidence.commands import shell_reads, simple_commands
from remit.evidence.receipts import Receipt
from remit.lazy import lazy_pattern
from remit.shell.command_list import join_folder

if TYPE_CHECKING:
    from pathlib import Path

_MAX_NAMES = 5000
_NUMBERED = lazy_pattern(r"\s*(\d{1,9})(?:\t|→)")
_EXIT = lazy_pattern(r"^(?:Error: )?Exit code (-?\d{1,5})")
_HIT = lazy_pattern(r"^(?:\./)?([^\s:][^:]{0,400}):(\d{1,9}):")
_OWN_HIT = lazy_pattern(r"^(\d{1,9})[:\-]")
_CONTEXT = lazy_pattern(r"-(\d{1,9})-")
_NOTICES = ("Found ", "No files found", "No matches found", "[Showing results", "(Results are truncated")
_SEARCHERS = frozenset({"ack", "ag", "egrep", "fgrep", "grep", "rg"})
_STARTED = lazy_pattern(
    r"Command (?:running in background with ID: ([\w\-]{1,64})|"
    r"[^\n]{0,200}moved to the background \(ID: ([\w\-]{1,64})\))"
)
_TASK_FILE = lazy_pattern(r"tasks[/\\]([\w\-]{1,64})\.output")
_TASK_ID = lazy_pattern(r"<task-?_?id>\s*([\w\-]{1,64})\s*</task-?_?id>")
_STATUS = lazy_pattern(r"<status>\s*(\w{1,20})\s*</status>")
_TASK_EXIT = lazy_pattern(r"<exit_?code>\s*(-?\d{1,5})\s*</exit_?code>|exit(?:ed with)?(?: with)? code:? (-?\d{1,5})")
_PERSISTED = lazy_pattern(r"<persisted-output>\s*[^\n]{0,200}?saved to:? ([^\n]{1,1000})\n")
_PREVIEW = lazy_pattern(r"Preview[^\n]{0,40}:\n")
_PERSISTED_END = "\n</persisted-output>"
_IDS = ("task_id", "bash_id", "shell_id", "taskId")
_UNFINISHED = ("running", "pending", "killed", "stopped")
#: Longer texts are not searched for the state of a task; it is at their beginning.
_MAX_STATE = 4_000


def started_task(output: str) -> str | None:
    """Return the id of the task that a call started in the background, or None."""
    found = _STARTED.match(output)
    return (found[1] or found[2]) if found else None


def tasks_read(call: Receipt) -> Iterator[str]:
    """Yield the ids of the tasks whose output a call asks for."""
    for key in _IDS:
        if isinstance(name := call.arguments.get(key), str):
            yield name
    for text in (call.path or "", call.command[:_MAX_STATE]):
        yield from _TASK_FILE.findall(text)


def finished_task(text: str) -> tuple[str, int | None] | None:
    """Return the id and the exit status of the task that a notification announces, or None."""
    if "<task-notification>" not in text[:_MAX_STATE]:
        return None
    name = _TASK_ID.search(text, 0, _MAX_STATE)
    is_finished, status = task_state(text)
    return (name[1], status) if name and is_finished else None


def task_state(output: str) -> tuple[bool, int | None]:
    """Return whether an output shows the end of a task, and its exit status if the output states it."""
    status, code = _STATUS.search(output, 0, _MAX_STATE), _TASK_EXIT.search(output, 0, _MAX_STATE)
    if status and status[1].lower() in _UNFINISHED:
        return False, None
    if status is None:
        return True, None  # the content of its file, which does not state the exit status
    if code:
        return True, int(code[1] or code[2])
    return True, 0 if status[1].lower() == "completed" else None


def whole_output(output: str, transcript: str, limit: int) -> str:
    """Return an output that the client saved next to the transcript, else its preview, else the output itself."""
    saved = _PERSISTED.match(output)
    if saved is None:
        return output
    from pathlib import Path  # late import: slow to load, and few outputs are saved

    # The path is the agent's: only its name counts, in the folders where the client keeps such files.
    name = saved[1].strip().replace("\\", "/").rsplit("/", 1)[-1]
    own = Path(transcript)
    for folder in (own.with_suffix(""), own.parent, own.parent.parent):
        text = _read_saved(folder / "tool-results" / name, limit) if name not in ("", ".", "..") else None
        if text is not None:
            return text
    preview = _PREVIEW.search(output, saved.end())
    end = output.rfind(_PERSISTED_END)
    return output[preview.end() if preview else saved.end() : end if end >= 0 else len(output)]


def _read_saved(path: Path, limit: int) -> str | None:
    try:
        if not path.is_file() or path.is_symlink():
            return None
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def shown_ranges(output: str) -> tuple[tuple[int, int], ...]:
    """Return the range of lines that a Read showed, by their line numbers; (0, 0) if it showed only a notice."""
    first, last_line = _NUMBERED.match(output), _NUMBERED.match(output, output.rfind("\n") + 1)
    if first and last_line and int(last_line[1]) - int(first[1]) == output.count("\n"):
        return ((int(first[1]), int(last_line[1])),)  # the usual case: one number on each line, without gaps
    numbers = [int(found.group(1)) for line in output.split("\n") if (found := _NUMBERED.match(line))]
    if not numbers:
        return ((0, 0),)
    last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            break  # the following lines are not from the file
        last = number
    return ((numbers[0], last),)


def listed_names(output: str) -> list[str]:
    """Return the files that a search listed, one on each line, without the client's notices."""
    lines = output.split("\n", _MAX_NAMES)[:_MAX_NAMES]
    return [line for line in lines if line.strip() and not line.startswith(_NOTICES)]


def grep_hits(arguments: dict[str, Any], output: str) -> dict[str, tuple[int, ...]]:
    """Return the files that a search listed, with the lines it showed. A search of one file does not print its name."""
    raw = arguments.get("path")
    target = raw if isinstance(raw, str) else None
    match arguments.get("output_mode"):
        case "content" if arguments.get("-n") is not False:
            return _numbered_hits(output, target)
        case "content":
            names = [line.split(":", 1)[0] for line in listed_names(output) if ":" in line]
        case "count":
            names = [line.rsplit(":", 1)[0] for line in listed_names(output) if ":" in line]
        case _:
            names = listed_names(output)
    return dict.fromkeys(names or [target] if target else names, ())


def _numbered_hits(output: str, target: str | None) -> dict[str, tuple[int, ...]]:
    """Parse `path:line:text` and context lines `path-line-text`; `line:text` belongs to the only file searched."""
    lines = [line for line in output.split("\n") if line not in ("", "--") and not line.startswith(_NOTICES)]
    if target and all(_OWN_HIT.match(line) for line in lines):
        return {target: tuple(int(line[: found.end() - 1]) for line in lines if (found := _OWN_HIT.match(line)))}
    hits: dict[str, list[int]] = {}
    around: list[str] = []
    for line in lines:
        if found := _HIT.match(line):
            hits.setdefault(found.group(1), []).append(int(found.group(2)))
        else:
            around.append(line)
    for line in around:
        marks = ((line[: mark.start()].removeprefix("./"), int(mark.group(1))) for mark in _CONTEXT.finditer(line))
        for name, number in marks:
            if name in hits:
                hits[name].append(number)
                break
    return {name: tuple(sorted(set(numbers))) for name, numbers in hits.items()}


def shell_hits(command: str, output: str) -> dict[str, tuple[int, ...]]:
    """Return the lines that a search in the shell showed: `grep -rn word src`."""
    for simple in simple_commands(command):
        if simple.program in _SEARCHERS or (simple.program == "git" and "grep" in simple.words):
            files = [name for name, _ in shell_reads(command)]
            found = _numbered_hits(output, files[0] if len(files) == 1 else None)
            inside = {name: lines for hit, lines in found.items() if (name := join_folder(simple.folder, hit))}
            return found if found.keys() <= set(files) else inside
    return {}


def exit_status(output: str, *, failed: bool) -> int | None:
    """Return the exit status of a command, or None if its output does not state it."""
    if not failed:
        return 0
    found = _EXIT.match(output)
    return int(found.group(1)) if found else None
