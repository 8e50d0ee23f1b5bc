"""Convert the SARIF output of a program into a result in the contract, so that a linter can be a subagent.

The result cites only locations that exist in the checkout. A finding with another location keeps its row, and the
claimed location is described in a sentence. Texts of the program contain no reference, link, tag or code span, and a
text that states work is in quotation marks: the author of the result did not do it. Quoted code is copied from the
checkout. If that breaks a rule that can be overridden, the override contains the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import msgspec

from remit.contract import result_data
from remit.contract.findings import Severity
from remit.contract.headings import BOXES
from remit.contract.kinds import CATEGORY_BY_PREFIX, slug
from remit.contract.render import format_number, render
from remit.contract.tokens import estimate_tokens
from remit.errors import UsageError
from remit.evidence.grammar import references_in
from remit.evidence.read_statements import read_statements, sentences
from remit.gate.settings import PATHS
from remit.globs import matches_glob
from remit.merging.merge_data import SCALE, Report, ReportedFinding
from remit.merging.sarif.read import open_sarif
from remit.merging.sarif.values import Fields, as_dict, as_list, as_text, as_utf8, parse_object
from remit.secrets.file_scan import is_example
from remit.secrets.scan import redact
from remit.workspace.files import SourceFile, Workspace, WorkTree

#: Entries of the lists outside the table of findings.
_MAX_LISTED = 10
#: The highest confidence without receipts. The score of each finding is in its row.
_MAX_CONFIDENCE = 84.0
#: Below this confidence the reader has to decide what to do with the result.
_ASKING = 60
_COLUMNS = ("ID", "Issue", "File:Line", "Severity", "Confidence", "Category")
_CHECKLIST = {
    "references_valid": "each cited location was looked up in the checkout",
    "snippets_accurate": "quoted lines are copied from the checkout",
    "no_invented_paths": "a location that is not in the checkout is described and not cited",
    "evidence_documented": "each finding names its rule, and its location if that exists",
}
#: A program with more findings, or with more characters of them, has not finished: the rest is counted. A result has
#: at most 1 MiB.
MAX_ROWS = 10_000
_MAX_ROW_CHARACTERS = 500_000
#: Findings with details, in addition to those on security.
_MAX_DETAILS = 5
_MAX_QUOTE = 3
_MAX_COLUMNS = 160
_BANDIT_RULE = re.compile(r"B(\d{3})")
#: Rules of bandit and ruff for literals that look like passwords.
_PASSWORD_RULES = re.compile(r"[BS]10[567]")
_EMPTY = re.compile(r"""password(?: assigned to)?: *(?:''|""|'None')""", re.IGNORECASE)
_FALSE_ALARM_CONFIDENCE = 30.0
_TESTS = (*PATHS["tests"], "**/tests/**", "**/test/**", "**/conftest.py")
_PREFIXES = {category: prefix for prefix, category in CATEGORY_BY_PREFIX.items()}
_DIGIT = re.compile(r"\d")
_OPENING = re.compile(r"[\[<]")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_PLAIN_PATH = re.compile(r"[\w./@+\-]+")


class SarifEntry(msgspec.Struct, frozen=True):
    """A finding in the result: with its location, or with the claimed one if that is not in the checkout."""

    id: str
    finding: ReportedFinding
    location: str
    lost: str
    row: result_data.Row
    quote: result_data.Code | None


class SarifReview(msgspec.Struct, frozen=True):
    """The findings of all runs of a program, the worst first; `unread` is the number of unreadable results."""

    reports: list[Report]
    unread: int
    findings: list[ReportedFinding]
    entries: list[SarifEntry]
    #: Results that the program reported and that were not read: there are too many.
    left_out: int = 0

    @property
    def hidden(self) -> int:
        """Return how many findings are not listed."""
        return len(self.findings) - len(self.entries) + self.left_out

    @property
    def cited(self) -> list[SarifEntry]:
        """Return the entries whose locations exist."""
        return [entry for entry in self.entries if entry.location]

    @property
    def status(self) -> result_data.Status:
        """Return the common status of the runs."""
        each = {report.status for report in self.reports}
        is_complete = each == {"SUCCESS"} and not self.hidden
        return "FAILED" if each == {"FAILED"} else "SUCCESS" if is_complete else "PARTIAL"


def sarif_result(
    data: bytes, agent: str, root: Path, kind: str = "review", *, left_out: int = 0, scope: Sequence[str] = ()
) -> str:
    """Return the Markdown of a result with a program's findings; FAILED if the program failed or printed no SARIF.

    `left_out` is the number of results that the program reported and that are not in `data`; `scope` has the paths that
    it was to read.
    """
    checkout = WorkTree(root)
    name = plain_text(agent, checkout, 80) if slug(agent) else "unnamed"
    if kind not in ("review", "generic"):
        message = plain_text(f"SARIF contains findings, which make a review and not a result of kind {kind}", checkout)
        return render(_failure(name, "WrongKind", message, "Give the definition the kind review"))
    try:
        reports, skipped = open_sarif(data, f"{slug(agent)}.sarif", checkout, {})
    except UsageError as error:
        message = plain_text(str(error).partition(": ")[2], checkout)
        return render(_failure(name, "NotSarif", message, "Make the program print SARIF 2.1.0 and nothing else"))
    unread = skipped["unreadable"] + skipped["over the limit"]
    review = _build_review(
        [_adjusted_report(report, checkout, scope) for report in reports], unread, checkout, left_out
    )
    result = _finished(name, review)
    if review.status == "FAILED":
        remedy = "Fix the error that the program reports and run it again"
        result = _failure(name, "RunFailed", _run_error(data, checkout), remedy)
    return render(_with_findings(result, review, checkout, kind) if review.entries else result)


def _finished(name: str, review: SarifReview) -> result_data.Result:
    ticks = (result_data.Tick(text=f"**{BOXES[key][0]}**: {text}", ticked=True) for key, text in _CHECKLIST.items())
    # Findings that are probably false do not lower the confidence of the result.
    likely = [finding for finding in review.findings if finding.opinion.confidence > _FALSE_ALARM_CONFIDENCE]
    confidence = _confidence(likely or review.findings)
    unsure = "The program may raise false alarms and name locations that do not exist; check each of them."
    if float(confidence.score) < _ASKING:
        unsure += " Which of the findings are about this checkout?"
    step = "Fix or dismiss each finding, the worst first" if review.entries else "Continue: nothing was reported"
    return result_data.Result(
        agent=name,
        status=review.status,
        summary=_summary(review),
        findings=(
            result_data.Block(heading="Issues Detected", content=(result_data.Text(text="No issues were found."),)),
        ),
        references=(result_data.KeyReference(item="None", location="-", relevance="-"),),
        confidence=confidence,
        uncertainty=unsure if float(confidence.score) < 70 else "",
        checklist=tuple(ticks),
        blockers=tuple(result_data.Blocker(text=text, resolution=remedy) for text, remedy in _gaps(review)),
        next_steps=(*(["Resolve the blockers"] if review.status == "PARTIAL" else []), step),
    )


def _failure(name: str, error: str, message: str, remedy: str) -> result_data.Result:
    return result_data.Result(
        agent=name,
        status="FAILED",
        summary="The program gave no reliable result. Error Details contain the reason.",
        blockers=(result_data.Blocker(text="There is no complete list of findings", resolution=remedy),),
        error=result_data.ErrorDetails(
            type=error, message=message, occurred_at="the program's run", recoverable="true"
        ),
        attempted_actions=("Ran the program and read its output as SARIF",),
        root_cause=message,
        recovery_options=(remedy,),
        next_steps=(remedy,),
    )


def _run_error(data: bytes, checkout: Workspace) -> str:
    """Return the error that a failed program reports on its run."""
    log = parse_object(as_utf8(data), Fields) or {}
    runs = [parse_object(run, Fields) or {} for run in parse_object(log.get("runs"), list[msgspec.Raw]) or []]
    calls = [as_dict(call) for run in runs for call in parse_object(run.get("invocations"), list) or []]
    notes = [as_dict(note) for call in calls for note in as_list(call.get("toolExecutionNotifications"))]
    texts = (as_text(as_dict(note.get("message")).get("text")).strip() for note in notes)
    return plain_text(next(filter(None, texts), "no run in its output succeeded"), checkout)


def _with_findings(
    result: result_data.Result, review: SarifReview, checkout: Workspace, kind: str
) -> result_data.Result:
    each = Counter(sarif_severity(entry.finding) for entry in review.entries)
    overrides = _overrides(review, result.confidence, kind)
    return msgspec.structs.replace(
        result,
        findings=tuple(_blocks(review, checkout)),
        references=tuple(_references(review)) or result.references,
        severity_summary=tuple(
            result_data.Count(severity=word.capitalize(), count=each[word]) for word in reversed(SCALE)
        ),
        overrides=tuple(result_data.Override(rule=rule, reason=reason) for rule, reason in overrides),
    )


def _blocks(review: SarifReview, checkout: Workspace) -> Iterator[result_data.Block]:
    table = result_data.Table(columns=_COLUMNS, rows=tuple(entry.row for entry in review.entries))
    yield result_data.Block(heading="Issues Detected", content=(table,))
    if details := _details(review, checkout):
        yield result_data.Block(heading="Issue Details", content=tuple(details))
    if lost := [entry.lost for entry in review.entries if entry.lost]:
        texts = [*lost[:_MAX_LISTED], f"and {len(lost) - _MAX_LISTED} more"][: len(lost)]
        items = result_data.Items(items=tuple(result_data.Item(text=text) for text in texts))
        yield result_data.Block(heading="Locations Not Cited", content=(items,))


def _details(review: SarifReview, checkout: Workspace) -> list[result_data.Content]:
    """Return the code of each finding with the program's explanation, which is not repeated."""
    details: list[result_data.Content] = []
    explained = {""}
    for entry, opinion in ((entry, entry.finding.opinion) for entry in review.entries):
        text = opinion.details.strip().partition("\n\n")[0]
        if entry.quote is not None:
            details += [result_data.Heading(text=entry.id), entry.quote]
            if text not in explained:
                details.append(result_data.Text(text=plain_text(f"Message of {opinion.agent}: {text}", checkout)))
            explained.add(text)
    return details


