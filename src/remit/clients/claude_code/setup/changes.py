"""What an install or its removal would do to files, before it is done."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import NamedTuple

from remit.clients.claude_code.setup.place import Place
from remit.clients.claude_code.setup.record import Record
from remit.clients.claude_code.setup.writing import read_bytes, replace_file
from remit.errors import EnvironmentBroken, UsageError

#: Lines of a difference that are shown to a person.
_MOST_LINES = 200
#: More than any file that is changed here.
MOST_BYTES = 8 * 1024 * 1024


class Change(NamedTuple):
    """A file before and after; None: it is not there."""

    path: Path
    before: bytes | None
    after: bytes | None
    #: Whether it is a person's file of which only a part is ours, so that the difference is shown.
    is_shared: bool = False

    @property
    def mark(self) -> str:
        """`+` a new file, `-` one that goes, `~` one that changes."""
        return "+" if self.before is None else "-" if self.after is None else "~"

    def difference(self) -> list[str]:
        """The lines that change, as a unified difference."""
        old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (self.before, self.after))
        lines = [*difflib.unified_diff(old, new, lineterm="", n=2)][2:]
        more = len(lines) - _MOST_LINES
        return [*lines[:_MOST_LINES], f"({more} more lines)"] if more > 0 else lines

    def apply(self) -> None:
        """Do it, unless the file is no longer as it was looked at."""
        if read_bytes(self.path, MOST_BYTES) != self.before:
            raise UsageError(f"{self.path} was changed by somebody else meanwhile; start again")
        if self.after is not None:
            replace_file(self.path, self.after)
            return
        try:
            self.path.unlink()
        except OSError as error:
            raise EnvironmentBroken(f"{self.path} cannot be removed: {error.strerror}; start again") from error


class Plan(NamedTuple):
    """Everything that would be done, in this order."""

    place: Place
    changes: list[Change]
    #: What stays although one might expect otherwise, and why.
    kept: list[str]
    #: What a person should know.
    notes: list[str]
    record: Record
    #: What the hooks call once it is done; empty: there are none.
    calls: str = ""
