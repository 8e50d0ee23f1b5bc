"""The gate's rules in words, for the orchestrator's instructions, the docs and `remit gate why`."""

from __future__ import annotations

from remit.failure_policy import FALLBACK_FILES, FALLBACK_LINES, RETRY_FIRST

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
        "files that decide what runs and what is allowed are changed by a person only",
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
    ("presentation-size", 2, "at most 300 lines are shown to the user"),
    (
        "model-choice",
        2,
        "a delegation uses the model of its definition: haiku for lookups, sonnet for analysis, opus for requirements",
    ),
    ("parallel-writes", 1, "two open delegations never write the same file"),
    ("security-alone", 1, "security scans and searches for secrets are delegated to security-auditor"),
    ("declare", 2, "only a person makes declarations; an agent that makes one for them must ask first"),
    ("tool-limits", 1, "a subagent uses only the tools of its definition"),
    ("fault", 2, "a call that the gate could not check because of an error is reported"),
)

#: Rule -> what to do instead.
INSTEAD: dict[str, str] = {
    "lookup-files": "delegate the reading to code-explorer and use its result; the next prompt, phase or accepted "
    "delegation opens a new window",
    "lookup-lines": "read one section with offset and limit, or delegate the reading to code-explorer",
    "lookup-total": "read one section with offset and limit, or delegate the reading to code-explorer",
    "lookup-time": "delegate slow reads to code-explorer; the next prompt, phase or accepted delegation opens a new "
    "window",
    "bulk-search": "delegate the search to code-explorer, or name one file",
    "reread-analysed": "use the accepted result, or verify it with a read of at most 60 lines around a cited location; "
    "a person can allow another read: remit gate declare verify PATH --why ...",
    "edit-code": "delegate the change to backend-specialist or frontend-specialist",
    "edit-tests": "delegate the change to qa-engineer",
    "edit-spec": "delegate the change to product-manager",
    "trivial-edit": "delegate the change to product-manager; a person can allow a direct edit: "
    "remit gate declare edit PATH --why ...",
    "guarded-state": "use the commands of remit: remit gate declare, remit gate status, remit uninstall",
    "unannounced-change": "tell the user; the `git apply` command of the message reverts exactly this change, and "
    "`remit gate trust` keeps it",
    "synthesize-early": "wait until each delegation is accepted, rejected or failed, then answer",
    "final-claims": "correct or remove what the record contradicts or lacks, and give the complete answer again",
    "delegation-first": f"{RETRY_FIRST}; after that, the first lines of a few files may be read",
    "presentation-size": "show the relevant part and state where the rest is",
    "model-choice": "leave out `model` in the call, or tell the user why this task needs another model",
    "parallel-writes": "wait until the other delegation ends, or split the work by files",
    "security-alone": "delegate it to security-auditor",
    "declare": "ask the user; they declare it, or allow the command when the client asks",
    "tool-limits": "use the tools of the definition, or add the tool to `tools` in the definition",
    "fault": 'report the error with the text of the reason; gate.on_fault = "closed" denies such calls',
}

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
FIRM: tuple[str, ...] = ("guarded-state", "unannounced-change", "declare", "fault")


def describe_rule(rule: str) -> tuple[int, str, str] | None:
    """Return the level of a rule, its requirement, and what to do instead."""
    return next(((level, text, INSTEAD[name]) for name, level, text in RULES if name == rule), None)
