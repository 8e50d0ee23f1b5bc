"""The checkout of the demonstration, and the reviews of its code. Everything is drawn with a seed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import NamedTuple

from remit.rules.examples import TREE

#: Module of the shop -> its functions.
_MODULES: dict[str, tuple[str, ...]] = {
    "cart": ("add_item", "remove_item", "total", "merge_carts", "apply_coupon", "empty"),
    "catalog": ("find_product", "search", "update_price", "import_products", "list_categories", "archive"),
    "checkout": ("start", "reserve_stock", "take_payment", "confirm", "cancel", "send_receipt"),
    "payments": ("authorise", "capture", "refund", "verify_signature", "retry_payment", "reconcile"),
    "invoices": ("create_invoice", "render_pdf", "send_invoice", "cancel_invoice", "number_of", "tax_of"),
    "stock": ("reserve", "release", "count_items", "move_items", "reorder", "audit_stock"),
    "shipping": ("quote_rates", "book_parcel", "track", "print_label", "return_parcel", "find_carrier"),
    "accounts": ("register", "verify_email", "change_password", "delete_account", "export_data", "load_profile"),
    "coupons": ("create_coupon", "redeem", "expire", "is_valid", "list_coupons", "revoke"),
    "reports": ("daily_sales", "top_products", "export_csv", "send_report", "chart_data", "totals_by_region"),
}
#: Category and title of problems.
_PROBLEMS: tuple[tuple[str, str], ...] = (
    ("security", "Query is built from user input"),
    ("security", "Secret is compared in variable time"),
    ("security", "Access is not checked before the change"),
    ("security", "Personal data is written to the log"),
    ("error-handling", "Error of the provider is ignored"),
    ("error-handling", "State changes although the call fails"),
    ("error-handling", "Empty input is not handled"),
    ("correctness", "Amount is rounded twice"),
    ("correctness", "Two requests change the same record"),
    ("quality", "Same condition is evaluated in three places"),
    ("quality", "Name hides that the function writes"),
)
#: Agent -> the start of its ids, and how often it reports a problem that exists and one that does not.
REVIEWERS: dict[str, tuple[str, float, float]] = {
    "security-auditor": ("SEC", 0.75, 0.22),
    "qa-engineer": ("QA", 0.7, 0.45),
    "code-quality-reviewer": ("CQ", 0.5, 0.6),
}
_SEVERITIES = ("Critical", "Important", "Minor")
_WEIGHTS = (2, 5, 4)
_BODY = '''def {name}({argument}, store, clock):
    """{summary}."""
    record = store.load("{module}", {argument})
    if record is None:
        return None
    record["{module}_state"] = "{name}"
    record["changed"] = clock.now()
    store.save("{module}", {argument}, record)
    return record


'''
_LINES_OF_FUNCTION = 11
_FIRST_LINE = 5


def write_checkout(root: Path) -> None:
    """Write the files that results of the demonstration cite."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copytree(TREE, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    folder = root / "shop"
    folder.mkdir(exist_ok=True)
    for module, names in _MODULES.items():
        head = f'"""The {module} of the shop."""\n\nLIMIT = 100\n\n'
        bodies = (
            _BODY.format(name=name, module=module, argument=f"{module}_id", summary=name.replace("_", " ").capitalize())
            for name in names
        )
        (folder / f"{module}.py").write_text(head + "".join(bodies).rstrip("\n") + "\n", encoding="utf-8")


class ShopProblem(NamedTuple):
    """A possible problem of a line of the shop."""

    path: str
    line: int
    code: str
    category: str
    title: str
    severity: str
    #: Whether it exists: a person would confirm it.
    is_right: bool


class ReviewRow(NamedTuple):
    """A problem in the review of an agent, with the agent's score and severity."""

    problem: ShopProblem
    score: int
    severity: str


def draw_problems(chance: random.Random, number: int) -> list[ShopProblem]:
    """Return possible problems of the shop, each of another function."""
    every = [(module, position) for module, names in _MODULES.items() for position in range(len(names))]
    problems = []
    for module, position in chance.sample(every, number):
        line = _FIRST_LINE + position * _LINES_OF_FUNCTION + 5
        code = f'    record["{module}_state"] = "{_MODULES[module][position]}"'
        category, title = chance.choice(_PROBLEMS)
        severity = chance.choices(_SEVERITIES, _WEIGHTS)[0]
        is_right = chance.random() < 0.5
        problems.append(ShopProblem(f"shop/{module}.py", line, code, category, title, severity, is_right))
    return problems


def draw_review(chance: random.Random, agent: str, problems: list[ShopProblem]) -> list[ReviewRow]:
    """Return what an agent reports. It gives problems that exist a higher score, and all of them too high a score."""
    _, found, invented = REVIEWERS[agent]
    rows = []
    for problem in problems:
        if chance.random() < (found if problem.is_right else invented):
            score = min(99, max(55, round(chance.gauss(88 if problem.is_right else 78, 9))))
            severity = chance.choice(_SEVERITIES) if chance.random() < 0.2 else problem.severity
            rows.append(ReviewRow(problem, score, severity))
    return rows


def review_document(agent: str, rows: list[ReviewRow], *, invented: int = 0) -> str:
    """Return the result of a review. The first `invented` findings cite a line that does not exist."""
    prefix = REVIEWERS[agent][0]
    table, details = [], []
    for number, (problem, score, severity) in enumerate(rows, 1):
        name = f"{prefix}-{number:03}"
        line = problem.line + 400 if number <= invented else problem.line
        cells = (name, problem.title, f"`{problem.path}:{line}`", severity, str(score), problem.category)
        table.append(f"| {' | '.join(cells)} |")
        details.append(
            f"**{name}: {problem.title}**\n```python\n# {problem.path}:{line}\n{problem.code}\n```\n"
            "**Risk**: an order is wrong or lost\n**Fix**: check the record before it is changed\n"
        )
    counts = "\n".join(f"- {name}: {sum(row.severity == name for row in rows)}" for name in _SEVERITIES)
    references = "\n".join(
        f"| {one.path.rpartition('/')[2]} | `{one.path}:{one.line}` | where the state changes |" for one, *_ in rows[:4]
    )
    return _REVIEW.format(
        agent=agent.replace("-", " ").title(),
        number=len(rows),
        table="\n".join(table),
        details="\n".join(details),
        references=references,
        counts=counts,
    )


_REVIEW = """## {agent} Result

### Status
SUCCESS

### Summary
Read the modules of the shop and found {number} problems. Each cited line was opened.

### Findings

#### Issues Detected
| ID | Issue | File:Line | Severity | Confidence | Category |
| --- | --- | --- | --- | --- | --- |
{table}

#### Issue Details

{details}
#### Compliance Check
| Standard | Status | Notes |
| --- | --- | --- |
| Changes are checked | FAIL | see the issues |

### Key References
| Item | Location | Relevance |
| --- | --- | --- |
{references}

### Confidence
90 - every cited line was opened and read
verified_confidence: 95
inferred_confidence: 85
combined_confidence: 90

### Confidence Justification
**Score**: 90
**Evidence Count**: {number}
**Verification Method**: read the files and compared each quoted line
**Potential Blind Spots**: code that is loaded by configuration

### Verification Completed
- [x] **File References Valid**: every `file:line` was opened
- [x] **Code Snippets Accurate**: quotes were copied from the files
- [x] **No Hallucinated Paths**: no path was guessed
- [x] **Evidence Documented**: each statement names its place

### Severity Summary
{counts}

### Next Steps
1. Fix the critical issues before the next release
"""
