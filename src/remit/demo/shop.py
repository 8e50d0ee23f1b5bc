"""The checkout of the demonstration, and the reviews of its code. Everything is drawn with a seed."""

from __future__ import annotations

import random
import shutil
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from remit.rules.examples import TREE

_DATA = Path(__file__).with_name("data")
CONTENT: dict[str, Any] = tomllib.loads((_DATA / "shop.toml").read_text(encoding="utf-8"))
#: Module of the shop -> its functions.
_MODULES: dict[str, list[str]] = CONTENT["modules"]
_PROBLEMS = [(category, title) for category, titles in CONTENT["problems"].items() for title in titles]
#: Agent -> the start of its ids, and how often it reports a problem that exists and one that does not.
REVIEWERS: dict[str, tuple[str, float, float]] = CONTENT["reviewers"]
_SEVERITIES = ("Critical", "Important", "Minor")
_WEIGHTS = (2, 5, 4)
_LINES_OF_FUNCTION = 11
_FIRST_LINE = 5


def write_checkout(root: Path) -> None:
    """Write the files that results of the demonstration cite."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copytree(TREE, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    folder = root / "shop"
    folder.mkdir(exist_ok=True)
    body = (_DATA / "function.txt").read_text(encoding="utf-8")
    for module, names in _MODULES.items():
        head = f'"""The {module} of the shop."""\n\nLIMIT = 100\n\n'
        bodies = (
            body.format(name=name, module=module, argument=f"{module}_id", summary=name.replace("_", " ").capitalize())
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
    return (
        (_DATA / "review.md")
        .read_text(encoding="utf-8")
        .format(
            agent=agent.replace("-", " ").title(),
            number=len(rows),
            table="\n".join(table),
            details="\n".join(details),
            references=references,
            counts=counts,
        )
    )
