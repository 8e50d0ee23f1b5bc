"""Find the handler of a program and add the effects of a simple command; options with which it only shows something."""

from __future__ import annotations

from collections.abc import Callable

from remit.globs import is_glob
from remit.shell.command import CALCULATES, INSTALLED_FOLDERS, Command, is_open
from remit.shell.options import CommandOptions
from remit.shell.programs import editors, interpreters, viewers
from remit.shell.programs.git_effects import run_git
from remit.shell.programs.lists import (
    DATABASE_CLIENTS,
    EDITORS,
    FORMATTERS,
    HARMLESS,
    INTERPRETERS,
    LISTING,
    MOVING,
    NAMING,
    PACKAGE_RUNNERS,
    READERS,
    REPORTS,
    RUNNERS,
    SQLITE_WRITES,
    VIEWERS,
    WRAPPERS,
    WRITERS,
    wrapper_words,
)
from remit.shell.words import Argument

#: A line for each program: its name, its letters (`-` for none), its long options. Indented lines continue it.
_TEXT = """
ls aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1 all almost-all author color= color directory full-time
    group-directories-first human-readable inode recursive reverse size sort= time= time-style= hide= ignore=
cat AbeEnstTuv show-all number number-nonblank squeeze-blank show-ends show-tabs show-nonprinting
less aeEFiImMnNqQrRsSuwXx:z:p: RAW-CONTROL-CHARS no-init quit-if-one-screen
tree adfilpsuDghL:I:P:CnNrt dirsfirst noreport prune gitignore du
date uRI:d:r: utc rfc-email iso-8601 iso-8601= date= rfc-3339= reference=
sort bdfghiMnRrVcCmsuzk:t:S:o: key= field-separator= unique reverse numeric-sort output= version-sort
    human-numeric-sort ignore-case stable check zero-terminated
uniq cdDf:is:uw:z count repeated unique ignore-case skip-fields= skip-chars= check-chars=
head n:c:qvz0123456789 lines= bytes= quiet verbose
tail n:c:qvzfFs:r0123456789 lines= bytes= quiet follow follow= pid= retry
wc clLmw bytes chars lines words max-line-length files0-from=
cut b:c:d:f:ns bytes= characters= delimiter= fields= only-delimited complement output-delimiter=
tr cCdst complement delete squeeze-repeats truncate-set1
grep EFGPe:f:ivwxzcLlm:oqsbHhnTA:B:C:aIrRyUZuD:d:0123456789 regexp= file= ignore-case no-ignore-case invert-match
    word-regexp line-regexp count color= color colour= files-with-matches files-without-match max-count=
    only-matching quiet silent no-messages byte-offset with-filename no-filename line-number after-context=
    before-context= context= text binary-files= include= exclude= exclude-dir= recursive dereference-recursive null
    extended-regexp fixed-strings perl-regexp basic-regexp null-data exclude-from= initial-tab devices= directories=
    line-buffered
rg A:B:C:e:f:g:t:T:E:M:m:d:r:j:sSivwxcloqnNHIhupaPUzbLF.0 regexp= file= glob= iglob= type= type-not= ignore-case
    smart-case case-sensitive invert-match word-regexp line-regexp count count-matches files files-with-matches
    files-without-match max-count= only-matching quiet line-number no-line-number with-filename no-filename
    no-heading heading hidden no-ignore follow multiline multiline-dotall pcre2 after-context= before-context=
    context= color= colors= json stats sort= sortr= max-depth= max-columns= type-list replace= fixed-strings text
    unrestricted vimgrep passthru trim null threads= no-messages encoding= no-ignore-vcs no-config pretty
diff abBcC:dDeEfhilnNpqrstTuU:wW:x:y0123456789 unified unified= context= brief recursive color= color
    ignore-all-space ignore-space-change ignore-blank-lines side-by-side width= new-file exclude= report text stat
    suppress-common-lines strip-trailing-cr
jq ceCMnrRsSajhe arg= argjson= args jsonargs compact-output raw-output null-input slurp raw-input sort-keys
    color-output monochrome-output exit-status tab indent= ascii-output join-output slurpfile= rawfile= stream
    from-file=
du abcd:DhHklLmsSt:xX:0 all apparent-size max-depth= human-readable summarize total exclude= time
df aBhHiklPTx:t: human-readable inodes type= total output=
file bcehikLnNprszZ0:m: brief mime mime-type mime-encoding dereference
stat Lfc:t format= printf= dereference file-system terse
ps aAdefFHjlLmMNTuxwcSVC:G:g:n:o:p:s:t:U:O:Z: sort= forest format= pid= no-headers width= cols=
column c:ts:o:xN:R:JH: table separator= output-separator= json table-columns=
od A:bcdfiloxsj:N:t:vw: address-radix= skip-bytes= read-bytes= format= width=
xxd abc:Eeg:il:o:ps:u
nl b:d:f:h:i:l:n:ps:v:w: body-numbering=
base64 diw:D decode ignore-garbage wrap=
comm 123z check-order nocheck-order output-delimiter=
strings afn:t:e: all bytes= radix=
env iu:0 ignore-environment unset= null
nice n: adjustment=
timeout s:k:v signal= kill-after= preserve-status foreground verbose
stdbuf i:o:e: input= output= error=
nohup -
setsid cfw ctty fork wait
sudo EHnu:g:SkK user= group= preserve-env non-interactive
mktemp dqut directory quiet dry-run
man afklwWS:s: all apropos local-file sections= whatis where
info af:k:n:w all apropos= file= node= where
hostname adfiIsy fqdn short all-ip-addresses
"""
_SAME = {"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "more": "less", "dir": "ls", "colordiff": "diff"}


def unknown_option(name: str, args: list[Argument]) -> str:
    """Return the first option of a listed program that is not known, or an empty text."""
    start = _TEXT.find(f"\n{_SAME.get(name, name)} ")
    if start < 0:
        return ""
    end = start + 1
    while _TEXT[end : end + 1] not in ("\n", "") or _TEXT.startswith("\n    ", end):
        end += 1
    _, letters, *longs = _TEXT[start:end].split()
    index = 0
    while index < len(args):
        text = args[index].text
        index += 1
        if text == "--":
            break
        if name in _WRAPPERS and not text.startswith("-"):
            break
        if text.startswith("--"):
            option, sign, _ = text[2:].partition("=")
            if option not in longs and option + "=" not in longs:
                return text[:40]
            index += not sign and option + "=" in longs and option not in longs
        elif text.startswith("-") and len(text) > 1:
            unknown, takes_next = _cluster(text, letters)
            if unknown:
                return text[:40]
            index += takes_next
    return ""


_WRAPPERS = frozenset({"env", "nice", "timeout", "stdbuf", "nohup", "setsid", "sudo"})


def _cluster(text: str, letters: str) -> tuple[bool, bool]:
    """Return whether a group of letters such as `-rn5` has an unknown one, and whether the next word is its value."""
    for index, letter in enumerate(text[1:], 1):
        position = letters.find(letter)
        if position < 0 or letter == ":":
            return True, False
        if letters[position + 1 : position + 2] == ":":
            return False, index + 1 == len(text)
    return False, False


Handler = Callable[[Command, str, list[Argument]], None]

#: The name of a script of the project. Like the tasks of `make`, it may do anything; its effects are compared later.
TASK = "a script of the project"
_SYSTEM_FOLDERS = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"})
#: How many programs may run each other, as in `env nice timeout 5 ls`.
_MAX_DEPTH = 20
#: Comparisons of `[[ ]]` that evaluate their operands.
_CALCULATING = ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R")
#: Options with which a client of a database sends nothing to it.
_SHOWING = frozenset({"-l", "--list", "-V", "--version", "--help"})
_DECLARING = ("declare", "typeset", "local", "readonly")
#: Programs with a subcommand that runs another program: `uv run X`, `bundle exec X`.
_RUN_WITHIN = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "hatch": "run",
    "rye": "run",
    "pdm": "run",
    "bundle": "exec",
}


