"""What a program printed as SARIF, as a result in the contract: so a linter is a subagent like any other.

The result vouches only for what it cites. A finding whose place is not in the checkout keeps its row, and the
place it claimed is told in words. Words of the program hold no reference, link, tag or code span; code is copied
from the checkout. Where that breaks a rule that may be overridden, the override says why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import msgspec

from remit.contract import model
from remit.contract.findings import CATEGORY_BY_PREFIX, Severity
from remit.contract.headings import BOXES
from remit.contract.kinds import slug
from remit.contract.render import format_number, render
from remit.contract.tokens import estimate_tokens
from remit.errors import UsageError
from remit.evidence.grammar import references_in
from remit.gate.settings import PATHS
from remit.globs import matches_glob
from remit.merging.model import SCALE, Report, ReportedFinding
from remit.merging.sarif.read import open_sarif
from remit.merging.sarif.values import Fields, as_dict, as_list, as_text, as_utf8, parse_object
from remit.workspace.files import SourceFile, Workspace, WorkTree

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
MAX_ROWS = 50
#: Findings with details although they are no matter of security.
_MAX_DETAILS = 5
_MAX_QUOTE = 3
_MAX_COLUMNS = 160
#: Rules of bandit and ruff on literals that look like passwords. In tests they are made up, and an empty one is none.
_PASSWORD_RULES = re.compile(r"[BS]10[567]")
_EMPTY = re.compile(r"""password(?: assigned to)?: *(?:''|"")""", re.IGNORECASE)
_MADE_UP = 30.0
_TESTS = (*PATHS["tests"], "**/tests/**", "**/test/**", "**/conftest.py")
_PREFIXES = {category: prefix for prefix, category in CATEGORY_BY_PREFIX.items()}
_DIGIT = re.compile(r"\d")
_OPENING = re.compile(r"[\[<]")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_PLAIN_PATH = re.compile(r"[\w./@+\-]+")


def sarif_result(data: bytes, agent: str, root: Path, kind: str = "review") -> str:
    """The Markdown of a result made of a program's SARIF; FAILED if the program failed or it is no SARIF."""
    checkout = WorkTree(root)
    name = plain_words(agent, checkout, 80) if slug(agent) else "unnamed"
    if kind not in ("review", "generic"):
        wrong = plain_words(f"SARIF holds findings: they make a review, not a result of kind {kind}", checkout)
        return render(_failure(name, "WrongKind", wrong, "Give the definition the kind review"))
    try:
        reports, left_out = open_sarif(data, f"{slug(agent)}.sarif", checkout, {})
    except UsageError as error:
        message = plain_words(str(error).partition(": ")[2], checkout)
        return render(_failure(name, "NotSarif", message, "Let the program print SARIF 2.1.0 and nothing else"))
    review = build_review(reports, left_out["unreadable"] + left_out["over the limit"], checkout)
    result = _finished(name, review)
    if review.status == "FAILED":
        remedy = "Mend what the program complains of and run it again"
        result = _failure(name, "RunFailed", _complaint(data, checkout), remedy)
    return render(_with_findings(result, review, checkout, kind) if review.entries else result)


def _finished(name: str, review: SarifReview) -> model.Result:
    ticks = (model.Tick(text=f"**{BOXES[key][0]}**: {did}", ticked=True) for key, did in _BOX_WORDS.items())
    # Of itself it is as sure as of what it may be right about.
    confidence = _confidence([one for one in review.findings if not placeholder_password_reason(one)])
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
    log = parse_object(as_utf8(data), Fields) or {}
    runs = [parse_object(run, Fields) or {} for run in parse_object(log.get("runs"), list[msgspec.Raw]) or []]
    calls = [as_dict(call) for run in runs for call in parse_object(run.get("invocations"), list) or []]
    notes = [as_dict(note) for call in calls for note in as_list(call.get("toolExecutionNotifications"))]
    texts = (as_text(as_dict(note.get("message")).get("text")).strip() for note in notes)
    return plain_words(next(filter(None, texts), "no run in its output succeeded"), checkout)


