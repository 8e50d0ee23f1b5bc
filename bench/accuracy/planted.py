"""Measure how many planted lies are found: true texts about a checkout, each copied and changed by one lie.

    python bench/accuracy/planted.py --src src [--tree DIR ...] [--seed 1] [--per-kind 30] [--json OUT] [--only GROUP]

Remit is imported from `--src`, in separate processes, so that versions can be compared. Without `--tree`, the
project of the corpus and the example shop are used. Each text is checked as a file of the checkout, as a text from
elsewhere, as a result and as a text with receipts. A lie counts as found if a claim on its lines is accused: `failing`,
or `weak` if the claim does not hold and does not fail. The true counter-case of every lie must not be accused.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import planted_kinds
from cases import SETTINGS, Case, Plant, Setting, as_result, pair
from checkout_facts import Checkout
from layouts import LAYOUTS, NAME_FORMS, NAME_LIES, layout_kinds, layout_plant, name_plant
from quote_lies import ALTERATIONS, FAITHFUL, faithful_quote

HERE = Path(__file__).resolve().parent
OWN_TREES = (HERE / "corpus/tree", HERE.parents[1] / "examples/shop")
ACCUSING = frozenset(
    {"relocated", "outdated", "missing-file", "out-of-range", "outside", "mismatch", "contradicted", "unseen"}
)
#: The rules that report a run or a change which the receipts do not show.
_RUN_RULES = frozenset({"test-run-unseen", "change-unseen"})
#: The answers that notice a lie.
_ACCUSED = ("failing", "weak")
_EXAMPLES = 4
_IDENTITY = ("-c", "user.name=Planted", "-c", "user.email=planted@example.org")
Generator = Callable[[Checkout, random.Random], Plant | None]
#: The part of `--per-kind` that each kind of a group gets, and the settings of the group.
GROUPS: dict[str, tuple[float, tuple[Setting, ...]]] = {
    "kinds": (1.0, SETTINGS),
    "layouts": (0.34, ("document", "result")),
    "names": (0.2, ("document", "result")),
    "faithful": (1.0, ("document", "result")),
    "places": (0.5, ("document", "result")),
}


class Job(NamedTuple):
    """A generator of pairs of texts. `is_true`: both versions are true, and only one is used."""

    group: str
    kind: str
    generate: Generator
    is_true: bool = False


class Row(NamedTuple):
    """How one text was answered in one setting."""

    tree: str
    group: str
    kind: str
    form: str
    setting: Setting
    is_lie: bool
    is_strong: bool
    #: `failing`, `weak`, `silent`, or `error: ` and the message if the check raised an exception.
    answer: str
    #: Whether the cited place of a true text was read; None: there is no such place.
    is_read: bool | None
    #: Whether a quote was compared and confirmed.
    is_confirmed: bool
    case: Case


def jobs(only: str = "") -> list[Job]:
    """Return all generators, or those of a group."""
    every = [Job("kinds", kind, generate) for kind, generate in planted_kinds.KINDS.items()]
    every += [Job("places", form, generate, is_true=True) for form, generate in planted_kinds.PLACES.items()]
    every += [
        Job("layouts", f"{name} / {lie}", partial(layout_plant, name=name, lie=lie))
        for name in LAYOUTS
        for lie in layout_kinds(name)
    ]
    every += [
        Job("names", f"{form} / {lie}", partial(name_plant, form=form, lie=lie))
        for form in NAME_FORMS
        for lie in NAME_LIES
    ]
    every += [Job("faithful", kind, partial(faithful_quote, kind=kind), is_true=True) for kind in FAITHFUL]
    return [job for job in every if only in ("", job.group)]


def cases_of(job: Job, checkout: Checkout, seed: int, number: int) -> Iterator[Case]:
    """Yield up to `number` true texts and as many texts with a lie; some groups get a part of the number."""
    chance = random.Random(f"{seed} {job.group} {job.kind}")
    for _ in range(max(1, round(number * GROUPS[job.group][0]))):
        plant = job.generate(checkout, chance)
        if plant is None:
            return  # the checkout has no such thing, for example no commands
        true, lie = pair(job.group, job.kind, plant, checkout, chance)
        yield true
        if not job.is_true:
            yield lie


class Checker:
    """Runs Remit on texts about one checkout, which is opened once."""

    def __init__(self, checkout: Checkout) -> None:
        from remit.checking import Options, check_text  # late: the caller chooses the version
        from remit.evidence.receipts import Receipt
        from remit.evidence.sources import open_sources
        from remit.reports.formats import check_json
        from remit.verifying import OPTIONS

        self._checkout = checkout
        self._name = checkout.root.name
        path = next(iter(checkout.sources))
        calls = [Receipt(tool="Read", arguments={"file_path": str(checkout.root / path)}, path=path)]
        plain = open_sources(checkout.root)
        self._sources = {
            "document": plain,
            "stdin": plain,
            "result": plain,
            "receipts": open_sources(checkout.root, records=calls),
        }
        self._options = {setting: Options() if setting == "result" else OPTIONS for setting in SETTINGS}
        self._check, self._report = check_text, check_json

    def run(self, case: Case, setting: Setting) -> Row:
        """Check a text in a setting and compare the answer with the truth."""
        text, shift = as_result(case, self._checkout) if setting == "result" else (case.text, 0)
        path = str(self._checkout.root / case.document) if setting == "document" else "-"
        error = ""
        try:
            verdicts = self._check(text, path, self._options[setting], self._sources[setting])
            results = json.loads(self._report(verdicts))["results"]
        except Exception as problem:  # noqa: BLE001 - one text must not end the measurement
            results, error = [], f"error: {problem!r}"
        claims = [claim for result in results for claim in claims_of(result)]
        lines = range(case.first + shift, case.last + shift + 1)
        near = [claim for claim in claims if claim["at"] in lines]
        return Row(
            self._name,
            case.group,
            case.kind,
            case.form,
            setting,
            case.is_lie,
            case.is_strong,
            error or _answer(near if case.is_lie else claims),
            None if case.cited is None else any(_is_place(claim, case.cited) for claim in near),
            any(claim["kind"] == "quote" and claim["outcome"] == "verified" for claim in near),
            case,
        )

    def close(self) -> None:
        """Release the checkout."""
        for sources in self._sources.values():
            sources.close()


def claims_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the claims of a result in the JSON report; older reports have references and quotes instead."""
    claims = result.get("claims")
    if not isinstance(claims, list):
        references = [{"kind": "place", **claim} for claim in result["references"]]
        claims = references + [{"kind": "quote", **claim} for claim in result["quotes"]]
    runs = [
        {"kind": "run", "at": violation["line"], "outcome": "unseen"}
        for violation in result["violations"]
        if violation["rule"] in _RUN_RULES
    ]
    return claims + runs


