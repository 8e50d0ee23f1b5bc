"""Read the commands and tests that a text names.

A command is in code marks or on a line of a shell fence. Placeholders (`make <target>`) are not claims. Nothing here
decides whether a claim is true.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from remit.evidence.document import Segment
from remit.evidence.file_names import is_placeholder
from remit.evidence.model import Claim
from remit.lazy import lazy_pattern
from remit.shell.command_list import SimpleCommand, join_folder, simple_commands
from remit.workspace.command_lines import PROGRAM, ToolCommand, read_command

#: Longer lines are not commands that a person runs.
_MAX_LINE = 2_000
#: A quote or a here-document that is open for more lines than this is taken for none.
_MAX_JOINED = 50
_SHELLS = frozenset(
    """
    bash bash-session console fish ksh sh sh-session shell shell-session shellscript shellsession terminal zsh
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
#: A call or a pattern of permissions, which is not a command line: `Bash(npm test)`.
_CALL = lazy_pattern(r"\s*+\w++\(")
_SPAN = lazy_pattern(r"(?<!`)`{1,2}([^`\n]{3,300})`{1,2}(?!`)|<code>([^<\n]{3,300})</code>")
#: `$ `, `(venv) user@host:~$ `, `PS C:\> `. A line `> tsc` is what npm prints.
_PROMPT = lazy_pattern(r"\s*+(?:\([\w.\-]{1,40}\) ?)?(?:[\w.@:~/\-]{0,80}[$%❯➜]|(?:PS )?[A-Z]:[^>\n]{0,80}>) ++(?=\S)")
_HERE_DOCUMENT = lazy_pattern(r"<<-?\s?(['\"]?)(\w{1,60})\1")
#: `<name>` and `dev|prod` are to be filled in; a shell would take them for redirections and a pipe.
_CHOICE = lazy_pattern(r"<[A-Za-z][^<>\n]{0,60}>|(?<=\w)\|(?=\w)")


def command_claims(segment: Segment) -> Iterator[Claim]:
    """Yield the commands and tests of one segment.

    `name` is the script, target or test. For a command, `path` is the folder that its line states and `code`
    the command itself; for a test, `path` is its file.
    """
    if segment.kind == "code":
        if is_shell(segment):
            yield from _fence_claims(segment)
        return
    text = segment.text
    if "`" in text or "<code>" in text:
        for span in _SPAN.finditer(text):
            start, end = span.span(1 if span[1] is not None else 2)
            if text[start].isspace() or text[end - 1].isspace():
                continue  # the text between two code spans
            line = _without_prompt(text[start:end])
            if " " in line and PROGRAM.search(line):
                yield from _line_claims(segment, line, "", segment.line, end - len(line))
            if "#" in line:
                yield from _method_claims(segment, text[start:end], segment.line, start)
    yield from _test_claims(segment, text, segment.line, 0)


def command_of(claim: Claim) -> ToolCommand | None:
    """Return the command that a claim of the kind `command` names."""
    try:
        words = shlex.split(claim.code)
    except ValueError:
        return None
    return next((command for command in read_command(words) if command.name == claim.name), None)


def is_shell(segment: Segment) -> bool:
    """Return whether a fence has command lines: by its language, or by its prompts if it has none."""
    language = segment.info.strip(" {.").partition(" ")[0].rstrip("},").lower()
    return language in _SHELLS or (not language and _has_prompt(segment.text))


# ToolCommand lines


def _line_claims(segment: Segment, line: str, folder: str, line_number: int, start: int) -> Iterator[Claim]:
    """Yield the commands of a line that runs in a folder."""
    for simple in _simple_commands(line):
        place = join_folder(folder, simple.folder) if simple.folder is not None else None
        for command in read_command(simple.words) if place is not None else ():
            stated = join_folder(place, command.folder) or ""
            yield Claim(
                kind="command",
                text=line,
                at=line_number,
                segment=segment,
                path=posixpath.normpath(stated) if stated else "",
                name=command.name,
                code=shlex.join(simple.words),
                start=start,
                end=start + len(line),
            )


def _simple_commands(line: str) -> list[SimpleCommand]:
    is_line = len(line) <= _MAX_LINE and _CALL.match(line) is None
    return simple_commands(_CHOICE.sub("…", line)) if is_line else []


def _has_prompt(text: str) -> bool:
    return any(_PROMPT.match(line) is not None for line in text.split("\n"))


def _without_prompt(line: str) -> str:
    prompt = _PROMPT.match(line)
    return line[prompt.end() :] if prompt else line


def _fence_claims(segment: Segment) -> Iterator[Claim]:
    """Yield the claims of a shell fence."""
    text = segment.text
    if PROGRAM.search(text) is None and "::" not in text and "#" not in text:
        return
    folder: str | None = ""
    for first, start, line in _statements(text):
        line_number = segment.line + 1 + first
        if folder is not None and PROGRAM.search(line):
            yield from _line_claims(segment, line, folder, line_number, start)
        yield from _test_claims(segment, line, line_number, start)
        yield from _method_claims(segment, line, line_number, start)
        if "cd " in line or "pushd " in line:
            folder = _folder_after(line, folder)


def _folder_after(line: str, folder: str | None) -> str | None:
    """Return where the next line of a fence runs; None if that is not known.

    Only a line with `cd` alone counts: each of `cd a && make` and `cd b && make` starts in the root again.
    """
    commands = _simple_commands(line)
    if "(" in line or len(commands) != 1 or commands[0].words[:1] not in (["cd"], ["pushd"]):
        return "" if commands and commands[-1].folder else folder
    target = " ".join(commands[0].words[1:])
    if not target or any(mark in target for mark in "$`*~… ") or target.startswith("-"):
        return None
    is_same = folder is not None and f"/{folder}".endswith(f"/{target}")
    return folder if is_same else join_folder(folder, target.rstrip("/"))


