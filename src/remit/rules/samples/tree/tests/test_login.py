from app.login import login
from app.store import USERS, User


def test_a_known_user_gets_a_token():
    USERS["ann"] = User("ann", "secret")
    assert login("ann", "secret")


def test_a_wrong_password_gets_nothing():
    USERS["ann"] = User("ann", "secret")
    assert login("ann", "guess") is None
