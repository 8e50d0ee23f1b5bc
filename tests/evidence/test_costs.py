"""What a check costs: files are read once, the tree is listed at most once, and time grows with the text only."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from corpus.tree import HEAD, evidence_in, evidence_of, numbered, plant, write

import remit
from remit.contract.parse import MAX_BYTES
from remit.evidence import grammar
from remit.workspace.files import Absent, SourceFile, WorkTree


class Counting(WorkTree):
    """A tree that counts reads, listings, and questions whether a file exists."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.loaded: list[str] = []
        self.listed = self.asked = 0

    def _load(self, path: str) -> SourceFile | Absent:
        self.loaded.append(path)
        return super()._load(path)

    def _list(self) -> list[str]:
        self.listed += 1
        return super()._list()

    def exists(self, path: str) -> bool:
        self.asked += 1
        return super().exists(path)

    @property
    def code(self) -> list[str]:
        """The source files that were read, sorted."""
        return sorted(path for path in self.loaded if path.endswith(".py"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, {f"d{number % 10}/f{number}.py": "value = 1\n" * 50 for number in range(200)})


@pytest.mark.parametrize("files", [20, 200])
@pytest.mark.parametrize("count", [200, 2_000])
def test_each_cited_file_is_read_once_however_often_it_is_cited(files: int, count: int, root: Path) -> None:
    tree = Counting(root)
    text = "\n".join(f"- `d{n % files % 10}/f{n % files}.py:{1 + n % 50}`" for n in range(count))
    references = evidence_in(text, tree).references
    assert ({claim.outcome for claim in references}, len(references)) == ({"exists"}, count)
    assert (len(tree.code), len(set(tree.code)), tree.listed) == (files, files, 0)


def test_missing_files_list_the_tree_once(root: Path) -> None:
    tree = Counting(root)
    rows = [f"d{n % 10}/f{n % 200}.py:{1 + n % 50}" if n % 4 else f"gone/f{n % 200}.py:1" for n in range(2_000)]
    outcomes = Counter(claim.outcome for claim in evidence_of("\n\n".join(rows), tree).references)
    assert outcomes == {"exists": 1_500, "missing-file": 500}
    assert tree.listed == 1
    assert max(Counter(tree.loaded).values()) == 1


def test_correct_references_do_not_list_the_tree(tmp_path: Path) -> None:
    tree = Counting(plant(tmp_path))
    evidence_of("src/app.py:12 (login), Makefile:3, localhost:80, ../x.py:1, src/app.py:99", tree)
    assert tree.listed == 0


@pytest.mark.parametrize("end", [" ", "\n", ""])
def test_the_same_windows_path_many_times_is_looked_up_a_few_times(end: str, tmp_path: Path) -> None:
    few, many = Counting(tmp_path), Counting(tmp_path)
    counts = [len(evidence_of(f"C:\\x:1{end}" * count, tree).references) for count, tree in ((50, few), (1_000, many))]
    assert counts == ([50, 1_000] if end else counts)
    assert (many.loaded, many.listed) == (few.loaded, few.listed)
    assert many.asked <= few.asked + (4 * 950 if end == "\n" else 0)


@pytest.mark.slow
def test_names_and_lines_of_one_long_file_read_it_once(tmp_path: Path) -> None:
    count = 200_000
    tree = Counting(write(tmp_path, {"long.py": numbered(count)}))
    cited = range(2, count, count // 500)
    text = "\n".join(f"- long.py:{n} (`value_{n}`)\n- long.py:{n} (`value_{count - n}`)" for n in cited)
    references = evidence_of(text, tree).references
    assert (tree.code, tree.listed) == (["long.py"], 0)
    assert {claim.outcome for claim in references[::2]} == {"verified"}
    moved = [claim.found.line if claim.found else None for claim in references[1::2]]
    assert moved == [None if abs(count - 2 * n) <= 5 else count - n for n in cited]


@pytest.mark.slow
@pytest.mark.parametrize("lines", [2, 20])
def test_up_to_ten_thousand_references_in_one_document(lines: int, tmp_path: Path) -> None:
    tree = Counting(write(tmp_path, {"a.py": "x\n"}))
    body = ("a.py:1 " * 499 + "b.py:1\n") * lines
    assert len(HEAD + body) < MAX_BYTES
    outcomes = Counter(claim.outcome for claim in evidence_of(body, tree).references)
    assert outcomes == {"exists": 499 * lines, "missing-file": lines}
    assert (tree.code, tree.listed) == (["a.py", "b.py"], 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "a.py:" + "1," * 10_001 + "1",
        "a.py:1 x " * 10_001,
        "`b.py:12` x\n" * 60_000,
        "".join(f"`g{number}.py:12` x\n" for number in range(50_000)),
        "".join(f"`make t{number}`\n" for number in range(60_000)),
        "".join(f"```python\n# a.py:1\nx = {number}\n```\n" for number in range(24_000)),
    ],
    ids=["lines", "places", "one-missing-file", "missing-files", "commands", "quotes"],
)
def test_a_text_with_more_claims_is_refused(text: str, tmp_path: Path) -> None:
    start = time.process_time()
    verdict = remit.verify(text, repo=write(tmp_path, {"a.py": "x\n"}))
    assert time.process_time() - start < 10
    assert [(fault.rule, fault.level) for fault in verdict.violations] == [("unreadable", "L1")]
    assert "more than 10,000 claims" in verdict.violations[0].message


@pytest.mark.parametrize("place", ["é/é.py:1 ", "a/b.py:1 ", "`a b/c.py:1` "])
def test_a_line_with_too_many_references_is_not_read_to_its_end(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    lines_after = grammar.lines_after
    monkeypatch.setattr(
        grammar, "lines_after", lambda text, *given, **named: read.append("") or lines_after(text, *given, **named)
    )
    verdict = remit.verify(place * 60_000)
    assert "more than 10,000 claims" in verdict.violations[0].message
    assert len(read) <= grammar.MAX_REFERENCES + 1


@pytest.mark.slow
def test_one_line_of_a_megabyte(tmp_path: Path) -> None:
    sentence = f"the words around it take up {'nearly all ' * 6}of the line, src/app.py:1 does not "
    line = sentence * ((MAX_BYTES - 1000) // len(sentence))
    assert len(evidence_of(line, plant(tmp_path)).references) == line.count("src/app.py:1")


FENCE = "The code in shop/app.py:3 is:\n\n```js\n{}\n```\n"
DOCUMENTS = {
    "a line of slashes in a fence": FENCE.format("/" * 4_000),
    "lines of hash signs in a fence": FENCE.format("\n".join(["#" * 1_990] * 30)),
    "paths of thousands of machines": "\n".join(f"- /home/u{number}/p/shop/app.py:1" for number in range(2_500)),
    "a long line of names and lines": "shop/app.py " + "ReadingList calls it (line 3040) " * 2_400,
    "a place with a list of lines": "`shop/app.py:" + ",".join(map(str, range(1, 9_000))) + "`",
    "quotes on one line": "Code match: `total = 1` (shop/app.py:3) " * 1_500,
    "quotes among blank lines": "\n\n".join(FENCE.format(f"total = {number}") for number in range(20)),
    "labels above a fence": "**Location:** shop/app.py:3\n" + "**Label:** words\n" * 5_000 + FENCE.format("x = 1"),
    "accusations in one paragraph": "`shop/ghost.py:3` removed, " * 4_000,
    "entities of entities": "\n".join("see a&" + "amp;" * 245 + "#46;py:12" for _ in range(300)),
    "headings": "\n".join(f"{'#' * (1 + number % 6)} Fix `shop/g{number}.py:3`" for number in range(4_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("evidence", [evidence_of, evidence_in])
def test_a_hostile_document_is_checked_in_bounded_time(name: str, evidence: object, tmp_path: Path) -> None:
    write(tmp_path, {"shop/app.py": "\n" * 1_000_000 + "total = 1\n"})
    start = time.process_time()
    evidence(DOCUMENTS[name], tmp_path)  # type: ignore[operator]
    assert time.process_time() - start < 10


@pytest.mark.slow
def test_missing_files_and_many_ignored_names_are_checked_in_bounded_time(tmp_path: Path) -> None:
    ignored = "\n".join(f"build{number}/\n*.gen{number}" for number in range(1_000))
    text = "\n".join(f"- src/mod{number}/file{number}.py:12 fails" for number in range(5_000))
    start = time.process_time()
    evidence_in(text, write(tmp_path, {".gitignore": ignored}))
    assert time.process_time() - start < 15
