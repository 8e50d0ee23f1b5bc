"""The settings of a worker, from the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from remit.configuration import Configuration, load
from remit.digests import sha256_of
from remit.errors import ConfigurationError
from remit.gate.settings import GateSettings, from_configuration
from remit.registry.resolution import allow_list
from remit.state_folder import checkout_of, state_folder
from remit.store.storable import to_storable

#: The smallest value of each numeric setting; for a table, of each of its numbers.
_MINIMUM = {
    "takeover_seconds": 0.5,
    "hung_seconds": 1,
    "shutdown_seconds": 0,
    "queue_limits": 1,
    "provider_limits": 1,
    "limits.tokens": 0,
    "limits.cost": 0,
    "limits.seconds": 0,
}
#: A job that waits is marked as alive this often: at most this many seconds apart, and this many times before it
#: would be ended as hung.
_MAX_KEEPALIVE_SECONDS = 30.0
_KEEPALIVES_BEFORE_HUNG = 4


class Settings(NamedTuple):
    """The part of the configuration that jobs and workers use."""

    database: str | None
    #: The folder of the embedded database and of all that decides.
    state: Path
    #: The folder of texts for people in the checkout: reports and the progress file.
    texts: Path
    #: The name of the project; empty: each checkout is a project of its own.
    project_name: str
    #: The project of the folder that these settings are for.
    project: str
    takeover_seconds: float
    hung_seconds: float
    queue_limits: Mapping[str, float]
    provider_limits: Mapping[str, float]
    is_redacting: bool
    runners: Mapping[str, str]
    mcp_servers: Mapping[str, str]
    shutdown_seconds: float
    #: The tools that this worker allows; a brief cannot add to them.
    allow_tools: tuple[str, ...]
    #: What an orchestrator may do itself.
    gate: GateSettings
    #: Whether a worker takes the jobs of all projects.
    is_for_all_projects: bool = False

    @property
    def work(self) -> Path:
        """The folder of what the jobs of this project need: long outputs, results for other jobs, worktrees."""
        return self.state / "work" / sha256_of(self.project.encode())[:32]

    def project_of(self, folder: Path) -> str:
        """Return the project of a job in a folder: its name, else the real path of the checkout."""
        return _project_of(self.project_name, folder)

    @property
    def keepalive_seconds(self) -> float:
        """Return the interval at which a job that waits for something marks itself as alive."""
        return min(_MAX_KEEPALIVE_SECONDS, self.hung_seconds / _KEEPALIVES_BEFORE_HUNG)


def load_settings(configured: Configuration | None = None, start: Path | None = None) -> Settings:
    """Return the effective settings in a folder."""
    configured = configured or load(start)
    _check(configured)
    return Settings(
        database=configured["database_url"] or None,
        state=Path(state_folder()),
        texts=texts_folder(start or Path.cwd()),
        project_name=configured["project"],
        project=_project_of(configured["project"], start or Path.cwd()),
        takeover_seconds=float(configured["takeover_seconds"]),
        hung_seconds=float(configured["hung_seconds"]),
        queue_limits=configured["queue_limits"],
        provider_limits=configured["provider_limits"],
        is_redacting=configured["redact"] != "off",
        runners=configured["commands"],
        mcp_servers=configured["mcp_servers"],
        shutdown_seconds=float(configured["shutdown_seconds"]),
        allow_tools=tuple(map(str, allow_list(configured, None))),
        gate=from_configuration(configured),
    )


def _check(configured: Configuration) -> None:
    """Raise ConfigurationError for a number that is too small."""
    for key, minimum in _MINIMUM.items():
        value, source = configured.values[key]
        numbers = value if isinstance(value, dict) else {"": value}
        for name, number in numbers.items():
            if number < minimum:
                full_key = f"{key}.{name}" if name else key
                raise ConfigurationError(f"{source}: {full_key} must be at least {minimum:g}, not {number:g}")


def _project_of(name: str, folder: Path) -> str:
    return name or to_storable(checkout_of(str(folder)) or os.path.realpath(folder))


def texts_folder(start: Path) -> Path:
    """Return the folder of texts for people: `.remit` in the root of the project."""
    for folder in (start.absolute(), *start.absolute().parents):
        if _is_own(folder / ".remit") or (folder / ".git").exists():
            return folder / ".remit"
    return start.absolute() / ".remit"


def _is_own(folder: Path) -> bool:
    """Return whether a folder exists and belongs to this user. The folder of another user is not used."""
    try:
        return folder.is_dir() and folder.stat().st_uid == os.getuid()
    except OSError:
        return False
