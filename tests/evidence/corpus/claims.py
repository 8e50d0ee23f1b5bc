"""Documents with claims about a real tree, each labelled with its expected outcome.

Every label is known by construction, or from a plain search of the copied files; similarity is computed with
rapidfuzz directly. The same seed gives the same documents for the same interpreter.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from corpus.stdlib import Source, Tree
from rapidfuzz.distance import Indel


class Label(NamedTuple):
    """The expected outcome of one claim; `found` is None for nothing and `...` for any location."""

    location: tuple[str, int | None, int | None]
    outcome: str
    found: object = None


class Claim(NamedTuple):
    """A part of a document, with the labels of its references and quotes."""

    kind: str
    text: str
    references: tuple[Label, ...] = ()
    quotes: tuple[Label, ...] = ()


# --- References

#: Forms of a reference to one line.
LINE_FORMS = (
    "`{p}:{a}`",
    "{p}:{a}",
    "the check in {p}:{a} is missing",
    "({p}:{a})",
    "**{p}:{a}**",
    "{p}:{a}:5",
    "{p}#L{a}",
    "`{p}`#L{a}",
    "{p}:L{a}",
    "`{p}`:{a}",
    "{p}({a})",
    "{p}({a},5)",
    "{p}, line {a}",
    "{p} line {a}",
    "{p} L{a}",
    "{p} (line {a})",
    "{p} - line {a}",
    "`{p}` at line {a}",
    "`{p}` around line {a}",
    "line {a} of {p}",
    "on line {a} in `{p}`",
    'File "{p}", line {a}, in run',
    "[here]({p}#L{a})",
    "[line {a}]({p})",
    "[x:{a}]({p}#L{a})",
    "{p} の{a}行目",
    "`{p}` の{a}行目",
    "{p} 第{a}行",
    "`{p}` 的第 {a} 行",
    "./{p}:{a}",
    "{p}:{a}: error: something is wrong",
    "**File**: `{p}`, **Line**: {a}",
    "::error file={p},line={a}::unused",
)
RANGE_FORMS = (
    "`{p}:{a}-{b}`",
    "{p}:{a}–{b}",
    "{p}:{a}—{b}",
    "{p}#L{a}-L{b}",
    "{p}#L{a}-{b}",
    "{p}:L{a}-L{b}",
    "{p}, lines {a}-{b}",
    "{p} (lines {a}–{b})",
    "lines {a} to {b} of `{p}`",
    "`{p}:{a}`–`{b}`",
    "{p}:{a}:1-{b}:9",
    "{p} の{a}〜{b}行目",
    "`{p}` 第{a}-{b}行",
    "[here]({p}#L{a}-L{b})",
)
LIST_FORMS = (
    "{p}:{a},{b}",
    "`{p}:{a}` and `:{b}`",
    "{p}, lines {a} and {b}",
    "`{p}:{a}, {b}`",
    "{p} の{a}行目と{b}行目",
)
#: Forms for names with spaces, which need no slash or ending.
TICKED = tuple(form for form in (*LINE_FORMS, *RANGE_FORMS) if form.startswith("`{p}"))

#: The contexts of a reference.
FRAMES: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"- {text}",
    lambda text: f"1. Then {text}",
    lambda text: f"> {text}",
    lambda text: f"##### {text}",
    lambda text: f"| Item | Note |\n|---|---|\n| a | {text} |",
    lambda text: f"| Item | Location |\n|---|---|\n| a | {text} |",
)

DECOYS = (
    "It listens on localhost:8080 and talks to redis:6379.",
    "Run `docker run acme/shop:12` with node:20.",
    "See https://example.com/lib/{name}:12 for more.",
    "At 10:15:30, with a ratio of 3:1, in std::vector.",
    "The file {path} as a whole, and line 12 of something.",
    "example.com:443, python:3.12 and timeout:30",
    "```\n{path}:999999 in a fence\n```",
)


def references(tree: Tree, random_: random.Random) -> Iterator[Claim]:
    """Yield correct and wrong references of every kind."""
    for file in _picked(tree, random_, 4):
        yield from _right(file, random_)
        yield from _out_of_range(file, random_)
        yield from _nowhere(tree, file, random_)
        yield from _symbols(file, random_)
    for decoy in DECOYS * 5:
        file = random_.choice([file for file in tree.files if " " not in file.path])
        yield Claim("decoy", decoy.format(path=file.path, name=file.path.rsplit("/", 1)[-1]))


def _picked(tree: Tree, random_: random.Random, times: int) -> list[Source]:
    files = [file for file in tree.files for _ in range(times)]
    random_.shuffle(files)
    return files


def _framed(text: str, random_: random.Random) -> str:
    frame = random_.choice(FRAMES)
    return frame(text.replace("|", "\\|"))


def _right(file: Source, random_: random.Random) -> Iterator[Claim]:
    line = random_.randint(1, len(file.lines) - 1)
    last = random_.randint(line + 1, len(file.lines))
    spaced = " " in file.path
    form = random_.choice([form for form in TICKED if "{b}" not in form] if spaced else LINE_FORMS)
    yield _reference("a line", form, file.path, line, None, random_)
    form = random_.choice([form for form in TICKED if "{b}" in form] if spaced else RANGE_FORMS)
    yield _reference("a range", form, file.path, line, last, random_)
    if not spaced:
        text = random_.choice(LIST_FORMS).format(p=file.path, a=line, b=last)
        labels = (Label((file.path, line, None), "exists"), Label((file.path, last, None), "exists"))
        yield Claim("a list", _framed(text, random_), labels)
    table = f"| Item | File |\n|---|---|\n| a | `{file.path}` |"
    yield Claim("a bare path", table, (Label((file.path, None, None), "exists"),))


def _reference(kind: str, form: str, path: str, line: int, last: int | None, random_: random.Random) -> Claim:
    text = form.format(p=path, a=line, b=last)
    return Claim(kind, _framed(text, random_), (Label((path, line, last), "exists"),))


def _out_of_range(file: Source, random_: random.Random) -> Iterator[Claim]:
    count = len(file.lines)
    if " " in file.path:
        return
    form = random_.choice(LINE_FORMS)
    for line in (count + random_.choice((1, 2, 100, 10_000)), 0):
        label = Label((file.path, line, None), "out-of-range")
        yield Claim("past the end" if line else "line 0", _framed(form.format(p=file.path, a=line), random_), (label,))
    form = random_.choice(RANGE_FORMS)
    line = random_.randint(2, count)
    label = Label((file.path, line, count + 3), "out-of-range")
    yield Claim("an end past the end", _framed(form.format(p=file.path, a=line, b=count + 3), random_), (label,))
    label = Label((file.path, line, line - 1), "out-of-range")
    yield Claim("a reversed range", _framed(form.format(p=file.path, a=line, b=line - 1), random_), (label,))


def _nowhere(tree: Tree, file: Source, random_: random.Random) -> Iterator[Claim]:
    count = len(file.lines)
    line = random_.randint(1, count)
    form = random_.choice(LINE_FORMS)
    folder, name = file.path.rsplit("/", 1) if "/" in file.path else ("", file.path)
    invented = f"{random_.choice(tree.folders)}/zq{random_.randint(1000, 9999)}_xkcd.py"
    yield _wrong("an invented path", form, invented, line, "missing-file", ..., random_)
    if " " in file.path or "." not in name:
        return
    namesakes = [other for other in tree.files if other.path.rsplit("/", 1)[-1].lower() == name.lower()]
    if len(namesakes) == 1:
        yield _wrong("a wrong folder", form, f"wrong/{name}", line, "missing-file", (file.path, line), random_)
    cased = f"{folder}/{name.capitalize() if name != name.capitalize() else name.lower()}".lstrip("/")
    if cased != file.path and len(namesakes) == 1:
        yield _wrong("a wrong case", form, cased, line, "missing-file", (file.path, line), random_)
    yield _wrong("a folder", form, folder, line, "missing-file", ..., random_, only_slash=True)
    outside = random_.choice((f"../{file.path}", f"/elsewhere/zq_{name}", f"~/zq_{name}", f".git/{name}"))
    yield _wrong("outside", form, outside, line, "outside", None, random_)
    if folder and not form.startswith("./"):
        foreign = form.format(p=f"/home/me/work/{file.path}", a=line)
        own = random.Random(line)
        yield Claim(
            "a foreign root", _framed(foreign, own), (Label((f"/home/me/work/{file.path}", line, None), "exists"),)
        )


def _wrong(
    kind: str,
    form: str,
    path: str,
    line: int,
    outcome: str,
    found: object,
    random_: random.Random,
    *,
    only_slash: bool = False,
) -> Claim:
    if only_slash and "/" not in path:
        return Claim("decoy", "nothing at all")
    form = "`{p}:{a}`" if "." not in path.rsplit("/", 1)[-1] or form.startswith("./") else form
    return Claim(kind, _framed(form.format(p=path, a=line), random_), (Label((path, line, None), outcome, found),))


def _symbols(file: Source, random_: random.Random) -> Iterator[Claim]:
    if not file.definitions or " " in file.path:
        return
    count = len(file.lines)
    name, line = random_.choice(sorted(file.definitions.items()))
    shapes = ["{p}:{a} (`{s}()`)", "| Function | File:Line |\n|---|---|\n| `{s}()` | {p}:{a} |"]
    if re.fullmatch(r"[A-Za-z]{3,}(?:_[a-z]+)+|[a-z]+[A-Z]\w+", name):  # written like a name
        shapes += ["`{p}:{a}` ({s})", "{p}#L{a} ({s})"]
    shape = random_.choice(shapes)
    near = min(count, max(1, line + random_.randint(-5, 5)))
    yield _symbol("a symbol in reach", shape, file, near, name, "verified", None)
    uses = file.lines_with(name)
    body = range(line, file.ends[name] + 1)
    far = [n for n in range(2, count + 1) if n not in body and all(abs(n - use) > 5 for use in uses)]
    if far:
        yield _symbol("a moved symbol", shape, file, random_.choice(far), name, "relocated", (file.path, line))
        yield _symbol("a symbol past the end", shape, file, count + 50, name, "relocated", (file.path, line))
    ghost = f"ghost_{random_.randint(1000, 9999)}"
    yield _symbol("a symbol that is nowhere", shape, file, line, ghost, "mismatch", None)


def _symbol(kind: str, shape: str, file: Source, line: int, name: str, outcome: str, found: object) -> Claim:
    near_the_end = kind == "a symbol past the end" and any(use > len(file.lines) - 6 for use in file.lines_with(name))
    expected = ... if near_the_end else found
    label = Label((file.path, line, None), outcome, expected)
    return Claim(kind, shape.format(p=file.path, a=line, s=name), (label,))


# --- Quotes

_MARKUP = re.compile(
    r"^\s*(?:`{3}|~{3}|\.{3}|#!|[-+] |\d|[>*]\s*\d|[Ll]\d|--- |\+\+\+ |@@ |diff )|`|…|⋮|\[\.\.\.|\(\.\.\."
)
_WORD = re.compile(r"[A-Za-z_]{3,}")


class Run(NamedTuple):
    """Lines of a file that occur only there."""

    file: Source
    first: int
    last: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def runs(tree: Tree, random_: random.Random) -> Iterator[Run]:
    """Yield an endless sequence of lines that can be quoted."""
    while True:
        file = random_.choice(tree.files)
        height = random_.choice((1, 1, 2, 3, 4, 6, 9, 14, 25))
        first = random_.randint(1, max(1, len(file.lines) - height))
        lines = file.lines[first - 1 : first + height - 1]
        text = "\n".join(lines)
        plain = lines and lines[0].strip() and lines[-1].strip() and not any(_MARKUP.search(line) for line in lines)
        comment = lines and lines[0].strip().startswith(("#", "//", "--", '"', "'", ";", "%", "/*", "<"))
        heavy = sum(not mark.isspace() for mark in text) >= 10
        if plain and not comment and heavy and tree.has_once(text) and text[-1:].isascii() and " " not in file.path:
            yield Run(file, first, first + len(lines) - 1, lines)


def is_near(text: str, file: Source, first: int, last: int, min_similarity: float = 0.9) -> bool:
    """Return whether lines near a location are similar to a text."""
    wanted = " ".join(text.split())
    height = len([line for line in text.split("\n") if line.strip()])
    filled = [(n, " ".join(line.split())) for n, line in enumerate(file.lines, 1) if line.strip()]
    for at in range(len(filled)):
        if not first - 6 - 3 * height <= filled[at][0] <= last + 6:
            continue
        for size in (height - 1, height, height + 1):
            candidate = " ".join(line for _, line in filled[at : at + size])
            if size and Indel.normalized_similarity(wanted, candidate) >= min_similarity - 0.02:
                return True
    return False


class Placing(NamedTuple):
    """A way to state the location of a quote, and whether the fence contains it."""

    name: str
    write: Callable[[str, str], str]
    fits: Callable[[str], bool] = lambda text: True


def _fence(text: str, info: str = "python") -> str:
    return f"```{info}\n{text}\n```"


PLACINGS = (
    Placing("info string", lambda location, text: _fence(text, f"python {location}")),
    Placing("info string, quoted", lambda location, text: _fence(text, f'py title="{location}"')),
    Placing("comment", lambda location, text: _fence(f"# {location}\n{text}")),
    Placing("comment with words", lambda location, text: _fence(f"// {location} - nobody checks this\n{text}", "ts")),
    Placing("comment in marks", lambda location, text: _fence(f"/* {location} */\n{text}", "c")),
    Placing("line above", lambda location, text: f"Look at `{location}`:\n{_fence(text)}"),
    Placing("line above, blank between", lambda location, text: f"- nobody checks {location}\n\n{_fence(text, '')}"),
    Placing(
        "list entry",
        lambda location, text: f"- {location}\n" + "\n".join(f"  {row}" for row in _fence(text).split("\n")),
    ),
    Placing(
        "Code match",
        lambda location, text: f"Found in {location}\n- Code match: `{text.strip()}`",
        lambda text: "\n" not in text,
    ),
)


def _location(file: Source, first: int, last: int | None = None) -> str:
    return f"{file.path}:{first}" + (f"-{last}" if last is not None else "")


def _quote(
    kind: str,
    random_: random.Random,
    text: str,
    location: tuple[str, int, int | None],
    outcome: str,
    found: object = None,
    *,
    of_reference: str = "",
) -> Claim:
    path, line, last = location
    placing = random_.choice([placing for placing in PLACINGS if placing.fits(text)])
    written = placing.write(f"{path}:{line}" + (f"-{last}" if last is not None else ""), text)
    references = (Label(location, of_reference or outcome, found),)
    return Claim(kind, written, references, (Label(location, outcome, found),))


def _typo(text: str, random_: random.Random) -> str:
    """Change one letter of a name outside comments."""
    code = (
        found for found in _WORD.finditer(text) if "#" not in text[text.rfind("\n", 0, found.start()) + 1 : found.end()]
    )
    words = [found for found in code if len(found.group()) > 3]
    if not words:
        return text
    word = random_.choice(words)
    at = random_.randint(word.start() + 1, word.end() - 2)
    letter = random_.choice([letter for letter in "qxzjk" if letter != text[at].lower()])
    return text[:at] + letter + text[at + 1 :]


def _altered(text: str, random_: random.Random) -> str:
    return _WORD.sub(lambda word: f"zq{random_.randint(100, 999)}" if random_.random() < 0.7 else word.group(), text)


NUMBERINGS: tuple[Callable[[int, str], str], ...] = (
    lambda number, line: f"{number} | {line}",
    lambda number, line: f"{number}: {line}",
    lambda number, line: f"{number:>6}\t{line}",
    lambda number, line: f"{number:>5}→{line}",
    lambda number, line: f"{number:>4} │ {line}",
    lambda number, line: f"L{number}: {line}",
)
ELLIPSES = ("...", "    # ...", "# ... existing code ...", "    …", "[...]", "// ...", "    ... (more) ...")


def quotes(tree: Tree, random_: random.Random, each: int) -> Iterator[Claim]:
    """Yield `each` quotes of every kind."""
    source = runs(tree, random_)
    for make in (
        _exact,
        _spaced,
        _off,
        _moved,
        _other_file,
        _misprint,
        _wrong_quote,
        _elided,
        _numbered,
        _diff,
        _no_place,
    ):
        count = 0
        while count < each:
            claim = make(tree, next(source), random_)
            if claim is not None:
                count += 1
                yield claim


def _exact(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    last = random_.choice((None, run.last))
    line = run.first if last else random_.randint(run.first, run.last)
    return _quote("exact", random_, run.text, (run.file.path, line, last), "verified")


def _spaced(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    change: Callable[[str], str] = random_.choice(
        (
            lambda line: "    " + line,
            lambda line: line.lstrip(),
            lambda line: line.replace("    ", "\t"),
            lambda line: line.replace(" ", "  "),
            lambda line: line + "   ",
            lambda line: line + "\n" if line.strip() else line,
        )
    )
    text = "\n".join(change(line) for line in run.lines)
    return _quote("white space changed", random_, text, (run.file.path, run.first, None), "verified")


def _off(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    off = random_.randint(1, 5)
    line = random_.choice((run.first - off, run.last + off))
    if not 1 <= line <= len(run.file.lines):
        return None
    location = (run.file.path, line, None)
    return _quote("1 to 5 lines off", random_, run.text, location, "verified", (run.file.path, run.first))


def _moved(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    line = random_.randint(1, len(run.file.lines) + 20)
    if run.first - 6 < line < run.last + 6 or is_near(run.text, run.file, line, line):
        return None
    location = (run.file.path, line, None)
    return _quote("moved in the file", random_, run.text, location, "relocated", (run.file.path, run.first))


def _other_file(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    other = random_.choice([file for file in tree.files if file is not run.file and " " not in file.path])
    line = random_.randint(1, len(other.lines))
    if is_near(run.text, other, line, line):
        return None
    location = (other.path, line, None)
    return _quote("moved to another file", random_, run.text, location, "relocated", (run.file.path, run.first))


def _misprint(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    text = _typo(run.text, random_)
    alike = Indel.normalized_similarity(" ".join(text.split()), " ".join(run.text.split()))
    if alike < 0.9 or tree.holders(text):
        return None
    return _quote("a misprint", random_, text, (run.file.path, run.first, run.last), "mismatch", ...)


def _wrong_quote(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    text = _altered(run.text, random_)
    if tree.holders(text) or is_near(text, run.file, run.first, run.last):
        return None
    if sum(not mark.isspace() for mark in text) < 10 or len(_WORD.findall(text)) < 2:
        return None
    return _quote("altered", random_, text, (run.file.path, run.first, run.last), "mismatch", ...)


def _elided(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    filled = [at for at, line in enumerate(run.lines) if line.strip()]
    if len(filled) < 5:
        return None
    begin, end = filled[1], filled[-2]
    text = "\n".join([*run.lines[: begin + 1], random_.choice(ELLIPSES), *run.lines[end:]])
    return _quote("an ellipsis", random_, text, (run.file.path, run.first, None), "verified")


def _numbered(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    number = random_.choice(NUMBERINGS)
    text = "\n".join(number(at, line) for at, line in enumerate(run.lines, run.first))
    if "\t" in text and text != text.strip():
        text = text.rstrip()
    claim = _quote("line numbers", random_, text, (run.file.path, run.first, None), "verified")
    return None if "Code match" in claim.text else claim


def _diff(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    if len(run.lines) < 2:
        return None
    at = random_.randrange(len(run.lines))
    old = [("-" if index == at else " ") + line for index, line in enumerate(run.lines)]
    added = "+    something_else_entirely()"
    text = "\n".join([*old[: at + 1], added, *old[at + 1 :]])
    if random_.random() < 0.4:
        text = f"@@ -{run.first},{len(run.lines)} +{run.first},{len(run.lines)} @@\n{text}"
    return _quote("a diff", random_, text, (run.file.path, run.first, None), "verified")


def _no_place(tree: Tree, run: Run, random_: random.Random) -> Claim | None:
    if random_.random() < 0.5:
        path = f"lib/zq{random_.randint(1000, 9999)}_xkcd.py"
        location, outcome = (path, run.first, None), "missing-file"
    else:
        location, outcome = (run.file.path, len(run.file.lines) + random_.randint(1, 400), None), "relocated"
    kind = "from a file that is not there" if outcome == "missing-file" else "at a line that is not there"
    return _quote(kind, random_, run.text, location, outcome, (run.file.path, run.first))


def findings(tree: Tree, random_: random.Random, count: int) -> tuple[str, list[Label], list[Label]]:
    """Return a review: rows with locations, and details that quote code under their IDs only."""
    source = runs(tree, random_)
    rows, details, references, quoted = [], [], [], []
    while len(rows) < count:
        claim = random_.choice((_exact, _moved, _wrong_quote, _elided))(tree, next(source), random_)
        run = next(source)
        if claim is None or "```" not in claim.text:
            continue
        (label,) = claim.quotes
        path, line, last = label.location
        text = claim.text.split("```", 1)[1].split("\n", 1)[1].rsplit("\n```", 1)[0]
        if claim.text.count("```") != 2 or not claim.text.startswith(("Look at", "- nobody")):
            continue
        name = f"SEC-{len(rows) + 1:03d}"
        location = f"{path}:{line}" + (f"-{last}" if last is not None else "")
        rows.append(f"| {name} | something | `{location}` | Minor | 80 |")
        fix = f"\n**Fix**:\n{_fence(_altered(run.text, random_))}\n" if random_.random() < 0.5 else ""
        details.append(f"**{name}: something**\n\n{_fence(text)}\n**Risk**: none\n{fix}")
        references.extend(claim.references)
        quoted.append(label)
    table = "| ID | Issue | File:Line | Severity | Confidence |\n|---|---|---|---|---|\n" + "\n".join(rows)
    return f"#### Issues Detected\n{table}\n\n#### Issue Details\n\n" + "\n".join(details), references, quoted
