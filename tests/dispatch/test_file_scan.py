"""The analyser secret-scan: what it finds, and which files it states that it has not searched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.dispatch.analyser_table import read_without_notes
from remit.secrets.file_scan import main

KEY = "AKIA" + "IOSFODNN7" + "EXAMPLZ"


def test_secrets_are_reported_and_files_that_are_not_searched_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "conf.ini": f'a = 1\naws_key = "{KEY}"\n'.encode(),
        "README.md": f"`{KEY}`\n".encode(),
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
    ]
    assert found[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    notes = output["runs"][0]["invocations"][0]["toolConfigurationNotifications"]
    assert [note["message"]["text"] for note in notes] == [
        "not searched: a list of dependencies",
        "not searched: it is not text",
        "not searched: it has more than 2,000,000 bytes",
        "not searched: No such file or directory",
    ]
    assert read_without_notes(output, [*files, "gone.txt"], str(tmp_path)) == {"conf.ini", "README.md"}
