"""The gate's rules in words: what an orchestrator is told, the docs say, and `remit gate why` explains."""

from __future__ import annotations

from remit.failure_policy import FALLBACK_FILES, FALLBACK_LINES, RETRY_FIRST

_FALLBACK = f"{FALLBACK_FILES} files, {FALLBACK_LINES} lines"
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
    ("guarded-state", 1, "what remit itself keeps (the gate's records, its hooks, the database) is not written"),
    ("synthesize-early", 1, "no phase change and no final answer while a delegation is open"),
    ("delegation-first", 1, f"a fallback read only after that delegation and its one retry failed: {_FALLBACK}"),
    ("presentation-size", 2, "no more than 300 lines are shown to the user"),
    ("parallel-writes", 1, "two open delegations never hold the same file for writing"),
    ("security-alone", 1, "scanners and searches for secrets are security-auditor's work"),
    ("declare", 2, "what only a person can say is declared by a person; who declares for them has to ask them"),
    ("tool-limits", 1, "a subagent uses the tools of its definition, and no other"),
    ("fault", 2, "a call that the gate could not judge, through an error of its own, does not pass in silence"),
)

#: Rule -> what to do instead.
INSTEAD: dict[str, str] = {
    "lookup-files": "delegate the reading to code-explorer and work with its result; the next prompt, phase or "
    "accepted delegation opens a fresh window",
    "lookup-lines": "read one section with offset and limit, or delegate the reading to code-explorer",
    "lookup-total": "read one section with offset and limit, or delegate the reading to code-explorer",
    "lookup-time": "delegate slow reads to code-explorer; the next prompt, phase or accepted delegation opens a fresh "
    "window",
    "bulk-search": "delegate the search to code-explorer, or name the one file to look into",
    "reread-analysed": "use the accepted result; a person who wants it looked at again declares it: "
    "remit gate declare verify PATH --why ...",
    "edit-code": "delegate the change to backend-specialist or frontend-specialist",
    "edit-tests": "delegate the change to qa-engineer",
    "edit-spec": "delegate the change to product-manager",
    "trivial-edit": "delegate the change to product-manager; a person who wants it made directly declares it: "
    "remit gate declare edit PATH --why ...",
    "guarded-state": "use remit's own commands: remit gate declare, remit gate status, remit uninstall",
    "synthesize-early": "wait until each delegation is accepted, rejected or failed; then answer",
    "delegation-first": f"{RETRY_FIRST}; after that, the first lines of a few files may be read",
    "presentation-size": "show the part that matters, and say where the rest stands",
    "parallel-writes": "wait until the other delegation has ended, or split the work by files",
    "security-alone": "delegate it to security-auditor",
    "declare": "ask the person; they declare it, or allow the command when their client asks",
    "tool-limits": "do it with the tools of the definition, or add the tool to the definition's `tools`",
    "fault": 'report it with the words of the reason; gate.on_fault = "closed" denies such calls',
}

#: Rules that protect the gate itself: a project makes no exceptions to them.
FIRM: tuple[str, ...] = ("guarded-state", "declare", "fault")


def describe_rule(rule: str) -> tuple[int, str, str] | None:
    """A rule's level, what it asks, and what to do instead."""
    return next(((level, words, INSTEAD[name]) for name, level, words in RULES if name == rule), None)
