"""Find the tables of changed files in a result, and check them against git, a snapshot and the receipts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

from remit.contract.findings import blocks, tables
from remit.contract.headings import column_index
from remit.contract.lines import plain_text
from remit.contract.result_data import Code, Items, Result, Row, Table, Text
from remit.evidence.commands import only_reads, simple_commands
from remit.evidence.find_runs import find_runs
from remit.evidence.grammar import references_in
from remit.evidence.model import ChangeClaim, Outcome
from remit.evidence.read_places import display_path
from remit.evidence.receipts import ReceiptIndex
from remit.lazy import lazy_pattern
from remit.workspace.files import Absent, SourceFile, Workspace, WorkTree
from remit.workspace.git import FileChangeStat, changes
from remit.workspace.snapshot import Snapshot, difference

_ADDED = lazy_pattern(r"\+\s?(\d{1,7})")
_REMOVED = lazy_pattern(r"[-−–]\s?(\d{1,7})")
_PLAIN = lazy_pattern(r"(\d{1,7})")
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
                references = references_in(row.cells[location], self._workspace.exists, bare=True)
                if references:
                    stated = plain_text(row.cells[lines]) if lines is not None else ""
                    yield self._claim(display_path(references[0].path, self._workspace), verb, stated, row, count)

    def _claim(
        self, path: str, verb: str, stated: str, row: Row, count: Callable[[ChangeClaim, SourceFile, str], None]
    ) -> ChangeClaim:
        text = f"{verb}, {stated}" if stated else verb
        claim = ChangeClaim(path=path, claim=text, outcome="unchecked", at=row.line)
        file = self._workspace.read(path)
        if isinstance(file, Absent):
            missing = file.why in ("missing", "dangling", "folder")
            claim.outcome = "missing-file" if missing or file.why == "outside" else "unchecked"
            claim.why = "it is a link to a missing file" if file.why == "dangling" else f"the file is {file.why}"
            return claim
        count(claim, file, stated)
        claim.outcome, claim.why, claim.denied = self._judge(path, verb)
        return claim

    def _judge(self, path: str, verb: str) -> tuple[Outcome, str, bool | None]:
        """Return whether the change happened, by the snapshot, else by the receipts, else by git if it can."""
        if self._snapshot is not None:
            state = difference(self._snapshot, self._workspace, path)
            happened = state == "created" or (state == "modified" and verb == "modified")
            return ("verified", "", False) if happened else ("mismatch", _SNAPSHOT_WHY[state], True)
        if self._receipts is not None and path in self._receipts.edited:
            return "verified", "", False  # before git runs, which takes longer than everything else
        if self._receipts is not None and path in self._receipts.attempted:
            return "unchecked", "a call that was cut off may have written it", None
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


def may_write(command: str) -> bool:
    """Return whether a command line does more than read and test."""
    if only_reads(command):
        return False
    runs = find_runs(command)
    others = [simple for simple in simple_commands(command) if simple.words and not simple.shows]
    return len(others) > len(runs) or any("build" in run.checks and "test" not in run.checks for run in runs)


def summary_contradicts_tests(result: Result) -> int | None:
    """Return the line of the Test Results if they end with failures and the Summary states that all tests pass."""
    claim = _ALL_PASS.search(result.summary) if _names_tests(result.summary) else None
    if claim is None or _EXCEPT.search(_sentence_around(result.summary, claim.start())):
        return None
    for block in blocks(result, "test_results"):
        text = "\n".join(_text_of(part) for part in block.content)
        failures = [match.start() for match in _FAILURES.finditer(text)]
        passes = [match.start() for match in _PASSES.finditer(text)]
        # A later line that only passes is a second run, after the failures were fixed.
        if failures and (not passes or "\n" not in text[failures[-1] : passes[-1]]):
            return block.line
    return None


def _sentence_around(text: str, position: int) -> str:
    start = max(text.rfind(mark, 0, position) for mark in (".", "。", "\n")) + 1
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
