"""Build the archives of a release from the last commit; `dev.py release` calls this.

The wheel and the sdist are built twice, in two clones: they must be equal byte for byte, and so must the wheel that is
built from the sdist. The wheel is installed with all extras in a new environment and run there. The packages of this
environment are the bill of materials.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import dev  # noqa: E402 (the path must be known first)

ALL_LOCK = ROOT / "requirements/all.lock"
RELEASE_LOCK = ROOT / "requirements/release.lock"


def main(arguments: list[str]) -> int:
    """Build, compare, install and describe; return 0 if all of it succeeded."""
    parser = argparse.ArgumentParser(description="Build the archives of a release from the last commit.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder of the archives (default: dist)")
    output: Path = parser.parse_args(arguments).output
    with tempfile.TemporaryDirectory(prefix="remit-release-") as name:
        folder = Path(name).resolve()
        try:
            with dev.step("building twice"):
                archives = build_twice(folder)
            with dev.step("installing the wheel"):
                bill = install_and_describe(folder, next(path for path in archives if path.suffix == ".whl"))
        except dev.StepFailed as failure:
            dev.report(f"release: {failure}", failure.output)
            return 1
        output.mkdir(exist_ok=True)
        written = [Path(shutil.copy2(path, output)) for path in (*archives, bill)]
    sums = "".join(f"{sha256(path)}  {path.name}\n" for path in written)
    (output / "SHA256SUMS").write_text(sums, encoding="ascii")
    print(sums, end="")
    return 0


def build_twice(folder: Path) -> list[Path]:
    """Return the archives of the last commit. Raises StepFailed if a second build differs."""
    first, second = build(folder / "first"), build(folder / "another folder")
    (sdist,) = (path for path in first if path.suffix == ".gz")
    shutil.unpack_archive(sdist, folder / "sdist")
    (unpacked,) = (folder / "sdist").iterdir()
    third = run_hatchling(unpacked, "wheel")
    expected = {path.name: sha256(path) for path in first}
    for path in (*second, *third):
        if expected[path.name] != sha256(path):
            raise dev.StepFailed(f"{path.name} of {path.parent} differs from the first build")
    return first


def build(clone: Path) -> list[Path]:
    """Build both archives in a new clone."""
    dev.run_quietly(dev.DEV, "git clone", ["git", "clone", "--quiet", str(ROOT), str(clone)])
    return run_hatchling(clone, "wheel", "sdist")


def run_hatchling(checkout: Path, *targets: str) -> list[Path]:
    """Return the archives that hatchling builds."""
    chosen = [argument for target in targets for argument in ("--target", target)]
    command = [str(dev.DEV.program("python")), "-m", "hatchling", "build", *chosen]
    dev.run_quietly(dev.DEV, f"building in {checkout}", command, cwd=checkout)
    return sorted((checkout / "dist").iterdir())


def install_and_describe(folder: Path, wheel: Path) -> Path:
    """Run the wheel in a new environment with all extras; return its bill of materials as CycloneDX."""
    fresh = dev.Environment(folder / "venv", ALL_LOCK)
    dev.create(fresh)
    dev.install_lock(fresh, ALL_LOCK)
    dev.install(fresh, wheel.name, str(wheel))
    for arguments in dev.SMOKE_TESTS:
        command = [str(fresh.program("remit")), *arguments]
        dev.run_quietly(fresh, f"`remit {' '.join(arguments)}` of the wheel", command, cwd=folder)
    tools = dev.Environment(folder / "tools", RELEASE_LOCK)
    dev.create(tools)
    dev.install_lock(tools, RELEASE_LOCK)
    bill = folder / "remit.cdx.json"
    options = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--output-file", str(bill)]
    command = [str(tools.program("cyclonedx-py")), "environment", str(fresh.path), *options]
    dev.run_quietly(tools, "the bill of materials", command)
    components = json.loads(bill.read_bytes())["components"]
    expected = locked_names(fresh)
    names = {component["name"].lower().replace("_", "-") for component in components}
    if missing := expected - names:
        raise dev.StepFailed(f"the bill of materials does not name {', '.join(sorted(missing))}")
    return bill


def locked_names(environment: dev.Environment) -> set[str]:
    """Return the names of the packages that an environment has, without Remit and the installer."""
    program = "import importlib.metadata as m; print(*(package.name for package in m.distributions()))"
    command = [str(environment.program("python")), "-c", program]
    listed = subprocess.run(command, env=environment.variables, capture_output=True, check=True, text=True).stdout
    return {name.lower().replace("_", "-") for name in listed.split()} - {"remit", "pip", "setuptools"}


def sha256(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
