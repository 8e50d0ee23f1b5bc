"""Remove secrets from what the gate records: reasons, paths, warnings and declarations.

The rules of `remit.secrets` take long to load, so they are loaded only for a text that may contain a secret.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Words that are next to a secret, in lower case.
_WORDS = ("passw", "secret", "token", "api_key", "apikey", "api-key", "credential", "authorization", "bearer", "://")
#: A shorter word without one of them next to it is not a secret.
_LONG = 16
_SEPARATORS = str.maketrans(dict.fromkeys("'\"`=:,;()[]{}<>/\\|&@?", " "))
_HIDDEN = "[redacted]"
#: Loads the rules of `remit.secrets`, which need more than the standard library. Who uses the gate puts it here.
load_rules: list[Callable[[], Callable[[str], str]]] = []


def redacted(text: str) -> str:
    """Return a text without secrets."""
    if not may_contain_secret(text):
        return text
    try:
        return load_rules[0]()(text)
    except (ImportError, IndexError):  # no rules: hide all that may be a secret
        return " ".join(_HIDDEN if may_contain_secret(word) else word for word in text.split(" "))


def may_contain_secret(text: str) -> bool:
    """Return whether the rules for secrets can find anything in a text."""
    lowered = text.lower()
    return any(word in lowered for word in _WORDS) or any(map(_is_suspicious, text.translate(_SEPARATORS).split()))


def _is_suspicious(word: str) -> bool:
    return len(word) >= _LONG and any(map(str.isdigit, word)) and any(map(str.isalpha, word))
