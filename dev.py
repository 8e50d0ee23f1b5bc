#!/usr/bin/env python3
"""Run the developer commands: `python3 dev.py COMMAND`. Requires Python 3.11 or later and nothing else.

Each command creates the environment it needs from a lock with hashes, and updates it when the lock changes:
`.venv-run` has what a user installs, `.venv` also the tools and tests. uv creates them if it is installed,
`venv` and pip otherwise.
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

# Checked before anything that an older Python cannot run.
if sys.version_info < (3, 11):  # noqa: UP036 (users do start it with an older version)
    sys.exit("dev.py requires Python 3.11 or later; this is {}.{}.".format(*sys.version_info[:2]))

ROOT = Path(__file__).resolve().parent
WINDOWS = os.name == "nt"

#: The arguments of `remit` that `run` uses by default: a review of the example project, recorded if no key is set.
DEMONSTRATION = ["demo"]

#: The static checks by name; each command is a program of `.venv` and its arguments.
CHECKS = {
    "ruff format": ["ruff", "format", "--check", "--output-format", "concise", "."],
    "ruff check": ["ruff", "check", "."],
    "import contracts": ["lint-imports", "--no-logo"],
    "mypy": ["mypy"],
}

#: Commands of the built wheel; each is run outside the checkout and must exit with 0.
SMOKE_TESTS = (
    ["--version"],
    ["check", str(ROOT / "examples/results/review-security.md"), "--repo", str(ROOT)],
    ["rules"],
)

#: The tests of the inner loop: no database, no other processes, no inputs at a limit. tests/conftest.py sets the marks.
QUICK_TESTS = ["-m", "not database and not process and not slow"]
#: The tests whose coverage is measured: the others would need twice the time with it and cover hardly anything more.
MEASURED_TESTS = ["-m", "not database and not process"]
#: Processes that are forked after the collection, see tests/support/forked_tests.py; elsewhere each one collects.
PROCESSES = "--processes" if sys.platform == "linux" else "--numprocesses"
IN_PARALLEL = [PROCESSES, str(os.cpu_count() or 1)]
#: pytest-cov measures these only.
MEASURED_IN_PARALLEL = ["--numprocesses", str(os.cpu_count() or 1), "--dist", "worksteal"]
#: What tools/all_tests.py wrote about the cases that ran and those that did not.
RAN = ROOT / ".cache/ran.txt"
#: Variables that programs of the environments do not get. Without bytecode files each start compiles everything again.
DROPPED_VARIABLES = frozenset({"PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE"})

#: What `clean` removes, in addition to the `__pycache__` directories.
GENERATED = (
    *(
        ".venv",
        ".venv-run",
        ".remit",
        "dist",
        "build",
        "site",
        ".coverage",
        ".cache",
    ),
    *(".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
)


class StepFailed(Exception):
    """A step failed: a line that names it, and the output of the program if the user has not seen it yet."""

    def __init__(self, message: str, output: bytes = b"") -> None:
        super().__init__(message)
        self.output = output


class Environment(NamedTuple):
    """A virtual environment and the lock that it is created from."""

    path: Path
    lock: Path

    def program(self, name: str) -> Path:
        """Return the path of a program of this environment."""
        return self.path / "Scripts" / f"{name}.exe" if WINDOWS else self.path / "bin" / name

    @property
    def stamp(self) -> Path:
        """Return the file that records what is completely installed: a digest of the lock, one of the project."""
        return self.path / "installed.txt"

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables for programs of this environment."""
        variables = {name: value for name, value in os.environ.items() if name not in DROPPED_VARIABLES}
        folders = [str(self.program("python").parent), os.environ.get("PATH", os.defpath)]
        # uv trusts the certificates of the system, as pip does; older versions have another name for it.
        certificates = {"UV_SYSTEM_CERTS": "true", "UV_NATIVE_TLS": "true"}
        return certificates | variables | {"VIRTUAL_ENV": str(self.path), "PATH": os.pathsep.join(folders)}


