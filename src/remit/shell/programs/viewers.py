"""Programs that show content: whole files, some lines of them, or what matches."""

from __future__ import annotations

import re

from remit.shell.options import Options
from remit.shell.words import Argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.shell.command import Command

# As text: most commands need none of them, and compiling takes longer than all else.
_RANGE = r"\s*(\d{1,8})(?:\s*,\s*(\+?)(\d{1,8}))?\s*p\s*"
_QUIT = r"\s*(\d{1,8})\s*q\s*;?\s*"
_AWK_LINE = r"\s*NR\s*==\s*(\d{1,8})\s*(?:\{[^{}|>]*\})?\s*"
_AWK_LINES = r"\s*(?:NR\s*>=?\s*(\d{1,8})\s*&&\s*)?NR\s*<=?\s*(\d{1,8})\s*(?:\{[^{}|>]*\})?\s*"
_AWK_TEXT = r"\"(?:\\.|[^\"\\])*\"|/(?:\\.|[^/\\\n])*/"
_AWK_WRITES = r"print[^;}]*?>>?\s*\"([^\"]{1,300})\""
_VALUED = {"cut": "dfcb", "xxd": "lsc", "od": "ANjtw", "hexdump": "ns", "fold": "w", "iconv": "oft", "shuf": "onir"}
#: Of these `-o FILE` is written.
_WITH_OUTPUT = frozenset({"iconv", "shuf", "sdiff", "pygmentize"})
_LONGEST = 5_000
#: Commands whose word goes on to the end of the line.
_TO_LINE_END = "aicbtT:rRwW"


def show(command: Command, name: str, args: list[Argument]) -> None:
    """`cat FILE`, `diff A B` and their like."""
    found = Options(args, _VALUED.get(name, "o" if name in _WITH_OUTPUT else ""), ("--output",))
    if name == "xxd" and len(found.operands) > 1:
        command.write(found.operands.pop())
    for target in found.values("-o", "--output") if name in _WITH_OUTPUT else ():
        command.write(Argument(target))
    for arg in found.operands:
        command.read(arg)


def show_ends(command: Command, name: str, args: list[Argument]) -> None:
    """`head` and `tail`."""
    found = Options(args, "nc", ("--lines", "--bytes"))
    text = found.value("-n", "--lines", "-c", "--bytes", "-number") or "10"
    if not text.isdecimal() and not (text.startswith("+") and text[1:].isdecimal()):
        lines, first = None, 1
    elif text.startswith("+"):
        lines, first = None, max(1, int(text[1:9]))
    else:
        lines, first = int(text[:8]), 1
    if name == "tail" and found.has("-f", "-F", "--follow"):
        lines = None
    command.passes = lines
    for arg in found.operands:
        command.read(arg, lines, first)


def run_sed(command: Command, _: str, args: list[Argument]) -> None:
    """`sed`: a reader, or with -i a writer."""
    found = Options(args, "efl", ("--expression", "--file"))
    scripts = found.values("-e", "--expression")
    operands = found.operands
    in_place = found.has("-i", "--in-place") or any(name.startswith("-i") for name in found.given)
    if in_place and operands and operands[0].known and not operands[0].text:
        operands = operands[1:]  # BSD's ending of the copy
    if not scripts and not found.has("-f", "--file") and operands:
        if not operands[0].known:
            command.effects.give_up("a script is made at run time")
        scripts, operands = [operands[0].text], operands[1:]
    if found.has("-f", "--file"):
        command.effects.give_up("a script of sed is in a file")
    for script in scripts:
        read_script(command, script)
    if in_place:
        for arg in operands:
            command.write(arg)
        return
    lines, first = _sed_lines(scripts, quiet=found.has("-n", "--quiet", "--silent"))
    command.passes = lines
    for arg in operands:
        command.read(arg, lines, first)


def _sed_lines(scripts: list[str], *, quiet: bool) -> tuple[int | None, int]:
    """How many lines a script prints, and from which on."""
    parts = [part for script in scripts for part in re.split(r"[;\n]", script[:2000]) if part.strip()]
    if not quiet:
        stop = re.fullmatch(_QUIT, scripts[0]) if len(scripts) == 1 else None
        return (int(stop[1]), 1) if stop else (None, 1)
    total, start = 0, 0
    for part in parts:
        if re.fullmatch(_QUIT, part):
            continue
        found = re.fullmatch(_RANGE, part)
        if found is None:
            return None, 1
        first = int(found[1])
        last = first if found[3] is None else first + int(found[3]) if found[2] else int(found[3])
        total += max(1, last - first + 1)
        start = min(start or first, first)
    return total, max(1, start)


