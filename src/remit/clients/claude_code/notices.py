"""What an orchestrator is told in place of a report that was not accepted, or never came."""

from __future__ import annotations

from remit.contract.correction import violation_lines
from remit.contract.framing import framed, neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_code.results import Kept

_MOST_VIOLATIONS = 10
_LONGEST_LINE = 500
_MOST_NAMED = 10
_HEADS = {
    "rejected": "remit: the report of {agent} was checked, sent back once for correction, and is still not accepted. "
    "It is withheld: use nothing of it.",
    "failed": "remit: {agent} ended without a report that can be accepted, most likely at its turn limit. What it "
    "wrote last is withheld: use nothing of it.",
}
_RETRY = "Send {agent} the task once more, with a reduced scope. Should that fail too: "
_LADDER = (
    "if it was to load context, read what you need within the limits of a fallback; if the result is not critical, "
    "go on and say in your answer what is missing; if it is, ask the user."
)


def withheld(kept: Kept, *, retried: bool) -> str:
    """The notice in place of a report: who, what is wrong, where it is kept, and what to do now."""
    agent = shown_name(kept.agent)
    lines = [line[:_LONGEST_LINE] for line in violation_lines(kept.violations, _MOST_VIOLATIONS)]
    parts = [
        _HEADS.get(kept.outcome, _HEADS["rejected"]).format(agent=agent),
        framed(kept.agent, kept.verdict or kept.outcome, "\n".join(lines) or "There was nothing in it."),
        f"What it sent is kept in {neutral(kept.path)}.",
        *_changes(kept.changed),
        next_steps(kept.agent, retried=retried),
    ]
    return "\n".join(parts)


def reservations(kept: Kept) -> str:
    """What is said beside a report that was accepted although something is wrong with it; nothing if nothing is."""
    open_ones = [one for one in kept.violations if one.get("level") != "L3"]
    if not open_ones:
        return ""
    lines = [line[:_LONGEST_LINE] for line in violation_lines(open_ones, _MOST_VIOLATIONS)]
    name = shown_name(kept.agent)
    head = f"remit: the report of {name} is accepted with reservations. Take for unproven what these speak of:"
    return "\n".join((head, neutral("\n".join(lines))))


def _changes(paths: list[str]) -> list[str]:
    """What a withheld report does not undo."""
    if not paths:
        return []
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    names = neutral(", ".join(paths[:_MOST_NAMED]))
    return [f"It has written to these files, and that stands: {names}{more}. Have them looked at before anything else."]


def next_steps(agent: str, *, retried: bool) -> str:
    """The ladder after a failed delegation, from the step that is next."""
    steps = _LADDER if retried else _RETRY.format(agent=shown_name(agent)) + _LADDER
    return f"What to do now: {steps}"


def broken_off(agent: str, *, retried: bool) -> str:
    """What is said of a delegation that an error has ended."""
    return f"remit: {shown_name(agent)} failed and sent no report. {next_steps(agent, retried=retried)}"


def shown_name(agent: str) -> str:
    """An agent's name in a line of ours: short, on one line, no tags."""
    return neutral(" ".join(agent.split()))[:64] or "the subagent"