def _references(review: SarifReview) -> Iterator[result_data.KeyReference]:
    """Yield the files to read first: those with the worst findings."""
    worst = {entry.finding.path: entry for entry in reversed(review.cited)}
    each = Counter(entry.finding.path for entry in review.cited)
    for path in list(each)[:_MAX_LISTED]:
        relevance = f"{_counted(each[path], 'finding')} in this file"
        yield result_data.KeyReference(item=worst[path].id, location=worst[path].location, relevance=relevance)


def _confidence(findings: list[ReportedFinding]) -> result_data.Confidence:
    """Return the mean of two means: of the findings whose locations exist, and of the others."""
    if not findings:
        return result_data.Confidence(score=70.0, reason="nothing was found, and the rules do not cover everything")
    if all(finding.opinion.confidence <= _FALSE_ALARM_CONFIDENCE for finding in findings):
        return result_data.Confidence(score=70.0, reason="only probable false alarms were found")
    existing = [finding.opinion.confidence for finding in findings if finding.verified]
    others = [finding.opinion.confidence for finding in findings if not finding.verified]
    verified, inferred = (round(min(_MAX_CONFIDENCE, fmean(each)), 1) if each else 0.0 for each in (existing, others))
    score = round((verified + inferred) / 2, 1) if others else verified
    reason = f"the locations of {len(existing)} of {_counted(len(findings), 'finding')} exist"
    full = result_data.Confidence(score=score, reason=reason, verified=verified, inferred=inferred if others else "n/a")
    return full if score >= 75 else result_data.Confidence(score=score, reason=reason)


