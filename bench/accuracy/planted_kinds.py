"""The kinds of lies that are planted: wrong places, paths, names, quotes, commands and tests.

Each function returns a statement, true and as a lie, or None if the checkout has nothing of the kind. A lie is a real
one: an invented file or name is nowhere in the checkout.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cases import PLACE_FORMS, SENTENCES, PlaceForm, Plant
from checkout_facts import Checkout, Source
from layouts import NAME_FORMS, name_plant
from quote_lies import ALTERATIONS, quote_plant, relocated_plant, unlined_plant

_ATTEMPTS = 60
Generator = Callable[[Checkout, random.Random], Plant | None]


class Place(NamedTuple):
    """A cited path with its lines."""

    path: str
    first: int
    last: int | None = None


Wrong = Callable[[Checkout, random.Random, Source, Place], Place | None]


def _place_plant(
    checkout: Checkout,
    chance: random.Random,
    *,
    wrong: Wrong,
    is_range: bool = False,
    is_strong: bool = False,
    forms: tuple[str, ...] = tuple(PLACE_FORMS),
) -> Plant | None:
    """Return a true place in a random form and sentence, and the wrong place in the same."""
    for _ in range(_ATTEMPTS):
        source = checkout.source(chance)
        first = chance.randint(1, len(source.lines) - 6)
        true = Place(source.path, first, first + chance.randint(1, 5) if is_range else None)
        lie = wrong(checkout, chance, source, true)
        if lie is None:
            continue
        name = chance.choice(forms)
        form = PLACE_FORMS[name]
        if not form.fits(true.path) or not form.fits(lie.path) or (is_range and not form.range):
            continue
        sentence = chance.choice([key for key in SENTENCES if key != "aside" or name != "brackets"])
        lines, false = (_write(sentence, form, place) for place in (true, lie))
        has_folder = "/" in lie.path
        return Plant(
            "reference",
            name,
            lines,
            false,
            is_strong and form.is_direct and has_folder,
            marked=(len(lines) - 1, len(lines) - 1),
            cited=(true.path, true.first),
        )
    return None


def _write(sentence: str, form: PlaceForm, place: Place) -> tuple[str, ...]:
    written = form.write(place.path, place.first, place.last)
    return tuple(line.format(place=written) for line in SENTENCES[sentence])


# Wrong lines.


def _past_the_end(_: Checkout, chance: random.Random, source: Source, true: Place) -> Place:
    return true._replace(first=len(source.lines) + chance.choice((3, 9, 40, 150, 900)))


def _range_past_the_end(_: Checkout, __: random.Random, source: Source, true: Place) -> Place:
    return true._replace(last=len(source.lines) + 40)


def _line_0(_: Checkout, __: random.Random, ___: Source, true: Place) -> Place:
    return true._replace(first=0)


def _reversed(_: Checkout, __: random.Random, ___: Source, true: Place) -> Place | None:
    return None if true.last is None else Place(true.path, true.last, true.first)


# Wrong paths.


def _invented_file(checkout: Checkout, chance: random.Random, source: Source, true: Place) -> Place:
    return true._replace(path=checkout.invented_file(chance, source.path.rpartition("/")[0], source.suffix))


def _invented_folder(checkout: Checkout, chance: random.Random, source: Source, true: Place) -> Place:
    folders = [Path(checkout.invented_file(chance, "", "")).name for _ in range(2)]
    return true._replace(path=checkout.invented_file(chance, "/".join(folders), source.suffix))


def _invented_bare_name(checkout: Checkout, chance: random.Random, source: Source, true: Place) -> Place:
    return true._replace(path=checkout.invented_file(chance, "", source.suffix))


def _wrong_extension(checkout: Checkout, chance: random.Random, source: Source, true: Place) -> Place | None:
    other = chance.choice([".js", ".ts", ".py", ".go", ".rs", ".java", ".rb"])
    path = source.path.removesuffix(source.suffix) + other
    return None if other == source.suffix or checkout.has_path(Path(path).name) else true._replace(path=path)


def _wrong_case(checkout: Checkout, chance: random.Random, source: Source, true: Place) -> Place | None:
    folder, slash, name = source.path.rpartition("/")
    changed = name[0].swapcase() + name[1:] if chance.random() < 0.7 else name.upper()
    path = folder + slash + changed
    return None if changed == name or path in checkout.paths else true._replace(path=path)


def _outside(checkout: Checkout, chance: random.Random, source: Source, true: Place) -> Place:
    above = "../" * chance.choice((3, 4))
    return true._replace(path=above + _invented_folder(checkout, chance, source, true).path)


def _folder_with_line(_: Checkout, __: random.Random, source: Source, true: Place) -> Place | None:
    folder = source.path.rpartition("/")[0]
    return true._replace(path=folder) if "/" in folder else None


_DIRECT = tuple(name for name, form in PLACE_FORMS.items() if form.is_direct)


def _abbreviated(checkout: Checkout, chance: random.Random, kind: str) -> Plant | None:
    """Return the end of a path with a line; wrong is its last part, or the line."""
    for _ in range(_ATTEMPTS):
        source = checkout.source(chance)
        parts = source.path.split("/")
        if len(parts) < 3:
            continue
        # The folder of an invented file has to be a folder that exists at the end of some path.
        kept = parts[-1:] if kind == "bare" else parts[-chance.randint(2, len(parts) - 1) :]
        path = "/".join(kept)
        if not checkout.is_only(path):
            continue
        first = chance.randint(1, len(source.lines))
        dots = chance.choice(("", "", ".../", "…/")) if kind == "file" else ""
        wrong = path, len(source.lines) + 75
        if kind == "file":
            wrong = checkout.invented_file(chance, "/".join(kept[:-1]), source.suffix), first
        sentence = SENTENCES[chance.choice(("prose", "bullet", "table", "aside"))]
        true, lie = (
            tuple(line.format(place=f"`{dots}{name}:{number}`") for line in sentence)
            for name, number in ((path, first), wrong)
        )
        marked = (len(true) - 1, len(true) - 1)
        return Plant("reference", "marked", true, lie, marked=marked, cited=(source.path, first))
    return None


_PATH_SENTENCES = (
    ("The handlers are in `{path}`, with their tests next to them.",),
    ("- `{path}`: reads the settings",),
    ("| File | Purpose |", "|---|---|", "| `{path}` | Reads the settings |"),
    ("| Part | Location |", "|---|---|", "| Settings | {path} |"),
)


def _path_without_line(checkout: Checkout, chance: random.Random) -> Plant | None:
    source = checkout.source(chance)
    folder = source.path.rpartition("/")[0]
    if not folder:
        return None if all("/" not in path for path in checkout.sources) else _path_without_line(checkout, chance)
    wrong = checkout.invented_file(chance, folder, source.suffix)
    sentence = chance.choice(_PATH_SENTENCES)
    true, lie = (tuple(line.format(path=path) for line in sentence) for path in (source.path, wrong))
    return Plant("reference", "path", true, lie, marked=(len(true) - 1, len(true) - 1))


def _link_without_line(checkout: Checkout, chance: random.Random) -> Plant | None:
    source = checkout.source(chance)
    wrong = checkout.invented_file(chance, source.path.rpartition("/")[0], source.suffix)
    sentence = chance.choice(("Read [the settings]({path}) first.", "- [Settings]({path}): what can be changed"))
    true, lie = ((sentence.format(path=path),) for path in (source.path, wrong))
    return Plant("reference", "link", true, lie)


#: A line whose file is named elsewhere; the last line of each has the claim.
CARRIED = {
    "in the sentence": ("In `{path}` the check comes too late (line {line}).",),
    "L12": ("- `{path}` — reads the value twice (L{line})",),
    "lines in the sentence": ("`{path}` reads the value twice, see lines {line}-{end}.",),
    "bullet below": ("- `{path}`", "  - line {line}: the value is read twice"),
    "heading above": ("### `{path}`", "", "- Line {line}: the value is read twice"),
    "second place": ("The value is read at `{path}:1` and again at `:{line}`.",),
    "column": ("| File | Lines | Problem |", "|---|---|---|", "| `{path}` | {line}-{end} | Read twice |"),
    "column, one line": ("| File | Line | Problem |", "|---|---|---|", "| `{path}` | {line} | Read twice |"),
    "list": ("- `{path}:1, {line}`: the value is read twice",),
}


def _carried(checkout: Checkout, chance: random.Random, form: str | None = None) -> Plant | None:
    source = checkout.source(chance)
    name = form or chance.choice(list(CARRIED))
    first = chance.randint(2, len(source.lines) - 4)
    past = len(source.lines) + chance.choice((12, 90, 800))
    true, lie = (
        tuple(line.format(path=source.path, line=number, end=number + 3) for line in CARRIED[name])
        for number in (first, past)
    )
    return Plant("reference", name, true, lie, marked=(len(true) - 1, len(true) - 1), cited=(source.path, first))


# Names.


def _name(checkout: Checkout, chance: random.Random, lie: str) -> Plant | None:
    return name_plant(checkout, chance, chance.choice(list(NAME_FORMS)), lie)


_NAMES_WITHOUT_LINE = (
    "`{name}` is defined in `{path}`.",
    "The class or function `{name}` in `{path}` is the entry.",
    "`{path}` defines `{name}`.",
)


def _name_without_line(checkout: Checkout, chance: random.Random) -> Plant | None:
    definition = chance.choice([entry for entry in checkout.definitions if "/" in entry.path])
    wrong = checkout.invented_word(chance, Path(definition.path).suffix)
    sentence = chance.choice(_NAMES_WITHOUT_LINE)
    true, lie = ((sentence.format(name=name, path=definition.path),) for name in (definition.name, wrong))
    return Plant("name", sentence, true, lie)


# Commands and tests.

_COMMAND_SENTENCES = (
    ("Run `{command}` before each commit.",),
    ("- `{command}`: checks everything",),
    ("One command checks everything:", "", "```bash", "{command}", "```"),
    ("One command checks everything:", "", "```console", "$ {command}", "```"),
)


def _command(checkout: Checkout, chance: random.Random) -> Plant | None:
    if not checkout.commands:
        return None
    runner, name = chance.choice(checkout.commands)
    invented = checkout.invented_file(chance, "", "")
    wrong = f"{name}.{invented.replace('-', '_')}" if runner == "python -m" else invented.replace("_", "-")
    sentence = chance.choice(_COMMAND_SENTENCES)
    true, lie = (tuple(line.format(command=f"{runner} {target}") for line in sentence) for target in (name, wrong))
    return Plant("command", runner, true, lie)


def _test(checkout: Checkout, chance: random.Random) -> Plant | None:
    sentence = chance.choice(("This is covered by `{test}`.", "- `{test}` fails without the check"))
    if checkout.pytest_tests:
        path, name = chance.choice(checkout.pytest_tests)
        tests = (f"{path}::{name}", f"{path}::test_{checkout.invented_word(chance, '.py')}")
    elif checkout.class_tests:
        owner, name = chance.choice(checkout.class_tests)
        tests = (f"{owner}#{name}", f"{owner}#{checkout.invented_word(chance, '.java')}")
    else:
        return None
    true, lie = ((sentence.format(test=test),) for test in tests)
    return Plant("test", "ID", true, lie)


def _reference_kinds() -> dict[str, Generator]:
    place = partial(partial, _place_plant)
    return {
        "line past the end": place(wrong=_past_the_end, is_strong=True),
        "range past the end": place(wrong=_range_past_the_end, is_range=True, is_strong=True),
        "line 0": place(wrong=_line_0),
        "reversed range": place(wrong=_reversed, is_range=True),
        "past the end, bare name": partial(_abbreviated, kind="bare"),
        "past the end, file named elsewhere": _carried,
        "invented file": place(wrong=_invented_file, is_strong=True),
        "invented folder": place(wrong=_invented_folder),
        "invented bare name": place(wrong=_invented_bare_name),
        "invented file, abbreviated": partial(_abbreviated, kind="file"),
        "invented path without a line": _path_without_line,
        "link to an invented file": _link_without_line,
        "wrong extension": place(wrong=_wrong_extension, is_strong=True),
        "wrong case": place(wrong=_wrong_case),
        "outside": place(wrong=_outside, forms=("marked", "plain", "hash", "bold", "line of")),
        "folder with a line": place(wrong=_folder_with_line, forms=_DIRECT),
    }


KINDS: dict[str, Generator] = {
    **_reference_kinds(),
    **{lie: partial(_name, lie=lie) for lie in ("invented name", "name of another file", "name far away")},
    "invented name, no line": _name_without_line,
    **{f"quote: {kind}": partial(quote_plant, kind=kind) for kind in ALTERATIONS},
    "quote: other place of the file": relocated_plant,
    "quote: path without a line": unlined_plant,
    "invented command": _command,
    "invented test": _test,
}


# True places, to measure how many are read.


def _true_place(checkout: Checkout, chance: random.Random, form: str) -> Plant | None:
    plant = _place_plant(checkout, chance, wrong=_past_the_end, forms=(form,))
    if plant is None or not PLACE_FORMS[form].range or chance.random() < 0.5:
        return plant
    return _place_plant(checkout, chance, wrong=_reversed, is_range=True, forms=(form,))


PLACES: dict[str, Generator] = {
    **{form: partial(_true_place, form=form) for form in PLACE_FORMS},
    **{f"file named elsewhere: {form}": partial(_carried, form=form) for form in CARRIED},
    "abbreviated": partial(_abbreviated, kind="file"),
    "bare name": partial(_abbreviated, kind="bare"),
}
