"""The gate's rules in words: what an orchestrator is told, the docs say, and `remit gate` explains."""

from __future__ import annotations

#: Name, level, what it asks.
RULES: tuple[tuple[str, int, str], ...] = (
    ("lookup-files", 1, "a quick lookup takes at most 3 distinct files"),
    ("lookup-lines", 1, "a quick lookup takes at most 200 lines of each file"),
    ("lookup-total", 1, "a quick lookup takes at most 300 lines in all"),
    ("lookup-time", 1, "a read takes less than 10 seconds; it is for one value or section, not for understanding"),
    ("bulk-search", 1, "a search that can touch more than 3 files goes to code-explorer"),
    ("reread-analysed", 1, "a file that an accepted result covers is not read again, except as a declared verify"),
    ("edit-code", 1, "code is never edited: backend-specialist or frontend-specialist does it"),
    ("edit-tests", 1, "tests are never edited: qa-engineer does it"),
    ("edit-spec", 1, "specification and design files go to product-manager, except a trivial edit"),
    ("trivial-edit", 1, "directly only white space and Markdown marks, at most 2 lines; the rest is delegated first"),
    ("synthesize-early", 1, "no phase change and no final answer while a delegation is open"),
    ("delegation-first", 1, "a fallback read only after that delegation and its one retry failed: 3 files, 200 lines"),
    ("presentation-size", 2, "no more than 300 lines are shown to the user"),
    ("parallel-writes", 1, "two open delegations never hold the same file for writing"),
    ("security-alone", 1, "scanners and searches for secrets are security-auditor's work"),
)
