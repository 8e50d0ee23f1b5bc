"""The catalogue: every rule, listed by hand in the order in which the rules are checked and shown.

A rule comes after the rules it requires. An entry has what decides whether a document needs the rule; its module is
loaded when one does. Tests verify that no rule is missing here and that each entry states what its class states.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module

import msgspec

from remit.contract.profiles import PROFILES, Level
from remit.errors import UsageError, did_you_mean
from remit.rules.base import Need, Rule

#: The first letters of a code -> the folder of the rule.
_FAMILIES = {"RES": "result", "CNF": "confidence", "KND": "kinds", "EVD": "evidence"}
#: Most documents have the same subjects. One of them is the status, which may be any text.
_MEMORY = 64


class RuleEntry(msgspec.Struct, frozen=True):
    """A rule that need not be loaded yet; the fields are those of its class."""

    name: str
    code: str
    needs: Need = "document"
    subject: str = ""

    @property
    def family(self) -> str:
        """The folder that contains the rule."""
        return _FAMILIES[self.code[:3]]

    @property
    def rule(self) -> type[Rule]:
        """The rule itself."""
        return _load(self.name, self.family)


CATALOG: tuple[RuleEntry, ...] = (
    RuleEntry("unreadable", "RES000", subject="refusal"),
    RuleEntry("title-missing", "RES001", subject="no title"),
    RuleEntry("agent-mismatch", "RES021", subject="agent"),
    RuleEntry("placeholder-left", "RES019", subject="bracket"),
    RuleEntry("status-missing", "RES002", subject="no status"),
    RuleEntry("status-unknown", "RES003", subject="unknown status"),
    RuleEntry("status-form", "RES004"),
    RuleEntry("summary-missing", "RES005", subject="no summary"),
    RuleEntry("summary-too-long", "RES006"),
    RuleEntry("summary-sentences", "RES007"),
    RuleEntry("findings-missing", "RES008", subject="no findings"),
    RuleEntry("references-missing", "RES009", subject="no references"),
    RuleEntry("confidence-missing", "CNF001", subject="no confidence"),
    RuleEntry("confidence-range", "CNF002"),
    RuleEntry("confidence-reason", "CNF003", subject="no reason"),
    RuleEntry("confidence-breakdown", "CNF004", subject="no breakdown"),
    RuleEntry("confidence-arithmetic", "CNF005"),
    RuleEntry("confidence-justification", "CNF006"),
    RuleEntry("confidence-uncertainty", "CNF007", subject="no uncertainty"),
    RuleEntry("checklist-missing", "RES010", subject="unfilled checklist"),
    RuleEntry("checklist-unticked", "RES011", subject="unfilled checklist"),
    RuleEntry("block-missing", "KND001"),
    RuleEntry("wrong-column", "KND002"),
    RuleEntry("empty-table", "KND003"),
    RuleEntry("severity-missing", "RES012", subject="findings"),
    RuleEntry("severity-unknown", "RES013", subject="findings"),
    RuleEntry("severity-count", "KND005", subject="severity_summary"),
    RuleEntry("detail-without-row", "KND006", subject="details"),
    RuleEntry("security-without-quote", "KND007", subject="security"),
    RuleEntry("self-conflict", "KND004"),
    RuleEntry("tradeoffs-missing", "KND008", subject="design"),
    RuleEntry("patterns-missing", "KND009", subject="design"),
    RuleEntry("blockers-missing", "RES014", subject="unfinished"),
    RuleEntry("resolution-missing", "RES022", subject="blockers"),
    RuleEntry("error-details-missing", "RES015", subject="error"),
    RuleEntry("recoverable-unknown", "RES023", subject="error"),
    RuleEntry("partial-but-complete", "RES020", subject="PARTIAL"),
    RuleEntry("next-steps-missing", "RES016", subject="no next steps"),
    RuleEntry("raw-dump", "RES017"),
    RuleEntry("result-too-long", "RES018"),
    RuleEntry("reference-missing-file", "EVD001", needs="repository", subject="missing-file"),
    RuleEntry("reference-out-of-range", "EVD002", needs="repository", subject="out-of-range"),
    RuleEntry("reference-outside", "EVD003", needs="repository", subject="outside"),
    RuleEntry("quote-mismatch", "EVD004", needs="repository", subject="mismatch"),
    RuleEntry("quote-relocated", "EVD005", needs="repository", subject="relocated"),
    RuleEntry("quote-annotated", "EVD019", needs="repository", subject="annotated"),
    RuleEntry("quote-condensed", "EVD020", needs="repository", subject="condensed"),
    RuleEntry("symbol-missing", "EVD006", needs="repository", subject="mismatch"),
    RuleEntry("reference-relocated", "EVD007", needs="repository", subject="relocated"),
    RuleEntry("reference-ambiguous", "EVD018", needs="repository", subject="ambiguous"),
    RuleEntry("reference-abbreviated", "EVD017", needs="repository", subject="abbreviated"),
    RuleEntry("reference-outdated", "EVD021", needs="repository", subject="outdated"),
    RuleEntry("command-missing", "EVD022", needs="repository", subject="command"),
    RuleEntry("test-missing", "EVD023", needs="repository", subject="test"),
    RuleEntry("commit-missing", "EVD024", needs="repository", subject="commit"),
    RuleEntry("finding-without-reference", "EVD008"),
    RuleEntry("single-source", "EVD009", subject="one file"),
    RuleEntry("planned-exists", "EVD010", needs="repository", subject="plan"),
    RuleEntry("change-count", "EVD011", needs="repository", subject="changes"),
    RuleEntry("no-tool-calls", "EVD012", needs="receipts"),
    RuleEntry("test-run-unseen", "EVD013", needs="runs", subject="statements"),
    RuleEntry("change-unseen", "EVD014", needs="changes", subject="changes"),
    RuleEntry("reference-unseen", "EVD015", needs="receipts"),
    RuleEntry("execution-unseen", "EVD016", needs="receipts"),
    RuleEntry("confidence-unsupported", "CNF008", needs="receipts"),
)

#: The only rules on the form of a text that has no recognisable part of a result; rules on claims apply to any text.
_FIRST = ("unreadable", "title-missing")

BY_NAME: dict[str, RuleEntry] = {entry.name: entry for entry in CATALOG}
BY_CODE: dict[str, str] = {entry.code: entry.name for entry in CATALOG}


@cache
def _load(name: str, family: str) -> type[Rule]:
    module = import_module(f"remit.rules.{family}.{name.replace('-', '_')}")
    rule: type[Rule] = getattr(module, name.title().replace("-", ""))
    return rule


@cache
def entries_for(profile: str, *, has_content: bool) -> tuple[RuleEntry, ...]:
    """Return the rules for a document with or without a recognisable part of a result that a profile does not omit.

    The levels of a rule may still leave it out; they are known when it is loaded.
    """
    only = PROFILES[profile].only
    return tuple(
        entry
        for entry in CATALOG
        if (only is None or entry.name in only) and (has_content or entry.needs != "document" or entry.name in _FIRST)
    )


@lru_cache(_MEMORY)
def rules_for(
    profile: str, available: frozenset[Need], subjects: frozenset[str], *, has_content: bool
) -> tuple[tuple[Rule, Level], ...]:
    """Load the rules for documents with these subjects and sources, and return each with its level in a profile."""
    entries = entries_for(profile, has_content=has_content)
    rules = [entry.rule for entry in entries if entry.needs in available and entry.subject in subjects]
    return tuple((rule(), level) for rule in rules if (level := rule.level_in(profile)) is not None)


def every_rule() -> tuple[type[Rule], ...]:
    """Load every rule, in the order of the catalogue."""
    return tuple(entry.rule for entry in CATALOG)


def find(name: str) -> RuleEntry:
    """Return the rule with that name or code."""
    entry = BY_NAME.get(BY_CODE.get(name.upper(), name.lower()))
    if entry is None:
        raise UsageError(f"there is no rule {name!r}{did_you_mean(name, BY_NAME)}; `remit rules` lists all rules")
    return entry


def expand(selectors: tuple[str, ...]) -> frozenset[str]:
    """Return the rule names that selectors stand for: a name, a code, or a family (`confidence`, `CNF`)."""
    names: set[str] = set()
    for selector in selectors:
        family = {entry.name for entry in CATALOG if selector.lower() in (entry.family, entry.code[:3].lower())}
        names |= family or {find(selector).name}
    return frozenset(names)