def apply_effects(command: Command, args: list[Argument]) -> None:
    """Add the effects of a simple command to it."""
    if not args:
        return
    command.depth += 1
    if command.depth > _MAX_DEPTH:
        command.effects.give_up("too many programs run each other")
        return
    first, rest = args[0], args[1:]
    is_word = first.text in ("[", "[[")
    if not first.is_known or first.is_many or (is_glob(first.text) and not is_word):
        command.effects.give_up("the program is chosen at run time")
        return
    if first.text in command.state.functions:
        return  # its body was read where it was defined
    name = _program_name(command, first)
    sub = rest[0].text if rest else ""
    plain_sub = sub if sub.replace("-", "").isalnum() and len(sub) < 20 else ""
    command.effects.programs += [name[:40], f"{name} {plain_sub}"[:60]] if plain_sub else [name[:40]]
    if name == "remit":
        command.effects.programs.append(_remit_command(rest))
    if name == TASK or _only_shows_version(command, name, rest):
        return
    unknown = unknown_option(name, rest)
    if unknown:
        command.effects.give_up("an option is not known", f"{name} {unknown}")
    handler = _handler(name)
    if handler is not None:
        handler(command, name, rest)
    else:
        _apply_other(command, name, rest, sub)


def _apply_other(command: Command, name: str, rest: list[Argument], sub: str) -> None:
    """Add the effects of a program without a separate handler."""
    if name in WRAPPERS or name in PACKAGE_RUNNERS:
        apply_effects(command, _after_wrapper(command, name, rest))
    elif name in _RUN_WITHIN and sub == _RUN_WITHIN[name]:
        apply_effects(command, rest[1:])
    elif name == "[[":
        _compare(command, rest)
    elif name in NAMING:
        _set_variables(command, name, rest)
    elif name in LISTING:
        command.passes = 1
    elif name in HARMLESS:
        _run_harmless(command, name, rest)
    else:
        command.effects.give_up("it runs an unknown program", name[:40])


