"""The texts of the measurement: a true text and the same text with one lie, in each of the settings.

A plant is a statement in two versions. `pair` puts both into the same surroundings: true statements about the checkout.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Literal, NamedTuple

from checkout_facts import Checkout

Family = Literal["reference", "quote", "name", "command", "test", "commit"]
#: `document`: a file in the checkout; `stdin`: a text from elsewhere; `result`: a result under the contract;
#: `receipts`: any text with receipts of the calls of its author.
Setting = Literal["document", "stdin", "result", "receipts"]
SETTINGS: tuple[Setting, ...] = ("document", "stdin", "result", "receipts")


class Plant(NamedTuple):
    """A statement, true and as a lie. `marked` is the range of its lines in which the claim is; None: all lines."""

    family: Family
    form: str
    true: tuple[str, ...]
    lie: tuple[str, ...]
    #: A strong kind has to fail in every text, not only in results.
    is_strong: bool = False
    marked: tuple[int, int] | None = None
    #: The cited path and line of the true version, to measure whether it is read.
    cited: tuple[str, int] | None = None


class Case(NamedTuple):
    """A text with at most one lie, and the lines of the text in which the claim is."""

    group: str
    kind: str
    family: Family
    form: str
    document: str
    text: str
    first: int
    last: int
    is_lie: bool
    is_strong: bool
    cited: tuple[str, int] | None = None


class PlaceForm(NamedTuple):
    """How people write a place: for one line, for a range (empty: not used), and what holds for the form."""

    single: str
    range: str = ""
    #: The line follows the path directly.
    is_direct: bool = True
    #: The path must not have characters that need code marks.
    needs_plain_path: bool = False
    is_link: bool = False

    def write(self, path: str, first: int, last: int | None = None) -> str:
        """Return a place in this form."""
        template = self.single if last is None else self.range
        return template.format(path=path, windows=path.replace("/", "\\"), first=first, last=last)

    def fits(self, path: str) -> bool:
        """Return whether a path can be written in this form."""
        if "{windows}" in self.single and "/" not in path:
            return False
        return not self.needs_plain_path or bool(re.fullmatch(r"[\w./-]+", path))


PLACE_FORMS = {
    "marked": PlaceForm("`{path}:{first}`", "`{path}:{first}-{last}`"),
    "plain": PlaceForm("{path}:{first}", "{path}:{first}-{last}", needs_plain_path=True),
    "brackets": PlaceForm("({path}:{first})", "({path}:{first}-{last})", needs_plain_path=True),
    "bold": PlaceForm("**`{path}:{first}`**", "**`{path}:{first}-{last}`**"),
    "column": PlaceForm("`{path}:{first}:5`"),
    "hash": PlaceForm("`{path}#L{first}`", "`{path}#L{first}-L{last}`"),
    "en-dash": PlaceForm("`{path}:{first}`", "`{path}:{first}–{last}`"),
    "dot": PlaceForm("`./{path}:{first}`", "`./{path}:{first}-{last}`"),
    "windows": PlaceForm("`{windows}:{first}`", "`{windows}:{first}-{last}`"),
    "letter": PlaceForm("`{path}:L{first}`", "`{path}:L{first}-L{last}`"),
    "line of": PlaceForm("line {first} of `{path}`", "lines {first}-{last} of `{path}`", is_direct=False),
    "line in brackets": PlaceForm("`{path}` (line {first})", "`{path}` (lines {first}-{last})", is_direct=False),
    "comma": PlaceForm("`{path}`, line {first}", "`{path}`, lines {first}–{last}", is_direct=False),
    "link": PlaceForm(
        "[this check]({path}#L{first})",
        "[this check]({path}#L{first}-L{last})",
        is_direct=False,
        needs_plain_path=True,
        is_link=True,
    ),
    "link with label": PlaceForm(
        "[{path}:{first}]({path}#L{first})", is_direct=False, needs_plain_path=True, is_link=True
    ),
}

#: Sentences around a place, one line each; the row of a table has its head above it.
SENTENCES = {
    "prose": ("The limit is checked in {place}, before anything is stored.",),
    "see": ("See {place} for the branch that handles empty input.",),
    "bullet": ("- {place}: the value is read twice",),
    "bullet after": ("- **Medium** The result of the call is ignored: {place}",),
    "number": ("1. {place} — runs for every request",),
    "aside": ("The loop ({place}) has no upper bound.",),
    "quotation": ("> {place} is where the error is swallowed.",),
    "checkbox": ("- [ ] {place} ignores the return value",),
    "label": ("**Location:** {place}",),
    "table": (
        "| # | Severity | File:Line | Problem |",
        "|---|---|---|---|",
        "| 1 | Medium | {place} | The result is ignored |",
    ),
}

_TITLES = ("# Notes on error handling", "# Code review", "## What happens on a request", "# Audit, second part", "")
_CONTEXT = (
    "- `{path}:{first}` is reached on every call",
    "The value comes from `{path}:{first}-{last}`.",
    "`{path}` holds this part; the interesting branch is at `{path}:{first}`.",
    "- `{name}` (`{path}:{at}`) does most of the work",
    "`{name}` in `{path}:{at}` is the entry.",
    "| Part | Location |\n|---|---|\n| Entry | `{path}:{first}` |",
    "`{path}:{first}-{last}`\n```\n{code}\n```",
    "Nothing else depends on this order.",
)


def context(checkout: Checkout, chance: random.Random) -> list[str]:
    """Return between one and three true statements, each a block of lines."""
    blocks: list[str] = []
    for template in chance.sample(_CONTEXT, chance.choice((1, 2, 3))):
        definition = chance.choice(checkout.definitions)
        excerpt = checkout.excerpt(chance, chance.choice((2, 3, 4)))
        blocks.append(
            template.format(
                path=excerpt.path if "{name}" not in template else definition.path,
                first=excerpt.first,
                last=excerpt.last,
                code="\n".join(excerpt.lines),
                name=definition.name,
                at=definition.first,
            )
        )
    return blocks


def pair(group: str, kind: str, plant: Plant, checkout: Checkout, chance: random.Random) -> tuple[Case, Case]:
    """Return the true text and the text with the lie; about a third of the texts have no other claims."""
    around = context(checkout, chance) if chance.random() < 0.7 else []
    title = chance.choice(_TITLES)
    before = ([title, ""] if title else []) + [line for block in around[:1] for line in (*block.split("\n"), "")]
    after = [line for block in around[1:] for line in ("", *block.split("\n"))]
    has_link = PLACE_FORMS[plant.form].is_link if plant.form in PLACE_FORMS else "link" in plant.form
    document = "AUDIT.md" if has_link or chance.random() < 0.3 else "docs/audit.md"
    cases = []
    for is_lie, statement in ((False, plant.true), (True, plant.lie)):
        first, last = plant.marked or (0, len(statement) - 1)
        last = len(statement) - 1 if last < 0 else last
        cases.append(
            Case(
                group,
                kind,
                plant.family,
                plant.form,
                document,
                "\n".join([*before, *statement, *after, ""]),
                len(before) + first + 1,
                len(before) + last + 1,
                is_lie,
                plant.is_strong,
                None if is_lie else plant.cited,
            )
        )
    return cases[0], cases[1]


def as_result(case: Case, checkout: Checkout) -> tuple[str, int]:
    """Return a valid result with the text of the case among its findings, and how many lines are above the text."""
    chance = random.Random(case.text)
    is_review = chance.random() < 0.4
    places = [checkout.excerpt(chance, 1) for _ in range(3)]
    head = _REVIEW_HEAD if is_review else _GENERIC_HEAD
    values = {f"place{number}": f"`{place.path}:{place.first}`" for number, place in enumerate(places)}
    before = head.format(**values).split("\n")
    body = _with_lower_headings(case.text.rstrip("\n").split("\n"))
    return "\n".join([*before, *body, "", _TAIL.format(**values)]), len(before)


def _with_lower_headings(lines: list[str]) -> list[str]:
    """Return the lines with all headings on a level below the sections and blocks of a result."""
    changed: list[str] = []
    is_code = False
    for line in lines:
        is_code ^= line.lstrip().startswith("```")
        changed.append(line if is_code else re.sub(r"^#{1,6} ", "##### ", line))
    return changed


def language(path: str) -> str:
    """Return the word after the fence of a code block."""
    names = {".py": "python", ".ts": "typescript", ".rs": "rust", ".js": "javascript", ".mm": "objc"}
    suffix = Path(path).suffix
    return names.get(suffix, suffix.lstrip("."))


_GENERIC_HEAD = """## Performance Analyst Result

