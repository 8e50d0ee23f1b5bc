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

from remit.contract.findings import CATEGORY_BY_PREFIX
from remit.contract.headings import BOXES
from remit.contract.kinds import slug
from remit.contract.model import (
    Block,
    Blocker,
    Code,
    Confidence,
    Content,
    Count,
    ErrorDetails,
    Heading,
    Item,
    Items,
    Justification,
    KeyReference,
    Override,
    Result,
    Row,
    Status,
    Table,
    Text,
    Tick,
)
from remit.contract.render import number, render
from remit.contract.tokens import estimate_tokens
from remit.errors import UsageError
from remit.evidence.grammar import references_in
from remit.merging.model import SCALE, Report, Sighting
from remit.merging.sarif import open_sarif
from remit.merging.sarif_values import Fields, as_dict, as_list, as_text, as_utf8, opened
from remit.workspace.files import SourceFile, Workspace, WorkTree

MAX_ROWS = 50
#: Findings with details although they are no matter of security, files to begin with, places told in words.
_MAX_DETAILS = 5
_MAX_FILES = 10
_MAX_LOST = 10
_MAX_QUOTE = 3
_MAX_COLUMNS = 160
#: Tokens of code that never are most of a long result.
_ROOM = 400
#: As sure as a program can be of code that it did not execute.
_SUREST = 94.0
_NOTHING_FOUND = 70.0
_ROUNDS = 20

_KINDS = ("review", "generic")
_PREFIXES = {category: prefix for prefix, category in CATEGORY_BY_PREFIX.items()}
_BOX_WORDS = {
    "references_valid": "each cited place was looked up in the checkout",
    "snippets_accurate": "quoted lines are copied from the checkout",
    "no_invented_paths": "a place that is not in the checkout is told in words and not cited",
    "evidence_documented": "each finding names its place and the rule of the program",
}
_DIGIT = re.compile(r"\d")
_OPENING = re.compile(r"[\[<]")
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_PLAIN_PATH = re.compile(r"[\w./@+\-]+")


def sarif_result(data: bytes, agent: str, root: Path, kind: str = "review") -> str:
    """The Markdown of a result made of a program's SARIF; FAILED if the program failed or it is no SARIF."""
    checkout = WorkTree(root)
    name = _told(agent, checkout, 80) or "unnamed"
    if kind not in _KINDS:
        wrong = _told(f"SARIF holds findings; that makes a review, not a result of kind {kind}", checkout)
        return render(_failure(name, "WrongKind", wrong, "Give the definition the kind review"))
    try:
        reports, left_out = open_sarif(data, f"{slug(agent)}.sarif", checkout, {})
    except UsageError as error:
        message = _told(str(error).partition(": ")[2], checkout)
        return render(_failure(name, "NotSarif", message, "Let the program print SARIF 2.1.0 and nothing else"))
    review = _review(reports, left_out["unreadable"] + left_out["over the limit"], checkout)
    if review.status != "FAILED":
        return render(_finished(name, review, checkout, kind))
    message = next(_complaints(data, checkout), "the program says that its run did not succeed")
    failure = _failure(name, "RunFailed", message, "Mend what the program complains of and run it again")
    return render(_with_findings(failure, review, checkout, kind) if review.entries else failure)


class _Entry(msgspec.Struct, frozen=True):
    """A finding as the result lists it; no `place`: it is not in the checkout."""

    id: str
    sighting: Sighting
    title: str
    place: str
    quote: Code | None


class _Review(msgspec.Struct, frozen=True):
    """What the runs of one program say together, the worst first."""

    reports: list[Report]
    unread: int
    sightings: list[Sighting]
    entries: list[_Entry]

    @property
    def hidden(self) -> int:
        """Findings that have no row."""
        return len(self.sightings) - len(self.entries)

    @property
    def status(self) -> Status:
        """FAILED if every run failed, PARTIAL if anything is missing."""
        each = {report.status for report in self.reports}
        if each == {"FAILED"}:
            return "FAILED"
        return "SUCCESS" if each == {"SUCCESS"} and not self.hidden else "PARTIAL"


