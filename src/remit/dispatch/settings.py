"""What a worker is told by the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from remit.configuration import Configuration, load
from remit.errors import ConfigurationError
from remit.gate.settings import GateSettings, from_configuration
from remit.registry.api import allow_list
from remit.store.database import data_folder

#: The smallest value of settings that are numbers; in a table, of each of its numbers.
_LEAST = {
    "takeover_seconds": 0.5,
    "hung_seconds": 1,
    "shutdown_seconds": 0,
    "queue_limits": 1,
    "provider_limits": 1,
    "budget.tokens": 0,
    "budget.cost": 0,
    "budget.seconds": 0,
}


class Settings(NamedTuple):
    """The part of the configuration that dispatching needs."""

    database: str | None
    data: Path
    takeover_seconds: float
    hung_seconds: float
    queue_limits: Mapping[str, float]
    provider_limits: Mapping[str, float]
    is_redacting: bool
    runners: Mapping[str, str]
    mcp_servers: Mapping[str, str]
    shutdown_seconds: float
    #: What this worker lets subagents use, whatever their briefs say.
    allow_tools: tuple[str, ...]
    #: What an orchestrator may do itself.
    gate: GateSettings


def load_settings(configured: Configuration | None = None, start: Path | None = None) -> Settings:
    """The settings in force in a folder."""
    configured = configured or load(start)
    _check(configured)
    return Settings(
        database=configured["database_url"] or None,
        data=data_folder(configured["data"], start or Path.cwd()),
        takeover_seconds=float(configured["takeover_seconds"]),
        hung_seconds=float(configured["hung_seconds"]),
        queue_limits=configured["queue_limits"],
        provider_limits=configured["provider_limits"],
        is_redacting=configured["redact"] != "off",
        runners=configured["runners"],
        mcp_servers=configured["mcp_servers"],
        shutdown_seconds=float(configured["shutdown_seconds"]),
        allow_tools=tuple(map(str, allow_list(configured, None))),
        gate=from_configuration(configured),
    )


def _check(configured: Configuration) -> None:
    """Refuse numbers that no worker could work with."""
    for key, least in _LEAST.items():
        value, source = configured.values[key]
        numbers = value if isinstance(value, dict) else {"": value}
        for name, number in numbers.items():
            if number < least:
                whole = f"{key}.{name}" if name else key
                raise ConfigurationError(f"{source}: {whole} must be at least {least:g}, not {number:g}")