def _answer(claims: Iterable[dict[str, Any]]) -> str:
    accused = [claim for claim in claims if claim["outcome"] in ACCUSING]
    if not accused:
        return "silent"
    return "failing" if any(claim.get("fails", True) for claim in accused) else "weak"


def _is_place(claim: dict[str, Any], cited: tuple[str, int]) -> bool:
    path = str(claim.get("path") or "").replace("\\", "/").lstrip("./…")
    return claim.get("line") == cited[1] and path != "" and (cited[0].endswith(path) or path.endswith(cited[0]))


def measure(
    root: Path,
    seed: int = 1,
    per_kind: int = 30,
    *,
    only: str = "",
    settings: Sequence[Setting] = SETTINGS,
    shard: tuple[int, int] = (0, 1),
) -> list[Row]:
    """Plant lies, each into a text about a checkout, and return how the Remit of this process answers."""
    checkout = Checkout(root, seed)
    checker = Checker(checkout)
    try:
        return [
            checker.run(case, setting)
            for job in jobs(only)[shard[0] :: shard[1]]
            for case in cases_of(job, checkout, seed, per_kind)
            for setting in settings
            if setting in GROUPS[job.group][1]
        ]
    finally:
        checker.close()


def copy_tree(source: Path, folder: Path) -> Path:
    """Copy a tree into a folder as a git repository with one commit, so that commits can be named."""
    root = folder / f"{source.parent.name}-{source.name}"
    shutil.copytree(source, root)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for arguments in (["init", "-q"], ["add", "-A"], [*_IDENTITY, "commit", "-q", "-m", "All files"]):
        subprocess.run(["git", *arguments], cwd=root, env=environment, check=True)
    return root


# Tables.


class Count(NamedTuple):
    """How often texts of a kind got each answer."""

    failing: int
    weak: int
    silent: int

    @property
    def total(self) -> int:
        """The number of texts."""
        return sum(self)


def count(rows: Iterable[Row]) -> Count:
    """Count the answers."""
    answers = Counter(row.answer.partition(":")[0] for row in rows)
    return Count(answers["failing"], answers["weak"], answers["silent"] + answers["error"])