def _review(reports: list[Report], unread: int, checkout: Workspace) -> _Review:
    sightings = sorted((one for report in reports for one in report.sightings), key=_from_the_worst)
    room = max(_ROOM, sum(estimate_tokens(one.opinion.title) for one in sightings[:MAX_ROWS]))
    entries: list[_Entry] = []
    for count, sighting in enumerate(sightings[:MAX_ROWS], 1):
        place, said = _place(sighting, checkout), sighting.opinion
        detailed = count <= _MAX_DETAILS or sighting.category == "security"
        quote = _quote(sighting, place, checkout) if detailed else None
        cost = estimate_tokens(quote.text) if quote is not None else 0
        quote, room = (quote, room - cost) if cost <= room else (None, room)
        title = _told(": ".join(filter(None, dict.fromkeys((said.id, said.title)))), checkout)
        name = f"{_PREFIXES.get(sighting.category, 'F')}-{count:03}"
        entries.append(_Entry(name, sighting, title, place, quote))
    return _Review(reports, unread, sightings, entries)


def _from_the_worst(sighting: Sighting) -> tuple[int, float, str, int]:
    said = sighting.opinion
    return -SCALE.index(_severity(sighting)), -said.confidence, sighting.path or "", said.line or 0


def _severity(sighting: Sighting) -> str:
    return sighting.opinion.severity or "minor"


def _told(text: str, checkout: Workspace, most: int = 160) -> str:
    """Untrusted text as one line of Markdown in which nothing is a reference, a link, a tag, code or an escape."""
    line = " ".join(text[: 8 * most].split())
    line = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)
    line = (line if len(line) <= most else line[: most - 1].rstrip() + "…").replace("`", "'")
    line = _OPENING.sub(r"\\\g<0>", _BACKSLASH.sub(r"\\\\", line))
    for _ in range(_ROUNDS):
        found = {written.start: written for written in references_in(line, checkout.exists)}
        if not found:
            return line.strip()
        for start in sorted(found, reverse=True):
            _, end, _, path, first, last = found[start]
            line = f"{line[:start]}{path} at {first}{f' to {last}' if last else ''}{line[end:]}"
    return _DIGIT.sub("#", line).strip()  # a line made to defy this: a place needs a number


def _place(sighting: Sighting, checkout: Workspace) -> str:
    """The cell that cites a finding's place; empty if it is not in the checkout, line and all."""
    path, line = sighting.path, sighting.opinion.line
    file = checkout.read(path) if path is not None and sighting.verified else None
    if path is None or not isinstance(file, SourceFile):
        return ""
    if not file.lines:
        line = None  # programs call the whole of an empty file its first line
    last = sighting.end_line if line is not None and sighting.end_line != line else None
    if line is not None and not 1 <= line <= (last or line) <= len(file.lines):
        return ""
    place = path + (f":{line}" if line is not None else "") + (f"-{last}" if last is not None else "")
    read = references_in(f"`{place}`", checkout.exists, bare=True)
    same = [(found.path, found.line, found.end_line) for found in read] == [(path, line, last)]
    return f"`{place}`" if same and "|" not in place and place.isprintable() else ""


def _quote(sighting: Sighting, place: str, checkout: Workspace) -> Code | None:
    """The first cited lines as they stand in the file; None if they cannot be shown as they are."""
    path, line = sighting.path or "", sighting.opinion.line
    file = checkout.read(path) if place and line is not None and _PLAIN_PATH.fullmatch(path) else None
    if line is None or not isinstance(file, SourceFile):
        return None
    last = min(sighting.end_line or line, line + _MAX_QUOTE - 1)
    code = "\n".join(file.lines[line - 1 : last]).rstrip().split("\n")
    exact = all(len(row) <= _MAX_COLUMNS and row.replace("\t", " ").isprintable() for row in code)
    if not exact or not any(map(str.isalnum, "".join(code))):
        return None
    language = path.rpartition(".")[2] if "." in path.rpartition("/")[2] else "text"
    return Code(text="\n".join(code), info=f"{language} {place.strip('`')}")


def _finished(name: str, review: _Review, checkout: Workspace, kind: str) -> Result:
    confidence = _confidence(review)
    result = Result(
        agent=name,
        status=review.status,
        summary=_summary(review),
        findings=(Block(heading="Issues Detected", content=(Text(text="No issues were found."),)),),
        references=(KeyReference(item="None", location="-", relevance="-"),),
        confidence=confidence,
        justification=_justification(confidence, review),
        uncertainty=_uncertainty(confidence, review),
        checklist=tuple(Tick(text=f"**{BOXES[key][0]}**: {did}", ticked=True) for key, did in _BOX_WORDS.items()),
        blockers=tuple(_gaps(review)),
        next_steps=tuple(_next_steps(review)),
    )
    return _with_findings(result, review, checkout, kind) if review.entries else result