def _statements(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the commands of a fence: the number of the first line, the offset of the command, and the joined lines.

    A command goes on after a backslash and inside quotes. The lines of a here-document are left out. If there are
    prompts, only lines with a prompt are commands.
    """
    lines = text.split("\n")
    needs_prompt = _has_prompt(text)
    row, offset = 0, 0
    while row < len(lines):
        first, start = row, offset
        line = _without_prompt(lines[row])
        start += len(lines[row]) - len(line)
        has_prompt = start > offset
        row += 1
        last = min(row + _MAX_JOINED, len(lines))
        while row < last and line.endswith("\\"):
            line, row = f"{line[:-1]} {lines[row].strip()}", row + 1
        if quote := _open_quote(line):
            closing = next((number for number in range(row, last) if quote in lines[number]), None)
            if closing is not None:
                line, row = "\n".join([line, *lines[row : closing + 1]]), closing + 1
        if "<<" in line and (document := _HERE_DOCUMENT.search(line)):
            row = next((number + 1 for number in range(row, last) if lines[number].strip() == document[2]), row)
        offset += sum(len(written) + 1 for written in lines[first:row])
        if has_prompt or not needs_prompt:
            yield first, start, line


def _open_quote(line: str) -> str:
    """Return the quote that a line opens and does not close."""
    quote, is_escaped, before = "", False, " "
    for letter in line[:_MAX_LINE]:
        if is_escaped:
            is_escaped = False
        elif letter == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and before.isspace():
            return ""
        before = letter
    return quote


# Tests

_TEST_FILE = r"(?:[\w.@\-]{1,80}[/\\]){0,12}[\w.\-]{0,80}(?:[Tt]est|[Ss]pec)[\w.\-]{0,80}\.[a-z]{1,5}(?![\w/])"
_TEST_NAME = r"(?:test_\w{1,120}|[Tt]est[A-Z]\w{1,120})"
_MARKS = r"[`*\"'()\[\]]{0,4}"
#: `tests/test_x.py::TestClass::test_y[param]`
_NODE = lazy_pattern(r"(?<![\w./\\\-])([\w.\-/\\]{1,240}\.\w{1,5})::(\w{1,120}(?:::\w{1,120}){0,5})")
#: `test_login` in `tests/test_auth.py`
_NAME_IN_FILE = lazy_pattern(
    rf"(?<![\w.:/#])({_TEST_NAME}){_MARKS}\s{{1,2}}(?:in|from|of|at|inside|within)\s{{1,2}}(?:the file )?[`*\[]{{0,3}}"
    rf"({_TEST_FILE})(?![:#]\w)"
)
#: `tests/test_auth.py` (`test_login`, `test_logout`)
_FILE_WITH_NAMES = lazy_pattern(
    rf"(?<![\w./\\\-])({_TEST_FILE})[`*\])]{{0,4}}\s{{0,2}}(?:(?<!\])\(|:(?!:)|[—–→-])\s{{0,2}}[`*]{{0,3}}"
    rf"({_TEST_NAME}(?:{_MARKS}\s{{0,2}}(?:,|and|/)\s{{0,2}}[`*]{{0,3}}{_TEST_NAME}){{0,20}})(?!\w|[./]\w)"
)
_LISTED = lazy_pattern(_TEST_NAME)
_METHOD = lazy_pattern(r"(?<![\w#/&.])((?:\w{1,80}[.$]){0,10}\w{1,120})#(\w{1,120})")
_TEST_CLASS = lazy_pattern(r"(?:.*[.$])?(?:Test[A-Z]\w*|\w+(?:Tests?|TestCase|Spec|IT))")
#: `tests/test_file.py::test_function`: to be filled in.
_BLANK_TEST = lazy_pattern(r"(?:.*::)?test_(?:case|function|method|name|something)$")


def _test_claims(segment: Segment, text: str, line_number: int, offset: int) -> Iterator[Claim]:
    """Yield the tests that a text names together with their file."""

    def claims(path: str, names: list[str], words: re.Match[str]) -> Iterator[Claim]:
        start, end = (offset + place for place in words.span())
        file = path.replace("\\", "/")
        for name in names if not is_placeholder(path) else ():
            yield Claim("test", words[0], line_number, segment, file, name=name, start=start, end=end)

    if "::" in text:
        for node in _NODE.finditer(text):
            is_test = any(part.startswith(("test", "Test")) for part in node[2].split("::"))
            yield from claims(node[1], [node[2]] if is_test and not _BLANK_TEST.match(node[2]) else [], node)
    if "est" in text and "." in text:
        for named in _NAME_IN_FILE.finditer(text):
            yield from claims(named[2], [named[1]], named)
        for listed in _FILE_WITH_NAMES.finditer(text):
            yield from claims(listed[1], _LISTED.findall(listed[2]), listed)


def _method_claims(segment: Segment, code: str, line_number: int, offset: int) -> Iterator[Claim]:
    """Yield the tests of a code span or a command line that are written as `TestClass#method`."""
    for method in _METHOD.finditer(code):
        if _TEST_CLASS.fullmatch(method[1]):
            start, end = (offset + place for place in method.span())
            yield Claim("test", method[0], line_number, segment, name=method[0], start=start, end=end)