def _program_name(command: Command, first: Argument) -> str:
    """Return the name of a program; `TASK` for a script of the project, and an unknown name for other paths."""
    folder, slash, name = first.text.rpartition("/")
    if not slash:
        return name
    is_elsewhere = folder.startswith(("/", "~")) and not is_open(folder) and not _is_below(folder, command.state.start)
    if folder in _SYSTEM_FOLDERS or folder.endswith(INSTALLED_FOLDERS) or is_elsewhere:
        return name
    path = command.path(first)
    is_inside = path is not None and not path.startswith(("/", "~")) and ".." not in path.split("/")
    if path is None or not is_inside:
        return first.text[:80]
    is_named = name in RUNNERS or f"./{name}" in RUNNERS
    return (name if name in RUNNERS else TASK) if is_named or command.state.exists(path, "file") else first.text[:80]


def _is_below(folder: str, start: str) -> bool:
    return bool(start) and (folder == start or folder.startswith(start.rstrip("/") + "/"))


def is_program(name: str) -> bool:
    """Return whether a name is that of a program or a command of the shell that is known."""
    groups = (READERS, WRITERS, FORMATTERS, RUNNERS, LISTING, HARMLESS, NAMING, VIEWERS, EDITORS, INTERPRETERS)
    return name == "git" or name in WRAPPERS or name in PACKAGE_RUNNERS or any(name in group for group in groups)


def _only_shows_version(command: Command, name: str, args: list[Argument]) -> bool:
    """Return whether a program that is found by its name only prints its version or help."""
    if "/" in name or len(args) != 1 or command.piped or command.has_body:
        return False
    text = args[0].text
    if text in ("--version", "--help", "-V", "-h"):
        return True
    return (
        text in ("-v", "-version", "version") and name not in WRITERS and name not in EDITORS and name not in WRAPPERS
    )


def _compare(command: Command, args: list[Argument]) -> None:
    """Give up if a comparison in `[[ ... ]]` calculates: the shell evaluates the values of its variables."""
    words = args[0].text.split() if args else []
    if any(word in _CALCULATING for word in words):
        command.effects.give_up(CALCULATES)


