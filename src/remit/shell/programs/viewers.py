"""Programs that show content: whole files, some lines of them, or what matches."""

from __future__ import annotations

from collections.abc import Callable

from remit.shell.command import Command
from remit.shell.options import CommandOptions
from remit.shell.programs.scripts import run_awk, run_sed
from remit.shell.words import Argument

_VALUED = {"cut": "dfcb", "xxd": "lsc", "od": "ANjtw", "hexdump": "ns", "fold": "w", "iconv": "oft", "shuf": "onir"}
#: Programs that write the file of `-o FILE`.
_WITH_OUTPUT = frozenset({"iconv", "shuf", "sdiff", "pygmentize"})


def show(command: Command, name: str, args: list[Argument]) -> None:
    """Add the files of `cat FILE`, `diff A B` and similar programs."""
    options = CommandOptions(args, _VALUED.get(name, "o" if name in _WITH_OUTPUT else ""), ("--output",))
    if name == "xxd" and len(options.operands) > 1:
        command.write(options.operands.pop())
    for target in options.values("-o", "--output") if name in _WITH_OUTPUT else ():
        command.write(Argument(target))
    for arg in options.operands:
        command.read(arg)


def show_ends(command: Command, name: str, args: list[Argument]) -> None:
    """Add the files of `head` and `tail`."""
    options = CommandOptions(args, "nc", ("--lines", "--bytes"))
    text = options.value("-n", "--lines", "-c", "--bytes", "-number") or "10"
    if not text.isdecimal() and not (text.startswith("+") and text[1:].isdecimal()):
        lines, first = None, 1
    elif text.startswith("+"):
        lines, first = None, max(1, int(text[1:9]))
    else:
        lines, first = int(text[:8]), 1
    if name == "tail" and options.has("-f", "-F", "--follow"):
        lines = None
    command.passes = lines
    for arg in options.operands:
        command.read(arg, lines, first)


def run_script(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `sed` and `awk`."""
    (run_sed if name in ("sed", "gsed") else run_awk)(command, name, args)


def run_grep(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `grep PATTERN FILE`, a read; with -r, and for `rg` always, it is a search."""
    options = CommandOptions(args, "efmABCgtT", ("--regexp", "--file", "--max-count", "--include", "--glob", "--type"))
    patterns = options.values("-e", "--regexp")
    operands = options.operands
    if not patterns and not options.has("-f", "--file", "--files") and operands:
        patterns, operands = [operands[0].text], operands[1:]
    pattern = "|".join(patterns)
    lines = _grep_lines(options.number("-m", "--max-count"), options.values("-A", "-B", "-C", "-C"))
    if options.has("-l", "-L", "-c", "-q", "--count", "--quiet", "--files-with-matches", "--files-without-match"):
        lines = 1
    is_recursive = name not in ("grep", "egrep", "fgrep", "zgrep") or options.has("-r", "-R", "--recursive")
    if not operands and (command.piped or not is_recursive):
        command.passes = lines
        command.effects.patterns.append(pattern)
    elif is_recursive:
        glob = options.value("--include", "-g", "--glob") if not options.value("-g", "--glob").startswith("!") else ""
        for arg in operands or [Argument(".")]:
            command.search(arg, "**/" + glob if glob and "/" not in glob else glob, pattern, lines)
    else:
        command.effects.patterns.append(pattern)
        for arg in operands:
            command.read(arg, lines)


def _grep_lines(limit: int | None, around: list[str]) -> int | None:
    """Return how many lines at most `limit` matches show, each with the lines around it."""
    if limit is None:
        return None
    return limit * (1 + sum(int(text[:6]) for text in around if text.isdecimal()))


def run_jq(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `jq FILTER FILE`; `yq -i` writes."""
    options = CommandOptions(args, "f" if name == "jq" else "", ("--from-file",))
    operands = options.operands[0 if options.has("-f", "--from-file") else 1 :]
    for arg in operands:
        if name == "yq" and options.has("-i", "--inplace", "--in-place"):
            command.write(arg)
        else:
            command.read(arg)


def run_sort(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `sort` and `uniq`; `sort -o FILE` and `uniq IN OUT` write."""
    options = CommandOptions(args, "ktoST" if name == "sort" else "fsw", ("--output", "--key"))
    operands = options.operands
    if options.has("-o", "--output"):
        command.write(Argument(options.value("-o", "--output")))
        return
    if name == "uniq" and len(operands) > 1:
        command.write(operands[1])
        operands = operands[:1]
    for arg in operands:
        command.read(arg)


def run_find(command: Command, name: str, args: list[Argument]) -> None:
    """Add the effects of `find`: a listing, unless it runs a program, deletes, or prints to a file."""
    first_test = 0
    while first_test < len(args) and not args[first_test].text.startswith(("-", "(", "!")):
        first_test += 1
    roots, tests = args[:first_test] or [Argument(".")], args[first_test:]
    if name in ("fd", "fdfind"):
        roots, tests = [Argument(".")], []
    for index, arg in enumerate(args if name in ("fd", "fdfind") else ()):
        if arg.text in ("-x", "-X", "--exec", "--exec-batch"):
            _run_each(command, [*args[index + 1 :], Argument("{}")])
    words = [arg.text for arg in tests]
    names = [words[index + 1] for index, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
    if "-delete" in words:
        for root in [Argument(".")] if "-follow" in words else roots:  # links may lead anywhere in the project
            command.write(root, whole=True)
    for index, word in enumerate(words[:-1]):
        if word in ("-fprint", "-fprintf", "-fls"):
            command.write(tests[index + 1])
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            _run_each(command, tests[index + 1 :])
    is_listing = not any(word in ("-delete", "-exec", "-execdir", "-ok") for word in words)
    if "-type" in words and words[words.index("-type") + 1 :][:1] == ["d"]:
        return  # it lists folders
    for root in roots if is_listing else ():
        is_shallow = "-maxdepth" in words and words[words.index("-maxdepth") + 1 :][:1] in (["0"], ["1"])
        glob = names[0] if len(names) == 1 else "*" if is_shallow else ""
        command.search(root, glob if is_shallow or not glob else "**/" + glob, None)


def _run_each(command: Command, args: list[Argument]) -> None:
    """Add the effects of the program of `-exec`, with `{}` for any number of files."""
    words = []
    for arg in args:
        if arg.text in (";", "+"):
            break
        words.append(Argument(arg.text, is_known=arg.is_known, is_many="{}" in arg.text))
    command.run_program(words)


HANDLERS: dict[str, Callable[[Command, str, list[Argument]], None]] = {
    **dict.fromkeys(("head", "tail"), show_ends),
    **dict.fromkeys(("sed", "gsed", "awk", "gawk", "mawk", "nawk"), run_script),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ripgrep"), run_grep),
    **dict.fromkeys(("jq", "yq"), run_jq),
    **dict.fromkeys(("sort", "uniq"), run_sort),
    **dict.fromkeys(("find", "fd", "fdfind"), run_find),
}
