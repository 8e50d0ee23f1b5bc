"""Remit: what a subagent may do, and what it must send back.

The public names are loaded on first use, so that importing `remit` costs almost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.checking import Verdict, check, check_all

__all__ = ["Verdict", "__version__", "check", "check_all"]

_HOMES = {"Verdict": "remit.checking", "check": "remit.checking", "check_all": "remit.checking"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("remit")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'remit' has no attribute {name!r}")