def _failure(name: str, error: str, message: str, remedy: str) -> Result:
    return Result(
        agent=name,
        status="FAILED",
        summary="The program gave no result that can be relied on. The error below says why.",
        blockers=(Blocker(text="There is no complete list of findings", resolution=remedy),),
        error=ErrorDetails(type=error, message=message, occurred_at="the run of the program", recoverable="true"),
        attempted_actions=("Ran the program and read what it printed as SARIF",),
        root_cause=message,
        recovery_options=(remedy,),
        next_steps=(remedy,),
    )


def _complaints(data: bytes, checkout: Workspace) -> Iterator[str]:
    """What a failed program says of its own run."""
    runs = opened((opened(as_utf8(data), Fields) or {}).get("runs"), list[msgspec.Raw]) or []
    for run in runs:
        for call in map(as_dict, opened((opened(run, Fields) or {}).get("invocations"), list) or []):
            for key in ("toolExecutionNotifications", "toolConfigurationNotifications"):
                for note in map(as_dict, as_list(call.get(key))):
                    if told := _told(as_text(as_dict(note.get("message")).get("text")), checkout):
                        yield told


def _with_findings(result: Result, review: _Review, checkout: Workspace, kind: str) -> Result:
    each = Counter(_severity(entry.sighting) for entry in review.entries)
    return msgspec.structs.replace(
        result,
        findings=tuple(_blocks(review, checkout)),
        references=tuple(_references(review)) or result.references,
        severity_summary=tuple(Count(severity=word.capitalize(), count=each[word]) for word in reversed(SCALE)),
        overrides=tuple(Override(rule=rule, reason=why) for rule, why in _departures(result, review, kind)),
    )


def _blocks(review: _Review, checkout: Workspace) -> Iterator[Block]:
    columns = ("ID", "Issue", "File:Line", "Severity", "Confidence", "Category")
    rows = tuple(Row(cells=_cells(entry)) for entry in review.entries)
    yield Block(heading="Issues Detected", content=(Table(columns=columns, rows=rows),))
    details = [part for entry in review.entries for part in _details(entry, checkout)]
    if details:
        yield Block(heading="Issue Details", content=tuple(details))
    lost = [entry for entry in review.entries if not entry.place]
    if lost:
        items = [Item(text=_told(f"{entry.id}: {_claimed(entry.sighting)}", checkout, 300)) for entry in lost]
        more = [Item(text=f"and {len(lost) - _MAX_LOST} more")] if len(lost) > _MAX_LOST else []
        yield Block(heading="Places Not Cited", content=(Items(items=(*items[:_MAX_LOST], *more)),))


def _cells(entry: _Entry) -> tuple[str, ...]:
    score = number(round(entry.sighting.opinion.confidence, 1))
    return entry.id, entry.title, entry.place, _severity(entry.sighting), score, entry.sighting.category


def _details(entry: _Entry, checkout: Workspace) -> Iterator[Content]:
    said = entry.sighting.opinion
    more = _told(f"{said.agent} says: {said.details}", checkout, 240) if said.details.strip() else ""
    if entry.quote is not None:
        yield Heading(text=_told(f"{entry.id}: {said.title}", checkout))
        yield entry.quote
        if more:
            yield Text(text=more)


def _claimed(sighting: Sighting) -> str:
    if sighting.path is None:
        return "the program gave no place"
    line = f" at {sighting.opinion.line}" if sighting.opinion.line is not None else ""
    why = "it does not hold" if sighting.verified is False else "it cannot be checked"
    return f"{sighting.path[:200]}{line} was claimed; {why}"


def _references(review: _Review) -> Iterator[KeyReference]:
    """The files with the worst findings first: where to begin to read."""
    files: dict[str | None, list[_Entry]] = {}
    for entry in review.entries:
        if entry.place:
            files.setdefault(entry.sighting.path, []).append(entry)
    for own in list(files.values())[:_MAX_FILES]:
        relevance = f"{_counted(len(own), 'finding')}, the worst {_severity(own[0].sighting)}"
        yield KeyReference(item=own[0].id, location=own[0].place, relevance=relevance)


def _confidence(review: _Review) -> Confidence:
    """The mean of the findings that hold and of those that do not; one part that fails weighs as much as the other."""
    if not review.sightings:
        return Confidence(score=_NOTHING_FOUND, reason="nothing was found, and a program sees only what its rules name")
    holds = [one.opinion.confidence for one in review.sightings if one.verified]
    others = [one.opinion.confidence for one in review.sightings if not one.verified]
    verified, inferred = (round(min(_SUREST, fmean(each)), 1) if each else 0.0 for each in (holds, others))
    score = round((verified + inferred) / 2, 1) if others else verified
    reason = f"the places of {len(holds)} of {_counted(len(review.sightings), 'finding')} hold"
    if score < 75:
        return Confidence(score=score, reason=reason)
    return Confidence(
        score=score, reason=reason, verified=verified, inferred=inferred if others else "n/a", combined=score
    )


