"""Which decision a person asks about, and which rule decided it."""

from __future__ import annotations

from remit.errors import UsageError, did_you_mean
from remit.gate.log import why
from remit.gate.rules import RULES, words_of
from remit.gate.sessions import find, recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def explained(folders: list[str], session: str, wanted: str) -> tuple[dict[str, Any] | None, str, str | None]:
    """A decision, its rule and its session; only the rule, where it is named and has decided nothing."""
    is_rule = words_of(wanted) is not None
    if is_rule and not recorded(folders):
        return None, wanted, None
    state = find(folders, session).state
    entry = why(state, wanted)
    if entry is not None:
        return entry, str(entry.get("rule") or ""), state.session
    if is_rule:
        return None, wanted, state.session
    if not wanted:
        raise UsageError(f"nothing was denied or warned of in session {state.session}; `remit gate log` shows it all")
    near = did_you_mean(wanted, [name for name, *_ in RULES]) or "; `remit gate log` shows the ids of its decisions"
    raise UsageError(f"session {state.session} has no decision {wanted!r}, and no rule has that name{near}")
