"""Plans as text and in their JSON shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from remit.merging.merge_data import Merge
from remit.orchestrate.delegating import PlanResult
from remit.orchestrate.plan import DelegationSpec, Plan, delegation_names, with_phase_defaults
from remit.registry.definition import NO_CONTRACT
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, wrap_text
from remit.reports.merge.text import merge_text_lines
from remit.secrets.scan import redact
from remit.store.plans import Delegation, Escalation, JobUsage, PhaseRow
from remit.workspace.files import Workspace

_MARKS = {
    "queued": ("·", "dim"),
    "running": ("▸", "cyan"),
    "accepted": ("✓", "green"),
    "rejected": ("✗", "red"),
    "failed": ("✗", "red"),
    "escalated": ("?", "yellow"),
    "skipped": ("–", "dim"),
    "waiting": ("·", "dim"),
    "finished": ("✓", "green"),
}
#: The marks of finished phases after which the plan did not simply continue.
_DECISION_MARKS = {"retry": ("✗", "red"), "review": ("!", "yellow")}


class QuestionShape(msgspec.Struct, kw_only=True):
    """A question of a plan or an orchestrator."""

    id: int
    plan: int
    agent: str | None
    reason: str
    answer: str | None
    words: str | None


def plan_shape(result: PlanResult, files: Mapping[str, Path] | None = None) -> dict[str, Any]:
    """Return a plan in the shape `remit.plan/1`; `files` are those of its report."""
    phases = [
        {
            "name": phase.name,
            "state": phase.state,
            "decision": phase.decision,
            "delegations": [
                _delegation(delegation) for delegation in result.delegations if delegation.phase == phase.number
            ],
            "merge": _merge_shape(phase.merge),
        }
        for phase in result.phases
    ]
    last = next((phase.merge for phase in reversed(result.phases) if phase.merge is not None), None)
    return {
        "schema": "remit.plan/1",
        "id": result.plan.id,
        "state": result.plan.state,
        "phases": phases,
        "escalations": [question_shape(question) for question in result.escalations],
        "warnings": list(
            dict.fromkeys(warning for delegation in result.delegations for warning in delegation.warnings)
        ),
        "merge": _merge_shape(last) or {},
        "report": {name: str(file) for name, file in (files or {}).items()},
    }


def _merge_shape(merge: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a stored merge in its shape: the store does not keep the order of keys."""
    return msgspec.to_builtins(msgspec.convert(merge, Merge)) if merge is not None else None


def phase_lines(phase: PhaseRow, columns: int, workspace: Workspace | None) -> Iterator[Line]:
    """Yield the merged results of a phase, which the user sees before the next phase starts."""
    if phase.merge is not None:
        yield [Piece(f"phase {escape_control(phase.name)}", "bold"), Piece(_decision(phase.decision, "  "))]
        yield from merge_text_lines(msgspec.convert(phase.merge, Merge), columns, workspace)
        yield []


def _decision(decision: str | None, margin: str = "") -> str:
    """Return the words for a decision of a merge; nothing without one."""
    return f"{margin}decision {decision}" if decision else ""


def unreviewed_lines(result: PlanResult, columns: int) -> Iterator[Line]:
    """Yield a warning for each phase whose results a person should have reviewed, and after which the plan went on."""
    asked = {escalation.phase for escalation in result.escalations if escalation.delegation is None}
    specs = msgspec.convert(result.plan.document, Plan).phases
    for phase, spec in zip(result.phases[:-1], specs, strict=False):
        is_unreviewed = phase.state == "finished" and phase.decision == "review" and phase.number not in asked
        if is_unreviewed and spec.on_review is None:
            text = (
                f"phase {escape_control(phase.name)} needs a review by a person, and no person was asked; "
                '`on_review = "ask"` in the plan stops there'
            )
            yield from ([Piece(row, "yellow")] for row in wrap_text(text, columns, 2))


def _delegation(delegation: Delegation) -> dict[str, Any]:
    return {
        "agent": delegation.agent,
        "state": delegation.state,
        "verdict": delegation.verdict,
        "retries": delegation.retries,
        "warnings": delegation.warnings,
    }


def question_shape(question: Escalation) -> QuestionShape:
    """Return a question in the JSON shape."""
    return QuestionShape(**{name: getattr(question, name) for name in QuestionShape.__struct_fields__})


def plan_lines(result: PlanResult, uses: Mapping[int, JobUsage], columns: int) -> Iterator[Line]:
    """Yield a tree of phases and delegations with their state, job and usage."""
    state = _decision(result.plan.outcome) or result.plan.state
    head = f"plan {result.plan.id}"
    name = cut_width(escape_control(result.plan.name), columns - display_width(head) - display_width(state) - 4)
    yield [Piece(head, "bold"), Piece(f"  {name}  "), Piece(state, "bold")]
    for phase in result.phases:
        mark, style = _MARKS[phase.state]
        if phase.state == "finished":
            mark, style = _DECISION_MARKS.get(phase.decision or "", (mark, style))
        title = cut_width(escape_control(phase.name), columns - 14)
        yield [Piece(f" {mark} ", style), Piece(title, "bold"), Piece(_decision(phase.decision, "  "), "dim")]
        for delegation in result.delegations:
            if delegation.phase == phase.number:
                yield from _delegation_lines(delegation, uses.get(delegation.job or 0), columns)
    for question in result.escalations:
        if question.answer is None:
            yield from _question_lines(question, columns)


