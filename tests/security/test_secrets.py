"""The recognised kinds of secrets, what is not a secret and stays, and the cost of hostile text."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_kinds import KINDS, made

from remit.dispatch.models import KEYS
from remit.secrets.scan import all_rules, find_secrets, redact
from remit.secrets.secret_kinds import KINDS as OWN
from remit.secrets.secret_kinds import NAMED

BODY = [f"MIIEow{number:02d}" + "Abc+/" * 11 for number in range(20)] + ["Q2xvc2U="]
PEM = ["-----BEGIN RSA PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"]
ENCRYPTED = [PEM[0], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,AABB", "", *PEM[1:]]
PGP = ["-----BEGIN PGP PRIVATE KEY BLOCK-----", "", *BODY, "=aB3d", "-----END PGP PRIVATE KEY BLOCK-----"]
WRITTEN = {
    "plain": lambda number, line: line,
    "Read": lambda number, line: f"{number:6}\t{line}",
    "Grep -A": lambda number, line: f"some/k2.pem{'-' if number else ':'}{number + 1}{'-' if number else ':'}{line}",
    "Grep": lambda number, line: f"my-key.txt:{number + 1}:{line}",
    "diff, removed": lambda number, line: f"-{line}",
    "diff, added": lambda number, line: f"+{line}",
    "in quotes": lambda number, line: f'    "{line}\\n"',
}


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut off"])
@pytest.mark.parametrize("key", [PEM, ENCRYPTED, PGP], ids=["PEM", "encrypted", "PGP"])
@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
def test_a_private_key_is_removed_however_its_lines_are_printed(write, key: list[str], *, whole: bool) -> None:  # type: ignore[no-untyped-def]
    lines = [write(number, line) for number, line in enumerate(key)]
    text = "\n".join(["first words", *(lines if whole else lines[:12]), "last, words."])
    found = redact(text)
    assert "[private key removed]" in found
    assert "MIIEow" not in found
    assert found.startswith("first words")
    assert found.endswith("last, words.")


def test_a_private_key_on_one_line_is_removed() -> None:
    text = '{"private_key": "' + "\\n".join(PEM) + '\\n", "type": "account"}'
    assert redact(text) == '{"private_key": "[private key removed]\\n", "type": "account"}'
    cut = '{"private_key": "' + "\\n".join(PEM[:9]) + "\nnext line"
    assert redact(cut) == '{"private_key": "[private key removed]\nnext line'


def test_text_after_the_first_line_of_a_key_stays_if_it_is_not_a_key() -> None:
    text = 'if "-----BEGIN PRIVATE KEY-----" in text:\n    return refuse(text)\n' + "so it goes on\n" * 50
    assert redact(text) == text.replace("-----BEGIN PRIVATE KEY-----", "[private key removed]")


SECRETS = {
    "redis://:s3cretpassw0rd@host:6379/0": "redis://[password in a URL removed]@host:6379/0",
    "postgres://u:hunter22@h/db": "postgres://[password in a URL removed]@h/db",
    "AIzaSyA-1234567890abcdefghijklmnopqrst-": "[Google key removed]",
    "gsk_" + "aB3d" * 13: "[Groq key removed]",
    "xai-" + "aB3d" * 20: "[xAI key removed]",
    "sk-" + "abcdefgh" * 6: "[OpenAI key removed]",
    "sk-proj-" + "aB3_d-" * 20: "[OpenAI key removed]",
    "sk-ant-api03-" + "aB3_" * 20: "[Anthropic key removed]",
    "ASIAIOSFODNN7EXAMPLE": "[AWS key removed]",
    "github_pat_" + "aB3_" * 15: "[GitHub token removed]",
    "xoxp-1234567890-abcdefghij": "[Slack token removed]",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N": "[JSON web token removed]",
}


@pytest.mark.parametrize(("secret", "left"), SECRETS.items(), ids=list(SECRETS.values()))
@pytest.mark.parametrize("around", ["{}", '"{}"', "-{}", "+{}", "file-12-{}", "key={} and more", "\t{}\n"])
def test_a_secret_is_removed_in_any_context(secret: str, left: str, around: str) -> None:
    assert redact(around.replace("{}", secret)) == around.replace("{}", left)


@pytest.mark.parametrize("text", ["password = ').abcS3cr3tXYZ9'", 'PASSWORD="].Abc123xyzQ"'])
def test_a_password_that_begins_like_code_is_removed(text: str) -> None:
    assert redact(text).endswith(("'[named secret removed]'", '"[named secret removed]"'))


@pytest.mark.parametrize(
    "text",
    [
        'dsn = f"postgresql://{user}:{password}@{host}/{db}"',
        'url = "https://${USER}:${TOKEN}@github.com"',
        "https://$USER:$TOKEN@github.com",
        "https://<user>:<password>@host",
        '"postgresql://%s:%s@%s" % three',
        '"postgresql://%(user)s:%(password)s@%(host)s" % named',
        "postgresql://remit:***@host",
        ".sk-toggleable__label-arrow-container-wide {",
        "http://localhost:8080/@x",
        "see http://example.com: write to a@example.com",
        "task-aB3daB3daB3daB3daB3daB3daB3daB3daB3d",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "password = get_password()",
        "password: str = ''",
        "self.password = password",
        "'auth' => \\LOG_AUTH,",
        "'password' => \\App\\Config::DB_PASS,",
        "token = request.headers['X-Token']",
        "PASSWORD=$(cat /run/secrets/db)",
        "DB_PASSWORD=${DB_PASSWORD}",
        "password: <your password>",
        'password = "changeme"',
        'help="The password: a text of at least 8 characters"',
        "if token == 'abc1234567':",
        "api_key: Optional[str] = None",
        "secret_key = os.environ['SECRET_KEY']",
        "tokens: 1234567",
        "max_tokens=100000",
        "tokenizer = 'gpt2-medium-v1'",
        "compass: north4north4",
        "primary_key=true1234",
        "cache-key: node-20-9f86d081884c7d65",
        "class Token:\n    __slots__ = ('name',)",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "headers['Authorization'] = f'Bearer {token}'",
        "token: int64",
        'found = text.partition("PWD=")[2].partition("end")',
        "src/auth.py:12:5: error: E501",
        "machine learning login and password",
        "login / password are required",
        "docker run -p 8080:80 mysql",
        "mysql -P 3306 -u root shop",
    ],
)
def test_placeholders_and_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "PWD=/home/me",
        "OLDPWD=/home/me",
        "HOME=/home/me PWD=/home/me/shop OLDPWD=/var/log/nginx LANG=C",
        "PWD=~/src make -C sub",
        "PWD=C:\\Users\\me\\shop",
        "docker run -e PWD=/app -v $PWD:/app shop",
        "PWD=/home/me; export DATABASE=shop",
        "cd /tmp; PWD=/tmp/a1; ls",
        "Server=db;UID=sa;PWD=${DB_PWD}",
        "user=req.user;password=body;next()",
        "server=a.b;password=request.password;next()",
    ],
)
def test_the_current_folder_is_not_a_password(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("UID=sa;PWD=secret", "secret"),
        ("Server=db;UID=sa;PWD=hunter2!;", "hunter2!"),
        ("Pwd=tiger;Uid=sa;", "tiger"),
        ("Data Source=db;User Id=sa;Password=tiger;", "tiger"),
        ("Driver={ODBC};Server=db;PWD=/x/y;", "/x/y"),
        ('connect("Server=db;UID=sa;PWD=tiger")', "tiger"),
        ("PWD=hunter2!", "hunter2!"),
        ("PWD=/9x!kQ2", "/9x!kQ2"),
        ("DB_PWD=/abc/Def1", "/abc/Def1"),
    ],
)
def test_the_password_of_a_connection_is_removed(text: str, secret: str) -> None:
    assert redact(text) == text.replace(secret, "[named secret removed]")


# Keys of this process.


@pytest.mark.parametrize("variable", [variable for names in KEYS.values() for variable in names])
def test_a_key_of_this_process_is_removed_in_any_form(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "no form 4242\n")
    assert redact("Incorrect key: no form 4242.") == f"Incorrect key: [{variable} removed]."


def test_a_short_value_of_a_key_variable_is_not_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in KEYS.values():
        for variable in names:
            monkeypatch.setenv(variable, "a word")
    assert redact("this is a word") == "this is a word"


# The kinds by name.


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("around", ["{}", "line before\n{}\nline after", "    12\t{}", "+{}"])
def test_a_kind_of_secret_is_removed(name: str, around: str) -> None:
    if name == ".pgpass" and around[0] != "{" and around[0] != "l":
        pytest.skip("a line of .pgpass begins with the host")
    text, secret = made(KINDS[name])
    found = redact(around.replace("{}", text))
    assert "removed]" in found
    assert not [secret[at : at + 8] for at in range(len(secret) // 2, len(secret) - 7) if secret[at : at + 8] in found]


def test_there_are_more_than_a_hundred_kinds_and_nearly_all_are_removed_with_any_characters() -> None:
    missed = [
        (name, seed)
        for seed in map(str, range(20))
        for name, (text, secret) in ((name, made(template, seed)) for name, template in KINDS.items())
        if secret[len(secret) // 2 :] in redact(text)
    ]
    assert len(KINDS) >= 200
    assert len(missed) <= len(KINDS) * 20 * 0.01, missed


def test_redaction_changes_nothing_when_it_is_repeated() -> None:
    text = redact("\n".join(made(template)[0] for template in KINDS.values()))
    assert redact(text) == text


# What stays.

_SOURCE = random.Random(7)
_BYTES = [_SOURCE.randbytes(64) for _ in range(400)]
HARMLESS = {
    "commits": "\n".join(f"{hashlib.sha1(one).hexdigest()} Fix the token of the cart" for one in _BYTES),
    "short commits": "\n".join(f"{one.hex()[:12]} (HEAD -> main) key" for one in _BYTES),
    "identifiers": "\n".join(str(uuid.UUID(bytes=one[:16])) for one in _BYTES),
    "identifiers of objects": json.dumps([{"id": str(uuid.UUID(bytes=one[:16])), "key": 7} for one in _BYTES]),
    "package-lock.json": "\n".join(
        f'"node_modules/a{number}": {{"integrity": "sha512-{base64.b64encode(one).decode()}"}},'
        for number, one in enumerate(_BYTES)
    ),
    "requirements": "\n".join(f"    --hash=sha256:{one[:32].hex()} \\" for one in _BYTES),
    "poetry.lock": "\n".join(f'{{file = "a.whl", hash = "sha256:{one[:32].hex()}"}},' for one in _BYTES),
    "Cargo.lock": "\n".join(f'checksum = "{one[:32].hex()}"' for one in _BYTES),
    "go.sum": "\n".join(f"golang.org/x/net v0.1.0 h1:{base64.b64encode(one[:32]).decode()}" for one in _BYTES),
    "yarn.lock": "\n".join(f'  resolved "https://r.example.org/a.tgz#{one[:20].hex()}"' for one in _BYTES),
    "images": "\n".join(
        f'<img src="data:image/png;base64,{base64.b64encode(one * 40).decode()}">' for one in _BYTES[:40]
    ),
    "fonts": "src: url(data:font/woff2;base64," + base64.b64encode(b"".join(_BYTES)).decode() + ")",
    "digests of images": "\n".join(f"image: shop/api@sha256:{one[:32].hex()}" for one in _BYTES),
    "git objects": "\n".join(f"index {one.hex()[:7]}..{one.hex()[7:14]} 100644" for one in _BYTES),
    "a certificate": "-----BEGIN CERTIFICATE-----\n"
    + "\n".join(base64.b64encode(one[:48]).decode() for one in _BYTES)
    + "\n-----END CERTIFICATE-----",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_random_characters_that_are_not_secret_stay(name: str) -> None:
    assert redact(HARMLESS[name]) == HARMLESS[name]


def test_the_source_of_this_package_stays_as_it_is() -> None:
    package = Path(__file__).parents[2] / "src/remit"
    files = [*package.rglob("*.py"), *package.rglob("*.md"), *package.rglob("*.sql")]
    changed = [str(file) for file in files if redact(text := file.read_text("utf-8")) != text]
    assert not [file for file in changed if "/secrets/" not in file]


# Long and hostile texts.

HOSTILE = [
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA", "-----BEGIN A "),
    *(
        "sk-ant-",
        "sk-ant-aaa ",
        "sk-",
        "sk-proj-",
        "sk-a_",
        "gsk_",
        "gsk_a",
        "xai-",
        "xai-a",
        "AKIA",
        "AKIA0000000000000",
    ),
    *("ghp_", "ghp_a1B2", "github_pat_", "g", "A", "AIza", "AIza-", "xoxb-", "xox", "eyJ-", "eyJ", "eyJaaaaaaaaaa."),
    *("eyJaaaaaaaaaa.eyJaaaaaaaaaa.a ", "a.eyJ", "eyJ" + "a" * 3_000, "://", "://a:", "://a:{", "://:aaa", ":"),
    *("://" + "a" * 90 + ":" + "b" * 190, "password", "password=", "password = ", 'password="', "token:token:", "key"),
    *(
        "authorization: ",
        "authorization: bearer ",
        "bearer ",
        "bearer a",
        "cookie: a=",
        "login a ",
        "login a password ",
    ),
    *(
        "a:5432:b:c:",
        "curl -u ",
        "curl -u a:",
        "mysql -u ",
        "--token ",
        "MAAAAAAAAAAAAAAAAAAAAAAAA.",
        "Private-Lines: 1\n",
    ),
    *("AccountKey=", "sig=", "$6$", "$6$aaaaaaaaaaaaaaaaaa", "adobe", "adobe = ", "xapp-1-A-", "xoxo-1-1-"),
    "".join(keyword for rule in all_rules() for keyword in rule.keywords),
    " = ".join(keyword for rule in all_rules() for keyword in rule.keywords),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE, ids=lambda unit: unit[:30])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    """Twice the text takes about twice the time, and no text takes more than a few microseconds for each character."""
    size = 80_000
    hostile = (unit * (size // len(unit) + 1))[:size]
    assert _seconds(hostile) < 3.2
    assert _seconds(hostile) < 3.5 * _seconds(hostile[: size // 2]) + 0.2


class CountingPattern:
    """A pattern that counts its searches and the characters that they pass."""

    def __init__(self, pattern: Any, counted: Counter[str]) -> None:
        self._pattern = pattern
        self._counted = counted

    def _count(self, found: Any, start: int, end: int) -> Any:
        self._counted["searches"] += 1
        self._counted["characters"] += (found.end() if found else end) - start
        return found

    def search(self, text: str, start: int, end: int) -> Any:
        return self._count(self._pattern.search(text, start, end), start, min(end, len(text)))

    def match(self, text: str, start: int, end: int) -> Any:
        return self._count(self._pattern.match(text, start, end), start, start)


@pytest.mark.parametrize("unit", ["token = 'aB3daB3daB3d9x'\n", "def password(self): return key\n", "AKIA nothing\n"])
def test_ten_times_the_text_is_searched_ten_times_as_much(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Counter[str] = Counter()
    for rule in all_rules():
        monkeypatch.setattr(rule, "pattern", CountingPattern(rule.pattern, counted))
    needed = []
    for size in (50, 500):
        counted.clear()
        redact(unit * size)
        needed.append(dict(counted))
    few, many = needed
    assert 0 < many["searches"] <= 11 * few["searches"]
    assert many["characters"] <= 11 * few["characters"]


def _seconds(text: str) -> float:
    """Return the processor time of this thread, the least of three: a host that is busy adds to it."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        redact(text)
        times.append(time.thread_time() - began)
    return min(times)


