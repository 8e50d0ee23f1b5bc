"""The gate's settings out of the project's configuration. What cannot be used there is an error, with its key."""

# ruff: noqa: PTH100, PTH118
# Names for a part that does without pathlib.

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from remit.errors import ConfigurationError
from remit.gate.settings import GateSettings

if TYPE_CHECKING:
    from remit.configuration import Configuration

#: The settings that the gate itself reads, without `gate.`.
KEYS = ("mode", "limits", "paths", "agents", "trivial_edits", "exceptions", "on_fault")


def gate_mapping(configured: Configuration) -> dict[str, Any]:
    """What is configured of the gate, as plain data for `GateSettings.from_mapping`; it can be written as JSON."""
    mapping: dict[str, Any] = {}
    for key in KEYS:
        value, source = configured.values[f"gate.{key}"]
        value = [_plain(entry) for entry in value] if key == "exceptions" else value
        problems = GateSettings.from_mapping({key: value}).problems
        if problems:
            raise ConfigurationError(f"{source.replace(chr(92), '/').rpartition('/')[2]}: {problems[0]}")
        mapping[key] = value
    if configured["data"]:  # what remit keeps is guarded wherever it is
        mapping["guarded"] = [os.path.join(os.path.abspath(configured["data"]), name) for name in ("gate", "postgres")]
    return mapping


def gate_settings(configured: Configuration) -> GateSettings:
    """The gate's settings in force."""
    return GateSettings.from_mapping(gate_mapping(configured))


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """An exception whose day TOML has read as a date."""
    return {key: value.isoformat()[:10] if hasattr(value, "isoformat") else value for key, value in entry.items()}
