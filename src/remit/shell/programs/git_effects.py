"""What git does to the files of a checkout. Commits and branches do not count as edits."""

from __future__ import annotations

from remit.shell.command import Command
from remit.shell.options import CommandOptions
from remit.shell.words import Argument

_HARMLESS_TEXT = """
    add commit push fetch pull merge rebase cherry-pick revert switch branch tag status log diff shortlog describe
    remote config rev-parse rev-list ls-files ls-tree ls-remote show-ref for-each-ref symbolic-ref reflog stash bisect
    blame show grep cat-file name-rev merge-base var version help init clone worktree submodule fsck gc prune notes
    whatchanged range-diff count-objects check-ignore archive bundle format-patch request-pull lfs
    diff-tree diff-index diff-files update-ref maintenance cherry hash-object fast-export
"""
_HARMLESS = frozenset(_HARMLESS_TEXT.split())
#: Commands that check out other commits.
_MOVING = frozenset({"pull", "merge", "rebase", "cherry-pick", "revert", "switch", "checkout", "bisect"})
#: CommandOptions that name a program to run, and subcommands that run one.
_RUNNING: tuple[str, ...] = (
    "--exec",
    "--upload-pack",
    "--receive-pack",
    "--open-files-in-pager",
    "--extcmd",
    "--ext-diff",
    "--textconv",
)
_RUNNING += ("--template", "--separate-git-dir", "--config", "--edit-description", "--trailer", "--strategy")
_RUNNING_SUBS = (["submodule", "foreach"], ["bisect", "run"], ["submodule", "add"], ["submodule", "update"])
#: Subcommand -> its letters for such an option.
_RUNNING_LETTERS = {"rebase": "x", "clone": "uc", "grep": "O", "pull": "s", "merge": "s"}
#: Global options that are read; others are not understood.
_GLOBALS = ("--no-pager", "-C", "-c", "--no-optional-locks", "--literal-pathspecs", "--version", "--help", "--bare")
#: Settings that run nothing.
_PLAIN_SETTINGS = (
    "user.name",
    "user.email",
    "color.",
    "advice.",
    "init.",
    "safe.",
    "log.",
    "core.quotepath",
    "core.autocrlf",
    "commit.gpgsign",
    "diff.renames",
    "core.pager=cat",
    "branch.",
    "fetch.",
    "merge.conflictstyle",
    "pull.",
    "push.",
    "rebase.autostash",
    "rebase.autosquash",
)


def run_git(command: Command, _: str, args: list[Argument]) -> None:
    """Add the effects of a git command."""
    args = _without_globals(command, args)
    if not args:
        return
    sub, rest = args[0].text, args[1:]
    _write_output(command, sub, rest)
    if any(_runs(sub, arg.text) for arg in rest) or [sub, *(arg.text for arg in rest[:1])] in _RUNNING_SUBS:
        command.effects.give_up("git runs another program")
    command.effects.moves_checkout = command.effects.moves_checkout or sub in _MOVING
    if sub in ("checkout", "restore", "reset", "clean", "rm", "mv", "apply", "am", "stash"):
        _WRITING[sub](command, rest)
    elif sub in ("show", "cat-file", "blame", "annotate"):
        _show(command, sub, rest)
    elif sub == "grep":
        _grep(command, rest)
    elif sub == "config":
        _configure(command, rest)
    elif sub in ("bundle", "worktree", "clone", "init", "format-patch"):
        _create(command, sub, rest)
    elif sub == "diff" and any(arg.text == "--no-index" for arg in rest):
        for arg in CommandOptions(rest).operands:
            command.read(arg)
    elif sub not in _HARMLESS:
        command.effects.give_up("it is an unknown git command")


def _runs(sub: str, option: str) -> bool:
    """Return whether an option, also an abbreviated one, may name a program that git runs."""
    name = option.partition("=")[0]
    if name.startswith("--"):
        return len(name) > 3 and any(running.startswith(name) or name.startswith(running) for running in _RUNNING)
    letters = _RUNNING_LETTERS.get(sub, "")
    return option.startswith("-") and any(letter in option[1:] for letter in letters)


def _create(command: Command, sub: str, args: list[Argument]) -> None:
    """Add the folder or file that git creates: a clone, a work tree, a bundle, patches."""
    options = CommandOptions(
        args, "obBv" if sub in ("worktree", "clone", "format-patch") else "", ("--output-directory",)
    )
    operands = options.operands
    if sub == "format-patch":
        if not options.has("--stdout", "-o", "--output-directory"):
            command.write(Argument("."))
    elif sub == "init":
        command.write(operands[0] if operands else Argument(".git"))
    elif sub == "clone":
        last = operands[0].text.rstrip("/").rpartition("/")[2].removesuffix(".git") if operands else ""
        command.write(operands[1] if len(operands) > 1 else Argument(last or "."))
    elif len(operands) > 1 and operands[0].text in ("add", "create", "move", "remove"):
        for arg in operands[1:2] if sub == "bundle" or operands[0].text != "move" else operands[1:3]:
            command.write(arg, whole=operands[0].text in ("move", "remove"))


