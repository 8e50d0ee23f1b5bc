"""Tokens of code: one lexer for all languages, and quotes that are found token by token."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from corpus.tree import evidence_of, look
from hypothesis import assume, given
from hypothesis import strategies as st

from remit.evidence import token_match
from remit.evidence.code_tokens import CodeTokens


def words(text: str, path: str = "a.py") -> list[str]:
    return CodeTokens(text, path).words


# --- Tokens


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("x = 1  # a comment", "a.py"),
        ("x = 1  # a comment", "a.yaml"),
        ("x = 1 // a comment", "a.ts"),
        ("x = 1 /* a\ncomment */", "a.go"),
        ("/** a comment */\nx = 1", "a.java"),
        ("x = 1 -- a comment", "a.sql"),
        ("x = 1 --[[ a\ncomment ]]", "a.lua"),
        ("x = 1 ; a comment", "a.el"),
        ("x = 1 % a comment", "a.erl"),
        ("x = 1 <!-- a\ncomment -->", "a.html"),
        ("{- a comment -}\nx = 1", "a.hs"),
        ("<# a comment #>\nx = 1", "a.ps1"),
        ("// a comment\nx = 1", "a.unknown"),
        ("{/* a comment */}\nx = 1", "a.tsx"),
        ("   * the end of a comment\n   */\nx = 1", "a.ts"),
    ],
)
def test_comments_are_left_out_by_the_ending_of_the_file(code: str, path: str) -> None:
    tokens = CodeTokens(code, path)
    assert tokens.words == ["x", "=", "1"]
    assert len(tokens.comments) == 1


@pytest.mark.parametrize(
    ("code", "path", "expected"),
    [
        ("a // b", "a.py", ["a", "/", "/", "b"]),
        ('url = "http://x"', "a.ts", ["url", "=", '"', "http", ":", "/", "/", "x", '"']),
        ("s = '# no'", "a.py", ["s", "=", "'", "#", "no", "'"]),
        ("#include <x.h>", "a.c", ["#", "include", "<", "x", ".", "h", ">"]),
        ("#[test]", "a.rs", ["#", "[", "test", "]"]),
        ("fn f<'a>(x: &'a str) // it's", "a.rs", words("fn f<'a>(x: &'a str)", "a.rs")),
        ('"a" /* b */ "c"', "a.c", ['"', "a", '"', '"', "c", '"']),
        ("src/**/*.ts !x", "a.ts", ["src", "/", "*", "*", "/", "*", ".", "ts", "!", "x"]),
        ("${x#y}", "a.sh", ["$", "{", "x", "#", "y", "}"]),
        ("f(...args)", "a.ts", ["f", "(", "...", "args", ")"]),
        ("f(...)", "a.ts", ["f", "(", "…", ")"]),
        ("1.5 + 0x1F", "a.py", ["1.5", "+", "0x1F"]),
        ("“a” ‘b’", "a.py", ['"', "a", '"', "'", "b", "'"]),
        ("a\u00a0b", "a.py", ["a", "b"]),
    ],
)
def test_code_is_split_into_tokens(code: str, path: str, expected: list[str]) -> None:
    assert words(code, path) == expected


@given(
    st.text(max_size=400), st.sampled_from(["a.py", "a.ts", "a.rs", "a.sql", "a.html", "a.lua", "a.hs", "a.tex", "a"])
)
def test_any_text_has_tokens_without_white_space(text: str, path: str) -> None:
    tokens = CodeTokens(text, path)
    assert all(word and not word.isspace() for word in tokens.words)
    assert tokens.lines == sorted(tokens.lines)


# --- Comparison


FILE = [
    "import { check } from './check'",
    "",
    "// Decide who may enter.",
    "export function login(user, password) {",
    "  // No user, no session.",
    "  if (!user || user.tries >= 10) {",
    "    return null; // locked",
    "  }",
    "  const hash = check(user.name, password, {",
    "    rounds: 12,",
    "    salt: user.salt,",
    "  });",
    "  if (hash === user.hash && user.active) {",
    "    return open(user);",
    "  }",
    "  return null;",
    "}",
]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("  if (!user || user.tries >= 10) {\n    return null; // locked", "exact"),
        ("if (!user || user.tries >= 10) {\n  return null; // locked", "whitespace"),
        ("if (!user || user.tries>=10) { return null; // locked", "whitespace"),
        ("if (!user || user.tries >= 10) {\n  return null;", "whitespace"),
        ("if (!user || user.tries >= 10) {  // ten?\n  return null;\n}", "annotated"),
        ("export function login(user, password) {\n  if (!user || user.tries >= 10) {", "annotated"),
        ("export function login(user, password) {\n  return null;\n}", "condensed"),
        ("const hash = check(user.name, ...);", "condensed"),
        ("const hash = check(…);\nif (hash === user.hash && user.active) {", "condensed"),
        ("if (hash === user.hash &amp;&amp; user.active) {", "whitespace"),
        ("import { check } from ‘./check’", "whitespace"),
    ],
)
def test_a_faithful_quote_is_verified(text: str, match: str) -> None:
    quote = look(text, FILE, 1, len(FILE), "a.ts")
    assert (quote.place, quote.match) == ("cited", match)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("!user", "user"),
        ("||", "&&"),
        (">=", ">"),
        (">= 10", ">= 100"),
        ("=== user", "!== user"),
        ("user.hash", "user.name"),
        ("rounds: 12", "rounds: 2"),
        ("return open(user)", "return close(user)"),
        ("return open(user)", "return open(null)"),
        ("'./check'", "'./other'"),
        ("login(user, password)", "login(password, user)"),
    ],
)
def test_one_changed_token_is_a_mismatch(old: str, new: str) -> None:
    text = "\n".join(FILE)
    assert old in text
    assert look(text.replace(old, new, 1), FILE, 1, len(FILE), "a.ts").place == "nowhere"


def test_a_changed_line_that_occurs_further_down_is_not_taken_for_an_omission() -> None:
    lines = ["def f(a):", "    if a:", "        return True", "    b = g(a)", "    if b:", "        return False"]
    text = "def f(a):\n    if a:\n        return False"
    assert look(text, lines, 1, 3).place == "nowhere"
    assert look("def f(a):\n    ...\n        return False", lines, 1, 6).place == "cited"


def test_a_quote_does_not_end_inside_a_number() -> None:
    assert look("timeout = 1", ["timeout = 1.5"], 1).place == "nowhere"
    assert look("timeout = 1.5", ["timeout = 1.5"], 1).place == "cited"


def test_a_condensed_quote_far_from_its_line_is_relocated() -> None:
    lines = [f"x{number} = {number}" for number in range(100)]
    lines[60:63] = ["def open_session(user):", '    """Open it."""', "    token = new_token(user)"]
    quote = look("def open_session(user):\n    token = new_token(user)", lines, 3)
    assert (quote.place, quote.found and quote.found.line) == ("file", 61)


# --- Properties

NAMES = ["alpha", "beta", "gamma", "delta", "user", "count", "total", "left", "right", "value"]
MARKS = ["+", "-", "==", "!=", "&&", "||", "<", ">=", "*", "%"]


@st.composite
def statements(draw: st.DrawFn) -> list[str]:
    """Draw lines of code that all differ in their first name."""
    count = draw(st.integers(4, 30))
    made = []
    for number in range(count):
        parts = [f"name{number}", "="]
        for _ in range(draw(st.integers(1, 4))):
            parts += [draw(st.sampled_from(NAMES)), draw(st.sampled_from(MARKS))]
        made.append(" ".join([*parts, str(draw(st.integers(0, 999)))]))
    return made


@given(statements(), st.data())
def test_a_faithful_excerpt_with_elisions_comments_and_white_space_is_never_accused(
    lines: list[str], data: st.DataObject
) -> None:
    with_comments = [line + data.draw(st.sampled_from(["", "", "  # why", "  # 3 times"])) for line in lines]
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    quoted: list[str] = []
    for number, line in enumerate(lines[first - 1 : last]):
        change = data.draw(st.sampled_from(["keep", "keep", "omit", "dots", "comment", "spaces"]))
        if change == "omit" and quoted:
            continue
        if change == "dots" and quoted:
            quoted.append(data.draw(st.sampled_from(["...", "# ...", "    …"])))
        elif change == "comment":
            quoted += ["# look at this", f"{line}  # number {number}"]
        else:
            quoted.append(
                line.replace(" ", data.draw(st.sampled_from([" ", "  ", "\t"]))) if change == "spaces" else line
            )
    quote = look("\n".join(quoted), with_comments, first, data.draw(st.sampled_from([None, last])))
    assert quote.place == "cited", quoted


@given(statements(), st.data())
def test_a_single_changed_token_is_always_found(lines: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    quoted = lines[first - 1 : last]
    index = data.draw(st.integers(0, len(quoted) - 1))
    parts = quoted[index].split(" ")
    place = data.draw(st.integers(0, len(parts) - 1))
    other = data.draw(st.sampled_from([*NAMES, *MARKS, "10", "1000", "name99"]))
    assume(other != parts[place])
    parts[place] = other
    quoted = [*quoted[:index], " ".join(parts), *quoted[index + 1 :]]
    assume(" ".join(parts) not in lines)
    for line, end in ((first, last), (first, None), (None, None)):
        assert look("\n".join(quoted), lines, line, end).place == "nowhere", quoted


def test_a_quote_may_break_a_line_of_the_file_before_an_altered_one() -> None:
    lines = ["if (ok) { run(one, 1); }", "stop(two, 2);", "stop(two, 3);", "end();"]
    quoted = "if (ok) {\n  run(one, 1);\n}\n"
    assert look(f"{quoted}stop(two, 3);\nend();", lines, 1, path="a.ts").place == "nowhere"
    assert look(f"{quoted}stop(two, 2);\nstop(two, 3);", lines, 1, path="a.ts").place == "cited"


@given(st.text("abc(){},.; \n", max_size=60), st.text("abc(){},.; \n", max_size=300))
def test_any_text_can_be_compared_with_any_other(quoted: str, text: str) -> None:
    code = look(quoted, text.split("\n"), 1, path="a.ts")
    if code.place in ("cited", "file"):
        rest = iter(words(text, "a.ts"))
        assert all(word in rest for word in words(quoted, "a.ts") if word not in ("…", "...", ";", ",")), code


# --- Limits


def test_a_quote_too_large_to_compare_is_unchecked_and_the_next_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_match, "MAX_COST", 200)
    (tmp_path / "a.py").write_text("\n".join(f"other = {number}" for number in range(20)), encoding="utf-8")
    body = "a.py:3:\n```python\nother = 1\nother = 9\nother = 5\n```\n\na.py:3:\n```python\nx\n```"
    assert [quote.outcome for quote in evidence_of(body, tmp_path).quotes] == ["unchecked", "mismatch"]


def test_a_file_without_the_names_of_a_quote_is_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_match, "MAX_COST", 0)
    (tmp_path / "a.py").write_text("total = 1\nlimit = 2\n", encoding="utf-8")
    body = "a.py:1:\n```python\nlimit = 2; total = 1\n```\n\na.py:1:\n```python\ntotal = 12; limit = 2\n```"
    assert [quote.outcome for quote in evidence_of(body, tmp_path).quotes] == ["mismatch", "mismatch"]


@pytest.mark.parametrize("start", ["", "/*\n", "<!--\n"])
def test_the_lines_around_a_place_are_compared_before_the_file(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[int] = []
    create = token_match.FileTokens.__init__

    def counted(tokens: token_match.FileTokens, text: str, path: str, first: int, **options: bool) -> None:
        split.append(text.count("\n") + 1)
        create(tokens, text, path, first, **options)

    monkeypatch.setattr(token_match.FileTokens, "__init__", counted)
    lines = [*start.splitlines(), *(f"name{number} = {number}" for number in range(1_000))]
    code = look("name500 = 500  // the first\nname501 = 501", lines, 501 + start.count("\n"), path="a.ts")
    is_comment = start == "/*\n"
    assert (code.place, code.match) == (("nowhere", None) if is_comment else ("cited", "annotated"))
    assert (max(split) == len(lines)) is is_comment


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        '"' * 100_000,
        '\\"' * 50_000,
        "/*" * 50_000,
        "{/*" * 33_000,
        "'" * 99_999,
        "`\\" * 50_000,
        "--[[" * 25_000,
        "<!-" * 33_000,
        "...," * 25_000,
        "a " * 50_000,
        "{-" * 50_000,
        " #" * 50_000,
        "*/" * 50_000,
    ],
    ids=lambda text: text[:4],
)
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.rs", "a.lua", "a.hs", "a.html"])
def test_pathological_text_is_split_in_linear_time(text: str, path: str) -> None:
    start = time.process_time()
    CodeTokens(text, path)
    assert time.process_time() - start < 5


@pytest.mark.slow
@pytest.mark.parametrize("line", ["x", "...", "a ... b", "}", "a b c d e f g", "x = 1"])
def test_a_huge_quote_in_a_huge_repetitive_file_is_checked_in_bounded_time(line: str) -> None:
    start = time.process_time()
    look("\n".join([line] * 20_000 + ["gone"]), [line] * 100_000, 5)
    assert time.process_time() - start < 20


# --- Docstrings, and comment signs that a language does not have

DOCUMENTED = [
    "def split(files):",
    '    """Split files into code and text.',
    "",
    "    Binary files are ignored.",
    '    """',
    "    return [one for one in files if one.is_text]",
]


