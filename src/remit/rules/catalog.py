"""The catalogue: every rule, listed by hand in the order in which the rules are checked and shown.

A rule comes after the rules it requires. Tests verify that no rule is missing here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from remit.contract.profiles import PROFILES, Level
from remit.errors import UsageError, did_you_mean
from remit.rules.base import Rule

#: Folder and name of each rule. A rule is loaded with the first profile that has it.
CATALOG = (
    "result/unreadable",
    "result/title-missing",
    "result/agent-mismatch",
    "result/placeholder-left",
    "result/status-missing",
    "result/status-unknown",
    "result/status-form",
    "result/summary-missing",
    "result/summary-too-long",
    "result/summary-sentences",
    "result/findings-missing",
    "result/references-missing",
    "confidence/confidence-missing",
    "confidence/confidence-range",
    "confidence/score-missing",
    "confidence/confidence-reason",
    "confidence/confidence-breakdown",
    "confidence/confidence-arithmetic",
    "confidence/confidence-justification",
    "confidence/confidence-uncertainty",
    "result/checklist-missing",
    "result/checklist-unticked",
    "kinds/block-missing",
    "kinds/wrong-column",
    "kinds/empty-table",
    "result/severity-missing",
    "result/severity-unknown",
    "kinds/severity-count",
    "kinds/detail-without-row",
    "kinds/security-without-quote",
    "kinds/self-conflict",
    "kinds/tradeoffs-missing",
    "kinds/patterns-missing",
    "result/blockers-missing",
    "result/resolution-missing",
    "result/error-details-missing",
    "result/recoverable-unknown",
    "result/partial-but-complete",
    "result/next-steps-missing",
    "result/raw-dump",
    "result/result-too-long",
    "evidence/reference-missing-file",
    "evidence/reference-out-of-range",
    "evidence/quote-mismatch",
    "evidence/quote-relocated",
    "evidence/quote-annotated",
    "evidence/quote-condensed",
    "evidence/symbol-missing",
    "evidence/reference-relocated",
    "evidence/reference-ambiguous",
    "evidence/reference-outdated",
    "evidence/command-missing",
    "evidence/test-missing",
    "evidence/finding-without-reference",
    "evidence/line-missing",
    "evidence/single-source",
    "evidence/planned-exists",
    "evidence/change-count",
    "evidence/no-tool-calls",
    "evidence/test-run-unseen",
    "evidence/change-unseen",
    "evidence/reference-unseen",
    "evidence/execution-unseen",
    "confidence/confidence-unsupported",
)
#: The first letters of a code -> the folder of the rule.
_FOLDERS = {"res": "result", "cnf": "confidence", "knd": "kinds", "evd": "evidence"}
NAMES = tuple(entry.partition("/")[2] for entry in CATALOG)
_FAMILIES = dict(zip(NAMES, (entry.partition("/")[0] for entry in CATALOG), strict=True))


@cache
def load_rule(name: str) -> type[Rule]:
    """Return the rule with that name."""
    module = import_module(f"remit.rules.{_FAMILIES[name]}.{name.replace('-', '_')}")
    rule: type[Rule] = getattr(module, name.title().replace("-", ""))
    return rule


@cache
def rules_in(profile: str) -> tuple[tuple[Rule, Level], ...]:
    """Return the rules that apply in a profile, each with its level."""
    only = PROFILES[profile].only
    rules = (load_rule(name) for name in NAMES if only is None or name in only)
    return tuple((rule(), level) for rule in rules if (level := rule.level_in(profile)) is not None)


def every_rule() -> tuple[type[Rule], ...]:
    """Load every rule, in the order of the catalogue."""
    return tuple(map(load_rule, NAMES))


def find_name(text: str) -> str | None:
    """Return the name of the rule with that name or code, in any case, or None."""
    if text.lower() in _FAMILIES:
        return text.lower()
    return next((rule.name for rule in every_rule() if rule.code == text.upper()), None)


def find(name: str) -> type[Rule]:
    """Return the rule with that name or code. Raise UsageError for another name."""
    known = find_name(name)
    if known is None:
        raise UsageError(f"there is no rule {name!r}{did_you_mean(name, NAMES)}; `remit rules` lists all rules")
    return load_rule(known)


def expand(selectors: tuple[str, ...]) -> frozenset[str]:
    """Return the rule names that selectors stand for: a name, a code, or a family (`confidence`, `CNF`)."""
    names: set[str] = set()
    for selector in selectors:
        folder = _FOLDERS.get(selector.lower(), selector.lower())
        names |= {name for name in NAMES if _FAMILIES[name] == folder} or {find(selector).name}
    return frozenset(names)
