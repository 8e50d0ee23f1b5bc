"""Receipts from the transcripts that Claude Code writes: one JSON document a line.

Lines that are broken, unknown or longer than the limit are passed over; a transcript is never a reason to
fail. Calls and results are paired by their id, in whatever order they come. The client writes no exit
status: a failed command's result begins with `Exit code N`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from remit.errors import UsageError
from remit.evidence.receipts import Receipt

#: Longer lines are passed over: memory stays bounded whatever the file.
MAX_LINE = 16 * 1024 * 1024
_MAX_OUTPUT = 2_000_000
_NUMBERED = re.compile(r"^\s*(\d{1,9})(?:\t|→)", re.MULTILINE)
_EXIT = re.compile(r"^(?:Error: )?Exit code (-?\d{1,5})")
_HIT = re.compile(r"^(?:\./)?([^\s:][^:\n]{0,400}?):(\d{1,9})[:\-]", re.MULTILINE)
_OWN_HIT = re.compile(r"^(\d{1,9})[:\-]", re.MULTILINE)
_BACKGROUND = "Command running in background"


class _Message(msgspec.Struct):
    content: Any = None


class _Line(msgspec.Struct):
    type: str = ""
    message: _Message | None = None
    cwd: str | None = None
    timestamp: str | None = None


class Transcript(msgspec.Struct, frozen=True):
    """What a transcript tells."""

    receipts: tuple[Receipt, ...]
    #: Folders that the agent worked in; relative paths are relative to the first.
    roots: tuple[str, ...]
    passed_over: int


_decoder = msgspec.json.Decoder(_Line)


def read_transcript(path: Path) -> Transcript:
    """Every tool call of a transcript, in order."""
    calls: dict[str, tuple[dict[str, Any], str | None]] = {}
    receipts: dict[str, Receipt] = {}
    roots: dict[str, None] = {}
    passed_over = 0
    try:
        for raw in _lines(path):
            line = _decode(raw)
            if line is None:
                passed_over += 1
                continue
            if line.cwd:
                roots.setdefault(line.cwd)
            for block in _blocks(line):
                kind = block.get("type")
                if kind == "tool_use" and isinstance(block.get("id"), str):
                    calls[block["id"]] = (block, line.timestamp)
                    receipts[block["id"]] = _unanswered(block, line.timestamp)
                elif kind == "tool_result" and (call := calls.pop(str(block.get("tool_use_id")), None)):
                    receipts[call[0]["id"]] = _receipt(call[0], call[1], block)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    return Transcript(tuple(receipts.values()), tuple(roots), passed_over)


def _lines(path: Path) -> Iterator[bytes | None]:
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE + 1):
            if len(line) <= MAX_LINE:
                if line.strip():
                    yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield None


def _decode(raw: bytes | None) -> _Line | None:
    if raw is None:
        return None
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
        return None


def _blocks(line: _Line) -> Iterator[dict[str, Any]]:
    if line.type not in ("assistant", "user") or line.message is None or not isinstance(line.message.content, list):
        return
    yield from (block for block in line.message.content if isinstance(block, dict))


def _unanswered(call: dict[str, Any], time: str | None) -> Receipt:
    """A call whose result never came: it was made, and nothing is known of what it did."""
    return Receipt(tool=str(call.get("name", "")), arguments=_arguments(call), time=time, failed=True)


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    given = call.get("input")
    return given if isinstance(given, dict) else {}


def _receipt(call: dict[str, Any], time: str | None, result: dict[str, Any]) -> Receipt:
    tool, arguments = str(call.get("name", "")), _arguments(call)
    output = _text(result.get("content"))[:_MAX_OUTPUT]
    failed = bool(result.get("is_error"))
    path = next((arguments[key] for key in ("file_path", "notebook_path") if isinstance(arguments.get(key), str)), None)
    about: dict[str, Any] = {}
    if tool == "Read" and not failed:
        about["ranges"] = _read_ranges(output)
    elif tool == "Grep" and not failed:
        about["hits"] = _grep_hits(arguments, output)
    elif tool == "Glob" and not failed:
        about["hits"] = {name: () for name in output.split("\n")[:5000] if name.strip() and not name.startswith("No ")}
    elif tool == "Bash":
        about["exit"] = _exit(output, failed=failed)
    digest = hashlib.sha256(output.encode("utf-8", "replace")).hexdigest()[:32]
    return Receipt(tool=tool, arguments=arguments, path=path, digest=digest, time=time, failed=failed, **about)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _read_ranges(output: str) -> tuple[tuple[int, int], ...]:
    """The lines that a Read showed, by the numbers before them; none if it only showed a notice."""
    first = _NUMBERED.match(output)
    if first is None:
        return ((0, 0),)
    last = _NUMBERED.match(output, output.rfind("\n") + 1)
    start = int(first.group(1))
    return ((start, max(start, int(last.group(1))) if last else start + output.count("\n")),)


def _grep_hits(arguments: dict[str, Any], output: str) -> dict[str, tuple[int, ...]]:
    """The files that a search named, with the lines it showed. A search of one file shows no name."""
    target = arguments.get("path")
    if arguments.get("output_mode") == "content":
        hits: dict[str, list[int]] = {}
        for found in _HIT.finditer(output):
            hits.setdefault(found.group(1), []).append(int(found.group(2)))
        if not hits and isinstance(target, str):
            hits[target] = [int(found.group(1)) for found in _OWN_HIT.finditer(output)]
        return {name: tuple(lines) for name, lines in hits.items()}
    names = [name for name in output.split("\n")[:5000] if name.strip() and not name.startswith(("Found ", "No "))]
    return {name.rsplit(":", 1)[0] if arguments.get("output_mode") == "count" else name: () for name in names}


def _exit(output: str, *, failed: bool) -> int | None:
    if not failed:
        return None if output.startswith(_BACKGROUND) else 0
    found = _EXIT.match(output)
    return int(found.group(1)) if found else None
