"""The recognised forms of secrets, words that are not secrets, and the cost of hostile text."""

from __future__ import annotations

import time

import pytest

from remit.dispatch.models import KEYS
from remit.dispatch.redact import PATTERNS, redact

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


def test_every_pattern_has_a_test() -> None:
    named = " ".join(SECRETS.values())
    assert [name for name in PATTERNS if f"[{name} removed]" not in named] == ["private key"]


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
    ],
)
def test_placeholders_and_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


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


# Long and hostile texts.

HOSTILE = {
    "private key": ["-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA", "-----BEGIN A "],
    "Anthropic key": ["sk-ant-", "sk-ant-aaa "],
    "OpenAI key": ["sk-", "sk-proj-", "sk-a_"],
    "Groq key": ["gsk_", "gsk_a"],
    "xAI key": ["xai-", "xai-a"],
    "GitHub token": ["ghp_", "ghp_a1B2", "github_pat_", "g"],
    "AWS key": ["AKIA", "A", "AKIA0000000000000"],
    "Google key": ["AIza", "AIza-"],
    "Slack token": ["xoxb-", "xox"],
    "JSON web token": ["eyJ-", "eyJ", "eyJaaaaaaaaaa.", "eyJaaaaaaaaaa.eyJaaaaaaaaaa.a ", "a.eyJ", "eyJ" + "a" * 3_000],
    "password in a URL": ["://", "://a:", "://a:{", "://:aaa", ":", "://" + "a" * 90 + ":" + "b" * 190],
}


def test_every_pattern_has_a_hostile_text() -> None:
    assert list(HOSTILE) == list(PATTERNS)


@pytest.mark.parametrize("unit", [unit for units in HOSTILE.values() for unit in units], ids=lambda unit: unit[:30])
def test_hostile_text_takes_about_as_long_as_plain_text(unit: str) -> None:
    """A few steps for each character stay far below the bound; a thousand of them are far above it."""
    size = 400_000
    hostile = unit * (size // len(unit))
    plain = "some plain words of a text, as they come " * (size // 41)
    assert _seconds(hostile) < 40 * _seconds(plain) + 0.15


def _seconds(text: str) -> float:
    """Return the processor time of this thread."""
    began = time.thread_time()
    redact(text)
    return time.thread_time() - began


@pytest.mark.parametrize("before", [*range(60, 75), 40, 99, 100, 101])
def test_a_secret_across_two_chunks_of_a_long_text_is_removed(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.dispatch.redact._PIECE", 100)
    for secret, left in SECRETS.items():
        text = "x" * before + " " + secret + " end " * 60 + secret
        assert redact(text) == "x" * before + " " + left + " end " * 60 + left
    key = "\n".join(PEM)
    assert redact("x" * before + f" {key} end") == "x" * before + " [private key removed] end"
