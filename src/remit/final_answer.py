"""Find the claims of a final answer that the checkout or the record of its session shows to be false.

The hooks of clients and Remit's own orchestrator both judge here. No word of the answer excuses a claim, and none
accuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from remit.acceptance import judge_report
from remit.checking import Options
from remit.contract.feedback import neutralize
from remit.contract.kinds import slug
from remit.evidence.claims import explain
from remit.evidence.commands import git_verbs
from remit.evidence.judge_work import WorkJudge
from remit.evidence.model import REFERENCES, Checked
from remit.evidence.receipts import AGENT_TOOLS, Receipt, ReceiptIndex
from remit.evidence.sentences import read_delegations, read_sentences
from remit.evidence.sources import open_workspace
from remit.workspace import git
from remit.workspace.files import SourceFile

#: A longer answer is not checked.
MAX_CHARACTERS = 200_000
_MAX_LISTED = 10
_MAX_SENTENCE = 600
#: Why what is stated of runs and changes was not checked.
NO_RECORD = "what this answer states about runs and changes was not checked: the session has no transcript"


class FalseStatement(NamedTuple):
    """A claim that is false: its sentence, and why it is. `unseen`: of a delegation, which never ran."""

    sentence: str
    why: str
    outcome: str = "contradicted"


class JudgedAnswer(NamedTuple):
    """The false claims of an answer, and why others could not be checked."""

    false: list[FalseStatement]
    unchecked: str = ""


class AnsweredSession(NamedTuple):
    """The session that an answer ends."""

    #: Its calls and those of its subagents, in the order of their time; None without a record.
    calls: Callable[[], list[Receipt] | None]
    #: The agents that it may ask, and those that it did ask, besides those that a call names.
    agents: Iterable[str]
    asked: Iterable[str]
    #: Whether the calls of its subagents are in the record.
    has_subagents: Callable[[], bool]
    #: Whether the output of a call has a name.
    has_printed: Callable[[str], bool]


class FinalAnswer:
    """A final answer, with the record of its session, which is read only if a claim needs it."""

    def __init__(self, answer: str, root: str, session: AnsweredSession) -> None:
        self._answer = answer
        self._root = root
        self._session = session
        self._agents = sorted({name.rpartition(":")[2] for name in session.agents})

    def check(self) -> JudgedAnswer:
        """Return what is false, and whether there is a record for what needs one."""
        statements = read_sentences(self._answer)
        delegations = read_delegations(self._answer, self._agents)
        false = [*self._false_code()]
        unchecked = ""
        if (statements or delegations) and self._record is None:
            unchecked = NO_RECORD
        elif self._record is not None and statements:
            judge = WorkJudge(self._record, has_subagents=self._session.has_subagents())
            checked = [judge.judge(statement) for statement in statements]
            false += [
                FalseStatement(entry.statement.text, entry.why) for entry in checked if entry.outcome == "contradicted"
            ]
        if self._record is not None:
            false += self._false_delegations(delegations)
        clean = [FalseStatement(_one_line(entry.sentence), _one_line(entry.why), entry.outcome) for entry in false]
        return JudgedAnswer(list(dict.fromkeys(clean))[:_MAX_LISTED], unchecked)

    # The record

    @cached_property
    def _receipts(self) -> list[Receipt] | None:
        return self._session.calls()

    @cached_property
    def _record(self) -> ReceiptIndex | None:
        return None if self._receipts is None else ReceiptIndex(self._receipts, self._root, other_roots=self._roots)

    @cached_property
    def _roots(self) -> list[str]:
        return list(dict.fromkeys(call.cwd for call in self._receipts or () if call.cwd))[:1]

    # Code

    def _false_code(self) -> Iterator[FalseStatement]:
        """Yield the locations, names and quotes that are not so."""
        judged = judge_report(self._answer, Options(profile="claims", text="report"), self._root, path="answer.md")
        lines = self._answer.split("\n")
        for verdict in judged.verdicts:
            for checked in verdict.evidence.checked:
                if checked.fails and self._is_false(checked):
                    sentence = lines[checked.at - 1] if 0 < checked.at <= len(lines) else ""
                    why = explain(checked) or "it is not there"
                    yield FalseStatement(
                        sentence.strip() or checked.claim.display_text, f"{checked.claim.display_text}: {why}"
                    )

    def _is_false(self, checked: Checked) -> bool:
        if checked.kind in REFERENCES and checked.outcome == "missing-file":
            return self._is_of_checkout(checked.path)
        if checked.kind in REFERENCES and checked.outcome == "out-of-range":
            return True
        if checked.outcome != "mismatch" or checked.kind not in ("quote", "name"):
            return False
        if checked.kind == "quote":
            return self._receipts is not None and not self._was_there(checked.path, checked.claim.code)
        name = checked.claim.name.partition("|")[0].rpartition(".")[2]
        return not self._was_there(checked.path, name) and not self._is_shown(name)

    def _is_of_checkout(self, path: str) -> bool:
        """Return whether a missing file is one of this checkout, and was never there for the session.

        Its folder is there, or a call that failed named it. What a call read or wrote was there.
        """
        folder = path.rpartition("/")[0]
        if self._record is not None and (path in self._record.touched or self._record.files.written.find(path)):
            return False
        is_known = bool(folder) and Path(self._root, folder).is_dir()
        failed = (call.path for call in self._receipts or () if call.failed and call.path)
        if not is_known and not any(f"/{name}".endswith(f"/{path}") for name in failed):
            return False
        is_deleted = self._record is not None and self._record.files.deleted.find(path) is not None
        return not is_deleted and self._committed(path) is None

    def _was_there(self, path: str, words: str) -> bool:
        """Return whether the session may have replaced what is cited: the last commit or an edit has it."""
        if words in (self._committed(path) or ""):
            return True
        calls = self._receipts or ()
        if any("commit" in git_verbs(call.command) for call in calls if "git" in call.command):
            return True
        name = Path(path).name
        edits = [call for call in calls if call.action == "edit" and Path(call.path or "").name == name]
        if not edits:  # a command that wrote it shows nothing
            return self._record is not None and self._record.files.written.find(path) is not None
        return any(_bare(words) in _bare(value) for call in edits for value in _texts(call.arguments))

    def _is_shown(self, name: str) -> bool:
        """Return whether the output of a call, or an edit of any file, has a name."""
        edited = (value for call in self._receipts or () if call.action == "edit" for value in _texts(call.arguments))
        return any(name in value for value in edited) or self._session.has_printed(name)

    def _committed(self, path: str) -> str | None:
        """Return the text of a file in the last commit; None if that does not have it."""
        if not git.head(self._root):
            return None
        with closing(open_workspace(self._root, "HEAD")) as committed:
            file = committed.read(path)
            return file.text if isinstance(file, SourceFile) else None

    # Delegations

    def _false_delegations(self, stated: list[tuple[str, str]]) -> Iterator[FalseStatement]:
        """Yield the delegations that never ran."""
        calls = [call for call in self._receipts or () if call.tool in AGENT_TOOLS]
        named = [str(call.arguments.get("subagent_type") or "general-purpose") for call in calls]
        asked = {slug(name.rpartition(":")[2]) for name in (*named, *self._session.asked)}
        for sentence, agent in stated:
            if slug(agent) not in asked:
                yield FalseStatement(sentence, f"{agent} was not asked to do anything in this session", "unseen")


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in the arguments of a call."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(part)


def _bare(text: str) -> str:
    return "".join(text.split())


def _one_line(text: str) -> str:
    return neutralize(" ".join(text.split()))[:_MAX_SENTENCE]
