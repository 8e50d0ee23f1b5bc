"""Regular expressions that are compiled at their first use.

There are about two hundred expressions, and the check of one report uses a third of them. Compiling all of them would
take longer than the check.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return an object that behaves like `re.compile(text, flags)`; an invalid expression raises at its first use."""
    return _LazyPattern(text, flags)  # type: ignore[return-value]


def either(*classes: str) -> str:
    """Return an expression for one character of any of these classes: `either(r"\\s*", "：")`.

    One class with more than two ranges, some of them beyond Latin, takes ten times as long to compile as its parts.
    """
    return f"(?:{'|'.join(f'[{characters}]{{1}}' for characters in classes)})"


class _LazyPattern:
    """A stand-in for a compiled expression that keeps each attribute after its first use."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if "_compiled" not in self.__dict__:
            import re  # late: a hook before a call uses no expression, and `re` takes as long to load as the gate

            self.__dict__["_compiled"] = re.compile(self._text, self._flags)
        value = self.__dict__[name] = getattr(self.__dict__["_compiled"], name)
        return value

    def __repr__(self) -> str:
        return f"lazy_pattern({self._text!r}, {self._flags!r})"