### Status
SUCCESS

### Summary
Read the modules that handle a request. The notes below name the places that matter.

### Findings

#### Observations
- The work of a request begins here: {place0}

"""
_REVIEW_HEAD = """## QA Engineer Result

### Status
SUCCESS

### Summary
Read the modules that handle a request and found one weakness. The details are below the table.

### Findings

#### Issues Detected
| ID | Issue | File:Line | Severity | Confidence |
|----|-------|-----------|----------|------------|
| QA-001 | The result of a call is ignored | {place0} | Minor | 80 |

#### Issue Details

**QA-001: The result of a call is ignored**
**Risk**: An error stays unnoticed

#### Further Observations

"""
_TAIL = """### Key References
| Item | Location | Relevance |
|------|----------|-----------|
| First part | {place1} | Reached first |
| Second part | {place2} | Reached last |

### Confidence
66 - The code was read, nothing was run

verified_confidence: 76
inferred_confidence: 56
combined_confidence: 66

### Uncertainty
- The behaviour under load is unknown

### Verification Completed
- [x] **File References Valid**: Every cited line was opened
- [x] **Code Snippets Accurate**: Quotes were copied from the files
- [x] **No Hallucinated Paths**: Paths come from the directory listing
- [x] **Evidence Documented**: Each statement names its place

### Next Steps
1. Measure under load
"""
