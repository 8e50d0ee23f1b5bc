"""What the tests of the adapters have in common: a project, a tool that reads its files, and the answers of a model."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from remit import testing

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TASK = "Review the login."

PROJECT = testing.project()
FILES = ("app/login.py", "app/session.py")
GOOD = testing.result("review")
#: The same with an invented line.
BAD = testing.result("review", ("`app/login.py:7`", "`app/login.py:4711`"))


def example(framework: str) -> ModuleType:
    """Load the example of a framework."""
    spec = importlib.util.spec_from_file_location(framework, EXAMPLES / f"review_with_{framework}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Script:
    """The turns of a model: first it reads the files, then it gives one answer after the other."""

    def __init__(self, answers: Sequence[str], *, reads: bool = True) -> None:
        self._turns = [*(FILES if reads else ()), *answers]
        #: The texts that the model was sent, as one text for each call.
        self.received: list[str] = []

    def next(self, received: object) -> tuple[str | None, str | None]:
        """Return the file to read, or the answer."""
        self.received.append(str(received))
        turn = self._turns.pop(0)
        return (turn, None) if turn in FILES else (None, turn)

    @property
    def is_finished(self) -> bool:
        """Whether every turn was used."""
        return not self._turns
