"""What is published of a verification of documents: each claim that does not hold, with its correction.

Documents are hostile: their words are escaped, and a correction that could be read as a mark of a comment, or that a
person could not see as it is, is not suggested.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from remit.errors import UsageError
from remit.evidence.claims import ClaimEntry
from remit.evidence.model import Then
from remit.publishing.comments import Comment, Publication, quiet_text
from remit.reports.accusations import message_of, rule_of
from remit.reports.merge.parts import safe_text
from remit.reports.shapes import CheckShape, ClaimShape, FixShape
from remit.workspace.files import SourceFile, Workspace

#: Who reports claims. No agent has this name: the names of agents have no spaces.
REPORTER = "remit verify"
SCHEMA = "remit.check/1"
_MAX_MESSAGE = 600
_MAX_SUGGESTED = 2_000
_FINGERPRINT = 12
_TICKS = re.compile(r"`+")
#: What starts a comment of HTML, and so the mark of an earlier run.
_COMMENT = "<!--"


def read_claims(data: bytes, name: str) -> CheckShape:
    """Decode the JSON of `remit verify`."""
    try:
        report = msgspec.json.decode(data, type=CheckShape)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: not a valid {SCHEMA} document: {error}") from error
    if any(result.profile != "claims" for result in report.results):
        raise UsageError(f"{name}: it has results of agents; publish a merge of them: remit merge --format json")
    return report


def publication_of_claims(report: CheckShape, workspace: Workspace | None) -> Publication:
    """Return the claims that do not hold as comments: those that are certain or likely."""
    comments = tuple(_comments(report, workspace))
    return Publication(
        comments,
        frozenset(comment.fingerprint for comment in comments),
        frozenset((REPORTER,)),
        noun=("claim of a document that does not hold", "claims of documents that do not hold"),
        heading="Outside the lines of the diff:",
        is_line_needed=True,
    )


def _comments(report: CheckShape, workspace: Workspace | None) -> Iterator[Comment]:
    numbers: Counter[str] = Counter()
    fixes: dict[tuple[str, int], list[FixShape]] = {}
    for fix in report.fixes or ():
        fixes.setdefault((fix.path, fix.line), []).append(fix)
    for result in report.results:
        path = workspace.normal(os.path.abspath(result.path)) if workspace is not None else None  # noqa: PTH100
        if not path:
            continue
        for claim in result.claims:
            if claim.reliability not in ("certain", "likely"):
                continue
            fingerprint = _fingerprint(path, claim)
            numbers[fingerprint] += 1
            number = numbers[fingerprint]
            suggestion = _suggestion(workspace, path, claim.at, fixes.get((result.path, claim.at), []))
            code = fingerprint if number == 1 else f"{fingerprint}-{number}"
            yield Comment(code, (REPORTER,), path, claim.at, claim.at, _text(claim) + suggestion)


def _fingerprint(path: str, claim: ClaimShape) -> str:
    """Identify a claim by its document, its rule and its words; its line may change."""
    whole = "\0".join((path, "claim", rule_of(_entry(claim)), claim.kind, claim.text, claim.path, claim.name))
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:_FINGERPRINT]


def _text(claim: ClaimShape) -> str:
    entry = _entry(claim)
    title = "Outdated" if claim.outcome == "outdated" else "Not true"
    message = quiet_text(safe_text(message_of(entry), _MAX_MESSAGE))
    return f"**{title}** ({claim.reliability}): {message}\n\n<sub>{REPORTER}, {rule_of(entry)}</sub>"


def _entry(claim: ClaimShape) -> ClaimEntry:
    return ClaimEntry(
        kind=claim.kind,
        text=claim.text,
        at=claim.at,
        outcome=claim.outcome,
        path=claim.path,
        line=claim.line,
        end_line=claim.end_line,
        name=claim.name,
        reliability=claim.reliability,
        reason=claim.reason,
        why=claim.why,
        found=claim.found,
        then=Then(claim.then.commit, claim.then.date) if claim.then is not None else None,
        fails=True,
    )


def _suggestion(workspace: Workspace | None, path: str, number: int, fixes: list[FixShape]) -> str:
    """Return the corrected line of a document as a suggestion of GitHub; empty without a correction."""
    file = workspace.read(path) if workspace is not None and fixes else None
    if not isinstance(file, SourceFile) or not 1 <= number <= len(file.lines):
        return ""
    line = corrected = file.lines[number - 1]
    for fix in fixes:
        if fix.old not in corrected:
            return ""
        corrected = corrected.replace(fix.old, fix.new, 1)
    if corrected == line or _COMMENT in corrected or len(corrected) > _MAX_SUGGESTED:
        return ""
    if not corrected.replace("\t", "").isprintable():
        return ""
    marks = "`" * max(3, max(map(len, _TICKS.findall(corrected)), default=0) + 1)
    return f"\n\n{marks}suggestion\n{corrected}\n{marks}"
