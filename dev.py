#!/usr/bin/env python3
"""What a developer runs: `python3 dev.py COMMAND`. Needs Python 3.11 or later and nothing else.

Each command makes the environment it needs: `.venv-run` (what a user installs) or `.venv` (everything
for the tests), from a lock with hashes, again only when that lock has changed.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

# Before anything that an older Python cannot run.
if sys.version_info < (3, 11):  # noqa: UP036 (people do start it with an older one)
    sys.exit("dev.py needs Python 3.11 or later; this is {}.{}.".format(*sys.version_info[:2]))

ROOT = Path(__file__).resolve().parent
WINDOWS = os.name == "nt"

#: What `run` shows: the example project, reviewed.
DEMONSTRATION = ["review", "examples/shop"]
LOOK_AT = """
Review your own checkout: {remit} review PATH
See what is wrong with an agent's answer: {remit} check examples/results/faulty-invented.md"""

#: What `check` runs, in this order: programs of `.venv`.
CHECKS = (
    ["ruff", "format", "--check", "--output-format", "concise", "."],
    ["ruff", "check", "."],
    ["mypy"],
    ["lint-imports", "--no-logo"],
)

#: What a person sees of the built wheel, run outside the checkout; every command must end with 0.
SMOKE = (
    ["--version"],
    ["check", str(ROOT / "examples/results/review-security.md"), "--repo", str(ROOT)],
    ["rules"],
)

