"""`check(document) -> Verdict`: run the rules on a result and decide whether it is accepted.

Four questions are kept separate: whether a run executed, whether the document is valid, whether its claims hold,
and whether it is accepted. This module derives the answer to the last one from the two before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import msgspec

from remit.contract.feedback import correction_text, strip_control_characters
from remit.contract.kinds import KINDS, kind_of, slug
from remit.contract.parse import MAX_BYTES, Document, parse, parse_whole, refused
from remit.contract.profiles import PROFILES, Level
from remit.contract.result_data import Score
from remit.errors import UsageError, did_you_mean
from remit.evidence.gather import Asked, gather
from remit.evidence.model import Evidence, TextKind
from remit.evidence.read_places import TooManyClaims
from remit.evidence.sources import Sources
from remit.rules.base import Case, Fault, Need, Rule, Violation
from remit.rules.catalog import expand, find, find_name, rules_in

#: A longer string is not a path.
_MAX_PATH = 1000
Decision = Literal["accept", "revise", "reject"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a check."""

    profile: str = "v2"
    kind: str | None = None
    #: The kinds of agents that the contract does not define, by agent name.
    kinds: Mapping[str, str] = {}
    attempt: int = 1
    overrides: tuple[tuple[str, str], ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    #: The files that the agent was asked to examine; with one file, a single source is allowed.
    scope: tuple[str, ...] = ()
    #: The agent that was asked, if the caller knows: a result under another name is refused.
    agent: str | None = None

    #: Whether a claim that does not hold is looked up in the history. Subagents work on the checkout as it is.
    with_history: bool = False
    #: What a text is that is not a result; None: a document if it is a file, else a report.
    text: TextKind | None = None

    @property
    def requires_form(self) -> bool:
        """Whether a document has to be a result; if not, any text is a document."""
        return PROFILES[self.profile].only is None

    def validated(self) -> Options:
        """Return the same options, or raise UsageError for a value that does not exist."""
        if self.profile not in PROFILES:
            near = did_you_mean(self.profile, PROFILES)
            raise UsageError(f"there is no profile {self.profile!r}{near}; choose from {', '.join(PROFILES)}")
        for kind in filter(None, (self.kind, *self.kinds.values())):
            if kind not in KINDS:
                near = did_you_mean(kind, KINDS)
                raise UsageError(f"there is no kind {kind!r}{near}; choose from {', '.join(KINDS)}")
        if self.attempt < 1:
            raise UsageError(f"the attempt must be at least 1, not {self.attempt}")
        for rule, reason in self.overrides:
            if not reason.strip():
                raise UsageError(f"an override of {rule} needs a reason: {rule}=REASON")
            find(rule)
        expand(self.select + self.ignore)
        return self

    def without_ignored_l1(self) -> Options:
        """Return the same options, or raise UsageError if `ignore` names an L1 rule. Those of a family stay."""
        for selector in self.ignore:
            if (name := find_name(selector)) in _always_checked(self.profile):
                raise UsageError(f"{name} has the level L1 and is never ignored: leave it out of `ignore`")
        return self


class Recorded(msgspec.Struct, frozen=True):
    """An effective override: its rule and its reason."""

    rule: str
    reason: str


class NotRun(msgspec.Struct, frozen=True):
    """A rule that could not be checked, and the reason."""

    rule: str
    why: str


class Scores(msgspec.Struct, frozen=True):
    """The confidence that the result claims, and the confidence that its evidence supports."""

    claimed: float | None = None
    verified: float | None = None
    inferred: float | None = None
    supported: float | None = None


class Verdict(msgspec.Struct, frozen=True):
    """The outcome of a check of one result."""

    path: str
    agent: str
    kind: str
    profile: str
    status: str | None
    verdict: Decision
    confidence: Scores
    violations: tuple[Violation, ...]
    overrides: tuple[Recorded, ...]
    not_run: tuple[NotRun, ...]
    evidence: Evidence
    document: Document
    #: The commit that the caller chose; None: the files on disk.
    revision: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the result is accepted."""
        return self.verdict == "accept"

    @property
    def correction(self) -> str:
        """The text that asks the agent to fix the violations and to resend the result; empty if it is accepted."""
        return "" if self.accepted else strip_control_characters(correction_text(msgspec.to_builtins(self.violations)))


def looks_like_path(text: str) -> bool:
    """Return whether a string was meant as a path, with a warning: a text may look like one, too."""
    if "\n" in text or len(text) >= _MAX_PATH or not Path(text).suffix or "\0" in text:
        return "\0" in text  # refused later
    warnings.warn("a string will be read as text: pass pathlib.Path(...) for a file", DeprecationWarning, stacklevel=4)
    return True


def check_text(
    source: str | bytes, path: str = "-", options: Options | None = None, sources: Sources | None = None
) -> list[Verdict]:
    """Return a verdict for each result in a text. In a profile without a form, the whole text is one document."""
    options = (options or Options()).validated()
    read = parse if options.requires_form else parse_whole
    return [check_document(document, path, options, sources or Sources()) for document in read(source)]


def check_document(document: Document, path: str, options: Options, sources: Sources) -> Verdict:
    """Return a verdict for one parsed result. `options` must have been validated."""
    result = document.result
    signed = result.agent or options.agent or ""
    kind = KINDS["error"] if result.failed else kind_of(signed, _named_kind(signed, options))
    asked = Asked(
        with_history=options.with_history and not sources.has_rev,
        text="report" if options.requires_form else options.text,
    )
    try:
        evidence = gather(document, kind, sources, path, asked) if document.has_text else Evidence()
    except TooManyClaims as error:
        document, evidence = refused(str(error)), Evidence()
    sources.close_commits()
    case = Case(
        document=document,
        kind=kind,
        profile=options.profile,
        evidence=evidence,
        scope=options.scope,
        agent=options.agent or "",
    )
    violations = _selected(_run(case), options)
    overrides = _overrides(document, options)
    confidence = result.confidence
    return Verdict(
        path=path,
        agent=slug(result.agent),
        kind=kind.name,
        profile=options.profile,
        status=result.status or None,
        verdict=_decide(document, violations, overrides, options),
        confidence=Scores(
            claimed=_as_number(confidence.score if confidence else None),
            verified=_as_number(confidence.verified if confidence else None),
            inferred=_as_number(confidence.inferred if confidence else None),
            supported=evidence.supported,
        ),
        violations=violations,
        overrides=overrides,
        not_run=_not_run(case, options) if document.has_text else (),
        evidence=evidence,
        document=document,
        revision=getattr(sources.workspace, "id", None) if sources.has_rev else None,
    )


def with_evidence(verdict: Verdict, evidence: Evidence, options: Options) -> Verdict:
    """Return the verdict on the same document with other evidence."""
    case = Case(
        document=verdict.document,
        kind=KINDS[verdict.kind],
        profile=options.profile,
        evidence=evidence,
        scope=options.scope,
        agent=options.agent or "",
    )
    violations = _selected(_run(case), options)
    return msgspec.structs.replace(
        verdict,
        verdict=_decide(verdict.document, violations, verdict.overrides, options),
        violations=violations,
        evidence=evidence,
    )


def read_source(path: Path) -> bytes:
    """Return the content of a file, at most one byte more than the limit; raise UsageError if it cannot be read."""
    if "\0" in str(path):
        raise UsageError(f"{str(path)!r} contains a NUL character, which a path cannot have")
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error


def _named_kind(agent: str, options: Options) -> str | None:
    return options.kind or {slug(name): kind for name, kind in options.kinds.items()}.get(slug(agent))


def _rules(case: Case) -> Iterator[tuple[Rule, Level]]:
    """Yield the rules for a document. Of those on the form, only two apply to a text that is not a result."""
    for rule, level in rules_in(case.profile):
        if case.kind.is_short and not rule.in_short_form:
            continue
        if case.document.has_content or rule.needs != "document" or rule.name in ("unreadable", "title-missing"):
            yield rule, level


def _run(case: Case) -> list[Violation]:
    available = _available(case.evidence)
    by_rule: dict[str, list[Violation]] = {}
    for rule, level in _rules(case):
        if rule.needs not in available or (by_rule and not by_rule.keys().isdisjoint(rule.requires)):
            continue
        if violations := [_violation(rule, level, fault, case) for fault in rule.check(case)]:
            by_rule[rule.name] = violations
    unfilled = {violation.line for violation in by_rule.get("placeholder-left", ())}
    return [
        violation
        for name, violations in by_rule.items()
        for violation in violations
        if name == "placeholder-left" or violation.line not in unfilled
    ]


def _available(evidence: Evidence) -> frozenset[Need]:
    """Return what the rules that can run may need."""
    has: dict[Need, bool] = {
        "document": True,
        "repository": evidence.has_repository,
        "receipts": evidence.has_receipts,
        "changes": evidence.has_receipts or evidence.has_snapshot,
    }
    return frozenset(need for need, is_there in has.items() if is_there)


def _not_run(case: Case, options: Options) -> tuple[NotRun, ...]:
    """Return the rules that could not be checked, each with the missing source."""
    wanted, available = _selection(options), _available(case.evidence)
    missing: dict[Need, str] = {need: _missing(need, case.evidence) for need in get_args(Need) if need not in available}
    return tuple(
        NotRun(rule.name, missing[rule.needs])
        for rule, _ in _rules(case)
        if rule.needs in missing and wanted(rule.name)
    )


def _missing(need: Need, evidence: Evidence) -> str:
    if need == "repository":
        return "no repository was given"
    return evidence.receipts_problem or "no receipts were given"


def _violation(rule: Rule, level: Level, fault: Fault, case: Case) -> Violation:
    return Violation(
        rule=rule.name,
        code=rule.code,
        # A fault may have a lower level than its rule, never a higher one: a profile lowers all of a rule.
        level=max(level, fault.level) if fault.level else level,
        line=case.document.locate(fault.line, fault.mark) if fault.mark else fault.line,
        message=fault.message,
        help=fault.help or rule.help,
        mark=fault.mark,
    )


def _selected(violations: list[Violation], options: Options) -> tuple[Violation, ...]:
    wanted = _selection(options)
    kept = (violation for violation in violations if wanted(violation.rule))
    return tuple(sorted(kept, key=lambda violation: violation.line))


def _selection(options: Options) -> Callable[[str], bool]:
    select, ignore, always = expand(options.select), expand(options.ignore), _always_checked(options.profile)
    return lambda name: name in always or ((not select or name in select) and name not in ignore)


@cache
def _always_checked(profile: str) -> frozenset[str]:
    """Return the rules of level L1, which nothing selects or ignores."""
    return frozenset(rule.name for rule, level in rules_in(profile) if level == "L1")


def _overrides(document: Document, options: Options) -> tuple[Recorded, ...]:
    """Return the overrides that name an existing rule and a reason; the caller's override has priority."""
    stated = [(override.rule, override.reason) for override in document.result.overrides]
    recorded: dict[str, str] = {}
    for rule, reason in (*options.overrides, *stated):
        name = find_name(rule) if reason.strip() else None
        if name:
            recorded.setdefault(name, reason.strip())
    return tuple(Recorded(rule, reason) for rule, reason in recorded.items())


def _decide(
    document: Document, violations: Iterable[Violation], overrides: tuple[Recorded, ...], options: Options
) -> Decision:
    if document.refusal or (options.requires_form and not document.has_text):
        return "reject"  # there is no part that the author could correct
    excused = {override.rule for override in overrides}
    levels = {v.level for v in violations if v.level == "L1" or v.rule not in excused}
    if "L1" in levels:
        return "revise" if options.attempt == 1 else "reject"
    return "revise" if "L2" in levels and options.attempt == 1 else "accept"


def _as_number(score: Score | None) -> float | None:
    return score if isinstance(score, float) else None
