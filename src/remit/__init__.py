"""Remit controls what a subagent may do and verifies what it reports.

The public names are loaded on first use, so that importing `remit` is fast.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` is slow
if TYPE_CHECKING:
    from typing import Any

    from remit.api import check, check_all, merge, verify
    from remit.checking import Verdict
    from remit.merging.merge_data import Merge
    from remit.orchestrate.delegating import delegate, fan_out, run_plan, submit
    from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan
    from remit.registry.definition import Brief, Definition, JobRequest
    from remit.registry.resolution import get_definition, reload_registry, resolve

__all__ = [
    "Brief",
    "Definition",
    "DelegationSpec",
    "JobRequest",
    "Merge",
    "PhaseSpec",
    "Plan",
    "Verdict",
    "__version__",
    "check",
    "check_all",
    "delegate",
    "fan_out",
    "get_definition",
    "merge",
    "reload_registry",
    "resolve",
    "run_plan",
    "submit",
    "verify",
]

_MODULES = {
    "Brief": "remit.registry.definition",
    "Definition": "remit.registry.definition",
    "DelegationSpec": "remit.orchestrate.plan",
    "JobRequest": "remit.registry.definition",
    "Merge": "remit.merging.merge_data",
    "PhaseSpec": "remit.orchestrate.plan",
    "Plan": "remit.orchestrate.plan",
    "Verdict": "remit.checking",
    "check": "remit.api",
    "check_all": "remit.api",
    "delegate": "remit.orchestrate.delegating",
    "fan_out": "remit.orchestrate.delegating",
    "get_definition": "remit.registry.resolution",
    "merge": "remit.api",
    "reload_registry": "remit.registry.resolution",
    "resolve": "remit.registry.resolution",
    "run_plan": "remit.orchestrate.delegating",
    "submit": "remit.orchestrate.delegating",
    "verify": "remit.api",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("remit")
    if name in _MODULES:
        from importlib import import_module

        try:
            return getattr(import_module(_MODULES[name]), name)
        except ModuleNotFoundError as error:
            from remit.errors import EnvironmentBroken
            from remit.extras import missing_extra, need_of

            if extra := missing_extra(error):
                raise EnvironmentBroken(f"remit.{name} needs {need_of(extra)}") from None
            raise
    raise AttributeError(f"module 'remit' has no attribute {name!r}")
