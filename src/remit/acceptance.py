"""Judge a subagent's report: is it accepted, and if not, what must be corrected?

Jobs and hooks both decide here. A report may contain several results; it is as good as the worst of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from remit.checking import Decision, Options, Verdict, check_document, check_text
from remit.contract.feedback import correction_text, strip_control_characters
from remit.contract.lines import is_none_text
from remit.contract.outcome import ReportedFailure, reported_failure
from remit.contract.parse import refused
from remit.contract.profiles import PROFILES
from remit.evidence.claims import explain
from remit.evidence.model import ChangeClaim, Checked
from remit.evidence.receipts import Receipt, Transcript
from remit.evidence.sources import Sources, open_sources
from remit.failure_policy import BLOCKER
from remit.lazy import lazy_pattern
from remit.rules.base import Violation
from remit.workspace.files import SourceFile, WorkTree

#: Violations of L1 that make a report unusable: a false claim, another agent's name, no status. Others are of form.
_WITHHOLDING = frozenset({*(PROFILES["claims"].only or ()), "agent-mismatch", "status-missing", "status-unknown"})
#: A result with a lower score, in percent, is to be reviewed.
_LOW_SCORE = 60
_MAX_BLOCKERS = 5
_SENTENCE = lazy_pattern(r"(?:[^.!?。！？\n]|[.!?](?=\S))+[.!?。！？]?")
#: Characters of an Uncertainty section that are searched for questions, and of the questions.
_MAX_UNCERTAINTY = 10_000
_MAX_QUESTION = 300
_FROM_BEST_TO_WORST = ("accept", "revise", "reject")
#: Lines of partial output that are handed on.
_MAX_PARTIAL_LINES = 100
_HOLDS = ("verified", "exists")
#: Claims of a report that are stored with their code; lines before and after the cited ones; lines and characters.
_MAX_CLAIMS = 200
_AROUND = 3
_MAX_CODE_LINES = 30
_MAX_CODE_LINE = 300


class ReportJudgement(msgspec.Struct, frozen=True):
    """The decision on a report, with the verdict on each of its results and all violations."""

    decision: Decision
    verdicts: Sequence[Verdict]
    #: Each has rule, code, level, line, message and help.
    violations: list[dict[str, Any]]

    @property
    def is_accepted(self) -> bool:
        """Whether every result keeps the contract."""
        return self.decision == "accept"

    @property
    def breaks_only_form(self) -> bool:
        """Whether its claims hold, under the right name and with a status: only its form is wrong."""
        return breaks_only_form(self.verdicts)

    @property
    def reasons_for_review(self) -> list[str]:
        """Why the orchestrator has to look at an accepted report: PARTIAL, a low score, blockers."""
        reasons: list[str] = []
        for verdict in self.verdicts:
            result, score = verdict.document.result, verdict.confidence.claimed
            reasons += ["its status is PARTIAL"] if result.status == "PARTIAL" else []
            if score is not None and score < _LOW_SCORE:
                asked = " ".join(_question(result.uncertainty).split())
                reasons.append(f"its confidence is {score:g}" + (f"; it asks: {asked}" if asked else ""))
            blockers = [blocker.text for blocker in result.blockers if not is_none_text(blocker.text)]
            reasons += [f"{BLOCKER}: {text}" for text in blockers[:_MAX_BLOCKERS]]
        return list(dict.fromkeys(reasons))

    @property
    def correction(self) -> str:
        """The message that asks the subagent to correct its report."""
        return strip_control_characters(correction_text(self.violations))

    @property
    def failure(self) -> ReportedFailure | None:
        """The failure that the report states: an accepted report with the status FAILED is a failure of the work."""
        return reported_failure(verdict.document.result for verdict in self.verdicts)

    @property
    def cited_locations(self) -> list[tuple[str, int]]:
        """The locations that were found where the report cites them, each as path and line."""
        references = (cited for verdict in self.verdicts for cited in verdict.evidence.references)
        return list(
            dict.fromkeys((_path(cited), cited.line) for cited in references if cited.outcome in _HOLDS and cited.line)
        )

    @property
    def analysed_files(self) -> list[str]:
        """The files that an accepted report covers: its Key References that exist and that the subagent opened."""
        if not self.is_accepted:
            return []
        references = (reference for verdict in self.verdicts for reference in verdict.evidence.references)
        opened = (reference for reference in references if reference.outcome in _HOLDS and reference.opened != "no")
        return sorted({_path(reference) for reference in opened if reference.section == "references"})


def judge_report(
    text: str,
    options: Options,
    repo: str | os.PathLike[str],
    *,
    path: str = "-",
    transcripts: Iterable[Transcript] = (),
    receipts: Iterable[Receipt] | None = None,
) -> ReportJudgement:
    """Check a report against the contract, the checkout and what the subagent did.

    `receipts` or `transcripts` record the subagent's tool calls. `path` names the report in its verdicts.
    """
    with open_sources(repo, transcripts=transcripts, records=receipts) as sources:
        # The report is the answer of an agent: no word of it excuses a claim.
        verdicts = check_text(text, path, replace(options, text="report"), sources)
    decision = max((verdict.verdict for verdict in verdicts), key=_FROM_BEST_TO_WORST.index)
    return ReportJudgement(
        decision, verdicts, [_violation(fault) for verdict in verdicts for fault in verdict.violations]
    )


def unverified_report(reason: str, options: Options, *, path: str = "-") -> ReportJudgement:
    """Return the judgement on a report that was not checked: it is not accepted."""
    verdict = check_document(refused(f"it was not verified, because {reason}"), path, options, Sources())
    return ReportJudgement("reject", [verdict], [_violation(violation) for violation in verdict.violations])


def breaks_only_form(verdicts: Sequence[Verdict]) -> bool:
    """Return whether the claims of results hold, under the right name and with a status: only their form is wrong.

    A report without a title has no status either; it needs a location that holds.
    """
    rules = {violation.rule for verdict in verdicts for violation in verdict.violations if violation.level == "L1"}
    untitled = [verdict for verdict in verdicts if not verdict.document.result.status]
    return not rules & _WITHHOLDING and all(any(holding_lines(verdict).values()) for verdict in untitled)


def verified_part(text: str, verdicts: Sequence[Verdict]) -> str:
    """Return the lines of a report that cite code or changes and whose every claim holds, or an empty text.

    This is what may be handed on of a report that was rejected or that its subagent did not finish.
    """
    holds = {line: kept for verdict in verdicts for line, kept in holding_lines(verdict).items()}
    lines = text.split("\n")
    kept = [lines[number - 1].strip() for number in sorted(holds) if holds[number] and 0 < number <= len(lines)]
    return "\n".join(kept[:_MAX_PARTIAL_LINES])


def holding_lines(verdict: Verdict) -> dict[int, bool]:
    """Return the lines of a report that cite code or changes, each with whether its every claim holds."""
    evidence = verdict.evidence
    claims: list[Checked | ChangeClaim] = [*evidence.references, *evidence.quotes, *evidence.changes]
    holds: dict[int, bool] = {}
    for claim in claims:
        holds[claim.at] = holds.get(claim.at, True) and claim.outcome in _HOLDS
    return holds


def claims_with_code(verdicts: Sequence[Verdict], repo: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the references of a report with their outcomes and the cited lines, to be stored with its verdict.

    The code is stored because a page that shows it later may be on another host, and the files may have changed.
    """
    tree = WorkTree(repo)
    claims = []
    for reference in [checked for verdict in verdicts for checked in verdict.evidence.references][:_MAX_CLAIMS]:
        target = reference.found.path if reference.found is not None else reference.file
        line = reference.found.line if reference.found is not None and reference.found.line else reference.line
        file = tree.read(target) if reference.commit is None else None
        code = _excerpt(file, line, reference.end_line) if isinstance(file, SourceFile) else None
        names = ("text", "path", "line", "end_line", "at", "outcome", "reason")
        entry: dict[str, Any] = {name: getattr(reference, name) for name in names} | {"why": explain(reference)}
        where = None if reference.found is None else {"path": reference.found.path, "line": reference.found.line}
        claims.append({**entry, "found": where, "code": code})
    return claims


def _question(uncertainty: str) -> str:
    """Return the sentences of an Uncertainty section that are questions."""
    sentences = _SENTENCE.findall(uncertainty[:_MAX_UNCERTAINTY])
    return " ".join(sentence.strip() for sentence in sentences if sentence.endswith(("?", "？")))[:_MAX_QUESTION]


def _excerpt(file: SourceFile, line: int | None, end_line: int | None) -> dict[str, Any] | None:
    if line is None or not 0 < line <= len(file.lines):
        return None
    start = max(1, line - _AROUND)
    last = min(max(line, end_line or 0) + _AROUND, start + _MAX_CODE_LINES)
    return {"start": start, "text": "\n".join(text[:_MAX_CODE_LINE] for text in file.shown_lines(start, last))}


def _path(reference: Checked) -> str:
    """Return the path of the file: a reference may name only its end."""
    return reference.found.path if reference.outcome in _HOLDS and reference.found else reference.path


def _violation(violation: Violation) -> dict[str, Any]:
    return {
        "rule": violation.rule,
        "code": violation.code,
        "level": violation.level,
        "line": violation.line,
        "message": violation.message,
        "help": violation.help,
    }
