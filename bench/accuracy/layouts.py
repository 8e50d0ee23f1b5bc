"""Invented findings in the layouts that people and agents use, and names next to places in natural forms.

A layout is a page of text. `@` marks the first column of the lines of the finding that is planted; the other findings
of the page are true. Every invented finding has the same page with a true finding as its counter-case.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import NamedTuple

from cases import Plant, language
from checkout_facts import Checkout, Definition, Excerpt

_ATTEMPTS = 60
#: A name is near a place up to this many lines away.
_REACH = 5
#: A name that is at another place of the file is at least this far away.
_FAR = 40
#: The same in a checkout whose files are short.
_FAR_IN_SHORT_FILES = 14


class Layout(NamedTuple):
    """A page with `{place}`, `{name}`, `{path}`, `{first}`, `{code}`, and `{other}` for the place of a true finding."""

    page: str
    #: Which parts of a finding the page shows: the lies that can be planted in it.
    has_code: bool = False
    has_name: bool = False


LAYOUTS = {
    "prose": Layout(
        """# What I found

The first problem is small. {other} reads the value twice, which is slow but harmless.

@The second one is serious: `{name}` in `{place}` ignores the result of the call, so that a failure stays unnoticed.
""",
        has_name=True,
    ),
    "table": Layout(
        """## Findings

| # | File:Line | Severity | Problem |
|---|-----------|----------|---------|
| 1 | {other} | Low | The value is read twice |
@| 2 | `{place}` | High | The result of the call is ignored |
"""
    ),
    "table with names": Layout(
        """| Function | Location | Severity | Problem |
|---|---|---|---|
@| `{name}` | `{place}` | High | The result of the call is ignored |
""",
        has_name=True,
    ),
    "bullets": Layout(
        """## Issues

- **Low** - {other} - the value is read twice
@- **High** - `{place}` (`{name}`) - the result of the call is ignored
- No other problems in this area
""",
        has_name=True,
    ),
    "labels": Layout(
        """### 1. Ignored result

@**File:** `{place}`
@**Severity:** High
@**Problem:** The result of the call is ignored.

@```{language}
@{code}
@```

**Impact:** A failure stays unnoticed.
""",
        has_code=True,
    ),
    "labels with blank lines": Layout(
        """### [HIGH] Ignored result

@**Location:** `{place}`

@**Severity:** High

@**Problem:** The result of the call is ignored, so that a failure stays unnoticed.

@**Current code:**

@```{language}
@{code}
@```
""",
        has_code=True,
    ),
    "labels in a list": Layout(
        """#### SEC-3 Ignored result

@- **File**: `{path}`
@- **Line**: {first}
@- **Severity**: High
- **Description**: The result of the call is ignored.
"""
    ),
    "numbered list": Layout(
        """1. **Slow path**
   - File: {other}
   - Impact: low
2. **Ignored result**
@   - File: `{place}`
   - Impact: a failure stays unnoticed
   - Code:

@     ```{language}
@     {code}
@     ```
""",
        has_code=True,
    ),
    "fixed in": Layout(
        """## Summary of changes

@- Fixed in `{place}`: the result of the call is checked now
- The slow path ({other}) was left as it is
"""
    ),
    "fixed in, with a name": Layout(
        """I fixed the three problems of the report.

@1. `{name}` (`{place}`) now returns early
2. {other} is unchanged
""",
        has_name=True,
    ),
    "plan": Layout(
        """# Implementation plan

### Task 2: Check the result

**Files:**
@- Modify: `{place}`
- Read: {other}

**Step 1:** Read the tests.
"""
    ),
    "plan, steps": Layout(
        """## Phase 1

1. Read {other} to see how errors travel
@2. Change the check at `{place}`
3. Run the tests
"""
    ),
    "German": Layout(
        """# Prüfbericht

| Nr. | Datei:Zeile | Schwere | Problem |
|---|---|---|---|
| 1 | {other} | niedrig | Der Wert wird zweimal gelesen |

@In `{place}` wird das Ergebnis des Aufrufs ignoriert, ein Fehler bleibt unbemerkt.
"""
    ),
    "German with labels": Layout(
        """### 2. Ergebnis wird ignoriert

@**Datei:** `{place}`
@**Schweregrad:** Hoch
@**Problem:** Das Ergebnis des Aufrufs wird ignoriert.

@**Aktueller Code:**
@```{language}
@{code}
@```
""",
        has_code=True,
    ),
    "Chinese": Layout(
        """## 审查结果

- {other}：读取了两次，影响较小
@- `{place}`：忽略了调用的返回值，错误不会被发现
"""
    ),
    "Chinese with labels": Layout(
        """### 2. 忽略返回值

