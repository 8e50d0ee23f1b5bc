"""The runs of a record that a statement may mean, and what they show together."""

from __future__ import annotations

from collections.abc import Iterable

from remit.evidence.find_runs import RunCommand
from remit.evidence.model import Check
from remit.evidence.receipts import Receipt
from remit.evidence.run_outcomes import RunOutcome, line_counts, read_outcome, run_outcome, tests_of_kinds

#: A longer command is shortened.
MAX_COMMAND = 80
#: More lines with counts are those of several modules: jest and vitest print two.
_MAX_SUMS = 2


class Ran:
    """A run of the record."""

    def __init__(self, receipt: Receipt, run: RunCommand | None, position: int) -> None:
        self.receipt = receipt
        self.run = run
        self.position = position
        self.output = receipt.output
        #: The output was written to a file that no call showed.
        self.is_hidden = bool(run and run.writes and not receipt.output)
        self._outcomes: dict[Check, RunOutcome] = {}

    def show(self, output: str) -> None:
        """Add the content of the file with its output."""
        self.output = f"{self.output or ''}\n{output}".strip("\n")
        self.is_hidden = False
        self._outcomes.clear()

    def outcome(self, check: Check) -> RunOutcome:
        """Return what it showed about a check."""
        if check not in self._outcomes:
            self._outcomes[check] = self._read(check)
        return self._outcomes[check]

    def _read(self, check: Check) -> RunOutcome:
        receipt = self.receipt
        if self.run is not None:
            outcome = run_outcome(self.run, self.output, receipt.exit, check)
            if outcome.passed is False and check == "types" and "build" in self.run.checks and self.run.is_indirect:
                # A build fails for other reasons than types, unless it prints what a type checker prints.
                return read_outcome(self.output or "", None, check, only_runners=True)
            return outcome
        shown = read_outcome(self.output, None, check) if self.output else RunOutcome(None)
        if shown.passed is not None or shown.is_empty:
            return shown
        return RunOutcome(None if receipt.exit is None else receipt.exit == 0 and not receipt.failed)

    @property
    def is_silence(self) -> bool:
        """Whether a program found nothing, because it printed nothing: `tsc --noEmit | head`."""
        return self.run is not None and self.run.is_silent and self.output == "" and self.receipt.exit in (0, None)

    @property
    def has_own_counts(self) -> bool:
        """Whether it has other counts than all tests: it is a script, of some files, cut, or it has several sums."""
        if self.run is None or self.run.is_script or self.run.is_part or self.receipt.is_cut:
            return True
        sums = [line for line in (self.output or "").split("\n") if {"passed", "total"} & line_counts(line).keys()]
        return len(sums) > _MAX_SUMS

    @property
    def command(self) -> str:
        """The command line, shortened."""
        line = " ".join(self.receipt.command.split())
        return line if len(line) <= MAX_COMMAND else f"{line[: MAX_COMMAND - 1]}…"


class RunHistory:
    """The runs that a statement may mean, and what they show together. Each run is read once."""

    def __init__(self, check: Check) -> None:
        self._check = check
        #: The runs that have ended, and the last one whose end is not known.
        self.runs: list[Ran] = []
        self.pending: Ran | None = None
        #: The numbers that they printed, the totals in order, and the last run with a number.
        self.printed: set[int] = set()
        self.totals: list[int] = []
        self.last_counted: Ran | None = None
        self.has_failed = False
        #: The words of the runs that succeeded.
        self.passing: set[str] = set()
        #: Failed runs that no later run repeated.
        self._failed: list[Ran] = []
        self._read = 0

    def add(self, runs: Iterable[Ran]) -> None:
        """Add the next runs."""
        for ran in runs:
            if ran.receipt.pending:
                self.pending = ran
            else:
                self.runs.append(ran)

    def advance(self) -> None:
        """Read the runs that were added."""
        for ran in self.runs[self._read :]:
            outcome = ran.outcome(self._check)
            counts = dict(outcome.counts)
            totals = {counts[name] for name in ("passed", "total") if name in counts}
            if {"passed", "failed"} <= counts.keys():
                totals.add(counts["passed"] + counts["failed"])
            if totals:
                self.last_counted = ran
                self.printed |= totals | {*tests_of_kinds(outcome.line)}
                self.totals.append(max(totals))
            self._failed = [failed for failed in self._failed if not _covers(ran, failed)]
            if outcome.passed:
                self.passing.add(ran.run.words if ran.run is not None else "")
            if outcome.passed is False:
                self.has_failed = True
                if self._may_stay_failed(ran):
                    self._failed.append(ran)
        self._read = len(self.runs)

    def _may_stay_failed(self, ran: Ran) -> bool:
        if ran.run is None or ran.run.is_part or self._check == "command":
            return False
        return not (self._check == "build" and "--noEmit" in ran.run.words)  # a type check that builds nothing

    def unresolved(self, last_write: float) -> Ran | None:
        """Return a failed run after which nothing was written and which was not repeated."""
        if self._failed and self._failed[0].position <= last_write:
            self._failed = [ran for ran in self._failed if ran.position > last_write]
        first = next(iter(self._failed), None)
        return first if first is not None and first is not self.runs[-1] else None


def _covers(later: Ran, failed: Ran) -> bool:
    """Return whether a later run repeats a failed one or runs more."""
    if later.run is None or failed.run is None:
        return True
    if later.run.words == failed.run.words or later.run.is_indirect or failed.run.is_indirect:
        return True
    return not later.run.is_part and not set(later.run.runners).isdisjoint(failed.run.runners)


def is_named(ran: Ran, command: str, wanted: tuple[RunCommand, ...]) -> bool:
    """Return whether a run is of the command or the program that a statement names."""
    if ran.run is None or ran.run.is_indirect:
        return ran.run is None or not wanted or _task(ran.run.words) == _task(wanted[-1].words)
    names = {name for run in wanted for name in run.runners}
    program = wanted[-1].words.split()[0] if wanted else command.split(maxsplit=1)[0].lower()
    if names and not names.isdisjoint(ran.run.runners):
        return program == ran.run.words.split()[0] or program not in ran.run.words
    return program in ran.run.words.split()


def _task(words: str) -> list[str]:
    """Return the program and the task that a command names: `npm run lint`."""
    parts = words.split(maxsplit=3)
    return parts[:3] if parts[1:2] == ["run"] else parts[:2]


def has_words(command: str, stated: str) -> bool:
    """Return whether a command has the words of the one that a statement names."""
    bare = " ".join(command.split())
    words = stated.split()
    return " ".join(words) in bare or (bool(words) and words[0] in bare and all(word in bare for word in words[1:3]))