def table(rows: Sequence[Row], key: Callable[[Row], str]) -> list[str]:
    """Return a table of the lies by key and setting, with the true texts that were accused."""
    names = list(dict.fromkeys(key(row) for row in rows))
    settings = [setting for setting in SETTINGS if any(row.setting == setting for row in rows)]
    width = max(map(len, names), default=4)
    head = "".join(f"{setting:>27}" for setting in settings)
    lines = [f"{'':{width}}{head}", f"{'':{width}}" + "  fail  weak  miss true:f+w" * len(settings)]
    for name in names:
        cells = ""
        for setting in settings:
            own = [row for row in rows if key(row) == name and row.setting == setting]
            lies, truths = count(row for row in own if row.is_lie), count(row for row in own if not row.is_lie)
            accused = f"{truths.failing}+{truths.weak}"
            cells += f"{lies.failing:>6}{lies.weak:>6}{lies.silent:>6}{accused:>9}"
        lines.append(f"{name:{width}}{cells}")
    return lines


class Goal(NamedTuple):
    """A figure of the contract, its hits and its total. `limit` is a minimum, or a maximum if it is negative."""

    name: str
    hits: int
    total: int
    limit: float

    @property
    def is_met(self) -> bool:
        """Whether the figure reaches its limit."""
        share = self.hits / self.total if self.total else 1.0
        return share >= self.limit if self.limit > 0 else share <= -self.limit

    def __str__(self) -> str:
        share = f"{100 * self.hits / self.total:6.2f} %" if self.total else "   none  "
        sign = ">=" if self.limit > 0 else "<="
        mark = "ok  " if self.is_met else "MISS"
        return f"{mark} {share} {sign} {100 * abs(self.limit):4.1f} %  {self.hits:>6}/{self.total:<6} {self.name}"


def goals(rows: Sequence[Row]) -> list[Goal]:
    """Return all figures of the contract that the rows can show; a figure `in every kind` has a line for each kind."""
    lies = [row for row in rows if row.is_lie]
    figures: list[Goal] = []
    strict = [row for row in lies if row.group == "kinds" and row.setting in ("result", "receipts")]
    figures += _each("result or receipts, failing", strict, lambda row: row.kind, 0.97, is_failing=True)
    texts = [row for row in lies if row.group == "kinds" and row.setting in ("document", "stdin")]
    strong = [row for row in texts if row.is_strong]
    figures += _each("document, strong, failing", strong, lambda row: row.kind, 0.95, is_failing=True)
    figures += _each("document, found", texts, lambda row: row.kind, 0.95)
    layouts = [row for row in lies if row.group == "layouts"]
    figures += _each("layout, found", layouts, lambda row: row.form, 0.95)
    names = [row for row in rows if row.group == "names"]
    wrong = [row for row in names if row.is_lie]
    figures += _each("wrong name noticed", wrong, lambda row: row.kind.partition(" / ")[2], 0.95)
    figures.append(_accused("right names accused", [row for row in names if not row.is_lie], 0.02))
    altered = [row for row in lies if row.kind in {f"quote: {kind}" for kind in ALTERATIONS}]
    figures.append(Goal("altered quotes confirmed", sum(row.is_confirmed for row in altered), len(altered), -0.005))
    silent = sum(row.answer not in _ACCUSED for row in altered)
    figures.append(Goal("altered quotes not accused (confirmed or not read)", silent, len(altered), -0.005))
    figures.append(_accused("faithful quotes accused", [row for row in rows if row.group == "faithful"], 0.02))
    places = [row for row in rows if row.group == "places" and row.is_read is not None]
    figures += _each_read("places read", places)
    truths = [row for row in rows if not row.is_lie and row.group in ("kinds", "layouts", "places")]
    figures.append(_accused("other true texts accused", truths, 0.02))
    return figures


def _each(
    name: str, rows: Sequence[Row], key: Callable[[Row], str], limit: float, *, is_failing: bool = False
) -> list[Goal]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    wanted = ("failing",) if is_failing else _ACCUSED
    figures = [
        Goal(f"{name}: {kind}", sum(row.answer in wanted for row in own), len(own), limit)
        for kind, own in groups.items()
    ]
    return [Goal(f"{name}: all", sum(row.answer in wanted for row in rows), len(rows), limit), *figures]


def _each_read(name: str, rows: Sequence[Row]) -> list[Goal]:
    kinds = list(dict.fromkeys(row.kind for row in rows))
    own = {kind: [row for row in rows if row.kind == kind] for kind in kinds}
    figures = [
        Goal(f"{name}: {kind}", sum(bool(row.is_read) for row in own[kind]), len(own[kind]), 0.97) for kind in kinds
    ]
    return [Goal(f"{name}: all", sum(bool(row.is_read) for row in rows), len(rows), 0.97), *figures]


