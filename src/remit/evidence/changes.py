"""Find the claims of changed files and test runs, and check changes against git, a snapshot and the receipts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from remit.contract.findings import blocks, tables
from remit.contract.headings import column_index
from remit.contract.lines import is_none_text, plain_text
from remit.contract.model import Code, Items, Result, Row, Table, Text
from remit.evidence.commands import ReceiptCommand, only_reads, simple_commands
from remit.evidence.grammar import references_in
from remit.evidence.model import ChangeClaim, Outcome, RunClaim
from remit.evidence.read_places import display_path
from remit.evidence.receipts import RERUN, Receipt, ReceiptIndex
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace, WorkTree

if TYPE_CHECKING:
    from remit.workspace.git import FileChangeStat
    from remit.workspace.snapshot import Snapshot

_ADDED = lazy_pattern(r"\+\s?(\d{1,7})")
_REMOVED = lazy_pattern(r"[-−–]\s?(\d{1,7})")
_PLAIN = lazy_pattern(r"(\d{1,7})")
_CLAIMS_RUN = lazy_pattern(
    r"\b(?:all|\d+)?\s?(?:unit |integration |existing |the )?(?:tests?|suite|specs?)\b[^.\n]{0,40}?"
    r"\b(?:pass(?:ed|es|ing)?|green|succeed(?:ed|s)?|fail(?:ed|s|ing)?)\b|\b\d+ passed\b"
    r"|テスト[^。\n]{0,20}(?:成功|通過|合格|パス)|测试[^。\n]{0,20}通过",
    re.IGNORECASE,
)
_NOT_RUN = lazy_pattern(
    r"\b(?:not (?:been )?(?:run|tested|executed)|no tests?(?! fail)|cannot run|skipped the tests)\b"
    r"|テスト[^。\n]{0,10}(?:実行し(?:ていませ|ませ|な)|未実行|実行でき)|(?:未|没有|没)(?:运行|执行)[^。\n]{0,6}测试"
    r"|测试[^。\n]{0,6}(?:未|没有|没|无法)(?:运行|执行)",
    re.IGNORECASE,
)
_FAILURES = lazy_pattern(
    r"\b[1-9]\d* (?:tests? )?fail(?:s|ed|ures?|ing)?\b|^FAIL(?:ED)?\b(?!\s?[:=]\s?0)|\bfail(?:ed|ures?)\s?[:=]\s?[1-9]"
    r"|(?<!no )\btests? (?:fail(?!\w*\s?[:=]\s?0)|are failing)"
    r"|テスト[^。\n]{0,20}(?:失敗(?!は?(?:なし|あり?ませ|な[くい]))|通らな|通りませ|パスしな|パスしませ|合格しな)"
    r"|测试[^。\n]{0,12}(?:未|没有|没|不)(?:能|全部|完全)?通过|测试[^。\n]{0,12}(?<![没无有])失败",
    re.IGNORECASE | re.MULTILINE,
)
#: A statement that no test fails.
_ALL_PASS = lazy_pattern(
    r"\b(?:all|every)\b[^.\n]{0,40}\b(?:tests?|suites?|specs?|checks?)\b[^.\n]{0,40}?\b(?:pass(?:ed|es|ing)?|green)\b|"
    r"\b(?:tests?|suite)\b[^.\n]{0,20}?\b(?:all pass(?:ed|es|ing)?|(?:is|are) (?:all )?(?:green|passing))\b|"
    r"(?:^|[.;]\s)(?:the )?tests pass(?:ed)?\b|"
    r"(?:すべて|全て|全)の?テスト[^。\n]{0,20}(?:成功|通過|合格|パス)|"
    r"(?:所有|全部)测试[^。\n]{0,20}通过",
    re.IGNORECASE,
)
_EXCEPT = lazy_pattern(r"\b(?:except|but|apart from|other than|besides|not)\b|以外|除", re.IGNORECASE)
_PASSES = lazy_pattern(r"\b\d+ (?:tests? )?pass(?:ed|es|ing)?\b|^\W*PASS(?:ED)?\b", re.IGNORECASE | re.MULTILINE)
_SENTENCE = lazy_pattern(r"[^.。\n]*")
_PROMPT = lazy_pattern(r"^\s*[$>%]\s+(.+)$")
_UNCHANGED = "git shows no change against HEAD"


class ChangeChecker:
    """Checks the claims of changed files; git runs only if there are any."""

    def __init__(
        self,
        workspace: Workspace,
        receipts: ReceiptIndex | None,
        snapshot: Snapshot | None,
    ) -> None:
        self._workspace = workspace
        self._receipts = receipts
        self._snapshot = snapshot

    @cached_property
    def _git(self) -> dict[str, FileChangeStat] | None:
        """The changes that git reports; None if git cannot report any."""
        from remit.workspace.git import changes  # late import: few results need git for a claim

        return changes(self._workspace.folder) if isinstance(self._workspace, WorkTree) else None

    def claims(self, result: Result) -> list[ChangeClaim]:
        """Return every claim of a changed file with its outcome."""
        rows = (
            *self._rows(result, "files_created", "created", self._count_created),
            *self._rows(result, "files_modified", "modified", self._count_modified),
            *self._rows(result, "files", "modified", self._count_nothing),
        )
        return list(rows)

    def _rows(
        self, result: Result, block: str, verb: str, count: Callable[[ChangeClaim, SourceFile, str], None]
    ) -> Iterator[ChangeClaim]:
        for table in tables(result, block):
            location, lines = column_index(table.columns, "location"), column_index(table.columns, "lines")
            if location is None:
                continue
            for row in table.rows:
                found = references_in(row.cells[location], self._workspace.exists, bare=True)
                if found:
                    stated = plain_text(row.cells[lines]) if lines is not None else ""
                    yield self._claim(display_path(found[0].path, self._workspace), verb, stated, row, count)

    def _claim(
        self, path: str, verb: str, stated: str, row: Row, count: Callable[[ChangeClaim, SourceFile, str], None]
    ) -> ChangeClaim:
        text = f"{verb}, {stated}" if stated else verb
        claim = ChangeClaim(path=path, claim=text, outcome="unchecked", at=row.line)
        file = self._workspace.read(path)
        if isinstance(file, Absent):
            missing = file.why in ("missing", "folder")
            claim.outcome = "missing-file" if missing else "outside" if file.why == "outside" else "unchecked"
            claim.why = f"the file is {file.why}"
            return claim
        count(claim, file, stated)
        claim.outcome, claim.why, claim.denied = self._judge(path, verb)
        return claim

    def _judge(self, path: str, verb: str) -> tuple[Outcome, str, bool | None]:
        """Return whether the change happened, by the snapshot, else by the receipts, else by git if it can."""
        if self._snapshot is not None:
            from remit.workspace.snapshot import difference  # late imports, here and below: few checks have these

            state = difference(self._snapshot, self._workspace, path)
            happened = state == "created" or (state == "modified" and verb == "modified")
            return ("verified", "", False) if happened else ("mismatch", _SNAPSHOT_WHY[state], True)
        if self._receipts is not None and path in self._receipts.edited:
            return "verified", "", False  # before git runs, which takes longer than everything else
        changed = path in self._git if self._git is not None else None
        if self._receipts is not None:
            wrote = any(not only_reads(run.command) for run in self._receipts.runs)
            if wrote and changed:
                return "verified", "", False
            if changed is None and any(may_write(run.command) for run in self._receipts.runs):
                return "unchecked", "a command may have written it, and git has no information", None
            return "mismatch", "no receipt shows that it was written", True
        if changed:
            return "verified", "", None
        unknown = "git has no information about changes"
        return "unchecked", unknown if changed is None else f"{_UNCHANGED}; it may have been committed", None

    def _count_created(self, claim: ChangeClaim, file: SourceFile, stated: str) -> None:
        number = _PLAIN.search(stated)
        if number:
            claim.stated, claim.counted = int(number[1]), len(file.lines)

    def _count_modified(self, claim: ChangeClaim, file: SourceFile, stated: str) -> None:
        change = (self._git or {}).get(claim.path)
        if change is None or change.added is None or change.removed is None or not stated:
            return
        added, removed = _ADDED.search(stated), _REMOVED.search(stated)
        if added:
            claim.stated, claim.counted = int(added[1]), change.added
        if removed and claim.stated == claim.counted:
            claim.stated, claim.counted = int(removed[1]), change.removed
        number = _PLAIN.search(stated)
        if number and not added and not removed:
            claim.stated, total = int(number[1]), change.added + change.removed
            claim.counted = claim.stated if claim.stated in (change.added, change.removed) else total

    def _count_nothing(self, claim: ChangeClaim, file: SourceFile, stated: str) -> None:
        """Do nothing: a row of a document result has no number of lines."""


_SNAPSHOT_WHY = {
    "created": "it did not exist before the run",
    "modified": "it existed before the run",
    "unchanged": "it has not changed since before the run",
    "deleted": "it was deleted",
    "absent": "it does not exist",
}


def run_claims(result: Result) -> list[RunClaim]:
    """Return the first claim of a result that tests ran, if there is one."""
    for block in blocks(result, "test_results"):
        texts = [_text_of(part) for part in block.content]
        text = "\n".join(texts)
        if not is_none_text(text) and not _NOT_RUN.search(text):
            line = next((part.line for part in block.content), block.line)
            return [RunClaim(at=line, passed=not _FAILURES.search(text), command=_command(text), text=text[:200])]
    claims = [found.start() for found in _CLAIMS_RUN.finditer(result.summary)] if _names_tests(result.summary) else []
    if claims and not _NOT_RUN.search(result.summary):
        sentence = _SENTENCE.match(result.summary, claims[-1])
        text = sentence.group().strip() if sentence else ""
        return [RunClaim(at=0, passed=not _FAILURES.search(text), text=text)]
    return []


def asserted_test_runs(text: str) -> list[RunClaim]:
    """Return the sentences of any text that state the outcome of a test run."""
    claims: list[RunClaim] = []
    for at, line in enumerate(text.split("\n"), 1):
        if not _names_tests(line) or _NOT_RUN.search(line):
            continue
        for found in _CLAIMS_RUN.finditer(line):
            start = max(line.rfind(mark, 0, found.start()) for mark in (". ", "! ", "? ", "。")) + 1
            sentence = _SENTENCE.match(line, start if start else 0)
            stated = (sentence.group() if sentence else line).strip() or found.group()
            claims.append(RunClaim(at=at, passed=not _FAILURES.search(stated), text=stated[:200]))
    return claims


def summary_contradicts_tests(result: Result) -> int | None:
    """Return the line of the Test Results if they end with failures and the Summary states that all tests pass."""
    claim = _ALL_PASS.search(result.summary) if _names_tests(result.summary) else None
    if claim is None or _EXCEPT.search(_sentence_around(result.summary, claim.start())):
        return None
    for block in blocks(result, "test_results"):
        text = "\n".join(_text_of(part) for part in block.content)
        failures = [found.start() for found in _FAILURES.finditer(text)]
        passes = [found.start() for found in _PASSES.finditer(text)]
        # A later line that only passes is a second run, after the failures were fixed.
        if failures and (not passes or "\n" not in text[failures[-1] : passes[-1]]):
            return block.line
    return None


def _sentence_around(text: str, at: int) -> str:
    start = max(text.rfind(mark, 0, at) for mark in (".", "。", "\n")) + 1
    sentence = _SENTENCE.match(text, start)
    return sentence.group() if sentence else ""


def _names_tests(text: str) -> bool:
    """Return whether a text mentions tests; without them it cannot claim a run."""
    lower = text.lower()
    return any(word in lower for word in ("test", "suite", "spec", "passed", "テスト", "测试"))


def _text_of(part: object) -> str:
    if isinstance(part, Code | Text):
        return part.text
    if isinstance(part, Items):
        return "\n".join(item.text for item in part.items)
    if isinstance(part, Table):
        return "\n".join(" ".join(row.cells) for row in part.rows)
    return ""


def _command(text: str) -> str:
    for line in text.split("\n"):
        prompt = _PROMPT.match(line)
        if prompt:
            return " ".join(prompt.group(1).split())
    return ""


_RUNNER = lazy_pattern(
    r"\b(?:py\.?test|unittest|tox|nox|jest|vitest|mocha|ava|karma|cypress|playwright|rspec|minitest|phpunit|ctest|"
    r"nextest|busted|bats|prove|nosetests|hypothesis)\b"
    r"|\b(?:npm|pnpm|yarn|bun|deno|go|cargo|mvn|mvnw|gradle|gradlew|dotnet|make|just|swift|mix|rake|sbt|lein|zig|bazel|rails)\b"
    r"[^|;&\n]{0,80}?\b(?:tests?|check|verify|spec)\b|\btests?\.(?:py|sh|js)\b|\b(?:run[-_]?)?tests?\b",
    re.IGNORECASE,
)
#: Programs whose arguments may name tests although they do not run any, and the install commands of package managers.
_NOT_RUNNERS = frozenset(
    """
    apt apt-get black brew chmod cp eslint flake8 git ln mkdir mv mypy prettier pylint rm rmdir ruff tee touch
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_INSTALLS = frozenset({"add", "ci", "i", "init", "install", "remove", "uninstall"})
_MANAGERS = frozenset({"bun", "cargo", "gem", "npm", "npx", "pip", "pip3", "pipx", "pnpm", "poetry", "uv", "yarn"})


