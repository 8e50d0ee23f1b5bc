"""Recognise the tests, builds and analyses in command lines, and read their outcome from what they printed.

The programs and their lines are data: `runners.toml`. The output decides. The exit status counts only if it is that of
the program: `| tail`, `|| true`, `; echo` and `&` replace it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import msgspec

from remit.evidence.commands import ReceiptCommand, git_verb, simple_commands
from remit.evidence.model import Check
from remit.lazy import lazy_pattern

#: How much of a command is looked at.
_MAX_WORDS = 600
#: How many programs may run each other: `docker compose exec web uv run pytest`.
_MAX_DEPTH = 6

#: Programs whose arguments may name tests although they do not run any, and the install commands of package managers.
_NOT_RUNNERS = frozenset("apt apt-get brew chmod cp curl git ln mkdir mv rm rmdir ssh tee touch wget".split())  # noqa: SIM905
_INSTALLS = frozenset({"add", "ci", "i", "init", "install", "remove", "uninstall", "sync", "lock", "outdated", "audit"})
_MANAGERS = frozenset({"bun", "cargo", "gem", "npm", "pip", "pip3", "pipx", "pnpm", "poetry", "uv", "yarn", "bundle"})
_NO_RUN = frozenset({"--collect-only", "--co", "--help", "--version", "--list-tests", "--listTests", "--dry-run", "-N"})
#: Programs that run the rest of their words, and their options with a value.
_STARTERS = {
    **dict.fromkeys(("npx", "bunx", "uvx", "xvfb-run", "dotenv", "cross-env", "caffeinate", "direnv", "chronic"), ""),
    **dict.fromkeys(
        ("uv", "poetry", "pipenv", "hatch", "rye", "pdm", "conda", "mamba", "micromamba", "pipx", "volta"), "run"
    ),
    **dict.fromkeys(("bundle", "mise", "asdf", "devbox", "npm", "flox"), "exec"),
    **dict.fromkeys(("pnpm", "yarn"), "exec dlx node"),
    "coverage": "run",
}
#: Programs that show what comes through a pipe.
_SHOWERS = frozenset({"cat", "head", "tail", "tee"})
_VALUED = frozenset(
    """
    -C --cwd --directory --env --env-file --extra --file --filter -F --group --index --name --network --package -p
    --prefix --profile --project --python --project-name --user -u --volume -v --with --workdir -w --workspace -e -f -n
    --entrypoint --namespace
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_CONTAINERS = ("docker", "podman", "docker-compose", "kubectl", "nerdctl")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_PYTHON = lazy_pattern(r"python[\d.]*$|pypy3?$|py$")
_STATUS_WORD = lazy_pattern(r"([^\n$]*)\$(?:\?|\{?PIPESTATUS\[0\]\}?)")
#: Names that a part of the tests is chosen with.
_PART = lazy_pattern(
    r"(?: -(?:k|t|g|m|run|-grep|-filter|-testNamePattern|-testPathPattern|-lf|-last-failed|-test|-only|-example"
    r"|-tests)\b)|"
    r"::| (?!-|\./\.\.\.|\.{1,2}(?: |$)|tests?/?(?: |$)|src/?(?: |$)|spec/?(?: |$))\S*(?:/\S|\.(?:py"
    r"|[cm]?[jt]sx?|rb|php|go|rs|java|bats|t)\b)"
)

#: Programs whose effect on files is known, or that change no file of a project; with the subcommands of git.
_KNOWN_EFFECTS = frozenset(
    """
    cp mv rm rmdir touch mkdir chmod chown ln tee sed kill pkill killall lsof apt apt-get brew systemctl service
    gh trash unlink install sleep open xdg-open ssh-keygen redis-cli createdb dropdb kubectl helm aws gcloud
    """.split()  # noqa: SIM905 (as above)
)
_GIT_KNOWN = frozenset(
    {"add", "commit", "push", "fetch", "branch", "tag", "config", "remote", "rm", "mv", "init", "worktree"}
)
_INSTALLING = frozenset(
    {"add", "ci", "i", "install", "remove", "uninstall", "sync", "lock", "audit", "outdated", "ls", "list", "view"}
)
_MANAGING = frozenset(
    {"bun", "cargo", "gem", "go", "npm", "pip", "pip3", "pipx", "pnpm", "poetry", "uv", "yarn", "bundle", "composer"}
)
_WRITING_OPTIONS = frozenset({"--fix", "--write", "-w", "--in-place", "--unsafe-fixes", "-i", "--update", "-u"})
_INLINE = frozenset({"-c", "-e", "-", "--eval", "-p", "-m"})


