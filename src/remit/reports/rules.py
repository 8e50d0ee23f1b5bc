"""The rules as text and in their JSON shape."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from remit.contract.profiles import PROFILES, Level
from remit.reports.layout import Line, Piece
from remit.reports.verdict_text import LEVEL_STYLES
from remit.rules.base import Example, Rule


def rule_list_lines(rules: Sequence[type[Rule]], columns: int) -> Iterator[Line]:
    """Yield one line for each rule, grouped by family."""
    family = ""
    for rule in sorted(rules, key=lambda rule: rule.code):
        if rule.family() != family:
            family = rule.family()
            yield [Piece(family, "bold underline")]
        width = max(columns - 44, 36)
        yield [
            Piece(f"  {rule.code} ", "dim"),
            Piece(f"{rule.level} ", LEVEL_STYLES[rule.level]),
            Piece(f"{rule.name:<27} "),
            Piece(textwrap.shorten(rule.summary(), width, placeholder=" …"), "dim"),
        ]
    yield [Piece(f"{len(rules)} rules; see `remit rules NAME`", "dim")]


def rule_lines(rule: type[Rule], columns: int) -> Iterator[Line]:
    """Yield everything about one rule."""
    yield [Piece(rule.name, "bold"), Piece(f"  {rule.code}  since {rule.since}", "dim")]
    levels = [f"{name} {rule.level_in(name) or 'off'}" for name in PROFILES]
    yield [Piece("level  "), Piece(rule.level, LEVEL_STYLES[rule.level]), Piece(f"  ({', '.join(levels)})", "dim")]
    yield []
    for paragraph in (rule.summary(), rule.rationale(), f"What to do: {rule.help}"):
        for row in textwrap.wrap(paragraph.replace("\n", " "), max(columns, 40)):
            yield [Piece(row)]
        yield []
    if rule.requires:
        yield [Piece(f"Not checked if one of these is violated: {', '.join(rule.requires)}", "dim")]
        yield []
    for title, examples, style in (("good", rule.good, "green"), ("bad", rule.bad, "red")):
        for example in examples[:1]:
            yield from _example(title, example, style)


def _example(title: str, example: Example, style: str) -> Iterator[Line]:
    yield [Piece(f"{title} example", f"bold {style}"), Piece(f" (in a result of kind {example.kind})", "dim")]
    for old, new in example.edits:
        for mark, text in (("-", old), ("+", new)):
            for row in text.strip("\n").split("\n") if text else ():
                yield [
                    Piece(
                        f"  {mark} {textwrap.shorten(row, 100, placeholder=' …') if len(row) > 100 else row}",
                        style if mark == "+" else "dim",
                    )
                ]
    if not example.edits:
        yield [Piece("  the valid sample without changes")]
    if example.expect:
        yield [Piece(f"  → {', '.join(example.expect)}", "dim")]
    yield []


class RuleShape(msgspec.Struct, kw_only=True):
    """A rule; `levels` has its level in each profile, null where it is not part of the profile."""

    rule: str
    code: str
    family: str
    since: str
    needs: str
    levels: dict[str, Level | None]
    summary: str
    why: str
    help: str
    requires: list[str]


class RuleListShape(msgspec.Struct, kw_only=True):
    """The output of `remit rules --format json`."""

    schema: Literal["remit.rules/1"] = "remit.rules/1"
    rules: list[RuleShape]


class PromptShape(msgspec.Struct, kw_only=True):
    """The output of `remit prompt --format json`."""

    schema: Literal["remit.prompt/1"] = "remit.prompt/1"
    kind: str
    profile: str
    text: str


def rules_shape(rules: Sequence[type[Rule]]) -> RuleListShape:
    """Return the rules in the JSON shape."""
    return RuleListShape(
        rules=[
            RuleShape(
                rule=rule.name,
                code=rule.code,
                family=rule.family(),
                since=rule.since,
                needs=rule.needs,
                levels={profile: rule.level_in(profile) for profile in PROFILES},
                summary=rule.summary(),
                why=rule.rationale(),
                help=rule.help,
                requires=list(rule.requires),
            )
            for rule in rules
        ]
    )
