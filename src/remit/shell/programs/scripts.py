"""Scripts on a command line: those of sed are read, code of other languages only for what it may do."""

from __future__ import annotations

from remit.lazy import lazy_pattern
from remit.shell.command import Command
from remit.shell.options import CommandOptions
from remit.shell.words import Argument

# Not compiled: a line needs one or two of them.
_RANGE = lazy_pattern(r"\s*(\d{1,8})(?:\s*,\s*(\+?)(\d{1,8}))?\s*p\s*")
_QUIT = lazy_pattern(r"\s*(\d{1,8})\s*q\s*;?\s*")
_AWK_LINE = lazy_pattern(r"\s*NR\s*==\s*(\d{1,8})\s*(?:\{[^{}|>]*\})?\s*")
_AWK_LINES = lazy_pattern(r"\s*(?:NR\s*>=?\s*(\d{1,8})\s*&&\s*)?NR\s*<=?\s*(\d{1,8})\s*(?:\{[^{}|>]*\})?\s*")
#: What a script of awk needs to write a file, to run a program or to load code; after the parts without such effects.
_AWK_ACTS = lazy_pattern(r"(?s)print.*>|[|@]|system|getline")
_AWK_PASSIVE = lazy_pattern(r"\([^()\"]*+\)|\|\|")
_MAX_SCRIPT = 5_000
_SED_OPTIONS = frozenset(
    {"-e", "-f", "-l", "-n", "-E", "-r", "-s", "-u", "-z", "-i", "--expression", "--file", "--quiet", "--silent"}
    | {"--regexp-extended", "--in-place", "--null-data", "--posix", "--separate", "--unbuffered"}
)
#: Commands of sed whose argument ends at the end of the line.
_TO_LINE_END = "aicbtT:rRwW"
#: In a one-liner of any language, these words mean files or other programs.
_TOUCHING_TEXT = """
    open system exec unlink rename fs require import file io. ` eval spawn write copy touch link mkdir rmdir truncate
    chmod passthru load output sink read source save qx %x argv ^i process bun deno glob dir. pathname syscall
    __ getattr globals locals vars( breakpoint input( help( compile modules ._
"""
_TOUCHING = tuple(_TOUCHING_TEXT.split())
#: Python that reads JSON from its input, which has some of these words.
_PASSIVE = lazy_pattern(
    r"\bimport (?:json|sys|re|math)(?>(?:, ?(?:json|sys|re|math))*)\s*+(?:;|\n)|\bjson\.loads?\(|\bsys\.stdin\.read\(\)"
)
#: Longer code is not searched for names of files.
_MAX_CODE = 20_000
#: A text in quotes, which may be the name of a file.
_QUOTED = lazy_pattern(r"""(["'])([^\s"'{}%*<>|;:]{1,400})\1""")
#: What code needs to change a file.
_CHANGES = lazy_pattern(
    r"(?i)writ|unlink|remove|rename|replace|rmtree|touch|mkdir|copy|move|link|truncate|chmod"
    r"""|[,=(]\s?["'][rb]?[wax+][b+]?["']"""
)


def read_code(command: Command, code: str) -> None:
    """Give up on code that may touch files; its effects are compared afterwards."""
    lowered = _PASSIVE.sub("", code.lower())
    if any(word in lowered for word in _TOUCHING):
        _give_up_on(command, code, may_write=_CHANGES.search(code[:_MAX_CODE]) is not None)


def _give_up_on(command: Command, code: str, *, may_write: bool) -> None:
    """Add the files that code names in quotes. It may use others as well."""
    command.effects.give_up("a script may do anything")
    for _, name in _QUOTED.findall(code[:_MAX_CODE]):
        if "." in name or "/" in name:
            before = len(command.effects.writes)
            (command.write if may_write else command.read)(Argument(name))
            command.effects.guesses += command.effects.writes[before:]


def run_sed(command: Command, _: str, args: list[Argument]) -> None:
    """Add the effects of `sed`: it shows files, or with -i changes them."""
    options = CommandOptions(args, "efl", ("--expression", "--file"))
    suffixes = "".join(arg.text for arg in args if arg.text.startswith("-i"))
    if any(name not in _SED_OPTIONS and name[1:] not in suffixes for name in options.named):
        command.effects.give_up("an option of sed is not known")
    scripts = options.values("-e", "--expression")
    operands = options.operands
    in_place = options.has("-i", "--in-place") or any(name.startswith("-i") for name in options.named)
    if in_place and operands and operands[0].is_known and not operands[0].text:
        operands = operands[1:]  # the suffix of the backup in BSD's sed
    if not scripts and not options.has("-f", "--file") and operands:
        if not operands[0].is_known:
            command.effects.give_up("a script is made at run time")
        scripts, operands = [operands[0].text], operands[1:]
    if options.has("-f", "--file"):
        command.effects.give_up("a sed script is in a file")
    for script in scripts:
        _read_sed_script(command, script)
    if in_place:
        for arg in operands:
            command.write(arg)
        return
    lines, first = _sed_lines(scripts, quiet=options.has("-n", "--quiet", "--silent"))
    command.passes = lines
    for arg in operands:
        command.read(arg, lines, first)


