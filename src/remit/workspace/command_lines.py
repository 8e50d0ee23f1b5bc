"""Read what a command runs by name: a script, a target, a module or a program.

Built-in commands of a tool (`npm install`) run nothing that a project declares.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from remit.lazy import lazy_pattern

Runner = Literal["npm", "pnpm", "yarn", "make", "cargo", "python"]

#: A text without one of these has no command that is read.
PROGRAM = lazy_pattern(r"\b(?:npm|pnpm|yarn|g?make|cargo|py(?:thon[\d.]{0,5})?)\b")
_PYTHON = lazy_pattern(r"py(?:thon(?:\d(?:\.\d{1,2})?)?)?")
_NAME = lazy_pattern(r"[A-Za-z0-9_][\w.:+/\-]{0,99}")
#: `make X`, `make TARGET`, `test:...`, `test:xxx`, `build-`: part of the name is to be filled in.
_BLANK = lazy_pattern(r"[A-Z][A-Z_\-]*+$|.*(?:\.\.|\bxxx?\b|[.:\-/_]$)|(?:path/to|your|my)[/_\-]")
_FILE_SIGN = lazy_pattern(r"[/.]|::")
#: More names in one command are not read.
_MAX_NAMES = 20


class ToolCommand(msgspec.Struct, frozen=True):
    """What one command runs by name."""

    runner: Runner
    name: str
    #: Where it runs, relative to where its line runs; empty if the command does not say so.
    folder: str = ""
    #: The file that declares the name, if the command states it: `make -f build.mk`.
    file: str = ""
    #: Whether it runs in other packages of a workspace: `--filter`, `--workspace`.
    in_packages: bool = False
    #: Whether only a script can be meant, never a program of a dependency: `npm run X`.
    is_script: bool = False


class _Options(msgspec.Struct, frozen=True):
    """The options of a tool that have a value, or that may come before a name."""

    folder: tuple[str, ...] = ()
    #: The file that declares the names.
    file: tuple[str, ...] = ()
    #: They choose packages of a workspace, with a value or without.
    packages: tuple[str, ...] = ()
    every_package: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()
    #: Options without a value. Any other option may have one, so that reading stops there; None: no other has one.
    flags: tuple[str, ...] | None = None


class _Arguments(msgspec.Struct):
    """The words and the options of a command, as far as they are understood."""

    words: list[str] = []
    folder: str = ""
    file: str = ""
    in_packages: bool = False


_OPTIONS: dict[str, _Options] = {
    "npm": _Options(
        folder=("-C", "--prefix"),
        packages=("-w", "--workspace"),
        every_package=("-ws", "--workspaces"),
        valued=("--loglevel", "--registry", "--script-shell"),
    ),
    "pnpm": _Options(
        folder=("-C", "--dir"),
        packages=("-F", "--filter", "--filter-prod"),
        every_package=("-r", "--recursive", "-w", "--workspace-root"),
        flags=("-s", "--silent", "--parallel", "--stream", "--aggregate-output", "--no-bail"),
    ),
    "yarn": _Options(folder=("--cwd",), every_package=("-T", "--top-level"), flags=("-s", "--silent")),
    "make": _Options(
        folder=("-C", "--directory"), file=("-f", "--file", "--makefile"), valued=("-I", "-o", "-W", "--include-dir")
    ),
}
#: The commands of pnpm and yarn, old and new, and those that pnpm passes on to npm.
_PNPM_COMMANDS = frozenset(
    """
    access add adduser approve-builds audit bin bugs c cache cat-file cat-index ci clean completion config create
    dedupe deploy deprecate dist-tag dlx docs doctor edit env exec fetch find-hash get help i ignored-builds import info
    init install install-test it la licenses link list ll ln login logout ls outdated owner pack patch patch-commit
    patch-remove ping pkg pm prefix profile prune publish rb rebuild remove repo restart rm root runtime sbom search
    self-update server set set-script setup show star stars stop store team token un uninstall unlink unpublish unstar
    up update upgrade v version view whoami why x
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_YARN_COMMANDS = frozenset(
    """
    access add audit autoclean bin cache check config constraints create dedupe dlx exec explain generate-lock-entry
    global help import info init install licenses link list lockfile login logout node npm outdated owner pack patch
    patch-commit plugin policies prune publish rebuild remove search self-update set stage tag team unlink unplug up
    upgrade upgrade-interactive version versions why workspaces
    """.split()  # noqa: SIM905 (as above)
)
_RUN = ("run", "run-script", "rum", "urn")
_TEST = ("test", "t", "tst")