def _justification(confidence: Confidence, review: _Review) -> Justification | None:
    if isinstance(confidence.score, str) or confidence.score < 85:
        return None
    places = {(entry.sighting.path, entry.sighting.opinion.line) for entry in review.entries if entry.place}
    return Justification(
        score=confidence.score,
        evidence_count=float(len(places)),
        method="The program's own certainty; each place was looked up in the checkout",
        blind_spots="What the program has no rule for; its false alarms",
    )


def _uncertainty(confidence: Confidence, review: _Review) -> str:
    if isinstance(confidence.score, str) or confidence.score >= 70:
        return ""
    lost = sum(not one.verified for one in review.sightings)
    unsure = f"The places of {_counted(lost, 'finding')} do not hold or could not be checked. " if lost else ""
    return f"{unsure}The program may raise false alarms; looking at each place by hand would settle it."


def _gaps(review: _Review) -> Iterator[Blocker]:
    each = Counter(report.status for report in review.reports)
    if each["FAILED"]:
        text = f"{each['FAILED']} of {_counted(len(review.reports), 'run')} did not succeed"
        yield Blocker(text=text, resolution="mend what the program complains of and run it again")
    if review.unread:
        text = f"{_counted(review.unread, 'result')} cannot be read or lie over the limit"
        yield Blocker(text=text, resolution="look at the program's own output")
    elif each["PARTIAL"]:
        yield Blocker(text="A run has no list of results", resolution="let the program look at something")
    if review.hidden:
        text = f"{_counted(review.hidden, 'milder or less certain finding')} not listed here"
        yield Blocker(text=text, resolution="mend these first, narrow the scope, or look at the program's own output")


def _summary(review: _Review) -> str:
    each = Counter(map(_severity, review.sightings))
    kinds = ", ".join(f"{each[word]:,} {word}" for word in reversed(SCALE) if each[word])
    found = f"reported {_counted(len(review.sightings), 'finding')} ({kinds})" if kinds else "reported no findings"
    files = len({entry.sighting.path for entry in review.entries if entry.place})
    cited = sum(bool(entry.place) for entry in review.entries)
    rows = f"{len(review.entries)} are listed, {cited} of them with a place in {_counted(files, 'file')}"
    end = " The list is incomplete; Blockers say why." if review.status == "PARTIAL" else ""
    return f"The program {found}. {rows if kinds else 'There is nothing to list'}.{end}"


def _next_steps(review: _Review) -> Iterator[str]:
    if review.status == "PARTIAL":
        yield "Settle what Blockers name, so that the list is complete"
    if review.entries:
        worst = _severity(review.entries[0].sighting)
        same = sum(_severity(one) == worst for one in review.sightings)
        yield f"Look at the {_counted(same, f'{worst} finding')} first and mend or dismiss each"
    elif review.status == "SUCCESS":
        yield "Go on: the program has nothing to complain of"


def _departures(result: Result, review: _Review, kind: str) -> Iterator[tuple[str, str]]:
    """Rules that such a result cannot keep without making something up, each with the reason."""
    cited = [entry for entry in review.entries if entry.place]
    if len(cited) < len(review.entries):
        yield "finding-without-reference", "a place that is not in the checkout is told in words and not cited"
    if kind == "review" and len({entry.sighting.path for entry in cited}) == 1:
        yield "single-source", "every place that the program names and that holds lies in this file"
    if any(entry.sighting.category == "security" and entry.quote is None for entry in review.entries):
        yield "security-without-quote", "lines that are not there, too long or not plain text are not quoted"
    said: dict[tuple[str, str], set[str]] = {}
    for entry in cited:
        said.setdefault((entry.place, entry.sighting.category), set()).add(_severity(entry.sighting))
    if any(len(severities) > 1 for severities in said.values()):
        yield "self-conflict", "different rules of the program rate the same place, each for itself"
    if cited:
        yield "reference-unseen", "the program opened the files itself, which leaves no receipt of each"
        if result.confidence is not None and not isinstance(result.confidence.score, str):
            yield from [_UNSUPPORTED] if result.confidence.score >= 60 else []


_UNSUPPORTED = ("confidence-unsupported", "files that the program opened itself count half; each place was looked up")


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
