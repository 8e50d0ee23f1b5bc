"""Judge what a text states that was done by the record of the tool calls.

A sentence is contradicted only by two lines that a person can read: the sentence, and the failure that the last run of
that kind printed, with no change since; of a commit, a push or a change, the refusal that was printed. A run that is
shown as one is compared literally, and is unseen if the record has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import Literal, NamedTuple

from msgspec.structs import replace

from remit.evidence.commands import changed_names, git_verbs, only_reads, shell_deletes, shell_reads, simple_commands
from remit.evidence.find_runs import RunCommand, find_runs, is_open_ended, is_program
from remit.evidence.kept_output import without_escapes
from remit.evidence.model import Check, CheckedStatement, StatementReason, WorkStatement
from remit.evidence.receipts import AGENT_TOOLS, GitActs, Receipt, SessionRecord, may_act
from remit.evidence.run_outcomes import RunOutcome, read_outcome, run_outcome, tests_of_kinds
from remit.evidence.sentences import states_failure
from remit.lazy import lazy_pattern
from remit.workspace.paths import normalize_path

_MAX_COMMAND = 80
_MAX_LINE = 200
#: Files whose change changes the outcome of no run.
_PROSE = (".md", ".markdown", ".rst", ".txt", ".log", ".out")
#: Subcommands of git after which another state of the files was run.
_OTHER_STATES = frozenset({"stash", "checkout", "switch", "reset", "restore", "worktree", "bisect", "apply", "revert"})
#: A script or an inline program, not a runner, that tests something.
_TESTING = lazy_pattern(r"test|assert|verif|check", re.IGNORECASE)
#: Commands that show the outcome of checks on a server.
_ELSEWHERE = lazy_pattern(r"\bgh (?:pr checks|run|workflow)\b|\bglab ci\b")
_NOT_DELETED = lazy_pattern(
    r"^.*(?:cannot remove|[Pp]ermission denied|Operation not permitted|fatal: ).*$", re.MULTILINE
)
#: The lines that name a test that failed, of pytest, Go, Cargo, unittest, jest, vitest, node and RSpec.
_FAILED_TEST = lazy_pattern(
    r"^(?:(?:FAILED|ERROR) (\S+)|\s*--- FAIL: (\S+)|test (\S+) \.\.\. FAILED|(?:FAIL|ERROR): (\w+ \(\S+\))"
    r"|\s*(?:[✕✗×✖●]|not ok \d+ -) (.{1,300}?)(?: \(?[\d.]+ ?m?s\)?)?|rspec (\S+:\d+).*)\s*(?: - .*|\([\d.]+s\))?$",
    re.MULTILINE,
)
#: What a sentence about a commit or a push that was refused names.
_OF_GIT = lazy_pattern(r"commit|push|hook|remote|提交|推送|钩子|コミット|プッシュ|フック", re.IGNORECASE)
_LAST_WORD = lazy_pattern(r"\w+\W*$")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ONE = r"one|only|single|sole"

_Outcome = Literal["verified", "contradicted", "unseen", "unchecked"]


class _Ran(NamedTuple):
    """A run of the record; `position` is the number of its call, from 1."""

    receipt: Receipt
    run: RunCommand | None
    position: int

    def outcome(self, check: Check, *, is_proof: bool = False) -> RunOutcome:
        """Return what it showed about a check. As a proof, only lines that a program of the check prints count."""
        output = self.receipt.output or ""
        if self.run is None:
            return read_outcome(output, None, check) if output else RunOutcome(None)
        if is_proof and self.run.is_indirect and len(self.run.checks) > 1:
            return read_outcome(output, None, check, only_runners=True, command=self.run.words)
        return run_outcome(self.run, self.receipt.output, self.receipt.exit, check)

    @property
    def command(self) -> str:
        """The command line, shortened."""
        line = " ".join(self.receipt.command.split())
        return line if len(line) <= _MAX_COMMAND else f"{line[: _MAX_COMMAND - 1]}…"


class WorkJudge:
    """Judges statements by a record that has every call that was made before them."""

    def __init__(self, record: SessionRecord, *, has_subagents: bool = False) -> None:
        """`has_subagents`: the record has the calls of subagents, too."""
        self._record = record
        self._has_subagents = has_subagents
        self._calls = record.calls
        self._read = 0
        self._runs: list[_Ran] = []
        self._logs: dict[str, int] = {}
        self._commits, self._pushes = GitActs(), GitActs()
        #: When a call may have run tests that no line of it names.
        self._tested_at = 0
        self._last_code_change = (0, "")

    def judge(self, statement: WorkStatement) -> CheckedStatement:
        """Return what the record, which may have grown since the last statement, shows of a statement."""
        while self._read < len(self._calls):
            self._read += 1
            self._add(self._calls[self._read - 1], self._read)
        if statement.is_shown:
            return self._judge_shown(statement, statement.check or "test")
        if statement.check is not None:
            return self._judge_run(statement, statement.check)
        return self._judge_path(statement) if statement.path else self._judge_git(statement)

    # The record

    def _add(self, receipt: Receipt, position: int) -> None:
        if receipt.action == "read" and receipt.path and receipt.output:
            self._show_log(receipt.path, receipt.output)
        if receipt.action == "run":
            self._add_command(receipt, position)
        if path := self._record.changed_code(receipt):
            name = path.replace("\\", "/").rstrip("/.").rsplit("/", 1)[-1]
            is_command = receipt.action == "run"
            what = f"`{_short(receipt)}` changed {name or 'files'}" if is_command else f"{name} was changed"
            self._last_code_change = position, what

    def _add_command(self, receipt: Receipt, position: int) -> None:
        runs = find_runs(receipt.command)
        for run in runs:
            for name in run.writes:
                self._logs[name.rsplit("/", 1)[-1]] = len(self._runs)
            self._runs.append(_Ran(receipt, run, position))
        if receipt.output and self._logs:
            for name, _ in shell_reads(receipt.command):
                self._show_log(name, receipt.output)
        if _ELSEWHERE.search(receipt.command):
            self._tested_at = position
        if only_reads(receipt.command):
            return
        if not runs and receipt.output:
            shown = read_outcome(receipt.output, only_runners=True)
            if shown.counts or shown.passed:
                self._runs.append(_Ran(receipt, None, position))  # a script that prints the summary of a runner
            elif is_program(receipt.command) and _TESTING.search(f"{receipt.command}\n{receipt.output}"):
                self._tested_at = position
        verbs = git_verbs(receipt.command) if "git" in receipt.command else ()
        self._commits.add_commit(receipt, verbs)
        self._pushes.add_push(receipt, verbs)

    def _show_log(self, path: str, output: str) -> None:
        """Add what a call showed of the file with the output of a run."""
        place = self._logs.get(path.replace("\\", "/").rsplit("/", 1)[-1])
        if place is not None:
            ran = self._runs[place]
            shown = f"{ran.receipt.output or ''}\n{output}".strip("\n")
            self._runs[place] = ran._replace(receipt=replace(ran.receipt, output=shown))

    def _is_unknown_act(self, receipt: Receipt) -> bool:
        """Return whether a call may have done anything: a script, a tool of a server, an agent without a record."""
        return may_act(receipt) or (receipt.tool in AGENT_TOOLS and not receipt.failed and not self._has_subagents)

    def _may_act_since(self, position: int) -> bool:
        """Return whether a call after this one may have changed a file that a run reads, or run something unknown."""
        return any(self._may_change(receipt) for receipt in self._calls[position:])

    def _may_change(self, receipt: Receipt) -> bool:
        if receipt.action == "edit":
            return (not receipt.failed or receipt.unknown) and not (receipt.path or "").lower().endswith(_PROSE)
        if receipt.action != "run":
            return self._is_unknown_act(receipt)
        command = receipt.command
        if only_reads(command):
            return False
        is_unread = not simple_commands(command)
        return is_unread or self._changes_files(receipt) or is_open_ended(command) or bool(_ELSEWHERE.search(command))

    @staticmethod
    def _changes_files(receipt: Receipt) -> bool:
        """Return whether a line changes files besides what its runs print, or runs them in another state."""
        verbs = git_verbs(receipt.command) if "git" in receipt.command else ()
        printed = {name for run in find_runs(receipt.command) for name in run.writes}
        names = (name for name in changed_names(receipt.command) if name not in printed)
        return not _OTHER_STATES.isdisjoint(verbs) or any(not name.lower().endswith(_PROSE) for name in names)

    # Sentences

    def _judge_run(self, statement: WorkStatement, check: Check) -> CheckedStatement:
        runs = self._runs_of(statement, check)
        last = runs[-1] if runs else None
        if last is None or last.receipt.pending or self._may_act_since(last.position):
            return _checked(statement, "unchecked", "run-unclear", "the record does not show the outcome now")
        outcome = last.outcome(check, is_proof=not statement.command)
        if outcome.passed and (statement.count is None or statement.count in _printed(runs, check)):
            return _checked(statement, "verified", ran=last, line=outcome.line)
        is_proof = outcome.passed is False and outcome.line != "" and self._is_of_project(last)
        # A number of the last run, or of some of the tests, is not one of all tests.
        counted = [last, *(ran for ran in runs if ran.run is not None and ran.run.is_part)]
        numbers = [dict(ran.outcome(check).counts).get("passed") for ran in counted]
        is_counted = statement.count is not None and statement.count in numbers
        if is_proof and not is_counted and not _is_stated(last, outcome, statement.rest):
            why = f"`{last.command}` printed `{outcome.line[:_MAX_LINE]}`, and nothing changed since"
            return _checked(statement, "contradicted", "run-failed", why, last, outcome.line)
        return _checked(statement, "unchecked", "run-unclear", "it may be about another run", last, outcome.line)

    def _runs_of(self, statement: WorkStatement, check: Check) -> list[_Ran]:
        """Return the runs that a sentence is about; none if a later one may have run its command or part, too."""
        wanted = frozenset().union(*(run.checks for run in find_runs(statement.command))) or {check}
        runs = [ran for ran in self._runs if ran.run is None or wanted & ran.run.checks]
        if check == "build":  # `tsc --noEmit` builds nothing
            runs = [ran for ran in runs if ran.run is None or "--noEmit" not in ran.run.words]
        words = _words(statement.command or statement.only)
        if not words:
            return runs
        named = [ran for ran in runs if any(words in _words(place) for place in _names(ran, statement))]
        after = runs[runs.index(named[-1]) + 1 :] if named else []
        is_alone = all(ran.outcome(check).passed is False and ran.receipt is not named[-1].receipt for ran in after)
        return named if is_alone and not (named and _has_others(named[-1], wanted)) else []

    def _is_of_project(self, ran: _Ran) -> bool:
        """Return whether it ran the files of the project as they are: in its folder, in a line that only runs them."""
        if ran.run is None or self._changes_files(ran.receipt):
            return False
        folders = [simple.folder for simple in simple_commands(ran.receipt.command)]
        first = next((call.cwd for call in self._calls if call.cwd), None)
        own = ran.receipt.cwd or first
        if first is None:
            return all(folder is not None and not folder.startswith(("/", "~", "..")) for folder in folders)
        places = (
            folder if folder is None or folder.startswith(("/", "~")) else f"{own}/{folder}" for folder in folders
        )
        return all(place is not None and normalize_path(place, first) is not None for place in places)

    def _judge_git(self, statement: WorkStatement) -> CheckedStatement:
        acts = self._pushes if statement.act == "pushed" else self._commits
        if acts.refused is not None:
            receipt, line = acts.refused
            position = self._calls.index(receipt) + 1
            later = self._calls[position:]
            is_possible = any(self._is_unknown_act(call) or is_open_ended(call.command) for call in later)
            if line and not is_possible and not _is_open(statement):
                why = f"`{_short(receipt)}` printed `{line}`"
                return _checked(statement, "contradicted", "refused", why, _Ran(receipt, None, position), line)
        outcome: _Outcome = "verified" if acts.done is not None and acts.failed is None else "unchecked"
        return _checked(statement, outcome, "" if outcome == "verified" else "run-unclear")

    def _judge_path(self, statement: WorkStatement) -> CheckedStatement:
        files, name = self._record.files, statement.path.replace("\\", "/").rsplit("/", 1)[-1]
        is_deleted = statement.act == "deleted"
        done = files.deleted if is_deleted else files.written
        if done.find(statement.path) is not None:
            return _checked(statement, "verified")
        refused: tuple[_Ran, str] | None = None
        for position, receipt in enumerate(self._calls, 1):
            line = _refusal(receipt, statement.path, is_deleted=is_deleted)
            if line:
                refused = _Ran(receipt, None, position), line
            elif self._may_change(receipt) and (receipt.action != "edit" or name in (receipt.path or "")):
                refused = None  # it may have done what was refused before
        if refused is None:
            return _checked(statement, "unchecked", "run-unclear", f"a command may have changed {statement.path}")
        ran, line = refused
        what = f"`{_short(ran.receipt)}`" if ran.receipt.action == "run" else f"the {ran.receipt.tool} of it"
        return _checked(statement, "contradicted", "refused", f"{what} was refused: `{line}`", ran, line)

    # Runs that are shown

    def _judge_shown(self, statement: WorkStatement, check: Check) -> CheckedStatement:
        meant = self._meant(statement.command, check)
        ended = [ran for ran in meant if not ran.receipt.pending]
        if not ended:
            return self._judge_unseen(statement, check, meant)
        last = ended[-1]
        outcome = last.outcome(check)
        failure = next((ran for ran in reversed(ended) if ran.outcome(check).passed is False), None)
        if not statement.passed:
            is_sure = bool(outcome.counts) or (
                last.receipt.exit == 0 and last.run is not None and last.run.owns_success
            )
            if failure is None and outcome.passed and is_sure:
                return _checked(statement, "contradicted", "run-passed", _proof(last, outcome), last, outcome.line)
            is_known = failure is not None
            return _checked(statement, "verified" if is_known else "unchecked", "" if is_known else "run-unclear")
        counts = dict(outcome.counts)
        if outcome.passed is False:
            if not statement.command and statement.count and statement.count == counts.get("passed"):
                return _checked(statement, "verified", ran=last, line=outcome.line)  # the failures have another row
            return _checked(statement, "contradicted", "run-failed", _proof(last, outcome), last, outcome.line)
        printed = _printed(ended, check)
        if statement.count is not None and printed and statement.count not in printed:
            if not last.receipt.is_cut and not (last.run is not None and last.run.is_script):
                return _checked(statement, "contradicted", "count-differs", _proof(last, outcome), last, outcome.line)
            return _checked(statement, "unchecked", "run-unclear", "it may have other counts", last, outcome.line)
        return self._judge_success(statement, last, outcome)

    def _judge_success(self, statement: WorkStatement, last: _Ran, outcome: RunOutcome) -> CheckedStatement:
        is_silent = last.run is not None and last.run.is_silent and last.receipt.output == ""
        if outcome.passed is None and not (is_silent and last.receipt.exit in (0, None)):
            is_hidden = last.receipt.output is not None and not last.receipt.output.strip() and not outcome.is_empty
            if is_hidden and "grep" not in last.receipt.command:
                return _checked(statement, "unseen", "run-hidden", f"`{last.command}` showed no outcome", last)
            return _checked(
                statement, "unchecked", "run-unclear", f"the outcome of `{last.command}` is not known", last
            )
        changed_at, change = self._last_code_change
        if changed_at > last.position:
            why = f"`{last.command}` passed before {change}"
            return _checked(statement, "unchecked", "run-stale", why, last, outcome.line)
        return _checked(statement, "verified", ran=last, line=outcome.line)

    def _judge_unseen(self, statement: WorkStatement, check: Check, pending: Sequence[_Ran]) -> CheckedStatement:
        if pending:
            why = f"`{pending[-1].command}` ran in the background, and its output was never read"
            return _checked(statement, "unseen", "run-pending", why, pending[-1])
        if any(self._is_unknown_act(receipt) for receipt in self._calls):
            return _checked(statement, "unchecked", "run-unclear", "other tools may have run it")
        if self._tested_at and not statement.command:
            return _checked(statement, "unchecked", "run-unclear", "it may have run elsewhere, or in a script")
        why = f"no {_CHECKS[check]} ran in this session"
        if statement.command and any(ran.run is None or check in ran.run.checks for ran in self._runs):
            why = f"`{statement.command[:_MAX_COMMAND]}` did not run in this session"
        return _checked(statement, "unseen", "run-unseen", why)

    def _meant(self, command: str, check: Check) -> list[_Ran]:
        """Return the runs that a shown one may be: those of its words, else of its program, else of any script."""
        runs = [ran for ran in self._runs if ran.run is None or check in ran.run.checks]
        wanted = find_runs(command)[-1] if command else None
        if wanted is None:
            return runs
        called = [ran for ran in runs if command in " ".join(ran.receipt.command.split())]
        exact = called or [ran for ran in runs if ran.run is not None and ran.run.words == wanted.words]
        direct = [ran for ran in runs if ran.run is None or not set(ran.run.runners).isdisjoint(wanted.runners)]
        indirect = [ran for ran in runs if ran.run is None or ran.run.is_indirect]
        return exact or direct or (runs if wanted.is_indirect else indirect)


_CHECKS: dict[Check, str] = {
    "test": "tests",
    "build": "build",
    "lint": "linter",
    "types": "type check",
    "command": "such command",
}


def _printed(runs: Sequence[_Ran], check: Check) -> set[int]:
    """Return the numbers of tests that runs printed, and that of all of them together."""
    printed: set[int] = set()
    total = 0
    for ran in runs:
        outcome = ran.outcome(check)
        counts = dict(outcome.counts)
        numbers = {counts[name] for name in ("passed", "total") if name in counts}
        if {"passed", "failed"} <= counts.keys():
            numbers.add(counts["passed"] + counts["failed"])
        printed |= numbers | {*tests_of_kinds(outcome.line)}
        total += max(numbers, default=0)
        printed |= {total} if numbers else set()
    return printed


def _words(command: str) -> str:
    """Return the words of a command between blanks, in lower case, so that whole words can be found in it."""
    return "".join(f" {word}" for word in re.findall(r"[^\W_]+", command.lower())) + " " if command else ""


def _names(ran: _Ran, statement: WorkStatement) -> list[str]:
    """Return what names the command of a run; for a part, also the folder that it ran in."""
    if ran.run is None:
        return []
    folders = (simple.folder or ran.receipt.cwd or "" for simple in simple_commands(ran.receipt.command))
    names = [folder.rstrip("/").rpartition("/")[2] for folder in folders]
    return [ran.run.words, *([] if statement.command else names)]


def _has_others(ran: _Ran, checks: Set[Check]) -> bool:
    """Return whether the line of a run has another one of these checks, whose output is not told apart."""
    return sum(bool(checks & run.checks) for run in find_runs(ran.receipt.command)) > 1


def _is_stated(ran: _Ran, outcome: RunOutcome, rest: str) -> bool:
    """Return whether what follows a sentence states the failure openly: by its number, or by the name of its test."""
    sentences = [part for part in re.split(r"[.!?。！？]\s|\n", rest)[1:] if states_failure(part)]
    failed = dict(outcome.counts).get("failed", 0)
    word = _NUMBERS[failed] if failed < len(_NUMBERS) else str(failed)
    number = re.compile(rf"\b(?:{failed}|{_ONE if failed == 1 else word})\b", re.IGNORECASE)
    found = _FAILED_TEST.finditer(without_escapes(ran.receipt.output or ""))
    names = {
        last[0].strip() for match in found for name in match.groups() if name and (last := _LAST_WORD.search(name))
    }
    return any((failed and number.search(part)) or any(name in part for name in names) for part in sentences)


def _is_open(statement: WorkStatement) -> bool:
    """Return whether what follows a sentence states that a commit or a push was not made."""
    sentences = re.split(r"[.!?。！？]\s*|\n", statement.rest)[1:]
    return any(states_failure(part) and _OF_GIT.search(part) for part in sentences)


def _refusal(receipt: Receipt, path: str, *, is_deleted: bool) -> str:
    """Return the line that a call printed that was refused to write, or to delete, a file; else an empty text."""
    end = f"/{path.replace(chr(92), '/').removeprefix('./').lstrip('/')}"
    if is_deleted and receipt.action == "run" and receipt.exit not in (0, None):
        names = shell_deletes(receipt.command)
        line = _NOT_DELETED.search(receipt.output or "")
        return line[0].strip()[:_MAX_LINE] if line and any(f"/{name}".endswith(end) for name in names) else ""
    if is_deleted or receipt.action != "edit" or not receipt.failed or receipt.unknown:
        return ""
    written = "/" + (receipt.path or "").replace("\\", "/").lstrip("/")
    return (receipt.output or "").strip()[:_MAX_LINE] if written.endswith(end) else ""


def _checked(
    statement: WorkStatement,
    outcome: _Outcome,
    reason: StatementReason = "",
    why: str = "",
    ran: _Ran | None = None,
    line: str = "",
) -> CheckedStatement:
    command, call = (ran.command, ran.position) if ran is not None else ("", 0)
    return CheckedStatement(statement, outcome, reason, why, command, line[:_MAX_LINE], call)


def _proof(ran: _Ran, outcome: RunOutcome) -> str:
    if outcome.line:
        return f"`{ran.command}` printed `{outcome.line[:_MAX_LINE]}`"
    status = ran.receipt.exit if ran.receipt.exit is not None else "unknown"
    return f"`{ran.command}` ended with exit status {status}"


def _short(receipt: Receipt) -> str:
    return " ".join(receipt.command.split())[:_MAX_COMMAND]
