"""Judge what a text states that was done by the record of the tool calls.

The record is read in order, and a judge can be asked between two calls: what is not yet in the record does not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec.structs import replace

from remit.evidence.commands import git_verbs, only_reads, shell_reads
from remit.evidence.find_runs import find_runs, is_open_ended, is_program
from remit.evidence.kept_output import kept_output
from remit.evidence.meant_tests import (
    has_modifier,
    is_about_all,
    is_about_failures,
    is_of_another,
    is_sum,
    shows_all,
)
from remit.evidence.model import Check, CheckedStatement, StatementReason, WorkStatement
from remit.evidence.receipts import RERUN, SCRIPT, GitActs, Receipt, SessionRecord, may_act
from remit.evidence.run_history import MAX_COMMAND, Ran, RunHistory, has_words, is_named
from remit.evidence.run_outcomes import RunOutcome, count_left_out, read_outcome
from remit.evidence.stated_exceptions import fit_of
from remit.evidence.statement_words import EVERY, SUBJECT
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, Workspace

_CHECKS: dict[Check, str] = {
    "test": "tests",
    "build": "build",
    "lint": "linter",
    "types": "type check",
    "command": "such command",
}
_EVERY: frozenset[Check] = frozenset({"test", "build", "lint", "types"})
#: Checks whose outcome a command of another check may show.
_SHOWN: tuple[Check, ...] = ("lint", "types", "build")
#: How much of a command is searched for names, and of the words of a person for the output of a run.
_MAX_NAMED = 20_000
_MAX_SHOWN = 100_000
_MAX_LINE = 200
#: A statement about all tests, or about a share of them, is compared with at most this many runs, the last ones.
_MAX_RUNS = 400
#: Names of commands whose runs are remembered.
_MAX_HISTORIES = 500
#: Files that a client shows to the assistant without a call.
_GIVEN = frozenset({"CLAUDE.md", "AGENTS.md", "GEMINI.md", "copilot-instructions.md"})
#: The tools that start another agent.
AGENT_TOOLS = ("Agent", "Task", "spawn_agent")
#: A script or an inline program, not a runner, that tests something.
_TESTING = lazy_pattern(r"test|assert|verif|check", re.IGNORECASE)
_TESTED = lazy_pattern(r"\b(?:pass(?:ed)?|ok|success\w*|succeeded)\b|[✅✔✓]", re.IGNORECASE)
#: Commands that show the outcome of checks on a server.
_ELSEWHERE = lazy_pattern(r"\bgh (?:pr checks|run|workflow)\b|\bglab ci\b")
_HOOKED = frozenset({"commit", "push"})
#: The parts of a command that may be the name of a file.
_NAME = lazy_pattern(r"[\w.@+-]{1,250}")
_WIDE = lazy_pattern(r"\*|xargs|\s-\w*[rR]\b|git (?:diff|show|log|grep)|\bfind\b|\btree\b|\brg\b|\bag\b")


class StatementJudge:
    """Judges statements by a record of tool calls, which may grow between two statements."""

    def __init__(
        self,
        record: SessionRecord,
        workspace: Workspace | None = None,
        *,
        has_subagents: bool = False,
        asked: Iterable[str] = (),
        rerun: Receipt | None = None,
    ) -> None:
        """`workspace` has the files as they are after the last call; None: they are not known.

        `has_subagents`: the record has the calls of subagents, too. `asked` are agents that were asked otherwise.
        """
        self._record = record
        self._workspace = workspace
        self._has_subagents = has_subagents
        self._asked = {_slug(name) for name in asked}
        self._rerun = rerun
        self._ran: list[Ran] = []
        self._logs: dict[str, Ran] = {}
        self._position = 0
        self._commands: list[Receipt] = []
        #: The runs of each check, and the last one that was repeated for this judgement.
        self._of: dict[Check, list[Ran]] = {}
        self._last_rerun: Ran | None = None
        #: What is known of the runs that a statement may mean, with how many of them and of the shown logs were read.
        self._histories: dict[tuple[Check, str], tuple[RunHistory, int, int]] = {}
        self._shown_logs = 0
        #: How many runs were searched for the outcome of another check.
        self._shown_until: dict[Check, int] = {}
        self._shown_by: dict[Check, set[str]] = {}
        #: What the commands did with git, and the names in them: all, and those in commands that may write.
        self._commits = GitActs()
        self._pushes = GitActs()
        self._named: set[str] = set()
        self._changeable: set[str] = set()
        #: The last position at which a file was written, and that of a file that is not prose, with what changed it.
        self._last_write: float = 0
        self._last_change: tuple[float, str] = (0, "")
        self._is_open = False
        self._is_wide = False
        self._delegated = False
        #: Whether a script without a runner may have tested something, or a person showed the output of a run.
        self._is_tested = False
        self._tested_at = 0
        #: When the outcome of checks elsewhere was shown.
        self._ci_at = 0
        #: Whether a commit or a push ran checks.
        self._has_hooks = False
        self._acting: list[str] = []
        #: When a script may have called any tool.
        self._scripted_at = 0

    def judge(self, statement: WorkStatement) -> CheckedStatement:
        """Return what the record shows of a statement."""
        self._advance()
        checked = self._judge(statement)
        if checked.outcome == "contradicted" and self._scripted_at > checked.call:
            return _checked(statement, "unchecked", "record-incomplete", "a script may have changed it")
        return checked

    def _judge(self, statement: WorkStatement) -> CheckedStatement:
        if statement.kind == "run":
            return self._judge_run(statement)
        if statement.kind == "delegation":
            return self._judge_delegation(statement)
        if statement.kind == "read":
            return self._judge_read(statement)
        if statement.act in ("committed", "pushed"):
            return self._judge_commit(statement)
        return self._judge_change(statement)

    def add_shown(self, words: str) -> None:
        """Add the output of a run that a person showed."""
        shown = kept_output("", words[:_MAX_SHOWN])
        outcome = read_outcome(shown) if shown else RunOutcome(None)
        if outcome.passed and outcome.counts:
            self._advance()
            self._add_run(Ran(Receipt("", output=shown), None, self._position))

    def _advance(self) -> None:
        """Read the calls that were added to the record."""
        calls = self._record.calls
        while self._position < len(calls):
            receipt = calls[self._position]
            self._position += 1
            self._add(receipt, self._position)

    def _add(self, receipt: Receipt, position: int) -> None:
        if receipt.tool in AGENT_TOOLS:
            self._delegated = self._delegated or not receipt.failed
            name = receipt.arguments.get("subagent_type") or "general-purpose"
            self._asked.add(_slug(str(name).rpartition(":")[2]))
        elif receipt.action == "run":
            self._add_command(receipt, position)
        elif receipt.action == "edit" and not receipt.failed:
            self._last_write = position
            if path := self._record.changed_code(receipt):
                self._last_change = (position, f"{_last_part(path)} was changed")
        elif receipt.action == "other" and may_act(receipt):
            self._acting.append(str(receipt.arguments)[:2_000])
            self._scripted_at = position if receipt.tool == SCRIPT else self._scripted_at
        if receipt.action == "read" and receipt.path and receipt.output:
            self._show_log(receipt.path, receipt.output)

    def _add_command(self, receipt: Receipt, position: int) -> None:
        self._commands.append(receipt)
        if receipt.tool == RERUN:
            self._last_rerun = Ran(receipt, None, position)
            return
        runs = find_runs(receipt.command)
        for run in runs:
            ran = Ran(receipt, run, position)
            self._add_run(ran)
            for name in run.writes:
                self._logs[name.rsplit("/", 1)[-1]] = ran
        if _ELSEWHERE.search(receipt.command):
            self._ci_at = position
        is_reading = only_reads(receipt.command)
        if receipt.output and self._logs:
            for name, _ in shell_reads(receipt.command):
                self._show_log(name, receipt.output)
        names = _NAME.findall(receipt.command[:_MAX_NAMED])
        self._named.update(names)
        if not is_reading:
            if path := self._record.changed_code(receipt):
                self._last_write = position - 0.5 if runs else position  # its own run is after the change
                self._last_change = (self._last_write, f"`{_short(receipt)}` changed {_last_part(path) or 'files'}")
            self._add_action(receipt, names, position, has_runs=bool(runs))
        self._is_wide = self._is_wide or _WIDE.search(receipt.command) is not None

    def _add_action(self, receipt: Receipt, names: list[str], position: int, *, has_runs: bool) -> None:
        """Add a command that does more than show something."""
        output = receipt.output or ""
        shown = read_outcome(output, only_runners=True) if not has_runs and output else RunOutcome(None)
        if shown.counts or shown.passed:
            self._add_run(Ran(receipt, None, position))  # a script that prints the summary of a runner
        is_test = _TESTING.search(receipt.command) is not None or _TESTED.search(output) is not None
        if not has_runs and is_test and is_program(receipt.command):
            self._is_tested, self._tested_at = True, position
        self._is_open = self._is_open or (receipt.exit in (0, None) and is_open_ended(receipt.command))
        verbs = git_verbs(receipt.command) if "git" in receipt.command else ()
        if not has_runs and not (verbs and set(verbs) <= {"add", "commit", "push", "status", "diff"}):
            self._changeable.update(names)
        self._has_hooks = self._has_hooks or (not _HOOKED.isdisjoint(verbs) and _TESTED.search(output) is not None)
        self._commits.add_commit(receipt, verbs)
        self._pushes.add_push(receipt, verbs)

    def _add_run(self, ran: Ran) -> None:
        self._ran.append(ran)
        checks = ran.run.checks if ran.run is not None else _EVERY
        for check in checks:
            self._of.setdefault(check, []).append(ran)

    def _show_log(self, path: str, output: str) -> None:
        ran = self._logs.get(path.replace("\\", "/").rsplit("/", 1)[-1])
        if ran is not None:
            ran.show(output)
            self._shown_logs += 1

    # Runs

    def _judge_run(self, statement: WorkStatement) -> CheckedStatement:
        ran = self._matching(statement)
        if not ran.runs:
            if ran.pending is None:
                return self._judge_unseen_run(statement)
            why = f"`{ran.pending.command}` ran in the background, and its output was never read"
            return _checked(statement, "unseen", "run-pending", why, ran.pending)
        last = ran.runs[-1]
        if statement.passed is None:
            return _checked(statement, "verified", "", "", last)
        ran.advance()
        if "total" in dict(statement.counts):
            return self._judge_share(statement, ran.runs)
        outcome = last.outcome(statement.check)
        if not statement.passed:
            return self._judge_failure(statement, ran, last, outcome)
        unresolved = None if statement.is_part else ran.unresolved(self._last_write)
        if unresolved is not None:
            last, outcome = unresolved, unresolved.outcome(statement.check)
        return self._judge_success(statement, ran, last, outcome)

    def _judge_unseen_run(self, statement: WorkStatement) -> CheckedStatement:
        """Judge a statement about a run that no command of the record was."""
        check = statement.check
        if self._acting or self._is_incomplete:
            return _checked(statement, "unchecked", "record-incomplete", "other tools may have run it")
        is_named = bool(statement.command)
        is_described = statement.passed is False  # what failed may have run elsewhere
        is_vague = not is_named and SUBJECT.search(statement.text) is None
        is_possible = self._is_open if check == "build" else self._is_tested and check in ("test", "command")
        is_elsewhere = self._has_hooks or self._ci_at > 0
        if is_described or is_vague or (is_possible and not is_named) or is_elsewhere:
            return _checked(statement, "unchecked", "run-unclear", "it may have run elsewhere, or in a script")
        why = f"no {_CHECKS[check]} ran in this session"
        if is_named and (check == "command" or self._of_check(check)):
            why = f"`{statement.command[:MAX_COMMAND]}` did not run in this session"
        return _checked(statement, "unseen", "run-unseen", why)

    def _judge_success(
        self, statement: WorkStatement, ended: RunHistory, last: Ran, outcome: RunOutcome
    ) -> CheckedStatement:
        if outcome.passed is False:
            return self._judge_failed(statement, ended, last, outcome)
        differing = self._differing(statement, ended)
        if differing is not None:
            return differing
        if outcome.is_empty:
            why = f"no test passed in `{last.command}`: it printed `{outcome.line[:_MAX_LINE]}`"
            return _checked(statement, "unchecked", "run-unclear", why, last, outcome.line)
        if outcome.passed is None and not last.is_silence:
            is_filtered = "grep" in last.receipt.command  # nothing that was searched for is an outcome, too
            if last.receipt.output is not None and not (last.output or "").strip() and not is_filtered:
                why = f"`{last.command}` showed no outcome"
                return _checked(statement, "unseen", "run-hidden", why, last)
            return _checked(
                statement, "unchecked", "run-unclear", f"the outcome of `{last.command}` is not known", last
            )
        if is_about_all(statement) and not any(shows_all(ran, statement) for ran in ended.runs[-_MAX_RUNS:]):
            why = f"only a part of the tests ran: `{last.command}`"
            return _checked(statement, "unchecked", "run-part", why, last, outcome.line)
        changed_at, change = self._last_change
        if last.receipt.tool != RERUN and changed_at > last.position:
            why = f"`{last.command}` passed before {change}"
            return _checked(statement, "unchecked", "run-stale", why, last, outcome.line)
        return _checked(statement, "verified", "", "", last, outcome.line)

    def _judge_failed(
        self, statement: WorkStatement, ended: RunHistory, last: Ran, outcome: RunOutcome
    ) -> CheckedStatement:
        """Judge a statement that a run passed, which failed."""
        passes = dict(outcome.counts).get("passed", 0)
        is_exact = passes > 0 and statement.counts == (("passed", passes),) and not EVERY.search(statement.text)
        if is_exact:
            return _checked(statement, "verified", "", "", last, outcome.line)
        is_other = self._may_be_of_another(statement, ended, last) or is_of_another(statement, last, outcome)
        if is_other or is_about_failures(statement, dict(outcome.counts)):
            return _checked(statement, "unchecked", "run-unclear", "it may be about another run", last)
        is_whole = last.run is None or not last.run.is_part  # a part may pass in a run of everything that failed
        if statement.is_part and (
            passes or not outcome.line or statement.check != "test" or (is_whole and not outcome.counts)
        ):
            return _checked(statement, "unchecked", "run-unclear", "only some of the tests failed", last)
        return _checked(statement, "contradicted", "run-failed", _failure(last, outcome), last, outcome.line)

    def _may_be_of_another(self, statement: WorkStatement, ended: RunHistory, last: Ran) -> bool:
        """Return whether another run may be meant than the last one, which failed."""
        words = last.run.words if last.run is not None else ""
        if last.run is not None and last.run.is_indirect and self._tested_at > last.position:
            return True
        if (statement.check == "build" and "--noEmit" in words) or self._ci_at > last.position:
            return True
        is_by_the_way = statement.check in _SHOWN and statement.check.removesuffix("s") not in words
        if is_by_the_way and last.run is not None and last.run.is_indirect and ended.passing - {words}:
            return True  # `npm run lint` failed, and `npm run typecheck` did not
        return bool(ended.passing - {words}) and has_modifier(statement)

    def _judge_share(self, statement: WorkStatement, ended: Sequence[Ran]) -> CheckedStatement:
        """Judge `47 of the 48 tests pass` by the counts that were printed."""
        stated = dict(statement.counts)
        outcomes = ((ran, ran.outcome(statement.check)) for ran in ended[-_MAX_RUNS:])
        counted = [(ran, outcome) for ran, outcome in outcomes if outcome.counts]
        for ran, outcome in reversed(counted):
            counts = dict(outcome.counts)
            total = counts.pop("total", 0)
            ended_tests = counts.get("passed", 0) + counts.get("failed", 0)
            left_out = count_left_out(outcome.line)
            totals = {total, sum(counts.values()), ended_tests, ended_tests + left_out}
            if counts.get("passed", 0) == stated["passed"] and stated["total"] in totals:
                return _checked(statement, "verified", "", "", ran, outcome.line)
        if not counted:
            why = f"the outcome of `{ended[-1].command}` is not known"
            return _checked(statement, "unchecked", "run-unclear", why, ended[-1])
        ran, outcome = counted[-1]
        if ran.has_own_counts:
            return _checked(statement, "unchecked", "run-unclear", "it may be about another run", ran)
        why = f"`{ran.command}` printed `{outcome.line[:_MAX_LINE]}`"
        return _checked(statement, "contradicted", "count-differs", why, ran, outcome.line)

    def _judge_failure(
        self, statement: WorkStatement, ended: RunHistory, last: Ran, outcome: RunOutcome
    ) -> CheckedStatement:
        if ended.has_failed and statement.exception:
            return self._judge_exception(statement, ended)
        if ended.has_failed:
            return _checked(statement, "verified", "", "", last, outcome.line)
        is_sure = last.run is None or bool(outcome.counts) or (last.receipt.exit == 0 and last.run.owns_success)
        if outcome.passed and is_sure:
            shown = (
                f"printed `{outcome.line[:_MAX_LINE]}`"
                if outcome.line
                else f"ended with exit status {last.receipt.exit}"
            )
            return _checked(statement, "contradicted", "run-passed", f"`{last.command}` {shown}", last, outcome.line)
        return _checked(statement, "unchecked", "run-unclear", f"the outcome of `{last.command}` is not known", last)

    def _judge_exception(self, statement: WorkStatement, ended: RunHistory) -> CheckedStatement:
        """Judge `all tests pass except the login tests` by the tests that failed in the last run that failed."""
        outcomes = ((ran, ran.outcome(statement.check)) for ran in reversed(ended.runs[-_MAX_RUNS:]))
        ran, outcome = next(
            ((ran, outcome) for ran, outcome in outcomes if outcome.passed is False), (ended.runs[-1], RunOutcome(None))
        )
        fit = fit_of(statement.exception, dict(outcome.counts).get("failed"), ran.output or "")
        if fit == "same":
            return _checked(statement, "verified", "", "", ran, outcome.line)
        if fit == "other number" and ran is ended.runs[-1] and not ran.has_own_counts:
            why = f"`{ran.command}` printed `{outcome.line[:_MAX_LINE]}`"
            return _checked(statement, "contradicted", "count-differs", why, ran, outcome.line)
        why = "other tests may have failed than those that it names"
        return _checked(statement, "unchecked", "run-unclear", why, ran, outcome.line)

    def _matching(self, statement: WorkStatement) -> RunHistory:
        """Return the runs that a statement may mean."""
        repeated = Ran(self._rerun, None, self._position) if self._rerun is not None else self._last_rerun
        if repeated is not None:
            return _history(statement.check, [repeated])
        of_check = self._of_check(statement.check)
        if not statement.command:
            return self._filtered(statement.check, "", of_check, lambda _: True)
        wanted = find_runs(statement.command)
        command = statement.command
        named = self._filtered(statement.check, command, of_check, lambda ran: is_named(ran, command, wanted))
        if named.runs or named.pending is not None:
            return named
        if wanted and statement.check != "command":
            # Another way to start the same kind of runner: `npm test` runs jest.
            if all(not run.runners for run in wanted):
                return self._filtered(statement.check, "", of_check, lambda _: True)
            return self._filtered(
                statement.check, "indirect", of_check, lambda ran: ran.run is None or ran.run.is_indirect
            )
        same = [Ran(call, None, 0) for call in self._commands if has_words(call.command, command)]
        return _history(statement.check, same)

    def _filtered(self, check: Check, name: str, runs: list[Ran], is_meant: Callable[[Ran], bool]) -> RunHistory:
        """Return the history of the runs that are meant. What is known of the earlier ones is kept by the name."""
        history, done, shown = self._histories.get((check, name), (None, 0, -1))
        if history is None or shown != self._shown_logs or len(self._histories) > _MAX_HISTORIES:
            history, done = RunHistory(check), 0
        history.add(ran for ran in runs[done:] if is_meant(ran))
        if len(self._histories) > _MAX_HISTORIES:
            self._histories.clear()
        self._histories[check, name] = history, len(runs), self._shown_logs
        return history

    def _of_check(self, check: Check) -> list[Ran]:
        if check == "command":
            return self._ran
        runs = self._of.setdefault(check, [])
        if check in _SHOWN:
            # `npm test` may run the linter, too.
            extra = False
            for ran in self._ran[self._shown_until.get(check, 0) :]:
                if ran.run is None or not ran.run.is_indirect or check in ran.run.checks or not ran.output:
                    continue
                shown_by = self._shown_by.setdefault(check, set())
                if ran.run.words in shown_by or read_outcome(ran.output, None, check, only_runners=True).line:
                    shown_by.add(ran.run.words)
                    runs.append(Ran(ran.receipt, None, ran.position))
                    extra = True
            self._shown_until[check] = len(self._ran)
            if extra:
                runs.sort(key=lambda ran: ran.position)
                self._shown_logs += 1  # the order has changed
        return runs

    def _differing(self, statement: WorkStatement, ended: RunHistory) -> CheckedStatement | None:
        """Return the contradiction of a number of tests that no run printed."""
        stated = dict(statement.counts).get("passed")
        ran = ended.last_counted
        if stated is None or ran is None or stated in ended.printed or is_sum(stated, ended.totals):
            return None
        if (statement.is_part and stated < max(ended.printed)) or ran.has_own_counts:
            return None
        outcome = ran.outcome(statement.check)
        why = f"`{ran.command}` printed `{outcome.line[:_MAX_LINE]}`"
        return _checked(statement, "contradicted", "count-differs", why, ran, outcome.line)

    # Changes

    @property
    def _is_incomplete(self) -> bool:
        return self._delegated and not self._has_subagents

    def _judge_change(self, statement: WorkStatement) -> CheckedStatement:
        if not statement.paths:
            if self._record.files.written or self._record.files.deleted:
                return _checked(statement, "verified")
            is_possible = self._is_open or self._is_incomplete or bool(self._changeable)
            if is_possible or self._acting or self._record.files.attempted:
                return _checked(statement, "unchecked", "change-unclear", "a command may have changed files")
            return _checked(statement, "unseen", "change-unseen", "no call changed a file")
        judged = [self._judge_path(statement, path) for path in statement.paths]
        worst = ("contradicted", "unseen", "unchecked", "verified")
        return min(judged, key=lambda path_judgement: worst.index(path_judgement.outcome))

    def _judge_path(self, statement: WorkStatement, path: str) -> CheckedStatement:
        files = self._record.files
        is_deleted = statement.act == "deleted"
        written = files.written.find(path)
        if written is not None and (command := files.undone.get(written)) is not None:
            why = f"`{' '.join(command.split())[:MAX_COMMAND]}` took the change of {path} back"
            return replace(_checked(statement, "contradicted", "change-undone", why), command=command[:_MAX_LINE])
        if (written is not None and not is_deleted) or files.deleted.find(path) is not None:
            return _checked(statement, "verified")
        if written is not None or files.attempted.find(path) is not None or self._is_mentioned(path):
            return _checked(statement, "unchecked", "change-unclear", f"a command may have changed {path}")
        exists = self._exists(path)
        if exists is is_deleted and not (is_deleted and self._is_incomplete):
            reason: StatementReason = "file-exists" if is_deleted else "file-missing"
            why = f"{path} is still there" if is_deleted else f"there is no {path}, and no call wrote it"
            return _checked(statement, "contradicted", reason, why)
        if self._is_open or self._is_incomplete or self._acting:
            return _checked(statement, "unchecked", "change-unclear", f"a command may have changed {path}")
        return _checked(statement, "unseen", "change-unseen", f"no call changed {path}")

    def _is_mentioned(self, path: str) -> bool:
        """Return whether a command that does more than show or test names the file."""
        name = path.rsplit("/", 1)[-1]
        if any(name in text for text in self._acting):
            return True
        return name in self._changeable

    def _exists(self, path: str) -> bool | None:
        if self._workspace is None:
            return None
        inside = self._workspace.normal(path)
        if inside is None:
            return None
        file = self._workspace.read(inside)
        is_missing = isinstance(file, Absent) and file.why in ("missing", "dangling")
        name = path.rsplit("/", 1)[-1].lower()
        if is_missing and name in self._workspace.index.by_folded_name:
            return None  # the text may leave out its folders
        return not is_missing

    def _judge_commit(self, statement: WorkStatement) -> CheckedStatement:
        is_push = statement.act == "pushed"
        acts = self._pushes if is_push else self._commits
        if acts.done is not None and acts.failed is None:
            return self._with_call(_checked(statement, "verified"), *acts.done)
        if acts.failed is not None:
            receipt, line = acts.failed
            shown = f"printed `{line}`" if line else f"ended with exit status {receipt.exit}"
            checked = _checked(
                statement, "contradicted", "push-failed" if is_push else "commit-failed", f"`{_short(receipt)}` {shown}"
            )
            return self._with_call(checked, receipt, line)
        if acts.has_unknown or self._acting or self._is_incomplete or self._is_open:
            return _checked(statement, "unchecked", "record-incomplete", "another command may have done it")
        why = "no call pushed anything" if is_push else "no call made a commit"
        return _checked(statement, "unseen", "push-unseen" if is_push else "commit-unseen", why)

    def _with_call(self, checked: CheckedStatement, receipt: Receipt, line: str) -> CheckedStatement:
        numbers = (number for number, call in enumerate(self._record.calls, 1) if call is receipt)
        return replace(checked, command=_short(receipt), line=line, call=next(numbers, 0))

    # Reading and delegation

    def _judge_read(self, statement: WorkStatement) -> CheckedStatement:
        files = self._record.files
        for path in statement.paths:
            if files.shown.find(path) is not None or files.written.find(path) is not None:
                continue
            name = path.rsplit("/", 1)[-1]
            if name in _GIVEN or name in self._named or self._is_wide or self._acting or self._is_incomplete:
                return _checked(statement, "unchecked", "record-incomplete", f"a command may have shown {path}")
            return _checked(statement, "unseen", "read-unseen", f"no call read {path}")
        return _checked(statement, "verified")

    def _judge_delegation(self, statement: WorkStatement) -> CheckedStatement:
        if _slug(statement.agent.rpartition(":")[2]) in self._asked:
            return _checked(statement, "verified")
        why = f"{statement.agent} was not asked to do anything in this session"
        return _checked(statement, "unseen", "delegation-unseen", why)


def _history(check: Check, runs: list[Ran]) -> RunHistory:
    history = RunHistory(check)
    history.add(runs)
    return history


def _checked(
    statement: WorkStatement,
    outcome: Literal["verified", "contradicted", "unseen", "unchecked"],
    reason: StatementReason = "",
    why: str = "",
    ran: Ran | None = None,
    line: str = "",
) -> CheckedStatement:
    command, call = (ran.command, ran.position) if ran is not None else ("", 0)
    return CheckedStatement(statement, outcome, reason, why, command, line[:_MAX_LINE], call)


def _failure(ran: Ran, outcome: RunOutcome) -> str:
    if outcome.line:
        return f"`{ran.command}` printed `{outcome.line[:_MAX_LINE]}`"
    status = ran.receipt.exit if ran.receipt.exit is not None else "unknown"
    return f"`{ran.command}` ended with exit status {status}"


def _short(receipt: Receipt) -> str:
    return " ".join(receipt.command.split())[:MAX_COMMAND]


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rstrip("/.").rsplit("/", 1)[-1]


def _slug(name: str) -> str:
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())
