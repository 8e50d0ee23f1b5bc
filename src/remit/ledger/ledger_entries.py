"""Entries of the ledger: the facts of a verdict that scorecards, calibration and learned weights need."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from remit.checking import Verdict
from remit.evidence.claims import claims_of, count_outcomes
from remit.evidence.model import Outcome

EntrySource = Literal["job", "plan", "hook", "check", "verify", "merge", "review"]
#: Outcomes of claims about something that does not exist.
INVENTED: frozenset[Outcome] = frozenset({"missing-file", "out-of-range", "outside", "mismatch"})


class LedgerEntry(msgspec.Struct, kw_only=True):
    """One verdict on a result, or the decision of a merge. `id` is 0 until it is stored."""

    #: The same verdict has the same key, however often it is recorded.
    key: str
    source: EntrySource
    id: int = 0
    at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))
    job: int | None = None
    plan: int | None = None
    session: str | None = None
    path: str = ""
    agent: str = ""
    #: The digest of the agent's definition; empty if it is unknown.
    definition: str = ""
    model: str = ""
    kind: str = ""
    profile: str = ""
    #: The checkout, and the commit that claims were checked against.
    project: str = ""
    revision: str = ""
    status: str = ""
    verdict: str = ""
    #: How a job ended.
    outcome: str = ""
    #: 1 for the first submission of a result.
    attempt: int = 1
    claimed: float | None = None
    supported: float | None = None
    verified: float | None = None
    inferred: float | None = None
    claims: int = 0
    #: The claims about something that does not exist.
    invented: int = 0
    outcomes: dict[str, int] = {}
    #: Rule -> number of violations.
    violations: dict[str, int] = {}
    findings: int = 0
    cost: float = 0.0
    tokens: int = 0
    turns: int = 0
    seconds: float | None = None


def facts_of(verdicts: Sequence[Verdict], revision: str = "") -> dict[str, Any]:
    """Return the facts of a report as fields of an entry. A report may have several results: counts are sums."""
    claims = [claim for verdict in verdicts for claim in claims_of(verdict.evidence)]
    outcomes = count_outcomes(claims)
    first = verdicts[0] if verdicts else None
    named = next((verdict.revision for verdict in verdicts if verdict.revision), None)
    return {
        "kind": first.kind if first else "",
        "profile": first.profile if first else "",
        "status": (first.status or "") if first else "",
        "revision": named or revision,
        "claimed": _mean(verdict.confidence.claimed for verdict in verdicts),
        "supported": _mean(verdict.confidence.supported for verdict in verdicts),
        "verified": _mean(verdict.confidence.verified for verdict in verdicts),
        "inferred": _mean(verdict.confidence.inferred for verdict in verdicts),
        "claims": sum(outcomes.values()),
        "invented": sum(number for outcome, number in outcomes.items() if outcome in INVENTED),
        "outcomes": outcomes,
        "findings": sum(len(verdict.document.findings) for verdict in verdicts),
    }


def document_entry(verdict: Verdict, source: EntrySource, *, project: str = "", revision: str = "") -> LedgerEntry:
    """Return the entry of a document that a person has checked.

    Its key depends on the document, its profile and the commit, not on the command: what `remit check` and
    `remit merge` both record is one entry.
    """
    facts = facts_of([verdict], revision)
    document = verdict.document
    content = (document.text, str(document.first_line)) if document.has_text else (verdict.path,)
    return LedgerEntry(
        key=f"text-{digest_parts(verdict.profile, facts['revision'], verdict.agent, *content)}",
        source=source,
        path=verdict.path,
        agent=verdict.agent,
        project=project,
        verdict=verdict.verdict,
        violations=dict(Counter(violation.rule for violation in verdict.violations)),
        **facts,
    )


def digest_parts(*parts: str | bytes) -> str:
    """Return a digest of several texts; each boundary counts."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()[:32]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None
