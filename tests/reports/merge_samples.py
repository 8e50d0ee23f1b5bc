"""Merges for tests: one of the example results, and generated ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from remit.contract.findings import Severity
from remit.evidence.sources import Sources, open_sources
from remit.merging.content import (
    NO_SECTIONS,
    AgentBlocker,
    AgentError,
    AgentSummary,
    AgentTests,
    Change,
    Citation,
    CitedLocation,
    ClaimRow,
    ComplianceRow,
    Design,
    DesignDifference,
    EntryPoint,
    Exploration,
    MapEntry,
    Note,
    PatternUse,
    Sections,
    Statement,
)
from remit.merging.merge import merge
from remit.merging.merge_data import (
    SCALE,
    AgentReport,
    Conflict,
    ConflictKind,
    Counts,
    FailedRow,
    Merge,
    MergedFinding,
    Opinion,
)
from remit.reports.merge.annotations import github_commands

ROOT = Path(__file__).resolve().parents[2]
SHOP = "examples/shop/shop"
#: Places that are there.
PLACES = [(f"{SHOP}/catalog.py", 63, None), (f"{SHOP}/payments.py", 40, 42), (f"{SHOP}/auth.py", None, None)]
#: Places that are not.
LOST = [("shop/nowhere.py", 12, None), (f"{SHOP}/auth.py", 99999, None), ("../secret.py", 1, 2), (None, None, None)]

PIECES = [
    *(
        "a title",
        "word",
        "|",
        "\\|",
        "\\",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        " ",
        "#",
        "## X Result",
        "### Status",
    ),
    *("[Name]", "[", "]", "[todo", "x]", "\\[Name]", "[x](javascript:alert(1))", "![i](x)", "<script>", "</style>"),
    *("<!--", "-->", "<img src=x onerror=alert(1)>", "&lt;", "**SEC-009: other**", "**Status**: FAILED", "- ", "1. "),
    *("shop/nowhere.py:12", "line 99 of a/b.py", "a/b.py, line 12", "a/b.py", "line 12", "a/b.py#L3", "a/b.py(12)"),
    *(
        "LICENSE:99999",
        "LICENSE line 99999",
        "README.md:99999",
        "pyproject.toml",
        "日本語a/b.py:3",
        "a/b.pyの12行目",
        "第12行",
    ),
    *(
        "`login()`",
        "(login)",
        "Code match: `no such code`",
        ":12",
        "#L12",
        "C:\\a\\b.py:3",
        "http://x/a.py:12",
        "12:30",
    ),
    *("needs corroboration", "none", "n/a", "-", "all tests passed", "Severity: minor", "| Severity: x", "SEC-001"),
    *(
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "\r",
        "\t",
        "👩‍💻",
        "security",
        "`a b.py:3`",
        "'",
        '"',
        "$x",
        "%0A",
        "::",
    ),
]

hostile = st.one_of(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), st.text(max_size=8))
_fences = st.tuples(hostile, st.sampled_from(["py", "", "text", "python a/b.py:3"]), hostile, hostile).map(
    lambda drawn: f"{drawn[0]}\n```{drawn[1]}\n{drawn[2]}\n```\n{drawn[3]}"
)
_severities: st.SearchStrategy[Severity | None] = st.sampled_from([None, *SCALE])
_scores = st.floats(0, 100)
_agents = st.one_of(st.sampled_from(["qa-engineer", "security-auditor", "ruff"]), hostile)
_ids = st.one_of(st.sampled_from(["", "SEC-001", "sec-001", "QA-2", "B608", "F-001"]), hostile)
_titles = st.one_of(hostile, st.sampled_from(["x" * 400, "a/b.py:1 " * 40]))

_flags = st.one_of(st.sampled_from(["agreed", "disputed", "quote-verified"]), hostile)
opinions = st.builds(
    Opinion,
    agent=_agents,
    id=_ids,
    severity=_severities,
    confidence=_scores,
    line=st.one_of(st.none(), st.integers(0, 10**9)),
    title=_titles,
    details=st.one_of(hostile, _fences, hostile.map("**Risk**: {}\n**Fix**: it".format)),
    claimed=st.one_of(st.none(), _scores),
)


@st.composite
def findings(draw: st.DrawFn, *, dropped: bool = False) -> MergedFinding:
    agent_opinions = draw(st.lists(opinions, min_size=1, max_size=3, unique_by=lambda opinion: opinion.agent))
    verified = draw(st.sampled_from([True, None]))
    path, line, end = draw(st.sampled_from(PLACES if verified else [*PLACES, *LOST]))
    return MergedFinding(
        id=draw(_ids),
        path=path,
        line=line,
        end_line=end,
        category=draw(st.one_of(st.sampled_from(["security", "quality", ""]), hostile)),
        severity=draw(_severities),
        title=draw(_titles),
        confidence=draw(_scores),
        max=draw(_scores),
        mean=draw(_scores),
        agreement=draw(st.floats(0, 1)),
        agents=tuple(opinion.agent for opinion in agent_opinions),
        opinions=tuple(agent_opinions),
        verified=verified,
        flags=tuple(
            draw(st.lists(st.one_of(st.sampled_from(["agreed", "disputed", "quote-verified"]), hostile), max_size=3))
        ),
        **({"reason": draw(hostile)} if dropped else {}),
    )


_conflicts = st.builds(
    Conflict,
    kind=st.sampled_from(["severity", "score", "compliance", "work", "presence", "self"]),
    finding=_ids,
    agents=st.lists(_agents, min_size=1, max_size=3).map(tuple),
    why=hostile,
)
_failed = st.builds(
    FailedRow, agent=_agents, id=_ids, title=_titles, severity=_severities, location=hostile, why=hostile
)
_reports = st.builds(
    AgentReport,
    agent=_agents,
    status=st.sampled_from(["SUCCESS", "PARTIAL", "FAILED"]),
    verdict=st.sampled_from(["accept", "revise", "reject", None]),
)


_texts = st.one_of(hostile, _fences)
_lists = st.lists(hostile, max_size=3).map(tuple)
_outcomes = st.sampled_from(["verified", "relocated", "missing-file", "out-of-range", "mismatch", "unchecked"])
_cited = st.one_of(
    st.sampled_from(PLACES).map(lambda place: (place, "verified")),
    st.tuples(st.sampled_from(LOST), st.sampled_from(["missing-file", "out-of-range"])),
)


def _many(entry: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(entry, max_size=2).map(tuple)


def _reference(cited: Any, agent: str, item: str, relevance: str) -> CitedLocation:
    (path, line, end), outcome = cited
    location = f"{path}:{line}" if path else item
    return CitedLocation(
        location=location,
        path=path,
        line=line,
        end_line=end,
        outcome=outcome,
        agents=(agent,),
        citations=(Citation(agent, item, relevance),),
    )


sections = st.builds(
    Sections,
    summaries=_many(st.builds(AgentSummary, agent=_agents, status=hostile, kind=hostile, text=_texts)),
    explorations=_many(
        st.builds(
            Exploration,
            agent=_agents,
            entry_points=_many(st.builds(EntryPoint, hostile, hostile, hostile)),
            flow=_lists,
            patterns=_lists,
            dependencies=_lists,
        )
    ),
    designs=_many(
        st.builds(
            Design,
            agent=_agents,
            architecture=_texts,
            map=_many(st.builds(MapEntry, hostile, hostile, hostile)),
            sequence=_lists,
            patterns=_many(st.builds(PatternUse, hostile, hostile, hostile)),
            tradeoffs=_lists,
        )
    ),
    differences=_many(st.builds(DesignDifference, hostile, _many(st.builds(Statement, _agents, hostile)))),
    changes=_many(
        st.builds(Change, agent=_agents, path=hostile, claim=hostile, text=hostile, lines=hostile, outcome=_outcomes)
    ),
    tests=_many(
        st.builds(AgentTests, agent=_agents, text=_texts, runs=st.dictionaries(hostile, st.booleans(), max_size=2))
    ),
    blockers=_many(st.builds(AgentBlocker, _agents, hostile, hostile)),
    next_steps=_many(st.builds(Statement, _agents, hostile)),
    references=_many(st.builds(_reference, _cited, _agents, hostile, hostile)),
    errors=_many(
        st.builds(
            AgentError,
            agent=_agents,
            type=hostile,
            message=hostile,
            occurred_at=hostile,
            recoverable=hostile,
            attempted=_lists,
            root_cause=_texts,
            recovery_options=_lists,
        )
    ),
    compliance=_many(st.builds(ComplianceRow, _agents, hostile, hostile, hostile)),
    claims=_many(st.builds(ClaimRow, _agents, hostile, hostile, hostile)),
    notes=_many(st.builds(Note, _agents, hostile, _texts)),
)


@st.composite
def merges(draw: st.DrawFn) -> Merge:
    """Any merge whose verified locations exist."""
    kept = tuple(draw(st.lists(findings(), max_size=3)))
    dropped = tuple(draw(st.lists(findings(dropped=True), max_size=2)))
    conflicts = tuple(draw(st.lists(_conflicts, max_size=3)))
    agents = tuple(draw(st.lists(_reports, max_size=4)))
    return merge_of(
        *kept,
        dropped=dropped,
        conflicts=conflicts,
        failed=tuple(draw(st.lists(_failed, max_size=3))),
        agents=agents,
        status=draw(st.sampled_from(["SUCCESS", "PARTIAL", "FAILED"])),
        decision=draw(st.sampled_from(["continue", "review", "retry"])),
        sections=draw(st.one_of(st.just(NO_SECTIONS), sections)),
    )


def merge_of(
    *kept: MergedFinding,
    dropped: tuple[MergedFinding, ...] = (),
    conflicts: tuple[Conflict, ...] = (),
    failed: tuple[FailedRow, ...] = (),
    agents: tuple[AgentReport, ...] = (AgentReport("qa-engineer", "SUCCESS", "accept"),),
    status: str = "SUCCESS",
    decision: str = "continue",
    sections: Sections = NO_SECTIONS,
) -> Merge:
    """A merge with its counts."""
    each = [finding.severity for finding in kept]
    return Merge(
        status=status,  # type: ignore[arg-type]
        decision=decision,  # type: ignore[arg-type]
        agents=agents,
        findings=kept,
        conflicts=conflicts,
        failed=failed,
        dropped=dropped,
        sections=sections,
        threshold=75,
        counts=Counts(
            inputs=len(agents),
            findings=len(kept),
            dropped=len(dropped),
            conflicts=len(conflicts),
            critical=each.count("critical"),
            important=each.count("important"),
            minor=each.count("minor"),
            unrated=each.count(None),
            dismissed=sum("dismissed" in finding.flags for finding in dropped),
            failed=len(failed),
            rows=0,
            looked=1,
        ),
    )


def conflict(kind: ConflictKind = "score", about: str = "QA-001", why: str = "far apart") -> Conflict:
    """A conflict between two agents."""
    return Conflict(kind=kind, finding=about, agents=("a", "b"), why=why)


#: A row that is no finding.
INVENTED = FailedRow("ruff", "SEC-009", "An invented fault", "critical", "shop/auth.py:412", "the file has 171 lines")


def finding(
    name: str = "QA-001",
    *,
    severity: Severity | None = "important",
    title: str = "A bug",
    place: tuple[str | None, int | None, int | None] = PLACES[0],
    verified: bool | None = True,
    score: float = 90.0,
    category: str = "quality",
    agents: tuple[str, ...] = ("qa-engineer",),
    flags: tuple[str, ...] = (),
    details: str = "",
    said: dict[str, Any] | None = None,
    **rest: str,
) -> MergedFinding:
    """A finding; `said` are more fields of its opinions."""
    values = {"id": name, "severity": severity, "confidence": score, "claimed": score, "line": place[1], "title": title}
    agent_opinions = tuple(
        Opinion(**{"agent": agent, "details": details, **values, **(said or {})}) for agent in agents
    )
    return MergedFinding(
        id=name,
        path=place[0],
        line=place[1],
        end_line=place[2],
        category=category,
        severity=severity,
        title=title,
        confidence=score,
        max=score,
        mean=score,
        agreement=1.0,
        agents=agents,
        opinions=agent_opinions,
        verified=verified,
        flags=flags,
        **rest,
    )


@cache
def sources() -> Sources:
    return open_sources(ROOT)


@cache
def example(*names: str) -> Merge:
    """The merge of some of the example results."""
    example_sources = sources()
    names = names or ("review-security", "review-quality", "faulty-review", "verification", "generic")
    return merge([ROOT / f"examples/results/{name}.md" for name in names], sources=example_sources)


def merge_github(merge: Merge) -> str:
    """Return the annotations of a merge as one text."""
    return "\n".join(github_commands(merge))