def settle_runs(claims: list[RunClaim], runs: list[Receipt]) -> None:
    """Check claims of test runs against the commands that ran."""
    for claim in claims:
        matching = [run for run in runs if run.tool == RERUN or _tests_in(run.command, claim.command)]
        if not matching:
            claim.denied = "the receipts contain no test command"
            continue
        ended = [run for run in matching if not run.pending]
        last = (ended or matching)[-1]
        command = " ".join(last.command.split())[:80]
        status = last.exit if last.exit is not None else "unknown"
        if last.pending:
            claim.denied = f"`{command}` ran in the background, and its output was never read"
            continue
        contradicts = (last.failed or last.exit not in (0, None)) if claim.passed else last.exit == 0
        if contradicts and _is_own(last, claim):
            claim.denied = f"`{command}` ended with exit status {status}"


def _tests_in(command: str, stated: str) -> list[int]:
    """Return the positions of the commands in a line that run tests: the stated command, or a test runner."""
    return [index for index, simple in enumerate(simple_commands(command)) if _runs_tests(simple, stated)]


def _runs_tests(simple: ReceiptCommand, stated: str) -> bool:
    words = simple.words
    if not words or simple.shows or simple.program in _NOT_RUNNERS or "--collect-only" in words:
        return False
    if (simple.program in _MANAGERS or words[1:3] == ["-m", "pip"]) and not _INSTALLS.isdisjoint(words[1:4]):
        return False
    bare = " ".join(words)
    named = (" ".join(one.words) for one in simple_commands(stated) if one.words and not one.shows)
    return any(command in bare for command in named) or bool(_RUNNER.search(bare))


def may_write(command: str) -> bool:
    """Return whether a command line does more than read and test."""
    return any(not simple.shows and not _runs_tests(simple, "") for simple in simple_commands(command))


def _is_own(run: Receipt, claim: RunClaim) -> bool:
    """Return whether a command line's exit status is that of its tests and not of a later command."""
    if run.tool == RERUN or run.exit is None:
        return True
    later = simple_commands(run.command)[_tests_in(run.command, claim.command)[-1] + 1 :]
    if run.exit == 0:
        return all(simple.joined == "&&" for simple in later)
    return all(simple.shows or simple.joined.startswith("|") for simple in later)
