"""What a command line does to files, as far as it can be told."""

from __future__ import annotations


class Effects:
    """Reads (path, lines or None for all, first line), writes, searches (root, glob, pattern, lines).

    `unknown` says that there may be more, and `why`. Paths are seen from the folder where the line runs.
    """

    __slots__ = ("detail", "patterns", "programs", "reads", "restores", "searches", "unknown", "why", "writes")

    def __init__(self) -> None:
        self.reads: list[tuple[str, int | None, int]] = []
        self.writes: list[str] = []
        self.searches: list[tuple[str, str, str | None, int | None]] = []
        #: Those of the writes that only bring back what was committed.
        self.restores: list[str] = []
        #: What is looked for in files that are named: to recognise a search for secrets, and never kept.
        self.patterns: list[str] = []
        self.programs: list[str] = []
        self.unknown = False
        self.why = ""
        #: What may be shown to the caller, and is never kept.
        self.detail = ""

    def give_up(self, why: str, detail: str = "") -> None:
        """Part of it cannot be understood."""
        if not self.unknown:
            self.why, self.detail = why, detail
        self.unknown = True

    def add(self, other: Effects) -> None:
        """Take over what a part of the line does."""
        for name in ("reads", "writes", "searches", "restores", "patterns", "programs"):
            getattr(self, name).extend(getattr(other, name))
        if other.unknown:
            self.give_up(other.why, other.detail)

    def cap(self, lines: int) -> None:
        """At most so many lines of it are shown."""
        self.reads = [(path, lines if old is None else min(old, lines), first) for path, old, first in self.reads]
        self.searches = [
            (root, glob, pattern, lines if old is None else min(old, lines))
            for root, glob, pattern, old in self.searches
        ]

    def hide(self) -> None:
        """What it reads goes to a file, not to the reader."""
        self.reads = []
        self.searches = []