def _gaps(review: SarifReview) -> Iterator[tuple[str, str]]:
    """Yield what is missing in the result, each with a remedy."""
    each = Counter(report.status for report in review.reports)
    if each["FAILED"]:
        yield f"{each['FAILED']} of {len(review.reports)} runs did not succeed", "fix the errors that they report"
    if each["PARTIAL"]:
        yield f"{review.unread:,} results could not be read, or a run has no list of them", "read the program's output"
    if review.hidden:
        yield f"{_counted(review.hidden, 'further finding')} not listed", "analyse fewer files"


def _summary(review: SarifReview) -> str:
    each = Counter(map(sarif_severity, review.findings))
    severities = ", ".join(f"{each[word]:,} {word}" for word in reversed(SCALE) if each[word])
    files = _counted(len({entry.finding.path for entry in review.cited}), "file")
    findings = f"{_counted(len(review.findings), 'finding')} ({severities})" if severities else "no findings"
    findings += f" and {review.left_out:,} more" if review.left_out else ""
    rows = f"{len(review.entries)} listed here, {len(review.cited)} of them with a location in {files}"
    end = " The list is incomplete: see Blockers." if review.status == "PARTIAL" else ""
    return f"The program reported {findings}. There are {rows}.{end}"


def _overrides(review: SarifReview, confidence: result_data.Confidence | None, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the rules that such a result cannot satisfy honestly, each with the reason."""
    cited = review.cited
    if len(cited) < len(review.entries):
        yield "finding-without-reference", "a location that is not in the checkout is described and not cited"
    if kind == "review" and len({entry.finding.path for entry in cited}) == 1:
        yield "single-source", "all existing locations that the program names are in this file"
    if any(entry.finding.category == "security" and entry.quote is None for entry in review.entries):
        yield (
            "security-without-quote",
            "lines that are missing, too many, too long, not plain text or secret are not quoted",
        )
    rated = {(entry.location, entry.finding.category, sarif_severity(entry.finding)) for entry in cited}
    if len({rating[:2] for rating in rated}) < len(rated):
        yield "self-conflict", "different rules of the program rate the same location independently"
    if cited:
        yield "reference-unseen", "the program opened the files itself, which leaves no receipts"
    if cited and confidence is not None and float(confidence.score) >= 60:
        yield "confidence-unsupported", "files that the program opened count half; each location was looked up again"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _build_review(reports: list[Report], unread: int, checkout: Workspace, left_out: int) -> SarifReview:
    """Return the findings of all runs, with entries for the first of them, within the limits."""
    findings = sorted(
        (row for report in reports for row in report.rows if not row.reason),
        key=lambda row: (-SCALE.index(sarif_severity(row)), row.category != "security", -row.opinion.confidence),
    )
    entries: list[SarifEntry] = []
    room = _MAX_ROW_CHARACTERS
    for number, finding in enumerate(findings[:MAX_ROWS], 1):
        entry = _entry(finding, number, checkout)
        room -= sum(map(len, entry.row.cells))
        if room < 0:
            break
        entries.append(entry)
    left = sum(estimate_tokens(" ".join(entry.row.cells)) for entry in entries)  # at most half of a result is code
    for position, entry in enumerate(entries):
        left -= estimate_tokens(entry.quote.text) if entry.quote is not None else 0
        entries[position] = entry if left >= 0 else msgspec.structs.replace(entry, quote=None)
    return SarifReview(reports, unread, findings, entries, left_out)


def _adjusted_report(report: Report, checkout: Workspace, scope: Sequence[str]) -> Report:
    return msgspec.structs.replace(report, rows=tuple(_adjusted(row, checkout, scope) for row in report.rows))


def _adjusted(finding: ReportedFinding, checkout: Workspace, scope: Sequence[str]) -> ReportedFinding:
    """Lower the confidence of a finding that is probably a false alarm. It is not critical: that is never dropped."""
    reason = _false_alarm_reason(finding, checkout, scope)
    if not reason:
        return finding
    original = finding.opinion
    lowered = min(original.confidence, _FALSE_ALARM_CONFIDENCE)
    severity = min(sarif_severity(finding), "important", key=SCALE.index)
    title = f"{reason}: {original.title}"
    opinion = msgspec.structs.replace(original, title=title, confidence=lowered, severity=severity)
    return msgspec.structs.replace(finding, opinion=opinion)


def _false_alarm_reason(finding: ReportedFinding, checkout: Workspace, scope: Sequence[str]) -> str:
    """Return why a finding is probably a false alarm; empty if it may be real."""
    path, opinion = finding.path or "", finding.opinion
    if _PASSWORD_RULES.fullmatch(opinion.id) and _EMPTY.search(opinion.title):
        return "empty, so probably not a password"
    # Who asks for a review of an example wants to know about it.
    inner = "" if path in scope else min((path.removeprefix(f"{folder}/") for folder in scope), key=len, default=path)
    if finding.category == "security" and (is_example(inner) or any(matches_glob(inner, glob) for glob in _TESTS)):
        return "in tests, examples or docs"
    # The rules of bandit and of ruff have the same numbers, and ruff's comment permits both.
    rule = _BANDIT_RULE.fullmatch(opinion.id)
    file = checkout.read(path) if rule and opinion.line and finding.verified else None
    if rule is None or not isinstance(file, SourceFile):
        return ""
    code = "\n".join(file.lines[(opinion.line or 1) - 1 : finding.end_line or opinion.line])
    return "permitted by noqa" if re.search(rf"# noqa(?!:)|# noqa:[^#\n]*\bS{rule[1]}\b", code) else ""


def sarif_severity(finding: ReportedFinding) -> Severity:
    """Return the severity of a finding."""
    return finding.opinion.severity or "minor"


def _entry(finding: ReportedFinding, number: int, checkout: Workspace) -> SarifEntry:
    opinion, location, category = finding.opinion, _location(finding, checkout), finding.category
    name = f"{_PREFIXES.get(category, 'F')}-{number:03}"
    title = plain_text(": ".join(filter(None, dict.fromkeys((opinion.id, opinion.title)))), checkout)
    cells = (name, title, location, sarif_severity(finding), format_number(round(opinion.confidence, 1)), category)
    claimed = f"{name}: the program names {finding.path or 'no file'} at {opinion.line or 'no line'}"
    lost = "" if location else plain_text(claimed, checkout, 300)
    is_detailed = number <= _MAX_DETAILS or category == "security"
    quote = _quote(finding, location, checkout) if is_detailed else None
    return SarifEntry(name, finding, location, lost, result_data.Row(cells=cells), quote)


def plain_text(text: str, checkout: Workspace, limit: int = 160) -> str:
    """Return untrusted text as one line of Markdown without a reference, link, tag, code span, escape or statement."""
    line = " ".join(text[: 8 * limit].split())
    line = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in line)
    line = (line if len(line) <= limit else line[: limit - 1].rstrip() + "…").replace("`", "'")
    line = _without_references(_OPENING.sub(r"\\\g<0>", _BACKSLASH.sub(r"\\\\", line)), checkout).strip()
    return _as_quotation(line) if read_statements(line) else line


def _as_quotation(line: str) -> str:
    """Return a line as the words of another author; a quotation has one sentence."""
    return '"{}"'.format("; ".join(part.rstrip(".!?。！？") for part in sentences(line.replace('"', "'"))))


def _without_references(line: str, checkout: Workspace) -> str:
    for _ in range(20):
        references = {written.start: written for written in references_in(line, checkout.exists)}
        if not references:
            return line
        for start in sorted(references, reverse=True):
            reference = references[start]
            last = f" to {reference.end_line}" if reference.end_line else ""
            line = f"{line[:start]}{reference.path} at {reference.line}{last}{line[reference.end :]}"
    return _DIGIT.sub("#", line)  # a line that defeats the loop: without digits there is no reference


def _location(finding: ReportedFinding, checkout: Workspace) -> str:
    """Return the cell that cites a finding's location; empty if the file or the line is not in the checkout."""
    path, line = finding.path, finding.opinion.line
    file = checkout.read(path) if path is not None and finding.verified else None
    if path is None or not isinstance(file, SourceFile):
        return ""
    line = line if file.lines else None  # programs report line 1 of an empty file
    last = finding.end_line if line is not None and finding.end_line != line else None
    if line is not None and not 1 <= line <= (last or line) <= len(file.lines):
        return ""
    location = path + (f":{line}" if line is not None else "") + (f"-{last}" if last is not None else "")
    read = references_in(f"`{location}`", checkout.exists, bare=True)
    same = [(reference.path, reference.line, reference.end_line) for reference in read] == [(path, line, last)]
    return f"`{location}`" if same and "|" not in location and location.isprintable() else ""


def _quote(finding: ReportedFinding, location: str, checkout: Workspace) -> result_data.Code | None:
    """Return the first cited lines of the file; None if they cannot be quoted exactly."""
    path, line = finding.path or "", finding.opinion.line
    file = checkout.read(path) if location and _PLAIN_PATH.fullmatch(path) else None
    if line is None or not isinstance(file, SourceFile):
        return None
    last = min(finding.end_line or line, line + _MAX_QUOTE - 1)
    code = "\n".join(file.lines[line - 1 : last]).rstrip().split("\n")
    exact = all(len(row) <= _MAX_COLUMNS and row.replace("\t", " ").isprintable() for row in code)
    if not exact or not any(map(str.isalnum, "".join(code))) or redact("\n".join(code)) != "\n".join(code):
        return None  # of a secret only its place is shown: what is stored has no secrets, so the quote would not hold
    language = path.rpartition(".")[2] if "." in path.rpartition("/")[2] else "text"
    return result_data.Code(text="\n".join(code), info=f"{language} {location.strip('`')}")
