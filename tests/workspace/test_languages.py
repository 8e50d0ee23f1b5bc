"""The language of a file, by its name or the first line of a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.workspace.languages import language_of, languages_of


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "Python"),
        ("web/App.TSX", "TypeScript"),
        ("Dockerfile.dev", "Dockerfile"),
        ("x/Makefile", "Make"),
        ("notes", "other"),
        (".env", "other"),
    ],
)
def test_the_name_of_a_file_shows_its_language(path: str, language: str) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"#!/bin/sh\nset -e\n", "Shell"),
        (b"#! /usr/bin/env bash\n", "Shell"),
        (b"#!/usr/bin/env -S python3.12 -I\n", "Python"),
        (b"#!/usr/local/bin/node\n", "JavaScript"),
        (b"#!/bin/sh", "Shell"),
        (b"#!/usr/bin/shiny\n", "other"),
        (b"# /bin/sh\n", "other"),
        (b"", "other"),
        (b"\x7fELF\0", "other"),
        (b"#!" + b"/x" * 1_000_000, "other"),
    ],
)
def test_the_first_line_of_a_script_without_an_ending_shows_its_language(
    tmp_path: Path, head: bytes, language: str
) -> None:
    (tmp_path / "run").write_bytes(head)
    assert languages_of(tmp_path, ["run", "gone", "a.js"]) == {"run": language, "gone": "other", "a.js": "JavaScript"}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "link").symlink_to("run.sh")
    assert languages_of(tmp_path, ["link"]) == {"link": "other"}
