"""Regular expressions that are compiled at their first use, and a digest without `hashlib`.

There are about two hundred expressions, and the check of one report uses a third of them. Compiling all of them, or
loading `hashlib`, would take longer than the check.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return an object that behaves like `re.compile(text, flags)`; an invalid expression raises at its first use."""
    return _LazyPattern(text, flags)  # type: ignore[return-value]


class _LazyPattern:
    """A stand-in for a compiled expression that keeps each attribute after its first use."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = self.__dict__.get("_compiled")
        if compiled is None:
            import re  # late: it takes longer to load than a hook runs

            compiled = self.__dict__["_compiled"] = re.compile(self._text, self._flags)
        found = self.__dict__[name] = getattr(compiled, name)
        return found

    def __repr__(self) -> str:
        return f"lazy_pattern({self._text!r}, {self._flags!r})"


def digest(data: bytes) -> str:
    """Return the first half of the SHA-256 digest, in hexadecimal."""
    _lean_bytes[0] -= len(data)
    if _lean_bytes[0] < 0:
        from hashlib import sha256
    else:
        sha256 = _lean_sha256()
    return str(sha256(data).hexdigest())[:32]


#: The bytes until `hashlib` is loaded, which takes as long as their slow digest and is seven times as fast.
_lean_bytes = [500_000]


def _lean_sha256() -> Any:
    try:
        return __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:  # a Python that was built with OpenSSL's digests only
        import hashlib

        return hashlib.sha256
