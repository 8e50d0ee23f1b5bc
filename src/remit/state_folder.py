"""The person's folders: his own settings, and the state that decides. Neither is ever in a checkout."""

from __future__ import annotations

import os

from remit.errors import ConfigurationError
from remit.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: A larger file of settings is not read for the place of the state; loading the settings reports it.
_MAX_BYTES = 1_000_000


def state_folder(environment: Mapping[str, str] | None = None) -> str:
    """Return the folder of the database, sessions and counters. Raises ConfigurationError if it is in a checkout."""
    environment = os.environ if environment is None else environment
    stated = environment.get("REMIT_STATE") or _stated_in_files(environment)
    if not stated:
        return os.path.join(_base(environment, "XDG_STATE_HOME", ".local/state"), "remit")
    folder = os.path.abspath(os.path.expanduser(stated))
    root = checkout_of(folder)
    home = os.path.realpath(os.path.expanduser("~"))
    if root and os.path.commonpath((home, root)) != root:  # a home may be a checkout of its owner
        raise ConfigurationError(
            f"the state of Remit cannot be in a checkout ({root}): set REMIT_STATE to a folder outside, not {stated!r}"
        )
    return folder


def person_files(environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the person's files of settings, the first one first: the one named for this run, then his own."""
    environment = os.environ if environment is None else environment
    named = environment.get("REMIT_CONFIG")
    own = os.path.join(_base(environment, "XDG_CONFIG_HOME", ".config"), "remit", "config.toml")
    files = [os.path.abspath(os.path.expanduser(named))] if named else []
    return [*files, *([own] if os.path.isfile(own) else [])]


def checkout_of(folder: str) -> str:
    """Return the root of the checkout that a folder is in, or would be in; empty outside a checkout."""
    real = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(real, ".git")):
        above = os.path.dirname(real)
        if above == real:
            return ""
        real = above
    return real


def _base(environment: Mapping[str, str], variable: str, default: str) -> str:
    """Return a base folder of the XDG specification, by which a relative path is invalid and does not count."""
    stated = environment.get(variable, "")
    home = environment.get("HOME") or os.path.expanduser("~")
    return stated if os.path.isabs(stated) else os.path.join(home, default)


def _stated_in_files(environment: Mapping[str, str]) -> str:
    for file in person_files(environment):
        import tomllib  # late: most people have no such file, and every hook loads this module

        try:
            data = read_regular(file, _MAX_BYTES, follows_links=True) or b""
            table: Any = tomllib.loads(data.decode("utf-8"))
        except (ValueError, RecursionError):  # loading the settings reports it
            continue
        if os.path.basename(file) == "pyproject.toml":
            table = table.get("tool", {}).get("remit", {})
        if isinstance(table.get("state"), str) and table["state"]:
            return os.path.join(os.path.dirname(file), os.path.expanduser(table["state"]))
    return ""