@**位置**：`{place}`
@**严重程度**：高
@**问题**：忽略了调用的返回值。

@**当前代码**：
@```{language}
@{code}
@```
""",
        has_code=True,
    ),
    "Japanese": Layout(
        """## 調査結果

1. {other} では値を二回読み込んでいる
@2. `{place}` で呼び出しの戻り値が無視されている
"""
    ),
    "Japanese with labels": Layout(
        """### 2. 戻り値の無視

@**位置**: `{place}`
@**重大度**: 高
@**問題**: 呼び出しの戻り値が無視されている。

@**現在のコード**:

@```{language}
@{code}
@```
""",
        has_code=True,
    ),
    "block quote": Layout(
        """The reviewer wrote:

@> `{place}`: the result of the call is ignored.
>
> Everything else looks right.

I agree with this.
"""
    ),
    "checkboxes": Layout(
        """### Review checklist

- [x] {other} reads the value once
@- [ ] `{place}` — `{name}` ignores the result of the call
""",
        has_name=True,
    ),
    "heading with the location": Layout(
        """## Findings

@### 1. `{place}` — Ignored result

@**Severity:** High

@```{language}
@{code}
@```

The caller never learns about it.
""",
        has_code=True,
    ),
    "heading with a plain location": Layout(
        """@### 1. {place} - Ignored result

