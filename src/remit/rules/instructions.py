"""The answer instructions for an agent, generated from the kinds and rules that check the answer."""

from __future__ import annotations

from functools import cache

from remit.contract.kinds import KINDS
from remit.contract.profiles import LEVELS, PROFILES, Level
from remit.contract.template import template
from remit.rules.base import Rule
from remit.rules.catalog import CATALOG

_INTRODUCTION = """\
# How to answer

Your last message is your result and nothing else: one Markdown document in the form below. A program parses and
checks it. Replace every [placeholder]. Omit a section only if a rule below allows it.
"""
_WITHOUT_FORM = """\
# How to cite code

Answer in any form. A program looks up every file, line, symbol and quote of your answer in the checkout.
"""


@cache
def instructions(kind: str, profile: str) -> str:
    """Return the instructions that an agent of this kind needs for an accepted result under this profile."""
    if PROFILES[profile].only is not None:
        return f"{_WITHOUT_FORM}\n## Rules\n\n" + "\n\n".join(filter(None, (_level(one, profile) for one in LEVELS)))
    form = template(KINDS[kind], scored=profile != "v1")
    rules = "\n\n".join(filter(None, (_level(level, profile) for level in LEVELS)))
    other = "" if kind == "error" else f"\nIf you fail, use this form instead:\n\n{_fenced(template(KINDS['error']))}"
    return f"{_INTRODUCTION}\n{_fenced(form)}\n## Rules\n\n{rules}\n{other}"


def _fenced(form: str) -> str:
    return f"````markdown\n{form}````\n"


def _level(level: Level, profile: str) -> str:
    lines = [_line(rule) for rule in CATALOG if rule.prompt and rule.level_in(profile) == level]
    return "\n".join([f"{level} ({LEVELS[level]}):", *lines]) if lines else ""


def _line(rule: type[Rule]) -> str:
    return f"- {rule.name}: {rule.prompt}"
