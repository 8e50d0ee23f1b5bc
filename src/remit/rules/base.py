"""What a rule is.

A rule is one class in one file. Its docstring says what is wrong and why it matters, its `help` is the
sentence sent back to the subagent, its examples are edits of a faultless document. The validator, the
docs page, `remit rules NAME`, the prompt and the tests all read this one object.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Literal

import msgspec

from remit.contract.findings import Finding, FindingDetail
from remit.contract.kinds import Kind
from remit.contract.model import Result
from remit.contract.parse import Document
from remit.contract.profiles import Level
from remit.contract.tokens import estimate_tokens
from remit.evidence.model import Evidence

#: What a rule must be given beside the document.
Need = Literal["document", "repository", "receipts", "runs", "changes"]


class Violation(msgspec.Struct, frozen=True):
    """A broken rule: where, what with the value, and what to do."""

    rule: str
    code: str
    level: Level
    line: int
    message: str
    help: str
    #: The words of the line that are at fault, for the mark under them.
    mark: str = ""


class Fault(msgspec.Struct, frozen=True):
    """What a rule's check yields; the engine adds name, code and level."""

    line: int
    message: str
    mark: str = ""
    level: Level | None = None
    help: str = ""


class Case(msgspec.Struct, frozen=True, dict=True):
    """Everything a rule may look at. What several rules need is worked out once."""

    document: Document
    kind: Kind
    profile: str
    evidence: Evidence
    scope: tuple[str, ...] = ()

    @property
    def result(self) -> Result:
        """The result itself."""
        return self.document.result

    @property
    def findings(self) -> list[Finding]:
        """What the result says of the code."""
        return self.document.findings

    @property
    def details(self) -> list[FindingDetail]:
        """The entries of Issue Details."""
        return self.document.details

    @cached_property
    def tokens(self) -> int:
        """About how many tokens the whole result has."""
        return estimate_tokens(self.document.text)

    @property
    def failed(self) -> bool:
        """Whether the result says FAILED; then it need not hold what only success brings."""
        return self.result.failed


class Example(msgspec.Struct, frozen=True):
    """A faultless document of a kind with some replacements made, and exactly what all rules say of it."""

    kind: str
    edits: tuple[tuple[str, str], ...] = ()
    expect: tuple[str, ...] = ()
    profile: str = "v2"
    #: What the agent did, by a name in `remit.rules.examples`; empty: it is not known.
    receipts: str = ""


class Rule:
    """Base of all rules. `levels` gives another level, or None for "does not apply", by profile."""

    name: ClassVar[str]
    code: ClassVar[str]
    level: ClassVar[Level]
    since: ClassVar[str] = "0.1"
    help: ClassVar[str]
    #: Rules whose violation makes this one meaningless: one fault gives one violation.
    requires: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[Need] = "document"
    levels: ClassVar[dict[str, Level | None]] = {}
    #: Written into the prompt; None: not worth the words.
    prompt: ClassVar[str | None] = None
    good: ClassVar[tuple[Example, ...]] = ()
    bad: ClassVar[tuple[Example, ...]] = ()

    def check(self, case: Case) -> Iterator[Fault]:
        """Yield a fault for each place where the rule is broken."""
        raise TypeError(f"{type(self).__name__} does not say how it checks")

    @classmethod
    def level_in(cls, profile: str) -> Level | None:
        """The rule's level in a profile; None if the profile does not ask for it."""
        return cls.levels.get(profile, cls.level)

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return cls._doc()[0]

    @classmethod
    def why(cls) -> str:
        """The rest of the docstring."""
        return "\n".join(cls._doc()[1:]).strip()

    @classmethod
    def family(cls) -> str:
        """The folder the rule lives in."""
        return cls.__module__.split(".")[-2]

    @classmethod
    def _doc(cls) -> list[str]:
        import inspect  # late: only documentation needs it, and it is slow to load

        return inspect.cleandoc(cls.__doc__ or "").split("\n")
