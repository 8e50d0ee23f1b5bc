"""Write a merge as Markdown for people: the comment on a change, the summary of a run."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from remit.merging.findings import titles_beside
from remit.merging.merge_data import Merge, MergedFinding
from remit.reports.merge.decision import contract_status, decision_text, headline
from remit.reports.merge.groups import no_findings_text, section_groups
from remit.reports.merge.parts import (
    MAX_COLUMNS,
    agreement,
    answered_agents,
    evidence_state,
    excerpt,
    fold_findings,
    location_of,
    notes_of,
    opinion_details,
    opinions_by_score,
    safe_agent,
    safe_text,
    score,
    severity_of,
    shown_flags,
)
from remit.workspace.files import Workspace

#: A report is for reading; the JSON form has everything.
_LIMITS = {"findings": 200, "rows": 200, "entries": 20, "lines": 30, "opinions": 20, "dropped": 20}
_MAX_WORDS = 1_000


def merge_markdown(merge: Merge, workspace: Workspace | None = None) -> str:
    """Return the report. With a checkout it shows the cited lines."""
    agents = answered_agents(merge)
    return (
        _environment()
        .get_template("merge.md.j2")
        .render(
            merge=merge,
            headline=headline(merge),
            why=decision_text(merge),
            entries=fold_findings(merge.findings[: _LIMITS["findings"]]),
            titles={finding.id: finding.title for finding in (*merge.dropped, *merge.findings)},
            groups=section_groups(merge),
            no_findings=no_findings_text(merge),
            limits=_LIMITS,
            parts=lambda finding: _parts(finding, agents, workspace),
        )
    )


def _parts(finding: MergedFinding, agents: int, workspace: Workspace | None) -> dict[str, Any]:
    """Return what is shown of one finding."""
    flags = " · ".join(map(safe_text, [finding.category, *shown_flags(finding)]))
    details = [(opinion, opinion_details(opinion)) for opinion in opinions_by_score(finding)[: _LIMITS["opinions"]]]
    return {
        "about": f"{evidence_state(finding)} · {agreement(finding, agents)} agents · {flags}",
        "beside": titles_beside(finding),
        "code": _code(finding, workspace),
        "opinions": [
            (opinion, ", ".join(notes_of(opinion)), {"Risk": d.risk, "Fix": d.fix, "Also": d.also, "": d.words})
            for opinion, d in details
        ],
    }


def _code(finding: MergedFinding, workspace: Workspace | None) -> str:
    """Return the cited lines in a fence that no line of them can end."""
    lines = [f"{line.number:>5} {line.text[:MAX_COLUMNS]}" for line in excerpt(finding, workspace, around=0)]
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *lines, fence]) if lines else ""


def _as_code(text: str) -> str:
    """Return a location in code marks; nothing without one."""
    plain = safe_text(text.replace("`", "'"), 300)
    return f"`{plain}`" if plain else "no location"


@cache
def _environment() -> Environment:
    environment = Environment(  # noqa: S701 - Markdown: each text passes `md` or `code`
        loader=PackageLoader("remit.reports", "html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        md=safe_text,
        words=lambda text: safe_text(text, _MAX_WORDS),
        agent=safe_agent,
        cell=lambda text: text.replace("|", "\\|"),
        code=_as_code,
        location=location_of,
        score=score,
        severity=severity_of,
        contract_status=contract_status,
    )
    return environment
