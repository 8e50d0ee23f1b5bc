"""Which lines of which files a diff shows."""

from __future__ import annotations

import re

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
Mark = tuple[str, int] | None


def marks_of(lines: list[str], *, numbered: bool) -> tuple[Mark, ...]:
    """For each line of a diff the place in the new file that it shows, else None.

    The counts in a hunk's head say how many lines belong to it, so no line of a file can pass for a head.
    Not `numbered`: only the files are marked, with line 0 (the new side is not what lies on disk).
    """
    marks: list[Mark] = []
    path: str | None = None
    old = new = number = 0
    for line in lines:
        if old > 0 or new > 0:
            sign = line[:1]
            shown = sign in ("+", " ", "")
            marks.append((path, number if numbered else 0) if shown and path else None)
            old -= sign not in ("+", "\\")
            new -= shown
            number += shown
        elif hunk := _HUNK.match(line):
            old, number, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            marks.append(None)
        else:
            if line.startswith("diff --git "):
                path = None
            elif line.startswith("+++ b/"):
                path = line[6:].rstrip("\t")
            marks.append((path, 0) if path and line.startswith("+++ b/") else None)
    return tuple(marks)