_HARMLESS_TASK = lazy_pattern(r"\b(?:tests?|check\w*|lint\w*|build|all|ci|verify|types?|format-check|e2e|unit|spec)\b")


class Runner(NamedTuple):
    """A program that tests, builds or analyses code."""

    name: str
    checks: frozenset[Check]
    command: re.Pattern[str]
    success: re.Pattern[str] | None
    failure: re.Pattern[str] | None
    is_indirect: bool
    is_final: bool
    is_silent: bool
    #: The keys `test_passed`, `test_skipped`, `part_passed` and `part_empty` that it has, with their lines.
    parts: tuple[tuple[str, re.Pattern[str]], ...] = ()


_PARTS = ("test_passed", "test_skipped", "part_passed", "part_empty")
_SCRIPT = lazy_pattern(r"\S+\.(?:sh|py|[cm]?[jt]s|rb|pl|bat|ps1|php)\b|\S*/")


class RunCommand(msgspec.Struct, frozen=True):
    """A command of a line that runs tests, a build or an analysis."""

    checks: frozenset[Check]
    #: Its words, from the program on.
    words: str
    #: The names of the runners that it is, and whether it only starts others.
    runners: tuple[str, ...]
    is_indirect: bool
    #: Whether it runs a part of the tests.
    is_part: bool
    #: Whether the status of the line is its own if it is zero, and if it is not.
    owns_success: bool
    owns_failure: bool
    #: What is printed before its status: `; echo "exit: $?"`; None: nothing prints it.
    status_label: str | None = None
    #: The files that its output goes to.
    writes: tuple[str, ...] = ()
    #: Whether it prints nothing if it finds nothing.
    is_silent: bool = False

    @property
    def is_script(self) -> bool:
        """Whether it is a script, which may print anything: `./run_tests.sh`."""
        return self.is_indirect and _SCRIPT.match(self.words) is not None


@cache
def runners() -> tuple[Runner, ...]:
    """Return the table of runners. The file is part of the package."""
    with open(os.path.join(os.path.dirname(__file__), "runners.toml"), "rb") as file:  # noqa: PTH118, PTH120, PTH123 (pathlib is slow)
        data = tomllib.load(file)
    return tuple(
        Runner(
            name,
            frozenset(entry["checks"]),
            lazy_pattern(entry["command"]),
            _lines(entry.get("success")),
            _lines(entry.get("failure")),
            entry.get("indirect", False),
            entry.get("is_final", False),
            entry.get("is_silent", False),
            tuple((key, lines) for key in _PARTS if (lines := _lines(entry.get(key)))),
        )
        for name, entry in data.items()
    )