def _with_findings(result: model.Result, review: SarifReview, checkout: Workspace, kind: str) -> model.Result:
    each = Counter(sarif_severity(entry.finding) for entry in review.entries)
    departures = _departures(review, result.confidence, kind)
    return msgspec.structs.replace(
        result,
        findings=tuple(_blocks(review, checkout)),
        references=tuple(_references(review)) or result.references,
        severity_summary=tuple(model.Count(severity=word.capitalize(), count=each[word]) for word in reversed(SCALE)),
        overrides=tuple(model.Override(rule=rule, reason=why) for rule, why in departures),
    )


def _blocks(review: SarifReview, checkout: Workspace) -> Iterator[model.Block]:
    table = model.Table(columns=_COLUMNS, rows=tuple(entry.row for entry in review.entries))
    yield model.Block(heading="Issues Detected", content=(table,))
    if details := _details(review, checkout):
        yield model.Block(heading="Issue Details", content=tuple(details))
    if lost := [entry.lost for entry in review.entries if entry.lost]:
        told = [*lost[:_MAX_LISTED], f"and {len(lost) - _MAX_LISTED} more"][: len(lost)]
        items = model.Items(items=tuple(model.Item(text=text) for text in told))
        yield model.Block(heading="Places Not Cited", content=(items,))


def _details(review: SarifReview, checkout: Workspace) -> list[model.Content]:
    """The code of each finding, and what the program says of it where it did not say so before."""
    details: list[model.Content] = []
    told = {""}
    for entry, said in ((entry, entry.finding.opinion) for entry in review.entries):
        words = said.details.strip().partition("\n\n")[0]
        if entry.quote is not None:
            details += [model.Heading(text=entry.id), entry.quote]
            details += (
                [model.Text(text=plain_words(f"{said.agent} says: {words}", checkout))] if words not in told else []
            )
            told.add(words)
    return details


def _references(review: SarifReview) -> Iterator[model.KeyReference]:
    """The files with the worst findings first: where to begin to read."""
    worst = {entry.finding.path: entry for entry in reversed(review.cited)}
    each = Counter(entry.finding.path for entry in review.cited)
    for path in list(each)[:_MAX_LISTED]:
        relevance = f"{_counted(each[path], 'finding')} in this file"
        yield model.KeyReference(item=worst[path].id, location=worst[path].place, relevance=relevance)


def _confidence(findings: list[ReportedFinding]) -> model.Confidence:
    """The mean of the findings whose places hold and of the others: either part weighs as much."""
    if not findings:
        return model.Confidence(score=70.0, reason="nothing was found by rules that do not see everything")
    holds = [one.opinion.confidence for one in findings if one.verified]
    others = [one.opinion.confidence for one in findings if not one.verified]
    verified, inferred = (round(min(_SUREST, fmean(each)), 1) if each else 0.0 for each in (holds, others))
    score = round((verified + inferred) / 2, 1) if others else verified
    reason = f"the places of {len(holds)} of {_counted(len(findings), 'finding')} hold"
    whole = model.Confidence(score=score, reason=reason, verified=verified, inferred=inferred if others else "n/a")
    return whole if score >= 75 else model.Confidence(score=score, reason=reason)


def _gaps(review: SarifReview) -> Iterator[tuple[str, str]]:
    """What is missing, and what would help."""
    each = Counter(report.status for report in review.reports)
    if each["FAILED"]:
        yield f"{each['FAILED']} of {len(review.reports)} runs did not succeed", "mend what they complain of"
    if each["PARTIAL"]:
        yield f"{review.unread:,} results could not be read, or a run lists none", "look at the program's own output"
    if hidden := len(review.findings) - len(review.entries):
        yield f"{_counted(hidden, 'further finding')} not listed", "narrow what is looked at"


