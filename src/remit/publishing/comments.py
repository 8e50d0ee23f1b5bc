"""The comments on a pull request: their text, and the mark by which a later run recognises them."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec

from remit.contract.kinds import slug
from remit.merging.dismissals import DISMISSED, fingerprint_of
from remit.merging.merge_data import Merge, MergedFinding
from remit.reports.layout import format_count
from remit.reports.merge.parts import (
    evidence_state,
    location_of,
    opinion_details,
    opinions_by_score,
    safe_agent,
    safe_text,
    score,
    severity_of,
)
from remit.secrets.scan import redact
from remit.workspace.files import Workspace

#: The most characters of an agent's explanation.
_MAX_DETAILS = 1_500
_MAX_OPINIONS = 5
#: In the words of an agent or a document, a backslash is before each `<`.
_MARK = re.compile(r"(?<!\\)<!-- remit (\{[^<>\n]{1,4000}\}) -->")
#: `@name` notifies people, and `fixes #12` closes an issue: a zero-width joiner between the characters prevents both.
_MENTION = re.compile(r"([@#])(?=[\w-])")
_JOINER = "\u2060"

State = Literal["open", "fixed"]


class Mark(NamedTuple):
    """What a comment of an earlier run records of its finding."""

    fingerprint: str
    #: A digest of the text, to see whether it changed.
    digest: str
    agents: tuple[str, ...]
    state: State = "open"

    def __str__(self) -> str:
        data = {"finding": self.fingerprint, "text": self.digest, "agents": self.agents, "state": self.state}
        encoded = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e")
        return f"<!-- remit {encoded} -->"


class Comment(NamedTuple):
    """One finding, or one claim that does not hold, as a comment."""

    fingerprint: str
    agents: tuple[str, ...]
    path: str | None
    first: int | None
    last: int | None
    text: str

    @property
    def mark(self) -> Mark:
        """The mark of an open finding."""
        digest = hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()[:16]
        return Mark(self.fingerprint, digest, self.agents)

    @property
    def body(self) -> str:
        """The text with its mark."""
        return f"{self.text}\n\n{self.mark}"

    @property
    def line_text(self) -> str:
        """One line for a list, with its mark."""
        place = location_text(self.path, self.first, self.last)
        return f"- {self.text.partition(chr(10))[0]}{f' ({place})' if place else ''} {self.mark}"


class Publication(NamedTuple):
    """What is published on a pull request."""

    comments: tuple[Comment, ...]
    #: The fingerprints of all that is still there, also of what is not published.
    present: frozenset[str]
    #: The names of those that have looked: only their comments are marked as fixed.
    answered: frozenset[str]
    #: The words for what is counted, with its plural, and what follows the number in a review.
    noun: tuple[str, str] = ("new finding", "new findings")
    about: str = ""
    #: The heading of the list in a review, and its last line.
    heading: str = "Outside the changed files:"
    ending: str = ""
    #: Whether what is not on a line of the diff is listed, and not a comment on its file.
    is_line_needed: bool = False

    def review_body(self, count: int, listed: Iterable[Comment], hidden: int) -> str:
        """Return the text of the review: totals, and what has no line in the diff."""
        lines = [f"**Remit** found {count} {self.noun[count != 1]}. {self.about}".rstrip()]
        listing = [comment.line_text for comment in listed]
        if listing:
            lines += ["", self.heading, "", *listing]
        if hidden:
            lines += ["", f"{format_count(hidden, 'more finding')} in the report."]
        return "\n".join([*lines, *(["", self.ending] if self.ending else [])])


def publication_of(merge: Merge, workspace: Workspace | None) -> Publication:
    """Return what is published of a merge. What a person dismissed is not there any more."""
    comments = comments_of(merge.findings, workspace)
    dropped = [finding for finding in merge.dropped if DISMISSED not in finding.flags]
    conflicts = format_count(len(merge.conflicts), "conflict")
    return Publication(
        tuple(comments),
        frozenset(comment.fingerprint for comment in (*comments, *comments_of(dropped, workspace))),
        frozenset(report.agent for report in merge.agents if report.status == "SUCCESS"),
        about=_agents(merge),
        ending=f"{conflicts} between agents: a person must decide." if merge.conflicts else "",
    )


def marks_in(body: str) -> Iterator[Mark]:
    """Yield the marks in a text; a mark that cannot be read is skipped."""
    for match in _MARK.finditer(body):
        try:
            data = json.loads(match[1])
            agents = tuple(map(str, msgspec.convert(data["agents"], list[str])))
            state: State = "fixed" if data.get("state") == "fixed" else "open"
            yield Mark(str(data["finding"]), str(data["text"]), agents, state)
        except (ValueError, KeyError, TypeError):
            continue


def comments_of(findings: Iterable[MergedFinding], workspace: Workspace | None) -> list[Comment]:
    """Return findings as comments, in their order; equal ones are numbered."""
    marks: Counter[str] = Counter()
    comments = []
    for finding in findings:
        code = fingerprint_of(finding, workspace)
        marks[code] += 1
        code = code if marks[code] == 1 else f"{code}-{marks[code]}"
        has_line = finding.verified is not False and finding.line is not None
        first, last = (finding.line, finding.end_line or finding.line) if has_line else (None, None)
        path = finding.path if finding.verified is not False else None
        agents = tuple(sorted({slug(agent) for agent in finding.agents}))
        comments.append(Comment(code, agents, path, first, last, _text(finding)))
    return comments


def fixed_body(body: str, mark: Mark, commit: str) -> str:
    """Return a comment whose finding is gone, with its new mark."""
    text = _MARK.sub("", body).rstrip()
    return f"{text}\n\n_Not reported any more at {commit[:12]}: fixed or dismissed._\n\n{mark._replace(state='fixed')}"


def location_text(path: str | None, first: int | None, last: int | None) -> str:
    """Return `path:12-18` as code."""
    if path is None:
        return ""
    lines = "" if first is None else f":{first}" if last in (None, first) else f":{first}-{last}"
    return f"`{_without_marks(safe_text(path))}{lines}`"


def _agents(merge: Merge) -> str:
    failed = sorted({safe_agent(report.agent) for report in merge.agents if report.status == "FAILED"})
    answered = sorted({safe_agent(report.agent) for report in merge.agents} - set(failed))
    text = f"Reviewers: {quiet_text(', '.join(answered)) or 'none'}."
    return f"{text} Failed: {quiet_text(', '.join(failed))}." if failed else text


def _text(finding: MergedFinding) -> str:
    title = safe_text(redact(" ".join(filter(None, [finding.id, finding.title])))) or "no title"
    lines = [f"**{severity_of(finding)}**, {score(finding.confidence)}: {quiet_text(title)}"]
    opinions = opinions_by_score(finding)
    details = opinion_details(opinions[0]) if opinions else None
    for label, words in (("", details.words), ("Risk: ", details.risk), ("Fix: ", details.fix)) if details else ():
        if words:
            lines += ["", label + quiet_text(safe_text(words, _MAX_DETAILS))]
    said = [
        f"{safe_agent(opinion.agent)} ({opinion.severity or 'unrated'}, {score(opinion.confidence)})"
        for opinion in opinions
    ]
    more = f" and {len(said) - _MAX_OPINIONS} more" if len(said) > _MAX_OPINIONS else ""
    place = f" Cited: {safe_text(location_of(finding))}." if finding.verified is False and finding.path else ""
    reported = f"Reported by {', '.join(said[:_MAX_OPINIONS])}{more}; {safe_text(evidence_state(finding))}.{place}"
    return "\n".join([*lines, "", f"<sub>{quiet_text(reported)}</sub>"])


def quiet_text(text: str) -> str:
    """Return text that does not notify people, closes no issue, and contains no mark of an earlier run."""
    return _without_marks(_MENTION.sub(rf"\1{_JOINER}", text))


def _without_marks(text: str) -> str:
    return text.replace("<!--", f"<!{_JOINER}--")
