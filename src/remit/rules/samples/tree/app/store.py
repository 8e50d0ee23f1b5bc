"""Users, kept in memory."""

USERS = {}


class User:
    """A person with a name and a password."""

    def __init__(self, name, password):
        self.name = name
        self.password = password


def find_user(name):
    """The user of that name, or None."""
    return USERS.get(name)
