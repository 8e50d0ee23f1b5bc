"""The gate's rules in words, for the orchestrator's instructions and the docs."""

from __future__ import annotations

from remit.failure_policy import FALLBACK_FILES, FALLBACK_LINES

_FALLBACK = f"{FALLBACK_FILES} files, {FALLBACK_LINES} lines"
#: Name, level, requirement.
RULES: tuple[tuple[str, int, str], ...] = (
    ("lookup-files", 1, "a quick lookup reads at most 3 files"),
    ("lookup-lines", 1, "a quick lookup reads at most 200 lines of each file"),
    ("lookup-total", 1, "a quick lookup reads at most 300 lines in total"),
    ("lookup-time", 1, "a direct read takes less than 10 seconds; it is for one value or section, not for analysis"),
    ("bulk-search", 1, "a search that can read more than 3 files is delegated to code-explorer"),
    (
        "reread-analysed",
        1,
        "a file that an accepted result covers is not read again, except up to 60 lines around a cited location",
    ),
    ("edit-code", 1, "changes of code are delegated to backend-specialist or frontend-specialist"),
    ("edit-tests", 1, "changes of tests are delegated to qa-engineer"),
    (
        "edit-spec",
        1,
        "changes of specification and design files are delegated to product-manager, except trivial edits",
    ),
    (
        "trivial-edit",
        1,
        "only white space and Markdown marks are edited directly, at most 2 lines; other edits are delegated first",
    ),
    (
        "guarded-state",
        1,
        "settings of Remit and of the client, installed files and the gate's record are changed by a person only",
    ),
    (
        "unannounced-change",
        1,
        "code, tests, specifications and guarded files change only as the call was allowed to change them",
    ),
    ("synthesize-early", 1, "no phase change and no final answer while a delegation is open"),
    (
        "final-claims",
        1,
        "the final answer agrees with the record of the session: cited code, test runs, delegations",
    ),
    (
        "delegation-first",
        1,
        f"a fallback read is allowed only after the delegation and its one retry failed: {_FALLBACK}",
    ),
    ("presentation-size", 1, "at most 300 lines are read to be shown to the user; a longer answer is a warning"),
    ("security-alone", 1, "security scans and searches for secrets are delegated to security-auditor"),
)

#: What a quick lookup is for, and what it is not for.
LOOKUPS: tuple[str, ...] = (
    "the value of one setting, such as CACHE_TTL",
    "whether a function, such as validateEmail, is defined in a file",
    "the acceptance criteria of one feature",
    "one section of a configuration file",
)
NO_LOOKUPS: tuple[str, ...] = (
    "how the whole system is structured",
    "trade-offs, or the reasons of a design",
    "where several features are integrated",
    "several related files, to get an overview",
    "a summary of a document",
)


def lookup_lines() -> list[str]:
    """Return the examples of lookups and of questions that are delegated, for prompts and pages."""
    allowed = [f"- a lookup: {text}" for text in LOOKUPS]
    return [*allowed, *(f"- not a lookup, delegate it to code-explorer: {text}" for text in NO_LOOKUPS)]


#: Rules that protect the gate. A project cannot make exceptions to them.
FIRM: tuple[str, ...] = ("guarded-state", "unannounced-change")