#: What `clean` removes, beside the `__pycache__` folders of our own sources.
MADE = (
    *(".venv", ".venv-run", ".remit", "dist", "build"),
    *(".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
)


class Failed(Exception):
    """A step did not work; its message is one line that names it."""


class Environment(NamedTuple):
    """A virtual environment and the lock it is made from."""

    path: Path
    lock: Path
    #: How long making it takes; people wait better when they know.
    seconds: int

    def program(self, name: str) -> Path:
        """Where a program of this environment stands."""
        return self.path / "Scripts" / f"{name}.exe" if WINDOWS else self.path / "bin" / name

    @property
    def stamp(self) -> Path:
        """Says what was installed completely: one line for the lock, one for the project."""
        return self.path / "installed.txt"


RUN = Environment(ROOT / ".venv-run", ROOT / "requirements/run.lock", 40)
#: What `pip install remit` brings, without any extra.
BASE_LOCK = ROOT / "requirements/base.lock"
DEV = Environment(ROOT / ".venv", ROOT / "requirements/dev.lock", 90)
#: The client whose subagents are put under contract; only the tests want it, and nothing that it depends on.
CLIENT_LOCK = ROOT / "requirements/client.lock"


def say(line: str) -> None:
    """Print a line about progress; standard output is left to the programs."""
    print(line, file=sys.stderr, flush=True)


def surroundings(environment: Environment) -> dict[str, str]:
    """The variables a program of this environment is started with."""
    variables = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    variables["VIRTUAL_ENV"] = str(environment.path)
    variables["PATH"] = os.pathsep.join([str(environment.program("python").parent), os.environ.get("PATH", os.defpath)])
    return variables


def call(environment: Environment, name: str, command: list[str], accept: Collection[int] = (0,)) -> int:
    """Run a program in view of the user; its exit code."""
    with subprocess.Popen(command, cwd=ROOT, env=surroundings(environment)) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # The program got the same Ctrl-C: leave it time to end what it has started.
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    if code not in accept:
        raise Failed(f"{name} failed (exit code {code})")
    return code


def call_quietly(environment: Environment, name: str, command: list[str], cwd: Path = ROOT) -> None:
    """Run a program and show its output only if it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=surroundings(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        sys.stderr.flush()
        sys.stderr.buffer.write(done.stdout)
        raise Failed(f"{name} failed (exit code {done.returncode})")


def create(environment: Environment) -> None:
    """Make an empty environment in place of what stands there."""
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        raise Failed(
            "this Python cannot make virtual environments: install the package python3-venv "
            "(Debian, Ubuntu: apt install python3-venv), or use another Python"
        )
    environment.stamp.unlink(missing_ok=True)
    command = [sys.executable, "-m", "venv", "--clear", str(environment.path)]
    call_quietly(environment, f"making {environment.path.name}", command)


def pip_install(environment: Environment, name: str, *arguments: str) -> None:
    """Install into an environment exactly what is asked for, and nothing that it depends on."""
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-user", "--no-deps", "--no-build-isolation"]
    command = [str(environment.program("python")), "-m", "pip", "install", *options, *arguments]
    call_quietly(environment, f"installing {name}", command)


def install_lock(environment: Environment, lock: Path) -> None:
    """Install everything a lock names; each file must have its hash."""
    name = lock.relative_to(ROOT).as_posix()
    pip_install(environment, name, "--require-hashes", "--only-binary", ":all:", "-r", str(lock))


def digest(path: Path) -> str:
    """A line that changes with a file, with the Python in use and with the place of the checkout."""
    return hashlib.sha256(path.read_bytes() + f"{sys.version}{sys.base_prefix}{ROOT}".encode()).hexdigest()


def installed(environment: Environment) -> tuple[str, str]:
    """What was installed completely: the digests of the lock and of the project's own file."""
    if not (environment.stamp.is_file() and environment.program("python").exists()):
        return "", ""
    lock, _, project = environment.stamp.read_text(encoding="ascii").strip().partition("\n")
    return lock, project


def put_stamp(environment: Environment, *digests: str) -> None:
    """Record what is complete, in one step: an interrupted set-up is never taken for a complete one."""
    draft = environment.stamp.with_suffix(".new")
    draft.write_text("\n".join(digests) + "\n", encoding="ascii")
    draft.replace(environment.stamp)


def prepare(environment: Environment) -> None:
    """Make an environment ready, doing only what is not done yet."""
    wanted = digest(environment.lock), digest(ROOT / "pyproject.toml")
    present = installed(environment)
    if present == wanted:
        return
    if present[0] != wanted[0]:
        say(f"setting up {environment.path.name} (about {environment.seconds} s the first time) ...")
        create(environment)
        install_lock(environment, environment.lock)
        put_stamp(environment, wanted[0])
    pip_install(environment, "the project", "--editable", str(ROOT))
    put_stamp(environment, *wanted)


def prepare_client() -> None:
    """Add the real client (360 MB) to the developer's environment; without it the tests that need it are skipped."""
    stamp, wanted = DEV.path / "client.txt", digest(CLIENT_LOCK)
    if stamp.is_file() and stamp.read_text(encoding="ascii") == wanted:
        return
    say("setting up the real client (about 15 s the first time) ...")
    try:
        install_lock(DEV, CLIENT_LOCK)
    except Failed as failure:
        say(f"{failure}: the tests in tests/clients/real are skipped")
    else:
        stamp.write_text(wanted, encoding="ascii")


def python(name: str, arguments: list[str]) -> None:
    """Run Python in the developer's environment."""
    call(DEV, name, [str(DEV.program("python")), *arguments])


def run(extra: list[str]) -> None:
    """Show what Remit does: review the example project."""
    prepare(RUN)
    words = extra or DEMONSTRATION
    say(f"$ remit {' '.join(words)}")
    remit = RUN.program("remit")
    # 1 means that something was found or not accepted: no failure of ours.
    call(RUN, "remit", [str(remit), *words], accept=(0, 1))
    say(LOOK_AT.format(remit=remit.relative_to(ROOT)))


def check(_: list[str]) -> None:
    """Look at the code without running it: format, lint, types, import contracts."""
    prepare(DEV)
    for program, *arguments in CHECKS:
        name = f"{program} {arguments[0]}" if program == "ruff" else program
        say(f"{name} ...")
        call_quietly(DEV, name, [str(DEV.program(program)), *arguments])


def build_wheel(folder: Path) -> Path:
    """Build the wheel into a folder."""
    command = [str(DEV.program("python")), "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    call_quietly(DEV, "building the wheel", command)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise Failed(f"building the wheel made {len(wheels)} wheels instead of one")
    return wheels[0]


def smoke_test() -> None:
    """Install the built wheel as a user would and try it outside the checkout."""
    with tempfile.TemporaryDirectory(prefix="remit-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        wheel = build_wheel(folder)
        fresh = Environment(folder / "venv", BASE_LOCK, RUN.seconds)
        create(fresh)
        install_lock(fresh, fresh.lock)
        pip_install(fresh, wheel.name, str(wheel))
        for arguments in SMOKE:
            command = [str(fresh.program("remit")), *arguments]
            call_quietly(fresh, f"the wheel's `remit {' '.join(arguments)}`", command, cwd=folder)


def run_tests(extra: list[str]) -> None:
    """Run the tests side by side: many wait for processes and databases of their own.

    What fails there is run once more, alone: a machine may be too busy for a test that waits for eleven processes,
    and a fault is still there the second time.
    """
    say("pytest ...")
    command = [str(DEV.program("python")), "-m", "pytest"]
    # One more than there are processors, for most of them wait; each has a database, so not too many.
    at_once = str(min((os.cpu_count() or 1) + 1, 12))
    if call(DEV, "pytest", [*command, "--numprocesses", at_once, "--dist", "worksteal", *extra], accept=(0, 1)):
        say("pytest, what failed once more ...")
        call(DEV, "pytest", [*command, "--last-failed", "--last-failed-no-failures", "none", *extra])


def test(extra: list[str]) -> None:
    """Run the checks, the tests and the built wheel; arguments go to pytest."""
    started = time.monotonic()
    check([])
    prepare_client()
    run_tests(extra)
    say("wheel ...")
    smoke_test()
    say(f"everything passed in {time.monotonic() - started:.0f} s")


def bench(extra: list[str]) -> None:
    """Measure how fast Remit is."""
    prepare(DEV)
    python("bench", ["bench/run.py", *extra])


def docs(extra: list[str]) -> None:
    """Write the generated pages of the documentation again."""
    prepare(DEV)
    python("docs", ["tools/generate_docs.py", *extra])


def mutants(extra: list[str]) -> None:
    """Break the code in small ways and see whether the tests notice."""
    prepare(DEV)
    python("mutants", ["tools/mutate.py", *extra])


def lock(extra: list[str]) -> None:
    """Write the locks again; --upgrade takes newer versions."""
    uv = shutil.which("uv")
    if uv is None:
        raise Failed("uv is not installed: python3 -m pip install uv")
    common = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
    common += ["--generate-hashes", "--no-emit-index-url", "--custom-compile-command", "python3 dev.py lock", *extra]
    build = ["--group", "build", "--constraints", "requirements/dev.lock"]
    # The small locks take their versions from the large one: the tests run what users install.
    for made, arguments in (
        ("dev", ["pyproject.toml", "--extra", "all", "--group", "dev"]),
        ("base", ["pyproject.toml", *build]),
        ("run", ["pyproject.toml", "--extra", "run", "--extra", "review", *build]),
        ("client", ["--group", "client", "--no-deps"]),
    ):
        say(f"requirements/{made}.lock ...")
        call(DEV, f"locking {made}", [*common, *arguments, "--output-file", f"requirements/{made}.lock"])


def clean(_: list[str]) -> None:
    """Remove everything that these commands made."""
    caches = [found for part in ("src", "tests", "tools", "bench") for found in (ROOT / part).rglob("__pycache__")]
    for folder in [*(ROOT / name for name in MADE), *caches]:
        if folder.is_dir():
            say(f"removing {folder.relative_to(ROOT)}")
            shutil.rmtree(folder)


COMMANDS: dict[str, Callable[[list[str]], None]] = {
    command.__name__: command for command in (run, test, check, bench, docs, lock, mutants, clean)
}


def usage() -> str:
    """The commands, a line each."""
    lines = [f"  {name:8} {command.__doc__}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: python3 dev.py COMMAND [ARGUMENT ...]", "", *lines])


def main(arguments: list[str]) -> int:
    """Run one command; the exit code is 0, 1 (a step failed), 2 (usage) or 130 (Ctrl-C)."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(usage())
        return 0
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        say(usage())
        return 2
    if command in (check, clean) and arguments[1:]:
        say(f"dev.py: `{arguments[0]}` takes no arguments: {' '.join(arguments[1:])}")
        return 2
    try:
        command(arguments[1:])
    except Failed as failure:
        say(f"dev.py: {failure}")
        return 1
    except KeyboardInterrupt:
        say("dev.py: stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
