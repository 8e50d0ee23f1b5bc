"""A project and a home folder, for tests that install and uninstall."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.setup.file_changes import InstallPlan
from remit.clients.setup.install import apply_install, plan_install
from remit.clients.setup.target import InstallTarget
from remit.clients.setup.uninstall import apply_uninstall, plan_uninstall
from remit.surfaces.cli.group import remit


class Site(NamedTuple):
    """A project and a home folder."""

    project: Path
    home: Path

    @property
    def target(self) -> InstallTarget:
        return CLAUDE_CODE.find_target(self.project, is_user=False)

    @property
    def settings(self) -> Path:
        return self.project / ".claude/settings.local.json"

    def install(self, **given: Any) -> InstallPlan:
        plan = plan_install(self.target, **{"mode": "orchestrator", **given})
        apply_install(plan)
        return plan

    def uninstall(self) -> InstallPlan:
        plan = plan_uninstall(self.target)
        apply_uninstall(plan)
        return plan

    def remit(self, *words: str, typed: str | None = None) -> Result:
        return CliRunner().invoke(remit, words, input=typed, standalone_mode=False)


def everything(folder: Path) -> dict[str, bytes | None]:
    """Return every file below a folder with its bytes, and every folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
