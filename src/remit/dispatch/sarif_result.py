"""What a program printed as SARIF, as a result in the contract: so a linter is a subagent like any other.

The result vouches only for what it cites. A finding whose place is not in the checkout keeps its row, and the
place it claimed is told in words. Words of the program hold no reference, link, tag or code span; code is copied
from the checkout. Where that breaks a rule that may be overridden, the override says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import msgspec

from remit.contract import model
from remit.contract.headings import BOXES
from remit.contract.kinds import slug
from remit.contract.render import render
from remit.dispatch.sarif_review import Review, as_words, reviewed, severity_of, why_no_password
from remit.errors import UsageError
from remit.merging.model import SCALE, Sighting
from remit.merging.sarif import open_sarif
from remit.merging.sarif_values import Fields, as_dict, as_list, as_text, as_utf8, opened
from remit.workspace.files import Workspace, WorkTree

#: Entries of a shorter list.
_MAX_LISTED = 10
#: As sure as a program's word alone makes; a finding's own score stands in its row.
_SUREST = 84.0

_COLUMNS = ("ID", "Issue", "File:Line", "Severity", "Confidence", "Category")
_BOX_WORDS = {
    "references_valid": "each cited place was looked up in the checkout",
    "snippets_accurate": "quoted lines are copied from the checkout",
    "no_invented_paths": "a place that is not in the checkout is told in words and not cited",
    "evidence_documented": "each finding names its rule, and its place where that holds",
}


def sarif_result(data: bytes, agent: str, root: Path, kind: str = "review") -> str:
    """The Markdown of a result made of a program's SARIF; FAILED if the program failed or it is no SARIF."""
    checkout = WorkTree(root)
    name = as_words(agent, checkout, 80) if slug(agent) else "unnamed"
    if kind not in ("review", "generic"):
        wrong = as_words(f"SARIF holds findings: they make a review, not a result of kind {kind}", checkout)
        return render(_failure(name, "WrongKind", wrong, "Give the definition the kind review"))
    try:
        reports, left_out = open_sarif(data, f"{slug(agent)}.sarif", checkout, {})
    except UsageError as error:
        message = as_words(str(error).partition(": ")[2], checkout)
        return render(_failure(name, "NotSarif", message, "Let the program print SARIF 2.1.0 and nothing else"))
    review = reviewed(reports, left_out["unreadable"] + left_out["over the limit"], checkout)
    result = _finished(name, review)
    if review.status == "FAILED":
        remedy = "Mend what the program complains of and run it again"
        result = _failure(name, "RunFailed", _complaint(data, checkout), remedy)
    return render(_with_findings(result, review, checkout, kind) if review.entries else result)


def _finished(name: str, review: Review) -> model.Result:
    ticks = (model.Tick(text=f"**{BOXES[key][0]}**: {did}", ticked=True) for key, did in _BOX_WORDS.items())
    # Of itself it is as sure as of what it may be right about.
    confidence = _confidence([one for one in review.sightings if not why_no_password(one)])
    unsure = "The program may raise false alarms and name places that do not hold; a look at each would settle it."
    step = "Mend or dismiss each finding, the worst first" if review.entries else "Go on: nothing was reported"
    return model.Result(
        agent=name,
        status=review.status,
        summary=_summary(review),
        findings=(model.Block(heading="Issues Detected", content=(model.Text(text="No issues were found."),)),),
        references=(model.KeyReference(item="None", location="-", relevance="-"),),
        confidence=confidence,
        uncertainty=unsure if float(confidence.score) < 70 else "",
        checklist=tuple(ticks),
        blockers=tuple(model.Blocker(text=text, resolution=remedy) for text, remedy in _gaps(review)),
        next_steps=(*(["Settle what Blockers name"] if review.status == "PARTIAL" else []), step),
    )


def _failure(name: str, error: str, message: str, remedy: str) -> model.Result:
    return model.Result(
        agent=name,
        status="FAILED",
        summary="The program gave no result that can be relied on. Error Details say why.",
        blockers=(model.Blocker(text="There is no complete list of findings", resolution=remedy),),
        error=model.ErrorDetails(type=error, message=message, occurred_at="the program's run", recoverable="true"),
        attempted_actions=("Ran the program and read what it printed as SARIF",),
        root_cause=message,
        recovery_options=(remedy,),
        next_steps=(remedy,),
    )


def _complaint(data: bytes, checkout: Workspace) -> str:
    """What a failed program says of its own run."""
    log = opened(as_utf8(data), Fields) or {}
    runs = [opened(run, Fields) or {} for run in opened(log.get("runs"), list[msgspec.Raw]) or []]
    calls = [as_dict(call) for run in runs for call in opened(run.get("invocations"), list) or []]
    notes = [as_dict(note) for call in calls for note in as_list(call.get("toolExecutionNotifications"))]
    texts = (as_text(as_dict(note.get("message")).get("text")).strip() for note in notes)
    return as_words(next(filter(None, texts), "no run in its output succeeded"), checkout)


