"""The entries of a session's state: records with typed fields, which are stored as objects of JSON."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self

    #: The types of a field's value, among them perhaps a class of entries, and the field of its elements.
    Field = tuple[tuple[type, ...], type["StateEntry"] | None, "Field | None"]

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    "None": (type(None),),
}
_WRONG = object()


class StateEntry:
    """A stored record. The annotations of a class are its fields, and the values there are their defaults.

    A list, a table or an entry without a default is empty at first. Only values that were set are stored.
    """

    _fields: ClassVar[dict[str, Field]] = {}
    _empty: ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls) -> None:
        cls._fields = {**cls._fields, **{name: _field(text) for name, text in cls.__annotations__.items()}}
        cls._empty = {name: field[0][0] for name, field in cls._fields.items() if not hasattr(cls, name)}
        _TYPES[cls.__name__] = (cls,)

    def __init__(self, **values: Any) -> None:
        if not values.keys() <= self._fields.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(values.keys() - self._fields.keys())}")
        for name, make in self._empty.items():
            if name not in values:
                self.__dict__[name] = make()
        self.__dict__.update(values)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Return an entry from its stored values. A value of another type, also in a list or table, is left out."""
        entry, fields = cls.__new__(cls), cls._fields
        known = [(name, value) for name, value in values.items() if name in fields] if isinstance(values, dict) else []
        checked = {name: kept for name, value in known if (kept := _checked(value, fields[name])) is not _WRONG}
        StateEntry.__init__(entry, **checked)
        return entry

    def copy(self, **changed: Any) -> Self:
        """Return a copy with some other values."""
        return self.from_dict({**vars(self), **changed})


def _field(text: str) -> Field:
    """Return a field from its annotation, such as `dict[str, int] | None`."""
    types: tuple[type, ...] = ()
    element: Field | None = None
    for choice in text.split(" | "):
        name, _, inner = choice.partition("[")
        types += _TYPES[name]
        if inner:
            element = _field(inner[:-1].removeprefix("str, "))
    return types, types[0] if issubclass(types[0], StateEntry) else None, element


def _checked(value: Any, field: Field) -> Any:
    types, entry, element = field
    if type(value) not in types:
        return entry.from_dict(value) if entry is not None and type(value) is dict else _WRONG
    if element is None or value is None:
        return value if type(value) is not float or value - value == 0 else _WRONG  # JSON has no infinite numbers
    if type(value) is dict:
        return {key: kept for key, item in value.items() if (kept := _checked(item, element)) is not _WRONG}
    return [kept for item in value if (kept := _checked(item, element)) is not _WRONG]


class UntrueCount(StateEntry):
    """How many untrue statements one answer or report made: when it was sent back, and when it was delivered."""

    at: float = 0.0
    sent_back: int = 0
    #: Those that reached the reader in spite of that.
    passed: int = 0
    #: The first of them.
    example: str = ""

    @property
    def stopped(self) -> int:
        """The statements that did not reach their reader."""
        return max(0, self.sent_back - self.passed)


class Window(StateEntry):
    """What was read directly since the window opened: files, each with its lines."""

    why: str = "session"
    opened: float = 0.0
    #: Why no more may be read; empty while the window is open.
    closed: str = ""
    files: dict[str, int]
    verified: list[str]
    presented: int = 0

    @property
    def lines(self) -> int:
        """The number of lines read in this window."""
        return sum(self.files.values())

    def add(self, path: str, lines: int) -> None:
        """Count a read."""
        self.files[path] = self.files.get(path, 0) + lines

    def subtract(self, path: str, lines: int, *, whole: bool) -> None:
        """Subtract lines from a counted read. With `whole`, forget a file of which no line is left."""
        if path in self.files:
            self.files[path] = max(0, self.files[path] - lines)
            if whole and not self.files[path]:
                del self.files[path]

    def exceeded_limit(self, path: str, lines: int, limits: dict[str, int]) -> tuple[str, str] | None:
        """Return the rule that this read would break and the reason, or None."""
        if self.closed:
            return "lookup-time", f"{self.closed}; no direct reads until the next prompt, phase or accepted delegation"
        if path not in self.files and len(self.files) >= limits["files"]:
            return "lookup-files", f"{len(self.files)} files were already read directly (limit: {limits['files']})"
        of_file = self.files.get(path, 0) + lines
        if of_file > limits["lines"]:
            again = ", repeated reads included" if path in self.files else ""
            return "lookup-lines", f"{of_file} lines of one file{again} (limit: {limits['lines']})"
        if self.lines + lines > limits["total"]:
            return "lookup-total", f"{self.lines + lines} lines in total (limit: {limits['total']})"
        return None


class UntrueStatement(StateEntry):
    """A statement of an answer that the record contradicts, or of which it has nothing (`unseen`), without secrets."""

    text: str = ""
    proof: str = ""
    outcome: str = "contradicted"


class DecisionEntry(StateEntry):
    """A decision on a call, without content of the call; on a final answer, with its untrue statements."""

    at: float = 0.0
    tool: str = ""
    agent: str = ""
    decision: str = ""
    rule: str | None = None
    reason: str = ""
    paths: list[str]
    lines: int = 0
    exception: str | None = None
    delegate_to: str | None = None
    id: str = ""
    statements: list[UntrueStatement] | None = None


class Declaration(StateEntry):
    """What a person allowed: the kind, the files and the reason."""

    kind: str = ""
    paths: list[str]
    why: str = ""
    at: float = 0.0


class ExceptionUse(StateEntry):
    """The use of an exception, with its cost in tokens and that of a delegation instead."""

    kind: str = ""
    paths: list[str]
    cost: int = 0
    instead: int | None = None
    at: float = 0.0


class Grant(StateEntry):
    """What a call was granted until it is settled: reads with their lines, or an edit with its changed lines."""

    kind: str = ""
    paths: dict[str, int]
    #: The digest of the text after the edit.
    after: str = ""
    at: float = 0.0


class ChangeEntry(StateEntry):
    """A change without permission, or one that a person may want to revert."""

    id: str = ""
    at: float = 0.0
    paths: list[str]
    #: The change times of these files, by which another call recognises the same change.
    seen: list[str]
    #: "" until a person has accepted or reverted it.
    decided: str = ""
    #: Whether more files changed than are named.
    more: bool = False
    #: The name and the digest of the patch that reverts exactly this change, and the command that applies it.
    patch: str = ""
    digest: str = ""
    command: str = ""


class Writer(StateEntry):
    """A call of the orchestrator that may write."""

    id: str = ""
    at: float = 0.0
    #: 0 while the call runs.
    end: float = 0.0
    #: The files that it may write.
    paths: list[str]
    #: The patch of the gate that it applies.
    revert: str = ""
    #: Whether its command line was not understood.
    opaque: bool = False
    #: Whether git checks out another commit, a package manager or a program that makes environments runs, or a person
    #: allowed a change of what Remit installed.
    git: bool = False
    locks: bool = False
    environment: bool = False
    remit: bool = False
