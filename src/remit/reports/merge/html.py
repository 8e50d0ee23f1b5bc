"""A merge as one HTML file that needs nothing else: no network, no scripts but its own, light and dark.

Its policy lets only the style and the script of this package run, by their hashes, so that an agent's words
could not do anything even where they slipped through. The same merge always gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from string import Template

from remit.merging.model import Conflict, Merge, MergedFinding
from remit.reports.merge.cards import attributes, badge, card, excerpt_html, filter_flags
from remit.reports.merge.parts import (
    SEVERITIES,
    Subjects,
    answered_agents,
    contract_status,
    counted,
    decision_text,
    join_words,
    names_place,
    place_of,
    score,
    severity_of,
)
from remit.workspace.files import Workspace

TITLE = "What the agents found"
#: Findings in full, at most: beyond this many, or this much text, they are rows of a table.
MAX_CARDS = 2000
MAX_TEXT = 8 * 1024 * 1024
#: Rows of findings, and of dropped ones; what is beyond is counted.
MAX_ROWS = 10_000
_MAX_UNBROKEN = 48
_STATUS_CHIPS = {"SUCCESS": "good", "PARTIAL": "warn", "FAILED": "bad"}
_VERDICT_CHIPS = {"accept": "good", "revise": "warn", "reject": "bad"}
_LEGEND = {
    "Confidence": "0 to 100, after the evidence was looked up and the agents' scores were put together",
    "Place holds": "the cited place is there, and so is the code that was quoted; not that the finding is true",
    "Evidence failed": "the place, or what was quoted from it, is not there",
    "Unchecked": "nobody could look: there was no checkout, or the file cannot be read",
    "agreed, confirmed": "two agents, or three and more, name it",
    "disputed": "agents contradict each other on it: see the conflicts",
    "claimed": "what the agent itself gave, before its evidence was looked up",
    "no score given, unscored": "an agent gave no score; 70 was taken",
    "relocated": "the place had to be corrected",
    "revise, reject": "it comes from a result that breaks the contract",
    "tool": "a program's findings, which are not held to the contract",
    "Dropped": "left out of the count, each with its reason; a critical finding is never too unsure to be kept",
}


def merge_html(merge: Merge, workspace: Workspace | None = None, title: str = TITLE) -> str:
    """The page. With a checkout it shows the cited lines."""
    style, script = _part("merge.css"), _part("merge.js")
    return Template(_part("merge.html")).substitute(
        policy=_policy(style, script),
        title=excerpt_html(title) or TITLE,
        style=style,
        verdict=_verdict(merge),
        numbers=_numbers(merge),
        overview=_overview(merge),
        filters=_filters(merge),
        findings="".join(_findings(merge, workspace)),
        dropped=_dropped(merge),
        legend=_legend(),
        script=script,
    )


def _part(name: str) -> str:
    return (files("remit.reports") / "html" / name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _chip(word: str, kind: str) -> str:
    return f'<span class="chip {kind}">{word}</span>'


def _verdict(merge: Merge) -> str:
    words = excerpt_html(f"{merge.decision.capitalize()}: {decision_text(merge)}.", 1000)
    person = " A person should look before the work goes on." if merge.decision == "review" else ""
    return f'<p class="verdict">{_chip(merge.status, _STATUS_CHIPS[merge.status])}<span>{words}{person}</span></p>'


def _numbers(merge: Merge) -> str:
    each = {name: sum(severity_of(finding) == name for finding in merge.findings) for name in SEVERITIES}
    if not each["unrated"]:
        del each["unrated"]
    numbers = {**each, "conflicts": len(merge.conflicts), "dropped": len(merge.dropped)}
    tiles = (
        f'<div class="{_tile(name, number)}"><dt>{name.capitalize()}</dt><dd>{number:,}</dd></div>'
        for name, number in numbers.items()
    )
    return f'<dl class="numbers">{"".join(tiles)}</dl>'


def _tile(name: str, number: int) -> str:
    return ("none" if not number else name if name in SEVERITIES else "count") + " tile"


def _overview(merge: Merge) -> str:
    """What agents disagree on, and who they are."""
    conflicts = ""
    if merge.conflicts:
        subjects, places = Subjects(merge), {id(finding): at for at, finding in enumerate(merge.findings, 1)}
        rows = "\n".join(_conflict(conflict, subjects.of(conflict), places) for conflict in merge.conflicts)
        conflicts = (
            '<section aria-labelledby="conflicts-title">\n<h2 id="conflicts-title">'
            f'Conflicts for a person to settle</h2>\n<ul class="conflicts">\n{rows}\n</ul>\n</section>\n'
        )
    agents = "\n".join(
        f'<tr><th scope="row">{excerpt_html(one.agent, 80)}</th>'
        f"<td>{_chip(excerpt_html(one.status, 20), _STATUS_CHIPS.get(one.status, ''))}</td>"
        f"<td>{_chip(excerpt_html(contract_status(one), 20), _VERDICT_CHIPS.get(one.verdict or '', ''))}</td></tr>"
        for one in merge.agents
    )
    return f"""<div class="overview{" pair" if conflicts else ""}">
{conflicts}<section aria-labelledby="agents-title">
<h2 id="agents-title">Agents</h2>
<table><thead><tr><th scope="col">Agent</th><th scope="col">Status</th><th scope="col">Contract</th></tr></thead>
<tbody>
{agents}
</tbody></table>
</section>
</div>"""


def _conflict(conflict: Conflict, finding: MergedFinding | None, places: dict[int, int]) -> str:
    subject = f'<span class="subject">{excerpt_html(conflict.finding)}</span>'
    if finding is not None and (at := places.get(id(finding))):
        subject = f'<a class="subject" href="#finding-{at}">{excerpt_html(conflict.finding)}</a>'
    title = place = ""
    if finding is not None:
        title = f"<span>{excerpt_html(finding.title)}</span>" if finding.title not in ("", conflict.finding) else ""
        is_lost = finding.path and not names_place(conflict, finding)
        place = f'<span class="place quiet">{excerpt_html(place_of(finding))}</span>' if is_lost else ""
    head = f"{_chip(conflict.kind.capitalize(), '')}{subject}{title}{place}"
    return f"<li><p>{head}</p><p>{excerpt_html(conflict.why, 1000)}</p></li>"


def _filters(merge: Merge) -> str:
    """The controls; hidden until the script has them in hand."""
    if not merge.findings:
        return ""
    there = {severity_of(finding) for finding in merge.findings}
    boxes = "".join(
        f'<label><input type="checkbox" name="severity" value="{name}">{name.capitalize()}</label>'
        for name in SEVERITIES
        if name in there
    )
    agents = _options("Any agent", {agent for finding in merge.findings for agent in finding.agents})
    flags = _options("Any flag", {flag for finding in merge.findings for flag in filter_flags(finding)})
    return f"""<form class="filters" id="filters" hidden>
