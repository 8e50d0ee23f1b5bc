"""An install that fails half-way is taken back, so that nothing of it stays behind unsaid."""

from __future__ import annotations

import shutil
from contextlib import suppress

from remit.clients.claude_code.setup.changes import MOST_BYTES, Change, Plan
from remit.clients.claude_code.setup.record import record_file
from remit.clients.claude_code.setup.writing import read_bytes, replace_file
from remit.errors import RemitError


class Undo:
    """How a place was before an install, and what has been done to it since."""

    def __init__(self, plan: Plan) -> None:
        self._place = plan.place
        self._record = read_bytes(record_file(plan.place), MOST_BYTES)
        self._had_gate = plan.place.gate.is_dir()
        paths = (record_file(plan.place), *(change.path for change in plan.changes))
        folders = {folder for path in paths for folder in path.parents if not folder.exists()}
        self._folders = sorted(folders, key=lambda folder: len(folder.parts), reverse=True)
        #: What was written, in this order.
        self.done: list[Change] = []

    def take_back(self) -> str:
        """Bring back what was there before; words on how far that went."""
        for change in reversed(self.done):
            with suppress(RemitError):
                Change(change.path, change.after, change.before).apply()
        with suppress(RemitError, OSError):
            if self._record is not None:
                replace_file(record_file(self._place), self._record)
            elif self._had_gate:
                record_file(self._place).unlink(missing_ok=True)
            else:
                shutil.rmtree(self._place.gate)
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()
        stay = [change.path for change in self.done if read_bytes(change.path, MOST_BYTES) == change.after]
        if not self._had_gate and self._place.gate.exists():
            stay.append(self._place.gate)
        if not stay:
            return "nothing was changed"
        if len(stay) == 1:
            return f"{self._place.told(stay[0])} could not be taken back and stays; `remit uninstall` removes it"
        first = f"{self._place.told(stay[0])} and {len(stay) - 1} more"
        return f"{first} could not be taken back and stay; `remit uninstall` removes them"
