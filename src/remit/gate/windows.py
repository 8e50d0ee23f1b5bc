"""The budget of direct reads: a window that opens with each phase or prompt and after each accepted delegation."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.settings import GateSettings


class Window:
    """What was read directly since it opened: distinct files, each with its lines."""

    __slots__ = ("closed", "files", "opened", "presented", "verified", "why")

    def __init__(self, why: str = "session", opened: float = 0.0) -> None:
        self.why = why
        self.opened = opened
        #: Why no more is read in it; empty while it is open.
        self.closed = ""
        self.files: dict[str, int] = {}
        self.verified: list[str] = []
        self.presented = 0

    @property
    def lines(self) -> int:
        """All lines read in it."""
        return sum(self.files.values())

    def copy(self) -> Window:
        """One to try a call on."""
        other = Window(self.why, self.opened)
        other.closed = self.closed
        other.files = dict(self.files)
        other.verified = list(self.verified)
        other.presented = self.presented
        return other

    def add(self, path: str, lines: int) -> None:
        """Count a read."""
        self.files[path] = self.files.get(path, 0) + lines

    def take_back(self, path: str, lines: int, *, whole: bool) -> None:
        """Count less of a read; `whole`: it did not happen at all."""
        if path in self.files:
            self.files[path] = max(0, self.files[path] - lines)
            if whole and not self.files[path]:
                del self.files[path]

    def exceeded(self, path: str, lines: int, settings: GateSettings) -> tuple[str, str] | None:
        """The rule that this read would break, and by how much."""
        limits = settings.limits
        if self.closed:
            return "lookup-time", f"{self.closed}; direct reads are over until the next phase or accepted delegation"
        if path not in self.files and len(self.files) >= limits["files"]:
            return "lookup-files", f"{len(self.files)} files were read directly, and {limits['files']} is the most"
        of_file = self.files.get(path, 0) + lines
        if of_file > limits["lines"]:
            again = " (each time it is read counts)" if path in self.files else ""
            return "lookup-lines", f"{of_file} lines of one file{again}, and {limits['lines']} is the most"
        if self.lines + lines > limits["total"]:
            return "lookup-total", f"{self.lines + lines} lines in all, and {limits['total']} is the most"
        return None

    def as_dict(self) -> dict[str, Any]:
        """For the state's file."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, value: object) -> Window:
        """A window from the state's file; what is of another type is left out."""
        known = value if isinstance(value, dict) else {}
        window = cls()
        for name in cls.__slots__:
            found = known.get(name)
            if type(found) is type(getattr(window, name)):
                setattr(window, name, found)
        files: dict[str, Any] = dict(window.files)
        window.files = {path: lines for path, lines in files.items() if isinstance(lines, int)}
        window.verified = [str(path) for path in window.verified]
        return window
