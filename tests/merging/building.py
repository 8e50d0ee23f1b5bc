"""Sightings and reports for tests, by hand and by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from remit.contract.findings import Severity
from remit.merging.model import Opinion, Report, ReportedFinding, ReportedStatement

AGENTS = ("security-auditor", "qa-engineer", "code-explorer", "ruff", "bandit")


def row(
    agent: str = "qa-engineer",
    *,
    score: float = 90.0,
    path: str | None = "a.py",
    line: int | None = 10,
    end: int | None = None,
    category: str = "quality",
    severity: Severity | None = "important",
    title: str = "A bug",
    name: str = "QA-001",
    verified: bool | None = True,
    unscored: bool = False,
    fingerprint: str = "",
    details: str = "",
    claimed: float | None = None,
    claimed_line: int | None = None,
    evidence: str = "",
    flags: tuple[str, ...] = (),
) -> ReportedFinding:
    opinion = Opinion(
        agent=agent,
        id=name,
        severity=severity,
        confidence=score,
        line=line,
        title=title,
        details=details,
        claimed_line=claimed_line,
        claimed_confidence=claimed,
        evidence=evidence,
        flags=(*flags, *(["unscored"] if unscored else [])),
    )
    return ReportedFinding(
        opinion=opinion,
        path=path,
        end_line=end,
        category=category,
        verified=verified,
        fingerprint=fingerprint,
    )


def report(
    agent: str, *rows: ReportedFinding, status: str = "SUCCESS", statements: tuple[ReportedStatement, ...] = ()
) -> Report:
    return Report(agent=agent, status=status, verdict="accept", rows=rows, statements=statements)


def rows(agent: str) -> st.SearchStrategy[ReportedFinding]:
    lines = st.one_of(st.none(), st.integers(1, 30))

    def build(line: int | None, length: int | None, **rest: object) -> ReportedFinding:
        end = line + length if line is not None and length else None
        return row(agent, line=line, end=end, **rest)  # type: ignore[arg-type]

    return st.builds(
        build,
        line=lines,
        length=st.one_of(st.none(), st.integers(1, 12)),
        score=st.floats(0, 100).map(lambda score: round(score, 2)),
        path=st.sampled_from([None, "a.py", "b.py"]),
        category=st.sampled_from(["quality", "security"]),
        severity=st.sampled_from([None, "critical", "important", "minor"]),
        title=st.sampled_from(["A bug", "Another", "x | y", "<b>"]),
        name=st.sampled_from(["", "QA-001", "SEC-002"]),
        verified=st.sampled_from([None, True, False]),
        unscored=st.booleans(),
        fingerprint=st.sampled_from(["", "", "abc", "def"]),
        details=st.sampled_from(["", "why", "how\nand why", "how\n\nwhy"]),
        claimed=st.sampled_from([None, None, 90.0]),
        claimed_line=st.sampled_from([None, None, 44]),
        evidence=st.sampled_from(["", "", "there is no such file"]),
        flags=st.sampled_from([(), ("relocated",), ("revise",)]),
    )


@st.composite
def reports(draw: st.DrawFn) -> list[Report]:
    made = []
    for _ in range(draw(st.integers(0, 5))):
        agent = draw(st.sampled_from(AGENTS))
        own = draw(st.lists(rows(agent), max_size=6))
        statements = tuple(
            ReportedStatement(
                agent, "compliance", draw(st.sampled_from(["tokens", "logs"])), draw(st.sampled_from(["PASS", "FAIL"]))
            )
            for _ in range(draw(st.integers(0, 2)))
        )
        made.append(
            Report(
                agent=agent,
                status=draw(st.sampled_from(["SUCCESS", "PARTIAL", "FAILED"])),
                verdict=draw(st.sampled_from(["accept", "revise", "reject", None])),
                rows=tuple(own),
                statements=statements,
                confidence=draw(st.one_of(st.none(), st.floats(0, 100))),
            )
        )
    return made