def test_a_docstring_may_be_shortened_to_its_first_line() -> None:
    short = [DOCUMENTED[0], '    """Split files into code and text."""', DOCUMENTED[-1]]
    code = look("\n".join(short), DOCUMENTED, 1, 6)
    assert (code.place, code.match) == ("cited", "annotated")
    below = ["class A:", '    """', "    One.", '    """', "    x = 1"]
    assert look('class A:\n    """One."""\n    x = 1', below, 1).place == "cited"


def test_a_docstring_with_another_first_line_is_altered() -> None:
    other = [DOCUMENTED[0], '    """Split files into code and data."""', DOCUMENTED[-1]]
    assert look("\n".join(other), DOCUMENTED, 1, 6).place == "nowhere"


@pytest.mark.parametrize(
    "before", ["query = (", "run(", 'query = {"a":', "return ("], ids=["brackets", "call", "value", "return"]
)
def test_a_changed_string_in_an_expression_is_altered(before: str) -> None:
    code = ["def run():", f"    {before}", '        """SELECT a', "        FROM b", '        """', "    )"]
    for changed in (code[3].replace("b", "c"), ""):
        assert look("\n".join([*code[:3], changed, *code[4:]]), code, 1, 6).place == ("nowhere" if changed else "cited")
    assert look("\n".join([*code[:2], '        """SELECT a"""', "    )"]), code, 1, 6).place == "nowhere"


def test_a_long_string_is_not_a_docstring_in_another_language() -> None:
    lines = [line.replace("def split(files):", "split(files):") for line in DOCUMENTED]
    short = "\n".join([lines[0], '    """Split files into code and text."""', lines[-1]])
    assert look(short, lines, 1, 6, "a.kt").place == "nowhere"


@pytest.mark.parametrize("path", ["a.sh", "a.yaml", "a.toml", "Makefile", "Dockerfile", "a.py", "a.rb"])
def test_a_pattern_of_file_names_does_not_start_a_comment(path: str) -> None:
    lines = ["set -e", "git add release/*.csv", "# keep the notes", "cp /* notes/", "rm -r out/*"]
    code = look("\n".join([*lines[:2], *lines[3:]]), lines, 1, 5, path)
    assert (code.place, code.match) == ("cited", "annotated")
    assert look("\n".join([*lines[:4], "rm -r src/*"]), lines, 1, 5, path).place == "nowhere"
