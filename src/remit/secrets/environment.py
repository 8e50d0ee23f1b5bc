"""Names of secrets: variables of the environment that contain one, and words in a search for them.

Without other modules of this package: every hook process loads this one.
"""

from __future__ import annotations

import os

from remit.lazy import lazy_pattern

#: Names of variables that contain a secret.
SECRET_NAME = lazy_pattern(
    r"(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|_PASS$|_PWD$|_PAT$|^PGPASS|DATABASE_URL|_DSN$"
    r"|CONNECTION_STRING|WEBHOOK|^AUTH$|_AUTH$",
)
#: Words in a search for secrets, in lower case; one of the second list is enough.
SEARCH_WORDS = (
    *("passw", "secret", "api_key", "apikey", "api-key", "api[_", "token", "credential", "private key", "akia"),
)
CERTAIN_WORDS = (
    *("akia", "private key", "ghp_", "xox[", "xoxb-", "aws_secret", "sk_live", "sk-ant-", "glpat-", "npm_[", "hf_["),
    *("github_pat_", "aiza", "pypi-ageichlwas5vcmc", "dckr_pat_", "hvs."),
)
_PASSWORD_IN_ADDRESS = lazy_pattern(r"://[^\s/@]*:[^\s/@]+@")
#: A shorter value may be an ordinary word, and so may one without a digit that is not much longer.
_MIN_VALUE = 8
_MIN_WORD = 20
#: The names that were judged before: the environment is searched for every text.
_judged_names: dict[str, bool] = {}
_MAX_JUDGED = 4096
_PATHS = ("/", "~", "./", "../")


def without_secrets() -> dict[str, str]:
    """Return this process's environment without Remit's settings and without what looks like a secret."""
    return {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("REMIT_") or SECRET_NAME.search(name) or _PASSWORD_IN_ADDRESS.search(value))
    }


def own_secrets() -> list[tuple[str, str]]:
    """Return the secrets of this process, longest first: a provider may repeat an invalid key in an error."""
    # Names first: each value that is read has to be decoded.
    pairs = ((name, os.environ.get(name, "").strip()) for name in os.environ if is_secret_name(name))
    return sorted((pair for pair in pairs if _is_distinct(pair[1])), key=lambda pair: -len(pair[1]))


def is_secret_name(name: str) -> bool:
    """Return whether a name stands for a secret."""
    if name not in _judged_names:
        if len(_judged_names) >= _MAX_JUDGED:
            _judged_names.clear()
        _judged_names[name] = SECRET_NAME.search(name) is not None
    return _judged_names[name]


def _is_distinct(value: str) -> bool:
    """Return whether a value cannot be an ordinary word, a number or a path."""
    if len(value) < _MIN_VALUE or value.startswith(_PATHS):
        return False
    return len(value) >= _MIN_WORD or (any(map(str.isdigit, value)) and any(map(str.isalpha, value)))
