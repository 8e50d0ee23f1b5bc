"""Signals: words of the text itself around a claim that lower the reliability of an accusation by one step.

Each signal is one function with an example of an accusation that it lowers, and a lie that it must not hide: the lie
is still listed. Signals are asked only for accusations in texts that are not strict.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from remit.evidence.document import Segment, has_words, without_code, words
from remit.evidence.file_names import is_source
from remit.evidence.model import Claim, Facts
from remit.evidence.quote_text import is_code
from remit.evidence.read_quotes import is_in_language
from remit.lazy import lazy_pattern
from remit.workspace.project_documents import is_instruction

#: The part of a sentence around a claim that is searched for words.
_CLAUSE = 80
_NEAR = 40
_MAX_CELLS = 20
_CLAUSE_ENDS = lazy_pattern(r"[.;!?。；！？|]\s|[。；]|\s[-–—]\s")
#: Folders of files that are built, installed or written at run time.
BUILT_FOLDERS = frozenset(
    [
        "node_modules",
        "dist",
        "build",
        "out",
        "target",
        "coverage",
        ".next",
        ".venv",
        "venv",
        "__pycache__",
        "vendor",
        ".cache",
        "tmp",
        "logs",
        "generated",
    ]
)
#: Names that stand for any other: `foo.py`, `MyComponent.tsx`, `your-plugin/index.ts`, `XXX.md`.
_STANDS_FOR_OTHERS = lazy_pattern(
    r"(?:^|[/_.-])(?:foo|bar|baz|my|your|some|xxx?|example|sample|name)(?:[/_.-]|(?=[A-Z])|$)|(?:^|/)My(?=[A-Z])|(?:^|/)[a-z]\.(?:\w+\.)?\w+$|[<>{}*]|NNN|YYYY"
)
_LOCAL = lazy_pattern(r"(?:^|/)(?:\.env(?:\.[\w.]+)?|[^/]*\.local(?:\.\w+)?)$")
_LINK_ELSEWHERE = lazy_pattern(r"https?://|\bgithub\.com/|\b[\w.-]{2,40}/[\w.-]{2,40}@")
#: A date in the name of a text: `2026-03-19-timeline.md`, `AUDIT 20260319`, `# Review (March 2026)`.
_DATED = lazy_pattern(r"(?<!\d)20[1-4]\d(?:[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?(?:0[1-9]|[12]\d|3[01]))?)?(?!\d)")
_SCRIPT = lazy_pattern(r"\b(npm|pnpm|yarn|bun)[ \t]+(?:run(?:-script)?[ \t]+)?([\w:/.@-]+)")
_MAKES_PROJECT = lazy_pattern(
    r"\b(?:npm|pnpm|yarn|bun)[ \t]+(?:create|init)[ \t]+[@\w]"
    r"|\b(?:npx|bunx|dlx|exec)[ \t]+(?:-\S{1,60}[ \t]+){0,9}(?:@[\w.\-]{1,60}/)?create-[a-z]"
)
_NEW_CODE = lazy_pattern(r"(?m)(?://|#|--|/\*|<!--)\s*(?:[←⬅]\s*)?(?:NEW|ADD(?:ED)?|CHANGED?|新增|追加)\b")


class Context(msgspec.Struct, frozen=True):
    """A claim with the text around it."""

    claim: Claim
    facts: Facts
    #: The headings above it, the nearest last.
    headings: tuple[Segment, ...] = ()
    #: The cells of its table row.
    row: tuple[Segment, ...] = ()
    #: The line above a fence, without its references.
    label: str = ""
    #: The path of the document in the checkout, the title of the text, and the text itself.
    document: str = ""
    title: str = ""
    text: str = ""

    @property
    def before(self) -> str:
        """The clause before the claim."""
        start = self.claim.start if self.claim.kind != "quote" else 0
        text = without_code(self.claim.segment.text[max(0, start - 2 * _CLAUSE) : start])[-_CLAUSE:]
        ends = [match.end() for match in _CLAUSE_ENDS.finditer(text)]
        return text[ends[-1] :] if ends else text

    @property
    def after(self) -> str:
        """The clause after the claim."""
        last = self.claim.end if self.claim.kind != "quote" else len(self.claim.segment.text)
        text = without_code(self.claim.segment.text[last : last + 2 * _CLAUSE].removeprefix("`"))[:_CLAUSE]
        end = _CLAUSE_ENDS.search(text)
        return text[: end.start()] if end else text


class Signal(msgspec.Struct, frozen=True):
    """A named signal: an accusation that it lowers, and a lie that it must not hide."""

    name: str
    fires: Callable[[Context], bool]
    #: A text in which it fires, and a false claim that stays listed although it fires.
    example: str
    lie: str


def _proposed_label(context: Context) -> bool:
    return context.claim.kind == "quote" and has_words(context.label, words("proposed"))


def _proposed_heading(context: Context) -> bool:
    return any(has_words(heading.text, words("proposed")) for heading in context.headings[-2:])


def _record(context: Context) -> bool:
    return not context.facts.is_of_record and is_record(context.document, context.title)


def _created(context: Context) -> bool:
    near = f"{context.before[-_NEAR:]} {context.after[:_NEAR]}"
    cells = any(has_words(cell.text, words("create")) for cell in context.row[:_MAX_CELLS] if len(cell.text) <= _NEAR)
    heading = context.claim.line is None and any(
        has_words(title.text, words("create")) for title in context.headings[-1:]
    )
    return cells or heading or has_words(near, words("create"))


def _removed(context: Context) -> bool:
    heading = any(has_words(title.text, words("remove")) for title in context.headings[-1:])
    return heading or has_words(f"{context.before[-_NEAR:]} {context.after[:_NEAR]}", words("remove"))


def _called_absent(context: Context) -> bool:
    return has_words(f"{context.before} {context.after}", words("absent"))


def _other_project(context: Context) -> bool:
    texts = (context.before, context.after, *(heading.text for heading in context.headings[-2:]))
    return any(has_words(text, words("other")) or bool(_LINK_ELSEWHERE.search(text)) for text in texts)


def _estimate(context: Context) -> bool:
    return "estimate" in context.claim.notes


def _example(context: Context) -> bool:
    heading = any(has_words(title.text, words("example")) for title in context.headings[-1:])
    return heading or has_words(context.before[-_NEAR:], words("example"))


def _past(context: Context) -> bool:
    return any(has_words(heading.text, words("past")) for heading in context.headings[-2:])


def _written_by_program(context: Context) -> bool:
    return context.claim.line is None and has_words(
        f"{context.before[-_NEAR:]} {context.after[:_NEAR]}", words("output")
    )


def _is_missing(context: Context) -> bool:
    """Return whether the accusation is that a path does not exist."""
    return context.claim.kind != "quote" and context.facts.state != "file"


def _built(context: Context) -> bool:
    return _is_missing(context) and not BUILT_FOLDERS.isdisjoint(context.claim.path.lower().split("/")[:-1])


def _local(context: Context) -> bool:
    return _is_missing(context) and _LOCAL.search(context.claim.path) is not None


def _ignored(context: Context) -> bool:
    return context.facts.is_ignored


def _stands_for_others(context: Context) -> bool:
    return _is_missing(context) and _STANDS_FOR_OTHERS.search(context.claim.path) is not None


def _not_code(context: Context) -> bool:
    is_fence = context.claim.kind == "quote" and context.claim.segment.kind == "code"
    return is_fence and is_source(context.claim.path) and not is_code(context.claim.code)


def _other_language(context: Context) -> bool:
    claim = context.claim
    return claim.kind == "quote" and claim.segment.kind == "code" and not is_in_language(claim.segment, claim.path)


def _declared_here(context: Context) -> bool:
    """Return whether the text itself declares the command: a recipe `foo:`, a script `"foo": "…"`."""
    if context.claim.kind != "command":
        return False
    name = re.escape(context.claim.name)
    return re.search(rf"""(?m)^[ \t]*["']?{name}["']?(?: [^\n:=]{{0,60}})?:(?:\s|$)""", context.text) is not None


def _any_manager(context: Context) -> bool:
    """Return whether the text names a script for several package managers: a project has one, its users have any."""
    if context.claim.kind != "command":
        return False
    return len({manager for manager, name in _scripts(context.text) if name == context.claim.name}) > 1


def _made_project(context: Context) -> bool:
    """Return whether the text has made a new project before the command: `npm create …`, `npx create-…`."""
    if context.claim.kind != "command":
        return False
    line = _first_made(context.text)
    return line is not None and line <= context.claim.at


@lru_cache(maxsize=2)
def _scripts(text: str) -> frozenset[tuple[str, str]]:
    """Return the scripts that a text names, each with the package manager. It is read once for all claims."""
    return frozenset(_SCRIPT.findall(text))


@lru_cache(maxsize=2)
def _first_made(text: str) -> int | None:
    """Return the first line on which a text makes a new project."""
    made = _MAKES_PROJECT.search(text)
    return text.count("\n", 0, made.start()) + 1 if made is not None else None


def _new_lines(context: Context) -> bool:
    return context.claim.kind == "quote" and _NEW_CODE.search(context.claim.code) is not None


SIGNALS = (
    Signal("proposed-label", _proposed_label, "Fix it in `a/b.py:3`:", "Fix for the invented `a/ghost.py:3`:"),
    Signal("proposed-heading", _proposed_heading, "## Proposed changes to the loader", "## Solution in a/ghost.py:3"),
    Signal("record", _record, "# Plan: the new cache, `a/cache.py`", "# Audit: the bug in `a/ghost.py:3`"),
    Signal("created", _created, "Create `a/new.py`", "the new code in `a/ghost.py:3`"),
    Signal("removed", _removed, "`a/old.py` was removed", "removed the check in `a/ghost.py:3`"),
    Signal("called-absent", _called_absent, "`a/b.md` is missing", "the check is missing in `a/ghost.py:3`"),
    Signal("other-project", _other_project, "upstream `lib/store.c:3`", "the upstream bug in `a/ghost.py:3`"),
    Signal("estimate", _estimate, "around line 300 of `a/b.py`", "around line 9000 of `a/b.py`"),
    Signal("example", _example, "for example `a/users.py`", "for example `a/ghost.py:3`"),
    Signal("past", _past, "## Changelog: `a/b.py:3`", "## History of `a/ghost.py:3`"),
    Signal("written-by-program", _written_by_program, "writes `out/report.json`", "it generates `a/ghost.py`"),
    Signal("built", _built, "`dist/app.js`", "`build/ghost.py:3`"),
    Signal("local", _local, "`config/.env`", "`config/.env.ghost:3`"),
    Signal("ignored", _ignored, "`logs/` in `.gitignore`, and in the text", "`logs/ghost.py:3`"),
    Signal("stands-for-others", _stands_for_others, "`src/MyComponent.tsx`", "`src/my-ghost.ts:3`"),
    Signal("not-code", _not_code, "a drawing below `a/b.py:3`", "sentences below `a/b.py:3`"),
    Signal("other-language", _other_language, "a JSON answer below `a/b.py:3`", "Go code below `a/b.py:3`"),
    Signal("declared-here", _declared_here, "a command whose recipe is in the text", "`foo: …`, then `make ghost`"),
    Signal("any-manager", _any_manager, "`npm run serve` or `yarn serve`", "`npm run ghost` or `yarn ghost`"),
    Signal("made-project", _made_project, "`npm create shop`, then `npm run serve`", "`npm create`, then `make ghost`"),
    Signal("new-lines", _new_lines, "`x = 1  # NEW` below `a/b.py:3`", "invented code with `# NEW`"),
)


def is_record(document: str, title: str) -> bool:
    """Return whether a text is a record of a moment, by its path or title: a date, a plan, a report, a review."""
    if is_instruction(document):
        return False
    names = (document.replace("_", " "), title)
    return any(_DATED.search(name) or has_words(name, words("plan") + words("record")) for name in names)


def signals_of(context: Context) -> tuple[str, ...]:
    """Return the names of the signals that fire for an accusation."""
    return tuple(signal.name for signal in SIGNALS if signal.fires(context))
