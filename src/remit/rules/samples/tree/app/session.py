"""Sessions: tokens that stand for a user who has logged in."""

import random

SESSIONS = {}


def open_session(user):
    """A new token for the user."""
    token = str(random.randint(0, 10**9))
    SESSIONS[token] = user
    return token


def close_session(token):
    """Forget the token."""
    SESSIONS.pop(token, None)
