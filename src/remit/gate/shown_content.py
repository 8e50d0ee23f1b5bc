"""Find out how many lines of the project's files the output of a command or of another tool shows.

Tasks, tests and tools such as `git log -p` print files among other text. Only lines that are in a file count, so that
the output of a test run does not. Lines count also if they are joined to a long one, if they are a text in JSON, or if
their spaces are gone. Encoded text (base64, hexadecimal) counts by its length.
"""

from __future__ import annotations

import os

from remit.gate.file_versions import ask_git, read_bytes
from remit.gate.project_paths import classify, locate
from remit.gate.ruling import Ruling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse

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
#: Characters of a line of encoded text, of all such lines if they count, and of those that are one line of a file.
_ENCODED = 60
_MANY_ENCODED = 2_000
LINE_WIDTH = 80
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
#: A line such as `======` has fewer different characters.
_VARIED = 12
#: A path of folders has shorter names.
_UNBROKEN = 24
#: Lines without spaces that are looked for in files, and what is in lines of code.
_DENSE = 10
_OF_CODE = frozenset("=({[;")
#: Parts of a response that are looked at.
_MAX_PARTS = 2_000


def text_of(response: object) -> str:
    """Return all text of a tool's response in any form, one part in a line."""
    texts: list[str] = []
    waiting: list[object] = [response]
    for _ in range(_MAX_PARTS):
        if not waiting:
            break
        part = waiting.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            waiting += reversed(part.values())
        elif isinstance(part, list | tuple):
            waiting += reversed(part[:_MAX_PARTS])
    return "\n".join(texts)[:_MAX_OUTPUT]


def count_output(
    call: ToolUse, output: str, lines: int, state: SessionState, settings: GateSettings, project: str
) -> Ruling:
    """Count what a command line showed: all lines if it was not understood, else those that are in files."""
    writer = state.writer_of(call)
    if writer is not None and writer.opaque:
        state.window.add(_OUTPUT, lines)
        return Ruling()
    shown = {
        path: count
        for path, count in count_shown_lines(output, project).items()
        if classify(locate(path, project, project), settings) != "state"
    }
    for path, count in shown.items():
        state.window.add(path, count)
    if not shown:
        return _count_encoded(output, state)
    reason = f"the output shows {sum(shown.values())} lines of {len(shown)} files, which count as read directly"
    return Ruling(3, None, reason, paths=tuple(shown), lines=sum(shown.values()))


def _count_encoded(output: str, state: SessionState) -> Ruling:
    lines = encoded_lines(output)
    if not lines:
        return Ruling()
    state.window.add(_OUTPUT, lines)
    reason = f"the output is encoded text, of which every {LINE_WIDTH} characters count as a line: {lines}"
    ruling = Ruling(3, None, reason, lines=lines)
    ruling.tells_person = True
    return ruling


def encoded_lines(output: str) -> int:
    """Return as how many lines the encoded text in an output counts; 0 for little of it."""
    total = 0
    for line in output[:_MAX_OUTPUT].splitlines():
        text = line.strip()
        if len(text) < _ENCODED or text.strip(_ALPHABET) or len(set(text)) < _VARIED:
            continue
        if max(map(len, text.split("/"))) >= _UNBROKEN:
            total += len(text)
    return -(-total // LINE_WIDTH) if total >= _MANY_ENCODED else 0


def count_shown_lines(output: str, project: str) -> dict[str, int]:
    """Return the files of which an output shows lines, with the number of these lines."""
    lines = [text for line in _split(output[:_MAX_OUTPUT]) if (text := _content_of(line))]
    joined = "\n".join(line for line in lines if len(line) > _LONG)[:_MAX_JOINED]
    counts = _count_lines(lines, project)
    dense = [line for line in lines if len(line) >= _TELLING and len(line.split()) == 1 and _OF_CODE & set(line)]
    if len(dense) >= _DENSE and not counts:
        counts = _count_dense(dense, project)
    return {**_count_joined(joined, project), **counts} if joined else counts


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
    telling = sorted(_words(text), key=lambda word: (-len(word), word))
    counts: dict[str, int] = {}
    for path in _files_with(telling[:_MAX_SAMPLES], project)[:_MAX_JOINED_FILES] if telling else ():
        data = read_bytes(os.path.join(project, path), _MAX_FILE) or b""
        source = [line for line in map(str.strip, data.decode("utf-8", "replace").splitlines()) if _is_telling(line)]
        step = max(1, len(source) // _MAX_SOUGHT)
        shown = sum(line in text for line in source[::step]) * step
        if shown >= _FEW:
            counts[path] = min(shown, len(source))
    return counts


def _words(text: str) -> dict[str, int]:
    """Return the names in a text that may lead to its file, with how often they occur."""
    counts: dict[str, int] = {}
    for word in "".join(c if c.isalnum() or c == "_" else " " for c in text).split():
        if len(word) >= _WORD and not word.isdigit():
            counts[word] = counts.get(word, 0) + 1
    return counts


def _count_dense(lines: list[str], project: str) -> dict[str, int]:
    """Return the files whose lines are shown without their spaces, with the number of these lines."""
    # Most words are parts of a line by now. Those that occur often are names.
    words = _words("\n".join(lines))
    telling = sorted(words, key=lambda word: (-words[word], -len(word), word))
    counts: dict[str, int] = {}
    for path in _files_with(telling[:_MAX_SAMPLES], project)[:_MAX_JOINED_FILES] if telling else ():
        data = read_bytes(os.path.join(project, path), _MAX_FILE) or b""
        file_lines = {"".join(line.split()) for line in data.decode("utf-8", "replace").splitlines()}
        shown = sum(line in file_lines for line in lines)
        if shown >= _FEW:
            counts[path] = shown
            lines = [line for line in lines if line not in file_lines]
    return counts


def _count_lines(lines: list[str], project: str) -> dict[str, int]:
    telling = list(dict.fromkeys(line for line in lines if _is_telling(line)))
    if len(telling) < _FEW:
        return {}
    step = -(-len(telling) // _MAX_SAMPLES)
    counts: dict[str, int] = {}
    for path in _files_with(telling[::step], project):
        data = read_bytes(os.path.join(project, path), _MAX_FILE) or b""
        file_lines = {line.strip() for line in data.decode("utf-8", "replace").splitlines()}
        shown = [line for line in lines if line in file_lines]
        if sum(_is_telling(line) for line in shown) >= _FEW:
            counts[path] = len(shown)
            lines = [line for line in lines if line not in file_lines]
    return counts


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
