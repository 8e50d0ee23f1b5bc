"""What a subagent is told about a result that is not accepted: the violations, with what to do about each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MAX_VIOLATIONS = 30
_ORDER = (
    "Your result was checked by a program and is not accepted. Mend what is listed below and send the WHOLE result "
    "again, in the same form, as your last message: only that message is read."
)


def correction_text(violations: Sequence[Mapping[str, Any]]) -> str:
    """The order to send the whole result again, and what is wrong with it."""
    return "\n".join([_ORDER, "", *violation_lines(violations)])


def violation_lines(violations: Sequence[Mapping[str, Any]], most: int = MAX_VIOLATIONS) -> list[str]:
    """A line for each violation that stands in the way of acceptance, or for all if none does; a bounded number."""
    blocking = [one for one in violations if one.get("level") != "L3"] or violations
    lines = [
        f"- {one.get('rule')} (line {one.get('line')}): {_sentence(one.get('message'))} {one.get('help', '')}".rstrip()
        for one in blocking[:most]
    ]
    if len(blocking) > most:
        lines.append(f"- and {len(blocking) - most} more of the same kind")
    return lines


def _sentence(message: object) -> str:
    """A message with its full stop, for another sentence follows."""
    words = str(message).rstrip()
    return words if words.endswith((".", "!", "?", "。")) else f"{words}."
