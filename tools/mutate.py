"""Change the rules in small ways and report the changes that their examples do not detect.

Each mutant is one rule file with one change: a comparison, `and` for `or`, a number one off, a word removed from a
list, a guard or a fault removed. It is compiled in memory and judged in a forked child by the examples of all rules,
those of the changed rule first. A mutant that no example detects has survived: an example is missing. Mutants that
cannot change what a rule reports are listed in `EQUIVALENT`, with the reason.

Code that only formats a violation (its line, its text, its mark) is not changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import resource
import signal
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from remit import checking  # noqa: E402 (the path must be known first)
from remit.contract.kinds import Kind  # noqa: E402
from remit.contract.parse import Document, parse  # noqa: E402
from remit.evidence.gather import gather  # noqa: E402
from remit.evidence.model import Evidence  # noqa: E402
from remit.evidence.sources import Sources  # noqa: E402
from remit.rules import examples as samples  # noqa: E402
from remit.rules.base import Example, Rule  # noqa: E402
from remit.rules.catalog import every_rule  # noqa: E402

FOLDER = ROOT / "src/remit/rules"
FAMILIES = ("result", "confidence", "kinds", "evidence")
#: A mutant that takes longer than this hangs, and counts as detected.
SECONDS = 20
MEMORY = 2 << 30

#: (file, change) -> why no example can detect it.
EQUIVALENT: dict[tuple[str, str], str] = {
    (
        "confidence/confidence_arithmetic.py",
        "abs(stated - expected) > TOLERANCE → abs(stated - expected) >= TOLERANCE",
    ): "no decimal that can be written lies exactly on the tolerance",
    (
        "confidence/confidence_arithmetic.py",
        "abs(confidence.score - combined) > TOLERANCE → abs(confidence.score - combined) >= TOLERANCE",
    ): "no decimal that can be written lies exactly on the tolerance",
    ("evidence/single_source.py", "len(case.scope) == 1 → len(case.scope) == 2"): "examples have no scope",
    (
        "kinds/block_missing.py",
        "any((block.content for block in found)) → all((block.content for block in found))",
    ): "of the groups with several blocks, all are tables",
    ("kinds/block_missing.py", "group[0] → group[-1]"): "the blocks of a group all have one form",
    ("kinds/empty_table.py", "group[0] → group[-1]"): "the blocks of a group all have one form",
    ("kinds/empty_table.py", "found[0] → found[-1]"): "decides only which of two empty tables is shown",
    ("result/checklist_missing.py", "names[0] → names[1]"): "decides only how a box is named in the message",
    ("result/checklist_missing.py", "names[0] → names[-1]"): "decides only how a box is named in the message",
    (
        "result/checklist_missing.py",
        "for key, names in BOXES.items() if key not in there → for key, names in BOXES.items()",
    ): "with fewer than four ticks a box is always missing; decides only which are named",
    ("result/status_form.py", "lines[0] → lines[-1]"): "with several lines the other half of the condition holds",
}


class Mutant(NamedTuple):
    """One file with one change."""

    file: str
    line: int
    change: str
    code: types.CodeType

    @property
    def module(self) -> str:
        """Return the name of the module that it replaces."""
        return "remit.rules." + self.file.removesuffix(".py").replace("/", ".")


# Possible changes of a piece of code.

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_QUANTIFIERS = {"any": "all", "all": "any"}


def broken(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the possible replacements of a piece of code."""
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BoolOp():
            yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            step = 1 if number == int(number) else 0.05
            yield from (ast.Constant(round(number + step, 9)), ast.Constant(round(number - step, 9)))
        case ast.Call(func=ast.Name(id="any" | "all" as name)):
            yield ast.Call(ast.Name(_QUANTIFIERS[name], ast.Load()), node.args, node.keywords)
        case ast.Return(value=None) | ast.Continue() | ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield ast.Pass()
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call()):
            yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Tuple(elts=[_, _, *_]) if all(_is_word(word) for word in node.elts):
            yield from (ast.Tuple([word for word in node.elts if word is not gone], ast.Load()) for gone in node.elts)
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(node.target, node.iter, [], node.is_async)