def _summary(review: SarifReview) -> str:
    each = Counter(map(sarif_severity, review.findings))
    kinds = ", ".join(f"{each[word]:,} {word}" for word in reversed(SCALE) if each[word])
    files = _counted(len({entry.finding.path for entry in review.cited}), "file")
    found = f"{_counted(len(review.findings), 'finding')} ({kinds})" if kinds else "no findings"
    rows = f"{len(review.entries)} listed here, {len(review.cited)} of them with a place in {files}"
    end = " The list is incomplete: see Blockers." if review.status == "PARTIAL" else ""
    return f"The program reported {found}. There are {rows}.{end}"


def _departures(review: SarifReview, confidence: model.Confidence | None, kind: str) -> Iterator[tuple[str, str]]:
    """Rules that such a result cannot keep without making something up, each with the reason."""
    cited = review.cited
    if len(cited) < len(review.entries):
        yield "finding-without-reference", "a place that is not in the checkout is told in words and not cited"
    if kind == "review" and len({entry.finding.path for entry in cited}) == 1:
        yield "single-source", "every place that the program names and that holds lies in this file"
    if any(entry.finding.category == "security" and entry.quote is None for entry in review.entries):
        yield "security-without-quote", "lines that are not there, too many, too long or not plain text are not quoted"
    rated = {(entry.place, entry.finding.category, sarif_severity(entry.finding)) for entry in cited}
    if len({rating[:2] for rating in rated}) < len(rated):
        yield "self-conflict", "different rules of the program rate the same place, each for itself"
    if cited:
        yield "reference-unseen", "the program opened the files itself, which leaves no receipt of each"
    if cited and confidence is not None and float(confidence.score) >= 60:
        yield "confidence-unsupported", "what the program opened itself counts half; each place was looked up again"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


class SarifEntry(msgspec.Struct, frozen=True):
    """A finding as the result lists it: with its place, or with what it claimed if that is not in the checkout."""

    id: str
    finding: ReportedFinding
    place: str
    lost: str
    row: model.Row
    quote: model.Code | None


class SarifReview(msgspec.Struct, frozen=True):
    """What the runs of one program say together, the worst first; `unread` are results that are not among it."""

    reports: list[Report]
    unread: int
    findings: list[ReportedFinding]
    entries: list[SarifEntry]

    @property
    def cited(self) -> list[SarifEntry]:
        """Those whose places hold."""
        return [entry for entry in self.entries if entry.place]

    @property
    def status(self) -> model.Status:
        """What the runs came to together."""
        each = {report.status for report in self.reports}
        is_whole = each == {"SUCCESS"} and len(self.findings) == len(self.entries)
        return "FAILED" if each == {"FAILED"} else "SUCCESS" if is_whole else "PARTIAL"


def build_review(reports: list[Report], unread: int, checkout: Workspace) -> SarifReview:
    """The findings of all runs, as many as a result lists; `unread` could not be read."""
    findings = sorted(
        (_less_sure(one) for report in reports for one in report.rows),
        key=lambda one: (-SCALE.index(sarif_severity(one)), one.category != "security", -one.opinion.confidence),
    )
    entries = [_entry(one, place, checkout) for place, one in enumerate(findings[:MAX_ROWS], 1)]
    room = sum(estimate_tokens(" ".join(entry.row.cells)) for entry in entries)  # code is never most of a result
    for at, entry in enumerate(entries):
        room -= estimate_tokens(entry.quote.text) if entry.quote is not None else 0
        entries[at] = entry if room >= 0 else msgspec.structs.replace(entry, quote=None)
    return SarifReview(reports, unread, findings, entries)


def _less_sure(finding: ReportedFinding) -> ReportedFinding:
    """A finding as sure as it can be: a program does not know that a password belongs to a test."""
    why = placeholder_password_reason(finding)
    if not why:
        return finding
    said = finding.opinion
    lowered = min(said.confidence, _MADE_UP)
    opinion = msgspec.structs.replace(said, title=f"{why}: {said.title}", confidence=lowered)
    return msgspec.structs.replace(finding, opinion=opinion)