def _delegation_lines(delegation: Delegation, use: JobUsage | None, columns: int) -> Iterator[Line]:
    mark, style = _MARKS[delegation.state]
    usage = [f"job {delegation.job}"] if delegation.job is not None else []
    if use is not None:
        usage += [f"{use.seconds:.1f} s"] if use.seconds is not None else []
        usage += [f"{use.tokens / 1000:.1f}k tokens"] if use.tokens else []
        usage += [f"${use.cost:.2f}"] if use.cost else []
        usage += [f"{use.turns} turn{'s' * (use.turns != 1)}"] if use.turns else []
    while usage and len("  ".join(usage)) > columns - 39:
        usage.pop()
    name = cut_width(escape_control(delegation.name), 23)
    state = delegation.state if delegation.state != "accepted" else (delegation.verdict or "")
    yield [
        Piece(f"   {mark} ", style),
        Piece(f"{name}{' ' * max(1, 24 - display_width(name))}"),
        Piece(f"{state:<10}", style),
        Piece("  ".join(usage), "dim"),
    ]
    if delegation.error and delegation.state in ("failed", "rejected", "escalated"):
        for row in wrap_text(escape_control(delegation.error), columns, 7)[:3]:
            yield [Piece(row, "dim")]


def next_step_text(result: PlanResult) -> str:
    """Return which commands show more about a plan and its jobs."""
    numbers = [delegation.job for delegation in result.delegations if delegation.job is not None]
    if not numbers:
        return "see `remit plan progress`"
    failed = [
        delegation.job
        for delegation in result.delegations
        if delegation.job and delegation.state in ("failed", "rejected", "escalated")
    ]
    job = (failed or numbers)[0]
    shown = f"see `remit jobs logs {job}` for events, `remit jobs show {job}` for the result"
    return f"{shown}, `remit plan progress` for the progress"


def job_summary(result: PlanResult) -> str:
    """Return the delegations and their jobs in one line."""
    return ", ".join(
        f"{escape_control(delegation.name)} {delegation.job}"
        for delegation in result.delegations
        if delegation.job is not None
    )


def question_lines(questions: Sequence[Escalation | QuestionShape], columns: int) -> Iterator[Line]:
    """Yield the questions that wait for an answer."""
    if not questions:
        yield [Piece("no open questions", "dim")]
    for question in questions:
        yield from _question_lines(question, columns)


def _question_lines(question: Escalation | QuestionShape, columns: int) -> Iterator[Line]:
    text = f"question {question.id} (plan {question.plan}): {escape_control(question.reason)}"
    for number, row in enumerate(wrap_text(text, columns - 2, 2)):
        yield [Piece(row if number == 0 else f"  {row}", "yellow")]
    yield [Piece(f"    remit plan answer {question.id} retry | skip --why … | cancel | text --why …", "dim")]


def dry_run_lines(plan: Plan, columns: int) -> Iterator[Line]:
    """Yield the delegations of a plan that is not run."""
    yield [Piece(cut_width(escape_control(plan.name), columns - 10), "bold"), Piece("  dry run", "dim")]
    for phase in plan.phases:
        inputs = f"  with the results of {', '.join(phase.inputs)}" if phase.inputs else ""
        title = cut_width(escape_control(phase.name), columns - 30)
        details = cut_width(
            escape_control(f"  at most {phase.parallel} in parallel{inputs}"), columns - display_width(title) - 1
        )
        yield [Piece(f" {title}", "bold"), Piece(details, "dim")]
        for name, delegation in zip(delegation_names(phase), with_phase_defaults(phase), strict=True):
            label = name if name.startswith(delegation.agent) else f"{name} ({delegation.agent})"
            marks = [
                text
                for text, is_set in (("critical", delegation.critical), ("loads context", delegation.loads_context))
                if is_set
            ]
            label = cut_width(escape_control(label), columns - 36)
            yield [Piece(f"   {label}"), Piece(f"  {', '.join(marks)}" if marks else "", "yellow")]
            for row in wrap_text(escape_control(" ".join(redact(delegation.task).split())), columns, 5)[:3]:
                yield [Piece(row, "dim")]
            if details := "; ".join(_settings_of(delegation)):
                yield from ([Piece(row)] for row in wrap_text(escape_control(details), columns, 5))


def _settings_of(spec: DelegationSpec) -> Iterator[str]:
    """Yield what a plan file sets for a delegation."""
    for name, values in (("scope", spec.scope), ("writes", spec.writes), ("tools", spec.allowed_tools or ())):
        if values:
            yield f"{name} {', '.join(values)}"
    if spec.contract is not None:
        yield "without the contract" if spec.contract == NO_CONTRACT else f"contract {spec.contract}"
    for name, value in (
        *(("model", spec.model), ("program", spec.command), ("runner", spec.runner), ("kind", spec.kind)),
        *(("profile", spec.profile), ("isolation", spec.isolation)),
    ):
        if value is not None:
            yield f"{name} {value}"
    if spec.system is not None:
        yield "its own system prompt"
    limits = [
        *([f"{spec.max_turns} turns"] if spec.max_turns else []),
        *([f"{spec.timeout:g} s"] if spec.timeout else []),
        *([f"{spec.max_tokens:,} tokens"] if spec.max_tokens else []),
        *([f"${spec.max_cost:g}"] if spec.max_cost else []),
    ]
    if limits:
        yield f"at most {', '.join(limits)}"
