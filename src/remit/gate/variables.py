"""Variables that decide which programs run: who sets them may have anything run under a harmless name."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.effects import Effects

#: Each names a program, or something that programs load.
_RUNNING_TEXT = """
    LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND SHELLOPTS PYTHONSTARTUP
    PERL5OPT PERL5LIB RUBYOPT GIT_EXTERNAL_DIFF GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_EXEC_PATH GIT_PROXY_COMMAND
    GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR PAGER EDITOR VISUAL MANPAGER LESSOPEN NODE_OPTIONS
"""
_RUNNING = frozenset(_RUNNING_TEXT.split())
#: Values of them that run nothing of anybody's.
_PLAIN = frozenset({"", "true", ":", "cat", "less"})
#: Folders of installed programs below a project.
_INSTALLED = ("node_modules/.bin", "venv/bin")


def note_variable(effects: Effects, name: str, value: str) -> None:
    """Say that nothing can be told of a line in which such a variable gets another value."""
    if name == "PATH":
        changed = any(_is_open(folder) for folder in value.split(":") if folder)
    elif name == "NODE_OPTIONS":
        changed = any(word in value for word in ("require", "import", "loader", "-r"))
    else:
        changed = (name in _RUNNING or name.startswith("GIT_CONFIG")) and value not in _PLAIN
    if changed:
        effects.give_up("a variable decides which programs run")


def _is_open(folder: str) -> bool:
    """Whether somebody who may write there could put a program of any name into it."""
    if folder.endswith(_INSTALLED):
        return False
    return not folder.startswith(("/", "~")) or folder.startswith(("/tmp", "/var/tmp", "/dev/shm", "/proc"))  # noqa: S108 - only compared with