def _run_harmless(command: Command, name: str, rest: list[Argument]) -> None:
    """Add the effects that some arguments of a harmless program have."""
    if any(arg.text in MOVING.get(name, ()) for arg in rest):
        command.effects.give_up("it may copy files from elsewhere")
    elif name in DATABASE_CLIENTS and not (rest and {arg.text for arg in rest} <= _SHOWING):
        command.effects.give_up("a database runs what it is sent", name)
    elif name == "sqlite3" and any(word in arg.text for arg in rest for word in SQLITE_WRITES):
        command.effects.give_up("one of its commands may write a file")
    elif name in REPORTS:
        _write_report(command, REPORTS[name], rest)
    elif name in ("man", "info"):
        _show_manual(command, rest)


def _show_manual(command: Command, args: list[Argument]) -> None:
    """Add the files that `man` and `info` show as a page: with an option, or if the name is a path."""
    options = CommandOptions(args, "f", ("--file",))
    names = [Argument(name) for name in options.values("-f", "--file")]
    letters = "".join(arg.text for arg in args if arg.text[:1] == "-" and arg.text[:2] != "--")
    is_local = "l" in letters or any(arg.text == "--local-file" for arg in args)
    for arg in [*names, *options.operands]:
        if is_local or "/" in arg.text or not arg.is_known or arg in names:
            command.read(arg)


def _write_report(command: Command, names: tuple[str, ...], args: list[Argument]) -> None:
    """Add the files that a tool writes its report to."""
    letters = "".join(name[1:] for name in names if len(name) == 2)
    options = CommandOptions(args, letters, tuple(name for name in names if name.startswith("--")))
    for target in options.values(*names):
        command.write(Argument(target))


def _remit_command(args: list[Argument]) -> str:
    """Return a command of Remit by its first words, such as `remit gate declare`; `remit ?` if it is not known."""
    words = [arg for arg in args if not arg.is_known or not arg.text.startswith("-")][:2]
    if any(not arg.is_known or arg.is_many for arg in words):
        return "remit ?"
    if words and words[0].text == "doctor" and any(not arg.is_known or arg.text.startswith("--conf") for arg in args):
        return "remit doctor --confirm"
    return " ".join(["remit", *(arg.text for arg in words)])


def _handler(name: str) -> Handler | None:
    """Return the function that adds the effects of a program. Its module is loaded only when it is needed."""
    if name in READERS or name in VIEWERS:
        return viewers.show if name in READERS else viewers.HANDLERS[name]
    if name in INTERPRETERS:
        return interpreters.HANDLERS[name]
    if name == "git":
        return run_git
    if name in WRITERS or name in FORMATTERS or name in RUNNERS or name in EDITORS:
        return editors.handler(name)
    return None


def _set_variables(command: Command, name: str, args: list[Argument]) -> None:
    """Set the variables of `read F`, `declare F=a` and `printf -v F`."""
    if name == "printf":
        args = (
            args[1:2]
            if args and args[0].text == "-v"
            else [Argument(arg.text[2:]) for arg in args if arg.text[:2] == "-v"]
        )
    elif name in ("let", "(("):
        command.effects.give_up(CALCULATES)
        return
    elif any(arg.text.startswith("-") and not {*"nia"}.isdisjoint(arg.text) for arg in args) and name in _DECLARING:
        command.effects.give_up("a variable gets another name or type")
    for arg in args:
        variable, sign, value = arg.text.partition("=")
        if (not arg.is_known and not sign) or "[" in variable:
            command.effects.give_up("a variable is chosen at run time")
        if variable.isidentifier():
            command.check_variable(variable, value)
            command.state.assign(variable, [value] if sign and arg.is_known else [])


def _after_wrapper(command: Command, name: str, args: list[Argument]) -> list[Argument]:
    """Return the words of the program that a wrapper starts."""
    count = wrapper_words(name, [arg.text for arg in args])
    for arg in args[:count] if name == "env" else ():
        variable, sign, value = arg.text.partition("=")
        if sign and not variable.startswith("-"):
            command.check_variable(variable, value)
    return args[count:]
