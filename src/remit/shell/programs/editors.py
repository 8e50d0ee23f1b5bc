"""Programs that change files: copies, removals, archives, downloads, formatters, tasks."""

from __future__ import annotations

from remit.shell.options import Options
from remit.shell.programs.lists import FORMATTERS, RUNNERS, WRITERS
from remit.shell.words import Argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.shell.command import Command

_HERE = "."


def write_operands(command: Command, name: str, args: list[Argument]) -> None:
    """`rm FILE…` and its like."""
    for arg in Options(args, "s" if name == "truncate" else "").operands:
        command.write(arg)


def change_mode(command: Command, _: str, args: list[Argument]) -> None:
    """`chmod MODE FILE…`."""
    for arg in [arg for arg in args if not arg.text.startswith("--")][1:]:
        command.write(arg)


def run_tee(command: Command, _: str, args: list[Argument]) -> None:
    """`tee FILE…` writes, and passes everything on."""
    for arg in Options(args).operands:
        command.write(arg)


def copy(command: Command, name: str, args: list[Argument]) -> None:
    """`cp`, `mv`, `ln`, `install`, `rsync`, `scp`: the last name is written, and of `mv` all are."""
    found = Options(args, "tSmogeB" if name in ("install", "rsync") else "tS", ("--target-directory",))
    operands = list(found.operands)
    folder = found.value("-t", "--target-directory")
    if name == "rsync" and found.has("-n", "--dry-run"):
        return
    if not folder and len(operands) < 2:
        if operands:
            command.write(
                operands[0] if name in ("mv", "ln") else Argument(operands[0].text.rpartition("/")[2] or _HERE)
            )
        return
    target = Argument(folder) if folder else operands.pop()
    if name in ("scp", "rsync") and ":" in target.text:
        return
    # A link is another name of its source: who writes there writes here.
    links = name == "ln" or (name == "cp" and found.has("-l", "-s", "--link", "--symbolic-link"))
    for source in operands:
        if links:
            command.write(source)
        if target.text.startswith(("/dev/", "/proc/")):
            command.read(source)
        into = bool(folder) or (target.known and command.is_folder(target))
        last = source.text.rstrip("/").rpartition("/")[2]
        if not source.known and into:
            command.effects.give_up("a name of a file is made at run time")
        elif into and not source.many:
            command.write(Argument(target.text.rstrip("/") + "/" + last, known=target.known))
        else:
            command.write(target)
        if name == "mv":
            command.write(source)


def run_dd(command: Command, _: str, args: list[Argument]) -> None:
    """`dd of=FILE`."""
    for arg in args:
        if arg.text.startswith("of="):
            command.write(Argument(arg.text[3:], known=arg.known))
        elif arg.text.startswith("if=") and not any(other.text.startswith("of=") for other in args):
            command.read(Argument(arg.text[3:], known=arg.known))


def download(command: Command, name: str, args: list[Argument]) -> None:
    """`curl -o FILE`, `wget`."""
    found = Options(args, "oXHdFuAebTmwY" if name == "curl" else "OPUo", ("--output", "--output-document", "--header"))
    for arg in found.operands:
        if arg.text.lower().startswith("file://"):
            command.read(Argument(arg.text[7:], known=arg.known))
    target = found.value("-o", "--output") if name == "curl" else found.value("-O", "--output-document")
    if target:
        command.write(Argument(target))
    elif name == "wget" or found.has("-O", "--remote-name", "-J"):
        command.write(Argument(found.value("-P") or _HERE))


def unpack(command: Command, name: str, args: list[Argument]) -> None:
    """`tar`, `unzip`, `gzip`, `zip`."""
    words = [arg.text for arg in args]
    if name == "tar":
        found = Options(args, "fC", ("--file", "--directory"))
        old_style = words[0] if words and not words[0].startswith("-") else ""
        if "x" in old_style or found.has("-x", "--extract", "--get"):
            command.write(Argument(found.value("-C", "--directory") or _HERE))
        elif "c" in old_style or found.has("-c", "--create", "-r", "--append", "-u", "--update"):
            command.write(Argument(found.value("-f", "--file") or (words[1] if len(words) > 1 else _HERE)))
    elif name == "unzip":
        if not any(word in ("-l", "-t", "-Z", "-p") for word in words):
            command.write(Argument(Options(args, "d").value("-d") or _HERE))
    elif name == "zip":
        for arg in Options(args).operands[:1]:
            command.write(arg)
    elif not any(word in ("-c", "-l", "-t", "--stdout", "--list", "--test") for word in words):
        for arg in Options(args).operands:
            command.write(arg)


