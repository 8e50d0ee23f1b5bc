"""Facts for `remit doctor` about a client whose hooks are in a file of Remit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remit.clients.setup.hook_process import denial_problem
from remit.clients.setup.plan import MAX_BYTES, read_bytes
from remit.clients.setup.target import InstallTarget, state_problem
from remit.dispatch.health import HealthFact


def own_install_facts(
    target: InstallTarget, wanted: str, denied: tuple[str, Mapping[str, Any]], trust: str
) -> Iterator[HealthFact]:
    """Check an install; without one, yield nothing.

    `wanted` is the content of the file with the hooks, `denied` an event and a payload that the hook process must deny,
    and `trust` what the user must have done.
    """
    name = target.client.name
    found = read_bytes(target.settings, MAX_BYTES)
    if found is None:
        return
    problem = state_problem(target)
    if found != wanted.encode():
        what = f"{target.settings} was changed, or belongs to another installation"
        yield HealthFact(name, "bad", f"{what}; run `remit install {name}` to use this one")
    elif problem:
        yield HealthFact(name, "bad", f"the hooks do not work in this project: {problem}")
    else:
        problem = denial_problem(name, *denied, ["edit-code"])
        if problem:
            yield HealthFact(name, "bad", f"the hook process does not work: {problem}")
        else:
            words = f"the hook process works: it denied an edit of code in a test. If sessions ignore it, {trust}"
            yield HealthFact(name, "good", words)