def _sed_lines(scripts: list[str], *, quiet: bool) -> tuple[int | None, int]:
    """Return how many lines a script prints (None: any number), and the first of them."""
    parts = [part for script in scripts for part in script[:2000].replace("\n", ";").split(";") if part.strip()]
    if not quiet:
        stop = _QUIT.fullmatch(scripts[0]) if len(scripts) == 1 else None
        return (int(stop[1]), 1) if stop else (None, 1)
    total, start = 0, 0
    for part in parts:
        if _QUIT.fullmatch(part):
            continue
        match = _RANGE.fullmatch(part)
        if match is None:
            return None, 1
        first = int(match[1])
        last = first if match[3] is None else first + int(match[3]) if match[2] else int(match[3])
        total += max(1, last - first + 1)
        start = min(start or first, first)
    return total, max(1, start)


def _read_sed_script(command: Command, script: str) -> None:
    """Add the files that a script of sed reads and writes."""
    if len(script) > _MAX_SCRIPT:
        command.effects.give_up("a sed script is too long")
        return
    position = 0
    while position < len(script):
        position = _after_address(script, position)
        letter = script[position : position + 1]
        position += 1
        file = ""
        if letter in ("s", "y"):
            end = _after_parts(script, position)
            if end < 0:
                command.effects.give_up("a sed script cannot be read")
                return
            flags = script[end : _line_end(script, end)]
            words = flags.partition("w")[0].partition(";")[0].partition("}")[0]
            if letter == "s" and "e" in words:
                letter = "e"
            position = end + len(words)
            if letter == "s" and flags[len(words) :].startswith("w"):
                letter, position = "w", position + 1
        if letter == "e":
            command.effects.give_up("a sed script runs another program")
        elif letter and letter in _TO_LINE_END:
            end = _line_end(script, position)
            file, position = script[position:end].strip(), end
        if file and letter in "wW":
            command.write(Argument(file))
        elif file and letter in "rR":
            command.read(Argument(file))


def _line_end(script: str, position: int) -> int:
    end = script.find("\n", position)
    return len(script) if end < 0 else end


def _after_address(script: str, position: int) -> int:
    """Return the position of a command's letter: after white space, brackets, numbers and `/patterns/`."""
    while position < len(script):
        letter = script[position]
        if letter == "/":
            position = _after_pattern(script, position + 1, "/")
        elif letter == "\\" and position + 1 < len(script):
            position = _after_pattern(script, position + 2, script[position + 1])
        elif letter.isspace() or letter.isdigit() or letter in ";{}!,~+$IM":
            position += 1
        else:
            break
    return position


def _after_parts(script: str, position: int) -> int:
    """Return the position after the two parts of `s/a/b/`, or -1 if they have no end."""
    sign = script[position : position + 1]
    middle = _after_pattern(script, position + 1, sign)
    end = _after_pattern(script, middle, sign)
    return end if sign and end <= len(script) else -1


def _after_pattern(script: str, position: int, sign: str) -> int:
    """Return the position after the next such sign that is not escaped, or beyond the end."""
    while position < len(script) and script[position] != sign:
        position += 2 if script[position] == "\\" else 1
    return position + 1


def run_awk(command: Command, _: str, args: list[Argument]) -> None:
    """Add the files of `awk`. A script that may write a file or run a program is not read."""
    options = CommandOptions(args, "Fvfi", ("--field-separator", "--assign", "--file", "--include"))
    if any(name not in ("-F", "-v", "-i", "--field-separator", "--assign") for name in options.named):
        command.effects.give_up("an option of awk is not known")
    has_file = options.has("-f", "--file")
    script, operands = options.operands[: not has_file], options.operands[not has_file :]
    text = script[0].text if script and script[0].is_known else "@"
    if len(text) > _MAX_SCRIPT or _AWK_ACTS.search(_AWK_PASSIVE.sub("", text)):
        _give_up_on(command, text, may_write=True)
    command.passes, first = _awk_lines(text)
    for arg in operands:
        if "inplace" in options.value("-i", "--include"):
            command.write(arg)
        elif "=" not in arg.text:
            command.read(arg, command.passes, first)


def _awk_lines(script: str) -> tuple[int | None, int]:
    """Return how many lines a script prints (None: any number), and the first of them."""
    if line := _AWK_LINE.fullmatch(script):
        return 1, max(1, int(line[1]))
    if some := _AWK_LINES.fullmatch(script):
        first = max(1, int(some[1] or 1))
        return max(0, int(some[2]) - first + 1), first
    return None, 1