def run_patch(command: Command, _: str, args: list[Argument]) -> None:
    """`patch [FILE]`."""
    found = Options(args, "pidoBF", ("--input", "--output"))
    if not found.has("--dry-run"):
        command.write(found.operands[0] if found.operands else Argument(found.value("-o", "--output") or _HERE))


def format_files(command: Command, name: str, args: list[Argument]) -> None:
    """Formatters, where they rewrite."""
    wanted = FORMATTERS[name]
    words = [arg.text.partition("=")[0] for arg in args]
    only_told = any(word in ("--check", "--diff", "--check-only", "-c", "--list-different") for word in words)
    if only_told or (wanted and not any(word in wanted for word in words)):
        return
    operands = Options(args, "l", ("--line-length", "--config", "--parser", "--outDir")).operands
    for arg in [arg for arg in operands if arg.text not in ("format", "check", "lint")] or [Argument(_HERE)]:
        command.write(arg)


#: Program -> the subcommands that change source files or the project's own configuration.
_CHANGING: dict[str, tuple[str, ...]] = {
    "cargo": ("fmt", "fix", "add", "remove", "new", "init"),
    "go": ("fmt", "fix", "generate", "get"),
    "npm": ("uninstall", "init", "version", "pkg", "set-script"),
    "yarn": ("add", "remove", "init", "version"),
    "pnpm": ("add", "remove", "init"),
    "bun": ("add", "remove", "init"),
    "uv": ("add", "remove", "init", "version"),
    "poetry": ("add", "remove", "init", "new", "version"),
    "pdm": ("add", "remove", "init"),
    "rye": ("add", "remove", "init", "fmt"),
    "dotnet": ("format", "new", "add", "remove"),
    "terraform": ("fmt",),
    "deno": ("fmt",),
    "composer": ("require", "remove", "init"),
    "ruff": ("format",),
    "mix": ("format", "new"),
}
_FIXING = ("fix", "fmt", "format", "prettify")


def run_tasks(command: Command, name: str, args: list[Argument]) -> None:
    """Builds and tests write no source; some subcommands do."""
    words = [arg.text for arg in args if not arg.text.startswith("-")]
    flags = [arg.text for arg in args if arg.text.startswith("-")]
    sub = words[0] if words else ""
    told = any(flag in ("--check", "--diff", "--dry-run", "-check") for flag in flags)
    task = words[1] if sub == "run" and len(words) > 1 else sub
    installs = name in ("npm", "pnpm", "bun") and sub in ("install", "i") and len(words) > 1
    if sub in ("run", "exec", "dlx", "x") and (name, sub) in (("npm", "exec"), ("yarn", "exec"), ("bun", "x")):
        sub_at = next(index for index, arg in enumerate(args) if arg.text == sub)
        _run_rest(command, args[sub_at + 1 :])
    elif name in ("yarn", "pnpm", "bun") and sub in FORMATTERS:
        _run_rest(command, [arg for arg in args if arg.text != "--"])
    elif sub in ("run", "exec", "dlx", "x") and name in (
        "uv",
        "poetry",
        "pipenv",
        "hatch",
        "pdm",
        "rye",
        "bundle",
        "pnpm",
    ):
        at = next(index for index, arg in enumerate(args) if arg.text == sub)
        _run_rest(command, args[at + 1 :])
    elif name == "ruff" and sub == "check":
        if any(flag.startswith("--fix") for flag in flags):
            command.write(Argument(words[1] if len(words) > 1 else _HERE))
    elif not told and (sub in _CHANGING.get(name, ()) or "--fix" in flags or installs or _fixes(task)):
        command.write(Argument(_HERE))


def _run_rest(command: Command, args: list[Argument]) -> None:
    """The program that is named after a runner's own options."""
    first = next((index for index, arg in enumerate(args) if not arg.text.startswith("-")), len(args))
    command.run_program(args[first:])


def _fixes(task: str) -> bool:
    """Whether a task's name says that it rewrites: `format`, `lint:fix`."""
    return any(part in _FIXING for part in task.replace("-", ":").replace("_", ":").split(":")) and "check" not in task


TELLERS: dict[str, Callable[[Command, str, list[Argument]], None]] = {
    **dict.fromkeys(("cp", "mv", "ln", "install", "rsync", "scp"), copy),
    **dict.fromkeys(("chmod", "chown", "chgrp"), change_mode),
    **dict.fromkeys(("curl", "wget"), download),
    **dict.fromkeys(("tar", "unzip", "zip", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"), unpack),
    "tee": run_tee,
    "sponge": run_tee,
    "dd": run_dd,
    "patch": run_patch,
}


def handler(name: str) -> Callable[[Command, str, list[Argument]], None]:
    """What tells the effects of a program that changes files."""
    if name in WRITERS:
        return write_operands
    if name in FORMATTERS:
        return format_files
    return run_tasks if name in RUNNERS else TELLERS[name]
