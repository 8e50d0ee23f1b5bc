"""A verdict or a merge as an in-toto statement: a Simple Verification Result, version 0.2.

The statement names what was verified by digest, who verified it by which policy, and the properties that hold. It is
not signed; any tool that signs in-toto statements can do that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from remit.checking import Options, Verdict
from remit.digests import sha256_of
from remit.evidence.claims import HOLDING, claims_of
from remit.merging.merge_data import SCALE, Merge, MergeSettings
from remit.rules.catalog import every_rule

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/svr/v0.2"
_PREFIX = "REMIT"


class Subject(NamedTuple):
    """Something that was verified: a name, and its digest by an algorithm."""

    name: str
    algorithm: str
    digest: str


def document_subject(name: str, data: bytes) -> Subject:
    """Return a document as a subject."""
    return Subject(name, "sha256", sha256_of(data))


def commit_subject(commit: str) -> Subject:
    """Return a commit of the checkout as a subject."""
    return Subject(f"commit {commit[:12]}", "gitCommit", commit)


def statement(
    subjects: Sequence[Subject], properties: Iterable[str], policy: Mapping[str, Any], version: str, created: datetime
) -> dict[str, Any]:
    """Return the statement. It is the same for the same input and time."""
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": subject.name, "digest": {subject.algorithm: subject.digest}} for subject in _distinct(subjects)
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "verifier": {"id": f"pkg:pypi/remit@{version}", "policies": [_policy_descriptor(policy)]},
            "timeCreated": created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "properties": sorted(set(properties)),
        },
    }


def _distinct(subjects: Sequence[Subject]) -> list[Subject]:
    """Return each subject once; a name that occurs with another digest gets a number, because names must differ."""
    used: set[str] = set()
    distinct = []
    for subject in dict.fromkeys(subjects):
        name, number = subject.name, 2
        while name in used:
            name, number = f"{subject.name} ({number})", number + 1
        used.add(name)
        distinct.append(subject._replace(name=name))
    return distinct


def _policy_descriptor(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy with its digest: the SHA-256 of its JSON with sorted keys and without white space."""
    data = msgspec.json.encode(policy, order="sorted")
    return {
        "name": str(policy["schema"]),
        "digest": {"sha256": sha256_of(data)},
        "mediaType": "application/json",
        "annotations": {"remit_policy": msgspec.json.decode(data)},
    }


def check_policy(options: Options) -> dict[str, Any]:
    """Return what a check depends on: the rules with their levels, and the options that change them."""
    levels = {rule.code: level for rule in every_rule() if (level := rule.level_in(options.profile)) is not None}
    fields = {name: getattr(options, name) for name in options.__struct_fields__}
    return {"schema": "remit.check-policy/1", "rules": levels, **msgspec.to_builtins(fields)}


def merge_policy(options: Options, settings: MergeSettings, filters: Mapping[str, str | None]) -> dict[str, Any]:
    """Return what a merge depends on: the check of its inputs, the settings, and which findings are left out."""
    merging = {**msgspec.to_builtins(settings), **filters}
    return {"schema": "remit.merge-policy/1", "check": check_policy(options), "merge": merging}


def check_properties(verdicts: Sequence[Verdict], options: Options) -> list[str]:
    """Return the properties that hold for all verdicts; none without a verdict.

    With a choice of rules, or if likely accusations do not fail, a verdict is not one of the profile.
    """
    if not verdicts:
        return []
    claims = [claim for verdict in verdicts for claim in claims_of(verdict.evidence)]
    is_custom = bool(options.select or options.ignore) or options.least == "certain"
    profiles = {"custom"} if is_custom else {verdict.profile for verdict in verdicts}
    is_accepted = all(verdict.accepted for verdict in verdicts)
    held = {
        **{f"ACCEPTED_{profile.upper()}": is_accepted for profile in profiles},
        "NO_VIOLATIONS": not any(verdict.violations for verdict in verdicts),
        "CLAIMS_VERIFIED": bool(claims) and all(claim.outcome in HOLDING for claim in claims),
        "RECEIPTS_CHECKED": is_accepted and all(verdict.evidence.has_receipts for verdict in verdicts),
    }
    return [f"{_PREFIX}_{name}" for name, is_held in held.items() if is_held]


def merge_properties(merged: Merge, *, is_filtered: bool) -> list[str]:
    """Return the properties that hold for a merge. That something was not found counts only if no input failed.

    `is_filtered`: findings of an earlier merge or on unchanged lines were left out, so there are no *new* ones.
    """
    new = "NEW_" if is_filtered else ""
    is_whole = merged.status == "SUCCESS"
    severities = {finding.severity for finding in merged.findings}
    held = {
        "MERGE_SUCCESS": is_whole,
        "MERGE_CONTINUE": merged.decision == "continue",
        "NO_CONFLICTS": is_whole and not merged.conflicts,
        **{
            f"NO_{new}{severity.upper()}_FINDINGS": is_whole and not severities & set(SCALE[SCALE.index(severity) :])
            for severity in SCALE
        },
    }
    return [f"{_PREFIX}_{name}" for name, is_held in held.items() if is_held]
