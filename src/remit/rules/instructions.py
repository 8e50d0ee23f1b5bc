"""The answer instructions for an agent, generated from the kinds and rules that check the answer."""

from __future__ import annotations

from functools import cache

from remit.contract.feedback import agent_title
from remit.contract.kinds import KINDS, Kind
from remit.contract.profiles import LEVELS, PROFILES, Level
from remit.contract.template import AGENT_NAME, error_template, template
from remit.evidence.support import BANDS, RUBRIC
from remit.rules.base import Rule
from remit.rules.catalog import every_rule

_INTRODUCTION = f"""\
# How to answer

You are {AGENT_NAME}. Your last message is your result and nothing else: the Markdown form below, filled in. A program
checks it. Replace every [placeholder]. Omit a part only if the condition in its heading does not apply.
"""
_FAILURE = """\
If you fail, Status is FAILED, and these sections replace all after the Summary:
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
    rules = "\n\n".join(filter(None, (_level(level, profile, KINDS[kind]) for level in LEVELS)))
    if PROFILES[profile].only is not None:
        return f"{_WITHOUT_FORM}\n## Rules\n\n{rules}"
    parts = [f"{_INTRODUCTION}\n{_fenced(template(KINDS[kind], scored=profile != 'v1'))}"]
    if kind != "error":
        parts.append(f"{_FAILURE}\n{_fenced(error_template())}")
        if not KINDS[kind].is_short:
            parts.append(_CERTAINTY.format(bands=_bands()))
    return with_agent("\n".join([*parts, f"## Rules\n\n{rules}\n"]), agent)


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


def _level(level: Level, profile: str, kind: Kind) -> str:
    lines = [_line(rule) for rule in every_rule() if rule.prompt and rule.level_for(profile, kind) == level]
    return "\n".join([f"{level} ({LEVELS[level]}):", *lines]) if lines else ""


def _line(rule: type[Rule]) -> str:
    return f"- {rule.name}: {rule.prompt}"
