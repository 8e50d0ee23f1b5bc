"""Log a user in."""

from app.session import open_session
from app.store import find_user


def login(name, password):
    """A session token, or None if name and password do not fit."""
    user = find_user(name)
    if user is None:
        return None
    if not check_password(user, password):
        return None
    return open_session(user)


def check_password(user, password):
    """Whether the password is the user's."""
    return user.password == password