def read_command(words: list[str]) -> list[ToolCommand]:
    """Return what a command runs by name: nothing for built-in commands, and several targets of `make a b`."""
    if len(words) < 2:
        return []
    program, rest = words[0].rsplit("/", 1)[-1], words[1:]
    match program:
        case "npm" | "pnpm" | "yarn":
            commands = _package_script(program, rest)
        case "make" | "gmake":
            commands = _targets(rest)
        case "cargo":
            is_run = any(word in ("run", "r", "build", "b") for word in rest[:2])
            commands = [ToolCommand("cargo", name) for name in _values(rest, "--bin") if is_run]
        case _:
            commands = _module(rest) if _PYTHON.fullmatch(program) else []
    return [command for command in commands[:_MAX_NAMES] if is_name(command.name)]


def is_name(name: str) -> bool:
    """Return whether a word can be the name of a script or target, and is not a placeholder."""
    return _NAME.fullmatch(name) is not None and _BLANK.match(name) is None


def _arguments(tool: str, rest: list[str]) -> _Arguments:
    """Read words and options until an option that is not known."""
    options, read = _OPTIONS[tool], _Arguments()
    following = iter(rest)
    for word in following:
        if word == "--":
            break
        if not word.startswith("-"):
            read.words.append(word)
            continue
        name, sign, value = word.partition("=")
        if name in options.every_package:
            read.in_packages = True
        elif name in (*options.valued, *options.folder, *options.file, *options.packages):
            value = value if sign else next(following, "")
            read.folder = value if name in options.folder else read.folder
            read.file = value if name in options.file else read.file
            read.in_packages |= name in options.packages
        elif options.flags is not None and name not in options.flags:
            break
    return read


def _package_script(tool: Literal["npm", "pnpm", "yarn"], rest: list[str]) -> list[ToolCommand]:
    """Read the script of a package. With `--if-present`, it need not exist."""
    read = _arguments(tool, rest)
    words = read.words
    if "--if-present" in rest or not words:
        return []
    if tool == "pnpm" and words[0] in ("recursive", "multi", "m"):
        return _package_script(tool, ["-r", *rest[rest.index(words[0]) + 1 :]])
    if tool == "yarn" and words[0] in ("workspace", "workspaces"):
        return _yarn_workspaces(rest[rest.index(words[0]) :])
    is_run = words[0] in _RUN
    name = "test" if words[0] in _TEST else words[0]
    if is_run:
        name = words[1] if len(words) > 1 else ""
    elif _is_built_in(tool, name):
        return []
    is_script = tool == "npm" or (tool == "pnpm" and (is_run or name in ("test", "start")))
    return [ToolCommand(tool, name, read.folder, in_packages=read.in_packages, is_script=is_script)]


def _is_built_in(tool: str, name: str) -> bool:
    """Return whether `TOOL NAME` is a command of the tool itself and runs no script of this name."""
    match tool:
        case "npm":
            return name not in ("test", "start", "stop")
        case "pnpm":
            return name in _PNPM_COMMANDS
        case "yarn":
            return name in _YARN_COMMANDS
    return True


def _yarn_workspaces(rest: list[str]) -> list[ToolCommand]:
    """Read `yarn workspace NAME X`, `yarn workspaces run X` and `yarn workspaces foreach -A run X`."""
    is_one = rest[0] == "workspace"
    first = 2 if is_one else rest.index("run") if "run" in rest else len(rest)
    return [replace(command, in_packages=True) for command in _package_script("yarn", rest[first:])]


def _targets(rest: list[str]) -> list[ToolCommand]:
    """Read the targets of make, which may be several."""
    read = _arguments("make", rest)
    names = [word for word in read.words if "=" not in word and not word.isdecimal()]
    # A file after the first target is meant as its argument: `make test tests/test_app.py`.
    later = [name for name in names[1:] if not _FILE_SIGN.search(name)]
    return [ToolCommand("make", name, read.folder, read.file) for name in (*names[:1], *later)]


def _module(rest: list[str]) -> list[ToolCommand]:
    """Read `python -m X`. Options before it may have a value: `-W error`."""
    for index, word in enumerate(rest[:-1]):
        if word == "-m":
            return [ToolCommand("python", rest[index + 1])]
        if not word.startswith("-") and (not index or rest[index - 1] not in ("-W", "-X")):
            break
    return []


def _values(rest: list[str], option: str) -> Iterator[str]:
    """Yield the values of an option, before `--`: `-e X`, `-eX`, `--bin=X`."""
    for index, word in enumerate(rest):
        if word == "--":
            return
        if word == option:
            yield from rest[index + 1 : index + 2]
        elif word.startswith(option if len(option) == 2 else f"{option}="):
            yield word[len(option) :].removeprefix("=")
