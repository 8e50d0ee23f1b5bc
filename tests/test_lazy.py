"""Lazy patterns behave like compiled ones."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import remit
from remit import lazy
from remit.lazy import lazy_pattern

sre: Any = importlib.import_module("re._constants")
sre_parser: Any = importlib.import_module("re._parser")
_PACKAGES = ("clients", "contract", "evidence", "gate", "merging", "reports", "rules", "secrets", "shell", "workspace")


def patterns_of_the_package() -> Iterator[tuple[str, object]]:
    for found in pkgutil.walk_packages(remit.__path__, "remit."):
        if found.name.split(".")[1] in _PACKAGES:
            for name, value in vars(importlib.import_module(found.name)).items():
                many = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
                yield from ((f"{found.name}.{name}", one) for one in many if isinstance(one, lazy._LazyPattern))


def test_every_pattern_of_the_package_compiles() -> None:
    found = list(patterns_of_the_package())
    assert len(found) > 150
    for name, one in found:
        assert isinstance(re.compile(one._text, one._flags), re.Pattern), name  # type: ignore[attr-defined]


def possessive_groups(parts: Any) -> Iterator[str]:
    """Yield the groups that are repeated possessively: `(?:ab?)*+`."""
    for kind, value in parts:
        if kind is sre.POSSESSIVE_REPEAT and (len(value[2]) > 1 or value[2][0][0] in (sre.SUBPATTERN, sre.BRANCH)):
            yield str(value[2])
        for inner in value if isinstance(value, tuple | list) else (value,):
            branches = inner if isinstance(inner, list) else [inner]
            for branch in branches:
                if isinstance(branch, sre_parser.SubPattern):
                    yield from possessive_groups(branch)


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5, as in Debian 12, matches them wrongly. `(?>(?:ab?)*)` means the same."""
    broken = [
        name
        for name, one in patterns_of_the_package()
        if any(possessive_groups(sre_parser.parse(one._text, one._flags)))  # type: ignore[attr-defined]
    ]
    assert broken == []
    assert any(possessive_groups(sre_parser.parse(r"x|(a(?:ab?)*+b)")))
    assert not any(possessive_groups(sre_parser.parse(r"(?>(?:ab?)*)[a-z]*+")))


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
