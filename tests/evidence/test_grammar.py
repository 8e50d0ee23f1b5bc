"""The grammar of references: every written form and every decoy, in every part of a document."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from corpus.tree import evidence_of, format_expected, location, write
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remit.evidence.file_names import EXTENSIONS, looks_like_file, unwrap
from remit.evidence.grammar import WrittenReference, cursor_reference, never_exists, references_in
from remit.evidence.line_ranges import lines_alone
from remit.workspace.paths import normalize_path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from reference_decoys import DECOYS
from reference_forms import FILES, FORMS, ROOT, Example

EXAMPLES = [example for table in (FORMS, DECOYS) for examples in table.values() for example in examples]
WHOLE = [example for example in EXAMPLES if example.is_whole]
#: The forms of `src/app.py:12`, without those of a path of the examples' own checkout.
PLAIN = [
    example.text
    for examples in FORMS.values()
    for example in examples
    if example.found == ("src/app.py:12",) and example.text.isascii() and not example.in_column
    if not example.text.startswith("_") and ROOT not in example.text
]


def exists(path: str) -> bool:
    return normalize_path(path, ROOT) in FILES


def shown(written: WrittenReference) -> str:
    inside = normalize_path(written.path, ROOT)
    path = inside if inside is not None else written.path.replace("\\", "/")
    return format_expected(path, written.line, written.end_line)


@pytest.mark.parametrize(
    "example", [example for example in EXAMPLES if not example.is_whole], ids=lambda example: example.text
)
def test_an_example_is_read_as_its_table_states(example: Example) -> None:
    references = references_in(example.text, exists, bare=example.in_column)
    assert tuple(map(shown, references)) == example.found
    assert all(0 <= reference.start < reference.end <= len(example.text) for reference in references)
    assert [reference.start for reference in references] == sorted(reference.start for reference in references)


def test_every_form_in_the_contract_has_an_example() -> None:
    texts = {example.text for example in EXAMPLES}
    for text in ("src/app.py:12", "src/app.py:12-18", "src/app.py:12:5", "src/app.py#L12-L18", "line 12 of src/app.py"):
        assert text in texts
    assert {"Several references", "Names of all kinds", "A location column", "A whole file"} <= FORMS.keys()
    assert all(example.found for examples in FORMS.values() for example in examples)
    assert not any(example.found for examples in DECOYS.values() for example in examples)
    assert len({(example.text, example.in_column) for example in EXAMPLES}) == len(EXAMPLES)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("examples"), dict.fromkeys(FILES, ""))


#: The contexts of a line of text in a document; pipes in a table are escaped.
CONTAINERS: dict[str, Callable[[str], str]] = {
    "paragraph": lambda text: f"Words {text} and words",
    "list": lambda text: f"- first\n- then {text}\n- last",
    "numbered list": lambda text: f"1. {text}\n2. last",
    "nested list": lambda text: f"- first\n  - {text}",
    "heading": lambda text: f"##### About {text} #####",
    "block quote": lambda text: f"> {text}",
    "cell": lambda text: f"| Item | Note |\n|---|---|\n| a | {text.replace('|', chr(92) + '|')} |",
    "bold": lambda text: f"**Note**: {text}",
    "between fences": lambda text: f"```\nx\n```\n{text}\n\nWords.\n```\ny\n```",
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_form_counts_in_every_part_of_a_document(container: str, tree: Path) -> None:
    missed = []
    for text in PLAIN:
        places = [location(claim) for claim in evidence_of(CONTAINERS[container](text), tree).references]
        if places != ["src/app.py:12"]:
            missed.append((text, places))
    assert missed == []
    assert len(PLAIN) > 80


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("example", WHOLE, ids=lambda example: example.text)
def test_a_whole_file_counts_in_code_marks_and_as_the_target_of_a_link(
    example: Example, container: str, tree: Path
) -> None:
    claims = evidence_of(CONTAINERS[container](example.text), tree).references
    assert [(location(claim), claim.outcome) for claim in claims] == [(place, "exists") for place in example.found]


@pytest.mark.parametrize(
    "heading", ["File", "File:Line", "Location", "Path", "Files", "場所", "ファイル:行", "文件", "位置"]
)
def test_every_path_counts_in_a_location_column(heading: str, tree: Path) -> None:
    body = f"| Item | {heading} | Note |\n|---|---|---|\n| a | src/app.py | src/other.py |\n"
    assert [location(claim) for claim in evidence_of(body, tree).references] == ["src/app.py"]


@pytest.mark.parametrize("heading", ["Item", "Component", "Pattern", "Notes", "Purpose"])
def test_a_path_without_code_marks_counts_in_no_other_column(heading: str, tree: Path) -> None:
    assert evidence_of(f"| {heading} | Note |\n|---|---|\n| src/app.py | b |\n", tree).references == []


@pytest.mark.parametrize(
    "fence",
    [
        "```\n{}\n```",
        "```python\n{}\n```",
        "~~~\n{}\n~~~",
        "````\n```\n{}\n```\n````",
        "- item\n\n  ```\n  {}\n  ```",
        "- item\n  ~~~text\n  {}\n  ~~~",
        "1. item\n   ```\n   {}",
        "> ```\n> {}\n> ```",
        "    {}",
        "```\n{}",
    ],
)
def test_nothing_inside_a_fence_is_a_reference(fence: str, tree: Path) -> None:
    for text in ("x src/app.py:12", "x line 12 of src/app.py", "x [a](src/app.py#L12)", "x `src/app.py`"):
        assert evidence_of(fence.format(text), tree).references == []


@pytest.mark.parametrize("examples", DECOYS.values(), ids=DECOYS)
def test_a_decoy_is_not_a_reference_in_a_document(examples: tuple[Example, ...], tree: Path) -> None:
    for example in examples:
        heading = "Location" if example.in_column else "Note"
        claims = evidence_of(f"| Item | {heading} |\n|---|---|\n| a | {example.text} |\n", tree).references
        assert [claim for claim in claims if claim.line is not None or "`src/app.py`" not in example.text] == [], (
            example.text
        )


@pytest.mark.parametrize("name", ["Dockerfile", "redis", "example.com", "node", ".env", "LICENSE"])
def test_a_name_that_does_not_look_like_a_file_counts_only_if_it_exists(name: str) -> None:
    assert references_in(f"{name}:12") == references_in(name, bare=True) == []
    for text, bare, line in ((f"{name}:12", False, 12), (name, True, None)):
        (reference,) = references_in(text, lambda path: path == name, bare=bare)
        assert (reference.path, reference.line, reference.end_line) == (name, line, None)


def test_a_known_ending_or_a_slash_marks_a_file() -> None:
    assert all(map(looks_like_file, ("app.py", "src/anything")))
    assert not any(map(looks_like_file, ("example.com", ".env", "", "12/34")))
    assert {"py", "ts", "go", "rs", "java", "md", "yml", "toml", "svelte"} <= EXTENSIONS


def test_the_editor_form_with_lines_first_is_read() -> None:
    assert cursor_reference("12:18:src/app.py") == WrittenReference(0, 16, "12:18:src/app.py", "src/app.py", 12, 18)
    assert cursor_reference("python") is None


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("(a/b.py)", "a/b.py"),
        ("([a/b.py", "a/b.py"),
        ("(shop)/[id]/page.tsx", "(shop)/[id]/page.tsx"),
        ("((shop)/page.tsx", "(shop)/page.tsx"),
        ("[[...slug]]/page.tsx]", "[[...slug]]/page.tsx"),
        ("a/b.py(line", "a/b.py"),
        ("open(Shop.java", "Shop.java"),
        ("{}", ""),
    ],
)
def test_brackets_around_a_path_are_distinguished_from_brackets_in_it(written: str, path: str) -> None:
    first, end = unwrap(written)
    assert written[first:end] == path


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("12", ((12, None),)),
        ("`L12-L18`", ((12, 18),)),
        ("L12–18, ~L40（多处）", ((12, 18), (40, None))),
        ("12, 15 and 20-25", ((12, None), (15, None), (20, 25))),
        ("lines 12 to 18", ((12, 18),)),
        ("12 of 18", ()),
        ("12 lines", ()),
        ("many", ()),
    ],
)
def test_lines_without_a_path_are_read(text: str, lines: tuple[tuple[int, int | None], ...]) -> None:
    assert lines_alone(text) == lines


def test_a_list_of_lines_may_be_long_and_its_lines_share_their_words() -> None:
    """Each line of a list has the words of the whole list; a copy for each would take quadratic memory."""
    numbers = ",".join(str(number) for number in range(1, 2000))
    references = references_in(f"a/b.py:{numbers}")
    assert [reference.line for reference in references] == list(range(1, 2000))
    assert all(reference.text is references[0].text for reference in references)
    assert len(references_in(f"a/b.py の{numbers.replace(',', '、')}行目")) == 1999


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Lists in any order, and a count at their end
        ("`a/b.py` Lines 18, 34, 7, 66", "a/b.py:18 a/b.py:34 a/b.py:7 a/b.py:66"),
        ("`a/b.py` lines 12, 30, 4 tests fail", "a/b.py:12 a/b.py:30"),
        ("app.py:84,42", "app.py:84 app.py:42"),
        ("app.py:84,5", "app.py:84"),
        ("app.py Lines 12-18 (setup) and 30-34", "app.py:12-18 app.py:30-34"),
        ("app.py lines 12-18 (setup) and 3 tests", "app.py:12-18"),
        # A line in brackets directly before its path
        ("It is set (line 75 hosts/one.nix), too", "hosts/one.nix:75"),
        ("a/b.py (line 3 c/d.py)", "c/d.py:3"),
        ("a/b.py (line 3), c/d.py", "a/b.py:3"),
        ("on line 75 hosts/one.nix is read", ""),
        ("(line 12 and/or 13)", ""),
        # Chinese lists; a number of lines is not a line
        ("app.py 第 12, 18、20-25 行", "app.py:12 app.py:18 app.py:20-25"),
        ("app.py 12, 18 行", ""),
        ("app.py lines: 120", ""),
        ("app.py Zeile 12", ""),
        ("app.py, lignes 12 à 18", ""),
        ("x.csv lines=5", ""),
        # The end of a sentence
        ("See a/b.py, lines 12 through 18.", "a/b.py:12-18"),
        ("See `a/b.py` at lines 12 - 18.", "a/b.py:12-18"),
        # A file of a machine, a built-in module, a command with two files
        ("[it](file:///home/u/shop/src/a.py#L12)", "/home/u/shop/src/a.py:12"),
        ("[it](file:///C:/shop/src/a.py#L12)", "C:/shop/src/a.py:12"),
        ("[it](https://host/home/u/shop/src/a.py#L12)", ""),
        ("line 1 of /etc/hosts", "/etc/hosts:1"),
        ("at node:internal/errors:496:5 and `node:fs/promises:12` in src/app.ts:3", "src/app.ts:3"),
        ("`/usr/bin/run.py -x /home/me/b.py:3`", "/home/me/b.py:3"),
        # Braces
        ("chainsync_{client,server}.rs:12", "chainsync_client.rs:12 chainsync_server.rs:12"),
        ("{a,b}:12 and {red,green}", ""),
        # A link whose visible text names another place than its target: a reader sees only the text
        ("[src/app.py:12](src/store.py#L12)", "src/store.py:12 src/app.py:12"),
        ("[app.py:12](src/app.py#L40)", "src/app.py:40 app.py:12"),
        ("[app.py:12](src/app.py#L12)", "src/app.py:12"),
    ],
)
def test_a_reference_is_distinguished_from_the_words_around_it(text: str, expected: str) -> None:
    assert list(map(shown, references_in(text))) == expected.split()


def test_a_link_with_a_very_long_label_is_not_read_as_a_link() -> None:
    (reference,) = references_in(f"[{'word ' * 300}](src/app.py:12)", exists)
    assert (shown(reference), reference.text) == ("src/app.py:12", "src/app.py:12")


@pytest.mark.parametrize(
    "text", ["[`{0}#L3`]({0}#L3)", "[{0}:3]({0}:3)", "[app]({0}#L3)", "[app](<{0}#L3>)", "`{0}:3`"]
)
def test_a_path_of_another_machine_may_have_a_space(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"src/app.js": "one\n" * 5})
    path = "/Users/me/New project/src/app.js"
    (claim,) = evidence_of(text.format(path), tmp_path).references
    assert (claim.path, claim.line, claim.outcome) == ("src/app.js", 3, "exists")


# --- Properties

NAMES = st.text(st.sampled_from("abcXYZ019_-.+@$é設"), min_size=1, max_size=12).filter(
    lambda name: name.strip(".") and name[0] not in "-+.@" and not name[0].isdigit() and name[-1] not in ".-+@"
)
PATHS = st.lists(NAMES, min_size=2, max_size=5).map("/".join).map(lambda path: f"src/{path}.py")
FORM = st.sampled_from(
    [
        *("{path}:{line}", "`{path}:{line}`", "see {path}:{line}.", "({path}:{line})", "{path}:{line}:7"),
        *("{path}#L{line}", "{path}(line {line})", "{path}, line {line}", "line {line} of {path}"),
        *("`{path}` の{line}行目", "`{path}` 第{line}行", "[x]({path}#L{line})"),
    ]
)


@given(PATHS, st.integers(0, 10**8), FORM)
def test_any_path_and_line_is_read_in_any_form(path: str, line: int, form: str) -> None:
    text = form.format(path=path, line=line)
    references = references_in(text, lambda written: written == path)
    assert [(reference.path, reference.line) for reference in references] == [(path, line)], text


MARKS = (
    *("a/b.py", "a.py", ":", "12", "-", " ", "`", "(", ")", "[", "](", "#L", ",", "line ", "of ", "の", "行", "{", "}"),
    *("*", "and ", "http://", "\\", "=", "…", "/", "L1", "~", "第", "、", "@", "<", ">", "|", "'", '"', "to ", "."),
)
PIECES = st.lists(st.sampled_from(MARKS), max_size=30).map("".join)


@given(st.one_of(st.text(max_size=200), PIECES), st.booleans(), st.sampled_from([never_exists, lambda _: True]))
def test_any_text_can_be_read(text: str, bare: bool, known: Callable[[str], bool]) -> None:
    line = text.replace("\n", " ")
    for reference in references_in(line, known, bare=bare):
        assert 0 <= reference.start < reference.end <= len(line)
        assert reference.path
        assert (bare and reference.line is None) or 0 <= (reference.line or 0) <= 999_999_999


# --- Hostile texts: each is read in one go; what is not linear would not come back.

UNITS = (
    *"a/.:1[](){}`*#L- \\@=%~$+_,|<>…あ行第の",
    *("a.py:1 ", "a.py:1,", "a.py:1, ", "a.py#L1,", "line 1 of ", "lines 1, 2 of ", "a.py 1、1、", "1、", "1 、"),
    *("a.py の1行と", "[a](", "[a](b.py) ", "[a[b]", "](", "[a](b(c)", "{a,b}", "{a,", "a.py(1,", "a.py[1", "a.py@1"),
    *("`a b.py:1` ", "` `", "http://a", "a:1:1:1", "::a:1", "../", "a.pyあ", "あa.py", "docker a/b:1 ", "x.com/a:1 "),
    *("a=", "\\_", "a%41.py:1 ", "a.py:1 to ", "a.py:1`–`", "a.py:1:1-1:", "12th line of ", "a.py:1 (b(", "`f()` "),
    *("a.py:1_", "\u202e", "\x00\x1b[31m"),
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_long_line_of_one_pattern_is_read(unit: str) -> None:
    text = (unit * (20_000 // len(unit) + 1))[:20_000]
    for bare in (False, True):
        references_in(text, never_exists, bare=bare)
        references_in(text, lambda _: True, bare=bare)


@pytest.mark.parametrize("character", ["\u200f", "\u202e", "\u2066", "\x1b", "\x07", "\u0000", "\ufeff"])
def test_invisible_marks_are_not_part_of_a_path(character: str) -> None:
    assert [reference.path for reference in references_in(f"{character}src/app.py:12{character}")] == ["src/app.py"]
    assert all(character not in reference.path for reference in references_in(f"src/{character}app.py:12"))


@pytest.mark.parametrize(
    "part",
    [
        "C:\\x:1 ",
        "see `src/app.py:1,2,3` and line 4 of src/b.py; ",
        "第12行 src/app.py の3行目 ",
        "src/app.py:" + ",".join(map(str, range(1, 200))) + "; ",
    ],
)
def test_a_long_line_that_repeats_itself_has_the_same_references_each_time(part: str) -> None:
    """What was found is kept for text that occurs again: the answers are those of a short line, moved."""
    count = 30_000 // len(part) + 2
    expected = references_in(part * 3)
    size = len(expected) // 3
    references = references_in(part * count)
    assert size > 0
    assert len(references) == size * count

    def moved(references: list[WrittenReference], number: int) -> list[WrittenReference]:
        shift = number * len(part)
        chosen = references[number * size : (number + 1) * size]
        return [replace(reference, start=reference.start - shift, end=reference.end - shift) for reference in chosen]

    assert [moved(references, number) for number in (1, count // 2, count - 2)] == [moved(expected, 1)] * 3
