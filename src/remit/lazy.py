"""Regular expressions that are compiled when they are first used.

There are about two hundred, and a check of one report needs a third of them: compiling all would take longer than
the check.
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`; a mistake in the text is met at the first use."""
    return _Expression(text, flags)  # type: ignore[return-value]


class _Expression:
    """Stands for the compiled expression: what is looked up on that is kept here, so it is looked up once."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = self.__dict__.get("_compiled")
        if compiled is None:
            compiled = self.__dict__["_compiled"] = re.compile(self._text, self._flags)
        found = self.__dict__[name] = getattr(compiled, name)
        return found

    def __repr__(self) -> str:
        return f"expression({self._text!r}, {self._flags!r})"


def digest(data: bytes) -> str:
    """The first half of the SHA-256, in hexadecimal."""
    try:
        lean = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:  # a Python that was built without its own
        import hashlib as lean
    return str(lean.sha256(data).hexdigest())[:32]
