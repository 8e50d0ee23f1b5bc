"""Which variables of the environment a program gets that has no business with keys."""

from __future__ import annotations

import os

from remit.contract.expressions import expression

#: Names of variables that hold a key or something like it.
SECRET_NAME = expression(r"(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|DATABASE_URL|_DSN$")
_PASSWORD_IN_ADDRESS = expression(r"://[^\s/@]*:[^\s/@]+@")


def without_secrets() -> dict[str, str]:
    """This process's environment without our own settings and what looks like a secret by its name or its value."""
    return {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("REMIT_") or SECRET_NAME.search(name) or _PASSWORD_IN_ADDRESS.search(value))
    }
