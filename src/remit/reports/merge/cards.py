"""One finding as a card of the HTML report: what, where, how sure, the source, and who says so."""

from __future__ import annotations

from html import escape

import msgspec

from remit.merging.model import MergedFinding, Opinion
from remit.reports.layout import escape_control
from remit.reports.merge.parts import (
    EVIDENCE,
    MAX_TITLE,
    agents_text,
    agreement,
    counted,
    evidence_state,
    excerpt,
    notes_of,
    opinion_details,
    place_of,
    score,
    severity_of,
    shared_flags,
    truncate_text,
)
from remit.workspace.files import Workspace

#: Lines of source before and after the cited ones.
_AROUND = 3
#: More agents on one finding, or longer words of one agent, are cut; the JSON form has them whole.
_MAX_OPINIONS = 20
_MAX_WORDS = 2000
#: Longer words are folded: tools explain a rule in each of its results.
_MAX_OPEN = 300
_EVIDENCE_CHIPS = {True: "good", False: "bad", None: ""}


def excerpt_html(text: str, length: int = MAX_TITLE) -> str:
    """Untrusted text as HTML: one line, nothing in it is obeyed."""
    return escape(escape_control(truncate_text(text, length)))


def paragraphs(text: str, length: int) -> str:
    """Untrusted text as HTML that keeps its lines, for an element in which white space counts."""
    return "\n".join(escape(escape_control(line)) for line in truncate_text(text.strip(), length).split("\n"))


def filter_tokens(names: tuple[str, ...]) -> str:
    """Names for the filters, as the value of an attribute."""
    return escape(msgspec.json.encode([escape_control(truncate_text(name, MAX_TITLE)) for name in names]).decode())


def filter_flags(finding: MergedFinding) -> tuple[str, ...]:
    """What a finding can be filtered by: its flags, and how its evidence stands."""
    return (*finding.flags, EVIDENCE[finding.verified])


def attributes(finding: MergedFinding) -> str:
    """What the filters look at."""
    return (
        f'data-severity="{severity_of(finding)}" data-agents="{filter_tokens(finding.agents)}"'
        f' data-flags="{filter_tokens(filter_flags(finding))}"'
    )


def card(finding: MergedFinding, number: int, agents: int, workspace: Workspace | None) -> str:
    """The card; the first one is open, so that a reader sees what is inside."""
    severity, source = severity_of(finding), _source(finding, workspace)
    return f"""<article class="card {severity}" id="finding-{number}" {attributes(finding)}>
<details{" open" if number == 1 else ""}>
<summary>
{badge(severity)}
<div class="what">
<h3>{excerpt_html(finding.title) or "No title"}</h3>
<div class="about">{_about(finding, agents)}</div>
</div>
<div class="sure">{_bar(finding.confidence)}<span>{score(finding.confidence)}</span></div>
</summary>
<div class="inside">
{_flags(finding)}
{source}{_opinions(finding, has_source=bool(source))}
</div>
</details>
</article>
"""


def badge(severity: str) -> str:
    """A severity in its colour."""
    return f'<span class="badge {severity}">{severity.capitalize()}</span>'


def _about(finding: MergedFinding, agents: int) -> str:
    place = f'<span class="place">{excerpt_html(place_of(finding))}</span>' if finding.path else "<span>no place</span>"
    notes = [excerpt_html(finding.id, 40), excerpt_html(finding.category, 40), f"{agreement(finding, agents)} agents"]
    warnings = [("bad", EVIDENCE[False])] if finding.verified is False else []
    warnings += [("warn", "disputed")] if "disputed" in finding.flags else []
    chips = "".join(f'<span class="chip {kind}">{word}</span>' for kind, word in warnings)
    return place + "".join(f"<span>{note}</span>" for note in notes if note) + chips


def _bar(confidence: float) -> str:
    """A picture of the number beside it, so it says nothing to a screen reader."""
    return (
        '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{min(100.0, max(0.0, round(confidence, 1))):g}" height="6"/></svg>'
    )


