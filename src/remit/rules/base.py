"""The base class of all rules, and the data that rules work on.

A rule is one class in one file. Its docstring states the problem and the rationale, its `help` is the sentence
sent back to the subagent, and its examples are edits of a valid document. The validator, the docs page,
`remit rules NAME`, the prompt and the tests all read this one object.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Literal

import msgspec

from remit.contract.findings import Finding, FindingDetail
from remit.contract.kinds import Kind
from remit.contract.nothing_found import has_content, names_a_place, says_nothing_found
from remit.contract.parse import Document
from remit.contract.profiles import PROFILES, Level
from remit.contract.result_data import Result
from remit.contract.tokens import estimate_tokens
from remit.evidence.model import Evidence

#: The input that a rule needs.
Need = Literal["document", "repository", "receipts", "changes"]


class Violation(msgspec.Struct, frozen=True):
    """A violated rule: the line, the problem with its value, and what to do."""

    rule: str
    code: str
    level: Level
    line: int
    message: str
    help: str
    #: The words of the line that are wrong; reports underline them.
    mark: str = ""


class Fault(msgspec.Struct, frozen=True):
    """A problem found by a rule; `checking` adds name, code and level."""

    line: int
    message: str
    mark: str = ""
    level: Level | None = None
    help: str = ""


class Case(msgspec.Struct, frozen=True, dict=True):
    """The input of a rule. Values that several rules need are computed once."""

    document: Document
    kind: Kind
    profile: str
    evidence: Evidence
    scope: tuple[str, ...] = ()
    #: The agent that was asked; empty if the caller does not know.
    agent: str = ""

    @property
    def result(self) -> Result:
        """The result itself."""
        return self.document.result

    @property
    def findings(self) -> list[Finding]:
        """The findings of the result."""
        return self.document.findings

    @property
    def details(self) -> list[FindingDetail]:
        """The entries of Issue Details."""
        return self.document.details

    @cached_property
    def tokens(self) -> int:
        """The estimated number of tokens of the whole result."""
        return estimate_tokens(self.document.text)

    @cached_property
    def found_nothing(self) -> bool:
        """Whether the whole result is that nothing was found: its tables may then be empty or missing."""
        return (
            self.result.status == "SUCCESS"
            and says_nothing_found(self.result.summary)
            and names_a_place(self.result.summary)
            and not self.findings
            and not has_content(self.result.findings)
        )

    @property
    def failed(self) -> bool:
        """Whether the result is FAILED; then the sections of a successful result are not required."""
        return self.result.failed


class Example(msgspec.Struct, frozen=True):
    """A valid document of a kind with replacements, and exactly the rules that it violates."""

    kind: str
    edits: tuple[tuple[str, str], ...] = ()
    expect: tuple[str, ...] = ()
    profile: str = "v2"
    #: The agent's tool calls, by a name in `remit.rules.examples`; empty: there are no receipts.
    receipts: str = ""
    #: The agent that was asked.
    agent: str = ""


class Rule:
    """Base of all rules. `levels` maps a profile to another level, or to None if the rule does not apply there."""

    name: ClassVar[str]
    code: ClassVar[str]
    level: ClassVar[Level]
    since: ClassVar[str] = "0.1"
    help: ClassVar[str]
    #: Rules whose violation disables this one, so that one problem gives one violation.
    requires: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[Need] = "document"
    levels: ClassVar[dict[str, Level | None]] = {}
    #: The line in the answer instructions; None: the rule is not mentioned there.
    prompt: ClassVar[str | None] = None
    #: The kinds that it can refuse; their instructions contain the line. Empty: all.
    kinds: ClassVar[tuple[str, ...]] = ()
    #: Whether the rule applies to the short form of a search.
    in_short_form: ClassVar[bool] = True
    good: ClassVar[tuple[Example, ...]] = ()
    bad: ClassVar[tuple[Example, ...]] = ()

    def check(self, case: Case) -> Iterator[Fault]:
        """Yield a fault for each violation of the rule."""
        raise TypeError(f"{type(self).__name__} does not implement check()")

    @classmethod
    def level_in(cls, profile: str) -> Level | None:
        """Return the rule's level in a profile; None if the rule does not apply there."""
        only = PROFILES[profile].only
        if only is not None and cls.name not in only:
            return None
        return cls.levels.get(profile, cls.level)

    @classmethod
    def level_for(cls, profile: str, kind: Kind) -> Level | None:
        """Return the rule's level for a kind of result in a profile; None if the rule does not apply to it."""
        applies = (not cls.kinds or kind.name in cls.kinds) and (cls.in_short_form or not kind.is_short)
        return cls.level_in(profile) if applies else None

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the docstring."""
        return cls._doc()[0]

    @classmethod
    def rationale(cls) -> str:
        """Return the docstring without its first line."""
        return "\n".join(cls._doc()[1:]).strip()

    @classmethod
    def family(cls) -> str:
        """Return the folder that contains the rule."""
        return cls.__module__.split(".")[-2]

    @classmethod
    def _doc(cls) -> list[str]:
        first, *rest = (cls.__doc__ or "").strip().split("\n")
        return [first, *textwrap.dedent("\n".join(rest)).split("\n")]
