"""Write a merge as one self-contained HTML file: no network, no script but its own, light and dark.

The templates in `reports/html` escape every value. The content security policy allows the style and the script of this
package by their hashes and nothing else, so text of an agent has no effect even if it were not escaped. The same merge
and source always give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from remit.merging.findings import titles_beside
from remit.merging.merge_data import Merge, MergedFinding, Opinion
from remit.reports.layout import escape_control, format_count
from remit.reports.merge.decision import contract_status, decision_text, headline
from remit.reports.merge.groups import no_findings_text, section_groups
from remit.reports.merge.parts import (
    MAX_TITLE,
    SEVERITIES,
    agreement,
    answered_agents,
    counts_of,
    evidence_state,
    excerpt,
    location_of,
    notes_of,
    opinion_details,
    opinions_by_score,
    score,
    severity_of,
    shown_flags,
    truncate_text,
)
from remit.workspace import git
from remit.workspace.files import Workspace
from remit.workspace.safe_git import run_git

TITLE = "Review findings"
#: The most findings that are shown in full, and the most characters of them; the rest are rows of a table.
MAX_CARDS = 1000
MAX_TEXT = 8 * 1024 * 1024
#: The most rows of a table; the rest are counted.
MAX_ROWS = 10_000
#: More rows are split into pages, which are closed: a browser lays out what is open.
_ROWS_IN_PAGE = 500
#: A longer location may be wrapped.
_MAX_UNBROKEN = 48
#: Lines of source before and after the cited ones.
_AROUND = 3
#: More agents on one finding, or longer text of one agent, are cut; the JSON form has all of it.
_MAX_OPINIONS = 20
_MAX_WORDS = 2000
#: More agents are listed after the findings.
_MAX_AGENTS = 12
#: The most entries of a section, and the most lines of one of them.
_MAX_ENTRIES = 200
_MAX_LINES = 200
#: Longer text is folded: tools repeat the explanation of a rule in each of its results.
_MAX_OPEN = 300
#: Hosts that show a file of a commit: the address between repository and commit, and the mark of the last line.
_HOSTS = {"github.com": ("blob", "-L"), "gitlab.com": ("-/blob", "-")}
#: Characters of a commit that are shown.
_SHOWN_COMMIT = 10
_STATUS_CHIPS = {"SUCCESS": "good", "PARTIAL": "warn", "FAILED": "bad"}
_DECISION_CHIPS = {"continue": "good", "review": "warn", "retry": "bad"}
_VERDICT_CHIPS = {"accept": "good", "revise": "warn", "reject": "bad"}
_EVIDENCE_CHIPS = {True: "good", None: ""}
_LEGEND = {
    "Confidence": "0 to 100, after the evidence was checked and the agents' scores were combined",
    "The quote is there": "the quoted code was compared with the file; this does not make the finding true",
    "The name is there": "a name beside the location was compared with the file; no code was quoted",
    "The line exists": "the cited location exists, and nothing else was compared",
    "Unchecked": "it could not be checked: there was no checkout, or the file cannot be read",
    "Failed": "a row whose location, name or quote is not there; it is no finding and counts for nothing",
    "agreed, confirmed": "two agents, or three or more, report it",
    "disputed": "agents contradict each other; see the conflicts",
    "claimed": "what the agent stated, before its evidence was checked",
    "no score given, unscored": "an agent gave no score; 70 was used, or 80 if its text has no place for a score",
    "dismissed-before": "a person dismissed it with fewer titles or rules, or a lower severity",
    "relocated": "the location was corrected",
    "revise, reject": "it comes from a result that breaks the contract",
    "tool": "a program's findings, which are not checked against the contract",
    "Dropped": "not counted, each with its reason; a critical finding is never dropped for low confidence",
}


class ReportSource(NamedTuple):
    """What a report is about: the project, its commit and when the report was made; and where its code is."""

    project: str
    commit: str
    date: str
    #: The beginning of the address of each file; empty if the page cannot link to files.
    address: str = ""
    #: What is between the lines of an address on a host; empty if the address is that of a file on this machine.
    between_lines: str = ""

    def link(self, finding: MergedFinding) -> str:
        """Return the address of the code of a finding; empty without one."""
        if not self.address or not finding.path or finding.path.startswith(("/", "..")):
            return ""
        address = f"{self.address}/{quote(finding.path, safe='/', errors='replace')}"
        if not self.between_lines or not finding.line:
            return address
        last = finding.end_line if finding.end_line and finding.end_line != finding.line else None
        return f"{address}#L{finding.line}{f'{self.between_lines}{last}' if last else ''}"


def report_source(root: Path, folder: Path | None, date: datetime) -> ReportSource:
    """Return what a report about a checkout states about it; `folder` is where the page is written.

    The page links to the host of the repository if it has the commit, and else to the files next to the page.
    """
    root = root.resolve()
    commit = git.head(root) or ""
    shown = f"commit {commit[:_SHOWN_COMMIT]}" if commit else ""
    if commit and git.changes(root):
        shown += " and changes"
    host = _host_address(root, commit) if commit else None
    if host is not None:
        address, between = host
    else:
        address, between = ("" if folder is None else _relative(root, folder)), ""
    return ReportSource(root.name, shown, f"{date:%Y-%m-%d %H:%M}", address, between)


def _host_address(root: Path, commit: str) -> tuple[str, str] | None:
    parts = urlsplit(git.remote_address(root) or "")
    if parts.hostname not in _HOSTS or not run_git(root, "branch", "--remotes", "--contains", commit):
        return None
    infix, between = _HOSTS[parts.hostname]
    return f"https://{parts.hostname}/{parts.path.strip('/').removesuffix('.git')}/{infix}/{commit}", between


def _relative(root: Path, folder: Path) -> str:
    try:
        return quote(os.path.relpath(root, folder.resolve()).replace(os.sep, "/"), safe="/", errors="replace")
    except ValueError:  # another drive
        return ""


class _ShownOpinion(NamedTuple):
    """One agent's opinion, in the parts that a card shows."""

    opinion: Opinion
    notes: str
    labels: tuple[tuple[str, str], ...]
    words: str
    code: str
    is_long: bool


