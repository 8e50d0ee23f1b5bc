"""The address of a checkout, without passwords and without paths of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkouts import Repository

from remit.workspace.git import public_address, remote_address

ADDRESS = "https://example.org/o/shop.git"


def test_a_checkout_without_a_remote_has_no_address(repository: Repository, tmp_path: Path) -> None:
    assert remote_address(repository.root) is None
    assert remote_address(tmp_path) is None


def test_origin_comes_before_other_remotes(repository: Repository) -> None:
    repository.git("remote", "add", "fork", "https://example.org/me/shop.git")
    assert remote_address(repository.root) == "https://example.org/me/shop.git"
    repository.git("remote", "add", "a-third", "https://example.org/third/shop.git")
    assert remote_address(repository.root) == "https://example.org/me/shop.git"
    repository.git("remote", "add", "origin", ADDRESS)
    assert remote_address(repository.root) == ADDRESS


@pytest.mark.parametrize(
    ("configured", "expected"),
    [
        ("https://someone:secret@example.org/o/shop.git?token=secret#secret", ADDRESS),
        ("https://secret@example.org/o/shop.git", ADDRESS),
        ("https://someone:12/secret@example.org/o/shop.git", None),
        ("git@example.org:o/shop.git", "ssh://example.org/o/shop.git"),
        ("secret@example.org:/o/shop.git", "ssh://example.org/o/shop.git"),
        ("/home/secret/shop.git", None),
        ("file:///home/secret/shop.git", None),
        ("../secret", None),
        ("ext::sh -c secret", None),
        ("https://example.org/\x1b]0;x\x07 \udcff", "https://example.org/%1B%5D0%3Bx%07%20%3F"),
    ],
)
def test_private_parts_of_an_address_are_removed(repository: Repository, configured: str, expected: str | None) -> None:
    repository.git("config", "remote.origin.url", configured)
    assert remote_address(repository.root) == expected


def test_a_public_address_stays_the_same() -> None:
    for address in (ADDRESS, "ssh://example.org/o/a%20b%25", "https://[::1]:8443/o/~me/shop"):
        assert public_address(address) == address


def test_a_token_that_git_would_put_into_the_address_is_not_read(repository: Repository) -> None:
    repository.git("remote", "add", "origin", ADDRESS)
    repository.git("config", "url.https://someone:secret@example.org/.insteadOf", "https://example.org/")
    assert "secret" in repository.git("remote", "get-url", "origin")
    assert remote_address(repository.root) == ADDRESS
    repository.git("config", "remote.origin.url", "example:o/shop.git")
    repository.git("config", "url.https://secret@example.org/.insteadOf", "example:")
    assert remote_address(repository.root) is None


def test_a_part_of_a_checkout_has_no_address(repository: Repository) -> None:
    repository.git("remote", "add", "origin", ADDRESS)
    inside = repository.write("app/a.py").parent
    assert remote_address(inside) is None


def test_reading_the_address_runs_no_program(repository: Repository, tmp_path: Path) -> None:
    marker, script = tmp_path / "MARKER", tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\necho ran >> '{marker}'\n")
    script.chmod(0o755)
    repository.git("remote", "add", "origin", f"ext::{script}")
    for key in ("core.fsmonitor", "core.sshCommand", "core.pager", "pager.config", "credential.helper"):
        repository.git("config", key, str(script))
    repository.git("config", "alias.config", f"!{script}")
    repository.git("config", "remote.origin.vcs", "ext")
    assert remote_address(repository.root) is None
    assert not marker.exists()
    repository.git("-c", "protocol.ext.allow=always", "ls-remote", f"ext::{script}", ok=False)
    assert marker.exists(), "git itself did not run the script"
