"""A client whose hooks are in a file of Remit: what its install consists of, and facts for `remit doctor`."""

from __future__ import annotations

import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.setup.client_probe import ProbeCall, is_running_hooks, scripted_model
from remit.clients.setup.hook_process import denial_problem, shell_command
from remit.clients.setup.plan import MAX_BYTES, read_bytes
from remit.clients.setup.target import ClientSetup, InstallTarget, state_problem
from remit.dispatch.health import HealthFact
from remit.errors import UsageError


class OwnFileSetup(ClientSetup):
    """An install that writes one file with the hooks, and the agents."""

    @abstractmethod
    def hooks_text(self) -> str:
        """Return the content of the file with the hooks."""

    def hook_entries(
        self, http: str | None = None, *, secret: str | None = None, is_closed: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return nothing: a file of Remit contains the hooks."""
        if http:
            raise UsageError(f"{self.name}: --http is not supported; its hooks are processes")
        return {}

    def is_ours(self, hook: object) -> bool:
        """Return False: no file of the user contains hooks of Remit."""
        return False

    def calls(self, http: str | None = None) -> str:
        """Return the command of an entry."""
        return shell_command("EVENT", self.name)

    def wanted_files(self, target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
        """Return the agents, and the hooks as the last file: they start when all files exist."""
        agents = {target.folder / self.agents / name: text for name, text in self.agent_files().items()}
        return {**agents, target.settings: self.hooks_text()}


class OwnInstall(NamedTuple):
    """How the checks of a client work: its setup, an event that must be denied, and how to ask the client itself."""

    client: OwnFileSetup
    #: An event and a payload that the hook process must deny.
    denied: tuple[str, Mapping[str, Any]]
    call: ProbeCall
    #: The arguments of the client for a session with a scripted model, and its variables.
    session: Callable[[InstallTarget, str, Path], tuple[list[str], dict[str, str]]]
    #: What the user must have done.
    trust: str

    def facts(self, project: Path | None) -> Iterator[HealthFact]:
        """Check the installs in this project and for all projects; without one, yield nothing."""
        for is_user in (False, True):
            target = self.client.find_target(None if is_user else project, is_user=is_user)
            found = read_bytes(target.settings, MAX_BYTES)
            if found is not None:
                yield from self._facts(target, found)

    def _facts(self, target: InstallTarget, found: bytes) -> Iterator[HealthFact]:
        name = self.client.name
        problem = state_problem(target)
        if found != self.client.hooks_text().encode():
            what = f"{target.settings} was changed, or belongs to another installation"
            user = " --user" if target.is_user else ""
            yield HealthFact(name, "bad", f"{what}; run `remit install {name}{user}` to use this one")
        elif problem:
            yield HealthFact(name, "bad", f"the hooks do not work in this project: {problem}")
        elif problem := denial_problem(name, *self.denied, ["edit-code"]):
            yield HealthFact(name, "bad", f"the hook process does not work: {problem}")
        else:
            yield HealthFact(name, "good", "the hook process works: it denied an edit of code in a test")
            yield self._session_fact(target)

    def _is_running(self, program: str, target: InstallTarget, folder: Path) -> bool:
        """Start a session in the project. Hooks of the user run in any folder, so that a scratch folder is enough."""
        project = folder / "project" if target.is_user else target.root
        own = folder / "client"
        for one in (project, own):
            one.mkdir(exist_ok=True)
        with scripted_model(project, self.call) as model:
            arguments, variables = self.session(target, model.url, own)
            return is_running_hooks(model, [program, *arguments], project, variables)

    def _session_fact(self, target: InstallTarget) -> HealthFact:
        """Ask the client itself, in a session with a scripted model."""
        name = self.client.name
        program = shutil.which(name)
        if program is None:
            return HealthFact(
                name, "odd", f"`{name}` is not on PATH, so it is unknown if it runs the hooks; {self.trust}"
            )
        try:
            with tempfile.TemporaryDirectory(prefix="remit-doctor-", ignore_cleanup_errors=True) as folder:
                is_running = self._is_running(program, target, Path(folder).resolve())
        except OSError as error:
            return HealthFact(name, "odd", f"{name} could not be asked if it runs the hooks ({error}); {self.trust}")
        if is_running:
            return HealthFact(name, "good", f"{name} runs the hooks: it denied a call in a test session")
        return HealthFact(name, "bad", f"{name} does not run the hooks, so nothing is checked; {self.trust}")
