"""Programs that change files: copies, removals, archives, downloads, formatters and tasks."""

from __future__ import annotations

from collections.abc import Callable

from remit.shell.command import RUN_TIME_NAME, Command
from remit.shell.options import CommandOptions
from remit.shell.programs.lists import FORMATTERS, RUNNERS, WRITERS
from remit.shell.words import Argument

_HERE = "."


def write_operands(command: Command, name: str, args: list[Argument]) -> None:
    """Add the files of `rm FILE...` and similar programs."""
    for arg in CommandOptions(args, "s" if name == "truncate" else "").operands:
        command.write(arg, whole=True)


def change_mode(command: Command, _: str, args: list[Argument]) -> None:
    """Add the files of `chmod MODE FILE...`."""
    for arg in [arg for arg in args if not arg.text.startswith("-")][1:]:
        command.write(arg, whole=True)


def run_tee(command: Command, _: str, args: list[Argument]) -> None:
    """Add the files of `tee FILE...`, which passes its input on."""
    for arg in CommandOptions(args).operands:
        command.write(arg)


def copy(command: Command, name: str, args: list[Argument]) -> None:
    """Add the target of `cp`, `mv`, `ln`, `install`, `rsync` and `scp`; `mv` changes the sources, too."""
    options = CommandOptions(args, "tSmogeB" if name in ("install", "rsync") else "tS", ("--target-directory",))
    operands = list(options.operands)
    folder = options.value("-t", "--target-directory")
    if name == "rsync" and options.has("-n", "--dry-run"):
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
    # A link is another name of its source: a write to one changes the other.
    links = name == "ln" or (name == "cp" and options.has("-l", "-s", "--link", "--symbolic-link"))
    for source in operands:
        if links:
            command.write(source)
        if target.text.startswith(("/dev/", "/proc/")):
            command.read(source)
        into = bool(folder) or (target.is_known and command.is_folder(target))
        last = source.text.rstrip("/").rpartition("/")[2]
        if not source.is_known and into:
            command.effects.give_up(RUN_TIME_NAME)
        elif into and not source.is_many:
            command.write(Argument(target.text.rstrip("/") + "/" + last, is_known=target.is_known))
        else:
            command.write(target)
        if name == "mv":
            command.write(source, whole=True)


def run_dd(command: Command, _: str, args: list[Argument]) -> None:
    """Add the files of `dd if=FILE of=FILE`."""
    for arg in args:
        if arg.text.startswith("of="):
            command.write(Argument(arg.text[3:], is_known=arg.is_known))
        elif arg.text.startswith("if=") and not any(other.text.startswith("of=") for other in args):
            command.read(Argument(arg.text[3:], is_known=arg.is_known))


def download(command: Command, name: str, args: list[Argument]) -> None:
    """Add the file that `curl -o FILE` or `wget` writes."""
    options = CommandOptions(
        args, "oXHdFuAebTmwY" if name == "curl" else "OPUo", ("--output", "--output-document", "--header")
    )
    for arg in options.operands:
        if arg.text.lower().startswith("file://"):
            command.read(Argument(arg.text[7:], is_known=arg.is_known))
    target = options.value("-o", "--output") if name == "curl" else options.value("-O", "--output-document")
    if target:
        command.write(Argument(target))
    elif name == "wget" or options.has("-O", "--remote-name", "-J"):
        command.write(Argument(options.value("-P") or _HERE))


def unpack(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `tar`, `unzip`, `zip`, `gzip` and similar programs."""
    words = [arg.text for arg in args]
    if name == "tar":
        options = CommandOptions(args, "fC", ("--file", "--directory"))
        old_style = words[0] if words and not words[0].startswith("-") else ""
        if "x" in old_style or options.has("-x", "--extract", "--get"):
            command.write(Argument(options.value("-C", "--directory") or _HERE))
        elif "c" in old_style or options.has("-c", "--create", "-r", "--append", "-u", "--update"):
            command.write(Argument(options.value("-f", "--file") or (words[1] if len(words) > 1 else _HERE)))
    elif name == "unzip":
        if not any(word in ("-l", "-t", "-Z", "-p") for word in words):
            command.write(Argument(CommandOptions(args, "d").value("-d") or _HERE))
    elif name == "zip":
        for arg in CommandOptions(args).operands[:1]:
            command.write(arg)
    elif not any(word in ("-c", "-l", "-t", "--stdout", "--list", "--test") for word in words):
        for arg in CommandOptions(args).operands:
            command.write(arg)


def run_patch(command: Command, _: str, args: list[Argument]) -> None:
    """Add the file of `patch [FILE]`."""
    options = CommandOptions(args, "pidoBF", ("--input", "--output"))
    if not options.has("--dry-run"):
        command.write(options.operands[0] if options.operands else Argument(options.value("-o", "--output") or _HERE))


def format_files(command: Command, name: str, args: list[Argument]) -> None:
    """Add the files that a formatter rewrites."""
    rewriting = FORMATTERS[name]
    words = [arg.text.partition("=")[0] for arg in args]
    only_checks = any(word in ("--check", "--diff", "--check-only", "-c", "--list-different") for word in words)
    if only_checks or (rewriting and not any(word in rewriting for word in words)):
        return
    operands = CommandOptions(args, "l", ("--line-length", "--config", "--parser", "--outDir")).operands
    for arg in [arg for arg in operands if arg.text not in ("format", "check", "lint")] or [Argument(_HERE)]:
        command.write(arg)


#: Program -> the subcommands that change source files or the project's configuration.
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
#: Options with which these subcommands change nothing.
_ONLY_CHECKING = frozenset({"--check", "--diff", "--dry-run", "-check", "--check-formatted", "--verify-no-changes"})
_FIXING = ("fix", "fmt", "format", "prettify")


def run_tasks(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of a task runner: builds and tests write no source files, some subcommands do."""
    words = [arg.text for arg in args if not arg.text.startswith("-")]
    flags = [arg.text for arg in args if arg.text.startswith("-")]
    sub = words[0] if words else ""
    only_checks = any(flag in _ONLY_CHECKING for flag in flags)
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
        position = next(index for index, arg in enumerate(args) if arg.text == sub)
        _run_rest(command, args[position + 1 :])
    elif name == "ruff" and sub == "check":
        if any(flag.startswith("--fix") for flag in flags):
            command.write(Argument(words[1] if len(words) > 1 else _HERE))
    elif not only_checks and (sub in _CHANGING.get(name, ()) or "--fix" in flags or installs or _is_fixing(task)):
        command.write(Argument(_HERE))


def _run_rest(command: Command, args: list[Argument]) -> None:
    """Add the effects of the program that follows a runner's own options."""
    first = next((index for index, arg in enumerate(args) if not arg.text.startswith("-")), len(args))
    command.run_program(args[first:])


def _is_fixing(task: str) -> bool:
    """Return whether the name of a task means that it rewrites files: `format`, `lint:fix`."""
    return any(part in _FIXING for part in task.replace("-", ":").replace("_", ":").split(":")) and "check" not in task


HANDLERS: dict[str, Callable[[Command, str, list[Argument]], None]] = {
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
    """Return the function that adds the effects of a program that changes files."""
    if name in WRITERS:
        return write_operands
    if name in FORMATTERS:
        return format_files
    return run_tasks if name in RUNNERS else HANDLERS[name]
