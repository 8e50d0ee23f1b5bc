"""The analyser secret-scan: what it finds, and which files it states that it has not searched."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from remit.dispatch.analyser_table import ANALYSERS
from remit.dispatch.runners import AnalyserOutput, combined_sarif
from remit.secrets.file_scan import is_example, main

KEY = "AKIA" + "IOSFODNN7" + "EXAMPLZ"


def test_secrets_are_reported_and_files_that_are_not_searched_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "conf.ini": f'a = 1\naws_key = "{KEY}"\n'.encode(),
        "README.md": f"`{KEY}`\n".encode(),
        "compose.yml": b"DB_PASSWORD: ${DB_PASSWORD:-postgres}\nSTORAGE_KEY: sk-lf-1234567890\n"
        b"API_TOKEN: zQ81kd93hXw0Tm5b\n",
        "poetry.lock": KEY.encode(),
        "logo.png": b"\x89PNG\0" + KEY.encode(),
        "big.csv": b"a" * 2_000_001,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    main([*files, "gone.txt"])
    printed = capsys.readouterr().out
    output = json.loads(printed)
    assert KEY not in printed
    found = output["runs"][0]["results"]
    assert [(one["message"]["text"].partition(".")[0], one["rank"]) for one in found] == [
        ("An AWS key is in this file", 85.0),
        ("An AWS key is in this file", 30.0),
        ("A named secret is in this file", 30.0),
        ("A named secret is in this file", 30.0),
        ("A named secret is in this file", 85.0),
    ]
    assert found[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    notes = output["runs"][0]["invocations"][0]["toolConfigurationNotifications"]
    assert [note["message"]["text"] for note in notes] == [
        "not searched: a list of dependencies",
        "not searched: it is not text",
        "not searched: it has more than 2,000,000 bytes",
        "not searched: No such file or directory",
    ]
    read = AnalyserOutput(io.BytesIO(printed.encode()), (*files, "gone.txt"))
    unread = combined_sarif(ANALYSERS["secret-scan"], [read], tmp_path).unread
    assert unread == ["big.csv", "gone.txt", "logo.png", "poetry.lock"]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (".env.example", True),
        (".env.dev-azure.example", True),
        ("deploy/.env.sample", True),
        ("config/settings.template.yml", True),
        ("web/fixtures/user.json", True),
        ("src/__tests__/login.ts", True),
        ("docs/setup.md", True),
        (".env", False),
        (".env.production", False),
        ("src/exampled.py", False),
        ("src/settings.py", False),
    ],
)
def test_examples_and_fixtures_have_no_real_keys(path: str, *, is_one: bool) -> None:
    assert is_example(path) is is_one
