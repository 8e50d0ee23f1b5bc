"""Find secrets in files and print SARIF: `python -m remit.secrets.file_scan FILE...`. The secrets are not printed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from remit.secrets.scan import entropy, find_secrets
from remit.secrets.secret_kinds import NAMED

#: Larger files are data.
_MAX_BYTES = 2_000_000
_MAX_RESULTS = 1_000
#: The confidence of a finding. A key in a test, an example or documentation is probably not real, and neither is one
#: that does not look random: `postgres`, `langfuse_ee_test`, the name of a key.
_RANK = 85.0
_UNLIKELY_RANK = 30.0
_MIN_ENTROPY = 3.0
#: Kinds of secrets that only their names give away, and the length from which such a value needs no capitals.
_NAMED = frozenset(kind.name for kind in NAMED)
_LONG = 32
#: Settings without real values, which a project copies.
_IS_EXAMPLE = re.compile(r"(?:^|[._-])(?:example|sample|template|dist|tmpl)(?:[._-]|$)", re.IGNORECASE)
_IS_TEST = re.compile(
    r"/(?:[^/]*[._-])?(?:tests?|specs?|fixtures?|testdata|mocks?|examples?|samples?)[._/-]", re.IGNORECASE
)


_PROSE = (".md", ".rst", ".txt", ".adoc", ".mdx")
#: Lists of dependencies with their digests.
_LOCKS = (".lock", "-lock.json", "-lock.yaml", ".lockb", "go.sum", "npm-shrinkwrap.json")


#: Words with another first sound than letter.
_AN = re.compile(r"[aeio]|xAI|npm|SSH|RSA|HTTP", re.IGNORECASE)


def main(paths: Sequence[str]) -> None:
    """Print the secrets in some files, and a notification for each file that is not searched."""
    results: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for path in paths:
        text, why = _read(path)
        if why:
            place = {"physicalLocation": {"artifactLocation": {"uri": path}}}
            skipped.append({"level": "note", "message": {"text": f"not searched: {why}"}, "locations": [place]})
        else:
            results += _results(path, text)
    call = {"executionSuccessful": True, "toolConfigurationNotifications": skipped}
    run = {"tool": {"driver": {"name": "secret-scan"}}, "invocations": [call], "results": results[:_MAX_RESULTS]}
    json.dump({"version": "2.1.0", "runs": [run]}, sys.stdout)


def _read(path: str) -> tuple[str, str]:
    """Return the text of a file, or why it is not searched."""
    if path.endswith(_LOCKS):
        return "", "a list of dependencies"
    try:
        with Path(path).open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        return "", error.strerror or "it cannot be read"
    if len(data) > _MAX_BYTES:
        return "", f"it has more than {_MAX_BYTES:,} bytes"
    return (data.decode("utf-8", "replace"), "") if b"\0" not in data else ("", "it is not text")


def is_example(path: str) -> bool:
    """Return whether a key in a file is probably not real: in a test, a fixture, an example or documentation."""
    name = path.rpartition("/")[2]
    return bool(_IS_TEST.search(f"/{path}") or _IS_EXAMPLE.search(name)) or path.endswith(_PROSE)


def _is_random(value: str, *, by_name: bool) -> bool:
    is_mixed = len(value) >= _LONG or (any(map(str.islower, value)) and any(map(str.isupper, value)))
    return any(map(str.isdigit, value)) and entropy(value) >= _MIN_ENTROPY and (is_mixed or not by_name)


def _results(path: str, text: str) -> Iterator[dict[str, Any]]:
    lines: dict[int, tuple[bool, str]] = {}
    line, position = 1, 0
    for start, _, end, name in sorted(find_secrets(text)):
        line += text.count("\n", position, start)
        position = start
        value = text[start:end]
        is_likely = not is_example(path) and _is_random(value, by_name=name in _NAMED)
        if line not in lines or (is_likely and not lines[line][0]):
            lines[line] = is_likely, name
    for line, (is_likely, name) in lines.items():
        place = {"artifactLocation": {"uri": path}, "region": {"startLine": line}}
        what = f"{'An' if _AN.match(name) else 'A'} {name}"
        yield {
            "ruleId": name.replace(" ", "-"),
            "level": "error",
            "rank": _RANK if is_likely else _UNLIKELY_RANK,
            "message": {
                "text": f"{what} is in this file. If it is real, revoke it and load a new one from the environment."
            },
            "locations": [{"physicalLocation": place}],
            "properties": {"tags": ["security"]},
        }


if __name__ == "__main__":
    main(sys.argv[1:])
