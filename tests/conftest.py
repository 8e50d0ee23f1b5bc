"""Settings of every test: reproducible property tests, and the marks `database`, `process` and `slow`.

`pytest -m "not database and not process and not slow"` is the inner loop. Folders and fixtures below set the first two
marks; a module or a test in a mixed folder sets `pytest.mark.process` itself. A test that starts a program without the
mark fails.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.forked_tests import ForkedTests

pytest_plugins = ("support.fixtures",)

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", deadline=None, derandomize=True, max_examples=10, suppress_health_check=_QUIET)
# The inner loop: HYPOTHESIS_PROFILE=quick python -m pytest -m "not database and not process and not slow"
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=8, suppress_health_check=_QUIET)
# A search for new counterexamples: HYPOTHESIS_PROFILE=search python -m pytest tests/contract
settings.register_profile(
    "search",
    deadline=None,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "3000")),
    suppress_health_check=_QUIET,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

#: Fixtures that start a PostgreSQL server or need one.
_DATABASE_FIXTURES = frozenset({"postgres", "own_postgres", "embedded_fleet", "embedded_shop"})
#: Fixtures that start other programs.
_PROCESS_FIXTURES = frozenset({"source", "model", "server", "remote", "each_confinement"})
#: Folders in which every test starts programs.
_PROCESS_FOLDERS = ("tests/clients/real/", "tests/dispatch/crash/")
#: The mark of a module whose tests all start programs.
_PROCESS_MODULE = re.compile(r"^pytestmark = .*\bpytest\.mark\.process\b", re.MULTILINE)
#: Programs that any test may start: a git or shell command on a small checkout takes a few milliseconds.
#: `os.fork`: a source file is parsed in a copy of the process.
#: `file` is asked once in a process, by the module croniter when procrastinate is first imported.
_CHEAP_PROGRAMS = frozenset({"bash", "file", "git", "sh", "os.fork"})

#: Modules that take long, the longest first: a process that starts one last keeps the others waiting.
_LONG_MODULES = (
    "tests/clients/others/test_client_modes.py",
    "tests/docs/test_blocks.py",
    "tests/orchestrate/test_killed_driver.py",
    "tests/security/test_hostile_lines.py",
    "tests/surfaces/server/test_server_browser.py",
    "tests/dispatch/crash/",
    "tests/dispatch/test_outage.py",
    "tests/reports/test_merge_browser.py",
    "tests/surfaces/test_cli_",
    "tests/seeds/",
    "tests/orchestrate/",
    "tests/support/",
    "tests/clients/real/",
)

#: Modules with long tests that share nothing.
_INDEPENDENT_TESTS = ("tests/docs/test_blocks.py",)
#: Modules whose tests share what depends on their parameter.
_BY_PARAMETER = ("tests/clients/others/test_client_modes.py",)

#: Tests that cover hardly anything of the measured packages that others do not; tracing doubles the time of a test.
_NOT_TRACED = (
    *("tests/adapters/", "tests/demo/", "tests/dispatch/", "tests/docs/", "tests/orchestrate/"),
    *("tests/store/", "tests/surfaces/", "tests/test_accuracy.py", "tests/test_structure.py"),
)
#: Tests that are slow without starting programs.
_SLOW_TESTS = frozenset(Path(__file__).with_name("slow_tests.txt").read_text("utf-8").splitlines())
#: Where a run notes how many cases there are, and how many did not run, by reason; tools/all_tests.py reads it.
_COUNTS = "remit/counts"

_started: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `dev.py`."""
    parser.addoption("--processes", type=int, default=0, help="run the tests in so many processes")


def pytest_configure(config: pytest.Config) -> None:
    """Run the tests in several processes on request."""
    if config.option.processes:
        config.pluginmanager.register(ForkedTests(config.option.processes, _unit, _start_fork_server))


def _start_fork_server(session: pytest.Session) -> None:
    """Start the one process that the commands of all tests are forked from."""
    if any(any(item.iter_markers("process")) or any(item.iter_markers("database")) for item in session.items):
        from support.commands import CAN_FORK, fork_server

        if CAN_FORK:
            fork_server()


def _unit(nodeid: str) -> str:
    """Return the name of the tests that one process runs because they share what takes long to set up."""
    module, _, name = nodeid.partition("::")
    if module in _INDEPENDENT_TESTS:
        return nodeid
    return f"{module}[{name.rpartition('[')[2]}" if module in _BY_PARAMETER else module


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules that `-m "not process"` would deselect anyway: importing them takes seconds."""
    if "not process" not in config.option.markexpr.split(" and ") or collection_path.suffix != ".py":
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    is_left_out = name.startswith(_PROCESS_FOLDERS) or _PROCESS_MODULE.search(collection_path.read_text("utf-8"))
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Mark tests by what they need, and run the long modules first."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & _DATABASE_FIXTURES:
            item.add_marker(pytest.mark.database)
        if fixtures & _PROCESS_FIXTURES or item.nodeid.startswith(_PROCESS_FOLDERS):
            item.add_marker(pytest.mark.process)
        if item.nodeid.partition("[")[0] in _SLOW_TESTS:
            item.add_marker(pytest.mark.slow)
        if item.nodeid.startswith(_NOT_TRACED):
            item.add_marker("no_cover")
    yield
    places = {name: place for place, name in enumerate(_LONG_MODULES)}
    items.sort(key=lambda item: next((places[name] for name in places if item.nodeid.startswith(name)), len(places)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note how many cases there are, and what did not run and why."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped: Counter[str] = Counter()
    for report in reporter.stats.get("skipped", ()) if reporter else ():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        skipped[reason.removeprefix("Skipped: ")] += 1
    if config.pluginmanager.has_plugin("cacheprovider") and not config.option.lf:
        config.cache.set(_COUNTS, {"cases": len(session.items), "skipped": dict(skipped)})


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Keep what jobs note about settings out of the user's state folder, and the user's settings out of the tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patched.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Spare the garbage collector what lives until the end: the tests and their imports."""
    gc.disable()
    yield
    gc.collect()
    gc.freeze()
    gc.enable()


def _note_program(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        _started.append(Path(os.fsdecode(arguments[0])).name)  # type: ignore[arg-type]
    elif event in {"os.fork", "os.forkpty", "os.posix_spawn"}:
        _started.append(event)


sys.addaudithook(_note_program)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test that has started a program, in its fixtures or its body, and is not marked."""
    yield
    programs = set(_started) - _CHEAP_PROGRAMS
    if programs and not any(item.iter_markers("process")) and not any(item.iter_markers("database")):
        pytest.fail(f"starts {', '.join(sorted(programs))} without the mark `process`", pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup() -> Generator[None]:
    """Forget what the test before has started."""
    _started.clear()
    yield