<fieldset><legend>Severity</legend>{boxes}</fieldset>
<label class="half"><span class="label">Agent</span><select name="agent">{agents}</select></label>
<label class="half"><span class="label">Flag</span><select name="flag">{flags}</select></label>
<label class="grow"><span class="label">Search</span><input type="search" name="q" autocomplete="off"></label>
<button type="reset" class="half">Reset</button>
<button type="button" class="half" data-action="open" aria-pressed="false">Open all</button>
<p class="shown" id="shown" role="status"></p>
</form>"""


def _options(anything: str, values: set[str]) -> str:
    own = (f'<option value="{excerpt_html(value)}">{excerpt_html(value, 60)}</option>' for value in sorted(values))
    return f'<option value="">{anything}</option>{"".join(own)}'


def _findings(merge: Merge, workspace: Workspace | None) -> Iterator[str]:
    if not merge.findings:
        yield '<p class="quiet">No agent named anything that was kept.</p>'
        return
    agents, size, whole = answered_agents(merge), 0, 0
    for whole, finding in enumerate(merge.findings[:MAX_CARDS], 1):
        text = card(finding, whole, agents, workspace)
        size += len(text)
        yield text
        if size > MAX_TEXT:
            break
    rest = merge.findings[whole:]
    if rest:
        yield _rows(rest, f"{counted(len(rest), 'milder finding')}, in short", "Agents", whole + 1)


def _rows(findings: tuple[MergedFinding, ...], caption: str, last: str, first: int = 0) -> str:
    """A table of findings without their details; what does not fit is counted. `first`: the number of the first."""
    rows = "\n".join(
        f"<tr {_anchor(number, first)}{attributes(finding)}>"
        f"<td>{badge(severity_of(finding))}</td>"
        f'<td class="number" data-label="Confidence">{score(finding.confidence)}</td>'
        f'<th scope="row">{excerpt_html(finding.title) or "No title"} '
        f'<span class="quiet">{excerpt_html(finding.id, 40)}</span></th>'
        f'<td class="{_place_class(finding)}">{excerpt_html(place_of(finding))}</td><td>{_remark(finding)}</td></tr>'
        for number, finding in enumerate(findings[:MAX_ROWS], first)
    )
    more = len(findings) - MAX_ROWS
    note = f'<p class="quiet">And {more:,} more.</p>' if more > 0 else ""
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Severity", "Confidence", "Finding", "Place", last))
    return (
        f'<table class="stack"><caption>{caption}</caption><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table>{note}"
    )


def _place_class(finding: MergedFinding) -> str:
    """A place stays on one line, unless it would take the others' room."""
    return "place" if len(place_of(finding)) > _MAX_UNBROKEN else "place whole"


def _anchor(number: int, first: int) -> str:
    return f'id="finding-{number}" ' if first else ""


def _remark(finding: MergedFinding) -> str:
    """Why it was dropped, or who says so."""
    return excerpt_html(finding.reason if isinstance(finding.reason, str) else ", ".join(finding.agents))


def _dropped(merge: Merge) -> str:
    if not merge.dropped:
        return ""
    each = {name: sum(severity_of(finding) == name for finding in merge.dropped) for name in SEVERITIES}
    caption = join_words([f"{number:,} {name}" for name, number in each.items() if number])
    return f"""<section><details class="fold">
<summary><h2>Dropped findings ({len(merge.dropped):,})</h2></summary>
{_rows(merge.dropped, caption, "Why")}
</details></section>"""


def _legend() -> str:
    words = "".join(f"<dt>{word}</dt><dd>{meaning}</dd>" for word, meaning in _LEGEND.items())
    head = "<summary><h2>What the words mean</h2></summary>"
    return f'<details class="fold">{head}<dl class="legend">{words}</dl></details>'
