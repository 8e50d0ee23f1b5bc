"""Lazy patterns behave like compiled ones, and the digest does not depend on the Python version."""

from __future__ import annotations

import copy
import hashlib
import importlib
import pickle
import pkgutil
import re
import sys
from collections.abc import Iterator

import pytest

import remit
from remit import lazy
from remit.lazy import digest, lazy_pattern

SHA_MODULE = "_sha2" if sys.version_info >= (3, 12) else "_sha256"


def patterns_of_the_package() -> Iterator[tuple[str, object]]:
    for found in pkgutil.walk_packages(remit.__path__, "remit."):
        if found.name.split(".")[1] in ("contract", "evidence", "rules", "workspace"):
            for name, value in vars(importlib.import_module(found.name)).items():
                many = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
                yield from ((f"{found.name}.{name}", one) for one in many if type(one) is lazy._LazyPattern)


def test_every_pattern_of_the_package_compiles() -> None:
    found = list(patterns_of_the_package())
    assert len(found) > 150
    for name, one in found:
        assert isinstance(re.compile(one._text, one._flags), re.Pattern), name  # type: ignore[attr-defined]


def test_a_lazy_pattern_behaves_like_a_compiled_one() -> None:
    one, same = lazy_pattern(r"(?P<word>a+)b", re.IGNORECASE), re.compile(r"(?P<word>a+)b", re.IGNORECASE)
    for _ in range(2):
        found = one.match("AAb")
        assert found is not None
        assert found["word"] == "AA"
        assert one.sub("x", "aab ab") == same.sub("x", "aab ab")
        assert (one.pattern, one.flags, one.groupindex) == (same.pattern, same.flags, same.groupindex)


def test_a_pattern_is_compiled_once_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_texts: list[str] = []

    def compile_and_count(text: str, flags: int) -> re.Pattern[str]:
        compiled_texts.append(text)
        return compiled(text, flags)

    compiled = re.compile
    monkeypatch.setattr(re, "compile", compile_and_count)
    one = lazy_pattern("a+")
    assert compiled_texts == []
    assert one.match("aa")
    assert one.match("aa")
    assert one.search("aa")
    assert compiled_texts == ["a+"]


def test_an_invalid_pattern_fails_on_first_use() -> None:
    with pytest.raises(re.error):
        lazy_pattern("(").match("")


def test_a_copy_behaves_the_same() -> None:
    for other in (copy.deepcopy(lazy_pattern("a+")), pickle.loads(pickle.dumps(lazy_pattern("a+")))):
        assert other.fullmatch("aaa")


def test_a_pattern_has_a_readable_form() -> None:
    assert repr(lazy_pattern("a+")) == "lazy_pattern('a+', 0)"


@pytest.mark.parametrize("has_sha_module", [True, False])
def test_a_digest_is_the_first_half_of_the_sha_256_on_every_python(
    has_sha_module: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy, "_lean_bytes", [100])
    if not has_sha_module:
        monkeypatch.setitem(sys.modules, SHA_MODULE, None)
    assert digest("日本\n".encode()) == hashlib.sha256("日本\n".encode()).hexdigest()[:32]


def test_many_bytes_are_digested_by_the_faster_module_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "_lean_bytes", [10])
    slow: list[bytes] = []
    monkeypatch.setattr(lazy, "_lean_sha256", lambda: lambda data: slow.append(data) or hashlib.sha256(data))
    digests = [digest(data) for data in (b"12345", b"67890", b"a", b"bb")]
    assert digests == [hashlib.sha256(data).hexdigest()[:32] for data in (b"12345", b"67890", b"a", b"bb")]
    assert slow == [b"12345", b"67890"]