def merge_html(
    merge: Merge, workspace: Workspace | None = None, title: str = TITLE, source: ReportSource | None = None
) -> str:
    """Return the page. With a checkout it shows the cited lines; with a source, what they are lines of."""
    if source is not None:
        title = f"Review of {source.project}"
    style, script = _asset("merge.css"), _asset("merge.js")
    cards = _cards(merge, workspace, source)
    agents, flags = _filter_options(merge.findings)
    kept = Counter(map(severity_of, merge.findings))
    rest = merge.findings[len(cards) :]
    return (
        _environment()
        .get_template("merge.html")
        .render(
            merge=merge,
            title=_short(title) or TITLE,
            about=" · ".join(filter(None, source[1:3])) if source is not None else "",
            number=format_count(len(merge.findings), "finding"),
            policy=_policy(style, script),
            # Files of this package, named in the policy by their hashes.
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            headline=headline(merge),
            decision=f"{decision_text(merge)}.",
            decision_chip=_DECISION_CHIPS[merge.decision],
            numbers=_numbers(merge, kept),
            titles={finding.id: finding.title for finding in (*merge.dropped, *merge.findings)},
            cards_of={finding.id: number for number, finding in enumerate(merge.findings, 1)},
            present=[name for name in SEVERITIES if kept[name]],
            agent_options=agents,
            flag_options=flags,
            cards=[card for _, card in cards],
            bands=_bands(kept, cards),
            rest=rest,
            groups=section_groups(merge),
            no_findings=no_findings_text(merge),
            max_entries=_MAX_ENTRIES,
            max_agents=_MAX_AGENTS,
            max_lines=_MAX_LINES,
            max_words=_MAX_WORDS,
            rest_caption=f"{format_count(len(rest), 'finding')} of lower rank, without details",
            dropped_caption=counts_of(merge.dropped),
            legend=_LEGEND,
            severities=SEVERITIES,
            status_chips=_STATUS_CHIPS,
            verdict_chips=_VERDICT_CHIPS,
            max_rows=MAX_ROWS,
            rows_in_page=_ROWS_IN_PAGE,
            max_unbroken=_MAX_UNBROKEN,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("remit.reports", "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        short=_short,
        paragraphs=_paragraphs,
        visible=escape_control,
        json_names=_json_names,
        flags=_filter_flags,
        severity=severity_of,
        location=location_of,
        score=score,
        contract_status=contract_status,
    )
    return environment


def _asset(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None  # noqa: S101 - set above
    return environment.loader.get_source(environment, name)[0]


def _policy(style: str, script: str) -> str:
    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _short(text: str, length: int = MAX_TITLE) -> str:
    """Cut untrusted text and make its control characters visible; the template escapes it."""
    return escape_control(truncate_text(text, length))


def _paragraphs(text: str, length: int) -> str:
    """Keep the lines of untrusted text, for an element that preserves white space."""
    return "\n".join(escape_control(line) for line in truncate_text(text.strip(), length).split("\n"))


def _json_names(names: Iterable[str]) -> str:
    """Encode names for the filters of the page."""
    return msgspec.json.encode([_short(name) for name in names]).decode()


def _filter_flags(finding: MergedFinding) -> tuple[str, ...]:
    return (*shown_flags(finding), evidence_state(finding))


def _filter_options(findings: Iterable[MergedFinding]) -> tuple[list[str], list[str]]:
    """Return the agents and the flags that the page can be filtered by."""
    agents: set[str] = set()
    flags: set[str] = set()
    for finding in findings:
        agents.update(finding.agents)
        flags.update(_filter_flags(finding))
    return sorted(agents), sorted(flags)


def _numbers(merge: Merge, kept: Counter[str]) -> dict[str, int]:
    each = {name: kept[name] for name in SEVERITIES if name != "unrated" or kept[name]}
    return {**each, "conflicts": len(merge.conflicts), "failed": len(merge.failed), "dropped": len(merge.dropped)}


def _bands(kept: Counter[str], cards: list[tuple[str, Markup]]) -> dict[int, tuple[str, int]]:
    """Return the severities with the number of their findings, by the position of their first card."""
    first: dict[str, int] = {}
    for position, (severity, _) in enumerate(cards):
        first.setdefault(severity, position)
    return {position: (severity, kept[severity]) for severity, position in first.items()}


def _cards(merge: Merge, workspace: Workspace | None, source: ReportSource | None) -> list[tuple[str, Markup]]:
    """Render findings in full until there are too many of them, or too much text."""
    template = _environment().get_template("card.html")
    agents, size = answered_agents(merge), 0
    cards: list[tuple[str, Markup]] = []
    for number, finding in enumerate(merge.findings[:MAX_CARDS], 1):
        values = _card_values(finding, number, agents, workspace)
        card = template.render(values, link=source.link(finding) if source is not None else "")
        cards.append((values["severity"], Markup(card)))  # noqa: S704 - rendered with autoescape
        size += len(card)
        if size > MAX_TEXT:
            break
    return cards


def _card_values(finding: MergedFinding, number: int, agents: int, workspace: Workspace | None) -> dict[str, Any]:
    state = evidence_state(finding)
    more = len(finding.opinions) - _MAX_OPINIONS
    return {
        "finding": finding,
        "number": number,
        "severity": severity_of(finding),
        "location": location_of(finding),
        "notes": (
            _short(finding.id),
            _short(finding.category, 40),
            f"{agreement(finding, agents)} agents",
        ),
        "titles": titles_beside(finding)[:_MAX_OPINIONS],
        "evidence_chip": _EVIDENCE_CHIPS[finding.verified or None],
        "state": state[:1].upper() + state[1:],
        "bar": f"{min(100.0, max(0.0, round(finding.confidence, 1))):g}",
        # The head of the card shows `disputed`.
        "shared_flags": [flag for flag in shown_flags(finding) if flag != "disputed"][:_MAX_OPINIONS],
        "source": list(excerpt(finding, workspace, _AROUND)),
        "opinions": [_shown_opinion(opinion) for opinion in opinions_by_score(finding)[:_MAX_OPINIONS]],
        "more": format_count(more, "more agent") if more > 0 else "",
        "max_words": _MAX_WORDS,
        "max_open": _MAX_OPEN,
    }


def _shown_opinion(opinion: Opinion) -> _ShownOpinion:
    details = opinion_details(opinion)
    labels = (("Risk", details.risk), ("Fix", details.fix), ("Also", details.also))
    return _ShownOpinion(
        opinion=opinion,
        notes=" · ".join(notes_of(opinion)),
        labels=tuple((label, text) for label, text in labels if text),
        words=details.words,
        code=details.code,
        is_long=len(details.words) > _MAX_OPEN,
    )