def _with_findings(result: model.Result, review: Review, checkout: Workspace, kind: str) -> model.Result:
    each = Counter(severity_of(entry.sighting) for entry in review.entries)
    departures = _departures(review, result.confidence, kind)
    return msgspec.structs.replace(
        result,
        findings=tuple(_blocks(review, checkout)),
        references=tuple(_references(review)) or result.references,
        severity_summary=tuple(model.Count(severity=word.capitalize(), count=each[word]) for word in reversed(SCALE)),
        overrides=tuple(model.Override(rule=rule, reason=why) for rule, why in departures),
    )


def _blocks(review: Review, checkout: Workspace) -> Iterator[model.Block]:
    table = model.Table(columns=_COLUMNS, rows=tuple(entry.row for entry in review.entries))
    yield model.Block(heading="Issues Detected", content=(table,))
    if details := _details(review, checkout):
        yield model.Block(heading="Issue Details", content=tuple(details))
    if lost := [entry.lost for entry in review.entries if entry.lost]:
        told = [*lost[:_MAX_LISTED], f"and {len(lost) - _MAX_LISTED} more"][: len(lost)]
        items = model.Items(items=tuple(model.Item(text=text) for text in told))
        yield model.Block(heading="Places Not Cited", content=(items,))


def _details(review: Review, checkout: Workspace) -> list[model.Content]:
    """The code of each finding, and what the program says of it where it did not say so before."""
    details: list[model.Content] = []
    told = {""}
    for entry, said in ((entry, entry.sighting.opinion) for entry in review.entries):
        words = said.details.strip().partition("\n\n")[0]
        if entry.quote is not None:
            details += [model.Heading(text=entry.id), entry.quote]
            details += [model.Text(text=as_words(f"{said.agent} says: {words}", checkout))] if words not in told else []
            told.add(words)
    return details


def _references(review: Review) -> Iterator[model.KeyReference]:
    """The files with the worst findings first: where to begin to read."""
    worst = {entry.sighting.path: entry for entry in reversed(review.cited)}
    each = Counter(entry.sighting.path for entry in review.cited)
    for path in list(each)[:_MAX_LISTED]:
        relevance = f"{_counted(each[path], 'finding')} in this file"
        yield model.KeyReference(item=worst[path].id, location=worst[path].place, relevance=relevance)


def _confidence(sightings: list[Sighting]) -> model.Confidence:
    """The mean of the findings whose places hold and of the others: either part weighs as much."""
    if not sightings:
        return model.Confidence(score=70.0, reason="nothing was found by rules that do not see everything")
    holds = [one.opinion.confidence for one in sightings if one.verified]
    others = [one.opinion.confidence for one in sightings if not one.verified]
    verified, inferred = (round(min(_SUREST, fmean(each)), 1) if each else 0.0 for each in (holds, others))
    score = round((verified + inferred) / 2, 1) if others else verified
    reason = f"the places of {len(holds)} of {_counted(len(sightings), 'finding')} hold"
    whole = model.Confidence(score=score, reason=reason, verified=verified, inferred=inferred if others else "n/a")
    return whole if score >= 75 else model.Confidence(score=score, reason=reason)


def _gaps(review: Review) -> Iterator[tuple[str, str]]:
    """What is missing, and what would help."""
    each = Counter(report.status for report in review.reports)
    if each["FAILED"]:
        yield f"{each['FAILED']} of {len(review.reports)} runs did not succeed", "mend what they complain of"
    if each["PARTIAL"]:
        yield f"{review.unread:,} results could not be read, or a run lists none", "look at the program's own output"
    if hidden := len(review.sightings) - len(review.entries):
        yield f"{_counted(hidden, 'further finding')} not listed", "narrow what is looked at"


def _summary(review: Review) -> str:
    each = Counter(map(severity_of, review.sightings))
    kinds = ", ".join(f"{each[word]:,} {word}" for word in reversed(SCALE) if each[word])
    files = _counted(len({entry.sighting.path for entry in review.cited}), "file")
    found = f"{_counted(len(review.sightings), 'finding')} ({kinds})" if kinds else "no findings"
    rows = f"{len(review.entries)} listed here, {len(review.cited)} of them with a place in {files}"
    end = " The list is incomplete: see Blockers." if review.status == "PARTIAL" else ""
    return f"The program reported {found}. There are {rows}.{end}"


def _departures(review: Review, confidence: model.Confidence | None, kind: str) -> Iterator[tuple[str, str]]:
    """Rules that such a result cannot keep without making something up, each with the reason."""
    cited = review.cited
    if len(cited) < len(review.entries):
        yield "finding-without-reference", "a place that is not in the checkout is told in words and not cited"
    if kind == "review" and len({entry.sighting.path for entry in cited}) == 1:
        yield "single-source", "every place that the program names and that holds lies in this file"
    if any(entry.sighting.category == "security" and entry.quote is None for entry in review.entries):
        yield "security-without-quote", "lines that are not there, too many, too long or not plain text are not quoted"
    rated = {(entry.place, entry.sighting.category, severity_of(entry.sighting)) for entry in cited}
    if len({rating[:2] for rating in rated}) < len(rated):
        yield "self-conflict", "different rules of the program rate the same place, each for itself"
    if cited:
        yield "reference-unseen", "the program opened the files itself, which leaves no receipt of each"
    if cited and confidence is not None and float(confidence.score) >= 60:
        yield "confidence-unsupported", "what the program opened itself counts half; each place was looked up again"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