RUN = Environment(ROOT / ".venv-run", ROOT / "requirements/run.lock")
DEV = Environment(ROOT / ".venv", ROOT / "requirements/dev.lock")
#: The dependencies of an install without extras.
BASE_LOCK = ROOT / "requirements/base.lock"
#: The Claude Code client; only tests/clients/real needs it.
CLIENT_LOCK = ROOT / "requirements/client.lock"


def report(line: str, output: bytes = b"") -> None:
    """Print a line about the progress to standard error, after the output of a program."""
    sys.stderr.buffer.write(output + line.encode() + b"\n")
    sys.stderr.flush()


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Print a line when a step starts, and one with its duration when it has succeeded."""
    report(f"{name} ...")
    started = time.monotonic()
    yield
    report(f"{name}: ok ({time.monotonic() - started:.1f} s)")


def exit_code(environment: Environment, command: Sequence[str]) -> int:
    """Run a program whose output the user sees, and return its exit code; 128 and the signal if one ended it."""
    with subprocess.Popen(command, cwd=ROOT, env=environment.variables) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # The program has received the same Ctrl-C: give it time to stop what it has started.
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return code if code >= 0 else 128 - code


def run_program(environment: Environment, name: str, command: Sequence[str], accept: Collection[int] = (0,)) -> None:
    """Run a program whose output the user sees, and fail if its exit code is not accepted."""
    code = exit_code(environment, command)
    if code not in accept:
        raise StepFailed(f"{name} failed (exit code {code})")


def run_quietly(environment: Environment, name: str, command: Sequence[str], cwd: Path = ROOT) -> None:
    """Run a program; its output is printed only if it fails."""
    completed = subprocess.run(
        command,
        cwd=cwd,
        env=environment.variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if completed.returncode != 0:
        raise StepFailed(f"{name} failed (exit code {completed.returncode})", completed.stdout)


@functools.cache
def find_uv() -> str | None:
    """Return the path of a uv that reaches a package index, if there is one. uv does not read the settings of pip."""
    uv = shutil.which("uv")
    if uv is None:
        return None
    probe = [uv, "pip", "compile", "--quiet", "--no-deps", "-"]
    found = subprocess.run(probe, input=b"hatchling", env=DEV.variables, cwd=ROOT, capture_output=True, check=False)
    return uv if found.returncode == 0 else None


def create(environment: Environment) -> None:
    """Create an empty environment and replace an existing one."""
    environment.stamp.unlink(missing_ok=True)
    if uv := find_uv():
        command = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(environment.path)]
    elif all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        command = [sys.executable, "-m", "venv", "--clear", str(environment.path)]
    else:
        raise StepFailed(
            "this Python cannot create virtual environments: install the package python3-venv "
            "(Debian, Ubuntu: apt install python3-venv), install uv, or use another Python"
        )
    run_quietly(environment, f"creating {environment.path.name}", command)


def install(environment: Environment, name: str, *arguments: str) -> None:
    """Install exactly the named packages, without their dependencies."""
    python = str(environment.program("python"))
    if uv := find_uv():
        command = [uv, "pip", "install", "--python", python]
    else:
        # As uv does: Python compiles the modules that it imports, a fifth of all.
        command = [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-user"]
        command.append("--no-compile")
    command += ["--quiet", "--no-deps", "--no-build-isolation", *arguments]
    run_quietly(environment, f"installing {name}", command)


def install_lock(environment: Environment, lock: Path) -> None:
    """Install every package of a lock; the hash of each file is verified."""
    name = lock.relative_to(ROOT).as_posix()
    install(environment, name, "--require-hashes", "--only-binary", ":all:", "-r", str(lock))


def digest(path: Path) -> str:
    """Return a digest of a file, of the Python version and of the location of the checkout."""
    return hashlib.sha256(path.read_bytes() + f"{sys.version}{sys.base_prefix}{ROOT}".encode()).hexdigest()


def read_stamp(environment: Environment) -> tuple[str, str]:
    """Return the digests of the lock and of the project that are completely installed, or empty strings."""
    if not (environment.stamp.is_file() and environment.program("python").exists()):
        return "", ""
    lock, _, project = environment.stamp.read_text(encoding="ascii").strip().partition("\n")
    return lock, project


def put_stamp(environment: Environment, *digests: str) -> None:
    """Record what is complete, atomically: an interrupted set-up does not count as a complete one."""
    draft = environment.stamp.with_suffix(".new")
    draft.write_text("\n".join(digests) + "\n", encoding="ascii")
    draft.replace(environment.stamp)


def prepare(environment: Environment) -> None:
    """Create or update an environment, if its lock or the project's metadata has changed."""
    expected = digest(environment.lock), digest(ROOT / "pyproject.toml")
    current = read_stamp(environment)
    if current == expected:
        return
    with step(f"setting up {environment.path.name} with {'uv' if find_uv() else 'pip (this can take two minutes)'}"):
        # An environment that uv has created has no pip.
        if current[0] != expected[0] or not (find_uv() or environment.program("pip").exists()):
            create(environment)
            install_lock(environment, environment.lock)
            put_stamp(environment, expected[0])
        install(environment, "the project", "--editable", str(ROOT))
        put_stamp(environment, *expected)


