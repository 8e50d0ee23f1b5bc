"""Expressions are compiled when first used, and then are what `re.compile` would have made."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
import re
from collections.abc import Iterator

import pytest

import remit
from remit import lazy
from remit.lazy import lazy_pattern


def written_down() -> Iterator[tuple[str, object]]:
    for found in pkgutil.walk_packages(remit.__path__, "remit."):
        if found.name.split(".")[1] in ("contract", "evidence", "rules", "workspace"):
            for name, value in vars(importlib.import_module(found.name)).items():
                many = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
                yield from ((f"{found.name}.{name}", one) for one in many if type(one) is lazy._Expression)


def test_every_expression_of_the_package_can_be_compiled() -> None:
    found = list(written_down())
    assert len(found) > 150
    for name, one in found:
        assert isinstance(re.compile(one._text, one._flags), re.Pattern), name  # type: ignore[attr-defined]


def test_it_does_what_the_compiled_one_does() -> None:
    one, same = lazy_pattern(r"(?P<word>a+)b", re.IGNORECASE), re.compile(r"(?P<word>a+)b", re.IGNORECASE)
    for _ in range(2):
        found = one.match("AAb")
        assert found is not None
        assert found["word"] == "AA"
        assert one.sub("x", "aab ab") == same.sub("x", "aab ab")
        assert (one.pattern, one.flags, one.groupindex) == (same.pattern, same.flags, same.groupindex)


def test_it_is_compiled_once_and_not_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def compile_and_count(text: str, flags: int) -> re.Pattern[str]:
        made.append(text)
        return compiled(text, flags)

    compiled = re.compile
    monkeypatch.setattr(lazy.re, "compile", compile_and_count)
    one = lazy_pattern("a+")
    assert made == []
    assert one.match("aa")
    assert one.match("aa")
    assert one.search("aa")
    assert made == ["a+"]


def test_a_mistake_is_met_at_the_first_use() -> None:
    with pytest.raises(re.error):
        lazy_pattern("(").match("")


def test_a_copy_does_the_same() -> None:
    for other in (copy.deepcopy(lazy_pattern("a+")), pickle.loads(pickle.dumps(lazy_pattern("a+")))):
        assert other.fullmatch("aaa")
