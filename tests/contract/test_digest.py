"""What tells one text from another."""

from __future__ import annotations

import hashlib
import sys

import pytest

from remit.lazy import digest

LEAN = "_sha2" if sys.version_info >= (3, 12) else "_sha256"


@pytest.mark.parametrize("is_lean", [True, False])
def test_a_digest_is_the_first_half_of_the_sha_256_on_every_python(
    is_lean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_lean:
        monkeypatch.setitem(sys.modules, LEAN, None)
    assert digest("日本\n".encode()) == hashlib.sha256("日本\n".encode()).hexdigest()[:32]