def prepare_client() -> None:
    """Install the Claude Code client (360 MB); tests/clients/real is skipped without it."""
    stamp, expected = DEV.path / "client.txt", digest(CLIENT_LOCK)
    if stamp.is_file() and stamp.read_text(encoding="ascii") == expected:
        return
    try:
        with step("setting up the Claude Code client"):
            install_lock(DEV, CLIENT_LOCK)
    except StepFailed as failure:
        report(f"{failure}: the tests in tests/clients/real are skipped")
    else:
        stamp.write_text(expected, encoding="ascii")


#: Programs of the system that some tests need: its possible names, its package, and what is skipped without it.
SYSTEM_PROGRAMS = (
    (("bwrap",), "bubblewrap", "the tests of the sandbox"),
    (("chromium", "chromium-browser", "google-chrome"), "chromium", "the tests in a browser"),
    (("pgbouncer",), "pgbouncer", "the tests with a connection pooler"),
)


def prepare_system_programs(*, may_install: bool) -> None:
    """Install programs that tests need, if the user agrees; the tests are skipped without."""
    for names, package, skipped in SYSTEM_PROGRAMS:
        if not WINDOWS and not any(map(shutil.which, names)):
            if may_install or agrees(f"Install the system package {package} for {skipped}?"):
                prepare_system_program(names[0], package, skipped)
            else:
                report(f"{package} is not installed: {skipped} are skipped (--yes installs it)")