def run_awk(command: Command, _: str, args: list[Argument]) -> None:
    """`awk`: its program may also write and run."""
    found = Options(args, "Fvfi", ("--field-separator", "--assign", "--file", "--include"))
    operands = found.operands
    if "inplace" in found.value("-i", "--include"):
        for arg in operands[1:]:
            command.write(arg)
        return
    program = ""
    if not found.has("-f", "--file") and operands:
        if not operands[0].known:
            command.effects.give_up("a script is made at run time")
        program, operands = operands[0].text[:5000], operands[1:]
    else:
        command.effects.give_up("a script of awk is in a file")
    for target in re.findall(_AWK_WRITES, program):
        command.write(Argument(target))
    if re.search(r"system\s*\(|getline|@|\|", re.sub(r"\|\|", "", re.sub(_AWK_TEXT, "", program))):
        command.effects.give_up("a script of awk runs another program")
    # Without its texts and brackets: what is left behind `print ... >` is no plain name.
    if re.search(r"print[^;}\n]*>\s*>?\s*[^\s>\"]", re.sub(r"\([^()]*\)", "", re.sub(_AWK_TEXT, '""', program))):
        command.effects.give_up("a script of awk writes to a file whose name is made at run time")
    lines, first = _awk_lines(program)
    command.passes = lines
    for arg in operands:
        if "=" not in arg.text:
            command.read(arg, lines, first)


def _awk_lines(program: str) -> tuple[int | None, int]:
    if one := re.fullmatch(_AWK_LINE, program):
        return 1, max(1, int(one[1]))
    if some := re.fullmatch(_AWK_LINES, program):
        first = max(1, int(some[1] or 1))
        return max(0, int(some[2]) - first + 1), first
    return None, 1


def run_grep(command: Command, name: str, args: list[Argument]) -> None:
    """`grep PATTERN FILE` reads; with -r, and `rg` always, it searches."""
    found = Options(args, "efmABCgtT", ("--regexp", "--file", "--max-count", "--include", "--glob", "--type"))
    patterns = found.values("-e", "--regexp")
    operands = found.operands
    if not patterns and not found.has("-f", "--file", "--files") and operands:
        patterns, operands = [operands[0].text], operands[1:]
    pattern = "|".join(patterns)
    lines = _grep_lines(found.number("-m", "--max-count"), found.values("-A", "-B", "-C", "-C"))
    if found.has("-l", "-L", "-c", "-q", "--count", "--quiet", "--files-with-matches", "--files-without-match"):
        lines = 1
    wide = name not in ("grep", "egrep", "fgrep", "zgrep") or found.has("-r", "-R", "--recursive")
    if not operands and (command.piped or not wide):
        command.passes = lines
        command.effects.patterns.append(pattern)
    elif wide:
        glob = found.value("--include", "-g", "--glob") if not found.value("-g", "--glob").startswith("!") else ""
        for arg in operands or [Argument(".")]:
            command.search(arg, "**/" + glob if glob and "/" not in glob else glob, pattern, lines)
    else:
        command.effects.patterns.append(pattern)
        for arg in operands:
            command.read(arg, lines)


def _grep_lines(most: int | None, around: list[str]) -> int | None:
    if most is None:
        return None
    return most * (1 + sum(int(text[:6]) for text in around if text.isdecimal()))


def run_jq(command: Command, name: str, args: list[Argument]) -> None:
    """`jq FILTER FILE`; `yq -i` writes."""
    found = Options(args, "f" if name == "jq" else "", ("--from-file",))
    operands = found.operands[0 if found.has("-f", "--from-file") else 1 :]
    for arg in operands:
        if name == "yq" and found.has("-i", "--inplace", "--in-place"):
            command.write(arg)
        else:
            command.read(arg)


def run_sort(command: Command, name: str, args: list[Argument]) -> None:
    """`sort -o FILE` and `uniq IN OUT` write."""
    found = Options(args, "ktoST" if name == "sort" else "fsw", ("--output", "--key"))
    operands = found.operands
    if found.has("-o", "--output"):
        command.write(Argument(found.value("-o", "--output")))
        return
    if name == "uniq" and len(operands) > 1:
        command.write(operands[1])
        operands = operands[:1]
    for arg in operands:
        command.read(arg)


