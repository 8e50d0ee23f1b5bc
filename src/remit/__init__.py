"""Remit: what a subagent may do, and what it must send back.

The public names are loaded on first use, so that importing `remit` costs almost nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true; `typing` itself is slow to load
if TYPE_CHECKING:
    from typing import Any

    from remit.checking import Verdict, check, check_all
    from remit.merging.api import merge
    from remit.merging.model import Merge

__all__ = ["Merge", "Verdict", "__version__", "check", "check_all", "merge"]

_HOMES = {
    "Merge": "remit.merging.model",
    "Verdict": "remit.checking",
    "check": "remit.checking",
    "check_all": "remit.checking",
    "merge": "remit.merging.api",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("remit")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'remit' has no attribute {name!r}")
