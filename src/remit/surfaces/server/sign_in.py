"""Who may use the server: the browser that used its link, and programs that send the token of its environment."""

from __future__ import annotations

import secrets
import time

#: The variable with the token for programs. Without it, only the link signs in.
TOKEN_VARIABLE = "REMIT_SERVER_TOKEN"  # noqa: S105 (a name, not a token)
#: How long the link can be used, and how long a browser stays signed in.
_SECONDS = 12 * 3600


class SignIns:
    """The link that was not used yet, and the sessions of browsers. A restart of the server ends them."""

    def __init__(self, token: str = "") -> None:
        self._token = token
        self._links: dict[str, float] = {}
        self._sessions: dict[str, float] = {}

    def add_link(self) -> str:
        """Return the secret of a link that signs in once."""
        return _add(self._links)

    def begin(self, secret: str, *, is_in_address: bool) -> str | None:
        """Exchange the secret of a link, or the token, for the cookie of a session.

        An address stays in the history of a browser and in logs, so the token `is_in_address` is not accepted.
        """
        is_link = self._links.pop(secret, 0.0) > time.monotonic()
        return _add(self._sessions) if is_link or (not is_in_address and self.is_token(secret)) else None

    def is_token(self, secret: str) -> bool:
        """Return whether a program sent the token."""
        return bool(self._token) and secrets.compare_digest(self._token.encode(), secret.encode("utf-8", "replace"))

    def is_session(self, cookie: str) -> bool:
        """Return whether a cookie is that of a session."""
        return self._sessions.get(cookie, 0.0) > time.monotonic()

    def end(self, cookie: str) -> None:
        """End a session."""
        self._sessions.pop(cookie, None)


def _add(known: dict[str, float]) -> str:
    secret = secrets.token_urlsafe(32)
    known[secret] = time.monotonic() + _SECONDS
    return secret