def _is_word(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for index, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            yield ast.Compare(node.left, [*node.ops[:index], other(), *node.ops[index + 1 :]], node.comparators)


# What is changed: the functions of a file and its numbers, not the texts of a rule.

Put = Callable[[Any], None]
_SHOWN = frozenset({"line", "message", "mark", "help"})
_UNTOUCHED = frozenset({"annotation", "returns", "decorator_list", "args"})


def places(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, Put]]:
    """Yield every piece of code below a node with its parent, and a function that replaces it."""
    for field, value in ast.iter_fields(node):
        if field in _UNTOUCHED and not isinstance(node, ast.Call):
            continue
        members = value if isinstance(value, list) else [value]
        for index, member in enumerate(members):
            if isinstance(member, ast.AST) and not _is_text(member):
                put: Put = (
                    partial(value.__setitem__, index) if isinstance(value, list) else partial(setattr, node, field)
                )
                yield member, node, put
                yield from places(member)


def _is_text(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.IfExp(body=ast.Constant(value=str())):
            return True
        case ast.keyword(arg=str() as name) | ast.Assign(targets=[ast.Name(id=name)]):
            return name in _SHOWN
    return False


def targets(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the functions, the methods, and the named numbers and lists of words."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from (member for member in statement.body if isinstance(member, ast.FunctionDef))
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and (
            _is_number(statement.value) or isinstance(statement.value, ast.Tuple)
        ):
            yield statement


def _is_number(node: ast.expr | None) -> bool:
    return node is not None and all(
        isinstance(part, ast.Constant | ast.BinOp | ast.operator) and not isinstance(getattr(part, "value", 0), str)
        for part in ast.walk(node)
    )


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = path.relative_to(FOLDER).as_posix()
    for target in targets(tree):
        for node, parent, put in places(target):
            for other in broken(node):
                line = getattr(node, "lineno", 0) or node.iter.lineno  # type: ignore[attr-defined]
                before = _summary(node, parent)
                put(other)
                code = compile(ast.fix_missing_locations(copy.deepcopy(tree)), str(path), "exec")
                change = f"{before} → {_summary(other, parent)}"
                put(node)
                yield Mutant(name, line, change, code)


def _summary(node: ast.AST, parent: ast.AST) -> str:
    """Return a piece of code in a few words: a number with its expression, a guard with its condition."""
    match node, parent:
        case ast.Constant(), ast.AST():
            text = ast.unparse(parent)
        case ast.If(), ast.AST():
            text = f"if {ast.unparse(node.test)}"
        case ast.Return() | ast.Continue() | ast.Pass(), ast.If():
            text = f"if {ast.unparse(parent.test)}: {ast.unparse(node)}"
        case _:
            text = ast.unparse(node)
    text = " ".join(text.split())
    return text if len(text) <= 110 else f"{text[:110]} …"


# Judging: the examples of all rules, in a child process.

Case = tuple[Example, list[str]]


def cases() -> dict[str, list[Case]]:
    """Return the examples by the module of their rule, with the expected violations."""
    found: dict[str, list[Case]] = {}
    for rule in every_rule():
        found[rule.__module__] = [(example, sorted(example.expect)) for example in (*rule.good, *rule.bad)]
    return found


def violated_rules(example: Example) -> list[str]:
    """Return the names of all violated rules in an example, checked against the samples' own tree and receipts."""
    options = checking.Options(profile=example.profile, agent=example.agent or None)
    verdicts = checking.check_text(samples.example_text(example), "-", options, sources(example.receipts))
    return sorted(violation.rule for verdict in verdicts for violation in verdict.violations)


@cache
def sources(receipts: str) -> Sources:
    """Return the sources that examples with these receipts are checked against."""
    return samples.example_sources(Example("generic", receipts=receipts))


def remember() -> None:
    """Parse each document and look its claims up only once: mutants of rules change neither."""
    cached: dict[tuple[int, str, int], Evidence] = {}

    def gather_once(document: Document, kind: Kind, against: Sources) -> Evidence:
        key = id(document), kind.name, id(against)
        if key not in cached:
            cached[key] = gather(document, kind, against)
        return cached[key]

    vars(checking).update(parse=cache(parse), gather=gather_once)


def install(mutant: Mutant) -> None:
    """Replace a module by its mutant, also where its names have been imported."""
    module = sys.modules[mutant.module]
    made = {**{name: value for name, value in vars(module).items() if name.startswith("__")}}
    exec(mutant.code, made)
    for name, old in list(vars(module).items()):
        new = made.get(name)
        if isinstance(old, type) and issubclass(old, Rule) and old.__module__ == mutant.module:
            for method in (key for key, value in vars(old).items() if isinstance(value, types.FunctionType)):
                setattr(old, method, vars(new)[method])
        elif isinstance(old, types.FunctionType | int | float) and new is not None and not name.startswith("__"):
            _replace(name, old, new)


def _replace(name: str, old: object, new: object) -> None:
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("remit.") and vars(module).get(name) is old:
            setattr(module, name, new)


def is_detected(mutant: Mutant, cases_by_module: dict[str, list[Case]]) -> bool:
    """Return whether an example distinguishes the mutant from the rule."""
    try:
        install(mutant)
        others = (case for module, own in cases_by_module.items() if module != mutant.module for case in own)
        return any(
            violated_rules(example) != expected
            for example, expected in (*cases_by_module.get(mutant.module, ()), *others)
        )
    except Exception:  # noqa: BLE001 (a mutant that raises any exception was detected)
        return True


def sound_cases(cases_by_module: dict[str, list[Case]]) -> tuple[dict[str, list[Case]], list[str]]:
    """Return the examples that are correct for the unchanged rules, and a line for each that is not."""
    correct: dict[str, list[Case]] = {module: [] for module in cases_by_module}
    wrong: list[str] = []
    for module, own in cases_by_module.items():
        for example, expected in own:
            found = violated_rules(example)
            if found == expected:
                correct[module].append((example, expected))
            else:
                wrong.append(f"{module}: an example expects {expected}, the violated rules are {found}")
    return correct, wrong


def judge(mutants: list[Mutant], cases_by_module: dict[str, list[Case]], jobs: int) -> list[Mutant]:
    """Return the mutants that survive; each runs in a separate child process."""
    running: dict[int, Mutant] = {}
    survivors: list[Mutant] = []
    waiting = iter(mutants)
    for mutant in waiting:
        running[_start(mutant, cases_by_module)] = mutant
        if len(running) >= jobs:
            survivors.extend(_ended(running))
    while running:
        survivors.extend(_ended(running))
    return sorted(survivors, key=lambda mutant: (mutant.file, mutant.line))


def _start(mutant: Mutant, cases_by_module: dict[str, list[Case]]) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os._exit(0 if is_detected(mutant, cases_by_module) else 1)
    return child


def _ended(running: dict[int, Mutant]) -> list[Mutant]:
    child, status = os.wait()
    mutant = running.pop(child)
    # A child that a signal ended ran out of time or memory: it was detected.
    return [mutant] if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1 else []


def main() -> int:
    """Run every mutant; the exit code is 1 if one survives that should not."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("files", nargs="*", help="part of a rule file's name; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many run at the same time")
    arguments = parser.parse_args()
    if not hasattr(os, "fork"):
        print("mutants are judged in forked processes, which this system does not have")
        return 2
    remember()
    correct, wrong = sound_cases(cases())
    started = time.monotonic()
    files = [file for family in FAMILIES for file in sorted((FOLDER / family).glob("*.py"))]
    mutants = [
        mutant
        for file in files
        if not arguments.files or any(part in file.as_posix() for part in arguments.files)
        for mutant in mutants_of(file)
    ]
    survivors = judge(mutants, correct, arguments.jobs)
    code = report(mutants, survivors, time.monotonic() - started, complete=not arguments.files)
    for line in wrong:
        print(f"left out, because it fails without a mutant: {line}")
    return 1 if wrong else code


def report(mutants: list[Mutant], survivors: list[Mutant], seconds: float, *, complete: bool) -> int:
    """Print a line for each file and for each survivor; return the exit code."""
    excused = {(mutant.file, mutant.change) for mutant in survivors} & set(EQUIVALENT)
    open_ones = [mutant for mutant in survivors if (mutant.file, mutant.change) not in excused]
    total, alive = (Counter(mutant.file for mutant in group) for group in (mutants, open_ones))
    for file, number in sorted(total.items()):
        print(f"{file:<45} {number:>4} mutants, {alive[file]:>3} survived")
        for mutant in (mutant for mutant in open_ones if mutant.file == file):
            print(f"    line {mutant.line}: {mutant.change}")
    detected, same = len(mutants) - len(survivors), len(survivors) - len(open_ones)
    numbers = f"{detected} detected, {same} equivalent, {len(open_ones)} survived"
    print(f"{len(mutants)} mutants in {seconds:.0f} s: {numbers}")
    stale = sorted(set(EQUIVALENT) - excused) if complete else []
    for file, change in stale:
        print(f"no longer a survivor, remove it from EQUIVALENT: {file}: {change}")
    return 1 if open_ones or stale else 0


if __name__ == "__main__":
    sys.exit(main())
