"""A shop in memory, and a browser that calls it in-process."""

import io
from dataclasses import dataclass
from urllib.parse import urlencode
from wsgiref.util import setup_testing_defaults

import pytest

from shop import auth
from shop.app import Application
from shop.config import Settings
from shop.services import Shop, open_shop


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


class Browser:
    """Keeps the session cookie between calls, as a browser does."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.cookie = ""

    def get(self, path: str, **query: str) -> Answer:
        return self._call("GET", path, query=urlencode(query))

    def post(self, path: str, **form: object) -> Answer:
        return self._call("POST", path, body=urlencode(form).encode())

    def send(self, path: str, body: bytes, signature: str) -> Answer:
        return self._call("POST", path, body=body, signature=signature)

    def _call(self, method, path, query="", body=b"", signature="") -> Answer:
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_COOKIE": self.cookie,
            "HTTP_X_SIGNATURE": signature,
            "wsgi.input": io.BytesIO(body),
        }
        setup_testing_defaults(environ)
        started = []
        chunks = self.application(environ, lambda *head: started.extend(head))
        headers = dict(started[1])
        if "Set-Cookie" in headers:
            self.cookie = headers["Set-Cookie"].partition(";")[0]
        return Answer(int(started[0][:3]), headers, b"".join(chunks).decode())


@pytest.fixture
def shop(monkeypatch) -> Shop:
    # Real password hashing is slow on purpose.
    monkeypatch.setattr(auth, "SCRYPT_COST", 2**4)
    return open_shop(Settings(webhook_key=b"key of the tests"))


@pytest.fixture
def browser(shop: Shop) -> Browser:
    return Browser(Application(shop))


@pytest.fixture
def customer(browser: Browser) -> Browser:
    browser.post("/register", email="ada@example.org", password="correct horse")
    return browser
