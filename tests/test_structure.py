"""The shape of the package: deep modules of a limited size, and one meaning for each name.

Import layers and cycles are contracts of import-linter in pyproject.toml.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

SOURCE = Path(__file__).parent.parent / "src"
MAX_MODULE_LINES = 600
#: A short module is joined with its only importer if both have at most this many lines.
MAX_JOINED_LINES = 400
MAX_FUNCTION_LINES = 60
#: A shorter module needs more than one importer.
DEEP_MODULE_LINES = 100

#: Modules that other programs start or import.
ENTRY_POINTS = {
    "remit.__main__",
    *(f"remit.clients.{name}.transcript" for name in ("codex", "copilot", "opencode")),  # found by name
    "remit.clients.hooks.session_events",  # the handlers of events are found by name
    "remit.surfaces.hooks.entry",
    "remit.testing",
}
#: Packages whose modules are found by name: one file for each command, rule or framework.
COMMANDS_AND_RULES = (
    "remit.adapters.",
    "remit.surfaces.cli.",
    *(f"remit.rules.{family}." for family in ("confidence", "evidence", "kinds", "result")),
)
#: Short modules with one importer in the same package, and why they are separate.
SEPARATE_MODULES: dict[str, str] = {}
#: Names that say nothing about the content.
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "core", "manager", "misc"}
#: Module names that occur in several packages, because the modules treat the same thing in different layers.
SHARED_MODULE_NAMES = {"audit", "contract", "findings", "jobs", "merge", "setup", "transcript", "translate"}
#: Class names that occur in several packages, and what they are.
SHARED_CLASS_NAMES = {
    "Delegation": "a row of a plan in the database; the gate's record of a session",
    "Transcript": "of a job in the database; of a client's session",
}


def find_modules() -> dict[str, Path]:
    """Return the file of each module; packages and the sample project of the rules are left out."""
    files = {".".join(file.relative_to(SOURCE).with_suffix("").parts): file for file in SOURCE.rglob("*.py")}
    return {
        name: file
        for name, file in files.items()
        if file.name != "__init__.py" and not name.startswith("remit.rules.samples.tree.")
    }


MODULES = find_modules()
LINES = {name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in MODULES.items()}


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module. Not at import: every process of a test run imports this module."""
    return {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in MODULES.items()}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Return the import graph; type-only and late imports are included."""
    return grimp.build_graph("remit", exclude_type_checking_imports=False, cache_dir=None)


def test_a_short_module_has_several_importers(graph: grimp.ImportGraph) -> None:
    assert sorted(fragments(graph)) == sorted(SEPARATE_MODULES), "join a short module with the only module that uses it"


def fragments(graph: grimp.ImportGraph) -> Iterator[str]:
    """Yield the short modules that only a sibling uses and that fit into it."""
    for name, lines in LINES.items():
        if lines > DEEP_MODULE_LINES or name in ENTRY_POINTS or name.startswith(COMMANDS_AND_RULES):
            continue
        importers = graph.find_modules_that_directly_import(name)
        if len(importers) > 1:
            continue
        importer = next(iter(importers), "")
        is_sibling = importer.rpartition(".")[0] == name.rpartition(".")[0]
        if not importer or (is_sibling and lines + LINES[importer] <= MAX_JOINED_LINES):
            yield name


def test_modules_are_short_enough() -> None:
    assert {name: lines for name, lines in LINES.items() if lines > MAX_MODULE_LINES} == {}


def test_functions_are_short_enough() -> None:
    long = [
        f"{name}.{node.name}: {length} lines"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_no_module_has_a_vague_name() -> None:
    assert [name for name in MODULES if VAGUE_NAMES & set(name.split("."))] == []


def test_a_module_name_is_used_once_unless_it_is_the_same_thing() -> None:
    packages = defaultdict(list)
    for name in MODULES:
        package, _, module = name.rpartition(".")
        packages[module].append(package)
    assert {module for module, found in packages.items() if len(found) > 1} == SHARED_MODULE_NAMES


def test_a_class_name_is_used_once() -> None:
    packages = defaultdict(set)
    for name, tree in trees().items():
        for node in tree.body:
            # The class of a rule is named after its problem; the catalogue of rules is a name space.
            is_rule = name.startswith("remit.rules.") and name.startswith(COMMANDS_AND_RULES)
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not is_rule:
                packages[node.name].add(name)
    assert {
        name: sorted(found) for name, found in packages.items() if len(found) > 1 and name not in SHARED_CLASS_NAMES
    } == {}


@pytest.mark.parametrize("package", ["remit.gate", "remit.shell"])
def test_the_gate_and_the_shell_reader_need_the_standard_library_only(package: str) -> None:
    graph = grimp.build_graph(
        "remit", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )
    needed = {name.partition(".")[0] for name in graph.find_upstream_modules(package, as_package=True)}
    assert needed - sys.stdlib_module_names == {"remit"}


def test_names_of_test_modules_are_unique() -> None:
    """Without packages, pytest imports only one of two test modules with the same name."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_each_test_in_the_list_of_slow_tests_exists() -> None:
    tests = [
        row
        for row in (SOURCE.parent / "tests/slow_tests.txt").read_text("utf-8").splitlines()
        if not row.startswith("#")
    ]
    missing = []
    for test in tests:
        path, *_, name = test.split("::")
        if not (SOURCE.parent / path).is_file() or f"def {name}(" not in (SOURCE.parent / path).read_text("utf-8"):
            missing.append(test)
    assert missing == []
