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
from re import _casefix, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import remit
from remit import lazy
from remit.lazy import digest, lazy_any, lazy_pattern

SHA_MODULE = "_sha2" if sys.version_info >= (3, 12) else "_sha256"


def patterns_of_the_package() -> Iterator[tuple[str, object]]:
    for found in pkgutil.walk_packages(remit.__path__, "remit."):
        if found.name.split(".")[1] in ("clients", "contract", "evidence", "rules", "secrets", "workspace"):
            for name, value in vars(importlib.import_module(found.name)).items():
                many = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
                yield from ((f"{found.name}.{name}", one) for one in many if isinstance(one, lazy._LazyPattern))


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


def folded_character(code: int, is_case_ignored: bool) -> str:
    """Return the only character that matches in the folded text; empty if there may be several."""
    lower = chr(code).lower()
    is_plain = lower.isascii() or not is_case_ignored or ord(lower) not in _casefix._EXTRA_CASES
    return lower if len(lower) == 1 and is_plain else ""


def has_word(tree: Any, words: tuple[str, ...], is_case_ignored: bool, before: str = "") -> bool:
    """Return whether every match of a parsed expression after a text contains one of the words."""
    run = before
    for kind, value in tree:
        character = ""
        parts: list[tuple[Any, bool]] = []
        if kind is _constants.LITERAL:
            character = folded_character(value, is_case_ignored)
        elif kind is _constants.IN and all(op is _constants.LITERAL for op, _ in value):
            every = {folded_character(code, is_case_ignored) for _, code in value}
            character = every.pop() if len(every) == 1 else ""
            parts = [] if character else [([one], is_case_ignored) for one in value]
        elif kind is _constants.SUBPATTERN:
            _, added, removed, part = value
            parts = [(part, bool((is_case_ignored or added & re.I) and not removed & re.I))]
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT) and value[0]:
            parts = [(value[2], is_case_ignored)]
        elif kind is _constants.BRANCH:
            parts = [(part, is_case_ignored) for part in value[1]]
        elif kind in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
            continue
        if parts and all(has_word(part, words, ignored, run) for part, ignored in parts):
            return True
        run = run + character if character else ""
        if any(word in run for word in words):
            return True
    return False


def test_every_match_of_a_guarded_pattern_contains_one_of_its_words() -> None:
    guarded = [(name, one) for name, one in patterns_of_the_package() if isinstance(one, lazy._GuardedPattern)]
    assert len(guarded) > 12
    for name, one in guarded:
        tree = _parser.parse(one._text, one._flags)
        assert all(word == word.lower() for word in one._words), name
        assert has_word(tree, one._words, bool(tree.state.flags & re.I)), f"the words of {name} miss a branch of it"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("remov(?:ed|al)|gone", ("removed", "gone")),
        ("a?b", ("a",)),
        ("(?:ab)*", ("ab",)),
        ("[ab]", ("a",)),
        ("kμ", ("kμ",)),
    ],
)
def test_words_that_some_match_lacks_are_detected(text: str, words: tuple[str, ...]) -> None:
    tree = _parser.parse(text, re.I)
    assert not has_word(tree, words, is_case_ignored=True)
    assert has_word(tree, (*words, "remov", "b", "k"), is_case_ignored=True) is (text != "(?:ab)*")


def test_no_letter_matches_a_word_of_ascii_letters_that_is_not_found_in_it() -> None:
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    found = re.findall("[a-z]", characters, re.I)
    assert len(found) > 2 * 26
    assert all(one.translate(lazy._SAME_LETTERS).lower() in "abcdefghijklmnopqrstuvwxyz" for one in found)


def test_a_guarded_pattern_is_compiled_at_the_first_text_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_texts: list[str] = []
    compiled = re.compile
    monkeypatch.setattr(re, "compile", lambda text, flags: compiled_texts.append(text) or compiled(text, flags))
    one, same = lazy_pattern("(?:is )?kept", re.I, ("kept",)), compiled("(?:is )?kept", re.I)
    assert (one.match("a"), one.search("it", 1), one.fullmatch(""), list(one.finditer("x"))) == (None, None, None, [])
    assert one.sub("x", "a text") == "a text"
    assert compiled_texts == []
    for text in ("it is kept", "IT IS \u212aEPT", "kep", "KEPT kept"):
        assert [found.span() for found in one.finditer(text)] == [found.span() for found in same.finditer(text)]
        assert one.sub("x", text) == same.sub("x", text)
        assert str(one.search(text)) == str(same.search(text))
    assert compiled_texts == ["(?:is )?kept"]
    assert one.pattern == same.pattern


def test_a_word_outside_the_part_that_is_searched_does_not_compile_a_guarded_pattern() -> None:
    one, same = lazy_pattern("kept", words=("kept",)), re.compile("kept")
    assert (one.search("kept x", 4), one.match("x kept", 2, 5), one.fullmatch("kept", 1)) == (None, None, None)
    assert list(one.finditer("kept x kept", 1, 10)) == []
    assert "search" not in vars(one)
    for limits in ((2,), (2, 6), (-3,), (2, 99)):
        found = lazy_pattern("kept", words=("kept",)).search("x kept", *limits)
        assert found is not None
        assert str(found) == str(same.search("x kept", *limits))


def test_a_guarded_pattern_is_compiled_after_many_texts() -> None:
    one = lazy_pattern("a+", words=("a",))
    for _ in range(lazy._MAX_UNCOMPILED):
        assert "match" not in vars(one)
        assert one.match("b") is None
    assert "match" in vars(one)


def test_one_of_several_patterns_is_enough_and_the_others_are_not_compiled() -> None:
    english, german = lazy_pattern("(?:new )?fix", re.I, ("fix",)), lazy_pattern("lösung", re.I, ("lösung",))
    both = lazy_any(english, german)
    for text, is_start, is_inside in (("New fix", True, True), ("the FIX", False, True), ("a file", False, False)):
        assert (bool(both.match(text)), bool(both.search(text))) == (is_start, is_inside)
    assert "match" in vars(english)
    assert "match" not in vars(german)
    assert both.match("Lösung")
    assert both.search("Die LÖSUNG")
    assert "match" in vars(german)


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