@given(st.text(max_size=400))
def test_any_text_can_be_redacted(text: str) -> None:
    assert redact(redact(text)) == redact(text)


NAMES = (
    *("pass", "PASSWORD", "db_pwd", "client-secret", "secret_access_key_base", "auth_token", "token_secret", "JWT-KEY"),
    *("subscription_key", "xsubscription-KEY_12", "credentials", "_auth", "monkey", "subscription_key12']  \t \t \t"),
)
BETWEEN = ("=", ": ", " => ", ":=", "==", "::", '"]  = ', "_12=", " \t= ", "\n=", "")
VALUES = ("'hunter2hunter2'", "aB3daB3daB3d", '"aB3daB3d', "`4242 4242`", "b'x9x9x9x9'", "get()", "")


@pytest.mark.parametrize("name", NAMES)
def test_only_places_near_a_keyword_are_tried_and_no_named_value_is_missed(name: str) -> None:
    for between, value, before in itertools.product(BETWEEN, VALUES, ("", "my", "x.", "a b ", "encryption-")):
        text = f"{before}{name}{between}{value} and {name}{between}{value}"
        near = {(start, end) for start, rank, end, _ in find_secrets(text) if rank == len(all_rules()) - 1}
        found, start = set(), 0
        while match := NAMED[0].pattern.search(text, start):
            span = NAMED[0].judge(match)
            start = span[1] if span else match.end()
            found |= {span} if span else set()
        assert near == found


