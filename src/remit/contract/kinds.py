"""The kinds of result: which agents send them, and which blocks their Findings must contain.

This table is the single source for the rules, the JSON Schema, the docs and the answer instructions.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from remit.contract.headings import BLOCKS
from remit.lazy import lazy_pattern

#: Prefix of a finding's ID -> its category; also the values of the column Category.
CATEGORY_BY_PREFIX = {
    "SEC": "security",
    "QA": "quality",
    "PERF": "performance",
    "ARCH": "architecture",
    "TEST": "testing",
    "DOC": "documentation",
    "OPS": "operations",
    "UX": "ux",
    "DATA": "data",
}
CATEGORIES = tuple(CATEGORY_BY_PREFIX.values())

Form = Literal["table", "steps", "text", "fence", "details"]


class Column(msgspec.Struct, frozen=True):
    """A column: its key in `headings.COLUMNS`, the name to write, and a hint for its cells."""

    key: str
    name: str
    hint: str
    required: bool = True


class BlockSpec(msgspec.Struct, frozen=True):
    """A block of Findings."""

    key: str
    form: Form
    columns: tuple[Column, ...] = ()
    required: bool = False
    hint: str = ""
    #: The labels that its text must have: `**Approach**: ...`, with their names in other languages and a hint.
    labels: tuple[tuple[tuple[str, ...], str], ...] = ()

    @property
    def name(self) -> str:
        """The heading to write."""
        return BLOCKS[self.key][0]


class Kind(msgspec.Struct, frozen=True):
    """A kind of result. One block of each group in `either` is enough."""

    name: str
    agents: tuple[str, ...]
    blocks: tuple[BlockSpec, ...] = ()
    either: tuple[tuple[str, ...], ...] = ()
    #: Whether Status, Summary and Key References are the whole form.
    is_short: bool = False

    def block(self, key: str) -> BlockSpec | None:
        """Return the block with that key, or None if this kind does not define it."""
        return next((block for block in self.blocks if block.key == key), None)

    def required_groups(self) -> list[tuple[BlockSpec, ...]]:
        """Return the groups of blocks of which at least one is required, in document order."""
        grouped = {key for keys in self.either for key in keys}
        groups: list[tuple[BlockSpec, ...]] = [
            tuple(block for block in self.blocks if block.key in keys) for keys in self.either
        ]
        return groups + [(block,) for block in self.blocks if block.required and block.key not in grouped]


def _location_column(name: str = "File:Line") -> Column:
    return Column("location", name, "`path/to/file.py:12`")


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "exploration",
            ("code-explorer",),
            (
                BlockSpec(
                    "entry_points",
                    "table",
                    (
                        Column("entry", "Entry", "what starts here"),
                        _location_column(),
                        Column("type", "Type", "what it is"),
                    ),
                    required=True,
                ),
                BlockSpec("execution_flow", "steps", required=True, hint="a step → `path/to/file.py:12` (symbol)"),
                BlockSpec("architecture_patterns", "text", hint="a pattern and where it is used"),
                BlockSpec("dependencies", "text", hint="internal and external"),
            ),
        ),
        Kind("search", ("explore",), is_short=True),
        Kind(
            "design",
            ("code-architect", "system-architect"),
            (
                BlockSpec(
                    "pattern_analysis",
                    "table",
                    (
                        Column("pattern", "Pattern", "a pattern in use"),
                        Column("example", "Example", "`path/to/file.py:12`"),
                        Column("recommendation", "Recommendation", "how to follow it"),
                    ),
                ),
                BlockSpec(
                    "recommended_architecture",
                    "text",
                    required=True,
                    hint="**Approach** and **Rationale**",
                    labels=(
                        (("Approach", "アプローチ", "方針", "方法", "方案"), "what to build, in one or two sentences"),
                        (("Rationale", "根拠", "理由", "依据"), "why this approach"),
                    ),
                ),
                BlockSpec(
                    "implementation_map",
                    "table",
                    (
                        Column("component", "Component", "its name"),
                        Column("location", "File", "`path/to/file.py:12`"),
                        Column("action", "Action", "Create or Modify"),
                    ),
                    required=True,
                ),
                BlockSpec("build_sequence", "steps", required=True, hint="what to build next"),
                BlockSpec("tradeoffs", "text", hint="what you considered"),
            ),
        ),
        Kind(
            "review",
            ("qa-engineer", "security-auditor"),
            (
                BlockSpec(
                    "issues_detected",
                    "table",
                    (
                        Column("id", "ID", "`SEC-001`"),
                        Column("issue", "Issue", "what is wrong"),
                        _location_column(),
                        Column("severity", "Severity", "critical, important or minor"),
                        Column("confidence", "Confidence", "0-100"),
                        Column(
                            "category", "Category", f"{', '.join(CATEGORIES[:-1])} or {CATEGORIES[-1]}", required=False
                        ),
                    ),
                    required=True,
                ),
                BlockSpec("issue_details", "details", hint="for each ID: the quoted code, **Risk** and **Fix**"),
                BlockSpec(
                    "compliance_check",
                    "table",
                    (
                        Column("standard", "Standard", "its name"),
                        Column("status", "Status", "PASS or FAIL"),
                        Column("notes", "Notes", "why"),
                    ),
                ),
            ),
        ),
        Kind(
            "implementation",
            ("frontend-specialist", "backend-specialist"),
            (
                BlockSpec(
                    "files_created",
                    "table",
                    (
                        Column("location", "File", "`path/to/file.py`"),
                        Column("purpose", "Purpose", "what it is for"),
                        Column("lines", "Lines", "its number of lines"),
                    ),
                ),
                BlockSpec(
                    "files_modified",
                    "table",
                    (
                        Column("location", "File", "`path/to/file.py:12`"),
                        Column("change", "Change", "what changed"),
                        Column("lines", "Lines Changed", "+5 or -2"),
                    ),
                ),
                BlockSpec("test_results", "fence", required=True, hint="the command and its output, in a fence"),
                BlockSpec("implementation_notes", "text", hint="decisions worth knowing"),
            ),
            either=(("files_created", "files_modified"),),
        ),
        Kind(
            "verification",
            ("verification-specialist",),
            (
                BlockSpec(
                    "claims",
                    "table",
                    (
                        Column("claim", "Claim", "what was claimed"),
                        _location_column("Location"),
                        Column("outcome", "Outcome", "VERIFIED, PARTIAL or UNVERIFIED"),
                    ),
                    required=True,
                ),
            ),
        ),
        Kind(
            "document",
            ("product-manager", "technical-writer"),
            (
                BlockSpec(
                    "files",
                    "table",
                    (Column("location", "File", "`docs/page.md`"), Column("change", "Change", "what changed")),
                    required=True,
                ),
            ),
        ),
        Kind("generic", ()),
        Kind("error", ()),
    )
}

_BY_AGENT = {agent: kind for kind in KINDS.values() for agent in kind.agents}
_NOT_SLUG = lazy_pattern(r"(?:[^\w:]|_)+")


def slug(name: str) -> str:
    """Return the form in which agent names are compared: `Code Explorer` and `code-explorer` are equal."""
    return _NOT_SLUG.sub("-", name.lower()).strip("-:")


def is_known_agent(agent: str) -> bool:
    """Return whether the contract names an agent."""
    return slug(agent).rpartition(":")[2] in _BY_AGENT


def kind_of(agent: str, name: str | None = None) -> Kind:
    """Return the kind that a result must have: the named one, else the agent's, else `generic`."""
    if name is not None:
        return KINDS[name]
    return _BY_AGENT.get(slug(agent).rpartition(":")[2], KINDS["generic"])