def _without_globals(command: Command, args: list[Argument]) -> list[Argument]:
    """Return the words after global options such as `-C FOLDER` and `-c KEY=VALUE`."""
    index = 0
    while index < len(args) and args[index].text.startswith("-"):
        if args[index].text not in _GLOBALS:
            command.effects.give_up("an option of git is not known", args[index].text[:40])
        if args[index].text == "-C" and index + 1 < len(args):
            inside = command.state.copy()
            inside.folder = command.path(args[index + 1])
            command.state = inside
        setting = args[index + 1].text.lower() if index + 1 < len(args) else ""
        if args[index].text == "-c" and not setting.startswith(_PLAIN_SETTINGS):
            command.effects.give_up("a git setting may run another program")
        index += 2 if args[index].text in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return args[index:]


def _configure(command: Command, args: list[Argument]) -> None:
    """Give up on `git config KEY VALUE` if the setting may name a program that git runs."""
    options = CommandOptions(args, "f", ("--file",))
    words = [arg.text.lower() for arg in options.operands if arg.text not in ("set", "--")]
    reads = options.has("--get", "--list", "-l", "--unset") or words[:1] in (["get"], ["list"], ["unset"])
    if options.has("-e", "--edit") or (len(words) > 1 and not reads and not words[0].startswith(_PLAIN_SETTINGS)):
        command.effects.give_up("a git setting may run another program")


def _write_output(command: Command, sub: str, args: list[Argument]) -> None:
    """Add the file of `git diff --output=FILE` or `git archive -o FILE`."""
    if sub in ("diff", "log", "show", "archive", "format-patch", "bundle"):
        options = CommandOptions(
            args, "o" if sub in ("archive", "format-patch") else "", ("--output", "--output-directory")
        )
        for target in options.values("-o", "--output", "--output-directory"):
            command.write(Argument(target))


def _restore(command: Command, paths: list[Argument]) -> None:
    for arg in paths:
        command.write(arg)


def _checkout(command: Command, args: list[Argument]) -> None:
    words = [arg.text for arg in args]
    if "--" in words:
        _restore(command, args[words.index("--") + 1 :])
        return
    options = CommandOptions(args, "bBt")
    if options.has("-b", "-B", "--orphan", "--detach", "-t"):
        return
    # A branch and a file may have the same name. If the file exists, it is restored.
    for position, arg in enumerate(options.operands):
        path = command.path(arg)
        if path is not None and (position > 0 or command.state.exists(path)):
            _restore(command, [arg])


def _restore_files(command: Command, args: list[Argument]) -> None:
    options = CommandOptions(args, "s", ("--source",))
    if not (options.has("--staged", "-S") and not options.has("--worktree", "-W")):
        _restore(command, options.operands or [Argument(".")])


def _reset(command: Command, args: list[Argument]) -> None:
    if any(arg.text in ("--hard", "--merge", "--keep") for arg in args):
        command.write(Argument("."))


def _clean(command: Command, args: list[Argument]) -> None:
    options = CommandOptions(args, "e")
    if not options.has("-n", "--dry-run"):
        for arg in options.operands or [Argument(".")]:
            command.write(arg, whole=True)


def _remove(command: Command, args: list[Argument]) -> None:
    options = CommandOptions(args)
    if not options.has("--cached", "-n", "--dry-run"):
        for arg in options.operands:
            command.write(arg)


def _apply(command: Command, args: list[Argument]) -> None:
    if not any(arg.text in ("--check", "--stat", "--numstat", "--summary", "--cached", "--abort") for arg in args):
        command.write(Argument("."))


def _stash(command: Command, args: list[Argument]) -> None:
    sub = next((arg.text for arg in args if not arg.text.startswith("-")), "push")
    if sub not in ("list", "show", "drop", "clear", "create", "store", "branch"):
        command.write(Argument("."))


def _show(command: Command, sub: str, args: list[Argument]) -> None:
    """Add the file of `git show REV:FILE` or `git blame FILE`; `git show` without one shows a commit."""
    for arg in CommandOptions(args, "L" if sub == "blame" else "").operands:
        revision, sign, path = arg.text.partition(":")
        if sub in ("blame", "annotate"):
            command.read(arg)
        elif sign and path and revision is not None:
            command.read(Argument(path, is_known=arg.is_known))


def _grep(command: Command, args: list[Argument]) -> None:
    options = CommandOptions(args, "efmABC")
    operands = options.operands if options.has("-e", "-f") else options.operands[1:]
    pattern = options.value("-e") or (options.operands[0].text if options.operands else "")
    for arg in operands or [Argument(".")]:
        command.search(arg, "", pattern, 1 if options.has("-l", "-c", "-q", "-L") else None)


_WRITING = {
    "checkout": _checkout,
    "restore": _restore_files,
    "reset": _reset,
    "clean": _clean,
    "rm": _remove,
    "mv": _remove,
    "apply": _apply,
    "am": _apply,
    "stash": _stash,
}