def run_find(command: Command, name: str, args: list[Argument]) -> None:
    """`find`: a listing, unless it runs, deletes or prints to a file."""
    at = 0
    while at < len(args) and not args[at].text.startswith(("-", "(", "!")):
        at += 1
    roots, tests = args[:at] or [Argument(".")], args[at:]
    if name in ("fd", "fdfind"):
        roots, tests = [Argument(".")], []
    for index, arg in enumerate(args if name in ("fd", "fdfind") else ()):
        if arg.text in ("-x", "-X", "--exec", "--exec-batch"):
            _run_each(command, [*args[index + 1 :], Argument("{}")])
    words = [arg.text for arg in tests]
    names = [words[index + 1] for index, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
    if "-delete" in words:
        for root in roots:
            command.write(root)
    for index, word in enumerate(words[:-1]):
        if word in ("-fprint", "-fprintf", "-fls"):
            command.write(tests[index + 1])
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            _run_each(command, tests[index + 1 :])
    listed = not any(word in ("-delete", "-exec", "-execdir", "-ok") for word in words)
    for root in roots if listed else ():
        shallow = "-maxdepth" in words and words[words.index("-maxdepth") + 1 :][:1] in (["0"], ["1"])
        glob = names[0] if len(names) == 1 else "*" if shallow else ""
        command.search(root, glob if shallow or not glob else "**/" + glob, None)


def _run_each(command: Command, args: list[Argument]) -> None:
    words = []
    for arg in args:
        if arg.text in (";", "+"):
            break
        words.append(Argument(arg.text, known=arg.known, many="{}" in arg.text))
    command.run_program(words)


TELLERS: dict[str, Callable[[Command, str, list[Argument]], None]] = {
    **dict.fromkeys(("head", "tail"), show_ends),
    **dict.fromkeys(("sed", "gsed"), run_sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), run_awk),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ripgrep"), run_grep),
    **dict.fromkeys(("jq", "yq"), run_jq),
    **dict.fromkeys(("sort", "uniq"), run_sort),
    **dict.fromkeys(("find", "fd", "fdfind"), run_find),
}


def read_script(command: Command, script: str) -> None:
    """Add what a script does to files."""
    from remit.shell.words import Argument

    if len(script) > _LONGEST:
        command.effects.give_up("a script of sed is too long")
        return
    at = 0
    while at < len(script):
        at = _after_address(script, at)
        letter = script[at : at + 1]
        at += 1
        files = ""
        if letter in ("s", "y"):
            end = _after_parts(script, at)
            if end < 0:
                command.effects.give_up("a script of sed cannot be read")
                return
            flags = script[end : _line_end(script, end)]
            words = flags.partition("w")[0].partition(";")[0].partition("}")[0]
            if letter == "s" and "e" in words:
                letter = "e"
            at = end + len(words)
            if letter == "s" and flags[len(words) :].startswith("w"):
                letter, at = "w", at + 1
        if letter == "e":
            command.effects.give_up("a script of sed runs another program")
        elif letter and letter in _TO_LINE_END:
            end = _line_end(script, at)
            files, at = script[at:end].strip(), end
        if files and letter in "wW":
            command.write(Argument(files))
        elif files and letter in "rR":
            command.read(Argument(files))


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end


def _after_address(script: str, at: int) -> int:
    """Where a command's letter stands: after white space, brackets, numbers and `/patterns/`."""
    while at < len(script):
        letter = script[at]
        if letter == "/":
            at = _after_pattern(script, at + 1, "/")
        elif letter == "\\" and at + 1 < len(script):
            at = _after_pattern(script, at + 2, script[at + 1])
        elif letter.isspace() or letter.isdigit() or letter in ";{}!,~+$IM":
            at += 1
        else:
            break
    return at


def _after_parts(script: str, at: int) -> int:
    """After the two parts of `s/a/b/`; -1 if they have no end."""
    sign = script[at : at + 1]
    middle = _after_pattern(script, at + 1, sign)
    end = _after_pattern(script, middle, sign)
    return end if sign and end <= len(script) else -1


def _after_pattern(script: str, at: int, sign: str) -> int:
    """After the next such sign that is not escaped; beyond the end if there is none."""
    while at < len(script) and script[at] != sign:
        at += 2 if script[at] == "\\" else 1
    return at + 1
