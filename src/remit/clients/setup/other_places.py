"""What else on this machine decides whether the hooks of an install run once: the client, and a second install."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from remit.clients.setup.file_changes import read_record
from remit.clients.setup.target import ClientSetup, InstallTarget
from remit.dispatch.health import HealthFact


def absent_program(client: ClientSetup) -> str:
    """Describe that the client's program is not there; "" if it is."""
    if shutil.which(client.program) is not None:
        return ""
    return f"`{client.program}` is not on PATH here; the hooks take effect where {client.name} runs"


def second_install(target: InstallTarget) -> str:
    """Describe an install for this project or for all projects, whose hooks would run, too; "" without one."""
    other = target.client.find_target(None, is_user=not target.is_user)
    if other.root == target.root or other.settings == target.settings or read_record(other) is None:
        return ""
    where, option = ("for all your projects", " --user") if other.is_user else ("in this project", "")
    name = target.client.name
    return f"{name} is already installed {where}; to install it elsewhere, run `remit uninstall {name}{option}` first"


def second_install_facts(client: ClientSetup) -> Iterator[HealthFact]:
    """Report an install in this project and one for all projects whose hooks both run."""
    here = client.find_target(None, is_user=False)
    if read_record(here) is not None and second_install(here):
        what = f"{client.name} is installed for all your projects, too: each event is judged twice"
        yield HealthFact(client.name, "odd", f"{what}; remove one with `remit uninstall {client.name}`")
