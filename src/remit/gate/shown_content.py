"""Find out how many lines of the project's files the output of a command or of another tool shows.

Tasks, tests and tools such as `git log -p` print files among other text. Only lines that are in a file count, so that
the output of a test run does not. Lines count also if they are joined to a long one, or if they are a text in JSON.
"""

from __future__ import annotations

import os

from remit.gate.file_versions import ask_git, read_bytes
from remit.gate.paths import classify, locate
from remit.gate.ruling import Ruling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings

#: The output of command lines that were not understood counts as one file.
_OUTPUT = "(output of commands)"
#: Characters of an output that are looked at.
_MAX_OUTPUT = 400_000
#: A shorter line can be in any file.
_TELLING = 12
#: With fewer telling lines of a file, they are there by chance, or as a quotation.
_FEW = 5
_MAX_SAMPLES = 60
_MAX_FILES = 20
_MAX_FILE = 2_000_000
_MARKS = "+->|│ \t"
#: A longer line may be many lines that were joined.
_LONG = 1_000
_MAX_JOINED = 100_000
#: Lines of a file that are looked for in a long line, and files in which it is done.
_MAX_SOUGHT = 200
_MAX_JOINED_FILES = 5
_WORD = 6
#: Parts of a response that are looked at.
_MAX_PARTS = 2_000


def text_of(response: object) -> str:
    """Return all text of a tool's response in any form, one part in a line."""
    found: list[str] = []
    waiting: list[object] = [response]
    for _ in range(_MAX_PARTS):
        if not waiting:
            break
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            waiting += reversed(part.values())
        elif isinstance(part, list | tuple):
            waiting += reversed(part[:_MAX_PARTS])
    return "\n".join(found)[:_MAX_OUTPUT]


def count_output(
    call: ToolUse, output: str, lines: int, state: SessionState, settings: GateSettings, project: str
) -> Ruling:
    """Count what a command line showed: all lines if it was not understood, else those that are in files."""
    own = next((entry for entry in state.writers if entry.get("id") == call.tool_use_id), {})
    if own.get("opaque"):
        state.window.add(_OUTPUT, lines)
        return Ruling()
    found = {
        path: count
        for path, count in count_shown_lines(output, project).items()
        if classify(locate(path, project, project), settings) != "state"
    }
    for path, count in found.items():
        state.window.add(path, count)
    if not found:
        return Ruling()
    reason = f"the output shows {sum(found.values())} lines of {len(found)} files, which count as read directly"
    return Ruling(3, None, reason, paths=tuple(found), lines=sum(found.values()))


def count_shown_lines(output: str, project: str) -> dict[str, int]:
    """Return the files of which an output shows lines, with the number of these lines."""
    lines = [text for line in _split(output[:_MAX_OUTPUT]) if (text := _content_of(line))]
    joined = "\n".join(line for line in lines if len(line) > _LONG)[:_MAX_JOINED]
    found = _count_lines(lines, project)
    return {**_count_joined(joined, project), **found} if joined else found


def _split(output: str) -> list[str]:
    """Return the lines of an output. A text in JSON is split where it has line ends."""
    lines: list[str] = []
    for line in output.splitlines():
        if len(line) > _LONG and "\\n" in line:
            lines += line.replace('\\"', '"').replace("\\t", "\t").replace("\\\\", "\\").split("\\n")
        else:
            lines.append(line)
    return lines


def _count_joined(text: str, project: str) -> dict[str, int]:
    """Return the files whose lines are in a long line, with the estimated number of these lines."""
    words = {
        word for word in "".join(c if c.isalnum() or c == "_" else " " for c in text).split() if len(word) >= _WORD
    }
    telling = sorted((word for word in words if not word.isdigit()), key=lambda word: (-len(word), word))
    found: dict[str, int] = {}
    for path in _files_with(telling[:_MAX_SAMPLES], project)[:_MAX_JOINED_FILES] if telling else ():
        data = read_bytes(os.path.join(project, path), _MAX_FILE) or b""
        own = [line for line in map(str.strip, data.decode("utf-8", "replace").splitlines()) if _is_telling(line)]
        step = max(1, len(own) // _MAX_SOUGHT)
        shown = sum(line in text for line in own[::step]) * step
        if shown >= _FEW:
            found[path] = min(shown, len(own))
    return found


def _count_lines(lines: list[str], project: str) -> dict[str, int]:
    telling = list(dict.fromkeys(line for line in lines if _is_telling(line)))
    if len(telling) < _FEW:
        return {}
    step = -(-len(telling) // _MAX_SAMPLES)
    found: dict[str, int] = {}
    for path in _files_with(telling[::step], project):
        data = read_bytes(os.path.join(project, path), _MAX_FILE) or b""
        own = {line.strip() for line in data.decode("utf-8", "replace").splitlines()}
        shown = [line for line in lines if line in own]
        if sum(_is_telling(line) for line in shown) >= _FEW:
            found[path] = len(shown)
            lines = [line for line in lines if line not in own]
    return found


def _content_of(line: str) -> str:
    """Return a line without indentation, the marks of a difference, the name of a file and a line number."""
    text = line.strip().lstrip(_MARKS)
    name, colon, rest = text.partition(":")
    number, more, content = rest.partition(":")
    if colon and more and number.isdigit() and " " not in name:
        return content.strip()
    digits = len(text) - len(text.lstrip("0123456789"))
    if digits and text[digits : digits + 1] in (":", "|", "\t", " ", "│", "-"):
        return text[digits + 1 :].strip(_MARKS)
    return text


def _is_telling(line: str) -> bool:
    return len(line) >= _TELLING and any(letter.isalpha() for letter in line)


def _files_with(samples: list[str], project: str) -> list[str]:
    """Return the files that contain some of the lines, those with the most first."""
    texts = [text for text in samples if "\0" not in text]
    options = ("-I", "-z", "-c", "-F", "-f", "-")
    output = ask_git(project, texts, "\n", "grep", "--untracked", *options)
    if not output:
        output = ask_git(project, texts, "\n", "grep", "--no-index", "--exclude-standard", *options) or b""
    counted = []
    for line in output.splitlines():
        name, _, count = line.partition(b"\0")
        if count.isdigit():
            counted.append((-int(count), os.fsdecode(name)))
    return [name for _, name in sorted(counted)[:_MAX_FILES]]
