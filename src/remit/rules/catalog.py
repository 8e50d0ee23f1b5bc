"""The catalogue: every rule, listed by hand in the order in which the rules are checked and shown.

A rule comes after the rules it requires. A test verifies that no rule class is missing here.
"""

from __future__ import annotations

from remit.errors import UsageError, did_you_mean
from remit.rules.base import Rule
from remit.rules.confidence.confidence_arithmetic import ConfidenceArithmetic
from remit.rules.confidence.confidence_breakdown import ConfidenceBreakdown
from remit.rules.confidence.confidence_justification import ConfidenceJustification
from remit.rules.confidence.confidence_missing import ConfidenceMissing
from remit.rules.confidence.confidence_range import ConfidenceRange
from remit.rules.confidence.confidence_reason import ConfidenceReason
from remit.rules.confidence.confidence_uncertainty import ConfidenceUncertainty
from remit.rules.confidence.confidence_unsupported import ConfidenceUnsupported
from remit.rules.evidence.change_count import ChangeCount
from remit.rules.evidence.change_unseen import ChangeUnseen
from remit.rules.evidence.execution_unseen import ExecutionUnseen
from remit.rules.evidence.finding_without_reference import FindingWithoutReference
from remit.rules.evidence.no_tool_calls import NoToolCalls
from remit.rules.evidence.planned_exists import PlannedExists
from remit.rules.evidence.quote_annotated import QuoteAnnotated
from remit.rules.evidence.quote_condensed import QuoteCondensed
from remit.rules.evidence.quote_mismatch import QuoteMismatch
from remit.rules.evidence.quote_relocated import QuoteRelocated
from remit.rules.evidence.reference_abbreviated import ReferenceAbbreviated
from remit.rules.evidence.reference_ambiguous import ReferenceAmbiguous
from remit.rules.evidence.reference_missing_file import ReferenceMissingFile
from remit.rules.evidence.reference_out_of_range import ReferenceOutOfRange
from remit.rules.evidence.reference_outside import ReferenceOutside
from remit.rules.evidence.reference_relocated import ReferenceRelocated
from remit.rules.evidence.reference_unseen import ReferenceUnseen
from remit.rules.evidence.single_source import SingleSource
from remit.rules.evidence.symbol_missing import SymbolMissing
from remit.rules.evidence.test_run_unseen import TestRunUnseen
from remit.rules.kinds.block_missing import BlockMissing
from remit.rules.kinds.detail_without_row import DetailWithoutRow
from remit.rules.kinds.empty_table import EmptyTable
from remit.rules.kinds.patterns_missing import PatternsMissing
from remit.rules.kinds.security_without_quote import SecurityWithoutQuote
from remit.rules.kinds.self_conflict import SelfConflict
from remit.rules.kinds.severity_count import SeverityCount
from remit.rules.kinds.tradeoffs_missing import TradeoffsMissing
from remit.rules.kinds.wrong_column import WrongColumn
from remit.rules.result.agent_mismatch import AgentMismatch
from remit.rules.result.blockers_missing import BlockersMissing
from remit.rules.result.checklist_missing import ChecklistMissing
from remit.rules.result.checklist_unticked import ChecklistUnticked
from remit.rules.result.error_details_missing import ErrorDetailsMissing
from remit.rules.result.findings_missing import FindingsMissing
from remit.rules.result.next_steps_missing import NextStepsMissing
from remit.rules.result.partial_but_complete import PartialButComplete
from remit.rules.result.placeholder_left import PlaceholderLeft
from remit.rules.result.raw_dump import RawDump
from remit.rules.result.recoverable_unknown import RecoverableUnknown
from remit.rules.result.references_missing import ReferencesMissing
from remit.rules.result.resolution_missing import ResolutionMissing
from remit.rules.result.result_too_long import ResultTooLong
from remit.rules.result.severity_missing import SeverityMissing
from remit.rules.result.severity_unknown import SeverityUnknown
from remit.rules.result.status_form import StatusForm
from remit.rules.result.status_missing import StatusMissing
from remit.rules.result.status_unknown import StatusUnknown
from remit.rules.result.summary_missing import SummaryMissing
from remit.rules.result.summary_sentences import SummarySentences
from remit.rules.result.summary_too_long import SummaryTooLong
from remit.rules.result.title_missing import TitleMissing
from remit.rules.result.unreadable import Unreadable

#: The only rules on the form of a text that has no recognisable part of a result.
ENTRY: tuple[type[Rule], ...] = (Unreadable, TitleMissing)

CATALOG: tuple[type[Rule], ...] = (
    *ENTRY,
    AgentMismatch,
    PlaceholderLeft,
    StatusMissing,
    StatusUnknown,
    StatusForm,
    SummaryMissing,
    SummaryTooLong,
    SummarySentences,
    FindingsMissing,
    ReferencesMissing,
    ConfidenceMissing,
    ConfidenceRange,
    ConfidenceReason,
    ConfidenceBreakdown,
    ConfidenceArithmetic,
    ConfidenceJustification,
    ConfidenceUncertainty,
    ChecklistMissing,
    ChecklistUnticked,
    BlockMissing,
    WrongColumn,
    EmptyTable,
    SeverityMissing,
    SeverityUnknown,
    SeverityCount,
    DetailWithoutRow,
    SecurityWithoutQuote,
    SelfConflict,
    TradeoffsMissing,
    PatternsMissing,
    BlockersMissing,
    ResolutionMissing,
    ErrorDetailsMissing,
    RecoverableUnknown,
    PartialButComplete,
    NextStepsMissing,
    RawDump,
    ResultTooLong,
    ReferenceMissingFile,
    ReferenceOutOfRange,
    ReferenceOutside,
    QuoteMismatch,
    QuoteRelocated,
    QuoteAnnotated,
    QuoteCondensed,
    SymbolMissing,
    ReferenceRelocated,
    ReferenceAmbiguous,
    ReferenceAbbreviated,
    FindingWithoutReference,
    SingleSource,
    PlannedExists,
    ChangeCount,
    NoToolCalls,
    TestRunUnseen,
    ChangeUnseen,
    ReferenceUnseen,
    ExecutionUnseen,
    ConfidenceUnsupported,
)

#: The rules on claims, which apply to any text.
CLAIMS: tuple[type[Rule], ...] = tuple(rule for rule in CATALOG if rule.needs != "document")

BY_NAME: dict[str, type[Rule]] = {rule.name: rule for rule in CATALOG}
BY_CODE: dict[str, str] = {rule.code: rule.name for rule in CATALOG}


def find(name: str) -> type[Rule]:
    """Return the rule with that name or code."""
    rule = BY_NAME.get(BY_CODE.get(name.upper(), name.lower()))
    if rule is None:
        raise UsageError(f"there is no rule {name!r}{did_you_mean(name, BY_NAME)}; `remit rules` lists all rules")
    return rule


def expand(selectors: tuple[str, ...]) -> frozenset[str]:
    """Return the rule names that selectors stand for: a name, a code, or a family (`confidence`, `CNF`)."""
    names: set[str] = set()
    for selector in selectors:
        family = {rule.name for rule in CATALOG if selector.lower() in (rule.family(), rule.code[:3].lower())}
        names |= family or {find(selector).name}
    return frozenset(names)