def _accused(name: str, rows: Sequence[Row], limit: float) -> Goal:
    return Goal(name, sum(row.answer == "failing" for row in rows), len(rows), -limit)


def report(rows: Sequence[Row]) -> str:
    """Return all tables and figures as text."""
    errors = Counter(row.answer for row in rows if row.answer.startswith("error"))
    parts = [f"{len(rows)} checks of {len({row.case for row in rows})} texts"]
    parts += [f"{number} checks failed with an {error}" for error, number in errors.most_common(_EXAMPLES)]
    keys: dict[str, Callable[[Row], str]] = {
        "kinds": lambda row: row.kind,
        "layouts": lambda row: row.form,
        "names": lambda row: row.form,
        "faithful": lambda row: row.kind,
        "places": lambda row: row.kind,
    }
    for group, key in keys.items():
        own = [row for row in rows if row.group == group]
        if own:
            parts += ["", f"== {group}", *table(own, key)]
    return "\n".join([*parts, "", "== figures", *map(str, goals(rows))])


def _problems(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a few texts of each kind that got a wrong answer."""
    seen: Counter[tuple[str, ...]] = Counter()
    entries = []
    for row in rows:
        is_unread = row.is_read is False and row.group == "places"
        is_weak = row.is_lie and row.answer == "weak" and (row.is_strong or row.setting in ("result", "receipts"))
        is_right = (row.answer in _ACCUSED) == row.is_lie and not row.answer.startswith("error")
        if is_right and not is_unread and not is_weak:
            continue
        problem = "unread" if is_unread else "missed" if row.is_lie else f"accused ({row.answer})"
        problem = "only weak" if is_weak else row.answer if row.answer.startswith("error") else problem
        key = (row.group, row.kind, row.setting, problem)
        seen[key] += 1
        if seen[key] <= _EXAMPLES:
            entries.append({"problem": problem, **row._asdict(), "case": row.case._asdict()})
    return entries


# Processes.


def _work(arguments: argparse.Namespace) -> None:
    """Measure one part of one tree and print the rows as JSON."""
    import remit  # late: found by PYTHONPATH

    if Path(arguments.src).resolve() not in Path(remit.__file__).resolve().parents:
        raise SystemExit(f"{remit.__file__} is not in {arguments.src}")
    index, _, total = arguments.shard.partition("/")
    rows = measure(
        Path(arguments.tree[0]),
        arguments.seed,
        arguments.per_kind,
        only=arguments.only,
        shard=(int(index), int(total)),
    )
    json.dump([[*row[:-1], list(row.case)] for row in rows], sys.stdout)


def _start(arguments: argparse.Namespace, tree: Path, shard: str) -> list[Row]:
    command = [sys.executable, __file__, "--src", arguments.src, "--tree", str(tree), "--shard", shard]
    command += ["--seed", str(arguments.seed), "--per-kind", str(arguments.per_kind), "--only", arguments.only]
    environment = {**os.environ, "PYTHONPATH": str(Path(arguments.src).resolve()), "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{tree}: {done.stderr[-3000:]}")
    return [Row._make([*values[:-1], _case(values[-1])]) for values in json.loads(done.stdout)]


def _case(values: list[Any]) -> Case:
    *others, cited = values
    return Case._make([*others, tuple(cited) if cited else None])


def main() -> None:
    """Run all parts in parallel and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--src", required=True, help="the folder with the package remit")
    parser.add_argument("--tree", action="append", default=[], help="a checkout; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-kind", type=int, default=30, help="lies of each kind in each tree")
    parser.add_argument("--only", default="", help="kinds, layouts, names, faithful or places")
    parser.add_argument("--json", help="write the figures, and texts with a wrong answer, to this file")
    parser.add_argument("--shard", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.shard:
        _work(arguments)
        return
    with tempfile.TemporaryDirectory(prefix="remit-planted-") as folder:
        trees = [Path(tree).resolve() for tree in arguments.tree]
        trees = trees or [copy_tree(tree, Path(folder).resolve()) for tree in OWN_TREES]
        parts = os.cpu_count() or 1
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            started = [
                pool.submit(_start, arguments, tree, f"{part}/{parts}") for tree in trees for part in range(parts)
            ]
            rows = [row for future in started for row in future.result()]
    rows.sort(key=lambda row: [job.kind for job in _ORDER].index(row.kind))
    print(report(rows))
    if arguments.json:
        figures = [goal._asdict() | {"is_met": goal.is_met} for goal in goals(rows)]
        content = {"figures": figures, "problems": _problems(rows)}
        Path(arguments.json).write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


_ORDER = jobs()

if __name__ == "__main__":
    main()
