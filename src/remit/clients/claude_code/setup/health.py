"""Is the client under contract here, and do its hooks fire? Facts for `remit doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from remit.clients.claude_code.setup.ending import settings_in_force, switched_off
from remit.clients.claude_code.setup.hook_entries import EVENTS, is_ours, is_this_install
from remit.clients.claude_code.setup.place import find_place
from remit.clients.claude_code.setup.self_test import self_test
from remit.clients.claude_code.setup.settings_file import own_hooks, read_settings
from remit.clients.claude_code.setup.state_folder import state_problem
from remit.dispatch.health import Fact
from remit.errors import RemitError

_WHAT = "claude code"
_MOST_PROBLEMS = 3


def client_facts(project: Path | None = None) -> Iterator[Fact]:
    """Where hooks are installed, and whether each entry answers recorded payloads as it should."""
    here = find_place(project, is_user=False)
    installed: dict[Path, str] = {}
    paths = settings_in_force(here)
    for path in paths:
        try:
            text = read_settings(path)
        except RemitError as error:
            yield Fact(_WHAT, "bad", str(error))
            continue
        if text is not None and own_hooks(text, is_ours):
            installed[path] = text
    off = switched_off(paths)
    if not installed:
        yield Fact(_WHAT, "good", "not under contract here; `remit install claude-code` changes that")
    elif off:
        names = " and ".join(map(str, off))
        yield Fact(_WHAT, "bad", f"not under contract: {names} switches all hooks off (disableAllHooks)")
    else:
        for path, text in installed.items():
            yield from _facts_of(path, text, state_problem(here))


def _facts_of(path: Path, text: str, no_state: str) -> Iterator[Fact]:
    entries = own_hooks(text, is_ours)
    lacking = [event for event in EVENTS if event not in entries]
    if lacking:
        yield Fact(_WHAT, "bad", f"{path} lacks hooks for {', '.join(lacking)}; `remit install claude-code` adds them")
    foreign = {event: entry for event, entry in entries.items() if not is_this_install(event, entry)}
    if foreign:
        first = next(iter(foreign.values()))
        what = str(first.get("command", first.get("url", "")))[:200]
        words = f"{path} starts {what!r} for {', '.join(foreign)}, which is not this install, so it was not run"
        yield Fact(_WHAT, "bad", f"{words}; `remit install claude-code` writes the paths of this one")
        return
    if no_state:
        words = f"the hooks in {path} cannot do their work in this project: {no_state}"
        yield Fact(_WHAT, "bad", f"{words}; calls go through unchecked until that is mended")
        return
    outcomes = self_test(entries)
    problems = [outcome for outcome in outcomes if outcome.problem]
    if not problems:
        words = f"the hooks in {path} fire: {len(outcomes)} recorded payloads were answered as they should be"
        yield Fact(_WHAT, "good", words)
    for outcome in problems[:_MOST_PROBLEMS]:
        yield Fact(_WHAT, "bad", f"{outcome.case.event} ({outcome.case.proves}): {outcome.problem}")
    if len(problems) > _MOST_PROBLEMS:
        yield Fact(_WHAT, "bad", f"and {len(problems) - _MOST_PROBLEMS} more of {len(outcomes)} recorded payloads")
