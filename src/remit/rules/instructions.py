"""The answer instructions for an agent, generated from the kinds and rules that check the answer."""

from __future__ import annotations

from functools import cache

from remit.contract.feedback import agent_title
from remit.contract.kinds import KINDS
from remit.contract.profiles import LEVELS, PROFILES, Level
from remit.contract.template import AGENT_NAME, optional_template, template
from remit.evidence.support import BANDS, RUBRIC
from remit.rules.base import Rule
from remit.rules.catalog import every_rule

_INTRODUCTION = f"""\
# How to answer

You are {AGENT_NAME}. Your last message is your result and nothing else: one Markdown document in the form below. A
program parses and checks it. Replace every [placeholder]. Keep every section, block and column of the form, and omit
one only if a rule below allows it.
"""
_OPTIONAL = """\
Add these sections only if they apply. An issue that has no row in a table of the form goes under Issues. An override
states why a rule of level L2 does not apply; it never excuses a rule of level L1.
"""
_CERTAINTY = """\
## How certain you are

Give a score only as high as your evidence:

{bands}

Mark a statement that you did not verify as "uncertain" or "assumed", and one that rests on a single source as "needs
corroboration".
"""
_WITHOUT_FORM = """\
# How to cite code

Answer in any form. A program looks up every file, line, symbol and quote of your answer in the checkout.
"""


@cache
def instructions(kind: str, profile: str, agent: str = "") -> str:
    """Return the instructions that an agent of this kind needs for an accepted result under this profile.

    Without the name of the agent, the text contains the placeholder `AGENT_NAME` instead.
    """
    if PROFILES[profile].only is not None:
        levels = (_level(level, profile, kind) for level in LEVELS)
        return f"{_WITHOUT_FORM}\n## Rules\n\n" + "\n\n".join(filter(None, levels))
    form = template(KINDS[kind], scored=profile != "v1")
    rules = "\n\n".join(filter(None, (_level(level, profile, kind) for level in LEVELS)))
    parts = [f"{_INTRODUCTION}\n{_fenced(form)}"]
    if kind != "error":
        parts += [f"{_OPTIONAL}\n{_fenced(optional_template())}", _CERTAINTY.format(bands=_bands())]
    parts.append(f"## Rules\n\n{rules}\n")
    if kind != "error":
        parts.append(f"If you fail, use this form instead:\n\n{_fenced(template(KINDS['error']))}")
    return with_agent("\n".join(parts), agent)


def with_agent(text: str, agent: str) -> str:
    """Return instructions in which the agent's name replaces its placeholder."""
    return text.replace(AGENT_NAME, agent_title(agent) or AGENT_NAME)


def _bands() -> str:
    tops = [100, *(int(edge) - 1 for edge, _ in BANDS)]
    lines = [
        f"- {int(edge)}-{top} ({name}): {RUBRIC[name]}." if edge else f"- below {top + 1}: {RUBRIC[name]}."
        for (edge, name), top in zip(BANDS, tops, strict=False)
    ]
    return "\n".join(lines)


def _fenced(form: str) -> str:
    return f"````markdown\n{form}````\n"


def _level(level: Level, profile: str, kind: str) -> str:
    rules = (rule for rule in every_rule() if rule.prompt and rule.level_in(profile) == level)
    lines = [_line(rule) for rule in rules if not rule.kinds or kind in rule.kinds]
    return "\n".join([f"{level} ({LEVELS[level]}):", *lines]) if lines else ""


def _line(rule: type[Rule]) -> str:
    return f"- {rule.name}: {rule.prompt}"