def _flags(finding: MergedFinding) -> str:
    state = evidence_state(finding)
    chips = [f'<li class="chip {_EVIDENCE_CHIPS[finding.verified]}">{excerpt_html(state[:1].upper() + state[1:])}</li>']
    flags = [flag for flag in shared_flags(finding) if flag != "disputed"]  # its head says so
    chips += [f'<li class="chip">{excerpt_html(flag, 60)}</li>' for flag in flags[:_MAX_OPINIONS]]
    return f'<ul class="flags" aria-label="Flags">{"".join(chips)}</ul>'


def _source(finding: MergedFinding, workspace: Workspace | None) -> str:
    lines = list(excerpt(finding, workspace, _AROUND))
    if not lines:
        return ""
    rows = []
    for line in lines:
        tag = "mark" if line.cited else "span"
        kind = "row cited" if line.cited else "row"
        text = escape(escape_control(line.text))
        rows.append(f'<{tag} class="{kind}"><span class="no">{line.number}</span>{text}\n</{tag}>')
    place, code = excerpt_html(place_of(finding)), f'<code class="rows">{"".join(rows)}</code>'
    return (
        f'<figure class="source"><figcaption class="place">{place}</figcaption>'
        f'<pre tabindex="0" role="group" aria-label="Source of {place}">{code}</pre></figure>\n'
    )


def _opinions(finding: MergedFinding, *, has_source: bool) -> str:
    more = len(finding.opinions) - _MAX_OPINIONS
    note = f'<p class="quiet">And {counted(more, "more agent")}.</p>' if more > 0 else ""
    rows = "\n".join(_opinion(one, finding, has_source=has_source) for one in agents_text(finding)[:_MAX_OPINIONS])
    return f"""<table class="opinions stack">
<thead><tr><th scope="col">Agent</th><th scope="col">Severity</th><th scope="col">Score</th>\
<th scope="col">What it says</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>{note}"""


def _opinion(opinion: Opinion, finding: MergedFinding, *, has_source: bool) -> str:
    own = f' <span class="quiet">{excerpt_html(opinion.id, 40)}</span>' if opinion.id else ""
    notes = excerpt_html(" · ".join(notes_of(opinion, finding)), _MAX_WORDS)
    notes = f'<p class="quiet">{notes}</p>' if notes else ""
    return (
        f'<tr><th scope="row">{excerpt_html(opinion.agent, 80)}</th><td>{badge(opinion.severity or "unrated")}</td>'
        f'<td class="number" data-label="Score">{score(opinion.confidence)}</td>'
        f'<td><span class="title">{excerpt_html(opinion.title) or "No title"}</span>{own}{notes}'
        f"{_told(opinion, has_source=has_source)}</td></tr>"
    )


def _told(opinion: Opinion, *, has_source: bool) -> str:
    """Its details: the risk and the fix by name, code only where the source is not shown, long words folded."""
    if not opinion.details:
        return ""
    said = opinion_details(opinion)
    labels = "".join(
        f"<dt>{label}</dt><dd>{excerpt_html(words, _MAX_WORDS)}</dd>"
        for label, words in (("Risk", said.risk), ("Fix", said.fix), ("Also", said.also))
        if words
    )
    parts = [f'<dl class="told">{labels}</dl>' if labels else ""]
    if len(said.words) > _MAX_OPEN:
        whole = paragraphs(opinion.details, _MAX_WORDS)
        parts.append(f'<details class="more"><summary>What it says in full</summary><pre>{whole}</pre></details>')
    else:
        parts.append(f'<p class="words">{paragraphs(said.words, _MAX_OPEN)}</p>' if said.words else "")
        parts.append(f"<pre>{paragraphs(said.code, _MAX_WORDS)}</pre>" if said.code and not has_source else "")
    return "".join(parts)
