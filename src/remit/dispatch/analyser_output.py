"""The outputs of analysers: as SARIF, and which files each of them has read.

Each function takes what the program printed, as parsed JSON, and the real path of the checkout. A printed form that is
not the expected one raises KeyError, TypeError, ValueError or AttributeError.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import unquote

_LEVELS = {"error": "error", "fatal": "error", "warning": "warning"}


def parse_output(output: bytes, *, is_lines: bool = False) -> Any:
    """Return the JSON that a program printed: one value, or a list with the value of each line that has one."""
    if not is_lines:
        return json.loads(output)
    return [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]


def sarif_log(tool: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a SARIF log with one run."""
    return {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": tool}}, "results": results}]}


def _result(rule: str, level: str, message: str, path: str, line: Any, end: Any = None) -> dict[str, Any]:
    region = {"startLine": line, **({"endLine": end} if isinstance(end, int) else {})} if isinstance(line, int) else {}
    place = {"artifactLocation": {"uri": path}, **({"region": region} if region else {})}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    }


def relative_path(path: str, root: str) -> str:
    """Return a path or a `file:` URI of the checkout relative to it."""
    path = unquote(path.removeprefix("file://")) if path.startswith("file://") else path
    return os.path.normpath(path.removeprefix(f"{root}/"))


def from_shellcheck(output: Any, _: str) -> dict[str, Any]:
    """Convert the format `json1` of shellcheck."""
    found = [
        _result(
            f"SC{one['code']}",
            _LEVELS.get(one["level"], "note"),
            one["message"],
            one["file"],
            one["line"],
            one["endLine"],
        )
        for one in output["comments"]
    ]
    return sarif_log("shellcheck", found)


def from_eslint(output: Any, root: str) -> dict[str, Any]:
    """Convert the format `json` of eslint."""
    found = [
        _result(
            one.get("ruleId") or "parse-error",
            "error" if one.get("severity") == 2 else "warning",
            one["message"],
            relative_path(file["filePath"], root),
            one.get("line"),
            one.get("endLine"),
        )
        for file in output
        for one in file["messages"]
    ]
    return sarif_log("eslint", found)


def read_by_eslint(output: Any, _: Collection[str], root: str) -> set[str]:
    """Return the files in the output: ignored ones and those without rules are not in it."""
    return {relative_path(file["filePath"], root) for file in output}


def from_rubocop(output: Any, root: str) -> dict[str, Any]:
    """Convert the format `json` of rubocop."""
    found = [
        _result(
            one["cop_name"],
            _LEVELS.get(one["severity"], "note"),
            one["message"],
            relative_path(file["path"], root),
            one["location"]["start_line"],
            one["location"].get("last_line"),
        )
        for file in output["files"]
        for one in file["offenses"]
    ]
    return sarif_log("rubocop", found)


def read_by_rubocop(output: Any, _: Collection[str], root: str) -> set[str]:
    """Return the files in the output, without those that it could not parse: excluded ones are not in it."""
    return {
        relative_path(file["path"], root)
        for file in output["files"]
        if not any(one["cop_name"] == "Lint/Syntax" for one in file["offenses"])
    }


def from_clippy(output: Any, root: str) -> dict[str, Any]:
    """Convert the messages of cargo; each is once in the output for each target."""
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for message in (one["message"] for one in output if one.get("reason") == "compiler-message"):
        span = next((one for one in message["spans"] if one["is_primary"]), None)
        if span is None or message["level"] not in ("error", "warning"):
            continue
        rule = (message.get("code") or {}).get("code") or "rustc"
        path = relative_path(span["file_name"], root)
        place = (rule, path, span["line_start"], message["message"])
        found[place] = _result(rule, message["level"], message["message"], path, span["line_start"], span["line_end"])
    return sarif_log("clippy", list(found.values()))


def from_phpstan(output: Any, root: str) -> dict[str, Any]:
    """Convert the format `json` of phpstan."""
    files = output["files"].items() if output["files"] else ()
    found = [
        _result(one.get("identifier") or "phpstan", "error", one["message"], relative_path(path, root), one.get("line"))
        for path, file in files
        for one in file["messages"]
    ]
    if output["errors"]:
        raise ValueError("; ".join(map(str, output["errors"][:3])))
    return sarif_log("phpstan", found)


def read_without_notes(output: Any, files: Collection[str], root: str) -> set[str]:
    """Return the files without those that a program reports as not read: bandit those that it could not parse."""
    notes = [
        note
        for run in output["runs"]
        for call in run.get("invocations", ())
        for note in call.get("toolConfigurationNotifications", ())
    ]
    return set(files) - set(_cited(notes, root))


def _cited(notes: Iterable[dict[str, Any]], root: str) -> Iterable[str]:
    for note in notes:
        for location in note.get("locations", ()):
            yield relative_path(location["physicalLocation"]["artifactLocation"]["uri"], root)


def listed_files(output: bytes, root: str) -> set[str]:
    """Return the files that a program lists, one in each line."""
    return {relative_path(line, root) for line in output.decode("utf-8", "replace").splitlines() if line.strip()}