def _lines(patterns: list[str] | None) -> re.Pattern[str] | None:
    return lazy_pattern("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else None


@lru_cache(2_048)
def find_runs(command: str) -> tuple[RunCommand, ...]:
    """Return the tests, builds and analyses that a command line runs, in order."""
    simple = [command_part for command_part in simple_commands(command) if command_part.words or command_part.writes]
    has_pipefail = any("pipefail" in part.words for part in simple)
    is_background = command.rstrip().endswith("&") and not command.rstrip().endswith("&&")
    runs: list[RunCommand] = []
    for index, part in enumerate(simple):
        later = simple[index + 1 :]
        for words in _programs(part.words, 0):
            matching = _matching(words)
            if not matching:
                continue
            text = " ".join(words)[:_MAX_WORDS]
            runs.append(
                RunCommand(
                    checks=frozenset().union(*(runner.checks for runner in matching)),
                    words=text,
                    runners=tuple(runner.name for runner in matching if not runner.is_indirect),
                    is_indirect=all(runner.is_indirect for runner in matching),
                    is_part=_PART.search(text) is not None,
                    owns_success=not is_background and _owns_success(later, has_pipefail=has_pipefail),
                    owns_failure=not is_background and _owns_failure(later, has_pipefail=has_pipefail),
                    status_label=_status_label(later),
                    writes=tuple(dict.fromkeys((*part.writes, *_written_later(later)))),
                    is_silent=all(runner.is_silent for runner in matching)
                    and all(other.program in _SHOWERS for other in later if other.joined in ("|", "|&")),
                )
            )
    return tuple(runs)


def _owns_success(later: Sequence[ReceiptCommand], *, has_pipefail: bool) -> bool:
    pipes = ("&&", "|", "|&") if has_pipefail else ("&&",)
    return all(part.joined in pipes for part in later)


def _owns_failure(later: Sequence[ReceiptCommand], *, has_pipefail: bool) -> bool:
    for part in later:
        is_pipe = part.joined in ("|", "|&")
        if is_pipe and not has_pipefail and part.program not in ("tail", "head", "cat", "tee"):
            return False
        if not is_pipe and not (part.joined == "&&" and part.shows):
            return False
    return True


def _status_label(later: Sequence[ReceiptCommand]) -> str | None:
    """Return the text that `echo` prints before the status of the command; None if none does."""
    for part in later:
        text = " ".join(part.words[1:])
        if part.program in ("echo", "printf") and (status := _STATUS_WORD.search(text)):
            is_own = "PIPESTATUS" in status[0] or part is later[0]
            return status[1].strip().lstrip("\"'") if is_own else None
    return None


def _written_later(later: Sequence[ReceiptCommand]) -> list[str]:
    """Return the files of `| tee run.log`."""
    names: list[str] = []
    for part in later:
        if part.joined not in ("|", "|&"):
            break
        names += part.writes
        if part.program == "tee":
            names += [word for word in part.words[1:] if not word.startswith("-")]
    return names


def _matching(words: list[str]) -> list[Runner]:
    """Return the runners that the words of a command name; all of them, because a script may be several."""
    name = words[0] if words else ""
    if not name or name in _NOT_RUNNERS or not _NO_RUN.isdisjoint(words) or "-V" in words[1:2]:
        return []
    if name in _MANAGERS and not _INSTALLS.isdisjoint(words[1:2]):
        return []
    if _is_viewer(words):
        return []
    text = " ".join(words)[:_MAX_WORDS]
    matching = [runner for runner in runners() if runner.command.match(text)]
    direct = [runner for runner in matching if not runner.is_indirect]
    return direct or matching


def _is_viewer(words: list[str]) -> bool:
    return ReceiptCommand("", words, None, []).shows and words[0] not in ("[", "test")


def _programs(words: list[str], depth: int) -> list[list[str]]:
    """Return the words of the programs that really run, each from its name on."""
    if not words or depth > _MAX_DEPTH:
        return []
    name = words[0].replace("\\", "/").rsplit("/", 1)[-1]
    is_script = "/" in words[0] and name.endswith((".sh", ".py", ".js", ".mjs", ".ts", ".rb", ".bat", ".ps1"))
    own_words = [words[0] if is_script and not name.startswith(("gradlew", "mvnw")) else name, *words[1:]]
    if name in _SHELLS:
        return _of_shell(own_words, depth)
    if _PYTHON.match(name):
        return _of_python(own_words, depth)
    if name in _CONTAINERS:
        return _of_container(own_words, depth)
    if name in _STARTERS:
        rest = _started(own_words, _STARTERS[name].split())
        if rest is not None:
            return _programs(rest, depth + 1)
    if name == "node" and "--test" not in own_words and len(own_words) > 1 and "/.bin/" in own_words[1]:
        return _programs(own_words[1:], depth + 1)
    if name in ("ruby", "php", "perl", "node", "deno", "bun", "tsx", "ts-node") and "/bin/" in " ".join(own_words[1:2]):
        return _programs(own_words[1:], depth + 1)
    return [_without_places(own_words)]


def _of_shell(words: list[str], depth: int) -> list[list[str]]:
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") and word.endswith("c") and index + 1 < len(words):
            script = words[index + 1].strip("\"'")
            return [inner for part in simple_commands(script) for inner in _programs(part.words, depth + 1)]
        if not word.startswith("-"):
            return [[word, *words[index + 1 :]]]
    return []


def _of_python(words: list[str], depth: int) -> list[list[str]]:
    for index, word in enumerate(words[1:], 1):
        if word == "-m" and index + 1 < len(words):
            return _programs(words[index + 1 :], depth + 1) if words[index + 1] != "build" else [words]
        if word in ("-c", "-"):
            return []
        if not word.startswith("-"):
            return [[word, *words[index + 1 :]]]
    return []


def _of_container(words: list[str], depth: int) -> list[list[str]]:
    """Return what runs in a container: `docker compose exec -T web pytest`."""
    verbs = [index for index, word in enumerate(words[1:6], 1) if word in ("exec", "run")]
    if not verbs:
        return [words]
    rest = _without_options(words[verbs[0] + 1 :])[1:]  # without the container
    rest = rest[rest.index("--") + 1 :] if "--" in rest[:3] else rest
    return _programs(rest, depth + 1)


def _started(words: list[str], verbs: list[str]) -> list[str] | None:
    """Return what a program such as `uv run` starts; None if it does something else."""
    if not verbs:
        rest = _without_options(words[1:])
        while rest and "=" in rest[0] and rest[0].partition("=")[0].isidentifier():
            rest = rest[1:]
        return rest[2:] if words[0] == "direnv" else rest
    before = _without_options(words[1:])
    return _without_options(before[1:]) if before and before[0] in verbs else None


def _without_options(words: list[str]) -> list[str]:
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] != "--":
        index += 2 if words[index] in _VALUED else 1
    return words[index + 1 :] if words[index : index + 1] == ["--"] else words[index:]


