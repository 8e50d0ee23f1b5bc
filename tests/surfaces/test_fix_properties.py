"""All corrections of `remit verify --fix` are true in a repository that changed at random."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from support.in_process import Ran, run_here
from support.verify_commands import commit, git

from remit.checking import check_text
from remit.evidence.sources import open_sources
from remit.verifying import OPTIONS, fix_text

#: The path of each file, and the number of the functions in it. A number is the identity of a function.
FILES = {"src/cart.py": (1, 2, 3), "src/app/door.py": (4, 5), "lib/till.py": (6,)}
CITED = re.compile(r"^- (?:`(\w+)` in )?`([\w/.]+):(\d+)`$")
#: How a place and the name next to it are written.
FORMS = (
    "- `{name}` in `{path}:{line}`",
    "The key of the till is made by `{name}()` (`{path}:{line}`), and nobody else: 12 calls, 3 of them twice.",
    "Read [{path}](../{path}#L{line}) first.",
    "1. {path}:{line} – `{name}`; see also `{path}`, lines {line}-{last}.",
    '> "Ask before you change `{path}`." – `{name}` is in {path}, line {line}',
    "| {name} | `{path}:{line}-{last}` | 7 |",
)
#: What a correction may change: a path with its lines, and a name.
CLAIMED = re.compile(r"[\w/.]+\.py(?:(?::|#L)\d+(?:-L?\d+)?|, lines? \d+(?:-\d+)?)?|(?:load|fetch|other)_part_\d+")
CHANGES = ("rename", "move lines", "move file", "move folder", "insert", "remove", "replace")


def body(name: str, number: int) -> str:
    """Return a function each line of which identifies it."""
    rows = (f"    step_{number}_{row} = make_{number}(key, {row})\n" for row in range(4))
    return f"def {name}(key):\n{''.join(rows)}    return step_{number}_3\n\n\n"


def functions(text: str) -> list[str]:
    """Return the functions of a file, after what is above the first one."""
    parts = text.split("def ")
    return [parts[0], *(f"def {part}" for part in parts[1:])]


class Shop:
    """A repository whose files are changed at random."""

    def __init__(self, root: Path) -> None:
        self.root = root
        git(root, "init", "-q", "-b", "main")
        for path, numbers in FILES.items():
            self.write(path, "".join(body(f"load_part_{number}", number) for number in numbers))
        places = [(path, row) for path in FILES for row in range(1, len(self.lines(path)) + 1)]
        named = [f"- `load_part_{n}` in `{path}:{self.line_of(path, n)}`" for path, ns in FILES.items() for n in ns]
        bare = [f"- `{path}:{row}`" for path, row in places if self.lines(path)[row - 1].startswith("    step")]
        self.guide = "# For assistants\n\n" + "\n".join([*named, *bare]) + "\n"
        self.write("AGENTS.md", self.guide)
        commit(root, "Begin")

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def lines(self, path: str) -> list[str]:
        return (self.root / path).read_text().split("\n")

    def line_of(self, path: str, number: int) -> int:
        """Return the line at which a function is defined: the one above its first step."""
        return next(at for at, line in enumerate(self.lines(path)) if f"step_{number}_0 =" in line)

    def change(self, kind: str, choice: int, step: int) -> None:
        """Change something, and commit it if anything did change."""
        files = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*.py"))
        if not files:
            return
        path = files[choice % len(files)]
        parts = functions((self.root / path).read_text())
        at = 1 + choice % max(1, len(parts) - 1)
        if kind == "move file":
            self.write(f"moved_{step}/part_{step}.py", "")
            git(self.root, "mv", "-f", path, f"moved_{step}/part_{step}.py")
        elif kind == "move folder":
            git(self.root, "mv", path.split("/")[0], f"folder_{step}")
        elif kind == "insert":
            parts[0] += "".join(f"import module_{step}_{row}\n" for row in range(1 + choice % 9))
        elif at < len(parts):
            if kind == "rename":
                parts[at] = re.sub(r"def \w+", f"def fetch_part_{step}", parts[at])
            elif kind == "move lines":
                parts.append(parts.pop(at))
            elif kind == "remove":
                del parts[at]
            elif kind == "replace":
                parts[at] = body(f"other_part_{step}", 100 + step)
        if kind not in ("move file", "move folder"):
            self.write(path, "".join(parts))
        if git(self.root, "status", "--porcelain"):
            commit(self.root, f"{kind} {step}")

    def fixed(self) -> tuple[str, list[int]]:
        """Return the corrected guide, and the lines of the claims that held before."""
        sources = open_sources(self.root)
        try:
            file = self.root / "AGENTS.md"
            verdicts = check_text(file.read_text(), str(file), OPTIONS, sources)
            holding = [one.at for verdict in verdicts for one in verdict.evidence.checked if not one.fails]
            text = fix_text(file.read_text(), str(file), OPTIONS, sources).text
        finally:
            sources.close()
        file.write_text(text)
        return text, holding


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 20)), min_size=1, max_size=5))
def test_every_correction_is_true(changes: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(Path(folder))
        truth = dict(enumerate(shop.guide.split("\n"), 1))
        meant = {number: identity(shop, line) for number, line in truth.items() if CITED.match(line)}
        for step, (kind, choice) in enumerate(changes):
            shop.change(kind, choice, step)
        text, holding = shop.fixed()
        lines = dict(enumerate(text.split("\n"), 1))
        changed = [number for number in truth if lines[number] != truth[number]]
        assert not set(changed) & set(holding)
        assert {number: identity(shop, lines[number]) for number in changed} == {n: meant[n] for n in changed}
        assert shop.fixed()[0] == text


def identity(shop: Shop, line: str) -> str:
    """Return what a line of the guide cites: the text of the cited line, or which function has the name there."""
    found = CITED.match(line)
    assert found is not None
    name, path, row = found[1], found[2], int(found[3])
    lines = shop.lines(path)
    if name is None:
        return lines[row - 1]
    assert lines[row - 1] == f"def {name}(key):"
    return lines[row].split("=")[0]


def documented(shop: Shop, forms: list[str], ending: str, mark: str) -> bytes:
    """Return a guide that cites every function of a shop, in some forms."""
    cited = [(path, number) for path, numbers in FILES.items() for number in numbers]
    rows = []
    for at, (path, number) in enumerate(cited):
        line = shop.line_of(path, number)
        form = forms[at % len(forms)]
        words = form.format(name=f"load_part_{number}", path=path, line=line, last=line + 2)
        rows += ["| name | place | rank |", "|---|---|---|", words, ""] if form.startswith("|") else [words, ""]
    text = ending.join(["# For assistants", "", "The shop has 3 parts in 2 folders.", "", *rows])
    return f"{mark}{text}{ending}".encode()


def verified(shop: Shop, *words: str) -> Ran:
    return run_here(shop.root, "verify", "docs/guide.md", *words)


def false_claims(shop: Shop) -> int:
    """Return how many claims of the guide are accused."""
    answer = verified(shop, "--format", "json").json
    return sum(claim["fails"] for result in answer["results"] for claim in result["claims"])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 20)), min_size=1, max_size=4),
    st.lists(st.sampled_from(FORMS), min_size=1, max_size=3),
    st.sampled_from(("\n", "\r\n")),
    st.sampled_from(("", "\ufeff")),
)
def test_corrections_are_written_once_and_change_only_claims(
    changes: list[tuple[str, int]], forms: list[str], ending: str, mark: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(Path(folder))
        before = documented(shop, forms, ending, mark)
        guide = shop.root / "docs/guide.md"
        guide.parent.mkdir()
        guide.write_bytes(before)
        commit(shop.root, "Document")
        for step, (kind, choice) in enumerate(changes):
            shop.change(kind, choice, step)
        accused = false_claims(shop)
        verified(shop, "--fix")
        assert guide.read_bytes() == before
        verified(shop, "--fix", "--write")
        after = guide.read_bytes()
        assert CLAIMED.sub("*", after.decode()) == CLAIMED.sub("*", before.decode())
        assert false_claims(shop) <= accused
        verified(shop, "--fix", "--write")
        assert guide.read_bytes() == after