def agrees(question: str) -> bool:
    """Ask the user; nobody agrees where nobody can answer."""
    if not sys.stdin.isatty():
        return False
    report(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def prepare_system_program(command: str, package: str, skipped: str) -> None:
    """Install a package of Debian or Ubuntu as root; else report which tests are skipped."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        report(f"{package} cannot be installed here: {skipped} are skipped (Debian, Ubuntu: apt install {package})")
        return
    install = [apt, "install", "--yes", "--quiet", "--no-install-recommends", package]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step_command in (install, [apt, "update", "--quiet"], install):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                step_command, env=quiet, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300
            )
        if shutil.which(command):
            report(f"{package} was installed for {skipped}")
            return
    report(f"{package} cannot be installed: {skipped} are skipped")


def run_python(name: str, arguments: Sequence[str], accept: Collection[int] = (0,)) -> None:
    """Run a script with the Python of the developer's environment."""
    run_program(DEV, name, [str(DEV.program("python")), *arguments], accept)


def run_check(name: str) -> None:
    """Run one static check."""
    program, *arguments = CHECKS[name]
    with step(name):
        run_quietly(DEV, name, [str(DEV.program(program)), *arguments])


@contextlib.contextmanager
def static_checks() -> Iterator[None]:
    """Run the static checks at the same time as the body, and report those that fail after it."""
    with ThreadPoolExecutor(len(CHECKS)) as pool:
        checks = [pool.submit(run_check, name) for name in CHECKS]
        try:
            yield
        finally:
            failed = [failure for check in checks if (failure := check.exception())]
            for failure in failed:
                report(f"{failure}", getattr(failure, "output", b""))
    if failed:
        raise StepFailed(f"{len(failed)} of {len(CHECKS)} static checks failed")


def pytest(arguments: Sequence[str], accept: Collection[int] = (0,)) -> None:
    """Run pytest."""
    run_python("pytest", ["-m", "pytest", *arguments], accept)


def run(extra: list[str]) -> int:
    """Show a review of the example project by subagents; with arguments, run `remit` with them."""
    prepare(RUN)
    arguments = extra or DEMONSTRATION
    report(f"$ remit {' '.join(arguments)}")
    code = exit_code(RUN, [str(RUN.program("remit")), *arguments])
    if arguments == DEMONSTRATION and code == 0:
        report(
            "In this checkout, `python3 dev.py run COMMAND` is `remit COMMAND`, for example: python3 dev.py run audit"
        )
    return code


def test(extra: list[str]) -> None:
    """Run everything that CI runs; --yes: install system packages without a question; else only pytest with these."""
    started = time.monotonic()
    prepare(DEV)
    if any("clients" in argument for argument in extra):
        prepare_client()
        run_python("npm", ["tools/npm_clients.py"])
    if extra and extra != ["--yes"]:
        pytest(extra)
        return
    RAN.unlink(missing_ok=True)
    try:
        everything(may_install=bool(extra))
    except StepFailed as failure:
        ran = RAN.read_text(encoding="utf-8") if RAN.is_file() else "the tests did not run"
        raise StepFailed(f"{failure}; {ran}", failure.output) from failure
    report(f"passed in {time.monotonic() - started:.0f} s; {RAN.read_text(encoding='utf-8')}")


def everything(*, may_install: bool) -> None:
    """Run the static checks, the wheel and all tests."""
    prepare_system_programs(may_install=may_install)
    # The static checks need one processor for a minute; the rest of the set-up waits for the network meanwhile.
    with static_checks():
        with ThreadPoolExecutor() as pool:
            set_up = [pool.submit(function) for function in (wheel, prepare_client, prepare_npm_clients)]
        for done in set_up:
            done.result()
        with step("all tests"):
            run_python("all tests", ["tools/all_tests.py"])


def wheel() -> None:
    """Build the wheel, install it as a user does, and run it outside the checkout."""
    with step("wheel"), tempfile.TemporaryDirectory(prefix="remit-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        run_quietly(DEV, "building the wheel", [str(DEV.program("python")), *build])
        (wheel,) = folder.glob("*.whl")
        fresh = Environment(folder / "venv", BASE_LOCK)
        create(fresh)
        install_lock(fresh, fresh.lock)
        install(fresh, wheel.name, str(wheel))
        for arguments in SMOKE_TESTS:
            command = [str(fresh.program("remit")), *arguments]
            run_quietly(fresh, f"`remit {' '.join(arguments)}` of the wheel", command, cwd=folder)


def prepare_npm_clients() -> None:
    """Install the clients from npm (400 MB); one that cannot be installed is reported, and its tests are skipped."""
    with step("clients from npm"):
        run_python("npm", ["tools/npm_clients.py"])


def quick(extra: list[str]) -> None:
    """Run the static checks and the tests that need no database, no other process and no input at a limit."""
    started = time.monotonic()
    prepare(DEV)
    os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
    with static_checks():
        pytest([*QUICK_TESTS, *IN_PARALLEL, "--quiet", *extra])
    report(f"passed in {time.monotonic() - started:.0f} s")


def check(_: list[str]) -> None:
    """Run the static checks: format, lint, types, import contracts."""
    prepare(DEV)
    with step("static checks"), static_checks():
        pass


def coverage(extra: list[str]) -> None:
    """Print the branch coverage and what is missed, and fail below the floor; with arguments, of those tests."""
    prepare(DEV)
    pytest([*(extra or [*MEASURED_TESTS, *MEASURED_IN_PARALLEL]), "--cov", "--cov-report="], accept=(0, 1))
    run_python("coverage", ["tools/coverage_report.py", "--missing", *([] if extra else ["--floor"])])


def bench(extra: list[str]) -> None:
    """Measure the speed of Remit."""
    prepare(DEV)
    run_python("bench", ["bench/run.py", *extra])


def accuracy(extra: list[str]) -> None:
    """Measure the answers on the labelled corpus; --documents DIR counts those on the documents of a checkout."""
    prepare(DEV)
    run_python("accuracy", ["bench/accuracy/compare.py", "counts", *extra])


def docs(extra: list[str]) -> None:
    """Write the generated pages and build the documentation site in site/."""
    prepare(DEV)
    run_python("docs", ["tools/generate_docs.py", *extra])
    run_python("docs", ["tools/build_site.py", "--output", "site"])


def fuzz(extra: list[str]) -> None:
    """Feed changed inputs to every parser for a minute each; --inputs N sets their number, --target one parser."""
    prepare(DEV)
    run_python("fuzz", ["tools/fuzz.py", *extra])


def mutants(extra: list[str]) -> None:
    """Change the rules in small ways and report the changes that their examples do not detect."""
    prepare(DEV)
    run_python("mutants", ["tools/mutate.py", *extra])


def release(extra: list[str]) -> None:
    """Build the archives of the last commit in dist, with their digests and a bill of materials."""
    prepare(DEV)
    run_python("release", ["tools/release.py", *extra])


def lock(extra: list[str]) -> None:
    """Write the locks from pyproject.toml; --upgrade takes newer versions. Requires uv."""
    uv = find_uv()
    if uv is None:
        raise StepFailed("uv is not installed: python3 -m pip install uv")
    common = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    common += ["--generate-hashes", "--no-emit-index-url", "--custom-compile-command", "python3 dev.py lock", *extra]
    build = ["--group", "build", "--constraints", "requirements/dev.lock"]
    # The small locks take their versions from the large one, so that the tests run what users install.
    for name, arguments in (
        ("dev", ["pyproject.toml", "--extra", "all", "--group", "dev"]),
        ("base", ["pyproject.toml", *build]),
        ("run", ["pyproject.toml", "--extra", "serve", *build]),
        ("all", ["pyproject.toml", "--extra", "all", "--constraints", "requirements/dev.lock"]),
        ("release", ["--group", "release"]),
        ("client", ["--group", "client", "--no-deps"]),
    ):
        with step(f"requirements/{name}.lock"):
            run_program(DEV, f"locking {name}", [*common, *arguments, "--output-file", f"requirements/{name}.lock"])


def clean(_: list[str]) -> None:
    """Remove everything that these commands have created."""
    caches = [found for part in ("src", "tests", "tools", "bench") for found in (ROOT / part).rglob("__pycache__")]
    for path in [*(ROOT / name for name in GENERATED), *caches]:
        if path.exists():
            report(f"removing {path.relative_to(ROOT)}")
            shutil.rmtree(path) if path.is_dir() else path.unlink()


#: What each command runs; one that returns a number gives the exit code itself.
COMMANDS: dict[str, Callable[[list[str]], int | None]] = {
    command.__name__: command
    for command in (
        run,
        test,
        quick,
        check,
        coverage,
        bench,
        accuracy,
        docs,
        fuzz,
        mutants,
        release,
        lock,
        clean,
    )
}


def usage() -> str:
    """Return the list of the commands, one on a line."""
    lines = [f"  {name:10}  {command.__doc__}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: python3 dev.py COMMAND [ARGUMENT ...]", "", *lines])


def main(arguments: list[str]) -> int:
    """Run one command; return 0, 1 (a step failed), 2 (usage), 130 (Ctrl-C), or for `run` what `remit` returns."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(usage())
        return 0
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        report(f"dev.py: there is no command {arguments[0]!r}\n\n{usage()}" if arguments else usage())
        return 2
    if command in (check, clean) and arguments[1:]:
        report(f"dev.py: `{arguments[0]}` takes no arguments: {' '.join(arguments[1:])}")
        return 2
    try:
        return command(arguments[1:]) or 0
    except StepFailed as failure:
        report(f"dev.py: {failure}", failure.output)
        return 1
    except KeyboardInterrupt:
        report("dev.py: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