def test_a_text_whose_lower_case_is_longer_keeps_its_positions() -> None:
    text, secret = made(KINDS["GitHub token"])
    assert redact("İİİ " * 50 + text) == "İİİ " * 50 + "[GitHub token removed]"
    assert secret not in redact("İ" * 500 + f" PASSWORD={secret}")


def test_every_rule_of_ours_has_a_kind_in_the_list() -> None:
    texts = [made(template)[0] for template in KINDS.values()] + [*SECRETS, "\n".join(PEM)]
    unused = [
        rule.name
        for rule in OWN
        if not any(rule.judge(found) for text in texts for found in rule.pattern.finditer(text))
    ]
    assert unused == []


#: Ways to write a token so that people see it whole.
SPLIT = {
    "a colour": lambda token: f"{token[:5]}\x1b[31m{token[5:]}",
    "an empty change of colours": lambda token: f"{token[: len(token) // 2]}\x1b[1m\x1b[0m{token[len(token) // 2 :]}",
    "NUL after each character": "\0".join,
    "characters without a shape": "\u200b".join,
    "a link": lambda token: f"{token[:9]}\x1b]8;;https://example.org\x07{token[9:]}\x1b]8;;\x07",
}


@pytest.mark.parametrize("split", SPLIT.values(), ids=SPLIT)
def test_a_token_that_is_split_is_removed_whole(split: Any) -> None:
    tokens = {name: template for name, template in KINDS.items() if "⟦" not in template}
    assert len(tokens) >= 100
    missed = []
    for name, template in tokens.items():
        _, token = made(template)
        found = redact(f"first {split(token)} last")
        if not found.startswith("first [") or token[:9] in found or token[9:] in found:
            missed.append((name, found))
    assert not missed


def test_text_with_escape_sequences_and_without_secrets_stays() -> None:
    text = "\x1b[31mred\x1b[0m\0 and " * 1_000
    assert redact(text) == text


@pytest.mark.parametrize("name", ["URL password with an at sign", "URL password with at sign and colon"])
def test_every_part_of_a_password_in_an_address_is_removed(name: str) -> None:
    text, secret = made(KINDS[name])
    found = redact(text)
    assert not any(part in found for part in secret.replace(":", "@").split("@"))


@pytest.mark.parametrize("piece", ["\x1b[31m", "\x1b[", "\x1b]", "\0", "://a:b@", "MIIEpAIBAAK" + "A" * 30 + "\n"])
def test_hostile_text_is_searched_in_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        redact(piece * count)
        return time.process_time() - start

    small = max(0.02, min(seconds(5_000) for _ in range(2)))
    assert seconds(40_000) < 8 * 4 * small