def _without_places(words: list[str]) -> list[str]:
    """Return a call of a package manager without the options that only say where it runs: `npm --prefix web test`."""
    if words[0] not in ("npm", "pnpm", "yarn", "bun", "make", "cargo", "go", "just"):
        return words
    rest = _without_options(words[1:])
    if words[0] == "yarn" and rest[:1] == ["workspace"]:
        rest = rest[2:]
    if words[0] == "pnpm":
        rest = [word for word in rest if word not in ("-r", "--recursive")]
    return [words[0], *rest]


def is_open_ended(command: str) -> bool:
    """Return whether a line may write files that it does not name: it runs a script, or a program that is not known."""
    has_runs = bool(find_runs(command))
    for simple in simple_commands(command):
        words, program = simple.words, simple.program
        if not words or simple.shows or program in _KNOWN_EFFECTS:
            continue
        if program == "git" and git_verb(words) in _GIT_KNOWN:
            continue
        if program in _MANAGING and words[1:2] and words[1] in _INSTALLING:
            continue
        if has_runs and _WRITING_OPTIONS.isdisjoint(words) and not _is_task(words):
            continue
        if not _INLINE.isdisjoint(words[1:2]) or "<<" in command:
            continue  # the code is in the line, so it names what it writes
        return True
    return False


def is_program(command: str) -> bool:
    """Return whether a line runs code: a script, or a program whose source is in the line."""
    return any(
        simple.words
        and not simple.shows
        and (not _INLINE.isdisjoint(simple.words[1:3]) or "/" in simple.words[0] or len(simple.words) > 1)
        and simple.program not in _KNOWN_EFFECTS
        and simple.program not in ("git", *_MANAGING)
        for simple in simple_commands(command)
    )


def _is_task(words: list[str]) -> bool:
    """Return whether a command runs a task of the project whose name does not state a check: `make generate`."""
    return words[0] in ("make", "gmake", "just", "task", "invoke", "rake") and not _HARMLESS_TASK.search(
        " ".join(words)
    )