The result of the call is ignored. **Severity:** high
"""
    ),
}

#: The lies that are planted in layouts.
LIES = ("missing file", "past the end", "invented code", "invented name")


def layout_kinds(name: str) -> list[str]:
    """Return the lies that can be planted in a layout."""
    layout = LAYOUTS[name]
    return [
        lie
        for lie in LIES
        if (lie != "invented code" or layout.has_code) and (lie != "invented name" or layout.has_name)
    ]


def layout_plant(checkout: Checkout, chance: random.Random, name: str, lie: str) -> Plant:
    """Return a page with a true finding, and the same page with an invented one."""
    layout = LAYOUTS[name]
    excerpt, definition = _finding(checkout, chance, needs_name=layout.has_name)
    source = checkout.sources[excerpt.path]
    values = {
        "path": excerpt.path,
        "first": str(excerpt.first),
        "last": str(excerpt.last),
        "name": definition.name if definition is not None else "",
        "code": "\n".join(excerpt.lines),
        "language": language(excerpt.path),
    }
    other = checkout.excerpt(chance, 1)
    values["other"] = f"`{other.path}:{other.first}`"
    wrong = dict(values)
    folder, _, _ = excerpt.path.rpartition("/")
    if lie == "missing file":
        wrong["path"] = checkout.invented_file(chance, folder, source.suffix)
    elif lie == "past the end":
        wrong["first"] = str(len(source.lines) + chance.choice((9, 40, 120, 700)))
        wrong["last"] = str(int(wrong["first"]) + len(excerpt.lines) - 1)
    elif lie == "invented code":
        lines = [checkout.invented_word(chance, source.suffix) for _ in range(2)]
        wrong["code"] = f"{lines[0]}({lines[1]}, 3)\nreturn {lines[1]}"
    else:
        wrong["name"] = checkout.invented_word(chance, source.suffix)
    true, marked = _fill(layout.page, values)
    false, _ = _fill(layout.page, wrong)
    if lie == "invented code":  # the fence is shorter or longer
        marked = _fill(layout.page, wrong)[1]
    is_direct = "{place}" in layout.page and bool(folder)
    family = {"invented code": "quote", "invented name": "name"}.get(lie, "reference")
    return Plant(family, name, true, false, is_strong=is_direct, marked=marked)  # type: ignore[arg-type]


def _finding(checkout: Checkout, chance: random.Random, *, needs_name: bool) -> tuple[Excerpt, Definition | None]:
    if not needs_name:
        return checkout.excerpt(chance, chance.choice((1, 2, 3, 5))), None
    definition = chance.choice(checkout.definitions)
    line = checkout.sources[definition.path].lines[definition.first - 1]
    return Excerpt(definition.path, definition.first, (line,)), definition


def _fill(page: str, values: dict[str, str]) -> tuple[tuple[str, ...], tuple[int, int]]:
    """Fill in a page; return its lines, and the first and the last marked line."""
    is_range = values["last"] != values["first"] and "{code}" in page
    place = f"{values['path']}:{values['first']}" + (f"-{values['last']}" if is_range else "")
    lines: list[str] = []
    marked: list[int] = []
    for template in page.rstrip("\n").split("\n"):
        text = template.removeprefix("@")
        if "{code}" in text:
            indent = text[: text.index("{")]
            filled = [indent + line for line in values["code"].split("\n")]
        else:
            filled = [text.format(place=place, **values)]
        if template.startswith("@"):
            marked += range(len(lines), len(lines) + len(filled))
        lines += filled
    return tuple(lines), (marked[0], marked[-1])


# Names next to places.

NameForm = str
#: The forms of the contract. `{plain}`: only a name that is written like one can stand without code marks.
NAME_FORMS: dict[str, NameForm] = {
    "name in place": "`{name}` in `{place}` reads the value twice.",
    "call in place": "`{name}()` in `{place}` reads the value twice.",
    "place, name in brackets": "- `{place}` (`{name}`): read twice",
    "place, plain name in brackets": "- {place} ({plain})",
    "place, dash, call": "- `{place}` — `{name}()` reads the value twice",
    "name, place in brackets": "The value is read twice by `{name}` (`{place}`).",
    "name at place": "It begins with `{name}` at `{place}`.",
    "name of place": "It ends in `{name}` of `{place}`.",
    "defined in": "`{name}` is defined in `{place}`.",
    "place, colon, name": "- `{place}`: `{name}` reads the value twice",
    "bold name, dash, place": "- **`{name}`** — `{place}`",
    "plain name in place": "- {plain} in {place}",
    "plain call at place": "Everything begins with {plain}() at {place}.",
    "place, name": "- `{place}` `{name}`",
    "with arguments": "- `{name}(value)` at `{place}`",
    "arrow": "1. Read the value → `{place}` ({plain})",
    "name, colon, place": "- `{name}`: `{place}`",
    "column Function": "| Function | File:Line |\n|---|---|\n| {name} | `{place}` |",
    "column Symbol": "| Symbol | Location | Notes |\n|---|---|---|\n| `{name}` | {place} | read twice |",
    "column item": "| item | location |\n|---|---|\n| `{name}()` | `{place}` |",
    "column CLASS": "| LOCATION | METHOD |\n|---|---|\n| `{place}` | {name} |",
    "function, name, in": "The function `{name}` in `{place}` reads the value twice.",
}
#: Forms that say that the name is defined at the place, not only used there.
_DEFINING = frozenset({"defined in", "function, name, in"})
_LIKE_A_NAME = re.compile(r"[a-z]+[A-Z]\w+|[A-Za-z]\w*_\w+|[A-Z][a-z]+[A-Z]\w*")
#: The ways in which a name is wrong.
NAME_LIES = ("invented name", "name of another file", "name far away")


def name_plant(checkout: Checkout, chance: random.Random, form: str, lie: str) -> Plant | None:
    """Return a name next to its place, and a wrong name or a wrong place."""
    template = NAME_FORMS[form]
    for _ in range(_ATTEMPTS):
        definition = chance.choice(checkout.definitions)
        needs_plain = "{plain}" in template
        if needs_plain and not _LIKE_A_NAME.fullmatch(definition.name):
            continue
        line = definition.first
        if form not in _DEFINING and chance.random() < 0.3:
            line = chance.randint(definition.first, definition.last)
        wrong_name, wrong_line = _wrong(checkout, chance, definition, line, lie)
        if not wrong_name or (needs_plain and not _LIKE_A_NAME.fullmatch(wrong_name)):
            continue
        true, false = (
            template.format(name=name, plain=name, place=f"{definition.path}:{number}").split("\n")
            for name, number in ((definition.name, line), (wrong_name, wrong_line))
        )
        is_strong = lie == "invented name" and not needs_plain and not form.startswith("column")
        return Plant("name", form, tuple(true), tuple(false), is_strong, marked=(len(true) - 1, len(true) - 1))
    return None


def _wrong(checkout: Checkout, chance: random.Random, definition: Definition, line: int, lie: str) -> tuple[str, int]:
    """Return a name and a line that do not belong together; an empty name if there is no such pair."""
    source = checkout.sources[definition.path]
    if lie == "invented name":
        return checkout.invented_word(chance, Path(definition.path).suffix), line
    if lie == "name of another file":
        other = chance.choice(checkout.definitions)
        is_here = re.search(rf"\b{other.name}\b", "\n".join(source.lines), re.I)
        return ("", 0) if is_here or len(other.name) < 5 else (other.name, line)
    word = re.compile(rf"\b{re.escape(definition.name)}\b")
    near = [at + 1 for at, text in enumerate(source.lines) if word.search(text)]
    bodies = [entry for entry in source.definitions if entry.name == definition.name]
    distance = _FAR if len(source.lines) > 2 * _FAR else _FAR_IN_SHORT_FILES
    far = [
        number
        for number in range(1, len(source.lines) + 1)
        if all(abs(number - at) >= distance for at in near)
        and not any(body.first - _REACH <= number <= body.last + _REACH for body in bodies)
    ]
    return (definition.name, chance.choice(far)) if far else ("", 0)
