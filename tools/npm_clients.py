"""Install the clients that real-client tests run, from npm, with the versions and digests of one file.

    python tools/npm_clients.py [CLIENT …]            into .venv/npm-clients, without running any script of a package
    python tools/npm_clients.py --newest FOLDER       the newest versions instead, without digests, for a scheduled job

A client that cannot be downloaded is reported, and its tests are skipped.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements/npm-clients.json"
FOLDER = ROOT / ".venv/npm-clients"
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_SECONDS = 240.0


def locked() -> dict[str, dict[str, str]]:
    """Return the package of each client for this machine; a client without one is left out."""
    machine = f"{sys.platform}-{_ARCHITECTURES.get(platform.machine().lower(), '')}"
    clients: dict[str, Any] = json.loads(LOCK.read_text(encoding="utf-8"))
    return {name: one["platforms"][machine] for name, one in clients.items() if machine in one["platforms"]}


def program(client: str) -> Path | None:
    """Return the path of an installed client; None if it is not installed."""
    found = locked().get(client)
    folder = os.environ.get("REMIT_TEST_CLIENTS")
    if found is None:
        return None
    path = (Path(folder) / client if folder else _home(client, found)) / found["program"]
    return path if path.is_file() else None


def _home(client: str, package: dict[str, str]) -> Path:
    return FOLDER / f"{client}-{package['version']}"


def install(client: str, package: dict[str, str], target: Path) -> None:
    """Download a package, compare its digest and unpack it. Raises OSError, ValueError or TarError if that fails."""
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("npm is not installed")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        name = f"{package['package']}@{package['version']}"
        command = [npm, "pack", "--silent", "--pack-destination", scratch, name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        archives = list(Path(scratch).glob("*.tgz"))
        if done.returncode != 0 or len(archives) != 1:
            raise OSError(f"npm pack {name}: {done.stderr.strip()[-300:]}")
        if package.get("integrity"):
            with archives[0].open("rb") as file:
                digest = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
            if package["integrity"] != f"sha512-{digest}":
                raise ValueError(f"{name} has another digest than {LOCK.name} states")
        inside = Path(scratch, "unpacked")
        unpack(archives[0], inside)
        archives[0].unlink()
        shutil.rmtree(target, ignore_errors=True)
        (inside / "package").rename(target)


def unpack(archive: Path, target: Path) -> None:
    """Unpack files and folders. Raises ValueError for a link, a device or a path out of the target.

    `tarfile` can check this only since Python 3.11.4, and Debian 12 has 3.11.2.
    """
    with tarfile.open(archive) as opened:
        for member in opened:
            name = PurePosixPath(member.name)
            if not (member.isfile() or member.isdir()) or name.is_absolute() or ".." in name.parts:
                raise ValueError(f"{archive.name} has the member {member.name!r}, which is not unpacked")
            path = target / name
            content = opened.extractfile(member)
            if content is None:
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with content, path.open("wb") as file:
                shutil.copyfileobj(content, file)
            path.chmod(0o755 if member.mode & 0o111 else 0o644)


def _newest(package: dict[str, str]) -> str:
    """Return the newest version of a package; Codex has one for each platform, with a suffix."""
    command = ["npm", "view", package["package"], "version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    suffix = package["version"].partition("-")[2]
    return "-".join(filter(None, (done.stdout.strip(), suffix)))


def _ensure(client: str, package: dict[str, str], target: Path) -> str:
    if (target / package["program"]).is_file():
        return ""
    try:
        install(client, package, target)
    except (OSError, ValueError, tarfile.TarError, subprocess.SubprocessError) as error:
        return f"{client} cannot be installed ({error}): its tests are skipped"
    return ""


def main() -> int:
    """Install the clients, and report those that cannot be."""
    parser = argparse.ArgumentParser(description="Install the clients of the tests from npm.")
    parser.add_argument("clients", nargs="*")
    parser.add_argument("--newest", metavar="FOLDER", type=Path)
    options = parser.parse_args()
    wanted = {name: one for name, one in locked().items() if not options.clients or name in options.clients}
    jobs: list[tuple[str, dict[str, str], Path]] = []
    for name, package in wanted.items():
        if options.newest is None:
            jobs.append((name, package, _home(name, package)))
        else:
            newest = {**package, "version": _newest(package), "integrity": ""}
            jobs.append((name, newest, options.newest / name))
    with ThreadPoolExecutor(3) as pool:
        problems = [text for text in pool.map(lambda job: _ensure(*job), jobs) if text]
    for text in problems:
        sys.stderr.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