def placeholder_password_reason(finding: ReportedFinding) -> str:
    """Why a literal that looks like a password is hardly one; empty: it may be."""
    if not _PASSWORD_RULES.fullmatch(finding.opinion.id):
        return ""
    if _EMPTY.search(finding.opinion.title):
        return "empty, so hardly one"
    return "made up for a test" if any(matches_glob(finding.path or "", glob) for glob in _TESTS) else ""


def sarif_severity(finding: ReportedFinding) -> Severity:
    """How bad a finding is."""
    return finding.opinion.severity or "minor"


def _entry(finding: ReportedFinding, count: int, checkout: Workspace) -> SarifEntry:
    said, place, category = finding.opinion, _place(finding, checkout), finding.category
    name = f"{_PREFIXES.get(category, 'F')}-{count:03}"
    title = plain_words(": ".join(filter(None, dict.fromkeys((said.id, said.title)))), checkout)
    cells = (name, title, place, sarif_severity(finding), format_number(round(said.confidence, 1)), category)
    claimed = f"{name}: the program says {finding.path or 'no file'} at {said.line or 'no line'}"
    lost = "" if place else plain_words(claimed, checkout, 300)
    is_detailed = count <= _MAX_DETAILS or category == "security"
    quote = _quote(finding, place, checkout) if is_detailed else None
    return SarifEntry(name, finding, place, lost, model.Row(cells=cells), quote)


def plain_words(text: str, checkout: Workspace, most: int = 160) -> str:
    """Untrusted text as one line of Markdown in which nothing is a reference, a link, a tag, code or an escape."""
    line = " ".join(text[: 8 * most].split())
    line = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)
    line = (line if len(line) <= most else line[: most - 1].rstrip() + "…").replace("`", "'")
    line = _OPENING.sub(r"\\\g<0>", _BACKSLASH.sub(r"\\\\", line))
    for _ in range(20):
        found = {written.start: written for written in references_in(line, checkout.exists)}
        if not found:
            return line.strip()
        for start in sorted(found, reverse=True):
            _, end, _, path, first, last = found[start]
            line = f"{line[:start]}{path} at {first}{f' to {last}' if last else ''}{line[end:]}"
    return _DIGIT.sub("#", line).strip()  # a line made to defy this: a place needs a number


def _place(finding: ReportedFinding, checkout: Workspace) -> str:
    """The cell that cites a finding's place; empty if it is not in the checkout, line and all."""
    path, line = finding.path, finding.opinion.line
    file = checkout.read(path) if path is not None and finding.verified else None
    if path is None or not isinstance(file, SourceFile):
        return ""
    line = line if file.lines else None  # programs call the whole of an empty file its first line
    last = finding.end_line if line is not None and finding.end_line != line else None
    if line is not None and not 1 <= line <= (last or line) <= len(file.lines):
        return ""
    place = path + (f":{line}" if line is not None else "") + (f"-{last}" if last is not None else "")
    read = references_in(f"`{place}`", checkout.exists, bare=True)
    same = [(found.path, found.line, found.end_line) for found in read] == [(path, line, last)]
    return f"`{place}`" if same and "|" not in place and place.isprintable() else ""


def _quote(finding: ReportedFinding, place: str, checkout: Workspace) -> model.Code | None:
    """The first cited lines as they stand in the file; None if they cannot be shown as they are."""
    path, line = finding.path or "", finding.opinion.line
    file = checkout.read(path) if place and _PLAIN_PATH.fullmatch(path) else None
    if line is None or not isinstance(file, SourceFile):
        return None
    last = min(finding.end_line or line, line + _MAX_QUOTE - 1)
    code = "\n".join(file.lines[line - 1 : last]).rstrip().split("\n")
    exact = all(len(row) <= _MAX_COLUMNS and row.replace("\t", " ").isprintable() for row in code)
    if not exact or not any(map(str.isalnum, "".join(code))):
        return None
    language = path.rpartition(".")[2] if "." in path.rpartition("/")[2] else "text"
    return model.Code(text="\n".join(code), info=f"{language} {place.strip('`')}")
